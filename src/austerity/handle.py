"""The same engine behind a handle: start, look, pause, go on, stop."""

import threading
from typing import TYPE_CHECKING, Any

from .engine.prepare import Prepared
from .sample import begin, conclude, default_settings, one_blas_thread

if TYPE_CHECKING:
    import xarray


class Handle:
    """A run that goes on in the background. Made by `austerity.start`."""

    def __init__(self, prepared: Prepared, shown: Any) -> None:
        self._prepared, self._shown = prepared, shown
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="austerity-run", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            with one_blas_thread():
                self._prepared.run.go()
        except BaseException as error:  # handed to whoever waits
            self._failure = error
        finally:
            self._shown.close()

    @property
    def running(self) -> bool:
        """True until the run has ended, however it ended."""
        return self._thread.is_alive()

    def inspect(self) -> dict[str, Any]:
        """Draws a chain, steps, share accepted, rows read a step and seconds, as of the last piece.

        Share and rows are those of kept draws, NaN while a chain is warming up; seconds are those of this sitting.
        """
        status = self._prepared.run.status
        return {
            "draws": status.drawn.tolist(),
            "steps": status.steps.tolist(),
            "accepted": status.accepted.tolist(),
            "rows_read": status.rows.tolist(),
            "seconds": status.seconds,
            "state": "paused" if self.running and not self._prepared.run.running.is_set() else status.ended,
        }

    def __repr__(self) -> str:
        status = self._prepared.run.status
        least, wanted = int(status.drawn.min()), self._shown.wanted
        return f"<austerity run, {status.drawn.size} chains: {least:,} of {wanted:,} draws, {self.inspect()['state']}>"

    def pause(self) -> None:
        """Stop after the current pieces, until `resume`; what is drawn stays safe."""
        self._prepared.run.running.clear()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._prepared.run.running.set()

    def wait(self, timeout: float | None = None) -> "xarray.DataTree | None":
        """The results when the run has ended; None if it has not within `timeout` seconds."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            return None
        if self._failure is not None:
            raise self._failure
        return conclude(self._prepared)

    def abort(self) -> "xarray.DataTree":
        """End the run after its current pieces; the results so far."""
        run = self._prepared.run
        run.stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return conclude(self._prepared, asked=True)


def start(model: Any, X: Any, y: Any = None, **settings: Any) -> Handle:
    """Begin sampling in the background: the arguments of `austerity.sample`, and a handle instead of results."""
    with one_blas_thread():
        prepared, shown = begin(model=model, X=X, y=y, **default_settings(settings))
    return Handle(prepared, shown)

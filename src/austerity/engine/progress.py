"""Progress while a run goes on: a live table in a terminal, plain lines in a log, nothing on request.

Everything goes to standard error; a stream that is closed or broken silences progress and stops nothing.
"""

import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np

from .run import Status
from .trace import Trace

LINE_SECONDS = 10.0  # between plain lines
ESS_SECONDS = 2.0  # between estimates of the effective sample size


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.2g}%"


class Progress:
    """Watches a run; `update` is called after every piece."""

    def __init__(
        self,
        warmup: int,
        draws: int,
        time_limit: float | None = None,
        stream: Any = None,
        terminal: bool | None = None,
        silent: bool = False,
    ) -> None:
        self.warmup, self.wanted, self.limit = warmup, draws, time_limit
        self.stream = sys.stderr if stream is None else stream
        self.dead = silent or self.stream is None
        self.terminal = self._is_terminal() if terminal is None else terminal
        self.began, self.lined_at, self.ess_at = time.monotonic(), time.monotonic() - LINE_SECONDS + 2.0, 0.0
        self.first_steps: np.ndarray | None = None
        self.ess = float("nan")
        self.live: Any = None

    def _is_terminal(self) -> bool:
        try:
            return bool(self.stream.isatty())
        except (AttributeError, ValueError):
            return False

    def say(self, sentence: str) -> None:
        """A sentence before the run begins."""
        if self.dead:
            return
        try:
            self.stream.write(f"austerity: {sentence}\n")
            self.stream.flush()
        except Exception:  # whatever the stream is, it takes no more
            self.dead = True

    def update(self, status: Status, trace: Trace) -> None:
        """Show where the run stands, if it is time to."""
        if self.dead:
            return
        if self.first_steps is None:
            self.first_steps = status.steps.copy()
        try:
            self._show(status, trace)
        except (OSError, ValueError):  # the stream was closed under us
            self.dead = True

    def _show(self, status: Status, trace: Trace) -> None:
        now, over = time.monotonic(), status.ended != "running"
        if now - self.ess_at > ESS_SECONDS or over:
            self.ess, self.ess_at = trace.ess(), time.monotonic()
        if self.terminal:
            self._draw_table(status, over)
        elif now - self.lined_at > LINE_SECONDS or over:
            self.lined_at = now
            self.stream.write(self.line(status) + "\n")
            self.stream.flush()

    def _left(self, status: Status) -> float:
        """Seconds left at the pace so far."""
        assert self.first_steps is not None
        done = float((status.steps - self.first_steps).sum())
        left = float((status.total_steps - status.steps).sum())
        expected = left * status.seconds / done if done else float("inf")
        return expected if self.limit is None else min(expected, max(0.0, self.limit - status.seconds))

    def line(self, status: Status) -> str:
        """One plain line about all chains."""
        warming = int((status.steps < self.warmup).sum())
        least, most = int(status.drawn.min()), int(status.drawn.max())
        drawn = (f"{least:,}" if least == most else f"{least:,}-{most:,}") + f" of {self.wanted:,} draws a chain"
        over = status.ended != "running"
        parts = [f"warming up, step {int(status.steps.min()):,} of {self.warmup:,}"] if warming else []
        known = np.isfinite(status.accepted)
        if most or over or not warming:
            parts.append(drawn)
        if known.any():
            parts.append(f"accepted {np.mean(status.accepted[known]):.0%}")
            parts.append(f"rows read {_percent(float(np.mean(status.rows[known])) / status.n_rows)}")
        if not np.isnan(self.ess):
            parts.append(f"ESS {self.ess:,.0f}" + (" since resumed" if status.resumed else ""))
        if over:
            parts.append(f"{status.ended} after {_duration(status.seconds)}")
        elif np.isfinite(self._left(status)):
            parts.append(f"{_duration(self._left(status))} left")
        return f"austerity: {', '.join(parts)}"

    def _draw_table(self, status: Status, over: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        if self.live is None:
            console = Console(file=self.stream, force_terminal=True)
            self.live = Live(console=console, refresh_per_second=8, transient=False)
            self.live.start()
        self.live.update(self.table(status))
        if over:
            self.live.stop()

    def table(self, status: Status) -> Any:
        """A line for each chain (up to 16), then one for all."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False)
        for name in ("chain", "draws", "accepted", "rows read", "doing"):
            table.add_column(name, justify="right")
        for c in range(min(16, status.steps.size)):
            warming, known = status.steps[c] < self.warmup, bool(np.isfinite(status.accepted[c]))
            doing = f"warm-up {status.steps[c]:,}/{self.warmup:,}" if warming else "drawing"
            row = (
                f"{status.drawn[c]:,}/{self.wanted:,}",
                f"{status.accepted[c]:.0%}" if known else "",
                _percent(status.rows[c] / status.n_rows) if known else "",
            )
            table.add_row(str(c), *row, doing if status.steps[c] < status.total_steps else "done")
        return Group(table, Text(self.line(status), style="dim"))

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.live is not None:
            with suppress(Exception):  # the terminal may be gone
                self.live.stop()

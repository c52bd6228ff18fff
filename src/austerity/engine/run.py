"""A run: chains advanced in short pieces, so that progress, limits, interrupts and checkpoints find their moment.

A piece is about a tenth of a second of compiled code. Rules that draw a few rows have one task a chain in a pool of
threads; rules that read everything advance all chains together. How long pieces are, and which thread takes them,
changes no draw: a run cut short is a prefix of the longer one.
"""

import time
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from ..decisions.base import FINE, STATUS
from ..errors import AusterityWarning, InputError, StoreError
from ..store.base import Store
from . import state
from .lockstep import advance_lockstep
from .loop import advance
from .state import CHECKPOINT, STATISTICS, Chains
from .trace import Trace

PIECE_SECONDS = 0.1
COMMIT_SECONDS = 2.0
Piece = tuple[int, int, float, int]  # kept draws, status, seconds, steps
MOST_BUFFERED = 512  # kept draws a chain between two flushes


def buffer_size(size: int) -> int:
    """Kept draws a chain between two flushes, for states of `size` values."""
    return max(1, min(MOST_BUFFERED, 4_000_000 // max(1, size)))


@dataclass
class Status:
    """Where a run stands: what progress, inspect() and the results report."""

    steps: np.ndarray  # (chains,) steps done, warm-up included
    drawn: np.ndarray  # (chains,) kept draws
    accepted: np.ndarray  # (chains,) share accepted after warm-up, NaN before its end
    rows: np.ndarray  # (chains,) rows read a step after warm-up, NaN before its end
    total_steps: int
    n_rows: int
    resumed: bool = False  # whether draws were there when this sitting began
    seconds: float = 0.0  # of sampling, in this sitting
    ended: str = "running"  # then: "done", "time limit", "interrupted", "aborted", "fault", "store"


@dataclass
class Run:
    """Chains, their settings and where their draws go."""

    target: Any  # a Target, or what stands in for one: its rows.n is what progress shows rows read as a share of
    plan: Any
    chains: Chains
    lockstep: bool
    keep: Callable[[np.ndarray], np.ndarray]  # states (n, D + I) -> reported values (n, width)
    store: Store
    stat_names: tuple[str, ...]  # those of STATISTICS that are kept
    counts: np.ndarray
    new_source: Callable[[], Any]  # the terms of one chain, with scratch of its own
    advance: Callable[..., tuple[int, int]] = advance  # compiled: some steps of one chain by a rule that draws
    cores: int = 1
    time_limit: float | None = None
    before: dict[str, np.ndarray] = field(default_factory=dict)  # the checkpoint that this sitting goes on from
    observe: Callable[[Status, Trace], None] | None = None
    explain: Callable[[int | None, int], Exception] | None = None  # (chain, status) -> the sentence of a fault
    reading: tuple[Callable[[], Any], Any] | None = None  # where moves read rows: what makes a reader, and the movers
    stop: Event = field(default_factory=Event)
    running: Event = field(default_factory=Event)
    fault: Exception | None = None

    def __post_init__(self) -> None:
        n_chains, size = self.chains.theta.shape
        self.thin, self.warmup = int(self.plan.schedule[state.THIN]), int(self.plan.schedule[state.WARMUP])
        self.total = int(self.plan.schedule[state.TOTAL])
        self.buffered = buffer_size(size)
        width = size + self.chains.indices.shape[1]
        self.draws = np.zeros((n_chains, self.buffered, width))
        self.statistics = np.zeros((n_chains, self.buffered, len(STATISTICS)))
        self.kept_columns = [STATISTICS.index(name) for name in self.stat_names]
        self.safe = {name: getattr(self.chains, name).copy() for name in CHECKPOINT}
        self.pace = np.full(n_chains, 0.0)  # seconds a step
        self.trace = Trace(n_chains)
        self.sums = self._earlier("sums", (n_chains, 3))  # steps, accepted, rows read
        self.clock = self._earlier("clock", (2,))  # seconds of set-up and of sampling in earlier sittings
        self.setup_seconds = 0.0  # of this sitting
        self.running.set()
        self.status = Status(
            self.chains.step.copy(),
            self.counts.copy(),
            np.full(n_chains, np.nan),
            np.full(n_chains, np.nan),
            self.total,
            self.target.rows.n,
            bool(self.counts.any()),
        )
        for c in np.flatnonzero(self.sums[:, 0]):
            self._note_shares(int(c))

    def _earlier(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """What an earlier sitting left of its sums, zeros where it left none."""
        found = self.before.get(name)
        return np.array(found) if found is not None and found.shape == shape else np.zeros(shape)

    def times(self) -> np.ndarray:
        """Seconds of set-up and of sampling, all sittings together."""
        return self.clock + (self.setup_seconds, self.status.seconds)

    def go(self) -> str:
        """Advance until the end, the limit, a stop or a fault; returns how it ended. Draws are safe in the store."""
        self.began = self.committed_at = time.monotonic()
        with ThreadPoolExecutor(max(1, self.cores)) as pool:
            try:
                ended = self._together(pool) if self.lockstep else self._each_alone(pool)
            except StoreError as error:
                self.fault, ended = error, "store"
            except Exception as error:  # whatever it is, it is raised with the draws made before it
                self.fault, ended = error, "fault"
                self._rescue()
        self.status.ended = ended
        self._report(force=True)
        return ended

    def _rescue(self) -> None:
        """Commit what is safe after an exception that was not foreseen."""
        with suppress(StoreError):
            self._commit()

    def _over(self) -> str | None:
        """Why the run should end now, if it should; a pause begins with a commit."""
        if not self.running.is_set() and not self.stop.is_set():
            self._commit()
        while not self.running.wait(0.1):
            if self.stop.is_set():
                break
        if self.fault is not None:
            return "fault"
        if self.stop.is_set():
            return "interrupted"
        if self.time_limit is not None and time.monotonic() - self.began >= self.time_limit:
            return "time limit"
        return "done" if bool(np.all(self.chains.step >= self.total)) else None

    def _piece(self, c: int) -> int:
        """Steps of chain c for the next piece; the first pieces are short, to learn the pace."""
        left = self.total - int(self.chains.step[c])
        wanted = int(PIECE_SECONDS / self.pace[c]) if self.pace[c] > 0 else 1
        return max(1, min(left, wanted, self.buffered * self.thin))

    def _learn_pace(self, c: int, seconds: float, steps: int) -> None:
        new = seconds / steps
        self.pace[c] = new if self.pace[c] == 0 else 0.5 * (self.pace[c] + new)

    # rules that draw a few rows: one task a chain

    def _each_alone(self, pool: ThreadPoolExecutor) -> str:
        make = self.new_source if self.reading is None else self.reading[0]
        sources = [make() for _ in range(self.chains.theta.shape[0])]
        running: dict[Future[Piece], int] = {}
        ended = self._over()
        while ended is None or running:
            if ended is None:
                self._submit(pool, sources, running)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                self._finish_piece(running.pop(future), *future.result())
            self._safe_point()
            ended = ended or self._over()
        self._safe_point(force=True)
        return ended or "done"

    def _submit(self, pool: ThreadPoolExecutor, sources: list[Any], running: dict[Future[Piece], int]) -> None:
        """Keep every thread busy with the chain that is furthest behind."""
        busy = set(running.values())
        waiting = [c for c in np.argsort(self.chains.step, kind="stable") if int(c) not in busy]
        for c in (int(c) for c in waiting if self.chains.step[c] < self.total):
            if len(running) >= self.cores:
                break
            running[pool.submit(self._advance_one, sources[c], c, self._piece(c))] = c

    def _advance_one(self, source: Any, c: int, n_steps: int) -> Piece:
        start, before = time.perf_counter(), int(self.chains.step[c])
        rest = self.plan, self.chains, c, n_steps, self.draws[c], self.statistics[c]
        if self.reading is None:
            filled, status = self.advance(source, *rest)
        else:
            from .reading import advance_reading  # compiled for such runs alone

            filled, status = advance_reading(source, self.reading[1], *rest)
        return filled, status, time.perf_counter() - start, int(self.chains.step[c]) - before

    # rules that read everything: all chains in lockstep

    def _together(self, pool: ThreadPoolExecutor) -> str:
        ended = self._over()
        n_chains = self.chains.theta.shape[0]
        reading = None if self.reading is None else (self.reading[0](), self.reading[1])
        while ended is None:
            n_steps, start, before = self._piece(0), time.perf_counter(), int(self.chains.step[0])
            filled, status = advance_lockstep(
                self.target.problem,
                self.target.rows.n,
                self.plan,
                self.chains,
                n_steps,
                self.draws,
                self.statistics,
                pool if self.cores > 1 else None,
                self.cores,
                reading,
            )
            steps, seconds = int(self.chains.step[0]) - before, time.perf_counter() - start
            if status != FINE:  # kept draws of the steps before the one at fault are in their places
                filled = self._kept(before + steps) - self._kept(before)
                faulty = np.flatnonzero(self.chains.report[:, STATUS] != FINE)
                self._fail(int(faulty[0]) if faulty.size else None, status)
            reported = [self._reported(c, filled) for c in range(n_chains)]
            if all(values is not None for values in reported):
                for c in range(n_chains):
                    self._take(c, filled, reported[c], seconds, steps)
            self._safe_point()
            ended = self._over()
        self._safe_point(force=True)
        return ended or "done"

    # both

    def _kept(self, step: int) -> int:
        """Kept draws of a chain that has done so many steps."""
        return max(0, step - self.warmup) // self.thin

    def _fail(self, c: int | None, status: int) -> None:
        if self.fault is None:
            self.fault = self.explain(c, status) if self.explain else InputError(f"chain {c} failed, status {status}")

    def _reported(self, c: int, filled: int) -> np.ndarray | None:
        """The kept draws of a piece as they are reported (filled, width); None where a function of the user fails."""
        try:
            return self.keep(self.draws[c, :filled]) if filled else np.empty((0, 0))
        except Exception as error:
            self.fault = self.fault or error
            return None

    def _finish_piece(self, c: int, filled: int, status: int, seconds: float, steps: int) -> None:
        """Take what a chain by itself has done; without its reported values the piece counts as not done."""
        if status != FINE:
            self._fail(c, status)
        values = self._reported(c, filled)
        if values is not None:
            self._take(c, filled, values, seconds, steps)

    def _take(self, c: int, filled: int, values: np.ndarray | None, seconds: float, steps: int) -> None:
        """Hand the draws of a piece to the store and note the state they end in."""
        if filled and values is not None:
            statistics = self.statistics[c, :filled]
            self.store.append(c, int(self.counts[c]), values, statistics[:, self.kept_columns])
            self.counts[c] += filled
        for name, array in self.safe.items():
            array[c] = getattr(self.chains, name)[c]
        self.status.steps[c], self.status.drawn[c] = self.safe["step"][c], self.counts[c]
        if filled and values is not None:
            self.trace.add(c, values)
            self.sums[c] += filled * self.thin, statistics[:, state.ACCEPTED].sum(), statistics[:, state.ROWS].sum()
            self._note_shares(c)
        if steps:
            self._learn_pace(c, seconds, steps)

    def _note_shares(self, c: int) -> None:
        """Share accepted and rows read a step of chain c, over all of its kept draws."""
        self.status.accepted[c], self.status.rows[c] = self.sums[c, 1:] / self.sums[c, 0]

    def _safe_point(self, force: bool = False) -> None:
        """Commit draws and the states they end in, every other second and at the end."""
        now = time.monotonic()
        self.status.seconds = now - self.began
        if force or now - self.committed_at > COMMIT_SECONDS:
            self._commit()
        self._report()

    def _commit(self) -> None:
        state = {name: array.copy() for name, array in self.safe.items()}
        state |= {"sums": self.sums.copy(), "clock": self.times()}
        self.store.commit(state, self.counts.copy())
        self.committed_at = time.monotonic()

    def _report(self, force: bool = False) -> None:
        if self.observe is None:
            return
        try:
            self.observe(self.status, self.trace)
        except Exception as error:  # what is shown must not end what is drawn
            self.observe = None
            sentence = f"progress is no longer shown ({type(error).__name__}: {error}), the run goes on"
            with suppress(Exception):  # standard error may take no warning either
                warnings.warn(sentence, AusterityWarning, stacklevel=2)

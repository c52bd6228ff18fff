"""What a store of draws must do: take them, mark them safe, give them back.

One writer, one thread. Order of calls: append any number of times, commit after appends that belong
together, finish once at the end, draws whenever they are wanted.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from austerity.errors import InputError

STATS = ("accepted", "acceptance_rate", "n_rows", "n_looks", "exhausted", "step_size")
"""Columns of the statistics of a draw; 'lp' follows when every decision was exact, 'move' when moves are of kinds."""

INTEGER_STATS = ("accepted", "n_rows", "n_looks", "exhausted", "move")
"""Statistics kept as int64: counts over the steps of one kept draw (0 or 1 when thin=1)."""

CHANGEABLE = ("draws", "time_limit", "progress", "cores", "store", "resume", "acceptance_reason")
"""Settings that a resumed run may change: none of them changes a draw."""


@runtime_checkable
class Store(Protocol):
    """Where the draws of a run go."""

    attrs: dict[str, Any]

    def append(self, chain: int, start: int, draws: NDArray[np.float64], stats: NDArray[np.float64]) -> None:
        """Take draws (n, width) and stats (n, S) of one chain; start must be the number already taken."""

    def commit(self, checkpoint: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> None:
        """Make the first counts[chain] draws of every chain safe, with the state to go on from; counts (chains,)."""

    def finish(self, attrs: dict[str, Any], counts: NDArray[np.int64]) -> None:
        """Close the run: counts are final, attrs are added to those of the store."""

    def draws(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """draws (chains, n, width) and stats (chains, n, S), n = the least number any chain has."""

    def close(self) -> None:
        """Let another process write; draws stay readable. finish and a failed write do it too."""


def check_append(
    chain: int, start: int, draws: ArrayLike, stats: ArrayLike, counts: NDArray[np.int64], width: int, n_stats: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Refuse draws that do not follow those already there; give both arrays as float64."""
    values, statistics = np.asarray(draws, dtype=np.float64), np.asarray(stats, dtype=np.float64)
    if not 0 <= chain < counts.size:
        raise InputError(f"Chain {chain} does not exist: the store has {counts.size} chains.")
    if start != counts[chain]:
        raise InputError(f"Draws of chain {chain} start at {start}, but the store expects draw {counts[chain]}.")
    if values.ndim != 2 or values.shape[1] != width:
        raise InputError(f"Draws of chain {chain} have shape {values.shape}, expected (n, {width}).")
    if statistics.shape != (values.shape[0], n_stats):
        raise InputError(f"Statistics of chain {chain} have shape {statistics.shape}, expected (n, {n_stats}).")
    return values, statistics


def check_counts(counts: ArrayLike, taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """counts (chains,) as int64, none above the number of draws taken."""
    given = np.array(counts, dtype=np.int64)
    if given.shape != taken.shape:
        raise InputError(f"Counts have shape {given.shape}, expected one for each of {taken.size} chains.")
    wrong = np.flatnonzero((given < 0) | (given > taken))
    if wrong.size:
        chain = int(wrong[0])
        raise InputError(f"Chain {chain} counts {given[chain]} draws, but {taken[chain]} were appended.")
    return given

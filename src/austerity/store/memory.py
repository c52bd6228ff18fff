"""Draws kept in memory: the store of a run that names no file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError
from austerity.store.base import STATS, check_append, check_counts

FIRST = 1024  # draws of a chain that get room at the start, where there is not enough for all


class MemoryStore:
    """Arrays with room for the draws asked for; commit keeps the checkpoint for inspection only."""

    def __init__(self, chains: int, draws: int, width: int, stat_names: Sequence[str] = STATS) -> None:
        """Room for `draws` of each chain: memory that is never touched costs nothing, and no draw is ever copied.

        Where the system refuses that much, room is doubled as draws arrive, since a time limit may end them early.
        """
        self.attrs: dict[str, Any] = {}
        self.stat_names = tuple(stat_names)
        self.checkpoint: dict[str, NDArray[Any]] = {}
        self.counts = np.zeros(chains, dtype=np.int64)
        self.limit = draws
        self._draws, self._stats = self._room(chains, draws, width)

    def _room(self, chains: int, draws: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Empty arrays of draws and statistics, for all draws or for the first."""
        n_stats = len(self.stat_names)
        try:
            return np.empty((chains, draws, width)), np.empty((chains, draws, n_stats))
        except (MemoryError, ValueError):
            capacity = min(draws, FIRST)
            return np.empty((chains, capacity, width)), np.empty((chains, capacity, n_stats))

    def append(self, chain: int, start: int, draws: NDArray[np.float64], stats: NDArray[np.float64]) -> None:
        """Copy draws (n, width) and stats (n, S) behind those of the chain."""
        width, n_stats = self._draws.shape[2], self._stats.shape[2]
        values, statistics = check_append(chain, start, draws, stats, self.counts, width, n_stats)
        stop = start + values.shape[0]
        if stop > self.limit:
            raise InputError(f"Chain {chain} would have {stop} draws, but {self.limit} were asked for.")
        if stop > self._draws.shape[1]:
            self._grow(stop)
        self._draws[chain, start:stop] = values
        self._stats[chain, start:stop] = statistics
        self.counts[chain] = stop

    def _grow(self, least: int) -> None:
        """Twice the room, or what is needed, but never more than was asked for."""
        capacity = min(self.limit, max(least, 2 * self._draws.shape[1]))
        filled = int(self.counts.max())
        for name in ("_draws", "_stats"):
            old = getattr(self, name)
            new = np.empty((old.shape[0], capacity, old.shape[2]))
            new[:, :filled] = old[:, :filled]
            setattr(self, name, new)

    def commit(self, checkpoint: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> None:
        """Keep the state; nothing survives the process."""
        check_counts(counts, self.counts)
        self.checkpoint = {name: np.array(array) for name, array in checkpoint.items()}

    def finish(self, attrs: dict[str, Any], counts: NDArray[np.int64]) -> None:
        """Drop draws beyond counts (a chain stopped in the middle of a batch) and keep attrs."""
        self.counts = check_counts(counts, self.counts)
        self.attrs.update(attrs)

    def draws(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """draws (chains, n, width) and stats (chains, n, S), n = min(counts): views, not copies."""
        n = int(self.counts.min())
        return self._draws[:, :n], self._stats[:, :n]

    def close(self) -> None:
        """Nothing to let go of."""

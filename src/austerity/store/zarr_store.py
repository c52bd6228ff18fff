"""Draws on disk as a zarr directory in xarray's layout; killed at any moment, it loses only what was not committed.

append keeps draws in memory. commit writes the chunks that are full, flushes them, and only then replaces the
checkpoint, which holds the draws of the chunks that are not full, the counts and the state to go on from.
So no chunk that a checkpoint counts on is ever written again with other content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError, StoreError
from austerity.report.variables import Variable, check_variables
from austerity.store import arrays, layout
from austerity.store.base import STATS, check_append, check_counts
from austerity.store.checkpoint import drop_damaged, read_checkpoint, write_checkpoint
from austerity.store.layout import Layout
from austerity.store.lock import WriterLock
from austerity.store.settings import as_json, check_same_run, read_settings

PREFIX = "state/"  # keeps the names of the caller's checkpoint apart from those used here


class ZarrStore:
    """Use create, resume or load; a store opened by load cannot be written."""

    def __init__(self, root: Path, shape: Layout, attrs: dict[str, Any], room: int, lock: WriterLock | None) -> None:
        """The state of an empty store; root holds the arrays already, with room for so many draws a chain."""
        self.path, self.layout, self.attrs, self.room = root, shape, attrs, room
        self.variables, self.stat_names = shape.variables, shape.stat_names
        self.counts = np.zeros(shape.chains, dtype=np.int64)
        self.committed = np.zeros(shape.chains, dtype=np.int64)
        self._written = np.zeros(shape.chains, dtype=np.int64)
        self._tails: list[list[NDArray[np.float64]]] = [[] for _ in range(shape.chains)]
        self._state: dict[str, NDArray[Any]] = {}
        self._lock = lock
        self._least_room = room

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        variables: Sequence[Variable],
        stat_names: Sequence[str] = STATS,
        chains: int,
        draws: int,
        attrs: dict[str, Any],
    ) -> ZarrStore:
        """A new run at a path where nothing is; attrs holds at least settings and data_fingerprint."""
        root = Path(path)
        refuse_existing(root)
        known = normal_attrs(attrs)
        row = check_variables(list(variables)) + len(stat_names)
        shape = Layout(list(variables), tuple(stat_names), chains, layout.choose_chunk(row, draws))
        with explained(root, "nothing was drawn: make room there or give another path"):
            arrays.create(root, shape, draws, known)
            lock = WriterLock(root / layout.STATE)
        return cls(root, shape, known, draws, lock)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ZarrStore:
        """The draws of the last commit, whether or not the run was finished; nothing is written."""
        store = cls._open(Path(path), None)
        store._read_state()
        clock = store._state.get("clock")
        if store.attrs.get("ended") == "running" and clock is not None and clock.shape == (2,):
            store.attrs |= {"setup_time": float(clock[0]), "sampling_time": float(clock[1])}
        return store

    @classmethod
    def resume(
        cls, path: str | PathLike[str], *, settings: dict[str, Any], fingerprint: str
    ) -> tuple[ZarrStore, dict[str, NDArray[Any]], NDArray[np.int64]]:
        """The store, the checkpoint and the counts to go on from; refused when a setting or the data differ.

        settings["draws"], where given, is the new number asked for: more than before or fewer, but not fewer
        than there are.
        """
        root = Path(path)
        store = cls._open(root, None)
        old = read_settings(store.attrs.get("settings"))
        check_same_run(root, old, settings, store.attrs.get("data_fingerprint"), fingerprint)
        with explained(root, "the draws of its last commit are safe: allow writing there"):
            store._lock = WriterLock(root / layout.STATE)
        try:
            store._read_state()
            drop_damaged(root / layout.STATE)
            store._reopen({**old, **settings})
        except BaseException:
            store.close()
            raise
        return store, dict(store._state), store.counts.copy()

    def append(self, chain: int, start: int, draws: NDArray[np.float64], stats: NDArray[np.float64]) -> None:
        """Keep draws (n, width) and stats (n, S) in memory until the next commit."""
        self._check_open()
        values, statistics = check_append(
            chain, start, draws, stats, self.counts, self.layout.width, len(self.stat_names)
        )
        stop = start + values.shape[0]
        if stop > self.room:
            raise InputError(f"Chain {chain} would have {stop} draws, but {self.room} were asked for.")
        self._tails[chain].append(np.concatenate([values, statistics], axis=1))
        self.counts[chain] = stop

    def commit(self, checkpoint: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> None:
        """Put the first counts[chain] draws of every chain, and the checkpoint, safely on disk.

        StoreError when the disk takes no more: the commit before stands, and draws() still gives every draw.
        """
        self._check_open()
        given = check_counts(counts, self.counts)
        if np.any(given < self.committed):
            raise InputError(f"Counts {given.tolist()} fall behind those committed, {self.committed.tolist()}.")
        state = {name: np.array(array) for name, array in checkpoint.items()}  # finish writes it once more
        with self._explained():
            self._flush_full_chunks(given)
            self._write_state(state, given)

    def finish(self, attrs: dict[str, Any], counts: NDArray[np.int64]) -> None:
        """Close the run: counts are those of the last commit; arrays are cut to the least of them.

        Draws that a chain has beyond the least stay in the checkpoint, so that a resumed run goes on from all.
        """
        self._check_open()
        given = check_counts(counts, self.counts)
        if np.any(given != self.committed):
            raise InputError(f"Counts {given.tolist()} differ from those committed, {self.committed.tolist()}.")
        n = int(given.min())
        self.counts = given
        self.attrs = normal_attrs({**self.attrs, **attrs})
        with self._explained():
            if self._take_back(n // self.layout.chunk * self.layout.chunk):
                self._write_state(self._state, given)  # the checkpoint before must not count on lost chunks either
            self._write_state(self._state, given)
            rows = [self._tail(chain)[: n % self.layout.chunk] for chain in range(self.layout.chains)]
            arrays.finish(self.path, self.layout, rows, n)
            arrays.write_attributes(self.path, self.layout, self.attrs)
        self.room = n
        self.close()

    def draws(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """draws (chains, n, width) and stats (chains, n, S), n = min(counts), committed or not."""
        n, width = int(self.counts.min()), self.layout.width
        rows = np.empty((self.layout.chains, n, self.layout.row))
        for chain in range(self.layout.chains):
            stored = min(n, int(self._written[chain]))
            rows[chain, :stored] = arrays.read_rows(self.path, self.layout, chain, 0, stored)
            rows[chain, stored:] = self._tail(chain)[: n - stored]
        return rows[..., :width], rows[..., width:]

    def close(self) -> None:
        """Let another process write; every draw stays readable through this store."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @classmethod
    def _open(cls, root: Path, lock: WriterLock | None) -> ZarrStore:
        """A store of no draws yet, its metadata checked."""
        shape, attrs = layout.read_layout(root)
        rooms = [layout.check_array(root, shape, column) for column in shape.columns()]
        store = cls(root, shape, attrs, max(rooms), lock)
        store._least_room = min(rooms)
        return store

    def _check_open(self) -> None:
        """Refuse to write to a store that was loaded, finished, closed, or could not be written."""
        if self._lock is None:
            raise StoreError(f"The run at {self.path} is closed for writing: open it again with resume=True.")

    def _reopen(self, settings: dict[str, Any]) -> None:
        """Room for settings["draws"], and the new settings in the attributes."""
        asked = as_json(settings).get("draws")
        draws = asked if isinstance(asked, int) else self.room
        if draws < self.counts.max():
            raise StoreError(
                f"draws={draws} is asked for, but the run at {self.path} has {self.counts.max()} draws of a chain: "
                f"ask for at least as many."
            )
        self.attrs, self.room = normal_attrs({**self.attrs, "settings": settings, "ended": "running"}), draws
        with self._explained():
            arrays.reopen(self.path, self.layout, draws)
            arrays.write_attributes(self.path, self.layout, self.attrs)

    def _read_state(self) -> None:
        """Take counts, unfilled chunks and the caller's state from the checkpoint."""
        found = read_checkpoint(self.path / layout.STATE)
        state = {name.removeprefix(PREFIX): found[name] for name in found if name.startswith(PREFIX)}
        counts, written, rows = (found.get(name) for name in ("counts", "written", "rows"))
        if counts is None or written is None or rows is None or not self._believable(counts, written, rows):
            raise StoreError(f"The checkpoint of the run at {self.path} does not fit its arrays: restore it.")
        self.counts, self.committed, self._written, self._state = counts, counts.copy(), written, state
        ends = np.cumsum(counts - written)
        self._tails = [[part] for part in np.split(rows, ends[:-1])]
        arrays.check_chunks(self.path, self.layout, written)

    def _believable(self, counts: NDArray[Any], written: NDArray[Any], rows: NDArray[Any]) -> bool:
        """Whether the three arrays of a checkpoint have the types and sizes that commit writes."""
        chains, row = self.layout.chains, self.layout.row
        typed = all(part.shape == (chains,) and part.dtype == np.int64 for part in (counts, written))
        if not typed or rows.dtype != np.float64 or rows.ndim != 2 or rows.shape[1] != row:
            return False
        ordered = bool(np.all((written >= 0) & (written <= counts) & (counts < 2**48)))
        whole = bool(np.all((written % self.layout.chunk == 0) & (written <= self._least_room)))
        return ordered and whole and int((counts - written).sum()) == len(rows)

    def _tail(self, chain: int) -> NDArray[np.float64]:
        """Rows (n, width + S) of the chain that are in no chunk on disk."""
        blocks = self._tails[chain]
        if len(blocks) != 1:
            blocks[:] = [np.concatenate(blocks)] if blocks else [np.empty((0, self.layout.row))]
        return blocks[0]

    def _flush_full_chunks(self, counts: NDArray[np.int64]) -> None:
        """Write every chunk that the counts fill; a chain's rows leave memory once they are flushed."""
        for chain in range(self.layout.chains):
            start = int(self._written[chain])
            stop = int(counts[chain]) // self.layout.chunk * self.layout.chunk
            if stop > start:
                tail = self._tail(chain)
                arrays.write_rows(self.path, self.layout, chain, start, tail[: stop - start])
                self._tails[chain] = [tail[stop - start :].copy()]
                self._written[chain] = stop

    def _take_back(self, limit: int) -> bool:
        """Move rows from draw `limit` on, which cutting the arrays would lose, to memory; True if there are any."""
        beyond = bool(np.any(self._written > limit))
        for chain in range(self.layout.chains):
            stop = int(self._written[chain])
            if stop > limit:
                rows = arrays.read_rows(self.path, self.layout, chain, limit, stop)
                self._tails[chain].insert(0, rows)
                self._written[chain] = limit
        return beyond

    def _write_state(self, state: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> None:
        """Replace the checkpoint, then believe it."""
        rows = [self._tail(c)[: int(counts[c] - self._written[c])] for c in range(self.layout.chains)]
        own = {"counts": counts, "written": self._written, "rows": np.concatenate(rows)}
        write_checkpoint(self.path / layout.STATE, own | {PREFIX + name: array for name, array in state.items()})
        self.committed, self._state = counts.copy(), state

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn a failed write into the sentence that says what is safe; the lock is let go."""
        safe = f"{int(self.committed.min())} draws of every chain are safe there"
        try:
            with explained(self.path, f"{safe}: make room or allow writing there, then go on with resume=True"):
                yield
        except StoreError:
            self.close()
            raise


@contextmanager
def explained(root: Path, consequence: str) -> Iterator[None]:
    """A failed write as one sentence: the path, the reason, what is safe and the remedy."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:  # zarr meets damaged metadata with any of them
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"The run at {root} could not be written ({reason}); {consequence}.") from error


def is_free(root: Path) -> bool:
    """Whether a new run may be made at the path: nothing is there, or a directory that holds nothing."""
    if not os.path.lexists(root):
        return True
    try:
        return root.is_dir() and not root.is_symlink() and not any(root.iterdir())
    except OSError:
        return False


def refuse_existing(root: Path) -> None:
    """StoreError when anything but an empty directory is at the path, with the remedy for what it is."""
    if is_free(root):
        return
    try:
        layout.read_layout(root)
    except StoreError:
        raise StoreError(f"{root} exists and is no austerity run: give another path.") from None
    raise StoreError(f"{root} holds a run already: pass resume=True to go on with it, or give another path.")


def normal_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    """attrs as JSON gives them back, settings as text with sorted keys."""
    for key in ("settings", "data_fingerprint"):
        if key not in attrs:
            raise InputError(f"attrs lacks {key!r}: a store keeps the settings and the fingerprint of the data.")
    values = {key: as_json(value) for key, value in attrs.items() if key != "settings"}
    settings = attrs["settings"] if isinstance(attrs["settings"], str) else as_json(attrs["settings"])
    return values | {"settings": json.dumps(read_settings(settings), sort_keys=True)}

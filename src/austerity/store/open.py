"""Which store a run writes to: memory, a new directory, or one to go on from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import StoreError
from austerity.report.variables import Variable, check_variables
from austerity.store.base import STATS, Store
from austerity.store.memory import MemoryStore
from austerity.store.settings import check_same_run, read_settings


def check_place(path: str | PathLike[str]) -> None:
    """Refuse a path below something that is no directory, or one that cannot be written."""
    place = Path(path).absolute().parent
    while not place.exists():
        place = place.parent
    if place.is_dir() and os.access(place, os.W_OK | os.X_OK):
        return
    reason = "may not be written" if place.is_dir() else "is not a directory"
    raise StoreError(
        f"The run at {os.fspath(path)} could not be written ({place} {reason}); nothing was drawn: give another path."
    )


def check_resumable(path: str | PathLike[str], settings: dict[str, Any], fingerprint: str) -> None:
    """Refuse to go on with another run, as far as settings tell; resuming looks at the rest of them."""
    from austerity.store.layout import read_layout

    _, attrs = read_layout(Path(path))
    old = read_settings(attrs.get("settings"))
    known = {key: value for key, value in old.items() if key in settings}
    check_same_run(path, known, settings, attrs.get("data_fingerprint"), fingerprint)


def open_store(
    path: str | PathLike[str] | None,
    *,
    resume: bool,
    variables: Sequence[Variable],
    stat_names: Sequence[str] = STATS,
    chains: int,
    draws: int,
    attrs: dict[str, Any],
) -> tuple[Store, dict[str, NDArray[Any]] | None, NDArray[np.int64]]:
    """The store, the checkpoint to go on from (None: start fresh) and the draws each chain has.

    No path: memory. A path where nothing is, or an empty directory: a new run, with resume=True too, so that the
    same call starts a run and goes on with it. A path that exists: refused unless resume=True and the run there is
    the same one.
    """
    zeros = np.zeros(chains, dtype=np.int64)
    if path is None:
        memory = MemoryStore(chains, draws, check_variables(list(variables)), stat_names)
        memory.attrs.update(attrs)
        return memory, None, zeros
    from austerity.store.zarr_store import ZarrStore, is_free

    if not resume or is_free(Path(path)):
        new = ZarrStore.create(
            path, variables=variables, stat_names=stat_names, chains=chains, draws=draws, attrs=attrs
        )
        return new, None, zeros
    settings = {**read_settings(attrs["settings"]), "draws": draws}
    store, checkpoint, counts = ZarrStore.resume(path, settings=settings, fingerprint=attrs["data_fingerprint"])
    same = [variable.to_dict() for variable in store.variables] == [variable.to_dict() for variable in variables]
    if not same or store.stat_names != tuple(stat_names) or counts.size != chains:
        store.close()
        raise StoreError(f"The run at {os.fspath(path)} has other variables, statistics or chains: give another path.")
    return store, checkpoint if counts.any() or checkpoint else None, counts

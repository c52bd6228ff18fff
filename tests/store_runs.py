"""A small run to store, for the tests of the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from austerity.report.variables import Variable
from austerity.store import layout
from austerity.store.base import STATS
from austerity.store.zarr_store import ZarrStore

CHAINS, DRAWS, WIDTH = 2, 300, 5
SETTINGS = {"draws": DRAWS, "acceptance": {"name": "SequentialT", "epsilon": 0.01}, "thin": 1, "cores": 2}
ATTRS = {"settings": SETTINGS, "data_fingerprint": "abc", "guarantee": "exact", "exact": True}
VARIABLES = [
    Variable("beta", ("coef",), {"coef": ["age", "größe", "x"]}, 0, 3),
    Variable("sigma", (), {}, 3, 4),
    Variable("size", ("step",), {"step": [7]}, 4, 5),
]


def table(seed: int = 1, draws: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """draws (chains, n, width) and statistics (chains, n, S) of a run that could be drawn."""
    rng = np.random.default_rng(seed)
    stats = np.empty((CHAINS, draws, len(STATS)))
    stats[..., 0] = rng.integers(0, 2, size=(CHAINS, draws))
    stats[..., 1] = rng.uniform(size=(CHAINS, draws))
    stats[..., 2:4] = rng.integers(0, 10**6, size=(CHAINS, draws, 2))
    stats[..., 4], stats[..., 5] = 0, np.nan  # zarr leaves out chunks that hold nothing but the fill value
    return rng.normal(size=(CHAINS, draws, WIDTH)), stats


DRAWN, STATISTICS = table()


def make(path: Path, **changes: Any) -> ZarrStore:
    """A new store with the settings above."""
    given = {"variables": VARIABLES, "stat_names": STATS, "chains": CHAINS, "draws": DRAWS, "attrs": ATTRS}
    return ZarrStore.create(path, **(given | changes))


def extend(store: Any, to: list[int], commit: bool = True) -> np.ndarray:
    """Append draws up to the counts given, commit them with a state that tells the counts."""
    for chain, stop in enumerate(to):
        start = int(store.counts[chain])
        store.append(chain, start, DRAWN[chain, start:stop], STATISTICS[chain, start:stop])
    counts = np.array(to, dtype=np.int64)
    if commit:
        store.commit({"theta": counts * 1.5, "words": np.array([2**63 + 5], dtype=np.uint64)}, counts)
    return counts


def check(store: Any, n: int) -> None:
    """The first n draws and statistics, bit for bit."""
    draws, stats = store.draws()
    np.testing.assert_array_equal(draws, DRAWN[:, :n])
    np.testing.assert_array_equal(stats, STATISTICS[:, :n])


def fail_with(code: int) -> Any:
    """A function that raises the OSError of that code, whatever it is given."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 128 draws, so that a short run fills some."""
    monkeypatch.setattr(layout, "LARGEST_CHUNK", 128)

"""Draws on disk: what goes in comes back, and only the same run goes on from a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from store_runs import (
    ATTRS,
    CHAINS,
    DRAWN,
    DRAWS,
    SETTINGS,
    STATISTICS,
    VARIABLES,
    WIDTH,
    check,
    extend,
    make,
    small_chunks,
)

from austerity.errors import InputError, StoreError
from austerity.report.results import load_tree
from austerity.report.variables import Variable
from austerity.store import checkpoint, layout
from austerity.store.base import STATS, Store
from austerity.store.memory import MemoryStore
from austerity.store.open import open_store
from austerity.store.zarr_store import ZarrStore

__all__ = ["small_chunks"]


@pytest.mark.parametrize("kind", ["memory", "zarr"])
def test_append_commit_finish_draws(tmp_path: Path, kind: str) -> None:
    store = MemoryStore(CHAINS, DRAWS, WIDTH, STATS) if kind == "memory" else make(tmp_path / "run.zarr")
    assert isinstance(store, Store)
    for n in (3, 3, 127, 128, 129, 300):
        counts = extend(store, [n, n])
        check(store, n)
    store.finish({"sampling_time": 2.0}, counts)
    check(store, 300)
    assert store.attrs["sampling_time"] == 2.0


@pytest.mark.parametrize("kind", ["memory", "zarr"])
def test_draws_that_do_not_follow_are_refused(tmp_path: Path, kind: str) -> None:
    store = MemoryStore(CHAINS, DRAWS, WIDTH, STATS) if kind == "memory" else make(tmp_path / "run.zarr")
    extend(store, [5, 5])
    one, its = np.zeros((1, WIDTH)), np.zeros((1, len(STATS)))
    with pytest.raises(InputError, match="chain 1 start at 4, but the store expects draw 5"):
        store.append(1, 4, one, its)
    with pytest.raises(InputError, match="Chain 2 does not exist"):
        store.append(2, 0, one, its)
    with pytest.raises(InputError, match=r"shape \(1, 4\), expected \(n, 5\)"):
        store.append(0, 5, one[:, :4], its)
    with pytest.raises(InputError, match="Statistics of chain 0"):
        store.append(0, 5, one, its[:, :2])
    with pytest.raises(InputError, match="would have 305 draws, but 300"):
        store.append(0, 5, np.zeros((300, WIDTH)), np.zeros((300, len(STATS))))
    with pytest.raises(InputError, match="Chain 1 counts 6 draws, but 5"):
        store.commit({}, np.array([5, 6]))


def test_commits_do_not_go_back_and_keep_a_copy(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    extend(store, [140, 140], commit=False)
    theta, counts = np.ones(3), np.array([140, 140])
    store.commit({"theta": theta}, counts)
    with pytest.raises(InputError, match="fall behind those committed"):
        store.commit({}, counts - 20)
    theta[:] = 7
    store.finish({}, counts)
    _, state, _ = ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="abc")
    assert state["theta"].tolist() == [1, 1, 1]


def test_memory_grows_only_as_draws_arrive() -> None:
    store = MemoryStore(CHAINS, 10**12, WIDTH, STATS)
    extend(store, [700, 400])
    extend(store, [1000, 900])
    check(store, 900)


def test_uneven_chains_give_the_common_draws_and_lose_nothing(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    counts = extend(store, [290, 131])
    store.finish({}, counts)
    check(store, 131)
    with xarray.open_datatree(tmp_path / "run.zarr", engine="zarr", consolidated=False) as tree:
        assert tree["posterior"].sizes["draw"] == 131
    again, _, found = ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="abc")
    assert found.tolist() == [290, 131]
    extend(again, [300, 300])
    check(again, 300)


def test_a_finished_run_without_a_draw_can_be_read(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    store.finish({}, np.zeros(CHAINS, dtype=np.int64))
    assert ZarrStore.load(tmp_path / "run.zarr").draws()[0].shape == (CHAINS, 0, WIDTH)


@pytest.mark.filterwarnings("error")
def test_xarray_opens_what_was_finished(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    store.finish({"sampling_time": 2.5}, extend(store, [270, 270]))
    with xarray.open_datatree(tmp_path / "run.zarr", engine="zarr", consolidated=False) as tree:
        beta = tree["posterior"]["beta"]
        assert beta.dims == ("chain", "draw", "coef") and tree["posterior"]["sigma"].dims == ("chain", "draw")
        assert beta.coords["coef"].to_numpy().tolist() == ["age", "größe", "x"]
        assert beta.coords["draw"].to_numpy().tolist() == list(range(270))
        assert beta.coords["chain"].to_numpy().tolist() == [0, 1]
        assert tree["posterior"]["step"].to_numpy().tolist() == [7]
        np.testing.assert_array_equal(beta.to_numpy(), DRAWN[:, :270, :3])
        np.testing.assert_array_equal(tree["sample_stats"]["n_rows"].to_numpy(), STATISTICS[:, :270, 2])
        kinds = {name: tree["sample_stats"][name].dtype for name in STATS}
        assert all(kinds[name] == np.int64 for name in ("accepted", "n_rows", "n_looks", "exhausted"))
        assert kinds["acceptance_rate"] == kinds["step_size"] == np.float64
        for attrs in (tree.attrs, tree["posterior"].attrs):
            assert attrs["sampling_time"] == 2.5 and json.loads(attrs["settings"]) == SETTINGS


def test_load_tree_gives_what_xarray_reads(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    store.finish({}, extend(store, [270, 270]))
    ours = load_tree(tmp_path / "run.zarr")
    with xarray.open_datatree(tmp_path / "run.zarr", engine="zarr", consolidated=False) as theirs:
        for group in ("posterior", "sample_stats"):
            xarray.testing.assert_equal(ours[group].to_dataset(), theirs[group].to_dataset().load())


def test_resume_grows_and_shrinks_the_room(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    store = make(path)
    store.finish({}, extend(store, [300, 300]))
    with pytest.raises(StoreError, match=r"draws=299 is asked for, but the run at .* has 300"):
        ZarrStore.resume(path, settings=SETTINGS | {"draws": 299}, fingerprint="abc")
    store, _, _ = ZarrStore.resume(path, settings=SETTINGS | {"draws": 900, "cores": 7}, fingerprint="abc")
    store.commit({}, extend(store, [500, 500]))
    store.close()
    store, _, _ = ZarrStore.resume(path, settings=SETTINGS | {"draws": 600}, fingerprint="abc")
    assert json.loads(store.attrs["settings"])["draws"] == 600
    store.finish({}, extend(store, [600, 600]))
    check(ZarrStore.load(path), 600)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"acceptance": {"name": "SequentialT", "epsilon": 0.05}}, r"acceptance\.epsilon = 0\.01, and 0\.05"),
        ({"acceptance": "Exact"}, r'acceptance = \{"epsilon": .*, and "Exact"'),
        ({"thin": 2}, "thin = 1, and 2"),
        ({"thin": True}, "thin = 1, and true"),
        ({"warmup": 10}, "warmup = nothing, and 10"),
    ],
)
def test_resume_names_the_setting_that_differs(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    make(tmp_path / "run.zarr").close()
    with pytest.raises(StoreError, match=words):
        ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS | change, fingerprint="abc")


def test_resume_with_other_data_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "run.zarr").close()
    with pytest.raises(StoreError, match=r'The data differ from those of the run at .*"abc", now "xyz"'):
        ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="xyz")


def test_settings_that_change_no_draw_may_differ(tmp_path: Path) -> None:
    make(tmp_path / "run.zarr").close()
    other = SETTINGS | {"cores": 1, "time_limit": 5.0, "progress": False, "store": "x", "resume": True}
    ZarrStore.resume(tmp_path / "run.zarr", settings=other, fingerprint="abc")[0].close()


def open_with(path: Path | None, resume: bool, **changes: Any) -> Any:
    """open_store with the settings above."""
    given = {"variables": VARIABLES, "stat_names": STATS, "chains": CHAINS, "draws": DRAWS, "attrs": ATTRS}
    return open_store(path, resume=resume, **(given | changes))


def test_open_store_starts_goes_on_or_refuses(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.zarr"
    assert isinstance(open_with(None, False)[0], MemoryStore)
    store, state, counts = open_with(path, True)
    assert state is None and counts.tolist() == [0, 0]
    extend(store, [50, 50])
    store.close()
    with pytest.raises(StoreError, match="holds a run already: pass resume=True"):
        open_with(path, False)
    with pytest.raises(StoreError, match="other variables"):
        open_with(path, True, variables=[Variable("w", ("i",), {"i": [0, 1, 2, 3, 4]}, 0, 5)])
    store, state, counts = open_with(path, True, draws=400)
    assert counts.tolist() == [50, 50] and store.room == 400 and state is not None


def test_what_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "note").write_text("mine")
    xarray.Dataset({"a": ("x", [1.0])}).to_zarr(tmp_path / "other.zarr", zarr_format=3, consolidated=False)
    for name in ("file", "folder", "other.zarr"):
        for resume in (False, True):
            with pytest.raises(StoreError, match="no austerity run"):
                open_with(tmp_path / name, resume)
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(StoreError, match="There is no austerity run at"):
        ZarrStore.load(tmp_path / "nothing")


def test_checkpoint_names_and_shapes_come_back(tmp_path: Path) -> None:
    given = {
        "file": np.arange(6.0).reshape(2, 3).T,
        "allow_pickle": np.array(3, dtype=np.uint64),
        "a/b c": np.empty((0, 4)),
        "flag": np.array([True, False]),
    }
    checkpoint.write_checkpoint(tmp_path, given)
    found = checkpoint.read_checkpoint(tmp_path)
    assert found.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype and found[name].shape == array.shape


@pytest.mark.parametrize(
    ("row", "draws", "chunk"), [(56, 10**6, 1024), (1, 10**9, 4096), (10**6, 5000, 128), (8, 5, 128)]
)
def test_chunks_are_of_a_moderate_size(row: int, draws: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "LARGEST_CHUNK", 4096)
    assert layout.choose_chunk(row, draws) == chunk

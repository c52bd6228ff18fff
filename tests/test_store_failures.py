"""A run killed, a disk that is full, a file cut short: what was committed is still there."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_runs import SETTINGS, check, extend, fail_with, make, small_chunks

from austerity.errors import StoreError
from austerity.report.results import load_tree
from austerity.store import arrays, checkpoint, layout
from austerity.store.zarr_store import ZarrStore

__all__ = ["small_chunks"]


def copy_if_there(source: str, target: str) -> None:
    """Copy a file that another thread of zarr may rename or delete at this moment."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


def copies_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, list[int]]]:
    """The directory before and after every file a run writes or renames, with the counts committed by then."""
    run, taken, committed = tmp_path / "run.zarr", [], [0, 0]

    one_at_a_time = threading.Lock()  # zarr writes its chunks from several threads

    def snapshot() -> None:
        with one_at_a_time:
            if not run.exists():
                return
            copy = tmp_path / f"copy{len(taken)}.zarr"
            shutil.copytree(run, copy, copy_function=copy_if_there)
            taken.append((copy, list(committed)))

    def watched(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*given: Any, **named: Any) -> Any:
            snapshot()
            return original(*given, **named)

        monkeypatch.setattr(module, name, call)

    watched(os, "replace")
    watched(Path, "replace")
    watched(arrays, "_resize")
    watched(arrays, "_coordinate")
    store = make(run)
    for n in ([60, 40], [150, 129], [300, 258]):
        counts = extend(store, n)
        committed = n
    store.finish({}, counts)
    snapshot()
    return taken


def test_a_run_killed_between_any_two_writes_is_read_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        taken = copies_of_a_run(tmp_path, patch)
    assert len(taken) > 100
    for number, (copy, committed) in enumerate(taken):
        loaded = ZarrStore.load(copy)
        assert loaded.counts.sum() >= sum(committed)  # the rename of a checkpoint may come before its return
        check(loaded, int(loaded.counts.min()))
        if number % 8 and number < len(taken) - 4:
            continue  # reading is quick enough for all, going on for some
        store, state, counts = ZarrStore.resume(copy, settings=SETTINGS, fingerprint="abc")
        np.testing.assert_array_equal(counts, loaded.counts)
        if counts.any():
            np.testing.assert_array_equal(state["theta"], counts * 1.5)
            assert state["words"].dtype == np.uint64 and state["words"][0] == 2**63 + 5
        store.finish({}, extend(store, [300, 300]))
        check(ZarrStore.load(copy), 300)


def write_until_killed(path: str, ready: Any) -> None:
    """Commit one draw after the other, for ever."""
    layout.LARGEST_CHUNK = 128
    store = make(Path(path), draws=1000)
    n = 0
    while True:
        n = n % 999 + 1
        if n > store.counts[0]:
            extend(store, [n, n])
        ready.set()


def test_kill_minus_nine(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for trial in range(2):
        path, ready = tmp_path / f"run{trial}.zarr", context.Event()
        writer = context.Process(target=write_until_killed, args=(str(path), ready))
        writer.start()
        assert ready.wait(60)
        writer.join(0.2 + 0.137 * trial)
        writer.kill()
        writer.join()
        n = int(ZarrStore.load(path).counts[0])
        assert n >= 1
        store, state, counts = ZarrStore.resume(path, settings=SETTINGS | {"draws": 1000}, fingerprint="abc")
        assert counts.tolist() == [n, n] and state["theta"][0] == 1.5 * n
        store.finish({}, extend(store, [1000, 1000]))
        check(ZarrStore.load(path), 1000)


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    extend(store, [10, 10])
    with pytest.raises(StoreError, match="being written by another process"):
        ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="abc")
    check(ZarrStore.load(tmp_path / "run.zarr"), 10)
    store.close()
    ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="abc")[0].close()


def test_uncommitted_draws_are_given_here_but_not_after_a_kill(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    extend(store, [140, 140])
    extend(store, [150, 150], commit=False)
    check(store, 150)
    check(ZarrStore.load(tmp_path / "run.zarr"), 140)


def test_a_damaged_checkpoint_falls_back_on_the_one_before(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    extend(store, [100, 100])
    extend(store, [150, 150])
    newest = tmp_path / "run.zarr" / layout.STATE / checkpoint.NEWEST
    content = newest.read_bytes()
    for cut in (0, 1, len(content) // 2, len(content) - 1):
        newest.write_bytes(content[:cut])
        check(ZarrStore.load(tmp_path / "run.zarr"), 100)
    for place in np.linspace(100, len(content) - 200, 7).astype(int):
        newest.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert ZarrStore.load(tmp_path / "run.zarr").counts[0] in (100, 150)  # 150 where only padding was hit
    newest.write_bytes(content[:-1])
    store.close()
    again, _, counts = ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="abc")
    assert counts.tolist() == [100, 100] and not newest.exists()  # else the next commit would keep it as the one before
    extend(again, [180, 180])
    check(ZarrStore.load(tmp_path / "run.zarr"), 180)
    newest.write_bytes(b"")
    (newest.parent / checkpoint.PREVIOUS).write_bytes(b"PK")
    with pytest.raises(StoreError, match=r"No checkpoint in .* can be read"):
        ZarrStore.load(tmp_path / "run.zarr")


@pytest.mark.parametrize("left", [0, 1, 700])
def test_a_truncated_or_missing_chunk_is_refused(tmp_path: Path, left: int) -> None:
    store = make(tmp_path / "run.zarr")
    extend(store, [200, 200])
    chunk = tmp_path / "run.zarr" / "posterior" / "beta" / "c.1.0.0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[:left])
    with pytest.raises(StoreError, match=r"c\.1\.0\.0 has \d+ bytes where 3076 were written"):
        ZarrStore.load(tmp_path / "run.zarr")
    chunk.unlink()
    with pytest.raises(StoreError, match="has 0 bytes"):
        load_tree(tmp_path / "run.zarr")
    chunk.write_bytes(bytes([content[0] ^ 4]) + content[1:])
    with pytest.raises(StoreError, match=r"Draws 0 to 128 of chain 1 .* cannot be read"):
        load_tree(tmp_path / "run.zarr")


@pytest.mark.parametrize("place", ["chunk", "checkpoint", "flush"])
def test_a_full_disk_loses_nothing_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    store = make(tmp_path / "run.zarr")
    extend(store, [120, 120])
    with monkeypatch.context() as patch:
        module, name = {
            "chunk": (Path, "replace"),
            "checkpoint": (checkpoint, "_write"),
            "flush": (os, "fsync"),
        }[place]
        patch.setattr(module, name, fail_with(errno.ENOSPC))
        with pytest.raises(StoreError, match=r"run\.zarr could not be written \(No space.*120 draws of every chain"):
            extend(store, [200, 200])
    check(store, 200)
    with pytest.raises(StoreError, match="closed for writing"):
        store.commit({}, np.array([200, 200]))
    check(ZarrStore.load(tmp_path / "run.zarr"), 120)
    again, state, counts = ZarrStore.resume(tmp_path / "run.zarr", settings=SETTINGS, fingerprint="abc")
    assert counts.tolist() == [120, 120] and state["theta"].tolist() == [180, 180]
    again.finish({}, extend(again, [300, 300]))
    check(ZarrStore.load(tmp_path / "run.zarr"), 300)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_disk_that_is_full_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    store = make(tmp_path / "run.zarr")
    counts = extend(store, [300, 150])
    with monkeypatch.context() as patch:
        patch.setattr(arrays, "_resize", fail_with(code))
        with pytest.raises(StoreError, match="150 draws of every chain are safe"):
            store.finish({}, counts)
    check(ZarrStore.load(tmp_path / "run.zarr"), 150)


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"could not be written \(.*file is not a directory\); nothing was drawn"):
        make(tmp_path / "file" / "run.zarr")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail_with(errno.ENOSPC))
        with pytest.raises(StoreError, match="No space"):
            make(tmp_path / "run.zarr")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_directory_without_write_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's refusal is injected, since the superuser may write everywhere and tests may run as one."""
    monkeypatch.setattr(os, "rename", fail_with(errno.EACCES))
    with pytest.raises(StoreError, match="Permission denied"):
        make(tmp_path / "run.zarr")

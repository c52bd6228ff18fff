"""Whatever happens to a run, what was drawn is handed over, and the store can be read and gone on with."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupted_runs import (
    DRAWS,
    assert_prefix,
    begin,
    data,
    fingerprint,
    reference,
    said_last,
    sample,
    settings,
    slowed,
    wait_for,
)

import austerity as au
from austerity.engine import run as run_module
from austerity.errors import AusterityWarning, InputError, ModelError, StoreError
from austerity.store import zarr_store

__all__ = ["slowed"]

RULES = ("SequentialT", "Exact")


def digest_of_first(rule: str, draws: int) -> str:
    return fingerprint(reference(rule).isel(draw=slice(0, draws)))


@pytest.mark.parametrize("rule", RULES)
def test_files_that_cannot_grow(rule: str, tmp_path: Path) -> None:
    """A limit of the system on the size of files, in a process of its own: a write fails as on a full disk."""
    store = tmp_path / "run.zarr"
    reference(rule)  # compiled code is on disk before its files may not grow
    said = said_last(begin(rule, store, largest_file=30_000, seconds=1.0, talk=False))
    assert "could not be written (File too large)" in said["error"] and "go on with resume=True" in said["error"]
    assert said["ended"] == "store" and 0 < said["draws"] < DRAWS
    assert said["digest"] == digest_of_first(rule, said["draws"])
    left = au.load(store)
    assert 0 < left["posterior"].sizes["draw"] <= said["draws"]
    assert_prefix(left, reference(rule))
    assert_prefix(sample(rule, store=store, resume=True), reference(rule), DRAWS)


def fill_disk(patch: pytest.MonkeyPatch, draws: int, code: int) -> None:
    """From the commit of more than so many draws on, nothing reaches the disk."""
    seen, write, flush = [0], zarr_store.write_checkpoint, os.fsync

    def watched(directory: Path, arrays: dict[str, Any]) -> None:
        seen[0] = int(arrays["counts"].min())
        write(directory, arrays)

    def fsync(handle: int) -> None:
        if seen[0] > draws:
            raise OSError(code, os.strerror(code))
        flush(handle)

    patch.setattr(zarr_store, "write_checkpoint", watched)
    patch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize(
    ("rule", "code"), [("SequentialT", errno.ENOSPC), ("Exact", errno.ENOSPC), ("Exact", errno.EIO)]
)
def test_a_disk_that_fills_up(
    rule: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slowed: None
) -> None:
    store = tmp_path / "run.zarr"
    with monkeypatch.context() as patch:
        fill_disk(patch, 50, code)
        with pytest.raises(StoreError, match=rf"run\.zarr could not be written \({os.strerror(code)}\)") as caught:
            sample(rule, store=store)
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert_prefix(partial, reference(rule))
    left = au.load(store)["posterior"].sizes["draw"]
    assert 0 < left <= partial["posterior"].sizes["draw"] < DRAWS
    assert_prefix(sample(rule, store=store, resume=True), reference(rule), DRAWS)


@pytest.mark.parametrize("rule", RULES)
def test_a_disk_that_is_full_at_the_very_end(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All draws are safe, and only the closing of the arrays fails: they are handed over all the same."""
    from austerity.store import arrays

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(arrays, "finish", full)
        with pytest.raises(StoreError, match=f"{DRAWS} draws of every chain are safe") as caught:
            sample(rule, store=tmp_path / "run.zarr")
    assert_prefix(caught.value.partial, reference(rule), DRAWS)  # type: ignore[attr-defined]
    assert_prefix(au.load(tmp_path / "run.zarr"), reference(rule), DRAWS)
    assert_prefix(sample(rule, store=tmp_path / "run.zarr", resume=True), reference(rule), DRAWS)


def test_a_store_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slowed: None) -> None:
    store, write = tmp_path / "run.zarr", zarr_store.write_checkpoint

    def vanish(directory: Path, arrays: Any) -> None:
        if arrays["counts"].min() > 100:
            shutil.rmtree(store, ignore_errors=True)
        write(directory, arrays)

    monkeypatch.setattr(zarr_store, "write_checkpoint", vanish)
    with pytest.raises(StoreError, match="could not be written") as caught:
        sample("SequentialT", store=store)
    assert caught.value.partial["posterior"].sizes["draw"] > 100  # type: ignore[attr-defined]


def test_a_place_that_cannot_be_written_is_refused_before_any_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from austerity.engine import prepare

    def never(*_: Any) -> None:
        raise AssertionError("the mode was looked for")

    monkeypatch.setattr(prepare, "find_mode", never)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file is not a directory\); nothing was drawn: give another path"):
        sample("Exact", store=tmp_path / "file" / "deep" / "run.zarr")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="may not be written"):
        sample("Exact", store=tmp_path / "run.zarr")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("rule", RULES)
def test_a_longer_run_begins_with_the_shorter_one(rule: str, tmp_path: Path) -> None:
    """draws= may grow on resume, again and again, and cores= and time_limit= may change."""
    store = tmp_path / "run.zarr"
    for draws, cores in ((7, 1), (150, 2), (150, 1), (DRAWS, 2)):
        tree = sample(rule, store=store, resume=True, draws=draws, cores=cores, time_limit=3600 + draws)
        assert_prefix(tree, reference(rule), draws)
    assert_prefix(au.load(store), reference(rule), DRAWS)
    with pytest.raises(StoreError, match=f"draws=10 is asked for, but the run at .* has {DRAWS} draws"):
        sample(rule, store=store, resume=True, draws=10)


def test_ctrl_c_returns_what_was_drawn(tmp_path: Path) -> None:
    store = tmp_path / "run.zarr"
    child = begin("SequentialT", store)
    wait_for(child, "drawn")
    child.send_signal(signal.SIGINT)
    said = said_last(child)
    assert said["ended"] == "interrupted" and 0 < said["draws"] < DRAWS
    assert said["digest"] == digest_of_first("SequentialT", said["draws"])
    assert_prefix(au.load(store), reference("SequentialT"), said["draws"])
    assert_prefix(sample("SequentialT", store=store, resume=True), reference("SequentialT"), DRAWS)


@pytest.mark.parametrize("rule", RULES)
def test_a_time_limit_gives_a_prefix(rule: str, tmp_path: Path, slowed: None) -> None:
    store, ends = tmp_path / "run.zarr", []
    with pytest.warns(AusterityWarning, match="ended before warm-up did: no draw was kept"):
        early = sample(rule, time_limit=1e-6)
    assert early["posterior"].sizes["draw"] == 0
    for _ in range(2):
        limited = sample(rule, store=store, resume=True, time_limit=0.6)
        assert_prefix(limited, reference(rule))
        ends.append((limited.attrs["ended"], limited["posterior"].sizes["draw"]))
    assert ends[0][0] == "time limit" and ends[0][1] < ends[1][1]
    assert_prefix(sample(rule, store=store, resume=True), reference(rule), DRAWS)


def too_large(theta: np.ndarray, x: np.ndarray, y: float) -> float:
    if theta[0] > 0.62:
        raise ValueError("mu is too large")
    return -0.5 * (y - theta[0]) ** 2


def not_a_number(theta: np.ndarray, x: np.ndarray, y: float) -> float:
    return -0.5 * (y - theta[0]) ** 2 + 0.0 * np.sqrt(0.62 - theta[0])


def too_large_block(points: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    if np.any(points[:, 0] > 0.62):
        raise ValueError("mu is too large")
    return -0.5 * (y[:, None] - points[:, 0]) ** 2


FAULTY = {
    "a row function that raises": ({"row": too_large}, r"raised ValueError: mu is too large at row 0 for chain \d"),
    "a row function that gives NaN": ({"row": not_a_number}, r"gave a value that is not a number at row 0 for chain"),
    "a block function that raises": ({"block": too_large_block}, r"raised ValueError: mu is too large at row 0 for ch"),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", FAULTY)
def test_a_likelihood_that_fails_after_some_draws(case: str, rule: str, tmp_path: Path, slowed: None) -> None:
    """The draws before are in .partial and in the store, and going on fails at the same step again."""
    parts, sentence = FAULTY[case]
    model = au.Model({"mu": au.priors.Normal(0, 10)}, **parts)
    X, y = data(1000)
    given = settings(rule, start=[0.5], proposal=au.proposals.RandomWalk(0.02), warmup=0, temperature=1.0, thin=1)
    trees = []
    for _ in range(2):
        with pytest.raises(ModelError, match=sentence + r".*mu=0\.6[23]") as caught:
            au.sample(model, X, y, **given, store=tmp_path / "run.zarr", resume=True)
        trees += [caught.value.partial, au.load(tmp_path / "run.zarr")]  # type: ignore[attr-defined]
    drawn = [tree["posterior"].sizes["draw"] for tree in trees]
    assert 0 < drawn[0] == drawn[1] <= drawn[2] == drawn[3] < DRAWS  # other chains may go on for a piece
    assert float(trees[3]["posterior"]["mu"].max()) < 0.62
    for tree in trees:
        assert_prefix(tree, trees[3])


@pytest.mark.parametrize("rule", RULES)
def test_a_function_of_keep_that_fails_after_some_draws(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slowed: None
) -> None:
    calls = iter(range(150))

    def first(parameters: dict[str, np.ndarray]) -> np.ndarray:
        if len(parameters["beta"]) > 3 and next(calls, None) is None:
            raise ZeroDivisionError("out of calls")
        return parameters["beta"][:, 0]

    with pytest.raises(InputError, match=r"keep\['first'\] raised ZeroDivisionError: out of calls") as caught:
        sample(rule, store=tmp_path / "run.zarr", keep={"first": first})
    for tree in (caught.value.partial, au.load(tmp_path / "run.zarr")):  # type: ignore[attr-defined]
        drawn = tree["posterior"]["first"].to_numpy()
        assert 0 < drawn.shape[1] < DRAWS
        np.testing.assert_array_equal(drawn, reference(rule)["posterior"]["beta"].to_numpy()[:, : drawn.shape[1], 0])


def test_a_fault_of_our_own_keeps_the_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, slowed: None) -> None:
    def broken(self: Any, chain: int, values: np.ndarray) -> None:
        if self.seen[0] > 50:
            raise RuntimeError("not foreseen")
        self.seen[chain] += len(values)

    with monkeypatch.context() as patch:
        patch.setattr(run_module.Trace, "add", broken)
        with pytest.raises(RuntimeError, match="not foreseen") as caught:
            sample("SequentialT", store=tmp_path / "run.zarr")
    for tree in (caught.value.partial, au.load(tmp_path / "run.zarr")):  # type: ignore[attr-defined]
        assert tree["posterior"].sizes["draw"] > 40
        assert_prefix(tree, reference("SequentialT"))
    assert_prefix(sample("SequentialT", store=tmp_path / "run.zarr", resume=True), reference("SequentialT"), DRAWS)


def test_a_display_that_fails_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no display")

    monkeypatch.setattr("austerity.engine.progress.Progress.update", broken)
    with pytest.warns(AusterityWarning, match=r"progress is no longer shown \(RuntimeError: no display\)"):
        tree = sample("SequentialT", progress=True)
    assert_prefix(tree, reference("SequentialT"), DRAWS)

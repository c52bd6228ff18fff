"""What a run takes in memory: said before it begins, refused where it does not fit, and kept to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import prediction_child
import pytest
from memory_child import COLUMNS, N_ROWS

import austerity as au
from austerity import rows
from austerity.engine import memory
from austerity.errors import InputError
from austerity.report.results import build_tree
from austerity.report.variables import Variable
from austerity.store.base import STATS
from austerity.store.memory import MemoryStore

HELD = N_ROWS * (COLUMNS + 1) * 4
LIMIT = 1.3 * HELD + 300e6  # beside the arrays of the caller
SIZES = memory.Sizes(
    n_rows=1_000_000,
    columns=50,
    itemsize=4,
    held_bytes=200_000_000,
    predictors=1,
    size=50,
    width=50,
    statistics=7,
    chains=4,
    draws=1_000_000,
    threads=2,
    buffered=512,
    chunk=0,
    searched=True,
    limited=False,
)


@pytest.fixture(scope="module")
def mapped_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "x.npy"
    np.save(path, np.random.default_rng(0).standard_normal((N_ROWS, COLUMNS)).astype(np.float32))
    return path


def measured(rule: str, kind: str) -> dict[str, int]:
    """What a process of its own says of the memory of a run."""
    return said_by("memory_child.py", json.dumps({"rule": rule, "rows": kind}))


def said_by(script: str, *arguments: str) -> dict[str, int]:
    """What a process of its own says of its memory."""
    source = Path(__file__).resolve().parents[1] / "src"
    path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said: dict[str, int] = json.loads(done.stdout)
    return said


linux = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the kernel does not tell")


@linux
@pytest.mark.parametrize("rule", ["SequentialT", "Exact"])
def test_the_peak_is_the_held_rows_and_little_more(rule: str) -> None:
    """300,000 x 40 of float64, converted to float32: at most 1.3 times what is held plus 300 MB, libraries included."""
    said = measured(rule, "array")
    assert said["peak"] - said["callers"] <= LIMIT, said
    assert HELD <= said["grown"] <= 1.1 * said["estimate"], said
    assert said["estimate"] <= 1.5 * said["grown"], said


@linux
@pytest.mark.parametrize(("rule", "how"), [("SequentialT", "mapped"), ("Exact", "path")])
def test_a_mapped_file_is_not_copied(rule: str, how: str, mapped_file: Path) -> None:
    """Memory that is no page of a file grows by far less than the rows take."""
    said = measured(rule, f"{how}:{mapped_file}")
    assert said["grown"] < 0.4 * HELD, said
    assert said["grown"] <= 1.1 * said["estimate"] < 0.5 * HELD, said
    assert said["peak"] - said["callers"] <= LIMIT, said


@linux
@pytest.mark.parametrize("kind", ["mean", "draws"])
def test_predictions_hold_a_few_pieces_of_their_rows(kind: str, tmp_path: Path) -> None:
    """400,000 x 40 float64 in a file, 64 MB as float32: a vector and a few pieces are held, never the rows."""
    path, shape = tmp_path / "x.npy", (prediction_child.N_ROWS, prediction_child.COLUMNS)
    np.save(path, np.random.default_rng(0).standard_normal(shape))
    said = said_by("prediction_child.py", kind, str(path))
    pages = 8 * shape[0] * shape[1]  # of the file, which the system may drop
    pages += 4 * shape[0] * prediction_child.DRAWS if kind == "draws" else 0
    assert said["grown"] < 10e6, said
    assert said["peak"] < 25e6 + pages, said


@linux
def test_held_rows_of_a_mapped_file_are_the_file(mapped_file: Path) -> None:
    array = np.load(mapped_file, mmap_mode="r")
    held = rows.open(array, np.zeros(N_ROWS, np.float32))
    assert not held.copied and held.X.ctypes.data == array.ctypes.data
    by_path = rows.open(mapped_file, np.zeros(N_ROWS, np.float32))
    assert not by_path.copied
    lines = Path("/proc/self/maps").read_text().splitlines()
    ranges = [line.split()[0].split("-") for line in lines if line.endswith(str(mapped_file))]
    address = by_path.X.ctypes.data
    assert any(int(start, 16) <= address < int(stop, 16) for start, stop in ranges)


def run(**settings: Any) -> Any:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    given = {"draws": 20, "warmup": 5, "chains": 2, "progress": False, **settings}
    return au.sample(au.models.Logistic(), X, y, **given)


def test_the_estimate_is_in_the_results_and_grows_with_the_draws() -> None:
    rule = {"acceptance": au.decisions.Exact(), "proposal": au.proposals.RandomWalk(0.1), "start": np.zeros(3)}
    few, more = (run(draws=draws, **rule).attrs["memory_estimate"] for draws in (20, 420))
    assert isinstance(few, int) and 0 < few < 50e6
    # 400 draws of 3 values and twice 7 statistics in 2 chains, and as many in the buffers of 2 D + S values
    assert more - few == 2 * 400 * (3 + 14) * 8 + 2 * 400 * (6 + 7) * 8
    kept = run(draws=420, **rule, keep={"first": lambda p: p["beta"][:, 0]}).attrs["memory_estimate"]
    assert more - kept == 2 * 420 * 2 * 8


def test_a_run_that_does_not_fit_is_refused_before_any_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("the mode was looked for")

    monkeypatch.setattr("austerity.engine.prepare.find_mode", never)
    with pytest.raises(InputError) as caught:
        run(draws=10**12)
    said = str(caught.value)
    assert said.startswith(
        "a run of 2 chains with 1,000,000,000,000 draws of 3 values needs about 272 TB of memory, but "
    )
    assert said.endswith(
        " GB are available: take fewer draws= with a larger thin=, keep= fewer values, or fewer chains="
    )


def test_a_time_limit_lifts_the_refusal() -> None:
    tree = run(draws=10**12, time_limit=0.2)
    assert tree.attrs["ended"] == "time limit" and tree["posterior"].sizes["draw"] > 0
    notes = " ".join(json.loads(tree.attrs["notes"]))
    assert "memory: at most 272 TB, of which 272 TB for draws" in notes


def test_more_than_a_gigabyte_is_said() -> None:
    found = memory.estimate(SIZES)
    assert found.draws == 4 * 1_000_000 * (50 + 14) * 8
    assert memory.say_or_refuse(found, SIZES, 1e12) == (
        f"memory: about {memory.describe(found.total)}, of which 2.05 GB for draws and 200 MB for rows"
    )
    few = replace(SIZES, draws=1000)
    assert memory.say_or_refuse(memory.estimate(few), few, 1e12) is None
    with pytest.raises(InputError, match=r"needs about 2\.0\d GB of memory, but 1\.5 GB are available: take fewer"):
        memory.say_or_refuse(found, SIZES, 1.5e9)
    many = replace(SIZES, size=5000, columns=5000, draws=1)
    assert memory.estimate(many).search > 64 * 5000**2 * 8  # partial curvatures while the mode is looked for
    assert memory.estimate(replace(many, searched=False)).search == 0


def test_the_draws_take_what_was_estimated() -> None:
    """A store in memory and the results made of it, against the formula."""
    chains, draws, width = 3, 5000, 20
    store = MemoryStore(chains, draws, width)
    for chain in range(chains):
        store.append(chain, 0, np.zeros((draws, width)), np.zeros((draws, len(STATS))))
    values, statistics = store.draws()
    tree = build_tree(values, statistics, [Variable("beta", ("coef",), {"coef": list(range(width))}, 0, width)])
    assert np.shares_memory(tree["posterior"]["beta"].to_numpy(), values)
    copied = sum(array.nbytes for array in tree["sample_stats"].data_vars.values())
    sizes = replace(SIZES, chains=chains, draws=draws, width=width, statistics=len(STATS))
    assert memory.estimate(sizes).draws == values.nbytes + statistics.nbytes + copied


def test_rows_that_do_not_fit_are_refused_before_they_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2e6)
    with pytest.raises(InputError) as caught:
        rows.open(np.zeros((200_000, 3)) + np.arange(3), np.zeros(200_000))
    said = str(caught.value)
    assert said.startswith(
        "holding 200,000 rows of 3 columns as float32 needs about 2.4 MB of memory, but 2 MB are avail"
    )
    assert "take fewer columns=, or pass a .npy file" in said


def group(place: Path, limit: str, used: int, stat: str, names: tuple[str, str]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / names[0]).write_text(limit)
    (place / names[1]).write_text(str(used))
    (place / "memory.stat").write_text(stat)


def machine(tmp_path: Path, cgroup: str) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    (tmp_path / "proc" / "self" / "cgroup").write_text(cgroup)


def test_the_least_of_machine_and_containers_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control groups of version 2 (also of a group above) and version 1; pages of files can be dropped."""
    second, first = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    monkeypatch.setattr(memory, "PROCESS_FILES", (proc, groups))
    machine(tmp_path, "0::/outer/inner\n4:memory:/job\n")
    assert memory.available_memory() == 8000 * 1024
    group(groups / "outer" / "inner", "max\n", 10, "inactive_file 3\n", second)
    assert memory.available_memory() == 8000 * 1024
    group(groups / "outer", "1000000\n", 900_000, "anon 5\ninactive_file 50000\n", second)
    assert memory.available_memory() == 150_000
    group(groups / "memory" / "job", "500000\n", 450_000, "inactive_file 1\ntotal_inactive_file 2000\n", first)
    assert memory.available_memory() == 52_000
    group(groups / "memory" / "job", "500000\n", 600_000, "", first)
    assert memory.available_memory() == 0


def test_a_system_that_says_nothing_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROCESS_FILES", (tmp_path, tmp_path))
    monkeypatch.setattr(os, "sysconf_names", {}, raising=False)
    assert memory.available_memory() == float("inf")
    monkeypatch.undo()
    assert 1e6 < memory.available_memory() < 1e15

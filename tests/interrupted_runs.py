"""A run that is killed, interrupted or starved of disk: its settings, and the process that makes it.

As a program: `python interrupted_runs.py '{"rule": "SequentialT", "store": "run.zarr", ...}'` samples, resuming what is
there, and ends with a line of JSON. Its pieces are short and slowed down, so that a signal finds it in the middle.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHAINS, WARMUP, DRAWS, THIN = 3, 150, 1200, 2
STEPS_A_PIECE = 19  # not a multiple of thin, so that a piece may end between two kept draws
COMMIT_SECONDS = 0.05
LARGEST_CHUNK = 256
SLOWED_SECONDS = 6.0  # a whole run takes at least that long


def data(n_rows: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Rows (N, 4) and labels (N,) of a logistic regression."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, 4))
    y = rng.uniform(size=n_rows) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.2, 0.0]))
    return X, y.astype(np.float64)


def settings(rule: str, **changes: Any) -> dict[str, Any]:
    """Arguments of `sample` but for model and rows: all that a checkpoint must hold is in use."""
    import austerity as au

    decisions = {"Exact": au.decisions.Exact(), "SequentialT": au.decisions.SequentialT(0.05, 100)}
    given = {
        "acceptance": decisions[rule],
        "proposal": au.proposals.AdaptiveMetropolis(forever=True),
        "temperature": (3.0, 1.0),
        "chains": CHAINS,
        "warmup": WARMUP,
        "draws": DRAWS,
        "thin": THIN,
        "rng": 11,
        "cores": 1,
        "progress": False,
    }
    return {**given, **changes}


def sample(rule: str, **changes: Any) -> Any:
    """The run of a rule in this process."""
    import austerity as au

    return au.sample(au.models.Logistic(au.priors.Normal(0, 1)), *data(), **settings(rule, **changes))


@cache
def reference(rule: str) -> Any:
    """The run never interrupted."""
    return sample(rule)


def assert_prefix(tree: Any, whole: Any, draws: int | None = None) -> None:
    """Posterior and statistics of `tree` are the first draws of `whole`, bit for bit."""
    n = tree["posterior"].sizes["draw"]
    assert draws is None or n == draws
    for group in ("posterior", "sample_stats"):
        assert set(tree[group].data_vars) == set(whole[group].data_vars)
        for name, values in tree[group].data_vars.items():
            np.testing.assert_array_equal(values.to_numpy(), whole[group][name].to_numpy()[:, :n], err_msg=str(name))


def fingerprint(tree: Any) -> str:
    """A digest of the draws of a tree."""
    return hashlib.sha256(np.ascontiguousarray(tree["posterior"]["beta"].to_numpy()).tobytes()).hexdigest()


def begin(rule: str, store: Path, **more: Any) -> subprocess.Popen[str]:
    """Start the child; it says `sampling` when its first piece is done, then `commit` before every commit.

    Once there are a few draws of every chain it says `drawn` too.
    """
    source = Path(__file__).resolve().parents[1] / "src"
    path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, __file__, json.dumps({"rule": rule, "store": str(store), **more})]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )


def wait_for(child: subprocess.Popen[str], word: str, times: int = 1) -> None:
    """Read the child's lines until it has said a word so many times, or has ended."""
    assert child.stdout is not None
    while times and (line := child.stdout.readline()):
        times -= line.strip() == word


def said_last(child: subprocess.Popen[str]) -> dict[str, Any]:
    """What a child that ended in order reports."""
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    said: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return said


def slow_down(seconds: float, talk: bool) -> None:
    """Short pieces, frequent commits, small chunks, and a rest after each piece."""
    from austerity.engine import run
    from austerity.store import layout, zarr_store

    layout.LARGEST_CHUNK = LARGEST_CHUNK
    run.COMMIT_SECONDS = COMMIT_SECONDS
    made_safe, wrote, said = run.Run._safe_point, zarr_store.write_checkpoint, set[str]()

    def piece(self: Any, c: int) -> int:
        return min(self.total - int(self.chains.step[c]), STEPS_A_PIECE)

    def safe_point(self: Any, force: bool = False) -> None:
        made_safe(self, force)
        if talk and not said:
            said.add("sampling")
            print("sampling", flush=True)
        pieces = self.total / STEPS_A_PIECE * (1 if self.lockstep else CHAINS)
        time.sleep(seconds / pieces)

    def write(directory: Path, arrays: dict[str, Any]) -> None:
        if talk and said:
            print("commit", flush=True)
        wrote(directory, arrays)
        if talk and arrays["counts"].min() > 20:
            print("drawn", flush=True)

    run.Run._piece = piece  # type: ignore[method-assign]
    run.Run._safe_point = safe_point  # type: ignore[method-assign]
    zarr_store.write_checkpoint = write


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pieces and a commit after nearly each, in this process."""
    from austerity.engine import run as run_module
    from austerity.store import layout, zarr_store

    for owner, name in (
        (run_module, "COMMIT_SECONDS"),
        (run_module.Run, "_piece"),
        (run_module.Run, "_safe_point"),
        (layout, "LARGEST_CHUNK"),
        (zarr_store, "write_checkpoint"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back at the end
    slow_down(1.0, talk=False)
    monkeypatch.setattr(run_module, "COMMIT_SECONDS", 0.01)


def limit_files(size: int) -> None:
    """From now on no file of this process can grow beyond so many bytes: a disk that is full."""
    import resource

    sample("SequentialT", warmup=1, draws=1, thin=1)  # what is compiled is kept on disk by now
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def main(given: dict[str, Any]) -> None:
    """Sample and report."""
    from austerity.errors import StoreError

    if "largest_file" in given:
        limit_files(given["largest_file"])
    slow_down(given.get("seconds", SLOWED_SECONDS), given.get("talk", True))
    report: dict[str, Any] = {}
    try:
        tree = sample(given["rule"], store=given["store"], resume=True, **given.get("settings", {}))
    except StoreError as error:
        tree, report["error"] = error.partial, str(error)  # type: ignore[attr-defined]
    report |= {"draws": tree["posterior"].sizes["draw"], "ended": tree.attrs["ended"], "digest": fingerprint(tree)}
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

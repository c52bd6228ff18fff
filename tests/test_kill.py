"""Killed at 25 random moments and resumed in a new process each time: the draws of a run that was never killed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest
from interrupted_runs import DRAWS, assert_prefix, begin, reference, sample, wait_for

import austerity as au

# How often a run is killed while it starts, right after it has begun a commit, and at any moment of sampling; before
# all of them once in warm-up, at its first commit.
KILLS = {"SequentialT": (2, 4, 6), "Exact": (1, 4, 6)}
LONGEST = 0.5  # seconds from the first piece to a kill


def kill(rule: str, store: Path, moment: str, rng: np.random.Generator) -> None:
    """Start or resume the run in a process of its own and kill it."""
    child = begin(rule, store)
    if moment == "start":
        time.sleep(rng.uniform(0.05, 0.8))
    else:
        wait_for(child, "sampling")
        if moment in ("first", "commit"):
            wait_for(child, "commit", 1 if moment == "first" else int(rng.integers(1, 4)))
            time.sleep(rng.uniform(0.0, 0.004))
        else:
            time.sleep(rng.uniform(0.0, LONGEST))
    child.kill()
    _, error = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL, error


@pytest.mark.slow
@pytest.mark.parametrize("rule", KILLS)
def test_killed_again_and_again_a_run_makes_the_same_draws(rule: str, tmp_path: Path) -> None:
    """13 kills of one run and 12 of the other; after each, what is on disk is a prefix of the whole."""
    rng = np.random.default_rng(25)
    whole, store, drawn, warming = reference(rule), tmp_path / "run.zarr", 0, 0
    moments = [name for name, times in zip(("start", "commit", "any"), KILLS[rule], strict=True) for _ in range(times)]
    for moment in ["first", *rng.permutation(moments)]:
        kill(rule, store, str(moment), rng)
        if not store.exists():
            continue
        left = au.load(store)
        assert_prefix(left, whole)
        assert left["posterior"].sizes["draw"] >= drawn
        drawn = left["posterior"].sizes["draw"]
        warming += drawn == 0
    assert 0 < drawn < DRAWS and warming
    ended = sample(rule, store=store, resume=True, cores=2)
    assert_prefix(ended, whole, DRAWS)
    assert_prefix(au.load(store), whole, DRAWS)

"""The handle of a run in the background: start, look, wait, pause, go on, stop."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from interrupted_runs import DRAWS, assert_prefix, data, reference, settings, slowed

import austerity as au
from austerity.errors import AusterityWarning, ModelError

__all__ = ["slowed"]

RULES = ("SequentialT", "Exact")


def drawn_at_least(handle: Any, draws: int) -> None:
    while min(handle.inspect()["draws"]) < draws and handle.running:
        time.sleep(0.01)


def stop(handle: Any) -> Any:
    """Abort; whoever asks for the end need not be told of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", AusterityWarning)
        return handle.abort()


@pytest.mark.parametrize("rule", RULES)
def test_the_handle(rule: str, tmp_path: Path, slowed: None) -> None:
    """Start, look, wait in vain, pause (what is drawn is on disk), go on, stop: a prefix of the run of `sample`."""
    given = settings(rule, store=tmp_path / "run.zarr")
    handle = au.start(au.models.Logistic(au.priors.Normal(0, 1)), *data(), **given)
    assert handle.running and handle.wait(timeout=0.01) is None
    drawn_at_least(handle, 20)
    handle.pause()
    while handle.inspect()["state"] != "paused" or au.load(given["store"])["posterior"].sizes["draw"] < 20:
        time.sleep(0.01)
    time.sleep(0.3)
    seen = handle.inspect()
    time.sleep(0.3)
    assert handle.inspect()["steps"] == seen["steps"] and handle.running and seen["state"] == "paused"
    assert_prefix(au.load(given["store"]), reference(rule), min(seen["draws"]))
    handle.resume()
    drawn_at_least(handle, min(seen["draws"]) + 20)
    tree = stop(handle)
    assert not handle.running and handle.inspect()["state"] == "interrupted"
    assert min(seen["draws"]) < tree["posterior"].sizes["draw"] < DRAWS
    assert_prefix(tree, reference(rule))
    again = au.start(au.models.Logistic(au.priors.Normal(0, 1)), *data(), **given, resume=True)
    assert_prefix(again.wait(), reference(rule), DRAWS)
    assert_prefix(again.wait(), reference(rule), DRAWS)
    assert again.inspect()["state"] == "done" and again.inspect()["draws"] == [DRAWS] * 3


def test_a_paused_handle_can_be_stopped(slowed: None) -> None:
    handle = au.start(au.models.Logistic(au.priors.Normal(0, 1)), *data(), **settings("Exact"))
    handle.pause()
    assert_prefix(stop(handle), reference("Exact"))


def test_a_fault_is_raised_to_whoever_waits() -> None:
    def row(theta: Any, x: Any, y: Any) -> float:
        if theta[0] > 0.6:
            raise ValueError("mu is too large")
        return -0.5 * (y - theta[0]) ** 2

    model = au.Model({"mu": au.priors.Normal(0, 1)}, row=row)
    given = settings("Exact", start=[0.5], proposal=au.proposals.RandomWalk(0.02), warmup=0, temperature=1.0)
    handle = au.start(model, *data(1000), **given)
    for attempt in (handle.wait, handle.wait, handle.abort):
        with pytest.raises(ModelError, match="mu is too large") as caught:
            attempt()
        assert caught.value.partial["posterior"].sizes["draw"] > 0  # type: ignore[attr-defined]
    assert handle.inspect()["state"] == "fault"

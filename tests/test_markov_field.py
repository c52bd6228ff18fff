"""The demonstration of Gibbs sampling runs in a tiny form and shows what it says."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from austerity.decisions import Exact, SequentialT

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The demonstration as a module; it imports its neighbour `common`, as benchmarks do theirs."""
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    spec = importlib.util.spec_from_file_location("experiment_markov_field", EXPERIMENTS / "markov_field.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("common", None)


def test_conditionals_of_exact_updates(script: Any) -> None:
    """Shares of 400 exact updates lie within five standard errors of their probabilities (false-fail rate 1e-5)."""
    found = script.conditionals(script.field(20), Exact(), 10, 400)
    assert np.all(np.abs(found[:, 1] - found[:, 0]) < 5 * np.sqrt(found[:, 0] * (1 - found[:, 0]) / 400) + 1e-3)


def test_marginals_count_states(script: Any) -> None:
    states = np.array([[0, 1, 1], [0, 1, 1], [1, 0, 0]])
    counts = script.marginals(states, np.array([[0, 2], [1, 0]]))
    assert counts.tolist() == [[0, 1, 2, 0], [0, 2, 1, 0]]
    sweeps, errors = script.distances(np.repeat(states[:1], 40, axis=0), np.array([[0, 2]]), counts[:1] / 3, 3)
    assert sweeps[-1] == 40 and np.allclose(errors, 2 / 3)


def test_picture(script: Any, tmp_path: Path) -> None:
    """Errors fall as states are drawn, and a figure of three panels comes out."""
    model = script.field(12)
    subsets = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])
    truth = script.reference_marginals(model, subsets, 4000, 1)
    curves = {}
    for name, rule in (("Exact", Exact()), ("ε = 0.2", SequentialT(0.2, 10))):
        states, factors, seconds = script.run(model, rule, 1500, 2)
        done, errors = script.distances(states, subsets, truth, 5)
        assert errors[-1] < errors[0] and seconds > 0
        curves[name] = (done, errors, factors, seconds)
    assert curves["Exact"][2] == 12 * 55 > curves["ε = 0.2"][2]
    figure = script.draw_picture({0.2: np.full((3, 2), 0.5)}, curves, 0.01, 2)
    assert script.save(figure, tmp_path, "markov_field").stat().st_size > 20_000

"""Every benchmark runs, in its tiniest form; times are looked at by people, never asserted."""

import importlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
NAMES = ("passes", "draws", "cores", "efficiency", "peers", "steps", "memory", "ica", "selection", "prediction")
NAMES += ("gibbs", "langevin")


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Benchmarks are scripts that import their neighbours."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delenv("AUSTERITY_PROTOTYPES", raising=False)
    yield


def module(name: str) -> Any:
    return importlib.import_module(name)


@pytest.mark.parametrize("name", NAMES)
def test_tiny_form(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for every figure, every value positive or said to be unavailable, and the dictionary holds the same."""
    result = module(name).run("tiny")
    printed = capsys.readouterr().out.splitlines()
    assert result["name"] == name and result["figures"]
    for what, figure in result["figures"].items():
        assert sum(line.startswith(f"{what}: ") for line in printed) == 1
        if math.isnan(figure["value"]):
            assert "not measured" in figure["of"]
        elif "bare step" not in what:  # a difference of two times, which tiny sizes do not resolve
            assert figure["value"] >= 0
        if figure["limit"] is not None and not math.isnan(figure["value"]):
            assert figure["verdict"] == ("PASS" if figure["value"] <= figure["limit"] else "MISS")


def test_command_runs_what_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "figures.json"
    results = module("run").main(["passes", "--tiny", "--json", str(target)])
    assert list(results) == ["passes"]
    assert set(json.loads(target.read_text())["results"]["passes"]["figures"]) == set(results["passes"]["figures"])
    assert "figures with a limit are within it" in capsys.readouterr().out


def test_command_refuses_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        module("run").main(["speed"])
    assert "no benchmark 'speed'" in capsys.readouterr().err


def test_tables_replace_what_stands_between_their_markers(tmp_path: Path) -> None:
    """Words outside the markers stay; a second writing changes nothing."""
    common, tables = module("common"), module("tables")
    report = common.Report("passes", "quick")
    report.add(common.Figure("pass, 1 point", 1.3123, "x reading", 1.5, (1.2, 1.4), "8 ns a row"))
    report.add(common.unavailable("a peer", "not measured: it is not installed here"))
    copy = tmp_path / "README.md"
    copy.write_text(tables.README.read_text(encoding="utf-8"), encoding="utf-8")
    tables.write({"passes": report.as_dict()}, "2 cores of something", copy)
    once = copy.read_text(encoding="utf-8")
    tables.write({"passes": report.as_dict()}, "2 cores of something", copy)
    assert copy.read_text(encoding="utf-8") == once
    assert "| pass, 1 point | 1.31 [1.20 to 1.40] x reading | 1.5 | PASS | 8 ns a row |" in once
    assert "| a peer | not measured: it is not installed here |  |  |  |" in once
    assert "`python benchmarks/run.py passes --quick`" in once
    assert once.startswith("# Benchmarks") and "<!-- end memory -->" in once


def test_markers_must_be_there() -> None:
    with pytest.raises(ValueError, match="markers"):
        module("tables").between_markers("no markers here", "passes", "table")


def test_verdict_and_line() -> None:
    """At the limit is within it; no limit, no verdict."""
    figure = module("common").Figure
    assert figure("x", 1.5, "s", 1.5).verdict == "PASS"
    assert figure("x", 1.51, "s", 1.5).verdict == "MISS"
    assert figure("x", 9.0, "s").verdict == ""
    assert figure("x", 1.3123, "s", 1.5).line() == "x: 1.31 s (limit 1.50)   PASS"


def test_interleaved_takes_turns_and_divides_by_units() -> None:
    """One untimed call of each, then A B A B; a call that returns a number has done that many units."""
    order: list[str] = []

    def many() -> float:
        order.append("a")
        return 1e9

    seconds = module("common").interleaved({"a": many, "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b"] * 4
    assert seconds["a"].shape == seconds["b"].shape == (3,)
    assert seconds["a"].max() < 1e-6


def test_reference_agrees_with_quadrature() -> None:
    """One coefficient: weighted points against a fine grid, within six standard errors (false-fail rate 2e-9)."""
    import numpy as np

    problems = module("problems")
    made = problems.logistic_problem(400, 1)
    found = problems.reference(made, 2048)
    X, y = made.problem.X[:, 0].astype(np.float64), made.problem.y.astype(np.float64)
    grid = np.linspace(found.mode.theta[0] - 1.5, found.mode.theta[0] + 1.5, 4001)
    eta = np.outer(grid, X)
    log_density = (y * eta - np.logaddexp(0.0, eta)).sum(axis=1) - 0.5 * grid**2
    weights = np.exp(log_density - log_density.max())
    mean = np.average(grid, weights=weights)
    sd = np.sqrt(np.average((grid - mean) ** 2, weights=weights))
    assert abs(found.mean[0] - mean) / sd < 6 * found.error + 1e-4
    assert abs(found.sd[0] / sd - 1) < 0.1

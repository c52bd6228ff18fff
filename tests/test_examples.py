"""Every example runs and shows what it says; together they use every public name."""

import re
import runpy
from pathlib import Path

import pytest

import austerity as au

FOLDER = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def output(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> str:
    """What the example named after the test prints."""
    name = request.node.name.removeprefix("test_example_")
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


def figure(output: str, pattern: str) -> float:
    """The one number that the pattern's group finds."""
    found = re.findall(pattern, output)
    assert len(found) == 1, f"{pattern!r} found {found} in\n{output}"
    return float(found[0])


def test_example_logistic(output: str) -> None:
    assert figure(output, r"farthest from the truth: (\S+) posterior") < 4.5
    assert 1.5 < figure(output, r"logistic / probit coefficient: (\S+)") < 1.9
    assert f"made by austerity {au.__version__}: exact" in output


def test_example_counts(output: str) -> None:
    assert 1.8 < figure(output, r"sd of beta\[age\]: (\S+) times") < 2.7
    assert abs(figure(output, r"shape: (\S+) \(2") - 2.0) < 0.2


def test_example_robust(output: str) -> None:
    assert figure(output, r"normal errors: beta\[x0\] = (\S+)") > 1.3
    assert abs(figure(output, r"Student-t errors: beta\[x0\] = (\S+)") - 1.0) < 0.03
    assert abs(figure(output, r"median: .* beta\[x0\] = (\S+)") - 1.0) < 0.05
    assert abs(figure(output, r"Huber: .* beta\[x0\] = (\S+)") - 1.0) < 0.1
    assert figure(output, r"90 %: intercept (\S+),") > 2.5


def test_example_densities(output: str) -> None:
    means = {name: float(value) for name, value in re.findall(r"^(mu|theta1|theta2) +(\S+)", output, re.MULTILINE)}
    assert abs(means["mu"] - 1.1) < 0.05 and abs(means["theta1"] + 1) < 0.1 and abs(means["theta2"] - 3) < 0.1
    assert 0.2 < figure(output, r"share of theta2 below zero: (\S+)") < 0.8


def test_example_classes(output: str) -> None:
    assert abs(figure(output, r"less that of class 1: (\S+)") - 0.5) < 0.15
    assert "beta[2, x1]" in output and "beta[1, intercept]" in output and "gap" in output


def test_example_components(output: str) -> None:
    assert figure(output, r"distance to the truth: (\S+) ") < 0.03
    assert 0.35 < figure(output, r"acceptance: (\S+) by") < 0.65
    assert figure(output, r"from random starts: (\S+)") < 0.05


def test_example_your_own_likelihood(output: str) -> None:
    compiled, plain = (float(value) for value in re.findall(r"b1 = (\S+) \+-", output))
    assert abs(compiled - 0.7) < 0.06 and abs(compiled - plain) < 0.01


def test_example_from_a_file(output: str) -> None:
    dropped = figure(output, r": (\d+) rows were left out")
    assert 100 < dropped < 320 and f"Rows({20_000 - dropped:.0f} x 2" in output
    assert "2000 draws a chain" in output and "2 chains of 2,000 draws" in output


def test_example_variables(output: str) -> None:
    """Those with an effect are found, whose sizes are 0.8 and -0.4 within some five of their errors."""
    assert abs(figure(output, r"x0: in use with probability 1.00, then (\S+)") - 0.8) < 0.1
    assert abs(figure(output, r"x3: in use with probability 1.00, then (\S+)") + 0.4) < 0.1
    assert figure(output, r"without effect: (\S+)") < 0.9 and 2 <= figure(output, r"inputs in use: (\S+)") < 5


def test_example_field(output: str) -> None:
    few, every = re.findall(r"factors read a sweep: (\d+) of (\d+)", output)[0]
    assert 0 < int(few) < 0.9 * int(every)
    assert 0.75 < figure(output, r"exact: first person holds 1 with probability (\S+),") < 0.9


def test_example_moves(output: str) -> None:
    means = [float(value) for value in re.findall(r"beta\[x0\] = (\S+) \+-", output)]
    assert len(means) == 3 and max(means) - min(means) < 0.03 and output.count("exact: 1") == 3
    assert "biased" in output


def test_example_rows_that_do_not_exist(output: str) -> None:
    assert abs(figure(output, r"exact: mean \S+, sd (\S+),") - 3.16e-8) < 4e-9
    assert 0 < figure(output, r"sequential test: .* read (\S+)") < 0.3


def test_example_background(output: str) -> None:
    assert "paused after" in output and "nothing was drawn meanwhile: True" in output
    assert "still running: False" in output and ">= 200 = True" in output


def test_example_how_wrong_is_a_test(output: str) -> None:
    at_a_tie = {name: (float(e), float(s)) for name, e, s in re.findall(r"(\w+) +([\d.]+), ([\d.]+)% rows", output)}
    errors, shares = zip(*(at_a_tie[name] for name in ("Pocock", "WangTsiatis", "OBrienFleming")), strict=True)
    assert list(errors) == sorted(errors, reverse=True) and list(shares) == sorted(shares)
    predicted = figure(output, r"random walk, Pocock: (\d+)%")
    assert abs(figure(output, r"read in the run: (\d+)%") - predicted) < 12


def test_example_predictions(output: str) -> None:
    assert figure(output, r"farthest from the truth: (\S+)") < 0.06
    assert figure(output, r"a row, (\S+) standard errors") > 10
    assert figure(output, r"all columns: .* accuracy (\S+)%") > figure(output, r"without the first: .* accuracy (\S+)%")
    assert re.search(r"epsilon = 0\.2 .*\(\d", output) and "risk of predictive means of 200 test rows" in output


def test_every_public_name_is_used() -> None:
    text = "\n".join(path.read_text() for path in sorted(FOLDER.glob("*.py")))
    wanted = [f"au.{name}" for name in au.__all__] + ["au.rows.open", "au.design.error"]
    for room in ("models", "decisions", "proposals", "priors"):
        wanted += [f"au.{room}.{name}" for name in getattr(au, room).__all__]
    missing = [name for name in wanted if not re.search(rf"\b{re.escape(name)}\b", text)]
    assert not missing, f"no example uses {missing}"


def test_every_example_is_tested() -> None:
    tested = {name.removeprefix("test_example_") for name in globals() if name.startswith("test_example_")}
    assert {path.stem for path in FOLDER.glob("*.py")} - {"demo"} == tested

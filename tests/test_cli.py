"""The command line: what it prints where, and that it draws what `austerity.sample` draws."""

import json
import signal
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from cli_runs import FEW, ROOT, command, environment, logistic, make_tables

import austerity as au
from austerity.cli import main


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tables(tmp_path_factory.mktemp("tables"))


def test_the_installed_command_is_main() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = scripts["austerity"].split(":")
    assert getattr(import_module(module), function) is main


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["sample", "--help"], ["sample", "--bad"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    """In a fresh process: that is what keeps them quick."""
    code = (
        "import sys; from austerity.cli import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'numba', 'scipy', 'xarray', 'zarr', 'rich'} & set(sys.modules);"
        "sys.exit(f'{heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"austerity {au.__version__}\n"
    assert main(["sample", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--resume" in out and "run.zarr" in out
    assert "\nfor example:\n  austerity sample " in out and "\nexit codes:\n  0    fine\n" in out
    assert max(len(line) for line in out.splitlines()) < 100


def test_a_run_prints_its_summary_and_keeps_its_draws(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.zarr"
    assert main(logistic(tables, run, "--intercept")) == 0
    shown = capsys.readouterr()
    assert "beta[age]" in shown.out and "r_hat" in shown.out and "exact:" in shown.out
    lines = shown.err.splitlines()
    assert all(line.startswith("austerity: ") for line in lines)
    assert "--resume and a larger --draws" in lines[-1] and str(run) in lines[-1]
    assert main(["summary", str(run)]) == 0
    again = capsys.readouterr()
    assert again.out == shown.out and again.err == ""


def test_draws_are_those_of_sample_whatever_the_file_and_the_cores(tables: Path, tmp_path: Path) -> None:
    assert main(logistic(tables, tmp_path / "a", "--quiet", "--seed", "3")) == 0
    assert main(logistic(tables, tmp_path / "b", "--quiet", "--seed", "3", "--cores", "1", name="rows.csv")) == 0
    expected = au.sample(
        au.models.Logistic(),
        tables / "rows.parquet",
        target="bought",
        columns=["age", "income"],
        draws=40,
        warmup=20,
        chains=2,
        rng=3,
        progress=False,
    )
    for name in ("a", "b"):
        np.testing.assert_array_equal(au.load(tmp_path / name)["posterior"]["beta"], expected["posterior"]["beta"])


def test_quiet_says_nothing_on_standard_error(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(logistic(tables, tmp_path / "run", "--quiet")) == 0
    shown = capsys.readouterr()
    assert shown.err == "" and "beta[income]" in shown.out


def test_resume_goes_on_where_the_run_ended(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, whole = tmp_path / "run.zarr", tmp_path / "whole.zarr"
    assert main(logistic(tables, run, "--resume")) == 0  # nothing there yet: it starts
    assert main(logistic(tables, run, "--resume", "--draws", "90", "--cores", "1")) == 0
    assert "90 draws a chain" in capsys.readouterr().err
    assert main(logistic(tables, run, "--resume", "--draws", "100", "--acceptance", "exact")) == 0
    assert main(logistic(tables, whole, "--draws", "100")) == 0
    np.testing.assert_array_equal(au.load(run)["posterior"]["beta"], au.load(whole)["posterior"]["beta"])


def test_a_run_that_is_there_is_not_overwritten(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.zarr"
    assert main(logistic(tables, run, "--quiet")) == 0
    capsys.readouterr()
    for more, word in (
        ([], "--resume"),
        (["--resume", "--seed", "1"], "was made with --seed 0, and 1 is asked for now"),
        (["--resume", "--draws", "5"], "--draws 5 is asked for"),
        (["--resume", "--columns", "income"], "model"),
    ):
        assert main(logistic(tables, run, "--quiet", *more)) == 1
        shown = capsys.readouterr()
        assert shown.err.startswith("austerity: ") and word in shown.err and shown.err.count("\n") == 1
    assert au.load(run)["posterior"].sizes["draw"] == 40


MODELS = [
    (["probit", "--target", "bought"], "beta[age]", {"model": "Probit"}),
    (["linear", "--target", "spent"], "sigma", {"model": "Linear", "sigma": None}),
    (["linear", "--target", "spent", "--sigma", "1.5"], "beta[age]", {"sigma": 1.5}),
    (["student-t", "--target", "spent", "--dof", "sample"], "dof", {"dof": None}),
    (["student-t", "--target", "spent", "--dof", "5", "--sigma", "1"], "beta[age]", {"dof": 5.0, "sigma": 1.0}),
    (["poisson", "--target", "visits"], "beta[age]", {"link": "log"}),
    (["poisson", "--target", "visits", "--link", "softplus"], "beta[age]", {"link": "softplus"}),
    (["negative-binomial", "--target", "visits"], "shape", {"shape": None}),
    (["negative-binomial", "--target", "visits", "--shape", "4"], "beta[age]", {"shape": 4.0}),
    (["multinomial", "--target", "kind"], "beta[2, age]", {"model": "Multinomial"}),
    (["lad", "--target", "spent"], "scale", {"model": "LAD", "scale": None}),
    (["quantile", "--target", "spent", "--tau", "0.9"], "scale", {"tau": 0.9}),
    (["huber", "--target", "spent", "--delta", "1", "--error-scale", "2"], "beta[age]", {"delta": 1.0, "scale": 2.0}),
]
DENSITIES = [
    (["gaussian"], "mu", {"mean": None, "sigma": None}),
    (["gaussian", "--mean", "0", "--sigma", "sample"], "sigma", {"mean": 0.0, "sigma": None}),
    (["gaussian-mixture", "--sigma", "1", "--mixture-weights", "0.3,0.7"], "theta2", {"weights": [0.3, 0.7]}),
]


@pytest.mark.parametrize(("arguments", "parameter", "stored"), MODELS)
def test_every_model(
    arguments: list[str],
    parameter: str,
    stored: dict[str, object],
    tables: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    columns = [str(tables / "rows.csv"), "--columns", "age,income", "--intercept", "--standardize", "-o", str(run)]
    assert main(["sample", "--model", *arguments, *columns, "--draws", "20", "--chains", "1", "--quiet"]) == 0
    assert parameter in capsys.readouterr().out
    model = json.loads(au.load(run).attrs["settings"])["model"]
    assert {name: model[name] for name in stored} == stored and model["intercept"] and model["standardize"]


@pytest.mark.parametrize(("arguments", "parameter", "stored"), DENSITIES)
def test_densities_have_no_target(
    arguments: list[str],
    parameter: str,
    stored: dict[str, object],
    tables: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    rest = [str(tables / "rows.csv"), "--columns", "income", "-o", str(run), *FEW, "--quiet"]
    assert main(["sample", "--model", *arguments, *rest, "--target", "spent"]) == 1
    assert "spent was given as a response" in capsys.readouterr().err
    assert main(["sample", "--model", *arguments, *rest]) == 0
    assert parameter in capsys.readouterr().out
    model = json.loads(au.load(run).attrs["settings"])["model"]
    assert {name: model[name] for name in stored} == stored


def test_options_reach_the_run(tables: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = (
        "--acceptance sequential-t --epsilon 0.05 --batch 50 --boundary wang-tsiatis:0.75 --scale 0.1,0.2 --thin 3"
    )
    more = "--prior student-t:3,0,2.5 --weights weight --offset shift --dtype float64 --start prior --keep beta --quiet"
    assert main(logistic(tables, run, *options.split(), *more.split())) == 0
    post = au.load(run)
    settings = json.loads(post.attrs["settings"])
    boundary = {"name": "WangTsiatis", "alpha": 0.75}
    rule = {"rule": "SequentialT", "epsilon": 0.05, "batch": 50, "boundary": boundary}
    assert settings["acceptance"] == rule and settings["proposal"] == {"move": "RandomWalk", "scale": [0.1, 0.2]}
    assert settings["model"]["priors"][0] == {"name": "StudentT", "dof": 3.0, "location": 0.0, "scale": 2.5}
    assert (settings["thin"], settings["start"], settings["keep"]) == (3, "prior", ["beta"])
    assert settings["dtype"] == "float64" and post.attrs["columns"] == 2


def test_the_columns_not_named_are_inputs(tables: Path, tmp_path: Path) -> None:
    """Without --columns: all but the response, the weights and the offset."""
    arguments = [
        "sample",
        "--model",
        "logistic",
        "--target",
        "x1",
        str(tables / "matrix.npy"),
        "--proposal",
        "adaptive",
    ]
    assert main([*arguments, "-o", str(tmp_path / "run"), *FEW, "--prior", "flat", "--quiet"]) == 0
    post = au.load(tmp_path / "run")
    assert list(post["posterior"]["coef"].values) == ["x0"]
    assert json.loads(post.attrs["settings"])["proposal"]["move"] == "AdaptiveMetropolis"


def test_missing_values_can_be_dropped(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sample", "--model", "logistic", "--target", "y", str(tables / "gaps.csv"), "--missing", "drop"]
    assert main([*arguments, "-o", str(tmp_path / "run"), *FEW, "--quiet"]) == 0
    assert au.load(tmp_path / "run").attrs["rows"] == 4
    assert main([*arguments, "-o", str(tmp_path / "again"), *FEW]) == 0
    assert "austerity: 1 row with missing values left out, 4 used\n" in capsys.readouterr().err


def test_summary_as_csv(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, file = tmp_path / "run", tmp_path / "table.csv"
    assert main(logistic(tables, run, "--quiet")) == 0
    assert main(["summary", str(run), "--csv", str(file)]) == 0
    lines = file.read_text().splitlines()
    assert lines[0].startswith("name,mean,sd") and lines[1].startswith("beta[age],") and len(lines) == 3
    capsys.readouterr()
    assert main(["summary", str(run), "--csv", str(tmp_path / "gone" / "table.csv")]) == 1
    assert main(["summary", str(tmp_path / "gone")]) == 1
    assert main(["summary", str(tables)]) == 1
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 3 and shown.err.count("austerity: ") == 3


def test_a_time_limit_keeps_what_was_drawn(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(logistic(tables, run, "--draws", "1000000", "--thin", "50", "--time-limit", "0.5")) == 0
    shown = capsys.readouterr()
    assert "time limit: " in shown.err and "of 1,000,000 draws a chain are kept" in shown.err
    drawn = au.load(run)["posterior"].sizes["draw"]
    assert f"{drawn:,} of 1,000,000" in shown.err
    arguments = logistic(tables, tmp_path / "cold", "--warmup", "1000000000", "--time-limit", "0.1", "--quiet")
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert shown.out == "" and "no draw was kept" in shown.err and "Warning" not in shown.err


def test_an_interrupt_keeps_the_draws_and_exits_130(tables: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = command(*logistic(tables, run, "--draws", "5000000", "--cores", "1"))
    process = subprocess.Popen(arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not any(run.rglob("checkpoint.previous.npz")):
        time.sleep(0.05)  # until draws were committed
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "beta[age]" in out and "Traceback" not in err
    drawn = au.load(run)["posterior"].sizes["draw"]
    assert drawn > 0 and f"interrupted: {drawn:,} of 5,000,000 draws a chain are kept in {run}" in err

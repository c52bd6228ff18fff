"""The command line: what it prints where, its exit codes, and that it draws what `austerity.sample` draws."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import austerity as au
from austerity.cli import main
from austerity.cli_options import in_options
from austerity.errors import AusterityWarning, InputError

ROOT = Path(__file__).resolve().parents[1]
FEW = ["--draws", "40", "--warmup", "20", "--chains", "2"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same 400 rows as rows.csv and rows.parquet, and with faulty tables beside them."""
    import pyarrow
    from pyarrow import csv, parquet

    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    age, income, n = rng.normal(45, 10, 400), rng.normal(0, 1, 400), 400
    columns = {
        "age": age,
        "income": income,
        "weight": rng.uniform(0.5, 1.5, n),
        "shift": rng.normal(0, 0.1, n),
        "bought": (rng.random(n) < 1 / (1 + np.exp(2 - 0.05 * age - income))).astype(np.int64),
        "visits": rng.poisson(np.exp(0.02 * age)),
        "spent": 3 + 0.1 * age + rng.standard_t(4, n),
        "kind": rng.integers(0, 3, n),
    }
    table = pyarrow.table(columns)
    csv.write_csv(table, folder / "rows.csv")
    parquet.write_table(table, folder / "rows.parquet")
    (folder / "gaps.csv").write_text("a,y\n1,0\n,1\n2,1\n3,0\n0.5,1\n")
    (folder / "words.csv").write_text("a,y\nred,0\nblue,1\n")
    (folder / "rows.txt").write_text("a,y\n1,0\n")
    np.save(folder / "matrix.npy", np.column_stack([income, columns["bought"]]))
    return folder


def logistic(tables: Path, run: Path, *more: str, name: str = "rows.parquet") -> list[str]:
    """Arguments of a short logistic regression into `run`."""
    start = ["sample", "--model", "logistic", "--target", "bought", "--columns", "age,income"]
    return [*start, str(tables / name), "-o", str(run), *FEW, *more]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "austerity", *arguments]


def test_the_installed_command_is_main() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = scripts["austerity"].split(":")
    assert getattr(import_module(module), function) is main


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["sample", "--help"], ["sample", "--bad"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    """In a fresh process: that is what keeps them quick."""
    code = (
        "import sys; from austerity.cli import main; main(sys.argv[1:]);"
        "sys.exit(f'{heavy}' if (heavy := {'numpy', 'numba', 'scipy', 'xarray', 'zarr', 'rich'} & set(sys.modules)) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"austerity {au.__version__}\n"
    assert main(["sample", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--resume" in out and "run.zarr" in out and "exit codes" in out


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
        (["--resume", "--seed", "1"], "rng"),
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


WRONG_USAGE = [
    ([], "COMMAND"),
    (["sample"], "required"),
    (["fit"], "invalid choice"),
    (["summary"], "required"),
    (["--model", "gaussian"], "invalid choice"),
    (["--prior", "uniform:0,1"], "no prior; choose from normal"),
    (["--prior", "normal:1"], "write it as normal:0,1"),
    (["--prior", "normal:a,b"], "no list of numbers"),
    (["--prior", "flat:1"], "takes none"),
    (["--boundary", "wang-tsiatis", "--acceptance", "sequential-t"], "wang-tsiatis:0.75"),
    (["--draws", "many"], "invalid int"),
    (["--columns", "age,,income"], "no list of names"),
    (["--link", "softplus"], "--model poisson"),
    (["--sigma", "1"], "linear or student-t"),
    (["--sigma", "wide"], "neither a number"),
    (["--epsilon", "0.1"], "--acceptance sequential-t"),
    (["--batch", "10", "--acceptance", "exact"], "--acceptance sequential-t"),
    (["--scale", "1", "--proposal", "adaptive"], "--proposal random-walk"),
    (["--res"], "unrecognized"),
]


@pytest.mark.parametrize(("arguments", "word"), WRONG_USAGE)
def test_wrong_usage(
    arguments: list[str], word: str, tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments and arguments[0].startswith("--"):
        arguments = logistic(tables, tmp_path / "run", *arguments)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "usage: austerity" in shown.err and word in shown.err
    assert not (tmp_path / "run").exists()


WRONG_INPUT = [
    (["--target", "y", "--columns", "a", "{tables}/gone.csv"], "does not exist"),
    (["--target", "y", "--columns", "a", "{tables}/rows.txt"], "suffix"),
    (["--target", "y", "--columns", "a", "{tables}"], "is a directory"),
    (["--target", "y", "{tables}/words.csv"], 'column "a" does not hold real numbers'),
    (["--target", "y", "{tables}/gaps.csv"], "--missing drop"),
    (["--target", "boughtt", "{tables}/rows.csv"], '"bought" is the closest'),
    (["--target", "bought", "{tables}/rows.csv", "--columns", "agee"], '"age" is the closest'),
    (["--target", "bought", "{tables}/rows.csv", "--weights", "w"], "weights 'w'"),
    (["--target", "visits", "{tables}/rows.csv"], "needs responses 0 and 1"),
    (["--target", "bought", "{tables}/rows.csv", "--prior", "normal:0,-1"], "positive"),
    (["--target", "bought", "{tables}/rows.csv", "--chains", "0"], "--chains 0"),
    (["--target", "bought", "{tables}/rows.csv", "--draws", "-5"], "--draws -5"),
    (["--target", "bought", "{tables}/rows.csv", "--cores", "0"], "--cores 0"),
    (["--target", "bought", "{tables}/rows.csv", "--seed", "-1"], "--seed -1"),
    (["--target", "bought", "{tables}/rows.csv", "--time-limit", "nan"], "--time-limit nan"),
    (["--target", "bought", "{tables}/rows.csv", "--keep", "gamma"], "no parameter 'gamma'"),
    (["--target", "bought", "{tables}/rows.csv", "--scale", "1,2"], "for 2 parameters"),
    (["--target", "bought", "{tables}/rows.csv", "--scale", "-1"], "must be positive"),
    (["--target", "bought", "{tables}/rows.csv", "--prior", "flat", "--start", "prior"], "--start mode"),
    (["--target", "bought", "{tables}/rows.csv", "--acceptance", "sequential-t", "--epsilon", "2"], "epsilon=2.0"),
    (["--target", "bought", "{tables}/rows.csv", "--acceptance", "sequential-t", "--batch", "900"], "batch=900"),
]


@pytest.mark.parametrize(("arguments", "word"), WRONG_INPUT)
def test_wrong_input_is_one_sentence(
    arguments: list[str], word: str, tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [part.format(tables=tables) for part in arguments]
    assert main(["sample", "--model", "logistic", "-o", str(tmp_path / "run"), "--quiet", *arguments]) == 1
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("austerity: ") and shown.err.count("\n") == 1
    assert word in shown.err and not (tmp_path / "run").exists()


def test_missing_values_can_be_dropped(tables: Path, tmp_path: Path) -> None:
    arguments = ["sample", "--model", "logistic", "--target", "y", str(tables / "gaps.csv"), "--missing", "drop"]
    assert main([*arguments, "-o", str(tmp_path / "run"), *FEW, "--quiet"]) == 0
    assert au.load(tmp_path / "run").attrs["rows"] == 4


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


def raising(error: BaseException) -> object:
    def sample(*_: object, **__: object) -> None:
        raise error

    return sample


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (RuntimeError("boom"), 3, "RuntimeError: boom"),
        (KeyError("lost"), 3, "Traceback"),
        (InputError("weights=3: pass missing='drop', or intercept=True"), 1, "pass --missing drop, or --intercept\n"),
        (MemoryError("12 GB"), 1, "not enough memory (12 GB)"),
        (PermissionError(13, "Permission denied", "a.csv"), 1, "a.csv: Permission denied"),
        (KeyboardInterrupt(), 130, "nothing was drawn yet"),
    ],
)
def test_exit_codes(
    error: BaseException,
    code: int,
    word: str,
    tables: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(au, "sample", raising(error), raising=False)
    assert main(logistic(tables, tmp_path / "run")) == code
    shown = capsys.readouterr().err
    assert word in shown and shown.startswith("austerity: ") and ("Traceback" in shown) == (code == 3)


def test_only_our_own_warnings_are_shown(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def sample(*_: object, **__: object) -> None:
        warnings.warn("columns are odd: try standardize=True", AusterityWarning, stacklevel=2)
        warnings.warn("some detail of a library", RuntimeWarning, stacklevel=2)
        raise InputError("enough")

    monkeypatch.setattr(au, "sample", sample, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(logistic(tables, tmp_path / "run")) == 1
    assert capsys.readouterr().err == "austerity: columns are odd: try --standardize\nausterity: enough\n"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("pass resume=True to go on", "pass --resume to go on"),
        ("leave it out with columns=[...].", "leave it out with --columns A,B,C."),
        ('pass missing="drop" to', "pass --missing drop to"),
        ("time_limit=0.5 is", "--time-limit 0.5 is"),
        ("RandomWalk(scale=-1.0): positive", "RandomWalk(scale=-1.0): positive"),
        ("give start= where it is finite", "give start= where it is finite"),
    ],
)
def test_sentences_speak_of_options(said: str, heard: str) -> None:
    assert in_options(said) == heard


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
    while process.poll() is None and not any(run.glob("posterior/beta/c.*")):
        time.sleep(0.05)  # until the first draws are on disk
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "beta[age]" in out and "Traceback" not in err
    drawn = au.load(run)["posterior"].sizes["draw"]
    assert drawn > 0 and f"interrupted: {drawn:,} of 5,000,000 draws a chain are kept in {run}" in err


def test_a_closed_standard_output_is_no_error(tables: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(logistic(tables, run, "--quiet")) == 0
    for arguments in (["summary", str(run)], ["sample", "--help"], ["--version"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(command(*arguments), env=environment(), stdout=writer, stderr=subprocess.PIPE, timeout=60)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a file that is always full")
def test_a_full_disk_under_standard_output_is_said(tables: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(logistic(tables, run, "--quiet")) == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run(command("summary", str(run)), env=environment(), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"No space left" in done.stderr and b"Traceback" not in done.stderr


def test_no_standard_streams_at_all(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(logistic(tables, run)) == 0
    assert main(["summary", str(tmp_path / "gone")]) == 1

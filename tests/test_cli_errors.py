"""What the command line says when something is wrong, and its exit codes: one sentence, never a traceback."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from cli_runs import command, environment, logistic, make_tables

import austerity as au
from austerity.cli import main
from austerity.cli_options import in_options
from austerity.errors import AusterityWarning, InputError


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tables(tmp_path_factory.mktemp("tables"))


WRONG_USAGE = [
    ([], "COMMAND"),
    (["sample"], "required"),
    (["fit"], "invalid choice"),
    (["summary"], "required"),
    (["--model", "gaussians"], "invalid choice"),
    (["sample", "--model", "logistic", "rows.csv", "-o", "run"], "--model logistic needs --target"),
    (["--model", "quantile"], "needs --tau"),
    (["--tau", "0.5"], "--tau is for --model quantile, not for logistic"),
    (["--error-scale", "1"], "--error-scale is for --model lad or quantile or huber"),
    (["--mixture-weights", "0.5,0.5"], "--mixture-weights is for --model gaussian-mixture"),
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
    assert shown.out == "" and shown.err.startswith("austerity: ") and word in shown.err
    assert shown.err.count("\n") == 1 and re.search(r"; see austerity( sample| summary)? --help\n$", shown.err)
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
    (["--target", "a", "{tables}/words.csv", "--columns", "y"], 'column "a" does not hold real numbers'),
    (["--target", "bought", "--columns", "bought", "{tables}/rows.csv"], "leave it out of --columns A,B,C."),
    (["--target", "bought", "{tables}/rows.csv", "--prior", "normal:0,-1"], "positive"),
    (["--target", "bought", "{tables}/rows.csv", "--chains", "0"], "--chains 0"),
    (["--target", "bought", "{tables}/rows.csv", "--draws", "-5"], "--draws -5"),
    (["--target", "bought", "{tables}/rows.csv", "--cores", "0"], "--cores 0"),
    (["--target", "bought", "{tables}/rows.csv", "--seed", "-1"], "--seed -1"),
    (["--target", "bought", "{tables}/rows.csv", "--time-limit", "nan"], "--time-limit nan"),
    (["--target", "bought", "{tables}/rows.csv", "--keep", "gamma"], "no parameter 'gamma'"),
    (["--target", "bought", "{tables}/rows.csv", "--scale", "1,2"], "for 2 parameters"),
    (["--target", "bought", "{tables}/rows.csv", "--scale", "-1"], "holds -1"),
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


def test_a_sentence_after_the_colon_begins_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(tmp_path / "gone")]) == 1
    assert capsys.readouterr().err.startswith("austerity: there is no austerity run at ")


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
        ("made with rng = 0, and 1", "made with --seed 0, and 1"),
        ("made with model.model = 0, and 1", "made with model.model = 0, and 1"),
        ('pass missing="drop" to', "pass --missing drop to"),
        ("time_limit=0.5 is", "--time-limit 0.5 is"),
        ("RandomWalk(scale=-1.0): positive", "RandomWalk(scale=-1.0): positive"),
        ("give start= where it is finite", "give start= where it is finite"),
    ],
)
def test_sentences_speak_of_options(said: str, heard: str) -> None:
    assert in_options(said) == heard


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

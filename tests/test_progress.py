"""What is said while a run goes on, and before it: nothing false, nothing unsaid that a user would want to know."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import austerity as au
from austerity.engine.jit import nothing_cached
from austerity.engine.progress import Progress
from austerity.engine.run import Status

RNG = np.random.default_rng(1)
X = RNG.normal(size=(300, 3))
Y = (RNG.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
SHORT: dict[str, Any] = {"draws": 60, "warmup": 20, "chains": 2}


class NoTrace:
    """A trace from which nothing can be told yet."""

    def ess(self) -> float:
        return float("nan")


def status(steps: list[int], drawn: list[int], **changes: Any) -> Status:
    """Two chains of 100 warm-up steps and 1,000 draws on 500 rows; those that have draws accepted a quarter."""
    known = np.where(np.array(drawn) > 0, 1.0, np.nan)
    given = {"accepted": 0.25 * known, "rows": 250 * known, "total_steps": 1100, "n_rows": 500}
    return Status(np.array(steps), np.array(drawn), **{**given, **changes})


def line(now: Status) -> str:
    """The plain line about a run that began at step 0."""
    progress = Progress(100, 1000, stream=io.StringIO(), terminal=False)
    progress.update(Status(0 * now.steps, 0 * now.drawn, now.accepted, now.rows, 1100, 500), NoTrace())
    return progress.line(now)


def test_warm_up_shows_steps_and_no_zeros() -> None:
    said = line(status([23, 40], [0, 0], seconds=2.0))
    assert said.startswith("austerity: warming up, step 23 of 100, ") and said.endswith(" left")
    assert "accepted" not in said and "rows" not in said and "draws" not in said


def test_no_time_is_guessed_before_the_first_step() -> None:
    assert line(status([0, 0], [0, 0])) == "austerity: warming up, step 0 of 100"


def test_one_chain_ahead_of_another() -> None:
    said = line(status([90, 120], [0, 20], seconds=2.0))
    assert "warming up, step 90 of 100, 0-20 of 1,000 draws a chain, accepted 25%, rows read 50%" in said


def test_after_warm_up() -> None:
    said = line(status([120, 120], [20, 20], seconds=2.0))
    assert said.startswith("austerity: 20 of 1,000 draws a chain, accepted 25%, rows read 50%, ")
    over = line(status([23, 40], [0, 0], seconds=2.0, ended="time limit"))
    assert over == "austerity: warming up, step 23 of 100, 0 of 1,000 draws a chain, time limit after 0:02"


def test_the_table_of_a_terminal_shows_no_zeros_either() -> None:
    from rich.console import Console

    stream = io.StringIO()
    progress = Progress(100, 1000, stream=stream, terminal=False)
    progress.first_steps = np.zeros(2)
    Console(file=stream, width=100).print(progress.table(status([90, 120], [0, 20], seconds=2.0)))
    first, second = stream.getvalue().splitlines()[1:3]
    assert first.split() == ["0", "0/1,000", "warm-up", "90/100"]
    assert second.split() == ["1", "20/1,000", "25%", "50%", "drawing"]


def test_a_resumed_run_knows_what_it_did_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where nothing is left to do: shares are those of all draws, the effective size says what it is of."""
    given = {**SHORT, "store": tmp_path / "run.zarr", "resume": True}
    first = au.sample(au.models.Logistic(), X, Y, **given)
    shown = capsys.readouterr().err.splitlines()[-1]
    accepted = float(first["sample_stats"]["accepted"].mean())
    assert f"accepted {accepted:.0%}, rows read 100%" in shown and "since resumed" not in shown
    au.sample(au.models.Logistic(), X, Y, **given)
    assert f"60 of 60 draws a chain, accepted {accepted:.0%}, rows read 100%, " in capsys.readouterr().err
    more = au.sample(au.models.Logistic(), X, Y, **{**given, "draws": 120})
    accepted = float(more["sample_stats"]["accepted"].mean())
    shown = capsys.readouterr().err.splitlines()[-1]
    assert f"accepted {accepted:.0%}, rows read 100%, ESS " in shown and "since resumed" in shown


def notes(**changes: Any) -> tuple[list[str], Any]:
    """The notes kept with the results of a short run, and the results."""
    given = {"model": au.models.Logistic(), "X": X, "y": Y, "progress": False, **SHORT, **changes}
    tree = au.sample(**given)
    return json.loads(tree.attrs["notes"]), tree


def test_rows_left_out_are_counted() -> None:
    gaps = X.copy()
    gaps[[4, 9, 11], [0, 1, 1]] = np.nan
    assert "3 rows with missing values left out, 297 used" in notes(X=gaps, missing="drop")[0]
    gaps[9:] = X[9:]
    rows = au.rows.open(gaps, Y, missing="drop")
    assert "1 row with missing values left out, 299 used" in notes(X=rows, y=None)[0]
    assert not any("left out" in note for note in notes()[0])


def test_an_intercept_that_nobody_asked_for_is_missed() -> None:
    sentence = "no intercept was asked for and no column is constant: predictors are 0 where all columns are"
    assert sentence in notes()[0]
    assert sentence not in notes(intercept=True)[0] and sentence not in notes(X=np.c_[X, np.ones(300)])[0]
    own = au.Model({"mu": au.priors.Normal(0, 1)}, row=lambda theta, x, y: -0.5 * (y - theta[0]) ** 2)
    assert sentence not in notes(model=own)[0]


def test_notes_come_before_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    tree = notes(progress=True)[1]
    said = [text.removeprefix("austerity: ") for text in capsys.readouterr().err.splitlines()]
    kept = json.loads(tree.attrs["notes"])
    assert [text for text in said if text in kept] == kept and len(kept) > 2


def test_an_empty_cache_is_known(tmp_path: Path) -> None:
    class Compiled:
        class _cache:
            cache_path = tmp_path

    assert nothing_cached(Compiled) and not nothing_cached(len)
    (tmp_path / "loop.advance-1.py311.nbi").touch()
    assert not nothing_cached(Compiled)


def test_a_first_compilation_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "austerity: compiling for the first time, which takes some ten seconds; later runs find it done\n"
    notes(progress=True)
    assert sentence not in capsys.readouterr().err
    monkeypatch.setitem(au.sample.__globals__, "nothing_cached", lambda _: True)
    notes(progress=True)
    assert capsys.readouterr().err.startswith(sentence)


def test_a_handle_says_what_it_is() -> None:
    handle = au.start(au.models.Logistic(), X, Y, **SHORT, progress=False)
    handle.wait()
    assert repr(handle) == "<austerity run, 2 chains: 60 of 60 draws, done>"


def test_a_table_given_for_a_model_is_not_printed() -> None:
    frame = pd.DataFrame(X)
    with pytest.raises(au.errors.InputError, match=r"^model=<DataFrame> is no model: give one such as") as caught:
        au.sample(frame, au.models.Logistic(), Y)
    assert len(str(caught.value)) < 120


def test_functions_of_a_parameter_keep_its_labels() -> None:
    """Entry by entry, that is: what mixes entries, or has their shape by chance, gets labels of its own."""
    keep = {
        "odds": lambda p: np.exp(p["beta"]),
        "gaps": lambda p: p["beta"] - np.roll(p["beta"], 1, axis=1),
        "fixed": lambda p: np.ones_like(p["beta"]),
        "first": lambda p: p["beta"][:, 0],
    }
    posterior = notes(keep=keep, X=pd.DataFrame(X, columns=["a", "b", "c"]))[1]["posterior"]
    assert posterior["odds"].dims == ("chain", "draw", "coef")
    assert posterior["coef"].to_numpy().tolist() == ["a", "b", "c"]
    assert posterior["gaps"].dims[2:] == ("gaps_dim_0",) and posterior["fixed"].dims[2:] == ("fixed_dim_0",)
    assert posterior["first"].dims == ("chain", "draw")
    classes = notes(model=au.models.Multinomial(), y=np.arange(300) % 3, keep={"twice": lambda p: 2 * p["beta"]})[1]
    assert classes["posterior"]["twice"].dims == ("chain", "draw", "class", "coef")

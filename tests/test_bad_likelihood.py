"""A likelihood of the user's own that misbehaves: said in one sentence, with the row and the parameter values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine import prepare
from austerity.errors import InputError, ModelError
from austerity.models import user
from austerity.priors import Flat, Normal

N = 300
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 2)), RNG.normal(size=N)
BAD = int(np.argmax(X[:, 0]))  # the only row that some likelihoods below cannot bear
MU = {"mu": Normal(0, 10)}
BOTH = {"mu": Normal(0, 10), "sigma": au.priors.StudentT(3, 0, 1)}
Case = tuple[Callable[[], Any], tuple[str, ...]]


def sample(model: Any, **settings: Any) -> Any:
    given = {"draws": 5, "warmup": 5, "chains": 2, "progress": False, **settings}
    return au.sample(model, X, Y, **given)


def fine(theta: Any, x: Any, y: Any) -> Any:
    return -0.5 * (y - theta[0]) ** 2


def fine_block(points: Any, rows: Any, y: Any) -> Any:
    return -0.5 * (y[:, None] - points[:, 0]) ** 2


def raising(theta: Any, x: Any, y: Any) -> Any:
    raise RuntimeError("no good")


def of_points(value: Callable[[Any, Any], Any]) -> Any:
    """A block function that returns value(points, y)."""
    return lambda points, rows, y: value(points, y)


def row(function: Any, **more: Any) -> Any:
    return sample(au.Model(MU, row=function, **more))


def block(value: Any, **more: Any) -> Any:
    return sample(au.Model(MU, block=of_points(value), **more))


# name: (call, fragments); all of these are found before anything is compiled
AT_ONCE: dict[str, Case] = {
    "two functions": (lambda: au.Model(MU, row=fine, block=fine_block), ("give either row=", "not both or none")),
    "no function": (lambda: au.Model(MU), ("give either row=", "not both or none")),
    "a number": (lambda: au.Model(MU, row=3), ("Model(row=3)", "give a function")),
    "gradient a number": (lambda: au.Model(MU, row=fine, gradient=3), ("Model(gradient=3)", "give a function")),
    "no parameters": (lambda: au.Model({}, row=fine), ("parameters= maps each name to its prior, such as",)),
    "a list": (lambda: au.Model(["mu"], row=fine), ("parameters= maps each name to its prior, such as",)),
    "prior a number": (lambda: au.Model({"mu": 1}, row=fine), ("the prior of 'mu' is 1", "such as priors.Normal(0, 1")),
    "a bad name": (lambda: sample(au.Model({"a b": Normal()}, row=fine)), ("'a b' cannot name", "use letters, digits")),
    "a name taken": (lambda: sample(au.Model({"chain": Normal()}, row=fine)), ("'chain' cannot name", "neither of")),
    "positive who": (lambda: au.Model(MU, row=fine, positive=["tau"]), ("positive names 'tau'", "parameters are ['mu")),
    "positive text": (lambda: au.Model(BOTH, row=fine, positive="sigma"), ("positive='sigma' is text", "['sigma']")),
    "shape 3": (lambda: row(fine, shapes={"mu": 3}), ("shapes['mu'] is 3", "whole numbers of at least 1, such as (3,")),
    "shape 0": (lambda: row(fine, shapes={"mu": (0,)}), ("shapes['mu'] is (0,)", "whole numbers of at least 1")),
    "shape in words": (lambda: row(fine, shapes={"mu": ("a",)}), ("shapes['mu'] is ('a',)", "whole numbers of at")),
    "initial too long": (lambda: row(fine, initial={"mu": [1, 2]}), ("initial['mu'] is [1, 2]", "give numbers of sha")),
    "initial in words": (lambda: row(fine, initial={"mu": "a"}), ("initial['mu'] is 'a'", "give numbers of shape ()")),
    "initial NaN": (lambda: row(fine, initial={"mu": np.nan}), ("initial['mu'] is nan", "give finite numbers")),
    "initial 0": (
        lambda: sample(au.Model(BOTH, row=fine, positive=["sigma"], initial={"sigma": 0})),
        ("initial['sigma'] is 0", "give positive numbers"),
    ),
    "intercept": (lambda: sample(au.Model(MU, row=fine), intercept=True), ("intercept and standardize are for models")),
    "offset": (lambda: sample(au.Model(MU, row=fine), offset=Y), ("offset is for models with linear", "as a column")),
    "raises": (lambda: row(raising), ("raised RuntimeError: no good at row 0 for mu=0 (line", "of raising): correct")),
    "wrong arguments": (lambda: row(lambda theta, x: 0.0), ("raised TypeError", "takes 2 positional", "at row 0 for")),
    "index too large": (lambda: row(lambda t, x, y: t[5]), ("raised IndexError: index 5", "at row 0 for mu=0", "corr")),
    "None": (lambda: row(lambda t, x, y: None), ("returned None of shape () at row 0 for mu=0", "return one real num")),
    "complex": (lambda: row(lambda t, x, y: 1j), ("returned complex128 of shape () at row 0", "return one real numbe")),
    "an array": (lambda: row(lambda t, x, y: x), ("returned float32 of shape (2,) at row 0", "return one real number")),
    "text": (lambda: row(lambda t, x, y: "a"), ("returned <U1 of shape () at row 0", "return one real number")),
    "block raises": (lambda: block(lambda p, y: 1 / 0), ("raised ZeroDivisionError", "rows 0 to 4 and two points", "")),
    "block None": (lambda: block(lambda p, y: None), ("returned None of shape ()", "numbers of shape (5, 2), (rows,")),
    "block complex": (lambda: block(lambda p, y: 1j * np.ones((5, 2))), ("returned complex128", "real numbers of sha")),
    "block of rows": (lambda: block(lambda p, y: y), ("returned float32 of shape (5,)", "real numbers of shape (5, 2")),
    "block transposed": (lambda: block(lambda p, y: (y[:, None] - p[:, 0]).T), ("of shape (2, 5)", "shape (5, 2)")),
    "block of one point": (lambda: block(lambda p, y: y[:, None]), ("of shape (5, 1)", "shape (5, 2), (rows, points)")),
}  # fmt: skip


def nan_at_one_row(theta: Any, x: Any, y: Any) -> Any:
    return np.nan if x[0] > 2.5 else -0.5 * (y - theta[0]) ** 2


def infinite_at_one_row(theta: Any, x: Any, y: Any) -> Any:
    return -np.inf if x[0] > 2.5 else -0.5 * (y - theta[0]) ** 2


def nan_block(points: Any, rows: Any, y: Any) -> Any:
    return np.where(rows[:, :1] > 2.5, np.nan, fine_block(points, rows, y))


def unknown_to_numba(theta: Any, x: Any, y: Any) -> Any:
    return float(json.dumps(0))


def of_five_rows(points: Any, rows: Any, y: Any) -> Any:
    return np.zeros((5, len(points)))


def late_shape(points: Any, rows: Any, y: Any) -> Any:
    return fine_block(points, rows, y)[:, : 1 if len(y) > 100 else None]


GIVEN = {"start": [0.0], "proposal": au.proposals.RandomWalk(0.1)}
AT_THE_MODE = ("where the mode is looked for (mu=0)", "correct that row, or give initial= values")
AT_THE_START = ("where chain 0 starts (mu=0)", "correct that row, or give start= points")
BEFORE_THE_RUN: dict[str, Case] = {
    "NaN at a row": (lambda: row(nan_at_one_row), (f"of row {BAD} is nan", *AT_THE_MODE)),
    "-inf at a row": (lambda: row(infinite_at_one_row), (f"of row {BAD} is -inf", *AT_THE_MODE)),
    "NaN in a block": (lambda: sample(au.Model(MU, block=nan_block)), (f"of row {BAD} is nan", *AT_THE_MODE)),
    "NaN where it starts": (
        lambda: sample(au.Model(MU, row=nan_at_one_row), acceptance=Exact(), **GIVEN),
        (f"of row {BAD} is nan", *AT_THE_START),
    ),
    "NaN where a test starts": (
        lambda: sample(au.Model(MU, block=nan_block), acceptance=SequentialT(0.1, 20), **GIVEN),
        (f"of row {BAD} is nan", *AT_THE_START),
    ),
    "unknown to Numba": (lambda: row(unknown_to_numba), ("'unknown_to_numba' cannot be compiled (Unknown attribute '")),
    "a fixed number of rows": (
        lambda: sample(au.Model(MU, block=of_five_rows)),
        ("returned shape (5, ", "rows and", "points (expected (", "correct it and start again"),
    ),
    "one point of many rows": (
        lambda: sample(au.Model(MU, block=late_shape)),
        ("returned shape (300, 1) for 300 rows and 2 points (expected (300, 2))", "correct it"),
    ),
    "gradient of another shape": (
        lambda: row(fine, gradient=lambda t, x, y: np.zeros(3)),
        ("gradient returned", "of shape (3,) for rows from 0", "it must return 1 finite numbers"),
    ),
    "gradient NaN": (lambda: row(fine, gradient=lambda t, x, y: np.full(1, np.nan)), ("gradient returned array([nan]")),
    "gradient raises": (lambda: row(fine, gradient=lambda t, x, y: 1 / 0), ("gradient raised ZeroDivisionError", "le")),
    "nothing to say of mu": (
        lambda: sample(au.Model({"mu": Flat()}, block=of_points(lambda p, y: np.zeros((len(y), len(p)))))),
        ("the rows say nothing of mu and its prior is flat", "give a proper prior"),
    ),
}  # fmt: skip


def check(call: Callable[[], Any], fragments: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    said = str(caught.value)
    for fragment in fragments:
        assert fragment in said, said
    assert "\n" not in said and len(said) < 400, said


@pytest.mark.parametrize("case", AT_ONCE)
def test_found_before_anything_is_compiled(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("the likelihood was compiled")

    monkeypatch.setattr(user, "compile_source", never)
    monkeypatch.setattr(prepare, "find_mode", never)
    check(*AT_ONCE[case])


@pytest.mark.parametrize("case", BEFORE_THE_RUN)
def test_found_before_the_first_step(case: str) -> None:
    check(*BEFORE_THE_RUN[case])


def test_a_row_is_named_by_its_number_also_when_the_search_looks_at_few() -> None:
    """200,000 rows, of which the search for the mode first sees every tenth."""
    count, place = 200_000, 123_450
    x = np.zeros((count, 1), np.float32)
    x[place] = 1.0

    def careful(points: Any, rows: Any, y: Any) -> Any:
        if np.any(rows == 1.0):
            raise ValueError("a one")
        return fine_block(points, rows, y)

    with pytest.raises(ModelError, match=rf"raised ValueError: a one at row {place} for chain 0 at mu=0"):
        au.sample(au.Model(MU, block=careful), x, np.zeros(count), progress=False)


def later(theta: Any, x: Any, y: Any) -> Any:
    if theta[0] > 0.5:
        raise ValueError("mu is too large")
    return -0.5 * y * y


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.1, 20)], ids=["Exact", "SequentialT"])
def test_the_values_at_which_it_raised_are_named(rule: Any) -> None:
    with pytest.raises(
        ModelError, match=r"raised ValueError: mu is too large at row 0 for chain \d at mu=0\.[5-9]"
    ) as caught:
        sample(au.Model(MU, row=later), acceptance=rule, draws=2000, **GIVEN)
    assert caught.value.partial["posterior"]["mu"].max() < 0.5  # type: ignore[attr-defined]

"""Fields and settings that cannot be: one sentence each, before any draw."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.errors import InputError
from austerity.gibbs import Field

FINE = [[1.0, 2.0], [2.0, 1.0]]
NOT_FINE = [[1.0, np.nan], [2.0, 1.0]]

FACTORS = {
    "no factor": ({}, "there is no factor"),
    "no mapping": (3, "give factors as"),
    "no pair": ([1.0], "is no factor"),
    "wrong axes": ({(0, 1): [1.0, 2.0]}, "one axis for each"),
    "too many": ({(0, 1, 2, 3): np.ones((2,) * 4)}, "names 4 variables"),
    "text": ({(0, 1): "table"}, "array of real numbers"),
    "NaN": ({(0, 1): NOT_FINE}, r"holds nan at \(0, 1\)"),
    "zero": ({(0, 1): [[1.0, 0.0], [2.0, 1.0]]}, r"factor \(0, 1\) holds 0 at \(0, 1\).*small weight"),
    "negative": ({(0, 1): [[1.0, 2.0], [-2.0, 1.0]]}, r"holds -2 at \(1, 0\): give a positive weight"),
    "repeated": ({(0, 1): FINE, (2, 2): FINE}, r"factor \(2, 2\) names a variable twice"),
    "below": ({(0, 1): FINE, (-1, 0): FINE}, "outside 0 to 1"),
    "untouched": ({(0, 2): FINE}, "variable 1 is in no factor"),
    "one value": ({(0, 1): [[1.0, 2.0]]}, "at least two"),
    "disagree": ({(0, 1): FINE, (1, 2): np.ones((3, 2))}, "variable 1 has 2 values in another factor"),
    "fraction": ({(0, 1.5): FINE}, "by number, from 0, or by name"),
}


@pytest.mark.parametrize("case", FACTORS)
def test_factors(case: str) -> None:
    factors, sentence = FACTORS[case]
    with pytest.raises(InputError, match=sentence):
        Field(factors)


def test_other_settings_of_a_field() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"log": 2}, "give True where tables hold logarithms"),
        ({"dtype": "int8"}, "unknown to tables"),
        ({"names": "ab"}, "give a list of text"),
        ({"names": ["a", "a"]}, "twice"),
        ({"names": ["a"]}, "outside 0 to 0"),
    ]
    for options, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            Field({(0, 1): FINE}, **options)
    with pytest.raises(InputError, match="names 'c', which is none"):
        Field({("a", "c"): FINE}, names=["a", "b"])
    with pytest.raises(InputError, match="holds -inf"):
        Field({(0, 1): [[0.0, -np.inf], [0.0, 0.0]]}, log=True)


def test_arrays() -> None:
    cases = [
        ([[0, 1]], np.ones((2, 2, 2)), "for 1 factors of 2 variables"),
        ([[0, 1]], np.ones((1, 2)), "one axis for each"),
        ([[0.0, 1.0]], np.ones((1, 2, 2)), "give whole numbers"),
        (np.zeros((0, 2), int), np.ones((0, 2, 2)), "there is no factor"),
        ([[0, 1], [1, 1]], np.ones((2, 2, 2)), r"factor \(1, 1\) names a variable twice"),
    ]
    for variables, tables, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            Field.from_arrays(variables, tables)


@dataclass(frozen=True)
class NoThreshold(SequentialT):
    given_threshold = False


@dataclass(frozen=True)
class AnotherPass(SequentialT):
    """Reads all rows, in a way of its own."""

    reads_all = True


def a_field() -> Field:
    return Field({pair: FINE for pair in itertools.combinations(range(5), 2)})


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"decision": "exact"}, "is no decision"),
    ({"decision": Exact}, "is no decision"),
    ({"decision": AnotherPass(0.1, 2)}, "reads everything at every step"),
    ({"decision": NoThreshold(0.1, 2)}, "does not decide a threshold"),
    ({"decision": SequentialT(0.1, 500)}, "more rows a look than the 4"),
    ({"scan": "sorted"}, "scan='sorted' is unknown"),
    ({"start": "mode"}, "start='mode' is unknown"),
    ({"start": [0, 1]}, "there are 5 variables"),
    ({"start": [0, 1, 2, 0, 0]}, "variable 2 the value 2: give a whole number from 0 to 1"),
    ({"start": np.zeros((3, 5))}, "for 2 chains"),
    ({"draws": 0}, "at least one draw"),
    ({"keep": ["y"]}, "there is no parameter 'y'"),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda case: next(iter(case[0])))
def test_settings(settings: tuple[dict[str, Any], str]) -> None:
    options, sentence = settings
    with pytest.raises(InputError, match=sentence):
        au.gibbs.sample(a_field(), **{"chains": 2, "progress": False, **options})


def test_what_is_no_field() -> None:
    with pytest.raises(InputError, match="is no field of factors"):
        au.gibbs.sample({(0, 1): FINE})  # type: ignore[arg-type]


def test_updates() -> None:
    for state, variable, sentence in (
        ([0, 0], 0, "there are 5 variables"),
        (np.zeros((2, 5)), 0, "give one state"),
        ([0] * 5, 5, "from 0 to 4"),
    ):
        with pytest.raises(InputError, match=sentence):
            au.gibbs.updates(a_field(), Exact(), state, variable)
    with pytest.raises(InputError, match="at least 1"):
        au.gibbs.updates(a_field(), Exact(), [0] * 5, 1, 0)


def test_logarithms_that_tables_cannot_hold() -> None:
    """Infinity less infinity would be no number, and be taken for a no."""
    tables = {(0, 1): [[1e39, 0.0], [0.0, 0.0]]}
    with pytest.raises(InputError, match=r"factor \(0, 1\) has logarithm 1e\+39 at \(0, 0\): too large for float32"):
        au.gibbs.Field(tables, log=True)
    assert au.gibbs.Field(tables, log=True, dtype="float64").size == 2

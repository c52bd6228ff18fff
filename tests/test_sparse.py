"""Rows of models over sets of variables: columns out of use cost nothing and change no bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from engine_drivers import new_source, read_terms, row_order

import austerity as au
from austerity.engine.jit import engine
from austerity.engine.problem import ACTIVE
from austerity.rows.passes import sums
from austerity.rows.sparse import find_columns
from austerity.rows.sparse_passes import few_columns


def problem_of(dtype: str, width: int, intercept: bool = False, n_rows: int = 20_000) -> tuple[Any, np.ndarray]:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(n_rows, width)), random.random(n_rows) < 0.5
    weights, offset = random.integers(1, 3, n_rows).astype(float), random.normal(size=n_rows)
    held = au.rows.open(X, y, dtype=dtype, weights=weights, offset=offset)
    return au.models.VariableSelection().bind(held, intercept, False).problem, X


def whole(problem: Any) -> Any:
    """The same problem read as if every column were in use."""
    shape = problem.shape.copy()
    shape[ACTIVE] = 0
    return problem._replace(shape=shape)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("used", [0, 1, 3, 9, 20])
def test_a_pass_over_some_columns_has_the_bits_of_one_over_all(dtype: str, intercept: bool, used: int) -> None:
    """Rows of several slabs and a last short block; each point has a set of its own; one core and two."""
    problem, _ = problem_of(dtype, 20, intercept)
    random, points = np.random.default_rng(used), np.zeros((5, 20 + intercept))
    for point in points:
        point[intercept + random.permutation(max(1, used))[: used // 2 + 1]] = random.normal()
    points[:, :intercept] = 0.3
    if used == 0:
        points[:, intercept:] = 0.0
    expected = sums(whole(problem), points)
    few = few_columns(problem, points)
    assert (few is None) == (used in (0, 20)) and (few is None or few.size <= 14)
    assert np.array_equal(sums(problem, points)[0], expected[0])
    with ThreadPoolExecutor(2) as pool:
        assert np.array_equal(sums(problem, points, None, pool, 2)[0], expected[0])


def test_a_pass_does_not_read_what_no_point_uses() -> None:
    """NaN in those columns does no harm; in one that a single point uses it takes that point's density away."""
    problem, X = problem_of("float64", 12)
    points = np.zeros((3, 12))
    points[0, 2], points[1, 7] = 1.0, -1.0
    expected = sums(problem, points)[0]
    spoilt = X.copy()
    spoilt[:, [0, 1, 3, 4, 5, 6, 8, 9, 10, 11]] = np.nan
    assert np.array_equal(sums(problem._replace(X=spoilt), points)[0], expected)
    spoilt[5, 7] = np.nan
    assert np.isneginf(sums(problem._replace(X=spoilt), points)[0]).all()  # 0 times NaN is NaN at the others too


@pytest.mark.parametrize("width", [1, 5, 40, 55])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_terms_of_a_draw_for_sets_of_every_size(width: int, dtype: str) -> None:
    """Births, deaths and updates from sets of 1 to all columns, few and many, against NumPy."""
    problem, X = problem_of(dtype, width, n_rows=900)
    random = np.random.default_rng(9)
    y, weights, offset = problem.y.astype(float), problem.weights.astype(float), problem.offset.astype(float)
    order = row_order(7, 900, 900)
    for k in sorted({0, 1, width // 3, width // 2, int(0.8 * width), width}):
        pair = np.zeros((2, width))
        places = random.permutation(width)
        pair[:, places[:k]] = random.normal(size=k)
        pair[1, places[min(k, width - 1)]] += 0.3  # a birth, or an update where all are in use
        for at in (pair, np.ascontiguousarray(pair[::-1])):
            eta = at @ X.T + offset
            value = weights * (y * eta - np.logaddexp(0.0, eta))
            wanted = (value[1] - value[0])[order]
            tolerance = 1e-5 if dtype == "float32" else 1e-12
            assert np.allclose(read_terms(problem, at, key=7), wanted, rtol=0, atol=tolerance * (1 + np.abs(eta).max()))


def test_which_cache_lines_are_asked_for() -> None:
    """Every line that holds a column in use, wherever in a line a row begins, and no more columns than there are."""
    random = np.random.default_rng(4)
    for trial in range(120):
        width = (1, 2, 15, 16, 17, 33, 55)[trial % 7]
        problem, _ = problem_of("float32" if trial % 2 else "float64", width, n_rows=20)
        pair = np.zeros((2, width))
        pair[:, random.permutation(width)[: random.integers(0, width + 1)]] = 1.0
        pair[1, random.integers(width)] += 0.5
        work = new_source(problem, width).work
        work.some.places[:] = 10**6
        work.weights_pair[:, 0] = pair
        _find(work, np.int64(3))
        used, changed, asked = (line[:count] for line, count in zip(work.some.places, work.some.counts, strict=True))
        assert np.array_equal(changed, np.flatnonzero(pair[0] != pair[1]))
        room = 64 // problem.X.itemsize
        if used.size == width and width > 16:
            assert np.array_equal(asked, np.arange(3) * room)
            continue
        assert np.array_equal(used, np.flatnonzero(pair[0]))
        assert asked.size <= width and np.all((asked >= 0) & (asked < width)) and np.all(np.diff(asked) > 0)
        for shift in range(room):
            lines = {(column + shift) // room for column in (*used, *changed)}
            assert lines == {(column + shift) // room for column in asked}


@engine
def _find(work, lines):
    find_columns(work.weights_pair, work.some, lines)


def test_a_draw_reads_what_is_in_use_alone() -> None:
    """Also where many columns are, as long as they are no large share."""
    problem, X = problem_of("float64", 55, n_rows=900)
    pair = np.zeros((2, 55))
    pair[:, :30], pair[1, 40] = 0.1, 0.2
    expected = read_terms(problem, pair, key=2)
    spoilt = X.copy()
    spoilt[:, 30:40], spoilt[:, 41:] = np.nan, np.nan
    assert np.array_equal(read_terms(problem._replace(X=spoilt), pair, key=2), expected)
    spoilt[:, 40] = np.nan
    assert np.isnan(read_terms(problem._replace(X=spoilt), pair, key=2)).all()

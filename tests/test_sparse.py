"""Draws over sets of variables: columns out of use are not read, whatever the size of the set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_drivers import new_source, read_terms, row_order

import austerity as au
from austerity.engine.jit import engine
from austerity.rows.sparse import find_columns


def problem_of(dtype: str, width: int, n_rows: int) -> tuple[Any, np.ndarray]:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(n_rows, width)), random.random(n_rows) < 0.5
    weights, offset = random.integers(1, 3, n_rows).astype(float), random.normal(size=n_rows)
    held = au.rows.open(X, y, dtype=dtype, weights=weights, offset=offset)
    return au.models.VariableSelection().bind(held, False, False).problem, X


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

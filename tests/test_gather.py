"""Several predictors of rows drawn at random: their terms are those of NumPy, whatever the shape of the problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_drivers import read_terms, row_order
from scipy import special

import austerity as au
from austerity.models.orthogonal import haar
from austerity.rows import open as open_rows

N = 700
KINDS = pytest.mark.parametrize("dtype", ["float32", "float64"])


def multinomial_terms(X: np.ndarray, y: np.ndarray, offset: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Log likelihoods (N,) of beta (P, 1 + d), intercept first."""
    eta = np.column_stack([np.zeros(N), (beta[:, :1] + beta[:, 1:] @ X.T).T + offset[:, None]])
    return np.asarray(eta[np.arange(N), y.astype(int)] - special.logsumexp(eta, axis=1))


@KINDS
@pytest.mark.parametrize(("columns", "classes"), [(1, 3), (4, 5), (50, 3), (7, 12)])
def test_multinomial(columns: int, classes: int, dtype: str) -> None:
    """Columns far from zero, an intercept, an offset, weights; 2 P below, at and above the lanes of a tile."""
    random = np.random.default_rng([columns, classes])
    X = random.normal(size=(N, columns)) * 2.0 + 1.0
    y, offset = random.integers(0, classes, N).astype(float), random.normal(size=N)
    weights = random.integers(1, 4, N).astype(float)
    y[:classes] = np.arange(classes)
    rows = open_rows(X, y, weights=weights, offset=offset, dtype=dtype)
    target = au.models.Multinomial(prior=au.priors.Normal(0, 1)).bind(rows, True, False)
    pair = random.normal(size=(2, target.size)) / np.sqrt(columns)
    old, new = (multinomial_terms(X, y, offset, theta.reshape(classes - 1, -1)) for theta in pair)
    found = read_terms(target.problem, pair, key=5)
    expected = (weights * (new - old))[row_order(5, N, N)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 if dtype == "float32" else 1e-12)


@KINDS
@pytest.mark.parametrize("size", [2, 4, 9])
def test_components(size: int, dtype: str) -> None:
    """Rows without a response."""
    random = np.random.default_rng(size)
    X = random.laplace(size=(N, size)) @ random.normal(size=(size, size))
    target = au.models.ICA().bind(open_rows(X, dtype=dtype), False, False)
    pair = haar(random, 2, size)

    def terms(W: np.ndarray) -> np.ndarray:
        return -(2 * np.logaddexp(0.5 * target.rows.X @ W.T, -0.5 * target.rows.X @ W.T)).sum(axis=1)

    found = read_terms(target.problem, pair.reshape(2, -1), key=2, used=30, count=N - 30)
    expected = (terms(pair[1]) - terms(pair[0]))[row_order(2, N, N - 30, 30)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 if dtype == "float32" else 1e-12)


def test_a_single_predictor_compiles_nothing_of_it() -> None:
    """Its pointer is the one that stands for nothing."""
    from austerity.engine.problem import compiled_gather, no_gather
    from austerity.rows.gather import gather_predictors

    y = np.arange(N) % 2.0
    X = np.random.default_rng(1).normal(size=(N, 2)).astype(np.float32)
    single: Any = au.models.Logistic(prior=au.priors.Normal(0, 1)).bind(open_rows(X, y), False, False).problem
    several: Any = au.models.Multinomial(prior=au.priors.Normal(0, 1)).bind(
        open_rows(X, np.arange(N) % 3.0), False, False
    )
    from numba import types

    assert single.gather is compiled_gather(1, types.float32)
    assert several.problem.gather is compiled_gather(2, types.float32) is not single.gather
    assert no_gather is not gather_predictors

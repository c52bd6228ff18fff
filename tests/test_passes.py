"""The two ways to read rows, against sums in NumPy: passes at many points, and draws of all rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from engine_drivers import read_terms, row_order
from numba import types
from scipy import special

import austerity as au
from austerity import rows
from austerity.engine.jit import pointer
from austerity.engine.problem import TOTAL, no_total, total_signature
from austerity.engine.starts import with_double_terms
from austerity.models.target import Target
from austerity.rows.blocks import BLOCK_ROWS, SLAB_ROWS
from austerity.rows.derivatives import derivatives
from austerity.rows.passes import sums

SEED = 0
POINTS = (1, 2, 5, 16, 17, 33)
SIZES = (5, 7, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, SLAB_ROWS + 1, 2 * SLAB_ROWS + 999)


def bound(n_rows: int, d: int, classes: int, dtype: str, extra: bool) -> tuple[Target, Any]:
    """Multinomial regression with intercepts on random rows, and its log likelihoods (N,) at theta in NumPy."""
    random = np.random.default_rng([SEED, n_rows, d, classes])
    X, y = random.normal(size=(n_rows, d)) + np.arange(d), np.arange(n_rows) % classes
    weights, offset = random.exponential(1.0, n_rows), random.normal(size=n_rows)
    options = {"weights": weights, "offset": offset} if extra else {}
    held = rows.open(X, y.astype(float), dtype=dtype, **options)

    def terms(theta: np.ndarray) -> np.ndarray:
        beta = theta.reshape(classes - 1, d + 1)
        eta = beta[:, :1] + beta[:, 1:] @ X.T + (offset if extra else 0.0)
        eta = np.vstack([np.zeros(n_rows), eta])
        values = eta[y, np.arange(n_rows)] - special.logsumexp(eta, axis=0)
        return np.asarray(values * weights if extra else values)

    return au.models.Multinomial(prior=au.priors.Normal(0, 1)).bind(held, True, False), terms


def logistic(n_rows: int, d: int, dtype: str) -> tuple[Target, Any]:
    """Logistic regression with its sum of whole blocks, and its log likelihoods (N,) at theta in NumPy."""
    random = np.random.default_rng([SEED, n_rows, d, 7])
    X = random.normal(size=(n_rows, d))
    y = (random.random(n_rows) < 0.5) * 1.0
    y[:2] = 0.0, 1.0
    target = au.models.Logistic(prior=au.priors.Normal(0, 1)).bind(rows.open(X, y, dtype=dtype), False, False)
    return target.for_passes(), lambda theta: -np.logaddexp(0.0, (1 - 2 * y) * (X @ theta))


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("d", [1, 3, 16, 17, 50])
def test_sums_of_whole_blocks(n_rows: int, d: int) -> None:
    """The family's own sum of a block, whole blocks and the last short one; far predictors saturate, NaN stays."""
    for dtype, tolerance in (("float64", 1e-13), ("float32", 3e-6)):
        target, terms = logistic(n_rows, d, dtype)
        for count in (1, 2, 33):
            theta = states(target, count)
            theta[0] *= 300.0
            expected = np.array([terms(point).sum() for point in theta])
            found, status = sums(target.problem, theta)
            assert status == 0
            size = np.abs(expected) + np.sqrt(n_rows) * (1 + d)
            assert np.all(np.abs(found - expected) < tolerance * size)
        theta[0, 0] = np.inf
        assert sums(target.problem, theta)[0][0] == -np.inf


def test_a_whole_block_is_summed_by_the_family_itself() -> None:
    """Without it the sum would still be right, so the flag and a wrong sum in its place are looked at too."""
    target, _ = logistic(BLOCK_ROWS, 3, "float64")
    plain = target.for_passes().problem
    assert plain.shape[TOTAL] == 1
    wrong = plain._replace(total=pointer(no_total, total_signature(types.float64)))
    assert sums(wrong, states(target, 1))[0][0] == 0.0


def states(target: Target, count: int) -> np.ndarray:
    return np.random.default_rng([SEED, 1]).normal(0, 0.3, (count, target.size))


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("d", [1, 17])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("extra", [False, True])
def test_sums_at_many_points(n_rows: int, d: int, classes: int, extra: bool) -> None:
    """float64 to rounding; float32 to a few parts in 10^7 of eta a row, whose errors add up at random."""
    for dtype, tolerance in (("float64", 1e-13), ("float32", 3e-6)):
        target, terms = bound(n_rows, d, classes, dtype, extra)
        for count in POINTS:
            theta = states(target, count)
            expected = np.array([terms(point).sum() for point in theta])
            for double in (False, True):
                found, status = sums(with_double_terms(target.problem, double), theta)
                assert status == 0
                size = np.abs(expected) + np.sqrt(n_rows) * (1 + d)
                assert np.max(np.abs(found - expected) / size) < tolerance, (dtype, count, double)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_depend_neither_on_threads_nor_on_company(classes: int, dtype: str) -> None:
    """Any threads; and a point's sum is the same among 2 points or 33 (one predictor alone is another product)."""
    target, _ = bound(5 * SLAB_ROWS + 77, 6, classes, dtype, True)
    theta = states(target, 33)
    expected = sums(target.problem, theta)[0]
    for threads in (2, 3, 7, 16):
        with ThreadPoolExecutor(threads) as pool:
            assert np.array_equal(sums(target.problem, theta, None, pool, threads)[0], expected)
    for count in (2, 3, 8, 9, 16, 32):
        assert np.array_equal(sums(target.problem, theta[:count])[0], expected[:count])
    moved = sums(target.problem, np.roll(theta, 5, axis=0))[0]
    assert np.array_equal(moved, np.roll(expected, 5))


@pytest.mark.parametrize("n_rows", [2, 5, 31, 33, 127, 129, 700])
@pytest.mark.parametrize(("classes", "extra"), [(2, False), (2, True), (4, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_hand_out_every_term_in_order(n_rows: int, classes: int, extra: bool, dtype: str) -> None:
    if n_rows < classes:
        n_rows = classes
    target, terms = bound(n_rows, 9, classes, dtype, extra)
    pair = states(target, 2)
    expected = terms(pair[1]) - terms(pair[0])
    for key in (1, 2**63 + 5):
        found = read_terms(target.problem, pair, key)
        tolerance = 1e-12 if dtype == "float64" else 1e-4
        assert np.allclose(found, expected[row_order(key, n_rows, n_rows)], rtol=0, atol=tolerance)


def test_sums_of_whole_blocks_where_many_rows_are_alike() -> None:
    """0/1 columns and rare events: rounding is the same in every row of a kind and would add up."""
    random = np.random.default_rng(SEED)
    n_rows = 100_000
    X = np.column_stack([np.ones(n_rows), random.random((n_rows, 3)) < 0.3]).astype(float)
    for intercept in (-3.0, -6.0, -9.0):
        centre = np.array([intercept, 0.3, -0.2, 0.1])
        y = 1.0 * (random.random(n_rows) < special.expit(X @ centre))
        y[:2] = 0.0, 1.0
        target = au.models.Logistic(prior=au.priors.Normal(0, 1)).bind(rows.open(X, y), False, False).for_passes()
        points = centre + random.normal(0, 1e-2, (20, 4))
        truth = np.array([-np.logaddexp(0.0, (1 - 2 * y) * (X @ point)).sum() for point in points])
        found, _ = sums(target.problem, points)
        assert np.max(np.abs((found - found[0]) - (truth - truth[0]))) < 2e-3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_weight_zero_count_for_nothing(dtype: str) -> None:
    """Also where their terms are infinite, in passes, draws and derivatives."""
    random = np.random.default_rng(SEED)
    X, y = random.normal(size=(700, 1)), random.poisson(2.0, 700).astype(float)
    weights = np.ones(700)
    X[0], weights[0] = 5000.0, 0.0
    model, point = au.models.Poisson(prior=au.priors.Normal(0, 1)), np.array([0.3])
    held = model.bind(rows.open(X, y, weights=weights, dtype=dtype, centre_columns=False), False, False)
    rest = model.bind(rows.open(X[1:], y[1:], dtype=dtype, centre_columns=False), False, False)
    expected = sums(rest.problem, point[None])[0]
    assert np.allclose(sums(held.problem, point[None])[0], expected, rtol=1e-5)
    pair = np.array([[0.1], [0.3]])
    assert np.isclose(read_terms(held.problem, pair, 1).sum(), read_terms(rest.problem, pair, 1).sum(), rtol=1e-4)
    for one, other in zip(
        derivatives(held.problem, held.kernels, point), derivatives(rest.problem, rest.kernels, point), strict=True
    ):
        assert np.allclose(one, other, rtol=1e-5)

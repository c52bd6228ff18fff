"""An active set: the draw reads columns in use alone, and a chain over sets finds each as often as it should."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, linear_terms, read_terms, row_order, settings
from proposal_dummies import Flip, WalkInUse
from scipy import special, stats

import austerity as au
from austerity import rows
from austerity.decisions import Exact, SequentialT
from austerity.engine.problem import ACTIVE
from austerity.models.target import Target
from austerity.priors import Flat
from austerity.proposals import Mixture
from austerity.rows.held import Rows

SEED = 0
N = 500
SPREAD, FLAT = 0.4, Flat()


@dataclass(frozen=True, eq=False)
class Selecting(au.models.Linear):
    """Linear regression of known scale whose columns are in use or not; the prior is in the moves."""

    prior: Any = FLAT
    sigma: float | None = 1.0

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        target = super().bind(rows, intercept, standardize)
        shape = target.problem.shape.copy()
        shape[ACTIVE] = 1
        return replace(target, problem=target.problem._replace(shape=shape), n_indices=rows.d)


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(SEED)
    X = random.normal(size=(N, 5))
    return X, X @ np.linspace(-1.0, 1.0, 5) + random.normal(size=N)


def selection_truth(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inclusion probabilities (d,) and means of the coefficients (d,) by summing over all 2^d sets."""
    sets = np.array(list(product((0, 1), repeat=X.shape[1])))
    log_mass, means = np.empty(len(sets)), np.zeros(sets.shape)
    for k, used in enumerate(sets):
        part = X[:, used == 1]
        covariance = np.linalg.inv(part.T @ part + np.eye(used.sum()) / SPREAD**2)
        means[k, used == 1] = covariance @ part.T @ y
        fit = 0.5 * y @ part @ covariance @ part.T @ y
        log_mass[k] = fit + 0.5 * np.linalg.slogdet(covariance)[1] - used.sum() * np.log(SPREAD)
    mass = special.softmax(log_mass)
    return mass @ sets, mass @ means


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 25)])
def test_an_active_set_against_all_sets(rule: Any) -> None:
    """False-fail rate 1e-6 (Student over 48 chains): inclusion and means of three coefficients.

    2000 draws after 400 steps of warm-up from the empty set, which is forgotten within some tens of steps.
    """
    random = np.random.default_rng([SEED, 7])
    X = random.normal(size=(60, 3))
    y = X @ [0.25, 0.0, -0.15] + random.normal(size=60)
    moves = Mixture((Flip(SPREAD), WalkInUse(SPREAD, 0.15)))
    chains, common = 48, settings(draws=2000, warmup=400, start=np.zeros(3), rng=SEED)
    tree = au.sample(Selecting(), X, y, acceptance=rule, proposal=moves, chains=chains, **common)
    beta = tree["posterior"]["beta"].values
    averages = np.concatenate([(beta != 0).mean(axis=1), beta.mean(axis=1)], axis=1)
    truth = np.concatenate(selection_truth(X, y))
    z = (averages.mean(axis=0) - truth) / (averages.std(axis=0, ddof=1) / np.sqrt(chains))
    assert np.max(np.abs(z)) < -stats.t.ppf(FALSE_FAIL / 2 / z.size, chains - 1)
    assert 0.03 < truth[:3].min() < 0.97  # something to be undecided about


def test_a_draw_reads_active_columns_alone() -> None:
    """NaN in a column that neither point uses does no harm; in one that either uses it shows."""
    X, y = data()
    target = Selecting().bind(rows.open(X, y, dtype="float64"), False, False)
    pair = np.array([[0.5, 0.0, 0.0, -1.0, 0.0], [0.4, 0.0, 0.2, 0.0, 0.0]])
    expected = read_terms(target.problem, pair, key=3)
    assert np.allclose(expected[np.argsort(row_order(3, N, N))], linear_terms(X, y, pair), rtol=1e-9, atol=1e-12)
    for column in range(5):
        spoilt = X.copy()
        spoilt[:, column] = np.nan
        terms = read_terms(target.problem._replace(X=spoilt), pair, key=3)
        if pair[:, column].any():
            assert np.all(np.isnan(terms))
        else:
            assert np.array_equal(terms, expected)
    whole = target.problem.shape.copy()
    whole[ACTIVE] = 0
    same = read_terms(target.problem._replace(shape=whole), pair, key=3)
    assert np.allclose(same, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("used", [(), (0,), (4,), (0, 1, 2, 3, 4)])
def test_no_column_and_every_column_in_use(used: tuple[int, ...]) -> None:
    X, y = data()
    target = Selecting().bind(rows.open(X, y, dtype="float64"), False, False)
    pair = np.zeros((2, 5))
    pair[1, list(used)] = 0.3
    terms = read_terms(target.problem, pair, key=4)
    expected = linear_terms(X, y, pair)[row_order(4, N, N)]
    assert np.allclose(terms, expected, rtol=1e-9, atol=1e-12)

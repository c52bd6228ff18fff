"""Contracts between the rooms, each proven with a small dummy.

A state that is a matrix, several predictors, a proposal that has read rows, a temperature, a likelihood in plain NumPy,
and the whole loop against a chain written in NumPy. The active set has a file of its own.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from engine_drivers import (
    PAIR,
    Decisions,
    given_terms,
    linear_terms,
    log_uniforms,
    problem_of,
    row_order,
    settings,
    twin_decision,
)
from grid_truth import Case, Grid, moved
from proposal_dummies import WalkWithRows
from scipy import stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine import streams
from austerity.priors import Normal
from austerity.proposals import RandomWalk

SEED = 0
N = 500
RULES = [Exact(), SequentialT(0.05, 60)]


def data(d: int, *name: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng([SEED, d, *name])
    X = random.normal(size=(N, d))
    return X, X @ np.linspace(-1.0, 1.0, d) + random.normal(size=N)


def sampled(model: Any, X: np.ndarray, y: np.ndarray, rule: Any, size: int, **more: Any) -> Any:
    given = settings(
        proposal=RandomWalk(0.05), draws=100, warmup=0, chains=3, start=np.zeros(size), rng=SEED, dtype="float64"
    )
    return au.sample(model, X, y, acceptance=rule, **{**given, **more})


def assert_draw_for_draw(one: Any, other: Any, rtol: float = 1e-12) -> None:
    """The same decisions and statistics; states equal up to rounding; and chains that move."""
    for name in ("accepted", "n_rows", "n_looks", "exhausted"):
        assert np.array_equal(one["sample_stats"][name].values, other["sample_stats"][name].values), name
    first, second = (
        np.concatenate([v.values.reshape(3, 100, -1) for v in tree["posterior"].data_vars.values()], axis=2)
        for tree in (one, other)
    )
    assert np.allclose(first, second, rtol=rtol, atol=1e-14)
    assert 0.02 < one["sample_stats"]["accepted"].values.mean() < 0.98


# A matrix


def bilinear_row(theta: Any, x: Any, y: Any) -> Any:
    """y ~ N(a' W b, 1) with x = (a, b) and W (2, 2), row by row in theta."""
    mean = x[0] * (theta[0] * x[2] + theta[1] * x[3]) + x[1] * (theta[2] * x[2] + theta[3] * x[3])
    return -0.5 * (y - mean) ** 2


def bilinear_block(points: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    W = points.reshape(-1, 2, 2)
    return np.asarray(-0.5 * (y[:, None] - np.einsum("ni,kij,nj->nk", X[:, :2], W, X[:, 2:])) ** 2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("likelihood", [{"row": bilinear_row}, {"block": bilinear_block}], ids=["row", "block"])
def test_a_matrix_valued_state(rule: Any, likelihood: dict[str, Any]) -> None:
    """W has its shape in the results, and is what linear regression on the products of a and b gives, draw for draw."""
    X, y = data(4)
    model = au.Model({"W": Normal(0.0, 1.0)}, shapes={"W": (2, 2)}, **likelihood)
    products = np.column_stack([X[:, i] * X[:, 2 + j] for i, j in product((0, 1), (0, 1))])
    found = sampled(model, X, y, rule, 4)
    same = sampled(au.models.Linear(prior=Normal(0.0, 1.0), sigma=1.0), products, y, rule, 4)
    assert found["posterior"]["W"].shape == (3, 100, 2, 2)
    assert_draw_for_draw(found, same)


# Several predictors


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
def test_two_classes_are_logistic_regression(rule: Any, intercept: bool) -> None:
    X, latent = data(3)
    y = (latent > 0).astype(float)
    size = 3 + intercept
    prior = {"prior": Normal(0.0, 1.0), "intercept_prior": Normal(0.0, 2.0) if intercept else None}
    found = sampled(au.models.Multinomial(**prior), X, y, rule, size, intercept=intercept)
    same = sampled(au.models.Logistic(**prior), X, y, rule, size, intercept=intercept)
    assert found["posterior"]["beta"].shape == (3, 100, 1, size)
    assert_draw_for_draw(found, same)


@pytest.mark.statistical
@pytest.mark.parametrize(("rule", "chains"), [(Exact(), 3000), (SequentialT(0.0, 9), 600)])
def test_three_classes_against_a_grid(rule: Any, chains: int) -> None:
    """False-fail rate 3e-6: one column, two predictors; caught are distances above .055 (.11 with 600 chains)."""
    random = np.random.default_rng(3)
    x = random.exponential(1.0, 40)
    y = np.array([0.0, 1.0, 2.0, 0.0])[np.arange(40) % 4]

    def log_density(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        out = stats.norm.logpdf(first, 0.3, 1.0) + stats.norm.logpdf(second, 0.3, 1.0)
        for value, label in zip(x, y, strict=True):
            eta = [np.zeros(1), first * value, second * value]
            out = out + eta[int(label)] - np.logaddexp(0.0, np.logaddexp(eta[1], eta[2]))
        return np.asarray(out)

    grid = Grid(log_density, ((-6.0, 6.0), (-6.0, 6.0)), SEED)
    case = Case(au.models.Multinomial(prior=Normal(0.3, 1.0)), x[:, None], y, grid, {})
    draws = moved(case, rule, RandomWalk(0.5), chains, 40, SEED)
    assert grid.distance(draws) < grid.limit(chains)


# A proposal that has read rows


@pytest.mark.parametrize("used", [1, 17, 128, 400, 499])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5])
def test_rows_the_proposal_has_used_are_read_last(used: int, epsilon: float) -> None:
    """The decision goes through its order from place `used` on, and through the first `used` rows at the end."""
    random = np.random.default_rng([SEED, used])
    target, terms = given_terms(), random.normal(0.02, 1.0, N)
    rule = SequentialT(epsilon, 60)
    found = Decisions(problem_of(target, terms), PAIR, rule, random.normal(0, 20, 60), SEED, used=used)
    for r in range(60):
        order = np.roll(row_order(int(found.keys[r]), N, N), -used)
        threshold_mean = (found.log_u[r] - found.log_a0[r]) / N
        expected = twin_decision(terms[order], threshold_mean, 60, rule.parameters(N)[1:])
        assert (found.accept[r], found.n_rows[r], found.looks[r]) == expected


def test_used_rows_are_counted_and_change_no_decision_of_all_rows() -> None:
    X, y = data(3)
    model = au.models.Linear(prior=Normal(0.0, 1.0), sigma=1.0)
    plain, reading = (
        sampled(model, X, y, SequentialT(0.0, 60), 3, proposal=WalkWithRows(0.05, used)) for used in (0, 100)
    )
    assert np.array_equal(plain["posterior"]["beta"].values, reading["posterior"]["beta"].values)
    assert np.all(plain["sample_stats"]["n_rows"].values == N)
    assert np.all(reading["sample_stats"]["n_rows"].values == N + 100)
    first_look = sampled(model, X, y, SequentialT(0.5, 60), 3, proposal=WalkWithRows(0.05, 100))
    assert np.all(first_look["sample_stats"]["n_rows"].values == 160)


# A temperature


@pytest.mark.parametrize("rule", RULES)
def test_a_temperature_of_two_is_a_weight_of_one_half(rule: Any) -> None:
    """Both scale every term by an exact power of two, so decisions and rows read are the same."""
    X, y = data(3)
    model = au.models.Linear(prior=Normal(0.0, 1.0), sigma=1.0)
    hot = sampled(model, X, y, rule, 3, temperature=2.0)
    light = sampled(model, X, y, rule, 3, weights=np.full(N, 0.5))
    assert_draw_for_draw(hot, light)
    assert np.array_equal(hot["posterior"]["beta"].values, light["posterior"]["beta"].values)


def numpy_chain(X: np.ndarray, y: np.ndarray, chain: int, temperatures: np.ndarray, scale: float) -> np.ndarray:
    """Metropolis in NumPy from the same streams: states (steps, d) after each step, at its temperature."""
    thrown = streams.new_streams(np.random.SeedSequence(SEED).spawn(2)[0], chain + 1)[chain]
    log_u = log_uniforms(thrown[streams.DECISION].copy(), temperatures.size)
    theta, out, z = np.zeros(X.shape[1]), np.empty((temperatures.size, X.shape[1])), np.empty(X.shape[1])
    for step, temperature in enumerate(temperatures):
        streams.start(thrown[streams.PROPOSAL], step)
        streams.fill_normal(thrown[streams.PROPOSAL], z)
        proposed = theta + scale * z
        difference = linear_terms(X, y, np.array([theta, proposed])).sum() / temperature
        if difference + 0.5 * (theta @ theta - proposed @ proposed) > log_u[step]:
            theta = proposed
        out[step] = theta
    return out


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 60)])
@pytest.mark.parametrize("temperature", [1.0, 7.0, (50.0, 1.0), (9.0, 3.0)])
def test_the_loop_is_the_one_written_in_numpy(rule: Any, temperature: Any) -> None:
    """A temperature that falls does so geometrically over warm-up, reaches its end there and stays."""
    X, y = data(3)
    warmup, first, last = 40, *(temperature if isinstance(temperature, tuple) else (temperature, temperature))
    steps = np.arange(140)
    temperatures = np.where(steps < warmup, first * (last / first) ** (steps / warmup), last)
    model = au.models.Linear(prior=Normal(0.0, 1.0), sigma=1.0)
    tree = sampled(model, X, y, rule, 3, warmup=warmup, temperature=temperature)
    for chain in range(3):
        expected = numpy_chain(X, y, chain, temperatures, 0.05)
        assert np.allclose(tree["posterior"]["beta"].values[chain], expected[warmup:], rtol=1e-12, atol=1e-14)


# A likelihood in plain NumPy


def scale_row(theta: Any, x: Any, y: Any) -> Any:
    residual = (y - theta[0] * x[0] - theta[1] * x[1]) / theta[2]
    return -0.5 * residual * residual - np.log(theta[2])


def scale_block(points: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    residual = (y[:, None] - X @ points[:, :2].T) / points[:, 2]
    return np.asarray(-0.5 * residual**2 - np.log(points[:, 2]))


@pytest.mark.parametrize("rule", RULES)
def test_plain_numpy_and_compiled_likelihoods_give_the_same_draws(rule: Any) -> None:
    """Three ways to one posterior: the family, a compiled row function and a NumPy block, with a positive parameter."""
    X, y = data(2)
    priors = {"slope": Normal(0.0, 1.0), "sigma": au.priors.StudentT(3.0, 0.0, 1.0)}
    shared: dict[str, Any] = {"shapes": {"slope": (2,)}, "positive": ["sigma"]}
    family = au.models.Linear(prior=Normal(0.0, 1.0), sigma_prior=priors["sigma"])
    models = [family, au.Model(priors, row=scale_row, **shared), au.Model(priors, block=scale_block, **shared)]
    trees = [sampled(model, X, y, rule, 3, start=[-1.0, 1.0, 1.2]) for model in models]
    assert_draw_for_draw(trees[0], trees[1])
    assert_draw_for_draw(trees[1], trees[2])


@pytest.mark.parametrize("rule", RULES)
def test_weights_and_temperature_reach_a_likelihood_of_ones_own(rule: Any) -> None:
    X, y = data(2)
    weights = np.random.default_rng([SEED, 9]).exponential(1.0, N)
    priors = {"slope": Normal(0.0, 1.0), "sigma": au.priors.StudentT(3.0, 0.0, 1.0)}
    shared: dict[str, Any] = {"shapes": {"slope": (2,)}, "positive": ["sigma"]}
    family = au.models.Linear(prior=Normal(0.0, 1.0), sigma_prior=priors["sigma"])
    models = [family, au.Model(priors, row=scale_row, **shared), au.Model(priors, block=scale_block, **shared)]
    options = {"start": [-1.0, 1.0, 1.2], "weights": weights, "temperature": 3.0}
    trees = [sampled(model, X, y, rule, 3, **options) for model in models]
    assert_draw_for_draw(trees[0], trees[1])
    assert_draw_for_draw(trees[1], trees[2])


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_lp_is_the_log_density_that_the_chain_keeps(temperature: float) -> None:
    """lp = sum l_i / T + log prior, with the prior not tempered; present for rules that read everything alone."""
    X, y = data(2, 9)
    model = au.models.Linear(sigma=0.8, prior=Normal(0.1, 0.3))
    tree = sampled(model, X, y, Exact(), 2, temperature=temperature)
    beta = tree["posterior"]["beta"].values
    likelihood = -0.5 * np.sum(((y - beta @ X.T) / 0.8) ** 2, axis=-1) - N * np.log(0.8)
    wanted = likelihood / temperature + stats.norm.logpdf(beta, 0.1, 0.3).sum(axis=-1)
    np.testing.assert_allclose(tree["sample_stats"]["lp"].values, wanted, rtol=1e-9)
    assert np.ptp(wanted) > 1.0
    assert "lp" not in sampled(model, X, y, SequentialT(0.05, 60), 2)["sample_stats"]

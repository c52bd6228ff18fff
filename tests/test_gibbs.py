"""Gibbs sampling of fields: against enumeration, against the design of the test, and its manners as a run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, chi_square_limit
from gibbs_fields import (
    VALUES,
    FixedOrder,
    Metropolis,
    all_states,
    codes,
    enumerated,
    small,
    swept,
    triples,
)
from scipy import stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.design import error
from austerity.gibbs import Field, updates

SEED = 0
COUNT = 20_000
Z_LIMIT = -float(stats.norm.ppf(FALSE_FAIL / 2))


def chi_square(found: np.ndarray, truth: np.ndarray) -> float:
    """Pearson's statistic of counts against probabilities."""
    expected = truth * found.sum()
    return float(np.sum((found - expected) ** 2 / expected))


def after_a_sweep(kind: str, decision: Any, in_order: bool = False, flipped: int | None = None) -> float:
    """Chi-square of states that were exact draws one sweep before."""
    truth, field = enumerated(kind), small(kind, flipped)
    assert truth.min() * COUNT > 20
    chosen = np.random.default_rng([SEED, 1]).choice(truth.size, COUNT, p=truth)
    moved = swept(field, decision, all_states(field)[chosen], in_order)
    return chi_square(np.bincount(codes(field, moved), minlength=truth.size), truth)


@pytest.mark.parametrize("kind", VALUES)
def test_log_weights_are_those_of_the_tables(kind: str) -> None:
    field = small(kind)
    weights = np.exp(field.log_weight(all_states(field)))
    assert np.allclose(weights / weights.sum(), enumerated(kind), rtol=1e-12)


@pytest.mark.parametrize("kind", VALUES)
def test_conditionals_by_enumeration(kind: str) -> None:
    """What compiled code gathers from its layouts, at every state and variable."""
    field, truth = small(kind), enumerated(kind).reshape(VALUES[kind])
    for state in all_states(field):
        for k in range(field.size):
            line = truth[tuple(slice(None) if j == k else int(state[j]) for j in range(field.size))]
            assert np.allclose(updates(field, Exact(), state, k, 1).probability, line / line.sum(), atol=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("decision", [Exact(), SequentialT(0.0, 3)], ids=["exact", "sequential"])
@pytest.mark.parametrize("kind", VALUES)
def test_exact_draws_stay_exact(kind: str, decision: Any, in_order: bool) -> None:
    """False-fail rate 1e-6: 20,000 exact draws, a sweep each, chi-square over all states."""
    assert after_a_sweep(kind, decision, in_order) < chi_square_limit(enumerated(kind).size - 1)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", VALUES)
def test_a_sign_turned_round_is_caught(kind: str) -> None:
    """Any one table of order 2 or 3 with the wrong sign."""
    for flipped in (1, 5, -1):
        assert after_a_sweep(kind, Exact(), flipped=flipped) > chi_square_limit(enumerated(kind).size - 1)


@pytest.mark.statistical
def test_the_threshold_of_metropolis_is_caught() -> None:
    assert after_a_sweep("binary", Metropolis(0.0, 3)) > chi_square_limit(31)


@pytest.mark.statistical
def test_chains_find_the_distribution() -> None:
    """From anywhere: each of 10,000 chains is independent after 30 sweeps; false-fail rate 1e-6."""
    for kind in VALUES:
        field, truth = small(kind), enumerated(kind)
        moved = swept(field, Exact(), np.zeros((10_000, field.size)), sweeps=30)
        found = np.bincount(codes(field, moved), minlength=truth.size)
        assert chi_square(found, truth) < chi_square_limit(truth.size - 1)


def test_the_test_at_level_zero_makes_the_draws_of_exact() -> None:
    """Binary variables: the same u against the same sum, but for its rounding."""
    settings = {"draws": 2000, "warmup": 10, "chains": 2, "progress": False}
    exact = au.gibbs.sample(small("binary"), Exact(), **settings)
    test = au.gibbs.sample(small("binary"), SequentialT(0.0, 3), **settings)
    assert np.array_equal(exact["posterior"]["x"], test["posterior"]["x"])
    assert np.array_equal(exact["sample_stats"]["n_rows"], test["sample_stats"]["n_rows"])
    assert np.all(test["sample_stats"]["exhausted"] == 5)


RUNS, EACH = 40, 250


@lru_cache(maxsize=8)
def wrong_flips(rule: SequentialT) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At 40 states of the field of 100: wrong flips of 250, how many the design expects, and its variance."""
    field, random = triples(), np.random.default_rng([SEED, 7])
    wrong, expected, variance = np.zeros((3, RUNS))
    for run in range(RUNS):
        state, k = random.integers(0, 2, field.size), int(random.integers(field.size))
        terms = np.array([_term(group, state, k) for group in field.groups])[0]
        found = updates(field, rule, state, k, EACH, rng=run)
        total, n_terms = terms.sum(), terms.size
        log_odds = np.log(found.u) - np.log1p(-found.u)
        mu_std = (total - log_odds) / n_terms * np.sqrt(n_terms - 1) / terms.std()
        designed = np.asarray(error(n_terms, rule.batch, rule.epsilon, np.abs(mu_std), rule.boundary).error)
        wrong[run] = np.sum((found.value == 1) != (total > log_odds))
        expected[run], variance[run] = designed.sum(), np.sum(designed * (1 - designed))
    return wrong, expected, variance


def _term(group: Any, state: np.ndarray, k: int) -> np.ndarray:
    """log f(1, rest) - log f(0, rest) of the factors that name k, straight from the tables."""
    chosen = np.flatnonzero((group.variables == k).any(axis=1))
    sides = []
    for value in (1, 0):
        there = state.copy()
        there[k] = value
        sides.append(group.logs[(chosen, *there[group.variables[chosen]].T)])
    return np.asarray(sides[0] - sides[1])


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
def test_wrong_flips_are_as_designed(epsilon: float) -> None:
    """10,000 flips coupled through u, at 40 states: how many go wrong, false-fail rate 1e-6 (normal limit)."""
    wrong, expected, variance = wrong_flips(SequentialT(epsilon, 500))
    assert abs(wrong.sum() - expected.sum()) < Z_LIMIT * np.sqrt(variance.sum())
    assert expected.sum() > 100  # something to count


@pytest.mark.statistical
def test_no_state_goes_wrong_more_often_than_designed() -> None:
    """The same in spread over states, whose counts have variances of 15 and more; false-fail rate 1e-6."""
    wrong, expected, variance = wrong_flips(SequentialT(0.2, 500))
    assert variance.min() > 15
    assert np.sum((wrong - expected) ** 2 / variance) < chi_square_limit(RUNS)


@pytest.mark.statistical
def test_one_fixed_order_is_caught() -> None:
    """Some states go wrong far more often than designed, others never."""
    wrong, expected, variance = wrong_flips(FixedOrder(0.2, 500))
    assert np.sum((wrong - expected) ** 2 / variance) > 2 * chi_square_limit(RUNS)


@pytest.mark.statistical
def test_a_wrong_threshold_makes_wrong_flips() -> None:
    wrong, expected, variance = wrong_flips(Metropolis(0.05, 500))
    assert abs(wrong.sum() - expected.sum()) > 2 * Z_LIMIT * np.sqrt(variance.sum())


def test_statistics_of_a_draw() -> None:
    field = triples()
    post = au.gibbs.sample(field, draws=3, warmup=1, chains=2, thin=2, progress=False)
    assert np.all(post["sample_stats"]["n_rows"] == 2 * 100 * 4851)
    assert np.all(post["sample_stats"]["n_looks"] == 200) and post.attrs["exact"] == 1
    assert "all factors" in post.attrs["guarantee"]
    few = au.gibbs.sample(field, SequentialT(0.2, 500), draws=3, warmup=1, chains=2, progress=False)
    assert np.all(few["sample_stats"]["n_rows"] < 100 * 4851) and few.attrs["exact"] == 0
    assert "approximate" in few.attrs["guarantee"] and few["posterior"]["x"].shape == (2, 3, 100)


@pytest.mark.parametrize("decision", [Exact(), SequentialT(0.1, 3)], ids=["exact", "sequential"])
@pytest.mark.parametrize("kind", VALUES)
def test_the_same_draws_for_any_cores_and_resumed(kind: str, decision: Any, tmp_path: Path) -> None:
    field = small(kind)
    settings = {"warmup": 5, "chains": 3, "progress": False}
    whole = au.gibbs.sample(field, decision, draws=400, cores=2, **settings)
    one = au.gibbs.sample(field, decision, draws=400, cores=1, **settings)
    place = tmp_path / "run.zarr"
    au.gibbs.sample(field, decision, draws=150, store=place, **settings)
    resumed = au.gibbs.sample(field, decision, draws=400, store=place, resume=True, **settings)
    for other in (one, resumed, au.load(place)):
        for group in ("posterior", "sample_stats"):
            for name in whole[group].data_vars:
                assert np.array_equal(whole[group][name], other[group][name], equal_nan=True), name


def test_another_field_is_not_gone_on_with(tmp_path: Path) -> None:
    settings = {"warmup": 5, "chains": 2, "progress": False, "store": tmp_path / "run.zarr"}
    au.gibbs.sample(small("binary"), draws=10, **settings)
    with pytest.raises(au.sample.__globals__["StoreError"], match="data differ"):
        au.gibbs.sample(small("binary", 3), draws=20, resume=True, **settings)


def test_keep_functions_and_names() -> None:
    field = Field({("sun", "rain"): [[1.0, 2.0], [2.0, 1.0]], ("rain",): [1.0, 3.0]})
    post = au.gibbs.sample(field, draws=50, chains=2, progress=False, start=[0, 1])
    assert list(post["posterior"]["variable"].values) == ["sun", "rain"]
    kept = {"wet": lambda p: p["x"][:, 1]}
    same = au.gibbs.sample(field, draws=50, chains=2, progress=False, start=[0, 1], keep=kept)
    assert np.array_equal(same["posterior"]["wet"], post["posterior"]["x"].sel(variable="rain"))


def test_variables_with_few_factors_take_all_of_them() -> None:
    """A batch of 4 where one variable has 2 factors: it is drawn exactly, the others are tested."""
    tables = {(0, k): np.full((2, 2), 1.0) + np.eye(2) for k in range(1, 6)}
    tables[(1, 2)] = np.array([[1.0, 3.0], [1.0, 1.0]])
    post = au.gibbs.sample(Field(tables), SequentialT(0.3, 4), draws=20, chains=1, progress=False, scan="systematic")
    assert np.all(post["sample_stats"]["n_rows"] <= 2 * 6)


def test_float32_tables_far_from_zero_are_not_called_exact() -> None:
    tables = {(0, 1): [[1e6 + 0.3, 1e6], [1e6, 1e6 + 0.1]]}
    loose = au.gibbs.sample(Field(tables, log=True), draws=5, chains=1, progress=False)
    tight = au.gibbs.sample(Field(tables, log=True, dtype="float64"), draws=5, chains=1, progress=False)
    assert "dtype='float64'" in loose.attrs["guarantee"] and (loose.attrs["exact"], tight.attrs["exact"]) == (0, 1)

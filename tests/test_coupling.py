"""SequentialT against Exact, coupled through the same uniform: wrong decisions and rows read, as designed.

The design (`austerity.design.error`) says how often the test decides against the exact rule at a given mu_std, and how
many rows it reads. Terms are those of a logistic regression, symmetric, so that their means are as normal as the design
takes them to be and no allowance for skewness is needed. Rows are sorted by their terms, the hardest to draw from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from engine_drivers import (
    FALSE_FAIL,
    Decisions,
    binomial_interval,
    chi_square_limit,
    log_uniforms,
    read_terms,
    row_order,
    settings,
    twin_critical,
)
from scipy import stats

import austerity as au
from austerity import rows
from austerity.decisions.boundaries import look_sizes
from austerity.design import error
from austerity.engine import streams
from austerity.engine.problem import Problem

SEED = 0
N, M = 12214, 500
RUNS, EACH = 40, 250
EPSILONS, DRIFTS = (0.01, 0.05, 0.1, 0.2), (0.0, 1.0, 3.0)
PAIR = np.array([[0.0] * 5, [0.02, -0.01, 0.015, 0.0, 0.01]])
Z_LIMIT = -float(stats.norm.ppf(FALSE_FAIL / 2))


@dataclass(frozen=True)
class Fixed:
    """A logistic regression at a fixed pair of states, rows in ascending order of their terms."""

    problem: Problem
    terms: np.ndarray  # (N,) as the engine computes them, by row
    mean: float
    unit: float  # sigma / sqrt(N - 1): one unit of mu_std, as a mean


@lru_cache(maxsize=1)
def fixed() -> Fixed:
    random = np.random.default_rng([SEED, 1])
    X = random.normal(size=(N, 5))
    y = (random.random(N) < 0.5).astype(float)
    order = np.argsort((y - 0.5) * (X @ PAIR[1]))
    held = rows.open(X[order], y[order])
    problem = au.models.Logistic(prior=au.priors.Flat()).bind(held, False, False).problem
    in_order = read_terms(problem, PAIR, key=1)
    terms = np.empty(N)
    terms[row_order(1, N, N)] = in_order
    return Fixed(problem, terms, float(terms.mean()), float(terms.std() / np.sqrt(N - 1)))


def thresholds(drift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds log u - log A0 (R,) with mu_std = +-drift, and which decision is right; 0 is a hair off 0."""
    right = np.random.default_rng([SEED, seed]).random(EACH) < 0.5
    mu_std = np.where(right, 1.0, -1.0) * max(drift, 1e-3)
    return N * (fixed().mean - mu_std * fixed().unit), right


@dataclass(frozen=True)
class Counts:
    """Wrong decisions of every run (RUNS,), and rows read by every decision (RUNS, EACH)."""

    wrong: np.ndarray
    n_rows: np.ndarray


@lru_cache(maxsize=16)
def decided(epsilon: float, drift: float) -> Counts:
    """RUNS runs of EACH decisions by the engine, every run with a seed of its own."""
    wrong, n_rows = np.empty(RUNS, np.int64), np.empty((RUNS, EACH), np.int64)
    rule = au.decisions.SequentialT(epsilon, M)
    for run in range(RUNS):
        wanted, right = thresholds(drift, run)
        seed = hash((SEED, run, epsilon, drift)) % 2**32
        found = Decisions(fixed().problem, PAIR, rule, -wanted, seed, threshold_log_u=True)
        assert np.all(found.status == 0)
        wrong[run], n_rows[run] = np.sum(found.accept != right), found.n_rows
    return Counts(wrong, n_rows)


def spread_statistic(wrong: np.ndarray) -> float:
    """Chi-square of the variance over runs against the binomial one, RUNS - 1 degrees of freedom."""
    share = wrong.mean() / EACH
    return float(np.sum((wrong - wrong.mean()) ** 2) / (EACH * share * (1.0 - share)))


def test_terms_are_symmetric() -> None:
    """What the design takes for granted: skewness times 1/sqrt(M) moves a tail of .01 by less than 1 % of itself."""
    assert abs(stats.skew(fixed().terms)) < 0.1


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_share_of_wrong_decisions_is_the_designed_one(epsilon: float, drift: float) -> None:
    """False-fail rate 1e-6. 10,000 decisions: at E = .085 a true share below .072 or above .099 is caught."""
    designed = error(N, M, epsilon, max(drift, 1e-3))
    low, high = binomial_interval(RUNS * EACH, float(designed.error))
    assert low <= decided(epsilon, drift).wrong.sum() <= high


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_rows_read_are_the_designed_ones(epsilon: float, drift: float) -> None:
    """False-fail rate 1e-6 each for the mean and for the distribution over looks."""
    designed, n_rows = error(N, M, epsilon, max(drift, 1e-3)), decided(epsilon, drift).n_rows
    deviation = np.sqrt(np.sum(designed.stop * (designed.looks / N - designed.data_share) ** 2))
    z = (n_rows.mean() / N - designed.data_share) / (deviation / np.sqrt(n_rows.size))
    assert abs(z) < Z_LIMIT
    counts = np.bincount(np.searchsorted(designed.looks, n_rows.ravel()), minlength=designed.looks.size)
    expected = designed.stop * n_rows.size
    common = expected >= 10
    cells = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    if wanted[-1] < 10:  # join the rest to the rarest of the others
        cells, wanted = np.append(cells[:-2], cells[-2:].sum()), np.append(wanted[:-2], wanted[-2:].sum())
    assert np.sum((cells - wanted) ** 2 / wanted) < chi_square_limit(cells.size - 1)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "drift"),
    [(e, d) for e in EPSILONS for d in DRIFTS if float(error(N, M, e, max(d, 1e-3)).error) * EACH >= 4],
)
def test_wrong_decisions_spread_over_runs_as_coins_do(epsilon: float, drift: float) -> None:
    """False-fail rate 1e-6: nothing is shared by the decisions of a run. An sd 1.6 times the binomial is caught."""
    assert spread_statistic(decided(epsilon, drift).wrong) < chi_square_limit(RUNS - 1)


# Negative control: the same test on rows read from one fixed permutation per run.


def twin_wrong(sums: np.ndarray, squares: np.ndarray, critical: np.ndarray, drift: float, right: np.ndarray) -> int:
    """Wrong decisions, given sums and sums of squares (R, J) of the terms read at every look."""
    sizes = look_sizes(N, M).astype(np.float64)
    mean = sums / sizes
    variance = (squares - sums * mean) / (sizes - 1.0)
    error_of_mean = np.sqrt(variance / sizes * (1.0 - (sizes - 1.0) / (N - 1.0)))
    mu_std = np.where(right, 1.0, -1.0) * max(drift, 1e-3)
    gap = mean - (fixed().mean - mu_std * fixed().unit)[:, None]
    stops = np.abs(gap) > critical * error_of_mean
    stops[:, -1] = True
    first = np.argmax(stops, axis=1)
    return int(np.sum((gap[np.arange(right.size), first] > 0) != right))


def twin_runs(contiguous: bool, epsilon: float, drift: float) -> np.ndarray:
    """Wrong decisions of every run (RUNS,): fresh orders, or one order per run read on from random starts."""
    sizes, critical = look_sizes(N, M), twin_critical(epsilon, M, N)
    wrong = np.empty(RUNS, np.int64)
    for run in range(RUNS):
        random = np.random.default_rng([SEED, 2, run])
        right = random.random(EACH) < 0.5
        if contiguous:
            order = np.append(0.0, np.cumsum(np.tile(random.permutation(fixed().terms), 2)))
            order_squares = np.append(0.0, np.cumsum(np.diff(order) ** 2))
            start = random.integers(0, N, EACH)[:, None]
            sums, squares = (c[start + sizes] - c[start] for c in (order, order_squares))
        else:
            drawn = random.permuted(np.tile(fixed().terms, (EACH, 1)), axis=1)
            sums = np.cumsum(drawn, axis=1)[:, sizes - 1]
            squares = np.cumsum(drawn**2, axis=1)[:, sizes - 1]
        wrong[run] = twin_wrong(sums, squares, critical, drift, right)
    return wrong


@pytest.mark.statistical
def test_one_fixed_permutation_is_caught_by_the_spread() -> None:
    """Read contiguously it is wrong about as often, but run by run by .001 to .3: far outside what passes above.

    Seven times the limit as a rule; the least over the seeds 0 to 99 is 2.4 times.
    """
    limit = chi_square_limit(RUNS - 1)
    assert spread_statistic(twin_runs(True, 0.05, 1.0)) > 2.0 * limit
    fresh = twin_runs(False, 0.05, 1.0)
    assert spread_statistic(fresh) < limit
    low, high = binomial_interval(RUNS * EACH, float(error(N, M, 0.05, 1.0).error))
    assert low <= fresh.sum() <= high


# The whole step, through the front door


@pytest.mark.statistical
def test_steps_of_both_rules_are_coupled_as_designed() -> None:
    """One step of 1500 chains from the same places: proposal, prior, u and terms replayed in NumPy.

    Exact decides as the replay does (but for ties within rounding); SequentialT decides otherwise as often as the
    design says at each chain's own mu_std, within a normal bound of false-fail rate 1e-6.
    """
    chains, n_rows, scale, rule = 1500, 4000, 0.04, au.decisions.SequentialT(0.1, 200)
    random = np.random.default_rng([SEED, 3])
    X = random.normal(size=(n_rows, 3))
    y = (random.random(n_rows) < 1 / (1 + np.exp(-X @ [0.5, -0.5, 0.2]))).astype(float)
    start = np.array([0.5, -0.5, 0.2]) + 0.04 * random.normal(size=(chains, 3))
    common = settings(draws=1, warmup=0, chains=chains, start=start, rng=SEED, dtype="float64")
    model, move = au.models.Logistic(prior=au.priors.Normal(0.0, 0.1)), au.proposals.RandomWalk(scale)
    exact = au.sample(model, X, y, acceptance=au.decisions.Exact(), proposal=move, **common)
    quick = au.sample(model, X, y, acceptance=rule, proposal=move, **common)

    thrown = streams.new_streams(np.random.SeedSequence(SEED).spawn(2)[0], chains)
    steps, log_u = np.empty((chains, 3)), np.empty(chains)
    for c in range(chains):
        streams.start(thrown[c, streams.PROPOSAL], 0)
        streams.fill_normal(thrown[c, streams.PROPOSAL], steps[c])
        log_u[c] = log_uniforms(thrown[c, streams.DECISION], 1)[0]
    proposed = start + scale * steps
    log_a0 = (np.sum(start**2, axis=1) - np.sum(proposed**2, axis=1)) / (2 * 0.1**2)
    terms = log_likelihood(X, y, proposed) - log_likelihood(X, y, start)
    gap = terms.sum(axis=1) + log_a0 - log_u
    accepted = exact["sample_stats"]["accepted"].values[:, 0] == 1
    clear = np.abs(gap) > 1e-6
    assert clear.mean() > 0.99 and np.array_equal(accepted[clear], gap[clear] > 0)
    assert np.allclose(
        exact["posterior"]["beta"].values[:, 0], np.where(accepted[:, None], proposed, start), rtol=1e-12
    )

    mu_std = gap / n_rows * np.sqrt(n_rows - 1) / terms.std(axis=1)
    chance = np.asarray(error(n_rows, rule.batch, rule.epsilon, mu_std).error)
    wrong = np.sum((quick["sample_stats"]["accepted"].values[:, 0] == 1) != (gap > 0))
    assert chance.sum() > 50  # wrong decisions enough to count
    assert abs(wrong - chance.sum()) < Z_LIMIT * np.sqrt(np.sum(chance * (1 - chance))) + 1


def log_likelihood(X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Log likelihoods (K, N) of rows at theta (K, d)."""
    eta = theta @ X.T
    return np.asarray(y * eta - np.logaddexp(0.0, eta))

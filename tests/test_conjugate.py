"""Long runs against algebra: linear regression with normal priors, known scale, and against quadrature, unknown scale.

    beta | y ~ N(m, V),   V = (X' W X / s^2 + P)^-1,   m = V (X' W (y - offset) / s^2 + P m0)

Every quantity is averaged over each of 64 chains that begin at independent exact draws; the mean of the chain averages
is then unbiased, and its distance from the truth is a Student variable with 63 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, settings
from scipy import stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.priors import Normal, StudentT
from austerity.proposals import AdaptiveMetropolis, Mixture, RandomWalk

SEED = 0
N, D, SIGMA, CHAINS = 400, 3, 0.7, 64
WEAK = (Normal(0.0, 10.0), Normal(0.0, 10.0), Normal(0.0, 10.0))
STRONG = (Normal(1.0, 0.03), Normal(-2.0, 0.05), Normal(0.0, 0.5))


@dataclass(frozen=True)
class Data:
    X: np.ndarray
    y: np.ndarray


def data(n_rows: int = N) -> Data:
    random = np.random.default_rng([SEED, 1])
    X = random.normal(size=(n_rows, D)) @ np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.3], [0.0, 0.0, 2.0]]) + [
        0.0,
        3.0,
        -1.0,
    ]
    return Data(X, X @ [0.8, -0.5, 0.2] + SIGMA * random.normal(size=n_rows))


def posterior(
    X: np.ndarray, y: np.ndarray, priors: Sequence[Normal], weights: Any = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (D,) and covariance (D, D) by algebra."""
    precision = np.array([prior.scale**-2 for prior in priors])
    weighted = X * np.broadcast_to(weights, y.shape)[:, None] / SIGMA**2
    covariance = np.linalg.inv(X.T @ weighted + np.diag(precision))
    return covariance @ (weighted.T @ y + precision * [prior.location for prior in priors]), covariance


def student_limit(comparisons: int) -> float:
    """Two-sided, so that all comparisons together fail with probability 1e-6."""
    return float(-stats.t.ppf(FALSE_FAIL / 2 / comparisons, CHAINS - 1))


def scores(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distances (Q,) of values (chains, draws, Q) from their true means, in standard errors over chains."""
    averages = values.mean(axis=1)
    return np.asarray((averages.mean(axis=0) - truth) / (averages.std(axis=0, ddof=1) / np.sqrt(CHAINS)))


def moments(draws: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (chains, draws, D + D(D+1)/2) and their true means: coordinates, and products about the true mean."""
    centred = draws - mean
    one, other = np.triu_indices(draws.shape[-1])
    values = np.concatenate([draws, centred[..., one] * centred[..., other]], axis=-1)
    return values, np.concatenate([mean, covariance[one, other]])


def run(
    rule: Any, priors: Sequence[Normal], start: np.ndarray, X: Any, y: Any, draws: int, **options: Any
) -> np.ndarray:
    """Draws (chains, draws, D)."""
    model = au.models.Linear(prior=list(priors), sigma=SIGMA)
    common = settings(draws=draws, chains=CHAINS, start=start, rng=SEED, **{"warmup": 0, **options})
    return np.asarray(au.sample(model, X, y, acceptance=rule, **common)["posterior"]["beta"].values)


def exact_draws(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    return np.random.default_rng([SEED, 2]).multivariate_normal(mean, covariance, CHAINS)


@pytest.mark.statistical
@pytest.mark.parametrize(("rule", "draws"), [(Exact(), 3000), (SequentialT(0.0, 150), 800)])
@pytest.mark.parametrize("priors", [WEAK, STRONG], ids=["weak", "strong"])
def test_mean_and_covariance_follow_algebra(rule: Any, draws: int, priors: Sequence[Normal]) -> None:
    """False-fail rate 1e-6 in all. Exact: a mean off by .05 sd or a variance off by 7 % is caught."""
    rows = data()
    mean, covariance = posterior(rows.X, rows.y, priors)
    found = run(rule, priors, exact_draws(mean, covariance), rows.X, rows.y, draws)
    z = scores(*moments(found, mean, covariance))
    assert np.max(np.abs(z)) < student_limit(z.size)


@pytest.mark.statistical
@pytest.mark.parametrize("proposal", [AdaptiveMetropolis(), Mixture((AdaptiveMetropolis(0.4), RandomWalk(0.02)))])
def test_a_proposal_that_learnt_during_warm_up(proposal: Any) -> None:
    """False-fail rate 1e-6: what is learnt stays fixed afterwards, so the posterior is the same, from any start."""
    rows = data()
    mean, covariance = posterior(rows.X, rows.y, STRONG)
    start = exact_draws(mean, 9.0 * covariance)
    found = run(Exact(), STRONG, start, rows.X, rows.y, 3000, proposal=proposal, warmup=500)
    z = scores(*moments(found, mean, covariance))
    assert np.max(np.abs(z)) < student_limit(z.size)
    rate = np.mean(np.any(np.diff(found, axis=1) != 0, axis=2))
    assert 0.2 < rate < 0.6


@pytest.mark.statistical
def test_another_prior_is_told_apart() -> None:
    """The same draws against the algebra of other priors: the test above has the power it claims."""
    rows = data()
    mean, covariance = posterior(rows.X, rows.y, STRONG)
    found = run(Exact(), STRONG, exact_draws(mean, covariance), rows.X, rows.y, 1000)
    for others in (WEAK, (Normal(1.01, 0.03), *STRONG[1:]), (STRONG[0], Normal(-2.0, 0.06), STRONG[2])):
        other_mean, other_covariance = posterior(rows.X, rows.y, others)
        assert np.max(np.abs(mean - other_mean) / np.sqrt(np.diag(covariance))) > 0.1
        z = scores(*moments(found, other_mean, other_covariance))
        assert np.max(np.abs(z)) > student_limit(z.size)


@pytest.mark.statistical
def test_weights_offset_and_intercept_follow_algebra() -> None:
    """False-fail rate 1e-6: weights multiply precisions, an offset moves the response, the intercept has its prior."""
    rows, random = data(), np.random.default_rng([SEED, 3])
    weights, offset = random.exponential(1.0, N), random.normal(0, 2.0, N)
    design, priors = np.column_stack([np.ones(N), rows.X]), [Normal(0.5, 0.1), *STRONG]
    mean, covariance = posterior(design, rows.y - offset, priors, weights)
    options = {"intercept": True, "weights": weights, "offset": offset, "dtype": "float64"}
    found = run(Exact(), priors, exact_draws(mean, covariance), rows.X, rows.y, 3000, **options)
    z = scores(*moments(found, mean, covariance))
    assert np.max(np.abs(z)) < student_limit(z.size)


@pytest.mark.statistical
def test_many_rows_far_from_zero_in_float32() -> None:
    """False-fail rate 1e-6: 100,000 rows with means of 1000 sd, where float32 columns would be lost uncentred."""
    random = np.random.default_rng([SEED, 4])
    X = random.normal(size=(100_000, 2)) + [1000.0, -3000.0]
    y = 5000.0 + (X - [1000.0, -3000.0]) @ [0.1, -0.2] + SIGMA * random.normal(size=100_000)
    priors = (Normal(0.0, 1e5), Normal(0.0, 1.0), Normal(0.0, 1.0))
    mean, covariance = posterior(np.column_stack([np.ones(100_000), X]), y, priors)
    found = run(Exact(), priors, exact_draws(mean, covariance), X, y, 100, intercept=True)
    slopes = slice(1, 3)
    z = scores(*moments(found[..., slopes], mean[slopes], covariance[slopes, slopes]))
    assert np.max(np.abs(z)) < student_limit(z.size)


# Unknown scale


def marginal_of_scale(
    rows: Data, priors: Sequence[Normal], prior: StudentT
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """sigma on a grid, its posterior mass there, and mean and covariance of beta given each value."""
    sigma = np.exp(np.linspace(np.log(0.2), np.log(5.0), 600))
    precision = np.diag([p.scale**-2 for p in priors])
    location = np.array([p.location for p in priors])
    log_mass, given = np.empty(sigma.size), []
    for k, s in enumerate(sigma):
        covariance = np.linalg.inv(rows.X.T @ rows.X / s**2 + precision)
        mean = covariance @ (rows.X.T @ rows.y / s**2 + precision @ location)
        # log N(y; X m0, s^2 I + X P^-1 X') up to a constant, by the values at the conditional mean
        gap, residual = mean - location, rows.y - rows.X @ mean
        log_fit = -0.5 * residual @ residual / s**2 - 0.5 * gap @ precision @ gap - rows.y.size * np.log(s)
        log_mass[k] = log_fit + 0.5 * np.linalg.slogdet(covariance)[1]
        log_mass[k] += stats.t.logpdf(s, prior.dof, prior.location, prior.scale) + np.log(s)  # even steps in log s
        given.append((mean, covariance))
    mass = np.exp(log_mass - log_mass.max())
    assert max(mass[0], mass[-1]) < 1e-12
    return sigma, mass / mass.sum(), given


@pytest.mark.statistical
@pytest.mark.parametrize(("rule", "draws"), [(Exact(), 4000), (SequentialT(0.0, 20), 2000)])
def test_unknown_scale_follows_quadrature(rule: Any, draws: int) -> None:
    """False-fail rate 1e-6: beta, sigma, log sigma and squares against sums over a grid of sigma."""
    rows, prior = data(30), StudentT(3.0, 0.0, 0.3)
    priors = (Normal(1.0, 0.3), Normal(-0.6, 0.2), Normal(0.0, 0.5))
    sigma, mass, given = marginal_of_scale(rows, priors, prior)
    means, squares = np.array([m for m, _ in given]), np.array([np.diag(v) + m**2 for m, v in given])
    truth = np.concatenate([mass @ means, mass @ squares, [mass @ sigma, mass @ sigma**2, mass @ np.log(sigma)]])

    random = np.random.default_rng([SEED, 5])
    places = random.choice(sigma.size, CHAINS, p=mass)
    step = np.log(sigma[1] / sigma[0])
    start = np.array(
        [[*random.multivariate_normal(*given[k]), sigma[k] * np.exp(step * (random.random() - 0.5))] for k in places]
    )
    model = au.models.Linear(prior=list(priors), sigma_prior=prior)
    common = settings(draws=draws, warmup=0, chains=CHAINS, start=start, rng=SEED)
    tree = au.sample(model, rows.X, rows.y, acceptance=rule, **common)
    beta, scale = tree["posterior"]["beta"].values, tree["posterior"]["sigma"].values[..., None]
    z = scores(np.concatenate([beta, beta**2, scale, scale**2, np.log(scale)], axis=-1), truth)
    assert np.max(np.abs(z)) < student_limit(z.size)

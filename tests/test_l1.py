"""L1 linear regression in one dimension, as in the austerity paper: its posterior has a kink beside the mode.

    y = x / 2 + e,  x ~ U(-1, 1),  e of variance 1/3,  N = 10^4
    p(theta | y) ~ exp(-1.5 sum_i (y_i - theta x_i)^2 - 4950 |theta|)

that is normal errors of known scale sigma = 3^(-1/2) and a Laplace prior of scale 1/4950. Completing the square gives a
normal density on either side of zero, so the truth is known in closed form; it is compared with sums over a grid too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, dkw, settings
from scipy import special, stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.models import Linear
from austerity.priors import Laplace, Normal
from austerity.proposals import AdaptiveMetropolis, RandomWalk

N, SLOPE, PRECISION, PENALTY = 10_000, 0.5, 3.0, 4950.0
RANDOM = np.random.default_rng(12)
X = RANDOM.uniform(-1, 1, N)
Y = SLOPE * X + RANDOM.normal(0, PRECISION**-0.5, N)
MODEL = Linear(sigma=PRECISION**-0.5, prior=Laplace(0, 1 / PENALTY))
CHAINS, STEPS = 1000, 40


class Truth:
    """exp(-a (theta - m)^2 / 2 - penalty |theta|): two halves of normal densities with sd a^-1/2."""

    def __init__(self, penalty: float) -> None:
        self.a = PRECISION * float(X @ X)
        self.m, self.sd, self.penalty = PRECISION * float(X @ Y) / self.a, self.a**-0.5, penalty
        self.left, self.right = self.m + penalty / self.a, self.m - penalty / self.a  # where either half would peak
        below, above = stats.norm.logcdf(-self.left / self.sd), stats.norm.logsf(-self.right / self.sd)
        masses = np.array([below + 0.5 * self.a * self.left**2, above + 0.5 * self.a * self.right**2])
        self.below = float(np.exp(masses[0] - special.logsumexp(masses)))

    def cdf(self, theta: Any) -> np.ndarray:
        theta = np.asarray(theta)
        left, right = np.minimum(theta, 0), np.maximum(theta, 0)
        under = np.exp(stats.norm.logcdf((left - self.left) / self.sd) - stats.norm.logcdf(-self.left / self.sd))
        over = np.exp(stats.norm.logsf((right - self.right) / self.sd) - stats.norm.logsf(-self.right / self.sd))
        return np.where(theta < 0, self.below * under, 1 - (1 - self.below) * over)

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Independent draws, by the inverse of the distribution function on a fine grid on either side of the kink."""
        grid = np.union1d(np.linspace(-12 / self.penalty, 0, 200_001), np.linspace(0, 12 * self.sd, 200_001))
        return np.interp(random.random(count), self.cdf(grid), grid)


TRUTH = Truth(PENALTY)


def moved(model: Linear, rule: Any, proposal: Any, chains: int) -> np.ndarray:
    """Where exact draws are after some steps."""
    start = TRUTH.draw(chains, np.random.default_rng(4))[:, None]
    common = settings(draws=1, warmup=0, thin=STEPS, chains=chains, start=start, acceptance=rule, proposal=proposal)
    return np.asarray(au.sample(model, X, Y, **common)["posterior"]["beta"].values.ravel())


def distance(draws: np.ndarray, truth: Truth = TRUTH) -> float:
    return float(stats.kstest(draws, truth.cdf).statistic)


def test_the_truth_has_a_kink_beside_its_mode() -> None:
    """It peaks a tenth of an sd to the right of a cliff, which falls off within a hundredth of an sd.

    The distribution function in closed form is that of sums over a grid of the density as the paper writes it.
    """
    assert 0 < TRUTH.right < 0.2 * TRUTH.sd and 0.005 < TRUTH.below < 0.01
    grid = np.union1d(np.linspace(-0.002, 0, 2001), np.linspace(0, 0.06, 6001))
    squares = np.array([np.sum((Y - theta * X) ** 2) for theta in grid])
    log_density = -0.5 * PRECISION * squares - PENALTY * np.abs(grid)
    density = np.exp(log_density - log_density.max())
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(grid))])
    np.testing.assert_allclose(mass / mass[-1], TRUTH.cdf(grid), atol=1e-4)


@pytest.mark.statistical
@pytest.mark.parametrize("proposal", [None, RandomWalk(0.01)])
def test_exact_draws_stay_such(proposal: Any) -> None:
    """False-fail rate 1e-6: 1000 exact draws after 40 steps; a marginal displaced by a quarter of an sd is caught."""
    assert distance(moved(MODEL, Exact(), proposal, CHAINS)) < dkw(CHAINS)


@pytest.mark.statistical
def test_sequential_test_that_reads_on() -> None:
    """False-fail rate 1e-6, with fewer chains: every decision may read all rows."""
    assert distance(moved(MODEL, SequentialT(0.0, 5000), None, 400)) < dkw(400)


@pytest.mark.statistical
@pytest.mark.parametrize("proposal", [None, AdaptiveMetropolis()])
def test_long_chains_from_the_mode(proposal: Any) -> None:
    """False-fail rate 1e-6, by Student's law over 64 chains: the mean, the square, and the mass left of the kink."""
    common = settings(draws=2000, warmup=300, chains=64, acceptance=Exact(), proposal=proposal)
    tree = au.sample(MODEL, X, Y, **common)
    assert 0.2 < tree["sample_stats"]["accepted"].values.mean() < 0.7
    draws = tree["posterior"]["beta"].values[..., 0]
    found = np.stack([draws, draws**2, draws < 0], axis=-1).mean(axis=1)
    sample = TRUTH.draw(2_000_000, np.random.default_rng(6))
    truth = np.array([sample.mean(), np.mean(sample**2), TRUTH.below])
    scores = (found.mean(axis=0) - truth) / (found.std(axis=0, ddof=1) / 8)
    assert np.max(np.abs(scores)) < -stats.t.ppf(FALSE_FAIL / 6, 63)


@pytest.mark.parametrize("penalty", [500.0, 4950.0, 5100.0, 20_000.0])
def test_default_steps_fit_on_and_beside_the_kink(penalty: float) -> None:
    """A fixed check of default settings: the mode far from the kink, beside it, and at it by a little and by far."""
    model = Linear(sigma=PRECISION**-0.5, prior=Laplace(0, 1 / penalty))
    tree = au.sample(model, X, Y, **settings(draws=500, warmup=100, acceptance=Exact()))
    assert 0.2 < tree["sample_stats"]["accepted"].values.mean() < 0.7
    assert distance(tree["posterior"]["beta"].values.ravel(), Truth(penalty)) < 0.2


def term(theta: Any, x: Any, y: Any) -> Any:
    """The same normal errors, written by hand."""
    return -0.5 * PRECISION * (y - theta[0] * x[0]) ** 2


@pytest.mark.parametrize("penalty", [4950.0, 5100.0, 20_000.0])
def test_default_steps_of_a_likelihood_of_ones_own(penalty: float) -> None:
    """A fixed check: where derivatives are differences, a kink at the mode neither stops chains nor shortens steps."""
    model = au.Model({"slope": Laplace(0, 1 / penalty)}, row=term)
    common = settings(draws=300, warmup=100, acceptance=Exact(), dtype="float64")
    tree = au.sample(model, X[:, None], Y, **common)
    assert 0.2 < tree["sample_stats"]["accepted"].values.mean() < 0.7
    assert distance(tree["posterior"]["slope"].values.ravel(), Truth(penalty)) < 0.2


# Negative controls


@pytest.mark.statistical
@pytest.mark.parametrize(
    "model",
    [
        Linear(sigma=PRECISION**-0.5, prior=Normal(0, 1 / PENALTY)),
        Linear(sigma=PRECISION**-0.5, prior=Laplace(0, 1.01 / PENALTY)),
        Linear(sigma=PRECISION**-0.5, prior=Normal(0, 100)),
        Linear(sigma=1 / PRECISION, prior=Laplace(0, 1 / PENALTY)),
    ],
    ids=["normal prior", "penalty off by 1 %", "prior dropped", "variance taken for the scale"],
)
def test_other_posteriors_are_caught(model: Linear) -> None:
    assert distance(moved(model, Exact(), RandomWalk(0.01), CHAINS)) > 1.5 * dkw(CHAINS)

"""Gaussian and mixture densities, which have no response, against grids; and the bimodal mixture at temperature 10^4.

How the statistical comparisons work, and what they can tell apart, is said in test_invariance.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, read_terms, settings
from grid_truth import Case, Grid, moved
from scipy import special, stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import engine
from austerity.engine.prior import log_prior
from austerity.errors import InputError
from austerity.models import Gaussian, GaussianMixture
from austerity.models.kernels import linear
from austerity.priors import Flat, Normal, StudentT
from austerity.proposals import Mixture, RandomWalk
from austerity.rows import derivatives, passes

SEED, CHAINS, FEWER, STEPS = 0, 3000, 800, 40
PLACE = np.random.default_rng(3).gamma(2.0, 1.0, 12) + 4.0  # skewed, and not about zero


@lru_cache(maxsize=1)
def gaussian() -> Case:
    """Twelve rows: (mu, sigma), sigma held as a logarithm with its prior on the natural scale."""

    def log_density(mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        terms = sum(stats.norm.logpdf(x, mu, sigma) for x in PLACE)
        return np.asarray(terms + stats.norm.logpdf(mu, 4, 0.5) + stats.t.logpdf(sigma, 3, 0, 0.5))

    model = Gaussian(prior=Normal(4, 0.5), sigma_prior=StudentT(3, 0, 0.5))
    return Case(model, PLACE, None, Grid(log_density, ((0.0, 9.0), (1e-3, 12.0)), SEED), {}, ("mu", "sigma"))


@lru_cache(maxsize=1)
def gaussian_with_options() -> Case:
    """Flat priors on mu and sigma, weights, a temperature, and columns far from zero held centred."""
    weights, x = np.arange(1.0, 13.0) / 4, 1e5 + PLACE

    def log_density(mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        return np.asarray(sum(w * stats.norm.logpdf(value, mu, sigma) for value, w in zip(x, weights, strict=True)) / 2)

    model, options = Gaussian(prior=Flat(), sigma_prior=Flat()), {"weights": weights, "temperature": 2.0}
    grid = Grid(log_density, ((1e5, 1e5 + 12), (1e-3, 14.0)), SEED)
    return Case(model, x, None, grid, options, ("mu", "sigma"))


# Mixtures of a million rows at T = 10^4: Welling and Teh's, whose two modes run into each other, and one whose modes
# are far apart and of uneven mass. Rows are rounded to 150 values that carry counts as weights, so that every decision
# is about all million of them.
N_ROWS, TEMPERATURE, VARIANCE = 1_000_000, 1e4, 2.0


@dataclass(frozen=True)
class Setting:
    """x ~ w1 N(0, 2) + w2 N(difference, 2) under normal priors of theta1 and theta2 with these sd."""

    difference: float
    weights: tuple[float, float]
    sd: tuple[float, float]

    @property
    def prior(self) -> tuple[Normal, Normal]:
        return Normal(0, self.sd[0]), Normal(0, self.sd[1])

    def rows(self) -> np.ndarray:
        random = np.random.default_rng(1)
        return random.normal(0, VARIANCE**0.5, N_ROWS) + self.difference * (random.random(N_ROWS) < self.weights[1])


PAPER, APART = Setting(1.0, (0.5, 0.5), (10**0.5, 1.0)), Setting(2.0, (0.35, 0.65), (10**0.5, 2.0))
BOTH = pytest.mark.parametrize("setting", [PAPER, APART], ids=["paper", "apart"])


@lru_cache(maxsize=2)
def mixture(setting: Setting) -> Case:
    rows = setting.rows()
    counts, edges = np.histogram(rows, 150)
    x, counts = (0.5 * (edges[1:] + edges[:-1]))[counts > 0], counts[counts > 0].astype(float)

    def log_density(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        total = np.zeros(np.broadcast_shapes(first.shape, second.shape))
        for value, count in zip(x, counts, strict=True):
            one = np.log(setting.weights[0]) - (value - first) ** 2 / (2 * VARIANCE)
            other = np.log(setting.weights[1]) - (value - first - second) ** 2 / (2 * VARIANCE)
            total += count * np.logaddexp(one, other)
        laws = stats.norm.logpdf(first, 0, setting.sd[0]) + stats.norm.logpdf(second, 0, setting.sd[1])
        return np.asarray(total / TEMPERATURE + laws)

    model = GaussianMixture(sigma=VARIANCE**0.5, weights=setting.weights, prior=setting.prior)
    options = {"weights": counts, "temperature": TEMPERATURE, "dtype": "float64"}
    return Case(model, x, None, Grid(log_density, ((-3.0, 5.0), (-6.0, 6.0)), SEED), options, ("theta1", "theta2"))


CASES: dict[str, Callable[[], Case]] = {
    "gaussian": gaussian,
    "gaussian with options": gaussian_with_options,
    "mixture": lambda: mixture(PAPER),
    "mixture of modes apart": lambda: mixture(APART),
}


def off(case: Case, rule: Any, chains: int, model: Any = None, walk: Any = None) -> float:
    """How far draws are from the truth after some steps, as a multiple of what right ones stay below."""
    draws = moved(case, rule, walk or RandomWalk(), chains, STEPS, SEED, model)
    return case.grid.distance(draws) / case.grid.limit(chains)


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_exact_follows_the_grid(name: str) -> None:
    """False-fail rate 3e-6 each. Chains begin in both modes of a mixture, by their masses."""
    assert off(CASES[name](), Exact(), CHAINS) < 1


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_sequential_test_follows_it_too(name: str) -> None:
    """False-fail rate 3e-6 each, of a test that reads on until it has read all rows."""
    assert off(CASES[name](), SequentialT(0.0, 40 if "mixture" in name else 7), FEWER) < 1


# Both modes


@BOTH
def test_the_mixture_has_two_modes(setting: Setting) -> None:
    """Otherwise what is shown below would mean little. With modes apart, .3 and .7 of the mass and a deep valley."""
    reference = mixture(setting).grid.reference
    along = np.histogram(reference[:, 1], np.linspace(-4, 4, 33))[0]
    left, right, valley = along[:14].max(), along[18:].max(), along[14:18].min()
    assert valley < (0.98 if setting is PAPER else 0.06) * min(left, right)
    assert 0.25 < np.mean(reference[:, 1] < 0) < 0.5


def scores(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distances (Q,) of averages of values (chains, draws, Q) from their truth, in standard errors over chains."""
    averages = values.mean(axis=1)
    return np.asarray((averages.mean(axis=0) - truth) / (averages.std(axis=0, ddof=1) / np.sqrt(len(values))))


def mode_masses(theta1: np.ndarray, theta2: np.ndarray) -> np.ndarray:
    """The mode with theta2 < 0, and the means and spreads within: (..., 4)."""
    below = theta2 < 0
    return np.stack([below, theta1 * below, theta2 * below, theta2**2], axis=-1)


@pytest.mark.statistical
@BOTH
def test_long_chains_give_both_modes_their_masses(setting: Setting) -> None:
    """False-fail rate 1e-6 in all, by Student's law over 64 chains, half of which begin in either mode.

    A mode that held .04 more or less of the mass would be told apart.
    """
    case, chains = mixture(setting), 64
    reference = case.grid.reference
    places = np.array([reference[side].mean(axis=0) for side in (reference[:, 1] < 0, reference[:, 1] > 0)])
    apart = places[1] - places[0]
    walk = Mixture((RandomWalk(0.3), RandomWalk(0.7 * np.outer(apart, apart) + 0.1 * np.eye(2))), (0.3, 0.7))
    common = settings(draws=8000, warmup=500, chains=chains, start=np.tile(places, (chains // 2, 1)), **case.options)
    tree = au.sample(case.model, case.X, acceptance=Exact(), proposal=walk, **common)
    theta1, theta2 = (tree["posterior"][name].values for name in case.names)
    assert np.all(np.any(theta2 > 0.5, axis=1) & np.any(theta2 < -0.5, axis=1))
    found = mode_masses(theta1, theta2)
    truth = mode_masses(reference[:, 0], reference[:, 1]).mean(axis=0)
    limit = float(-stats.t.ppf(FALSE_FAIL / 2 / truth.size, chains - 1))
    assert np.max(np.abs(scores(found, truth))) < limit
    assert np.max(np.abs(scores(found, truth + [0.04, 0, 0, 0]))) > limit


def test_a_million_rows_at_that_temperature_need_few() -> None:
    """With every row held, decisions at epsilon .005 read a few thousand of a million, and chains see both modes."""
    x = PAPER.rows().astype(np.float32)
    model = GaussianMixture(sigma=VARIANCE**0.5, prior=PAPER.prior)
    rule, walk = SequentialT(0.005, 100), RandomWalk(0.15**0.5)
    start = [[0.0, 1.0], [1.0, -1.0]]
    common = settings(draws=500, warmup=0, chains=2, start=start, temperature=TEMPERATURE)
    tree = au.sample(model, x, acceptance=rule, proposal=walk, **common)
    assert tree["sample_stats"]["n_rows"].values.mean() < 0.05 * N_ROWS
    assert np.ptp(tree["posterior"]["theta2"].values) > 1.5


# Negative controls


@engine
def without_the_scale(eta, y, extras, out):
    """Squares alone: the constant that belongs to the scale is left out."""
    linear.value(eta, y, extras, out)
    for i in range(out.size):
        out[i] += np.log(extras[0])


@dataclass(frozen=True, eq=False)
class Unnormalised(Gaussian):
    """A scale that may grow without being charged for it."""

    def kernels(self) -> tuple[Any, Any]:
        return without_the_scale, linear.slopes


@dataclass(frozen=True, eq=False)
class TwoMeans(GaussianMixture):
    """theta2 as the second mean, where it is how far that is from the first."""

    def affine(self) -> np.ndarray:
        return np.array([[-1.0, 0.0], [0.0, -1.0]])


def variant(setting: Setting, kind: type = GaussianMixture, **changed: Any) -> Any:
    """The mixture of a setting, with something wrong."""
    return kind(**{"sigma": VARIANCE**0.5, "weights": setting.weights, "prior": setting.prior, **changed})


WRONG = {
    "normalising constant of the scale": (
        gaussian,
        Unnormalised(prior=Normal(4, 0.5), sigma_prior=StudentT(3, 0, 0.5)),
    ),
    "prior of mu dropped": (gaussian, Gaussian(prior=Flat(), sigma_prior=StudentT(3, 0, 0.5))),
    "prior of sigma dropped": (gaussian, Gaussian(prior=Normal(4, 0.5), sigma_prior=Flat())),
    "theta2 a mean": (lambda: mixture(PAPER), variant(PAPER, TwoMeans)),
    "prior of the mixture dropped": (lambda: mixture(PAPER), variant(PAPER, prior=Normal(0, 100))),
    "weights exchanged": (lambda: mixture(APART), variant(APART, weights=APART.weights[::-1])),
    "another scale": (lambda: mixture(PAPER), variant(PAPER, sigma=VARIANCE)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("fault", WRONG)
def test_wrong_densities_are_caught(fault: str) -> None:
    make, model = WRONG[fault]
    assert off(make(), Exact(), CHAINS, model) > 1.5


@pytest.mark.statistical
def test_another_temperature_is_caught() -> None:
    case = mixture(PAPER)
    wrong = Case(case.model, case.X, None, case.grid, {**case.options, "temperature": 4 * TEMPERATURE}, case.names)
    assert off(wrong, Exact(), CHAINS, walk=RandomWalk(0.5)) > 1.5
    assert off(case, Exact(), CHAINS, walk=RandomWalk(0.5)) < 1


# Against NumPy, without chance


def normal_twin(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.asarray(stats.norm.logpdf(x, theta[0], np.exp(theta[1])) + 0.5 * np.log(2 * np.pi))


def mixture_twin(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    places = (theta[0], theta[0] + theta[1])
    both = zip(places, APART.weights, strict=True)
    return np.asarray(
        special.logsumexp([np.log(w) + stats.norm.logpdf(x, m, np.exp(theta[2])) for m, w in both], axis=0)
    )


def known_mean_twin(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return normal_twin(x, np.array([5.0, theta[0]]))


def known_scale_twin(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return normal_twin(x, np.array([theta[0], np.log(1.7)]))


TWINS: dict[str, tuple[Any, Callable[..., np.ndarray], list[float], list[float]]] = {
    "gaussian": (Gaussian(), normal_twin, [5.0, 0.3], [5.5, -0.2]),
    "mean known": (Gaussian(mean=5.0), known_mean_twin, [0.3], [-0.4]),
    "scale known": (Gaussian(sigma=1.7), known_scale_twin, [5.0], [4.0]),
    "mixture": (GaussianMixture(weights=APART.weights), mixture_twin, [4.0, 1.5, 0.2], [4.5, -0.5, -0.3]),
}
EVERY = pytest.mark.parametrize("name", TWINS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@EVERY
def test_passes_draws_and_derivatives_see_the_same_density(name: str, dtype: str) -> None:
    """Sums of a pass, terms of a draw, and sums in float64 against NumPy; held as given and held centred and scaled."""
    model, twin, *points = TWINS[name]
    column = np.concatenate([PLACE] * 60)
    for given in (column.astype(dtype), np.asfortranarray(np.column_stack([column, column]))):
        target = model.bind(au.rows.open(given, columns=[0], dtype=dtype), False, False)
        pair, tolerance = np.array(points), 1e-6 if dtype == "float32" else 1e-12
        expected = np.array([twin(column, theta) for theta in pair])
        sums, status = passes.sums(target.problem, pair)
        assert status == 0
        np.testing.assert_allclose(sums, expected.sum(axis=1), rtol=10 * tolerance)
        exact = derivatives.values(target.problem, target.kernels, pair)
        np.testing.assert_allclose(exact, expected.sum(axis=1), rtol=10 * tolerance)
        terms = np.sort(read_terms(target.problem, pair, key=5))
        np.testing.assert_allclose(terms, np.sort(expected[1] - expected[0]), atol=40 * tolerance)


@EVERY
def test_derivatives_in_theta(name: str) -> None:
    """Central differences of the sum and of its gradient, and the prior with its Jacobian."""
    model, _, theta, _ = TWINS[name]
    target = model.bind(au.rows.open(PLACE, dtype="float64"), False, False)
    theta, step = np.array(theta), 1e-5
    _, gradient, curvature = derivatives.derivatives(target.problem, target.kernels, theta)
    for k, unit in enumerate(np.eye(theta.size)):
        up, down = (
            derivatives.derivatives(target.problem, target.kernels, theta + sign * step * unit) for sign in (1, -1)
        )
        np.testing.assert_allclose(gradient[k], (up[0] - down[0]) / (2 * step), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(curvature[k], (up[1] - down[1]) / (2 * step), rtol=1e-6, atol=1e-6)
    priors = [p for p in target.priors if isinstance(p, Normal)]
    laws = sum(stats.norm.logpdf(t, p.location, p.scale) for t, p in zip(theta, priors))
    if target.labels[-1] == "sigma":
        laws += stats.t.logpdf(np.exp(theta[-1]), 3, 0, 2.5 * PLACE.std()) + theta[-1]
    np.testing.assert_allclose(log_prior(target.prior, theta), laws, rtol=1e-9)


# What is reported and said


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.05, 100)])
def test_results_have_names_and_say_that_there_may_be_two_modes(rule: Any) -> None:
    random = np.random.default_rng(2)
    x = np.where(random.random(3000) < 0.3, random.normal(-1, 0.5, 3000), random.normal(2, 0.5, 3000))
    common = settings(draws=400, warmup=100, acceptance=rule)
    tree = au.sample(GaussianMixture(weights=(0.3, 0.7)), x, **common)
    means = {name: float(values.mean()) for name, values in tree["posterior"].items()}
    assert list(means) == ["theta1", "theta2", "sigma"]
    np.testing.assert_allclose(list(means.values()), [-1, 3, 0.5], atol=0.1)
    assert "two modes, of which the search finds one" in tree.attrs["notes"]
    model = json.loads(tree.attrs["settings"])["model"]
    assert model["weights"] == [0.3, 0.7] and model["sigma"] is None
    tree = au.sample(Gaussian(mean=1.1), x, **common)
    assert list(tree["posterior"]) == ["sigma"]
    np.testing.assert_allclose(float(tree["posterior"]["sigma"].mean()), np.sqrt(np.mean((x - 1.1) ** 2)), rtol=0.02)


def test_cores_and_resuming_change_no_bit(tmp_path: Any) -> None:
    x = np.random.default_rng(2).normal(size=3000)
    for model in (Gaussian(), GaussianMixture(sigma=1.0)):
        store = str(tmp_path / type(model).__name__)
        common = {"acceptance": SequentialT(0.05, 100), "chains": 2, "warmup": 20, "progress": False}
        au.sample(model, x, draws=20, store=store, cores=2, **common)
        resumed = au.sample(model, x, draws=50, store=store, resume=True, cores=2, **common)
        whole = au.sample(model, x, draws=50, cores=1, **common)
        for name, values in whole["posterior"].items():
            np.testing.assert_array_equal(values, resumed["posterior"][name])


# Bad input

TWO = np.column_stack([PLACE, PLACE[::-1]])
SHORT: dict[str, Any] = {"progress": False, "draws": 5, "warmup": 5}
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "response": (lambda: au.sample(Gaussian(), PLACE, PLACE, **SHORT), "density of the rows .* but y was given as a r"),
    "two columns": (lambda: au.sample(Gaussian(), TWO, **SHORT), r"one column, but the rows have 2 \(x0, x1\): choose"),
    "intercept": (lambda: au.sample(Gaussian(), PLACE, intercept=True, **SHORT), "Gaussian has none: leave them out"),
    "standardize": (lambda: au.sample(GaussianMixture(), PLACE, standardize=True, **SHORT), "Mixture has none"),
    "offset": (lambda: au.sample(Gaussian(), PLACE, offset=PLACE, **SHORT), "offset is for models with linear predict"),
    "constant": (lambda: au.sample(Gaussian(), 0 * PLACE + 3, **SHORT), "x0 is 3 in every row, so Gaussian has"),
    "nothing to sample": (lambda: Gaussian(mean=0, sigma=1), "leaves nothing to sample: leave out one of them"),
    "mean": (lambda: Gaussian(mean="zero"), r"Gaussian\(mean='zero'\): give a finite number, or None"),
    "prior of a known mean": (lambda: Gaussian(mean=0, prior=Normal(0, 1)), "the mean, which is fixed: leave it out"),
    "sigma": (lambda: Gaussian(sigma=-1), r"Gaussian\(sigma=-1\): give a positive number"),
    "no prior": (lambda: au.sample(Gaussian(prior=3), PLACE, **SHORT), "prior=3 is no prior: give one such as Normal"),
    "one component": (lambda: GaussianMixture(weights=(1.0,)), "two components, and there are 1 weights: take"),
    "three": (lambda: GaussianMixture(weights=(0.2, 0.3, 0.5)), "two components, and there are 3 weights: give the w"),
    "sum": (lambda: GaussianMixture(weights=(0.5, 0.6)), r"weights=\(0.5, 0.6\)\): give two positive numbers that sum"),
    "negative": (lambda: GaussianMixture(weights=(-0.5, 1.5)), "give two positive numbers that sum to 1"),
    "no weights": (lambda: GaussianMixture(weights=0.5), "give the weights of the two components, such as"),
    "three priors": (
        lambda: au.sample(GaussianMixture(prior=[Normal()] * 3), PLACE, **SHORT),
        "prior has 3 entries for 2 coefficients",
    ),
    "flat": (
        lambda: au.sample(GaussianMixture(prior=Flat()), PLACE, **SHORT),
        "the prior of theta2 is Flat, but however far .* so there is no posterior: give a proper prior",
    ),
    "two values": (
        lambda: au.sample(GaussianMixture(), np.array([1.0, 3.0] * 20), **SHORT),
        r"every value of x0 lies on a component to within rounding \(sigma falls to 0.*: give sigma= a value",
    ),
    "start": (lambda: au.sample(Gaussian(), PLACE, start=[1.0, -1.0], **SHORT), "start gives sigma the value -1"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_gets_a_sentence(fault: str) -> None:
    call, sentence = BAD[fault]
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)

"""LAD, quantile and Huber likelihoods: (coefficient, scale) on few rows against a grid, options, and their step sizes.

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
from engine_drivers import settings
from grid_truth import Case, Grid, moved
from scipy import integrate, special, stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import engine
from austerity.engine.prior import log_prior
from austerity.errors import InputError
from austerity.models import LAD, Huber, Quantile
from austerity.models.kernels import check_loss
from austerity.priors import Flat, Laplace, Normal, StudentT
from austerity.proposals import RandomWalk
from austerity.rows import derivatives, passes
from austerity.standin.mode import find_mode

SEED, CHAINS, FEWER, STEPS = 0, 3000, 800, 40
TAU, DELTA = 0.8, 0.7
HUBER_MASS = 2.0 * integrate.quad(lambda z: np.exp(-special.huber(DELTA, z)), 0, np.inf, epsabs=0, epsrel=1e-13)[0]
PRIORS = {"prior": Normal(0, 2), "scale_prior": StudentT(3, 0, 0.5)}


def lad(e: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.asarray(stats.laplace.logpdf(e, 0, s))


def quantile(e: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(TAU * (1 - TAU) / s) - np.where(e > 0, TAU * e, (TAU - 1) * e) / s)


def huber(e: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.asarray(-special.huber(DELTA, e / s) - np.log(s * HUBER_MASS))


FAMILIES: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray]]] = {
    "lad": (LAD, lad),
    "quantile": (lambda **given: Quantile(TAU, **given), quantile),
    "huber": (lambda **given: Huber(DELTA, **given), huber),
}
EVERY = pytest.mark.parametrize("family", FAMILIES)


@lru_cache(maxsize=8)
def small(family: str) -> Case:
    """Twelve rows with heavy tails: (beta, scale), the scale held as a logarithm, its prior on the natural scale."""
    random = np.random.default_rng(5)
    x = random.normal(size=12)
    y = 0.8 * x + random.standard_t(2, 12)
    make, density = FAMILIES[family]

    def log_density(beta: np.ndarray, scale: np.ndarray) -> np.ndarray:
        terms = sum(density(response - beta * value, scale) for value, response in zip(x, y, strict=True))
        return np.asarray(terms + stats.norm.logpdf(beta, 0, 2) + stats.t.logpdf(scale, 3, 0, 0.5))

    grid = Grid(log_density, ((-8.0, 8.0), (1e-3, 12.0)), SEED)
    return Case(make(**PRIORS), x[:, None], y, grid, {}, ("beta", "scale"))


@lru_cache(maxsize=1)
def with_everything() -> Case:
    """Known scale, intercept, standardisation, weights, offset and a temperature: (intercept, slope)."""
    random = np.random.default_rng(9)
    x, weights, offset = 3.0 + 5.0 * random.normal(size=40), random.integers(0, 4, 40), random.normal(0, 1.5, 40)
    y = 1.0 + 0.3 * x + offset + random.laplace(0, 1.0, 40)
    mean, sd, outer, inner = x.mean(), x.std(), stats.norm(-1, 1.5), stats.laplace(0, 0.5)

    def log_density(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        rows = zip(x, y, weights, offset, strict=True)
        terms = sum(w * quantile(response - first - second * value - o, 0.9) for value, response, w, o in rows)
        return np.asarray(terms / 2.0 + outer.logpdf(first + second * mean) + inner.logpdf(second * sd))

    model = Quantile(TAU, scale=0.9, prior=Laplace(0, 0.5), intercept_prior=Normal(-1, 1.5))
    options = {"intercept": True, "standardize": True, "weights": weights, "offset": offset, "temperature": 2.0}
    return Case(model, x[:, None], y, Grid(log_density, ((-20.0, 20.0), (-3.0, 3.0)), SEED), options)


def off(case: Case, rule: Any, chains: int, model: Any = None) -> float:
    """How far draws are from the truth after some steps, as a multiple of what right ones stay below."""
    draws = moved(case, rule, RandomWalk(), chains, STEPS, SEED, model)
    return case.grid.distance(draws) / case.grid.limit(chains)


@pytest.mark.statistical
@EVERY
def test_coefficient_and_scale_follow_the_grid(family: str) -> None:
    """False-fail rate 3e-6 each."""
    assert off(small(family), Exact(), CHAINS) < 1


@pytest.mark.statistical
@EVERY
def test_sequential_test_follows_it_too(family: str) -> None:
    """False-fail rate 3e-6 each: batch 7 does not divide the number of rows, so the last batch is a short one."""
    assert off(small(family), SequentialT(0.0, 7), FEWER) < 1


@pytest.mark.statistical
@pytest.mark.parametrize(("rule", "chains"), [(Exact(), CHAINS), (SequentialT(0.0, 7), FEWER)])
def test_all_options_together_follow_the_grid(rule: Any, chains: int) -> None:
    """False-fail rate 3e-6 each."""
    assert off(with_everything(), rule, chains) < 1


# Negative controls


@engine
def without_the_scale(eta, y, extras, out):
    """The loss alone, as where it is minimised: the constant that belongs to the scale is left out."""
    check_loss.value(eta, y, extras, out)
    for i in range(out.size):
        out[i] += np.log(extras[0])


@dataclass(frozen=True, eq=False)
class Unnormalised(LAD):
    """A scale that may grow without being charged for it."""

    def kernels(self) -> tuple[Any, Any]:
        return without_the_scale, check_loss.slopes


WRONG = {
    "normalising constant of the scale": ("lad", Unnormalised(**PRIORS)),
    "twice the scale": ("lad", Quantile(0.5, **PRIORS)),
    "tau mirrored": ("quantile", Quantile(1 - TAU, **PRIORS)),
    "prior dropped": ("lad", LAD(prior=Flat(), scale_prior=StudentT(3, 0, 50.0))),
    "another corner": ("huber", Huber(10.0, **PRIORS)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("fault", WRONG)
def test_wrong_kernels_are_caught(fault: str) -> None:
    family, model = WRONG[fault]
    assert off(small(family), Exact(), CHAINS, model) > 1.5


# Against NumPy, without chance


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@EVERY
def test_the_log_posterior_is_that_of_numpy(family: str, dtype: str) -> None:
    """Sums over all rows and the prior, constants and the Jacobian of log scale included."""
    case, (make, density) = small(family), FAMILIES[family]
    target = make(**PRIORS).bind(au.rows.open(case.X, case.y, dtype=dtype, centre_response=True), False, False)
    theta = np.array([[0.3, -0.4], [1.5, 0.7], [-2.0, 1.0]])
    sums, status = passes.sums(target.problem, theta)
    assert status == 0
    for found, (beta, log_scale) in zip(sums, theta, strict=True):
        expected = density(case.y - beta * case.X[:, 0], np.exp(log_scale)).sum()
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-12)
    prior = stats.norm.logpdf(0.3, 0, 2) + stats.t.logpdf(np.exp(-0.4), 3, 0, 0.5) - 0.4
    np.testing.assert_allclose(log_prior(target.prior, theta[0]), prior, rtol=1e-12)


@EVERY
def test_derivatives_of_the_rounded_sum(family: str) -> None:
    """Central differences of the sum that the search for the mode climbs, in theta."""
    case, (make, _) = small(family), FAMILIES[family]
    target = make(**PRIORS).bind(au.rows.open(case.X, case.y, dtype="float64"), True, True)
    kernels, theta, step = (target.rounded, target.kernels[1]), np.array([0.2, 0.5, -0.1]), 1e-5
    _, gradient, curvature = derivatives.derivatives(target.problem, kernels, theta)
    for k in range(3):
        up, down = (
            derivatives.derivatives(target.problem, kernels, theta + sign * step * np.eye(3)[k]) for sign in (1, -1)
        )
        np.testing.assert_allclose(gradient[k], (up[0] - down[0]) / (2 * step), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(curvature[k], (up[1] - down[1]) / (2 * step), rtol=1e-6, atol=1e-6)


# Mode and step sizes


def rows_of(kind: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng([SEED, n_rows])
    X = random.normal(size=(n_rows, 3)) * [1.0, 0.1, 30.0]
    eta = X @ [1.0, -3.0, 0.02]
    if kind == "whole numbers":
        return X, np.round(eta + random.laplace(size=n_rows))
    noise = random.standard_cauchy(n_rows) if kind == "cauchy" else random.exponential(size=n_rows)
    return X, 1e3 + eta + noise


@pytest.mark.parametrize("n_rows", [60, 3000, 100_000])
@pytest.mark.parametrize("kind", ["cauchy", "skewed", "whole numbers"])
def test_default_steps_fit(kind: str, n_rows: int) -> None:
    """A random walk scaled from the curvature is accepted as often as it should be, whatever the noise.

    A fixed check of default settings, with room: a step twice or half as long as the best one stays within.
    """
    X, y = rows_of(kind, n_rows)
    for model in (LAD(), Quantile(0.9), Huber(), Huber(0.02), LAD(scale=0.05), LAD(scale=20.0)):
        draws = {"draws": 100, "warmup": 50, "chains": 4, "acceptance": Exact()}
        tree = au.sample(model, X, y, intercept=True, **settings(**draws))
        assert 0.08 < tree["sample_stats"]["accepted"].values.mean() < 0.6, model


@pytest.mark.parametrize(("n_rows", "least"), [(200, 3.0), (5000, 1.2), (200_000, 0.25)])
def test_the_mode_is_the_sample_quantile(n_rows: int, least: float) -> None:
    """With an intercept alone and no prior to speak of, within `least` sd of the posterior, and with that sd.

    Over 12 seeds (3 of the last) it was off by at most 2.0, 0.8 and 0.12 sd, and the sd itself by at most 22 %.
    """
    y = np.random.default_rng(n_rows).exponential(size=n_rows)
    for tau in (0.1, 0.5, 0.9):
        model = Quantile(tau, prior=Normal(0, 100))
        mode = find_mode(model.bind(au.rows.open(np.ones(n_rows), y, centre_response=True), False, False))
        sd = float(mode.root[0, 0])
        density = 1 - tau  # of the exponential distribution at its quantile
        scale = np.exp(mode.theta[1])
        assert abs(mode.theta[0] - np.quantile(y, tau)) < least * sd
        assert 0.7 < sd / np.sqrt(scale / (n_rows * density)) < 1.4
        assert mode.converged


def test_what_is_said_of_the_mode() -> None:
    X, y = rows_of("skewed", 500)
    tree = au.sample(LAD(), X, y, **settings(draws=5, warmup=0, intercept=True))
    assert "the kink of the loss rounded off" in tree.attrs["notes"]
    assert json.loads(tree.attrs["settings"])["model"]["scale"] is None


# Bad input

X, Y = rows_of("skewed", 50)
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "tau 0": (lambda: Quantile(0.0), r"Quantile\(tau=0.0\): give a number between 0 and 1"),
    "tau 1": (lambda: Quantile(1), r"Quantile\(tau=1\): give a number between 0 and 1"),
    "tau 90": (lambda: Quantile(90), r"tau=90\)"),
    "tau NaN": (lambda: Quantile(float("nan")), "between 0 and 1"),
    "tau text": (lambda: Quantile("median"), "between 0 and 1"),
    "delta 0": (lambda: Huber(0.0), r"Huber\(delta=0.0\): give a positive number of scales"),
    "delta -1": (lambda: Huber(-1), "give a positive number of scales"),
    "delta infinite": (lambda: Huber(float("inf")), "give a positive number of scales"),
    "scale 0": (lambda: LAD(scale=0), r"LAD\(scale=0\): give a positive number, or None to sample it"),
    "scale of a quantile": (lambda: Quantile(0.5, scale=-1), r"Quantile\(scale=-1\): give a positive number"),
    "constant": (lambda: au.sample(LAD(), X, 0 * Y + 7, progress=False), "y is 7 in every row, so LAD has nothing"),
    "no response": (lambda: au.sample(Huber(), X, progress=False), "Huber needs a response: pass y="),
    "prior": (lambda: au.sample(LAD(scale_prior=1.0), X, Y, progress=False), "the prior of scale is 1.0"),
    "perfect fit": (
        lambda: au.sample(LAD(), X, X @ [1.0, 2.0, 3.0], progress=False),
        r"reproduce y to within rounding \(scale falls to 0, here .*\), so there is no posterior: give scale= a value",
    ),
    "collinear and flat": (
        lambda: au.sample(LAD(prior=Flat()), np.c_[X, X[:, 0]], Y, progress=False),
        "collinear and their priors are flat, so there is no posterior",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_gets_a_sentence(fault: str) -> None:
    call, sentence = BAD[fault]
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)

"""The families' kernels against SciPy's distributions and finite differences, in either precision, and far out."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import integrate, special, stats

from austerity.engine.jit import ENGINE
from austerity.models.kernels import (
    check_loss,
    gaussian_mixture,
    huber,
    ica,
    linear,
    logistic,
    multinomial,
    negative_binomial,
    poisson,
    poisson_softplus,
    probit,
    student_t,
)

ROWS = 333  # not a multiple of any vector's width


@dataclass(frozen=True)
class Case:
    """A family: its kernels, how to draw responses, its log-density and what of it `value` leaves out."""

    module: ModuleType
    respond: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    density: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    omitted: Callable[[np.ndarray], np.ndarray | float]
    extras: tuple[float, ...] = ()
    predictors: int = 1
    responds: bool = True  # False: a density of the row itself, whose kernel does not look at y
    fixed: int = 0  # how many of the extras are never sampled
    smooth: str = "value"  # the function of which slopes are the derivatives

    @property
    def size(self) -> int:
        """How many derivatives `slopes` gives."""
        return self.predictors + len(self.extras) - self.fixed


def coin(random: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return random.integers(0, 2, eta.shape[1])


def counts(random: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return random.poisson(np.exp(np.clip(eta[0], -5, 5)))


def near(random: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return eta[0] + random.normal(0, 0.5, eta.shape[1])


def heavy(random: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return eta[0] + random.standard_t(3, eta.shape[1])


def labels(random: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return random.integers(0, eta.shape[0] + 1, eta.shape[1])


def nothing(y: np.ndarray) -> float:
    return 0.0


def log_factorial(y: np.ndarray) -> np.ndarray:
    return -special.gammaln(y + 1)


def half_log_two_pi(y: np.ndarray) -> float:
    return -0.5 * np.log(2 * np.pi)


def multinomial_density(eta: np.ndarray, y: np.ndarray, extras: np.ndarray) -> np.ndarray:
    full = np.vstack([np.zeros(y.size), eta])
    return full[y.astype(int), np.arange(y.size)] - special.logsumexp(full, axis=0)


def negative_binomial_density(eta: np.ndarray, y: np.ndarray, extras: np.ndarray) -> np.ndarray:
    return stats.nbinom.logpmf(y, extras[0], extras[0] / (extras[0] + np.exp(eta[0])))


CORNER = 1.3
HUBER_MASS = 2.0 * integrate.quad(lambda z: np.exp(-special.huber(CORNER, z)), 0, np.inf, epsabs=0, epsrel=1e-13)[0]


def asymmetric_laplace(eta: np.ndarray, y: np.ndarray, extras: np.ndarray) -> np.ndarray:
    """SciPy's, whose rates are kappa / scale above and 1 / (kappa scale) below."""
    scale, up, down = extras[:3]
    return stats.laplace_asymmetric.logpdf(y, np.sqrt(up / down), eta[0], scale / np.sqrt(up * down))


def huber_density(eta: np.ndarray, y: np.ndarray, extras: np.ndarray) -> np.ndarray:
    return -special.huber(CORNER, (y - eta[0]) / extras[0]) - np.log(extras[0] * HUBER_MASS)


def mixture_density(eta: np.ndarray, y: np.ndarray, extras: np.ndarray) -> np.ndarray:
    return special.logsumexp([stats.norm.logpdf(y, e, extras[0]) + w for e, w in zip(eta, extras[1:], strict=True)], 0)


CASES = {
    "logistic": Case(logistic, coin, lambda e, y, x: stats.bernoulli.logpmf(y, special.expit(e[0])), nothing),
    "probit": Case(probit, coin, lambda e, y, x: stats.norm.logcdf((2 * y - 1) * e[0]), nothing),
    "linear": Case(linear, near, lambda e, y, x: stats.norm.logpdf(y, e[0], x[0]), half_log_two_pi, extras=(0.3,)),
    "student_t": Case(
        student_t,
        heavy,
        lambda e, y, x: stats.t.logpdf(y, x[1], e[0], x[0]),
        lambda y: -0.5 * np.log(np.pi),
        extras=(0.6, 3.5),
    ),
    "poisson": Case(poisson, counts, lambda e, y, x: stats.poisson.logpmf(y, np.exp(e[0])), log_factorial),
    "poisson_softplus": Case(
        poisson_softplus,
        counts,
        lambda e, y, x: stats.poisson.logpmf(y, np.logaddexp(0, e[0])),
        log_factorial,
    ),
    "negative_binomial": Case(negative_binomial, counts, negative_binomial_density, log_factorial, extras=(2.3,)),
    "multinomial": Case(multinomial, labels, multinomial_density, nothing, predictors=4),
    "lad": Case(
        check_loss,
        near,
        lambda e, y, x: stats.laplace.logpdf(y, e[0], x[0]),
        nothing,
        extras=(0.6, 1.0, 1.0, 0.5),
        fixed=3,
        smooth="rounded",
    ),
    "quantile": Case(
        check_loss, near, asymmetric_laplace, nothing, extras=(0.6, 0.8, 0.2, 0.5), fixed=3, smooth="rounded"
    ),
    "huber": Case(
        huber, near, huber_density, nothing, extras=(0.3, CORNER, np.log(HUBER_MASS), 0.0), fixed=3, smooth="rounded"
    ),
    "huber, wide corner": Case(
        huber, near, huber_density, nothing, extras=(0.3, CORNER, np.log(HUBER_MASS), 2.0), fixed=3, smooth="rounded"
    ),
    "gaussian_mixture": Case(
        gaussian_mixture,
        near,
        mixture_density,
        nothing,
        extras=(0.7, np.log(0.3), np.log(0.7)),
        predictors=2,
        fixed=2,
    ),
    "ica": Case(
        ica,
        lambda r, e: np.zeros(e.shape[1]),
        lambda e, y, x: stats.logistic.logpdf(e).sum(axis=0),
        nothing,
        predictors=4,
        responds=False,
    ),
}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def draw(case: Case, seed: int, spread: float = 1.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictors, responses and extras of one block."""
    random = np.random.default_rng(seed)
    eta = random.normal(0, spread, (case.predictors, ROWS))
    return eta, case.respond(random, eta).astype(float), np.array(case.extras)


def values(
    case: Case, eta: np.ndarray, y: np.ndarray, extras: np.ndarray, kind: type = np.float64, name: str = "value"
) -> np.ndarray:
    """The value kernel on a block, as float64."""
    out = np.empty(y.size, kind)
    getattr(case.module, name)(np.ascontiguousarray(eta, kind), np.ascontiguousarray(y, kind), extras, out)
    return out.astype(float)


def slopes(
    case: Case, name: str, eta: np.ndarray, y: np.ndarray, extras: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and curvature of a block; NaN where the kernel left a hole."""
    gradient, curvature = np.full((size, y.size), np.nan), np.full((size, size, y.size), np.nan)
    getattr(case.module, name)(eta, y, extras, gradient, curvature)
    return gradient, curvature


def moved(case: Case, eta: np.ndarray, extras: np.ndarray, which: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Predictors and extras after a step of one predictor, or of the logarithm of one extra."""
    eta, extras = eta.copy(), extras.copy()
    if which < case.predictors:
        eta[which] += step
    else:
        extras[which - case.predictors] *= np.exp(step)
    return eta, extras


# ---- values ----


@EVERY
def test_value_is_the_log_density(case: Case) -> None:
    """In float64, up to the terms in y alone that the family leaves out. SciPy itself is good to some 1e-13 here."""
    for seed in range(3):
        eta, y, extras = draw(case, seed)
        expected = case.density(eta, y, extras) - case.omitted(y)
        np.testing.assert_allclose(values(case, eta, y, extras), expected, rtol=2e-12, atol=2e-12)


@EVERY
def test_float32_agrees_with_float64(case: Case) -> None:
    """On the same rounded inputs; the error is a few units in the last place of the largest term, η y or the value."""
    for seed in range(3):
        eta, y, extras = draw(case, seed)
        eta, y = eta.astype(np.float32).astype(float), y.astype(np.float32).astype(float)
        single, double = values(case, eta, y, extras, np.float32), values(case, eta, y, extras)
        scale = 1 + np.abs(double) + np.abs(y) * np.max(np.abs(eta), axis=0)
        assert np.max(np.abs(single - double) / scale) < 3 * np.finfo(np.float32).eps


def mean_shift(case: Case, kind: type, rounded: bool = False) -> float:
    """Mean difference from float64 over 66,600 rows, over the terms' mean size; `rounded`: float32 extras as well."""
    total = size = 0.0
    for seed in range(200):
        eta, y, extras = draw(case, seed)
        eta, y = eta.astype(np.float32).astype(float), y.astype(np.float32).astype(float)
        double = values(case, eta, y, extras)
        other = extras.astype(np.float32).astype(float) if rounded else extras
        total += float(np.sum(values(case, eta, y, other, kind) - double))
        size += float(np.sum(1 + np.abs(double)))
    return abs(total) / size


@EVERY
@pytest.mark.statistical
def test_float32_errors_do_not_add_up(case: Case) -> None:
    """The mean error is below 6e-9 of a term, so a sum over 1e6 rows is good to about .01.

    Over 20 seeds it was at most 3.3e-9 (Student-t, sd 1.5e-10) and otherwise below 2.1e-9 with an sd below 7e-10: the
    false-fail rate is below 1e-7.
    """
    assert mean_shift(case, np.float32) < 6e-9


def test_rounded_scales_would_add_up() -> None:
    """Negative control: scales rounded to float32, everything else in float64, shift the mean by more than that."""
    assert mean_shift(CASES["linear"], np.float64, rounded=True) > 1e-8
    assert mean_shift(CASES["student_t"], np.float64, rounded=True) > 1e-8


@pytest.mark.parametrize("shape", [0.02, 1.0, 50.0, 1e6, 1e12])
def test_negative_binomial_keeps_its_limit(shape: float) -> None:
    """For large shapes it is Poisson's plus ((y - μ)² - y) / (2 r); nothing is lost to the difference of two log Γ."""
    case = CASES["negative_binomial"]
    eta, y, _ = draw(case, 1)
    result = values(case, eta, y, np.array([shape]))
    if shape < 1e5:
        expected = negative_binomial_density(eta, y, np.array([shape])) + special.gammaln(y + 1)
        np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-11)
    else:
        mean = np.exp(eta[0])
        poisson = y * eta[0] - mean + ((y - mean) ** 2 - y) / (2 * shape)
        # The next term is of order μ (μ / r)².
        np.testing.assert_allclose(result, poisson, rtol=1e-9, atol=1e-7 if shape < 1e7 else 1e-11)


# ---- slopes ----

SLOPES = [(name, "slopes", case.size) for name, case in CASES.items()]
SLOPES += [("linear", "slopes_known", 1), ("student_t", "slopes_scale", 2)]
SLOPES += [("student_t", "slopes_known", 1), ("negative_binomial", "slopes_known", 1)]
SLOPES += [("lad", "slopes_known", 1), ("quantile", "slopes_known", 1), ("huber", "slopes_known", 1)]
SLOPES += [("gaussian_mixture", "slopes_known", 2)]


@pytest.mark.parametrize("family, name, size", SLOPES)
def test_slopes_are_the_derivatives(family: str, name: str, size: int) -> None:
    """Central differences: of the value for the gradient, of the gradient for the curvature; every entry is filled."""
    case = CASES[family]
    eta, y, extras = draw(case, 4)
    gradient, curvature = slopes(case, name, eta, y, extras, size)
    step = 2e-5
    whole = {"kind": np.float64, "name": case.smooth}
    for a in range(size):
        up, down = moved(case, eta, extras, a, step), moved(case, eta, extras, a, -step)
        difference = (values(case, up[0], y, up[1], **whole) - values(case, down[0], y, down[1], **whole)) / (2 * step)
        np.testing.assert_allclose(gradient[a], difference, rtol=1e-7, atol=1e-7)
        after, before = (slopes(case, name, place[0], y, place[1], size)[0] for place in (up, down))
        np.testing.assert_allclose(curvature[a], (after - before) / (2 * step), rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(curvature, np.swapaxes(curvature, 0, 1))


# ---- extremes ----

FAR = {
    # predictor, response, value in the limit
    "logistic": [(1e4, 1, 0), (1e4, 0, -1e4), (-1e4, 1, -1e4), (-1e4, 0, 0)],
    "probit": [(1e4, 1, 0), (-1e4, 0, 0), (-100, 1, stats.norm.logcdf(-100))],
    "linear": [(1e4, 0, -0.5e8 / 0.3**2 - np.log(0.3))],
    "poisson": [(-1e4, 0, 0), (-1e4, 3, -3e4), (1e4, 3, -np.inf)],
    "poisson_softplus": [(-1e3, 0, 0), (-1e3, 2, -2e3), (1e4, 2, 2 * np.log(1e4) - 1e4)],
    "negative_binomial": [(-1e4, 0, 0), (1e4, 0, 2.3 * (np.log(2.3) - 1e4))],
    "multinomial": [(1e4, 0, -1e4 - np.log(4)), (1e4, 2, -np.log(4)), (-1e4, 0, 0), (-1e4, 1, -1e4)],
    "lad": [(1e4, 0, -1e4 / 0.6 - np.log(1.2))],
    "quantile": [(-1e4, 0, -0.8e4 / 0.6 + np.log(0.16 / 0.6)), (1e4, 0, -0.2e4 / 0.6 + np.log(0.16 / 0.6))],
    "huber": [(1e4, 0, -CORNER * (1e4 / 0.3 - CORNER / 2) - np.log(0.3 * HUBER_MASS))],
    "gaussian_mixture": [(1e4, 0, stats.norm.logpdf(1e4, 0, 0.7))],
    "ica": [(1e4, 0, -4e4), (-1e4, 0, -4e4)],
    "student_t": [(1e4, 0, stats.t.logpdf(1e4, 3.5, 0, 0.6) + 0.5 * np.log(np.pi))],
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("family", FAR)
def test_extremes(family: str, kind: type) -> None:
    """Far out the values are the limits, in whole vectors and in what is left over; nothing turns into NaN."""
    case = CASES[family]
    for place, response, expected in FAR[family]:
        result = values(case, np.full((case.predictors, 77), place), np.full(77, response), np.array(case.extras), kind)
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(kind).eps, atol=4 * np.finfo(kind).eps)


@EVERY
def test_slopes_stay_finite_far_out(case: Case) -> None:
    """At predictors of ±300, where e^η is still a float64, no slope is NaN or infinite."""
    for place in (-300.0, 300.0):
        eta, y, extras = draw(case, 7)
        gradient, curvature = slopes(case, "slopes", np.full_like(eta, place), y, extras, case.size)
        assert np.all(np.isfinite(gradient)) and np.all(np.isfinite(curvature))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@EVERY
def test_nan_comes_through(case: Case, kind: type) -> None:
    """NaN in a predictor or in the response gives NaN in its own row only."""
    eta, y, extras = draw(case, 8)
    for row in range(0, ROWS, 7):
        eta[row % case.predictors, row] = np.nan
    y[3::7] = np.nan
    missing = (np.isnan(y) & case.responds) | np.isnan(eta).any(axis=0)
    np.testing.assert_array_equal(np.isnan(values(case, eta, y, extras, kind)), missing)


# ---- the machine code ----


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for the x86 names of instructions")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@EVERY
def test_the_loop_is_vectorised(case: Case, kind: type) -> None:
    """Packed multiplications, and no call of a library's exp, log or log1p."""
    eta, y, extras = draw(case, 9)
    fresh: Any = njit(**ENGINE)(case.module.value.py_func)  # code from the cache on disk cannot be looked into
    fresh(eta.astype(kind), y.astype(kind), extras, np.empty(ROWS, kind))
    (code,) = fresh.inspect_asm().values()
    assert re.search(r"v?(mul|fn?m(add|sub)\d*)p[sd]", code)
    loops = [line for line in code.splitlines() if re.search(r"\b(expf?|log1pf?|erfcf?|lgammaf?)\b", line)]
    assert not loops

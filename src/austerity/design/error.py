"""What a sequential test gets wrong and what it reads, before it is run.

    E(mu_std)   = P(the test decides against the sign of mu_std),   mu_std = (mu - mu0) sqrt(N - 1) / sigma
    share       = expected rows read / N
    Delta       = int_{P_a}^1 E(mu_std(u)) du - int_0^{P_a} E(mu_std(u)) du,      P_a = min(1, e^{N mu + log A0})

mu is the mean of all N terms, mu0 = (log u - log A0) / N and sigma the terms' sd with divisor N. The normal
approximation to the batch means is assumed throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..decisions.boundaries import CONSTANT, Boundary, look_sizes
from ..errors import InputError
from .first_passage import Array
from .looks import Critical, critical_values, outcome

FloatOrArray: TypeAlias = float | Array

SMALLEST_CELLS = 16
CURVE_POINTS = 257
LARGEST_MEAN = 20.0  # in sds of the first look; beyond it a stop is certain as soon as the mean has passed G
FARTHEST = 45.0  # e^-45 = 3e-20 is left out of integrals over log u
STEPS = 64  # each side of a double-exponential rule
NORMAL_NODES = 96


@dataclass(frozen=True)
class TestError:
    """Error and data share of a sequential test, with the shape of mu_std.

    looks (K,): rows read at each look; stop (..., K): probability of stopping there. Tests of more than 5000 looks
    have neighbouring looks taken together; uncertainty is then about what this adds to error and data_share, at most.
    """

    __test__: ClassVar[bool] = False  # not a test case, whatever pytest makes of the name

    error: FloatOrArray
    data_share: FloatOrArray
    looks: NDArray[np.int64]
    stop: Array
    uncertainty: float = 0.0


@dataclass(frozen=True)
class AcceptanceError:
    """What a sequential test does to one acceptance probability (or to an array of them).

    acceptance: the exact P_a; delta: the test's acceptance probability minus P_a; wrong: probability over u that the
    decision differs from the exact one at the same u; data_share: expected share of rows read.
    """

    acceptance: FloatOrArray
    delta: FloatOrArray
    wrong: FloatOrArray
    data_share: FloatOrArray


def error(
    n_total: int,
    batch: int,
    epsilon: float,
    mu_std: ArrayLike,
    boundary: Boundary = CONSTANT,
    cells: int | None = None,
    critical: Critical = "normal",
) -> TestError:
    """E(mu_std), the expected data share and the probability of stopping at each look.

    mu_std: a number or an array of any shape. cells: nodes of the grid over (-G_j, G_j); by default as many as leave
    an error of about 1e-12. critical: "normal", or "t" for Student critical values against the same normal process.
    """
    if cells is not None and (cells != int(cells) or cells < SMALLEST_CELLS):
        raise InputError(f"cells={cells!r} is not a whole number of at least {SMALLEST_CELLS}; leave it out.")
    drifts = np.asarray(mu_std, dtype=np.float64)
    if not np.all(np.isfinite(drifts)):
        raise InputError("mu_std holds a value that is not finite; give (mu - mu0) sqrt(N - 1) / sigma with sigma > 0.")
    found = outcome(n_total, batch, epsilon, np.abs(drifts.ravel()), boundary, critical, cells)
    return TestError(
        error=_shaped(found.error, drifts.shape),
        data_share=_shaped(found.data_share, drifts.shape),
        looks=found.sizes,
        stop=found.stop.reshape(*drifts.shape, found.sizes.size),
        uncertainty=found.uncertainty,
    )


class ErrorCurve:
    """E and the data share of one test as functions of mu_std, from a table and cubic splines (good to about 1e-6)."""

    def __init__(self, n_total: int, batch: int, epsilon: float, boundary: Boundary, critical: Critical) -> None:
        from scipy.interpolate import CubicSpline

        sizes = look_sizes(n_total, batch)
        levels = critical_values(epsilon, sizes, n_total, boundary, critical)
        early = sizes[:-1] / (sizes[-1] - sizes[:-1]).astype(np.float64)
        roots = np.sqrt(early) if early.size else np.ones(1)
        # E changes over mu_std of about 1 / sqrt(w) of the looks that decide: a grid of even steps in asinh does.
        self._unit = 0.5 / float(roots[-1])
        self._last = (min(max(float(levels[0]), 0.0), LARGEST_MEAN) + 9.0) / float(roots[0])
        # Past the table, the first look with |mu_std| sqrt(w_j) > G_j stops.
        with np.errstate(over="ignore"):  # Student's G may be near 1e308, and infinite will do
            self._passed = np.minimum.accumulate(np.maximum(levels[:-1], 0.0) / np.sqrt(early))[::-1]
        self._shares = (sizes / float(sizes[-1]))[::-1]
        grid = np.linspace(0.0, math.asinh(self._last / self._unit), CURVE_POINTS)
        found = outcome(n_total, batch, epsilon, self._unit * np.sinh(grid), boundary, critical, None)
        self._error: Callable[[Array], Array] = CubicSpline(grid, found.error)
        self._share: Callable[[Array], Array] = CubicSpline(grid, found.data_share)
        self.uncertainty = found.uncertainty

    def error(self, mu_std: ArrayLike) -> Array:
        """E(mu_std), with the shape of mu_std."""
        size = np.abs(np.asarray(mu_std, dtype=np.float64))
        inside = np.clip(self._error(np.arcsinh(np.minimum(size, self._last) / self._unit)), 0.0, 0.5)
        return np.where(size <= self._last, inside, 0.0)

    def data_share(self, mu_std: ArrayLike) -> Array:
        """Expected share of the rows, with the shape of mu_std."""
        size = np.abs(np.asarray(mu_std, dtype=np.float64))
        inside = self._share(np.arcsinh(np.minimum(size, self._last) / self._unit))
        outside = self._shares[np.searchsorted(self._passed, size, side="left")]
        return np.clip(np.where(size <= self._last, inside, outside), self._shares[-1], 1.0)


@lru_cache(maxsize=64)
def error_curve(
    n_total: int, batch: int, epsilon: float, boundary: Boundary = CONSTANT, critical: Critical = "normal"
) -> ErrorCurve:
    """The table of one test, built once."""
    return ErrorCurve(n_total, batch, epsilon, boundary, critical)


def acceptance_error(
    n_total: int,
    batch: int,
    epsilon: float,
    mean: ArrayLike,
    deviation: ArrayLike,
    log_a0: ArrayLike = 0.0,
    boundary: Boundary = CONSTANT,
    critical: Critical = "normal",
) -> AcceptanceError:
    """Error of the acceptance probability at one (theta, theta'), or at many: mean, deviation, log_a0 broadcast.

    mean = Lambda / N over all rows, deviation = sd of the terms with divisor N - 1, log_a0 = log A0. With
    L = N mean + log A0, k = sqrt(N) deviation and e = -log u ~ Exponential(1): mu_std(u) = (L + e) / k. A deviation of
    0 (identical terms) is no evidence to the test, which then reads all rows and decides exactly.
    """
    mean, deviation, log_a0 = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (mean, deviation, log_a0)))
    if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(log_a0))):
        raise InputError("mean or log_a0 holds a value that is not finite; drop pairs that are rejected unread.")
    if not np.all(np.isfinite(deviation) & (deviation >= 0.0)):
        raise InputError("deviation holds a value that is negative or not finite; give the terms' sample sd.")
    curve = error_curve(n_total, batch, epsilon, boundary, critical)
    level = (n_total * mean + log_a0).ravel()
    scale = (math.sqrt(n_total) * deviation).ravel()
    wrong_accepts, wrong_rejects, share = _over_thresholds(curve, level, np.where(scale > 0.0, scale, 1.0))
    known = scale > 0.0
    return AcceptanceError(
        acceptance=_shaped(np.exp(np.minimum(level, 0.0)), mean.shape),
        delta=_shaped(np.where(known, wrong_accepts - wrong_rejects, 0.0), mean.shape),
        wrong=_shaped(np.where(known, wrong_accepts + wrong_rejects, 0.0), mean.shape),
        data_share=_shaped(np.where(known, share, 1.0), mean.shape),
    )


def expected_data_share(
    n_total: int,
    batch: int,
    epsilon: float,
    boundary: Boundary = CONSTANT,
    sd_lambda: float = 1.0,
    critical: Critical = "normal",
) -> float:
    """Mean share of the rows read at equilibrium, when Lambda ~ N(-s^2/2, s^2), s = sd_lambda, and sqrt(N) sigma = s.

    Then mu_std = Z - s/2 + e/s with Z ~ N(0, 1) and e ~ Exponential(1). A random walk near its best has s of about 2.
    """
    if not (math.isfinite(sd_lambda) and sd_lambda > 0.0):
        raise InputError(f"sd_lambda={sd_lambda!r} is not a positive number; about 2 is usual for a random walk.")
    curve = error_curve(n_total, batch, epsilon, boundary, critical)
    points, weights = np.polynomial.legendre.leggauss(NORMAL_NODES)
    normal = 8.5 * points
    mass = weights * np.exp(-0.5 * normal**2)
    spread = np.full(NORMAL_NODES, float(sd_lambda))
    _, _, share = _over_thresholds(curve, spread * (normal - 0.5 * spread), spread)
    return float(share @ mass / mass.sum())


def _over_thresholds(curve: ErrorCurve, level: Array, scale: Array) -> tuple[Array, Array, Array]:
    """Integrals over e = -log u of e^-e E and e^-e share at (L + e)/k, L = level and k = scale, both (P,).

    Returns E over e < -L (exact rejects), E over e > -L (exact accepts) and the share over both. E has a kink
    at e = -L, so the range is split there; both ends of both parts may be steep, on any scale, which a
    double-exponential rule takes in its stride.
    """
    points, weights = _double_exponential()
    start = np.maximum(-level, 0.0)[:, None]
    length = np.minimum(start, FARTHEST)
    below = length * points
    mass = np.exp(-below) * length * weights
    mu_below = (start - below) / scale[:, None]
    beyond = FARTHEST * points
    mass_beyond = np.exp(-start - beyond) * FARTHEST * weights
    mu_beyond = (np.maximum(level, 0.0)[:, None] + beyond) / scale[:, None]
    share = np.sum(mass * curve.data_share(mu_below) + mass_beyond * curve.data_share(mu_beyond), axis=1)
    return np.sum(mass * curve.error(mu_below), axis=1), np.sum(mass_beyond * curve.error(mu_beyond), axis=1), share


@lru_cache(maxsize=1)
def _double_exponential() -> tuple[Array, Array]:
    """Nodes and weights of int_0^1 f(x) dx with x = 1 / (1 + exp(-pi sinh t)), t evenly spaced in [-3.2, 3.2]."""
    step = 3.2 / STEPS
    t = step * np.arange(-STEPS, STEPS + 1)
    points = 1.0 / (1.0 + np.exp(-math.pi * np.sinh(t)))
    return points, step * math.pi * np.cosh(t) * points * (1.0 - points)


def _shaped(values: Array, shape: tuple[int, ...]) -> FloatOrArray:
    """A float for a number in, an array for an array in."""
    return values.reshape(shape) if shape else float(values[0])

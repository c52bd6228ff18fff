"""When a sequential test may stop: critical values over its looks.

stop at look j when |t_j| > G_j,    G_j = G_0 pi_j^(0.5 - alpha),    G_0 = Phi^-1(1 - epsilon),    pi_j = n_j / N
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

LARGEST_ALPHA = 2.0
# Phi(-9) = 1e-19 is still far from underflow; past it Student quantiles are solved for in logarithms.
TAIL_START = 9.0
TAIL_TERMS = 20
NEWTON_STEPS = 8


class Boundary(Protocol):
    """A family G_j = G_0 pi_j^(0.5 - alpha); hashable, so designs can be cached by it."""

    def __hash__(self) -> int:
        """Equal boundaries have equal hashes."""

    @property
    def alpha(self) -> float:
        """Shape: 0.5 is constant, 1 is steep (hard to stop early), 0 lets a test stop early more easily."""

    def describe(self) -> str:
        """One line for reports."""


@dataclass(frozen=True)
class Pocock:
    """Constant critical values, G_j = G_0."""

    alpha: ClassVar[float] = 0.5

    def describe(self) -> str:
        return "Pocock boundary (the same critical value at every look)"


CONSTANT = Pocock()


@dataclass(frozen=True)
class OBrienFleming:
    """Critical values that fall with the data fraction, G_j = G_0 / sqrt(pi_j)."""

    alpha: ClassVar[float] = 1.0

    def describe(self) -> str:
        return "O'Brien-Fleming boundary (early looks stop only on strong evidence)"


@dataclass(frozen=True)
class WangTsiatis:
    """G_j = G_0 pi_j^(0.5 - alpha); alpha = 0.5 is Pocock's boundary, alpha = 1 O'Brien and Fleming's."""

    alpha: float

    def __post_init__(self) -> None:
        if not isinstance(self.alpha, Real) or not 0.0 <= float(self.alpha) <= LARGEST_ALPHA:
            raise InputError(
                f"alpha={self.alpha!r} of WangTsiatis is not within [0, {LARGEST_ALPHA:g}]; "
                "0.5 gives constant critical values and 1.0 O'Brien and Fleming's."
            )
        object.__setattr__(self, "alpha", float(self.alpha))

    def describe(self) -> str:
        return f"Wang-Tsiatis boundary with alpha = {self.alpha:g}"


def look_sizes(n_total: int, batch: int) -> NDArray[np.int64]:
    """n_j = min(j * batch, N) for j = 1 ... J = ceil(N / batch): rows read at each look.  Returns (J,).

    The last batch takes what is left, so every row can be reached.
    """
    if not _whole(n_total) or n_total < 2:
        raise InputError(f"n_total={n_total!r} is not a whole number of at least 2 rows; give the rows of the table.")
    if not _whole(batch) or batch < 2:
        raise InputError(
            f"batch={batch!r} is not a whole number of at least 2 rows, and a spread needs two; use batch=500 or so."
        )
    if batch > n_total:
        raise InputError(
            f"batch={batch} is more than the {n_total} rows there are; use a smaller batch or the exact decision."
        )
    n_looks = -(-int(n_total) // int(batch))
    sizes = np.arange(1, n_looks + 1, dtype=np.int64) * int(batch)
    sizes[-1] = int(n_total)
    return sizes


def critical_normal(epsilon: float, fractions: ArrayLike, boundary: Boundary) -> NDArray[np.float64]:
    """G_j = Phi^-1(1 - epsilon) pi_j^(0.5 - alpha).  fractions (J,) in (0, 1]; returns (J,).

    epsilon = 0 gives +inf (never stop early) and epsilon >= 0.5 gives -inf (decide at the first look, since
    |t| > -inf always).
    """
    epsilon = _checked_epsilon(epsilon)
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.ndim != 1 or not np.all((shares > 0.0) & (shares <= 1.0)):
        raise InputError("fractions must be a list of shares of the rows within (0, 1]; divide look sizes by n_total.")
    if epsilon == 0.0 or epsilon >= 0.5:
        return np.full(shares.shape, math.inf if epsilon == 0.0 else -math.inf)
    from scipy import special

    # -Phi^-1(epsilon), not Phi^-1(1 - epsilon): 1 - epsilon is 1 for epsilon below 1e-16.
    first = -float(special.ndtri(epsilon))
    return np.asarray(first * shares ** (0.5 - boundary.alpha), dtype=np.float64)


def critical_t(epsilon: float, sizes: ArrayLike, n_total: int, boundary: Boundary) -> NDArray[np.float64]:
    """G_j = F^-1_{n_j - 1}(Phi(G_0 pi_j^(0.5 - alpha))), F_v Student's cdf: the per-look level with v = n_j - 1.

    sizes (J,) as from look_sizes; returns (J,). A look that holds all n_total rows decides by sign: its G is 0.
    """
    counts = np.asarray(sizes, dtype=np.int64)
    if counts.ndim != 1 or not np.all((counts >= 2) & (counts <= n_total)):
        raise InputError(f"sizes must be a list of look sizes within [2, {n_total}]; take them from look_sizes.")
    normal = critical_normal(epsilon, counts / float(n_total), boundary)
    critical = normal.copy()
    inner = np.isfinite(normal) & (normal > 0.0)
    critical[inner] = _student_of_normal(normal[inner], (counts[inner] - 1).astype(np.float64))
    critical[counts == n_total] = 0.0
    return critical


def _whole(value: object) -> bool:
    """Is it a finite whole number?"""
    return (
        isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value) and value == math.floor(value)
    )


def _checked_epsilon(epsilon: float) -> float:
    """epsilon as a float within [0, 1]."""
    if not 0.0 <= epsilon <= 1.0:
        raise InputError(f"epsilon={epsilon!r} is not within [0, 1]; 0.05 is usual and 0 is the exact decision.")
    return float(epsilon)


def _student_of_normal(normal: NDArray[np.float64], freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """The g with P(t_v > g) = Phi(-x), for x = normal > 0 and v = freedom, both (J,)."""
    from scipy import special

    tail = normal >= TAIL_START
    result = np.empty_like(normal)
    result[~tail] = -special.stdtrit(freedom[~tail], special.ndtr(-normal[~tail]))
    if np.any(tail):
        result[tail] = _student_tail(normal[tail], freedom[tail])
    return result


def _student_tail(normal: NDArray[np.float64], freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for x >= 9, by Newton's method on log P(t_v > e^y) = log Phi(-x) in y = log g.

    With a = v/2, r = v/g^2 and (c)_k = c (c+1) ... (c+k-1):

        log P(t_v > g) = -a log(1 + 1/r) + log(1 + r)/2 - log(2 a B(a, 1/2)) + log S,
        S = sum_k (1/2)_k / (a+1)_k (-r)^k,        d log P / dy = -v / ((1 + r) S)

    which is the incomplete beta function's series; at g >= 9 twenty terms leave less than 1e-14.
    """
    from scipy import special

    half = freedom / 2.0
    target = special.log_ndtr(-normal)
    constant = np.log(2.0 * half) + special.betaln(half, 0.5)
    # Wallace's approximation turned round: x (8v+1)/(8v+3) ~ sqrt(v log(1 + g^2/v)).
    exponent = (normal * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)) ** 2 / freedom
    log_g = 0.5 * (np.log(freedom) + exponent + np.log(-np.expm1(-exponent)))
    for _ in range(NEWTON_STEPS):
        log_ratio = np.log(freedom) - 2.0 * log_g
        ratio = np.exp(log_ratio)
        series = _beta_series(half, ratio)
        log_tail = -half * np.logaddexp(0.0, -log_ratio) + 0.5 * np.log1p(ratio) - constant + np.log(series)
        log_g += (log_tail - target) * (1.0 + ratio) * series / freedom
    with np.errstate(over="ignore"):  # with one or two degrees of freedom G may pass 1e308: never stop there
        return np.asarray(np.exp(log_g), dtype=np.float64)


def _beta_series(half: NDArray[np.float64], ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """S = sum_k (1/2)_k / (a+1)_k (-r)^k by Horner's scheme.  half = a and ratio = r, both (J,)."""
    total = np.ones_like(half)
    for k in range(TAIL_TERMS - 1, -1, -1):
        total = 1.0 - total * ratio * (0.5 + k) / (half + 1.0 + k)
    return total

"""The vectorised functions against references, at their extremes, and where their constants come from."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, getcontext, localcontext
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import special

from austerity.engine.jit import ENGINE
from austerity.models.kernels import arithmetic, arithmetic_gamma

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
SINGLE_AND_DOUBLE = pytest.mark.parametrize("kind", [np.float32, np.float64])
_compiled: dict[int, Callable[..., None]] = {}


def apply(function: Any, x: np.ndarray) -> np.ndarray:
    """The function over an array, in a compiled loop as the kernels run it."""
    if id(function) not in _compiled:

        @njit(**ENGINE)
        def loop(values: np.ndarray, out: np.ndarray) -> None:
            for i in range(out.size):
                out[i] = function(values[i])

        _compiled[id(function)] = loop
    out = np.empty_like(x)
    _compiled[id(function)](x, out)
    return out


def error(function: Any, x: np.ndarray, reference: Callable[..., np.ndarray]) -> float:
    """The largest error over max(1, |result|), in units in the last place of one."""
    exact = reference(x.astype(np.longdouble))
    distance = np.abs(apply(function, x) - exact) / np.maximum(1, np.abs(exact))
    return float(np.max(distance) / np.finfo(x.dtype).eps)


# ---- where the constants come from ----


def cosine(x: Decimal) -> Decimal:
    """cos x by its power series."""
    total, term, order = Decimal(0), Decimal(1), 0
    while abs(term) > Decimal(10) ** (5 - getcontext().prec):
        total += term
        order += 2
        term *= -x * x / (order * (order - 1))
    return total


def fit(function: Callable[[Decimal], Decimal], degree: int, low: Decimal, high: Decimal) -> tuple[float, ...]:
    """Coefficients, lowest first, of the polynomial through the Chebyshev points: within a few times of the best one.

    Newton's divided differences, then their expansion into powers, in the decimal context's many digits.
    """
    middle, radius = (low + high) / 2, (high - low) / 2
    points = [middle + radius * cosine(PI * (2 * i + 1) / (2 * degree + 2)) for i in range(degree + 1)]
    differences = [function(point) for point in points]
    for order in range(1, degree + 1):
        for i in range(degree, order - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (points[i] - points[i - order])
    powers = [differences[degree]]
    for i in range(degree - 1, -1, -1):
        shifted = [Decimal(0), *powers]
        powers = [b - points[i] * a for a, b in zip([*powers, Decimal(0)], shifted)]
        powers[0] += differences[i]
    return tuple(float(power) for power in powers)


def exponential_rest(r: Decimal) -> Decimal:
    """(e^r - 1 - r) / r²; the middle point of the interval falls on zero up to the last digits."""
    return (r.exp() - 1 - r) / (r * r) if abs(r) > Decimal(10) ** -30 else Decimal("0.5")


def logarithm_rest(w: Decimal) -> Decimal:
    """(2 artanh(s) - 2 s) / s³ for w = s²."""
    s = w.sqrt()
    return ((1 + s).ln() - (1 - s).ln() - 2 * s) / (s * w)


def scaled_mills(u: Decimal) -> Decimal:
    """(a + 4) Φ(-a) / (φ(a) √(2π)) for u = (a - 4) / (a + 4): by its power series up to a = 12, then by its continued
    fraction."""
    a = 8 / (1 - u) - 4
    if a > 12:
        ratio = a
        for k in range(300, 0, -1):
            ratio = a + k / ratio
        return (a + 4) / ratio / (2 * PI).sqrt()
    total, term, order = Decimal(0), a, 1
    while term > Decimal(10) ** -90:
        total += term
        order += 2
        term *= a * a / order
    return (a + 4) * ((a * a / 2).exp() / 2 - total / (2 * PI).sqrt())


def constants() -> dict[str, tuple[float, ...]]:
    """Every fitted table of arithmetic.py, afresh."""
    with localcontext() as context:
        context.prec = 95
        half = Decimal(2).ln() / 2 * Decimal("1.001")
        ninth = Decimal(1) / 9
        return {
            "EXPONENTIAL_SINGLE": fit(exponential_rest, 4, -half, half),
            "EXPONENTIAL_DOUBLE": fit(exponential_rest, 9, -half, half),
            "LOGARITHM_SINGLE": fit(logarithm_rest, 4, Decimal(0), ninth),
            "LOGARITHM_DOUBLE": fit(logarithm_rest, 8, Decimal(0), ninth),
            "MILLS_SINGLE": fit(scaled_mills, 12, Decimal(-1), Decimal(1)),
            "MILLS_DOUBLE": fit(scaled_mills, 22, Decimal(-1), Decimal(1)),
        }


@pytest.mark.parametrize("name", list(constants()))
def test_constants_are_the_interpolation(name: str) -> None:
    """The tables printed in the module are those that the fit gives, digit for digit."""
    assert getattr(arithmetic, name) == constants()[name]


def test_two_parts_of_log_two() -> None:
    """The first part has 9 bits, so its product with an exponent of 11 bits is exact in float32; the sum is log 2."""
    with localcontext() as context:
        context.prec = 40
        low = Decimal(2).ln() - Decimal(arithmetic.LOG_2_HIGH)
    assert float(low) == arithmetic.LOG_2_LOW
    assert (arithmetic.LOG_2_HIGH * 2**9).is_integer()


# ---- accuracy ----


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x.dtype.type(0), x)


def log_softplus(x: np.ndarray) -> np.ndarray:
    """log log(1 + e^x); below -30 its series x - e^x / 2, where the second logarithm would have nothing to go on."""
    return np.where(x < -30, x - np.exp(np.minimum(x, 0)) / 2, np.log(softplus(np.maximum(x, -31))))


def log_four_cosh_square(x: np.ndarray) -> np.ndarray:
    return 2 * np.logaddexp(x / 2, -x / 2)


def inverse_mills(x: np.ndarray) -> np.ndarray:
    x = x.astype(float)
    with np.errstate(over="ignore"):
        below = np.sqrt(2 / np.pi) / special.erfcx(-np.minimum(x, 0) / np.sqrt(2))
    return np.where(x < 0, below, np.exp(-x * x / 2) / np.sqrt(2 * np.pi) / special.ndtr(x))


def in_double(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """SciPy's functions know no long double."""
    return lambda x: function(x.astype(float))


# name, function, reference, range, largest error in units in the last place: float32, float64 (measured, plus a fifth)
ACCURACY = [
    ("exp", arithmetic.exp, np.exp, (-80, 80), 0.9, 0.9),
    ("log", arithmetic.log, np.log, None, 0.8, 0.7),
    ("log1p", arithmetic.log1p, np.log1p, None, 0.8, 1.0),
    ("softplus", arithmetic.softplus, softplus, (-20, 20), 0.9, 1.1),
    ("softplus far", arithmetic.softplus, softplus, (-1e4, 1e4), 0.6, 0.8),
    ("log_softplus", arithmetic.log_softplus, log_softplus, (-10, 10), 1.2, 1.9),
    ("log_softplus far", arithmetic.log_softplus, log_softplus, (-1e4, 1e4), 0.9, 1.3),
    ("log_four_cosh_square", arithmetic.log_four_cosh_square, log_four_cosh_square, (-20, 20), 1.2, 1.7),
    ("log_four_cosh_square far", arithmetic.log_four_cosh_square, log_four_cosh_square, (-1e4, 1e4), 1.1, 1.1),
    ("sigmoid", arithmetic.sigmoid, special.expit, (-80, 80), 0.9, 0.9),
    ("log_ndtr", arithmetic.log_ndtr, in_double(special.log_ndtr), (-5, 5), 2.6, 3.9),
    ("log_ndtr far", arithmetic.log_ndtr, in_double(special.log_ndtr), (-1e4, 1e4), 2.0, 3.0),
    ("inverse_mills", arithmetic.inverse_mills, inverse_mills, (-30, 10), 2.3, 5.0),
]


@SINGLE_AND_DOUBLE
@pytest.mark.parametrize(
    "name, function, reference, bounds, single, double", ACCURACY, ids=[row[0] for row in ACCURACY]
)
def test_accuracy(
    name: str, function: Any, reference: Any, bounds: Any, single: float, double: float, kind: type
) -> None:
    """A dense sample of the range, logarithmic where the range is all positive numbers."""
    random = np.random.default_rng(len(name))
    x = np.exp(random.uniform(-60, 60, 100_000)) if bounds is None else random.uniform(*bounds, 100_000)
    assert error(function, x.astype(kind), reference) < (single if kind is np.float32 else double)


def trigamma(x: np.ndarray) -> np.ndarray:
    return special.polygamma(1, x)


@pytest.mark.parametrize(
    "name, reference, limit",
    [("lgamma", special.gammaln, 40), ("digamma", special.digamma, 8), ("trigamma", trigamma, 8)],
)
def test_gamma_functions(name: str, reference: Any, limit: float) -> None:
    """Arguments from 0.005 to 1e10. log Γ is zero at 1 and 2 as a difference of terms near fifteen: hence its limit."""
    x = np.exp(np.random.default_rng(3).uniform(-5, 25, 100_000))
    assert error(getattr(arithmetic_gamma, name), x, in_double(reference)) < limit


def test_log_rising_keeps_small_differences() -> None:
    """log Γ(x+y) - log Γ(x) for whole y is Σ log(x+j), also where the two terms agree in all but their last digits."""
    log_rising = arithmetic_gamma.log_rising

    @njit
    def at(x: float, y: float) -> float:
        return log_rising(x, y)

    for x in (0.01, 0.7, 3.0, 1e3, 1e8, 1e14):
        for y in (0, 1, 2, 7, 60):
            expected = float(np.sum(np.log(x + np.arange(y, dtype=np.longdouble))))
            assert at(x, float(y)) == pytest.approx(expected, rel=1e-13, abs=2e-14 if y else 0)


# ---- sums over many rows ----


@pytest.mark.parametrize("spread", [2.0, np.sqrt(2.0)])
def test_softplus_in_float32_has_no_bias(spread: float) -> None:
    """The mean error over N(0, spread²) is below 2e-9, five times less than a sum over 1e6 rows may show.

    Its standard error is 5e-11, so the same functions would pass with any seed (false-fail rate below 1e-100).
    """
    x = np.random.default_rng(5).normal(0, spread, 1_000_000).astype(np.float32)
    errors = apply(arithmetic.softplus, x) - softplus(x.astype(float))
    assert abs(np.mean(errors)) < 2e-9
    inside = np.abs(x) < 8
    # Half a unit in the last place of the result comes on top: 2.4e-7 between 4 and 8.
    last_place = np.spacing(softplus(x.astype(float)).astype(np.float32)) / 2
    assert np.max(np.abs(errors[inside]) - last_place[inside]) < 1e-7


def test_log_ndtr_in_float32_has_little_bias() -> None:
    """The mean error over N(0, 2²) is below 2e-8: a sum over 1e6 rows is good to .02."""
    x = np.random.default_rng(6).normal(0, 2, 1_000_000).astype(np.float32)
    assert abs(np.mean(apply(arithmetic.log_ndtr, x) - special.log_ndtr(x.astype(float)))) < 2e-8


# ---- extremes ----

INFINITE = np.inf
EXTREMES = [
    (arithmetic.exp, [1e4, -1e4, INFINITE, -INFINITE, 0], [INFINITE, 0, INFINITE, 0, 1]),
    (arithmetic.log, [INFINITE, 0, 1], [INFINITE, -INFINITE, 0]),
    (arithmetic.log1p, [INFINITE, 0, 1e-30], [INFINITE, 0, 1e-30]),
    (arithmetic.softplus, [1e4, -1e4, 1e30, INFINITE, -INFINITE], [1e4, 0, 1e30, INFINITE, 0]),
    (arithmetic.log_softplus, [-1e4, -1e30, INFINITE, -INFINITE], [-1e4, -1e30, INFINITE, -INFINITE]),
    (arithmetic.log_four_cosh_square, [1e4, -1e4, INFINITE, -INFINITE], [1e4, 1e4, INFINITE, INFINITE]),
    (arithmetic.sigmoid, [1e4, -1e4, INFINITE, -INFINITE, 0], [1, 0, 1, 0, 0.5]),
    (arithmetic.log_ndtr, [1e4, 1e30, INFINITE, -INFINITE], [0, 0, 0, -INFINITE]),
    (arithmetic.inverse_mills, [1e4, 1e30, INFINITE, -INFINITE, -1e30], [0, 0, 0, INFINITE, 1e30]),
]


@SINGLE_AND_DOUBLE
@pytest.mark.parametrize("function, x, expected", EXTREMES)
def test_saturation(function: Any, x: list[float], expected: list[float], kind: type) -> None:
    """Far out each function takes its limit, not NaN and not garbage; the values are repeated to fill whole vectors."""
    result = apply(function, np.tile(np.array(x, kind), 64))
    np.testing.assert_allclose(result, np.tile(np.array(expected, kind), 64), rtol=4 * np.finfo(kind).eps, atol=0)


@SINGLE_AND_DOUBLE
@pytest.mark.parametrize("function", [row[0] for row in EXTREMES])
def test_nan_comes_through(function: Any, kind: type) -> None:
    """NaN gives NaN, in its own place only."""
    x = np.full(77, 0.5, kind)
    x[::5] = np.nan
    np.testing.assert_array_equal(np.isnan(apply(function, x)), np.isnan(x))


def test_log_of_negative_numbers_is_nan() -> None:
    assert np.all(np.isnan(apply(arithmetic.log, np.array([-1.0, -1e-300, -INFINITE]))))


def test_integers_are_refused() -> None:
    """The functions are for floats; an integer is a mistake of the caller's, found when compiling."""
    from numba.core.errors import TypingError

    with pytest.raises(TypingError):
        apply(arithmetic.exp, np.arange(3))

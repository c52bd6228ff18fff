"""The logarithm of the gamma function and its derivatives for compiled loops: branch-free, vectorised, always float64.

Each shifts its argument up by eight, where the asymptotic series (Abramowitz & Stegun 6.1.41, 6.3.18, 6.4.12) needs
seven terms, and takes the shift back exactly:

    Γ(x+8) = x (x+1) … (x+7) Γ(x),   x (x+1) … (x+7) = q (q+6) (q+10) (q+12),   q = x (x+7).

Arguments are positive, up to 1e30. float64 also for float32 arguments: these terms are the same for every row with the
same count, so their rounding errors add up over the rows instead of averaging out.
"""

from __future__ import annotations

import math

from .arithmetic import logarithm, logarithm_plus_one
from .arithmetic_lane import Lane, expose_double

# The Bernoulli numbers B2, B4, … B14; each series is a plain function of them.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
STIRLING = tuple(b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(BERNOULLI))
DIGAMMA = tuple(-b / (2 * k + 2) for k, b in enumerate(BERNOULLI))


def steps(x: Lane) -> list[Lane]:
    """The four factors q, q+6, q+10, q+12 whose product is x (x+1) … (x+7)."""
    q = x * (x + 7.0)
    return [q, q + 6.0, q + 10.0, q + 12.0]


def product(x: Lane) -> Lane:
    """x (x+1) … (x+7)."""
    first, second, third, fourth = steps(x)
    return (first * second) * (third * fourth)


def stirling(z: Lane) -> Lane:
    """log Γ(z) - (z - ½) log z + z - ½ log 2π for z ≥ 8."""
    inverse = 1.0 / z
    return inverse * (inverse * inverse).polynomial(STIRLING)


def lgamma_of(x: Lane) -> Lane:
    """log Γ(x) = (z - ½) log z - z + ½ log 2π + stirling(z) - log(x … (x+7)), z = x + 8."""
    z = x + 8.0
    constant = stirling(z) + 0.5 * math.log(2 * math.pi)
    return (z - 0.5).fma(logarithm(z), constant - z) - logarithm(product(x))


def log_rising_of(x: Lane, y: Lane) -> Lane:
    """log Γ(x+y) - log Γ(x) for y ≥ 0, without taking the difference of two large numbers.

    With b = x + 8 and a = b + y: (a - ½) log(1 + y/b) + y (log b - 1) + stirling(a) - stirling(b)
    - log((x+y) … (x+y+7) / (x … (x+7))).
    """
    b = x + 8.0
    a = b + y
    leading = (a - 0.5).fma(logarithm_plus_one(y / b), y * (logarithm(b) - 1.0))
    return leading + (stirling(a) - stirling(b)) - logarithm(product(x + y) / product(x))


def digamma_of(x: Lane) -> Lane:
    """The derivative of log Γ: log z - 1/(2z) + Σ DIGAMMA_k / z^(2k) - Σ 1/(x+j)."""
    z = x + 8.0
    inverse = 1.0 / z
    square = inverse * inverse
    first, second, third, fourth = steps(x)
    back = (x * 2.0 + 7.0) * (1.0 / first + 1.0 / second + 1.0 / third + 1.0 / fourth)
    return logarithm(z) + square.fma(square.polynomial(DIGAMMA), inverse * -0.5) - back


def trigamma_of(x: Lane) -> Lane:
    """The second derivative of log Γ: 1/z + 1/(2z²) + Σ B_2k / z^(2k+1) + Σ 1/(x+j)²."""
    inverse = 1.0 / (x + 8.0)
    square = inverse * inverse
    series = inverse + 0.5 * square + inverse * square * square.polynomial(BERNOULLI)
    parts = [1.0 / step for step in steps(x)]
    total = (parts[0] + parts[1]) + (parts[2] + parts[3])
    squares = (parts[0] * parts[0] + parts[1] * parts[1]) + (parts[2] * parts[2] + parts[3] * parts[3])
    slope = x * 2.0 + 7.0
    return series + slope * slope * squares - 2.0 * total


lgamma = expose_double(lgamma_of, 1)
log_rising = expose_double(log_rising_of, 2)
digamma = expose_double(digamma_of, 1)
trigamma = expose_double(trigamma_of, 1)

"""Negative binomial counts with a log link: mean μ = e^η, shape r, variance μ + μ²/r.

    log-likelihood of a row = y η - (y+r) log(r+μ) + r log r + log Γ(y+r) - log Γ(r)       (without log y!)
                            = -y log(1 + e^-d) - r log(1 + e^d) + log Γ(y+r) - log Γ(r),   d = η - log r

Shapes as in `logistic`: eta (1, n), extras (r,). `slopes` is for an unknown shape, `slopes_known` for a fixed
one.
"""

from __future__ import annotations

import math

from ...engine.jit import engine
from .arithmetic import exp, sigmoid, softplus
from .arithmetic_gamma import digamma, log_rising, trigamma
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-y log(1 + e^-d) - r log(1 + e^d) + log Γ(y+r) - log Γ(r). eta (1, n), y (n,), extras (1,), out (n,)."""
    shape = extras[0]
    log_shape = math.log(shape)
    for i in range(out.size):
        # r stays float64: rounding it to float32 would move every row the same way, and the sum by that times n.
        distance = out.dtype.type(eta[0, i] - log_shape)
        out[i] = log_rising(shape, y[i]) - shape * softplus(distance) - y[i] * softplus(-distance)


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """Derivatives in η and log r, with p = μ / (r + μ) and ψ the digamma function.

    In log r: r (ψ(y+r) - ψ(r) - log(1 + μ/r)) + (μ - y) (1 - p); d(log(1 + μ/r)) / d log r = -p.
    gradient (2, n), curvature (2, 2, n).
    """
    slopes_known(eta, y, extras, gradient, curvature)
    shape = extras[0]
    log_shape = math.log(shape)
    at_shape, bend_at_shape = digamma(shape), trigamma(shape)
    for i in range(y.size):
        distance = eta[0, i] - log_shape
        chance, rest = sigmoid(distance), sigmoid(-distance)
        outer = shape * (digamma(y[i] + shape) - at_shape - softplus(distance))
        inner = shape * chance - y[i] * rest
        gradient[1, i] = outer + inner
        cross = y[i] * rest * chance - shape * chance * chance
        bend = outer + shape * shape * (trigamma(y[i] + shape) - bend_at_shape) + shape * chance
        curvature[1, 1, i] = bend + shape * chance - (y[i] + shape) * rest * chance
        curvature[0, 1, i] = curvature[1, 0, i] = cross


@engine
def slopes_known(
    eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> None:
    """Derivatives in η: y (1 - p) - r p and -(y + r) p (1 - p), p = μ / (r + μ).

    gradient (1, n), curvature (1, 1, n); larger arrays keep their other entries.
    """
    shape = extras[0]
    log_shape = math.log(shape)
    for i in range(y.size):
        distance = eta[0, i] - log_shape
        chance, rest = sigmoid(distance), sigmoid(-distance)
        gradient[0, i] = y[i] * rest - shape * chance
        curvature[0, 0, i] = -(y[i] + shape) * chance * rest


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """e^η, whatever the shape. eta (1, n), out (1, n)."""
    for i in range(out.shape[1]):
        out[0, i] = exp(eta[0, i])

"""Regression with Student-t errors of scale σ and ν degrees of freedom: robust against outliers.

    log-likelihood of a row = -(ν+1)/2 log(1 + z²/ν) - log σ + c(ν),   z = (y - η) / σ
    c(ν) = log Γ((ν+1)/2) - log Γ(ν/2) - ½ log ν

Shapes as in `logistic`: eta (1, n), extras (σ, ν). Three versions of the slopes: `slopes` with both extras
unknown, `slopes_scale` with σ unknown and ν fixed, `slopes_known` with both fixed. Beyond |z| = √ν the curvature in η
is positive: it is the true one, not the expected one.
"""

from __future__ import annotations

import math

from ...engine.jit import engine
from .arithmetic import log1p
from .arithmetic_gamma import digamma, log_rising, trigamma
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-(ν+1)/2 log(1 + z²/ν) - log σ + c(ν). eta (1, n), y (n,), extras (2,), out (n,)."""
    scale, freedom = extras[0], extras[1]
    # Both stay float64: rounding them to float32 would move every row the same way, and the sum by that times n.
    precision = 1.0 / (freedom * scale * scale)
    factor = -0.5 * (freedom + 1.0)
    constant = log_rising(0.5 * freedom, 0.5) - 0.5 * math.log(freedom) - math.log(scale)
    for i in range(out.size):
        residual = y[i] - eta[0, i]
        out[i] = factor * log1p(out.dtype.type(precision * residual * residual)) + constant


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """Derivatives in η, log σ and log ν. gradient (3, n), curvature (3, 3, n).

    Those in ν itself: first  -½ log(1 + z²/ν) + (ν+1) z² / (2ν (ν+z²)) + c'(ν),
    second  z² / (2ν (ν+z²)) - z² (ν² + 2ν + z²) / (2ν² (ν+z²)²) + c''(ν).
    """
    slopes_scale(eta, y, extras, gradient, curvature)
    inverse, freedom = 1.0 / extras[0], extras[1]
    half, upper = 0.5 * freedom, 0.5 * freedom + 0.5
    first = 0.5 * (digamma(upper) - digamma(half)) - 0.5 / freedom
    second = 0.25 * (trigamma(upper) - trigamma(half)) + 0.5 / (freedom * freedom)
    for i in range(y.size):
        z = (y[i] - eta[0, i]) * inverse
        square = z * z
        share = 1.0 / (freedom + square)
        in_freedom = -0.5 * log1p(square / freedom) + 0.5 * (freedom + 1.0) / freedom * square * share + first
        bend = 0.5 * square * share / freedom
        bend -= 0.5 * square * (freedom * freedom + 2.0 * freedom + square) * (share / freedom) ** 2
        mixed = freedom * (square - 1.0) * share * share
        gradient[2, i] = freedom * in_freedom
        curvature[2, 2, i] = freedom * in_freedom + freedom * freedom * (bend + second)
        curvature[0, 2, i] = curvature[2, 0, i] = mixed * z * inverse
        curvature[1, 2, i] = curvature[2, 1, i] = mixed * square


@engine
def slopes_scale(
    eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> None:
    """Derivatives in η and log σ: ((ν+1) z / (σ (ν+z²)), (ν+1) z² / (ν+z²) - 1) and those of these.

    gradient (2, n), curvature (2, 2, n); larger arrays keep their other entries.
    """
    slopes_known(eta, y, extras, gradient, curvature)
    inverse, freedom = 1.0 / extras[0], extras[1]
    for i in range(y.size):
        z = (y[i] - eta[0, i]) * inverse
        share = (freedom + 1.0) / (freedom + z * z)
        cross = -2.0 * freedom * z * share / (freedom + z * z)
        gradient[1, i] = share * z * z - 1.0
        curvature[0, 1, i] = curvature[1, 0, i] = cross * inverse
        curvature[1, 1, i] = cross * z


@engine
def slopes_known(
    eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> None:
    """Derivatives in η: (ν+1) z / (σ (ν+z²)) and -(ν+1) (ν-z²) / (σ² (ν+z²)²).

    gradient (1, n), curvature (1, 1, n); larger arrays keep their other entries.
    """
    inverse, freedom = 1.0 / extras[0], extras[1]
    for i in range(y.size):
        z = (y[i] - eta[0, i]) * inverse
        share = (freedom + 1.0) / (freedom + z * z)
        gradient[0, i] = share * z * inverse
        curvature[0, 0, i] = -share * inverse * inverse * (freedom - z * z) / (freedom + z * z)


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """η, where the errors are centred. eta (1, n), out (1, n)."""
    for i in range(out.shape[1]):
        out[0, i] = eta[0, i]

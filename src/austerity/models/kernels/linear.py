"""Linear regression with normal errors of scale σ: y = η + σ z, z ~ N(0, 1).

    log-likelihood of a row = -e² / (2σ²) - log σ,   e = y - η

Shapes as in `logistic`: eta (1, n), extras (σ,). `slopes` is for an unknown scale, `slopes_known` for a fixed
one.
"""

from __future__ import annotations

import math

from ...engine.jit import engine
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-e² / (2σ²) - log σ. eta (1, n), y (n,), extras (1,), out (n,)."""
    # σ stays float64: rounding it to float32 would move every row the same way, and the sum by that times n.
    factor = -0.5 / (extras[0] * extras[0])
    constant = -math.log(extras[0])
    for i in range(out.size):
        residual = y[i] - eta[0, i]
        out[i] = factor * residual * residual + constant


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """Derivatives in η and log σ, z = e/σ: (z/σ, z² - 1) and -(1/σ², 2z/σ; 2z/σ, 2z²).

    gradient (2, n), curvature (2, 2, n).
    """
    inverse = 1.0 / extras[0]
    for i in range(y.size):
        z = (y[i] - eta[0, i]) * inverse
        gradient[0, i] = z * inverse
        gradient[1, i] = z * z - 1.0
        curvature[0, 0, i] = -inverse * inverse
        curvature[0, 1, i] = -2.0 * z * inverse
        curvature[1, 0, i] = -2.0 * z * inverse
        curvature[1, 1, i] = -2.0 * z * z


@engine
def slopes_known(
    eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> None:
    """Derivatives in η alone: e/σ² and -1/σ². gradient (1, n), curvature (1, 1, n)."""
    precision = 1.0 / (extras[0] * extras[0])
    for i in range(y.size):
        gradient[0, i] = (y[i] - eta[0, i]) * precision
        curvature[0, 0, i] = -precision


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """η, where the errors are centred. eta (1, n), out (1, n)."""
    for i in range(out.shape[1]):
        out[0, i] = eta[0, i]

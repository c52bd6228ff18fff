"""Least absolute deviations and quantiles: errors of density e^-L(z) / (s (1/a + 1/b)), z = (y - η) / s.

    L(z) = max(a z, -b z):   a = b = 1 the Laplace density, a = τ and b = 1 - τ the asymmetric Laplace density
    log-likelihood of a row = -L(z) - log s - log(1/a + 1/b)

Shapes as in `logistic`: eta (1, n), extras (s, a, b, w). The kink at zero has no curvature, so `rounded` and its
derivatives `slopes` take ½(a+b) w log cosh(z/w) + ½(a-b) z for L: only the search for a mode looks at these.
"""

from __future__ import annotations

import math

from ...engine.jit import engine
from .arithmetic import sigmoid, softplus
from .arithmetic_lane import FloatArray
from .location_scale import add_scale


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-max(a z, -b z) - log s - log(1/a + 1/b). eta (1, n), y (n,), extras (4,), out (n,)."""
    # The scale stays float64: rounding it would move every row the same way, and the sum by that times n.
    up, down = extras[1] / extras[0], -extras[2] / extras[0]
    constant = -math.log(extras[0] * (1.0 / extras[1] + 1.0 / extras[2]))
    for i in range(out.size):
        residual = y[i] - eta[0, i]
        rising, falling = up * residual, down * residual
        out[i] = constant - (rising if rising > falling else falling)


@engine
def rounded(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """The same with the rounded L; log cosh u = |u| + log(1 + e^-2|u|) - log 2. eta (1, n), out (n,), as above."""
    inverse, width = 1.0 / extras[0], extras[3]
    even, odd = 0.5 * (extras[1] + extras[2]), 0.5 * (extras[1] - extras[2])
    constant = -math.log(extras[0] * (1.0 / extras[1] + 1.0 / extras[2]))
    for i in range(out.size):
        z = (y[i] - eta[0, i]) * inverse
        twice = 2.0 * abs(z) / width
        out[i] = constant - even * width * (0.5 * twice + softplus(-twice) - math.log(2.0)) - odd * z


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """Derivatives of `rounded` in η and log s. gradient (2, n), curvature (2, 2, n)."""
    slopes_known(eta, y, extras, gradient, curvature)
    add_scale(eta, y, extras[0], gradient, curvature)


@engine
def slopes_known(
    eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> None:
    """Derivatives of `rounded` in η alone: L'/s and -L''/s². gradient (1, n), curvature (1, 1, n); others are kept."""
    inverse, width = 1.0 / extras[0], extras[3]
    even, odd = 0.5 * (extras[1] + extras[2]), 0.5 * (extras[1] - extras[2])
    for i in range(y.size):
        twice = 2.0 * (y[i] - eta[0, i]) * inverse / width
        above, below = sigmoid(twice), sigmoid(-twice)  # their difference is tanh(z/w)
        gradient[0, i] = (even * (above - below) + odd) * inverse
        curvature[0, 0, i] = -4.0 * even * above * below * inverse * inverse / width

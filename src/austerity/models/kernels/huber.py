"""Huber's errors, normal in the middle and exponential in the tails: density e^-L(z) / (s C), z = (y - η) / s.

    L(z) = ½ z² for |z| ≤ δ, δ |z| - ½ δ² beyond,   C = √(2π) (2 Φ(δ) - 1) + (2/δ) e^(-δ²/2)
    log-likelihood of a row = -L(z) - log s - log C

Shapes as in `logistic`: eta (1, n), extras (s, δ, log C, w). There is no curvature where |z| > δ, so where δ is too
small to have rows within, `rounded` and its derivatives `slopes` take δ/c L_c(z), c = max(δ, w), for L: the same tails
with a wider corner. Only the search for a mode looks at these.
"""

from __future__ import annotations

import math

from ...engine.jit import engine
from .arithmetic_lane import FloatArray
from .location_scale import add_scale


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-m (|z| - ½ m) - log s - log C,  m = min(|z|, δ). eta (1, n), y (n,), extras (4,), out (n,)."""
    # The scale stays float64: rounding it would move every row the same way, and the sum by that times n.
    inverse, corner = 1.0 / extras[0], extras[1]
    constant = -math.log(extras[0]) - extras[2]
    for i in range(out.size):
        size = abs((y[i] - eta[0, i]) * inverse)
        inner = size if size < corner else corner
        out[i] = constant - inner * (size - 0.5 * inner)


@engine
def rounded(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-(δ/c) m (|z| - ½ m) - log s - log C,  m = min(|z|, c). eta (1, n), y (n,), extras (4,), out (n,)."""
    inverse, corner = 1.0 / extras[0], max(extras[1], extras[3])
    constant, share = -math.log(extras[0]) - extras[2], extras[1] / corner
    for i in range(out.size):
        size = abs((y[i] - eta[0, i]) * inverse)
        inner = size if size < corner else corner
        out[i] = constant - share * inner * (size - 0.5 * inner)


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
    inverse, corner = 1.0 / extras[0], max(extras[1], extras[3])
    share = extras[1] / corner
    for i in range(y.size):
        z = (y[i] - eta[0, i]) * inverse
        inside = abs(z) <= corner
        gradient[0, i] = share * inverse * (z if inside else math.copysign(corner, z))
        curvature[0, 0, i] = -share * inverse * inverse if inside else 0.0

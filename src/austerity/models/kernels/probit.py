"""Probit regression: y in {0, 1}, P(y = 1) = Φ(η).

    log-likelihood of a row = log Φ(s),   s = (2y - 1) η

Shapes as in `logistic`: eta (1, n), no extras.
"""

from __future__ import annotations

from ...engine.jit import engine
from .arithmetic import exp, inverse_mills, log_ndtr
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """log Φ((2y - 1) η). eta (1, n), y (n,), out (n,)."""
    one = out.dtype.type(1.0)
    two = out.dtype.type(2.0)
    for i in range(out.size):
        out[i] = log_ndtr((two * y[i] - one) * eta[0, i])


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """±λ and -λ (λ + s), λ = φ(s) / Φ(s). gradient (1, n), curvature (1, 1, n)."""
    for i in range(y.size):
        sign = 2.0 * y[i] - 1.0
        signed = sign * eta[0, i]
        ratio = inverse_mills(signed)
        gradient[0, i] = sign * ratio
        curvature[0, 0, i] = -ratio * (ratio + signed)


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """Φ(η). eta (1, n), out (1, n)."""
    for i in range(out.shape[1]):
        out[0, i] = exp(log_ndtr(eta[0, i]))

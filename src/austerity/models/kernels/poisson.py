"""Poisson counts with a log link: y ~ Poisson(e^η).

    log-likelihood of a row = y η - e^η        (without log y!)

Shapes as in `logistic`: eta (1, n), no extras. Above η = 88 (float32) or 709 (float64) it is -infinity.
"""

from __future__ import annotations

from ...engine.jit import engine
from .arithmetic import exp
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """y η - e^η. eta (1, n), y (n,), out (n,)."""
    for i in range(out.size):
        out[i] = y[i] * eta[0, i] - exp(eta[0, i])


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """y - e^η and -e^η. gradient (1, n), curvature (1, 1, n)."""
    for i in range(y.size):
        mean = exp(eta[0, i])
        gradient[0, i] = y[i] - mean
        curvature[0, 0, i] = -mean


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """e^η. eta (1, n), out (1, n)."""
    for i in range(out.shape[1]):
        out[0, i] = exp(eta[0, i])

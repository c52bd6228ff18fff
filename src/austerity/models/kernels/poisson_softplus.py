"""Poisson counts with a mean that grows linearly: y ~ Poisson(μ), μ = log(1 + e^η).

    log-likelihood of a row = y log μ - μ      (without log y!)

Shapes as in `logistic`: eta (1, n), no extras. Far below zero log μ is η itself, so nothing is lost there.
"""

from __future__ import annotations

from ...engine.jit import engine
from .arithmetic import exp, log_softplus, sigmoid, softplus
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """y log μ - μ. eta (1, n), y (n,), out (n,)."""
    for i in range(out.size):
        out[i] = y[i] * log_softplus(eta[0, i]) - softplus(eta[0, i])


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """y h - p and y h (1 - p - h) - p (1 - p), with p = dμ/dη = 1 / (1 + e^-η) and h = p / μ.

    gradient (1, n), curvature (1, 1, n).
    """
    for i in range(y.size):
        chance = sigmoid(eta[0, i])
        # log p = -log(1 + e^-η) and log μ are both near η far below zero; their difference is small.
        ratio = exp(-softplus(-eta[0, i]) - log_softplus(eta[0, i]))
        gradient[0, i] = y[i] * ratio - chance
        curvature[0, 0, i] = y[i] * ratio * (1.0 - chance - ratio) - chance * sigmoid(-eta[0, i])


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """log(1 + e^η). eta (1, n), out (1, n)."""
    for i in range(out.shape[1]):
        out[0, i] = softplus(eta[0, i])

"""Two normal densities of one scale σ, at η_1 and η_2, with weights p and 1 - p.

    log-likelihood of a row = log(p e^a_1 + (1-p) e^a_2) - log σ - ½ log 2π,   a_k = -e_k² / (2σ²),  e_k = y - η_k

Shapes as in `logistic`: eta (2, n), extras (σ, log p, log(1-p)). For a density of x itself y is zero and η_k = x less
the mean of component k. `slopes` is for an unknown scale, `slopes_known` for a fixed one. The curvature is the true
one, which between the components need not be negative.
"""

from __future__ import annotations

import math

from ...engine.jit import engine
from .arithmetic import sigmoid, softplus
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """The larger exponent + log(1 + e^-|difference|) - log σ - ½ log 2π. eta (2, n), y (n,), extras (3,), out (n,)."""
    # The scale stays float64: rounding it would move every row the same way, and the sum by that times n.
    factor = -0.5 / (extras[0] * extras[0])
    first_weight, second_weight = extras[1], extras[2]
    constant = -math.log(extras[0]) - 0.5 * math.log(2.0 * math.pi)
    for i in range(out.size):
        first, second = y[i] - eta[0, i], y[i] - eta[1, i]
        one, other = factor * first * first + first_weight, factor * second * second + second_weight
        top = one if one > other else other
        out[i] = top + softplus(out.dtype.type(-abs(one - other))) + constant


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """Derivatives in η_1, η_2 and log σ, with shares r_k = p_k e^a_k / Σ, u_k = e_k/σ² and v_k = e_k²/σ².

    In log σ: Σ r_k v_k - 1; then r_k u_k (v_k - Σ r v - 2) across, and r_1 r_2 (v_1 - v_2)² - 2 Σ r_k v_k.
    gradient (3, n), curvature (3, 3, n).
    """
    slopes_known(eta, y, extras, gradient, curvature)
    precision = 1.0 / (extras[0] * extras[0])
    log_odds = extras[2] - extras[1]
    for i in range(y.size):
        first, second = y[i] - eta[0, i], y[i] - eta[1, i]
        one, other = first * first * precision, second * second * precision
        gap = 0.5 * (one - other) + log_odds
        share, rest = sigmoid(-gap), sigmoid(gap)
        mean = share * one + rest * other
        gradient[2, i] = mean - 1.0
        curvature[0, 2, i] = curvature[2, 0, i] = share * first * precision * (one - mean - 2.0)
        curvature[1, 2, i] = curvature[2, 1, i] = rest * second * precision * (other - mean - 2.0)
        curvature[2, 2, i] = share * rest * (one - other) * (one - other) - 2.0 * mean


@engine
def slopes_known(
    eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> None:
    """Derivatives in η: r_k u_k, and r_1 r_2 u_k² - r_k/σ² with -r_1 r_2 u_1 u_2 across.

    gradient (2, n), curvature (2, 2, n); larger arrays keep their other entries.
    """
    precision = 1.0 / (extras[0] * extras[0])
    log_odds = extras[2] - extras[1]
    for i in range(y.size):
        first, second = (y[i] - eta[0, i]) * precision, (y[i] - eta[1, i]) * precision
        gap = 0.5 * (first * first - second * second) / precision + log_odds
        share, rest = sigmoid(-gap), sigmoid(gap)
        both = share * rest
        gradient[0, i], gradient[1, i] = share * first, rest * second
        curvature[0, 0, i] = both * first * first - share * precision
        curvature[1, 1, i] = both * second * second - rest * precision
        curvature[0, 1, i] = curvature[1, 0, i] = -both * first * second

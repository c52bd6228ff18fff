"""Logistic regression: y in {0, 1}, P(y = 1) = 1 / (1 + e^-η).

    log-likelihood of a row = y η - log(1 + e^η) = -log(1 + e^-s),   s = (2y - 1) η

Every module here holds one family, P linear predictors and E natural-scale extra parameters:

    value(eta, y, extras, out)                    eta (P, n), y (n,), extras (E,) float64, out (n,): log-likelihoods
    slopes(eta, y, extras, gradient, curvature)   gradient (P + E, n), curvature (P + E, P + E, n), all float64
    total(eta, y, extras, room) -> float          sum of value's n = BLOCK_ROWS terms; optional
    mean(eta, out)                                out (C, n): the mean of y, or the chance of each of C classes

`value` takes float32 or float64 and leaves out only terms free of both predictors and extras. `slopes` gives the exact
first and second derivatives with respect to the predictors, then the logarithms of the extras: of `value` or, where
that has a kink, of a function `rounded` beside it. `mean` may write over eta. A NaN of eta or y gives NaN in its row.
"""

from __future__ import annotations

from typing import Any

from ...engine.jit import engine, inlined, sum_of
from .arithmetic import decay, exp, log1p, positive_part, sigmoid, softplus
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-log(1 + e^((1 - 2y) η)): no difference of large numbers on either side. eta (1, n), y (n,), out (n,)."""
    one = out.dtype.type(1.0)
    two = out.dtype.type(2.0)
    for i in range(out.size):
        out[i] = -softplus((one - two * y[i]) * eta[0, i])


@inlined
def _two_positive_parts(eta: FloatArray, y: FloatArray, i: int, j: int) -> Any:
    """max(s, 0) of two rows, s = (1 - 2y) η."""
    one, two = eta.dtype.type(1.0), eta.dtype.type(2.0)
    return positive_part((one - two * y[i]) * eta[0, i]) + positive_part((one - two * y[j]) * eta[0, j])


@inlined
def _both(a: Any, b: Any) -> Any:
    """(1 + a) (1 + b) - 1, which keeps the digits of small a and b: in rows that are alike roundings would add up."""
    return a * b + (a + b)


@engine
def total(eta: FloatArray, y: FloatArray, extras: FloatArray, room: FloatArray) -> Any:
    """-Σ [Σ₈ max(s, 0) + log Π₈ (1 + e^-|s|)]: eight factors within [1, 2] have one logarithm.

    room (n,): n = BLOCK_ROWS, a multiple of 8.
    """
    for i in range(y.size):
        room[i] = decay(eta[0, i])
    part = y.size // 8
    for i in range(part):
        first = _both(_both(room[i], room[part + i]), _both(room[2 * part + i], room[3 * part + i]))
        other = _both(_both(room[4 * part + i], room[5 * part + i]), _both(room[6 * part + i], room[7 * part + i]))
        above = _two_positive_parts(eta, y, i, part + i) + _two_positive_parts(eta, y, 2 * part + i, 3 * part + i)
        below = _two_positive_parts(eta, y, 4 * part + i, 5 * part + i)
        below += _two_positive_parts(eta, y, 6 * part + i, 7 * part + i)
        room[i] = (above + below) + log1p(_both(first, other))
    return -sum_of(room, part)


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """y - p and -p (1 - p), p = 1 / (1 + e^-η). gradient (1, n), curvature (1, 1, n)."""
    for i in range(y.size):
        chance = sigmoid(eta[0, i])
        gradient[0, i] = y[i] - chance
        curvature[0, 0, i] = -chance * sigmoid(-eta[0, i])


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """1 / (1 + e^-η), relatively accurate as the exponential is. eta (1, n), out (1, n)."""
    one = out.dtype.type(1.0)
    for i in range(out.shape[1]):
        out[0, i] = one / (one + exp(-eta[0, i]))

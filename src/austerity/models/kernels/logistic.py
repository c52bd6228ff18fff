"""Logistic regression: y in {0, 1}, P(y = 1) = 1 / (1 + e^-η).

    log-likelihood of a row = y η - log(1 + e^η) = -log(1 + e^-s),   s = (2y - 1) η

Every module here holds one family, P linear predictors and E natural-scale extra parameters:

    value(eta, y, extras, out)                    eta (P, n), y (n,), extras (E,) float64, out (n,): log-likelihoods
    slopes(eta, y, extras, gradient, curvature)   gradient (P + E, n), curvature (P + E, P + E, n), all float64
    mean(eta, out)                                out (C, n): the mean of y, or the chance of each of C classes

`value` takes float32 or float64 and leaves out only terms free of both predictors and extras. `slopes` gives the exact
first and second derivatives with respect to the predictors, then the logarithms of the extras. `mean` may write over
eta. A NaN among eta or y gives NaN in its row.
"""

from __future__ import annotations

from ...engine.jit import engine
from .arithmetic import exp, sigmoid, softplus
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-log(1 + e^((1 - 2y) η)): no difference of large numbers on either side. eta (1, n), y (n,), out (n,)."""
    one = out.dtype.type(1.0)
    two = out.dtype.type(2.0)
    for i in range(out.size):
        out[i] = -softplus((one - two * y[i]) * eta[0, i])


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

"""Independent components with logistic sources: a row is P = D components s_p = w_p · x, without a response.

    log-likelihood of a row = -Σ_p 2 log(2 cosh(s_p / 2)) = -Σ_p (|s_p| + 2 log(1 + e^-|s_p|))

Shapes as in `logistic`: eta (P, n) holds the components, y is not looked at, no extras. log |det W| is left out: it is
0 on orthogonal matrices. Components are the outer loop, so that the inner one is vectorised.
"""

from __future__ import annotations

from ...engine.jit import engine
from .arithmetic import log_four_cosh_square, sigmoid
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """-Σ_p (|s_p| + 2 log(1 + e^-|s_p|)). eta (P, n), out (n,)."""
    for i in range(out.size):
        out[i] = -log_four_cosh_square(eta[0, i])
    for p in range(1, eta.shape[0]):
        for i in range(out.size):
            out[i] -= log_four_cosh_square(eta[p, i])


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """-tanh(s_p / 2) = 1 - 2 π and -2 π (1 - π), π = 1 / (1 + e^-s_p). gradient (P, n), curvature (P, P, n)."""
    for p in range(eta.shape[0]):
        for q in range(eta.shape[0]):
            for i in range(y.size):
                curvature[p, q, i] = 0.0
        for i in range(y.size):
            above, below = sigmoid(eta[p, i]), sigmoid(-eta[p, i])
            gradient[p, i] = below - above
            curvature[p, p, i] = -2.0 * above * below

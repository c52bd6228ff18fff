"""Multinomial logistic regression: y in {0, …, C-1}, class 0 the reference with η_0 = 0, P = C - 1 predictors.

    log-likelihood of a row = η_y - log Σ_c e^η_c = (η_y - m) - log Σ_c e^(η_c - m),   m = max_c η_c

Shapes as in `logistic`: eta (P, n) with the predictor of class c in row c - 1, no extras. Classes are the outer
loop, so that the inner one runs along contiguous rows and is vectorised.
"""

from __future__ import annotations

import numpy as np

from ...engine.jit import engine
from .arithmetic import exp, log
from .arithmetic_lane import FloatArray


@engine
def value(eta: FloatArray, y: FloatArray, extras: FloatArray, out: FloatArray) -> None:
    """(η_y - m) - log Σ_c e^(η_c - m). eta (P, n), y (n,), out (n,)."""
    zero = out.dtype.type(0.0)
    top, total = np.empty_like(out), np.empty_like(out)
    for i in range(out.size):
        top[i] = zero
        out[i] = zero * y[i]  # zero, or NaN for a missing class
    for p in range(eta.shape[0]):
        code = out.dtype.type(p + 1)
        for i in range(out.size):
            # Read everything, then choose: a read under a condition would stop the vectoriser.
            predictor, highest, chosen = eta[p, i], top[i], out[i]
            top[i] = highest if highest >= predictor else predictor
            out[i] = predictor if y[i] == code else chosen
    for i in range(out.size):
        total[i] = exp(-top[i])
    for p in range(eta.shape[0]):
        for i in range(out.size):
            total[i] += exp(eta[p, i] - top[i])
    for i in range(out.size):
        out[i] = (out[i] - top[i]) - log(total[i])


@engine
def slopes(eta: FloatArray, y: FloatArray, extras: FloatArray, gradient: FloatArray, curvature: FloatArray) -> None:
    """1[y = c] - π_c and π_c (π_b - 1[b = c]), π_c = e^η_c / Σ_b e^η_b. gradient (P, n), curvature (P, P, n)."""
    top, total = np.zeros_like(y), np.empty_like(y)
    for p in range(eta.shape[0]):
        for i in range(y.size):
            predictor, highest = eta[p, i], top[i]
            top[i] = highest if highest >= predictor else predictor
    for i in range(y.size):
        total[i] = exp(-top[i])
    for p in range(eta.shape[0]):
        for i in range(y.size):
            gradient[p, i] = exp(eta[p, i] - top[i])
            total[i] += gradient[p, i]
    for p in range(eta.shape[0]):
        for i in range(y.size):
            gradient[p, i] /= total[i]
    for p in range(eta.shape[0]):
        for q in range(p + 1):
            same = 1.0 if p == q else 0.0
            for i in range(y.size):
                entry = gradient[p, i] * (gradient[q, i] - same)
                curvature[p, q, i] = entry
                curvature[q, p, i] = entry
    for p in range(eta.shape[0]):
        for i in range(y.size):
            gradient[p, i] = (1.0 if y[i] == p + 1.0 else 0.0) - gradient[p, i]


@engine
def mean(eta: FloatArray, out: FloatArray) -> None:
    """e^(η_c - m) / Σ_b e^(η_b - m), class 0 first. eta (P, n), which is written over, out (P + 1, n)."""
    classes, n = out.shape
    for i in range(n):
        out[0, i] = out.dtype.type(0.0)
    for p in range(classes - 1):
        for i in range(n):
            predictor, highest = eta[p, i], out[0, i]
            out[0, i] = highest if highest >= predictor else predictor
    for p in range(classes - 1):
        for i in range(n):
            out[p + 1, i] = exp(eta[p, i] - out[0, i])
    for i in range(n):
        out[0, i] = exp(-out[0, i])
        eta[0, i] = out[0, i]
    for c in range(1, classes):
        for i in range(n):
            eta[0, i] += out[c, i]
    for c in range(classes):
        for i in range(n):
            out[c, i] /= eta[0, i]

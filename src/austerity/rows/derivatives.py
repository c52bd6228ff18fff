"""A pass that also sums first and second derivatives, for models with linear predictors.

    x~ = (1, held row),  Q = P (d + 1) + E
    gradient (Q,):    sum_i w_i (g_ip x~_i, ..., g_ie),     curvature (Q, Q): sum_i w_i (h_ipq x~_i x~_i', ...)

in the coordinates of held rows; `state_jacobian` turns both into derivatives in theta. Everything is in float64, by
the library's matrix products over pieces of fixed size, added in order: bits do not depend on the number of threads.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..engine.problem import INTERCEPT, PREDICTORS, WIDTH, Problem

PIECE = 4096  # rows turned to float64 at a time
GROUPS = 64  # partial sums kept: fixed, so that the order of addition is too


class _Sums:
    """Value, gradient and curvature of some rows, in held coordinates."""

    def __init__(self, size: int) -> None:
        self.value, self.gradient, self.curvature = 0.0, np.zeros(size), np.zeros((size, size))

    def add(self, other: "_Sums") -> None:
        self.value += other.value
        self.gradient += other.gradient
        self.curvature += other.curvature


class _Point:
    """theta folded into coefficients of held rows: intercepts and slopes (P, d + 1), and natural extras (E,)."""

    def __init__(self, problem: Problem, theta: np.ndarray) -> None:
        predictors, width = int(problem.shape[PREDICTORS]), int(problem.shape[WIDTH])
        held = state_jacobian(problem, theta.size) @ theta
        self.coefficients = held[: predictors * (width + 1)].reshape(predictors, width + 1)
        self.coefficients[:, 0] += problem.base
        if problem.affine.size:
            self.coefficients[:, 1:] += problem.slope
        sampled = problem.extras_at >= 0
        self.extras = problem.extras.copy()
        self.extras[sampled] = np.exp(theta[problem.extras_at[sampled]])
        self.n_sampled = int(sampled.sum())


def predictors_at(problem: Problem, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Predictors (P, N) and responses (N,) at theta, in float64."""
    point, n_rows = _Point(problem, theta), problem.X.shape[0]
    ends = [(first, min(n_rows, first + PIECE)) for first in range(0, n_rows, PIECE)]
    pieces = [_predictors(problem, point, first, last)[1:] for first, last in ends]
    return np.concatenate([eta for _, eta in pieces], axis=1), np.concatenate([y for y, _ in pieces])


def values(problem: Problem, kernels: tuple[Any, Any], points: np.ndarray) -> np.ndarray:
    """Sums of terms at points (K, D) in float64, without derivatives."""
    folded, n_rows, out = [_Point(problem, theta) for theta in points], problem.X.shape[0], np.zeros(len(points))
    for first in range(0, n_rows, PIECE):
        last = min(n_rows, first + PIECE)
        for k, point in enumerate(folded):
            _, y, eta = _predictors(problem, point, first, last)
            terms = np.empty(y.size)
            kernels[0](eta, y, point.extras, terms)
            out[k] += (_weighed(terms, problem.weights[first:last]) if problem.weights.size else terms).sum()
    return out


def _weighed(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values times weights along the last axis; a row of weight 0 counts for nothing, whatever its value."""
    return np.where(weights != 0, values, 0.0) * weights


def _predictors(problem: Problem, point: _Point, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, d + 1) with a leading one, responses (n,) and predictors (P, n) of rows first..last-1, in float64."""
    rows = np.empty((last - first, point.coefficients.shape[1]))
    rows[:, 0] = 1.0
    rows[:, 1:] = problem.X[first:last]
    eta = np.ascontiguousarray(point.coefficients @ rows.T)
    if problem.offset.size:
        eta += problem.offset[first:last]
    y = problem.y[first:last].astype(np.float64) if problem.y.size else np.zeros(last - first)
    return rows, y, eta


def _piece(problem: Problem, kernels: tuple[Any, Any], point: _Point, first: int, last: int) -> _Sums:
    """Derivatives of rows first..last-1."""
    predictors, size = point.coefficients.shape
    rows, y, eta = _predictors(problem, point, first, last)
    weights = problem.weights[first:last].astype(np.float64) if problem.weights.size else None
    local = predictors + point.n_sampled
    terms, slope, bend = np.empty(y.size), np.empty((local, y.size)), np.empty((local, local, y.size))
    kernels[0](eta, y, point.extras, terms)
    kernels[1](eta, y, point.extras, slope, bend)
    if weights is not None:
        terms, slope, bend = (_weighed(part, weights) for part in (terms, slope, bend))
    out = _Sums(predictors * size + point.n_sampled)
    out.value = float(terms.sum())
    at = [slice(p * size, (p + 1) * size) for p in range(predictors)]
    at += [slice(predictors * size + e, predictors * size + e + 1) for e in range(point.n_sampled)]
    ones = np.ones((y.size, 1))
    designs = [rows] * predictors + [ones] * point.n_sampled
    for p in range(local):
        out.gradient[at[p]] = slope[p] @ designs[p]
        for q in range(p + 1):
            out.curvature[at[p], at[q]] = designs[p].T @ (designs[q] * bend[p, q][:, None])
            out.curvature[at[q], at[p]] = out.curvature[at[p], at[q]].T
    return out


def state_jacobian(problem: Problem, size: int) -> np.ndarray:
    """J (Q, D) with held coordinates = J theta: intercepts and slopes of each predictor, then the sampled extras."""
    predictors, width, has_intercept = (int(problem.shape[k]) for k in (PREDICTORS, WIDTH, INTERCEPT))
    stride = width + has_intercept
    places = problem.extras_at[problem.extras_at >= 0]
    jacobian = np.zeros((predictors * (width + 1) + places.size, size))
    if problem.affine.size:
        jacobian[: predictors * (width + 1) : width + 1] = problem.affine
    for p in range(0 if problem.affine.size else predictors):
        row, column = p * (width + 1), p * stride
        if has_intercept:
            jacobian[row, column] = 1.0
        first = column + has_intercept
        jacobian[row, first : first + width] = problem.shift
        jacobian[row + 1 : row + 1 + width, first : first + width] = np.diag(problem.slope)
    for e, place in enumerate(places):
        jacobian[predictors * (width + 1) + e, place] = 1.0
    return jacobian


def derivatives(
    problem: Problem, kernels: tuple[Any, Any], theta: np.ndarray, pool: ThreadPoolExecutor | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient (D,) and curvature (D, D) of the sum of terms at theta (D,); kernels = (value, slopes)."""
    jacobian, point = state_jacobian(problem, theta.size), _Point(problem, theta)
    n_rows = problem.X.shape[0]
    pieces = -(-n_rows // PIECE)

    def group(g: int) -> _Sums:
        total = _Sums(jacobian.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):  # a step that went too far is taken back
            for k in range(pieces * g // GROUPS, pieces * (g + 1) // GROUPS):
                total.add(_piece(problem, kernels, point, k * PIECE, min(n_rows, (k + 1) * PIECE)))
        return total

    whole = _Sums(jacobian.shape[0])
    for part in pool.map(group, range(GROUPS)) if pool is not None else map(group, range(GROUPS)):
        whole.add(part)
    with np.errstate(over="ignore", invalid="ignore"):
        return whole.value, jacobian.T @ whole.gradient, jacobian.T @ whole.curvature @ jacobian

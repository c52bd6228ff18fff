"""A pass that also sums first and second derivatives, for models with linear predictors.

    x~ = (1, held row),  Q = P (d + 1) + E
    gradient (Q,):    sum_i w_i (g_ip x~_i, ..., g_ie),     curvature (Q, Q): sum_i w_i (h_ipq x~_i x~_i', ...)

in the coordinates of held rows; `to_state` turns both into derivatives in theta. Everything here is in float64.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ..engine.jit import engine
from ..engine.problem import INTERCEPT, PREDICTORS, WIDTH, Problem, fold
from .passes import BLOCK_ROWS

GROUPS = 64  # partial sums kept: fixed, so that the order of addition is too


@engine
def _add_block(problem, slopes, first, last, weights, intercepts, extras, value, gradient, curvature):
    """Add rows first..last-1 to value[0], gradient (Q,) and curvature (Q, Q)."""
    predictors, width, count = weights.shape[0], weights.shape[1], last - first
    n_extras = gradient.size - predictors * (width + 1)
    rows = np.empty((count, width + 1))
    rows[:, 0] = 1.0
    rows[:, 1:] = problem.X[first:last]
    y = problem.y[first:last].astype(np.float64)
    coefficients = np.empty((predictors, width + 1))
    coefficients[:, 0] = intercepts
    coefficients[:, 1:] = weights
    eta = np.dot(coefficients, rows.T)
    if problem.offset.size:
        eta += problem.offset[first:last].astype(np.float64)
    row_weights = np.ones(count)
    if problem.weights.size:
        row_weights[:] = problem.weights[first:last]
    terms = np.empty(count)
    problem.kernel_double(eta, y, extras, terms)
    value[0] += np.sum(terms * row_weights)
    local = predictors + n_extras
    slope, bend = np.empty((local, count)), np.empty((local, local, count))
    slopes(eta, y, extras, slope, bend)
    size = width + 1
    for p in range(predictors):
        gradient[p * size : (p + 1) * size] += np.dot(slope[p] * row_weights, rows)
        for q in range(p + 1):
            scaled = rows * (bend[p, q] * row_weights).reshape(count, 1)
            curvature[p * size : (p + 1) * size, q * size : (q + 1) * size] += np.dot(rows.T, scaled)
    for e in range(n_extras):
        row = predictors * size + e
        gradient[row] += np.sum(slope[predictors + e] * row_weights)
        for p in range(predictors):
            curvature[row, p * size : (p + 1) * size] += np.dot(bend[predictors + e, p] * row_weights, rows)
        for f in range(e + 1):
            curvature[row, predictors * size + f] += np.sum(bend[predictors + e, predictors + f] * row_weights)


@engine
def group_derivatives(problem, slopes, theta, first_group, last_group, values, gradients, curvatures):
    """Derivatives of the rows of each group, in held coordinates; curvatures below the diagonal only."""
    n_rows, predictors = problem.X.shape[0], problem.shape[PREDICTORS]
    blocks = -(-n_rows // BLOCK_ROWS)
    weights, intercepts = np.empty((predictors, problem.X.shape[1])), np.empty(predictors)
    extras = np.empty(problem.extras.size)
    fold(problem, theta, weights, intercepts, extras)
    for group in range(first_group, last_group):
        for block in range(blocks * group // GROUPS, blocks * (group + 1) // GROUPS):
            first = block * BLOCK_ROWS
            _add_block(
                problem,
                slopes,
                first,
                min(n_rows, first + BLOCK_ROWS),
                weights,
                intercepts,
                extras,
                values[group : group + 1],
                gradients[group],
                curvatures[group],
            )


def state_jacobian(problem: Problem, size: int) -> np.ndarray:
    """J (Q, D) with held coordinates = J theta: intercepts and slopes of each predictor, then the sampled extras."""
    predictors, width, has_intercept = (int(problem.shape[k]) for k in (PREDICTORS, WIDTH, INTERCEPT))
    stride = width + has_intercept
    n_sampled = size - predictors * stride
    jacobian = np.zeros((predictors * (width + 1) + n_sampled, size))
    for p in range(predictors):
        row, column = p * (width + 1), p * stride
        if has_intercept:
            jacobian[row, column] = 1.0
        first = column + has_intercept
        jacobian[row, first : first + width] = problem.shift
        jacobian[row + 1 : row + 1 + width, first : first + width] = np.diag(problem.slope)
    for e in range(n_sampled):
        jacobian[predictors * (width + 1) + e, predictors * stride + e] = 1.0
    return jacobian


def derivatives(
    problem: Problem, slopes: Any, theta: np.ndarray, pool: ThreadPoolExecutor | None = None, threads: int = 1
) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient (D,) and curvature (D, D) of the sum of terms at theta (D,)."""
    jacobian = state_jacobian(problem, theta.size)
    held = jacobian.shape[0]
    values, gradients, curvatures = np.zeros(GROUPS), np.zeros((GROUPS, held)), np.zeros((GROUPS, held, held))
    edges = [GROUPS * t // max(1, threads) for t in range(max(1, threads) + 1)]

    def work(first: int, last: int) -> None:
        group_derivatives(problem, slopes, theta, first, last, values, gradients, curvatures)

    futures = [pool.submit(work, a, b) for a, b in pairwise(edges[1:])] if pool else []
    work(edges[0], edges[1] if pool else GROUPS)
    for future in futures:
        future.result()
    value, gradient, lower = values.sum(), gradients.sum(axis=0), curvatures.sum(axis=0)
    curvature = np.tril(lower) + np.tril(lower, -1).T
    return float(value), jacobian.T @ gradient, jacobian.T @ curvature @ jacobian

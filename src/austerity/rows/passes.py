"""A pass: every row once, for K points at a time, as a matrix product with the terms fused behind it.

    sums_k = sum_i weight_i * l_i(theta_k)

Rows are cut into blocks of fixed size and blocks into slabs of fixed size. A thread takes whole slabs; the sums of
the slabs are added in their order. So the bits depend on the rows and on how many points share the product, and never
on the number of threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ..engine.jit import dots, engine
from ..engine.problem import DOUBLE_TERMS, HANDLE, PREDICTORS, USER, Problem, fold

BLOCK_ROWS = 512
SLAB_BLOCKS = 32
SLAB_ROWS = BLOCK_ROWS * SLAB_BLOCKS


def slab_count(n_rows: int) -> int:
    return -(-n_rows // SLAB_ROWS)


@dots
def _matrix_vector(X, weights, out):
    """out_i = X_i . weights for one point: at the speed of memory."""
    for i in range(X.shape[0]):
        total = X.dtype.type(0)
        for j in range(X.shape[1]):
            total += X[i, j] * weights[j]
        out[i] = total


@dots
def _total(values):
    """Sum in float64."""
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i])
    return total


@dots
def _weighted_total(values, weights):
    """Weighted sum in float64."""
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i]) * np.float64(weights[i])
    return total


@engine
def _add_constants(eta, constants, offset):
    """eta_k += b_k (+ offset), the same offset for every predictor."""
    for k in range(eta.shape[0]):
        constant = eta.dtype.type(constants[k])
        if offset.size:
            for i in range(eta.shape[1]):
                eta[k, i] += constant + offset[i]
        else:
            for i in range(eta.shape[1]):
                eta[k, i] += constant


@engine
def _block_sums(problem, first, last, weights, intercepts, extras, scratch, values, values_double, sums):
    """Add the terms of rows first..last-1 at every point to sums[k]."""
    points, predictors, count = sums.size, problem.shape[PREDICTORS], last - first
    products = points * predictors
    eta = scratch[: products * count].reshape(products, count)
    rows = problem.X[first:last]
    if products == 1:
        _matrix_vector(rows, weights[0], eta[0])
    else:
        np.dot(weights, rows.T, eta)
    _add_constants(eta, intercepts, problem.offset[first:last] if problem.offset.size else problem.offset)
    y = problem.y[first:last]
    row_weights = problem.weights[first:last] if problem.weights.size else problem.weights
    for k in range(points):
        at_point = eta[k * predictors : (k + 1) * predictors]
        if problem.shape[DOUBLE_TERMS]:
            double = values_double[:count]
            problem.kernel_double(at_point.astype(np.float64), y.astype(np.float64), extras[k], double)
            sums[k] += _weighted_total(double, row_weights) if row_weights.size else _total(double)
        else:
            single = values[:count]
            problem.kernel(at_point, y, extras[k], single)
            sums[k] += _weighted_total(single, row_weights) if row_weights.size else _total(single)


@engine
def slab_sums(problem, points, indices, first_slab, last_slab, out):
    """out[slab, k] = sum of terms of the slab at points[k]; returns a status, 0 when all is well."""
    n_points, n_rows = points.shape[0], problem.X.shape[0]
    predictors, width = problem.shape[PREDICTORS], problem.X.shape[1]
    products = n_points * predictors
    weights = np.empty((products, width), problem.X.dtype)
    intercepts, extras = np.empty(products), np.empty((n_points, problem.extras.size))
    scratch = np.empty(products * min(BLOCK_ROWS, n_rows), problem.X.dtype)
    values, double = np.empty(BLOCK_ROWS, problem.X.dtype), np.empty(BLOCK_ROWS)
    user = np.empty(n_points * min(BLOCK_ROWS, n_rows) if problem.shape[USER] else 0)
    if not problem.shape[USER]:
        for k in range(n_points):
            at = slice(k * predictors, (k + 1) * predictors)
            fold(problem, points[k], weights[at], intercepts[at], extras[k])
    for slab in range(first_slab, last_slab):
        out[slab, :] = 0.0
        for first in range(slab * SLAB_ROWS, min(n_rows, (slab + 1) * SLAB_ROWS), BLOCK_ROWS):
            last = min(n_rows, first + BLOCK_ROWS)
            if problem.shape[USER]:
                status = _user_sums(problem, points, indices, first, last, user, out[slab])
                if status != 0:
                    return status
            else:
                _block_sums(problem, first, last, weights, intercepts, extras, scratch, values, double, out[slab])
    return 0


@engine
def _user_sums(problem, points, indices, first, last, scratch, sums):
    """The same for a likelihood that takes blocks of rows at several points."""
    count = last - first
    values = scratch[: points.shape[0] * count].reshape(points.shape[0], count)
    rows, y = problem.X[first:last], problem.y[first:last]
    status = problem.block(problem.shape[HANDLE], rows, y, points, indices, values)
    if status != 0:
        return status
    for k in range(points.shape[0]):
        for i in range(count):
            sums[k] += values[k, i] * (problem.weights[first + i] if problem.weights.size else 1.0)
    return 0


@engine
def add_slabs(parts, sums):
    """sums_k = parts_0k + parts_1k + ..., in this order."""
    for k in range(sums.size):
        sums[k] = 0.0
        for slab in range(parts.shape[0]):
            sums[k] += parts[slab, k]


def share_slabs(n_slabs: int, threads: int) -> list[tuple[int, int]]:
    """Contiguous ranges of slabs, one a thread."""
    threads = max(1, min(threads, n_slabs))
    edges = [n_slabs * t // threads for t in range(threads + 1)]
    return list(pairwise(edges))


def over_slabs(
    work: Callable[[int, int], Any], n_rows: int, pool: ThreadPoolExecutor | None, threads: int
) -> list[Any]:
    """Call work(first, last) over all slabs, in as many threads as there are; results in slab order."""
    ranges = share_slabs(slab_count(n_rows), threads)
    if pool is None or len(ranges) == 1:
        return [work(0, slab_count(n_rows))]
    futures = [pool.submit(work, first, last) for first, last in ranges[1:]]
    here = work(*ranges[0])  # this thread does its share instead of waiting
    return [here, *(future.result() for future in futures)]


def sums(
    problem: Problem,
    points: np.ndarray,
    indices: np.ndarray | None = None,
    pool: ThreadPoolExecutor | None = None,
    threads: int = 1,
) -> tuple[np.ndarray, int]:
    """Sums of terms at points (K, D), and a status."""
    n_rows, n_points = problem.X.shape[0], points.shape[0]
    indices = np.zeros((n_points, 0), np.int64) if indices is None else indices
    parts = np.empty((slab_count(n_rows), n_points))
    statuses: Sequence[int] = over_slabs(
        lambda first, last: slab_sums(problem, points, indices, first, last, parts), n_rows, pool, threads
    )
    out = np.empty(n_points)
    add_slabs(parts, out)
    return out, next((status for status in statuses if status), 0)

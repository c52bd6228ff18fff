"""A pass: every row once, for K points at a time, as a matrix product with the terms fused behind it.

    sums_k = sum_i weight_i * l_i(theta_k)

Rows are cut into blocks of fixed size and blocks into slabs of fixed size. A thread takes whole slabs; the sums of
the slabs are added in their order. So the bits depend on the rows and on how many points share the product, and never
on the number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..engine.jit import bare, dots, engine, inlined, sum_of
from ..engine.problem import DOUBLE_TERMS, HANDLE, PREDICTORS, TOTAL, USER, Problem, fold
from .blocks import BLOCK_ROWS, POINTS, SLAB_ROWS, USER_BLOCK_ROWS
from .dots import dot_rows
from .tile import lanes, multiply, pack


def slab_count(n_rows: int) -> int:
    return -(-n_rows // SLAB_ROWS)


@dots
def _weighted_sum(values, weights, first, count):
    """Sum of values[:count] in float64, weighted by weights[first : first + count]; weight 0 leaves out any value."""
    total = 0.0
    for i in range(count):
        weight = np.float64(weights[first + i])
        total += np.float64(values[i]) * weight if weight != 0.0 else 0.0
    return total


@inlined
def _total(values, weights, first, count):
    """Sum of values[:count], weighted where there are weights."""
    return _weighted_sum(values, weights, first, count) if weights.size else sum_of(values, count)


@inlined
def add_constants(eta, constants, offset, first, count):
    """eta_k += b_k (+ offset), the same offset for every predictor."""
    for k in range(constants.size):
        constant = eta.dtype.type(constants[k])
        if constant != 0:
            for i in range(eta.shape[1]):
                eta[k, i] += constant
        if offset.size:
            for i in range(count):
                eta[k, i] += offset[first + i]


@inlined
def _to_double(eta, first, y, double_eta, double_y):
    """Predictors and responses of a block in float64."""
    for p in range(double_eta.shape[0]):
        for i in range(double_eta.shape[1]):
            double_eta[p, i] = eta[first + p, i]
    for i in range(double_y.size):
        double_y[i] = y[i]


@inlined
def _response(y, first, room):
    """Responses of a block, as a whole block also where the rows end, so that kernels see one shape."""
    for i in range(min(room.size, y.size - first)):
        room[i] = y[first + i]


class Room(NamedTuple):
    """Scratch for a pass in one thread: columns in whole tiles, points in bunches, a bunch in whole groups."""

    weights: np.ndarray  # (K P, d) T
    intercepts: np.ndarray  # (K P,)
    extras: np.ndarray  # (K, E)
    packed: np.ndarray  # (bunches * groups of a bunch, d, L) T
    eta: np.ndarray  # (groups of a bunch * L, block) T
    response: np.ndarray  # (block,) T
    values: np.ndarray  # (block,) T
    double_eta: np.ndarray  # (P, block) float64
    double_response: np.ndarray  # (block,)
    double_values: np.ndarray  # (block,)


def new_room(problem: Problem, n_points: int) -> Room:
    """Scratch for K points."""
    real, size, width = problem.X.dtype, lanes(problem.X.dtype), problem.X.shape[1]
    predictors = int(problem.shape[PREDICTORS])
    columns = min(BLOCK_ROWS, -(-problem.X.shape[0] // size) * size)
    bunch = _bunch(n_points, predictors)
    groups = -(-bunch * predictors // size)
    return Room(
        weights=np.zeros((n_points * predictors, width), real),
        intercepts=np.zeros(n_points * predictors),
        extras=np.zeros((n_points, problem.extras.size)),
        packed=np.zeros((-(-n_points // bunch) * groups, width, size), real),
        eta=np.zeros((groups * size, columns), real),
        response=np.zeros(columns, real),
        values=np.zeros(columns, real),
        double_eta=np.zeros((predictors, columns)),
        double_response=np.zeros(columns),
        double_values=np.zeros(columns),
    )


@engine
def _bunch(n_points, predictors):
    """Points taken together, so that their predictors of a block of rows stay in cache."""
    return max(1, min(n_points, POINTS // predictors))


@inlined
def _fold_points(problem, room, points):
    """Coefficients of all points, packed for the tiles bunch by bunch."""
    predictors, n_points = problem.shape[PREDICTORS], points.shape[0]
    for k in range(n_points):
        fold(problem, points[k], room.weights, room.intercepts, k * predictors, room.extras[k])
    bunch, size = _bunch(n_points, predictors), room.packed.shape[2]
    groups = -(-bunch * predictors // size)
    for number in range(-(-n_points // bunch)):
        products = room.weights[number * bunch * predictors : min(n_points, (number + 1) * bunch) * predictors]
        pack(products, room.packed[number * groups : (number + 1) * groups])


@inlined
def _block_sum(problem, room, k, line, first, count):
    """Sum of the terms of a block's rows at point k, whose predictors stand in room.eta from `line` on."""
    predictors, weights = problem.shape[PREDICTORS], problem.weights
    if problem.shape[DOUBLE_TERMS]:
        _to_double(room.eta, line, room.response, room.double_eta, room.double_response)
        problem.kernel_double(room.double_eta, room.double_response, room.extras[k], room.double_values)
        return _total(room.double_values, weights, first, count)
    at_point = room.eta[line : line + predictors]
    if problem.shape[TOTAL] and count == BLOCK_ROWS and weights.size == 0:
        return problem.total(at_point, room.response, room.extras[k], room.values)
    problem.kernel(at_point, room.response, room.extras[k], room.values)
    return _total(room.values, weights, first, count)


@inlined
def _add_block(problem, room, n_points, first, last, sums):
    """sums_k += sum of the terms of rows first..last-1 at point k."""
    X, eta, predictors = problem.X, room.eta, problem.shape[PREDICTORS]
    bunch, size = _bunch(n_points, predictors), room.packed.shape[2]
    groups = -(-bunch * predictors // size)
    _response(problem.y, first, room.response)
    for number in range(-(-n_points // bunch)):
        begin, end = number * bunch, min(n_points, (number + 1) * bunch)
        used = -(-(end - begin) * predictors // size)
        if n_points * predictors == 1:
            dot_rows(X, first, last, room.weights[0], eta[0])
        else:
            multiply(X, first, last, room.packed[number * groups : number * groups + used], eta)
        constants = room.intercepts[begin * predictors : end * predictors]
        add_constants(eta, constants, problem.offset, first, last - first)
        for k in range(begin, end):
            sums[k] += _block_sum(problem, room, k, (k - begin) * predictors, first, last - first)


@bare
def slab_sums(problem, room, points, first_slab, last_slab, out):
    """out[slab, k] = sum of terms of the slab at points[k] (K, D), for models with predictors."""
    n_rows, n_points = problem.X.shape[0], points.shape[0]
    _fold_points(problem, room, points)
    for slab in range(first_slab, last_slab):
        for k in range(n_points):
            out[slab, k] = 0.0
        for first in range(slab * SLAB_ROWS, min(n_rows, (slab + 1) * SLAB_ROWS), BLOCK_ROWS):
            _add_block(problem, room, n_points, first, min(n_rows, first + BLOCK_ROWS), out[slab])
        for k in range(n_points):
            if np.isnan(out[slab, k]):  # terms overflow only at a point far from everything, which has no density
                out[slab, k] = -np.inf


@engine
def user_slab_sums(problem, points, indices, first_slab, last_slab, values, out):
    """The same for a likelihood that takes blocks of rows at several points; returns a status. values (K, block)."""
    n_rows, n_points = problem.X.shape[0], points.shape[0]
    for slab in range(first_slab, last_slab):
        for k in range(n_points):
            out[slab, k] = 0.0
        for first in range(slab * SLAB_ROWS, min(n_rows, (slab + 1) * SLAB_ROWS), values.shape[1]):
            last = min(n_rows, (slab + 1) * SLAB_ROWS, first + values.shape[1])
            rows, y = problem.X[first:last], problem.y[first:last]
            part = values if last - first == values.shape[1] else np.empty((n_points, last - first))
            status = problem.block(problem.shape[HANDLE], rows, y, points, indices, part)
            if status != 0:
                return status
            for k in range(n_points):
                out[slab, k] += _total(part[k], problem.weights, first, last - first)
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
    """Sums of terms at points (K, D), and a status, 0 when all is well."""
    n_rows, n_points = problem.X.shape[0], points.shape[0]
    indices = np.zeros((n_points, 0), np.int64) if indices is None else indices
    parts = np.empty((slab_count(n_rows), n_points))

    def some(first: int, last: int) -> int:
        if problem.shape[USER]:
            room = np.empty((n_points, min(USER_BLOCK_ROWS, n_rows)))
            return int(user_slab_sums(problem, points, indices, first, last, room, parts))
        slab_sums(problem, new_room(problem, n_points), points, first, last, parts)
        return 0

    statuses = over_slabs(some, n_rows, pool, threads)
    out = np.empty(n_points)
    add_slabs(parts, out)
    return out, next((status for status in statuses if status), 0)

"""A draw: a few rows at random for one decision, without replacement, prefetched ahead.

    terms_i = weight_i * (l_i(theta') - l_i(theta))      for the next n rows of this decision's order

The decision sees terms only; where rows live and what a model says about them stays here.
"""

import numpy as np

from ..engine.jit import dots, engine, prefetch
from ..engine.problem import ACTIVE, AHEAD, HANDLE, PREDICTORS, USER, fold
from .order import TAKEN, WAITING, begin, ensure

_LINE = 64  # bytes in a cache line


@engine
def open_draw(source, theta, theta_new, indices, indices_new, key, used):
    """Make ready to read rows for one decision; the first `used` rows of its order belong to the proposal."""
    problem, work = source
    if problem.shape[USER]:
        work.theta[0, :], work.theta[1, :] = theta, theta_new
        work.indices[0, :], work.indices[1, :] = indices, indices_new
    else:
        fold(problem, theta, work.weights_pair[0], work.intercepts[0], work.extras[0])
        fold(problem, theta_new, work.weights_pair[1], work.intercepts[1], work.extras[1])
        if problem.shape[ACTIVE]:
            _find_active(work)
    n_rows = problem.X.shape[0]
    begin(work.order, key, used, n_rows, work.queue, work.chunk)
    ensure(work.order, min(AHEAD, n_rows), n_rows, work.queue, work.chunk)
    for i in range(min(AHEAD, n_rows)):
        _prefetch_row(problem, work.queue[np.int64(work.order[TAKEN]) + i])


@engine
def _find_active(work):
    """Columns with a coefficient at either point; active[-1] is how many when not all of them are."""
    predictors, width = work.weights_pair.shape[1], work.weights_pair.shape[2]
    count = 0
    for j in range(width):
        used = False
        for p in range(predictors):
            used = used or work.weights_pair[0, p, j] != 0 or work.weights_pair[1, p, j] != 0
        if used:
            work.active[count] = j
            count += 1
    for k in range(count, width):
        work.active[k] = -1


@engine
def _prefetch_row(problem, row):
    """Ask for the cache lines of one row, its response, offset and weight."""
    width = problem.X.shape[1]
    per_line = _LINE // problem.X.itemsize
    start = row * width
    flat = problem.X.reshape(problem.X.size)
    for place in range(start, start + width, per_line):
        prefetch(flat, place)
    prefetch(flat, start + width - 1)
    prefetch(problem.y, row)
    if problem.offset.size:
        prefetch(problem.offset, row)
    if problem.weights.size:
        prefetch(problem.weights, row)


@dots
def _two_dots(row, weights, p):
    """One row against predictor p of both points."""
    first, second = row.dtype.type(0), row.dtype.type(0)
    for j in range(row.size):
        first += row[j] * weights[0, p, j]
        second += row[j] * weights[1, p, j]
    return first, second


@dots
def _two_sparse_dots(row, weights, p, active):
    """The same over active columns alone; the others are not read."""
    first, second = row.dtype.type(0), row.dtype.type(0)
    for j in active:
        if j < 0:
            break
        first += row[j] * weights[0, p, j]
        second += row[j] * weights[1, p, j]
    return first, second


@engine
def _gather_predictors(problem, work, first, count, lookahead):
    """eta at both points and the response of `count` rows, asking for rows `AHEAD` further on as it goes."""
    predictors = problem.shape[PREDICTORS]
    sparse = problem.shape[ACTIVE]
    for i in range(count):
        if i < lookahead:
            _prefetch_row(problem, work.queue[first + AHEAD + i])
        row = work.queue[first + i]
        for p in range(predictors):
            if sparse:
                dot, dot_new = _two_sparse_dots(problem.X[row], work.weights_pair, p, work.active)
            else:
                dot, dot_new = _two_dots(problem.X[row], work.weights_pair, p)
            work.eta[0, p, i] = dot + work.intercepts[0, p]
            work.eta[1, p, i] = dot_new + work.intercepts[1, p]
        work.response[i] = problem.y[row]
        if problem.offset.size:
            for p in range(predictors):
                work.eta[0, p, i] += problem.offset[row]
                work.eta[1, p, i] += problem.offset[row]


@engine
def _gather_rows(problem, work, first, count, lookahead):
    """Copies of `count` rows and their responses, for a likelihood that takes whole blocks."""
    for i in range(count):
        if i < lookahead:
            _prefetch_row(problem, work.queue[first + AHEAD + i])
        row = work.queue[first + i]
        work.rows[i, :] = problem.X[row]
        work.response[i] = problem.y[row]


@engine
def _fill_terms(problem, work, count):
    """Differences of a gathered block; a status other than 0 is a fault of a user's likelihood."""
    if problem.shape[USER]:
        values = work.block_values[: 2 * count].reshape(2, count)
        rows, response = work.rows[:count], work.response[:count]
        status = problem.block(problem.shape[HANDLE], rows, response, work.theta, work.indices, values)
        if status != 0:
            return status
        for i in range(count):
            work.terms[i] = values[1, i] - values[0, i]
        return 0
    # The kernel always sees whole blocks: stale rows beyond `count` cost little and keep one shape.
    problem.kernel(work.eta[0], work.response, work.extras[0], work.values[0])
    problem.kernel(work.eta[1], work.response, work.extras[1], work.values[1])
    for i in range(count):
        work.terms[i] = np.float64(work.values[1, i]) - np.float64(work.values[0, i])
    return 0


@engine
def read_block(source, count):
    """Put the next `count` <= BLOCK terms into work.terms; returns a status, 0 when all is well."""
    problem, work = source
    n_rows = problem.X.shape[0]
    ensure(work.order, min(count + AHEAD, n_rows), n_rows, work.queue, work.chunk)
    first = np.int64(work.order[TAKEN])
    lookahead = min(count, np.int64(work.order[WAITING]) - first - AHEAD)
    if problem.shape[USER]:
        _gather_rows(problem, work, first, count, lookahead)
    else:
        _gather_predictors(problem, work, first, count, lookahead)
    status = _fill_terms(problem, work, count)
    if problem.weights.size:
        for i in range(count):
            work.terms[i] *= problem.weights[work.queue[first + i]]
    work.order[TAKEN] += np.uint64(count)
    return status

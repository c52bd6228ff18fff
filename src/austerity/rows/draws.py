"""A draw: a few rows at random for one decision, without replacement, prefetched ahead.

    terms_i = weight_i * (l_i(theta') - l_i(theta))      for the next n rows of this decision's order

The decision sees terms only; where rows live and what a model says about them stays here.
"""

import numpy as np

from ..engine.jit import LINES_BEHIND, ROWS_AHEAD, dots, engine, inlined, prefetch
from ..engine.problem import ACTIVE, HANDLE, PREDICTORS, USER, copy_into, fold
from .order import TAKEN, WAITING, begin, ensure
from .sparse import SPARSE_AHEAD, ask_sparse, find_columns, sparse_dots


@inlined
def open_draw(source, theta, theta_new, indices, indices_new, key, used):
    """Make ready to read rows for one decision; the first `used` rows of its order belong to the proposal."""
    problem, work = source
    if problem.shape[USER]:
        copy_into(work.theta[0], theta)
        copy_into(work.theta[1], theta_new)
        copy_into(work.indices[0], indices)
        copy_into(work.indices[1], indices_new)
    else:
        fold(problem, theta, work.weights_pair[0], work.intercepts[0], np.int64(0), work.extras[0])
        fold(problem, theta_new, work.weights_pair[1], work.intercepts[1], np.int64(0), work.extras[1])
        if problem.shape[ACTIVE]:
            find_columns(work.weights_pair, work.some, lines_of(problem.X))
    begin(work.order, key, used)


@inlined
def lines_of(X):
    """Cache lines to ask for: those of a row, and some behind it where the processor wants that (engine/jit.py)."""
    lines = (X.shape[1] * X.itemsize + 62) // 64
    return lines + (lines // 2 + 1) * LINES_BEHIND


@inlined
def prefetch_row(X, row):
    """Ask for the cache lines of one row."""
    place, step = row * X.shape[1], 64 // X.itemsize
    for line in range(lines_of(X)):
        prefetch(X, place + line * step)


@inlined
def _prefetch_values(values, rows):
    """Ask for the entries of `rows` in an array of one value a row, where there is one."""
    if values.size:
        for row in rows:
            prefetch(values, row)


@dots
def _two_dots(X, row, weights, weights_new):
    """One row against one predictor of both points."""
    first, second = X.dtype.type(0), X.dtype.type(0)
    for j in range(X.shape[1]):
        first += X[row, j] * weights[j]
        second += X[row, j] * weights_new[j]
    return first, second


@engine
def _dense_dots(X, rows, ahead, weights, weights_new, eta, eta_new):
    """Dots of `rows`, asking for the rows `ahead`. Nothing else is in this loop: a branch costs as much as a dot."""
    place_step = 64 // X.itemsize
    lines = lines_of(X)
    for i in range(rows.size):
        if i < ahead.size:
            place = ahead[i] * X.shape[1]
            for line in range(lines):
                prefetch(X, place + line * place_step)
        eta[i], eta_new[i] = _two_dots(X, rows[i], weights, weights_new)


# The loops below take arrays, not the named tuples: taking a field out of a tuple counts a reference, atomically, and
# once a row that costs more than the row itself.


@inlined
def _add_constant(eta, constant, offset, rows):
    """eta_i += b (+ offset of the row)."""
    constant = eta.dtype.type(constant)
    for i in range(rows.size):
        eta[i] += constant
    if offset.size:
        for i in range(rows.size):
            eta[i] += offset[rows[i]]


@inlined
def _gather_predictors(X, y, offset, row_weights, rows, ahead, weights, intercepts, some, sparse, eta, response):
    """eta at both points and the response of `rows`, asking for the rows `ahead` as it goes."""
    _prefetch_values(y, ahead)
    _prefetch_values(offset, ahead)
    _prefetch_values(row_weights, ahead)
    for p in range(weights.shape[1]):
        if sparse:
            sparse_dots(X, rows, ahead, some, p, eta[0, p], eta[1, p])
        else:
            _dense_dots(X, rows, ahead, weights[0, p], weights[1, p], eta[0, p], eta[1, p])
        ahead = ahead[:0]
        for k in range(2):
            _add_constant(eta[k, p], intercepts[k, p], offset, rows)
    for i in range(rows.size):
        response[i] = y[rows[i]]


@inlined
def _gather_rows(X, y, offset, row_weights, rows, ahead, copies, response):
    """Copies of `rows` and their responses, for a likelihood that takes whole blocks."""
    _prefetch_values(y, ahead)
    _prefetch_values(row_weights, ahead)
    for i in range(rows.size):
        if i < ahead.size:
            prefetch_row(X, ahead[i])
        row = rows[i]
        for j in range(X.shape[1]):
            copies[i, j] = X[row, j]
        response[i] = y[row]


@inlined
def _fill_terms(problem, work, count):
    """Differences of a gathered block; a status other than 0 is a fault of a user's likelihood."""
    if problem.shape[USER]:
        values = work.block_values[: 2 * count].reshape((2, count))
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


@inlined
def read_block(source, count):
    """Put the next `count` <= BLOCK terms into work.terms; returns a status, 0 when all is well."""
    problem, work = source
    X, y, offset, row_weights = problem.X, problem.y, problem.offset, problem.weights
    queue, n_rows = work.queue, problem.X.shape[0]
    fresh = work.order[WAITING] == 0
    distance = SPARSE_AHEAD if problem.shape[ACTIVE] else ROWS_AHEAD
    ensure(work.order, min(count + distance, n_rows), n_rows, queue, work.chunk)
    if fresh:
        if problem.shape[ACTIVE]:
            ask_sparse(X, queue[: min(distance, n_rows)], work.some)
        else:
            for i in range(min(ROWS_AHEAD, n_rows)):
                prefetch_row(X, queue[i])
    first = np.int64(work.order[TAKEN])
    waiting = np.int64(work.order[WAITING])
    rows = queue[first : first + count]
    ahead = queue[min(first + distance, waiting) : min(first + distance + count, waiting)]
    if problem.shape[USER]:
        _gather_rows(X, y, offset, row_weights, rows, ahead, work.rows, work.response)
    elif problem.shape[PREDICTORS] > 1 and not problem.shape[ACTIVE]:
        problem.gather(
            X,
            y,
            offset,
            row_weights,
            rows,
            ahead,
            work.weights_pair,
            work.intercepts,
            work.packed,
            work.rows,
            work.products,
            work.response,
        )
    else:
        _gather_predictors(
            X,
            y,
            offset,
            row_weights,
            rows,
            ahead,
            work.weights_pair,
            work.intercepts,
            work.some,
            problem.shape[ACTIVE],
            work.eta,
            work.response,
        )
    status = _fill_terms(problem, work, count)
    if row_weights.size:
        for i in range(count):
            weight = row_weights[rows[i]]
            work.terms[i] = work.terms[i] * weight if weight != 0 else 0.0  # also where the term is infinite
    work.order[TAKEN] += np.uint64(count)
    return status

"""Draws where a state has an active set: columns that neither point uses are not read, and nor are their cache lines.

    eta_i = sum over columns in use at theta,     eta'_i = eta_i + sum over columns that change, (w'_j - w_j) x_ij

A move between sets changes one coefficient, so the second point costs one column more than the first. Where a set is
large whole rows in vector registers are quicker than columns one by one, and columns with coefficient 0 are read too.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from ..engine.jit import ENGINE, dots, engine, inlined, prefetch

FEW, LARGE_SHARE = 16, 0.7  # sets above both, in columns and as a share of all, are read as whole rows
SPARSE_AHEAD = 64  # rows between the prefetch of a row and its use: more than for whole rows, which take longer
USED, CHANGED, ASKED = range(3)


class Columns(NamedTuple):
    """What a draw needs to know of the columns of two points."""

    places: np.ndarray  # (3, d) int64: columns in use at theta, those that change, and those to ask memory for
    counts: np.ndarray  # (3,) int64: how many there are of each
    compact: np.ndarray  # (2, P, d) T: coefficients of those in use and changes of those that change, side by side


def new_columns(predictors: int, width: int, real: Any) -> Columns:
    """Room for all columns."""
    return Columns(np.zeros((3, width), np.int64), np.zeros(3, np.int64), np.zeros((2, predictors, width), real))


# Rows are drawn by one piece of compiled code whether there is an active set or not. The functions that it calls are
# chosen by the type of `some`, so that models without sets do not wait for what they never call.


def find_columns(weights, some, lines):
    """Find the columns of weights (2, P, d); lines: cache lines to ask for where rows are read whole."""


def ask_sparse(X, rows, some):
    """Ask for the cache lines of these rows that hold columns in use."""


def sparse_dots(X, rows, ahead, some, p, eta, eta_new):
    """Predictor p of `rows` at both points by the formula at the top, asking for the rows `ahead`."""


@overload(find_columns, jit_options=ENGINE)
def _choose_find(weights, some, lines):
    if isinstance(some, types.Integer):
        return lambda weights, some, lines: None
    return lambda weights, some, lines: _find(weights, some.places, some.counts, some.compact, lines)


@overload(ask_sparse, jit_options=ENGINE)
def _choose_ask(X, rows, some):
    if isinstance(some, types.Integer):
        return lambda X, rows, some: None
    return lambda X, rows, some: _ask_all(X, rows, some.places[2, : some.counts[2]])


@overload(sparse_dots, jit_options=ENGINE)
def _choose_dots(X, rows, ahead, some, p, eta, eta_new):
    if isinstance(some, types.Integer):
        return lambda X, rows, ahead, some, p, eta, eta_new: None

    def dots_of_some(X, rows, ahead, some, p, eta, eta_new):
        places, counts, compact = some.places, some.counts, some.compact
        used, changed, asked = places[0, : counts[0]], places[1, : counts[1]], places[2, : counts[2]]
        if used.size == X.shape[1]:
            _whole_dots(X, rows, ahead, asked, compact[0, p], changed, compact[1, p], eta, eta_new)
        else:
            _sparse_dots(X, rows, ahead, asked, used, compact[0, p], changed, compact[1, p], eta, eta_new)

    return dots_of_some


@engine
def _find(weights, columns, counts, compact, lines):
    """Columns in use and columns that change, with their coefficients side by side, and columns to ask memory for."""
    predictors, width = weights.shape[1], weights.shape[2]
    room = 64 // weights.itemsize  # values in a cache line
    used, changed, asked = 0, 0, 0
    begins, last = -room, -1  # the first column of the present group of neighbours, and the last read so far
    for j in range(width):
        here, other = False, False
        for p in range(predictors):
            here = here or weights[0, p, j] != 0
            other = other or weights[0, p, j] != weights[1, p, j]
        if here or other:
            # Neighbours within a line's length lie in one line or two, as rows happen to fall: ask for both ends.
            if j - begins >= room:
                if last > begins >= 0:
                    columns[ASKED, asked] = last
                    asked += 1
                columns[ASKED, asked] = j
                asked += 1
                begins = j
            last = j
        if here:
            for p in range(predictors):
                compact[0, p, used] = weights[0, p, j]
            columns[USED, used] = j
            used += 1
        if other:
            for p in range(predictors):
                compact[1, p, changed] = weights[1, p, j] - weights[0, p, j]
            columns[CHANGED, changed] = j
            changed += 1
    if last > begins >= 0:
        columns[ASKED, asked] = last
        asked += 1
    if used > FEW and used > LARGE_SHARE * width:
        for p in range(predictors):
            for j in range(width):
                compact[0, p, j] = weights[0, p, j]
        for k in range(lines):
            columns[ASKED, k] = k * room
        used, asked = width, lines
    counts[USED], counts[CHANGED], counts[ASKED] = used, changed, asked


@inlined
def _ask(X, rows, first, last, asked):
    """Ask for the cache lines of rows[first : last] that hold columns in use."""
    for i in range(first, min(last, rows.size)):
        place = rows[i] * X.shape[1]
        for k in range(asked.size):
            prefetch(X, place + asked[k])


@engine
def _ask_all(X, rows, asked):
    """The same for all of these rows."""
    _ask(X, rows, 0, rows.size, asked)


@engine
def _four_rows(X, rows, first, columns, weights):
    """sum_k X_row,columns_k * weights_k of four rows: by itself each would wait for its own sum at every column."""
    one, two, three, four = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
    a = b = c = d = X.dtype.type(0)
    for k in range(columns.size):
        column, weight = columns[k], weights[k]
        a += X[one, column] * weight
        b += X[two, column] * weight
        c += X[three, column] * weight
        d += X[four, column] * weight
    return a, b, c, d


@engine
def _one_row(X, row, columns, weights):
    """The same of one row."""
    total = X.dtype.type(0)
    for k in range(columns.size):
        total += X[row, columns[k]] * weights[k]
    return total


@dots
def _whole_row(X, row, weights):
    """sum_j X_row,j * weights_j."""
    total = X.dtype.type(0)
    for j in range(X.shape[1]):
        total += X[row, j] * weights[j]
    return total


@engine
def _sparse_dots(X, rows, ahead, asked, used, weights, changed, changes, eta, eta_new):
    """eta of `rows` at both points by the formula at the top, asking for the rows `ahead`."""
    fours = rows.size // 4 * 4
    for i in range(0, fours, 4):
        _ask(X, ahead, i, i + 4, asked)
        eta[i], eta[i + 1], eta[i + 2], eta[i + 3] = _four_rows(X, rows, i, used, weights)
        a, b, c, d = _four_rows(X, rows, i, changed, changes)
        eta_new[i], eta_new[i + 1] = eta[i] + a, eta[i + 1] + b
        eta_new[i + 2], eta_new[i + 3] = eta[i + 2] + c, eta[i + 3] + d
    _ask(X, ahead, fours, rows.size, asked)
    for i in range(fours, rows.size):
        eta[i] = _one_row(X, rows[i], used, weights)
        eta_new[i] = eta[i] + _one_row(X, rows[i], changed, changes)


@engine
def _whole_dots(X, rows, ahead, asked, weights, changed, changes, eta, eta_new):
    """The same with whole rows at the first point."""
    for i in range(rows.size):
        _ask(X, ahead, i, i + 1, asked)
        eta[i] = _whole_row(X, rows[i], weights)
        eta_new[i] = eta[i] + _one_row(X, rows[i], changed, changes)

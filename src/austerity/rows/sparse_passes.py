"""Passes where a state has an active set: columns that no point has in use are left out of the product.

A block of rows is copied with its other columns alone, and the copy multiplied. Products are added up in the order of
columns and a product with 0 adds nothing, so that every bit is that of a pass over all columns.
"""

from typing import Any, NamedTuple

import numpy as np

from ..engine.jit import bare, engine
from ..engine.problem import INTERCEPT, PREDICTORS, Problem
from .blocks import BLOCK_ROWS, SLAB_ROWS
from .passes import add_block, bunch_of, fold_points, no_density
from .tile import ROWS, lanes

LARGE_SHARE = 0.7  # of the columns, above which copying costs more than it saves


class Few(NamedTuple):
    """Room for the columns in use: a block of them, and their coefficients packed."""

    block: np.ndarray  # (rows of a block, k) T
    packed: np.ndarray  # (bunches * groups of a bunch, k, L) T, as in passes.Room


def few_columns(problem: Problem, points: np.ndarray) -> np.ndarray | None:
    """The columns that any of the points (K, D) has in use; None where a pass does better with all of them."""
    predictors, first, width = int(problem.shape[PREDICTORS]), int(problem.shape[INTERCEPT]), problem.X.shape[1]
    if len(points) * predictors == 1:
        return None  # a single point is multiplied at the speed of memory, which holds whole rows
    slopes = points[:, : predictors * (first + width)].reshape(-1, first + width)[:, first:]
    used = np.flatnonzero(np.any(slopes != 0, axis=0))
    return used if 0 < used.size <= LARGE_SHARE * width else None


def few_room(problem: Problem, n_points: int, count: int) -> Few:
    """Room for `count` columns of one thread."""
    real: Any = problem.X.dtype
    predictors = int(problem.shape[PREDICTORS])
    bunch = bunch_of(n_points, predictors)
    groups = -(-n_points // bunch) * -(-bunch * predictors // lanes(real))
    rows = min(BLOCK_ROWS, -(-problem.X.shape[0] // ROWS) * ROWS)
    return Few(np.zeros((rows, count), real), np.zeros((groups, count, lanes(real)), real))


@engine
def _copy_columns(X, first, last, columns, block):
    """block[i, k] = X[first + i, columns_k]."""
    for i in range(first, last):
        for k in range(columns.size):
            block[i - first, k] = X[i, columns[k]]


@engine
def _pack_columns(weights, columns, products, packed):
    """packed from weights (K P, d), `products` of them a bunch."""
    size = packed.shape[2]
    groups = -(-products // size)
    for p in range(weights.shape[0]):
        number, place = p // products, p % products
        for k in range(columns.size):
            packed[number * groups + place // size, k, place % size] = weights[p, columns[k]]


@bare
def few_slab_sums(problem, room, few, columns, points, first_slab, last_slab, out):
    """passes.slab_sums with these columns alone."""
    X, block, packed, predictors = problem.X, few.block, few.packed, problem.shape[PREDICTORS]
    n_rows = X.shape[0]
    fold_points(problem, room, points)
    _pack_columns(room.weights, columns, bunch_of(points.shape[0], predictors) * predictors, packed)
    for slab in range(first_slab, last_slab):
        for k in range(points.shape[0]):
            out[slab, k] = 0.0
        for first in range(slab * SLAB_ROWS, min(n_rows, (slab + 1) * SLAB_ROWS), BLOCK_ROWS):
            last = min(n_rows, first + BLOCK_ROWS)
            _copy_columns(X, first, last, columns, block)
            add_block(problem, room, block, packed, 0, first, last - first, out[slab])
        no_density(out[slab])

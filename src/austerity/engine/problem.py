"""What compiled code knows of a model and its rows: named tuples of arrays and function pointers.

    eta_p(row) = sum_j W_pj * held_j + b_p,     W = theta * slope,   b = intercept + sum_j theta_j * shift_j + base

Centring, scaling and the intercept are folded into W and b in float64; rows are never rewritten. Densities of the rows
themselves have W = slope and b = affine theta + base: all that moves is where the row is seen from.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from .jit import engine, pointer

BLOCK = 512  # rows evaluated together in a draw
QUEUE = 1024  # row numbers kept waiting

# Places in Problem.shape
PREDICTORS, WIDTH, INTERCEPT, EXTRAS, USER, DOUBLE_TERMS, ACTIVE, HANDLE, TOTAL = range(9)
SHAPES = 9


class Problem(NamedTuple):
    """Rows and model, shared by all chains and never written to."""

    X: np.ndarray  # (N, d)
    y: np.ndarray  # (N,), or empty: kernels then get zeros
    offset: np.ndarray  # (N,) or empty
    weights: np.ndarray  # (N,) or empty
    slope: np.ndarray  # (d,) float64
    shift: np.ndarray  # (d,) float64
    base: float
    affine: np.ndarray  # (P, D) float64, see above, or (0, 0) where theta holds coefficients of columns
    shape: np.ndarray  # (SHAPES,) int64, see above
    extras: np.ndarray  # (E,) float64: value of a fixed extra, or where it stands in theta: see extras_at
    extras_at: np.ndarray  # (E,) int64: index in theta (held as a logarithm), or -1 where fixed
    kernel: Any  # (eta T[P, n], y T[n], extras, out T[n]) -> None
    kernel_double: Any  # the same in float64
    total: Any  # (eta T[P, n], y T[n], extras, room T[n]) -> sum of a block's terms, where shape[TOTAL]
    block: Any  # (handle, X T[n, d], y T[n], points [K, D], indices [K, I], out float64[K, n]) -> status
    gather: Any  # rows/gather.py: predictors of rows drawn, where there are several a row


class Work(NamedTuple):
    """One thread's scratch space for a draw at two points."""

    weights_pair: np.ndarray  # (2, P, d) T
    intercepts: np.ndarray  # (2, P) float64
    extras: np.ndarray  # (2, E) float64
    theta: np.ndarray  # (2, D) float64
    indices: np.ndarray  # (2, I) int64
    some: Any  # Columns of rows/sparse.py, where a state has an active set; otherwise 0
    eta: np.ndarray  # (2, P, BLOCK) T; the first 2 P lines of `products` where there are several predictors
    products: np.ndarray  # (groups * L, BLOCK) T, lines in whole tiles (rows/tile.py)
    packed: np.ndarray  # (groups, d, L) T
    response: np.ndarray  # (BLOCK,) T
    values: np.ndarray  # (2, BLOCK) T
    rows: np.ndarray  # (BLOCK, d) T, copies for user-written likelihoods and for several predictors
    block_values: np.ndarray  # (2 * BLOCK,) float64
    terms: np.ndarray  # (BLOCK,) float64: differences handed to the decision
    order: np.ndarray  # (ORDER_SIZE,) uint64
    queue: np.ndarray  # (QUEUE,) int64
    chunk: np.ndarray  # (CHUNK,) uint32


class Source(NamedTuple):
    """A source of terms for one decision: it hands out differences and keeps theta to itself."""

    problem: Problem
    work: Work


def kernel_signature(real: Any) -> Any:
    return types.void(
        types.Array(real, 2, "C"),
        types.Array(real, 1, "C"),
        types.Array(types.float64, 1, "C"),
        types.Array(real, 1, "C"),
    )


def block_signature(real: Any) -> Any:
    return types.int64(
        types.int64,
        types.Array(real, 2, "C"),
        types.Array(real, 1, "C"),
        types.Array(types.float64, 2, "C"),
        types.Array(types.int64, 2, "C"),
        types.Array(types.float64, 2, "C"),
    )


def gather_signature(real: Any) -> Any:
    numbers = types.Array(types.int64, 1, "C")
    square, cube = types.Array(real, 2, "C"), types.Array(real, 3, "C")
    line, table = types.Array(real, 1, "C"), types.Array(types.float64, 2, "C")
    return types.void(square, line, line, line, numbers, numbers, cube, table, cube, square, square, line)


def total_signature(real: Any) -> Any:
    return types.float64(
        types.Array(real, 2, "C"),
        types.Array(real, 1, "C"),
        types.Array(types.float64, 1, "C"),
        types.Array(real, 1, "C"),
    )


@engine
def no_total(eta, y, extras, room):
    """Stands where a family has no cheaper sum of a block than its terms one by one."""
    return 0.0


@engine
def no_kernel(eta, y, extras, out):
    """Stands where a user's model has no predictors."""


@engine
def no_block(handle, X, y, points, indices, out):
    """Stands where a model has predictors and so no function of whole blocks."""
    return 0


@engine
def no_gather(X, y, offset, row_weights, rows, ahead, weights, intercepts, packed, copies, products, response):
    """Stands where a row has one predictor or none."""


def compiled_gather(predictors: int, real: Any) -> Any:
    """Pointer to the loop that fills several predictors of rows drawn; nothing is compiled for a single one."""
    if predictors < 2:
        return pointer(no_gather, gather_signature(real))
    from ..rows.gather import gather_predictors

    return pointer(gather_predictors, gather_signature(real))


def new_work(problem: Problem, size: int, n_indices: int) -> Work:
    """Scratch space for states of `size` floats and `n_indices` integers."""
    from ..rows.order import CHUNK, ORDER_SIZE
    from ..rows.sparse import new_columns
    from ..rows.tile import lanes

    real = problem.X.dtype
    predictors, width = max(1, int(problem.shape[PREDICTORS])), problem.X.shape[1]
    several, size_of_group = predictors > 1, lanes(real)
    groups = -(-2 * predictors // size_of_group)
    products = np.zeros((groups * size_of_group if several else 2, BLOCK), real)
    copied_rows = BLOCK if problem.shape[USER] or several else 0
    return Work(
        weights_pair=np.zeros((2, predictors, width), real),
        intercepts=np.zeros((2, predictors)),
        extras=np.zeros((2, problem.extras.size)),
        theta=np.zeros((2, size)),
        indices=np.zeros((2, n_indices), np.int64),
        some=new_columns(predictors, width, real) if problem.shape[ACTIVE] else 0,
        eta=products[: 2 * predictors].reshape(2, predictors, BLOCK),
        products=products,
        packed=np.zeros((groups if several else 0, width, size_of_group), real),
        response=np.zeros(BLOCK, real),
        values=np.zeros((2, BLOCK), real),
        rows=np.zeros((copied_rows, width), real),
        block_values=np.zeros(2 * BLOCK),
        terms=np.zeros(BLOCK),
        order=np.zeros(ORDER_SIZE, np.uint64),
        queue=np.zeros(QUEUE, np.int64),
        chunk=np.zeros(CHUNK, np.uint32),
    )


def new_source(problem: Problem, size: int, n_indices: int) -> Source:
    """A source of terms over the rows of this problem, with scratch of its own."""
    return Source(problem, new_work(problem, size, n_indices))


def source_type(problem: Problem) -> Any:
    """Numba's type of a Source over this problem: what the signature of a decision needs."""
    return typeof(new_source(problem, 1, 1))


@engine
def fold(problem, theta, weights, intercepts, first, extras):
    """W, b and natural extras of the state theta, into lines first, first + 1, ...; see the formula at the top."""
    predictors, width = problem.shape[PREDICTORS], problem.shape[WIDTH]
    has_intercept = problem.shape[INTERCEPT]
    slope, shift = problem.slope, problem.shift
    stride, affine = width + has_intercept, problem.affine
    for p in range(predictors):
        total = problem.base
        if affine.size:
            for k in range(theta.size):
                total += affine[p, k] * theta[k]
            for j in range(width):
                weights[first + p, j] = slope[j]
            intercepts[first + p] = total
            continue
        if has_intercept:
            total += theta[p * stride]
        for j in range(width):
            coefficient = theta[p * stride + has_intercept + j]
            total += coefficient * shift[j]
            weights[first + p, j] = coefficient * slope[j]
        intercepts[first + p] = total
    for e in range(extras.size):
        place = problem.extras_at[e]
        extras[e] = np.exp(theta[place]) if place >= 0 else problem.extras[e]


@engine
def copy_into(out, values):
    """out[i] = values[i]: a loop, since assigning to a slice takes the compiler a second."""
    for i in range(out.size):
        out[i] = values[i]


def compiled_kernel(dispatcher: Any, real: Any) -> Any:
    """Pointer to a family's kernel at one precision."""
    return pointer(dispatcher, kernel_signature(real))

"""The gradient of the log posterior from a batch of rows, and its Fisher information, for models with predictors.

    G(theta) = d log prior / d theta + f sum_{i in batch} w_i s_i(theta),      f = N / (n T)
    I(theta) = ridge + f sum_{i in batch} w_i s_i s_i',                        s_i = d l_i / d theta

With g_ip the derivative of row i in its predictor p: d l_i / d theta_pj = g_ip (slope_j held_ij + shift_j), and g_ip
itself for an intercept. Predictors are dots in the precision of the rows; what follows them is float64.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from ..engine.jit import ROWS_AHEAD, bare, dots, engine, prefetch, sum_of
from ..engine.prior import add_log_prior_gradient
from ..engine.problem import BLOCK, INTERCEPT, PREDICTORS, WIDTH, Problem, fold
from .draws import prefetch_row
from .order import TAKEN, begin, ensure


class GradientRoom(NamedTuple):
    """Scratch for one thread; a block is as many rows as go through the family's derivatives together."""

    numbers: np.ndarray  # (n,) int64: rows of the batch
    eta: np.ndarray  # (P * block,) float64
    response: np.ndarray  # (block,)
    slope: np.ndarray  # (L * block,), L predictors and sampled extras
    curvature: np.ndarray  # (L * L * block,)
    sums: np.ndarray  # (P, d + 1): sums of w g and of w g held
    scores: np.ndarray  # (D, block) where the information is asked for, else (0, block)


def block_size(batch: int) -> int:
    """Rows a block: at most BLOCK, all blocks of a batch nearly alike, since kernels always see whole ones."""
    return -(-batch // max(1, -(-batch // BLOCK)))


def new_gradient_room(problem: Problem, size: int, batch: int, information: bool) -> GradientRoom:
    """Scratch for batches of up to so many rows at states of `size` parameters."""
    predictors, width = int(problem.shape[PREDICTORS]), problem.X.shape[1]
    local, block = predictors + int(np.sum(problem.extras_at >= 0)), min(batch, BLOCK)
    return GradientRoom(
        numbers=np.zeros(batch, np.int64),
        eta=np.zeros(predictors * block),
        response=np.zeros(block),
        slope=np.zeros(local * block),
        curvature=np.zeros(local * local * block),
        sums=np.zeros((predictors, width + 1)),
        scores=np.zeros((size if information else 0, block)),
    )


slopes_signature = types.void(
    types.Array(types.float64, 2, "C"),
    types.Array(types.float64, 1, "C"),
    types.Array(types.float64, 1, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.float64, 3, "C"),
)


@engine
def no_slopes(eta, y, extras, gradient, curvature):
    """Stands where no move asks for derivatives."""


@bare
def draw_batch(work, n_rows, key, numbers):
    """The first rows of the order of this key; a decision about the same step reads them last."""
    begin(work.order, key, 0)
    done = 0
    while done < numbers.size:
        count = min(BLOCK, numbers.size - done, n_rows)
        ensure(work.order, count, n_rows, work.queue, work.chunk)
        first = np.int64(work.order[TAKEN])
        for i in range(count):
            numbers[done + i] = work.queue[first + i]
        work.order[TAKEN] += np.uint64(count)
        done += count


@dots
def _dot(X, row, weights):
    total = X.dtype.type(0)
    for j in range(X.shape[1]):
        total += X[row, j] * weights[j]
    return total


@engine
def _block_dots(X, rows, ahead, weights, constant, eta):
    """eta_i = b + X_row . W, asking for the rows `ahead`."""
    for i in range(rows.size):
        if i < ahead.size:
            prefetch_row(X, ahead[i])
        eta[i] = np.float64(_dot(X, rows[i], weights)) + constant


@engine
def _add_rows(X, rows, slope, out):
    """out_0 += sum_i g_i,  out_(1 + j) += sum_i g_i X_ij: four rows at a time, to touch the sums less often."""
    whole = rows.size - rows.size % 4
    for i in range(0, whole, 4):
        a, b, c, d = slope[i], slope[i + 1], slope[i + 2], slope[i + 3]
        row_a, row_b, row_c, row_d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        out[0] += (a + b) + (c + d)
        for j in range(X.shape[1]):
            out[1 + j] += (a * X[row_a, j] + b * X[row_b, j]) + (c * X[row_c, j] + d * X[row_d, j])
    for i in range(whole, rows.size):
        out[0] += slope[i]
        for j in range(X.shape[1]):
            out[1 + j] += slope[i] * X[rows[i], j]


@dots
def _product(first, second, count):
    total = 0.0
    for i in range(count):
        total += first[i] * second[i]
    return total


@engine
def _place_of(problem, number):
    """Where the logarithm of the number-th sampled extra stands in theta."""
    for place in problem.extras_at:
        if place >= 0:
            if number == 0:
                return place
            number -= 1
    return np.int64(-1)


@bare
def _fill_scores(problem, rows, slope, scores):
    """s_i in the coordinates of theta, one line a parameter; slopes are those of the rows, times sqrt(w_i)."""
    X, slopes, shift = problem.X, problem.slope, problem.shift
    predictors, width, has_intercept = problem.shape[PREDICTORS], problem.shape[WIDTH], problem.shape[INTERCEPT]
    stride = width + has_intercept
    for p in range(0 if problem.affine.size else predictors):
        for i in range(rows.size):
            g, row = slope[p, i], rows[i]
            if has_intercept:
                scores[p * stride, i] = g
            for j in range(width):
                scores[p * stride + has_intercept + j, i] = g * (slopes[j] * X[row, j] + shift[j])
    if problem.affine.size:
        for k in range(problem.affine.shape[1]):
            for i in range(rows.size):
                scores[k, i] = 0.0
                for p in range(predictors):
                    scores[k, i] += problem.affine[p, k] * slope[p, i]
    for e in range(slope.shape[0] - predictors):
        place = _place_of(problem, e)
        for i in range(rows.size):
            scores[place, i] = slope[predictors + e, i]


@engine
def _add_information(scores, count, factor, information):
    """I += f sum_i s_i s_i', the lower triangle."""
    for j in range(scores.shape[0]):
        for k in range(j + 1):
            information[j, k] += factor * _product(scores[j], scores[k], count)


@bare
def _block_slopes(problem, work, room, slopes, numbers, first, last, eta, response, slope, curvature):
    """Derivatives of the rows numbers[first : last] in their predictors and extras, times their weights."""
    X, y, offset, row_weights = problem.X, problem.y, problem.offset, problem.weights
    rows, ahead = (
        numbers[first:last],
        numbers[min(first + ROWS_AHEAD, numbers.size) : min(last + ROWS_AHEAD, numbers.size)],
    )
    for row in ahead:
        prefetch(y, row)
    for p in range(eta.shape[0]):
        _block_dots(X, rows, ahead, work.weights_pair[0, p], work.intercepts[0, p], eta[p])
        ahead = ahead[:0]
        if offset.size:
            for i in range(rows.size):
                eta[p, i] += offset[rows[i]]
    for i in range(rows.size):
        response[i] = y[rows[i]]
    slopes(eta, response, work.extras[0], slope, curvature)
    if row_weights.size:
        for k in range(slope.shape[0]):
            for i in range(rows.size):
                weight = row_weights[rows[i]]
                slope[k, i] = slope[k, i] * weight if weight != 0 else 0.0


@engine
def _unweigh(row_weights, rows, slope):
    """From w g to sqrt(w) g: what the information is a sum of squares of."""
    for k in range(slope.shape[0]):
        for i in range(rows.size):
            weight = np.float64(row_weights[rows[i]])
            if weight > 0.0:
                slope[k, i] /= np.sqrt(weight)


@bare
def batch_gradient(problem, work, room, slopes, numbers, prior, theta, factor, out, information):
    """G(theta) into out (D,), and, where `information` is (D, D), f sum w s s' added to its lower triangle."""
    predictors, width, has_intercept = problem.shape[PREDICTORS], problem.shape[WIDTH], problem.shape[INTERCEPT]
    stride = width + has_intercept
    fold(problem, theta, work.weights_pair[0], work.intercepts[0], np.int64(0), work.extras[0])
    local, block = room.slope.size // room.response.size, block_of(numbers.size)
    eta = room.eta[: predictors * block].reshape((predictors, block))
    slope = room.slope[: local * block].reshape((local, block))
    curvature = room.curvature[: local * local * block].reshape((local, local, block))
    response, sums = room.response[:block], room.sums
    for i in range(out.size):
        out[i] = 0.0
    for p in range(predictors):
        for j in range(width + 1):
            sums[p, j] = 0.0
    for first in range(0, numbers.size, block):
        last = min(numbers.size, first + block)
        rows = numbers[first:last]
        _block_slopes(problem, work, room, slopes, numbers, first, last, eta, response, slope, curvature)
        for p in range(predictors):
            _add_rows(problem.X, rows, slope[p], sums[p])
        for e in range(local - predictors):
            out[_place_of(problem, e)] += sum_of(slope[predictors + e], last - first)
        if information.size:
            if problem.weights.size:
                _unweigh(problem.weights, rows, slope)
            _fill_scores(problem, rows, slope, room.scores)
            _add_information(room.scores, last - first, factor, information)
    for p in range(predictors):
        if problem.affine.size:
            for k in range(problem.affine.shape[1]):
                out[k] += problem.affine[p, k] * sums[p, 0]
            continue
        if has_intercept:
            out[p * stride] = sums[p, 0]
        for j in range(width):
            out[p * stride + has_intercept + j] = problem.slope[j] * sums[p, 1 + j] + problem.shift[j] * sums[p, 0]
    for i in range(out.size):
        out[i] *= factor
    add_log_prior_gradient(prior, theta, out)


@engine
def block_of(batch):
    """`block_size` in compiled code."""
    pieces = (batch + BLOCK - 1) // BLOCK
    return (batch + pieces - 1) // pieces


def gradient_pointer(kernels: Any) -> Any:
    """Pointer to a family's derivatives, or to the stand-in where there are none."""
    from ..engine.jit import pointer

    return pointer(no_slopes if kernels is None else kernels[1], slopes_signature)

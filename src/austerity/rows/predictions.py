"""What draws say of new rows: the mean response of every row at every draw, by a matrix product, summed as it comes.

    eta_sp = x . W_sp + b_sp (+ offset);   mean_i = sum_s m(eta_s) / S;   density_i = log(sum_s p(y_i | eta_s) / S)

A block of rows stays in cache while all draws pass over it, a few dozen lines of predictors at a time, so that these
stay in cache too. Each row's sums run over the draws in order, in one thread: bits do not depend on cores.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ..engine.jit import bare, pointer
from ..engine.problem import compiled_kernel
from .blocks import BLOCK_ROWS, POINTS
from .passes import add_constants
from .tile import lanes, multiply, pack

WIDE, FEWER_ROWS = 128, 136  # columns beyond which a block takes fewer rows, to stay in cache, and how many
NOTHING = -1e300  # where a running maximum of log densities begins


class Draws(NamedTuple):
    """Draws as the product wants them, in batches of whole groups of lines; Q draws a batch, P lines a draw."""

    packed: np.ndarray  # (batches, groups, d, L) T
    constants: np.ndarray  # (S, P) float64
    extras: np.ndarray  # (S, E) float64
    batch: int  # Q


def pack_draws(weights: np.ndarray, constants: np.ndarray, extras: np.ndarray, dtype: Any) -> Draws:
    """From weights (S, P, d), constants (S, P) and extras (S, E), in float64."""
    n_draws, predictors, width = weights.shape
    size, batch = lanes(dtype), max(1, POINTS // predictors)
    groups = -(-batch * predictors // size)
    packed = np.zeros((-(-n_draws // batch), groups, width, size), dtype)
    for k in range(packed.shape[0]):
        lines = weights[k * batch : (k + 1) * batch].reshape(-1, width)
        pack(np.ascontiguousarray(lines, dtype), packed[k])
    return Draws(packed, np.ascontiguousarray(constants), np.ascontiguousarray(extras), batch)


class Room(NamedTuple):
    """Scratch of one thread."""

    eta: np.ndarray  # (groups L, block) T
    values: np.ndarray  # (C, block) T
    double_eta: np.ndarray  # (P, block) float64
    response: np.ndarray  # (block,) float64
    terms: np.ndarray  # (block,) float64


def block_rows(width: int) -> int:
    """Rows of a block: it and a batch of lines fit into the second-level cache."""
    return BLOCK_ROWS if width <= WIDE else FEWER_ROWS


def new_room(draws: Draws, outcomes: int) -> Room:
    """Scratch for rows with C = `outcomes` means each."""
    _, groups, width, size = draws.packed.shape
    rows, real = block_rows(width), draws.packed.dtype
    return Room(
        eta=np.zeros((groups * size, rows), real),
        values=np.zeros((outcomes, rows), real),
        double_eta=np.zeros((draws.constants.shape[1], rows)),
        response=np.zeros(rows),
        terms=np.zeros(rows),
    )


def mean_pointer(dispatcher: Any, dtype: Any) -> Any:
    """Pointer to a family's mean(eta, out) at one precision."""
    real = types.Array(types.float32 if np.dtype(dtype) == np.float32 else types.float64, 2, "C")
    return pointer(dispatcher, types.void(real, real))


def density_pointer(dispatcher: Any) -> Any:
    """Pointer to a family's value(eta, y, extras, out) in float64."""
    return compiled_kernel(dispatcher, types.float64)


@bare
def sum_means(X, offset, first, last, draws, mean, room, totals):
    """totals[c, i] = sum over draws of the means of rows first..last-1; totals (C, n) float64."""
    eta, values, constants = room.eta, room.values, draws.constants
    n_draws, predictors = constants.shape
    for start in range(first, last, eta.shape[1]):
        stop = min(last, start + eta.shape[1])
        for c in range(totals.shape[0]):
            for i in range(start, stop):
                totals[c, i] = 0.0
        for k in range(draws.packed.shape[0]):
            multiply(X, start, stop, draws.packed[k], eta)
            before = k * draws.batch
            for s in range(before, min(n_draws, before + draws.batch)):
                lines = eta[(s - before) * predictors : (s - before + 1) * predictors]
                add_constants(lines, constants[s], offset, start, stop - start)
                mean(lines, values)
                for c in range(totals.shape[0]):
                    for i in range(stop - start):
                        totals[c, start + i] += values[c, i]


@bare
def each_mean(X, offset, first, last, draws, mean, room, out):
    """out[c, s, i] = the mean of row i at draw s, for rows first..last-1; out (C, S, n) T."""
    eta, values, constants = room.eta, room.values, draws.constants
    n_draws, predictors = constants.shape
    for start in range(first, last, eta.shape[1]):
        stop = min(last, start + eta.shape[1])
        for k in range(draws.packed.shape[0]):
            multiply(X, start, stop, draws.packed[k], eta)
            before = k * draws.batch
            for s in range(before, min(n_draws, before + draws.batch)):
                lines = eta[(s - before) * predictors : (s - before + 1) * predictors]
                add_constants(lines, constants[s], offset, start, stop - start)
                mean(lines, values)
                for c in range(out.shape[0]):
                    for i in range(stop - start):
                        out[c, s, start + i] = values[c, i]


@bare
def sum_densities(X, offset, y, first, last, draws, density, room, top, total):
    """log(sum_s p_s) = top + log(total), each row's largest term kept apart so that nothing under- or overflows."""
    eta, constants, double_eta, terms = room.eta, draws.constants, room.double_eta, room.terms
    response, (n_draws, predictors) = room.response, constants.shape
    for start in range(first, last, eta.shape[1]):
        stop = min(last, start + eta.shape[1])
        for i in range(start, stop):
            top[i], total[i], response[i - start] = NOTHING, 0.0, y[i]
        for k in range(draws.packed.shape[0]):
            multiply(X, start, stop, draws.packed[k], eta)
            before = k * draws.batch
            for s in range(before, min(n_draws, before + draws.batch)):
                line = (s - before) * predictors
                add_constants(eta[line : line + predictors], constants[s], offset, start, stop - start)
                for p in range(predictors):
                    for i in range(eta.shape[1]):
                        double_eta[p, i] = eta[line + p, i]
                density(double_eta, response, draws.extras[s], terms)
                for i in range(stop - start):
                    higher = terms[i] - top[start + i]
                    share = np.exp(-abs(higher))
                    if higher > 0.0:
                        total[start + i] = total[start + i] * share + 1.0
                        top[start + i] = terms[i]
                    else:
                        total[start + i] += share


def over_blocks(
    work: Callable[[int, int], None], n_rows: int, block: int, pool: ThreadPoolExecutor | None, threads: int
) -> None:
    """Call work(first, last) over whole blocks of rows, shared by the threads."""
    blocks = -(-n_rows // block)
    threads = max(1, min(threads, blocks))
    edges = [min(n_rows, blocks * t // threads * block) for t in range(threads + 1)]
    if pool is None or threads == 1:
        work(0, n_rows)
        return
    futures = [pool.submit(work, edges[t], edges[t + 1]) for t in range(1, threads)]
    work(edges[0], edges[1])  # this thread does its share instead of waiting
    for future in futures:
        future.result()

"""The terms of one update: what each factor of a variable says about two of its values, the others as they are.

    term_f = log f(x_k = new, rest) - log f(x_k = old, rest)

`whole_sum` and `log_weights` take all factors in order. As a source of terms (`rows/terms.py`) the factors come in a
fresh keyed order without replacement, so that any rule that decides a given threshold can decide an update.
"""

from typing import NamedTuple

import numpy as np

from ..engine.jit import bare, dots
from ..rows.order import CHUNK, ORDER_SIZE, TAKEN, ensure
from ..rows.terms import Moments, add_block, add_terms, answers, size_of
from .tables import (
    BASE,
    FIRST,
    FIRST_STRIDE,
    LANES,
    OWN,
    RUN_FIRST,
    RUN_LENGTH,
    RUN_PLACE,
    RUN_SECOND,
    RUN_START,
    SECOND,
    SECOND_STRIDE,
    Factors,
)

BLOCK = 256  # terms evaluated together
VARIABLE, OLD, NEW = range(3)  # places in FactorSource.asked


class FactorSource(NamedTuple):
    """One chain's states and the update in hand, over tables that all chains share."""

    factors: Factors
    x: np.ndarray  # (D + LANES,) int32: states now, then 0 for the dummy and beside the zeros of long lines
    asked: np.ndarray  # (3,) int64: variable, old value, new value
    weights: np.ndarray  # (most values,) float64
    terms: np.ndarray  # (BLOCK,) float64
    order: np.ndarray  # (ORDER_SIZE,) uint64
    queue: np.ndarray  # (BLOCK + CHUNK + 1,) int64
    chunk: np.ndarray  # (CHUNK,) uint64


def new_source(factors: Factors) -> FactorSource:
    """A source with scratch of its own."""
    return FactorSource(
        factors=factors,
        x=np.zeros(factors.states.size + LANES, np.int32),
        asked=np.zeros(3, np.int64),
        weights=np.zeros(int(factors.states.max())),
        terms=np.zeros(BLOCK),
        order=np.zeros(ORDER_SIZE, np.uint64),
        queue=np.zeros(2 * BLOCK + CHUNK, np.int64),
        chunk=np.zeros(CHUNK, np.uint64),
    )


@answers(size_of, FactorSource)
def _size_of_factors(source):
    k = source.asked[VARIABLE]
    return source.factors.first[k + 1] - source.factors.first[k]


@answers(add_terms, FactorSource)
def _add_factors(source, n, moments):
    """Factors of the variable in a fresh random order, block by block."""
    count, shift, total, squares = moments
    k, old, new = source.asked[VARIABLE], source.asked[OLD], source.asked[NEW]
    factors, terms = source.factors, source.terms
    first, size = factors.first[k], factors.first[k + 1] - factors.first[k]
    wanted = count + n
    while count < wanted:
        block = min(BLOCK, wanted - count)
        ensure(source.order, block, size, source.queue, source.chunk)
        taken = np.int64(source.order[TAKEN])
        places = source.queue[taken : taken + block]
        if factors.run_of.size:
            _binary_terms(factors.differences, factors.runs, factors.run_of, source.x, first, places, terms)
            if new < old:
                for i in range(block):
                    terms[i] = -terms[i]
        else:
            _terms(factors.values, factors.visits, source.x, first, places, old, new, terms)
        source.order[TAKEN] += np.uint64(block)
        if count == 0:
            shift = terms[0]
        more, more_squares = add_block(terms, block, shift)
        total, squares, count = total + more, squares + more_squares, count + block
    return 0, Moments(count, shift, total, squares)


@bare
def _binary_terms(differences, runs, run_of, x, first, places, out):
    """One entry a visit: its run says where it is and who its neighbours are."""
    for i in range(places.size):
        visit = first + places[i]
        run = run_of[visit]
        step = visit - runs[run, RUN_START]
        line = 2 * np.int64(x[runs[run, RUN_FIRST]]) + np.int64(x[runs[run, RUN_SECOND] + step])
        out[i] = differences[runs[run, RUN_PLACE] + line * runs[run, RUN_LENGTH] + step]


@bare
def _place(visits, x, visit):
    """Where in the tables the entries of a visit begin, the neighbours being as they are."""
    return (
        np.int64(visits[visit, BASE])
        + np.int64(visits[visit, FIRST_STRIDE]) * x[visits[visit, FIRST]]
        + np.int64(visits[visit, SECOND_STRIDE]) * x[visits[visit, SECOND]]
    )


@bare
def _terms(values, visits, x, first, places, old, new, out):
    """Two entries of one table a visit."""
    for i in range(places.size):
        visit = first + places[i]
        at, own = _place(visits, x, visit), np.int64(visits[visit, OWN])
        out[i] = np.float64(values[at + own * new]) - np.float64(values[at + own * old])


@dots
def _run_sum(differences, low, length, x, second):
    """Sum over a run with its first neighbour known: line 0 or line 1 as the second neighbours are.

    Unsigned places: signed ones might count from the end, which keeps loops out of vector registers.
    """
    total, high = 0.0, low + length
    for step in range(length):
        one, other = differences[low + step], differences[high + step]
        total += np.float64(other if x[second + step] != 0 else one)
    return total


@bare
def whole_sum(factors, x, k):
    """log p(x_k = 1 | rest) - log p(x_k = 0 | rest), all variables binary."""
    differences, runs = factors.differences, factors.runs
    total = 0.0
    for run in range(factors.first_run[k], factors.first_run[k + 1]):
        length = np.uint64(runs[run, RUN_LENGTH])
        low = np.uint64(runs[run, RUN_PLACE])
        if x[runs[run, RUN_FIRST]] != 0:
            low += np.uint64(2) * length
        total += _run_sum(differences, low, length, x, np.uint64(runs[run, RUN_SECOND]))
    return total


@bare
def log_weights(factors, x, k, out):
    """out[s] = log p(x_k = s | rest) up to a constant, for every value s."""
    values, visits, count = factors.values, factors.visits, factors.states[k]
    for s in range(count):
        out[s] = 0.0
    for visit in range(factors.first[k], factors.first[k + 1]):
        at, own = _place(visits, x, visit), np.int64(visits[visit, OWN])
        for s in range(count):
            out[s] += values[at + own * s]

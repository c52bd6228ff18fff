"""Factor tables as compiled code reads them: a list of visits for each variable, and the entries that a visit needs.

A visit is one factor seen from one of its variables, k; its other variables are its neighbours i and j (a dummy that
is always 0 stands in where a factor has fewer). Visits of a variable are in order of i, then j.

    any variables       values[base + s_k x_k + s_i x_i + s_j x_j]                  every table once, end to end
    binary variables    log f(1, x_i, x_j) - log f(0, x_i, x_j), four numbers a visit

Binary variables are the common case and deserve a layout of their own. Visits with one i whose j are consecutive form a
run; a run keeps its numbers as four lines (x_i, x_j) = 00, 01, 10, 11, one entry a visit. So the sum over a run reads
two lines and the states of consecutive variables, all in order and in vector registers, and needs no list of j. Lines
of long runs are filled up with zeros, since what is left over by vector registers takes as long as all the rest.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

BASE, OWN, FIRST, FIRST_STRIDE, SECOND, SECOND_STRIDE = range(6)  # columns of visits
RUN_FIRST, RUN_SECOND, RUN_START, RUN_LENGTH, RUN_PLACE = range(5)  # columns of runs
LANES = 16  # lines of long runs end at a multiple of this, in zeros
LARGEST = 2**31 - 1


class Factors(NamedTuple):
    """Tables shared by all chains and never written to. T is float32 or float64; n visits."""

    states: NDArray[np.int64]  # (D,) how many values each variable has
    first: NDArray[np.int64]  # (D + 1,): visits of k are first[k] ... first[k + 1] - 1
    values: np.ndarray  # (V,) T log tables end to end; empty where all variables are binary
    visits: NDArray[np.int32]  # (n, 6), see the columns above; empty where all are binary
    differences: np.ndarray  # T, four lines a run; empty where not all are binary
    first_run: NDArray[np.int64]  # (D + 1,): runs of k
    runs: NDArray[np.int32]  # (R, 5): i, first j, first visit, length of a line, place of the first line
    run_of: NDArray[np.int32]  # (n,)


def compact(
    groups: list[tuple[NDArray[np.int64], NDArray[np.float64]]], states: NDArray[np.int64], dtype: np.dtype
) -> Factors:
    """From (variables (F, order), logs (F, *shape)) of every shape."""
    owner, visits = _visits(groups, states.size)
    values = np.concatenate([logs.ravel() for _, logs in groups])
    if max(values.size, 8 * len(visits)) > LARGEST:
        raise InputError(
            f"{values.size:,} entries of tables and {len(visits):,} visits are more than {LARGEST:,}: use fewer factors"
        )
    first = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=states.size))])
    none, no_runs = np.zeros(0, dtype), np.zeros((0, 5), np.int32)
    if states.max() > 2:
        narrow, empty = visits.astype(np.int32), np.zeros(0, np.int32)
        return Factors(
            states, first, values.astype(dtype), narrow, none, np.zeros(states.size + 1, np.int64), no_runs, empty
        )
    runs, run_of, first_run = _runs(owner, visits, states.size)
    differences = _differences(values, visits, runs, run_of).astype(dtype)
    return Factors(states, first, none, np.zeros((0, 6), np.int32), differences, first_run, runs, run_of)


def _visits(
    groups: list[tuple[NDArray[np.int64], NDArray[np.float64]]], dummy: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Owner (n,) and columns (n, 6) of all visits, in order of owner, first and second neighbour."""
    owners, lines, offset = [], [], 0
    for variables, logs in groups:
        count, order = variables.shape
        strides = np.cumprod([1, *logs.shape[:0:-1]])[:-1][::-1]  # of the axes of one table, row-major
        base = offset + np.arange(count) * logs[0].size
        offset += logs.size
        for axis in range(order):
            near = [(variables[:, other], int(strides[other])) for other in range(order) if other != axis]
            near = [(np.full(count, dummy), 0)] * (2 - len(near)) + near
            if order == 3:
                near = _ordered(*near)
            columns = [base, np.full(count, strides[axis])]
            for neighbour, stride in near:
                columns += [neighbour, np.broadcast_to(stride, count)]
            owners.append(variables[:, axis])
            lines.append(np.stack(columns, axis=1))
    owner, visits = np.concatenate(owners), np.concatenate(lines)
    known = np.where(visits == dummy, -1, visits)  # the dummy comes first, so that pairs form runs
    sorted_by = np.lexsort((visits[:, BASE], known[:, SECOND], known[:, FIRST], owner))
    return owner[sorted_by], np.ascontiguousarray(visits[sorted_by])


def _ordered(first: tuple, second: tuple) -> list[tuple]:
    """The two neighbours and their strides, the one with the lower number first."""
    swap = first[0] > second[0]
    return [
        (np.where(swap, second[0], first[0]), np.where(swap, second[1], first[1])),
        (np.where(swap, first[0], second[0]), np.where(swap, first[1], second[1])),
    ]


def _runs(
    owner: NDArray[np.int64], visits: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """runs (R, 5), run_of (n,) and first_run (D + 1,)."""
    first, second = visits[:, FIRST], visits[:, SECOND]
    goes_on = (owner[1:] == owner[:-1]) & (first[1:] == first[:-1]) & (second[1:] == second[:-1] + 1)
    goes_on &= second[1:] < size  # the dummy follows the last variable by number only
    begins = np.concatenate([[True], ~goes_on])
    start = np.flatnonzero(begins)
    length = np.diff(np.append(start, owner.size))
    length = np.where(length < LANES, length, -(-length // LANES) * LANES)
    place = np.cumsum(4 * length) - 4 * length
    runs = np.stack([first[start], second[start], start, length, place], axis=1).astype(np.int32)
    first_run = np.concatenate([[0], np.cumsum(np.bincount(owner[start], minlength=size))])
    return runs, (np.cumsum(begins) - 1).astype(np.int32), first_run


def _differences(
    values: NDArray[np.float64], visits: NDArray[np.int64], runs: NDArray[np.int32], run_of: NDArray[np.int32]
) -> NDArray[np.float64]:
    """log f(1, .) - log f(0, .) of every visit at 00, 01, 10, 11 of its neighbours, laid out run by run."""
    out = np.zeros(4 * int(runs[:, RUN_LENGTH].sum()))
    length = runs[run_of, RUN_LENGTH].astype(np.int64)
    at = runs[run_of, RUN_PLACE] + np.arange(len(visits)) - runs[run_of, RUN_START]
    for line, (x_first, x_second) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        low = visits[:, BASE] + x_first * visits[:, FIRST_STRIDE] + x_second * visits[:, SECOND_STRIDE]
        out[at + line * length] = values[low + visits[:, OWN]] - values[low]
    return out

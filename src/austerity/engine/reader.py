"""What a move that reads rows is given: a source of its own, the decision as a question, and scratch.

The move itself is described in proposals/base.py. What it may ask is

    ask(questions, log_a0, temperature, theta, indices, candidate, candidate_indices, key, used, stream, state, report)

which is one decision about a pair of states: from rows drawn, or from whole sums, with state[0] that of the current
state. Runs whose moves read no rows see none of this.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from ..decisions.base import EXHAUSTED, LOOKS, NOT_A_NUMBER, ROWS_READ, STATUS, decision_signature, no_draw
from ..decisions.exact import judge
from ..proposals.base import BLIND, kind_of
from ..rows.draws import open_draw, prefetch_row
from ..rows.gradients import GradientRoom, gradient_pointer, new_gradient_room
from ..rows.order import KEY, ORDER_SIZE, TAKEN, WAITING
from ..rows.passes import USER_BLOCK_ROWS, Room, add_slabs, new_room, slab_count, slab_sums, user_slab_sums
from .jit import ROWS_AHEAD, bare, engine, pointer
from .problem import USER, Problem, Source, copy_into, new_work

_floats = types.Array(types.float64, 1, "C")
_integers = types.Array(types.int64, 1, "C")
_stream = types.Array(types.uint64, 1, "C")


class Questions(NamedTuple):
    """One thread's means to decide: rows drawn for a rule, or a pass of its own."""

    source: Source
    decide: Any  # the rule over this source
    rule: np.ndarray  # its parameters
    order: np.ndarray  # (ORDER_SIZE,) uint64: where a move left the row order
    room: Room  # scratch for a pass at one point
    parts: np.ndarray  # (slabs, 1)
    values: np.ndarray  # (1,): the whole sum at the last candidate; (0,) where rows are drawn
    block_values: np.ndarray  # (1, rows of a block), for a likelihood of the user's own


class Reader(NamedTuple):
    """One thread's means to read rows for a move."""

    questions: Questions
    ask: Any
    slopes: Any  # the family's derivatives
    room: GradientRoom
    vectors: np.ndarray  # (6, D) scratch
    matrices: np.ndarray  # (2, D, D) where a move asks for the information, else (2, 0, 0)


class Movers(NamedTuple):
    """The moves of a run that read rows, one place a component of the mixture."""

    kinds: np.ndarray  # (MOST,) int64: BLIND, READING or COMPLETE
    moves: Any  # tuple of MOST pointers


@bare
def ask_drawn(
    questions, log_a0, temperature, theta, indices, candidate, candidate_indices, key, used, stream, state, report
):
    """The rule over rows in the order of `key`, the first `used` of them last."""
    source, kept = questions.source, questions.order
    order, follows = source.work.order, used > 0 and source.work.order[KEY] == key
    if follows:  # the move has just read the first rows of this order: go on behind them
        copy_into(kept, order)
        for k in range(order[TAKEN], min(order[WAITING], order[TAKEN] + np.uint64(ROWS_AHEAD))):
            prefetch_row(source.problem.X, source.work.queue[k])
    open_draw(source, theta, candidate, indices, candidate_indices, key, used)
    if follows:
        copy_into(order, kept)
    return questions.decide(source, log_a0, temperature, np.nan, stream, questions.rule, state, report)


@bare
def _judge_sum(questions, n_rows, log_a0, temperature, stream, state, report):
    """Exact's decision from the whole sum in values[0]; state[0] is the sum at the current state."""
    report[ROWS_READ], report[LOOKS], report[EXHAUSTED] = n_rows, 1.0, 1.0
    difference = questions.values[0] - state[0]
    if np.isnan(difference) or questions.values[0] == np.inf:
        report[STATUS] = NOT_A_NUMBER
        return 0
    return judge(difference, log_a0, temperature, stream, report)


@bare
def ask_whole(
    questions, log_a0, temperature, theta, indices, candidate, candidate_indices, key, used, stream, state, report
):
    """Exact in a pass of this chain's own."""
    problem = questions.source.problem
    point = candidate.reshape((1, candidate.size))
    slab_sums(problem, questions.room, point, np.int64(0), questions.parts.shape[0], questions.parts)
    add_slabs(questions.parts, questions.values)
    return _judge_sum(questions, problem.X.shape[0], log_a0, temperature, stream, state, report)


@engine
def ask_whole_user(
    questions, log_a0, temperature, theta, indices, candidate, candidate_indices, key, used, stream, state, report
):
    """The same for a likelihood of the user's own."""
    problem, slabs = questions.source.problem, questions.parts.shape[0]
    point, at = candidate.reshape((1, candidate.size)), candidate_indices.reshape((1, candidate_indices.size))
    report[STATUS] = user_slab_sums(problem, point, at, np.int64(0), slabs, questions.block_values, questions.parts)
    if report[STATUS] != 0:
        return 0
    add_slabs(questions.parts, questions.values)
    return _judge_sum(questions, problem.X.shape[0], log_a0, temperature, stream, state, report)


def ask_signature(questions: Questions) -> Any:
    """Signature of `ask` over this kind of problem and rule."""
    return types.int64(
        typeof(questions),
        types.float64,
        types.float64,
        _floats,
        _integers,
        _floats,
        _integers,
        types.uint64,
        types.int64,
        _stream,
        _floats,
        _floats,
    )


def move_signature(reader: Reader) -> Any:
    """Signature of a move that reads rows, given what it reads with."""
    return types.float64(
        typeof(reader),
        types.Array(types.float64, 2, "C"),
        types.float64,
        types.uint64,
        _floats,
        _integers,
        _floats,
        _floats,
        types.Array(types.uint64, 2, "C"),
        _floats,
        _integers,
        _floats,
        _floats,
        _floats,
    )


def new_questions(problem: Problem, size: int, n_indices: int, acceptance: Any) -> Questions:
    """Means to decide by this rule, for one thread."""
    n_rows, user = problem.X.shape[0], bool(problem.shape[USER])
    whole = acceptance.reads_all
    few = problem if whole else problem._replace(X=problem.X[:1])
    decide = no_draw if whole else acceptance.compiled()
    return Questions(
        source=Source(problem, new_work(problem, size, n_indices)),
        decide=pointer(decide, decision_signature(problem)),
        rule=np.ascontiguousarray(acceptance.parameters(n_rows), dtype=np.float64),
        order=np.zeros(ORDER_SIZE, np.uint64),
        room=new_room(few, 1),
        parts=np.zeros((slab_count(n_rows) if whole else 1, 1)),
        values=np.zeros(int(whole)),
        block_values=np.zeros((1, min(USER_BLOCK_ROWS, n_rows) if whole and user else 1)),
    )


def new_reader(target: Any, acceptance: Any, parts: list[Any]) -> Reader:
    """Means to read rows for these components, for one thread."""
    problem, size = target.problem, target.size
    questions = new_questions(problem, size, target.n_indices, acceptance)
    reading = [part for part in parts if kind_of(part) != BLIND]
    batch = max(part.batch for part in reading)
    information = any(part.information for part in reading)
    ask = ask_drawn
    if acceptance.reads_all:
        ask = ask_whole_user if problem.shape[USER] else ask_whole
    return Reader(
        questions=questions,
        ask=pointer(ask, ask_signature(questions)),
        slopes=gradient_pointer(target.kernels if batch else None),
        room=new_gradient_room(problem, size, batch, information),
        vectors=np.zeros((6, size)),
        matrices=np.zeros((2, size, size) if information else (2, 0, 0)),
    )

"""Moves that read rows as tests call them, and wrong ones beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from austerity.decisions.base import EXHAUSTED, LOOKS, NOT_A_NUMBER, RATE, ROWS_READ, STATUS
from austerity.engine.jit import engine
from austerity.engine.reader import Reader, new_reader
from austerity.engine.streams import DECISION, PROPOSAL, new_streams, uniform
from austerity.proposals import Langevin, Slice
from austerity.proposals.base import MOVE_SIZE, ROWS_USED, STEP_SIZE, Setting
from austerity.proposals.langevin import move_by_fisher, move_by_root
from austerity.proposals.slice import Line, choose_direction, is_inside
from austerity.rows.draws import read_block


@dataclass
class Call:
    """One call of a Langevin move by hand: what it proposed, from which rows, and its ratio."""

    proposed: np.ndarray
    ratio: float
    rows: np.ndarray
    step: float


def call(target: Any, rule: Any, move: Langevin, theta: np.ndarray, key: int, seed: int, temperature: float) -> Call:
    """Call the compiled move as the loop would."""
    reader = new_reader(target, rule, [move])
    parameters = move.parameters(Setting(target.size, None, None, target.rows.n))
    proposed, report = np.zeros(target.size), np.zeros(MOVE_SIZE)
    none, streams = np.zeros(0, np.int64), new_streams(np.random.SeedSequence(seed), 1)[0]
    ratio = move.move()(
        reader,
        target.prior,
        temperature,
        np.uint64(key),
        theta,
        none,
        parameters,
        np.zeros(1),
        streams,
        proposed,
        np.zeros(0, np.int64),
        report,
        np.zeros(1),
        np.zeros(5),
    )
    used = int(report[ROWS_USED])
    return Call(proposed, float(ratio), np.array(reader.room.numbers[:used]), float(report[STEP_SIZE]))


def reader_of(target: Any, rule: Any, batch: int, information: bool) -> Reader:
    """What a move of this batch reads with."""
    kind = "fisher" if information else None
    return new_reader(target, rule, [Langevin(1.0, batch=batch, preconditioner=kind)])


# Wrong ones


@engine
def _without_ratio(
    reader, prior, temperature, key, theta, indices, parameters, state, streams, proposed, at, report, rule, decision
):
    move_by_root(
        reader,
        prior,
        temperature,
        key,
        theta,
        indices,
        parameters,
        state,
        streams,
        proposed,
        at,
        report,
        rule,
        decision,
    )
    return 0.0


@engine
def _batch_again(
    reader, prior, temperature, key, theta, indices, parameters, state, streams, proposed, at, report, rule, decision
):
    ratio = move_by_root(
        reader,
        prior,
        temperature,
        key,
        theta,
        indices,
        parameters,
        state,
        streams,
        proposed,
        at,
        report,
        rule,
        decision,
    )
    report[ROWS_USED] = 0.0
    return ratio


@engine
def _without_determinants(
    reader, prior, temperature, key, theta, indices, parameters, state, streams, proposed, at, report, rule, decision
):
    ratio = move_by_fisher(
        reader,
        prior,
        temperature,
        key,
        theta,
        indices,
        parameters,
        state,
        streams,
        proposed,
        at,
        report,
        rule,
        decision,
    )
    for j in range(theta.size):
        ratio -= np.log(reader.matrices[1, j, j] / reader.matrices[0, j, j])
    return ratio


@dataclass(frozen=True, eq=False)
class WithoutRatio(Langevin):
    """Forgets that the way back has another probability."""

    def move(self) -> Any:
        return _without_ratio


@dataclass(frozen=True, eq=False)
class BatchAgain(Langevin):
    """Lets the decision read the rows first that chose the proposal."""

    def move(self) -> Any:
        return _batch_again


@dataclass(frozen=True, eq=False)
class WithoutDeterminants(Langevin):
    """Fisher scoring as if the preconditioner were the same at both ends."""

    def move(self) -> Any:
        return _without_determinants


REDRAWN, WRONG_SIDE, RIGHT = 1, 2, 0


@engine
def _slice(
    reader, prior, temperature, key, theta, indices, parameters, state, streams, proposed, at, report, rule, decision
):
    """Slice sampling once more, with a fault on request behind the parameters."""
    fault, direction, tally = np.int64(parameters[parameters.size - 1]), reader.vectors[0], state
    tally[:] = 0.0
    choose_direction(parameters[: parameters.size - 1], streams[PROPOSAL], direction, reader.vectors[1])
    ends = np.zeros(2)
    ends[0] = -uniform(streams[PROPOSAL])
    ends[1] = ends[0] + 1.0
    steps = np.zeros(2)
    steps[0] = np.floor(uniform(streams[PROPOSAL]) * (parameters[0] + 1.0))
    steps[1] = parameters[0] - steps[0]
    line = Line(reader, prior, temperature, theta, indices, direction, streams, proposed, at, rule, decision, tally)
    for side in range(2):
        while steps[side] > 0:
            streams[DECISION, 2] += np.uint64(1_000_003 * (fault == 1))
            if not is_inside(line, ends[side]):
                break
            ends[side] += 2.0 * side - 1.0
            steps[side] -= 1
    for _ in range(60):
        s = ends[0] + uniform(streams[PROPOSAL]) * (ends[1] - ends[0])
        streams[DECISION, 2] += np.uint64(1_000_003 * (fault == 1))
        if is_inside(line, s):
            break
        side = np.int64((s >= 0.0) != (fault == 2 and s > -0.5 * (ends[1] - ends[0])))
        ends[side] = s
    decision[ROWS_READ], decision[LOOKS], decision[EXHAUSTED] = tally[0], tally[1], tally[2]
    decision[RATE], decision[STATUS] = 1.0, tally[3]
    return 0.0


@dataclass(frozen=True, eq=False)
class SliceAgain(Slice):
    """The same move written down again, right or with one fault."""

    fault: int = RIGHT

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.append(super().parameters(setting), float(self.fault))

    def move(self) -> Any:
        return _slice


# A rule that says what it would have believed


@engine
def _estimate(source, log_a0, temperature, bound, stream, parameters, state, report):
    """N times the mean of the first rows it is given, and no step."""
    n_rows = source.problem.X.shape[0]
    wanted, count, total = np.int64(parameters[0]), np.int64(0), 0.0
    while count < wanted:
        size = min(500, wanted - count)
        if read_block(source, size) != 0:
            report[STATUS] = NOT_A_NUMBER
            return 0
        for i in range(size):
            total += source.work.terms[i]
        count += size
    report[ROWS_READ], report[LOOKS], report[EXHAUSTED] = count, 1.0, 0.0
    report[RATE] = total / count * n_rows
    return 0


@dataclass(frozen=True)
class Estimate:
    """Never moves; its acceptance rate is the sum as estimated from `rows` rows."""

    rows: int
    reads_all, exact, given_threshold, reference_law = False, False, True, "0"

    def check(self, n_rows: int) -> None:
        pass

    def parameters(self, n_rows: int) -> np.ndarray:
        return np.array([float(self.rows)])

    def compiled(self) -> Any:
        return _estimate

    def state_size(self) -> int:
        return 1

    def guarantee(self, n_rows: int) -> str:
        return "none"

    def settings(self) -> dict[str, Any]:
        return {"rule": "Estimate", "rows": self.rows}

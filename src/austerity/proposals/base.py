"""What every proposal declares, and the compiled form it takes.

    propose(theta, indices, parameters, state, stream, proposed, proposed_indices, report)
        -> log q(theta|theta') - log q(theta'|theta)
    adapt(theta, rate, progress, parameters, state)

A proposal fills the proposed state, a move tag and how many rows of this step's order it has used (Langevin's batch),
which the decision then passes over. `adapt` is called after a step, with the acceptance of the step and the number of
warm-up steps done (negative once warm-up is over); most proposals have nothing to adapt.

A proposal that reads rows has a `move()` instead:

    move(reader, prior, temperature, key, theta, indices, parameters, state, streams, proposed, proposed_indices,
         report, rule_state, decision_report) -> log q(theta|theta') - log q(theta'|theta)

`reader` (engine/reader.py) holds rows, scratch and the decision, `prior` the table of the log prior, `key` that of this
step's row order, `streams` all four of the chain. A move that reads the first n rows of the order says so in
report[ROWS_USED]. One that is `complete` decides for itself, in as many questions as it likes, fills decision_report,
and the chain goes where it says; the others are decided in the loop (engine/reading.py).

A proposal for models that choose their variables says so by `moves_sets = True`: it keeps indices[j] at 1 where
theta[j] is not 0 and at 0 where it is. Others leave the indices as they are. One that makes moves of several kinds
names them in `kinds`, and draws then tell the kind of the last move by its number, report[TAG].
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numba import types

from ..engine.jit import dots, engine

TAG, ROWS_USED, STEP_SIZE = range(3)
MOVE_SIZE = 3

_floats = types.Array(types.float64, 1, "C")
_integers = types.Array(types.int64, 1, "C")
_stream = types.Array(types.uint64, 1, "C")
PROPOSE = types.float64(_floats, _integers, _floats, _floats, _stream, _floats, _integers, _floats)
ADAPT = types.void(_floats, types.float64, types.int64, _floats, _floats)


@dataclass(frozen=True)
class Setting:
    """What a proposal may build on: sizes, and the Laplace fit where one was asked for."""

    size: int
    mode: np.ndarray | None
    root: np.ndarray | None  # (D, D) lower triangular, root @ root.T = covariance at the mode
    n_rows: int = 0
    fewest: int | None = None  # the least number of variables in use, where the model chooses them


class Proposal(Protocol):
    """A move: frozen settings and its compiled functions."""

    @property
    def symmetric(self) -> bool:
        """True where q(theta'|theta) = q(theta|theta')."""

    @property
    def independent(self) -> bool:
        """True where theta' does not depend on theta, so that many can be made ahead."""

    @property
    def needs_mode(self) -> bool:
        """True where it is scaled from the curvature at the mode."""

    def parameters(self, setting: Setting) -> np.ndarray:
        """Settings as the float64 vector that compiled code reads."""

    def initial_state(self, setting: Setting) -> np.ndarray:
        """Proposal-owned state of a chain at its start (float64)."""

    def propose(self) -> Any:
        """The compiled proposal."""

    def adapt(self) -> Any:
        """The compiled adaptation."""

    def settings(self) -> dict[str, Any]:
        """The move by name and value, as stored with the draws."""


class ReadingProposal(Proposal, Protocol):
    """A move that reads rows itself."""

    @property
    def complete(self) -> bool:
        """True where the move is its own decision."""

    @property
    def decides(self) -> bool:
        """False where nothing is decided at all, so that there is no rule to choose and the draws are biased."""

    @property
    def batch(self) -> int:
        """Rows whose derivatives it reads; 0 where it needs none."""

    @property
    def information(self) -> bool:
        """True where it needs room for the batch's information matrix."""

    def check(self, target: Any, acceptance: Any) -> None:
        """Refuse a model or a rule that it cannot work with; acceptance may still be "auto"."""

    def move(self) -> Any:
        """The compiled move."""


BLIND, READING, COMPLETE = 0, 1, 2


def kind_of(part: Any) -> int:
    """Whether a proposal reads rows, and whether it decides for itself."""
    if not hasattr(part, "move"):
        return BLIND
    return COMPLETE if part.complete else READING


@engine
def no_proposal(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """Stands where a move reads rows and so is called otherwise."""
    return 0.0


@engine
def no_adaptation(theta, rate, progress, parameters, state):
    """Most proposals learn nothing."""


@dots
def lower_times(root, vector, out):
    """out = root @ vector for a lower triangular root (D, D)."""
    for i in range(out.size):
        total = 0.0
        for j in range(i + 1):
            total += root[i, j] * vector[j]
        out[i] = total

"""What every proposal declares, and the compiled form it takes.

    propose(theta, indices, parameters, state, stream, proposed, proposed_indices, report)
        -> log q(theta|theta') - log q(theta'|theta)
    adapt(theta, rate, progress, parameters, state)

A proposal fills the proposed state, a move tag and how many rows of this step's order it has used (Langevin's batch),
which the decision then passes over. `adapt` is called after a step, with the acceptance of the step and the number of
warm-up steps done (negative once warm-up is over); most proposals have nothing to adapt.

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

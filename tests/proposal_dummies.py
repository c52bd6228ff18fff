"""Small proposals for tests: asymmetric, with a wrong ratio on request, or with rows already used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from austerity.engine.jit import engine
from austerity.engine.problem import copy_into
from austerity.engine.streams import normal
from austerity.proposals.base import ROWS_USED, STEP_SIZE, Setting, no_adaptation


class Dummy:
    """What all of them share: nothing to learn and no need of the mode."""

    symmetric = False
    independent = False
    needs_mode = False

    def initial_state(self, setting: Setting) -> np.ndarray:
        return np.zeros(1)

    def adapt(self) -> Any:
        return no_adaptation

    def settings(self) -> dict[str, Any]:
        return {"move": type(self).__name__, **vars(self)}


@engine
def _drift(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """theta' = theta + b + s z; log q(theta|theta') - log q(theta'|theta) = -2 b (theta' - theta) / s^2, summed."""
    drift, scale, sign, ratio = parameters[0], parameters[1], parameters[2], 0.0
    for i in range(theta.size):
        move = drift + scale * normal(stream)
        proposed[i] = theta[i] + move
        ratio -= 2.0 * drift * move / (scale * scale)
    copy_into(proposed_indices, indices)
    report[STEP_SIZE] = scale
    return sign * ratio


@dataclass(frozen=True)
class Drifting(Dummy):
    """A random walk that drifts; sign 1 gives its true ratio, -1 the reverse, 0 none."""

    drift: float
    scale: float
    sign: float = 1.0

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.drift, self.scale, self.sign])

    def propose(self) -> Any:
        return _drift


@engine
def _prior_twice(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """A random walk whose ratio holds `factor` times the log ratio of a normal prior."""
    scale, factor, location, spread, ratio = parameters[0], parameters[1], parameters[2], parameters[3], 0.0
    for i in range(theta.size):
        proposed[i] = theta[i] + scale * normal(stream)
        ratio += ((theta[i] - location) ** 2 - (proposed[i] - location) ** 2) / (2.0 * spread * spread)
    copy_into(proposed_indices, indices)
    return factor * ratio


@dataclass(frozen=True)
class PriorTwice(Dummy):
    """Adds the prior ratio of Normal(location, spread) to log A0 once more, `factor` times."""

    scale: float
    factor: float
    location: float
    spread: float

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.scale, self.factor, self.location, self.spread])

    def propose(self) -> Any:
        return _prior_twice


@engine
def _walk_with_rows(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """A random walk that claims to have used the first rows of its step's order."""
    for i in range(theta.size):
        proposed[i] = theta[i] + parameters[0] * normal(stream)
    copy_into(proposed_indices, indices)
    report[ROWS_USED] = parameters[1]
    return 0.0


@dataclass(frozen=True)
class WalkWithRows(Dummy):
    """Stands for a move that reads a batch of rows (Langevin's): its decision must not use them again."""

    scale: float
    used: int

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.scale, float(self.used)])

    def propose(self) -> Any:
        return _walk_with_rows

"""Small proposals for tests: asymmetric, with a wrong ratio on request, over an active set, with rows already used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from austerity.engine.jit import engine
from austerity.engine.problem import copy_into
from austerity.engine.streams import normal, uniform
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


@engine
def _flip(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """Switch one column on, its coefficient from N(0, s), or off.

    With prior 1/2 on every column and N(0, s) on the coefficients of those in use, birth and death have ratio 1: what
    the move throws is what the prior asks for.
    """
    copy_into(proposed, theta)
    copy_into(proposed_indices, indices)
    place = min(np.int64(uniform(stream) * indices.size), indices.size - 1)
    proposed_indices[place] = 1 - indices[place]
    proposed[place] = 0.0 if indices[place] else parameters[0] * normal(stream)
    return 0.0


@engine
def _walk_in_use(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """A random walk of the coefficients in use; the ratio holds their normal prior, which the table leaves flat."""
    spread, scale, ratio = parameters[0], parameters[1], 0.0
    copy_into(proposed_indices, indices)
    for i in range(theta.size):
        step = scale * normal(stream)
        proposed[i] = theta[i] + step if indices[i] else 0.0
        ratio += (theta[i] ** 2 - proposed[i] ** 2) / (2.0 * spread * spread)
    return ratio


@dataclass(frozen=True)
class Flip(Dummy):
    """Birth and death of columns with prior N(0, spread)."""

    spread: float

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.spread])

    def propose(self) -> Any:
        return _flip


@dataclass(frozen=True)
class WalkInUse(Dummy):
    """Moves the coefficients of columns in use."""

    spread: float
    scale: float

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.spread, self.scale])

    def propose(self) -> Any:
        return _walk_in_use

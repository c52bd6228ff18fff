"""Adaptive Metropolis:  theta' = theta + exp(s) R z,  z ~ N(0, I), with s and R learnt as the chain goes.

    w_t = 1 / (t + t0)
    R R' <- (1 - w) R R' + w (theta - m)(theta - m)',   m <- m + w (theta - m)        (Haario, Saksman, Tamminen 2001)
    s <- s + (t + 1)^-0.6 (rate - target),   target .25, or .5 for a single parameter      (Robbins, Monro 1951)

R is kept as a triangular root and changed by rank-one updates, so no step costs more than D^2. By default it learns
during warm-up alone, so that the kept draws come from one fixed kernel.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..engine.jit import engine
from ..engine.problem import copy_into
from ..engine.streams import fill_normal
from ..errors import InputError
from .base import STEP_SIZE, Setting, lower_times
from .random_walk import OPTIMAL_SCALE

# Places in the state: log scale, then mean (D), root (D * D), room for vectors (D).
_FORGET_BEFORE, _FOREVER, _TARGET = 0, 1, 2


@engine
def propose(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """A step by the scale and root learnt so far."""
    size = theta.size
    scale = np.exp(state[0])
    room = state[1 + size + size * size :]
    fill_normal(stream, room)
    lower_times(state[1 + size : 1 + size + size * size].reshape((size, size)), room, proposed)
    for i in range(size):
        proposed[i] = theta[i] + scale * proposed[i]
    copy_into(proposed_indices, indices)
    report[STEP_SIZE] = scale
    return 0.0


@engine
def update_root(root, vector):
    """root root' + vector vector' as a triangular root again; spoils the vector."""
    size = vector.size
    for k in range(size):
        diagonal = np.sqrt(root[k, k] * root[k, k] + vector[k] * vector[k])
        cosine, sine = diagonal / root[k, k], vector[k] / root[k, k]
        root[k, k] = diagonal
        for i in range(k + 1, size):
            root[i, k] = (root[i, k] + sine * vector[i]) / cosine
            vector[i] = cosine * vector[i] - sine * root[i, k]


@engine
def adapt(theta, rate, progress, parameters, state):
    """Learn from where the chain is and from whether it moved."""
    if progress < 0 and parameters[_FOREVER] == 0.0:
        return
    time = np.float64(abs(progress))
    size = theta.size
    weight = 1.0 / (time + parameters[_FORGET_BEFORE])
    state[0] += (time + 1.0) ** -0.6 * (rate - parameters[_TARGET])
    mean, room = state[1 : 1 + size], state[1 + size + size * size :]
    root = state[1 + size : 1 + size + size * size].reshape((size, size))
    for i in range(size):
        room[i] = np.sqrt(weight) * (theta[i] - mean[i])
        mean[i] += weight * (theta[i] - mean[i])
    shrink = np.sqrt(1.0 - weight)
    for i in range(size):
        for j in range(i + 1):
            root[i, j] *= shrink
    update_root(root, room)


@dataclass(frozen=True)
class AdaptiveMetropolis:
    """Random walk that learns its covariance and scale; with `forever=True` also after warm-up."""

    target: float | None = None
    forever: bool = False

    symmetric = True
    independent = False
    needs_mode = True

    def __post_init__(self) -> None:
        rate = self.target
        if rate is not None and (isinstance(rate, bool) or not isinstance(rate, Real) or not 0 < float(rate) < 1):
            raise InputError(f"AdaptiveMetropolis(target={rate!r}): give an acceptance rate between 0 and 1")
        if not isinstance(self.forever, bool):
            raise InputError(f"AdaptiveMetropolis(forever={self.forever!r}): give True or False")

    def parameters(self, setting: Setting) -> np.ndarray:
        target = self.target if self.target is not None else (0.5 if setting.size == 1 else 0.25)
        return np.array([10.0 + 5.0 * setting.size, float(self.forever), target])

    def initial_state(self, setting: Setting) -> np.ndarray:
        assert setting.mode is not None and setting.root is not None
        log_scale = np.log(OPTIMAL_SCALE / np.sqrt(setting.size))
        return np.concatenate([[log_scale], setting.mode, setting.root.ravel(), np.zeros(setting.size)])

    def propose(self) -> Any:
        return propose

    def adapt(self) -> Any:
        return adapt

    def settings(self) -> dict[str, Any]:
        return {"move": "AdaptiveMetropolis", "target": self.target, "forever": bool(self.forever)}

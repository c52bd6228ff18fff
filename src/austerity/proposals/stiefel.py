"""A random walk on the orthogonal matrices:  W' = W expm(sigma S),  S skew with N(0, 1) entries.

    S and -S have the same law, and W = W' expm(-sigma S): the step is symmetric for Haar measure, so its ratio is 1
    log sigma <- log sigma + (t + 1)^-0.6 (rate - .5)   in warm-up, where no scale is given   (Robbins, Monro 1951)
    W' <- W' (3 I - W'' W') / 2    with W'' the transpose of W': one Newton step to the nearest orthogonal matrix

The last line is made at every step: it costs two of a dozen small products, takes an error e of orthogonality to e^2,
and so keeps rounding from adding up over any number of steps without anything to count. The determinant never changes
its sign: chains that begin in one half of O(D) stay there.
"""

from dataclasses import dataclass
from math import isqrt
from numbers import Real
from typing import Any

import numpy as np

from ..engine.jit import engine
from ..engine.problem import copy_into
from ..engine.streams import fill_normal
from ..errors import InputError
from .base import STEP_SIZE, Setting

FIRST, LONGEST = 0.1, 3.0  # scale that learning begins with, and the most it may reach: S = pi turns a plane half round
MOST = 10.0  # a scale given by hand
_SIZE, _LEARN, _TARGET = 0, 1, 2  # places in the parameters
# Places in the state: log scale, then four squares (D * D) of room and the normal numbers (D (D - 1) / 2).


@engine
def square_times(left, right, out):
    """out = left @ right, all (D, D)."""
    size = out.shape[0]
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += left[i, k] * right[k, j]
            out[i, j] = total


@engine
def copy_square(out, values):
    """out = values, both (D, D)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[0]):
            out[i, j] = values[i, j]


@engine
def exponential_of(matrix, out, power, room):
    """out = expm(matrix) by its series at matrix / 2^k, of norm at most 1/2, squared k times; spoils the matrix."""
    size = out.shape[0]
    norm = 0.0
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += abs(matrix[i, j])
        norm = max(norm, total)
    squarings, shrink = 0, 1.0
    while norm * shrink > 0.5:
        squarings, shrink = squarings + 1, 0.5 * shrink
    for i in range(size):
        for j in range(size):
            matrix[i, j] *= shrink
            power[i, j] = out[i, j] = 1.0 if i == j else 0.0
    bound, k = 1.0, 0
    while bound > 1e-18:
        k += 1
        bound *= norm * shrink / k
        square_times(power, matrix, room)
        for i in range(size):
            for j in range(size):
                power[i, j] = room[i, j] / k
                out[i, j] += power[i, j]
    for _ in range(squarings):
        square_times(out, out, room)
        copy_square(out, room)


@engine
def straighten(matrix, room):
    """matrix <- matrix (3 I - matrix' matrix) / 2, next to the nearest orthogonal matrix; room (2, D, D)."""
    size = matrix.shape[0]
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += matrix[k, i] * matrix[k, j]
            room[0, i, j] = (1.5 if i == j else 0.0) - 0.5 * total
    square_times(matrix, room[0], room[1])
    copy_square(matrix, room[1])


@engine
def propose(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """W expm(sigma S), rows of W one behind the other in theta."""
    size = np.int64(parameters[_SIZE])
    room = state[1 : 1 + 4 * size * size].reshape((4, size, size))
    skew, normals, scale = room[0], state[1 + 4 * size * size :], np.exp(state[0])
    fill_normal(stream, normals)
    place = 0
    for i in range(size):
        skew[i, i] = 0.0
        for j in range(i):
            skew[i, j] = scale * normals[place]
            skew[j, i] = -skew[i, j]
            place += 1
    exponential_of(skew, room[1], room[2], room[3])
    moved = proposed.reshape((size, size))
    square_times(theta.reshape((size, size)), room[1], moved)
    straighten(moved, room[2:4])
    copy_into(proposed_indices, indices)
    report[STEP_SIZE] = scale
    return 0.0


@engine
def adapt(theta, rate, progress, parameters, state):
    """Longer steps while more than the target share is accepted, shorter ones otherwise, in warm-up alone."""
    if progress > 0 and parameters[_LEARN] != 0.0:
        more = (np.float64(progress) + 1.0) ** -0.6 * (rate - parameters[_TARGET])
        state[0] = min(state[0] + more, np.log(LONGEST))


@dataclass(frozen=True)
class Stiefel:
    """Random walk on the orthogonal matrices; `scale` in radians, or None to learn it in warm-up."""

    scale: float | None = None

    symmetric = True
    independent = False
    needs_mode = False
    on_orthogonal = True  # moves an orthogonal matrix to an orthogonal matrix

    def __post_init__(self) -> None:
        scale = self.scale
        if scale is None:
            return
        if isinstance(scale, bool) or not isinstance(scale, Real) or not 0 < float(scale) <= MOST:
            raise InputError(
                f"Stiefel(scale={scale!r}): give the size of a step in radians, above 0 and up to {MOST:g}, or None to "
                "learn it in warm-up"
            )
        object.__setattr__(self, "scale", float(scale))

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([side(setting.size), float(self.scale is None), 0.5])

    def initial_state(self, setting: Setting) -> np.ndarray:
        size = side(setting.size)
        scale = FIRST if self.scale is None else self.scale
        return np.concatenate([[np.log(scale)], np.zeros(4 * size * size + size * (size - 1) // 2)])

    def propose(self) -> Any:
        return propose

    def adapt(self) -> Any:
        return adapt

    def settings(self) -> dict[str, Any]:
        return {"move": "Stiefel", "scale": self.scale}


def side(size: int) -> int:
    """D of a state of D x D numbers, or the sentence that it is no square matrix."""
    root = isqrt(size)
    if root * root != size or root < 2:
        raise InputError(
            f"Stiefel moves a square matrix of at least 2 x 2, but the model has {size} parameter"
            f"{'' if size == 1 else 's'}: give another proposal such as RandomWalk()"
        )
    return root

"""A model bound to rows: everything the engine and the results need, and nothing of how it was described."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import types

from ..engine.jit import pointer
from ..engine.problem import TOTAL, Problem, new_source, total_signature
from ..report.variables import Variable
from ..rows.held import Rows
from .orthogonal import haar
from .priors import AS_LOGARITHM, Prior, describe, draw


@dataclass(frozen=True)
class Target:
    """log prior(theta) + sum_i l_i(theta) over held rows, theta flat (D,)."""

    name: str
    rows: Rows
    problem: Problem
    prior: np.ndarray  # (D, 6), engine/prior.py
    priors: list[Prior]
    labels: list[str]  # one a parameter, in the order of theta
    variables: list[Variable]  # of the natural draws
    n_indices: int = 0
    kernels: tuple[Any, Any] | None = None  # (value, slopes) of a family, where the model has predictors
    total: Any = None  # a family's compiled sum of a whole block, where it has one
    rounded: Any = None  # value with its kink rounded off, of which slopes are the derivatives: standin/kinks.py
    gradient: Callable[..., Any] | None = None  # a user's gradient of the whole sum over a block
    initial: np.ndarray = field(default_factory=lambda: np.zeros(0))  # where the search for the mode begins
    to_natural: np.ndarray | None = None  # (D, D): natural coefficients = to_natural @ theta, where standardised
    orthogonal: int = 0  # D where theta is an orthogonal D x D matrix, row by row, its prior uniform on them
    interpreted: bool = False  # True where terms come from plain Python, which threads cannot share
    new_source: Callable[..., Any] = new_source  # (problem, D, I) -> the source of terms for rules that draw
    notes: list[str] = field(default_factory=list)  # what the user should hear before the run
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.labels)

    def logarithms(self) -> np.ndarray:
        """Which parameters the chain holds as logarithms (D,)."""
        return np.asarray(self.prior[:, AS_LOGARITHM] != 0)

    def with_problem(self, problem: Problem) -> "Target":
        """The same posterior seen through another compiled view."""
        return replace(self, problem=problem)

    def for_passes(self) -> "Target":
        """The same posterior with its family's sum of whole blocks compiled, which rules that draw rows do not need."""
        if self.total is None:
            return self
        problem, shape = self.problem, self.problem.shape.copy()
        shape[TOTAL] = 1
        real = types.float32 if problem.X.dtype == np.float32 else types.float64
        return self.with_problem(problem._replace(shape=shape, total=pointer(self.total, total_signature(real))))

    def draw_prior(self, generator: np.random.Generator, count: int) -> np.ndarray:
        """States (count, D) drawn from the prior; a flat one has none to draw from."""
        if self.orthogonal:
            return haar(generator, count, self.orthogonal).reshape(count, self.size)
        out = np.empty((count, self.size))
        for k, prior in enumerate(self.priors):
            natural = draw(prior, generator, count, self.labels[k])
            out[:, k] = np.log(np.maximum(np.abs(natural), 1e-12)) if self.logarithms()[k] else natural
        return out

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Draws (n, D) of the chain's vector as they are reported: original scale, scales and shapes themselves."""
        out = np.array(theta[:, : self.size])
        if self.to_natural is not None:
            out = _times(self.to_natural, out)
        as_log = self.logarithms()
        out[:, as_log] = np.exp(theta[:, : self.size][:, as_log])
        return out

    def from_natural(self, points: np.ndarray) -> np.ndarray:
        """The inverse: states (n, D) of reported values."""
        as_log = self.logarithms()
        out = np.array(points, dtype=np.float64)
        out[:, as_log] = np.log(out[:, as_log])
        if self.to_natural is not None:
            out = np.array([np.linalg.solve(self.to_natural, point) for point in out])
        return out

    def settings(self) -> dict[str, Any]:
        """The model by name and value, as stored with the draws."""
        return {
            "model": self.name,
            "parameters": list(self.labels),
            "priors": [describe(prior) for prior in self.priors],
            **self.options,
        }


def _times(matrix: np.ndarray, states: np.ndarray) -> np.ndarray:
    """states (n, D) @ matrix.T, whose bits do not depend on n as those of a library's product do.

    Draws come in pieces whose lengths depend on the clock. The matrix is diagonal but for the rows of intercepts.
    """
    out = states * np.diag(matrix)
    for row in np.flatnonzero(np.any(matrix - np.diag(np.diag(matrix)), axis=1)):
        out[:, row] = np.cumsum(states * matrix[row], axis=1)[:, -1]
    return out

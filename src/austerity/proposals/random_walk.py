"""Random walk:  theta' = theta + scale * R z,  z ~ N(0, I).

R is the identity (scale a number), a diagonal (a vector), a lower triangular root of a covariance (a matrix), or, by
default, the root of the covariance at the mode with scale 2.38 / sqrt(D) (Roberts, Gelman, Gilks 1997).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.jit import engine
from ..engine.problem import copy_into
from ..engine.streams import fill_normal
from ..errors import InputError
from .base import STEP_SIZE, Setting, lower_times, no_adaptation

OPTIMAL_SCALE = 2.38


@engine
def propose_diagonal(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """parameters: one step size a coordinate."""
    fill_normal(stream, proposed)
    for i in range(theta.size):
        proposed[i] = theta[i] + parameters[i] * proposed[i]
    copy_into(proposed_indices, indices)
    report[STEP_SIZE] = parameters[0]
    return 0.0


@engine
def propose_full(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """parameters: the scale, then the root row by row; state: room for z."""
    size = theta.size
    fill_normal(stream, state)
    lower_times(parameters[1:].reshape((size, size)), state, proposed)
    for i in range(size):
        proposed[i] = theta[i] + parameters[0] * proposed[i]
    copy_into(proposed_indices, indices)
    report[STEP_SIZE] = parameters[0]
    return 0.0


def root_of(covariance: np.ndarray, name: str) -> np.ndarray:
    """Lower triangular root of a covariance matrix, or a sentence that says why there is none."""
    if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=0.0):
        raise InputError(f"{name} is a matrix that is not symmetric: give a covariance matrix")
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(covariance)[0])
        raise InputError(
            f"{name} is a matrix with smallest eigenvalue {smallest:.3g}: a covariance must be positive definite"
        ) from None


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """Normal steps: `scale` a number, a vector (one a parameter), a covariance matrix, or None (from the mode)."""

    scale: ArrayLike | None = None

    symmetric = True
    independent = False

    def __post_init__(self) -> None:
        if self.scale is None:
            return
        try:
            scale = np.asarray(self.scale, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"RandomWalk(scale={self.scale!r}): give a number, a vector or a matrix") from None
        if scale.ndim > 2 or (scale.ndim == 2 and scale.shape[0] != scale.shape[1]):
            raise InputError(
                f"RandomWalk(scale=...) has shape {scale.shape}: give a number, a vector or a square matrix"
            )
        if not np.all(np.isfinite(scale)):
            raise InputError("RandomWalk(scale=...) holds NaN or infinity: give finite step sizes")
        if scale.ndim < 2 and not np.all(scale > 0):
            place = int(np.argmin(scale))
            where = f" at place {place}" if scale.ndim else ""
            raise InputError(f"RandomWalk(scale=...) holds {scale.flat[place]:g}{where}: give positive step sizes")
        if scale.ndim == 2:
            root_of(scale, "RandomWalk(scale=...)")

    @property
    def needs_mode(self) -> bool:
        return self.scale is None

    @property
    def _full(self) -> bool:
        return self.scale is None or np.ndim(self.scale) == 2

    def parameters(self, setting: Setting) -> np.ndarray:
        if self.scale is None:
            assert setting.root is not None
            return np.concatenate([[OPTIMAL_SCALE / np.sqrt(setting.size)], setting.root.ravel()])
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim > 0 and scale.shape[0] != setting.size:
            raise InputError(
                f"RandomWalk(scale=...) is for {scale.shape[0]} parameters, but the model has {setting.size}: "
                "give one step size for each, in the order of the model's parameters"
            )
        if scale.ndim == 2:
            return np.concatenate([[1.0], root_of(scale, "RandomWalk(scale=...)").ravel()])
        return np.broadcast_to(scale, setting.size).astype(np.float64)

    def initial_state(self, setting: Setting) -> np.ndarray:
        return np.zeros(setting.size if self._full else 1)

    def propose(self) -> Any:
        return propose_full if self._full else propose_diagonal

    def adapt(self) -> Any:
        return no_adaptation

    def settings(self) -> dict[str, Any]:
        scale = None if self.scale is None else np.asarray(self.scale, dtype=np.float64).tolist()
        return {"move": "RandomWalk", "scale": scale}

"""How far an unmixing matrix is from the true one, whatever the order and the signs of its components.

    Q = W_true W^-1,   d = 1 / (2 D (D - 1)) [ sum_r (sum_j |q_rj| / max_j |q_rj| - 1)
                                             + sum_j (sum_r |q_rj| / max_r |q_rj| - 1) ]          (Amari et al. 1996)

d is 0 where every true component is one of W's up to its scale, and 1 where each is an equal mixture of all. Where only
R < D true rows are given, Q is (R, D) and only its rows can be judged:  d = 1 / (R (D - 1)) sum_r (...).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError


def _distances(matrices: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """d of matrices (..., D, D) from truth (R, D), as at the top."""
    count, size = truth.shape
    if matrices.ndim < 2 or matrices.shape[-2:] != (size, size):
        raise InputError(
            f"amari_distance compares with {count} rows of {size} columns, but W has shape {matrices.shape}: give "
            f"(..., {size}, {size})"
        )
    # Q' solves W' Q' = W_true'; one small system a matrix, so that a draw's bits do not depend on its neighbours.
    across = np.broadcast_to(truth.T, (*matrices.shape[:-2], size, count))
    q = np.abs(np.linalg.solve(np.swapaxes(matrices, -1, -2), across))
    by_truth = (q / q.max(axis=-2, keepdims=True)).sum(axis=-2) - 1.0
    if count < size:
        return np.asarray(by_truth.sum(axis=-1) / (count * (size - 1.0)))
    by_component = (q / q.max(axis=-1, keepdims=True)).sum(axis=-1) - 1.0
    return np.asarray((by_truth.sum(axis=-1) + by_component.sum(axis=-1)) / (2.0 * size * (size - 1.0)))


def amari_distance(truth: Any, variable: str = "W") -> Callable[[Any], np.ndarray]:
    """The distance from the true unmixing matrix `truth` (D, D), or from some of its rows (R, D), as a function.

    keep={"amari": amari_distance(truth)} keeps it for every draw; amari_distance(truth)(W) takes W (..., D, D). `truth`
    and W act on the same columns; rows may have any scale, sign and order.
    """
    try:
        matrix = np.array(truth, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"amari_distance(truth={truth!r}): give a matrix of numbers") from None
    if matrix.ndim != 2 or not 1 <= matrix.shape[0] <= matrix.shape[1] or matrix.shape[1] < 2:
        raise InputError(
            f"amari_distance(truth=...) has shape {matrix.shape}: give the true unmixing matrix (D, D), or some of its "
            "rows (R, D)"
        )
    if not np.all(np.isfinite(matrix)):
        raise InputError("amari_distance(truth=...) holds NaN or infinity: give finite numbers")
    if np.linalg.matrix_rank(matrix) < matrix.shape[0]:
        raise InputError("amari_distance(truth=...) has rows that depend on one another: give independent rows")

    def distance(values: Any) -> np.ndarray:
        """(..., D, D), or a mapping that holds it as keep= hands it out, to distances (...)."""
        chosen = values[variable] if isinstance(values, Mapping) else values
        return _distances(np.asarray(chosen, dtype=np.float64), matrix)

    return distance

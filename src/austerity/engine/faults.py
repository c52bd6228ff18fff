"""Sentences for what went wrong inside compiled code: which row, at which parameter values."""

import numpy as np

from ..decisions.base import USER_RAISED
from ..errors import InputError, ModelError
from ..models.target import Target
from ..rows.passes import SLAB_ROWS
from .problem import USER


def _values(target: Target, theta: np.ndarray) -> str:
    natural = target.natural(theta[None, :])[0]
    shown = [f"{label}={value:.6g}" for label, value in zip(target.labels, natural, strict=True)]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")


def _first_bad_row(target: Target, theta: np.ndarray, indices: np.ndarray) -> int | None:
    """The first row whose term at theta is NaN or +inf, found by halving."""
    from ..rows.passes import sums

    problem = target.problem
    first, last = 0, problem.X.shape[0]

    def bad(a: int, b: int) -> bool:
        part = problem._replace(
            X=problem.X[a:b],
            y=problem.y[a:b],
            offset=problem.offset[a:b] if problem.offset.size else problem.offset,
            weights=problem.weights[a:b] if problem.weights.size else problem.weights,
        )
        value, status = sums(part, theta[None, :], indices[None, :])
        return bool(status != 0 or np.isnan(value[0]) or value[0] == np.inf)

    for a in range(first, last, SLAB_ROWS):
        b = min(last, a + SLAB_ROWS)
        if not bad(a, b):
            continue
        while b - a > 1:
            middle = (a + b) // 2
            a, b = (a, middle) if bad(a, middle) else (middle, b)
        return a
    return None


def explain_fault(target: Target, thetas: np.ndarray, indices: np.ndarray, chain: int, status: int) -> Exception:
    """The prepared sentence for a status from compiled code."""
    theta = thetas[chain]
    where = f"chain {chain} at {_values(target, theta)}"
    row = _first_bad_row(target, theta, indices[chain])
    place = f"row {row}" if row is not None else "the prior or the proposal"
    if not target.problem.shape[USER]:
        return InputError(
            f"the log likelihood of {place} is not a number for {where}: check that row for extreme values"
        )
    if status == USER_RAISED:
        from ..models.user import last_error

        raised = last_error(target)
        return ModelError(f"the user's likelihood raised {raised} at {place} for {where}: correct it and start again")
    return ModelError(f"the user's likelihood gave a value that is not a number at {place} for {where}: correct it")

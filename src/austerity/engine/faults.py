"""Sentences for what went wrong inside compiled code: which row, at which parameter values."""

import numpy as np

from ..decisions.base import NOT_A_NUMBER, USER_RAISED
from ..errors import InputError, ModelError
from ..models.target import Target
from ..rows.blocks import SLAB_ROWS
from .prior import log_prior
from .problem import USER, Problem
from .state import Chains


def _values(target: Target, theta: np.ndarray) -> str:
    natural = target.natural(theta[None, :])[0, : target.size]
    shown = [f"{label}={value:.6g}" for label, value in zip(target.labels, natural, strict=True)]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")


def _part(problem: Problem, first: int, last: int) -> Problem:
    """The same problem on rows first ... last - 1."""
    return problem._replace(
        X=problem.X[first:last],
        y=problem.y[first:last],
        offset=problem.offset[first:last] if problem.offset.size else problem.offset,
        weights=problem.weights[first:last] if problem.weights.size else problem.weights,
    )


def _sum(target: Target, theta: np.ndarray, indices: np.ndarray, first: int, last: int) -> tuple[float, int]:
    """Sum of the terms of some rows, and a status."""
    from ..rows.passes import sums

    value, status = sums(_part(target.problem, first, last), theta[None, :], indices[None, :])
    return float(value[0]), status


def _first_bad_row(target: Target, theta: np.ndarray, indices: np.ndarray, zero: bool = False) -> int | None:
    """The first row whose term at theta is NaN or +inf (with zero=True also -inf), found by halving."""
    n_rows = target.problem.X.shape[0]

    def bad(a: int, b: int) -> bool:
        value, status = _sum(target, theta, indices, a, b)
        return bool(status != 0 or np.isnan(value) or value == np.inf or (zero and value == -np.inf))

    for a in range(0, n_rows, SLAB_ROWS):
        b = min(n_rows, a + SLAB_ROWS)
        if not bad(a, b):
            continue
        while b - a > 1:
            middle = (a + b) // 2
            a, b = (a, middle) if bad(a, middle) else (middle, b)
        return a
    return None


def explain_start(target: Target, theta: np.ndarray, where: str, remedy: str) -> Exception:
    """Why the posterior has no density at a starting point: the prior, or the first row at fault."""
    prior, indices = log_prior(target.prior, theta), np.zeros(target.n_indices, np.int64)
    values = _values(target, theta)
    if not np.isfinite(prior):
        return InputError(f"the log prior density is {prior:g} {where} ({values}): {remedy} where it is finite")
    row = _first_bad_row(target, theta, indices, zero=True)
    if row is None:
        return InputError(f"the log likelihood overflows {where} ({values}): {remedy} where it is finite")
    value, status = _sum(target, theta, indices, row, row + 1)
    if status != 0:
        return explain_fault(target, theta[None, :], indices[None, :], 0, status)
    kind = ModelError if target.problem.shape[USER] else InputError
    return kind(f"the log likelihood of row {row} is {value:g} {where} ({values}): correct that row, or {remedy}")


def explain_step(target: Target, chains: Chains, chain: int | None, status: int) -> Exception:
    """Why a step failed: the point proposed, or the point the chain is at, which a test let through unread."""
    if chain is None or status != NOT_A_NUMBER:
        return explain_fault(target, chains.proposed, chains.proposed_indices, chain, status)
    if _first_bad_row(target, chains.proposed[chain], chains.proposed_indices[chain]) is None:
        theta, indices = chains.theta[chain], chains.indices[chain]
        row = _first_bad_row(target, theta, indices, zero=True)
        if row is not None:
            return InputError(
                f"chain {chain} is at {_values(target, theta)}, where row {row} has no likelihood: a test that reads a "
                "few rows went there without reading that one; use Exact() where a likelihood can be zero"
            )
    return explain_fault(target, chains.proposed, chains.proposed_indices, chain, status)


def explain_runaway(target: Target, chains: Chains, chain: int | None, status: int) -> Exception:
    """Why a chain that takes every step failed: it has left all that has a density."""
    if chain is None or status != NOT_A_NUMBER:
        return explain_step(target, chains, chain, status)
    return InputError(
        f"chain {chain} ran away to {_values(target, chains.theta[chain])}, since nothing refuses a step: give "
        "Langevin a smaller step=, or corrected=True"
    )


def explain_fault(
    target: Target, thetas: np.ndarray, indices: np.ndarray, chain: int | None, status: int, stride: int = 1
) -> Exception:
    """The prepared sentence for a status from compiled code.

    thetas (C, D), indices (C, I): where chains wanted to go; chain: the one at fault, None where that is not known;
    stride: rows of the table between two rows of the problem.
    """
    chains = range(len(thetas)) if chain is None else [chain]
    found = [(c, _first_bad_row(target, thetas[c], indices[c])) for c in chains]
    chain, row = next(((c, row) for c, row in found if row is not None), found[0])
    theta = thetas[chain]
    where = f"chain {chain} at {_values(target, theta)}"
    place = f"row {row * stride}" if row is not None else "some row"
    if status == NOT_A_NUMBER and row is None:
        place = "the prior or the proposal"
    if not target.problem.shape[USER]:
        return InputError(
            f"the log likelihood of {place} is not a number for {where}: check that row for extreme values"
        )
    if status == USER_RAISED:
        from ..models.user import last_error

        said = last_error(target, theta, row)
        return ModelError(f"the user's likelihood {said} at {place} for {where}: correct it and start again")
    return ModelError(f"the user's likelihood gave a value that is not a number at {place} for {where}: correct it")

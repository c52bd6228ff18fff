"""Where chains begin: their points, the values there, and the precision that sums of terms need."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..decisions.base import FINE
from ..errors import InputError
from ..models.target import Target
from ..rows import derivatives, passes
from ..standin.mode import Mode
from .faults import explain_fault
from .prior import log_prior
from .problem import DOUBLE_TERMS, PREDICTORS
from .request import Request
from .state import Chains

TOLERATED = 0.01  # rounding error of a log ratio above which terms are taken in float64


def starting_points(target: Target, request: Request, mode: Mode | None, seed: np.random.SeedSequence) -> np.ndarray:
    """States (chains, D) where the chains begin."""
    chains, size = request.chains, target.size
    if isinstance(request.start, str) and request.start == "mode":
        assert mode is not None
        return np.tile(mode.theta, (chains, 1))
    if isinstance(request.start, str):
        return target.draw_prior(np.random.Generator(np.random.Philox(seed)), chains)
    try:
        given = np.asarray(request.start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"start={request.start!r}: give 'mode', 'prior', or numbers ({size} a chain)") from None
    if given.shape not in ((size,), (chains, size)):
        raise InputError(
            f"start has shape {given.shape}, but the model has {size} parameters ({', '.join(target.labels[:6])}"
            f"{', ...' if size > 6 else ''}) and there are {chains} chains: give ({size},) or ({chains}, {size})"
        )
    if not np.all(np.isfinite(given)):
        raise InputError("start holds NaN or infinity: give finite values")
    points = np.tile(given, (chains, 1)) if given.ndim == 1 else given
    as_log = target.logarithms()
    if np.any(points[:, as_log] <= 0):
        names = [label for label, log in zip(target.labels, as_log, strict=True) if log]
        raise InputError(f"start gives {names[0]} a value that is not positive: give its natural, positive value")
    return target.from_natural(points)


def needs_double_terms(
    target: Target, mode: Mode | None, theta: np.ndarray, pool: ThreadPoolExecutor, threads: int
) -> tuple[bool, float]:
    """Rounding error of Lambda in float32 terms against float64 ones, at points a typical step from the mode.

    Without a mode, points near theta stand in: the error comes from the terms themselves more than from the step.
    """
    problem = target.problem
    if problem.X.dtype != np.float32 or problem.shape[PREDICTORS] == 0:
        return False, 0.0
    z = np.random.Generator(np.random.Philox(1)).standard_normal((7, target.size))
    if mode is None:
        points = np.vstack([theta, theta + 1e-3 * (1.0 + np.abs(theta)) * z])
    else:
        points = np.vstack([mode.theta, mode.theta + 2.38 / np.sqrt(target.size) * z @ mode.root.T])
    single, _ = passes.sums(with_double_terms(problem, False), points, None, pool, threads)
    double, _ = passes.sums(with_double_terms(problem, True), points, None, pool, threads)
    error = float(np.max(np.abs((single[1:] - single[0]) - (double[1:] - double[0]))))
    return bool(error > TOLERATED or not np.isfinite(error)), error


def with_double_terms(problem: Any, double: bool) -> Any:
    """The same problem with terms taken in float64 (or not)."""
    shape = problem.shape.copy()
    shape[DOUBLE_TERMS] = int(double)
    return problem._replace(shape=shape)


def first_values(target: Target, acceptance: Any, chains: Chains, pool: ThreadPoolExecutor, threads: int) -> None:
    """Fill log prior and, for rules that cache it, the sum at the starting points; refuse points with no density."""
    if acceptance.reads_all or target.kernels is None:
        values, status = passes.sums(target.problem, chains.theta, chains.indices, pool, threads)
        if status != FINE:
            raise explain_fault(target, chains.theta, chains.indices, 0, status)
        chains.rule_state[:, 0] = values
    else:  # the same sums without compiling a pass that the run will not make; chains often start at one point
        points, back = np.unique(chains.theta, axis=0, return_inverse=True)
        values = derivatives.values(target.problem, target.kernels, points)[back.ravel()]
    for c in range(values.size):
        chains.log_prior[c] = log_prior(target.prior, chains.theta[c])
        total = values[c] + chains.log_prior[c]
        if not np.isfinite(total):
            what = "prior density" if not np.isfinite(chains.log_prior[c]) else "likelihood"
            raise InputError(f"chain {c} starts where the log {what} is {total}: give start= points where it is finite")

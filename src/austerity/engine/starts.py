"""Where chains begin: their points, the values there, and the precision that sums of terms need."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decisions.base import FINE
from ..errors import InputError
from ..models.target import Target
from ..rows import derivatives, passes
from ..standin.mode import Mode
from .faults import explain_fault, explain_start
from .prior import log_prior
from .problem import DOUBLE_TERMS, PREDICTORS
from .request import Request
from .state import Chains

TOLERATED = 0.01  # rounding error of a log ratio above which terms are taken in float64


def starting_points(
    target: Target,
    request: Request,
    mode: Mode | None,
    seed: np.random.SeedSequence,
    pool: ThreadPoolExecutor,
    threads: int,
) -> np.ndarray:
    """States (chains, D) where the chains begin."""
    if target.fewest is not None:
        from .start_sets import starting_sets

        return starting_sets(target, request, mode, seed, pool, threads)
    if isinstance(request.start, str) and request.start == "mode":
        assert mode is not None
        return np.tile(mode.theta, (request.chains, 1))
    if isinstance(request.start, str):
        return target.draw_prior(np.random.Generator(np.random.Philox(seed)), request.chains)
    return given_points(target, request)


def given_points(target: Target, request: Request) -> np.ndarray:
    """States (chains, D) of the natural values in start=, each of which can be one."""
    chains, size = request.chains, target.size
    given = _flat(np.asarray(request.start, dtype=np.float64), target)
    if given.shape not in ((size,), (chains, size)):
        raise InputError(
            f"start has shape {given.shape}, but the model has {size} parameters ({', '.join(target.labels[:6])}"
            f"{', ...' if size > 6 else ''}) and there are {chains} chains: give ({size},) or ({chains}, {size})"
        )
    points = np.tile(given, (chains, 1)) if given.ndim == 1 else given
    for fault, remedy in (
        (~np.isfinite(points), "give a finite value"),
        (target.logarithms() & (points <= 0), "give its natural, positive value"),
    ):
        if fault.any():
            c, k = (int(place[0]) for place in np.nonzero(fault))
            raise InputError(f"start gives {target.labels[k]} the value {points[c, k]:g} in chain {c}: {remedy}")
    return target.from_natural(points)


def _flat(given: np.ndarray, target: Target) -> np.ndarray:
    """A state that is one matrix may be given as such, (D, D) or (chains, D, D)."""
    shape = target.variables[0].shape
    matrix = len(target.variables) == 1 and len(shape) == 2 and given.shape[-2:] == shape
    return given.reshape(*given.shape[:-2], target.size) if matrix else given


@dataclass(frozen=True)
class Rounding:
    """How far log ratios are off by rounding: in float32 terms, and in the terms that the run will take."""

    double: bool = False
    single_error: float = 0.0
    error: float = 0.0

    @staticmethod
    def limit() -> float:
        """The error of a log ratio that an exact run may have."""
        return TOLERATED


def measure_rounding(
    target: Target, mode: Mode | None, theta: np.ndarray, temperature: float, pool: ThreadPoolExecutor, threads: int
) -> Rounding:
    """Rounding of Lambda / T at points a typical step from the mode, against sums that are float64 throughout.

    Without a mode, points near theta stand in: the error comes from the terms themselves more than from the step.
    """
    problem = target.problem
    if problem.X.dtype != np.float32 or problem.shape[PREDICTORS] == 0:
        return Rounding()
    z = np.random.Generator(np.random.Philox(1)).standard_normal((3, target.size))
    if mode is None:
        points = np.vstack([theta, theta + 1e-3 * (1.0 + np.abs(theta)) * z])
    else:
        points = np.vstack([mode.theta, mode.theta + 2.38 / np.sqrt(target.size) * z @ mode.root.T])
    with np.errstate(invalid="ignore", over="ignore"):  # float32 may overflow, which is what is asked here
        assert target.kernels is not None
        truth = derivatives.values(problem, target.kernels, points)

        def error(double: bool) -> float:
            sums, _ = passes.sums(with_double_terms(problem, double), points, None, pool, threads)
            worst = np.max(np.abs((sums[1:] - sums[0]) - (truth[1:] - truth[0]))) / temperature
            return float(worst) if np.isfinite(worst) else float("inf")

        single = error(False)
        return Rounding(False, single, single) if single <= TOLERATED else Rounding(True, single, error(True))


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
            raise explain_fault(target, chains.theta, chains.indices, None, status)
        chains.rule_state[:, 0] = values
    else:  # the same sums without compiling a pass that the run will not make; chains often start at one point
        points, back = np.unique(chains.theta, axis=0, return_inverse=True)
        values = derivatives.values(target.problem, target.kernels, points)[back.ravel()]
    for c in range(values.size):
        chains.log_prior[c] = log_prior(target.prior, chains.theta[c])
        if not np.isfinite(values[c] + chains.log_prior[c]):
            raise explain_start(target, chains.theta[c], f"where chain {c} starts", "give start= points")

"""The mode and the curvature there, by Newton's method with step control.

    f(theta) = log prior + sum_i l_i / T,   step = (-f'' + lambda D)^{-1} f',   D = diagonal of |f''|

lambda grows while a step does not raise f and shrinks when it does, so the search ends on collinear columns too. It
begins on a few rows, so that all rows are passed over only a handful of times. What cannot have a mode (a flat prior
on separable or collinear columns) is refused in a sentence.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from ..engine import prior as prior_module
from ..errors import InputError
from ..models.priors import FLAT, KIND, LAPLACE, SCALE
from ..models.target import Target
from ..rows import derivatives as rows_derivatives
from . import kinks, propriety
from .numeric import NumericObjective

FEW_ROWS = 20_000
MOST_STEPS = 100
TOLERANCE = 1e-10  # of half the squared Newton step in units of sd


@dataclass(frozen=True)
class Mode:
    """Where the posterior peaks, its curvature there, and how the search went."""

    theta: np.ndarray  # (D,)
    precision: np.ndarray  # (D, D): -f'' at theta
    root: np.ndarray  # (D, D) lower triangular: root @ root.T = inverse of the precision
    value: float
    steps: int
    converged: bool
    said: str


class _Objective:
    """f and its derivatives, on all rows or on a few."""

    def __init__(self, target: Target, temperature: float, pool: ThreadPoolExecutor | None, threads: int) -> None:
        self.target, self.temperature, self.pool, self.threads = target, temperature, pool, threads

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        assert self.target.kernels is not None
        kernels = (self.target.rounded or self.target.kernels[0], self.target.kernels[1])
        value, gradient, curvature = rows_derivatives.derivatives(self.target.problem, kernels, theta, self.pool)
        first, second = prior_module.derivatives(self.target.prior, theta)
        log_prior = prior_module.log_prior(self.target.prior, theta)
        t = self.temperature
        return log_prior + value / t, first + gradient / t, curvature / t + np.diag(second)


class NoDensity(InputError):
    """The posterior has no density at theta, where a search was to begin."""

    def __init__(self, theta: np.ndarray, value: float) -> None:
        super().__init__(f"the log posterior at the starting point is {value}: give start= where it is finite")
        self.theta = theta


def few_stride(target: Target) -> int:
    """Rows between two of the few rows; 1 where N is too small to leave any out."""
    stride = target.problem.X.shape[0] // max(FEW_ROWS, 200 * target.size)
    return stride if stride >= 4 else 1


def few_rows(target: Target) -> Target | None:
    """The same posterior on evenly spaced rows; None where N is small."""
    stride = few_stride(target)
    if stride == 1:
        return None
    problem = target.problem
    few = problem._replace(
        X=np.ascontiguousarray(problem.X[::stride]),
        y=np.ascontiguousarray(problem.y[::stride]),
        offset=np.ascontiguousarray(problem.offset[::stride]),
        weights=np.ascontiguousarray(problem.weights[::stride]),
    )
    return target.with_problem(few)


def newton(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]],
    theta: np.ndarray,
    most_steps: int,
    tolerance: float,
) -> tuple[np.ndarray, int, bool]:
    """Maximise from theta; returns the last point, steps taken and whether the step there is negligible."""
    value, gradient, curvature = objective(theta)
    if not np.isfinite(value):
        raise NoDensity(theta, value)
    damping = 0.0
    for step in range(most_steps):
        scale = np.maximum(np.abs(np.diag(curvature)), 1e-12 * max(1.0, np.abs(np.diag(curvature)).max()))
        direction = _damped(-curvature, scale, damping, gradient)
        if direction is None:
            damping = max(4.0 * damping, 1e-6)
            continue
        gain = float(gradient @ direction)
        if gain < 2.0 * tolerance:
            return theta, step, True
        trial = theta + direction
        trial_value, trial_gradient, trial_curvature = objective(trial)
        if np.isfinite(trial_value) and trial_value >= value + 1e-4 * gain:
            theta, value, gradient, curvature = trial, trial_value, trial_gradient, trial_curvature
            damping = 0.0 if damping < 1e-4 else damping / 8.0
        elif abs(trial_value - value) < 1e-9 * abs(value) + 1e-9 and gain < 1e-4:
            return theta, step, True  # the rest is below the rounding of f itself
        else:
            damping = max(8.0 * damping, 1e-3)
    return theta, most_steps, False


def _damped(matrix: np.ndarray, scale: np.ndarray, damping: float, gradient: np.ndarray) -> np.ndarray | None:
    """Solve (matrix + damping diag(scale)) x = gradient; None where that matrix is not positive definite."""
    try:
        factor = cho_factor(matrix + damping * np.diag(scale), lower=True)
    except (np.linalg.LinAlgError, ValueError):
        return None
    out = cho_solve(factor, gradient)
    return out if np.all(np.isfinite(out)) else None


def find_mode(
    target: Target, temperature: float = 1.0, pool: ThreadPoolExecutor | None = None, threads: int = 1
) -> Mode:
    """The mode of the posterior, or a sentence that says why there is none.

    Where the model chooses its variables: with all of them in use, under the prior of its companion.
    """
    target = target.companion or target
    search = _find_mode_numerically if target.kernels is None else _find_mode_by_derivatives
    if target.orthogonal:
        from .rotation import find_rotation

        search = find_rotation
    try:
        return search(target, temperature, pool, threads)
    except NoDensity as error:
        from ..engine.faults import explain_start

        remedy = "initial= values" if target.kernels is None else "start= points and a proposal with a scale of its own"
        raise explain_start(target, error.theta, "where the mode is looked for", f"give {remedy}") from None


def _find_mode_by_derivatives(
    target: Target, temperature: float, pool: ThreadPoolExecutor | None, threads: int
) -> Mode:
    """For models with predictors: Newton on few rows, then on all of them."""
    theta = target.initial.astype(np.float64).copy()
    few = few_rows(target)
    steps_before = 0
    if target.rounded is not None:
        near = few or target
        for share in kinks.WIDE:
            rough = _Objective(kinks.narrowed(near, near, theta, share), temperature, pool, threads)
            theta, steps, _ = newton(rough, theta, MOST_STEPS, 1e-2)
            steps_before += steps
        target = kinks.narrowed(target, near, theta, kinks.last_share(target.rows.n))
    elif few is not None:
        theta, steps_before, _ = newton(_Objective(few, temperature, pool, threads), theta, MOST_STEPS, 1e-2)
    objective = _Objective(target, temperature, pool, threads)
    theta, steps, converged = newton(objective, theta, MOST_STEPS, TOLERANCE)
    value, gradient, curvature = objective(theta)
    precision = -curvature
    note = _check_propriety(target, objective, theta, precision, converged)
    slope, sharp = prior_module.derivatives(target.prior, theta)
    without = precision + np.diag(np.where(_kinked(target), sharp, 0.0))
    root = _root_of_inverse(target, without + _kinks(target, gradient - slope))
    said = f"mode found in {steps} steps on all rows" + (f" after {steps_before} on few" if few is not None else "")
    if target.rounded is not None:
        said += ", the kink of the loss rounded off"
    if not converged:
        said = f"the search for the mode stopped after {steps} steps without settling"
    return Mode(theta, precision, root, value, steps, converged, said + note)


def _kinked(target: Target) -> np.ndarray:
    """Which parameters have a prior with a kink (D,)."""
    return np.asarray((target.prior[:, KIND] == LAPLACE) & ~target.logarithms())


def _kinks(target: Target, pull: np.ndarray) -> np.ndarray:
    """What Laplace priors add to the precision; pull (D,): the slope of everything else.

    At a kink the density falls at the rates 1/s - g and 1/s + g, g the pull; the step fits the slower of the two sides,
    (1/s - |g|)^2. At a mode beside the kink |g| = 1/s, and nothing is added.
    """
    rate = np.maximum(0.0, 1.0 / target.prior[:, SCALE] - np.abs(pull))
    return np.diag(np.where(_kinked(target), rate**2, 0.0))


def _check_propriety(
    target: Target, objective: _Objective, theta: np.ndarray, precision: np.ndarray, converged: bool
) -> str:
    """A note about collinear columns, or a refusal where there is no posterior."""
    propriety.refuse_perfect_fit(target, theta, converged)
    if propriety.from_residuals(target) or not propriety.has_flat(target):
        return propriety.collinear(target, propriety.of_likelihood(target, theta, precision))
    _, _, curvature = objective(target.initial)
    coefficients = int(np.sum(~target.logarithms()))
    at_start = propriety.of_likelihood(target, target.initial, -curvature)[:coefficients, :coefficients]
    note = propriety.collinear(target, at_start)
    propriety.refuse_separation(target, theta, precision, at_start)
    return note


def _find_mode_numerically(target: Target, temperature: float, pool: ThreadPoolExecutor | None, threads: int) -> Mode:
    """The same for a likelihood without predictors: Newton on few rows, then on all rows with their curvature."""
    few = few_rows(target)
    start = target.initial.astype(np.float64).copy()
    n_few = target.rows.n if few is None else few.problem.X.shape[0]
    share = target.rows.n / n_few
    rough = NumericObjective(few or target, share / temperature, pool, threads, few_stride(target))
    rough.adapt_steps(start)
    theta, steps, converged = newton(rough, start, MOST_STEPS, 1e-4)
    rough.adapt_steps(theta)
    if not converged:
        theta, more, converged = newton(rough, theta, MOST_STEPS, 1e-4)
        steps += more
    value, _, curvature = rough(theta)
    note, bend, pull = propriety.collinear(target, -curvature), curvature, np.zeros(target.size)
    if _kinked(target).any():  # differences across a kink say nothing, so they are taken without those priors
        bare = target.prior.copy()
        bare[_kinked(target), KIND] = FLAT
        smooth = NumericObjective(
            replace(few or target, prior=bare), share / temperature, pool, threads, few_stride(target)
        )
        smooth.adapt_steps(theta)
        _, pull, bend = smooth(theta)
    root = _root_of_inverse(target, -bend + _kinks(target, pull))
    said = f"mode found in {steps} steps on {n_few:,} rows"
    if few is not None:
        full = NumericObjective(target, 1.0 / temperature, pool, threads)
        full.step = rough.step.copy()
        theta, value, steps = _polish(full, theta, root)
        said += f" and {steps} on all"
    if not converged:
        said = f"the search for the mode stopped after {steps} steps without settling"
    return Mode(theta, -curvature, root, value, steps, converged, said + note)


def _polish(full: NumericObjective, theta: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, float, int]:
    """Steps root root' f' with the gradient of all rows, halved until f rises."""
    value = float(full.values(theta[None, :])[0])
    if not np.isfinite(value):
        raise NoDensity(theta, value)
    for step in range(10):
        direction = root @ (root.T @ full.gradient(theta))
        if float(np.sum(np.linalg.solve(root, direction) ** 2)) < 1e-4:
            return theta, value, step
        trials = theta + direction * 0.5 ** np.arange(6)[:, None]
        values = full.values(trials)
        best = int(np.argmax(np.where(np.isnan(values), -np.inf, values)))
        if not values[best] > value:
            return theta, value, step
        theta, value = trials[best], float(values[best])
    return theta, value, 10


def _root_of_inverse(target: Target, precision: np.ndarray) -> np.ndarray:
    """Lower triangular root of the inverse; directions without curvature get a very long one."""
    if not np.all(np.isfinite(np.diag(precision))):
        raise InputError("the curvature at the mode is not finite: check the columns for extreme values")
    correlation, size = propriety.unit_diagonal(precision)
    values, vectors = eigh(correlation)
    covariance = (vectors / np.maximum(values, 1e-12)) @ vectors.T / np.outer(size, size)
    return np.linalg.cholesky((covariance + covariance.T) / 2)

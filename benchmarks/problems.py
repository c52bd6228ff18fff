"""The posteriors that the benchmarks run on, and the engine made ready to be timed.

X_ij ~ N(0, 1) float32,   beta_j ~ N(0, 0.5^2),   P(y = 1) = 1 / (1 + exp(-X beta)),   prior Normal(0, 1)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import power

import austerity as au
from austerity.engine.loop import advance
from austerity.engine.prior import log_prior
from austerity.engine.problem import DOUBLE_TERMS, Source, new_work
from austerity.engine.run import Run
from austerity.engine.state import ROWS
from austerity.models.target import Target
from austerity.rows.passes import sums
from austerity.sample import begin, default_settings
from austerity.standin.mode import Mode, find_mode

POINTS = 256  # of a pass when the reference is made


@dataclass(frozen=True)
class Problem:
    """A bound model with the coefficients its data came from."""

    target: Target
    truth: np.ndarray  # (d,)

    @property
    def problem(self) -> Any:
        return self.target.problem

    @property
    def n(self) -> int:
        return self.target.rows.n

    @property
    def d(self) -> int:
        return self.target.rows.d

    @property
    def words(self) -> str:
        """Rows and columns as they are printed."""
        return f"{power(self.n)} x {self.d} {self.target.rows.X.dtype}"


def logistic_data(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (N, d) and responses (N,), float32, and the coefficients (d,)."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows, n_columns), dtype=np.float32)
    truth = generator.normal(0.0, 0.5, n_columns)
    y = generator.random(n_rows) < 1.0 / (1.0 + np.exp(-(X @ truth)))
    return X, y.astype(np.float32), truth


def model() -> Any:
    """The model of every benchmark."""
    return au.models.Logistic(prior=au.priors.Normal(0, 1))


def logistic_problem(n_rows: int, n_columns: int, seed: int = 0) -> Problem:
    """The posterior of generated data, bound to its rows."""
    X, y, truth = logistic_data(n_rows, n_columns, seed)
    return Problem(model().bind(au.rows.open(X, y), False, False).for_passes(), truth)


def ready_run(made: Problem, decision: Any, mode: Mode, **settings: Any) -> Run:
    """A run that has not taken a step, with the default random walk of this mode and no warm-up."""
    covariance = mode.root @ mode.root.T * (2.38**2 / made.d)
    given = {
        "acceptance": decision,
        "proposal": au.proposals.RandomWalk(covariance),
        "start": mode.theta,
        "warmup": 0,
        "chains": 1,
        "cores": 1,
        "progress": False,
        **settings,
    }
    prepared, _ = begin(model=model(), X=made.target.rows, y=None, **default_settings(given))
    return prepared.run


def go_on(run: Run, n_steps: int) -> None:
    """Let a run take this many more steps of every chain, as if it had been asked for so many."""
    run.total = int(run.chains.step.max()) + n_steps
    run.go()


def in_float64(problem: Any, double: bool) -> Any:
    """The same problem with its terms taken in float64, or not."""
    shape = problem.shape.copy()
    shape[DOUBLE_TERMS] = int(double)
    return problem._replace(shape=shape)


def stepper(run: Run, n_steps: int) -> tuple[Callable[[], float], Callable[[], float]]:
    """Two calls of a chain by itself: n_steps whole steps, giving the rows they read; and mean rows a step so far."""
    source = Source(run.target.problem, new_work(run.target.problem, run.target.size, run.target.n_indices))
    tally = [0.0, 0.0]

    def take() -> float:
        advance(source, run.plan, run.chains, 0, n_steps, run.draws[0], run.statistics[0])
        rows = float(run.statistics[0, :n_steps, ROWS].sum())
        tally[0] += rows
        tally[1] += n_steps
        return rows

    return take, lambda: tally[0] / tally[1]


@dataclass(frozen=True)
class Reference:
    """Posterior means and sds, with the standard error of each mean in sd."""

    mean: np.ndarray  # (d,)
    sd: np.ndarray  # (d,)
    error: float  # the largest over coordinates
    mode: Mode

    def worst(self, means: np.ndarray) -> float:
        """Largest |mean - truth| / sd over coordinates."""
        return float(np.max(np.abs(means - self.mean) / self.sd))


def reference(made: Problem, n_points: int, seed: int = 7) -> Reference:
    """Means and sds from the exact posterior at independent points, weighted.

    z and -z are both taken, points are mode + root z / sqrt(w) with 10 w ~ chi^2(10) (a multivariate t), weights are
    posterior over t density; the error is that of the means over 16 groups of points.
    """
    mode = find_mode(made.target)
    generator = np.random.default_rng(seed)
    half = generator.standard_normal((n_points // 2, made.d))
    spread = np.sqrt(generator.chisquare(10, n_points // 2) / 10)[:, None]
    z = np.stack([half / spread, -half / spread], axis=1).reshape(-1, made.d)
    points = mode.theta + z @ mode.root.T
    log_density = np.empty(points.shape[0])
    for first in range(0, points.shape[0], POINTS):
        part = points[first : first + POINTS]
        values, _ = sums(made.problem, part)
        log_density[first : first + POINTS] = values + [log_prior(made.target.prior, point) for point in part]
    log_t = -0.5 * (10 + made.d) * np.log1p((z * z).sum(axis=1) / 10)
    weights = np.exp(log_density - log_t - np.max(log_density - log_t))
    mean = np.average(points, axis=0, weights=weights)
    sd = np.sqrt(np.average((points - mean) ** 2, axis=0, weights=weights))
    groups = [np.average(p, axis=0, weights=w) for p, w in zip(np.split(points, 16), np.split(weights, 16))]
    error = np.std(groups, axis=0, ddof=1) / 4.0 / sd
    return Reference(mean, sd, float(error.max()), mode)

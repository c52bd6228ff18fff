"""(d) Effective samples a second of the sequential test and of exact Metropolis-Hastings, with the error beside them.

All use the same random walk, scaled by the curvature at the mode, and one core. Exact is taken three ways: one chain
that keeps the sum at its current state, sixteen chains in lockstep, and the form that the papers compared with, which
passes over all rows twice a step. The error is the largest |posterior mean - reference| / sd; what Monte Carlo alone
leaves of it is 1 / sqrt(ESS). Effective sizes are bulk, the least over coordinates, of means and of squared deviations.
"""

import time
from typing import Any

import numpy as np
from common import Figure, Report, shown, single_thread
from numba import njit
from problems import Problem, Reference, logistic_problem, ready_run, reference

from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import ENGINE
from austerity.engine.prior import log_prior
from austerity.engine.state import ROWS
from austerity.report.diagnostics import ess_bulk
from austerity.rows.passes import add_slabs, new_room, slab_count, slab_sums
from austerity.standin.mode import find_mode

EPSILONS = (0.01, 0.05, 0.1, 0.2)
SECONDS = {"full": 60.0, "quick": 6.0}  # a sampler
POINTS = {"full": 8192, "quick": 4096}  # of the reference


class Chains:
    """Draws (chains, n, d) of one sampler and the seconds they took."""

    def __init__(self, draws: np.ndarray, seconds: float, rows: float = float("nan")) -> None:
        self.draws, self.seconds, self.rows = draws, seconds, rows
        middle = draws.mean(axis=(0, 1))
        # A coordinate that never moved has no effective size, and so the whole sampler has none.
        self.means = float(np.nan_to_num(np.min(ess_bulk(draws))))
        self.squares = float(np.nan_to_num(np.min(ess_bulk((draws - middle) ** 2))))

    @property
    def speed(self) -> float:
        """Effective draws a second: the lesser of means and squares."""
        return min(self.means, self.squares) / self.seconds

    def words(self, truth: Reference) -> str:
        """What stands beside the speed."""
        error = truth.worst(self.draws.mean(axis=(0, 1)))
        alone = 1.0 / np.sqrt(max(self.means, 1e-9))
        rows = "" if np.isnan(self.rows) else f", {self.rows:,.0f} rows a decision"
        return (
            f"ESS of means {shown(self.means)}, of squares {shown(self.squares)} in {shown(self.seconds)} s{rows}; "
            f"worst |mean - truth|/sd {shown(error)}, Monte Carlo alone {shown(alone)}"
        )


def run(size: str = "full") -> dict[str, Any]:
    """Speeds, then the ratios of the sequential tests to each exact form."""
    report = Report("efficiency", size)
    n_rows = {"full": 1_000_000, "quick": 100_000}.get(size, 2_000)
    seconds = SECONDS.get(size, 0.2)
    with single_thread():
        made = logistic_problem(n_rows, 20)
        find_mode(made.target)  # compiled by now, so that the figure is that of a warm cache
        began = time.perf_counter()
        find_mode(made.target)
        report.add(Figure(f"set-up of all of them, mode and curvature, {made.words}", time.perf_counter() - began, "s"))
        began = time.perf_counter()
        truth = reference(made, POINTS.get(size, 512))
        report.say(
            f"reference: {POINTS.get(size, 512):,} weighted points on all rows, error of a mean at most "
            f"{shown(truth.error)} sd, {time.perf_counter() - began:.0f} s"
        )
        exact = _exact_forms(report, made, truth, seconds)
        tests = {epsilon: _sequential(report, made, truth, epsilon, seconds) for epsilon in EPSILONS}
    for epsilon, test in tests.items():
        for name, chains in exact.items():
            what = f"SequentialT({epsilon}, 500) against {name}, {made.words}"
            value = test.speed / chains.speed if chains.speed > 0 else float("nan")
            report.add(Figure(what, value, "x its effective samples a second"))
    return report.as_dict()


def timed_run(made: Problem, decision: Any, truth: Reference, seconds: float, chains: int = 1, **more: Any) -> Chains:
    """A run of this many seconds from draws of the Laplace approximation, after a second of warming up."""
    generator = np.random.default_rng(5)
    start = truth.mode.theta + generator.standard_normal((chains, made.d)) @ truth.mode.root.T
    settings = {"draws": 2_000_000 // chains, "chains": chains, "cores": 1, "start": start, **more}
    ready_run(made, decision, truth.mode, time_limit=min(1.0, seconds), **settings).go()
    run = ready_run(made, decision, truth.mode, time_limit=seconds, **settings)
    began = time.perf_counter()
    run.go()
    spent = time.perf_counter() - began
    draws, statistics = run.store.draws()
    return Chains(np.array(draws), spent, float(statistics[:, :, ROWS].mean()))


def _show(report: Report, name: str, made: Problem, chains: Chains, truth: Reference) -> Chains:
    report.add(Figure(f"{name}, {made.words}", chains.speed, "effective samples a second", note=chains.words(truth)))
    return chains


def _sequential(report: Report, made: Problem, truth: Reference, epsilon: float, seconds: float) -> Chains:
    chains = timed_run(made, SequentialT(epsilon, 500), truth, seconds)
    return _show(report, f"SequentialT({epsilon}, 500)", made, chains, truth)


def _exact_forms(report: Report, made: Problem, truth: Reference, seconds: float) -> dict[str, Chains]:
    forms = {
        "Exact, one chain": timed_run(made, Exact(), truth, seconds),
        "Exact, sixteen chains in lockstep": timed_run(made, Exact(), truth, seconds, chains=16),
        "exact, two passes a step": _two_passes(made, truth, seconds),
    }
    for name, chains in forms.items():
        _show(report, name, made, chains, truth)
    return forms


@njit(**ENGINE)
def _two_pass_steps(problem, room, prior, steps, log_u, theta, proposed, parts, draws):
    """One step a row of `steps`: both states on all rows, nothing kept from the step before."""
    at = np.empty((2, 1))
    for t in range(log_u.size):
        for i in range(theta.shape[1]):
            proposed[0, i] = theta[0, i] + steps[t, i]
        for k in range(2):
            slab_sums(problem, room, proposed if k else theta, np.int64(0), parts.shape[0], parts)
            add_slabs(parts, at[k])
        difference = at[1, 0] + log_prior(prior, proposed[0]) - at[0, 0] - log_prior(prior, theta[0])
        for i in range(theta.shape[1]):
            if log_u[t] < difference:
                theta[0, i] = proposed[0, i]
            draws[t, i] = theta[0, i]


def _two_passes(made: Problem, truth: Reference, seconds: float) -> Chains:
    """Metropolis-Hastings that evaluates both states on all rows at every step, as compiled as the other forms."""
    generator, width = np.random.default_rng(6), made.d
    root = truth.mode.root * (2.38 / np.sqrt(width))
    theta = (truth.mode.theta + truth.mode.root @ generator.standard_normal(width))[None]
    room, parts = new_room(made.problem, 1), np.empty((slab_count(made.n), 1))
    found: list[np.ndarray] = []

    def some(count: int) -> None:
        found.append(np.empty((count, width)))
        steps, log_u = generator.standard_normal((count, width)) @ root.T, np.log(generator.random(count))
        _two_pass_steps(
            made.problem, room, made.target.prior, steps, log_u, theta, np.empty_like(theta), parts, found[-1]
        )

    some(8)
    found.clear()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds or len(found) < 2:
        some(16)
    spent = time.perf_counter() - began
    return Chains(np.concatenate(found)[None], spent)

"""(h) A corrected Langevin step against the row evaluations it makes.

A step with a batch of 500 and a test that ends at its first look of 500 evaluates 500 gradients at theta, the same 500
at theta', and 500 terms at both. The denominator is these evaluations alone: rows gathered, prefetched, their
derivatives or terms taken block by block; once with row numbers drawn at random as the engine draws them, once with
numbers that are known beforehand. Everything else a step does is in the numerator: noise, priors, the ratio of
proposals, the test, the record. Beside it stands the step without correction.
"""

from typing import Any

import numpy as np
from common import Call, Figure, Report, best, interleaved, ratio, shown, single_thread
from numba import njit
from problems import Problem, logistic_problem

import austerity as au
from austerity.decisions import SequentialT
from austerity.engine.jit import ENGINE, ROWS_AHEAD
from austerity.engine.problem import ACTIVE, BLOCK, fold
from austerity.engine.reader import new_reader
from austerity.engine.reading import advance_reading
from austerity.proposals import Langevin
from austerity.rows.draws import _gather_predictors
from austerity.rows.gradients import batch_gradient, draw_batch
from austerity.sample import begin, default_settings

EVALUATIONS, BATCH = 1.2, 500
PRECISION, PENALTY = 3.0, 4950.0  # of the one-dimensional problem, as in experiments/sgld_l1.py


# No cache on disk: Numba's cache does not see edits in the functions that a cached one calls.
@njit(**ENGINE)
def _terms(problem, work, rows, ahead):
    """Terms of rows at both points."""
    X, y, offset, row_weights = problem.X, problem.y, problem.offset, problem.weights
    _gather_predictors(
        X,
        y,
        offset,
        row_weights,
        rows,
        ahead,
        work.weights_pair,
        work.intercepts,
        work.some,
        problem.shape[ACTIVE],
        work.eta,
        work.response,
    )
    problem.kernel(work.eta[0], work.response, work.extras[0], work.values[0])
    problem.kernel(work.eta[1], work.response, work.extras[1], work.values[1])
    total = 0.0
    for i in range(rows.size):
        total += np.float64(work.values[1, i]) - np.float64(work.values[0, i])
    return total


@njit(**ENGINE)
def _evaluations(reader, prior, theta, theta_new, rows):
    """Two gradients of the first half of the rows, and the terms of the other half at both points."""
    problem, work = reader.questions.source
    total, none, batch = 0.0, reader.matrices[0, :0, :0], rows.size // 2
    factor = problem.X.shape[0] / batch
    for point in (theta, theta_new):
        batch_gradient(
            problem, work, reader.room, reader.slopes, rows[:batch], prior, point, factor, reader.vectors[0], none
        )
        total += reader.vectors[0, 0]
    fold(problem, theta, work.weights_pair[0], work.intercepts[0], np.int64(0), work.extras[0])
    fold(problem, theta_new, work.weights_pair[1], work.intercepts[1], np.int64(0), work.extras[1])
    for place in range(batch, rows.size, BLOCK):
        stop = min(place + BLOCK, rows.size)
        total += _terms(problem, work, rows[place:stop], rows[min(place + ROWS_AHEAD, rows.size) : stop + ROWS_AHEAD])
    return total


@njit(**ENGINE)
def rows_alone(reader, prior, theta, theta_new, order, n_steps):
    """Steps whose row numbers are known beforehand: order (n_steps, rows)."""
    total = 0.0
    for step in range(n_steps):
        total += _evaluations(reader, prior, theta, theta_new, order[step])
    return total


@njit(**ENGINE)
def rows_drawn(reader, prior, theta, theta_new, rows, n_steps):
    """The same with row numbers drawn as the engine draws them, into rows (2 batch,)."""
    problem, work = reader.questions.source
    total = 0.0
    for step in range(n_steps):
        key = np.uint64(step) * np.uint64(0x9E3779B97F4A7C15)
        draw_batch(work, problem.X.shape[0], key, rows)
        total += _evaluations(reader, prior, theta, theta_new, rows)
    return total


def run(size: str = "full") -> dict[str, Any]:
    """The one-dimensional problem of experiments/sgld_l1.py, and logistic regression in cache and out of it."""
    report = Report("langevin", size)
    rounds, n_steps = {"full": (25, 1000), "quick": (15, 500)}.get(size, (2, 20))
    with single_thread():
        _against_rows(report, _line(), 5e-6, rounds, n_steps)
        for n_rows, width in ((3_000, 20),) if size == "tiny" else ((12_214, 50), (1_000_000, 50)):
            _against_rows(report, logistic_problem(n_rows, width), None, rounds, n_steps)
    return report.as_dict()


def _line() -> Problem:
    """L1 regression in one dimension."""
    random = np.random.default_rng(0)
    x = random.uniform(-1.0, 1.0, (10_000, 1))
    y = 0.5 * x[:, 0] + random.normal(0.0, PRECISION**-0.5, 10_000)
    model = au.models.Linear(prior=au.priors.Laplace(0.0, 1.0 / PENALTY), sigma=PRECISION**-0.5)
    rows = au.rows.open(x, y, centre_response=True)
    return Problem(model.bind(rows, False, False), np.array([0.005]))


def _stepper(made: Problem, step: float | None, corrected: bool, n_steps: int) -> Call:
    """n_steps of a chain by itself; times are a step's."""
    move = Langevin(step, BATCH, None if step else "full", corrected)
    one = made.d == 1
    model = au.models.Linear(prior=au.priors.Laplace(0.0, 1.0 / PENALTY), sigma=PRECISION**-0.5) if one else None
    given = {
        "acceptance": SequentialT(0.5, BATCH) if corrected else "auto",
        "proposal": move,
        "start": made.truth if one else "mode",
        "draws": n_steps,
        "warmup": 0,
        "chains": 1,
        "cores": 1,
        "progress": False,
    }
    logistic = au.models.Logistic(prior=au.priors.Normal(0, 1))
    run = begin(model=model or logistic, X=made.target.rows, y=None, **default_settings(given))[0].run
    assert run.reading is not None
    reader, movers = run.reading[0](), run.reading[1]
    draws, statistics = np.zeros((n_steps, made.d)), np.zeros((n_steps, run.statistics.shape[2]))

    def call() -> float:
        advance_reading(reader, movers, run.plan, run.chains, 0, n_steps, draws, statistics)
        return float(n_steps)

    return call


def _row_calls(made: Problem, n_steps: int) -> dict[str, Call]:
    """The evaluations of n_steps, with row numbers known and with them drawn."""
    reader = new_reader(made.target, SequentialT(0.5, BATCH), [Langevin(1.0, BATCH)])
    generator, prior = np.random.default_rng(9), made.target.prior
    order = generator.integers(0, made.n, (n_steps, 2 * BATCH))
    theta, rows = np.asarray(made.truth, dtype=np.float64), np.zeros(2 * BATCH, np.int64)
    theta_new = theta + generator.normal(0.0, made.n**-0.5, made.d)

    def known() -> float:
        rows_alone(reader, prior, theta, theta_new, order, n_steps)
        return float(n_steps)

    def drawn() -> float:
        rows_drawn(reader, prior, theta, theta_new, rows, n_steps)
        return float(n_steps)

    return {"known": known, "drawn": drawn}


def _against_rows(report: Report, made: Problem, step: float | None, rounds: int, n_steps: int) -> None:
    calls = {
        "corrected": _stepper(made, step, True, n_steps),
        "uncorrected": _stepper(made, step, False, n_steps),
        **_row_calls(made, n_steps),
    }
    seconds = interleaved(calls, rounds)
    us = {name: shown(best(times) * 1e6) for name, times in seconds.items()}
    what = f"corrected Langevin step of {BATCH} and {BATCH} rows, {made.words}"
    for name, words in (("drawn", "numbers drawn"), ("known", "numbers known beforehand")):
        value, spread = ratio(seconds["corrected"], seconds[name])
        note = f"a step {us['corrected']} us, its rows {us[name]}"
        report.add(Figure(f"{what}, {words}", value, "x the evaluations of its rows", EVALUATIONS, spread, note))
    value, spread = ratio(seconds["corrected"], seconds["uncorrected"])
    note = f"uncorrected {us['uncorrected']} us"
    report.add(Figure(f"{what}, beside the uncorrected one", value, "x its time", None, spread, note))

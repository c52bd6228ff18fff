"""(f) What a step costs beyond its rows, and what a process costs before its first draw.

The bare step is one whose decision ends at its first look (epsilon 0.5): proposal, row order, prior, test and record,
less gathering the same number of rows and evaluating their terms. Starts are measured in processes of their own, with
an empty directory for compiled code (cold), and with the one that the first process filled (warm).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import Call, Figure, Report, best, interleaved, shown, single_thread
from draws import pair_of_points
from numba import njit
from problems import Problem, logistic_problem, ready_run, stepper

import austerity
from austerity.decisions import SequentialT
from austerity.engine.jit import ENGINE, ROWS_AHEAD
from austerity.engine.problem import ACTIVE, BLOCK, Source, Work, new_work
from austerity.rows.draws import _gather_predictors, open_draw, read_block
from austerity.standin.mode import find_mode

BEYOND, IMPORT, WARM, COLD = 2.0, 0.5, 1.0, 10.0
BATCH = 500
IMPORTING = "import time; began = time.perf_counter(); import austerity; print(time.perf_counter() - began)"


# No cache on disk: Numba's cache does not see edits in the functions that a cached one calls.
@njit(**ENGINE)
def rows_alone(problem, work, order, batch, n_steps):
    """Gather and evaluate rows whose numbers are known: `batch` a step, in blocks, prefetched afresh at each step."""
    X, y, offset, row_weights = problem.X, problem.y, problem.offset, problem.weights
    total = 0.0
    for step in range(n_steps):
        place, end = step * batch, (step + 1) * batch
        while place < end:
            stop = min(place + BLOCK, end)
            rows, ahead = order[place:stop], order[min(place + ROWS_AHEAD, end) : min(stop + ROWS_AHEAD, end)]
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
            for i in range(stop - place):
                total += np.float64(work.values[1, i]) - np.float64(work.values[0, i])
            place = stop
    return total


@njit(**ENGINE)
def rows_with_order(source, theta, theta_new, indices, batch, n_steps):
    """The same rows as the engine hands them out: row order included."""
    total = 0.0
    for step in range(n_steps):
        open_draw(source, theta, theta_new, indices, indices, np.uint64(step) * np.uint64(0x9E3779B97F4A7C15), 0)
        place = 0
        while place < batch:
            size = min(BLOCK, batch - place)
            read_block(source, size)
            total += source.work.terms[0]
            place += size
    return total


def run(size: str = "full") -> dict[str, Any]:
    """Bare steps in and out of cache, then imports and first draws."""
    report = Report("steps", size)
    rounds = {"full": 25, "quick": 9}.get(size, 2)
    with single_thread():
        for n_rows in (5_000,) if size == "tiny" else (5_000, 1_000_000):
            for width in (20, 50):
                _bare_step(report, logistic_problem(n_rows, width), rounds)
    _importing(report, {"full": 7, "quick": 3}.get(size, 1))
    pairs = [(model, rule) for model in ("builtin", "user") for rule in ("sequential", "exact")]
    for model, rule in pairs[:1] if size == "tiny" else pairs:
        _first_draws(report, model, rule, {"full": 5, "quick": 2}.get(size, 1), from_nothing=size != "tiny")
    return report.as_dict()


def _bare_step(report: Report, made: Problem, rounds: int) -> None:
    n_steps = 400
    calls = _step_calls(made, n_steps)
    seconds = interleaved(calls, rounds)
    beyond = (best(seconds["step"]) - best(seconds["rows"])) * 1e6
    low, high = np.quantile(seconds["step"] - seconds["rows"], (0.25, 0.75)) * 1e6
    order = (best(seconds["order"]) - best(seconds["rows"])) * 1e6
    note = (
        f"a step of {BATCH} rows takes {shown(best(seconds['step']) * 1e6)} us, its rows "
        f"{shown(best(seconds['rows']) * 1e6)}, drawing their order {shown(order)}, all else {shown(beyond - order)}"
    )
    what = f"bare step beyond gathering its rows and their terms, {made.words}"
    report.add(Figure(what, float(beyond), "us", BEYOND, (float(low), float(high)), note))


def _step_calls(made: Problem, n_steps: int) -> dict[str, Call]:
    """Whole steps, the same number of rows alone, and those rows with their order; times are a step's."""
    mode = find_mode(made.target)
    take, _ = stepper(ready_run(made, SequentialT(0.5, BATCH), mode, draws=1000), n_steps)
    work: Work = pair_of_points(made)
    source = Source(made.problem, new_work(made.problem, made.d, 0))
    generator, indices = np.random.default_rng(9), np.zeros(0, np.int64)
    order = np.concatenate([generator.choice(made.n, BATCH, replace=False) for _ in range(n_steps)])
    theta_new = mode.theta + 0.5 * mode.root @ generator.standard_normal(made.d)

    def counted(work_done: Any) -> Call:
        def call() -> float:
            work_done()
            return float(n_steps)

        return call

    return {
        "step": counted(take),
        "rows": counted(lambda: rows_alone(made.problem, work, order, BATCH, n_steps)),
        "order": counted(lambda: rows_with_order(source, mode.theta, theta_new, indices, BATCH, n_steps)),
    }


def _child(arguments: list[str], cache: str | None = None) -> float:
    """The number that a fresh process prints; austerity is found where this process found it."""
    path = str(Path(austerity.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    ended = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with code {ended.returncode}: {ended.stderr[-500:]}")
    return float(ended.stdout.split()[-1])


def _importing(report: Report, rounds: int) -> None:
    _child(["-c", IMPORTING])
    seconds = np.array([_child(["-c", IMPORTING]) for _ in range(rounds)])
    low, high = np.quantile(seconds, (0.25, 0.75))
    report.add(Figure("import austerity", best(seconds), "s", IMPORT, (float(low), float(high))))


def _first_draws(report: Report, model: str, rule: str, rounds: int, from_nothing: bool) -> None:
    """Cold and warm starts in a cache of their own; warm ones in the usual cache where compiling takes too long."""
    script = str(Path(__file__).with_name("first_draw.py"))
    words = f"{'built-in' if model == 'builtin' else 'user'} model, {rule}, 2,000 x 5"
    with tempfile.TemporaryDirectory() as folder:
        cache = folder if from_nothing else None
        cold = _child([script, "draw", model, rule], cache)
        warm = np.array([_child([script, "draw", model, rule], cache) for _ in range(rounds)])
        compiled = _child([script, "count", model, rule], cache)
    low, high = np.quantile(warm, (0.25, 0.75))
    if from_nothing:
        report.add(Figure(f"first draw, cold, {words}", cold, "s", COLD))
    report.add(Figure(f"first draw, warm, {words}", best(warm), "s", WARM, (float(low), float(high))))
    report.add(Figure(f"functions compiled in a second process, {words}", compiled, "functions", 0.0))

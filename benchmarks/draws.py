"""(b) The sequential test's time a row, whole decision included, against the same terms over contiguous rows.

Everything a step does is in the numerator: proposal, row order, prefetch, dots, terms, looks. The denominator is two
dots and the kernel over rows as they lie in memory. Beside it stands what this machine's memory allows: single rows in
random order, their numbers known beforehand, prefetched and added up, and nothing else.
"""

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common import Call, Figure, Report, best, fastest, interleaved, ratio, shown, single_thread, unavailable
from machine import readers
from numba import njit
from problems import Problem, logistic_problem, ready_run, stepper

from austerity.decisions import SequentialT
from austerity.engine.jit import DOTS, ENGINE, prefetch
from austerity.engine.problem import BLOCK, Work, fold, new_work
from austerity.standin.mode import find_mode

LIMIT = 2.2
EPSILONS = (0.01, 0.05, 0.1, 0.2)
# The machine's limit is the fastest of these: rows between a prefetch and its use, and cache lines asked for behind a
# row (a processor that sees lines read in order fetches the following ones by itself, and then they are in the way).
DISTANCES, BEHIND = (16, 32), (0, 1, 2, 4)
PROTOTYPES = "AUSTERITY_PROTOTYPES"  # environment variable: the folder of the prototype scripts


# No cache on disk: Numba's cache does not see edits in the functions that a cached one calls.
@njit(**DOTS)
def _dots_of_block(X, y, first, weights, weights_new, eta, eta_new, response):
    """Two dots a row of a block, and its responses."""
    for i in range(response.size):
        one, other = X.dtype.type(0), X.dtype.type(0)
        for j in range(X.shape[1]):
            one += X[first + i, j] * weights[j]
            other += X[first + i, j] * weights_new[j]
        eta[i], eta_new[i], response[i] = one, other, y[first + i]


@njit(**DOTS)
def _difference_sums(values):
    """Sum and sum of squares of values[1] - values[0] in float64."""
    total, squares = 0.0, 0.0
    for i in range(values.shape[1]):
        term = np.float64(values[1, i]) - np.float64(values[0, i])
        total += term
        squares += term * term
    return total, squares


@njit(**ENGINE)
def contiguous_terms(problem, work, first, last):
    """Sum and sum of squares of the differences of rows first..last-1, block by block."""
    X, y, weights, eta, response, values = (
        problem.X,
        problem.y,
        work.weights_pair,
        work.eta,
        work.response,
        work.values,
    )
    total, squares = 0.0, 0.0
    for start in range(first, last - BLOCK + 1, BLOCK):
        _dots_of_block(X, y, start, weights[0, 0], weights[1, 0], eta[0, 0], eta[1, 0], response)
        problem.kernel(eta[0], response, work.extras[0], values[0])
        problem.kernel(eta[1], response, work.extras[1], values[1])
        more, more_squares = _difference_sums(values)
        total, squares = total + more, squares + more_squares
    return total, squares


@njit(**DOTS)
def gathered(X, y, order, ahead, lines):
    """Sum of all values of these rows, `lines` cache lines of each asked for `ahead` rows before its turn."""
    total, step = X.dtype.type(0), 64 // X.itemsize
    for i in range(order.size):
        if i + ahead < order.size:
            place = order[i + ahead] * X.shape[1]
            for line in range(lines):
                prefetch(X, place + line * step)
            prefetch(y, order[i + ahead])
        for j in range(X.shape[1]):
            total += X[order[i], j]
        total += y[order[i]]
    return total


def run(size: str = "full") -> dict[str, Any]:
    """The four figures, the machine's limit and, where it is at hand, the prototype's own figure."""
    report = Report("draws", size)
    n_rows = {"full": 1_000_000, "quick": 1_000_000}.get(size, 20_000)
    rounds = {"full": 11, "quick": 4}.get(size, 2)
    with single_thread():
        made = logistic_problem(n_rows, 50)
        seconds = interleaved(_calls(made, size), rounds)
    _engine_figures(report, made, seconds)
    _machine_figures(report, made, seconds)
    _prototype_figure(report, size)
    return report.as_dict()


def pair_of_points(made: Problem) -> Work:
    """Scratch space for a draw at two points a typical proposal apart."""
    work = new_work(made.problem, made.d, 0)
    generator = np.random.default_rng(2)
    for k in range(2):
        point = made.truth + generator.normal(0.0, 2.0 / np.sqrt(made.n), made.d)
        fold(made.problem, point, work.weights_pair[k], work.intercepts[k], 0, work.extras[k])
    return work


def _calls(made: Problem, size: str) -> dict[str, Call]:
    """Each returns the rows it has read, so that times are a row's."""
    mode = find_mode(made.target)
    steps = {0.01: 4, 0.05: 12, 0.1: 40, 0.2: 400} if size != "tiny" else {0.01: 1, 0.05: 2, 0.1: 4, 0.2: 60}
    calls: dict[str, Call] = {}
    for epsilon in EPSILONS:
        run = ready_run(made, SequentialT(epsilon, 500), mode, draws=1000)
        calls[f"{epsilon}"] = stepper(run, steps[epsilon])[0]
    calls |= _limits(made)
    for name, loop in readers([made.problem.X, made.problem.y]).items():
        calls[name] = _counted(loop, made.n)
    return calls


def _limits(made: Problem) -> dict[str, Call]:
    """The same terms over contiguous rows, and rows gathered in random order with nothing else."""
    work, generator, some = pair_of_points(made), np.random.default_rng(3), min(made.n, 250_000)
    X, y = made.problem.X, made.problem.y

    def contiguous() -> None:
        first = int(generator.integers(0, made.n - some + 1))
        contiguous_terms(made.problem, work, first, first + some)

    def random_rows(ahead: int, behind: int) -> Call:
        order = generator.permutation(made.n)[:some]
        lines = -(-made.d * X.itemsize // 64) + behind
        return _counted(lambda: gathered(X, y, order, ahead, lines), some)

    calls = {"contiguous": _counted(contiguous, some // BLOCK * BLOCK)}
    for ahead, behind in product(DISTANCES, BEHIND):
        calls[f"gather {ahead} rows ahead and {behind} lines behind"] = random_rows(ahead, behind)
    return calls


def _counted(loop: Any, units: int) -> Call:
    def call() -> float:
        loop()
        return float(units)

    return call


def _nanoseconds(seconds: np.ndarray) -> str:
    return shown(best(seconds) * 1e9)


def _engine_figures(report: Report, made: Problem, seconds: dict[str, np.ndarray]) -> None:
    contiguous = seconds["contiguous"]
    for epsilon in EPSILONS:
        value, spread = ratio(seconds[f"{epsilon}"], contiguous)
        report.add(
            Figure(
                f"SequentialT({epsilon}, 500), {made.words}, time a row",
                value,
                "x the same terms over contiguous rows",
                LIMIT,
                spread,
                f"{_nanoseconds(seconds[f'{epsilon}'])} ns a row, contiguous {_nanoseconds(contiguous)}",
            )
        )


def _machine_figures(report: Report, made: Problem, seconds: dict[str, np.ndarray]) -> None:
    """What no engine that reads single rows in random order can go below on this machine."""
    gather = fastest({name: values for name, values in seconds.items() if name.startswith("gather")})
    reading = fastest({name: values for name, values in seconds.items() if name.startswith("read")})
    note = f"{_nanoseconds(seconds[gather])} ns a row, asked for {gather.removeprefix('gather ')}"
    for below, of in (
        (reading, "x reading the same bytes in order"),
        ("contiguous", "x the terms over contiguous rows"),
    ):
        value, spread = ratio(seconds[gather], seconds[below])
        what = f"machine's limit, random rows prefetched and added up, {made.words}"
        if below == "contiguous":
            what += ", against terms"
        report.add(Figure(what, value, of, None, spread, note))


def _prototype_figure(report: Report, size: str) -> None:
    """The prototype's own ratio, measured now, where its folder is known."""
    what = "prototype single_rows.py, keyed order, 32 ahead, 10^6 x 50 float32, time a row"
    folder = os.environ.get(PROTOTYPES)
    if not folder or size == "tiny":
        report.add(unavailable(what, f"not measured: {PROTOTYPES} names no folder" if not folder else "not measured"))
        return
    script = Path(folder) / "single_rows.py"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False)
    found = dict(re.findall(r"n 4096 (\w+ ahead \d+): ([\d.]+) ns", ended.stdout))
    if "Feistel ahead 32" not in found or "contiguous ahead 0" not in found:
        report.add(unavailable(what, f"not measured: {script.name} printed no figures"))
        return
    drawn, contiguous = float(found["Feistel ahead 32"]), float(found["contiguous ahead 0"])
    note = f"{shown(drawn)} ns a row, contiguous {shown(contiguous)}"
    report.add(Figure(what, drawn / contiguous, "x its own contiguous form", None, None, note))

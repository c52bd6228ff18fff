"""(c) What a second core brings, and what sixteen exact chains cost when they share their passes.

Sequential chains have a thread each; an exact pass shares its rows between threads; chains in lockstep share a pass.
Runs are timed as a user has them: threads, pieces, recording and the store included, set-up not.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from common import Call, Figure, Report, best, fastest, interleaved, ratio, shown, single_thread
from machine import cores, readers
from numba import njit
from problems import Problem, go_on, logistic_problem, ready_run

from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import ENGINE
from austerity.engine.run import Run
from austerity.engine.state import ROWS
from austerity.rows.passes import sums
from austerity.standin.mode import Mode, find_mode

CHAINS, PASS, LOCKSTEP = 1.25, 0.6, 2.5
MANY = 16


def run(size: str = "full") -> dict[str, Any]:
    """All figures at two widths."""
    report = Report("cores", size)
    n_rows = 5_000 if size == "tiny" else 1_000_000
    rounds = {"full": 9, "quick": 3}.get(size, 2)
    if cores() < 2:
        report.say("this process may use one core only: the figures on two cores mean nothing here")
    with single_thread():
        _arithmetic(report, rounds)
        for width in (50, 10):
            made = logistic_problem(n_rows, width)
            mode = find_mode(made.target)
            _two_chains(report, made, mode, size, rounds)
            _one_pass(report, made, mode, rounds)
            _lockstep(report, made, mode, size, rounds)
    return report.as_dict()


@njit(**ENGINE)
def _busy(count):
    """Arithmetic that no compiler can leave out and that touches no memory."""
    value = 0.5
    for _ in range(count):
        value = 3.7 * value * (1.0 - value)
    return value


def _arithmetic(report: Report, rounds: int) -> None:
    """Half the time on two cores, unless others use them: then no figure on two cores means anything."""
    count = 5_000_000

    with ThreadPoolExecutor(1) as pool:

        def both() -> None:
            other = pool.submit(_busy, count // 2)
            _busy(count // 2)
            other.result()

        seconds = interleaved({"1": lambda: _busy(count) and None, "2": both}, 3 * rounds)
    value, spread = ratio(seconds["2"], seconds["1"])
    what = "machine's limit, plain arithmetic on two cores"
    report.add(Figure(what, value, "x the time on one", None, spread, "0.5 where both cores are free"))


def _steps(run: Run, n_steps: int, by_row: bool) -> Call:
    """n_steps more of every chain; times are a row's and chain's, or a step's."""

    def call() -> float:
        before = run.counts.copy()
        go_on(run, n_steps)
        if not by_row:
            return float(n_steps)
        rows = [run.store.draws()[1][c, before[c] :, ROWS].sum() for c in range(before.size)]
        return float(np.mean(rows))

    return call


def _two_chains(report: Report, made: Problem, mode: Mode, size: str, rounds: int) -> None:
    """Times are divided by the rows a chain read, since chains do not read equally many."""
    for epsilon, n_steps in ((0.5, 8_000), (0.05, 160)):
        n_steps = {"full": n_steps, "quick": n_steps // 2}.get(size, 40)
        calls = {
            f"{chains}": _steps(
                ready_run(made, SequentialT(epsilon, 500), mode, chains=chains, cores=chains, draws=200_000),
                n_steps,
                True,
            )
            for chains in (1, 2)
        }
        seconds = interleaved(calls, rounds)
        value, spread = ratio(seconds["2"], seconds["1"])
        what = f"two chains of SequentialT({epsilon}, 500) on two cores, {made.words}"
        note = f"{shown(best(seconds['1']) * 1e9)} ns a row alone"
        report.add(Figure(what, value, "x the time of one on one", CHAINS, spread, note))


def _one_pass(report: Report, made: Problem, mode: Mode, rounds: int) -> None:
    """A pass as Exact runs it here (terms in float64 where it finds them necessary), and reading alone."""
    problem = ready_run(made, Exact(), mode, draws=10).target.problem
    generator = np.random.default_rng(4)
    with ThreadPoolExecutor(2) as pool:
        for count in (1, MANY):
            points = mode.theta + generator.standard_normal((count, made.d)) @ mode.root.T
            calls: dict[str, Call] = {
                "1": lambda points=points: sums(problem, points, None, pool, 1) and None,
                "2": lambda points=points: sums(problem, points, None, pool, 2) and None,
            }
            seconds = interleaved(calls, 2 * rounds)
            value, spread = ratio(seconds["2"], seconds["1"])
            words = "1 point" if count == 1 else f"{count} points"
            what = f"exact pass of {words} on two cores, {made.words}"
            note = f"{shown(best(seconds['1']) * 1e3)} ms on one"
            report.add(Figure(what, value, "x the time on one", PASS, spread, note))
        _reading(report, made, pool, rounds)


def _reading(report: Report, made: Problem, pool: ThreadPoolExecutor, rounds: int) -> None:
    """The same for the loop that merely reads the bytes: what memory gives two cores."""
    half = made.n // 2
    whole, first, second = (readers([part]) for part in (made.problem.X, made.problem.X[:half], made.problem.X[half:]))
    name = fastest(interleaved(whole, 3))

    def both() -> None:
        other = pool.submit(second[name])
        first[name]()
        other.result()

    seconds = interleaved({"1": whole[name], "2": both}, 2 * rounds)
    value, spread = ratio(seconds["2"], seconds["1"])
    report.add(Figure(f"machine's limit, reading on two cores, {made.words}", value, "x the time on one", None, spread))


def _lockstep(report: Report, made: Problem, mode: Mode, size: str, rounds: int) -> None:
    n_steps = {"full": 12, "quick": 6}.get(size, 4)
    for threads in (1, 2):
        calls = {
            f"{chains}": _steps(
                ready_run(made, Exact(), mode, chains=chains, cores=threads, draws=2_000), n_steps, False
            )
            for chains in (1, MANY)
        }
        seconds = interleaved(calls, rounds)
        value, spread = ratio(seconds[f"{MANY}"], seconds["1"])
        on = "one core" if threads == 1 else "two cores"
        what = f"{MANY} exact chains in lockstep on {on}, {made.words}"
        note = f"{shown(best(seconds['1']) * 1e3)} ms a step of one chain"
        report.add(Figure(what, value, "x the time of one chain", LOCKSTEP, spread, note))

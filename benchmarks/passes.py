"""(a) A pass over all rows, against merely reading their bytes and against the bare matrix product.

One point is limited by memory, 256 points by arithmetic; the limits are the fastest compiled loop that adds up the
same bytes, and sgemm over blocks of rows into an array that is already there, in one thread.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from common import Call, Figure, Report, fastest, interleaved, ratio, shown, single_thread
from machine import readers
from problems import Problem, in_float64, logistic_problem

from austerity.rows.blocks import BLOCK_ROWS
from austerity.rows.passes import new_room, slab_count, slab_sums

READING, PRODUCT = 1.5, 1.6


def run(size: str = "full") -> dict[str, Any]:
    """Both figures, with terms in float32 and in float64."""
    report = Report("passes", size)
    n_rows = 5_000 if size == "tiny" else 1_000_000
    rounds = {"full": 15, "quick": 7}.get(size, 2)
    with single_thread():
        made = logistic_problem(n_rows, 50)
        _against_reading(report, made, rounds)
        _against_product(report, made, 256 if size != "tiny" else 16, max(2, rounds // 2))
    return report.as_dict()


def _one_pass(problem: Any, points: np.ndarray) -> Call:
    """A pass in this thread, its scratch space made beforehand."""
    room, parts = new_room(problem, points.shape[0]), np.empty((slab_count(problem.X.shape[0]), points.shape[0]))

    def call() -> None:
        slab_sums(problem, room, points, 0, parts.shape[0], parts)

    return call


def _points(made: Problem, count: int) -> np.ndarray:
    """Points a typical proposal apart."""
    generator = np.random.default_rng(1)
    return made.truth + generator.normal(0.0, 2.0 / np.sqrt(made.n), (count, made.d))


def _against_reading(report: Report, made: Problem, rounds: int) -> None:
    points = _points(made, 1)
    loops = readers([made.problem.X, made.problem.y])
    calls: dict[str, Call] = {
        "float32": _one_pass(in_float64(made.problem, False), points),
        "float64": _one_pass(in_float64(made.problem, True), points),
        **loops,
    }
    seconds = interleaved(calls, rounds)
    reading = fastest({name: seconds[name] for name in loops})
    for terms in ("float32", "float64"):
        value, spread = ratio(seconds[terms], seconds[reading])
        report.add(
            Figure(
                f"pass, 1 point, {made.words}, terms in {terms}",
                value,
                "x the time of reading the bytes",
                READING if terms == "float32" else None,
                spread,
                f"{shown(np.min(seconds[terms]) / made.n * 1e9)} ns a row, "
                f"reading {shown(np.min(seconds[reading]) / made.n * 1e9)}",
            )
        )


def _products(X: np.ndarray, weights: np.ndarray) -> dict[str, Callable[[], None]]:
    """Bare sgemm over blocks of rows, in the two layouts that an array of rows allows."""
    n_points = weights.shape[0]
    rows_first, points_first = (
        np.empty((BLOCK_ROWS, n_points), X.dtype),
        np.empty((n_points, BLOCK_ROWS), X.dtype),
    )
    across = np.ascontiguousarray(weights.T)
    blocks = [X[first : first + BLOCK_ROWS] for first in range(0, X.shape[0] - BLOCK_ROWS + 1, BLOCK_ROWS)]

    def by_rows() -> None:
        for block in blocks:
            np.dot(block, across, out=rows_first)

    def by_points() -> None:
        for block in blocks:
            np.dot(weights, block.T, out=points_first)

    return {"sgemm, rows first": by_rows, "sgemm, points first": by_points}


def _against_product(report: Report, made: Problem, count: int, rounds: int) -> None:
    points = _points(made, count)
    products = _products(made.problem.X, points.astype(np.float32))
    calls: dict[str, Call] = {
        "float32": _one_pass(in_float64(made.problem, False), points),
        "float64": _one_pass(in_float64(made.problem, True), points),
        **products,
    }
    seconds = interleaved(calls, rounds)
    product = fastest({name: seconds[name] for name in products})
    each = made.n * count / 1e9
    for terms in ("float32", "float64"):
        value, spread = ratio(seconds[terms], seconds[product])
        report.add(
            Figure(
                f"pass, {count} points, {made.words}, terms in {terms}",
                value,
                "x the bare sgemm",
                PRODUCT if terms == "float32" else None,
                spread,
                f"{shown(np.min(seconds[terms]) / each)} ns a row and point, {product} "
                f"{shown(np.min(seconds[product]) / each)}",
            )
        )

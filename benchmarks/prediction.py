"""(g) Prediction for many rows from many draws, against the bare matrix product.

The limit is sgemm over blocks of 512 rows into an array that is already there: all draws at once, or as many at a time
as its result stays in cache with, whichever is faster; in one thread, and in two where both sides take two. Prediction
is what `predict` does between opening its rows and handing over their means: product, inverse link, mean over draws.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from common import Call, Figure, Report, fastest, interleaved, power, ratio, shown, single_thread
from machine import cores

import austerity as au
from austerity.report.fitted import fitted
from austerity.report.means import FamilyMeans

PRODUCT = 1.6
BLOCK = 512
COLUMNS = 50


def run(size: str = "full") -> dict[str, Any]:
    """Means and classes of a logistic regression, then the whole call, checks included."""
    report = Report("prediction", size)
    n_rows, n_draws = {"full": (1_000_000, 1000), "quick": (200_000, 1000)}.get(size, (3_000, 40))
    rounds = {"full": 4, "quick": 5}.get(size, 2)
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_rows, COLUMNS), dtype=np.float32)
    post = _posterior(X, n_draws)
    words = f"{power(n_rows)} rows x {n_draws:,} draws, d = {COLUMNS}"
    with single_thread():
        _means(report, post, X, words, 1, rounds)
        if cores() > 1:
            _means(report, post, X, words, 2, rounds)
    return report.as_dict()


def _posterior(X: np.ndarray, n_draws: int) -> Any:
    """Draws from a quick run on some of the rows."""
    y = np.random.default_rng(1).random(2000) < 1 / (1 + np.exp(-X[:2000] @ np.linspace(-0.3, 0.3, COLUMNS)))
    settings = {
        "draws": n_draws // 4,
        "warmup": 100,
        "chains": 4,
        "progress": False,
        "acceptance": au.decisions.Exact(),
    }
    return au.sample(au.models.Logistic(prior=au.priors.Normal(0, 1)), X[:2000], y, **settings)


def _means(report: Report, post: Any, X: np.ndarray, words: str, threads: int, rounds: int) -> None:
    """The ratio for as many threads on both sides."""
    options = {"offset": None, "columns": None, "names": None, "dtype": "float32"}
    means = FamilyMeans(fitted(post, None), X, "mean", options, threads)
    totals = np.empty((1, len(X)))
    products = _products(X, means.model.slopes[:, 0].astype(np.float32), threads)

    def whole() -> None:
        au.predict(post, X, cores=threads)

    calls: dict[str, Call] = {
        "means": lambda: means.sum_into(totals),
        "whole": whole,
        **products,
    }
    seconds = interleaved(calls, rounds)
    product = fastest({name: seconds[name] for name in products})
    each = len(X) * means.n_draws / 1e9
    where = "one thread" if threads == 1 else f"{threads} threads"
    for name, what in (("means", "posterior means"), ("whole", "au.predict, everything included")):
        value, spread = ratio(seconds[name], seconds[product])
        ours, theirs = (shown(np.min(seconds[key]) / each) for key in (name, product))
        note = f"{ours} ns a row and draw, {product} {theirs}"
        report.add(Figure(f"{what}, {words}, {where}", value, "x the bare sgemm", PRODUCT, spread, note))


def _products(X: np.ndarray, weights: np.ndarray, threads: int) -> dict[str, Callable[[], None]]:
    """Bare sgemm over blocks of rows: all draws at once, or 256 at a time; each thread with a share of the rows."""
    across = np.ascontiguousarray(weights.T)
    parts = [np.ascontiguousarray(across[:, first : first + 256]) for first in range(0, across.shape[1], 256)]
    blocks = [X[first : first + BLOCK] for first in range(0, len(X) - BLOCK + 1, BLOCK)]
    edges = [len(blocks) * t // threads for t in range(threads + 1)]
    pool = ThreadPoolExecutor(threads)

    def over(weights: list[np.ndarray]) -> Callable[[], None]:
        room = [[np.empty((BLOCK, part.shape[1]), X.dtype) for part in weights] for _ in range(threads)]

        def share(t: int) -> None:
            for block in blocks[edges[t] : edges[t + 1]]:
                for part, out in zip(weights, room[t], strict=True):
                    np.dot(block, part, out=out)

        def call() -> None:
            list(pool.map(share, range(threads)))

        return call

    return {"sgemm, all draws at once": over([across]), "sgemm, 256 draws at a time": over(parts)}

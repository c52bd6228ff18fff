"""Compiled drivers and plain NumPy twins that the statistical tests of the engine share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

import austerity as au
from austerity import rows
from austerity.decisions.base import REPORT_SIZE, decision_signature
from austerity.decisions.boundaries import look_sizes
from austerity.decisions.sequential_t import SequentialT
from austerity.decisions.sequential_t import decide as sequential_t
from austerity.engine import streams
from austerity.engine.jit import engine, pointer
from austerity.engine.problem import Problem, Source, new_work
from austerity.models.target import Target
from austerity.rows.draws import open_draw, read_block
from austerity.rows.order import CHUNK, ORDER_SIZE, TAKEN, begin, ensure

FALSE_FAIL = 1e-6  # of every statistical comparison, unless its docstring says otherwise


@engine
def _hand_out(key, skip, n_rows, out, order, queue, chunk):
    """The row numbers that an order hands out, a few at a time."""
    begin(order, key, skip)
    done = 0
    while done < out.size:
        count = min(37, out.size - done, n_rows)
        ensure(order, count, n_rows, queue, chunk)
        for i in range(count):
            out[done + i] = queue[np.int64(order[TAKEN]) + i]
        order[TAKEN] += np.uint64(count)
        done += count


@engine
def _hand_out_many(keys, skip, n_rows, outs, order, queue, chunk):
    """The same for many keys (K,), outs (K, count)."""
    for k in range(keys.size):
        _hand_out(keys[k], skip, n_rows, outs[k], order, queue, chunk)


def row_orders(keys: np.ndarray, n_rows: int, count: int, skip: int = 0) -> np.ndarray:
    """The first `count` rows of the order of each key (K,); returns (K, count) int64."""
    outs = np.full((keys.size, count), -1, np.int64)
    room = np.zeros(ORDER_SIZE, np.uint64), np.zeros(512, np.int64), np.zeros(CHUNK, np.uint32)
    _hand_out_many(np.asarray(keys, np.uint64), np.int64(skip), np.int64(n_rows), outs, *room)
    return outs


def row_order(key: int, n_rows: int, count: int, skip: int = 0) -> np.ndarray:
    """The first `count` rows (count,) of the order of one key."""
    return row_orders(np.array([key], np.uint64), n_rows, count, skip)[0]


@engine
def _decide_many(
    source, pair, pair_indices, decide, log_a0, temperature, parameters, stream, row_stream, used, log_u, keys, out
):
    """Decision r at step r of both streams; out (R, REPORT_SIZE + 1) gets the report and the answer."""
    state = np.zeros(1)
    for r in range(log_a0.size):
        streams.start(stream, r)
        log_u[r] = -streams.exponential(stream)
        streams.start(stream, r)
        streams.start(row_stream, r)
        keys[r] = streams.next_bits(row_stream)
        open_draw(source, pair[0], pair[1], pair_indices[0], pair_indices[1], keys[r], used)
        report = out[r, :REPORT_SIZE]
        out[r, REPORT_SIZE] = decide(source, log_a0[r], temperature, np.nan, stream, parameters, state, report)


@engine
def _read_terms(source, pair, pair_indices, key, used, out):
    """Terms in the order of one key, in blocks as a decision reads them; returns the status."""
    open_draw(source, pair[0], pair[1], pair_indices[0], pair_indices[1], key, used)
    done = 0
    while done < out.size:
        count = min(128, out.size - done)
        status = read_block(source, count)
        if status != 0:
            return status
        for i in range(count):
            out[done + i] = source.work.terms[i]
        done += count
    return 0


def new_source(problem: Problem, size: int, n_indices: int = 0) -> Source:
    """A source of terms over a problem, with scratch of its own."""
    return Source(problem, new_work(problem, size, n_indices))


def read_terms(problem: Problem, pair: np.ndarray, key: int, used: int = 0, count: int | None = None) -> np.ndarray:
    """The terms at pair (2, D) = (theta, theta') of the first `count` rows (all by default) of the order of a key."""
    out = np.zeros(problem.X.shape[0] if count is None else count)
    source = new_source(problem, pair.shape[1])
    status = _read_terms(source, pair, np.zeros((2, 0), np.int64), np.uint64(key), np.int64(used), out)
    assert status == 0
    return out


class Decisions:
    """Many decisions of SequentialT about one pair of states: what was thrown, and what came out, all (R,)."""

    def __init__(
        self,
        problem: Problem,
        pair: np.ndarray,
        rule: SequentialT | np.ndarray,
        log_a0: np.ndarray,
        seed: int,
        temperature: float = 1.0,
        used: int = 0,
        threshold_log_u: bool = False,
    ) -> None:
        n_rows = problem.X.shape[0]
        parameters = rule if isinstance(rule, np.ndarray) else rule.parameters(n_rows)
        thrown = streams.new_streams(np.random.SeedSequence(seed), 1)[0]
        self.log_a0 = np.array(log_a0, dtype=np.float64)
        if threshold_log_u:  # log_a0 is then minus the wanted log u - log A0
            self.log_a0 += log_uniforms(thrown[streams.DECISION].copy(), self.log_a0.size)
        count = self.log_a0.size
        self.log_u, self.keys, out = np.zeros(count), np.zeros(count, np.uint64), np.zeros((count, REPORT_SIZE + 1))
        _decide_many(
            new_source(problem, pair.shape[1]),
            np.ascontiguousarray(pair, np.float64),
            np.zeros((2, 0), np.int64),
            pointer(sequential_t, decision_signature(problem)),
            self.log_a0,
            float(temperature),
            np.ascontiguousarray(parameters, np.float64),
            thrown[streams.DECISION],
            thrown[streams.ROWS],
            np.int64(used),
            self.log_u,
            self.keys,
            out,
        )
        self.n_rows, self.looks = out[:, 0].astype(np.int64), out[:, 1].astype(np.int64)
        self.exhausted, self.status, self.rate, self.accept = out[:, 2] == 1, out[:, 3], out[:, 4], out[:, 5] == 1


@engine
def _log_uniforms(stream, out):
    for r in range(out.size):
        streams.start(stream, r)
        out[r] = -streams.exponential(stream)


def log_uniforms(stream: np.ndarray, count: int) -> np.ndarray:
    """log u (count,) that a decision at steps 0, 1, 2, ... of this stream throws."""
    out = np.zeros(count)
    _log_uniforms(stream, out)
    return out


def twin_critical(epsilon: float, batch: int, n_rows: int, alpha: float = 0.5) -> np.ndarray:
    """G_j = F^-1_{n_j - 1}(Phi(Phi^-1(1 - epsilon) pi_j^(0.5 - alpha))), straight from SciPy; the last is not used."""
    sizes = look_sizes(n_rows, batch)
    if epsilon == 0.0 or epsilon >= 0.5:
        return np.full(sizes.size, np.inf if epsilon == 0.0 else -np.inf)
    normal = -special.ndtri(epsilon) * (sizes / n_rows) ** (0.5 - alpha)
    return np.asarray(stats.t.isf(stats.norm.sf(normal), sizes - 1))


def twin_decision(terms: np.ndarray, threshold_mean: float, batch: int, critical: np.ndarray) -> tuple[bool, int, int]:
    """The sequential t-test on terms in the order they are read: (accept, rows read, looks)."""
    n_rows = terms.size
    for look, count in enumerate(look_sizes(n_rows, batch)):
        part = terms[:count] - terms[0]  # about the first term: nearly equal ones keep their digits
        gap = float(part.mean()) + (terms[0] - threshold_mean)
        if count == n_rows:
            break
        error = part.std(ddof=1) / np.sqrt(count) * np.sqrt(1.0 - (count - 1.0) / (n_rows - 1.0))
        if error > 0.0 and abs(gap) / error > critical[look]:
            break
    return bool(gap > 0.0), int(count), look + 1


def given_terms() -> Target:
    """A model whose terms at (0, 1) are its responses: l(theta) = y if theta > 1/2 else 0."""

    def row(theta, x, y):
        return y if theta[0] > 0.5 else 0.0

    few = rows.open(np.zeros((4, 1)), np.arange(4.0), dtype="float64")
    target: Target = au.Model({"side": au.priors.Flat()}, row=row).bind(few, False, False)
    return target


def problem_of(target: Target, terms: np.ndarray) -> Problem:
    """The problem of `given_terms` with these terms, whatever they are."""
    terms = np.ascontiguousarray(terms, np.float64)
    problem: Problem = target.problem._replace(X=np.zeros((terms.size, 1)), y=terms)
    return problem


PAIR = np.array([[0.0], [1.0]])  # theta and theta' of `given_terms`


def linear_terms(X: np.ndarray, y: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Differences (N,) of log likelihoods of unit scale."""
    residuals = y[:, None] - X @ pair.T
    return np.asarray(0.5 * (residuals[:, 0] ** 2 - residuals[:, 1] ** 2))


def chi_square_limit(degrees: float, false_fail: float = FALSE_FAIL) -> float:
    """Upper quantile of chi-square."""
    return float(stats.chi2.isf(false_fail, degrees))


def binomial_interval(count: int, share: float, false_fail: float = FALSE_FAIL) -> tuple[int, int]:
    """Counts of `count` trials that lie within the two-sided interval."""
    return (
        int(stats.binom.ppf(false_fail / 2, count, share)),
        int(stats.binom.isf(false_fail / 2, count, share)),
    )


def dkw(count: int, false_fail: float = FALSE_FAIL) -> float:
    """Largest distance between an empirical distribution of `count` draws and the truth (Massart's constant)."""
    return float(np.sqrt(np.log(2.0 / false_fail) / (2.0 * count)))


def settings(**more: Any) -> dict[str, Any]:
    """Arguments of `sample` that every test here gives."""
    return {"progress": False, "cores": 1, "rng": 0, **more}

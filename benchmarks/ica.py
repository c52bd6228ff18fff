"""An ICA step's time a row, against a logistic regression with as many multiplications and transcendental functions.

Four components of four columns multiply 16 numbers a row and point and take four terms 2 log(2 cosh(s / 2)), each one
exponential and one logarithm. The logistic regression beside it has 16 columns, and its kernel takes four softplus a
row, again one exponential and one logarithm each: -1/4 sum_k softplus(c_k (1 - 2 y) eta). It fetches 68 bytes a row
where ICA fetches 16. Plain logistic regression of 16 columns, with one softplus a row, stands beside it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from common import Call, Figure, Report, best, interleaved, power, ratio, shown, single_thread
from problems import logistic_data, stepper

import austerity as au
from austerity.decisions import SequentialT
from austerity.engine.jit import engine
from austerity.models.kernels import logistic
from austerity.models.kernels.arithmetic import softplus
from austerity.models.orthogonal import haar
from austerity.models.target import Target
from austerity.rows.passes import new_room, slab_count, slab_sums
from austerity.sample import begin, default_settings
from austerity.standin.mode import find_mode

LIMIT = 2.0
SIZE, COLUMNS = 4, 16
EPSILON, BATCH = 0.05, 500


@engine
def four_softplus(eta, y, extras, out):
    """Four terms a row, so that transcendental functions are as many as for four components."""
    one, two, quarter = out.dtype.type(1.0), out.dtype.type(2.0), out.dtype.type(0.25)
    for i in range(out.size):
        out[i] = out.dtype.type(0.0)
    for k in range(4):
        factor = one + quarter * out.dtype.type(k)
        for i in range(out.size):
            out[i] -= quarter * softplus(factor * (one - two * y[i]) * eta[0, i])


@dataclass(frozen=True, eq=False)
class FourSoftplus(au.models.Logistic):
    """Logistic regression whose kernel takes four softplus a row; its slopes are those of one, for the mode alone."""

    def kernels(self) -> tuple[Any, Any]:
        return four_softplus, logistic.slopes


def run(size: str = "full") -> dict[str, Any]:
    """Rows drawn one by one, and passes for one point and for four."""
    report = Report("ica", size)
    n_rows = 20_000 if size == "tiny" else 1_000_000
    rounds = {"full": 11, "quick": 5}.get(size, 2)
    targets = _targets(n_rows)
    with single_thread():
        seconds = interleaved(_steps(targets, 3 if size != "tiny" else 1), rounds)
        _figures(report, f"SequentialT({EPSILON}, {BATCH}), whole step, time a row read", seconds, n_rows)
        for points in (1, 4):
            words = f"pass, {points} point{'s' if points > 1 else ''}, time a row and point"
            _figures(report, words, interleaved(_passes(targets, points), rounds), n_rows)
    return report.as_dict()


def _targets(n_rows: int) -> dict[str, Target]:
    """The three posteriors, in float32."""
    generator = np.random.default_rng(5)
    sources = generator.laplace(size=(n_rows, SIZE))
    mixed = (sources @ generator.normal(size=(SIZE, SIZE))).astype(np.float32)
    X, y, _ = logistic_data(n_rows, COLUMNS)
    rows, prior = au.rows.open(X, y), au.priors.Normal(0, 1)
    return {
        "ICA": au.models.ICA().bind(au.rows.open(mixed), False, False),
        "matched": FourSoftplus(prior=prior).bind(rows, False, False),
        "plain": au.models.Logistic(prior=prior).bind(rows, False, False),
    }


class _Bound:
    """A model that is bound already, as `begin` takes it."""

    centre_response, centre_columns = False, True

    def __init__(self, target: Target) -> None:
        self.target = target

    def bind(self, rows: Any, intercept: bool, standardize: bool) -> Target:
        return self.target


def _steps(targets: dict[str, Target], n_steps: int) -> dict[str, Call]:
    """Whole steps of one chain at its mode, each proposal about half an sd of the whole sum away."""
    calls: dict[str, Call] = {}
    for name, target in targets.items():
        mode = find_mode(target)
        scale = 1.0 / np.sqrt(target.rows.n)
        proposal = au.proposals.Stiefel(scale) if target.orthogonal else au.proposals.RandomWalk(scale)
        start = target.natural(mode.theta[None, :])[0]
        given = {"acceptance": SequentialT(EPSILON, BATCH), "proposal": proposal, "start": start, "warmup": 0}
        given |= {"chains": 1, "cores": 1, "draws": 1000, "progress": False}
        prepared, _ = begin(model=_Bound(target), X=target.rows, y=None, **default_settings(given))
        calls[name] = stepper(prepared.run, n_steps)[0]
    return calls


def _passes(targets: dict[str, Target], points: int) -> dict[str, Call]:
    """A pass in this thread, its scratch space made beforehand; times are a row's and point's."""
    calls: dict[str, Call] = {}
    generator = np.random.default_rng(6)
    for name, target in targets.items():
        if target.orthogonal:
            thetas = haar(generator, points, SIZE).reshape(points, -1)
        else:
            thetas = generator.normal(0.0, 0.5, (points, COLUMNS))
        calls[name] = _one_pass(target, thetas)
    return calls


def _one_pass(target: Target, thetas: np.ndarray) -> Call:
    problem, points = target.problem, thetas.shape[0]
    room, parts = new_room(problem, points), np.empty((slab_count(target.rows.n), points))

    def call() -> float:
        slab_sums(problem, room, thetas, 0, parts.shape[0], parts)
        return float(target.rows.n * points)

    return call


def _figures(report: Report, words: str, seconds: dict[str, np.ndarray], n_rows: int) -> None:
    each = {name: shown(best(values) * 1e9) for name, values in seconds.items()}
    of = {
        "matched": f"x logistic regression of {COLUMNS} columns with four softplus a row",
        "plain": f"x logistic regression of {COLUMNS} columns",
    }
    for below, limit in (("matched", LIMIT), ("plain", None)):
        value, spread = ratio(seconds["ICA"], seconds[below])
        what = f"ICA of {power(n_rows)} x {SIZE} float32, {words}" + ("" if limit else ", against a plain one")
        report.add(Figure(what, value, of[below], limit, spread, f"{each['ICA']} ns, against {each[below]}"))

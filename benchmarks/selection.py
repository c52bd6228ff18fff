"""(g) A reversible jump reads the columns in use alone: time a row by model size, beside the dense row.

Whole steps of SequentialT over a table of 55 columns: reversible jumps from a set of k, against the random walk that
moves all 55 coefficients. Steps reach all rows (epsilon is 0), so that a time a row is that of many rows.
"""

from typing import Any

import numpy as np
from common import Call, Figure, Report, best, interleaved, power, ratio, shown, single_thread
from problems import logistic_data, stepper

import austerity as au
from austerity.decisions import SequentialT
from austerity.proposals import RandomWalk, ReversibleJump
from austerity.sample import begin, default_settings

COLUMNS = 55
SIZES = (1, 2, 4, 8, 16, 28, 40, 55)


def run(size: str = "full") -> dict[str, Any]:
    """A figure for every model size."""
    report = Report("selection", size)
    n_rows = {"full": 1_000_000, "quick": 1_000_000}.get(size, 20_000)
    rounds = {"full": 9, "quick": 4}.get(size, 2)
    with single_thread():
        X, y, _ = logistic_data(n_rows, COLUMNS)
        rows = au.rows.open(X, y)
        seconds = interleaved(_steps(rows), rounds)
    words = f"{power(n_rows)} x {COLUMNS} float32"
    for k in SIZES:
        value, spread = ratio(seconds[f"{k}"], seconds["dense"])
        note = f"{_nanoseconds(seconds[f'{k}'])} ns a row, dense {_nanoseconds(seconds['dense'])}"
        what = f"reversible jump, {k} of {COLUMNS} columns in use, {words}, time a row"
        report.add(Figure(what, value, "x a random walk of all coefficients", None, spread, note))
    return report.as_dict()


def start_of(k: int) -> np.ndarray:
    """Coefficients (COLUMNS,) of a set of k, spread over the columns as a search over sets would leave them."""
    generator = np.random.default_rng(k)
    beta = np.zeros(COLUMNS)
    beta[generator.permutation(COLUMNS)[:k]] = generator.normal(0.0, 0.1, k)
    return beta


def _stepper(rows: Any, model: Any, proposal: Any, start: np.ndarray) -> Call:
    """Two steps that read every row; returns how many were read."""
    given = {"acceptance": SequentialT(0.0, 500), "proposal": proposal, "start": start, "warmup": 0, "chains": 1}
    given |= {"cores": 1, "progress": False, "draws": 1000}
    prepared, _ = begin(model=model, X=rows, y=None, **default_settings(given))
    return stepper(prepared.run, 2)[0]


def _steps(rows: Any) -> dict[str, Call]:
    """Tiny changes, and births of coefficients so large that none is accepted: the set stays as it is."""
    walk = RandomWalk(1e-4)
    calls = {"dense": _stepper(rows, au.models.Logistic(prior=au.priors.Normal(0, 1)), walk, start_of(COLUMNS))}
    model, jump = (
        au.models.VariableSelection(slab=au.priors.Normal(0, 1)),
        ReversibleJump(1e-4, 50.0, (1.0, 1.0, 1e-12)),
    )
    for k in SIZES:
        calls[f"{k}"] = _stepper(rows, model, jump, start_of(k))
    return calls


def _nanoseconds(seconds: np.ndarray) -> str:
    return shown(best(seconds) * 1e9)

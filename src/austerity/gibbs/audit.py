"""Many updates of one variable at one state: what a decision does against what it should.

The numbers thrown are handed back, so that every update can be compared with the exact one at the same u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..decisions.base import EXHAUSTED, LOOKS, REPORT_SIZE, ROWS_READ
from ..engine import streams
from ..engine.jit import bare
from ..engine.request import Request
from ..errors import InputError
from . import checks
from .field import Field
from .scan import decided_update, exact_update
from .source import log_weights, new_source, whole_sum


@dataclass(frozen=True)
class Updates:
    """What `updates` found, (R,) each, and the exact conditional (S,)."""

    value: NDArray[np.int64]  # the variable's new value
    u: NDArray[np.float64]  # the uniform that decided
    n_rows: NDArray[np.int64]  # factors read
    n_looks: NDArray[np.int64]
    exhausted: NDArray[np.bool_]
    probability: NDArray[np.float64]  # of each value, given the others, from all factors


def updates(model: Field, decision: Any, x: Any, variable: int, count: int = 1000, rng: int = 0) -> Updates:
    """`count` independent updates of `variable` at the state x (D,), all from x itself, by `decision`."""
    from .door import check_decision, check_model, plan_of

    check_model(model)
    check_decision(decision)
    states = checks.given_states(x, model.states, "x")
    if states.shape != (model.size,):
        raise InputError(f"x has shape {states.shape}: give one state, ({model.size},)")
    if isinstance(variable, bool) or not isinstance(variable, (int, np.integer)) or not 0 <= variable < model.size:
        raise InputError(f"variable={variable!r}: give a number from 0 to {model.size - 1}")
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError(f"count={count!r}: give a whole number of updates, at least 1")
    plan, source = plan_of(model, decision, np.zeros(5, np.int64)), new_source(model.factors)
    source.x[: model.size] = states
    thrown = streams.new_streams(_seed(rng), 1)[0]
    out = np.zeros((count, REPORT_SIZE + 2))
    _repeat(source, plan, int(variable), thrown, np.zeros(max(1, decision.state_size())), out)
    return Updates(
        value=out[:, REPORT_SIZE].astype(np.int64),
        u=out[:, REPORT_SIZE + 1],
        n_rows=out[:, ROWS_READ].astype(np.int64),
        n_looks=out[:, LOOKS].astype(np.int64),
        exhausted=out[:, EXHAUSTED] == 1,
        probability=conditional(source, int(variable)),
    )


def _seed(rng: Any) -> np.random.SeedSequence:
    """The same root of streams that a run takes."""
    unused: dict[str, Any] = {
        "draws": 1,
        "warmup": 0,
        "chains": 1,
        "thin": 1,
        "start": "prior",
        "keep": None,
        "temperature": 1.0,
    }
    unused |= {"cores": None, "time_limit": None, "store": None, "resume": False, "progress": False}
    return Request(rng=rng, **unused).seed()


def conditional(source: Any, k: int) -> NDArray[np.float64]:
    """p(x_k = s | rest) for every value s, from all factors."""
    weights = np.zeros(int(source.factors.states[k]))
    if source.factors.run_of.size:
        weights[1] = whole_sum(source.factors, source.x, k)
    else:
        log_weights(source.factors, source.x, k, weights)
    weights = np.exp(weights - weights.max())
    return np.asarray(weights / weights.sum())


@bare
def _repeat(source, plan, k, thrown, state, out):
    """Update r at step r of every stream; out (R, REPORT_SIZE + 2) gets the report, the value and u."""
    for r in range(out.shape[0]):
        for kind in range(thrown.shape[0]):
            streams.start(thrown[kind], r)
        report = out[r, :REPORT_SIZE]
        u = streams.uniform(thrown[streams.DECISION])
        if plan.places[k, 0] < 0:
            new = exact_update(source, k, u, report)
        else:
            key = streams.next_bits(thrown[streams.ROWS])
            proposal, decision = thrown[streams.PROPOSAL], thrown[streams.DECISION]
            new = decided_update(source, plan, k, u, proposal, decision, key, state, report)
        out[r, REPORT_SIZE], out[r, REPORT_SIZE + 1] = new, u

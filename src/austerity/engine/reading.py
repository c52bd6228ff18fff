"""The chain loop of runs with moves that read rows; the others run in engine/loop.py and compile none of this.

A step draws the key of its row order first, so that a move and its decision share one order. A complete move (a slice,
Langevin without correction) has decided when it returns; a proposal is then decided by the run's rule. `Exact` takes
the lockstep loop while no move is complete, else every chain makes its passes by itself.
"""

import numpy as np

from ..decisions.base import FINE, NOT_A_NUMBER, STATUS
from ..decisions.exact import judge
from ..proposals.base import BLIND, COMPLETE, ROWS_USED
from ..rows.passes import add_slabs, slab_sums
from . import streams
from .jit import bare, engine, inlined
from .loop import choose_part, finish_step, finish_steps, propose_blind, record, same_place, temperature_at, weigh
from .prior import log_prior


@inlined
def begin_reading_step(reader, movers, plan, chains, c, part, key, temperature):
    """Propose for chain c by any kind of component; returns the log ratio."""
    if movers.kinds[part] == BLIND:
        return propose_blind(plan, chains, c, part)
    places = plan.places[part]
    return movers.moves[part](
        reader,
        plan.prior,
        temperature,
        key,
        chains.theta[c],
        chains.indices[c],
        plan.moves[places[0] : places[1]],
        chains.proposal_state[c, places[2] : places[3]],
        chains.streams[c],
        chains.proposed[c],
        chains.proposed_indices[c],
        chains.move[c],
        chains.rule_state[c],
        chains.report[c],
    )


@engine
def all_finite(values):
    """A flat prior gives every place the same density, infinity and NaN too."""
    for value in values:
        if not np.isfinite(value):
            return False
    return True


@inlined
def decide_step(reader, chains, c, same, key, temperature):
    """The run's rule about what is proposed."""
    report, log_a0, stream = chains.report[c], chains.log_a0[c], chains.streams[c, streams.DECISION]
    if np.isnan(log_a0) or log_a0 == np.inf:
        report[STATUS] = NOT_A_NUMBER
    elif same:
        return judge(0.0, log_a0, temperature, stream, report)
    elif log_a0 > -np.inf:
        return reader.ask(
            reader.questions,
            log_a0,
            temperature,
            chains.theta[c],
            chains.indices[c],
            chains.proposed[c],
            chains.proposed_indices[c],
            key,
            np.int64(chains.move[c, ROWS_USED]),
            stream,
            chains.rule_state[c],
            report,
        )
    return np.int64(0)


@bare
def advance_reading(reader, movers, plan, chains, c, n_steps, draws, statistics):
    """Up to n_steps of chain c by itself; returns kept draws and a status."""
    filled, values = np.int64(0), reader.questions.values
    for _ in range(n_steps):
        temperature = temperature_at(plan, chains.step[c])
        part = choose_part(plan, chains, c)
        key = streams.next_bits(chains.streams[c, streams.ROWS])
        log_ratio = begin_reading_step(reader, movers, plan, chains, c, part, key, temperature)
        same, accept = True, np.int64(1)
        if movers.kinds[part] == COMPLETE:
            same = same_place(chains, c)
            chains.proposed_log_prior[c] = log_prior(plan.prior, chains.proposed[c])
            if not (np.isfinite(chains.proposed_log_prior[c]) and all_finite(chains.proposed[c])):
                chains.report[c, STATUS] = NOT_A_NUMBER
        else:
            same = weigh(plan, chains, c, log_ratio)
            accept = decide_step(reader, chains, c, same, key, temperature)
        if chains.report[c, STATUS] != FINE:
            return filled, np.int64(chains.report[c, STATUS])
        finish_step(plan, chains, c, accept)
        value = np.nan
        if values.size:
            if accept and not same:
                chains.rule_state[c, 0] = values[0]
            value = chains.rule_state[c, 0] / temperature + chains.log_prior[c]
        filled = record(plan, chains, c, value, draws, statistics, filled)
    return filled, FINE


@bare
def begin_reading_steps(reader, movers, plan, chains):
    """First half of a step of all chains in lockstep."""
    for c in range(chains.theta.shape[0]):
        part = choose_part(plan, chains, c)
        key = streams.next_bits(chains.streams[c, streams.ROWS])
        temperature = temperature_at(plan, chains.step[c])
        log_ratio = begin_reading_step(reader, movers, plan, chains, c, part, key, temperature)
        weigh(plan, chains, c, log_ratio)


@bare
def advance_reading_together(reader, movers, problem, room, plan, chains, n_steps, parts, values, draws, statistics):
    """n_steps of all chains in this thread; returns kept draws a chain (or the chain at fault) and a status."""
    filled, n_rows = np.int64(0), problem.X.shape[0]
    for _ in range(n_steps):
        begin_reading_steps(reader, movers, plan, chains)
        slab_sums(problem, room, chains.proposed, np.int64(0), parts.shape[0], parts)
        add_slabs(parts, values)
        filled, status = finish_steps(plan, chains, n_rows, values, draws, statistics, filled)
        if status != FINE:
            return filled, status
    return filled, FINE

"""The compiled chain loop: propose, decide, move, record.

    theta' ~ q(theta, .);   log A0 = log prior(theta') - log prior(theta) + log q ratio;   theta <- theta' if accepted

`advance` runs one chain by itself for rules that read a few rows. `begin_steps` and `finish_steps` are the two halves
of a step for all chains, for rules that read everything in one pass between them (engine/lockstep.py).
"""

import numpy as np

from ..decisions.base import EXHAUSTED as REPORT_EXHAUSTED
from ..decisions.base import FINE, NOT_A_NUMBER, RATE, ROWS_READ, STATUS
from ..decisions.base import LOOKS as REPORT_LOOKS
from ..decisions.exact import judge
from ..proposals.base import ROWS_USED, STEP_SIZE, TAG
from ..rows.terms import open_draw
from . import streams
from .jit import bare, engine, inlined
from .prior import log_prior
from .problem import copy_into
from .state import ACCEPTED, COMPONENTS, EXHAUSTED, LOOKS, MOVE, RATES, ROWS, SIZE, STEPS, THIN, WARMUP


@engine
def zero(values):
    """All values to 0."""
    for i in range(values.size):
        values[i] = 0.0


@inlined
def temperature_at(plan, step):
    """T of a step: falls geometrically from its start to its end during warm-up, then stays."""
    first, last = plan.temperature[0], plan.temperature[1]
    warmup = plan.schedule[WARMUP]
    if step >= warmup or first == last:
        return last
    return first * (last / first) ** (np.float64(step) / warmup)


@inlined
def choose_part(plan, chains, c):
    """Put the streams of chain c at the beginning of its step, clear its reports, and choose a component."""
    for kind in range(chains.streams.shape[1]):
        streams.start(chains.streams[c, kind], chains.step[c])
    stream = chains.streams[c, streams.PROPOSAL]
    part = 0
    if plan.schedule[COMPONENTS] > 1:
        u = streams.uniform(stream)
        while part + 1 < plan.schedule[COMPONENTS] and u > plan.cumulative[part]:
            part += 1
    chains.component[c] = part
    zero(chains.move[c])
    zero(chains.report[c])
    return part


@inlined
def propose_blind(plan, chains, c, part):
    """The proposal of a component that reads no rows; returns its log ratio."""
    places = plan.places[part]
    return plan.proposals[part](
        chains.theta[c],
        chains.indices[c],
        plan.moves[places[0] : places[1]],
        chains.proposal_state[c, places[2] : places[3]],
        chains.streams[c, streams.PROPOSAL],
        chains.proposed[c],
        chains.proposed_indices[c],
        chains.move[c],
    )


@inlined
def weigh(plan, chains, c, log_ratio):
    """Put log A0 of what is proposed in its place; True when the proposal is where the chain already is."""
    chains.proposed_log_prior[c] = log_prior(plan.prior, chains.proposed[c])
    chains.log_a0[c] = chains.proposed_log_prior[c] - chains.log_prior[c] + log_ratio
    return same_place(chains, c)


@inlined
def begin_step(plan, chains, c):
    """Propose for chain c and put log A0 in its place; True when the proposal is where the chain already is."""
    part = choose_part(plan, chains, c)
    return weigh(plan, chains, c, propose_blind(plan, chains, c, part))


@inlined
def same_place(chains, c):
    """theta' == theta and the same active set: the sum of differences is 0 and no row needs reading."""
    for i in range(chains.theta.shape[1]):
        if chains.theta[c, i] != chains.proposed[c, i]:
            return False
    for i in range(chains.indices.shape[1]):
        if chains.indices[c, i] != chains.proposed_indices[c, i]:
            return False
    return True


@inlined
def finish_step(plan, chains, c, accept):
    """Move or stay, let the proposal learn, and add the step to the tally."""
    if accept:
        copy_into(chains.theta[c], chains.proposed[c])
        copy_into(chains.indices[c], chains.proposed_indices[c])
        chains.log_prior[c] = chains.proposed_log_prior[c]
    report = chains.report[c]
    tally = chains.tally[c]
    tally[ACCEPTED] += accept
    tally[RATES] += report[RATE]
    tally[ROWS] += report[ROWS_READ] + chains.move[c, ROWS_USED]
    tally[LOOKS] += report[REPORT_LOOKS]
    tally[EXHAUSTED] += report[REPORT_EXHAUSTED]
    tally[STEPS] += 1
    tally[SIZE], tally[MOVE] = chains.move[c, STEP_SIZE], chains.move[c, TAG]
    chains.step[c] += 1
    done, warmup = chains.step[c], plan.schedule[WARMUP]
    places = plan.places[chains.component[c]]
    plan.adaptations[chains.component[c]](
        chains.theta[c],
        report[RATE],
        done if done <= warmup else -done,
        plan.moves[places[0] : places[1]],
        chains.proposal_state[c, places[2] : places[3]],
    )


@inlined
def record(plan, chains, c, value, draws, statistics, filled):
    """Write a kept draw of chain c, when this step is one; returns how many the buffers hold."""
    done = chains.step[c] - plan.schedule[WARMUP]
    if done == 0:
        zero(chains.tally[c])
    if done <= 0 or done % plan.schedule[THIN] != 0:
        return filled
    size = chains.theta.shape[1]
    for i in range(size):
        draws[filled, i] = chains.theta[c, i]
    for i in range(chains.indices.shape[1]):
        draws[filled, size + i] = chains.indices[c, i]
    tally = chains.tally[c]
    statistics[filled, ACCEPTED], statistics[filled, ROWS] = tally[ACCEPTED], tally[ROWS]
    statistics[filled, LOOKS], statistics[filled, EXHAUSTED] = tally[LOOKS], tally[EXHAUSTED]
    statistics[filled, RATES] = tally[RATES] / tally[STEPS]
    statistics[filled, STEPS] = tally[SIZE]
    statistics[filled, SIZE], statistics[filled, MOVE] = value, tally[MOVE]
    zero(tally)
    return filled + 1


@bare
def advance(source, plan, chains, c, n_steps, draws, statistics):
    """Up to n_steps of chain c by a rule that draws its rows; returns kept draws and a status."""
    filled = np.int64(0)
    for _ in range(n_steps):
        same = begin_step(plan, chains, c)
        report = chains.report[c]
        log_a0 = chains.log_a0[c]
        temperature = temperature_at(plan, chains.step[c])
        accept = np.int64(0)
        if np.isnan(log_a0) or log_a0 == np.inf:
            report[STATUS] = NOT_A_NUMBER
        elif same:
            accept = judge(0.0, log_a0, temperature, chains.streams[c, streams.DECISION], report)
        elif log_a0 > -np.inf:
            key = streams.next_bits(chains.streams[c, streams.ROWS])
            used = np.int64(chains.move[c, ROWS_USED])
            open_draw(
                source, chains.theta[c], chains.proposed[c], chains.indices[c], chains.proposed_indices[c], key, used
            )
            stream = chains.streams[c, streams.DECISION]
            accept = plan.decide(
                source, log_a0, temperature, plan.bound, stream, plan.rule, chains.rule_state[c], report
            )
        if report[STATUS] != FINE:
            return filled, np.int64(report[STATUS])
        finish_step(plan, chains, c, accept)
        filled = record(plan, chains, c, np.nan, draws, statistics, filled)
    return filled, FINE


@bare
def begin_steps(plan, chains):
    """First half of a step of all chains."""
    for c in range(chains.theta.shape[0]):
        begin_step(plan, chains, c)


@bare
def finish_steps(plan, chains, n_rows, values, draws, statistics, filled):
    """Second half, given the whole sums at the proposals; rule_state[0] is the sum at the current state."""
    for c in range(chains.theta.shape[0]):
        report = chains.report[c]
        report[ROWS_READ], report[REPORT_LOOKS], report[REPORT_EXHAUSTED] = n_rows, 1.0, 1.0
        difference = values[c] - chains.rule_state[c, 0]
        if np.isnan(difference) or np.isnan(chains.log_a0[c]) or values[c] == np.inf:
            report[STATUS] = NOT_A_NUMBER
            return c, NOT_A_NUMBER
    for c in range(chains.theta.shape[0]):
        difference = values[c] - chains.rule_state[c, 0]
        temperature = temperature_at(plan, chains.step[c])
        stream = chains.streams[c, streams.DECISION]
        accept = judge(difference, chains.log_a0[c], temperature, stream, chains.report[c])
        finish_step(plan, chains, c, accept)
        if accept:
            chains.rule_state[c, 0] = values[c]
        value = chains.rule_state[c, 0] / temperature + chains.log_prior[c]
        count = record(plan, chains, c, value, draws[c], statistics[c], filled)
    return count, FINE

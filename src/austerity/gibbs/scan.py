"""The compiled scan: one variable after another is given a new value, the others as they are.

    all factors      x_k is drawn from p(x_k | rest);   binary:  x_k = 1  iff  Lambda > log u - log(1 - u)
    a decision       binary: the same comparison, decided from few factors
                     more values: x' uniform among the others, taken iff  Lambda > log u

with Lambda the sum over the factors of x_k of the differences of their log tables. A decision answers yes or no, so a
variable of several values is given a proposal to say yes or no to (Metropolis and Hastings), where drawing from the
conditional would need as many comparisons as there are values, each with an error of its own.
"""

from typing import Any, NamedTuple

import numpy as np

from ..decisions.base import EXHAUSTED as REPORT_EXHAUSTED
from ..decisions.base import FINE, RATE, ROWS_READ, STATUS
from ..decisions.base import LOOKS as REPORT_LOOKS
from ..engine import streams
from ..engine.jit import bare
from ..engine.loop import record, zero
from ..engine.state import ACCEPTED, EXHAUSTED, LOOKS, RATES, ROWS, STEPS
from ..rows.order import begin
from .source import NEW, OLD, VARIABLE, log_weights, whole_sum

IN_ORDER = 4  # place in ScanPlan.schedule, after those of engine.state


class ScanPlan(NamedTuple):
    """What compiled code knows of the settings of a run."""

    schedule: np.ndarray  # (5,) int64: warm-up, thin, total sweeps, 1, and whether variables take turns in order
    rule: np.ndarray  # parameters of the decision for every number of factors, one after the other
    places: np.ndarray  # (D, 2) int64: where those of a variable begin and end; -1 where it takes all factors
    decide: Any  # pointer to the rule's comparison


@bare
def log_odds(u):
    """log u - log(1 - u)."""
    return np.log(u) - np.log1p(-u)


@bare
def exact_update(source, k, u, report):
    """A value drawn from the conditional by u; the report's rate is the probability that it is another one."""
    factors, x, weights = source.factors, source.x, source.weights
    count, old = factors.states[k], np.int64(x[k])
    report[ROWS_READ] = factors.first[k + 1] - factors.first[k]
    report[REPORT_LOOKS], report[REPORT_EXHAUSTED] = 1.0, 1.0
    if factors.run_of.size:
        weights[0], weights[1] = 0.0, whole_sum(factors, x, k)
    else:
        log_weights(factors, x, k, weights)
    if count == 2:
        difference = weights[1] - weights[0]
        report[RATE] = 1.0 / (1.0 + np.exp(difference if old == 1 else -difference))
        return np.int64(difference > log_odds(u))
    largest = weights[0]
    for s in range(1, count):
        largest = max(largest, weights[s])
    total = 0.0
    for s in range(count):
        weights[s] = np.exp(weights[s] - largest)
        total += weights[s]
    report[RATE] = 1.0 - weights[old] / total
    left, new = u * total, np.int64(0)
    while new + 1 < count and left > weights[new]:
        left -= weights[new]
        new += 1
    return new


@bare
def decided_update(source, plan, k, u, proposal, decision, key, state, report):
    """A value by a decision that reads factors in the order of `key`."""
    x, asked, count = source.x, source.asked, source.factors.states[k]
    old = np.int64(x[k])
    asked[VARIABLE] = k
    if count == 2:
        asked[OLD], asked[NEW], threshold = 0, 1, log_odds(u)
    else:
        new = np.int64(streams.uniform(proposal) * (count - 1))
        asked[OLD], asked[NEW], threshold = old, new + np.int64(new >= old), np.log(u)
    begin(source.order, key, 0)
    first, last = plan.places[k, 0], plan.places[k, 1]
    yes = plan.decide(source, threshold, 1.0, np.nan, decision, plan.rule[first:last], state, report)
    if count == 2:
        report[RATE] = np.float64(yes != old)
        return yes
    return asked[NEW] if yes else old


@bare
def sweep(source, plan, chains, c):
    """As many updates as there are variables; returns a status."""
    x, report, tally = source.x, chains.report[c], chains.tally[c]
    proposal, decision = chains.streams[c, streams.PROPOSAL], chains.streams[c, streams.DECISION]
    for kind in range(chains.streams.shape[1]):
        streams.start(chains.streams[c, kind], chains.step[c])
    n_variables = chains.theta.shape[1]
    for turn in range(n_variables):
        k = np.int64(turn)
        if not plan.schedule[IN_ORDER]:
            k = np.int64(streams.uniform(proposal) * n_variables)
        zero(report)
        u = streams.uniform(decision)
        if plan.places[k, 0] < 0:
            new = exact_update(source, k, u, report)
        else:
            key = streams.next_bits(chains.streams[c, streams.ROWS])
            new = decided_update(source, plan, k, u, proposal, decision, key, chains.rule_state[c], report)
        if report[STATUS] != FINE:
            return np.int64(report[STATUS])
        tally[ACCEPTED] += new != x[k]
        tally[RATES] += report[RATE]
        tally[ROWS] += report[ROWS_READ]
        tally[LOOKS] += report[REPORT_LOOKS]
        tally[EXHAUSTED] += report[REPORT_EXHAUSTED]
        tally[STEPS] += 1
        x[k] = new
    return np.int64(FINE)


@bare
def advance(source, plan, chains, c, n_sweeps, draws, statistics):
    """Up to n_sweeps of chain c; returns kept draws and a status."""
    filled, theta = np.int64(0), chains.theta[c]
    for k in range(theta.size):
        source.x[k] = np.int64(theta[k])
    for _ in range(n_sweeps):
        status = sweep(source, plan, chains, c)
        if status != FINE:
            return filled, status
        for k in range(theta.size):
            theta[k] = source.x[k]
        chains.step[c] += 1
        filled = record(plan, chains, c, np.nan, draws, statistics, filled)
    return filled, np.int64(FINE)

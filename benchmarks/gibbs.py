"""(g) An exact scan of a field of 100 binary variables, 4851 factors each, against reading the entries it needs.

A visit needs two entries of one table, or one of a table of differences. Three ways of merely reading stand beside the
scan, all in scan order: those differences where they lie, at places worked out beforehand (what the scan must look at
and nothing else); two entries a visit, laid end to end for the purpose; and the two entries where a user's own tables
keep them. The last lines are the price of one factor at random, and of a flip, under a sequential test.
"""

import itertools
from typing import Any

import numpy as np
from common import Call, Figure, Report, best, interleaved, ratio, shown, single_thread
from numba import njit

from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import DOTS
from austerity.engine.state import STATISTICS, new_chains
from austerity.gibbs import Field
from austerity.gibbs.door import plan_of
from austerity.gibbs.scan import advance
from austerity.gibbs.source import new_source
from austerity.gibbs.tables import RUN_FIRST, RUN_LENGTH, RUN_PLACE, RUN_SECOND, RUN_START

LIMIT = 2.0
EPSILONS = (0.01, 0.05, 0.25)


# No cache on disk: Numba's cache does not see edits in the functions that a cached one calls.
@njit(**DOTS)
def read_at(values, places):
    """Sum of entries where they lie."""
    total = 0.0
    for place in places:
        total += values[place]
    return total


@njit(**DOTS)
def read_two_at(values, places, own):
    """Sum of differences of two entries of each table."""
    total = 0.0
    for i in range(places.size):
        total += values[places[i] + own[i]] - values[places[i]]
    return total


@njit(**DOTS)
def read_all(values):
    """Sum of entries that lie end to end."""
    total = values.dtype.type(0)
    for i in range(values.size):
        total += values[i]
    return total


def run(size: str = "full") -> dict[str, Any]:
    """The scan, three ways of reading, and sequential flips."""
    report = Report("gibbs", size)
    variables = 30 if size == "tiny" else 100
    rounds = {"full": 41, "quick": 11}.get(size, 2)
    triples = np.array(list(itertools.combinations(range(variables), 3)))
    tables = np.random.default_rng(0).normal(0, 0.02, (len(triples), 2, 2, 2))
    field = Field.from_arrays(triples, tables, log=True)
    state = np.random.default_rng(1).integers(0, 2, variables)
    visits = int(field.degrees.sum())
    with single_thread():
        calls = {"scan": scanner(field, Exact(), state, 20)} | reading(field, state)
        for epsilon in EPSILONS:
            rule = SequentialT(epsilon, 500 if variables == 100 else 50)
            calls[f"{epsilon}"] = scanner(field, rule, state, 2)
        seconds = interleaved(calls, rounds)
    words = f"{variables} variables x {int(field.degrees[0]):,} factors"
    _scan_figures(report, seconds, words, visits)
    _flip_figures(report, seconds, words, variables)
    return report.as_dict()


def scanner(field: Field, rule: Any, state: np.ndarray, sweeps: int) -> Call:
    """Sweeps in order of the variables; returns how many."""
    plan = plan_of(field, rule, np.array([0, 1, 10**9, 1, 1], np.int64))
    none, seed = np.zeros((1, 0), np.int64), np.random.SeedSequence(1)
    chains = new_chains(state[None].astype(float), none, 1, np.zeros(1), seed)
    source = new_source(field.factors)
    draws, statistics = np.zeros((sweeps, field.size)), np.zeros((sweeps, len(STATISTICS)))

    def call() -> float:
        advance(source, plan, chains, 0, sweeps, draws, statistics)
        return float(sweeps)

    return call


def reading(field: Field, state: np.ndarray) -> dict[str, Call]:
    """Entries that the visits of one scan need at this state."""
    factors, x = field.factors, np.append(state, 0)
    runs = factors.runs[factors.run_of].astype(np.int64)
    step = np.arange(factors.run_of.size) - runs[:, RUN_START]
    line = 2 * x[runs[:, RUN_FIRST]] + x[runs[:, RUN_SECOND] + step]
    places = runs[:, RUN_PLACE] + line * runs[:, RUN_LENGTH] + step
    two = np.repeat(factors.differences[places], 2)
    group = field.groups[0]
    tables, at, own = group.logs.astype(np.float32).ravel(), *table_places(group.variables, state)
    return {
        "where they lie": lambda: read_at(factors.differences, places) and None,
        "end to end": lambda: read_all(two) and None,
        "in tables": lambda: read_two_at(tables, at, own) and None,
    }


def table_places(variables: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the tables (F, 2, 2, 2) keep log f(0, .) of every visit in scan order, and how far log f(1, .) is."""
    strides = np.array([4, 2, 1])
    owner, factor = variables.T.ravel(), np.tile(np.arange(len(variables)), 3)
    own = np.repeat(strides, len(variables))
    base = np.tile(8 * np.arange(len(variables)) + (strides * state[variables]).sum(axis=1), 3) - own * state[owner]
    order = np.lexsort((factor, owner))
    return base[order], own[order]


def _scan_figures(report: Report, seconds: dict[str, np.ndarray], words: str, visits: int) -> None:
    note = f"{shown(best(seconds['scan']) * 1e6)} us a scan, {shown(best(seconds['scan']) / visits * 1e9)} ns a visit"
    for name, what in (
        ("where they lie", "x reading one difference a visit where it lies, places known"),
        ("end to end", "x reading two entries a visit laid end to end"),
        ("in tables", "x reading two entries a visit in the tables as given, places known"),
    ):
        value, spread = ratio(seconds["scan"], seconds[name])
        limit = None if name == "in tables" else LIMIT
        beside = f"{note}; reading {shown(best(seconds[name]) * 1e6)} us"
        report.add(Figure(f"exact scan, {words}, against {name}", value, what, limit, spread, beside))


def _flip_figures(report: Report, seconds: dict[str, np.ndarray], words: str, variables: int) -> None:
    for epsilon in EPSILONS:
        value, spread = ratio(seconds[f"{epsilon}"], seconds["scan"])
        note = f"{shown(best(seconds[f'{epsilon}']) / variables * 1e6)} us a flip"
        report.add(
            Figure(f"SequentialT({epsilon}, 500), {words}, a flip", value, "x an exact flip", None, spread, note)
        )

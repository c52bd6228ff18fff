"""Small fields with their distribution by enumeration, and compiled drivers, for the tests of Gibbs sampling."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import austerity as au
from austerity.decisions.sequential_t import compare
from austerity.engine.jit import bare
from austerity.engine.state import STATISTICS, Chains, new_chains
from austerity.gibbs import Field
from austerity.gibbs.door import plan_of
from austerity.gibbs.scan import advance
from austerity.gibbs.source import new_source
from austerity.rows.order import begin

VALUES = {"binary": (2, 2, 2, 2, 2), "mixed": (2, 3, 4, 2)}


def small_tables(kind: str, seed: int = 0) -> dict[tuple[int, ...], np.ndarray]:
    """Log tables of orders 1, 2 and 3 over few variables, named in all orders."""
    random, values = np.random.default_rng([seed, 3]), VALUES[kind]
    tables = {(1,): random.normal(0, 0.25, values[1])}
    for order in (2, 3):
        for chosen in itertools.combinations(range(len(values)), order):
            named = tuple(int(k) for k in random.permutation(chosen))
            tables[named] = random.normal(0, 0.25, [values[k] for k in named])
    return tables


@lru_cache(maxsize=8)
def small(kind: str, flipped: int | None = None) -> Field:
    """A field from small_tables; `flipped` takes the sign of one table around."""
    tables = small_tables(kind)
    if flipped is not None:
        key = list(tables)[flipped]
        tables[key] = -tables[key]
    return Field(tables, log=True)


def all_states(field: Field) -> np.ndarray:
    """Every state (S, D), last variable fastest."""
    return np.array(list(itertools.product(*[range(s) for s in field.states])))


def enumerated(kind: str) -> np.ndarray:
    """p(x) of all states, from the tables alone: nothing of the package is asked."""
    values = VALUES[kind]
    out = np.zeros(values)
    for key, table in small_tables(kind).items():
        for state in np.ndindex(*values):
            out[state] += table[tuple(state[k] for k in key)]
    weights = np.exp(out - out.max()).ravel()
    return weights / weights.sum()


def codes(field: Field, states: np.ndarray) -> np.ndarray:
    """Numbers of states (n, D) in the order of all_states."""
    return np.ravel_multi_index(tuple(states.astype(int).T), tuple(field.states))


@lru_cache(maxsize=1)
def triples(size: int = 100, spread: float = 0.02) -> Field:
    """All three-way factors between binary variables, log tables N(0, spread^2)."""
    variables = np.array(list(itertools.combinations(range(size), 3)))
    tables = np.random.default_rng(1).normal(0, spread, (len(variables), 2, 2, 2))
    return Field.from_arrays(variables, tables, log=True)


@bare
def _advance_all(source, plan, chains, sweeps, draws, statistics):
    """Some sweeps of every chain; 0 when all is well."""
    worst = 0
    for c in range(chains.theta.shape[0]):
        _, status = advance(source, plan, chains, c, sweeps, draws, statistics)
        worst = max(worst, status)
    return worst


def _many_chains(states: np.ndarray) -> Chains:
    """A chain at each of states (R, D), with keys thrown directly: spawning them takes seconds."""
    one = new_chains(states[:1].astype(float), np.zeros((1, 0), np.int64), 1, np.zeros(1), np.random.SeedSequence(0))
    chains = Chains(*[np.repeat(array, len(states), axis=0) for array in one])
    chains.theta[:] = states
    keys = np.random.default_rng(11).integers(0, 2**64, (len(states), chains.streams.shape[1], 2), np.uint64)
    chains.streams[:, :, :2] = keys
    return chains


def swept(field: Field, decision: Any, states: np.ndarray, in_order: bool = False, sweeps: int = 1) -> np.ndarray:
    """Every one of `states` (R, D) after some sweeps, independently of the others."""
    plan = plan_of(field, decision, np.array([0, sweeps, sweeps, 1, int(in_order)], np.int64))
    chains = _many_chains(states)
    source, draws, statistics = new_source(field.factors), np.zeros((1, field.size)), np.zeros((1, len(STATISTICS)))
    assert _advance_all(source, plan, chains, sweeps, draws, statistics) == 0
    return chains.theta.copy()


@bare
def _compare_log_u(source, threshold, temperature, bound, stream, parameters, state, report):
    """Wrong: the threshold of Metropolis, log u, in place of log u - log(1 - u)."""
    log_u = -np.log1p(np.exp(-threshold))
    return compare(source, log_u, temperature, bound, stream, parameters, state, report)


@bare
def _compare_fixed_order(source, threshold, temperature, bound, stream, parameters, state, report):
    """Wrong: the same order of factors at every decision."""
    begin(source.order, np.uint64(12345), 0)
    return compare(source, threshold, temperature, bound, stream, parameters, state, report)


@dataclass(frozen=True)
class Metropolis(au.decisions.SequentialT):
    """SequentialT with a wrong threshold."""

    def compiled_comparison(self) -> Any:
        return _compare_log_u


@dataclass(frozen=True)
class FixedOrder(au.decisions.SequentialT):
    """SequentialT with one order for all decisions."""

    def compiled_comparison(self) -> Any:
        return _compare_fixed_order

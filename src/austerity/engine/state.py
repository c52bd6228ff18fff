"""The state of all chains as plain arrays: what a checkpoint holds, and what compiled code changes in place."""

from typing import Any, NamedTuple

import numpy as np

from ..decisions.base import REPORT_SIZE
from ..proposals.base import MOVE_SIZE
from .streams import new_streams

# Columns of tally: sums over the steps since the last kept draw, how many steps, the last step size and kind of move.
ACCEPTED, RATES, ROWS, LOOKS, EXHAUSTED, STEPS, SIZE, MOVE = range(8)
TALLIES = 8
# Columns of the statistics of a kept draw; which of them a run keeps is said by Run.stat_names.
STATISTICS = ("accepted", "acceptance_rate", "n_rows", "n_looks", "exhausted", "step_size", "lp", "move")
# Places in Plan.schedule
WARMUP, THIN, TOTAL, COMPONENTS = range(4)


class Chains(NamedTuple):
    """Arrays with the chain as first axis. `proposed_*` and `report` are scratch; the rest is the state."""

    theta: np.ndarray  # (C, D)
    indices: np.ndarray  # (C, I) int64: active sets, 1 for a coefficient in use
    log_prior: np.ndarray  # (C,)
    rule_state: np.ndarray  # (C, R)
    proposal_state: np.ndarray  # (C, S)
    step: np.ndarray  # (C,) int64: steps done
    tally: np.ndarray  # (C, 8)
    streams: np.ndarray  # (C, 4, 8) uint64
    proposed: np.ndarray  # (C, D)
    proposed_indices: np.ndarray  # (C, I)
    log_a0: np.ndarray  # (C,)
    proposed_log_prior: np.ndarray  # (C,)
    component: np.ndarray  # (C,) int64: which part of a mixture made the proposal
    report: np.ndarray  # (C, 5)
    move: np.ndarray  # (C, 3)


CHECKPOINT = ("theta", "indices", "log_prior", "rule_state", "proposal_state", "step", "tally")


class Plan(NamedTuple):
    """What compiled code knows of the settings of a run."""

    prior: np.ndarray  # (D, 9)
    schedule: np.ndarray  # (4,) int64: warm-up, thin, total steps, components
    temperature: np.ndarray  # (2,): at the start of warm-up, and after it
    bound: float
    rule: np.ndarray  # parameters of the decision
    moves: np.ndarray  # parameters of all components, one after the other
    places: np.ndarray  # (components, 4) int64: where each one's parameters and state begin and end
    cumulative: np.ndarray  # (components,) cumulative weights
    decide: Any
    proposals: Any  # tuple of MOST pointers
    adaptations: Any  # tuple of MOST pointers


def new_chains(
    theta: np.ndarray, indices: np.ndarray, rule_size: int, proposal_state: np.ndarray, seed: np.random.SeedSequence
) -> Chains:
    """Chains at starting points theta (C, D) with active sets indices (C, I)."""
    chains, size = theta.shape
    return Chains(
        theta=np.array(theta, dtype=np.float64, order="C"),  # compiled code takes rows of it
        indices=np.array(indices, dtype=np.int64),
        log_prior=np.zeros(chains),
        rule_state=np.zeros((chains, max(1, rule_size))),
        proposal_state=np.tile(proposal_state, (chains, 1)),
        step=np.zeros(chains, np.int64),
        tally=np.zeros((chains, TALLIES)),
        streams=new_streams(seed, chains),
        proposed=np.zeros((chains, size)),
        proposed_indices=np.zeros(indices.shape, np.int64),
        log_a0=np.zeros(chains),
        proposed_log_prior=np.zeros(chains),
        component=np.zeros(chains, np.int64),
        report=np.zeros((chains, REPORT_SIZE)),
        move=np.zeros((chains, MOVE_SIZE)),
    )


def to_checkpoint(chains: Chains) -> dict[str, np.ndarray]:
    """Copies of the arrays a resumed run needs; streams follow from the seed and the step."""
    return {name: getattr(chains, name).copy() for name in CHECKPOINT}


def from_checkpoint(chains: Chains, arrays: dict[str, np.ndarray]) -> None:
    """Put a checkpoint back in place."""
    for name in CHECKPOINT:
        getattr(chains, name)[...] = arrays[name]

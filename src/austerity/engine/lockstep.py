"""All chains a step together, for rules that read every row: one pass serves them all.

Small problems stay in compiled code for many steps; large ones come back for every pass, so that threads can share
its rows. Which of the two happens depends on the size alone, and both give the same bits.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..decisions.base import FINE
from ..rows.passes import add_slabs, new_room, slab_count, slab_sums, sums
from .jit import bare
from .loop import begin_steps, finish_steps
from .problem import USER, Problem
from .state import Chains, Plan

# Multiplications in a pass above which threads pay for being woken.
WORTH_THREADS = 4_000_000


@bare
def advance_together(problem, n_rows, room, plan, chains, n_steps, parts, values, draws, statistics):
    """n_steps of all chains in this thread; returns kept draws a chain (or the chain at fault) and a status."""
    filled = np.int64(0)
    for _ in range(n_steps):
        begin_steps(plan, chains)
        slab_sums(problem, room, chains.proposed, np.int64(0), parts.shape[0], parts)
        add_slabs(parts, values)
        filled, status = finish_steps(plan, chains, n_rows, values, draws, statistics, filled)
        if status != FINE:
            return filled, status
    return filled, FINE


def _begin(plan: Plan, chains: Chains, reading: tuple[Any, Any] | None) -> None:
    """First half of a step of all chains."""
    if reading is None:
        begin_steps(plan, chains)
    else:
        from .reading import begin_reading_steps

        begin_reading_steps(*reading, plan, chains)


def advance_lockstep(
    problem: Problem,
    n_rows: int,
    plan: Plan,
    chains: Chains,
    n_steps: int,
    draws: np.ndarray,
    statistics: np.ndarray,
    pool: ThreadPoolExecutor | None,
    threads: int,
    reading: tuple[Any, Any] | None = None,
) -> tuple[int, int]:
    """n_steps of all chains; draws (C, B, width) and statistics (C, B, 8) receive the kept ones.

    n_rows: rows that a pass counts as, which are more than are held where one line sums them up; reading: reader and
    movers of a run whose moves read rows.
    """
    held, n_points = problem.X.shape[0], chains.theta.shape[0]
    small = pool is None or threads == 1 or held * problem.X.shape[1] * n_points < WORTH_THREADS
    if small and not problem.shape[USER]:
        parts, values = np.empty((slab_count(held), n_points)), np.empty(n_points)
        room = new_room(problem, n_points)
        if reading is not None:
            from .reading import advance_reading_together

            return advance_reading_together(
                *reading, problem, room, plan, chains, n_steps, parts, values, draws, statistics
            )
        return advance_together(problem, n_rows, room, plan, chains, n_steps, parts, values, draws, statistics)
    filled = 0
    for _ in range(n_steps):
        _begin(plan, chains, reading)
        values, status = sums(problem, chains.proposed, chains.proposed_indices, pool, threads)
        if status != FINE:
            return filled, status
        filled, status = finish_steps(plan, chains, n_rows, values, draws, statistics, filled)
        if status != FINE:
            return filled, status
    return filled, FINE

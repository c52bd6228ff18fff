"""Which decision is cheaper, predicted from sizes and a small table of machine constants, never from a stopwatch.

    Exact        N / K * (column * d + K * (point + point_column * d))   ns a step and chain, K chains in lockstep
    SequentialT  share * N * (row + row_column * d)                      ns, share from design.expected_data_share

The constants were measured on one core of a current server; only their ratios matter here. Threads help both alike, and
are left out so that the choice, and with it the draws, does not depend on how many there are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decisions import Exact, SequentialT

POINT, POINT_COLUMN, READ_COLUMN = 0.6, 0.02, 0.12  # ns a row and point; a column and point; a column of a pass
ROW, ROW_COLUMN = 8.0, 0.6  # ns a row drawn at random; a column of it


@dataclass(frozen=True)
class Choice:
    """The decision taken when none was asked for, and the sentence that says why."""

    decision: Any
    reason: str


def predicted_exact(n_rows: int, width: int, chains: int) -> float:
    """Seconds a step of one chain by Exact."""
    one_pass = n_rows * (READ_COLUMN * width + chains * (POINT + POINT_COLUMN * width))
    return one_pass / chains * 1e-9


def predicted_sequential(n_rows: int, width: int, share: float) -> float:
    """Seconds a step of one chain by SequentialT that reads this share of the rows."""
    return share * n_rows * (ROW + ROW_COLUMN * width) * 1e-9


def choose_decision(n_rows: int, width: int, chains: int, sd_lambda: float) -> Choice:
    """Exact or SequentialT(0.01, 500), whichever is predicted to be faster for these proposals."""
    from ..design.error import expected_data_share

    exact = predicted_exact(n_rows, width, chains)
    if n_rows <= 2000:
        return Choice(Exact(), f"Exact: {n_rows:,} rows are few enough to read at every step")
    rule = SequentialT(0.01, 500)
    share = float(np.clip(expected_data_share(n_rows, rule.batch, rule.epsilon, rule.boundary, sd_lambda), 0.0, 1.0))
    sequential = predicted_sequential(n_rows, width, share)
    figures = (
        f"{exact * 1e6:,.0f} us a step against {sequential * 1e6:,.0f} us for SequentialT reading {share:.0%} of rows"
    )
    if exact <= sequential:
        return Choice(Exact(), f"Exact: predicted {figures}")
    return Choice(
        rule, f"SequentialT(0.01, 500): predicted {sequential * 1e6:,.0f} us a step, Exact {exact * 1e6:,.0f}"
    )

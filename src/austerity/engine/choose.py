"""Which decision is cheaper, predicted from sizes and a small table of machine constants, never from a stopwatch.

    Exact        N / K * (column * d + K * (term + point_column * d P))   ns a step and chain, K chains in lockstep
    SequentialT  share * N * (row + row_column * d + 2 term)              ns, share from design.expected_data_share

with P predictors a row, and `term` the cost of a term, which is guessed for a likelihood that the user wrote.

The constants were measured on one core of a current server; only their ratios matter here. Threads help both alike, and
are left out so that the choice, and with it the draws, does not depend on how many there are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decisions import Exact, SequentialT
from ..models.target import Target
from .problem import PREDICTORS

POINT_COLUMN, READ_COLUMN = 0.02, 0.12  # ns a column and point; a column of a pass
ROW, ROW_COLUMN = 7.0, 0.6  # ns a row drawn at random; a column of it
TERM, USER_TERM, PYTHON_TERM = 0.6, 20.0, 60.0  # ns a term: of a family, of a user's row function, of one in NumPy


@dataclass(frozen=True)
class Choice:
    """The decision taken when none was asked for, and the sentence that says why."""

    decision: Any
    reason: str


@dataclass(frozen=True)
class Work:
    """Sizes that set the cost of a step: rows, columns read, predictors a row, chains, and ns a term."""

    n_rows: int
    width: int
    predictors: int
    chains: int
    term: float

    @classmethod
    def of(cls, target: Target, chains: int) -> "Work":
        """The sizes of a posterior."""
        predictors = max(1, int(target.problem.shape[PREDICTORS]))
        term = TERM if target.kernels is not None else PYTHON_TERM if target.interpreted else USER_TERM
        return cls(target.problem.X.shape[0], target.rows.d, predictors, chains, term)

    def exact(self) -> float:
        """Seconds a step of one chain by Exact."""
        point = self.term + POINT_COLUMN * self.width * self.predictors
        return self.n_rows * (READ_COLUMN * self.width / self.chains + point) * 1e-9

    def sequential(self, share: float) -> float:
        """Seconds a step of one chain by SequentialT that reads this share of the rows."""
        return share * self.n_rows * (ROW + ROW_COLUMN * self.width + 2 * self.term) * 1e-9


def choose_decision(work: Work, sd_lambda: float) -> Choice:
    """Exact or SequentialT(0.01, 500), whichever is predicted to be faster for these proposals."""
    from ..design.error import expected_data_share

    if work.n_rows == 1:
        return Choice(Exact(), "Exact: all that is to be read is one line")
    if work.n_rows <= 2000:
        return Choice(Exact(), f"Exact: {work.n_rows:,} rows are few enough to read at every step")
    rule = SequentialT(0.01, 500)
    share = expected_data_share(work.n_rows, rule.batch, rule.epsilon, rule.boundary, sd_lambda)
    exact, sequential = work.exact(), work.sequential(float(np.clip(share, 0.0, 1.0)))
    chosen, name = (Exact(), "Exact") if exact <= sequential else (rule, "SequentialT(0.01, 500)")
    return Choice(
        chosen,
        f"{name}: predicted {exact * 1e6:,.0f} us a step of one chain for Exact, {sequential * 1e6:,.0f} us for "
        f"SequentialT(0.01, 500), which would read {float(share):.0%} of the rows",
    )

"""Exact Metropolis-Hastings: every row, in one pass for all chains.

    accept iff  sum_i [l_i(theta') - l_i(theta)] / T  >  log u - log A0

Paper: Metropolis et al. 1953; Hastings 1970. Reference law: min(1, exp L), L = log A0 + Lambda / T.
Guarantee: exact up to rounding of the sum, which set-up measures. The current state's sum is cached, so a step
evaluates the proposal alone; all chains advance in lockstep and share one pass.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.jit import engine
from ..engine.streams import exponential
from .base import RATE


@engine
def judge(difference, log_a0, temperature, stream, report):
    """The decision itself, from the difference of the whole sums; -inf is refused, NaN is not passed in."""
    log_u = -exponential(stream)
    log_ratio = log_a0 + difference / temperature
    report[RATE] = np.exp(min(0.0, log_ratio))
    return np.int64(log_ratio > log_u)


@dataclass(frozen=True)
class Exact:
    """Exact Metropolis-Hastings on all rows."""

    reads_all = True
    exact = True
    given_threshold = True
    reference_law = "min(1, exp(L))"

    def check(self, n_rows: int) -> None:
        """Every number of rows will do."""

    def parameters(self, n_rows: int) -> np.ndarray:
        return np.zeros(1)

    def compiled(self) -> Any:
        return judge

    def state_size(self) -> int:
        return 1  # the cached sum at the current state

    def guarantee(self, n_rows: int) -> str:
        return f"exact: every decision reads all {n_rows:,} rows, so the chains converge to the posterior itself."

    def settings(self) -> dict[str, Any]:
        return {"rule": "Exact"}

"""Probit regression:  P(y = 1 | x) = Phi(eta),  y in {0, 1}."""

from dataclasses import dataclass
from typing import Any

from ..rows.held import Rows
from .base import Family
from .logistic import check_binary


@dataclass(frozen=True, eq=False)
class Probit(Family):
    """Bayesian probit regression."""

    def check_response(self, rows: Rows) -> None:
        check_binary(rows, "Probit")

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import probit

        return probit.value, probit.slopes

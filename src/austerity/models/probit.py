"""Probit regression:  P(y = 1 | x) = Phi(eta),  y in {0, 1}."""

from dataclasses import dataclass
from typing import Any

from ..rows.held import Rows
from .base import Family
from .logistic import check_binary, check_both
from .responses import Responses


@dataclass(frozen=True, eq=False)
class Probit(Family):
    """Bayesian probit regression."""

    predicts_classes = True

    def check_response(self, rows: Rows) -> None:
        self.check_values(rows)
        check_both(rows, "Probit")

    def check_values(self, rows: Responses) -> None:
        check_binary(rows, "Probit")

    def mean_kernel(self) -> Any:
        from .kernels import probit

        return probit.mean

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import probit

        return probit.value, probit.slopes

"""Logistic regression:  P(y = 1 | x) = 1 / (1 + exp(-eta)),  y in {0, 1}."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..rows.held import Rows
from .base import Family
from .responses import Responses, refuse_rows


def check_binary(rows: Responses, name: str) -> None:
    """Refuse labels other than 0 and 1."""
    wrong = (rows.y != 0) & (rows.y != 1)
    refuse_rows(rows, wrong, f"{name} needs responses 0 and 1", "code the two classes as 0 and 1")


def check_both(rows: Rows, name: str) -> None:
    """Refuse a response with one class alone."""
    share = float(np.mean(rows.y, dtype=np.float64))
    if share in (0.0, 1.0):
        raise InputError(
            f"{rows.target} is {share:g} in every row, so {name} has nothing to tell apart: give rows of both classes"
        )


@dataclass(frozen=True, eq=False)
class Logistic(Family):
    """Bayesian logistic regression."""

    predicts_classes = True

    def check_response(self, rows: Rows) -> None:
        self.check_values(rows)
        check_both(rows, "Logistic")

    def check_values(self, rows: Responses) -> None:
        check_binary(rows, "Logistic")

    def mean_kernel(self) -> Any:
        from .kernels import logistic

        return logistic.mean

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import logistic

        return logistic.value, logistic.slopes

    def total(self) -> Any:
        from .kernels import logistic

        return logistic.total

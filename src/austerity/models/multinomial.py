"""Multinomial logistic regression:  P(y = c | x) proportional to exp(eta_c),  eta_0 = 0,  y in {0, ..., C - 1}."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..rows.held import Rows
from .base import Family
from .responses import Responses, refuse_rows


@dataclass(frozen=True, eq=False)
class Multinomial(Family):
    """Bayesian multinomial logistic regression; class 0 is the reference."""

    predicts_classes = True

    def check_values(self, rows: Responses) -> None:
        wrong = (rows.y < 0) | (rows.y != np.floor(rows.y))
        refuse_rows(rows, wrong, "Multinomial needs classes 0, 1, 2, ...", "code the classes as whole numbers")

    def check_response(self, rows: Rows) -> None:
        self.check_values(rows)
        count = int(rows.y.max()) + 1
        if count > 1000:
            raise InputError(f"{rows.target} reaches class {count - 1}: Multinomial takes up to 1000 classes")
        if count < 2:
            raise InputError(
                f"{rows.target} is 0 in every row, so Multinomial has nothing to tell apart: give two classes"
            )
        seen = np.bincount(rows.y.astype(np.int64), minlength=count)
        if np.any(seen == 0):
            empty = int(np.flatnonzero(seen == 0)[0])
            raise InputError(f"no row has class {empty} of 0 to {count - 1}: code the classes without gaps")

    def predictors(self, rows: Rows) -> int:
        return int(rows.y.max())

    def classes(self, rows: Rows) -> list[str] | None:
        return [str(c) for c in range(1, self.predictors(rows) + 1)]

    def mean_kernel(self) -> Any:
        from .kernels import multinomial

        return multinomial.mean

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import multinomial

        return multinomial.value, multinomial.slopes

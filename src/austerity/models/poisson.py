"""Poisson regression:  y ~ Poisson(mean),  mean = exp(eta) or, with link="softplus", log(1 + exp(eta))."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..rows.held import Rows
from .base import Family
from .counts import check_counts, check_size, log_mean, log_mean_exp, minus_log_factorial
from .responses import Responses


@dataclass(frozen=True, eq=False)
class Poisson(Family):
    """Bayesian Poisson regression with link "log" or "softplus"."""

    link: str = "log"

    def __post_init__(self) -> None:
        if self.link not in ("log", "softplus"):
            raise InputError(f"Poisson(link={self.link!r}): give 'log' or 'softplus'")

    def check_response(self, rows: Rows) -> None:
        self.check_values(rows)
        check_size(rows, "Poisson")

    def check_values(self, rows: Responses) -> None:
        check_counts(rows, "Poisson")

    def log_constant(self, y: np.ndarray) -> np.ndarray:
        return minus_log_factorial(y)

    def response_centre(self, rows: Rows) -> float:
        if self.link == "log":
            return log_mean(rows)
        mean = max(rows.y_mean, 1e-6)
        return float(mean if mean > 30 else np.log(np.expm1(mean)))  # eta is the mean itself where the mean is large

    def response_scale(self, rows: Rows) -> float:
        return 1.0 if self.link == "log" else max(1.0, rows.y_sd)

    def offset_centre(self, rows: Rows) -> float:
        return log_mean_exp(rows) if self.link == "log" else super().offset_centre(rows)

    def options(self) -> dict[str, Any]:
        return {"link": self.link}

    def kernels(self) -> tuple[Any, Any]:
        if self.link == "log":
            from .kernels import poisson

            return poisson.value, poisson.slopes
        from .kernels import poisson_softplus

        return poisson_softplus.value, poisson_softplus.slopes

    def mean_kernel(self) -> Any:
        from .kernels import poisson, poisson_softplus

        return poisson.mean if self.link == "log" else poisson_softplus.mean

"""Linear regression:  y = eta + sigma e,  e ~ N(0, 1); sigma known, or a parameter on the log scale."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InputError
from ..rows.held import Rows
from .base import Extra, Family
from .priors import StudentT as StudentTPrior


def positive(name: str, what: str, value: Any) -> float:
    """A positive finite number, or a sentence."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise InputError(f"{name}({what}={value!r}): give a positive number, or None to sample it")
    return float(value)


def check_spread(rows: Rows, name: str) -> None:
    """A response that never changes says nothing of its scale."""
    if rows.y_sd == 0:
        raise InputError(
            f"{rows.target} is {rows.y_mean:g} in every row, so {name} has nothing to fit: check the column"
        )


@dataclass(frozen=True, eq=False)
class Linear(Family):
    """Bayesian linear regression; `sigma` fixes the scale, None samples it under `sigma_prior`."""

    sigma: float | None = None
    sigma_prior: Any = None

    centre_response = True
    extra_names = ("sigma",)

    def __post_init__(self) -> None:
        if self.sigma is not None:
            object.__setattr__(self, "sigma", positive("Linear", "sigma", self.sigma))

    def check_response(self, rows: Rows) -> None:
        if self.sigma is None:
            check_spread(rows, "Linear")

    def extras(self, rows: Rows) -> list[Extra]:
        if self.sigma is not None:
            return [Extra("sigma", float(self.sigma), None)]
        prior = self.sigma_prior or StudentTPrior(3.0, 0.0, 2.5 * rows.y_sd)
        return [Extra("sigma", None, prior, start=rows.y_sd)]

    def response_scale(self, rows: Rows) -> float:
        return rows.y_sd or 1.0

    def response_centre(self, rows: Rows) -> float:
        return rows.y_mean

    def options(self) -> dict[str, Any]:
        return {"sigma": self.sigma}

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import linear

        return linear.value, linear.slopes if self.sigma is None else linear.slopes_known

    def log_constant(self, y: np.ndarray) -> np.ndarray:
        return np.full(y.size, -0.5 * np.log(2 * np.pi))

    def mean_kernel(self) -> Any:
        from .kernels import linear

        return linear.mean

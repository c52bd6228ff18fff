"""Negative binomial regression:  mean exp(eta), variance mean + mean^2 / shape; log link."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows.held import Rows
from .base import Extra, Family
from .counts import check_counts, check_size, log_mean, log_mean_exp, minus_log_factorial
from .linear import positive
from .priors import StudentT as StudentTPrior
from .responses import Responses


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Family):
    """Bayesian negative binomial regression; `shape` fixed, or None to sample it under `shape_prior`."""

    shape: float | None = None
    shape_prior: Any = None

    extra_names = ("shape",)

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", positive("NegativeBinomial", "shape", self.shape))

    def check_response(self, rows: Rows) -> None:
        self.check_values(rows)
        check_size(rows, "NegativeBinomial")

    def check_values(self, rows: Responses) -> None:
        check_counts(rows, "NegativeBinomial")

    def log_constant(self, y: np.ndarray) -> np.ndarray:
        return minus_log_factorial(y)

    def extras(self, rows: Rows) -> list[Extra]:
        if self.shape is not None:
            return [Extra("shape", float(self.shape), None)]
        return [Extra("shape", None, self.shape_prior or StudentTPrior(3.0, 0.0, 10.0), start=2.0)]

    def response_centre(self, rows: Rows) -> float:
        return log_mean(rows)

    def offset_centre(self, rows: Rows) -> float:
        return log_mean_exp(rows)

    def options(self) -> dict[str, Any]:
        return {"shape": self.shape}

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import negative_binomial as kernels

        return kernels.value, kernels.slopes if self.shape is None else kernels.slopes_known

    def mean_kernel(self) -> Any:
        from .kernels import negative_binomial

        return negative_binomial.mean

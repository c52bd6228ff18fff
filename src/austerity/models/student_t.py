"""Robust regression:  y = eta + sigma e,  e ~ Student-t with `dof` degrees of freedom."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows.held import Rows
from .base import Extra, Family
from .linear import check_spread, positive
from .priors import StudentT as StudentTPrior


@dataclass(frozen=True, eq=False)
class StudentT(Family):
    """Regression with Student-t errors; `sigma` and `dof` fixed, or None to sample them under their priors."""

    dof: float | None = 4.0
    sigma: float | None = None
    sigma_prior: Any = None
    dof_prior: Any = None

    centre_response = True
    extra_names = ("sigma", "dof")

    def __post_init__(self) -> None:
        for what, value in (("dof", self.dof), ("sigma", self.sigma)):
            if value is not None:
                object.__setattr__(self, what, positive("StudentT", what, value))
        if self.dof is None and self.sigma is not None:
            from ..errors import InputError

            raise InputError(
                "StudentT(dof=None, sigma=...): sample sigma too, since one cannot be told without the other"
            )

    def check_response(self, rows: Rows) -> None:
        if self.sigma is None:
            check_spread(rows, "StudentT")

    def extras(self, rows: Rows) -> list[Extra]:
        scale = self.sigma_prior or StudentTPrior(3.0, 0.0, 2.5 * rows.y_sd)
        freedom = self.dof_prior or StudentTPrior(3.0, 0.0, 20.0)
        sigma = Extra("sigma", None, scale, start=0.7 * rows.y_sd)
        return [
            sigma if self.sigma is None else Extra("sigma", float(self.sigma), None),
            Extra("dof", None, freedom, start=5.0) if self.dof is None else Extra("dof", float(self.dof), None),
        ]

    def response_scale(self, rows: Rows) -> float:
        return rows.y_sd or 1.0

    def response_centre(self, rows: Rows) -> float:
        return rows.y_mean

    def options(self) -> dict[str, Any]:
        return {"dof": self.dof, "sigma": self.sigma}

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import student_t

        if self.dof is None:
            return student_t.value, student_t.slopes
        return student_t.value, student_t.slopes_scale if self.sigma is None else student_t.slopes_known

    def log_constant(self, y: np.ndarray) -> np.ndarray:
        return np.full(y.size, -0.5 * np.log(np.pi))

    def mean_kernel(self) -> Any:
        from .kernels import student_t

        return student_t.mean

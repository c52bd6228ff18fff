"""Likelihoods of the losses that withstand outliers:  y = eta + scale e,  e of density proportional to e^-L.

    LAD        L(e) = |e|                                   the Laplace density
    Quantile   L(e) = max(tau e, (tau - 1) e)               the asymmetric Laplace density: eta is the tau-quantile of y
    Huber      L(e) = e^2 / 2, beyond delta delta |e| - delta^2 / 2

`scale` known, or a parameter on the log scale. Their mode is looked for on a rounded loss (standin/kinks.py).
"""

from dataclasses import dataclass
from math import erf, exp, log, pi, sqrt
from numbers import Real
from typing import Any

from ..errors import InputError
from ..rows.held import Rows
from .base import Extra, Family
from .linear import check_spread, positive
from .priors import StudentT as StudentTPrior


@dataclass(frozen=True, eq=False, kw_only=True)
class _Robust(Family):
    """A location and a scale; a subclass says what is lost where."""

    prior: Any = None
    intercept_prior: Any = None
    scale: float | None = None
    scale_prior: Any = None

    centre_response = True

    def __post_init__(self) -> None:
        if self.scale is not None:
            object.__setattr__(self, "scale", positive(type(self).__name__, "scale", self.scale))

    def loss(self) -> list[Extra]:
        """What the kernel is told of the loss."""
        return []

    def check_response(self, rows: Rows) -> None:
        if self.scale is None:
            check_spread(rows, type(self).__name__)

    def extras(self, rows: Rows) -> list[Extra]:
        prior = self.scale_prior or StudentTPrior(3.0, 0.0, 2.5 * rows.y_sd)
        sampled = Extra("scale", None, prior, start=0.7 * rows.y_sd)
        scale = sampled if self.scale is None else Extra("scale", self.scale, None)
        return [scale, *self.loss(), Extra("width", 1.0, None)]  # of the rounded kink, in units of the scale

    def response_scale(self, rows: Rows) -> float:
        return rows.y_sd or 1.0

    def response_centre(self, rows: Rows) -> float:
        return rows.y_mean

    def options(self) -> dict[str, Any]:
        return {"scale": self.scale}

    def extra_value(self, name: str) -> float | None:
        known = {extra.name: extra.value for extra in self.loss()}
        return {**known, "scale": self.scale, "width": 1.0}[name]

    def mean_kernel(self) -> Any:
        """eta: the mean, and for quantile regression the quantile that it is about."""
        from .kernels import linear

        return linear.mean

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import check_loss

        return check_loss.value, check_loss.slopes if self.scale is None else check_loss.slopes_known

    def rounded(self) -> Any:
        from .kernels import check_loss

        return check_loss.rounded


@dataclass(frozen=True, eq=False)
class LAD(_Robust):
    """Least absolute deviations: eta is the median of y; `scale` fixes the mean of |y - eta|, None samples it."""

    extra_names = ("scale", "up", "down", "width")

    def loss(self) -> list[Extra]:
        return [Extra("up", 1.0, None), Extra("down", 1.0, None)]


@dataclass(frozen=True, eq=False)
class Quantile(_Robust):
    """Quantile regression: eta is the `tau`-quantile of y, 0 < tau < 1; `scale` fixed, or None to sample it."""

    tau: float
    extra_names = ("scale", "up", "down", "width")

    def __post_init__(self) -> None:
        super().__post_init__()
        tau = self.tau
        if isinstance(tau, bool) or not isinstance(tau, Real) or not 1e-9 < float(tau) < 1 - 1e-9:
            raise InputError(f"Quantile(tau={tau!r}): give a number between 0 and 1, such as 0.5 for the median")
        object.__setattr__(self, "tau", float(tau))

    def loss(self) -> list[Extra]:
        return [Extra("up", self.tau, None), Extra("down", 1.0 - self.tau, None)]

    def options(self) -> dict[str, Any]:
        return {"tau": self.tau, "scale": self.scale}


@dataclass(frozen=True, eq=False)
class Huber(_Robust):
    """Huber's loss: errors normal within `delta` scales and exponential beyond; `scale` fixed, or None to sample it."""

    delta: float = 1.345
    extra_names = ("scale", "delta", "log mass", "width")

    def __post_init__(self) -> None:
        super().__post_init__()
        delta = self.delta
        if isinstance(delta, bool) or not isinstance(delta, Real) or not 1e-9 < float(delta) < 1e9:
            raise InputError(f"Huber(delta={delta!r}): give a positive number of scales, such as 1.345")
        object.__setattr__(self, "delta", float(delta))

    def loss(self) -> list[Extra]:
        """delta and the logarithm of the mass of e^-L: sqrt(2 pi) (2 Phi(delta) - 1) + 2/delta e^(-delta^2 / 2)."""
        mass = sqrt(2 * pi) * erf(self.delta / sqrt(2)) + 2 / self.delta * exp(-0.5 * self.delta**2)
        return [Extra("delta", self.delta, None), Extra("log mass", log(mass), None)]

    def options(self) -> dict[str, Any]:
        return {"delta": self.delta, "scale": self.scale}

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import huber

        return huber.value, huber.slopes if self.scale is None else huber.slopes_known

    def rounded(self) -> Any:
        from .kernels import huber

        return huber.rounded

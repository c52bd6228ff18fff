"""Densities of one column without a response: only the place that a row is seen from moves, and the scale.

    Gaussian          x ~ N(mu, sigma^2)
    GaussianMixture   x ~ w1 N(theta1, sigma^2) + w2 N(theta1 + theta2, sigma^2)

Predictors are eta = x - mu, or eta_1 = x - theta1 and eta_2 = x - theta1 - theta2: affine in theta with slope one,
which is all that passes, draws and the search for the mode need to know (Problem.affine).
"""

from dataclasses import dataclass, field
from math import isclose, log
from numbers import Real
from typing import Any

import numpy as np
from numba import types

from ..engine.jit import pointer
from ..engine.problem import (
    Problem,
    block_signature,
    compiled_gather,
    compiled_kernel,
    no_block,
    no_total,
    total_signature,
)
from ..errors import InputError
from ..report.variables import Variable
from ..rows.held import Rows
from .base import Extra, Family
from .linear import positive
from .priors import Flat, Normal, Prior, StudentT, one_each, table
from .target import Target


@dataclass(frozen=True, eq=False)
class _Density(Family):
    """A density of one column; a subclass names its places and says how predictors depend on them."""

    prior: Any = field(default=None, kw_only=True)
    intercept_prior: Any = field(default=None, kw_only=True, repr=False)
    sigma_prior: Any = field(default=None, kw_only=True)

    needs_response = False

    def places(self) -> list[str]:
        """The sampled places, in the order of theta."""
        raise TypeError(f"{type(self).__name__} names no places")

    def affine(self) -> np.ndarray:
        """Derivatives (P, number of places) of the predictors in the places."""
        raise TypeError(f"{type(self).__name__} has no predictors")

    def base(self) -> float:
        """What is added to every predictor."""
        return 0.0

    def default_priors(self, rows: Rows) -> list[Normal]:
        raise TypeError(f"{type(self).__name__} has no default priors")

    def initial_places(self, rows: Rows) -> list[float]:
        raise TypeError(f"{type(self).__name__} has no place to begin at")

    def notes(self) -> list[str]:
        return []

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior of this density on these rows."""
        self._check_rows(rows, intercept, standardize)
        extras = self.extras(rows)
        sampled = [extra for extra in extras if extra.value is None]
        names, notes = self.places(), self.notes()
        priors = self._place_priors(rows, names, notes) + [self._extra_prior(extra) for extra in sampled]
        labels = names + [extra.name for extra in sampled]
        return Target(
            name=type(self).__name__,
            rows=rows,
            problem=self._affine_problem(rows, extras, len(names)),
            prior=table(priors, [False] * len(names) + [True] * len(sampled)),
            priors=priors,
            labels=labels,
            variables=[Variable(label, (), {}, k, k + 1) for k, label in enumerate(labels)],
            kernels=self.kernels(),
            initial=np.array(self.initial_places(rows) + [log(extra.start) for extra in sampled]),
            notes=notes,
            options=self.options(),
        )

    def _check_rows(self, rows: Rows, intercept: bool, standardize: bool) -> None:
        name = type(self).__name__
        if rows.has_response:
            raise InputError(
                f"{name} is a density of the rows themselves, but {rows.target} was given as a response: leave it out"
            )
        if rows.d != 1:
            raise InputError(
                f"{name} is a density of one column, but the rows have {rows.d} ({', '.join(rows.names[:6])}"
                f"{', ...' if rows.d > 6 else ''}): choose one with columns="
            )
        if intercept or standardize or self.intercept_prior is not None:
            raise InputError(
                f"intercept, intercept_prior and standardize are for models with coefficients, and {name} has none: "
                "leave them out"
            )
        if rows.offset.size:
            raise InputError(f"offset is for models with linear predictors, and {name} has none: subtract it yourself")
        if rows.sd[0] == 0:
            raise InputError(
                f"{rows.names[0]} is {rows.mean[0]:g} in every row, so {name} has nothing to fit: check it"
            )

    def extras(self, rows: Rows) -> list[Extra]:
        sigma = getattr(self, "sigma", None)
        if sigma is not None:
            return [Extra("sigma", float(sigma), None)]
        spread = float(rows.sd[0])
        return [Extra("sigma", None, self.sigma_prior or StudentT(3.0, 0.0, 2.5 * spread), start=spread)]

    def _place_priors(self, rows: Rows, names: list[str], notes: list[str]) -> list[Prior]:
        """As given, or wide ones, which are said."""
        if self.prior is not None or not names:
            return one_each(self.prior, names, "prior") if names else []
        priors = self.default_priors(rows)
        both = zip(names, priors, strict=True)
        wide = ", ".join(f"{name} takes Normal({prior.location:.4g}, {prior.scale:.4g})" for name, prior in both)
        notes.append(f"no prior was given: {wide}, from the mean and ten standard deviations of {rows.names[0]}")
        return list(priors)

    def _affine_problem(self, rows: Rows, extras: list[Extra], n_places: int) -> Problem:
        """The compiled view; held = (x - centre) / scale, so eta = scale * held + centre + base + affine theta."""
        real = types.float32 if rows.X.dtype == np.float32 else types.float64
        sampled = np.array([extra.value is None for extra in extras])
        affine = np.zeros((len(self.affine()), n_places + int(sampled.sum())))
        affine[:, :n_places] = self.affine()
        return Problem(
            X=rows.X,
            y=np.zeros(rows.n, rows.X.dtype),
            offset=rows.offset,
            weights=rows.weights,
            slope=rows.scale.copy(),
            shift=np.zeros(1),
            base=float(rows.centre[0]) + self.base(),
            affine=affine,
            shape=np.array([len(affine), 1, 0, len(extras), 0, 0, 0, -1, 0], np.int64),
            extras=np.array([extra.value or 0.0 for extra in extras], dtype=np.float64),
            extras_at=np.where(sampled, n_places + np.cumsum(sampled) - 1, -1).astype(np.int64),
            kernel=compiled_kernel(self.kernels()[0], real),
            kernel_double=compiled_kernel(self.kernels()[0], types.float64),
            total=pointer(no_total, total_signature(real)),
            block=pointer(no_block, block_signature(real)),
            gather=compiled_gather(len(affine), real),
        )


@dataclass(frozen=True, eq=False)
class Gaussian(_Density):
    """Normal density of one column; `mean` and `sigma` fixed, or None to sample them as mu and sigma."""

    mean: float | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        if self.mean is not None and self.sigma is not None:
            raise InputError("Gaussian(mean=..., sigma=...) leaves nothing to sample: leave out one of them")
        if self.sigma is not None:
            object.__setattr__(self, "sigma", positive("Gaussian", "sigma", self.sigma))
        if self.mean is not None:
            object.__setattr__(self, "mean", _number("Gaussian", "mean", self.mean))
            if self.prior is not None:
                raise InputError(
                    "Gaussian(mean=..., prior=...): prior is that of the mean, which is fixed: leave it out"
                )

    def places(self) -> list[str]:
        return ["mu"] if self.mean is None else []

    def affine(self) -> np.ndarray:
        return np.full((1, len(self.places())), -1.0)

    def base(self) -> float:
        return 0.0 if self.mean is None else -self.mean

    def default_priors(self, rows: Rows) -> list[Normal]:
        return [Normal(float(rows.mean[0]), 10.0 * float(rows.sd[0]))]

    def initial_places(self, rows: Rows) -> list[float]:
        return [float(rows.mean[0])] * len(self.places())

    def options(self) -> dict[str, Any]:
        return {"mean": self.mean, "sigma": self.sigma}

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import linear

        return linear.value, linear.slopes if self.sigma is None else linear.slopes_known


@dataclass(frozen=True, eq=False)
class GaussianMixture(_Density):
    """Two normal components at theta1 and theta1 + theta2; `weights` known, `sigma` fixed, or None to sample it."""

    sigma: float | None = None
    weights: Any = (0.5, 0.5)

    def __post_init__(self) -> None:
        if self.sigma is not None:
            object.__setattr__(self, "sigma", positive("GaussianMixture", "sigma", self.sigma))
        object.__setattr__(self, "weights", _two_weights(self.weights))

    def places(self) -> list[str]:
        return ["theta1", "theta2"]

    def affine(self) -> np.ndarray:
        return np.array([[-1.0, 0.0], [-1.0, -1.0]])

    def extras(self, rows: Rows) -> list[Extra]:
        return super().extras(rows) + [Extra(f"log weight {k}", log(w), None) for k, w in enumerate(self.weights)]

    def default_priors(self, rows: Rows) -> list[Normal]:
        wide = 10.0 * float(rows.sd[0])
        return [Normal(float(rows.mean[0]), wide), Normal(0.0, wide)]

    def _place_priors(self, rows: Rows, names: list[str], notes: list[str]) -> list[Prior]:
        priors = super()._place_priors(rows, names, notes)
        if isinstance(priors[1], Flat):
            raise InputError(
                "the prior of theta2 is Flat, but however far the second component lies the first one explains the "
                "rows, so there is no posterior: give a proper prior such as Normal(0, 1)"
            )
        return priors

    def initial_places(self, rows: Rows) -> list[float]:
        """One sd either side of the mean: at theta2 = 0 the two components could not be told apart."""
        return [float(rows.mean[0] - rows.sd[0]), 2.0 * float(rows.sd[0])]

    def notes(self) -> list[str]:
        return [
            "the components can change places (theta1 + theta2 for theta1, -theta2 for theta2), so there may be two "
            "modes, of which the search finds one, and chains may stay where they start: give start= points in both"
        ]

    def options(self) -> dict[str, Any]:
        return {"sigma": self.sigma, "weights": list(self.weights)}

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import gaussian_mixture as kernels

        return kernels.value, kernels.slopes if self.sigma is None else kernels.slopes_known


def _number(name: str, what: str, value: Any) -> float:
    """A finite number, or a sentence."""
    if isinstance(value, bool) or not isinstance(value, Real) or not abs(float(value)) < float("inf"):
        raise InputError(f"{name}({what}={value!r}): give a finite number, or None to sample it")
    return float(value)


def _two_weights(weights: Any) -> tuple[float, float]:
    """Two positive numbers that sum to one, or a sentence."""
    said = f"GaussianMixture(weights={weights!r})"
    if not isinstance(weights, (list, tuple, np.ndarray)):
        raise InputError(f"{said}: give the weights of the two components, such as (0.5, 0.5)")
    if len(weights) != 2:
        remedy = "take Gaussian() for one component" if len(weights) == 1 else "give the weights of two"
        raise InputError(f"{said}: the mixture has two components, and there are {len(weights)} weights: {remedy}")
    proper = all(isinstance(w, Real) and not isinstance(w, bool) and 0 < float(w) < 1 for w in weights)
    if not proper or not isclose(sum(float(w) for w in weights), 1.0, abs_tol=1e-9):
        raise InputError(f"{said}: give two positive numbers that sum to 1")
    return float(weights[0]), float(weights[1])

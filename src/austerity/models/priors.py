"""Priors: one a coefficient or one shared, location and scale families and the flat one.

    Normal(m, s)       -(x-m)^2 / (2 s^2) - log(s sqrt(2 pi))
    StudentT(v, m, s)  -(v+1)/2 log(1 + (x-m)^2 / (v s^2)) + log c_v - log s
    Cauchy(m, s)       StudentT with v = 1
    Laplace(m, s)      -|x-m| / s - log(2 s)
    Flat()             0

A model that chooses its variables (models/variable_selection.py) has these for the coefficients in use alone, or L1Norm
for all of them together, and the log mass of every set of k coefficients besides.

For a scale or a shape, which the chain holds as e = log x, the density is that of x > 0 times dx/de = x. The
normalising constant of the part above zero is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, pi
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InputError

FLAT, NORMAL, STUDENT_T, LAPLACE, L1_NORM = 0.0, 1.0, 2.0, 3.0, 4.0
# Columns of the table that compiled code reads, one row a parameter. Where SELECTED is 1 a parameter that is 0 is not
# in use; EMPTY is then the log mass of using none, and MASS in row k - 1 that of any one set of k.
KIND, LOCATION, SCALE, DOF, AS_LOGARITHM, CONSTANT, SELECTED, EMPTY, MASS = range(9)
OWN, COLUMNS = 6, 9


def _check(name: str, location: float, scale: float, dof: float = 1.0) -> None:
    for what, value in (("location", location), ("scale", scale), ("degrees of freedom", dof)):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
            raise InputError(f"{name}: {what} is {value!r}, give a number")
        if not np.isfinite(value):
            raise InputError(f"{name}: {what} is {value!r}, give a finite number (Flat() is the prior of no scale)")
    for what, value in (("scale", scale), ("degrees of freedom", dof)):
        if not value > 0:
            raise InputError(f"{name}: {what} is {value!r}, give a positive number")


@dataclass(frozen=True)
class Normal:
    """Normal with the given location and scale (standard deviation)."""

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(f"Normal({self.location!r}, {self.scale!r})", self.location, self.scale)

    def row(self) -> list[float]:
        return [NORMAL, self.location, self.scale, 0.0, 0.0, -log(self.scale) - 0.5 * log(2 * pi)]


@dataclass(frozen=True)
class StudentT:
    """Student-t with `dof` degrees of freedom."""

    dof: float = 3.0
    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(f"StudentT({self.dof!r}, {self.location!r}, {self.scale!r})", self.location, self.scale, self.dof)

    def row(self) -> list[float]:
        v = float(self.dof)
        constant = lgamma((v + 1) / 2) - lgamma(v / 2) - 0.5 * log(v * pi) - log(self.scale)
        return [STUDENT_T, self.location, self.scale, v, 0.0, constant]


@dataclass(frozen=True)
class Cauchy:
    """Cauchy with the given location and scale."""

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(f"Cauchy({self.location!r}, {self.scale!r})", self.location, self.scale)

    def row(self) -> list[float]:
        return StudentT(1.0, self.location, self.scale).row()


@dataclass(frozen=True)
class Laplace:
    """Laplace (double exponential): the prior of the L1 penalty."""

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check(f"Laplace({self.location!r}, {self.scale!r})", self.location, self.scale)

    def row(self) -> list[float]:
        return [LAPLACE, self.location, self.scale, 0.0, 0.0, -log(2 * self.scale)]


@dataclass(frozen=True)
class Flat:
    """No preference at all; improper, so the likelihood alone must hold the posterior together."""

    def row(self) -> list[float]:
        return [FLAT, 0.0, 1.0, 0.0, 0.0, 0.0]


@dataclass(frozen=True)
class L1Norm:
    """-k log sum |x_j| over the k coefficients in use, where that sum is at least `least`; a prior of all together."""

    least: float = 0.0

    def row(self) -> list[float]:
        return [L1_NORM, self.least, 1.0, 0.0, 0.0, 0.0]


@dataclass(frozen=True)
class Beta:
    """Beta(a, b), of a probability."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        for value in (self.a, self.b):
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
                raise InputError(f"Beta({self.a!r}, {self.b!r}): give two positive numbers")


Prior = Normal | StudentT | Cauchy | Laplace | Flat
PRIORS = (Normal, StudentT, Cauchy, Laplace, Flat)


def one_each(prior: Any, names: Sequence[str], what: str) -> list[Prior]:
    """A prior for each name: shared, a sequence in order, or a dictionary by name."""
    if isinstance(prior, PRIORS):
        return [prior] * len(names)
    if isinstance(prior, dict):
        unknown = [name for name in prior if name not in names]
        missing = [name for name in names if name not in prior]
        if unknown:
            raise InputError(f"{what} names {unknown[0]!r}, but the coefficients are {', '.join(names[:8])}: rename it")
        if missing:
            raise InputError(f"{what} has no entry for {missing[0]!r}: give one for each coefficient, or one for all")
        prior = [prior[name] for name in names]
    if not isinstance(prior, (list, tuple)):
        raise InputError(f"{what}={prior!r} is no prior: give one such as Normal(0, 1), or one for each coefficient")
    if len(prior) != len(names):
        raise InputError(f"{what} has {len(prior)} entries for {len(names)} coefficients: give one for each, or one")
    for name, entry in zip(names, prior, strict=True):
        if not isinstance(entry, PRIORS):
            raise InputError(f"{what} of {name!r} is {entry!r}: give one such as Normal(0, 1)")
    return list(prior)


def table(priors: Sequence[Prior], as_logarithm: Sequence[bool]) -> np.ndarray:
    """The table (D, 9) that compiled code reads."""
    rows = np.zeros((len(priors), COLUMNS))
    rows[:, :OWN] = np.array([prior.row() for prior in priors], dtype=np.float64).reshape(len(priors), OWN)
    rows[:, AS_LOGARITHM] = np.asarray(as_logarithm, dtype=np.float64)
    return rows


def select(rows: np.ndarray, log_mass: np.ndarray) -> np.ndarray:
    """The table for parameters that are in use or not; log_mass (D + 1,): of any one set of 0, 1, ..., D of them."""
    out = rows.copy()
    out[:, SELECTED], out[:, EMPTY], out[:, MASS] = 1.0, log_mass[0], log_mass[1:]
    return out


def describe(prior: Prior | L1Norm | Beta) -> dict[str, Any]:
    """The prior by name and value, as stored with the draws."""
    return {"name": type(prior).__name__, **{key: float(value) for key, value in vars(prior).items()}}


def draw(prior: Prior | L1Norm, generator: np.random.Generator, count: int, name: str) -> np.ndarray:
    """Draws (count,) from a prior; `name` is the parameter's, for the sentence."""
    if isinstance(prior, Flat):
        raise InputError(f"start='prior': the prior of {name} is flat, so there is nothing to draw: give start='mode'")
    if isinstance(prior, L1Norm):
        raise InputError(
            "start='prior': the prior of the coefficients' L1 norm is improper, so there is nothing to draw"
        )
    if isinstance(prior, Normal):
        z = generator.standard_normal(count)
    elif isinstance(prior, Laplace):
        z = generator.laplace(size=count)
    else:
        z = generator.standard_t(getattr(prior, "dof", 1.0), count)
    return np.asarray(prior.location + prior.scale * z)

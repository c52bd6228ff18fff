"""Logistic regression that chooses its variables: a set of k of the D inputs is in use, the other coefficients are 0.

    prior of the paper    l1^-k lambda^k B(k, D - k + 1),   l1 = sum |beta_j|, k >= 1           (slab=None)
    with a slab           p^k (1 - p)^(D - k) prod slab(beta_j),  or B(a + k, b + D - k) / B(a, b) for p ~ Beta(a, b)

each the density of one set and its coefficients. Paper: Korattikara, Chen, Welling 2014, section 6.3; its prior follows
from Laplace(0, nu) coefficients with d nu / nu and a truncated Poisson number of variables of rate 2 lambda. It has no
integral near l1 = 0: on tall data the likelihood keeps chains away from there, otherwise `least_norm` bounds l1 below.
"""

from dataclasses import dataclass, replace
from math import log, log1p
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InputError
from ..report.variables import Variable
from ..rows.held import Rows
from .logistic import Logistic
from .priors import PRIORS, Beta, Flat, L1Norm, describe, one_each, select, table
from .target import Target

RATE = 1e-10  # the paper's lambda


@dataclass(frozen=True, eq=False)
class VariableSelection:
    """Logistic regression over sets of variables.

    rate, least_norm: lambda and the least l1 of the paper's prior (1e-10 and 0 where not given).
    slab, inclusion: instead of it, a prior of the coefficients in use (one, or one each) and the probability that a
    variable is in use (.5 where not given), a number or priors.Beta(a, b).

    The intercept, or a constant column, is a variable like the others.
    """

    slab: Any = None
    inclusion: float | Beta | None = None
    rate: float | None = None
    least_norm: float | None = None

    predicts_as = Logistic  # coefficients that are not in use are 0
    centre_columns = True
    centre_response = False

    def __post_init__(self) -> None:
        if self.slab is None:
            self._check_paper()
        else:
            self._check_slab()

    def _check_paper(self) -> None:
        if self.inclusion is not None:
            raise InputError(
                f"VariableSelection(inclusion={self.inclusion!r}) needs a slab: give slab=Normal(0, 1) too"
            )
        for name, least in (("rate", 0), ("least_norm", -1)):
            value = getattr(self, name)
            wrong = isinstance(value, bool) or not isinstance(value, Real | None)
            if wrong or (value is not None and not (float(value) > least and 0 <= float(value) < float("inf"))):
                raise InputError(f"VariableSelection({name}={value!r}): give a positive number, or leave it")

    def _check_slab(self) -> None:
        for name in ("rate", "least_norm"):
            if getattr(self, name) is not None:
                raise InputError(
                    f"VariableSelection({name}=...) belongs to the prior that a slab replaces: leave out one of the two"
                )
        entries = self.slab.values() if isinstance(self.slab, dict) else self.slab
        for prior in entries if isinstance(self.slab, (dict, list, tuple)) else [self.slab]:
            if isinstance(prior, Flat) or not isinstance(prior, PRIORS):
                raise InputError(
                    f"VariableSelection(slab={prior!r}): sets of different sizes are compared by a proper prior of "
                    "their coefficients, give one such as Normal(0, 1)"
                )
        p = self.inclusion
        number = isinstance(p, Real) and not isinstance(p, bool) and 0 < float(p) < 1
        if not (p is None or isinstance(p, Beta) or number):
            raise InputError(f"VariableSelection(inclusion={p!r}): give a probability between 0 and 1, or Beta(a, b)")

    def log_mass(self, total: int) -> np.ndarray:
        """Log mass (D + 1,) of any one set of k = 0 ... D variables; see the formulas at the top."""
        from scipy.special import betaln

        k = np.arange(total + 1)
        if self.slab is None:
            sizes = k[1:]
            return np.append(-np.inf, sizes * log(self.rate or RATE) + betaln(sizes, total - sizes + 1))
        if isinstance(self.inclusion, Beta):
            a, b = self.inclusion.a, self.inclusion.b
            return np.asarray(betaln(a + k, b + total - k) - betaln(a, b))
        p = 0.5 if self.inclusion is None else float(self.inclusion)
        return np.asarray(k * log(p) + (total - k) * log1p(-p))

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior of this model on these rows."""
        from ..engine.problem import ACTIVE
        from ..proposals.reversible_jump import ReversibleJump

        if intercept and standardize:
            raise InputError(
                "standardize=True with intercept=True centres columns, so that an intercept not in use would come back "
                "on the original scale: leave out one of them, or centre the columns yourself"
            )
        if not rows.has_response:
            raise InputError("VariableSelection needs a response: pass y=, or target= with the name of its column")
        names = (["intercept"] if intercept else []) + list(rows.names)
        slabs = None if self.slab is None else one_each(self.slab, names, "slab")
        plain = _all_in_use(slabs, rows, intercept, standardize)
        shape = plain.problem.shape.copy()
        shape[ACTIVE] = 1
        total, mass = len(names), self.log_mass(len(names))
        priors: list[Any] = [L1Norm(float(self.least_norm or 0.0))] * total if slabs is None else list(slabs)
        return replace(
            plain,
            name="VariableSelection",
            problem=plain.problem._replace(shape=shape),
            prior=select(table(priors, [False] * total), mass),
            priors=priors,
            variables=_variables(names),
            n_indices=total,
            notes=[] if slabs is not None or self.least_norm else [OPEN],
            options={"intercept": intercept, "standardize": standardize, **self.options()},
            proposal=ReversibleJump(),
            set_mass=mass,
            companion=plain,
        )

    def options(self) -> dict[str, Any]:
        """The prior of the sets, as stored with the draws (that of the coefficients stands beside it)."""
        if self.slab is None:
            return {"rate": float(self.rate or RATE), "least_norm": float(self.least_norm or 0.0)}
        p = 0.5 if self.inclusion is None else self.inclusion
        return {"inclusion": describe(p) if isinstance(p, Beta) else float(p)}


OPEN = (
    "the prior has no integral where all coefficients are 0: chains stay away from there while the likelihood holds "
    "them (least_norm= bounds the prior, slab= replaces it)"
)


def _all_in_use(slabs: list[Any] | None, rows: Rows, intercept: bool, standardize: bool) -> Target:
    """The same rows as a logistic regression with every variable in use, under the slab or the usual wide prior."""
    if slabs is None:
        return Logistic().bind(rows, intercept, standardize)
    slope, first = (slabs[1:], slabs[0]) if intercept else (slabs, None)
    return Logistic(prior=slope, intercept_prior=first).bind(rows, intercept, standardize)


def _variables(names: list[str]) -> list[Variable]:
    """What is reported of a draw: coefficients, whether each is in use, and how many are."""
    total, coords = len(names), {"coef": names}
    return [
        Variable("beta", ("coef",), coords, 0, total),
        Variable("included", ("coef",), coords, total, 2 * total),
        Variable("size", (), {}, 2 * total, 2 * total + 1),
    ]

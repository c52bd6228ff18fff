"""Families with linear predictors: from settings and rows to a Target.

    eta_p(row) = offset + intercept_p + sum_j beta_pj x_j;     l(row) = family's kernel(eta, y, extras)

theta = (beta_1, ..., beta_P, log of each sampled extra), beta_p with its intercept first where one is asked for. With
`standardize=True` theta is on the scale of centred columns with sd 1 (priors too), and draws are turned back.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

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
from .priors import PRIORS, Normal, Prior, one_each, table
from .responses import Responses
from .target import Target


@dataclass(frozen=True)
class Extra:
    """A scale or shape: sampled under a prior of its natural value, or fixed at a value."""

    name: str
    value: float | None  # None: sampled
    prior: Prior | None
    start: float = 1.0


@dataclass(frozen=True, eq=False)
class Family:
    """What every family shares; a subclass says what its response may be and names its kernels."""

    prior: Any = None
    intercept_prior: Any = None

    name = "family"
    centre_columns = True  # predictors fold centring and scaling into theta
    needs_response = True  # False for a density of the rows themselves
    centre_response = False  # True where only y - eta matters, so that y may be held centred
    extra_names: ClassVar[tuple[str, ...]] = ()  # scales and shapes in the order in which kernels take them
    predicts_classes = False  # True where the response is a class

    def predictors(self, rows: Rows) -> int:
        return 1

    def check_response(self, rows: Rows) -> None:
        """Refuse responses that the family cannot have produced, or from which nothing can be learnt."""
        self.check_values(rows)

    def check_values(self, rows: Responses) -> None:
        """Refuse single responses that the family cannot have produced."""

    def extras(self, rows: Rows) -> list[Extra]:
        return []

    def response_scale(self, rows: Rows) -> float:
        """How many units of eta one sd of the response is: the scale of default priors."""
        return 1.0

    def response_centre(self, rows: Rows) -> float:
        return 0.0

    def offset_centre(self, rows: Rows) -> float:
        """What the offset already puts into the predictor, on average."""
        return float(np.mean(rows.offset, dtype=np.float64)) if rows.offset.size else 0.0

    def kernels(self) -> tuple[Any, Any]:
        """Compiled (value, slopes) for these settings."""
        raise TypeError(f"{type(self).__name__} names no kernels")

    def total(self) -> Any:
        """Compiled sum of a whole block's terms, where it is cheaper than the terms one by one; else None."""
        return None

    def rounded(self) -> Any:
        """Compiled value with its kink rounded off, of which slopes are the derivatives; None where value has none."""
        return None

    def mean_kernel(self) -> Any:
        """Compiled mean(eta, out), the mean of a response (or its classes' chances); None where there is none."""
        return None

    def extra_value(self, name: str) -> float | None:
        """A scale or shape that is fixed; None where it is sampled."""
        return getattr(self, name, None)

    def log_constant(self, y: np.ndarray) -> np.ndarray:
        """What the kernel leaves out of log p(y | eta, extras), (N,)."""
        return np.zeros(y.size)

    def classes(self, rows: Rows) -> list[str] | None:
        """Names of the predictors where there are several."""
        return None

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior of this model on these rows."""
        if self.needs_response and not rows.has_response:
            raise InputError(f"{type(self).__name__} needs a response: pass y=, or target= with the name of its column")
        self.check_response(rows)
        self._check_precision(rows)
        check_columns(rows, intercept)
        extras = self.extras(rows)
        sampled = [extra for extra in extras if extra.value is None]
        coefficients = (["intercept"] if intercept else []) + list(rows.names)
        if len(set(coefficients)) != len(coefficients):
            raise InputError(
                "a column is called 'intercept' and intercept=True adds one: rename the column or drop one"
            )
        notes: list[str] = []
        priors = self._priors(rows, coefficients, intercept, standardize, notes)
        count = self.predictors(rows)
        extra_priors = [self._extra_prior(extra) for extra in sampled]
        all_priors = priors * count + extra_priors
        as_log = [False] * (len(coefficients) * count) + [True] * len(sampled)
        return Target(
            name=type(self).__name__,
            rows=rows,
            problem=self._problem(rows, intercept, standardize, extras, count),
            prior=table(all_priors, as_log),
            priors=all_priors,
            labels=_labels(coefficients, self.classes(rows)) + [extra.name for extra in sampled],
            variables=_variables(coefficients, self.classes(rows), sampled),
            kernels=self.kernels(),
            total=self.total(),
            rounded=self.rounded(),
            initial=self._initial(rows, intercept, count, sampled),
            to_natural=_to_natural(rows, intercept, count, len(sampled)) if standardize else None,
            notes=notes,
            options={"intercept": intercept, "standardize": standardize, **self.options()},
        )

    def _check_precision(self, rows: Rows) -> None:
        """Responses opened without their model may lie too far from zero for float32."""
        lost = rows.y.dtype == np.float32 and rows.y_centre == 0.0 and abs(rows.y_mean) > 1e4 * rows.y_sd > 0
        if self.centre_response and lost:
            raise InputError(
                f"{rows.target} has mean {rows.y_mean:g} and sd {rows.y_sd:g}, which float32 cannot tell apart: "
                "open the rows with centre_response=True or dtype='float64', or pass the arrays themselves"
            )

    def options(self) -> dict[str, Any]:
        """Settings of the family itself, as stored with the draws."""
        return {}

    def _extra_prior(self, extra: Extra) -> Prior:
        if not isinstance(extra.prior, PRIORS):
            raise InputError(f"the prior of {extra.name} is {extra.prior!r}: give one such as priors.StudentT(3, 0, 1)")
        return extra.prior

    def _priors(
        self, rows: Rows, coefficients: list[str], intercept: bool, standardize: bool, notes: list[str]
    ) -> list[Prior]:
        """One prior a coefficient: as given, or 2.5 per sd of a column, wide on the intercept."""
        given: list[Prior] = []
        centre = self.response_centre(rows) - self.offset_centre(rows)
        default = default_priors(rows, self.response_scale(rows), centre, intercept, standardize)
        if self.prior is None:
            notes.append(
                "no prior was given: coefficients take Normal(0, 2.5) per standard deviation of their column"
                + (" and of the response" if self.response_scale(rows) != 1.0 else "")
                + (", the intercept a wide one" if intercept else "")
            )
            given = default[intercept:]
        elif isinstance(self.prior, (dict, list, tuple)) and len(self.prior) == len(coefficients) != len(rows.names):
            if self.intercept_prior is not None:
                raise InputError("prior names the intercept and intercept_prior is given too: leave out one of them")
            return one_each(self.prior, coefficients, "prior")
        else:
            given = one_each(self.prior, rows.names, "prior")
        if not intercept:
            if self.intercept_prior is not None:
                raise InputError(
                    "intercept_prior is given but intercept=True is not: ask for the intercept, or leave it"
                )
            return given
        first = (
            default[0]
            if self.intercept_prior is None
            else one_each(self.intercept_prior, ["intercept"], "intercept_prior")[0]
        )
        return [first, *given]

    def _initial(self, rows: Rows, intercept: bool, count: int, sampled: list[Extra]) -> np.ndarray:
        beta = np.zeros((count, intercept + rows.d))
        if intercept:
            beta[:, 0] = self.response_centre(rows) - self.offset_centre(rows)
        return np.concatenate([beta.ravel(), np.log([extra.start for extra in sampled])])

    def _problem(self, rows: Rows, intercept: bool, standardize: bool, extras: list[Extra], count: int) -> Problem:
        """The compiled view; held = (x - centre) / scale, so x = centre + scale * held."""
        real = types.float32 if rows.X.dtype == np.float32 else types.float64
        slope, shift = rows.scale.copy(), rows.centre.copy()
        if standardize:
            spread = np.where(rows.sd > 0, rows.sd, 1.0)
            middle = rows.mean if intercept else np.zeros(rows.d)
            slope, shift = slope / spread, (shift - middle) / spread
        sampled = [extra.value is None for extra in extras]
        places = count * (intercept + rows.d) + np.cumsum(sampled) - 1
        return Problem(
            X=rows.X,
            y=rows.y,
            offset=rows.offset,
            weights=rows.weights,
            slope=slope,
            shift=shift,
            base=-float(rows.y_centre),
            affine=np.zeros((0, 0)),
            shape=np.array([count, rows.d, int(intercept), len(extras), 0, 0, 0, -1, 0], np.int64),
            extras=np.array([extra.value or 0.0 for extra in extras], dtype=np.float64),
            extras_at=np.where(sampled, places, -1).astype(np.int64) if extras else np.zeros(0, np.int64),
            kernel=compiled_kernel(self.kernels()[0], real),
            kernel_double=compiled_kernel(self.kernels()[0], types.float64),
            total=pointer(no_total, total_signature(real)),
            block=pointer(no_block, block_signature(real)),
            gather=compiled_gather(count, real),
        )


def default_priors(rows: Rows, scale: float, centre: float, intercept: bool, standardize: bool) -> list[Prior]:
    """Normal(0, 2.5 scale / sd_j) a column; the intercept's allows for columns far from zero."""
    spread = np.where(rows.sd > 0, rows.sd, np.where(rows.mean != 0, np.abs(rows.mean) / 4, 1.0))
    if standardize:
        spread = np.ones(rows.d)
    out: list[Prior] = [Normal(0.0, float(2.5 * scale / s)) for s in spread]
    if not intercept:
        return out
    away = 0.0 if standardize else float(np.sqrt(np.sum((rows.mean / spread) ** 2)))
    return [Normal(centre, scale * (10.0 + 2.5 * away)), *out]


def check_columns(rows: Rows, intercept: bool) -> None:
    """A column of zeros says nothing, and a constant one repeats the intercept or another constant one."""
    constant = [name for name, sd, mean in zip(rows.names, rows.sd, rows.mean, strict=True) if sd == 0 and mean != 0]
    zeros = [name for name, sd, mean in zip(rows.names, rows.sd, rows.mean, strict=True) if sd == 0 and mean == 0]
    if zeros:
        raise InputError(f"column {zeros[0]!r} is zero in every row, so the data say nothing of it: leave it out")
    if constant and intercept:
        raise InputError(
            f"column {constant[0]!r} is constant and intercept=True adds another: drop the column or the option"
        )
    if len(constant) > 1:
        raise InputError(f"columns {constant[0]!r} and {constant[1]!r} are both constant: keep one as the intercept")


def _labels(coefficients: list[str], classes: list[str] | None) -> list[str]:
    if classes is None:
        return [f"beta[{name}]" for name in coefficients]
    return [f"beta[{label}, {name}]" for label in classes for name in coefficients]


def _variables(coefficients: list[str], classes: list[str] | None, sampled: list[Extra]) -> list[Variable]:
    if classes is None:
        stop = len(coefficients)
        out = [Variable("beta", ("coef",), {"coef": coefficients}, 0, stop)]
    else:
        stop = len(coefficients) * len(classes)
        out = [Variable("beta", ("class", "coef"), {"class": classes, "coef": coefficients}, 0, stop)]
    for place, extra in enumerate(sampled):
        out.append(Variable(extra.name, (), {}, stop + place, stop + place + 1))
    return out


def _to_natural(rows: Rows, intercept: bool, count: int, n_extras: int) -> np.ndarray:
    """beta_j = theta_j / sd_j;  intercept = theta_0 - sum_j theta_j mean_j / sd_j."""
    width = intercept + rows.d
    one = np.eye(width)
    spread = np.where(rows.sd > 0, rows.sd, 1.0)
    one[intercept:, intercept:] = np.diag(1.0 / spread)
    if intercept:
        one[0, 1:] = -rows.mean / spread
    out = np.eye(count * width + n_extras)
    for p in range(count):
        out[p * width : (p + 1) * width, p * width : (p + 1) * width] = one
    return out

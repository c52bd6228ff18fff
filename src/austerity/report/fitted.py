"""What prediction needs of a posterior: its family, its draws on the original scale, and the columns they belong to."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError
from austerity.report.summary import attributes_of, flat_draws, group_of
from austerity.rows.new_rows import Expected

if TYPE_CHECKING:
    import xarray

    from austerity.models.base import Family

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A posterior ready to predict: eta_sp = intercept_sp + sum_j slope_spj x_j."""

    family: Family
    name: str
    slopes: Array  # (S, P, d)
    intercepts: Array  # (S, P)
    extras: Array  # (S, E)
    expected: Expected
    has_offset: bool
    outcomes: int  # means a row has: one, or one for each class of several

    def part(self, first: int, last: int) -> Fitted:
        """Draws first..last-1 alone."""
        chosen = slice(first, last)
        return replace(self, slopes=self.slopes[chosen], intercepts=self.intercepts[chosen], extras=self.extras[chosen])


def stored_model(post: xarray.DataTree) -> dict[str, Any]:
    """The settings of the model as stored with the draws."""
    try:
        model = json.loads(attributes_of(post)["settings"])["model"]
        return {**model, "model": str(model["model"])}
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(
            "the posterior does not say which model it is of: pass what au.sample or au.load gave back, "
            "or a predict= function"
        ) from None


def fitted(post: xarray.DataTree, max_draws: int | None) -> Fitted:
    """Family and draws of a posterior of a model with linear predictors."""
    stored = stored_model(post)
    family = _family(stored)
    posterior = group_of(post, "posterior")
    beta, coefficients = _coefficients(posterior, stored["model"])
    first = int(bool(stored.get("intercept")))
    picks = selection(beta.shape[0], max_draws)
    beta = beta[picks]
    return Fitted(
        family=family,
        name=stored["model"],
        slopes=np.ascontiguousarray(beta[:, :, first:]),
        intercepts=beta[:, :, 0] if first else np.zeros(beta.shape[:2]),
        extras=_extras(posterior, family)[picks],
        expected=_expected(attributes_of(post), tuple(coefficients[first:])),
        has_offset=bool(attributes_of(post).get("offset", 0)),
        outcomes=beta.shape[1] + 1 if "class" in posterior["beta"].dims else 1,
    )


def selection(n_draws: int, most: int | None) -> NDArray[np.int64]:
    """All draws, chains after each other, or `most` of them at even distances."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1):
        raise InputError(f"max_draws={most!r}: give a whole number of at least 1, or None for all draws")
    if n_draws == 0:
        raise InputError("the posterior holds no draw, so there is nothing to predict from: draw some first")
    kept = n_draws if most is None else min(int(most), n_draws)
    return np.arange(kept) * n_draws // kept


def flat_parameters(post: xarray.DataTree, max_draws: int | None) -> Array:
    """All parameters (S, D) in the order in which they are named: what a function of the user's own is given."""
    posterior = group_of(post, "posterior")
    parts = [flat_draws(posterior[str(name)])[1] for name in posterior.data_vars]
    flat = np.concatenate(parts, axis=2)
    flat = flat.reshape(-1, flat.shape[2])
    return flat[selection(len(flat), max_draws)]


def expected_columns(post: xarray.DataTree) -> Expected:
    """The columns that a likelihood of the user's own was given."""
    attrs = attributes_of(post)
    names = _listed(attrs, "column_names")
    if not names:
        return Expected(int(attrs.get("columns", 0)), None, "", None)
    return Expected(len(names), tuple(str(name) for name in names), str(attrs.get("target", "")), None)


def _expected(attrs: dict[str, Any], names: tuple[str, ...]) -> Expected:
    """Columns that a posterior names, the response's name, and what to take off columns that lie far from zero."""
    centre = np.array(_listed(attrs, "column_centres"), dtype=np.float64)
    usable = centre.shape == (len(names),) and bool(np.isfinite(centre).all())
    return Expected(len(names), names, str(attrs.get("target", "")), centre if usable else None)


def _listed(attrs: dict[str, Any], key: str) -> list[Any]:
    """A list among the attributes, which hold it as JSON; empty where there is none."""
    try:
        found = json.loads(attrs[key])
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _family(stored: dict[str, Any]) -> Family:
    """The family by its name, with the settings it had."""
    from austerity import models
    from austerity.models.base import Family

    name = stored["model"]
    kind = getattr(models, name, None) if name in models.__all__ else None
    kind = getattr(kind, "predicts_as", kind)
    family = None
    if isinstance(kind, type) and issubclass(kind, Family):
        known = {field.name for field in fields(kind)}
        family = kind(**{key: value for key, value in stored.items() if key in known})
    if family is None or family.mean_kernel() is None:
        what = "a likelihood of your own" if name == "Model" else name
        raise InputError(
            f"the posterior is one of {what}, whose mean response is not known: "
            "pass predict=, a function of (points, X) that returns means (rows, points)"
        )
    return family


def _coefficients(posterior: xarray.Dataset, name: str) -> tuple[Array, list[str]]:
    """beta (S, P, coefficients), and what its coefficients are called."""
    if "beta" not in posterior or "coef" not in posterior["beta"].dims:
        raise InputError(
            f"the posterior holds no beta, which {name} predicts from: sample without keep=, or with 'beta' among it"
        )
    beta = posterior["beta"]
    classes = ["class"] if "class" in beta.dims else []
    values = beta.transpose("chain", "draw", *classes, "coef").to_numpy().astype(np.float64)
    coefficients = [str(label) for label in beta["coef"].to_numpy()]
    return values.reshape(-1, values.shape[2] if classes else 1, len(coefficients)), coefficients


def _extras(posterior: xarray.Dataset, family: Family) -> Array:
    """Scales and shapes (S, E), sampled or fixed."""
    size = posterior.sizes["chain"] * posterior.sizes["draw"]
    out = np.empty((size, len(family.extra_names)))
    for place, name in enumerate(family.extra_names):
        fixed = family.extra_value(name)
        if fixed is None and name not in posterior:
            raise InputError(f"the posterior holds no {name}: sample without keep=, or with {name!r} among it")
        column = posterior[name].transpose("chain", "draw").to_numpy().ravel() if fixed is None else float(fixed)
        out[:, place] = column
    return out

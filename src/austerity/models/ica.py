"""Independent component analysis:  s = W (x - m),  the components s_p independent and logistic.

    p(x | W) = |det W| prod_p [4 cosh^2(s_p / 2)]^-1

On white rows W is orthogonal; its prior is uniform on the orthogonal matrices. Rows that are not white are whitened
first, z = V (x - m), and W is reported as U V with U orthogonal: it unmixes the columns as they were given. Order and
signs of the components are not identified: compare by `amari_distance`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..report.variables import Variable
from ..rows.held import Rows
from .base import Family, check_columns
from .priors import Flat, Prior
from .target import Target
from .whitening import check_white, moments, whitened, whitening_matrix


@dataclass(frozen=True, eq=False)
class ICA(Family):
    """Independent components of the columns, as many as there are columns.

    whiten: whiten the rows first, in a copy; False takes rows that are white already, as they lie.
    """

    whiten: bool = True

    needs_response = False

    def __post_init__(self) -> None:
        if not isinstance(self.whiten, (bool, np.bool_)):
            raise InputError(f"ICA(whiten={self.whiten!r}): give True or False")
        for name in ("prior", "intercept_prior"):
            if getattr(self, name) is not None:
                raise InputError(f"ICA takes no {name}=: its prior is uniform on the orthogonal matrices, leave it out")

    def predictors(self, rows: Rows) -> int:
        return rows.d

    def classes(self, rows: Rows) -> list[str] | None:
        return [str(component) for component in range(rows.d)]

    def options(self) -> dict[str, Any]:
        return {"whiten": bool(self.whiten), "prior": "uniform on the orthogonal matrices"}

    def _priors(
        self, rows: Rows, coefficients: list[str], intercept: bool, standardize: bool, notes: list[str]
    ) -> list[Prior]:
        """Flat with respect to Haar measure, in which orthogonal moves are symmetric."""
        return [Flat()] * len(coefficients)

    def kernels(self) -> tuple[Any, Any]:
        from .kernels import ica

        return ica.value, ica.slopes

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior on these rows: theta is U, row by row."""
        self._check(rows, intercept, standardize)
        found, matrix = moments(rows), np.eye(rows.d)
        if self.whiten:
            matrix = whitening_matrix(found.covariance, rows.names)
            rows = whitened(rows, found, matrix)
        else:
            check_white(found, rows.names)
        target = super().bind(rows, False, False)
        coords: dict[str, list[Any]] = {"component": list(range(rows.d)), "feature": list(rows.names)}
        variable = Variable("W", ("component", "feature"), coords, 0, rows.d**2)
        return replace(
            target,
            labels=variable.labels(),
            variables=[variable],
            initial=np.eye(rows.d).ravel(),
            orthogonal=rows.d,
            to_natural=np.kron(np.eye(rows.d), matrix.T) if self.whiten else None,
        )

    def _check(self, rows: Rows, intercept: bool, standardize: bool) -> None:
        """Refuse what has no meaning here, and columns without components."""
        if rows.has_response:
            raise InputError(f"ICA has no response, but {rows.target} was given as one: pass X alone")
        if intercept or standardize:
            option = "intercept" if intercept else "standardize"
            raise InputError(f"ICA centres and whitens its columns by itself: leave out {option}=True")
        if rows.has_offset:
            raise InputError("ICA has no offset: leave out offset=")
        if rows.d < 2:
            raise InputError(f"ICA needs at least 2 columns, but there is {rows.names[0]!r} alone: give more")
        check_columns(rows, False)
        still = [name for name, sd in zip(rows.names, rows.sd, strict=True) if sd == 0]
        if still:
            raise InputError(f"column {still[0]!r} is constant, so there is nothing in it to unmix: leave it out")

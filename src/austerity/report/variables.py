"""Names for the slices of the flat vector a chain writes at every draw."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError

RESERVED = ("chain", "draw")


@dataclass(frozen=True)
class Variable:
    """out[start:stop] reshaped to the sizes of dims; a scalar has dims == () and stop - start == 1.

    coords: the coordinate values of every dim, one list of str or of int for each.
    """

    name: str
    dims: tuple[str, ...]
    coords: dict[str, list[Any]]
    start: int
    stop: int

    def __post_init__(self) -> None:
        """Refuse a name that cannot be stored, or sizes that do not fill the slice."""
        for word in (self.name, *self.dims):
            if not isinstance(word, str) or not word.isidentifier() or word in RESERVED:
                raise InputError(
                    f"{word!r} cannot name a variable or a dimension: "
                    f"use letters, digits and underscores, and neither of {RESERVED}."
                )
        if self.name in self.dims or len(set(self.dims)) != len(self.dims):
            raise InputError(f"Variable {self.name!r} has dims {self.dims}: they must differ from it and each other.")
        if set(self.dims) != set(self.coords):
            raise InputError(f"Variable {self.name!r} has dims {self.dims} but coords for {tuple(self.coords)}.")
        if self.start < 0 or prod(self.shape) != self.stop - self.start:
            raise InputError(
                f"Variable {self.name!r} of shape {self.shape} does not fill the slice [{self.start}:{self.stop})."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of dims; () for a scalar."""
        return tuple(len(self.coords[dim]) for dim in self.dims)

    @property
    def size(self) -> int:
        """How many entries of the flat vector belong to this variable."""
        return self.stop - self.start

    def take(self, flat: NDArray[np.float64]) -> NDArray[np.float64]:
        """flat (..., width) -> (..., *shape), a view where NumPy can give one."""
        return flat[..., self.start : self.stop].reshape(*flat.shape[:-1], *self.shape)

    def labels(self) -> list[str]:
        """One label per entry in the order of the flat vector: 'beta[age]', 'W[0, 3]', 'sigma'."""
        if not self.dims:
            return [self.name]
        indices = np.ndindex(*self.shape)
        lists = [self.coords[dim] for dim in self.dims]
        return [
            f"{self.name}[{', '.join(str(values[i]) for values, i in zip(lists, index, strict=True))}]"
            for index in indices
        ]

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them."""
        coords = {dim: [_plain(value) for value in values] for dim, values in self.coords.items()}
        return {
            "name": self.name,
            "dims": list(self.dims),
            "coords": coords,
            "start": int(self.start),
            "stop": int(self.stop),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Variable:
        """Read what to_dict wrote; InputError where it is of another shape."""
        try:
            dims = tuple(fields["dims"])
            coords = {dim: _coordinate(fields["coords"][dim]) for dim in dims}
            name, start, stop = fields["name"], fields["start"], fields["stop"]
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"A variable is described by {str(fields)[:80]!r}, which lacks {error}.") from None
        if type(start) is not int or type(stop) is not int:
            raise InputError(f"Variable {str(name)[:40]!r} has start {start!r} and stop {stop!r}: both must be int.")
        return cls(name, dims, coords, start, stop)


def check_variables(variables: list[Variable]) -> int:
    """The width of the flat vector, when the slices cover it once, in order, and shared dims agree."""
    if not variables:
        raise InputError("There is no variable to draw: give at least one.")
    position, coords = 0, dict[str, list[Any]]()
    names = [variable.name for variable in variables]
    for variable in variables:
        if variable.start != position:
            raise InputError(f"Variable {variable.name!r} starts at {variable.start}, expected {position}.")
        position = variable.stop
        for dim, values in variable.coords.items():
            if dim in names:
                raise InputError(f"{dim!r} names both a variable and a dimension of {variable.name!r}: rename one.")
            if coords.setdefault(dim, values) != values:
                raise InputError(f"Dimension {dim!r} of variable {variable.name!r} has other coordinates elsewhere.")
    if len(set(names)) != len(names):
        raise InputError(f"Two variables share a name among {names}: rename one.")
    return position


def _plain(value: Any) -> str | int:
    """A coordinate value as JSON holds it."""
    return int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else str(value)


def _coordinate(values: Any) -> list[Any]:
    """A list of str or of int, else TypeError."""
    if not isinstance(values, list) or not (all(type(v) is int for v in values) or all(type(v) is str for v in values)):
        raise TypeError("a list of str or of int as coordinates")
    return values

"""Everything that can be wrong with factors and states, each as one sentence: the value, the place, the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

MOST_VARIABLES = 3


def pairs_of(factors: Any) -> list[tuple[Any, Any]]:
    """(variables, table) of every factor."""
    sentence = "give factors as {(0, 1): table, ...} or as pairs (variables, table)"
    try:
        pairs = list(factors.items() if isinstance(factors, Mapping) else factors)
    except TypeError:
        raise InputError(f"factors={factors!r}: {sentence}") from None
    if not pairs:
        raise InputError(f"there is no factor: {sentence}")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"{str(pair)[:60]} is no factor: {sentence}")
    return pairs


def named(pairs: list[tuple[Any, Any]], names: Sequence[str] | None) -> list[str] | None:
    """Names of the variables: as given, in the order in which factors name them, or None for plain numbers."""
    if names is None:
        first = (name for given, _ in pairs for name in (given if isinstance(given, tuple) else ()))
        found = dict.fromkeys(name for name in first if isinstance(name, str))
        return list(found) or None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"names={names!r}: give a list of text, one for each variable")
    twice = [name for name in names if list(names).count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise InputError(f"names holds {twice[0]!r} twice: give every variable a name of its own")
    return list(names)


def one_factor(given: Any, table: Any, places: dict[str, int] | None) -> tuple[list[int], NDArray[np.float64]]:
    """Variables by number, and a table with an axis for each."""
    chosen = given if isinstance(given, (tuple, list)) else (given,)
    variables = [_number(name, given, places) for name in chosen]
    values = _numbers(table, f"the table of factor {given!r}")
    if not 1 <= len(variables) <= MOST_VARIABLES:
        raise InputError(f"factor {given!r} names {len(variables)} variables: a factor has one, two or three")
    if values.ndim != len(variables):
        raise InputError(
            f"the table of factor {given!r} has shape {values.shape}, but the factor names {len(variables)} variables: "
            "give a table with one axis for each"
        )
    return variables, values


def _number(name: Any, given: Any, places: dict[str, int] | None) -> int:
    if isinstance(name, str):
        if places is None or name not in places:
            raise InputError(f"factor {given!r} names {name!r}, which is none of the variables: see names=")
        return places[name]
    if isinstance(name, (bool, np.bool_)) or not isinstance(name, (int, np.integer)):
        raise InputError(f"factor {given!r} names {name!r}: give variables by number, from 0, or by name")
    return int(name)


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "fiub":
            raise ValueError
        return found.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is {str(values)[:60]}: give an array of real numbers") from None


def arrays(variables: Any, tables: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """variables (F, order) and tables (F, *shape)."""
    chosen, values = np.asarray(variables), _numbers(tables, "tables")
    if chosen.dtype.kind not in "iu" or chosen.ndim != 2 or not 1 <= chosen.shape[1] <= MOST_VARIABLES:
        raise InputError(
            f"variables has shape {chosen.shape} and type {chosen.dtype}: give whole numbers, one line a factor and "
            "one, two or three a line"
        )
    if len(chosen) == 0:
        raise InputError("there is no factor: variables has no line")
    if values.ndim != 1 + chosen.shape[1] or len(values) != len(chosen):
        raise InputError(
            f"tables has shape {values.shape} for {len(chosen)} factors of {chosen.shape[1]} variables: give one "
            "table a factor, with one axis for each of its variables"
        )
    return chosen.astype(np.int64), values


def logarithms(variables: NDArray[np.int64], tables: NDArray[np.float64], log: bool) -> NDArray[np.float64]:
    """Tables (F, *shape) as finite logarithms."""
    bad = ~np.isfinite(tables) | ((tables <= 0) & (not log))
    if bad.any():
        at = tuple(int(place) for place in np.argwhere(bad)[0])
        factor, value = tuple(int(v) for v in variables[at[0]]), tables[at]
        kind = "a finite logarithm" if log else "a positive weight"
        remedy = "" if log or value != 0 else " (a state that cannot be has no conditional: give it a small weight)"
        raise InputError(f"the table of factor {factor} holds {value:g} at {at[1:]}: give {kind}{remedy}")
    return tables if log else np.log(tables)


def refuse_overflow(groups: Sequence[Any], dtype: str) -> None:
    """Refuse logarithms whose differences the type of the tables cannot hold."""
    most = float(np.finfo(dtype).max) / 4.0
    for group in groups:
        large = np.abs(group.logs) > most
        if large.any():
            at = tuple(int(place) for place in np.argwhere(large)[0])
            factor = tuple(int(v) for v in group.variables[at[0]])
            raise InputError(
                f"the table of factor {factor} has logarithm {group.logs[at]:g} at {at[1:]}: too large for {dtype}"
            )


def states(groups: Sequence[Any], n_named: int | None) -> NDArray[np.int64]:
    """How many values each variable has (D,), as all tables agree."""
    largest = max(int(group.variables.max()) for group in groups)
    size = largest + 1 if n_named is None else n_named
    found = np.zeros(size, np.int64)
    for group in groups:
        _check_variables(group.variables, size)
        for axis, column in enumerate(group.variables.T):
            length = group.logs.shape[1 + axis]
            other = (found[column] != 0) & (found[column] != length)
            other |= length < 2
            if other.any():
                at = int(np.argmax(other))
                _refuse_length(tuple(int(v) for v in group.variables[at]), group.logs.shape[1:], axis, found)
            found[column] = length
    if not found.all():
        raise InputError(
            f"variable {int(np.argmin(found))} is in no factor, so the model says nothing of it: leave it out"
        )
    return found


def _refuse_length(factor: tuple[int, ...], shape: tuple[int, ...], axis: int, found: NDArray[np.int64]) -> None:
    if shape[axis] < 2:
        raise InputError(
            f"the table of factor {factor} has shape {shape}, so that variable {factor[axis]} has {shape[axis]} "
            "values: a variable has at least two"
        )
    raise InputError(
        f"the table of factor {factor} has shape {shape}, but variable {factor[axis]} has {found[factor[axis]]} "
        "values in another factor: give tables that agree"
    )


def _check_variables(variables: NDArray[np.int64], size: int) -> None:
    outside = ((variables < 0) | (variables >= size)).any(axis=1)
    if outside.any():
        factor = tuple(int(v) for v in variables[int(np.argmax(outside))])
        raise InputError(f"factor {factor} names a variable outside 0 to {size - 1}: there are {size} variables")
    ordered = np.sort(variables, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        factor = tuple(int(v) for v in variables[int(np.argmax(twice))])
        raise InputError(f"factor {factor} names a variable twice: put what it says into a table of fewer variables")


def given_states(x: Any, states: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """States (..., D) as whole numbers within their ranges."""
    values = _numbers(x, name)
    if values.ndim == 0 or values.shape[-1] != states.size:
        raise InputError(f"{name} has shape {values.shape}, but there are {states.size} variables: give (..., D)")
    wrong = (values != np.floor(values)) | (values < 0) | (values >= states)
    if wrong.any():
        at = tuple(int(place) for place in np.argwhere(wrong)[0])
        raise InputError(
            f"{name} gives variable {at[-1]} the value {values[at]:g}: give a whole number from 0 to "
            f"{states[at[-1]] - 1}"
        )
    return values.astype(np.int64)

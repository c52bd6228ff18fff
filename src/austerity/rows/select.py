"""Which columns are inputs, which one is the response, and where weights and offset come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from . import checks
from .sources import Source
from .tables import source_of


def choose(
    source: Source,
    y: Any,
    target: str | int | None,
    names: Sequence[str] | None,
    columns: Sequence[str | int] | str | int | None,
    weights: Any,
    offset: Any,
) -> tuple[dict[str, Source], str]:
    """The parts X, y, weights and offset as sources, X first, and the name of the response ("" without one).

    Without y, `target` names the column of the source that is the response; with y it only labels it.
    `weights` and `offset` are values, or the names of columns; columns used so are no inputs unless listed.
    """
    source = _named(source, names)
    known = source.names
    response = None if y is not None or target is None else _position(target, "target", known)
    taken = set() if response is None else {response}
    others: dict[str, Source] = {}
    for role, given in (("weights", weights), ("offset", offset)):
        if isinstance(given, str):
            position = _position(given, role, known)
            taken.add(position)
            others[role] = _one(source, position)
        elif given is not None:
            others[role] = source_of(given, role)
    inputs = _inputs(known, columns, taken)
    if response is not None and response in inputs:
        raise InputError(f'column "{known[response]}" is both the target and an input; leave it out of columns=[...].')
    checks.check_named([known[position] for position in inputs])
    whole = inputs == list(range(len(known)))
    parts = {"X": source if whole else source.select(inputs, [known[position] for position in inputs])}
    label = ""
    if response is not None:
        parts["y"], label = _one(source, response), known[response]
    elif y is not None:
        parts["y"] = _response(y)
        label = _label(target, parts["y"], known)
        if len(parts["y"].names) == 1:
            parts["y"] = parts["y"].select([0], [label])
    return {**parts, **others}, label


def needed_columns(target: Any, columns: Any, weights: Any, offset: Any) -> list[str] | None:
    """The names a file reader has to load, or None for all of them."""
    if columns is None:
        return None
    wanted = [*_listed(columns), target, weights, offset]
    return list(dict.fromkeys(name for name in wanted if isinstance(name, str)))


def _named(source: Source, names: Sequence[str] | None) -> Source:
    if names is not None:
        wanted = _listed(names)
        if len(wanted) != len(source.names):
            raise InputError(
                f"names has {len(wanted)} entries and X has {len(source.names)} columns; pass one name for each column."
            )
        for position, name in enumerate(wanted):
            if not isinstance(name, str):
                raise InputError(f"names[{position}] is {name!r}, not text; pass column names as strings.")
        source = source.select(range(len(wanted)), wanted)
    checks.check_names(source.names)
    return source


def _listed(given: Any) -> list[Any]:
    """A single name or position counts as a list of one; a string is never taken letter by letter."""
    return [given] if isinstance(given, (str, int, np.integer)) else list(given)


def _position(given: Any, role: str, known: Sequence[str]) -> int:
    """The position of a column given by name or by number (negative numbers count from the end)."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not -len(known) <= given < len(known):
            raise InputError(f"{role} {given} is not a column; the columns are numbered 0 to {len(known) - 1}.")
        return int(given) % len(known)
    if given not in known:
        checks.unknown_column(given, role, known)
    return known.index(given)


def _one(source: Source, position: int) -> Source:
    return source.select([position], [source.names[position]])


def _inputs(known: Sequence[str], columns: Any, taken: set[int]) -> list[int]:
    if columns is None:
        return [position for position in range(len(known)) if position not in taken]
    chosen = [_position(column, "input", known) for column in _listed(columns)]
    checks.check_names([known[position] for position in chosen])
    return chosen


def _response(y: Any) -> Source:
    if isinstance(y, (str, Path)) and str(y).endswith((".npy", ".csv", ".parquet")):
        raise InputError(f"y={str(y)!r} is a path; pass the values it holds, such as numpy.load of a .npy file.")
    if isinstance(y, str):
        raise InputError(f"y={y!r} is text, not one value for each row; to name a column pass target={y!r}.")
    return source_of(y, "y")


def _label(target: Any, response: Source, known: Sequence[str]) -> str:
    """What the response is called when it does not come from the table: target, its own name, or "y"."""
    if target is None:
        return response.names[0] if response.named and len(response.names) == 1 else "y"
    if target in known:
        raise InputError(f"both y and target={target!r}, a column of the table, were given; pass one of the two.")
    return str(target)

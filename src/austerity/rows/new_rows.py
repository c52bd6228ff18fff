"""New rows for a posterior: columns matched with those it was made from, handed over piece by piece, never held whole.

A float32 array that lies row by row is used where it lies; anything else is converted a piece at a time, so that a file
or table of any length takes little memory. Columns that lay far from zero when the posterior was made are centred
before they are rounded to float32.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import InputError
from . import checks
from .held import DoubleArray, FloatArray, Rows, writable_view
from .select import choose
from .sources import ArraySource, Block, Source, rechunk
from .tables import source_of

PIECE_VALUES = 1 << 20  # values of a piece: enough work for all threads between two looks at the clock
SHOWN = 8


class Expected(NamedTuple):
    """The columns that a posterior was made from: how many, their names where known, what the response was called.

    centre: (d,) what is taken off a column before it is rounded to float32, zeros but for those far from zero.
    """

    width: int
    names: tuple[str, ...] | None
    target: str
    centre: DoubleArray | None


class Piece(NamedTuple):
    """Rows first, first + 1, ... of the new ones: X (n, d) T, offset (n,) T or empty."""

    first: int
    X: FloatArray
    offset: FloatArray


@dataclass(frozen=True, eq=False)
class NewRows:
    """x = centre + scale * X of the pieces; offset and y hold all rows (float64), of size 0 where absent."""

    source: Source
    n: int
    dtype: np.dtype[Any]
    centre: DoubleArray
    scale: DoubleArray
    offset: DoubleArray
    y: DoubleArray
    target: str
    as_is: FloatArray | None

    def pieces(self, whole: int, most: int) -> Iterator[Piece]:
        """Pieces of a whole number of blocks of `whole` rows, of at most `most` rows if that is a block."""
        rows = max(1, min(PIECE_VALUES // max(1, self.centre.size), most) // whole) * whole
        with np.errstate(over="ignore"):
            offset = self.offset.astype(self.dtype)
        if not np.isfinite(offset).all():
            row = int(np.argmin(np.isfinite(offset)))
            raise InputError(
                f"offset is {self.offset[row]:g} in row {row}, too large for {self.dtype}: give dtype='float64'"
            )
        first = 0
        for block in self._blocks(rows):
            X = block if self.as_is is not None else self._converted(block, first)
            self._check_finite(X, block, first)
            yield Piece(first, X, offset[first : first + len(block)])
            first += len(block)

    def _blocks(self, rows: int) -> Iterator[Block]:
        if self.as_is is None:
            return rechunk(self.source.pieces(), rows)
        array = self.as_is
        return (array[start : start + rows] for start in range(0, self.n, rows))

    def _converted(self, block: Block, first: int) -> FloatArray:
        """(x - centre) / scale in float64, rounded once."""
        values = block if not self.centre.any() else block - self.centre
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(values, dtype=self.dtype)

    def _check_finite(self, X: FloatArray, block: Block, first: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.sum()) or np.isfinite(X).all():
                return
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(X)))
        value = float(block[row, column])
        where = f'column "{self.source.names[column]}" of the new rows'
        if np.isfinite(value):
            raise InputError(
                f'{where} is {value:.3g} in row {first + row}, too large for float32: pass dtype="float64"'
            )
        _refuse_value(where, value, first + row)


def open_new(
    source: Any,
    expected: Expected,
    *,
    y: Any = None,
    target: str | None = None,
    offset: Any = None,
    columns: Any = None,
    names: Sequence[str] | None = None,
    dtype: Any = "float32",
    scored: bool = False,
) -> NewRows:
    """New rows checked and matched; scored: a response is looked for, too."""
    if isinstance(source, Rows):
        return _of_rows(source, expected, {"y": y, "target": target, "offset": offset, "columns": columns}, names)
    kind = checks.check_options(dtype, "error")
    found = _source(source)
    named = names is not None or found.named
    known = tuple(names) if names is not None else found.names
    label = target if target is not None else expected.target
    inside = named and label in known and label not in (expected.names or ())  # the table holds the response too
    wanted_y = scored and y is None and inside
    if inside and columns is None and not wanted_y:
        columns = [name for name in known if name != label and not (isinstance(offset, str) and name == offset)]
    parts, _ = choose(found, y if scored else None, label if wanted_y else None, names, columns, None, offset)
    inputs = _matched(parts["X"], named, expected)
    if inputs.n == 0:
        raise InputError("the new rows are none: pass at least one row")
    checks.check_numeric("X", inputs)
    vectors = {what: _vector(what, part, inputs.n) for what, part in parts.items() if what != "X"}
    centre = np.zeros(expected.width)
    if expected.centre is not None and kind == np.float32:
        centre = expected.centre
    as_is = None if centre.any() else inputs.as_is(kind)
    return NewRows(
        source=inputs,
        n=inputs.n,
        dtype=kind,
        centre=centre,
        scale=np.ones(centre.size),
        offset=vectors.get("offset", np.zeros(0)),
        y=vectors.get("y", np.zeros(0)),
        target=label or "y",
        as_is=None if as_is is None else writable_view(as_is),
    )


def _source(given: Any) -> Source:
    if isinstance(given, (str, Path)):
        from .read import source_from_path

        return source_from_path(given)
    return source_of(given, "X")


def _of_rows(rows: Rows, expected: Expected, given: dict[str, Any], names: Any) -> NewRows:
    """Rows that are open already: checked and in order, so that only their names are compared."""
    more = [name for name, value in (*given.items(), ("names", names)) if value is not None]
    if more:
        raise InputError(f"{more[0]} cannot be given with rows that are already open: pass it where they are opened")
    source = _matched(ArraySource(rows.X, rows.names, True), rows.names != _plain(rows.d), expected)
    picks = [rows.names.index(name) for name in source.names] if source.names != rows.names else None
    ordered = rows.X if picks is None else np.ascontiguousarray(rows.X[:, picks])
    place = slice(None) if picks is None else picks
    return NewRows(
        source=ArraySource(ordered, source.names, True),
        n=rows.n,
        dtype=rows.X.dtype,
        centre=rows.centre[place],
        scale=rows.scale[place],
        offset=rows.offset.astype(np.float64),
        y=rows.y + np.float64(rows.y_centre),
        target=rows.target,
        as_is=ordered,
    )


def _plain(d: int) -> tuple[str, ...]:
    from .tables import default_names

    return default_names(d)


def _matched(inputs: Source, named: bool, expected: Expected) -> Source:
    """The columns in the order of the posterior's, by name where both have names, else by position."""
    if not named or expected.names is None:
        if len(inputs.names) != expected.width:
            raise InputError(
                f"the new rows have {len(inputs.names)} columns, but the posterior was made from {expected.width}: "
                "pass the same columns in the same order"
            )
        return inputs
    listed = ", ".join(expected.names[:SHOWN]) + (" and more" if expected.width > SHOWN else "")
    missing = [name for name in expected.names if name not in inputs.names]
    if missing:
        raise InputError(
            f"column {missing[0]!r}, which the posterior was made from, is not among the new rows' columns: "
            f"pass all of {listed}"
        )
    unknown = [name for name in inputs.names if name not in expected.names]
    if unknown:
        raise InputError(
            f"column {unknown[0]!r} of the new rows is none that the posterior was made from: "
            f"leave it out, or choose with columns= among {listed}"
        )
    if inputs.names == expected.names:
        return inputs
    return inputs.select([inputs.names.index(name) for name in expected.names], expected.names)


def _vector(what: str, part: Source, n: int) -> DoubleArray:
    """A response or an offset, whole, in float64."""
    if len(part.names) != 1 or part.n != n:
        shape = f"{part.n} values" if len(part.names) == 1 else f"{len(part.names)} columns"
        raise InputError(f"{what} has {shape} and there are {n} new rows: pass one value for each row")
    checks.check_numeric(what, part)
    values = np.concatenate([np.asarray(piece, dtype=np.float64)[:, 0] for piece in part.pieces()])
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        _refuse_value(what, float(values[wrong[0]]), int(wrong[0]))
    return values


def _refuse_value(where: str, value: float, row: int) -> NoReturn:
    kind = "missing (NaN)" if np.isnan(value) else f"{value:g}"
    raise InputError(f"{where} is {kind} in row {row} (counting from 0): correct it, or leave that row out")

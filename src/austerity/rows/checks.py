"""Everything that can be wrong with rows, each as one sentence: the value, the place, the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .held import DoubleArray
from .sources import Refusal, Source, blocks_of
from .statistics import Summary

LARGEST = {"float32": 3e38, "float64": 1e300}  # a little under the largest number, so that rounding cannot reach inf
SHOWN = 8  # columns named in one sentence


def place(what: str, names: Sequence[str], column: int) -> str:
    """How a column is called in a sentence: a response has its own name where it has one, and is else called y."""
    named = what == "X" or (what == "y" and names[column] != "y")
    return f'column "{names[column]}"' if named else what


def check_options(dtype: Any, missing: str) -> np.dtype[Any]:
    """The dtype rows will be held in."""
    if missing not in ("error", "drop"):
        raise InputError(f'missing={missing!r} is unknown; pass "error" or "drop".')
    try:
        name = "" if dtype is None else np.dtype(dtype).name  # NumPy reads None as float64
    except TypeError:
        name = ""
    if name not in LARGEST:
        raise InputError(f'dtype={dtype!r} is unknown to rows; pass "float32" or "float64".')
    held: np.dtype[Any] = np.dtype(name)
    return held


def check_names(names: Sequence[str]) -> None:
    """Names must tell the columns apart."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            raise InputError(
                f'column name "{name}" occurs twice (again at column {position}); rename one of the two columns.'
            )
        seen.add(name)


def check_named(names: Sequence[str]) -> None:
    """An input without a name is most often the row numbers that a data frame wrote beside its columns."""
    for position, name in enumerate(names):
        if not name.strip():
            raise InputError(
                f"input {position} has no name, as the row numbers that pandas writes unless told index=False; "
                "leave it out with columns=[...], or give it a name."
            )


def unknown_column(name: object, role: str, names: Sequence[str]) -> NoReturn:
    """Raise the sentence for a column that is not there, with the closest name that is."""
    lowered = {known.lower(): known for known in names}
    close = [lowered[key] for key in difflib.get_close_matches(str(name).lower(), lowered, n=1)]
    listed = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    advice = f'"{close[0]}" is the closest of' if close else "choose one of"
    raise InputError(f"{role} {name!r} is not a column; {advice} {listed}.")


def check_shapes(parts: Mapping[str, Source]) -> None:
    """Enough rows, at least one column of X, one column of everything else, the same number of rows in all."""
    inputs = parts["X"]
    n, d = inputs.n, len(inputs.names)
    if d == 0:
        raise InputError(f"X has {n} rows and no columns; pass at least one column.")
    if n < 2:
        raise InputError(f"X has {'no rows' if n == 0 else 'one row'}; at least 2 rows are needed.")
    for what, source in parts.items():
        if what != "X" and len(source.names) != 1:
            raise InputError(f"{what} has {len(source.names)} columns; pass one value for each row of X.")
        if source.n != n:
            raise InputError(f"{what} has {source.n} values and X has {n} rows; pass one value for each row of X.")


def check_numeric(what: str, source: Source) -> None:
    """Numbers and truth values only."""
    blamed: tuple[int, Refusal] | None = None
    for column in range(len(source.names)):
        refusal = source.refusal(column)
        # In an array of objects every column is refused, but seldom is the first one to blame.
        if refusal is not None and (blamed is None or refusal.culprit):
            blamed = column, refusal
            if refusal.culprit:
                break
    if blamed is not None:
        column, refusal = blamed
        where, remedy = place(what, source.names, column), "convert it to numbers"
        remedy += ", such as 0 and 1 for two classes" if what == "y" else ""
        remedy += ", or leave it out with columns=[...]" if what == "X" else ""
        raise InputError(f"{where} does not hold real numbers ({refusal.words}); {remedy}.")


def check_infinite(parts: Mapping[str, Source], summaries: Mapping[str, Summary]) -> None:
    """No infinite value anywhere, whatever is done about missing ones."""
    for what, summary in summaries.items():
        bad = np.flatnonzero(summary.faults.inf_count)
        if len(bad):
            column, faults = int(bad[0]), summary.faults
            where, total = place(what, parts[what].names, column), int(faults.inf_count.sum())
            raise InputError(
                f"{where} holds {faults.inf_value[column]} in row {faults.inf_first[column]} (counting from 0; "
                f"{total} infinite {'value' if total == 1 else 'values'} in {what} in all); "
                "correct it or leave that row out."
            )


def kept_rows(parts: Mapping[str, Source], summaries: Mapping[str, Summary], missing: str) -> NDArray[np.bool_] | None:
    """None when nothing is missing; else the rows without a missing value, or the error that counts them."""
    masks = [summary.faults.missing for summary in summaries.values() if summary.faults.missing is not None]
    if not masks:
        return None
    if missing == "error":
        _refuse_missing(parts, summaries)
    keep: NDArray[np.bool_] = ~np.logical_or.reduce(masks)
    left = int(keep.sum())
    if left < 2:
        raise InputError(
            f"{'no row is' if left == 0 else 'one row is'} left of {len(keep)} once rows with missing values are "
            "dropped; fill them in, or leave out the columns that miss most."
        )
    return keep


def _refuse_missing(parts: Mapping[str, Source], summaries: Mapping[str, Summary]) -> NoReturn:
    found = []
    for what, summary in summaries.items():
        faults = summary.faults
        for column in np.flatnonzero(faults.nan_count):
            where = place(what, parts[what].names, int(column))
            found.append(f"{faults.nan_count[column]} in {where} (first in row {faults.nan_first[column]})")
    total = sum(int(summary.faults.nan_count.sum()) for summary in summaries.values())
    more = f" and {len(found) - SHOWN} more columns" if len(found) > SHOWN else ""
    raise InputError(
        f"{total} missing {'value' if total == 1 else 'values'} (NaN), counting rows from 0: "
        f'{", ".join(found[:SHOWN])}{more}; fill them in, or pass missing="drop" to leave those rows out.'
    )


def check_weights(source: Source, summary: Summary) -> None:
    """Weights are zero or positive, and not all zero."""
    if summary.low[0] < 0:
        start = 0
        for block in blocks_of(source):
            negative = np.flatnonzero(block[:, 0] < 0)
            if len(negative):
                row = int(negative[0])
                raise InputError(
                    f"weights hold the negative value {float(block[row, 0]):g} in row {start + row} "
                    "(counting from 0); pass weights that are zero or positive."
                )
            start += len(block)
    if summary.high[0] == 0:
        raise InputError(f"weights are zero in all {summary.n} rows; give at least one row a positive weight.")


def check_range(
    what: str, names: Sequence[str], summary: Summary, centre: DoubleArray, scale: DoubleArray, dtype: np.dtype[Any]
) -> None:
    """Held values (x - centre) / scale must be finite numbers of the dtype."""
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.maximum(np.abs(summary.low - centre), np.abs(summary.high - centre)) / scale
    fits = (reach <= LARGEST[dtype.name]) & np.isfinite(summary.sd)
    if fits.all():
        return
    column = int(np.flatnonzero(~fits)[0])
    value = summary.low[column] if -summary.low[column] > summary.high[column] else summary.high[column]
    if dtype.name == "float32" and np.isfinite(summary.sd[column]):
        remedy, limit = 'divide it by a constant, or pass dtype="float64"', "too large for float32"
    else:
        remedy, limit = "divide it by a constant first", "too large for its standard deviation to be computed"
    raise InputError(f"{place(what, names, column)} reaches {value:.3g}, {limit}; {remedy}.")

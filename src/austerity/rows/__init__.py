"""Where rows live, how they are checked, and the two ways to read them: a pass and a draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .held import Rows

if TYPE_CHECKING:
    from .summary import Summary

__all__ = ["Rows", "Summary", "open"]


def __getattr__(name: str) -> Any:
    """Summary comes with compiled code, and so only when it is asked for."""
    if name != "Summary":
        raise AttributeError(f"module 'austerity.rows' has no attribute {name!r}")
    from .summary import Summary

    return Summary


def open(
    source: Any,
    y: Any = None,
    *,
    target: str | int | None = None,
    names: Sequence[str] | None = None,
    columns: Sequence[str | int] | str | int | None = None,
    weights: Any = None,
    offset: Any = None,
    dtype: Any = "float32",
    missing: str = "error",
    centre_response: bool = False,
    centre_columns: bool = True,
) -> Rows:
    """Checked rows from an array, a table (pandas, polars, Arrow, xarray) or a path (.csv, .parquet, .npy).

    y: the response, (N,); or target= names the column that holds it. columns= selects the inputs, names= renames
    the columns, weights= and offset= are values or names of columns. missing="drop" leaves out rows with NaN.
    Columns that are converted are centred and scaled, unless centre_columns=False, as for a likelihood of your own.
    An array that is C-contiguous and of the dtype asked for is used without a copy; do not write to it afterwards.
    Rows that are already checked are returned as they are.
    """
    given = {"y": y, "target": target, "names": names, "columns": columns, "weights": weights, "offset": offset}
    if isinstance(source, Rows):
        _refuse_options(given, dtype, missing)  # a model that would have its response centred takes it as it is, too
        return source
    options: dict[str, Any] = {**given, "dtype": dtype, "missing": missing}
    options |= {"centre_response": centre_response, "centre_columns": centre_columns}
    if isinstance(source, (str, Path)):
        from .read import read_table

        return read_table(source, **options)
    from .convert import assemble
    from .tables import source_of

    return assemble(source_of(source, "X"), **options)


def _refuse_options(given: dict[str, Any], dtype: Any, missing: str) -> None:
    """Rows are checked and converted once, so nothing can be asked of them a second time."""
    from ..errors import InputError

    defaults = {"dtype": "float32", "missing": "error"}
    later = {"dtype": dtype, "missing": missing}
    names = [name for name, value in given.items() if value is not None]
    names += [name for name, value in later.items() if value != defaults[name]]
    if names:
        raise InputError(
            f"{', '.join(names)} cannot be given with rows that are already open; "
            "pass it where they are opened, or open the array or file again."
        )

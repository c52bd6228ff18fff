"""From an object the user holds (array, data frame, Arrow table, nested list) to a Source; nothing is copied here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from .held import DoubleArray
from .sources import ArraySource, Column, ColumnSource, Refusal, Source, describe_values


def source_of(data: Any, what: str) -> Source:
    """The Source behind `data`; `what` (X, y, weights, offset) is its name in error sentences.

    A library is used only when the object comes from it, so none of them is ever imported for its own sake.
    """
    readers: dict[str, Callable[[Any, str], Source]] = {
        "pandas": _from_pandas,
        "polars": _from_polars,
        "pyarrow": _from_arrow,
        "xarray": _from_xarray,
    }
    packages = [base.__module__.partition(".")[0] for base in type(data).__mro__]
    _refuse_known(data, packages, what)
    reader = next((readers[package] for package in packages if package in readers), _from_array)
    return reader(data, what)


def default_names(d: int) -> tuple[str, ...]:
    """x0, x1, ..."""
    return tuple(f"x{column}" for column in range(d))


def _refuse_known(data: Any, packages: Sequence[str], what: str) -> None:
    """Objects that NumPy would turn into something else than their rows."""
    name = type(data).__name__
    if data is None:
        raise InputError(f"{what} is None; pass an array or a table with one row for each observation.")
    if isinstance(data, (str, bytes, dict, set)):
        raise InputError(
            f"{what} is a {name}, not an array or a table; pass numbers, or open a file with austerity.rows.open(path)."
        )
    if "scipy" in packages:
        raise InputError(f"{what} is a sparse {name}, and rows are held densely; pass {what}.toarray().")
    if "dask" in packages or name == "LazyFrame":
        remedy = "collect" if name == "LazyFrame" else "compute"
        raise InputError(f"{what} is a lazy {name} that is not in memory; pass {what}.{remedy}().")


def _from_array(data: Any, what: str) -> Source:
    try:
        array = np.asanyarray(data)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = _uneven(data) or str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{what} ({type(data).__name__}) cannot be read as an array ({reason}); "
            "pass a rectangular table of numbers, every row of the same length."
        ) from error
    if array.dtype.names is not None:
        raise InputError(
            f"{what} is a structured array with fields {', '.join(array.dtype.names[:8])}; "
            "pass a plain matrix of numbers or a data frame."
        )
    if array.ndim not in (1, 2):
        raise InputError(
            f"{what} has {array.ndim} dimensions (shape {array.shape}); "
            f"pass {'a matrix of rows and columns' if what == 'X' else 'one value for each row'}."
        )
    if isinstance(array, np.ma.MaskedArray):
        return _from_masked(array if array.ndim == 2 else array[:, np.newaxis])
    matrix = np.asarray(array)
    matrix = matrix if matrix.ndim == 2 else matrix[:, np.newaxis]
    return ArraySource(matrix, default_names(matrix.shape[1]))


def _uneven(data: Any) -> str:
    """Which row of nested lists has another length than the first; "" if none has."""
    if isinstance(data, (list, tuple)):
        lengths = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else 1 for row in data]
        for row, length in enumerate(lengths):
            if length != lengths[0]:
                return f"row {row} has length {length}, row 0 has {lengths[0]}"
    return ""


def _from_masked(array: Any) -> Source:
    """Masked values are missing values; NumPy alone would hand over whatever lies under the mask."""

    def column(position: int) -> Column:
        def read(start: int, stop: int) -> DoubleArray:
            values = array[start:stop, position]
            return np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values).astype(np.float64))

        numeric = array.dtype.kind in "biuf"
        return Column(
            f"x{position}",
            read,
            lambda: None if numeric else describe_values(array[:, position], f"dtype {array.dtype}"),
        )

    columns = tuple(column(position) for position in range(array.shape[1]))
    return ColumnSource(columns, array.shape[0], default_names(len(columns)), named=False)


def _from_xarray(data: Any, what: str) -> Source:
    if type(data).__name__ != "DataArray":
        raise InputError(f"{what} is an xarray {type(data).__name__}; pass one DataArray of rows and columns.")
    source = source_of(data.data, what)
    if data.ndim == 2 and data.dims[1] in data.coords:
        return _renamed(source, [str(label) for label in data.coords[data.dims[1]].values.tolist()])
    return _renamed(source, [str(data.name)]) if data.ndim == 1 and data.name is not None else source


def _renamed(source: Source, names: Sequence[str]) -> Source:
    if isinstance(source, ArraySource):
        return ArraySource(source.array, tuple(names), named=True)
    assert isinstance(source, ColumnSource)
    return ColumnSource(source.columns, source.n, tuple(names), named=True)


def _from_pandas(data: Any, what: str) -> Source:
    if not hasattr(data, "iloc"):  # an Index or an extension array: no columns, so the plain array it stands for
        return _from_array(np.asarray(data), what)
    if data.ndim == 1:
        labels, series = [data.name], [data]
    else:
        labels, series = list(data.columns), [data.iloc[:, position] for position in range(data.shape[1])]
    columns = [_pandas_column(str(label), column) for label, column in zip(labels, series, strict=True)]
    return _table(columns, len(data), named=data.ndim == 2 or data.name is not None)


def _pandas_column(name: str, series: Any) -> Column:
    pandas = sys.modules["pandas"]
    dtype = series.dtype
    plain = isinstance(dtype, np.dtype)
    numeric = dtype.kind in "biuf" if plain else pandas.api.types.is_any_real_numeric_dtype(dtype)
    numeric = numeric or (not plain and pandas.api.types.is_bool_dtype(dtype) and dtype.name != "category")
    values = series.to_numpy() if plain else None

    def read(start: int, stop: int) -> DoubleArray:
        if values is not None:
            found: DoubleArray = values[start:stop].astype(np.float64)
        else:
            found = series.iloc[start:stop].to_numpy(dtype=np.float64, na_value=np.nan)
        return found

    return Column(name, read, lambda: None if numeric else describe_values(_present(series), f"dtype {dtype}"))


def _present(series: Any) -> Iterator[Any]:
    """The values of a pandas series with None for the missing ones."""
    return (None if missing else value for value, missing in zip(series, series.isna(), strict=True))


def _from_polars(data: Any, what: str) -> Source:
    frame = data.to_frame() if type(data).__name__ == "Series" else data
    columns = [_polars_column(series) for series in frame.get_columns()]
    return _table(columns, frame.height, named=frame is data or data.name != "")


def _polars_column(series: Any) -> Column:
    polars = sys.modules["polars"]
    numeric = series.dtype.is_numeric() or series.dtype in (polars.Boolean, polars.Null)

    def read(start: int, stop: int) -> DoubleArray:
        found: DoubleArray = series.slice(start, stop - start).cast(polars.Float64).to_numpy()
        return found

    return Column(series.name, read, lambda: None if numeric else describe_values(series, f"dtype {series.dtype}"))


def _from_arrow(data: Any, what: str) -> Source:
    arrow = sys.modules["pyarrow"]
    if isinstance(data, arrow.RecordBatch):
        data = arrow.Table.from_batches([data])
    if isinstance(data, arrow.Table):
        columns = [arrow_column(name, data.column(at)) for at, name in enumerate(data.column_names)]
        return _table(columns, data.num_rows, named=True)
    if isinstance(data, (arrow.Array, arrow.ChunkedArray)):
        return _table([arrow_column("x0", data)], len(data), named=False)
    raise InputError(f"{what} is a pyarrow {type(data).__name__}; pass a pyarrow Table, or an Array for one column.")


def arrow_column(name: str, values: Any) -> Column:
    """A column from a pyarrow Array or ChunkedArray."""

    def read(start: int, stop: int) -> DoubleArray:
        return arrow_numbers(values.slice(start, stop - start))

    def refusal() -> Refusal | None:
        if is_arrow_numeric(values.type):
            return None
        return describe_values((value.as_py() for value in values), f"type {values.type}")

    return Column(name, read, refusal)


def arrow_numbers(values: Any) -> DoubleArray:
    """float64 from a pyarrow Array or ChunkedArray, NaN for null; 64-bit integers are rounded as NumPy rounds them."""
    cast = values.cast(sys.modules["pyarrow"].float64(), safe=False)
    found: DoubleArray = cast.to_numpy() if hasattr(cast, "chunks") else cast.to_numpy(zero_copy_only=False)
    return found


def is_arrow_numeric(kind: Any) -> bool:
    """Whether a pyarrow type is a number, a truth value or all null."""
    types = sys.modules["pyarrow"].types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _table(columns: Sequence[Column], n: int, named: bool) -> Source:
    names = tuple(column.name for column in columns) if named else default_names(len(columns))
    return ColumnSource(tuple(columns), n, names, named)

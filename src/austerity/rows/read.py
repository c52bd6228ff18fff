"""Tables in files: CSV and Parquet through pyarrow, .npy by mapping the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .convert import assemble
from .held import FloatArray, Rows
from .select import needed_columns
from .sources import Block, Refusal, Source, describe_values, piece_rows
from .tables import arrow_numbers, is_arrow_numeric, source_of

NPY_MAGIC = b"\x93NUMPY"
BUFFER_BYTES = 1 << 20  # read-ahead for each column of a Parquet file; without it whole column chunks are loaded


def read_table(
    path: str | Path,
    target: str | int | None = None,
    columns: Sequence[str | int] | str | int | None = None,
    *,
    y: Any = None,
    names: Sequence[str] | None = None,
    weights: Any = None,
    offset: Any = None,
    dtype: Any = "float32",
    missing: str = "error",
    centre_response: bool = False,
    centre_columns: bool = True,
) -> Rows:
    """Rows from a .csv, .parquet or .npy file; target, columns, weights and offset may be names of columns.

    Parquet is read piece by piece, twice, so that little more than the held rows is ever in memory; .npy is mapped,
    and used without a copy if it is C-contiguous, of the dtype asked for and no column is taken out of it. CSV is
    loaded whole before it is converted: a table that does not fit is better kept as Parquet.
    """
    wanted = None if names is not None else needed_columns(target, columns, weights, offset)
    return assemble(
        source_from_path(path, wanted), y, target=target, names=names, columns=columns,
        weights=weights, offset=offset, dtype=dtype, missing=missing,
        centre_response=centre_response, centre_columns=centre_columns,
    )  # fmt: skip


def source_from_path(path: str | Path, wanted: Sequence[str] | None = None) -> Source:
    """The Source behind a file; `wanted`: the columns that will be used, None for all."""
    file = Path(path).expanduser()
    if file.is_dir():
        raise InputError(f"{file} is a directory; pass the path of one .csv, .parquet or .npy file.")
    if not file.exists():
        raise InputError(f"{file} does not exist; check the path (the working directory is {Path.cwd()}).")
    suffix = file.suffix.lower()
    if suffix == ".csv":
        return _csv(file, wanted)
    if suffix == ".parquet":
        return _parquet(file)
    if suffix == ".npy":
        return _npy(file)
    if suffix == ".npz":
        raise InputError(f"{file} is an archive of several arrays; save the matrix alone with numpy.save as .npy.")
    raise InputError(f"{file} has the suffix {suffix or '(none)'!r}; pass a .csv, .parquet or .npy file.")


def _require_arrow(file: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{file} needs pyarrow, which is not installed; install it with pip install austerity[arrow]."
        ) from error


def _unreadable(file: Path, kind: str, error: Exception) -> InputError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"{file} cannot be read as {kind} ({reason}); it may be cut short or damaged: write it again.")


def _npy(file: Path) -> Source:
    with file.open("rb") as opened:
        begins = opened.read(len(NPY_MAGIC))
    if begins != NPY_MAGIC:
        raise _unreadable(file, "a .npy array", ValueError(f"it begins with {begins!r}"))
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        if "Python objects" in str(error):
            raise InputError(f"{file} holds Python objects, which are never loaded; save it as numbers.") from error
        raise _unreadable(file, "a .npy array", error) from error
    return source_of(array, "X")


def _csv(file: Path, wanted: Sequence[str] | None) -> Source:
    _require_arrow(file)
    import pyarrow
    from pyarrow import csv

    try:
        include = None
        if wanted is not None:
            with csv.open_csv(file) as reader:
                header = reader.schema.names
            # An unknown or repeated name is left for the check that can list all columns.
            known = len(set(header)) == len(header) and set(wanted) <= set(header)
            include = list(wanted) if known else None
        options = csv.ConvertOptions(include_columns=include)
        try:
            table = csv.read_csv(file, convert_options=options)
        except pyarrow.ArrowInvalid:
            # Only the serial reader knows the number of the line that fails.
            table = csv.read_csv(file, csv.ReadOptions(use_threads=False), convert_options=options)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, "CSV", error) from error
    return source_of(table, "X")


@dataclass(frozen=True, eq=False)
class ParquetSource:
    """Columns of a Parquet file, read anew for every pass; `stored`: their names in the file."""

    file: Path
    n: int
    names: tuple[str, ...]
    stored: tuple[str, ...]
    kinds: tuple[Any, ...]
    named: bool = True

    def select(self, picks: Sequence[int], names: Sequence[str]) -> Source:
        stored = tuple(self.stored[pick] for pick in picks)
        return ParquetSource(self.file, self.n, tuple(names), stored, tuple(self.kinds[pick] for pick in picks))

    def pieces(self) -> Iterator[Block]:
        for batch in self._batches(list(self.stored), piece_rows(len(self.stored))):
            piece = np.empty((len(self.stored), batch.num_rows))
            for position, name in enumerate(self.stored):
                piece[position] = arrow_numbers(batch.column(name))
            yield piece.T

    def _batches(self, stored: list[str], rows: int) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(self.file, buffer_size=BUFFER_BYTES, pre_buffer=False) as opened:
                yield from opened.iter_batches(rows, columns=stored)
        except (pyarrow.ArrowException, OSError) as error:
            raise _unreadable(self.file, "Parquet", error) from error

    def refusal(self, column: int) -> Refusal | None:
        kind = self.kinds[column]
        if is_arrow_numeric(kind):
            return None
        first = next(self._batches([self.stored[column]], 1000), None)
        values = [] if first is None else first.column(0).to_pylist()
        return describe_values(values, f"type {kind}")

    def as_is(self, dtype: np.dtype[Any]) -> FloatArray | None:
        return None


def _parquet(file: Path) -> Source:
    _require_arrow(file)
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file) as opened:
            schema, n = opened.schema_arrow, opened.metadata.num_rows
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(file, "Parquet", error) from error
    names = tuple(schema.names)
    return ParquetSource(file, n, names, names, tuple(schema.types))

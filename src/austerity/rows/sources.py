"""One shape for everything rows can come from: numbers handed over piece by piece, as often as asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .held import DoubleArray, FloatArray

Block = NDArray[Any]

BLOCK_VALUES = 1 << 16  # values in a block of rows: half a megabyte in float64, so that work on it stays in cache
LOOKED_AT = 1_000_000  # values of a column that is not numeric that are tried when looking for the one to name
PIECE_BYTES = 1 << 22  # a table hands over this much at a time, since every call into its library has a price


class Refusal(NamedTuple):
    """Why a column is not numeric: words for it, and whether one of its values is to blame or only its dtype."""

    words: str
    culprit: bool


class Source(Protocol):
    """A matrix of n rows and named columns that can be read from the start several times."""

    @property
    def n(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def named(self) -> bool:
        """Whether the names came with the data (False: x0, x1, ... were made up)."""

    def select(self, picks: Sequence[int], names: Sequence[str]) -> Source:
        """The columns `picks` under the names `names`."""

    def pieces(self) -> Iterator[Block]:
        """Consecutive pieces, (rows, d) of any numeric dtype, NaN where a value is missing."""

    def refusal(self, column: int) -> Refusal | None:
        """What a column that is not numeric holds; None for a numeric column."""

    def as_is(self, dtype: np.dtype[Any]) -> FloatArray | None:
        """The (n, d) array itself when it can be used without a copy."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A NumPy array (n, d), in memory or mapped from a file."""

    array: Block
    names: tuple[str, ...]
    named: bool = False
    picks: tuple[int, ...] | None = None

    @property
    def n(self) -> int:
        return int(self.array.shape[0])

    def select(self, picks: Sequence[int], names: Sequence[str]) -> Source:
        chosen = tuple(picks) if self.picks is None else tuple(self.picks[pick] for pick in picks)
        if chosen and chosen == tuple(range(chosen[0], chosen[-1] + 1)):
            return ArraySource(self.array[:, chosen[0] : chosen[-1] + 1], tuple(names), self.named)
        return ArraySource(self.array, tuple(names), self.named, chosen)

    def pieces(self) -> Iterator[Block]:
        if self.picks is None:
            yield self.array
            return
        rows = piece_rows(len(self.picks))
        for start in range(0, self.n, rows):
            yield self.array[start : start + rows, list(self.picks)]

    def refusal(self, column: int) -> Refusal | None:
        if self.array.dtype.kind in "biuf":
            return None
        values = self.array[:, column if self.picks is None else self.picks[column]]
        return describe_values(values, f"dtype {self.array.dtype}")

    def as_is(self, dtype: np.dtype[Any]) -> FloatArray | None:
        array = self.array
        usable = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
        return array if self.picks is None and array.dtype == dtype and usable else None


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table: `read(start, stop)` gives float64 with NaN for missing; `refusal()` as in Source."""

    name: str
    read: Callable[[int, int], DoubleArray]
    refusal: Callable[[], Refusal | None]


@dataclass(frozen=True, eq=False)
class ColumnSource:
    """A table held column by column in memory."""

    columns: tuple[Column, ...]
    n: int
    names: tuple[str, ...]
    named: bool = True

    def select(self, picks: Sequence[int], names: Sequence[str]) -> Source:
        return ColumnSource(tuple(self.columns[pick] for pick in picks), self.n, tuple(names), self.named)

    def pieces(self) -> Iterator[Block]:
        rows = piece_rows(len(self.columns))
        for start in range(0, self.n, rows):
            stop = min(start + rows, self.n)
            piece = np.empty((len(self.columns), stop - start))
            for position, column in enumerate(self.columns):
                piece[position] = column.read(start, stop)
            yield piece.T

    def refusal(self, column: int) -> Refusal | None:
        return self.columns[column].refusal()

    def as_is(self, dtype: np.dtype[Any]) -> FloatArray | None:
        return None


def block_rows(d: int) -> int:
    """Rows of a block: the power of two that fills BLOCK_VALUES; it depends on d alone, so sums never change."""
    return max(2, 1 << max(0, (BLOCK_VALUES // max(d, 1)).bit_length() - 1))


def piece_rows(d: int) -> int:
    """Rows a table hands over at a time: a whole number of blocks, and enough of them to repay the calls."""
    size = block_rows(d)
    return -(-max(PIECE_BYTES // (8 * max(d, 1)), 4096) // size) * size


def rechunk(pieces: Iterable[Block], rows: int) -> Iterator[Block]:
    """Cut pieces of any length into blocks of exactly `rows` rows, the last one shorter; views where possible."""
    rest: Block | None = None
    for piece in pieces:
        start = 0
        if rest is not None:
            start = min(rows - len(rest), len(piece))
            rest = np.concatenate([rest, piece[:start]])
            if len(rest) < rows:
                continue
            yield rest
        whole = start + (len(piece) - start) // rows * rows
        for position in range(start, whole, rows):
            yield piece[position : position + rows]
        rest = piece[whole:] if whole < len(piece) else None
    if rest is not None:
        yield rest


def blocks_of(source: Source, keep: NDArray[np.bool_] | None = None) -> Iterator[Block]:
    """Blocks of block_rows(d) rows of the rows kept: the same blocks for the same kept rows, whatever was dropped."""
    rows = block_rows(len(source.names))
    blocks = rechunk(source.pieces(), rows)
    return blocks if keep is None else rechunk(_kept(blocks, keep), rows)


def _kept(blocks: Iterable[Block], keep: NDArray[np.bool_]) -> Iterator[Block]:
    start = 0
    for block in blocks:
        yield block[keep[start : start + len(block)]]
        start += len(block)


def describe_values(values: Iterable[Any], kind: str) -> Refusal:
    """The refusal of values that are no numbers: their kind and the first that cannot be read as one, or an example."""
    example = ""
    for row, value in enumerate(islice(values, LOOKED_AT)):
        if value is not None and not _reads_as_number(value):
            return Refusal(f"{kind}, {_shown(value)} in row {row}", culprit=True)
        if value is None or not example:
            example = f", {_shown(value)} in row {row}"
    return Refusal(kind + example, culprit="None" in example)


def _reads_as_number(value: Any) -> bool:
    if isinstance(value, (complex, np.complexfloating)):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 40 else text[:37] + "..."

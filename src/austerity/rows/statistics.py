"""One pass over rows: mean, spread, range and faults of every column, and a checksum of the bytes.

Everything is accumulated in float64 over blocks whose size depends on d alone, by multiplications and NumPy's own
pairwise sums and never by BLAS, so the results depend neither on the number of cores nor on where the rows live.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .held import DoubleArray, FloatArray
from .sources import Block, Source, block_rows, blocks_of


class Moments:
    """Mean m and centred sum of squares S of every column, merged block by block.

    m <- m + D n_b / (n + n_b),   S <- S + S_b + D^2 n n_b / (n + n_b),   D = m_b - m

    Each block is centred by its own mean, so a column of mean 1e6 and sd 1 loses nothing to cancellation.
    """

    def __init__(self, d: int) -> None:
        self.n = 0
        self.mean, self.squares = np.zeros(d), np.zeros(d)
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, work: DoubleArray, total: DoubleArray) -> None:
        """Merge one block: `work` (d, rows), which is overwritten, and its sums `total` (d,)."""
        rows = work.shape[1]
        np.minimum(self.low, work.min(axis=1), out=self.low)
        np.maximum(self.high, work.max(axis=1), out=self.high)
        block_mean = total / rows
        work -= block_mean[:, np.newaxis]
        np.multiply(work, work, out=work)
        gap, both = block_mean - self.mean, self.n + rows
        self.squares += work.sum(axis=1) + gap * gap * (self.n * rows / both)
        self.mean += gap * (rows / both)
        self.n = both


class Faults:
    """Missing (NaN) and infinite values: how many in each column, the first row of each, and which rows miss one."""

    def __init__(self, n: int, d: int) -> None:
        self.rows = n
        self.nan_count, self.inf_count = np.zeros(d, np.int64), np.zeros(d, np.int64)
        self.nan_first, self.inf_first = np.full(d, -1), np.full(d, -1)
        self.inf_value = np.zeros(d)
        self.missing: NDArray[np.bool_] | None = None

    def record(self, work: DoubleArray, start: int) -> bool:
        """Note the faults of a block (d, rows) that begins at row `start`; whether there are any."""
        nan, infinite = np.isnan(work), np.isinf(work)
        _note(nan, start, self.nan_count, self.nan_first)
        fresh = _note(infinite, start, self.inf_count, self.inf_first)
        self.inf_value[fresh] = work[fresh, self.inf_first[fresh] - start]
        if nan.any():
            if self.missing is None:
                self.missing = np.zeros(self.rows, dtype=np.bool_)
            self.missing[start : start + work.shape[1]] = nan.any(axis=0)
        return bool(nan.any() or infinite.any())


def _note(
    found: NDArray[np.bool_], start: int, count: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count what was found in a block and note first rows; returns the columns that had none before."""
    counts = found.sum(axis=1)
    fresh = np.flatnonzero((counts > 0) & (first < 0))
    first[fresh] = start + found[fresh].argmax(axis=1)
    count += counts
    return fresh


class Checksum:
    """One 64-bit number a block: sum over words w of (w xor w >> 32) * odd constant, modulo 2^64.

    A changed word always changes the sum, since odd numbers can be divided by modulo 2^64; an exchange of unequal
    words goes unseen with a chance of about 2^-40. The shift is what makes it so small: small integers held as floats
    differ in their highest bits only, which a product modulo 2^64 would mostly lose. Far faster than a cryptographic
    hash, and no protection against somebody who wants two tables to agree.
    """

    def __init__(self, d: int, dtype: np.dtype[Any]) -> None:
        words = np.arange(1, block_rows(d) * d * dtype.itemsize // 8 + 2, dtype=np.uint64)
        words *= np.uint64(0x9E3779B97F4A7C15)
        words ^= words >> np.uint64(32)
        self.factors = words * np.uint64(0xD6E8FEB86659FD93) | np.uint64(1)
        self.sums: list[int] = []

    def add(self, block: FloatArray) -> None:
        """Append the sum of a C-contiguous block; an odd half word at the end is filled up with zeros."""
        raw = block.reshape(-1).view(np.uint8)
        whole = len(raw) // 8 * 8
        words = raw[:whole].view(np.uint64)
        mixed = words ^ (words >> np.uint64(32))
        total = int(np.dot(mixed, self.factors[: len(mixed)]))
        if whole < len(raw):
            total += int(raw[whole:].view(np.uint32)[0]) * int(self.factors[len(mixed)])
        self.sums.append(total % (1 << 64))

    def digest(self) -> bytes:
        """The sums in block order, as bytes."""
        return np.array(self.sums, dtype="<u8").tobytes()


@dataclass(frozen=True, eq=False)
class Summary:
    """mean, sd, low, high: (d,) float64 of the values as given, sd dividing by n; meaningless if there are faults."""

    n: int
    mean: DoubleArray
    sd: DoubleArray
    low: DoubleArray
    high: DoubleArray
    faults: Faults


def scan(source: Source, keep: NDArray[np.bool_] | None = None, checksum: Checksum | None = None) -> Summary:
    """Read the source once; `checksum` is filled on the way when the source is held as it is."""
    d = len(source.names)
    moments, faults = Moments(d), Faults(source.n, d)
    buffer, start = np.empty((d, block_rows(d))), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks_of(source, keep):
            work = fill(buffer, block)
            total = work.sum(axis=1)
            # A sum is finite only if every term is; a sum that overflows over finite terms is no fault.
            if np.isfinite(total).all() or not faults.record(work, start):
                moments.add(work, total)
            if checksum is not None:
                checksum.add(block)
            start += len(block)
        sd = np.sqrt(moments.squares / max(moments.n, 1))
    return Summary(moments.n, moments.mean, sd, moments.low, moments.high, faults)


def fill(buffer: DoubleArray, block: Block) -> DoubleArray:
    """A block (rows, d) as float64 (d, rows) in a buffer: columns lie whole, so short rows cost no more than long."""
    work = buffer[:, : len(block)]
    np.copyto(work, block.T, casting="unsafe")
    return work


def checksum_of(values: FloatArray) -> Checksum:
    """The checksum of a held matrix (n, d)."""
    checksum = Checksum(values.shape[1], values.dtype)
    rows = block_rows(values.shape[1])
    for start in range(0, len(values), rows):
        checksum.add(values[start : start + rows])
    return checksum


def fingerprint(header: dict[str, Any], parts: Sequence[tuple[Summary, Checksum]]) -> str:
    """32 hexadecimal digits over the header (shape, dtype, names), and each part's mean, sd and bytes."""
    hasher = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=16)
    for summary, checksum in parts:
        hasher.update(summary.mean.astype("<f8").tobytes())
        hasher.update(summary.sd.astype("<f8").tobytes())
        hasher.update(checksum.digest())
    return hasher.hexdigest()

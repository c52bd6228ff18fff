"""What the rest of the package is given: rows that have been checked and can be read at full speed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
DoubleArray = NDArray[np.float64]
FAR = 100.0  # sds between a column and zero beyond which it is centred even if it could be used as it is


class Moments(Protocol):
    """Whatever knows mean and sd of columns."""

    @property
    def mean(self) -> DoubleArray: ...

    @property
    def sd(self) -> DoubleArray: ...


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Checked rows: X_held[i, j] = (x[i, j] - centre[j]) / scale[j],  y_held[i] = y[i] - y_centre.

    X: (N, d) C-contiguous float32 or float64; y, weights, offset: (N,) of the same dtype, or of size 0 when absent.
    centre, scale: (d,) float64, zeros and ones where the array is used as it came.
    mean, sd: (d,) float64, and y_mean, y_sd: of the values as they were given, before centring (sd divides by N).

    Every array is typed as writeable, also over read-only memory, so that compiled code sees one type and is
    compiled once. Nobody writes to them: under a read-only file a write ends the process.
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray
    offset: FloatArray
    names: tuple[str, ...]
    target: str
    centre: DoubleArray
    scale: DoubleArray
    y_centre: float
    mean: DoubleArray
    sd: DoubleArray
    y_mean: float
    y_sd: float
    fingerprint: str
    dropped: int
    copied: bool
    keep_alive: tuple[Any, ...]

    @property
    def n(self) -> int:
        """Number of rows N."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of columns d."""
        return int(self.X.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of the held arrays, owned or viewed."""
        return int(self.X.nbytes + self.y.nbytes + self.weights.nbytes + self.offset.nbytes)

    @property
    def has_response(self) -> bool:
        """Whether a response y was given; density models are used without one."""
        return self.y.size > 0

    @property
    def has_weights(self) -> bool:
        """Whether rows carry weights."""
        return self.weights.size > 0

    @property
    def has_offset(self) -> bool:
        """Whether the linear predictor carries an offset."""
        return self.offset.size > 0

    def __repr__(self) -> str:
        megabytes = self.nbytes / 1e6
        extras = [word for word, there in (("weights", self.has_weights), ("offset", self.has_offset)) if there]
        with_extras = f", with {' and '.join(extras)}" if extras else ""
        held = "converted" if self.copied else "used as given"
        return f"Rows({self.n} x {self.d} {self.X.dtype}, {held}, {megabytes:.3g} MB{with_extras})"


def far_columns(columns: Moments) -> NDArray[np.bool_]:
    """Columns so far from zero that their products in float32 lose what tells rows apart."""
    return np.asarray(np.abs(columns.mean) > FAR * columns.sd)


def writable_view(array: FloatArray) -> FloatArray:
    """The same memory, C-contiguous, typed as writeable; the caller keeps `array` alive for as long as the view.

    Numba compiles a second version for read-only arrays, so a read-only map of a file would double the time to
    the first draw. The view is made through the address because NumPy refuses to lift the flag of a read-only map.
    """
    plain = np.asarray(array)
    if plain.flags.writeable or plain.size == 0:
        return plain
    memory: Any = (ctypes.c_char * plain.nbytes).from_address(plain.ctypes.data)
    view: FloatArray = np.frombuffer(memory, dtype=plain.dtype).reshape(plain.shape)
    return view


def absent(dtype: np.dtype[Any]) -> FloatArray:
    """The array of size 0 that stands for weights, an offset or a response that was not given."""
    return np.zeros(0, dtype=dtype)

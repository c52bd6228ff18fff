"""Rows that do not exist: a population known by its size, mean and standard deviation alone.

A batch of n rows drawn without replacement is drawn as (n, mean, M2), M2 the sum of squares about its mean. Given the
mean and M2 of the n' rows left, those of a normal sample are spread evenly over a sphere, so that

    (n n' / (n' - n) (mean_batch - mean_left)^2,  M2_batch,  M2_rest) / M2_left  ~  Dirichlet(1/2, (n-1)/2, (n'-n-1)/2)

and what is then left is of the same kind. After all N rows the sums are the population's own, so that a decision that
reads on to the end is the exact one. A batch costs the same whatever its size, and N may be 10^15.
"""

from __future__ import annotations

import hashlib
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ..engine.jit import bare
from ..engine.streams import STREAM_SIZE, normal, start, uniform
from ..errors import InputError
from .held import Rows, absent
from .terms import Moments, add_terms, answers, open_draw, size_of

LARGEST = 2**53  # whole numbers up to here are exact in float64
SIZE, MEAN, SD, SIGMA = range(4)  # places in SummarySource.line
LEFT, LEFT_MEAN, LEFT_SQUARES, SLOPE, GAP = range(5)  # places in SummarySource.state


class Summary(Rows):
    """`n` values of a normal population with this mean and sd (divisor n): rows that are never made.

    For models that need no more of them, such as `models.GaussianMean`.
    """

    def __init__(self, n: int, mean: float, sd: float) -> None:
        if isinstance(n, bool) or not isinstance(n, (Integral, float)) or n != int(n) or not 2 <= n <= LARGEST:
            raise InputError(f"Summary(n={n!r}): give a whole number of rows, from 2 to 2^53 (9e15)")
        for name, value in (("mean", mean), ("sd", sd)):
            number = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
            if not number or (name == "sd" and float(value) <= 0):
                kind = "finite" if name == "mean" else "positive"
                raise InputError(f"Summary({name}={value!r}): give a {kind} number")
        # To a family this is one row, x = 1 and y = mean, of weight n: all that a sum over rows needs.
        one, none = np.ones(1), absent(np.dtype(np.float64))
        fields: dict[str, Any] = {"X": np.ones((1, 1)), "y": np.zeros(1), "weights": one * n, "offset": none}
        fields |= {"names": ("mu",), "target": "x", "centre": np.zeros(1), "scale": one, "y_centre": float(mean)}
        fields |= {"mean": one, "sd": np.zeros(1), "y_mean": float(mean), "y_sd": float(sd)}
        fields |= {"dropped": 0, "copied": False, "keep_alive": ()}
        known = np.array([float(n), float(mean), float(sd)])
        fields["fingerprint"] = hashlib.blake2b(known.tobytes(), digest_size=16).hexdigest()
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        return int(self.weights[0])

    def __repr__(self) -> str:
        return f"Summary({self.n:,} rows, mean {self.y_mean:g}, sd {self.y_sd:g})"


class SummarySource(NamedTuple):
    """One chain's decision in hand: the rows that are left, and the terms as a linear function of a row."""

    line: np.ndarray  # (4,) float64: N, mean, sd, and the sigma of the model
    state: np.ndarray  # (5,) float64: see the places above
    stream: np.ndarray  # (STREAM_SIZE,) uint64: the numbers of this decision


def new_source(rows: Summary, sigma: float) -> SummarySource:
    """A source over rows that do not exist, for the model N(mu, sigma)."""
    line = np.array([float(rows.n), rows.y_mean, rows.y_sd, sigma])
    return SummarySource(line, np.zeros(5), np.zeros(STREAM_SIZE, np.uint64))


@bare
def gamma(stream, shape):
    """Gamma(shape) for shape 0 (which is 0), 1/2, 1, 3/2, ... (Marsaglia and Tsang 2000)."""
    if shape < 0.75:
        z = normal(stream)
        return 0.5 * z * z if shape > 0.25 else 0.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        z = normal(stream)
        v = 1.0 + c * z
        if v > 0.0:
            v = v * v * v
            if np.log(uniform(stream)) < 0.5 * z * z + d * (1.0 - v + np.log(v)):
                return d * v


@bare
def draw_batch(state, stream, n):
    """Take n of the rows left: mean of the batch about the population's, and its M2. The rest is what is left then."""
    left, mean, squares = state[LEFT], state[LEFT_MEAN], state[LEFT_SQUARES]
    if n >= left:
        state[LEFT], state[LEFT_MEAN], state[LEFT_SQUARES] = 0.0, 0.0, 0.0
        return mean, squares
    z = normal(stream)
    between, within, rest = 0.5 * z * z, gamma(stream, 0.5 * (n - 1.0)), gamma(stream, 0.5 * (left - n - 1.0))
    share = squares / (between + within + rest)
    away = np.sqrt(share * between * (left - n) / (n * left))
    if z < 0.0:
        away = -away
    state[LEFT], state[LEFT_MEAN], state[LEFT_SQUARES] = left - n, mean - away * n / (left - n), share * rest
    return mean + away, share * within


@answers(size_of, SummarySource)
def _size_of_summary(source):
    return np.int64(source.line[SIZE])


@answers(open_draw, SummarySource)
def _open_draw_of_summary(source, theta, theta_new, indices, indices_new, key, used):
    """term = slope (x - (theta + theta') / 2); all rows are left."""
    state, stream, line = source.state, source.stream, source.line
    state[SLOPE] = (theta_new[0] - theta[0]) / line[SIGMA] ** 2
    state[GAP] = 0.5 * ((line[MEAN] - theta[0]) + (line[MEAN] - theta_new[0]))
    state[LEFT], state[LEFT_MEAN], state[LEFT_SQUARES] = line[SIZE], 0.0, line[SIZE] * line[SD] ** 2
    stream[0], stream[1] = key, np.uint64(used)
    start(stream, 0)


@answers(add_terms, SummarySource)
def _add_summary(source, n, moments):
    """One batch; sums are about the population's mean, whose total over all rows is 0."""
    state, slope = source.state, source.state[SLOPE]
    count, shift, total, squares = moments
    if count == 0:
        shift = slope * state[GAP]
    mean, within = draw_batch(state, source.stream, np.float64(n))
    total += slope * n * mean
    squares += slope * slope * (within + n * mean * mean)
    if state[LEFT] == 0.0:
        total = 0.0
    return 0, Moments(count + n, shift, total, squares)

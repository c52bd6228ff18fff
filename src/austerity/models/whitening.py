"""White rows: columns of mean 0, sd 1 and no correlation.

    z = V (x - m),   V = R^-1/2 diag(1 / sd),   m, sd, R the means, standard deviations and correlations of the columns

Of all V that whiten, this one keeps every z_j as close to its own column as it can be; units of columns do not matter.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..rows.held import Rows

PIECE = 65536  # rows worked on at a time
LEAST = 1e-6  # smallest eigenvalue of the correlations: below it float32 columns repeat one another
WHITE = 0.1  # how far a mean or a covariance of rows that are called white may be from 0 or 1


@dataclass(frozen=True)
class Moments:
    """Means (d,) and covariances (d, d) of the columns as they were given."""

    mean: np.ndarray
    covariance: np.ndarray


def moments(rows: Rows) -> Moments:
    """Both in float64, weighted where rows are: two readings, products of pieces added in order."""
    total, sums, squares = 0.0, np.zeros(rows.d), np.zeros((rows.d, rows.d))
    for values, weights in _pieces(rows, rows.mean):
        total += float(weights.sum())
        sums += weights @ values
        squares += (values * weights[:, None]).T @ values
    shift = sums / total  # of the weighted means from the plain ones
    return Moments(rows.mean + shift, squares / total - np.outer(shift, shift))


def _pieces(rows: Rows, centre: np.ndarray):  # type: ignore[no-untyped-def]
    """(x - centre, weights) of the rows, a piece at a time."""
    for first in range(0, rows.n, PIECE):
        held = rows.X[first : first + PIECE].astype(np.float64)
        weights = rows.weights[first : first + PIECE].astype(np.float64) if rows.has_weights else np.ones(len(held))
        yield held * rows.scale + (rows.centre - centre), weights


def whitening_matrix(covariance: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """V (d, d), or the sentence that says which columns say the same."""
    sd = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
    if values[0] < LEAST:
        first, second = (names[k] for k in sorted(np.argsort(-np.abs(vectors[:, 0]))[:2]))
        raise InputError(
            f"columns {first!r} and {second!r} take part in a combination that is the same in every row, so the rows "
            "cannot be whitened: leave one of them out"
        )
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T / sd)


def whitened(rows: Rows, found: Moments, matrix: np.ndarray) -> Rows:
    """A copy of the rows with x replaced by V (x - m)."""
    values = np.empty_like(rows.X)
    for k, (piece, _) in enumerate(_pieces(rows, found.mean)):
        values[k * PIECE : (k + 1) * PIECE] = piece @ matrix.T
    d = rows.d
    plain = {"centre": np.zeros(d), "scale": np.ones(d), "mean": np.zeros(d), "sd": np.ones(d)}
    return replace(rows, X=values, copied=True, **plain)  # type: ignore[arg-type]


def check_white(found: Moments, names: tuple[str, ...]) -> None:
    """Refuse rows that are not white already."""
    far = int(np.argmax(np.abs(found.mean)))
    if abs(found.mean[far]) > WHITE:
        raise InputError(
            f"ICA(whiten=False) needs white rows, but column {names[far]!r} has mean {found.mean[far]:.3g}: centre and "
            "whiten the columns, or leave that to whiten=True"
        )
    gap = found.covariance - np.eye(len(names))
    i, j = np.unravel_index(int(np.argmax(np.abs(gap))), gap.shape)
    if abs(gap[i, j]) > WHITE:
        what = f"variance {found.covariance[i, i]:.3g}" if i == j else f"covariance {gap[i, j]:.3g} with {names[j]!r}"
        raise InputError(
            f"ICA(whiten=False) needs white rows, but column {names[i]!r} has {what}: whiten the columns, or leave "
            "that to whiten=True"
        )

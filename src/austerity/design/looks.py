"""From a test's settings to the looks that its dynamic programme runs over.

Up to EXACT_LOOKS looks every one of them is worked out. Longer tests are thinned: where neighbouring looks are
nearly the same (late looks of a huge table), a look stands for several. Looking less often stops less often, which a
lower boundary makes up for (Siegmund's correction, .5826 standard deviations of a step), and the whole is done at two
thinnings, whose difference is kept as the uncertainty (the finer one is usually several times better).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..decisions.boundaries import Boundary, critical_normal, critical_t, look_sizes
from ..errors import InputError
from .first_passage import Array, first_passage

Critical: TypeAlias = Literal["normal", "t"]

EXACT_LOOKS = 5000
# sd of z_{j-1} given z_j between kept looks; errors of 2e-4 (steep boundaries: 2e-3), falling with its square
COARSE_STEP = 0.2
TOLERANCE = 2e-3
REFINEMENTS = 3
OVERSHOOT = 0.5825971579390107  # -zeta(1/2) / sqrt(2 pi)


class Outcome(NamedTuple):
    """For drifts (M,) >= 0: error (M,), data_share (M,), sizes (K,) of the looks, stop (M, K), uncertainty."""

    error: Array
    data_share: Array
    sizes: NDArray[np.int64]
    stop: Array
    uncertainty: float


def outcome(
    n_total: int, batch: int, epsilon: float, drifts: Array, boundary: Boundary, critical: Critical, cells: int | None
) -> Outcome:
    """Error and data share at each drift; uncertainty is 0 unless looks had to be thinned."""
    sizes = look_sizes(n_total, batch)
    levels = critical_values(epsilon, sizes, n_total, boundary, critical)[:-1]
    if sizes.size <= EXACT_LOOKS:
        return _run(sizes, levels, np.arange(levels.size), drifts, cells)
    odds = _odds(sizes)
    step, finer = COARSE_STEP, _run(sizes, levels, _thinned(odds, COARSE_STEP), drifts, cells)
    for _ in range(REFINEMENTS):
        step, coarser = step / 2.0, finer
        finer = _run(sizes, levels, _thinned(odds, step), drifts, cells)
        gap = max(_distance(finer.error, coarser.error), _distance(finer.data_share, coarser.data_share))
        if gap <= TOLERANCE:
            return finer._replace(uncertainty=gap)
    raise InputError(
        f"n_total={n_total} with batch={batch} makes {sizes.size} looks, too many to work out to {TOLERANCE:g}; "
        f"use a larger batch, at most {EXACT_LOOKS} looks are always possible."
    )


def critical_values(
    epsilon: float, sizes: NDArray[np.int64], n_total: int, boundary: Boundary, critical: Critical
) -> Array:
    """G_j (J,) from normal or from Student quantiles."""
    if critical == "normal":
        return critical_normal(epsilon, sizes / float(n_total), boundary)
    if critical == "t":
        return critical_t(epsilon, sizes, n_total, boundary)
    raise InputError(f"critical={critical!r} is not known; use 'normal' or 't'.")


def _odds(sizes: NDArray[np.int64]) -> Array:
    """w_j = n_j / (N - n_j) for the looks before the last, (J-1,)."""
    return np.asarray(sizes[:-1] / (sizes[-1] - sizes[:-1]).astype(np.float64))


def _distance(a: Array, b: Array) -> float:
    return float(np.max(np.abs(a - b), initial=0.0))


def _thinned(odds: Array, step: float) -> NDArray[np.int64]:
    """Numbers of the looks to keep: from each the farthest one with sqrt(1 - w_i / w_k) <= step, or the next."""
    kept = [0]
    while kept[-1] < odds.size - 1:
        here = kept[-1]
        farthest = int(np.searchsorted(odds, odds[here] / (1.0 - step * step), side="right")) - 1
        kept.append(min(max(farthest, here + 1), odds.size - 1))
    return np.array(kept, dtype=np.int64)


def _run(sizes: NDArray[np.int64], levels: Array, kept: NDArray[np.int64], drifts: Array, cells: int | None) -> Outcome:
    """The programme over the looks `kept` of the J-1 before the last; a look not kept belongs to the next one kept."""
    odds, lowered = _odds(sizes), levels.copy()
    if kept.size:
        before = kept[1:] - 1
        single = np.sqrt(1.0 - odds[before] / odds[kept[1:]])
        whole = np.sqrt(1.0 - odds[kept[:-1]] / odds[kept[1:]])
        lowered[kept[1:]] -= OVERSHOOT * (whole - single)
    error, going_on = first_passage(odds[kept], lowered[kept], drifts, cells)
    reached = np.concatenate([np.ones((drifts.size, 1)), going_on], axis=1)
    stop = np.maximum(reached - np.concatenate([going_on, np.zeros((drifts.size, 1))], axis=1), 0.0)
    places = np.append(kept, sizes.size - 1)
    # Within a thinned stretch stops fall evenly on its looks, so on average halfway back to its first one.
    first = np.append(places[0], places[:-1] + 1)
    share = stop @ ((sizes[first] + sizes[places]) / (2.0 * sizes[-1]))
    return Outcome(error, share, sizes[places], stop, 0.0)

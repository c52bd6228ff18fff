"""How much a set of chains is worth: rank-normalised split R-hat, bulk and tail effective sizes, error of the mean.

Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16(2); truncation by Geyer (1992).
Every function takes draws (chains, n, ...) and gives one value for each of the trailing entries.
A quantity that does not move has no effective size: NaN, where other programs report the number of draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from austerity.errors import InputError

Array = NDArray[np.float64]
TAILS = (0.05, 0.95)
BLOCK = 2**21  # values worked on at a time, so that thousands of variables do not fill the memory
RUNNING_POINTS = 2000
FEWEST = 4  # draws of a chain below which nothing can be said


class Diagnostics(NamedTuple):
    """One array each, of the trailing shape of the draws."""

    ess_bulk: Array
    ess_tail: Array
    r_hat: Array
    mcse_mean: Array


def diagnose(draws: ArrayLike) -> Diagnostics:
    """All four at once for draws (chains, n, ...), sharing the ranks."""
    values = _columns(draws)
    results = np.full((4, len(values)), np.nan)
    step = max(1, BLOCK // max(1, values[0].size)) if len(values) else 1
    for start in range(0, len(values), step):
        part = np.ascontiguousarray(values[start : start + step])
        good = np.flatnonzero(np.isfinite(part).all(axis=(1, 2)))
        if part.shape[2] >= FEWEST and good.size:
            results[:, start + good] = _diagnose_block(part[good])
    shape = np.shape(draws)[2:]
    return Diagnostics(*(row.reshape(shape) for row in results))


def ess_bulk(draws: ArrayLike) -> Array:
    """Effective size of the rank-normalised draws: what the centre of the distribution rests on."""
    return diagnose(draws).ess_bulk


def ess_tail(draws: ArrayLike) -> Array:
    """The lesser effective size of 1[x <= q] for the 5% and the 95% quantile q."""
    return diagnose(draws).ess_tail


def r_hat(draws: ArrayLike) -> Array:
    """√((B/W + n - 1)/n) over half chains, the larger of ranks and folded ranks; for one chain too."""
    return diagnose(draws).r_hat


def mcse_mean(draws: ArrayLike) -> Array:
    """sd / √ESS: the standard error of the posterior mean that is owed to finite chains."""
    return diagnose(draws).mcse_mean


def running_ess(draws: ArrayLike) -> float:
    """The least effective size over all coordinates, cheap enough for a progress line; NaN when there is none.

    Long chains are averaged over stretches of k draws: ESS = s² / Var(mean) with Var(mean) taken from the
    series of averages, so that no draw is thrown away and the figure has no ceiling.
    """
    values = _columns(draws)
    entries, chains, n = values.shape
    if entries == 0 or n < 2 * FEWEST:
        return float("nan")
    k = -(-n * chains // RUNNING_POINTS)
    length = n // k
    if length < 2 * FEWEST:
        k, length = max(1, n // (2 * FEWEST)), n // max(1, n // (2 * FEWEST))
    tail = values[..., n - k * length :]
    averages = tail.reshape(entries, chains, length, k).mean(axis=3)
    of_averages = _ess(_halves(averages))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = _pooled_variance(_halves(tail)) / _pooled_variance(_halves(averages))
    sizes = of_averages * ratio
    return float(np.nanmin(sizes)) if np.isfinite(sizes).any() else float("nan")


def _columns(draws: ArrayLike) -> Array:
    """draws (chains, n, ...) -> (entries, chains, n)."""
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 2:
        raise InputError(f"Draws have shape {values.shape}, expected (chains, draws, ...).")
    entries = int(np.prod(values.shape[2:], dtype=np.int64))
    return np.moveaxis(values.reshape(*values.shape[:2], entries), 2, 0)


def _diagnose_block(values: Array) -> Array:
    """(4, entries) for finite values (entries, chains, n), n >= FEWEST."""
    halves = _halves(values)
    ranks = _normal_scores(halves)
    middle = np.median(halves, axis=(1, 2), keepdims=True)
    folded = _normal_scores(np.abs(halves - middle))
    quantiles = np.quantile(values, TAILS, axis=(1, 2))
    below, above = (_ess(_halves((values <= q[:, None, None]).astype(np.float64))) for q in quantiles)
    tail = np.fmin(below, above)
    one_sided = np.isnan(below) != np.isnan(above)  # few values: one tail has nothing in it and bounds nothing
    tail = np.where(one_sided, np.minimum(tail, halves[0].size), tail)
    sd = values.std(axis=(1, 2), ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = sd / np.sqrt(_ess(halves))
    return np.stack([_ess(ranks), tail, np.maximum(_r_hat(ranks), _r_hat(folded)), error])


def _halves(values: Array) -> Array:
    """(entries, chains, n) -> (entries, 2 chains, n // 2): drift inside a chain shows as a difference of chains."""
    half = values.shape[2] // 2
    return np.concatenate([values[..., :half], values[..., values.shape[2] - half :]], axis=1)


def _normal_scores(values: Array) -> Array:
    """Φ⁻¹((rank - 3/8) / (size + 1/4)) over all chains of an entry; ties share their mean rank."""
    flat = values.reshape(len(values), -1)
    scores = np.empty_like(flat)
    for entry, row in enumerate(flat):
        order = np.argsort(row, kind="stable")
        ordered = row[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        lengths = np.diff(np.append(starts, row.size))
        scores[entry, order] = np.repeat(ndtri((starts + (lengths + 1) / 2 - 0.375) / (row.size + 0.25)), lengths)
    return scores.reshape(values.shape)


def _r_hat(values: Array) -> Array:
    """√((B/W + n - 1)/n) with B = n Var(chain means), W = mean of chain variances; NaN where nothing moves."""
    n = values.shape[2]
    between = n * values.mean(axis=2).var(axis=1, ddof=1)
    within = values.var(axis=2, ddof=1).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def _pooled_variance(values: Array) -> Array:
    """W (n - 1)/n + Var(chain means): the variance of the target as all chains together see it."""
    n = values.shape[2]
    within = values.var(axis=2, ddof=1).mean(axis=1)
    return within * (n - 1) / n + values.mean(axis=2).var(axis=1, ddof=1)


def _ess(values: Array) -> Array:
    """chains·n / τ, τ = -1 + 2 Σ P_k, P_k = ρ_2k + ρ_2k+1 up to the first that is not positive, made to fall.

    ρ_t = 1 - (W - mean autocovariance at t) / pooled variance; values (entries, chains, n) -> (entries,).
    """
    entries, chains, n = values.shape
    total = chains * n
    still = np.ptp(values, axis=(1, 2)) <= 1e-15 * np.abs(values).max(axis=(1, 2))
    covariance = _mean_autocovariance(values)
    within = covariance[:, 0] * n / (n - 1)
    pooled = within * (n - 1) / n + values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1 - (within[:, None] - covariance) / pooled[:, None]
    rho[:, 0] = 1.0
    pairs = rho[:, 0 : 2 * (n // 2) : 2] + rho[:, 1::2]
    longest = max(0, -(-(n - 4) // 2))
    ended = pairs[:, : longest + 1] <= 0
    stop = np.where(ended.any(axis=1), ended.argmax(axis=1), longest)
    falling = np.minimum.accumulate(pairs, axis=1)
    kept = np.where(np.arange(pairs.shape[1]) < stop[:, None], falling, 0.0).sum(axis=1)
    rows = np.arange(entries)
    even = rho[rows, 2 * stop]
    last = np.where((even > 0) | (pairs[rows, stop] >= 0), even, 0.0)
    tau = np.maximum(-1 + 2 * kept + last, 1 / np.log10(total))
    return np.where(still, np.nan, total / tau)


def _mean_autocovariance(values: Array) -> Array:
    """Σ_i x_i x_{i+t} / n of centred chains, averaged over chains: (entries, chains, n) -> (entries, n)."""
    n = values.shape[2]
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(values - values.mean(axis=2, keepdims=True), n=size, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    return np.asarray(irfft(power, n=size, axis=1)[:, :n] / n)

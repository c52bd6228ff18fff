"""How often a sequential test stops at each look, and on which side: the dynamic programme behind every design.

With odds w_j = pi_j / (1 - pi_j), the statistic is z_j = Y(w_j) / sqrt(w_j), Y a Brownian motion of drift mu_std
(the transition of the finite population, rewritten). Given z_j, the path before it does not depend on the drift, so

    h_j(z)  = P(not stopped before look j | z_j = z)
    h_j(z)  = int_{-G_{j-1}}^{G_{j-1}} h_{j-1}(y) N(y; rho_j z, 1 - rho_j^2) dy,   rho_j = sqrt(w_{j-1} / w_j),  h_1 = 1
    P_mu(still drawing after look j)  = int_{-G_j}^{G_j} h_j(z) phi(z - mu sqrt(w_j)) dz
    P_mu(stopped at look j below)     = int_{-inf}^{-G_j} h_j(z) phi(z - mu sqrt(w_j)) dz

One pass over the looks serves every drift, and 0 <= h <= 1 keeps it stable for any boundary. The last look (pi = 1,
w infinite) decides by the exact sign and is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

REACH = 8.5  # the normal mass beyond is 1e-17
NEGLIGIBLE = 1e-16  # drifts whose paths have all stopped are carried no further
PANEL_NODES = 16
PANEL_WIDTH = 7.0  # in standard deviations of the narrowest kernel: integrals good to about 1e-12
TAIL_PANELS = 3
GROUP_WIDTH = 10.0  # spread of mu sqrt(w_1) within one pass, so that windows stay narrow for huge boundaries
CHUNK = 64
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Looks:
    """Odds w (J-1,), their roots, critical values G >= 0 (J-1,), kernel sds (J-1,) and nodes a look (None: chosen)."""

    odds: Array
    root: Array
    critical: Array
    spread: Array
    cells: int | None

    @classmethod
    def build(cls, odds: Array, critical: Array, cells: int | None) -> Looks:
        """spread_j = sqrt(1 - w_{j-1} / w_j), the sd of z_{j-1} given z_j; a negative G stops always, as 0 does."""
        spread = np.ones_like(odds)
        spread[1:] = np.sqrt((odds[1:] - odds[:-1]) / odds[1:])
        return cls(odds, np.sqrt(odds), np.maximum(critical, 0.0), spread, cells)

    def window(self, j: int, lowest: float, highest: float) -> tuple[Array, Array] | None:
        """Nodes and weights where z_j can be for drifts in [lowest, highest]; None when no path goes on."""
        low = max(-self.critical[j], lowest * self.root[j] - REACH)
        high = min(self.critical[j], highest * self.root[j] + REACH)
        if not low < high:
            return None
        if self.cells is not None:
            return _panels(low, high, -(-self.cells // PANEL_NODES))
        narrowest = float(np.min(self.spread[j : j + 2]))
        return _panels(low, high, math.ceil((high - low) / (PANEL_WIDTH * narrowest)))

    def tail(self, j: int, lowest: float) -> tuple[Array, Array] | None:
        """Nodes and weights for x = -z_j beyond G_j, as far as phi and h_j reach; None when nothing is there."""
        earlier = (self.critical[j - 1] + REACH * self.spread[j]) * self.root[j] / self.root[j - 1]
        high = min(REACH - lowest * self.root[j], earlier)
        return _panels(self.critical[j], high, TAIL_PANELS) if self.critical[j] < high else None


def first_passage(odds: Array, critical: Array, drifts: Array, cells: int | None = None) -> tuple[Array, Array]:
    """Mass stopped below, and mass still drawing after each look.

    odds, critical (J-1,): the looks before the last; drifts (M,) >= 0. Returns below (M,) and going_on (M, J-1).
    """
    below, going_on = np.zeros(drifts.size), np.zeros((drifts.size, odds.size))
    if odds.size == 0:
        return below, going_on
    if np.all(np.isposinf(critical)):
        return below, np.ones_like(going_on)
    looks = Looks.build(odds, critical, cells)
    order = np.argsort(drifts, kind="stable")
    groups = np.floor(drifts[order] * looks.root[0] / GROUP_WIDTH)
    for members in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
        below[members], going_on[members] = _march(looks, drifts[members])
    return below, going_on


def _march(looks: Looks, drifts: Array) -> tuple[Array, Array]:
    """The same for drifts (M,) in ascending order, all carried through one pass over the looks."""
    from scipy import special

    below, going_on = np.zeros(drifts.size), np.zeros((drifts.size, looks.odds.size))
    mean, first = drifts * looks.root[0], looks.critical[0]
    below[:] = special.ndtr(-first - mean)
    going_on[:, 0] = special.ndtr(first - mean) - below
    count = int(np.count_nonzero(going_on[:, 0] > NEGLIGIBLE))
    window = looks.window(0, drifts[0], drifts[count - 1]) if count else None
    history = np.empty(0) if window is None else window[1]
    for j in range(1, looks.odds.size):
        if window is None:
            break
        earlier, window = window[0], looks.window(j, drifts[0], drifts[count - 1])
        mean = drifts[:count] * looks.root[j]
        tail = looks.tail(j, drifts[0])
        if tail is not None:
            reached = _smooth(-tail[0], earlier, history, looks.root[j - 1] / looks.root[j], looks.spread[j])
            below[:count] += _normal_mass(tail[0], -mean, tail[1] * reached)
        if window is None:
            break
        history = window[1] * _smooth(window[0], earlier, history, looks.root[j - 1] / looks.root[j], looks.spread[j])
        going_on[:count, j] = _normal_mass(window[0], mean, history)
        count = int(np.count_nonzero(going_on[:count, j] > NEGLIGIBLE))
        window = window if count else None
    return below, going_on


def _smooth(targets: Array, nodes: Array, history: Array, rho: float, spread: float) -> Array:
    """int h(y) N(y; rho z, spread^2) dy at each target z, with history = h times the weights of the (sorted) nodes."""
    result = np.empty(targets.size)
    scale = 1.0 / (spread * math.sqrt(2.0))
    for start in range(0, targets.size, CHUNK):
        centres = rho * targets[start : start + CHUNK]
        # Nodes beyond REACH standard deviations add nothing; late looks have narrow kernels, so most are left out.
        low, high = min(centres[0], centres[-1]) - REACH * spread, max(centres[0], centres[-1]) + REACH * spread
        near = slice(int(np.searchsorted(nodes, low)), int(np.searchsorted(nodes, high)))
        kernel = np.subtract.outer(centres * scale, nodes[near] * scale)
        kernel *= kernel
        np.negative(kernel, out=kernel)
        np.exp(kernel, out=kernel)
        result[start : start + CHUNK] = kernel @ history[near]
    return result / (spread * ROOT_TWO_PI)


def _normal_mass(nodes: Array, means: Array, values: Array) -> Array:
    """sum_k values_k phi(z_k - mean) for each of the means (M,); nodes and values (n,)."""
    density = np.subtract.outer(means, nodes)
    density *= density
    density *= -0.5
    np.exp(density, out=density)
    return np.asarray(density @ values / ROOT_TWO_PI)


def _panels(low: float, high: float, count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on `count` equal panels of [low, high]."""
    points, weights = _rule()
    width = (high - low) / count
    starts = low + width * np.arange(count)
    nodes = starts[:, None] + width * 0.5 * (points + 1.0)
    return nodes.ravel(), np.tile(weights * (0.5 * width), count)


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    """The Gauss-Legendre rule of one panel on [-1, 1]."""
    points, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    return points, weights

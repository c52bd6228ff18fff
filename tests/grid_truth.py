"""The truth on a grid: exact draws of a posterior of two parameters, and whether a kernel leaves them in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from engine_drivers import dkw, settings
from scipy import special, stats

import austerity as au

CELLS, REFERENCE = 500, 400_000
HALF = 5e-7  # of the false-fail rate, for the chains and for the reference draws
LogDensity = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Grid:
    """The truth: a density on CELLS x CELLS cells of a box, exact draws of it, and the comparison with it."""

    def __init__(
        self, log_density: LogDensity, box: tuple[tuple[float, float], tuple[float, float]], seed: int
    ) -> None:
        box = self._narrowed(log_density, box)
        self.edges = [np.linspace(low, high, CELLS + 1) for low, high in box]
        mass = self._mass(log_density, self.edges)
        rim = mass[[0, -1]].sum() + mass[:, [0, -1]].sum()
        assert rim < 1e-6, f"the box cuts off {rim:.1g} of the posterior at its rim alone"
        self.cumulative = np.cumsum(mass.ravel())
        self.reference = self.draw(REFERENCE, np.random.default_rng([seed, 11]))
        self.directions = np.vstack([np.eye(2), [0.6, 0.8]]) / self.reference.std(axis=0)

    @staticmethod
    def _mass(log_density: LogDensity, edges: list[np.ndarray]) -> np.ndarray:
        first, second = (0.5 * (e[1:] + e[:-1]) for e in edges)
        log_mass = log_density(first[:, None], second[None, :])
        return np.asarray(np.exp(log_mass - special.logsumexp(log_mass)))

    def _narrowed(self, log_density: LogDensity, box: Any) -> list[tuple[float, float]]:
        """The part of the box that holds all but about 1e-9 of the mass on every side."""
        edges = [np.linspace(low, high, CELLS + 1) for low, high in box]
        mass, out = self._mass(log_density, edges), []
        for axis in (0, 1):
            along = mass.sum(axis=1 - axis)
            kept = np.flatnonzero((np.cumsum(along) > 1e-9) & (np.cumsum(along[::-1])[::-1] > 1e-9))
            out.append((edges[axis][max(0, kept[0] - 1)], edges[axis][min(CELLS, kept[-1] + 2)]))
        return out

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Independent draws (count, 2): a cell by its mass, then a place in it."""
        cells = np.searchsorted(self.cumulative, random.random(count) * self.cumulative[-1], side="right")
        places = np.unravel_index(np.minimum(cells, CELLS * CELLS - 1), (CELLS, CELLS))
        width = [e[1] - e[0] for e in self.edges]
        return np.column_stack([self.edges[k][places[k]] + width[k] * random.random(count) for k in (0, 1)])

    def limit(self, count: int) -> float:
        """The largest distance that `count` right draws may have from the reference draws."""
        return dkw(count, HALF) + dkw(REFERENCE, HALF)

    def distance(self, draws: np.ndarray) -> float:
        """The largest distance over projections between the distribution functions of draws (n, 2) and the truth."""
        pairs = zip((draws @ self.directions.T).T, (self.reference @ self.directions.T).T, strict=True)
        return max(float(stats.ks_2samp(found, true, method="asymp").statistic) for found, true in pairs)


@dataclass(frozen=True)
class Case:
    """A model of two parameters, its rows and options, the names of its parameters, and the truth."""

    model: Any
    X: np.ndarray
    y: np.ndarray
    grid: Grid
    options: dict[str, Any]
    names: tuple[str, ...] = ("beta",)


def moved(case: Case, rule: Any, proposal: Any, chains: int, steps: int, seed: int, model: Any = None) -> np.ndarray:
    """Where exact draws are after so many steps: (chains, 2), natural values."""
    start = case.grid.draw(chains, np.random.default_rng([seed, 12]))
    common = settings(draws=1, warmup=0, thin=steps, chains=chains, start=start, rng=seed, **case.options)
    tree = au.sample(model or case.model, case.X, case.y, acceptance=rule, proposal=proposal, **common)
    always = getattr(proposal, "complete", False)  # a move that decides for itself ends where it says
    assert always or 0.02 < tree["sample_stats"]["accepted"].values.mean() / steps < 0.98
    values = [tree["posterior"][name].values.reshape(chains, -1) for name in case.names]
    return np.concatenate(values, axis=1)

"""The truth over sets of variables, by quadrature over the coefficients of every set, and moves that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy import special

from austerity.engine.jit import engine
from austerity.proposals import ReversibleJump
from austerity.proposals.base import TAG
from austerity.proposals.reversible_jump import propose

BIRTH, DEATH = 1, 2
FAULTS = ("none", "no (D - k)", "no k", "edge forgotten", "no birth density")


def rows_of_three(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """60 rows of two inputs that repeat each other in part and a constant: every set has some mass."""
    random = np.random.default_rng([seed, 11])
    first = random.normal(size=60)
    X = np.column_stack([first, 0.6 * first + 0.8 * random.normal(size=60), np.ones(60)])
    chance = 1 / (1 + np.exp(-(0.45 * X[:, 0] + 0.2 * X[:, 1] + 0.35)))
    return X, (random.random(60) < chance).astype(float)


def log_likelihood(X: np.ndarray, y: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Log likelihoods (K,) at beta (K, k)."""
    out = np.empty(len(beta))
    for first in range(0, len(beta), 50_000):
        eta = beta[first : first + 50_000] @ X.T
        out[first : first + 50_000] = eta @ y - np.logaddexp(0.0, eta).sum(axis=1)
    return out


def interval(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss and Legendre on an interval."""
    nodes, weights = leggauss(count)
    return low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2


def l1_nodes(k: int, least: float, fine: float = 1) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (K, k) and log weights (K,) of d beta / l1^k outside l1 = least: beta = r s w, d beta = r^(k-1) dr dw.

    r from `least` on a logarithmic scale, w on the simplex (by the corners of a square), s all signs.
    """
    log_r, weight_r = interval(np.log(least), np.log(60.0), int(70 * fine))
    simplex, weight = np.ones((1, 1)), np.ones(1)
    for _ in range(k - 1):  # w -> ((1 - a) w, a): the volume of the next simplex
        a, weight_a = interval(0.0, 1.0, int(14 * fine))
        volume = (1 - a) ** (simplex.shape[1] - 1)
        simplex = np.concatenate([np.kron(simplex, (1 - a)[:, None]), np.tile(a, len(simplex))[:, None]], axis=1)
        weight = np.kron(weight, weight_a * volume)
    signs = np.array(list(product((-1.0, 1.0), repeat=k)))
    points = np.exp(log_r)[:, None, None, None] * signs[None, :, None, :] * simplex[None, None]
    weights = np.broadcast_to(weight_r[:, None, None] * weight, points.shape[:3])
    return points.reshape(-1, k), np.log(weights.ravel())


def normal_nodes(k: int, spread: float, fine: float = 1) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (K, k) and log weights (K,) of a product of N(0, spread), where these rows leave it any mass."""
    x, weight = interval(-2.8, 2.8, int(48 * fine))
    log_weight = np.log(weight) - 0.5 * (x / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))
    points = np.array(list(product(x, repeat=k))).reshape(-1, k)
    return points, np.array(list(product(log_weight, repeat=k))).reshape(len(points), k).sum(axis=1)


@dataclass(frozen=True)
class Truth:
    """Mass of every set, by its columns, and means of what a draw reports."""

    sets: dict[tuple[int, ...], float]
    included: np.ndarray  # (D,)
    beta: np.ndarray  # (D,): mean, zeros counted
    square: np.ndarray  # (D,): mean square
    size: float


def truth(
    X: np.ndarray,
    y: np.ndarray,
    log_mass: np.ndarray,
    nodes: Callable[[int], tuple[np.ndarray, np.ndarray]],
) -> Truth:
    """Sum over sets and coefficients; log_mass (D + 1,) of one set of a size, nodes(k) of the coefficients' prior."""
    total = X.shape[1]
    sets = [used for k in range(total + 1) for used in combinations(range(total), k) if np.isfinite(log_mass[k])]
    logs, beta, square = np.empty(len(sets)), np.zeros((len(sets), total)), np.zeros((len(sets), total))
    for place, used in enumerate(sets):
        points, weights = nodes(len(used)) if used else (np.zeros((1, 0)), np.zeros(1))
        density = log_likelihood(X[:, list(used)], y, points) + weights
        logs[place] = special.logsumexp(density) + log_mass[len(used)]
        shares = special.softmax(density)
        beta[place, list(used)], square[place, list(used)] = shares @ points, shares @ points**2
    mass = special.softmax(logs)
    inside = np.array([[j in used for j in range(total)] for used in sets])
    named = dict(zip(sets, mass, strict=True))
    return Truth(named, mass @ inside, mass @ beta, mass @ square, float(mass @ inside.sum(axis=1)))


@engine
def _faulty(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """The move of ReversibleJump with one thing wrong in its ratio."""
    ratio = propose(theta, indices, parameters, state, stream, proposed, proposed_indices, report)
    kind, fault, total = report[TAG], parameters[6], indices.size
    if kind == 0.0:
        return ratio
    small = indices.sum() - (kind == DEATH)  # of the two sets, the smaller
    sign = 1.0 if kind == BIRTH else -1.0
    if fault == 1.0:
        return ratio - sign * np.log(total - small)
    if fault == 2.0:
        return ratio - sign * np.log(max(small, 1))
    if fault == 3.0:  # the chance of a death over that of a birth, as if both sets had all three kinds of move
        update, birth, death = parameters[2], parameters[3], parameters[4]
        inside = update + birth + death
        up = inside if small > parameters[5] else inside - death
        up = up - update if small == 0 else up
        down = inside if small + 1 < total else inside - birth
        return ratio - sign * (np.log(up) - np.log(down))
    if fault == 4.0:
        value, spread = (proposed - theta).sum(), parameters[1]
        return ratio - sign * (0.5 * (value / spread) ** 2 + np.log(spread * np.sqrt(2.0 * np.pi)))
    return ratio


@dataclass(frozen=True)
class Faulty(ReversibleJump):
    """ReversibleJump with a fault by name."""

    fault: str = "none"

    def parameters(self, setting: Any) -> np.ndarray:
        return np.append(super().parameters(setting), float(FAULTS.index(self.fault)))

    def propose(self) -> Any:
        return _faulty

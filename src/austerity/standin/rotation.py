"""The mode on the orthogonal matrices, by Newton's method along rotations.

    W(a) = W expm(A),  A = sum_k a_k E_k,  E_k skew with one pair of entries +1, -1
    d f / d a_k = <G, W E_k>,   d^2 f / d a_k d a_l = (W E_k) : H : (W E_l) + <G, W (E_k E_l + E_l E_k) / 2>

G and H are the derivatives of f in the entries of W (rows/derivatives.py). The search begins on a few rows from several
random matrices, since a density of rotations may have lower peaks too; the highest is followed on all rows.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
from scipy.linalg import expm

from ..models.orthogonal import haar, nearest
from ..models.target import Target
from ..rows import derivatives as rows_derivatives
from . import mode as modes

STARTS = 6
LONGEST = 0.5  # radians a step may turn a plane by
WIDEST = 0.3  # sd of a rotation that the curvature may stand for: beyond that it has been all the way round


class Rotations:
    """f / T and its derivatives along rotations, at orthogonal matrices."""

    def __init__(self, target: Target, temperature: float, pool: ThreadPoolExecutor | None) -> None:
        self.target, self.temperature, self.pool = target, temperature, pool
        size = target.orthogonal
        self.basis = np.zeros((size * (size - 1) // 2, size, size))
        for k, (i, j) in enumerate(combinations(range(size), 2)):
            self.basis[k, i, j], self.basis[k, j, i] = 1.0, -1.0

    def tangents(self, W: np.ndarray) -> np.ndarray:
        """vec(W E_k) as columns (D D, m)."""
        return np.asarray((W @ self.basis).reshape(len(self.basis), -1).T)

    def turned(self, W: np.ndarray, a: np.ndarray) -> np.ndarray:
        """W expm(sum_k a_k E_k)."""
        return nearest(W @ expm(np.tensordot(a, self.basis, 1)))

    def __call__(self, W: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient (m,) and curvature (m, m) at W."""
        assert self.target.kernels is not None
        value, G, H = rows_derivatives.derivatives(self.target.problem, self.target.kernels, W.ravel(), self.pool)
        tangents = self.tangents(W)
        inner = W.T @ G.reshape(W.shape)
        products = np.einsum("kab,lbc->klac", self.basis, self.basis)
        bend = np.einsum("klac,ac->kl", products, inner)
        curvature = tangents.T @ H @ tangents + 0.5 * (bend + bend.T)
        return value / self.temperature, tangents.T @ G / self.temperature, curvature / self.temperature


def climb(f: Rotations, W: np.ndarray, most_steps: int, tolerance: float) -> tuple[np.ndarray, float, int, bool]:
    """Maximise from W; returns the last matrix, its value, steps taken and whether the step there is negligible."""
    value, gradient, curvature = f(W)
    damping = 0.0
    for step in range(most_steps):
        scale = np.maximum(np.abs(np.diag(curvature)), 1e-3 * np.abs(np.diag(curvature)).max() + 1e-300)
        direction = modes._damped(-curvature, scale, damping, gradient)
        if direction is None:
            damping = max(4.0 * damping, 1e-4)
            continue
        direction *= min(1.0, LONGEST / max(float(np.abs(direction).max()), 1e-300))
        gain = float(gradient @ direction)
        if gain < 2.0 * tolerance:
            return W, value, step, True
        trial = f.turned(W, direction)
        trial_value, trial_gradient, trial_curvature = f(trial)
        if trial_value >= value + 1e-4 * gain:
            W, value, gradient, curvature = trial, trial_value, trial_gradient, trial_curvature
            damping = 0.0 if damping < 1e-3 else damping / 8.0
        elif abs(trial_value - value) < 1e-9 * abs(value) + 1e-9 and gain < 1e-4:
            return W, value, step, True
        else:
            damping = max(8.0 * damping, 1e-2)
    return W, value, most_steps, False


def find_rotation(target: Target, temperature: float, pool: ThreadPoolExecutor | None, threads: int) -> modes.Mode:
    """The highest peak found, and the spread of rotations around it."""
    few = modes.few_rows(target)
    rough = Rotations(few or target, temperature, pool)
    starts = haar(np.random.Generator(np.random.Philox(3)), STARTS, target.orthogonal)
    found = [climb(rough, W, modes.MOST_STEPS, 1e-3) for W in starts]
    W, steps_before = max(found, key=lambda peak: peak[1])[0], sum(peak[2] for peak in found)
    full = Rotations(target, temperature, pool)
    W, value, steps, converged = climb(full, W, modes.MOST_STEPS, modes.TOLERANCE)
    _, _, curvature = full(W)
    tangents = full.tangents(W)
    precision, root = _spread(curvature, tangents)
    said = f"mode found among rotations in {steps} steps on all rows after {steps_before} from {STARTS} random starts"
    if not converged:
        said = f"the search for the mode among rotations stopped after {steps} steps without settling"
    return modes.Mode(W.ravel(), precision, root, value, steps, converged, said)


def _spread(curvature: np.ndarray, tangents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Precision (D D, D D) along rotations, and a root of the covariance there (as many columns, most of them zero)."""
    values, vectors = np.linalg.eigh(-curvature)
    along = tangents @ vectors
    size = tangents.shape[0]
    root = np.zeros((size, size))
    root[:, : along.shape[1]] = along / np.sqrt(np.maximum(values, WIDEST**-2))
    return along @ np.diag(values) @ along.T / 4.0, root

"""Derivatives of a user-written likelihood: from its gradient where given, else by central differences.

    f'_j ~ (f(theta + h_j) - f(theta - h_j)) / 2 h_j          2 D points in one pass
    f''  ~ differences of f' over the same steps, made symmetric

The curvature comes from few rows, scaled up: it sets step sizes, never a decision.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..engine import prior as prior_module
from ..errors import ModelError
from ..models.target import Target
from ..rows import passes

WANTED = 0.01  # second difference of f over a step: far above rounding, small enough to be a derivative
MOST_ADAPTATIONS = 20


class NumericObjective:
    """f = log prior + weight * sum_i l_i, its gradient and its curvature, by passes of many points."""

    def __init__(
        self, target: Target, weight: float, pool: ThreadPoolExecutor | None, threads: int, stride: int = 1
    ) -> None:
        self.target, self.weight, self.pool, self.threads, self.stride = target, weight, pool, threads, stride
        self.step = np.full(target.size, 1e-3)

    def values(self, points: np.ndarray) -> np.ndarray:
        """f at points (K, D)."""
        indices = np.zeros((points.shape[0], self.target.n_indices), np.int64)
        points = np.ascontiguousarray(points)
        sums, status = passes.sums(self.target.problem, points, indices, self.pool, self.threads)
        if status != 0:
            from ..engine.faults import explain_fault

            raise explain_fault(self.target, points, indices, None, status, self.stride)
        priors = np.array([prior_module.log_prior(self.target.prior, point) for point in points])
        return np.asarray(self.weight * sums + priors)

    def adapt_steps(self, theta: np.ndarray) -> None:
        """Steps h_j at which f changes by about WANTED in its second difference, whatever the parameters' units are."""
        here = float(self.values(theta[None, :])[0])
        for _ in range(MOST_ADAPTATIONS):
            steps = np.diag(self.step)
            values = self.values(np.concatenate([theta + steps, theta - steps]))
            with np.errstate(invalid="ignore"):
                bend = np.abs(values[: theta.size] + values[theta.size :] - 2 * here)
            bend = np.where(np.isfinite(bend), bend, np.inf)
            rounding = 1e-12 * abs(here)
            factor = np.clip(np.sqrt(WANTED / np.maximum(bend, 1e-300)), 0.1, 10.0)
            factor[bend < rounding] = 10.0
            # A parameter held as a logarithm never needs a step above 1; others have no natural size.
            new = np.where(self.target.logarithms(), np.minimum(self.step * factor, 1.0), self.step * factor)
            settled = (bend > WANTED / 4) & (bend < 4 * WANTED) | (new == self.step)
            self.step = new
            if settled.all():
                return

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """f' (D,)."""
        if self.target.gradient is not None:
            return self._given_gradient(theta)
        return self._differences(theta[None, :])[0]

    def _differences(self, thetas: np.ndarray) -> np.ndarray:
        """Central differences at each of thetas (K, D)."""
        size = thetas.shape[1]
        steps = np.diag(self.step)
        points = (thetas[:, None, None, :] + np.stack([steps, -steps])[None]).reshape(-1, size)
        values = np.concatenate([self.values(points[k : k + 256]) for k in range(0, len(points), 256)])
        values = values.reshape(thetas.shape[0], 2, size)
        return np.asarray((values[:, 0] - values[:, 1]) / (2 * self.step))

    def _given_gradient(self, theta: np.ndarray) -> np.ndarray:
        """The user's gradient over blocks of rows, by the chain rule where a parameter is held as a logarithm."""
        target, total = self.target, np.zeros(theta.size)
        natural = target.natural(theta[None, :])[0]
        assert target.gradient is not None
        for first in range(0, target.problem.X.shape[0], 16384):
            X, y = target.problem.X[first : first + 16384], target.problem.y[first : first + 16384]
            try:
                part = np.asarray(target.gradient(natural, X, y), dtype=np.float64)
            except Exception as error:
                raise ModelError(
                    f"the user's gradient raised {type(error).__name__}: {error} for rows from {first * self.stride}: "
                    "correct it, or leave it out"
                ) from error
            if part.shape != theta.shape or not np.all(np.isfinite(part)):
                raise ModelError(
                    f"the user's gradient returned {part!r:.80} of shape {part.shape} for rows from "
                    f"{first * self.stride}: it must return {theta.size} finite numbers"
                )
            total += part
        first_derivative, _ = prior_module.derivatives(target.prior, theta)
        return np.asarray(self.weight * total * np.where(target.logarithms(), natural, 1.0) + first_derivative)

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """f'' (D, D)."""
        steps = np.diag(self.step)
        points = np.concatenate([theta + steps, theta - steps])
        if self.target.gradient is not None:
            slopes = np.array([self.gradient(point) for point in points])
        else:
            slopes = self._differences(points)
        rows = (slopes[: theta.size] - slopes[theta.size :]) / (2 * self.step[:, None])
        return np.asarray((rows + rows.T) / 2)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        value = float(self.values(theta[None, :])[0])
        if not np.isfinite(value):  # nothing to differ from
            return value, np.full(theta.size, np.nan), np.full((theta.size, theta.size), np.nan)
        return value, self.gradient(theta), self.curvature(theta)

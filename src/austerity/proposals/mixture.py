"""A mixture: each step is made by one of several proposals, chosen at random beforehand.

    k ~ weights,   theta' ~ q_k(theta, .)

Each component is reversible by itself, so the ratio of the chosen one is the ratio of the step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError

MOST = 8  # components the compiled loop has places for


@dataclass(frozen=True, eq=False)
class Mixture:
    """Several proposals and their weights (equal by default)."""

    components: tuple[Any, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.components, (tuple, list)):
            raise InputError(f"Mixture({self.components!r}): give a list of proposals such as [RandomWalk(0.1)]")
        object.__setattr__(self, "components", tuple(self.components))
        count = len(self.components)
        if not 1 <= count <= MOST:
            raise InputError(f"Mixture of {count} proposals: give between 1 and {MOST}")
        for place, component in enumerate(self.components):
            if isinstance(component, (Mixture, type)) or not hasattr(component, "propose"):
                raise InputError(f"Mixture component {place} is {component!r}: give proposals such as RandomWalk()")
        try:
            weights = np.ones(count) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.full(count, np.nan)
        if weights.shape != (count,) or not np.all(np.isfinite(weights)) or not np.all(weights > 0):
            raise InputError(f"Mixture weights {self.weights!r}: give {count} positive numbers, one a component")
        object.__setattr__(self, "weights", tuple(float(w) for w in weights / weights.sum()))

    @property
    def symmetric(self) -> bool:
        return all(component.symmetric for component in self.components)

    @property
    def independent(self) -> bool:
        return all(component.independent for component in self.components)

    @property
    def needs_mode(self) -> bool:
        return any(component.needs_mode for component in self.components)

    def settings(self) -> dict[str, Any]:
        return {
            "move": "Mixture",
            "components": [component.settings() for component in self.components],
            "weights": list(self.weights or ()),
        }

"""Gibbs sampling of densely connected discrete models, from all factors of a variable or from few of them."""

from .audit import Updates, updates
from .door import sample
from .field import Field

__all__ = ["Field", "Updates", "sample", "updates"]

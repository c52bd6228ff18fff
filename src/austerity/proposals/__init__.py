"""Where to go next: one file a proposal."""

from .adaptive import AdaptiveMetropolis
from .mixture import Mixture
from .random_walk import RandomWalk
from .reversible_jump import ReversibleJump

__all__ = ["AdaptiveMetropolis", "Mixture", "RandomWalk", "ReversibleJump"]

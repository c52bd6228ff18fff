"""Where to go next: one file a proposal."""

from .adaptive import AdaptiveMetropolis
from .langevin import Langevin
from .mixture import Mixture
from .random_walk import RandomWalk
from .reversible_jump import ReversibleJump
from .slice import Slice
from .stiefel import Stiefel

__all__ = ["AdaptiveMetropolis", "Langevin", "Mixture", "RandomWalk", "ReversibleJump", "Slice", "Stiefel"]

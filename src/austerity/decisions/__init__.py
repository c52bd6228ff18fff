"""Whether to go: one file a published rule."""

from .boundaries import OBrienFleming, Pocock, WangTsiatis
from .exact import Exact
from .sequential_t import SequentialT

__all__ = ["Exact", "OBrienFleming", "Pocock", "SequentialT", "WangTsiatis"]

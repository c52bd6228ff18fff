"""What a row says about the parameters: one file a family."""

from .logistic import Logistic

__all__ = ["Logistic"]

"""Priors of coefficients, scales and shapes."""

from .models.priors import Cauchy, Flat, Laplace, Normal, StudentT

__all__ = ["Cauchy", "Flat", "Laplace", "Normal", "StudentT"]

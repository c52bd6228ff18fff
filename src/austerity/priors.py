"""Priors of coefficients, scales, shapes and (Beta) of the probability that a variable is in use."""

from .models.priors import Beta, Cauchy, Flat, Laplace, Normal, StudentT

__all__ = ["Beta", "Cauchy", "Flat", "Laplace", "Normal", "StudentT"]

"""Densities of one column, without a response: a normal one, and a mixture whose posterior has two modes."""

import numpy as np

import austerity as au

rng = np.random.default_rng(7)
x = np.where(rng.random(50_000) < 0.3, rng.normal(-1.0, 0.8, 50_000), rng.normal(2.0, 0.8, 50_000))

# One normal density: its mean and scale, each with an error of its own.
post = au.sample(au.models.Gaussian(), x, draws=500)
print(au.summary(post))

# Two: the second lies theta2 away from the first. With equal weights they could change places unseen; these cannot.
model = au.models.GaussianMixture(
    weights=(0.3, 0.7), prior={"theta1": au.priors.Flat(), "theta2": au.priors.Normal(0, 5)}
)
post = au.sample(model, x, draws=500)
print(au.summary(post))

# At a high temperature the posterior is that of fewer rows, and chains cross between modes: how much lies in each?
even = au.models.GaussianMixture(sigma=2.0**0.5, prior=(au.priors.Normal(0, 3), au.priors.Normal(0, 1)))
rows = rng.normal(0, 2.0**0.5, 50_000) + (rng.random(50_000) < 0.5)
post = au.sample(even, rows, temperature=500.0, start=[[0, 1], [1, -1]] * 2, draws=3000, progress=False)
print(f"share of theta2 below zero: {float((post['posterior']['theta2'] < 0).mean()):.2f}")

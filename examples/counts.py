"""Counts with different exposures: Poisson regression is too sure of itself where counts spread more than it allows."""

import numpy as np

import austerity as au

rng = np.random.default_rng(2)
n = 20_000
X = rng.standard_normal((n, 3))
days = rng.integers(1, 31, n)  # how long each row was watched: enters as the logarithm in `offset`
mean = days * np.exp(-1.0 + X @ np.array([0.5, -0.3, 0.0]))
y = rng.poisson(mean * rng.gamma(2.0, 1 / 2.0, n))  # negative binomial with shape 2

settings = {"intercept": True, "offset": np.log(days), "names": ["age", "price", "noise"], "draws": 1000}
prior = au.priors.Laplace(0, 0.5)  # pulls small coefficients towards zero
poisson = au.sample(au.models.Poisson(prior=prior), X, y, **settings)
binomial = au.sample(au.models.NegativeBinomial(prior=prior), X, y, **settings)
print(au.summary(poisson, kind="stats"))
print(au.summary(binomial, kind="stats"))

sd = [float(post["posterior"]["beta"].sel(coef="age").std()) for post in (poisson, binomial)]
print(f"\nsd of beta[age]: {sd[1] / sd[0]:.1f} times as wide once the spread of the counts is modelled")
beta = [float(post["posterior"]["beta"].sel(coef="noise").mean()) for post in (poisson, binomial)]
print(
    f"beta[noise] lies {abs(beta[0]) / sd[0]:.1f} sd from 0 in the first and {abs(beta[1]) / sd[1]:.1f} in the second"
)
print(f"shape: {float(binomial['posterior']['shape'].mean()):.2f} (2 in truth)")

"""A few wild responses: least squares follows them, Student-t errors do not."""

import numpy as np

import austerity as au

rng = np.random.default_rng(3)
X = rng.standard_normal((20_000, 2))
y = 2.0 + X @ np.array([1.0, -1.0]) + rng.normal(0, 0.5, len(X))
wild = rng.random(len(X)) < 0.02
y[wild] += 30 * X[wild, 0]  # 2 % of the responses are wrong, and wrong in step with the first column

# One prior a coefficient; the scale of the errors has its own, given on its natural scale.
prior = {"x0": au.priors.Cauchy(0, 2.5), "x1": au.priors.StudentT(3, 0, 2.5)}
scale = au.priors.Normal(0, 5)
linear = au.sample(au.models.Linear(prior=prior, sigma_prior=scale), X, y, intercept=True, draws=1000)
robust = au.sample(au.models.StudentT(prior=prior, dof=None), X, y, intercept=True, draws=1000)
print(au.summary(linear))
print(au.summary(robust))

for name, post in (("normal errors", linear), ("Student-t errors", robust)):
    beta = post["posterior"]["beta"].sel(coef="x0")
    print(f"{name}: beta[x0] = {float(beta.mean()):.2f} +- {float(beta.std()):.2f} (1 in truth)")

# Losses that withstand outliers, as likelihoods: the median, Huber's compromise, and a quantile that is not the middle.
median = au.models.LAD(prior=prior)
for name, model in (("median", median), ("Huber", au.models.Huber(prior=prior)), ("90 %", au.models.Quantile(0.9))):
    beta = au.sample(model, X, y, intercept=True, draws=500, progress=False)["posterior"]["beta"].mean(
        ("chain", "draw")
    )
    print(f"{name}: intercept {float(beta.sel(coef='intercept')):.2f}, beta[x0] = {float(beta.sel(coef='x0')):.2f}")

"""A likelihood of your own: waiting times, some of them cut off when observation ended (censored).

log p(t | rate) = seen * log(rate) - rate * t,    rate = exp(b0 + b1 * age),    seen = 1 where the end was observed
"""

import numpy as np

import austerity as au

rng = np.random.default_rng(5)
age = rng.standard_normal(20_000)
end, stop = rng.exponential(1 / np.exp(-1 + 0.7 * age)), rng.exponential(3.0, 20_000)
X, time = np.column_stack([age, end < stop]), np.minimum(end, stop)  # a row: age, seen


def row(theta, x, y):
    """One row; compiled, so that only the rows that a decision needs are touched."""
    log_rate = theta[0] + theta[1] * x[0]
    return x[1] * log_rate - np.exp(log_rate) * y


def block(points, X, y):
    """The same for n rows at K points (K, 2) in plain NumPy; returns (n, K)."""
    log_rate = points[:, 0] + X[:, :1] * points[:, 1]
    return X[:, 1:] * log_rate - np.exp(log_rate) * y[:, None]


def gradient(theta, X, y):
    """Optional: of the sum over the rows given; the mode is found in fewer passes."""
    slope = X[:, 1] - np.exp(theta[0] + theta[1] * X[:, 0]) * y
    return np.array([slope.sum(), slope @ X[:, 0]])


priors = {"b0": au.priors.Normal(0, 5), "b1": au.priors.Normal(0, 2)}
compiled = au.sample(au.Model(priors, row=row), X, time, dtype="float64", draws=1000)
plain = au.sample(au.Model(priors, block=block, gradient=gradient), X, time, dtype="float64", draws=500, warmup=200)
print(au.summary(compiled))
for post in (compiled, plain):
    b1 = post["posterior"]["b1"]
    print(f"b1 = {float(b1.mean()):.3f} +- {float(b1.std()):.3f} (0.7 in truth)")

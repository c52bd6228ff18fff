"""Three classes: multinomial regression with a mixture of moves, and functions of the parameters kept."""

import numpy as np

import austerity as au

rng = np.random.default_rng(4)
X = rng.standard_normal((10_000, 2)) * [1.0, 100.0]  # the second column is measured in small units
eta = np.column_stack([np.zeros(len(X)), X @ [1.0, 0.0], X @ [0.0, -0.01] + 0.5])
y = (eta + rng.gumbel(size=eta.shape)).argmax(1)

# Class 0 is the reference; `standardize` states prior and moves per standard deviation, draws are turned back.
walk, learn = au.proposals.RandomWalk(), au.proposals.AdaptiveMetropolis()
post = au.sample(
    au.models.Multinomial(prior=au.priors.Flat()),
    X,
    y,
    proposal=au.proposals.Mixture((walk, learn), weights=(1, 3)),
    keep={"beta": lambda p: p["beta"], "gap": lambda p: p["beta"][:, 1, 0] - p["beta"][:, 0, 0]},
    intercept=True,
    standardize=True,
    draws=1500,
)
print(au.summary(post))
gap = post["posterior"]["gap"]
print(f"\nintercept of class 2 less that of class 1: {float(gap.mean()):.2f} +- {float(gap.std()):.2f} (0.5 in truth)")

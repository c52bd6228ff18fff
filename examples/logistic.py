"""Logistic and probit regression on 50,000 rows: the short form, and the same with every choice made by hand."""

import numpy as np

import austerity as au

rng = np.random.default_rng(1)
X = rng.standard_normal((50_000, 4))
truth = np.array([1.0, -0.5, 0.25, 0.0])
y = rng.random(len(X)) < 1 / (1 + np.exp(-(X @ truth)))

# The short form: mode, curvature and decision are found for you; what was chosen is said on standard error.
post = au.sample(au.models.Logistic(), X, y)
print(au.summary(post))
sd = post["posterior"]["beta"].std(("chain", "draw"))
away = np.abs(post["posterior"]["beta"].mean(("chain", "draw")) - truth) / sd
print(f"\nfarthest from the truth: {float(away.max()):.1f} posterior standard deviations")

# The same with everything named. Draws depend on these settings and on nothing else, whatever `cores` is.
probit = au.sample(
    au.models.Probit(prior=au.priors.Normal(0, 1)),
    X,
    y,
    acceptance=au.decisions.Exact(),
    proposal=au.proposals.AdaptiveMetropolis(target=0.25),
    draws=1000,
    warmup=500,
    chains=4,
    rng=7,
    cores=2,
)
print(au.summary(probit))
ratio = post["posterior"]["beta"].mean(("chain", "draw"))[0] / probit["posterior"]["beta"].mean(("chain", "draw"))[0]
print(f"\nlogistic / probit coefficient: {float(ratio):.2f} (the two links differ by a scale of about 1.7)")
print(f"made by austerity {au.__version__}: {post.attrs['guarantee']}")

"""Predictions for new rows, scores of held-out ones, and which rule answers best in the time there is."""

import numpy as np

import austerity as au

rng = np.random.default_rng(10)
X = rng.standard_normal((20_000, 5)).astype(np.float32)
truth = np.array([1.0, -0.7, 0.4, 0.0, 0.2])
y = rng.random(len(X)) < 1 / (1 + np.exp(-X @ truth))
train, test = slice(0, 15_000), slice(15_000, None)

model = au.models.Logistic(prior=au.priors.Normal(0, 1))
post = au.sample(model, X[train], y[train], draws=1000, chains=16)
chance = au.predict(post, X[test])
away = np.abs(chance - 1 / (1 + np.exp(-X[test] @ truth)))
print(f"chances of {len(chance):,} new rows, farthest from the truth: {away.max():.3f}")
draws = au.predict(post, X[test][:3], kind="draws", max_draws=2000)
for row, (low, high) in enumerate(np.quantile(draws, (0.05, 0.95), axis=0).T):
    print(f"row {row}: chance {chance[row]:.3f}, 90% of its draws within {low:.3f} to {high:.3f}")

full: au.Score = au.score(post, X[test], y[test])
without = au.sample(model, X[train, 1:], y[train], draws=500, progress=False)
part = au.score(without, X[test, 1:], y[test])
gain = full.log_density - part.log_density
print(f"all columns:       {full}\nwithout the first: {part}")
print(f"gained by it: {gain.mean():.4f} a row, {gain.mean() / (gain.std() / np.sqrt(gain.size)):.0f} standard errors")

rules = {"exact": au.decisions.Exact(), "epsilon = 0.2": au.decisions.SequentialT(0.2, 500)}
settings = {"chains": 4, "seconds": 0.3, "truth": post, "progress": False}
risk: au.Risk = au.risk(model, X[train], y[train], rules=rules, test_rows=X[test][:200], **settings)
print(f"\n{risk}")

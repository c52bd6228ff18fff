"""Unmixing signals: three sources recorded by three microphones, and which of them can be told apart.

python examples/components.py
"""

import numpy as np

import austerity as au

rng = np.random.default_rng(0)
sources = np.column_stack([rng.laplace(size=20_000), np.sign(rng.normal(size=20_000)) * rng.exponential(size=20_000)])
sources = np.column_stack([sources, rng.standard_t(4, size=20_000)])
mixing = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, -0.4], [0.0, 0.6, 1.0]])
X, truth = sources @ mixing.T + [10.0, 0.0, -3.0], np.linalg.inv(mixing)

keep = {"W": lambda p: p["W"], "amari": au.models.amari_distance(truth)}
common = {"draws": 400, "warmup": 400, "chains": 4, "progress": False}
post = au.sample(au.models.ICA(), X, keep=keep, acceptance=au.decisions.Exact(), **common)
print(f"Amari distance to the truth: {float(post['posterior']['amari'].mean()):.4f} (0: the truth, 1: all mixed)")
print(f"acceptance: {float(post['sample_stats']['acceptance_rate'].mean()):.2f} by a step learnt in warm-up")

# Signs and order of the components mean nothing. Put beside the truth, each row of W is one of its rows, rescaled.
W = post["posterior"]["W"].mean(("chain", "draw")).values
print("rows of the mean of W, as shares of the true rows:")
print(np.round(W @ mixing, 2))

# A step of one's own choice, and random orthogonal matrices to begin at.
short = au.proposals.Stiefel(0.02)
common["keep"] = {"amari": au.models.amari_distance(truth[:1])}
walk = au.sample(au.models.ICA(), X, proposal=short, start="prior", acceptance=au.decisions.Exact(), **common)
print(f"of the first source alone, from random starts: {float(walk['posterior']['amari'].mean()):.4f}")

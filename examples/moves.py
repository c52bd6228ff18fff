"""Moves that read rows: steps along the gradient of a batch, and slices; beside a random walk."""

import numpy as np

import austerity as au

rng = np.random.default_rng(6)
X = rng.standard_normal((4000, 3))
y = 1.0 * (rng.random(4000) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.2])))
rows = au.rows.open(X, y)
model = au.models.Logistic(prior=au.priors.Normal(0, 1))

moves = {
    "random walk": au.proposals.RandomWalk(),
    "Langevin": au.proposals.Langevin(preconditioner="full", batch=2000),
    "slices": au.proposals.Slice(),
}
for name, move in moves.items():
    post = au.sample(model, rows, proposal=move, draws=1000, warmup=200, progress=False)
    beta = post["posterior"]["beta"].sel(coef="x0")
    print(f"{name}: beta[x0] = {float(beta.mean()):.3f} +- {float(beta.std()):.3f}, exact: {post.attrs['exact']}")

sgld = au.proposals.Langevin(preconditioner="full", batch=400, corrected=False)
post = au.sample(model, rows, proposal=sgld, draws=1000, warmup=200, progress=False)
print(f"without correction: +- {float(post['posterior']['beta'].sel(coef='x0').std()):.3f}; {post.attrs['guarantee']}")

"""Which of twenty inputs matter? Inclusion probabilities by reversible jumps over sets of inputs."""

import numpy as np

import austerity as au

rng = np.random.default_rng(8)
X = rng.standard_normal((20_000, 20))
X[:, 5] = 0.9 * X[:, 0] + 0.44 * X[:, 5]  # nearly repeats the first
effect = np.zeros(20)
effect[[0, 3, 7]] = [0.8, -0.4, 0.06]
y = rng.random(20_000) < 1 / (1 + np.exp(-X @ effect))

model = au.models.VariableSelection(slab=au.priors.Normal(0, 1), inclusion=au.priors.Beta(1, 4))
moves = au.proposals.ReversibleJump(update=0.03, birth=0.1, weights=(2, 1, 1))
post = au.sample(
    model, X, y, acceptance=au.decisions.Exact(), proposal=moves, start="one", draws=3000, warmup=1000, progress=False
)
chance = post["posterior"]["included"].mean(("chain", "draw"))
for name, value in zip(chance["coef"].values, chance.values, strict=True):
    if value > 0.5:
        beta = post["posterior"]["beta"].sel(coef=name).values
        print(f"{name}: in use with probability {value:.2f}, then {beta[beta != 0].mean():.2f}")
print(f"largest probability of an input without effect: {chance.values[effect == 0].max():.2f}")
print(f"inputs in use: {float(post['posterior']['size'].mean()):.2f}")

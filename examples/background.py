"""A run in the background: look at it, pause it, go on, and take what is there."""

import time

import numpy as np

import austerity as au

rng = np.random.default_rng(8)
X = rng.standard_normal((50_000, 5))
y = rng.random(len(X)) < 1 / (1 + np.exp(-X.sum(1) / 2))

# The arguments are those of au.sample; the handle comes back as soon as the mode is found.
run: au.Handle = au.start(au.models.Logistic(prior=au.priors.Normal(0, 1)), X, y, draws=100_000, progress=False)
while run.inspect()["draws"][0] < 200:
    time.sleep(0.1)
run.pause()
time.sleep(0.5)  # the pieces under way end first
seen = run.inspect()
print(f"{seen['state']} after {seen['draws']} draws, {seen['accepted'][0]:.0%} accepted")
time.sleep(0.3)
print(f"nothing was drawn meanwhile: {run.inspect()['draws'] == seen['draws']}")
run.resume()
print(f"not done within a second: {run.wait(timeout=1.0) is None}")
post = run.abort()  # ends it and gives what was drawn; run.wait() would let it finish
print(f"still running: {run.running}; {post['posterior'].sizes['draw'] >= 200 = }")
print(au.summary(post))

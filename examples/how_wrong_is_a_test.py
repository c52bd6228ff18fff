"""What a sequential test gets wrong and what it reads, computed before a run and then seen in one.

mu_std is how far the mean of all N terms lies from the threshold, in standard errors of a full sum: 0 is a tie, and at
3 even the full sum is clear. `error` is the chance of a wrong decision, `rows` the share of the rows read.
"""

import numpy as np

import austerity as au

N, batch, epsilon = 50_000, 500, 0.05
boundaries = [au.decisions.Pocock(), au.decisions.WangTsiatis(0.75), au.decisions.OBrienFleming()]
distances = [0.0, 1.0, 3.0, 10.0]
print("mu_std".ljust(14) + "".join(f"{d:>20g}" for d in distances))
for boundary in boundaries:
    found = au.design.error(N, batch, epsilon, distances, boundary)
    cells = [f"{e:.4f}, {s:5.1%} rows" for e, s in zip(found.error, found.data_share, strict=True)]
    print(type(boundary).__name__.ljust(14) + "".join(cell.rjust(20) for cell in cells))

# At equilibrium a random walk's decisions lie near a tie, so most of them need most rows.
for boundary in boundaries:
    share = au.design.expected_data_share(N, batch, epsilon, boundary, sd_lambda=2.38)
    print(f"predicted for a tuned random walk, {type(boundary).__name__}: {share:.0%} of the rows a decision")

rng = np.random.default_rng(9)
X = rng.standard_normal((N, 10))
y = rng.random(N) < 1 / (1 + np.exp(-X @ rng.normal(0, 0.5, 10)))
rule = au.decisions.SequentialT(epsilon, batch, boundaries[0])
post = au.sample(au.models.Logistic(), X, y, acceptance=rule, draws=300, warmup=100, chains=2)
print(au.summary(post, kind="stats"))
print(f"\nread in the run: {float(post['sample_stats']['n_rows'].mean()) / N:.0%} of the rows a decision")

"""A discrete field: people with one of two opinions, who would rather agree with their friends."""

import numpy as np

import austerity as au

rng = np.random.default_rng(5)
people = 30
friends = [(i, j) for i in range(people) for j in range(i) if rng.random() < 0.5]
tables = {pair: [[1.1, 1.0], [1.0, 1.1]] for pair in friends}  # weight 1.1 where two friends agree
field = au.gibbs.Field({**tables, (0,): [1.0, 5.0]})  # the first one leans towards opinion 1

exact = au.gibbs.sample(field, draws=4000, progress=False)
print(exact.attrs["guarantee"])
tested = au.gibbs.sample(field, au.decisions.SequentialT(0.05, 5), draws=4000, progress=False)
asked = {name: float(post["sample_stats"]["n_rows"].mean()) for name, post in (("all", exact), ("few", tested))}
print(f"factors read a sweep: {asked['few']:.0f} of {asked['all']:.0f}")
for name, post in (("exact", exact), ("sequential test", tested)):
    x = post["posterior"]["x"].values
    alike = np.mean(x[..., [i for i, _ in friends]] == x[..., [j for _, j in friends]])
    print(
        f"{name}: first person holds 1 with probability {x[..., 0].mean():.2f}, friends agree in {alike:.3f} of pairs"
    )

"""What a sequential test reads of 10^15 rows: nobody holds them, batches are drawn from their law."""

import austerity as au

rule = au.decisions.SequentialT(0.05, 10**12)
rows = au.rows.Summary(n=10**15, mean=0.5, sd=0.1)
for name, acceptance in (("exact", au.decisions.Exact()), ("sequential test", rule)):
    post = au.sample(au.models.GaussianMean(sigma=1.0), rows, acceptance=acceptance, draws=2000, progress=False)
    mu, read = post["posterior"]["mu"], float(post["sample_stats"]["n_rows"].mean()) / rows.n
    print(f"{name}: mean {float(mu.mean()):.9f}, sd {float(mu.std()):.2e}, share of the rows read {read:.3f}")

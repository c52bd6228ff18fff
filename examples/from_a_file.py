"""A table in a file, draws on disk, and a run that is gone on with."""

import csv
import tempfile
from pathlib import Path

import numpy as np

import austerity as au

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(6)
with open(folder / "loans.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["age", "income", "defaulted"])
    for age, income in zip(rng.normal(45, 12, 20_000), rng.lognormal(10, 0.5, 20_000), strict=True):
        missing = rng.random() < 0.01
        defaulted = rng.random() < 1 / (1 + np.exp(3 + 0.05 * (age - 45) - 2e-5 * income))
        table.writerow([f"{age:.2f}", "" if missing else f"{income:.2f}", int(defaulted)])

# .csv and .parquet need pyarrow (pip install austerity[arrow]). Missing values are refused unless asked otherwise.
rows = au.rows.open(folder / "loans.csv", target="defaulted", missing="drop")
print(f"{rows}: {rows.dropped} rows were left out, columns {', '.join(rows.names)}")

settings = {"intercept": True, "standardize": True, "store": folder / "run.zarr", "chains": 2}
au.sample(au.models.Logistic(), rows, draws=500, **settings)
au.sample(au.models.Logistic(), rows, draws=2000, resume=True, **settings)  # as if it had never stopped

post = au.load(folder / "run.zarr")  # also after a crash: everything up to the last commit
print(f"{post['posterior'].sizes['draw']} draws a chain")
print(au.summary(post))

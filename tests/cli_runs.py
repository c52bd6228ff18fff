"""Tables and arguments for the tests of the command line."""

import os
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FEW = ["--draws", "40", "--warmup", "20", "--chains", "2"]


def make_tables(folder: Path) -> Path:
    """The same 400 rows as rows.csv and rows.parquet in a folder, and faulty tables beside them; returns the folder."""
    import pyarrow
    from pyarrow import csv, parquet

    rng, n = np.random.default_rng(5), 400
    age, income = rng.normal(45, 10, n), rng.normal(0, 1, n)
    columns = {
        "age": age,
        "income": income,
        "weight": rng.uniform(0.5, 1.5, n),
        "shift": rng.normal(0, 0.1, n),
        "bought": (rng.random(n) < 1 / (1 + np.exp(2 - 0.05 * age - income))).astype(np.int64),
        "visits": rng.poisson(np.exp(0.02 * age)),
        "spent": 3 + 0.1 * age + rng.standard_t(4, n),
        "kind": rng.integers(0, 3, n),
    }
    table = pyarrow.table(columns)
    csv.write_csv(table, folder / "rows.csv")
    parquet.write_table(table, folder / "rows.parquet")
    (folder / "gaps.csv").write_text("a,y\n1,0\n,1\n2,1\n3,0\n0.5,1\n")
    (folder / "words.csv").write_text("a,y\nred,0\nblue,1\n")
    (folder / "rows.txt").write_text("a,y\n1,0\n")
    np.save(folder / "matrix.npy", np.column_stack([income, columns["bought"]]))
    return folder


def logistic(tables: Path, run: Path, *more: str, name: str = "rows.parquet") -> list[str]:
    """Arguments of a short logistic regression into `run`."""
    start = ["sample", "--model", "logistic", "--target", "bought", "--columns", "age,income"]
    return [*start, str(tables / name), "-o", str(run), *FEW, *more]


def environment() -> dict[str, str]:
    """That of a process which finds this checkout, installed or not."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def command(*arguments: str) -> list[str]:
    """The command as a process of its own."""
    return [sys.executable, "-m", "austerity", *arguments]

"""A process that predicts for many rows and says how much memory it took: `python prediction_child.py KIND PATH`."""

from __future__ import annotations

import json
import sys

import numpy as np
from memory_child import anonymous, peak

N_ROWS, COLUMNS, DRAWS = 400_000, 40, 20


def main(kind: str, path: str) -> None:
    import austerity as au

    random = np.random.default_rng(0)
    X, y = random.standard_normal((2000, COLUMNS)), random.random(2000) < 0.5
    names = [f"c{j}" for j in range(COLUMNS)]
    post = au.sample(
        au.models.Logistic(), X, y, names=names, draws=DRAWS // 2, warmup=10, chains=2, progress=False, cores=2
    )
    out = np.lib.format.open_memmap(f"{path}.out", mode="w+", dtype=np.float32, shape=(DRAWS, N_ROWS))
    au.predict(post, X, names=names, kind=kind)  # all code is loaded by now
    before, highest = anonymous(), peak()
    au.predict(post, path, kind=kind, out=out if kind == "draws" else None)
    print(json.dumps({"grown": anonymous() - before, "peak": peak() - highest}))


if __name__ == "__main__":
    main(*sys.argv[1:])

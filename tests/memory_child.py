"""A process that samples and says how much memory it took: `python memory_child.py '{"rule": "Exact", ...}'`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

N_ROWS, COLUMNS = 300_000, 40


def peak() -> int:
    """The most bytes this program ever had in memory; getrusage would count what its parent had when it forked."""
    return of_kernel("/proc/self/status", "VmHWM:")


def anonymous() -> int:
    """Bytes of this process that are no pages of a file."""
    return of_kernel("/proc/self/smaps_rollup", "Anonymous:")


def of_kernel(file: str, name: str) -> int:
    """A number of kilobytes from one of the kernel's lists, in bytes."""
    lines = Path(file).read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def responses() -> np.ndarray:
    return (np.random.default_rng(1).random(N_ROWS) < 0.4).astype(np.float32)


def given_rows(kind: str) -> tuple[Any, np.ndarray]:
    """X as "array" (float64), "mapped:x.npy" or "path:x.npy"; and y."""
    if kind == "array":
        return np.random.default_rng(0).standard_normal((N_ROWS, COLUMNS)), responses()
    how, path = kind.split(":", 1)
    return (np.load(path, mmap_mode="r") if how == "mapped" else path), responses()


def main(given: dict[str, Any]) -> None:
    import austerity as au
    from austerity.engine.run import Run

    X, y = given_rows(given["rows"])
    rule = {"Exact": au.decisions.Exact(), "SequentialT": au.decisions.SequentialT(0.05, 500)}[given["rule"]]
    settings = {"draws": 30, "warmup": 10, "chains": 2, "acceptance": rule, "progress": False, "cores": 2}
    few = np.array(X[:2000] if not isinstance(X, str) else np.load(X, mmap_mode="r")[:2000])
    au.sample(au.models.Logistic(), few, y[:2000], **settings)  # all code is loaded by now
    before, during = anonymous(), list[int]()
    made_safe = Run._safe_point

    def safe_point(self: Any, force: bool = False) -> None:
        during.append(anonymous())
        made_safe(self, force)

    Run._safe_point = safe_point  # type: ignore[method-assign]
    tree = au.sample(au.models.Logistic(), X, y, **settings)
    said = {
        "peak": peak(),
        "callers": (X.nbytes if isinstance(X, np.ndarray) and not isinstance(X, np.memmap) else 0) + y.nbytes,
        "grown": max(during) - before,
        "estimate": tree.attrs["memory_estimate"],
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

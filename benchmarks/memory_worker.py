"""One sampling run and the memory it took: python memory_worker.py KIND RULE N D [FILE]

KIND is what the caller holds: "float64" or "float32" arrays in memory, or "mapped", a float32 .npy FILE given by its
path. Prints a JSON object: bytes of the caller's arrays, bytes of the rows as held, whether they were copied, and the
peak of this process beyond the caller's arrays, its interpreter and libraries included.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import austerity as au

CHUNK = 100_000  # rows generated together, so that making the data leaves no peak of its own
STATUS = Path("/proc/self/status")


def status(name: str) -> int:
    """A line of /proc/self/status in bytes."""
    return next(int(line.split()[1]) * 1024 for line in STATUS.read_text().splitlines() if line.startswith(name))


def generate(n_rows: int, n_columns: int, dtype: str, out: Any) -> np.ndarray:
    """Fill out (N, d) and give responses (N,)."""
    generator, y = np.random.default_rng(0), np.empty(n_rows, dtype)
    truth = generator.normal(0.0, 0.5, n_columns)
    for first in range(0, n_rows, CHUNK):
        part = generator.standard_normal((min(CHUNK, n_rows - first), n_columns))
        out[first : first + CHUNK] = part
        y[first : first + CHUNK] = generator.random(part.shape[0]) < 1.0 / (1.0 + np.exp(-part @ truth))
    return y


class Watch:
    """The largest anonymous memory seen, looked at every few milliseconds: pages of a mapped file do not count."""

    def __init__(self) -> None:
        self.most, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.is_set():
            self.most = max(self.most, status("RssAnon:"))
            time.sleep(0.003)

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return self.most


def sample(X: Any, y: np.ndarray, rule_name: str) -> None:
    """A short run; peaks come before the first draw, and draws are few bytes."""
    rule: Any = au.decisions.Exact() if rule_name == "exact" else au.decisions.SequentialT(0.1, 500)
    chains = 16 if rule_name == "exact" else 4
    model = au.models.Logistic(prior=au.priors.Normal(0, 1))
    au.sample(model, X, y, acceptance=rule, draws=20, warmup=5, chains=chains, progress=False)


def main() -> None:
    kind, rule_name, rows, columns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if kind == "mapped":
        path = sys.argv[5]
        X: Any = path
        y = np.load(Path(path).with_suffix(".y.npy"))
        caller = y.nbytes
    else:
        X = np.empty((rows, columns), kind)
        y = generate(rows, columns, kind, X)
        caller = X.nbytes + y.nbytes
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    watch = Watch()
    sample(X, y, rule_name)
    anonymous = watch.end()
    peak = anonymous if kind == "mapped" else status("VmHWM:")
    held = au.rows.open(X, y)
    said = {"caller": caller, "held": held.nbytes, "copied": bool(held.copied), "peak": peak - caller}
    print(json.dumps(said))


if __name__ == "__main__":
    main()

"""The first call of a fresh process: python first_draw.py (draw | count) (builtin | user) (sequential | exact)

    draw     seconds of the first call of austerity.sample, from arrays to one draw of each of four chains
    count    how many functions Numba compiles in that call; one loaded from the cache on disk is not compiled

Prints one number. The user's model is logistic regression again, written by hand for one row.
"""

import sys
import time
from typing import Any

import numpy as np

import austerity as au


def by_hand(theta: Any, x: Any, y: float) -> float:
    """log l = -log(1 + e^-s), s = eta or -eta."""
    eta = 0.0
    for j in range(x.size):
        eta += theta[j] * x[j]
    signed = eta if y > 0.5 else -eta
    return min(signed, 0.0) - np.log1p(np.exp(-abs(signed)))


def data(n_rows: int = 2_000, n_columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows and responses, as in problems.py, which this process must not import: it would load compiled code."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_rows, n_columns), dtype=np.float32)
    eta = X @ generator.normal(0.0, 0.5, n_columns)
    return X, (generator.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float32)


def first_call(model_name: str, rule_name: str) -> float:
    """Seconds of sampling one draw a chain; what is imported and loaded on the way counts."""
    X, y = data()
    began = time.perf_counter()
    if model_name == "user":
        model: Any = au.Model(parameters={"beta": au.priors.Normal(0, 1)}, shapes={"beta": (X.shape[1],)}, row=by_hand)
    else:
        model = au.models.Logistic(prior=au.priors.Normal(0, 1))
    rule: Any = au.decisions.Exact() if rule_name == "exact" else au.decisions.SequentialT(0.05, 500)
    au.sample(model, X, y, acceptance=rule, draws=1, warmup=0, progress=False)
    return time.perf_counter() - began


def compilations(model_name: str, rule_name: str) -> int:
    """Numba's compile events in the same call."""
    from numba.core.event import install_recorder

    with install_recorder("numba:compile") as recorder:
        first_call(model_name, rule_name)
    return sum(1 for _, event in recorder.buffer if event.is_start)


def main() -> None:
    what, model_name, rule_name = sys.argv[1:]
    print(first_call(model_name, rule_name) if what == "draw" else compilations(model_name, rule_name))


if __name__ == "__main__":
    main()

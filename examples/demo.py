"""The main job end to end on generated data: a million rows, twenty columns, known truth.

Samples a Bayesian logistic regression with the sequential test and with exact Metropolis-Hastings for the same wall
time, prints what each found and how fast, and writes three pictures. `--quick` does the same on fewer rows.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import austerity as au
from austerity.report import plots
from austerity.report.diagnostics import diagnose


def generate(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (N, d) float32, responses and the true coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    truth = rng.normal(0.0, 0.5, n_columns)
    y = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-(X @ truth)))
    return X, y.astype(np.float32), truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows and a few seconds a run")
    parser.add_argument("--output", default="demo-output", help="directory for the pictures")
    arguments = parser.parse_args()
    n_rows, seconds = (100_000, 3.0) if arguments.quick else (1_000_000, 20.0)
    print(f"Generating {n_rows:,} rows x 20 columns with known coefficients ...", flush=True)
    X, y, truth = generate(n_rows, 20)
    model = au.models.Logistic(prior=au.priors.Normal(0, 1))
    rules = {
        "sequential test": au.decisions.SequentialT(epsilon=0.01, batch=500),
        "exact": au.decisions.Exact(),
    }
    posts = {}
    for name, rule in rules.items():
        print(f"\n{name}: {seconds:g} seconds of sampling", flush=True)
        posts[name] = au.sample(
            model, X, y, acceptance=rule, draws=100_000, warmup=100, chains=4, rng=1, time_limit=seconds
        )
    coefficient_table(posts, truth)
    speed_table(posts, truth)
    pictures(posts, truth, Path(arguments.output))


def coefficient_table(posts: dict[str, Any], truth: np.ndarray) -> None:
    """What each rule found for every coefficient, beside the value that made the data."""
    found = {name: diagnose(post["posterior"]["beta"].values) for name, post in posts.items()}
    print(f"\n{'':11}{'':>8}" + "".join(f"   {name:^34}" for name in posts))
    print(f"{'coefficient':11}{'truth':>8}" + f"   {'mean':>9}{'sd':>9}{'R-hat':>8}{'ESS':>8}" * len(posts))
    for k, value in enumerate(truth):
        line = f"beta[x{k}]".ljust(11) + f"{value:8.4f}"
        for name, post in posts.items():
            beta = post["posterior"]["beta"].values[:, :, k]
            line += f"   {beta.mean():9.4f}{beta.std():9.5f}{found[name].r_hat[k]:8.3f}{found[name].ess_bulk[k]:8.0f}"
        print(line)


def speed_table(posts: dict[str, Any], truth: np.ndarray) -> None:
    """Rows a decision, effective samples a second and distance from the truth, side by side."""
    print(f"\n{'':16} {'rows/decision':>14} {'draws':>9} {'min ESS':>8} {'ESS/s':>8} {'rms (mean-truth)/sd':>20}")
    for name, post in posts.items():
        beta = post["posterior"]["beta"].values
        rows = float(post["sample_stats"]["n_rows"].mean())
        ess = float(np.min(diagnose(beta).ess_bulk))
        away = float(np.sqrt(np.mean(((beta.mean((0, 1)) - truth) / beta.std((0, 1))) ** 2)))
        speed = ess / float(post.attrs["sampling_time"])
        print(f"{name:16} {rows:14,.0f} {beta.shape[0] * beta.shape[1]:9,} {ess:8,.0f} {speed:8.1f} {away:20.2f}")
        print(f"{'':16} {post.attrs['guarantee']}")


def pictures(posts: dict[str, Any], truth: np.ndarray, where: Path) -> None:
    """Trace, marginals against the truth, rows read a decision."""
    where.mkdir(parents=True, exist_ok=True)
    names = dict(zip([f"beta[x{k}]" for k in range(truth.size)], truth, strict=True))
    first = {"sequential test": posts["sequential test"]}
    plots.plot_trace(first, where / "trace.png", names=list(names)[:6], truth=names)
    plots.plot_marginals(posts, where / "marginals.png", truth=names)
    plots.plot_rows(posts, where / "rows.png")
    print(f"\nPictures: {where / 'trace.png'}, {where / 'marginals.png'}, {where / 'rows.png'}")


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"Everything took {time.monotonic() - began:.0f} s.")

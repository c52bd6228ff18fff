"""Risk in predictive means on MNIST 7 against 9, by time, for exact and sequential decisions (austerity, figure 2).

Logistic regression of 12,214 digits on 50 principal components, prior precision 10, a random walk of sd 0.01, batches
of 500; the posterior means of P(y = 1) for 2,037 test digits, against those of a long exact run. Chains begin at draws
of that run. The paper's counts of steps in equal time are shown beside ours. Its exact chain reads all rows for both
states at every step; ours keeps the sum at the current state and reads rows in order, in vector registers, while a test
reads single rows at random. So a test saves less here: counts are compared with our exact chain and with one that is
made to pass twice, as the paper's does.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from common import data_file, options, save
from numba import njit

import austerity as au
from austerity.engine.jit import ENGINE
from austerity.engine.starts import with_double_terms
from austerity.report.risk_plot import few_ticks
from austerity.rows.passes import new_room, slab_count, slab_sums

PAPER = {0.0: 75_484, 0.01: 133_069, 0.05: 200_672, 0.1: 257_897, 0.2: 422_978}
COMPONENTS, BATCH, STEP = 50, 500, 0.01
SIZES = {True: (0.6, 4, 1000), False: (6.0, 6, 10_000)}  # seconds and chains of a rule, draws of the truth
MODEL = au.models.Logistic(prior=au.priors.Normal(0, 10**-0.5))


def digits(archive: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sevens (1) and nines (0): components of the training digits, scaled to sd 1, and the test digits on them."""
    train, test = np.isin(archive["y_train"], (7, 9)), np.isin(archive["y_test"], (7, 9))
    pixels, held_out = archive["x_train"][train] / 255.0, archive["x_test"][test] / 255.0
    centre = pixels.mean(axis=0)
    _, axes = np.linalg.eigh((pixels - centre).T @ (pixels - centre))
    axes = axes[:, ::-1][:, :COMPONENTS]
    X, X_test = (pixels - centre) @ axes, (held_out - centre) @ axes
    scale = X.std(axis=0)
    labels = (1.0 * (archive[name][keep] == 7) for name, keep in (("y_train", train), ("y_test", test)))
    return (X / scale).astype(np.float32), next(labels), (X_test / scale).astype(np.float32), next(labels)


def rules() -> dict[str, Any]:
    """The exact decision and the test at the paper's levels."""
    tests = {f"epsilon = {e:g}": au.decisions.SequentialT(e, BATCH) for e in PAPER if e > 0}
    return {"exact": au.decisions.Exact(), **tests}


@njit(**ENGINE)
def passes(problem, room, points, parts, count):
    """So many passes over all rows for one point."""
    for _ in range(count):
        slab_sums(problem, room, points, 0, parts.shape[0], parts)


def second_pass(X: np.ndarray, y: np.ndarray, double: bool) -> float:
    """Processor time of one pass over all rows: what a step would take more if the sum at the state were not kept."""
    problem = with_double_terms(MODEL.bind(au.rows.open(X, y), False, False).problem, double)
    room, parts = new_room(problem, 1), np.empty((slab_count(len(X)), 1))
    point, seconds = np.zeros((1, COMPONENTS)), []
    passes(problem, room, point, parts, 1)
    for _ in range(9):
        began = time.process_time()
        passes(problem, room, point, parts, 500)
        seconds.append((time.process_time() - began) / 500)
    return float(np.median(seconds))


def steps_table(risk: au.Risk, seconds: float, extra: float) -> str:
    """Steps in equal time as multiples of the exact chain's: the paper's, ours, and against two passes a step."""
    steps = risk.data["steps"].to_numpy()[:, -1]
    rows = risk.data["rows"].to_numpy()[:, -1] / steps
    twice = seconds / (seconds / steps[0] + extra)
    head = f"{'':16}{'steps':>12}{'rows a step':>13}{'paper':>9}{'ratio':>9}{'to exact':>10}{'to two passes':>15}"
    lines = [head]
    for rule, count, read, paper in zip(risk.data["rule"].to_numpy(), steps, rows, PAPER.values(), strict=True):
        ratios = f"{paper / PAPER[0.0]:9.2f}{count / steps[0]:10.2f}{count / twice:15.2f}"
        lines.append(f"{rule!s:16}{count:12,.0f}{read:13,.0f}{paper:9,}{ratios}")
    return "\n".join(lines)


def picture(risk: au.Risk, shown: dict[str, np.ndarray]) -> Any:
    """Log risk against time, and steps in equal time against the paper's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    colors = ("#202020", "#3b6fb6", "#3f8f5b", "#d1702f", "#a8455f")
    for color, rule in zip(colors, risk.data["rule"].to_numpy(), strict=True):
        at = risk.data.sel(rule=rule)
        t, value, error = (at[name].to_numpy() for name in ("time", "risk", "risk_error"))
        good = value > 0
        left.plot(t[good], value[good], color=color, label=str(rule))
        low = np.maximum(value - error, 0.3 * value)
        left.fill_between(t[good], low[good], (value + error)[good], color=color, alpha=0.12, linewidth=0)
    left.axhline(risk.data.attrs["truth_error"], color="#888888", linestyle="--", linewidth=1, label="error of truth")
    left.set(xscale="log", yscale="log", xlabel="seconds of sampling on one core", ylabel="risk in predictive mean")
    left.legend(frameon=False, fontsize=8)
    few_ticks(left)
    attrs = risk.data.attrs
    left.set_title(f"{attrs['quantities']:,} test digits, {attrs['chains']} chains a rule", fontsize=10)
    places = np.arange(len(PAPER))
    for k, (name, values) in enumerate(shown.items()):
        bars = right.bar(places + 0.28 * (k - 1), values, 0.26, label=name, color=("#b0b0b0", "#3b6fb6", "#9dbbe0")[k])
        right.bar_label(bars, fmt="%.1f", fontsize=6.5, padding=1)
    right.set_xticks(places, ["exact", *(f"{e:g}" for e in PAPER if e > 0)])
    right.set(xlabel="epsilon", ylabel="steps in equal time, exact chain = 1")
    right.legend(frameon=False, fontsize=8)
    for panel in (left, right):
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return figure


def run(archive: Any, seconds: float, chains: int, draws: int) -> tuple[au.Risk, float, au.Score]:
    """The risk, the seconds of a second pass, and how well the exact posterior foresees the test digits."""
    X, y, X_test, y_test = digits(archive)
    exact = au.decisions.Exact()
    truth = au.sample(MODEL, X, y, acceptance=exact, chains=16, draws=draws, thin=10, rng=1, progress=False)
    risk = au.risk(
        MODEL, X, y, rules=rules(), test_rows=X_test, truth=truth, chains=chains, seconds=seconds, rng=2,
        proposal=au.proposals.RandomWalk(STEP), thin=10, start="truth",
    )  # fmt: skip
    double = json.loads(truth.attrs["settings"])["terms_in_float64"]
    return risk, second_pass(X, y, double), au.score(truth, X_test, y_test, max_draws=1000)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options(__doc__, arguments)
    with np.load(data_file(asked.data, "mnist.npz")) as archive:
        sizes = SIZES[asked.quick]
        risk, extra, score = run(archive, *sizes)
    print(risk)
    print(f"\nsteps in {sizes[0]:g} s of sampling, beside the paper's in 400 s:")
    print(steps_table(risk, sizes[0], extra))
    print(f"\nexact posterior on the test digits: {score}")
    steps = risk.data["steps"].to_numpy()[:, -1]
    paper = np.array(list(PAPER.values())) / PAPER[0.0]
    twice = sizes[0] / (sizes[0] / steps[0] + extra)
    shown = {"paper": paper, "ours": steps / steps[0], "ours, to two passes a step": steps / twice}
    save(picture(risk, shown), asked.out, "mnist_risk")


if __name__ == "__main__":
    main()

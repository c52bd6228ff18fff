"""A Markov field of 100 variables: what few factors do to its conditionals, and to its marginals in time.

All C(100, 3) three-way factors, log tables N(0, 0.02^2), so that every flip is a sum over 4851 factors. Left: how often
a sequential test (batches of 500) sets a variable to 1, against the exact conditional (austerity, Fig. 14). Middle and
right: mean L1 distance of 5-variable marginals over random subsets from those of a long exact run, against factors
read and against seconds (Fig. 15). The paper counts time by a plain loop over factors, which is what the middle shows;
here an exact scan runs in vector registers, and single factors at random cost some thirty times as much each.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from common import options, save

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.gibbs import Field

VARIABLES, SPREAD, BATCH, SUBSET = 100, 0.02, 500, 5
EPSILONS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25)


def field(variables: int = VARIABLES) -> Field:
    """All three-way factors."""
    triples = np.array(list(itertools.combinations(range(variables), 3)))
    tables = np.random.default_rng(0).normal(0, SPREAD, (len(triples), 2, 2, 2))
    return Field.from_arrays(triples, tables, log=True)


def conditionals(model: Field, rule: Any, pairs: int, repeats: int) -> np.ndarray:
    """(pairs, 2): exact conditional probability of a 1, and the share of updates that set it."""
    random = np.random.default_rng(1)
    out = np.empty((pairs, 2))
    for p in range(pairs):
        state, k = random.integers(0, 2, model.size), int(random.integers(model.size))
        found = au.gibbs.updates(model, rule, state, k, repeats, rng=p)
        out[p] = found.probability[1], found.value.mean()
    return out


def marginals(states: np.ndarray, subsets: np.ndarray) -> np.ndarray:
    """Counts (subsets, 2^5) of the values of each subset over states (n, D)."""
    powers = 2 ** np.arange(subsets.shape[1])
    return np.stack([np.bincount(states[:, subset] @ powers, minlength=2 ** len(subset)) for subset in subsets])


def run(model: Field, rule: Any, sweeps: int, seed: int) -> tuple[np.ndarray, float, float]:
    """States (n, D), factors read a sweep, and seconds a sweep of one chain."""
    post = au.gibbs.sample(model, rule, draws=sweeps, warmup=50, chains=1, cores=1, rng=seed, progress=False)
    states = post["posterior"]["x"].values[0].astype(np.int64)
    return states, float(post["sample_stats"]["n_rows"].mean()), post.attrs["sampling_time"] / (sweeps + 50)


def distances(states: np.ndarray, subsets: np.ndarray, truth: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Sweeps (points,), and the mean L1 distance of marginals from the truth after so many."""
    sweeps = np.unique(np.geomspace(20, len(states), points).astype(int))
    counts, before, out = np.zeros(truth.shape), 0, []
    for n in sweeps:
        counts += marginals(states[before:n], subsets)
        before = n
        out.append(np.abs(counts / n - truth).sum(axis=1).mean())
    return sweeps, np.array(out)


def draw_picture(points: dict[float, np.ndarray], curves: dict[str, Any], floor: float, n_subsets: int) -> Any:
    """The three panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    colors = [f"C{k}" for k in range(len(points))]
    left.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    for color, found in zip(colors, points.values()):
        left.plot(found[:, 0], found[:, 1], ".", color=color, markersize=4)
    left.set(xlabel="exact conditional probability", ylabel="share of updates that set a 1", title="One flip")
    for name, (sweeps, errors, factors, seconds) in curves.items():
        color = "black" if name == "Exact" else colors[list(curves).index(name) - 1]
        for axes, cost in ((middle, factors), (right, seconds)):
            axes.loglog(sweeps * cost, errors, color=color, linewidth=1.5, label=name)
    for axes, word in ((middle, "factors read"), (right, "seconds on one core")):
        axes.axhline(floor, color="0.6", linewidth=1, linestyle=":", label="error of the\nreference itself")
        axes.set(xlabel=word, ylabel=f"mean L1 distance, {n_subsets:,} marginals of 5", title=f"Error against {word}")
    figure.legend(*right.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    return figure


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Print the tables, save the picture."""
    asked = options(__doc__, arguments)
    pairs, repeats, n_subsets = (40, 150, 100) if asked.quick else (200, 4000, 1600)
    reference, sweeps = (10_000, 800) if asked.quick else (600_000, 30_000)
    model, random = field(), np.random.default_rng(2)
    points = {e: conditionals(model, SequentialT(e, BATCH), pairs, repeats) for e in EPSILONS}
    subsets = np.stack([random.choice(VARIABLES, SUBSET, replace=False) for _ in range(n_subsets)])
    halves = [reference_marginals(model, subsets, reference // 2, seed) for seed in (100, 101)]
    truth, floor = (halves[0] + halves[1]) / 2, float(np.abs(halves[0] - halves[1]).sum(axis=1).mean() / 2)
    rules = {"Exact": Exact(), **{f"ε = {e:g}": SequentialT(e, BATCH) for e in EPSILONS}}
    curves: dict[str, Any] = {}
    print("rule        factors a flip   us a flip   largest error of a conditional   L1 distance at the end")
    for seed, (name, rule) in enumerate(rules.items()):
        states, factors, seconds = run(model, rule, sweeps, seed)
        done, errors = distances(states, subsets, truth, 30)
        curves[name] = (done, errors, factors, seconds)
        worst = "" if name == "Exact" else f"{np.abs(np.diff(points[EPSILONS[seed - 1]])).max():.3f}"
        cost = f"{factors / VARIABLES:14,.0f} {seconds / VARIABLES * 1e6:11.2f}"
        print(f"{name:10s} {cost} {worst:>32s} {errors[-1]:24.4f}", flush=True)
    print(f"error of the reference itself, {reference:,} exact sweeps: {floor:.4f}")
    save(draw_picture(points, curves, floor, n_subsets), asked.out, "markov_field")
    return {"conditionals": points, "curves": curves, "floor": floor}


def reference_marginals(model: Field, subsets: np.ndarray, sweeps: int, seed: int) -> np.ndarray:
    """Marginals of an exact run, made in parts so that its states need not be held together."""
    counts, part, done = np.zeros((len(subsets), 2 ** subsets.shape[1])), 50_000, 0
    while done < sweeps:
        states, _, _ = run(model, Exact(), min(part, sweeps - done), seed * 1000 + done // part)
        counts += marginals(states, subsets)
        done += len(states)
    return counts / done


if __name__ == "__main__":
    main()

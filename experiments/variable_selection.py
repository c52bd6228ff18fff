"""Variable selection on forest cover: which of 54 inputs tell lodgepole pine from the rest, by Exact and SequentialT.

    python experiments/variable_selection.py [--quick] [--data DIR] [--out DIR]

Reversible jumps over sets of inputs (austerity, section 6.3 and Fig. 13, there on MiniBooNE), started from one variable
and from all. The constant is an input like the others; numeric inputs have sd 1. From different starts the chains end
in different sets, as the paper says of its own; from the same start the two rules should agree, and that is what the
picture shows. The quick form takes some of the rows, steps twice as large and fewer of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import data_file, options, save

import austerity as au

RULES = {"Exact": au.decisions.Exact(), "SequentialT(0.01, 500)": au.decisions.SequentialT(0.01, 500)}
STARTS = ("one", "all")
CHAINS = 4
COLOURS = ("#1b6ca8", "#d1602f")


@dataclass(frozen=True)
class Found:
    """What one run says: inclusion by column, with its spread over chains, size by draw, rows read a step, seconds."""

    included: np.ndarray  # (chains, D)
    size: np.ndarray  # (chains, n)
    rows: float
    seconds: float
    accepted: np.ndarray  # (3,): share accepted of updates, births, deaths


def forest(path: Any, n_rows: int | None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Inputs (N, D) with the constant, whether a cell is of class 2, and names; n_rows at random, or all of them."""
    with np.load(path) as file:
        X_num, wilderness, soil, y, names = (file[key] for key in ("X_num", "wilderness", "soil", "y", "names"))
    rows = slice(None) if n_rows is None else np.sort(np.random.default_rng(0).permutation(len(y))[:n_rows])
    numeric = X_num[rows].astype(np.float64)
    numeric = (numeric - numeric.mean(axis=0)) / numeric.std(axis=0)
    binary = [np.eye(4)[wilderness[rows]], np.eye(40)[soil[rows]]]
    X = np.hstack([np.ones((len(numeric), 1)), numeric, *binary]).astype(np.float32)
    labels = ["constant", *(str(name) for name in names[:54])]
    there = X.any(axis=0)  # some soils are so rare that a sample of rows has none
    return np.ascontiguousarray(X[:, there]), y[rows] == 2, [label for label, keep in zip(labels, there) if keep]


def select(X: np.ndarray, y: np.ndarray, names: list[str], rule: Any, start: str, draws: int, scale: float) -> Found:
    """One run of CHAINS chains; the first third is thrown away."""
    post = au.sample(
        au.models.VariableSelection(),
        X,
        y,
        names=names,
        acceptance=rule,
        proposal=au.proposals.ReversibleJump(0.01 * scale, 0.1 * scale, weights=(2, 1, 1)),
        start=start,
        draws=draws,
        warmup=draws // 2,
        chains=CHAINS,
        rng=1,
        progress=False,
    )
    posterior, statistics = post["posterior"], post["sample_stats"]
    return Found(
        posterior["included"].values.mean(axis=1),
        posterior["size"].values,
        float(statistics["n_rows"].mean()),
        float(post.attrs["sampling_time"]),
        by_kind(statistics),
    )


def by_kind(statistics: Any) -> np.ndarray:
    """Share accepted of updates, births and deaths."""
    move, accepted = statistics["move"].values, statistics["accepted"].values
    return np.array([accepted[move == kind].mean() if np.any(move == kind) else np.nan for kind in range(3)])


def table(found: dict[tuple[str, str], Found], names: list[str], n_rows: int) -> None:
    """Sizes, rows read and acceptance of every run; inclusion by column where any run is undecided or they differ."""
    print(
        f"\n{'start':6}{'decision':24}{'inputs used':>12}{'rows read':>11}{'seconds':>9}   accepted: update birth death"
    )
    for (start, rule), run in found.items():
        used, share = f"{run.size.mean():.1f}", f"{run.rows / n_rows:.1%}"
        kinds = " ".join(f"{rate:6.1%}" for rate in run.accepted)
        print(f"{start:6}{rule:24}{used:>12}{share:>11}{run.seconds:9.1f}{'':13}{kinds}")
    for start in STARTS:
        means = np.array([found[start, rule].included.mean(axis=0) for rule in RULES])
        apart = np.abs(means[0] - means[1])
        spread = max(np.abs(found[start, rule].included - means[k]).max() for k, rule in enumerate(RULES))
        worst = int(np.argmax(apart))
        print(
            f"from {start}: the rules' inclusion probabilities differ by {apart.mean():.3f} on average, most for "
            f"{names[worst]} ({means[0, worst]:.2f}, {means[1, worst]:.2f}); chains of one rule by up to {spread:.2f}"
        )


def picture(found: dict[tuple[str, str], Found], names: list[str]) -> Any:
    """Inclusion probabilities, one panel a start, both rules side by side; below, model sizes along the chains."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        2, len(STARTS), figsize=(11, 15), height_ratios=(5, 1), layout="constrained", sharey="row"
    )
    place = np.arange(len(names))
    for column, start in enumerate(STARTS):
        above, below = axes[:, column]
        for k, (rule, colour) in enumerate(zip(RULES, COLOURS)):
            run = found[start, rule]
            mean = run.included.mean(axis=0)
            at = place + (k - 0.5) * 0.36
            above.barh(at, mean, 0.34, color=colour, label=rule)
            for chain in run.included:
                above.plot(chain, at, "|", color="black", markersize=3, alpha=0.6)
            for c, sizes in enumerate(run.size):
                steps = np.arange(0, sizes.size, max(1, sizes.size // 500))
                below.plot(steps, sizes[steps], color=colour, linewidth=0.8, alpha=0.7, label=None if c else rule)
        above.set_yticks(place, names, fontsize=7)
        above.set_ylim(len(names) - 0.4, -0.6)
        above.set_title(f"started from {'one variable' if start == 'one' else 'all variables'}")
        above.set_xlabel("probability of inclusion (ticks: single chains)")
        below.set_xlabel("step after warm-up")
        below.set_ylabel("inputs in use")
        below.tick_params(labelleft=True)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def main(arguments: Sequence[str] | None = None) -> dict[tuple[str, str], Found]:
    """Run, print and draw."""
    asked = options(__doc__, arguments)
    X, y, names = forest(data_file(asked.data, "covtype.npz"), 20_000 if asked.quick else None)
    draws, scale = (4000, 2.0) if asked.quick else (40_000, 1.0)
    print(f"{len(X):,} cells, {len(names)} inputs with the constant, {CHAINS} chains of {draws:,} steps after warm-up")
    found = {}
    for start in STARTS:
        for name, rule in RULES.items():
            found[start, name] = select(X, y, names, rule, start, draws, scale)
            print(f"  from {start}, {name}: {found[start, name].seconds:.0f} s", flush=True)
    table(found, names, len(X))
    save(picture(found, names), asked.out, "variable_selection")
    return found


if __name__ == "__main__":
    main()

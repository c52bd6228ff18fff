"""Independent components of mixed recordings: exact steps beside sequential tests, from random unmixing matrices.

    python experiments/ica.py [--quick] [--data DIR] [--out DIR]

1.95 million samples of four sources are mixed by a random matrix. Three recordings and one Gaussian source: all four
rows of the unmixing matrix can be found. Two recordings and two Gaussian sources (Korattikara, Chen, Welling 2014):
the two rows of the recordings can be found, the plane of the other two as well, but no direction in that plane: two
Gaussian sources look alike however they are turned. The directions that the posterior takes there come from accidents
of the sample. So the second setting is judged by the Amari distance of the recordings' rows, by the angle between the
two planes, and, to show what cannot be had, by the distance of all four rows.

Each rule first walks from random matrices by steps of three sizes: far from the peak a few hundred rows settle a
decision, and the sequential tests are there first. At epsilon .1 now and then a long step is taken wrongly, and the
chain is thrown back. Below stands what each rule takes for the posterior when it begins at the mode.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import data_file, options, save

import austerity as au

SEED = 0
RULES = {
    "Exact": au.decisions.Exact(),
    "SequentialT, epsilon .01": au.decisions.SequentialT(0.01, 500),
    "SequentialT, epsilon .1": au.decisions.SequentialT(0.1, 500),
}
COLOURS = ("black", "tab:blue", "tab:orange")


@dataclass(frozen=True)
class Setting:
    """Mixed rows (N, 4), the true unmixing matrix, and how many of its rows, the first, belong to recordings."""

    title: str
    X: np.ndarray
    truth: np.ndarray
    names: tuple[str, ...]
    recordings: int

    @property
    def gaussian(self) -> int:
        return len(self.names) - self.recordings


def mixed(recordings: dict[str, np.ndarray], title: str, names: Sequence[str], n_rows: int | None) -> Setting:
    """Recordings and Gaussian sources of sd 1, mixed by a random matrix; a random part of the rows, or all."""
    random = np.random.default_rng([SEED, len(names)])
    sources = [recordings[name] for name in names]
    length = sources[0].size
    count = 4 - len(names)
    S = np.column_stack([*((s - s.mean()) / s.std() for s in sources), random.normal(size=(length, count))])
    if n_rows is not None:
        S = S[random.choice(length, n_rows, replace=False)]
    A = random.normal(size=(4, 4))
    labels = (*names, *(("Gaussian",) if count == 1 else tuple(f"Gaussian {k + 1}" for k in range(count))))
    return Setting(title, (S @ A.T).astype(np.float32), np.linalg.inv(A), labels, len(names))


def settings(folder: Path, n_rows: int | None) -> list[Setting]:
    """The two settings."""
    with np.load(data_file(folder, "ica_audio.npz")) as held:
        recordings = {name: held[name].astype(np.float64) for name in ("classical", "street", "classical2")}
    return [
        mixed(recordings, "three recordings, one Gaussian source", list(recordings), n_rows),
        mixed(recordings, "two recordings, two Gaussian sources", ["classical", "street"], n_rows),
    ]


def plane_angle(W: np.ndarray, setting: Setting) -> np.ndarray:
    """Largest angle (degrees) between the span of the true Gaussian rows and that of the rows of W left to them.

    In the coordinates of W's components, Q = W_true W^-1; each recording takes the component where its row is largest,
    and what the Gaussian rows, made orthonormal, have in those components is the sine of the angle.
    """
    Q = setting.truth @ np.linalg.inv(W)
    flat = Q.reshape(-1, 4, 4)
    out = np.empty(len(flat))
    for k, q in enumerate(flat):
        taken = [int(np.argmax(np.abs(q[r]))) for r in range(setting.recordings)]
        basis = np.linalg.qr(q[setting.recordings :].T)[0]
        out[k] = np.degrees(np.arcsin(min(1.0, np.linalg.norm(basis[taken], 2))))
    return out.reshape(Q.shape[:-2])


def measured(setting: Setting) -> dict[str, Any]:
    """What is kept of a draw: the distance of what can be recovered, that of all rows, and the angle of the planes."""
    recoverable = setting.truth if setting.gaussian == 1 else setting.truth[: setting.recordings]
    kept = {"W": lambda p: p["W"], "distance": au.models.amari_distance(recoverable)}
    if setting.gaussian > 1:
        kept |= {"whole": au.models.amari_distance(setting.truth), "angle": lambda p: plane_angle(p["W"], setting)}
    return kept


def few(setting: Setting) -> Setting:
    """The same on some 3000 rows from everywhere: recordings begin with silence."""
    return replace(setting, X=setting.X[:: max(1, len(setting.X) // 3000)].copy())


def walk(setting: Setting, rule: Any, seconds: float, draws: int = 1_000_000) -> Any:
    """Chains from random matrices by steps of three sizes, so that far and near are both in reach, and no warm-up."""
    near = 2.0 / np.sqrt(len(setting.X))
    proposal = au.proposals.Mixture([au.proposals.Stiefel(scale) for scale in (0.2, np.sqrt(0.2 * near), near)])
    common = {"draws": draws, "warmup": 0, "chains": 4, "start": "prior", "time_limit": seconds, "progress": False}
    return au.sample(
        au.models.ICA(), setting.X, acceptance=rule, proposal=proposal, keep=measured(setting), rng=SEED, **common
    )


def at_rest(setting: Setting, rule: Any, draws: int) -> Any:
    """What a rule takes for the posterior: draws about the mode, by one learnt step, without the way there."""
    common = {"draws": draws, "warmup": draws, "chains": 4, "start": "mode", "progress": False, "rng": SEED}
    return au.sample(au.models.ICA(), setting.X, acceptance=rule, keep=measured(setting), **common)


def clock(tree: Any) -> np.ndarray:
    """Seconds (chains, draws) at which draws were made: the time of sampling, shared out by rows read and steps."""
    work = tree["sample_stats"]["n_rows"].values + 300.0  # a step that reads few rows costs as much as some 300
    return np.asarray(tree.attrs["sampling_time"] * np.cumsum(work, axis=1) / work.sum(axis=1, keepdims=True))


def line(setting: Setting, name: str, tree: Any, whole: bool = False) -> str:
    """One line of the table: means over all draws, or over those of the second half of the time."""
    late = clock(tree) > (0.0 if whole else tree.attrs["sampling_time"] / 2)
    means = {key: float(tree["posterior"][key].values[late].mean()) for key in tree["posterior"] if key != "W"}
    rows = float(tree["sample_stats"]["n_rows"].values[late].mean())
    more = f"{means['angle']:10.2f} {means['whole']:10.3f}" if setting.gaussian > 1 else ""
    steps = tree["posterior"].sizes["draw"]
    return f"{name:28s} {steps:9,d} {rows / len(setting.X):9.1%} {means['distance']:10.4f} {more}"


def draw_curves(axis: Any, setting: Setting, trees: dict[str, Any], rest: Any) -> None:
    """Distance against time, each chain a thin line and their median a thick one."""
    for (name, tree), colour in zip(trees.items(), COLOURS, strict=True):
        times, values = clock(tree), tree["posterior"]["distance"].values
        grid = np.geomspace(times[:, 0].max(), tree.attrs["sampling_time"], 200)
        lines = np.array([np.interp(grid, t, v) for t, v in zip(times, values, strict=True)])
        axis.plot(grid, lines.T, color=colour, lw=0.5, alpha=0.35)
        axis.plot(grid, np.median(lines, axis=0), color=colour, lw=2, label=name)
    level = float(rest["posterior"]["distance"].mean())
    axis.axhline(level, color="grey", ls="--", lw=1, label="posterior mean (Exact, from the mode)")
    axis.set(xscale="log", yscale="log", xlabel="seconds of sampling, four chains", title=setting.title)
    axis.set_ylabel("Amari distance" if setting.gaussian == 1 else "Amari distance of the recordings' rows")
    axis.legend(fontsize=7, loc="lower left")


def draw_matrix(axis: Any, setting: Setting, rest: Any) -> Any:
    """|W_true W^-1| of a draw, each row over its largest entry, components in the best order."""
    q = np.abs(setting.truth @ np.linalg.inv(rest["posterior"]["W"].values[0, -1]))
    q /= q.max(axis=1, keepdims=True)
    order: list[int] = []
    for row in q:
        order.append(max((k for k in range(4) if k not in order), key=lambda k: row[k]))
    image = axis.imshow(q[:, order], vmin=0, vmax=1, cmap="Greys")
    for i in range(4):
        for j in range(4):
            value = q[i, order[j]]
            axis.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color="w" if value > 0.5 else "k")
    axis.set_yticks(range(4), setting.names)
    axis.set_xticks(range(4), [str(k) for k in order])
    axis.set(xlabel="component of a draw", title="true rows in the components of a draw")
    return image


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run both settings, print the tables, write the picture; returns the draws by setting and rule."""
    asked = options(__doc__ or "", arguments)
    return compare(settings(asked.data, 60_000 if asked.quick else None), asked.out, 3.0 if asked.quick else 90.0, 150)


def compare(made: Sequence[Setting], folder: Path, seconds: float, draws: int) -> dict[str, Any]:
    """Tables and picture of these settings, so many seconds for each rule."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure, found = Figure(figsize=(11, 8.5), layout="constrained"), {}
    axes = figure.subplots(2, 2, height_ratios=(1.15, 1))
    for column, setting in enumerate(made):
        print(f"\n{setting.title}: {len(setting.X):,} samples, {seconds:g} s for each rule, second half of the time")
        extra = f"{'planes':>10s} {'all rows':>10s}" if setting.gaussian > 1 else ""
        print(f"{'':28s} {'steps':>9s} {'rows read':>9s} {'distance':>10s} {extra}")
        trees = {}
        for name, rule in RULES.items():
            walk(few(setting), rule, 60.0, 20)  # so that no compilation is timed
            trees[name] = walk(setting, rule, seconds)
            print(line(setting, name, trees[name]), flush=True)
        print("from the mode, by a learnt step:")
        at_mode = {name: at_rest(setting, rule, draws) for name, rule in RULES.items()}
        for name, tree in at_mode.items():
            print(line(setting, name, tree, whole=True), flush=True)
        rest = at_mode["Exact"]
        print(f"Exact, in float32: {rest.attrs['guarantee']}")
        draw_curves(axes[0, column], setting, trees, rest)
        image = draw_matrix(axes[1, column], setting, rest)
        found[setting.title] = {**trees, "rest": rest}
    figure.colorbar(image, ax=axes[1], shrink=0.8, label="share of the row's largest entry")
    save(figure, folder, "ica")
    return found


if __name__ == "__main__":
    main()

"""Figures of a posterior: chains over time, marginals of several runs, rows read per decision. PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError
from austerity.report.summary import attributes_of, flat_draws, group_of, rows_per_decision

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Posts: TypeAlias = xarray.DataTree | Mapping[str, xarray.DataTree]

Array = NDArray[np.float64]
Path = str | PathLike[str]
COLORS = ("#3b6fb6", "#d1702f", "#3f8f5b", "#a8455f", "#7a62ad", "#8a7a3d", "#3d8c94", "#6b6b6b")
TRUTH = "#202020"
MOST_PANELS = 48  # more panels than this are too small to read
DOTS_PER_INCH, TICK_SIZE = 130, 7.5
LONGEST_LINE = 2000  # points of a trace that a figure can show
MOST_BINS = 60
GRID = 400  # points of a density curve
LONGEST_TITLE = 34


def plot_trace(post: Posts, path: Path, names: Sequence[str] | None = None, truth: Any = None) -> None:
    """Every scalar in a line: its marginal on the left, its chains over the draws on the right.

    post: a result, or {name: result}, whose name then stands over the figure.
    names: variables ('beta') or scalars ('beta[age]'); truth: values by name, or one per scalar shown.
    """
    runs = _some(post)
    if len(runs) > 1:
        raise InputError(f"A trace shows one run, and {len(runs)} were given: choose one of {', '.join(runs)}.")
    name, only = next(iter(runs.items()))
    every = _scalars(only)
    shown = {label: every[label] for label in _choose(list(every), names)}
    known = _truth(truth, list(shown), list(every))
    figure = _figure(9.5, 1.45 * len(shown) + 0.6)
    axes = figure.subplots(len(shown), 2, squeeze=False, width_ratios=(1, 2.2))
    for (label, draws), (left, right) in zip(shown.items(), axes, strict=True):
        grid = _grid([draws])
        for values, color in zip(draws, _cycle(len(draws)), strict=True):
            step = max(1, values.size // LONGEST_LINE)
            left.plot(grid, _density(values, grid), color=color, linewidth=1.2)
            right.plot(np.arange(values.size)[::step], values[::step], color=color, linewidth=0.5, alpha=0.85)
        right.margins(x=0)
        right.tick_params(labelbottom=right is axes[-1, 1])
        _title(left, label, "left")
        _mark_truth(left, right, known.get(label))
    for bottom, word in zip(axes[-1], ("value", "draw"), strict=True):
        bottom.set_xlabel(word, fontsize=8)
    chains = min(len(next(iter(shown.values()))), len(COLORS))
    entries = [(f"chain {chain}", color) for chain, color in enumerate(_cycle(chains))]
    _legend(figure, entries, bool(known), title="" if only is post else name)
    _save(figure, path)


def plot_marginals(posts: Posts, path: Path, truth: Any = None, names: Sequence[str] | None = None) -> None:
    """A panel for every scalar that all runs have, the runs over each other, true values as dashed lines.

    posts: results by the name the legend shows, or one result; names and truth as in plot_trace.
    """
    runs = {name: _scalars(post) for name, post in _some(posts).items()}
    every = [label for label in next(iter(runs.values())) if all(label in run for run in runs.values())]
    labels = _choose(every, names)
    known = _truth(truth, labels, every)
    columns = min(len(labels), 4 if len(labels) > 6 else 3)
    lines = ceil(len(labels) / columns)
    figure = _figure(2.7 * columns + 0.3, 1.9 * lines + 0.6)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for label, panel in zip(labels, panels, strict=False):
        grid = _grid([run[label] for run in runs.values()])
        for color, run in zip(_cycle(len(runs)), runs.values(), strict=True):
            heights = _density(run[label].ravel(), grid)
            panel.fill_between(grid, heights, color=color, alpha=0.13, linewidth=0)
            panel.plot(grid, heights, color=color, linewidth=1.4)
        _title(panel, label, "center")
        _mark_truth(panel, None, known.get(label))
    for panel in panels[len(labels) :]:
        panel.set_axis_off()
    _legend(figure, list(zip(runs, _cycle(len(runs)), strict=True)), bool(known))
    _save(figure, path)


def plot_rows(posts: Posts, path: Path) -> None:
    """A panel for every run: how often a decision read which share of the N rows (N in the attribute rows)."""
    shares = {name: _shares(name, post) for name, post in _some(posts).items()}
    _check_panels(len(shares))
    figure = _figure(6.6, 1.4 * len(shares) + 0.6)
    panels = figure.subplots(len(shares), 1, sharex=True, squeeze=False).ravel()
    edges = _even_edges(max(float(values.max()) for values in shares.values()))
    for panel, color, (name, values) in zip(panels, _cycle(len(shares)), shares.items(), strict=True):
        heights = np.histogram(values, edges)[0] / values.size
        panel.stairs(heights, edges, color=color, fill=True, alpha=0.75)
        panel.axvline(values.mean(), color=TRUTH, linewidth=1, linestyle="--")
        panel.set_title(f"{name}: {100 * values.mean():.3g}% of the rows on average", loc="left", fontsize=9)
        panel.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
        panel.set_xlim(0, 1.01 * edges[-1])
    panels[-1].xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    panels[-1].set_xlabel("rows read per decision, share of all rows (dashed: mean)", fontsize=8)
    figure.supylabel("share of decisions", fontsize=8)
    _save(figure, path)


def _figure(width: float, height: float) -> Figure:
    """A figure of its own, outside pyplot, so that nothing of the user's plotting is touched."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("Figures need matplotlib, which is not installed: pip install 'austerity[plots]'.") from None
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, path: Path) -> None:
    """Common looks, then the file."""
    for axes in figure.axes:
        axes.tick_params(labelsize=TICK_SIZE, length=2.5)
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_offset_text().set_fontsize(TICK_SIZE)  # a factor such as 1e-5 beside the numbers it belongs to
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines["left"].set_visible(bool(axes.get_yticks().size))
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise InputError(f"The figure cannot be written to {path} ({error}): give another path.") from None


def _legend(figure: Figure, entries: Sequence[tuple[str, str]], truth: bool, title: str = "") -> None:
    """One legend above all panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, linewidth=2, label=name) for name, color in entries]
    if truth:
        handles.append(Line2D([], [], color=TRUTH, linewidth=1.2, linestyle="--", label="truth"))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(len(handles), 5),
        frameon=False,
        fontsize=8.5,
        title=title or None,
        title_fontsize=9.5,
    )


def _mark_truth(upright: Axes, level: Axes | None, value: float | None) -> None:
    """The true value as a dashed line, across the marginal and along the chains."""
    if value is None:
        return
    upright.axvline(value, color=TRUTH, linewidth=1.1, linestyle="--")
    if level is not None:
        level.axhline(value, color=TRUTH, linewidth=1.1, linestyle="--")


def _title(axes: Axes, label: str, place: Literal["left", "center"]) -> None:
    """The label over a density, which needs no scale of its own."""
    text = label if len(label) <= LONGEST_TITLE else f"{label[: LONGEST_TITLE - 6]}…{label[-5:]}"
    axes.set_title(text, loc=place, fontsize=9)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.locator_params(axis="x", nbins=4)


def _scalars(post: xarray.DataTree) -> dict[str, Array]:
    """Draws (chains, n) of every scalar in the posterior, by label."""
    posterior = group_of(post, "posterior")
    found: dict[str, Array] = {}
    for name in posterior.data_vars:
        labels, flat = flat_draws(posterior[str(name)])
        found |= {label: flat[..., entry] for entry, label in enumerate(labels)}
    if not found or not next(iter(found.values())).size:
        raise InputError("There is no draw to plot: pass a posterior that has some.")
    return found


def _choose(labels: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """Those labels that the names, of variables or of scalars, ask for; not more than a figure can show."""
    chosen = list(labels)
    if names is not None:
        missing = [word for word in names if not any(_matches(label, word) for label in labels)]
        if missing:
            raise InputError(f"There is no {missing[0]!r} to plot: there are {', '.join(labels[:8])}.")
        chosen = list(dict.fromkeys(label for word in names for label in labels if _matches(label, word)))
    if not chosen:
        raise InputError("The runs have no scalar in common: pass runs of the same model.")
    _check_panels(len(chosen))
    return chosen


def _matches(label: str, word: str) -> bool:
    """Whether a word names the scalar or its variable."""
    return word in (label, label.split("[")[0])


def _check_panels(count: int) -> None:
    """Refuse a figure nobody could read."""
    if count > MOST_PANELS:
        raise InputError(f"{count} panels are too many for a figure: choose at most {MOST_PANELS}.")


def _truth(truth: Any, shown: Sequence[str], every: Sequence[str]) -> dict[str, float]:
    """True values by label, from a mapping of labels or variables, or from one value for each label shown."""
    if truth is None:
        return {}
    pairs = truth.items() if isinstance(truth, Mapping) else [("truth", truth)]
    known: dict[str, float] = {}
    for name, value in pairs:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
        labels = [label for label in every if _matches(label, name)] if isinstance(truth, Mapping) else shown
        if labels and values.size != len(labels):
            raise InputError(f"{name} has {values.size} true values for {len(labels)} scalars: give one for each.")
        known |= zip(labels, values.tolist(), strict=False)
    return {label: known[label] for label in shown if label in known}


def _shares(name: str, post: xarray.DataTree) -> Array:
    """Rows read per decision over N, for every draw."""
    read, total = rows_per_decision(post), attributes_of(post).get("rows")
    if read is None or not read.size or not isinstance(total, int | float | np.number) or not total > 0:
        raise InputError(f"Run {name!r} does not say how many rows there are and were read: it has no n_rows or rows.")
    return read / float(total)


def _grid(draws: Sequence[Array]) -> Array:
    """Points over the central part of all draws."""
    pooled = np.concatenate([values.ravel() for values in draws])
    pooled = pooled[np.isfinite(pooled)]
    low, high = np.quantile(pooled, (0.001, 0.999)) if pooled.size else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    margin = 0.08 * (high - low)
    return np.linspace(low - margin, high + margin, GRID)


def _density(values: Array, grid: Array) -> Array:
    """Counts on the grid smoothed by a normal of width .9 min(sd, IQR/1.34) n^(-1/5), over their sum."""
    from scipy.ndimage import gaussian_filter1d

    finite = values[np.isfinite(values)]
    step = grid[1] - grid[0]
    edges = np.append(grid - step / 2, grid[-1] + step / 2)
    counts = np.histogram(finite, edges)[0] / (max(finite.size, 1) * step)
    if not finite.size:
        return np.asarray(counts)
    quartiles = np.quantile(finite, (0.25, 0.75))
    spreads = [spread for spread in (finite.std(), (quartiles[1] - quartiles[0]) / 1.34) if spread > 0]
    width = 0.9 * min(spreads, default=0.0) * finite.size**-0.2
    return np.asarray(gaussian_filter1d(counts, max(width / step, 1.0), mode="constant"))


def _even_edges(top: float) -> Array:
    """Edges from 0 to at least top whose width is 1, 2 or 5 times a power of ten: batches fall evenly into them."""
    least = max(top, 1e-12) / MOST_BINS
    power = 10.0 ** floor(log10(least))
    width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return width * np.arange(ceil(top / width - 1e-9) + 1 if top > 0 else 2, dtype=np.float64)


def _cycle(count: int) -> list[str]:
    """A color for each of so many runs."""
    return [COLORS[index % len(COLORS)] for index in range(count)]


def _some(posts: Posts) -> Mapping[str, xarray.DataTree]:
    """Results by name; one by itself is called run."""
    if hasattr(posts, "children"):
        return {"run": cast("xarray.DataTree", posts)}
    if not isinstance(posts, Mapping) or not posts:
        raise InputError("There is no result to plot: give one, or several by name, such as {'austerity': post}.")
    return cast("Mapping[str, xarray.DataTree]", posts)

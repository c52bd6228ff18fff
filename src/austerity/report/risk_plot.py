"""The picture of a risk: against time and against rows read, a line for each rule."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from austerity.report.plots import TRUTH, _cycle, _figure, _legend, _save

if TYPE_CHECKING:
    import xarray


def plot(data: xarray.Dataset, path: str | PathLike[str]) -> None:
    """Risk on logarithmic axes, a band of one standard error, and the truth's own squared error as a dashed line."""
    figure = _figure(9.0, 3.9)
    panels = figure.subplots(1, 2, sharey=True)
    colors = _cycle(data.sizes["rule"])
    for panel, name in zip(panels, ("time", "rows"), strict=True):
        for color, rule in zip(colors, data["rule"].to_numpy(), strict=True):
            _curve(panel, data.sel(rule=rule), name, color)
        panel.set_xscale("log")
        panel.set_yscale("log")
        few_ticks(panel)
        if data.attrs["truth_error"] > 0:
            panel.axhline(data.attrs["truth_error"], color=TRUTH, linewidth=1, linestyle="--")
            place = {"xy": (0.01, data.attrs["truth_error"]), "xycoords": panel.get_yaxis_transform()}
            panel.annotate("error of the truth", **place, xytext=(0, 3), textcoords="offset points", fontsize=7)
    panels[0].set_xlabel("seconds of sampling on one core", fontsize=8.5)
    panels[1].set_xlabel("rows read", fontsize=8.5)
    panels[0].set_ylabel(f"risk of {data.attrs['of']}", fontsize=8.5)
    _legend(figure, list(zip([str(rule) for rule in data["rule"].to_numpy()], colors, strict=True)), False)
    _save(figure, path)


def _curve(panel: Any, at: xarray.Dataset, name: str, color: str) -> None:
    """The risk where it is positive, and its band."""
    across, risk, error = at[name].to_numpy(), at["risk"].to_numpy(), at["risk_error"].to_numpy()
    shown = np.isfinite(risk) & (risk > 0) & (across > 0)
    low = np.maximum(risk - error, 0.2 * risk)
    panel.fill_between(across[shown], low[shown], (risk + error)[shown], color=color, alpha=0.15, linewidth=0)
    panel.plot(across[shown], risk[shown], color=color, linewidth=1.6)


def few_ticks(panel: Any) -> None:
    """Plain numbers across at powers of ten, and at 2 and 5 times these where the scale is short."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = panel.get_xlim()
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    panel.xaxis.set_major_formatter(lambda x, _: f"{x:g}" if x < 1e4 else f"{x:.0e}".replace("e+0", "e"))
    panel.xaxis.set_minor_formatter(NullFormatter())

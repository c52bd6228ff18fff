"""The table of a risk: what was measured, a line for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray

SHOWN = 4  # times in the table


def table(data: xarray.Dataset) -> str:
    """Header, then risk at a few times and, at the last of them, where it comes from and what was read."""
    attrs, times = data.attrs, data["time"].to_numpy()
    places = np.unique(np.linspace(0, times.size - 1, min(SHOWN, times.size)).round().astype(int))
    last = times[-1]
    header = [
        f"risk of {attrs['of']}, {attrs['chains']} chains a rule",
        f"truth: {attrs['truth']}; its squared Monte Carlo error {attrs['truth_error']:.2g} is taken off",
    ]
    names = ["", *(f"{times[k]:.3g} s" for k in places), "error", "bias^2", "variance", "steps", "rows a step"]
    lines = [names]
    for rule in data["rule"].to_numpy():
        at = data.sel(rule=rule)
        end = at.isel(time=-1)
        steps, rows = float(end["steps"]), float(end["rows"])
        lines.append(
            [
                str(rule),
                *(_text(float(at["risk"][k])) for k in places),
                *(_text(float(end[name])) for name in ("risk_error", "squared_bias", "variance")),
                f"{steps:,.0f}",
                f"{rows / steps:,.0f} ({100 * rows / steps / attrs['n_rows']:.3g}%)" if steps else "-",
            ]
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(names))]
    body = [
        "  ".join(word.rjust(width) if k else word.ljust(width) for k, (word, width) in enumerate(zip(line, widths)))
        for line in lines
    ]
    note = f"error (standard error of the risk over chains), bias^2, variance, steps and rows: at {last:.3g} s"
    return "\n".join([*header, "", *(line.rstrip() for line in body), "", note])


def _text(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2e}"

"""The posterior in a table: what was estimated, how far to trust it, and how many rows a decision read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from html import escape
from math import floor, isfinite, log10, prod
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError
from austerity.report.inclusion import REMARK, chooses_variables, given_inclusion, settled_rows

if TYPE_CHECKING:
    import xarray

STATS = ("mean", "sd", "mcse", "q5", "q95")
DIAGNOSTICS = ("mcse", "ess_bulk", "ess_tail", "r_hat")
KINDS = {"all": (*STATS, *DIAGNOSTICS[1:]), "stats": STATS, "diagnostics": DIAGNOSTICS}
HIGHEST_R_HAT, APART_R_HAT, LOWEST_ESS = 1.01, 1.05, 400
LEAST_TRIES = 50  # decisions from which on a chain that accepted none is called stuck
MOST_DECIMALS = 12  # more than these are written as powers of ten, however large the value
ENDINGS = {"running": "still being written, or cut off", "fault": "ended by a fault", "store": "ended by its store"}
NAMED = 4  # entries a note names before it only counts them


@dataclass(frozen=True)
class Row:
    """One scalar quantity; q5 and q95 are the 5% and 95% quantiles, mcse is that of the mean."""

    name: str
    mean: float
    sd: float
    mcse: float
    q5: float
    q95: float
    ess_bulk: float
    ess_tail: float
    r_hat: float


@dataclass(frozen=True)
class Summary:
    """Rows and what stands above them; print it, or take it as a dict or a csv file.

    rows_read: mean rows a decision read (None where it was not recorded); rows_share: of all N (None if N is
    not in the attributes); times are in seconds, of all sittings of a resumed run together. wanted: the draws that
    were asked for; ended: "done", or what ended the run before it had them; stored: on disk, so that it can go on;
    stuck: chains that never moved.
    """

    rows: list[Row]
    kind: str
    chains: int
    draws: int
    guarantee: str | None
    rows_read: float | None
    rows_share: float | None
    acceptance: float | None
    setup_time: float | None
    sampling_time: float | None
    wanted: int | None = None
    ended: str | None = None
    stored: bool = False
    stuck: tuple[int, ...] = ()
    remark: str | None = None  # how to read the rows, where that is not the usual way
    settled: tuple[str, ...] = ()  # rows whose draws may well be constant, or of which there are none

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns shown, without the name."""
        return KINDS[self.kind]

    def notes(self) -> list[str]:
        """What should be looked at, in plain words; empty when nothing is wrong."""
        apart = [row.name for row in self.rows if row.r_hat > APART_R_HAT]
        mixed = [row.name for row in self.rows if HIGHEST_R_HAT < row.r_hat <= APART_R_HAT]
        few = [row.name for row in self.rows if min(row.ess_bulk, row.ess_tail) < LOWEST_ESS]
        unknown = [row.name for row in self.rows if not isfinite(row.ess_bulk) and row.name not in self.settled]
        notes = []
        for chain in self.stuck:
            notes.append(f"no proposal was accepted in chain {chain}: steps are too long, or its start is far away.")
        if apart:
            who = "the chains do not agree" if self.chains > 1 else "the halves of the chain do not agree"
            notes.append(f"r_hat is above {APART_R_HAT} for {_names(apart)}: {who} yet; draw more.")
        if mixed:
            notes.append(f"r_hat is above {HIGHEST_R_HAT} for {_names(mixed)}: more draws would help.")
        if few:
            notes.append(f"ess is below {LOWEST_ESS} for {_names(few)}: quantiles there are rough; draw more.")
        if unknown:
            notes.append(f"ess is unknown for {_names(unknown)}: the draws are constant, not finite or too few.")
        return notes

    def header(self) -> list[str]:
        """The lines above the table."""
        plural = "" if self.chains == 1 else "s"
        lines = [f"{self.chains} chain{plural} of {self.draws:,} draws" + self._unfinished() + self._times()]
        read = [] if self.acceptance is None else [f"acceptance {self.acceptance:.3g}"]
        if self.rows_read is not None:
            share = "" if self.rows_share is None else f" ({100 * self.rows_share:.3g}% of all)"
            read.append(f"rows read per decision {self.rows_read:,.0f}{share}")
        lines += [", ".join(read)] if read else []
        return lines + [sentence for sentence in (self.guarantee, self.remark) if sentence]

    def __str__(self) -> str:
        """Header, aligned table, notes."""
        table = [["", *self.columns], *([row.name, *_cells(row, self.columns)] for row in self.rows)]
        widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
        body = [
            "  ".join(word.rjust(w) if column else word.ljust(w) for column, (word, w) in enumerate(zip(line, widths)))
            for line in table
        ]
        return "\n".join([*self.header(), "", *(line.rstrip() for line in body), *self._note_lines()])

    def _repr_html_(self) -> str:
        """The same as an HTML table."""
        head = "".join(f"<th>{escape(word)}</th>" for word in ("", *self.columns))
        body = "".join(
            f"<tr><th style='text-align:left'>{escape(row.name)}</th>"
            + "".join(f"<td style='text-align:right'>{cell}</td>" for cell in _cells(row, self.columns))
            + "</tr>"
            for row in self.rows
        )
        above = "<br>".join(escape(line) for line in self.header())
        below = "<br>".join(escape(line) for line in self.notes())
        return f"<p>{above}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{below}</p>"

    def to_dict(self) -> dict[str, Any]:
        """Every field, rows as dicts, notes included."""
        return asdict(self) | {"notes": self.notes()}

    def to_csv(self, path: str | PathLike[str]) -> None:
        """The rows with all columns and full digits."""
        names = [field.name for field in fields(Row)]
        try:
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(names)
                writer.writerows([getattr(row, name) for name in names] for row in self.rows)
        except OSError as error:
            raise InputError(f"The summary cannot be written to {path} ({error}): give another path.") from None

    def _note_lines(self) -> list[str]:
        """Notes behind an empty line, or nothing."""
        notes = self.notes()
        return ["", *notes] if notes else []

    def _unfinished(self) -> str:
        """' (of 12,000: interrupted; go on with resume)' where the run did not come to its end."""
        if self.ended in (None, "done"):
            return ""
        wanted = "" if self.wanted is None else f"of {self.wanted:,}: "
        remedy = "; go on with resume" if self.stored else ""
        return f" ({wanted}{ENDINGS.get(str(self.ended), self.ended)}{remedy})"

    def _times(self) -> str:
        """', set-up 1.2 s, sampling 34 s' as far as known."""
        known = [("set-up", self.setup_time), ("sampling", self.sampling_time)]
        return "".join(f", {name} {value:.3g} s" for name, value in known if value is not None)


def summary(post: xarray.DataTree, kind: str = "all") -> Summary:
    """Means, quantiles and diagnostics of every scalar in the posterior; kind: "all", "stats", "diagnostics"."""
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is not known: use one of {', '.join(KINDS)}.")
    posterior = group_of(post, "posterior")
    attrs = attributes_of(post)
    selects = chooses_variables(attrs)
    columns = {name: given_inclusion if selects and name == "beta" else _columns_of for name in posterior.data_vars}
    rows = [row for name, of in columns.items() for row in _rows_of(posterior[str(name)], of)]
    read, acceptance = _from_statistics(post)
    total = _number(attrs, "rows")
    return Summary(
        rows=rows,
        kind=kind,
        chains=int(posterior.sizes["chain"]),
        draws=int(posterior.sizes["draw"]),
        guarantee=str(attrs["guarantee"]) if attrs.get("guarantee") else None,
        rows_read=read,
        rows_share=read / total if read is not None and total else None,
        acceptance=acceptance,
        setup_time=_number(attrs, "setup_time"),
        sampling_time=_number(attrs, "sampling_time"),
        wanted=_wanted(attrs),
        ended=str(attrs["ended"]) if attrs.get("ended") else None,
        stored=bool(attrs.get("stored")),
        stuck=_stuck(post),
        remark=REMARK if selects and "beta" in columns else None,
        settled=settled_rows(rows) if selects else (),
    )


def group_of(post: xarray.DataTree, name: str) -> xarray.Dataset:
    """A group of the tree with dims chain and draw, or InputError."""
    children = getattr(post, "children", {})
    if name not in children or not {"chain", "draw"} <= set(children[name].sizes):
        raise InputError(f"The result has no group {name!r} with dims chain and draw: pass what au.sample gave back.")
    return children[name].to_dataset()


def attributes_of(post: xarray.DataTree) -> dict[str, Any]:
    """Attributes of the root and of the posterior together: other programs keep only one of them."""
    return {str(key): value for key, value in (dict(post.attrs) | dict(group_of(post, "posterior").attrs)).items()}


def flat_draws(array: xarray.DataArray) -> tuple[list[str], NDArray[np.float64]]:
    """Labels ('beta[age]') and draws (chains, n, entries) of one variable."""
    dims = [str(dim) for dim in array.dims if dim not in ("chain", "draw")]
    values = array.transpose("chain", "draw", *dims).to_numpy().astype(np.float64)
    flat = values.reshape(*values.shape[:2], prod(values.shape[2:]))
    coords = [[str(value) for value in array[dim].to_numpy()] for dim in dims]
    labels = [
        f"{array.name}[{', '.join(names[i] for names, i in zip(coords, index, strict=True))}]"
        for index in np.ndindex(*values.shape[2:])
    ]
    return labels if dims else [str(array.name)], flat


def rows_per_decision(post: xarray.DataTree) -> NDArray[np.float64] | None:
    """n_rows of every kept draw over the decisions it took (thin), chains after each other; None if not recorded."""
    if "sample_stats" not in getattr(post, "children", {}):
        return None
    statistics = group_of(post, "sample_stats")
    if "n_rows" not in statistics:
        return None
    return np.asarray(statistics["n_rows"].to_numpy(), dtype=np.float64).ravel() / _thin(post)


def _rows_of(array: xarray.DataArray, columns_of: Callable[[NDArray[np.float64]], tuple[Any, ...]]) -> Iterator[Row]:
    """One row for each scalar of a variable."""
    labels, flat = flat_draws(array)
    if flat.shape[1] == 0:
        return
    columns = columns_of(flat)
    for entry, label in enumerate(labels):
        yield Row(label, *(float(column[entry]) for column in columns))


def _columns_of(flat: NDArray[np.float64]) -> tuple[Any, ...]:
    """The numbers of a row, one array (entries,) each, of draws (chains, n, entries)."""
    from austerity.report.diagnostics import diagnose

    found = diagnose(flat)
    pooled = flat.reshape(-1, flat.shape[2])
    mean, sd = pooled.mean(axis=0), pooled.std(axis=0, ddof=1) if len(pooled) > 1 else np.full(flat.shape[2], np.nan)
    low, high = np.quantile(pooled, (0.05, 0.95), axis=0)
    return mean, sd, found.mcse_mean, low, high, found.ess_bulk, found.ess_tail, found.r_hat


def _thin(post: xarray.DataTree) -> int:
    """Decisions between two kept draws."""
    thin = _settings(attributes_of(post)).get("thin")
    return thin if isinstance(thin, int) and thin > 0 else 1


def _from_statistics(post: xarray.DataTree) -> tuple[float | None, float | None]:
    """Mean rows read per decision and mean acceptance, as far as recorded."""
    read = rows_per_decision(post)
    mean_read = float(read.mean()) if read is not None and read.size else None
    if "sample_stats" not in post.children:
        return mean_read, None
    statistics = group_of(post, "sample_stats")
    for name, steps in (("acceptance_rate", 1), ("accepted", _thin(post))):
        values = statistics[name].to_numpy().astype(np.float64) if name in statistics else np.empty(0)
        if np.isfinite(values).any():
            return mean_read, float(np.nanmean(values)) / steps
    return mean_read, None


def _wanted(attrs: dict[str, Any]) -> int | None:
    """The draws a chain that were asked for."""
    draws = _settings(attrs).get("draws")
    return draws if isinstance(draws, int) else None


def _stuck(post: xarray.DataTree) -> tuple[int, ...]:
    """The chains in which no decision accepted, where there were enough of them to tell."""
    if "sample_stats" not in post.children or "accepted" not in group_of(post, "sample_stats"):
        return ()
    accepted = group_of(post, "sample_stats")["accepted"].transpose("chain", "draw").to_numpy()
    if accepted.shape[1] * _thin(post) < LEAST_TRIES:
        return ()
    return tuple(int(chain) for chain in np.flatnonzero(~accepted.any(axis=1)))


def _settings(attrs: dict[str, Any]) -> dict[str, Any]:
    """The settings of the run, empty when they are not there or not JSON."""
    try:
        found = json.loads(attrs.get("settings", "{}"))
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(attrs: dict[str, Any], key: str) -> float | None:
    """A finite number of the attributes, or None."""
    value = attrs.get(key)
    return float(value) if isinstance(value, int | float | np.number) and isfinite(value) else None


def _cells(row: Row, columns: tuple[str, ...]) -> list[str]:
    """Values as text: three figures of the sd, two of its error, whole effective sizes; one notation for a row."""
    varies = row.sd > 1e-12 * abs(row.mean)  # less than that is what rounding leaves of a constant
    decimals = _decimals(row.sd if varies else abs(row.mean) / 10, 3)
    largest = max(abs(value) for value in (row.mean, row.q5, row.q95, row.sd, 0.0) if not np.isnan(value))
    powers = largest >= 1e9 or decimals > (7 if largest < 1e-3 else MOST_DECIMALS)
    scaled = {"mcse": _decimals(row.mcse, 2) if varies else decimals}
    whole = {"ess_bulk": 0, "ess_tail": 0, "r_hat": 3}
    return [
        _text(getattr(row, name), whole[name], False)
        if name in whole
        else _text(getattr(row, name), scaled.get(name, decimals), powers)
        for name in columns
    ]


def _decimals(scale: float, figures: int) -> int:
    """Decimals that show so many figures of a scale; negative where none is needed."""
    return figures - 1 - floor(log10(scale)) if isfinite(scale) and scale > 0 else figures


def _text(value: float, decimals: int, powers: bool) -> str:
    """So many decimals; as a power of ten with the figures that reach as far, at most those a float64 has."""
    if not isfinite(value):
        return "-" if np.isnan(value) else str(value)
    if powers:
        figures = decimals + floor(log10(abs(value))) if value else 0
        return f"{value:.{min(max(0, figures), 16)}e}"
    return f"{value:.{max(0, decimals)}f}"


def _names(names: list[str]) -> str:
    """Some of the names, and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")

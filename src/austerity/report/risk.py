"""Risk: how far an estimated posterior expectation is from the true one after so many seconds, rule by rule.

    R(t) = E (I_t - I)^2 = bias^2 + variance,    I_t the mean over the draws that a chain has made by time t

With e_c = I_t of chain c minus the truth, C chains, and means over all quantities:
    risk = mean_c e_c^2 - m^2,   squared bias = mean over c != b of e_c e_b - m^2,   variance = risk - squared bias
Both are unbiased; m is the Monte Carlo error of the truth, which is in every e_c, and may make a small risk negative.
Chains take turns, one at a time on one core, and the clock is read at every piece of about a tenth of a second. It is
the clock of the processor time that this process takes, so that other work on the machine counts as little as it can.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from austerity.decisions import Exact
from austerity.engine.memory import check_room
from austerity.engine.request import seed_of
from austerity.errors import InputError
from austerity.report.fitted import flat_parameters
from austerity.report.quantities import OfParameters, OfTestRows, Quantities, long_run, running
from austerity.report.summary import group_of

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]
TIMES = 25  # moments at which the risk is taken, unless told
FIRST = 0.02  # the first of them, as a share of the last
FASTEST = 1e-6  # seconds a step that no chain is faster than: it limits the room for draws
CHAINS_OF_TRUTH = 16  # they share every pass
OURS = ("acceptance", "chains", "cores", "time_limit", "draws", "rng", "progress", "store", "resume", "keep")
OF_ROWS = ("target", "columns", "names", "weights", "offset", "dtype", "missing")


@dataclass(frozen=True)
class Risk:
    """Results of `austerity.risk`: print them, plot them, or take `data`.

    data: an xarray.Dataset over (rule, time) of risk, risk_error (standard error over chains), squared_bias,
    squared_bias_error (jackknife over chains), variance, steps (since the start) and rows (of the draws, without
    warm-up); means over chains.
    """

    data: xarray.Dataset

    def __str__(self) -> str:
        """What was measured, then a line for each rule."""
        from austerity.report.risk_table import table

        return table(self.data)

    def plot(self, path: str | PathLike[str]) -> None:
        """Risk against time and against rows read, a line for each rule; a PNG file."""
        from austerity.report.risk_plot import plot

        plot(self.data, path)


class Chain(NamedTuple):
    """One chain's estimates (T, Q), and the steps and rows (T,) they took."""

    estimates: Array
    steps: Array
    rows: Array


def risk(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    rules: Mapping[str, Any],
    function: Any = None,
    test_rows: Any = None,
    test_offset: Any = None,
    chains: int = 10,
    seconds: float = 10.0,
    times: Any = None,
    truth: Any = None,
    truth_seconds: float | None = None,
    rng: int = 0,
    progress: bool = True,
    **settings: Any,
) -> Risk:
    """Squared bias and variance of posterior expectations against time and rows read, for each of several rules.

    rules: decisions by name. function: of a dictionary of parameters (n, *shape), giving (n, ...); or test_rows:
    predictive means of these rows (with test_offset); by default all parameters.
    chains, seconds: independent chains of each rule and the processor time each of them samples; times: when to look.
    truth: a posterior of a long exact run, or the true values; by default a run of `truth_seconds` is made, as long as
    all chains of a rule together. settings: all others that `sample` takes; warmup is 0 unless given, and counts;
    start="truth" begins each chain at a draw of the truth, so that no risk comes from where chains begin.
    """
    from austerity.rows import open as open_rows

    _check(rules, chains, seconds, settings, function, test_rows)
    grid = _times(times, seconds)
    about_rows = {name: settings.pop(name) for name in OF_ROWS if name in settings}
    moved = {"centre_response": model.centre_response, "centre_columns": model.centre_columns}
    rows = open_rows(X, y, **about_rows, **moved)
    settings = {"warmup": 0, **settings}
    say = _say if progress else lambda words: None
    seeds = seed_of(rng).spawn(2)
    if truth is None:
        length = truth_seconds or chains * seconds
        say(f"risk: a long exact run of {length:g} s for the truth")
        truth = _long_run(model, rows, seeds[0], length, settings)
    tree = truth if hasattr(truth, "children") else None
    quantities: Quantities = OfParameters(function)
    if test_rows is not None:
        known = tree if tree is not None else _short_run(model, rows, settings)
        quantities = OfTestRows(known, test_rows, test_offset)
    if tree is None:
        value, error2 = np.asarray(truth, dtype=np.float64).ravel(), None
    else:
        value, error2 = long_run(quantities, tree)
    size = float(len(rules) * chains * grid.size * value.size * 8)
    check_room(size, f"estimates of {value.size:,} quantities", "take fewer test rows, chains= or times=")
    starts = _starts(tree, chains, settings)
    made = _all_chains(model, rows, rules, seeds[1], seconds, grid, quantities, starts, value.size, say)
    return Risk(_dataset(made, value, error2, grid, quantities.said, rows.n, tree))


def decompose(errors: Array, truth_error: float) -> dict[str, Array]:
    """risk, squared bias, variance and standard errors (T,) from errors (C, T, Q) of C chains; see the file's head."""
    count = len(errors)
    gram = np.einsum("ctq,btq->tcb", errors, errors) / errors.shape[2]
    squares = np.einsum("tcc->tc", gram)
    whole, rows = gram.sum(axis=(1, 2)), gram.sum(axis=2)
    mean_square = squares.mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = (whole - squares.sum(axis=1)) / (count * (count - 1))
        without = whole[:, None] - 2 * rows + squares - (squares.sum(axis=1)[:, None] - squares)
        without /= (count - 1) * (count - 2)
        jackknife = np.sqrt((count - 1) * without.var(axis=1))
    return {
        "risk": mean_square - truth_error,
        "risk_error": squares.std(axis=1, ddof=1) / np.sqrt(count),
        "squared_bias": pairs - truth_error,
        "squared_bias_error": jackknife,
        "variance": mean_square - pairs,
    }


def _check(rules: Any, chains: Any, seconds: Any, settings: dict[str, Any], function: Any, test_rows: Any) -> None:
    if not isinstance(rules, Mapping) or not rules:
        raise InputError(f"rules={rules!r}: give decisions by name, such as {{'exact': Exact()}}")
    for name, rule in rules.items():
        if not hasattr(rule, "reads_all") or isinstance(rule, type):
            raise InputError(f"rules[{name!r}] is {rule!r}, which is no decision: give one such as Exact()")
    if isinstance(chains, bool) or not isinstance(chains, int) or chains < 3:
        raise InputError(f"chains={chains!r}: bias and variance need a whole number of at least 3 chains a rule")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise InputError(f"seconds={seconds!r}: give the seconds that each chain samples, a positive number")
    taken = [name for name in OURS if name in settings]
    if taken:
        raise InputError(f"{taken[0]} is set by risk itself: leave it out, and see rules=, chains= and seconds=")
    if function is not None and test_rows is not None:
        raise InputError("function= and test_rows= are both given: ask for the risk of one of them")


def _times(times: Any, seconds: float) -> Array:
    """Moments at which the risk is taken, rising, within the seconds."""
    if times is None:
        return np.geomspace(FIRST * seconds, seconds, TIMES)
    grid = np.asarray(times, dtype=np.float64).ravel()
    if not grid.size or not np.all(np.isfinite(grid)) or grid[0] <= 0 or np.any(np.diff(grid) <= 0):
        raise InputError(f"times={times!r}: give rising positive numbers of seconds")
    if grid[-1] > seconds:
        raise InputError(f"times reach {grid[-1]:g} s, but chains sample for seconds={seconds:g}: give more seconds")
    return grid


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _long_run(model: Any, rows: Any, seed: Any, seconds: float, settings: dict[str, Any]) -> Any:
    """Exact chains by the default move, whatever move the chains to be judged take."""
    from austerity.sample import sample

    chosen = {key: value for key, value in settings.items() if key not in ("proposal", "start", "warmup")}
    draws = int(seconds / FASTEST)
    return sample(
        model, rows, acceptance=Exact(), chains=CHAINS_OF_TRUTH, draws=draws, rng=seed, time_limit=seconds,
        progress=False, **chosen,
    )  # fmt: skip


def _short_run(model: Any, rows: Any, settings: dict[str, Any]) -> Any:
    """A few draws, to know the model's parameters and columns by."""
    from austerity.sample import sample

    chosen = {**settings, "warmup": 0, "start": "mode"}
    return sample(model, rows, acceptance=Exact(), chains=1, draws=2, progress=False, **chosen)


def _starts(truth: Any, chains: int, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The settings of each chain, which are the same but for where it begins."""
    if not (isinstance(settings.get("start"), str) and settings["start"] == "truth"):
        return [settings] * chains
    if truth is None:
        raise InputError("start='truth' needs draws of the truth: give truth= as a posterior, or leave it out")
    points = flat_parameters(truth, chains)
    return [{**settings, "start": points[c % len(points)]} for c in range(chains)]


def _all_chains(
    model: Any,
    rows: Any,
    rules: Mapping[str, Any],
    seed: np.random.SeedSequence,
    seconds: float,
    grid: Array,
    quantities: Quantities,
    settings: list[dict[str, Any]],
    size: int,
    say: Any,
) -> dict[str, list[Chain]]:
    """Chains of all rules in turns, so that whatever else the machine does falls on all of them."""
    for rule in rules.values():  # what is compiled for a rule is compiled before any clock runs
        _timed(model, rows, rule, seed, 0.01, settings[0])
    made: dict[str, list[Chain]] = {name: [] for name in rules}
    for c, child in enumerate(seed.spawn(len(settings))):
        say(f"risk: round {c + 1} of {len(settings)}, {seconds:g} s for each of {', '.join(map(str, rules))}")
        for name, rule in rules.items():
            chain = _chain(*_timed(model, rows, rule, child, seconds, settings[c]), grid, quantities)
            if chain.estimates.shape[1] != size:
                raise InputError(
                    f"truth has {size} values, but there are {chain.estimates.shape[1]} {quantities.said}: "
                    "give one for each"
                )
            made[name].append(chain)
    return made


def _timed(
    model: Any, rows: Any, rule: Any, seed: np.random.SeedSequence, seconds: float, settings: dict[str, Any]
) -> tuple[Any, Array]:
    """One chain on one core, and (seconds, steps, kept draws) at every piece of it."""
    from austerity.sample import begin, conclude, default_settings, one_blas_thread

    thin = settings.get("thin", 1)
    draws = max(1, int(np.ceil(seconds / FASTEST / (thin if isinstance(thin, int) and thin > 0 else 1))))
    # A time limit that is never reached tells the run that it may end before all these draws are made.
    ours = {"acceptance": rule, "chains": 1, "cores": 1, "time_limit": 1e9, "draws": draws, "rng": seed}
    ticks = [(0.0, 0.0, 0.0)]
    with one_blas_thread():
        given = default_settings({**settings, **ours, "progress": False})
        run = (prepared := begin(model=model, X=rows, y=None, **given)[0]).run
        began = time.process_time()

        def look(status: Any, _: Any) -> None:
            ticks.append((time.process_time() - began, float(status.steps[0]), float(status.drawn[0])))
            if ticks[-1][0] >= seconds:
                run.stop.set()

        run.observe = look
        run.go()
    return conclude(prepared, asked=True), np.array(ticks)


def _chain(tree: Any, ticks: Array, grid: Array, quantities: Quantities) -> Chain:
    """Running means at the moments of the grid, with the draws made by then found between readings of the clock."""
    seconds, steps, drawn = ticks.T
    made = np.interp(grid, seconds, drawn)
    counts = np.floor(made).astype(np.int64)
    counts = np.minimum(counts, group_of(tree, "posterior").sizes["draw"])
    edges = np.concatenate([[0], counts])
    read = np.concatenate([[0.0], np.cumsum(tree["sample_stats"]["n_rows"].to_numpy()[0])])
    return Chain(
        estimates=running(quantities.stretches(tree, 0, edges), counts),
        steps=np.interp(grid, seconds, steps),
        rows=np.interp(made, np.arange(read.size), read),
    )


def _dataset(
    made: dict[str, list[Chain]],
    value: Array,
    error2: Array | None,
    grid: Array,
    said: str,
    n_rows: int,
    truth: Any,
) -> xarray.Dataset:
    """All rules side by side."""
    import xarray

    truth_error = 0.0 if error2 is None else float(error2.mean())
    parts: dict[str, list[Array]] = {}
    for chains in made.values():
        found = decompose(np.stack([chain.estimates for chain in chains]) - value, truth_error)
        found["steps"] = np.mean([chain.steps for chain in chains], axis=0)
        found["rows"] = np.mean([chain.rows for chain in chains], axis=0)
        for name, values in found.items():
            parts.setdefault(name, []).append(values)
    sizes = {} if truth is None else dict(truth["posterior"].sizes)
    told = "true values as given" if truth is None else f"{sizes['chain']} chains of {sizes['draw']:,} draws"
    attrs = {
        "of": said,
        "quantities": int(value.size),
        "chains": len(next(iter(made.values()))),
        "truth": told,
        "truth_error": truth_error,
        "n_rows": int(n_rows),
    }
    variables = {name: (("rule", "time"), np.stack(values)) for name, values in parts.items()}
    return xarray.Dataset(variables, {"rule": [str(name) for name in made], "time": grid}, attrs)

"""Where chains over sets of variables begin: with all in use, with one, with a set that is given, or at given values.

    start = "mode" or "all" | "one" | "prior" | beta | {"included": columns} | {"beta": values, "included": columns}

"mode" is that with all variables in use, under the slab or a wide prior: the density of a set and its coefficients has
no mode that could be compared between sets. "one" is the variable that by itself explains most, and a given set without
values begins at its own mode. `included` is a list of column numbers or names, or one such list for each chain.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from ..errors import InputError
from ..models.priors import KIND, L1_NORM, LOCATION
from ..models.target import Target
from ..rows import derivatives
from ..standin.mode import Mode, few_rows, few_stride, find_mode
from .problem import INTERCEPT, WIDTH
from .request import Request
from .starts import given_points

SETS = ("one", "all")
LEAST_GAIN = 20.0  # log likelihood of the best variable above that of none, where only that keeps a chain from l1 = 0


def check_sets(target: Target, request: Request) -> None:
    """Refuse what cannot be a start, before any pass."""
    if isinstance(request.start, str):
        return
    if isinstance(request.start, Mapping):
        _given(target, request)
        return
    for c, point in enumerate(given_points(target, request)):
        _check_size(target, int(np.count_nonzero(point)), c)


def starting_sets(
    target: Target,
    request: Request,
    mode: Mode | None,
    seed: np.random.SeedSequence,
    pool: ThreadPoolExecutor,
    threads: int,
) -> np.ndarray:
    """States (chains, D) where the chains begin; coefficients not in use are 0."""
    temperature = request.temperatures()[1]
    gains = _gains(target, temperature, pool)
    _refuse_open(target, gains)
    if isinstance(request.start, Mapping):
        sets, values = _given(target, request)
        if values is not None:
            return values
    elif not isinstance(request.start, str):
        return given_points(target, request)
    elif request.start == "prior":
        return target.draw_prior(np.random.Generator(np.random.Philox(seed)), request.chains)
    elif request.start == "one":
        sets = [[int(np.argmax(gains))]] * request.chains
    else:
        assert mode is not None
        return np.tile(_nowhere_zero(mode), (request.chains, 1))
    points = np.zeros((request.chains, target.size))
    found = {tuple(used): _mode_of_set(target, used, temperature, pool, threads) for used in sets}
    for c, used in enumerate(sets):
        points[c, used] = found[tuple(used)]
    return points


def _given(target: Target, request: Request) -> tuple[list[list[int]], np.ndarray | None]:
    """The sets of a start={...}, one for each chain, and the states where values were given too."""
    unknown = [key for key in request.start if key not in ("beta", "included")]
    if unknown or not request.start:
        raise InputError(f"start={dict(request.start)!r}: give 'included', 'beta', or both")
    beta = request.start.get("beta")
    values = None if beta is None else given_points(target, replace(request, start=beta))
    if "included" not in request.start:
        assert values is not None
        sets = [np.flatnonzero(point).tolist() for point in values]
    else:
        sets = _parse_sets(target, request.start["included"], request.chains)
    for c, used in enumerate(sets):
        _check_size(target, len(used), c)
        if values is not None:
            _check_values(target, values[c], used, c)
    return sets, values


def _parse_sets(target: Target, included: Any, chains: int) -> list[list[int]]:
    """Columns in use by each chain, from a list of numbers or names, or one such list for each chain."""
    if isinstance(included, str) or not isinstance(included, (Sequence, np.ndarray)):
        raise InputError(f"start: included={included!r}, give a list of column numbers or names")
    nested = [isinstance(entry, (Sequence, np.ndarray)) and not isinstance(entry, str) for entry in included]
    if not any(nested):
        return [_parse_set(target, included, 0)] * chains
    if not all(nested) or len(included) != chains:
        raise InputError(f"start: included holds {len(included)} sets for {chains} chains: give one, or one for each")
    return [_parse_set(target, one, c) for c, one in enumerate(included)]


def _parse_set(target: Target, included: Any, c: int) -> list[int]:
    """Places (sorted) of the columns that chain c is to use."""
    names, places = target.variables[0].coords["coef"], []
    for entry in included:
        number = isinstance(entry, Integral) and not isinstance(entry, bool)
        if isinstance(entry, str) and entry in names:
            places.append(names.index(entry))
        elif number and 0 <= int(entry) < len(names):
            places.append(int(entry))
        else:
            raise InputError(
                f"start: included of chain {c} holds {entry!r}, which is no column: give names, or numbers from 0 to "
                f"{len(names) - 1}"
            )
    repeated = [names[place] for place in places if places.count(place) > 1]
    if repeated:
        raise InputError(f"start: included of chain {c} holds {repeated[0]!r} more than once: name each column once")
    return sorted(places)


def _check_size(target: Target, count: int, c: int) -> None:
    assert target.fewest is not None
    if count < target.fewest:
        raise InputError(
            f"start: chain {c} has no variable in use, and this prior wants at least {target.fewest}: give a "
            "coefficient that is not 0, or a slab"
        )


def _check_values(target: Target, point: np.ndarray, used: list[int], c: int) -> None:
    """Values and set must say the same."""
    inside = np.zeros(point.size, bool)
    inside[used] = True
    for fault, remedy in (
        ((point != 0) & ~inside, "is not among those included: include it, or give it 0"),
        ((point == 0) & inside, "is included: give it another value than 0, or leave it out"),
    ):
        if fault.any():
            k = int(np.argmax(fault))
            raise InputError(f"start: {target.labels[k]} is {point[k]:g} in chain {c} but its column {remedy}")


def _gains(target: Target, temperature: float, pool: ThreadPoolExecutor) -> np.ndarray:
    """Log likelihood (D,) that each variable alone adds to none, by the score and the curvature at 0, on a few rows."""
    assert target.companion is not None and target.kernels is not None
    few = few_rows(target.companion) or target.companion
    share = few_stride(target.companion) if few is not target.companion else 1
    _, slope, bend = derivatives.derivatives(few.problem, target.kernels, np.zeros(target.size), pool)
    information = -np.diag(bend)
    gain = np.divide(slope**2, 2 * information, out=np.zeros(target.size), where=information > 0)
    return np.asarray(gain * share / temperature)


def _refuse_open(target: Target, gains: np.ndarray) -> None:
    """A prior without an integral near 0 needs a likelihood that keeps chains away from there."""
    if target.prior[0, KIND] != L1_NORM or target.prior[0, LOCATION] > 0 or gains.max() >= LEAST_GAIN:
        return
    best = target.variables[0].coords["coef"][int(np.argmax(gains))]
    raise InputError(
        f"the prior has no integral where all coefficients are 0, and the rows say too little to keep chains away from "
        f"there (the best variable, {best!r}, adds {gains.max():.3g} to the log likelihood): give least_norm= a "
        "positive value, or a slab such as Normal(0, 1)"
    )


def _mode_of_set(
    target: Target, used: list[int], temperature: float, pool: ThreadPoolExecutor, threads: int
) -> np.ndarray:
    """Coefficients (k,) at the mode of the companion with these variables alone."""
    if not used:
        return np.zeros(0)
    assert target.companion is not None
    return _nowhere_zero(find_mode(restricted(target.companion, used), temperature, pool, threads))


def _nowhere_zero(mode: Mode) -> np.ndarray:
    """The mode; a coefficient that is 0 there takes a hundredth of its sd, since 0 would mean that it is not in use."""
    sd = np.sqrt(np.sum(mode.root**2, axis=1))
    return np.where(mode.theta == 0, 0.01 * sd, mode.theta)


def restricted(target: Target, used: list[int]) -> Target:
    """A model with linear predictors and these coefficients alone, their columns copied."""
    problem, first = target.problem, int(target.problem.shape[INTERCEPT])
    columns = [place - first for place in used if place >= first]
    shape = problem.shape.copy()
    shape[WIDTH], shape[INTERCEPT] = len(columns), len(used) - len(columns)
    return replace(
        target,
        problem=problem._replace(
            X=np.ascontiguousarray(problem.X[:, columns]),
            slope=problem.slope[columns],
            shift=problem.shift[columns],
            shape=shape,
        ),
        prior=target.prior[used],
        priors=[target.priors[place] for place in used],
        labels=[target.labels[place] for place in used],
        initial=target.initial[used],
    )

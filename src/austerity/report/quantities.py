"""What a risk is about: posterior expectations, and their means over stretches of a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError
from austerity.report.fitted import expected_columns, fitted
from austerity.report.means import FamilyMeans
from austerity.report.summary import group_of
from austerity.rows.new_rows import NewRows, open_new

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]
Function = Callable[[Mapping[str, Array]], Any]
AT_ONCE = 4096  # draws that a function is called with
BATCHES = 16  # means that the error of a long run is taken from


class Quantities(Protocol):
    """Q posterior expectations."""

    @property
    def said(self) -> str:
        """What they are, in words."""

    def stretches(self, post: xarray.DataTree, chain: int, edges: NDArray[np.int64]) -> Array:
        """(len(edges) - 1, Q): means over draws edges[k]..edges[k + 1] - 1 of a chain, zeros where there are none."""


class OfParameters:
    """Expectations of a function of the parameters, or of all parameters themselves."""

    def __init__(self, function: Function | None) -> None:
        if function is not None and not callable(function):
            raise InputError(f"function={function!r}: give a function of the parameters, or None for all of them")
        self.function = function

    @property
    def said(self) -> str:
        return "posterior means of the parameters" if self.function is None else "posterior means of the function"

    def stretches(self, post: xarray.DataTree, chain: int, edges: NDArray[np.int64]) -> Array:
        posterior = group_of(post, "posterior")
        values = {
            str(name): array.transpose("chain", "draw", ...).to_numpy()[chain] for name, array in posterior.items()
        }
        out: Array | None = None
        for k in range(len(edges) - 1):
            for first in range(edges[k], edges[k + 1], AT_ONCE):
                last = min(edges[k + 1], first + AT_ONCE)
                found = self._at({name: array[first:last] for name, array in values.items()}, last - first)
                out = np.zeros((len(edges) - 1, found.shape[1])) if out is None else out
                out[k] += found.sum(axis=0)
        if out is None:
            raise InputError("no draw was kept, so there is nothing to take a mean of: give more seconds=")
        return _over_counts(out, edges)

    def _at(self, parameters: Mapping[str, Array], count: int) -> Array:
        """(draws, Q)."""
        if self.function is None:
            return np.concatenate([values.reshape(count, -1) for values in parameters.values()], axis=1)
        try:
            found = np.asarray(self.function(parameters))
        except Exception as error:
            raise InputError(f"function= raised {type(error).__name__}: {error}; correct that function") from error
        if found.ndim == 0 or found.shape[0] != count or found.dtype.kind not in "fiub":
            raise InputError(
                f"function= returned {found.dtype} of shape {found.shape} for {count} draws: "
                "return numbers whose first axis is draws"
            )
        return found.reshape(count, -1).astype(np.float64)


class OfTestRows:
    """Predictive means of test rows; with several classes their chances, row after row."""

    def __init__(self, post: xarray.DataTree, test_rows: Any, offset: Any) -> None:
        fitted(post, 1)  # refuses models without means, in a sentence
        self.rows: NewRows = open_new(test_rows, expected_columns(post), offset=offset, columns=None, names=None)

    @property
    def said(self) -> str:
        return f"predictive means of {self.rows.n:,} test rows"

    def stretches(self, post: xarray.DataTree, chain: int, edges: NDArray[np.int64]) -> Array:
        draws = fitted(post, None)
        before = chain * post["posterior"].sizes["draw"]
        out = np.zeros((len(edges) - 1, draws.outcomes * self.rows.n))
        for k in np.flatnonzero(np.diff(edges) > 0):
            means = FamilyMeans(draws.part(before + edges[k], before + edges[k + 1]), self.rows, "mean", {}, 1)
            means.sum_into(out[k].reshape(draws.outcomes, self.rows.n))
        return _over_counts(out, edges)


def _over_counts(sums: Array, edges: NDArray[np.int64]) -> Array:
    sums /= np.maximum(1, np.diff(edges))[:, None]
    return sums


def running(means: Array, counts: NDArray[np.int64]) -> Array:
    """Means over the first counts[t] draws (T, Q), from those of the stretches between; NaN before the first draw."""
    weights = np.diff(np.concatenate([[0], counts]))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.cumsum(means * weights[:, None], axis=0) / counts[:, None]
    return found


def long_run(quantities: Quantities, post: xarray.DataTree) -> tuple[Array, Array]:
    """Means over all draws of all chains and the squares of their Monte Carlo errors (Q,).

    The error is that of as few and as long batches as give a spread, since short ones of slow chains resemble each
    other: a chain each where there are BATCHES of them.
    """
    sizes = group_of(post, "posterior").sizes
    chains = int(sizes["chain"])
    batches = -(-BATCHES // chains)
    length = int(sizes["draw"]) // batches
    if length < 1:
        raise InputError(f"the truth has {sizes['draw']} draws a chain, too few for its error: draw {batches} at least")
    edges = sizes["draw"] - length * batches + length * np.arange(batches + 1)
    means = np.concatenate([quantities.stretches(post, chain, edges) for chain in range(chains)])
    return means.mean(axis=0), means.var(axis=0, ddof=1) / len(means)

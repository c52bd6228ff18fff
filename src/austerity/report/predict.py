"""What a posterior says of new rows: means, classes, and how well held-out responses were foreseen.

mean_i = (1/S) sum_s E[y | x_i, theta_s]
log density_i = log (1/S) sum_s p(y_i | x_i, theta_s)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from austerity.engine.memory import check_room
from austerity.engine.request import threads_for
from austerity.errors import InputError
from austerity.models.responses import refuse_rows
from austerity.report.fitted import Fitted, expected_columns, fitted, flat_parameters
from austerity.report.means import USER_POINTS, USER_ROWS, FamilyMeans, Means, OwnMeans, own_blocks, own_values
from austerity.rows.new_rows import NewRows, open_new

if TYPE_CHECKING:
    import xarray

Array = NDArray[np.float64]
KINDS = ("mean", "draws", "class")
BUFFER_VALUES = 1 << 24  # per-draw means that are on their way to `out`


def predict(
    post: xarray.DataTree,
    X: Any,
    *,
    kind: str = "mean",
    offset: Any = None,
    columns: Any = None,
    names: Sequence[str] | None = None,
    max_draws: int | None = None,
    dtype: str = "float32",
    predict: Callable[..., Any] | None = None,
    out: Any = None,
    cores: int | None = None,
) -> NDArray[Any]:
    """Posterior predictions for new rows X (N, d): an array, a table, a path or open rows, as for `sample`.

    kind="mean": E[y | x] averaged over draws (N,): a chance for Logistic and Probit, the mean response for the others
    (the centre of the errors for StudentT); for Multinomial the chances (N, C).
    kind="draws": the same at every draw, (S, N) or (S, N, C). kind="class": the class of the largest averaged chance.
    Columns are matched by name where X has names, else by position; columns= selects them, names= renames them.
    offset: values or a column's name. max_draws: so many draws at even distances instead of all.
    predict: predict(points, X) -> (n, K), for a likelihood of your own: means of n rows at K draws (K, D).
    out: an array to write to, such as a numpy.memmap where all draws of all rows do not fit into memory.
    """
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is not known: give one of {', '.join(KINDS)}")
    options: dict[str, Any] = {"offset": offset, "columns": columns, "names": names, "dtype": dtype}
    threads = threads_for(cores)
    if predict is not None:
        means: Means = OwnMeans(post, X, _callable("predict", predict), max_draws, kind, options)
    else:
        means = FamilyMeans(fitted(post, max_draws), X, kind, options, threads)
    if kind == "draws":
        return _all_draws(means, out)
    values = _averages(means)
    if kind == "class":
        values = values.argmax(axis=0) if len(values) > 1 else (values[0] > 0.5).astype(np.int64)
    else:
        values = np.ascontiguousarray(values.T) if len(values) > 1 else values[0]
    return _handed_over(values, out)


@dataclass(frozen=True, eq=False)
class Score:
    """How well held-out responses were foreseen.

    log_density: (N,) log predictive density of each row; accuracy: share of rows whose class was the likeliest one,
    None for responses that are no classes.
    """

    log_density: Array
    accuracy: float | None

    @property
    def mean(self) -> float:
        """Mean log predictive density a row."""
        return float(self.log_density.mean())

    @property
    def error(self) -> float:
        """Standard error of that mean, over rows."""
        n = self.log_density.size
        return float(self.log_density.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    def __str__(self) -> str:
        said = f"{self.log_density.size:,} rows: log predictive density {self.mean:.4g} a row (error {self.error:.2g})"
        return said if self.accuracy is None else f"{said}, accuracy {100 * self.accuracy:.4g}%"


def score(
    post: xarray.DataTree,
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    offset: Any = None,
    columns: Any = None,
    names: Sequence[str] | None = None,
    max_draws: int | None = None,
    dtype: str = "float32",
    density: Callable[..., Any] | None = None,
    cores: int | None = None,
) -> Score:
    """Log predictive density and accuracy of held-out rows X (N, d) with responses y (N,).

    y: values; or target= names the column of X that holds them (by default the one the posterior was made from).
    density: density(points, X, y) -> (n, K), for a likelihood of your own: log densities of n rows at K draws (K, D),
    with whatever constants they are to be compared with. The other arguments are those of `predict`.
    """
    options: dict[str, Any] = {"offset": offset, "columns": columns, "names": names, "dtype": dtype}
    options |= {"y": y, "target": target, "scored": True}
    threads = threads_for(cores)
    if density is not None:
        return _own_score(post, X, _callable("density", density), max_draws, options)
    model = fitted(post, max_draws)
    means = FamilyMeans(model, X, "score", options, threads)
    responses = _check_responses(model, means.rows)
    values, log_density = np.empty((model.outcomes, means.rows.n)), np.empty(means.rows.n)
    means.score_into(log_density, values if model.family.predicts_classes else None)
    log_density += model.family.log_constant(responses)
    accuracy = None
    if model.family.predicts_classes:
        found = values.argmax(axis=0) if len(values) > 1 else values[0] > 0.5
        accuracy = float(np.mean(found == responses))
    return Score(log_density, accuracy)


def _own_score(
    post: Any, X: Any, function: Callable[..., Any], max_draws: int | None, options: dict[str, Any]
) -> Score:
    """log mean of densities by a function of the user's own, the largest term of a row taken out first."""
    rows = open_new(X, expected_columns(post), **options)
    points = flat_parameters(post, max_draws)
    if not rows.y.size:
        _no_response()
    out = np.empty(rows.n)
    for first, held, y in own_blocks(rows, USER_ROWS):
        top, total = np.full(len(held), -np.inf), np.zeros(len(held))
        for k in range(0, len(points), USER_POINTS):
            values = own_values("density", function, points[k : k + USER_POINTS], held, y.astype(rows.dtype))
            higher = np.maximum(top, values.max(axis=1))
            finite = np.where(np.isfinite(higher), higher, 0.0)
            total = total * np.exp(top - finite) + np.exp(values - finite[:, None]).sum(axis=1)
            top = higher
        with np.errstate(divide="ignore"):
            out[first : first + len(held)] = np.where(np.isfinite(top), top, 0.0) + np.log(total) - np.log(len(points))
    return Score(out, None)


def _averages(means: Means) -> Array:
    """(C, N): means over draws."""
    totals = np.empty((means.outcomes, means.rows.n))
    means.sum_into(totals)
    totals /= means.n_draws
    return totals


def _all_draws(means: Means, out: Any) -> NDArray[Any]:
    """(S, N) or (S, N, C): into `out`, or into an array of its own where that fits."""
    shape: tuple[int, ...] = (means.n_draws, means.rows.n)
    if means.outcomes > 1:
        shape += (means.outcomes,)
    if out is None:
        size = float(np.prod(shape, dtype=np.float64)) * np.dtype(means.real).itemsize
        what = f"means of {shape[1]:,} rows at each of {shape[0]:,} draws"
        check_room(size, what, "take fewer with max_draws=, or pass out=, such as a numpy.memmap")
        out = np.empty(shape, means.real)
    _check_out(out, shape, "f")
    for first, part in means.each(max(1, BUFFER_VALUES // (means.n_draws * means.outcomes))):
        rows = slice(first, first + part.shape[2])
        if means.outcomes > 1:
            out[:, rows] = np.moveaxis(part, 0, 2)
        else:
            out[:, rows] = part[0]
    found: NDArray[Any] = out
    return found


def _handed_over(values: NDArray[Any], out: Any) -> NDArray[Any]:
    if out is None:
        return values
    _check_out(out, values.shape, "f" if values.dtype.kind == "f" else "fiu")
    out[...] = values
    found: NDArray[Any] = out
    return found


def _check_out(out: Any, shape: tuple[int, ...], kinds: str) -> None:
    found = getattr(out, "shape", None)
    if found != shape:
        raise InputError(f"out= has shape {found}, but the predictions have shape {shape}: pass an array of that shape")
    kind = getattr(getattr(out, "dtype", None), "kind", "?")
    if kind not in kinds:
        raise InputError(
            f"out= holds {getattr(out, 'dtype', type(out))}, which cannot hold these predictions: pass floats"
        )


def _callable(name: str, function: Any) -> Any:
    if not callable(function):
        raise InputError(f"{name}={function!r} is no function: give a function of (points, X)")
    return function


def _no_response() -> None:
    raise InputError("a score needs responses: pass y=, or target= with the name of their column")


@dataclass(frozen=True)
class _Held:
    """Responses held back, as checks of a family know them."""

    y: Array
    target: str


def _check_responses(model: Fitted, rows: NewRows) -> Array:
    """Held-out responses that the family could have produced, (N,) float64."""
    if not rows.y.size:
        _no_response()
    held = _Held(rows.y, rows.target)
    model.family.check_values(held)
    if model.outcomes > 1:
        last = model.outcomes - 1
        refuse_rows(held, rows.y > last, f"the posterior knows classes 0 to {last}", "leave those rows out")
    return rows.y

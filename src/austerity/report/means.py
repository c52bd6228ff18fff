"""Means of the response of new rows at every draw: by a family's compiled code, or by a function of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError
from austerity.report.fitted import Fitted, expected_columns, flat_parameters
from austerity.rows.new_rows import NewRows, Piece, open_new

if TYPE_CHECKING:
    from austerity.rows.predictions import Draws

Array = NDArray[np.float64]
USER_ROWS, USER_POINTS = 2048, 256  # rows and draws a call of a function of the user's own


class Means(Protocol):
    """Means of rows at draws, piece by piece: what `predict` needs of a family or of a user's function."""

    rows: NewRows
    outcomes: int
    n_draws: int
    real: Any

    def sum_into(self, totals: Array) -> None:
        """totals (C, N) = sums over draws."""

    def each(self, most: int) -> Any:
        """(first row, means (C, S, n)) of pieces of at most `most` rows, or of a block."""


class FamilyMeans(Means):
    """Means of a family with linear predictors, by matrix products in compiled code."""

    def __init__(self, model: Fitted, X: Any, kind: str, options: dict[str, Any], threads: int) -> None:
        from austerity.rows import predictions as compiled

        if kind == "class" and not model.family.predicts_classes:
            raise InputError(f"kind='class' is for models of classes, but the posterior is one of {model.name}")
        self.rows = X if isinstance(X, NewRows) else open_new(X, model.expected, **options)
        if model.has_offset and not self.rows.offset.size:
            raise InputError(
                "the posterior was made with an offset and the new rows have none: pass offset=, zeros if that is meant"
            )
        self.model, self.threads, self.compiled = model, threads, compiled
        self.outcomes, self.n_draws, self.real = model.outcomes, len(model.slopes), self.rows.dtype
        self.mean = compiled.mean_pointer(model.family.mean_kernel(), self.real)
        self.block = compiled.block_rows(model.expected.width)
        self.base = self._response_centre(kind)
        self.draws = self._packed()

    def _response_centre(self, kind: str) -> float:
        """Where only y - eta matters both are moved towards zero, since float32 has seven digits."""
        if kind != "score" or not self.model.family.centre_response or not self.rows.y.size:
            return 0.0
        return float(self.rows.y.mean())

    def _packed(self) -> Draws:
        """W = slope * scale and b = intercept + slope . centre, in float64, then packed."""
        slopes, rows = self.model.slopes, self.rows
        shifts = (slopes * rows.centre).sum(axis=2) if rows.centre.any() else 0.0
        constants = self.model.intercepts + shifts - self.base
        return self.compiled.pack_draws(slopes * rows.scale, constants, self.model.extras, rows.dtype)

    def _over(self, piece: Piece, pool: ThreadPoolExecutor, work: Callable[..., Any]) -> None:
        """work(first, last, room) over the rows of a piece, in all threads."""
        self.compiled.over_blocks(
            lambda first, last: work(first, last, self.compiled.new_room(self.draws, self.outcomes)),
            len(piece.X),
            self.block,
            pool,
            self.threads,
        )

    def sum_into(self, totals: Array) -> None:
        for piece, pool in self._pieces():
            part = np.empty((self.outcomes, len(piece.X)))

            def work(first: int, last: int, room: Any, piece: Piece = piece, part: Array = part) -> None:
                self.compiled.sum_means(piece.X, piece.offset, first, last, self.draws, self.mean, room, part)

            self._over(piece, pool, work)
            totals[:, piece.first : piece.first + len(piece.X)] = part

    def each(self, most: int) -> Any:
        for piece, pool in self._pieces(most):
            part = np.empty((self.outcomes, self.n_draws, len(piece.X)), self.real)

            def work(first: int, last: int, room: Any, piece: Piece = piece, part: NDArray[Any] = part) -> None:
                self.compiled.each_mean(piece.X, piece.offset, first, last, self.draws, self.mean, room, part)

            self._over(piece, pool, work)
            yield piece.first, part

    def score_into(self, log_density: Array, totals: Array | None) -> None:
        """Log densities (N,) without what the kernel leaves out, and sums of means (C, N) where they are asked for."""
        density = self.compiled.density_pointer(self.model.family.kernels()[0])
        for piece, pool in self._pieces():
            rows = slice(piece.first, piece.first + len(piece.X))
            y, top, total = self.rows.y[rows] - self.base, np.empty(len(piece.X)), np.empty(len(piece.X))
            part = np.empty((self.outcomes, len(piece.X)))

            def work(first: int, last: int, room: Any, piece: Piece = piece, part: Array = part,
                     held: tuple[Array, Array, Array] = (y, top, total)) -> None:  # fmt: skip
                compiled, (y, top, total) = self.compiled, held
                compiled.sum_densities(piece.X, piece.offset, y, first, last, self.draws, density, room, top, total)
                if totals is not None:
                    compiled.sum_means(piece.X, piece.offset, first, last, self.draws, self.mean, room, part)

            self._over(piece, pool, work)
            with np.errstate(divide="ignore"):
                log_density[rows] = top + np.log(total) - np.log(self.n_draws)
            if totals is not None:
                totals[:, rows] = part / self.n_draws

    def _pieces(self, most: int = 1 << 40) -> Any:
        with ThreadPoolExecutor(self.threads) as pool:
            for piece in self.rows.pieces(self.block, most):
                yield piece, pool


class OwnMeans(Means):
    """Means by a function of the user's own: plain NumPy, rows as they were given."""

    def __init__(
        self, post: Any, X: Any, function: Callable[..., Any], max_draws: int | None, kind: str, options: dict[str, Any]
    ) -> None:
        if kind == "class":
            raise InputError("kind='class' is for models of classes: compare the means of your function with 1/2")
        if options["offset"] is not None:
            raise InputError("offset is for models with linear predictors: pass it as a column and use it in yours")
        self.rows = open_new(X, expected_columns(post), **options)
        self.points, self.function = flat_parameters(post, max_draws), function
        self.outcomes, self.n_draws, self.real = 1, len(self.points), np.float64

    def each(self, most: int) -> Any:
        for first, X, _ in own_blocks(self.rows, most):
            part = np.empty((1, self.n_draws, len(X)))
            for k in range(0, self.n_draws, USER_POINTS):
                points = self.points[k : k + USER_POINTS]
                part[0, k : k + len(points)] = own_values("predict", self.function, points, X).T
            yield first, part

    def sum_into(self, totals: Array) -> None:
        for first, X, _ in own_blocks(self.rows, USER_ROWS):
            total = np.zeros(len(X))
            for k in range(0, self.n_draws, USER_POINTS):
                total += own_values("predict", self.function, self.points[k : k + USER_POINTS], X).sum(axis=1)
            totals[0, first : first + len(X)] = total


def own_blocks(rows: NewRows, most: int) -> Any:
    """(first row, X, y) of small pieces, X as it was given."""
    size = min(USER_ROWS, max(1, most))
    for piece in rows.pieces(size, size):
        moved = rows.centre.any() or (rows.scale != 1).any()
        X = (rows.centre + rows.scale * piece.X.astype(np.float64)).astype(rows.dtype) if moved else piece.X
        yield piece.first, X, rows.y[piece.first : piece.first + len(X)]


def own_values(name: str, function: Callable[..., Any], points: Array, X: Any, *more: Any) -> Array:
    """What a function of the user's own says of n rows at K draws: (n, K), checked."""
    try:
        values = np.asarray(function(points, X, *more))
    except Exception as error:
        raise InputError(f"{name}= raised {type(error).__name__}: {error}; correct that function") from error
    if values.shape != (len(X), len(points)) or values.dtype.kind not in "fiub":
        raise InputError(
            f"{name}= returned {values.dtype} of shape {values.shape} for {len(X)} rows and {len(points)} draws: "
            f"return numbers of shape {(len(X), len(points))}"
        )
    wrong = ~np.isfinite(values) if name == "predict" else np.isnan(values) | (values == np.inf)
    if wrong.any():
        row, draw = (int(place) for place in np.argwhere(wrong)[0])
        raise InputError(
            f"{name}= returned {values[row, draw]} for row {row} of a block at draw {draw}: return finite numbers"
        )
    return values.astype(np.float64)

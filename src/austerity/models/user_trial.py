"""A first call of a user's likelihood in plain Python, so that a mistake is found before anything is compiled."""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError, ModelError
from ..rows.held import Rows

TRIED = 5  # rows


def shape_of(name: str, given: Any) -> tuple[int, ...]:
    """The shape of a parameter as whole positive numbers."""
    try:
        shape = tuple(given)
        wrong = any(isinstance(n, bool) or int(n) != n or n < 1 for n in shape)
    except (TypeError, ValueError):
        wrong = True
    if wrong:
        raise InputError(f"Model: shapes[{name!r}] is {given!r}: give whole numbers of at least 1, such as (3,)")
    return tuple(int(n) for n in shape)


def try_likelihood(
    row: Callable[..., Any] | None,
    block: Callable[..., Any] | None,
    rows: Rows,
    natural: np.ndarray,
    labels: list[str],
) -> None:
    """Evaluate the first rows at the starting point natural (D,); a block also at two points, as a pass does."""
    count = min(TRIED, rows.n)
    X, y = rows.X[:count], rows.y[:count] if rows.has_response else np.zeros(count, rows.X.dtype)
    where = ", ".join(f"{label}={value:.6g}" for label, value in zip(labels[:6], natural[:6], strict=False))
    if block is not None:
        value = _call(block, (np.tile(natural, (2, 1)), X, y), f"for rows 0 to {count - 1} and two points with {where}")
        _check(value, (count, 2), f"for rows 0 to {count - 1} and two points with {where}")
        return
    plain = getattr(row, "py_func", row)
    for i in range(count):
        value = _call(plain, (natural.copy(), X[i], y[i]), f"at row {i} for {where}")
        _check(value, (), f"at row {i} for {where}")


def _call(function: Any, arguments: tuple[Any, ...], where: str) -> np.ndarray:
    try:
        return np.asarray(function(*arguments))
    except Exception as error:
        inside = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
        line = f" (line {inside[-1].lineno} of {inside[-1].name})" if inside else ""
        raise ModelError(
            f"the user's likelihood raised {type(error).__name__}: {error} {where}{line}: correct it"
        ) from error


def _check(value: np.ndarray, expected: tuple[int, ...], where: str) -> None:
    if value.shape == expected and value.dtype.kind in "fiub":
        return
    kind = "None" if value.dtype == object and value.ndim == 0 and value.item() is None else f"{value.dtype}"
    wanted = f"real numbers of shape {expected}, (rows, points)" if expected else "one real number"
    raise ModelError(f"the user's likelihood returned {kind} of shape {value.shape} {where}: it must return {wanted}")

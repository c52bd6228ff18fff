"""What a decision may ask of a source of terms, whatever lies behind it.

    size_of(source)                   N, how many terms the whole sum has
    open_draw(source, theta, theta', indices, indices', key, used)     make ready for a decision between two states
    add_terms(source, n, moments)     the next n terms of this decision's order, added to the sums: status, moments

A source is a named tuple, and its class says which code answers (`@answers(function, class)`). One may read rows in
random order (below), another walk the factors of a variable (`gibbs/source.py`), a third draw the moments of rows that
do not exist (`rows/summary.py`): a decision sees moments alone and is compiled once for each kind.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ..engine.jit import ENGINE, dots
from ..engine.problem import BLOCK, USER, Source
from . import draws


class Moments(NamedTuple):
    """Running sums over the terms handed out so far. A rule that needs a higher moment adds a field here."""

    n: int
    shift: float  # about which the sums are taken: keeps the variance of nearly equal terms
    total: float  # sum of term - shift; -inf where a proposal has no density, NaN or +inf where something is wrong
    squares: float  # sum of (term - shift)^2


def size_of(source: Any) -> int:
    """N: how many terms there are."""
    raise TypeError("size_of is for compiled code")


def add_terms(source: Any, n: int, moments: Moments) -> tuple[int, Moments]:
    """The next n terms of this decision's order, added to `moments`; n is at most what is left."""
    raise TypeError("add_terms is for compiled code")


def open_draw(source: Any, theta: Any, theta_new: Any, indices: Any, indices_new: Any, key: int, used: int) -> None:
    """Make ready for one decision; the first `used` terms of its order belong to the proposal."""
    raise TypeError("open_draw is for compiled code")


def answers(function: Callable[..., Any], kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function is what `function` does for sources of this class of named tuples."""

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*arguments: Any) -> Any:
            return implementation if getattr(arguments[0], "instance_class", None) is kind else None

        setattr(choose, "__signature__", signature(implementation))  # noqa: B010  Numba compares them
        # Not inline="always": with parts that are inlined themselves, Numba loses what they do.
        overload(function, jit_options={**ENGINE, "_nrt": False})(choose)
        return implementation

    return register


@answers(size_of, Source)
def _size_of_rows(source):
    return source.problem.X.shape[0]


@answers(open_draw, Source)
def _open_draw_of_rows(source, theta, theta_new, indices, indices_new, key, used):
    draws.open_draw(source, theta, theta_new, indices, indices_new, key, used)


@dots
def add_block(terms, count, shift):
    """Sum and sum of squares about a shift, which keeps the variance of nearly equal terms."""
    total, squares = 0.0, 0.0
    for i in range(count):
        centred = terms[i] - shift
        total += centred
        squares += centred * centred
    return total, squares


@answers(add_terms, Source)
def _add_rows(source, n, moments):
    """Rows in a fresh random order, block by block."""
    count, shift, total, squares = moments
    wanted = count + n
    while count < wanted:
        size = min(BLOCK, wanted - count)
        status = draws.read_block(source, size)
        if status != 0:
            return status, Moments(count, shift, total, squares)
        if count == 0:
            shift = source.work.terms[0] if np.isfinite(source.work.terms[0]) else 0.0
        more, more_squares = add_block(source.work.terms, size, shift)
        total, squares, count = total + more, squares + more_squares, count + size
    if np.isnan(total) and source.problem.shape[USER] == 0:
        total = -np.inf  # a family's terms overflow only at a proposal far from everything, which has no density
    return 0, Moments(count, shift, total, squares)

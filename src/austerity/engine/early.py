"""What can be refused before any pass over the rows: on a tall table the search for the mode alone takes minutes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..models.target import Target
from ..proposals.base import BLIND, Setting, kind_of
from ..rows import order
from ..store.base import STATS
from .keep import keeper
from .memory import Estimate, Sizes, estimate, say_or_refuse
from .orthogonal import moves_orthogonal, on_orthogonal, refuse_words
from .problem import PREDICTORS
from .request import Request
from .run import buffer_size
from .start_sets import SETS, check_sets
from .starts import given_points


def check_early(
    target: Target, acceptance: Any, parts: list[Any], request: Request, settings: dict[str, Any], searched: bool
) -> tuple[Estimate, str | None]:
    """Refuse what does not fit this model, these rows, the run on disk or the memory; returns the memory needed.

    parts: the components of the proposal; settings: those known by now, as stored with the draws.
    """
    if not isinstance(acceptance, str):
        check_rule(target, acceptance)
    orthogonal = moves_orthogonal(target, parts)
    for part in parts:
        if kind_of(part) != BLIND:
            if target.rows.n != target.problem.X.shape[0]:
                raise InputError(f"{type(part).__name__} reads rows, and {target.rows!r} has none: give RandomWalk()")
            part.check(target, acceptance)
            _refuse_beyond_order(target, type(part).__name__)
        if target.fewest is not None and not getattr(part, "moves_sets", False):
            raise InputError(
                f"{type(part).__name__} would move coefficients of variables that {target.name} does not use: give "
                "ReversibleJump(), or a Mixture of such moves"
            )
        if not part.needs_mode:
            part.parameters(Setting(target.size, None, None, target.rows.n, target.fewest))
    if target.fewest is not None:
        check_sets(target, request)
    elif isinstance(request.start, Mapping) or (isinstance(request.start, str) and request.start in SETS):
        raise InputError(
            f"start={request.start!r}: give 'mode', 'prior', or numbers, since 'one', 'all' and sets are for models "
            "that choose their variables"
        )
    elif not isinstance(request.start, str):
        points = given_points(target, request)
        if orthogonal:
            on_orthogonal(target, points)
    elif orthogonal and not target.orthogonal:
        refuse_words(target, request.start)
    if isinstance(request.start, str) and request.start == "prior":
        target.draw_prior(np.random.default_rng(0), 1)
    variables, _ = keeper(target, request.keep)
    if request.store is not None:
        check_store(target, request, settings)
    sizes = sizes_of(target, request, variables[-1].stop, searched)
    needed = estimate(sizes)
    return needed, say_or_refuse(needed, sizes)


def check_rule(target: Target, acceptance: Any) -> None:
    """Refuse a rule whose settings, or whose way to draw rows, do not fit this many rows."""
    acceptance.check(target.rows.n)
    if not acceptance.reads_all:
        _refuse_beyond_order(target, type(acceptance).__name__)


def _refuse_beyond_order(target: Target, name: str) -> None:
    held = target.problem.X.shape[0]
    if held > order.MOST_ROWS:
        raise InputError(f"{name} draws rows from at most {order.MOST_ROWS:,}, but there are {held:,}: use Exact()")


def check_store(target: Target, request: Request, settings: dict[str, Any]) -> None:
    """Refuse another run's store, and a place where none can be made."""
    from ..store.open import check_place, check_resumable
    from ..store.zarr_store import is_free

    if request.resume and not is_free(Path(request.store)):
        check_resumable(request.store, settings, target.rows.fingerprint)
    else:
        check_place(request.store)


def sizes_of(target: Target, request: Request, width: int, searched: bool) -> Sizes:
    """The numbers that an estimate of memory is made of."""
    from ..store.layout import choose_chunk

    rows, row = target.rows, width + len(STATS) + 1
    return Sizes(
        n_rows=target.problem.X.shape[0],
        columns=rows.d,
        itemsize=rows.X.itemsize,
        held_bytes=rows.nbytes if rows.copied else 0,
        predictors=int(target.problem.shape[PREDICTORS]),
        size=target.size,
        width=width,
        statistics=len(STATS) + 1,
        chains=request.chains,
        draws=request.draws,
        threads=request.threads(),
        buffered=min(request.draws, buffer_size(target.size)),
        chunk=0 if request.store is None else choose_chunk(row, request.draws),
        searched=searched,
        limited=request.time_limit is not None,
    )

"""From sources to held rows: used as they come where that is possible, else converted once, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.memory import check_room
from . import checks
from .held import DoubleArray, FloatArray, Rows, absent, far_columns, writable_view
from .select import choose
from .sources import Source, block_rows, blocks_of
from .statistics import Checksum, Summary, checksum_of, fill, fingerprint, scan
from .tables import source_of

Keep = NDArray[np.bool_] | None


class Held(NamedTuple):
    """One part (X, y, weights or offset) as it is held: `values` (n, d) = (x - centre) / scale."""

    values: FloatArray
    centre: DoubleArray
    scale: DoubleArray
    summary: Summary
    checksum: Checksum
    owner: Any
    copied: bool


def hold(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    target: str | None = None,
    weights: Any = None,
    offset: Any = None,
    dtype: Any = "float32",
    missing: str = "error",
    centre_response: bool = False,
    centre_columns: bool = True,
) -> Rows:
    """Rows from arrays or tables: X (N, d), y (N,) or None, and optionally weights (N,) and offset (N,).

    `target` is what the response is called; without it the response keeps its own name, or is called "y".

    A C-contiguous array of the dtype asked for is used as it is, mapped files included. Anything else is converted
    once; its columns are centred and scaled in float64 before they are rounded, constant columns excepted.
    Rows of the parts belong together by position, whatever index a table carries.
    """
    return assemble(
        source_of(X, "X"), y, names=names, target=target, weights=weights, offset=offset,
        dtype=dtype, missing=missing, centre_response=centre_response, centre_columns=centre_columns,
    )  # fmt: skip


def assemble(
    source: Source,
    y: Any = None,
    *,
    target: str | int | None = None,
    names: Sequence[str] | None = None,
    columns: Sequence[str | int] | str | int | None = None,
    weights: Any = None,
    offset: Any = None,
    dtype: Any = "float32",
    missing: str = "error",
    centre_response: bool = False,
    centre_columns: bool = True,
) -> Rows:
    """Rows from one source and, where they are not columns of it, a response, weights and an offset."""
    kind = checks.check_options(dtype, missing)
    parts, label = choose(source, y, target, names, columns, weights, offset)
    checks.check_shapes(parts)
    for what, part in parts.items():
        checks.check_numeric(what, part)
    summaries, checksums = _scan_all(parts, kind)
    checks.check_infinite(parts, summaries)
    keep = checks.kept_rows(parts, summaries, missing)
    if keep is not None:
        summaries, checksums = {what: scan(part, keep) for what, part in parts.items()}, {}
    if "weights" in parts:
        checks.check_weights(parts["weights"], summaries["weights"])
    held = {}
    for what, part in parts.items():
        moved = (what == "X" and centre_columns) or (what == "y" and centre_response)
        held[what] = _hold_part(what, part, summaries[what], kind, keep, checksums.get(what), moved)
    return _rows(parts["X"].names, label, held, kind, 0 if keep is None else int((~keep).sum()))


def _scan_all(parts: Mapping[str, Source], kind: np.dtype[Any]) -> tuple[dict[str, Summary], dict[str, Checksum]]:
    """One streaming read of every part; those that may be held as they are get their checksum on the way."""
    summaries, checksums = {}, {}
    for what, part in parts.items():
        if part.as_is(kind) is not None:
            checksums[what] = Checksum(len(part.names), kind)
        summaries[what] = scan(part, None, checksums.get(what))
    return summaries, checksums


def _hold_part(
    what: str, part: Source, summary: Summary, kind: np.dtype[Any], keep: Keep, checksum: Checksum | None, moved: bool
) -> Held:
    """A part as it is, or converted; `moved`: X is centred and scaled if converted, y is centred whatever it takes."""
    d = len(part.names)
    centre, scale = np.zeros(d), np.ones(d)
    array = part.as_is(kind)
    far = what == "X" and moved and kind == np.float32 and far_from_zero(summary)
    if array is not None and checksum is not None and not (what == "y" and moved) and not far:
        checks.check_range(what, part.names, summary, centre, scale, kind)
        return Held(writable_view(array), centre, scale, summary, checksum, array, copied=False)
    if moved:
        varies = (summary.high > summary.low) | (what == "y")
        centre = np.where(varies, summary.mean, 0.0)
        if what == "X":
            # The sd of tiny values can vanish when squares underflow; their range does not.
            spread = np.where(summary.sd > 0, summary.sd, summary.high - summary.low)
            scale = np.where(varies, spread, 1.0)
    checks.check_range(what, part.names, summary, centre, scale, kind)
    values = _convert(part, summary.n, kind, keep, centre, scale)
    return Held(values, centre, scale, summary, checksum_of(values), None, copied=True)


def far_from_zero(summary: Summary) -> bool:
    """True where a column lies so far from zero that its products in float32 lose what tells its rows apart."""
    return bool(np.any((summary.high > summary.low) & far_columns(summary)))


def _convert(
    part: Source, n: int, kind: np.dtype[Any], keep: Keep, centre: DoubleArray, scale: DoubleArray
) -> FloatArray:
    """(x - centre) / scale in float64, rounded once; beside the result only a few blocks are ever in memory."""
    d = len(part.names)
    check_room(
        n * d * kind.itemsize,
        f"holding {n:,} rows of {d} columns as {kind.name}",
        "take fewer columns=, or pass a .npy file that is float32 and row-major already, which is used from the disk",
    )
    values: FloatArray = np.empty((n, d), dtype=kind)
    buffer, start = np.empty((d, block_rows(d))), 0
    centred, scaled = bool((centre != 0).any()), bool((scale != 1).any())
    for block in blocks_of(part, keep):
        work = fill(buffer, block)
        if centred:
            work -= centre[:, np.newaxis]
        if scaled:
            work /= scale[:, np.newaxis]
        values[start : start + len(block)] = work.T
        start += len(block)
    return values


def _rows(names: tuple[str, ...], target: str, held: Mapping[str, Held], kind: np.dtype[Any], dropped: int) -> Rows:
    inputs, response = held["X"], held.get("y")

    def vector(what: str) -> FloatArray:
        return held[what].values.reshape(-1) if what in held else absent(kind)

    n, d = inputs.values.shape
    header = {"n": n, "d": d, "dtype": kind.name, "names": names, "target": target, "parts": sorted(held)}
    parts = [(held[what].summary, held[what].checksum) for what in sorted(held)]
    return Rows(
        X=inputs.values, y=vector("y"), weights=vector("weights"), offset=vector("offset"),
        names=names, target=target, centre=inputs.centre, scale=inputs.scale,
        y_centre=float(response.centre[0]) if response else 0.0,
        mean=inputs.summary.mean, sd=inputs.summary.sd,
        y_mean=float(response.summary.mean[0]) if response else 0.0,
        y_sd=float(response.summary.sd[0]) if response else 0.0,
        fingerprint=fingerprint(header, parts), dropped=dropped, copied=inputs.copied,
        keep_alive=tuple(part.owner for part in held.values() if part.owner is not None),
    )  # fmt: skip

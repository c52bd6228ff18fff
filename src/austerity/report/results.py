"""Draws as an xarray.DataTree in the ArviZ schema: posterior and sample_stats, dims (chain, draw, ...)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from austerity._version import __version__
from austerity.errors import InputError
from austerity.report.variables import Variable, check_variables
from austerity.store.base import INTEGER_STATS, STATS

if TYPE_CHECKING:
    import xarray

LIBRARY = "austerity"
RECORDED = ("numpy", "numba", "scipy", "xarray", "zarr")


def build_tree(
    draws: NDArray[np.float64],
    stats: NDArray[np.float64],
    variables: Sequence[Variable],
    stat_names: Sequence[str] = STATS,
    attrs: Mapping[str, Any] | None = None,
) -> xarray.DataTree:
    """draws (chains, n, width) and stats (chains, n, S) as a tree; attrs on the root and on posterior.

    attrs: settings, exact, guarantee, data_fingerprint, versions, setup_time, sampling_time, rows (N);
    dicts and lists in it become JSON text, since attributes of a file hold text and numbers only.
    """
    import xarray

    _check_shapes(draws, stats, variables, stat_names)
    coords: dict[str, Any] = {"chain": np.arange(draws.shape[0]), "draw": np.arange(draws.shape[1])}
    labels = {dim: values for variable in variables for dim, values in variable.coords.items()}
    posterior = {v.name: (("chain", "draw", *v.dims), v.take(draws)) for v in variables}
    statistics = {
        name: (("chain", "draw"), stats[..., column].astype(np.int64 if name in INTEGER_STATS else np.float64))
        for column, name in enumerate(stat_names)
    }
    described = tree_attrs(attrs or {})
    groups = {
        "/": xarray.Dataset(attrs=described),
        "posterior": xarray.Dataset(posterior, coords=coords | labels, attrs=described),
        "sample_stats": xarray.Dataset(statistics, coords=coords, attrs=described),
    }
    return xarray.DataTree.from_dict(groups, name=LIBRARY)


def load_tree(path: str | PathLike[str]) -> xarray.DataTree:
    """The tree of a run on disk, finished or killed: all draws of its last commit."""
    from austerity.store.zarr_store import ZarrStore

    if not isinstance(path, (str, PathLike)) or not os.fspath(path):
        raise InputError(f"load({path!r}): give the path of a run's directory, such as 'run.zarr'")
    store = ZarrStore.load(path)
    draws, stats = store.draws()
    return build_tree(draws, stats, store.variables, store.stat_names, store.attrs)


def tree_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """attrs as a file can hold them, with the marks ArviZ expects: library, its version, time of making."""
    marks = {
        "inference_library": LIBRARY,
        "inference_library_version": __version__,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return marks | {key: _attribute(key, value) for key, value in attrs.items()}


def package_versions() -> dict[str, str]:
    """Versions of Python, of this package and of those that could change a draw or a file."""
    found = {"python": python_version(), LIBRARY: __version__}
    for name in RECORDED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _attribute(key: str, value: Any) -> str | int | float:
    """One attribute: text and numbers as they are, all else as JSON text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str | int | float):
        return value
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        raise InputError(f"Attribute {key!r} of type {type(value).__name__} cannot be written as JSON.") from None


def _check_shapes(draws: Any, stats: Any, variables: Sequence[Variable], stat_names: Sequence[str]) -> None:
    """Refuse arrays whose sizes do not fit each other and the names."""
    width = check_variables(list(variables))
    if draws.ndim != 3 or draws.shape[2] != width:
        raise InputError(f"Draws have shape {draws.shape}, expected (chains, draws, {width}).")
    if stats.shape != (*draws.shape[:2], len(stat_names)):
        raise InputError(f"Statistics have shape {stats.shape}, expected {(*draws.shape[:2], len(stat_names))}.")

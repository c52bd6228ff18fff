"""What zarr does for a run: make the arrays, write and read chunks, cut and extend them."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import Crc32cCodec

from austerity.errors import StoreError
from austerity.store.checkpoint import flush_directory, write_checkpoint
from austerity.store.layout import FORMAT, POSTERIOR, STATE, STATISTICS, Column, Layout

# Else a chunk of zeros, such as those of `exhausted`, would be no file and look like one that was lost.
WHOLE = {"array.write_empty_chunks": True}
DRAW_CHUNK = 65536  # draw numbers a chunk of their coordinate holds


def create(root: Path, layout: Layout, draws: int, attrs: dict[str, Any]) -> None:
    """Every group and array of a new run, made under another name and renamed: it is there whole or not at all."""
    unfinished = root.with_name(f".{root.name}.{uuid4().hex}.unfinished")
    try:
        unfinished.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, f"{root.parent} is not a directory") from None
    try:
        top = zarr.create_group(unfinished, zarr_format=3, attributes=attrs | {"austerity": layout.to_dict()})
        groups = {
            POSTERIOR: top.create_group(POSTERIOR, attributes=attrs),
            STATISTICS: top.create_group(STATISTICS),
        }
        for column in layout.columns():
            _create_column(top, layout, column, draws)
        for name, group in groups.items():
            _coordinate(group, "chain", np.arange(layout.chains))
            for dim, values in _coordinates(layout).items() if name == POSTERIOR else ():
                _coordinate(group, dim, np.asarray(values))
        _create_state(top, layout)
        write_checkpoint(unfinished / STATE, _empty(layout))
        os.rename(unfinished, root)
        flush_directory(root.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def write_rows(root: Path, layout: Layout, chain: int, start: int, rows: NDArray[np.float64]) -> None:
    """rows (n, width + S) into draws start, start + 1, ... of the chain, flushed to the disk."""
    stop, folders = start + rows.shape[0], set[Path]()
    for column in layout.columns():
        with zarr.config.set(WHOLE):
            target = zarr.open_array(root / column.path, mode="r+", zarr_format=3)
        values = rows[:, column.start : column.stop].reshape(rows.shape[0], *column.shape)
        target[chain, start:stop] = values.astype(column.dtype)
        for index in range(start // layout.chunk, -(-stop // layout.chunk)):
            path = layout.chunk_file(root, column, chain, index)
            _flush_file(path)
            folders.add(path.parent)
    for folder in folders:
        flush_directory(folder)


def read_rows(root: Path, layout: Layout, chain: int, start: int, stop: int) -> NDArray[np.float64]:
    """Rows (stop - start, width + S) of the chain from its chunks."""
    rows = np.empty((stop - start, layout.row))
    if stop == start:
        return rows
    for column in layout.columns():
        try:
            source = zarr.open_array(root / column.path, mode="r", zarr_format=3)
            values = np.asarray(source[chain, start:stop])
        except Exception as error:  # zarr and its codecs raise many kinds, and none says where
            raise StoreError(
                f"Draws {start} to {stop} of chain {chain} in {root / column.path} cannot be read ({error}): "
                f"restore the run from a copy, or start again."
            ) from error
        rows[:, column.start : column.stop] = values.reshape(stop - start, -1)
    return rows


def check_chunks(root: Path, layout: Layout, written: NDArray[np.int64]) -> None:
    """Refuse a run whose whole chunks are not all there in full: zarr would fill the gap without a word."""
    for column in layout.columns():
        for chain in range(layout.chains):
            for index in range(int(written[chain]) // layout.chunk):
                path = layout.chunk_file(root, column, chain, index)
                size = path.stat().st_size if path.is_file() else 0
                if size != layout.chunk_bytes(column):
                    raise StoreError(
                        f"The chunk {path} has {size} bytes where {layout.chunk_bytes(column)} were written: "
                        f"restore the run from a copy, or start again."
                    )


def finish(root: Path, layout: Layout, rows: Sequence[NDArray[np.float64]], draws: int) -> None:
    """Write the last, unfilled chunk of every chain, cut the arrays to draws and number them."""
    start = draws // layout.chunk * layout.chunk
    for chain, part in enumerate(rows):
        if len(part):
            write_rows(root, layout, chain, start, part)
    _resize(root, layout, draws)
    for name in (POSTERIOR, STATISTICS):
        _coordinate(zarr.open_group(root / name, mode="r+", zarr_format=3), "draw", np.arange(draws))


def reopen(root: Path, layout: Layout, draws: int) -> None:
    """Room for draws of every chain; what a killed writer left half-made is removed."""
    for leftover in root.rglob("*.partial"):
        leftover.unlink()
    for name in (POSTERIOR, STATISTICS):
        shutil.rmtree(root / name / "draw", ignore_errors=True)
    _resize(root, layout, draws)


def write_attributes(root: Path, layout: Layout, attrs: dict[str, Any]) -> None:
    """Replace the attributes of the root and of the posterior."""
    zarr.open_group(root, mode="r+", zarr_format=3).update_attributes(attrs | {"austerity": layout.to_dict()})
    zarr.open_group(root / POSTERIOR, mode="r+", zarr_format=3).update_attributes(attrs)


def _create_column(top: zarr.Group, layout: Layout, column: Column, draws: int) -> None:
    """One array of (chain, draw, *dims), empty."""
    top.create_array(
        column.path,
        shape=(layout.chains, draws, *column.shape),
        chunks=(1, layout.chunk, *column.shape),
        dtype=column.dtype,
        fill_value=np.nan if column.dtype == "float64" else 0,
        filters=None,
        compressors=[Crc32cCodec()],
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=["chain", "draw", *column.dims],
    )


def _create_state(top: zarr.Group, layout: Layout) -> None:
    """A scalar that holds the format: a folder for the checkpoint which readers of zarr do not stumble over."""
    state = top.create_array(STATE, shape=(), dtype="int64", fill_value=FORMAT)
    state.update_attributes({"description": "format of the run; its checkpoint lies in this array's directory"})


def _coordinate(group: zarr.Group, name: str, values: NDArray[Any]) -> None:
    """A one-dimensional array named as its dimension."""
    kind = str if values.dtype.kind == "U" else "int64"
    chunks = (max(1, min(len(values), DRAW_CHUNK)),)
    array = group.create_array(
        name, shape=values.shape, chunks=chunks, dtype=kind, dimension_names=[name], overwrite=True
    )
    if len(values):
        array[:] = values


def _coordinates(layout: Layout) -> dict[str, list[Any]]:
    """The coordinate values of every dimension of the variables."""
    return {dim: values for variable in layout.variables for dim, values in variable.coords.items()}


def _empty(layout: Layout) -> dict[str, NDArray[Any]]:
    """The checkpoint of a run without a draw."""
    zeros = np.zeros(layout.chains, dtype=np.int64)
    return {"counts": zeros, "written": zeros, "rows": np.empty((0, layout.row))}


def _resize(root: Path, layout: Layout, draws: int) -> None:
    """The length of the draw dimension in every array."""
    for column in layout.columns():
        array = zarr.open_array(root / column.path, mode="r+", zarr_format=3)
        array.resize((layout.chains, draws, *column.shape))


def _flush_file(path: Path) -> None:
    """Push a file to the disk; zarr renames it into place but does not wait for the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())

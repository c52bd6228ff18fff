"""A set of arrays in one file, replaced as a whole: a kill at any moment leaves the old set or the new one.

The file is an uncompressed npz. It is written under another name, flushed to the disk, and renamed; the
one before it is kept, and read when the newest is damaged. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from austerity.errors import InputError, StoreError

NEWEST, PREVIOUS, UNFINISHED = "checkpoint.npz", "checkpoint.previous.npz", "checkpoint.unfinished"
CHECKSUM = "checksum"
DAMAGED = (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile)


def write_checkpoint(directory: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Replace the checkpoint in the directory; an OSError leaves the one that was there."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject or name == CHECKSUM:
            raise InputError(f"Checkpoint entry {name!r} has type {np.asarray(array).dtype}: plain numbers only.")
    unfinished = directory / UNFINISHED
    try:
        with open(unfinished, "wb") as file:
            _write(file, {**arrays, CHECKSUM: _digest(arrays)})
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        unfinished.unlink(missing_ok=True)  # on a full disk its bytes are wanted back
        raise
    if (directory / NEWEST).exists():
        os.replace(directory / NEWEST, directory / PREVIOUS)
    os.replace(unfinished, directory / NEWEST)
    flush_directory(directory)


def read_checkpoint(directory: Path) -> dict[str, NDArray[Any]]:
    """The newest set whose checksum is right, or the one before it; StoreError when neither is."""
    faults = []
    for name in (NEWEST, PREVIOUS):
        try:
            return _read(directory / name)
        except DAMAGED as error:
            faults.append(f"{name}: {error}")
    raise StoreError(
        f"No checkpoint in {directory} can be read ({'; '.join(faults)}): restore the run from a copy, or start again."
    )


def drop_damaged(directory: Path) -> None:
    """Delete a newest checkpoint that cannot be read: the next write would put it in the place of the good one."""
    try:
        _read(directory / NEWEST)
    except DAMAGED:
        (directory / NEWEST).unlink(missing_ok=True)


def flush_directory(directory: Path) -> None:
    """Make renames in a directory durable, where the system can open directories."""
    if os.name == "nt":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(file: IO[bytes], arrays: dict[str, NDArray[Any]]) -> None:
    """The arrays as an uncompressed npz: np.savez would take some names for its own arguments."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), version=(1, 0), allow_pickle=False)


def _digest(arrays: dict[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """A hash of names, types, shapes and bytes, in the order of the names."""
    total = hashlib.blake2b(digest_size=32)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name}|{array.dtype.str}|{np.shape(arrays[name])}|".encode())
        total.update(array.tobytes())
    return np.frombuffer(total.digest(), dtype=np.uint8)


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of the file, none larger than its bytes in the file, and the checksum compared."""
    size = path.stat().st_size
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > size:
            raise ValueError("it declares more bytes than it has")
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if entry.compress_type != zipfile.ZIP_STORED or name == entry.filename or name in arrays:
                raise ValueError(f"entry {entry.filename[:40]!r} is not one that was written here")
            with archive.open(entry) as file:
                arrays[name] = _read_array(file, entry.file_size)
    declared = arrays.pop(CHECKSUM)
    if not np.array_equal(declared, _digest(arrays)):
        raise ValueError("its checksum is wrong")
    return arrays


def _read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """One npy entry of size bytes; its header is believed only when it agrees with that size."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has the header version {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    rest = file.read(size)
    if dtype.hasobject or dtype.itemsize == 0 or any(length < 0 for length in shape):
        raise ValueError(f"an array has the type {dtype}")
    values = np.frombuffer(rest, dtype=dtype).copy()
    return values.reshape(shape, order="F" if fortran else "C")

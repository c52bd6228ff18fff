"""Directories that are not what they say: one sentence, no pickle, no memory filled."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_runs import ATTRS, SETTINGS, WIDTH, make, small_chunks

from austerity.errors import InputError, StoreError
from austerity.store import checkpoint, layout
from austerity.store.base import STATS
from austerity.store.zarr_store import ZarrStore

__all__ = ["small_chunks"]


def entry(**header: Any) -> bytes:
    """An npy file with a header of one's choice and no data."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (0,)} | header)
    return file.getvalue()


def plant(run: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    """Both checkpoints of a run replaced by an archive of one's choice."""
    for name in (checkpoint.NEWEST, checkpoint.PREVIOUS):
        with zipfile.ZipFile(run / layout.STATE / name, "w", method) as archive:
            for key, content in entries.items():
                archive.writestr(key, content)


class Bomb:
    """Makes a directory when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (self.path,)


def test_hostile_checkpoints_are_refused(tmp_path: Path) -> None:
    run = tmp_path / "run.zarr"
    make(run).close()
    trap = tmp_path / "trap"
    pickled = entry(descr="|O", shape=(1,)) + pickle.dumps(np.array([Bomb(str(trap))], dtype=object))
    checksum = entry(descr="|u1", shape=(32,)) + bytes(32)
    for content, method in [
        ({"counts.npy": pickled, "checksum.npy": checksum}, zipfile.ZIP_STORED),
        ({"counts.npy": entry(shape=(2**55,)), "checksum.npy": checksum}, zipfile.ZIP_STORED),
        ({"counts.npy": entry(shape=(-1,)), "checksum.npy": checksum}, zipfile.ZIP_STORED),
        ({"counts.npy": b"\x93NUMPY\x09\x00", "checksum.npy": checksum}, zipfile.ZIP_STORED),
        ({"counts.npy": bytes(10**6)}, zipfile.ZIP_DEFLATED),
        ({"../../evil": b"", "checksum.npy": checksum}, zipfile.ZIP_STORED),
        ({"counts.npy": entry()}, zipfile.ZIP_STORED),
        ({}, zipfile.ZIP_STORED),
    ]:
        plant(run, content, method)
        with pytest.raises(StoreError, match="No checkpoint in"):
            ZarrStore.load(run)
    assert not trap.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"counts": np.array([5, 5])},
        {"counts": np.array([2**60, 2**60]), "written": np.array([2**60, 2**60])},
        {"counts": np.array([-1, 0])},
        {"counts": np.array([0.0, 0.0])},
        {"written": np.array([128, 128]), "counts": np.array([128, 128])},
        {"rows": np.empty((0, 3))},
        {"rows": np.empty((0, 11), dtype=np.float32)},
    ],
)
def test_checkpoints_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    run = tmp_path / "run.zarr"
    make(run).close()
    whole = {"counts": np.zeros(2, int), "written": np.zeros(2, int), "rows": np.empty((0, WIDTH + len(STATS)))}
    checkpoint.write_checkpoint(run / layout.STATE, whole | change)
    with pytest.raises(StoreError):
        ZarrStore.load(run)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b'{"attributes": 3}', b"\xff\xfe"])
@pytest.mark.parametrize("name", ["zarr.json", "posterior/beta/zarr.json", "sample_stats/n_rows/zarr.json"])
def test_metadata_that_is_no_metadata(tmp_path: Path, name: str, content: bytes) -> None:
    run = tmp_path / "run.zarr"
    make(run).close()
    (run / name).write_bytes(content)
    with pytest.raises(StoreError):
        ZarrStore.load(run)
    with pytest.raises(StoreError):
        ZarrStore.resume(run, settings=SETTINGS, fingerprint="abc")


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [2, 10**30, 3, 3]},
        {"shape": [10**9, 300, 3]},
        {"shape": [2, -5, 3]},
        {"data_type": "object"},
        {"zarr_format": 2},
        {"codecs": [{"name": "numcodecs.pickle"}]},
        {"codecs": [{"name": "bytes"}, {"name": "zstd"}]},
        {"codecs": 7},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 10**12, 3]}}},
        {"chunk_grid": "regular"},
        {"fill_value": {"a": 1}},
    ],
)
def test_metadata_that_zarr_should_not_see(tmp_path: Path, change: dict[str, Any]) -> None:
    run = tmp_path / "run.zarr"
    make(run).close()
    path = run / "posterior" / "beta" / "zarr.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StoreError, match="is not that of an austerity run"):
        ZarrStore.load(run)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"variables": []},
        {"variables": [{"name": "../../x", "dims": [], "coords": {}, "start": 0, "stop": 1}]},
        {"variables": [{"name": "b", "dims": ["i"], "coords": {"i": [0]}, "start": 0, "stop": 10**12}]},
        {"variables": [{"name": "b", "dims": [["i"]], "coords": {}, "start": 0, "stop": 1}]},
        {"variables": [{"name": 3, "dims": 3, "coords": 3, "start": 3, "stop": 3}]},
        {"variables": "beta"},
        {"stat_names": [1]},
        {"stat_names": ["../x"]},
        {"chains": "2"},
        {"chains": 2**40},
        {"chunk": 0},
    ],
)
def test_attributes_that_describe_no_run(tmp_path: Path, change: dict[str, Any]) -> None:
    run = tmp_path / "run.zarr"
    make(run).close()
    metadata = json.loads((run / "zarr.json").read_text())
    metadata["attributes"]["austerity"] |= change
    (run / "zarr.json").write_text(json.dumps(metadata))
    with pytest.raises(StoreError):
        ZarrStore.load(run)


def test_settings_of_another_shape(tmp_path: Path) -> None:
    run = tmp_path / "run.zarr"
    make(run).close()
    metadata = json.loads((run / "zarr.json").read_text())
    for wrong in ("[1]", "{", 3, None):
        metadata["attributes"]["settings"] = wrong
        (run / "zarr.json").write_text(json.dumps(metadata))
        with pytest.raises(StoreError, match="no JSON object"):
            ZarrStore.resume(run, settings=SETTINGS, fingerprint="abc")


def test_objects_are_not_written(tmp_path: Path) -> None:
    store = make(tmp_path / "run.zarr")
    with pytest.raises(InputError, match="plain numbers only"):
        store.commit({"theta": np.array([{}], dtype=object)}, np.zeros(2, dtype=np.int64))
    with pytest.raises(InputError, match="cannot be stored"):
        make(tmp_path / "other.zarr", attrs=ATTRS | {"settings": {"model": object()}})
    with pytest.raises(InputError, match="lacks 'data_fingerprint'"):
        make(tmp_path / "other.zarr", attrs={"settings": {}})

"""The shape of a run on disk, and the checks a stranger's file must pass before zarr sees it.

run.zarr/                     root group; its attributes describe the run
    posterior/<variable>/     (chain, draw, *dims), float64; coordinates as arrays beside them
    sample_stats/<name>/      (chain, draw), int64 for counts, float64 otherwise
    state/                    an array of no dimension (the format's number), for a folder that zarr accepts;
                              in it the checkpoint and the writer's lock

A chunk is one chain, `chunk` draws and all the rest, uncompressed with a checksum, so that the size of a
whole chunk file is known and nothing read from it can be larger than the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from austerity.errors import InputError, StoreError
from austerity.report.variables import Variable, check_variables
from austerity.store.base import INTEGER_STATS

FORMAT = 1
POSTERIOR, STATISTICS, STATE = "posterior", "sample_stats", "state"
LARGEST_METADATA = 64 * 2**20
CHECKSUM_BYTES = 4
CHUNK_BYTES = 2**19
SMALLEST_CHUNK, LARGEST_CHUNK = 128, 4096


@dataclass(frozen=True)
class Column:
    """One array on disk: where it is, and which columns of a row (draw, statistics) it holds."""

    path: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    start: int
    stop: int


@dataclass(frozen=True)
class Layout:
    """What the root's attributes say of a run."""

    variables: list[Variable]
    stat_names: tuple[str, ...]
    chains: int
    chunk: int

    @property
    def width(self) -> int:
        """Entries of a draw."""
        return self.variables[-1].stop

    @property
    def row(self) -> int:
        """Entries of a draw and its statistics."""
        return self.width + len(self.stat_names)

    def columns(self) -> list[Column]:
        """Every array of the run, in the order of a row."""
        parts = [Column(f"{POSTERIOR}/{v.name}", v.dims, v.shape, "float64", v.start, v.stop) for v in self.variables]
        for offset, name in enumerate(self.stat_names, start=self.width):
            dtype = "int64" if name in INTEGER_STATS else "float64"
            parts.append(Column(f"{STATISTICS}/{name}", (), (), dtype, offset, offset + 1))
        return parts

    def chunk_file(self, root: Path, column: Column, chain: int, index: int) -> Path:
        """Where zarr keeps a chunk: keys are joined by dots, so that an array is one flat folder."""
        return root / column.path / ".".join(["c", str(chain), str(index), *["0"] * len(column.shape)])

    def chunk_bytes(self, column: Column) -> int:
        """The size of a whole chunk file."""
        return self.chunk * (column.stop - column.start) * 8 + CHECKSUM_BYTES

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them."""
        return {
            "format": FORMAT,
            "variables": [variable.to_dict() for variable in self.variables],
            "stat_names": list(self.stat_names),
            "chains": self.chains,
            "chunk": self.chunk,
        }


def choose_chunk(row: int, draws: int) -> int:
    """A power of two of draws: about half a megabyte, no more than are asked for, within fixed limits."""
    fitting = 2 ** (max(CHUNK_BYTES // (8 * row), 1).bit_length() - 1)
    needed = 2 ** max(draws - 1, 1).bit_length()
    return max(SMALLEST_CHUNK, min(LARGEST_CHUNK, fitting, needed))


def read_metadata(path: Path) -> dict[str, Any]:
    """A zarr.json as a dict; StoreError when it is missing, too large or no JSON object."""
    try:
        if path.stat().st_size > LARGEST_METADATA:
            raise ValueError(f"it has {path.stat().st_size} bytes")
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"The metadata {path} cannot be read ({error}): restore the run from a copy.") from None
    if not isinstance(value, dict):
        raise StoreError(f"The metadata {path} is no JSON object: restore the run from a copy.")
    return value


def read_layout(root: Path) -> tuple[Layout, dict[str, Any]]:
    """The layout and the attributes of a run; StoreError when there is none at the path."""
    if not (root / "zarr.json").is_file():
        raise StoreError(f"There is no austerity run at {root}: give the path of a run's directory.")
    attributes = read_metadata(root / "zarr.json").get("attributes")
    fields = attributes.get("austerity") if isinstance(attributes, dict) else None
    if not isinstance(attributes, dict) or not isinstance(fields, dict):
        raise StoreError(f"{root} is a zarr group but no austerity run: give the path of a run's directory.")
    if fields.get("format") != FORMAT:
        found = str(fields.get("format"))[:20]
        raise StoreError(f"The run at {root} has format {found!r}, and this version reads {FORMAT}: update austerity.")
    return _parse(root, fields), {key: value for key, value in attributes.items() if key != "austerity"}


def _parse(root: Path, fields: dict[str, Any]) -> Layout:
    """The layout from its JSON fields, every one of them checked."""
    try:
        variables = [Variable.from_dict(item) for item in fields["variables"]]
        check_variables(variables)
        names, chains, chunk = fields["stat_names"], fields["chains"], fields["chunk"]
        if not isinstance(names, list) or not all(isinstance(n, str) and n.isidentifier() for n in names):
            raise InputError(f"stat_names is {str(names)[:40]!r}")
        if type(chains) is not int or type(chunk) is not int or not (0 < chains < 2**20 and 0 < chunk < 2**24):
            raise InputError(f"chains is {str(chains)[:20]!r} and chunk {str(chunk)[:20]!r}")
    except (InputError, KeyError, TypeError) as error:
        raise StoreError(f"The metadata of the run at {root} is damaged ({error}): restore it from a copy.") from None
    return Layout(variables, tuple(names), chains, chunk)


def check_array(root: Path, layout: Layout, column: Column) -> int:
    """The draws an array has room for; StoreError unless it is stored as create stores it.

    Only then is zarr given the file: metadata can name codecs that run code or sizes that fill the memory.
    """
    metadata = read_metadata(root / column.path / "zarr.json")
    shape, expected = metadata.get("shape"), [layout.chains, *column.shape]
    whole = [1, layout.chunk, *column.shape]
    right = (
        metadata.get("node_type") == "array"
        and metadata.get("zarr_format") == 3
        and metadata.get("data_type") == column.dtype
        and _configured(metadata.get("chunk_grid"), "regular", "chunk_shape") == whole
        and _configured(metadata.get("chunk_key_encoding"), "default", "separator") == "."
        and _codec_names(metadata.get("codecs")) == ["bytes", "crc32c"]
        and not metadata.get("storage_transformers")
        and metadata.get("fill_value") == ("NaN" if column.dtype == "float64" else 0)
        and metadata.get("dimension_names") == ["chain", "draw", *column.dims]
        and isinstance(shape, list)
        and all(type(length) is int and length >= 0 for length in shape)
        and shape[:1] + shape[2:] == expected
    )
    if not right or not isinstance(shape, list):
        raise StoreError(f"The metadata of {root / column.path} is not that of an austerity run: restore it.")
    return int(shape[1])


def _configured(part: Any, name: str, key: str) -> Any:
    """part["configuration"][key] of a metadata entry of that name, or None."""
    if not isinstance(part, dict) or part.get("name") != name or not isinstance(part.get("configuration"), dict):
        return None
    return part["configuration"].get(key)


def _codec_names(codecs: Any) -> list[Any] | None:
    """The names of a list of codecs, or None."""
    if not isinstance(codecs, list) or not all(isinstance(codec, dict) for codec in codecs):
        return None
    return [codec.get("name") for codec in codecs]

"""Fixtures that every test may ask for: where the real data sets are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def data_directory() -> Path:
    """Return AUSTERITY_DATA when set, else ../shared/data beside the repository root."""
    named = os.environ.get("AUSTERITY_DATA")
    return Path(named) if named else ROOT.parent / "shared" / "data"


def require(path: Path) -> Path:
    """Return `path` if it exists; else skip the test, or fail it under CI, where a skip would hide lost cover."""
    if path.exists():
        return path
    reason = f"{path} is missing: set AUSTERITY_DATA to the folder of the real data sets"
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def shared_data() -> Path:
    """The folder of the real data sets."""
    return require(data_directory())


@pytest.fixture
def shared_file(shared_data: Path) -> Callable[[str], Path]:
    """A function from a file's name to its path: `shared_file("mnist.npz")`."""

    def locate(name: str) -> Path:
        return require(shared_data / name)

    return locate

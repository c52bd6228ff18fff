"""What the demonstrations share: their options, where data are, how a picture is saved."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def options(description: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    """--quick, --data DIR and --out DIR."""
    named = os.environ.get("AUSTERITY_DATA")
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, done within a minute")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(named) if named else ROOT.parent / "shared" / "data",
        help="the folder of the real data sets (default: AUSTERITY_DATA, or ../shared/data)",
    )
    parser.add_argument("--out", type=Path, default=Path("experiments-output"), help="where pictures are written")
    return parser.parse_args(arguments)


def data_file(folder: Path, name: str) -> Path:
    """A data set by name, or the sentence that says where it is looked for."""
    path = folder / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: pass --data DIR or set AUSTERITY_DATA to the folder of the data sets")
    return path


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure as PNG and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=150)
    print(f"picture: {path}")
    return path

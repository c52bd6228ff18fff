"""Peak memory of a run beyond the caller's arrays, against the rows as the package holds them.

    limit = 1.3 x the rows as held + 300 MB where they had to be converted, 300 MB where they are used as they are

The peak is that of the whole process, interpreter and libraries included. A mapped file that is already float32 and
row-major must not be copied: there the peak is of anonymous memory, which pages of the file are not.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import Figure, Report, power, unavailable
from memory_worker import STATUS, generate

import austerity

SHARE, EXTRA = 1.3, 300e6
CASES = {
    "float64": "float64 arrays, converted",
    "float32": "float32 arrays, used as given",
    "mapped": "a float32 .npy file by its path, mapped",
}


def run(size: str = "full") -> dict[str, Any]:
    """Three kinds of rows under both rules."""
    report = Report("memory", size)
    shape = {"full": (2_000_000, 50), "quick": (500_000, 50)}.get(size, (20_000, 10))
    if not STATUS.exists():
        report.add(unavailable("peak memory", "not measured: it is read from /proc, which this system does not have"))
        return report.as_dict()
    kinds = ["float64"] if size == "tiny" else list(CASES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        if "mapped" in kinds:
            _write_rows(path, shape)
        for kind in kinds:
            for rule in ("sequential", "exact"):
                _case(report, kind, rule, shape, path)
    return report.as_dict()


def _write_rows(path: Path, shape: tuple[int, int]) -> None:
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    np.save(path.with_suffix(".y.npy"), generate(*shape, "float32", rows))
    rows.flush()


def _case(report: Report, kind: str, rule: str, shape: tuple[int, int], path: Path) -> None:
    """Run once to load and compile everything, as a second start would find it, then measure."""
    worker = str(Path(__file__).with_name("memory_worker.py"))
    found = str(Path(austerity.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([found, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, worker, kind, rule, str(shape[0]), str(shape[1]), str(path)]
    for small in (True, False):
        if small and kind == "mapped":
            continue  # compiled already by the arrays before it
        given = command if not small else [*command[:4], "2000", str(shape[1]), str(path)]
        ended = subprocess.run(given, capture_output=True, text=True, env=environment, check=False, timeout=600)
        if ended.returncode:
            raise RuntimeError(f"memory_worker.py ended with code {ended.returncode}: {ended.stderr[-500:]}")
    said = json.loads(ended.stdout.splitlines()[-1])
    limit = EXTRA + (SHARE * said["held"] if said["copied"] else 0.0)
    note = f"rows as held {said['held'] / 1e6:,.0f} MB, {'a copy' if said['copied'] else 'not copied'}"
    what = f"peak beyond the caller's arrays, {CASES[kind]}, {rule}, {power(shape[0])} x {shape[1]}"
    report.add(Figure(what, said["peak"] / 1e6, "MB", limit / 1e6, None, note))

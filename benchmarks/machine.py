"""What the figures were taken on: processor, cores, caches, and how fast one core reads memory.

The reading loop is also the limit that a pass is compared with: the fastest of several compiled loops that add up
every value and do nothing else.
"""

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import best, fastest, interleaved
from numba import njit

from austerity.engine.jit import DOTS

# No cache on disk: Numba's cache does not see edits in the functions that a cached one calls.
compiled_sums = njit(**DOTS)


@dataclass(frozen=True)
class Machine:
    """Facts that explain the figures; nothing that names the machine."""

    processor: str
    cores: int
    caches: str
    memory: str
    bandwidth: float  # bytes a second, one core
    versions: str

    def sentence(self) -> str:
        """All facts in a line."""
        return (
            f"{self.cores} cores of {self.processor} ({self.caches}), {self.memory} memory, "
            f"one core reads {self.bandwidth / 1e9:.0f} GB/s; {self.versions}"
        )


@compiled_sums
def _read_one_stream(values):
    total = values.dtype.type(0)
    for i in range(values.size):
        total += values[i]
    return total


@compiled_sums
def _read_four_streams(values):
    """Four places at a time: some processors ask memory for more lines that way."""
    quarter = values.size // 4
    first, second = values[:quarter], values[quarter : 2 * quarter]
    third, fourth = values[2 * quarter : 3 * quarter], values[3 * quarter :]
    a, b, c, d = first.dtype.type(0), first.dtype.type(0), first.dtype.type(0), first.dtype.type(0)
    for i in range(quarter):
        a += first[i]
        b += second[i]
        c += third[i]
        d += fourth[i]
    return a + b + c + d


def readers(arrays: list[np.ndarray]) -> dict[str, Callable[[], None]]:
    """Loops that read every byte of these arrays once: as they are, as integers, in four streams."""
    flat = [array.reshape(-1) for array in arrays]
    whole = [values.view(np.int32 if values.itemsize == 4 else np.int64) for values in flat]

    def over(loop: Any, parts: list[np.ndarray]) -> Callable[[], None]:
        def read() -> None:
            for part in parts:
                loop(part)

        return read

    return {
        "read as floats": over(_read_one_stream, flat),
        "read as integers": over(_read_one_stream, whole),
        "read in four streams": over(_read_four_streams, flat),
    }


def bandwidth(n_bytes: int) -> float:
    """Bytes a second at which one core reads an array of this size."""
    values = np.ones(n_bytes // 4, np.float32)
    seconds = interleaved(readers([values]), 5)
    return values.nbytes / best(seconds[fastest(seconds)])


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def facts(size: str) -> Machine:
    """Measure and look up."""
    return Machine(
        processor=_processor(),
        cores=cores(),
        caches=_caches(),
        memory=_memory(),
        bandwidth=bandwidth({"full": 400_000_000, "quick": 200_000_000}.get(size, 4_000_000)),
        versions=_versions(),
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _caches() -> str:
    """L1d, L2, L3 of the first processor, where the system says."""
    found = []
    for place in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind, level, size = ((place / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found) or "caches unknown"


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (ValueError, OSError):
        return "unknown"


def _versions() -> str:
    import numba
    import scipy

    names = {"Python": platform.python_version(), "NumPy": np.__version__}
    names |= {"Numba": numba.__version__, "SciPy": scipy.__version__}
    return ", ".join(f"{name} {version}" for name, version in names.items())

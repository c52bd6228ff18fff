"""How much memory a run will take, told before it begins, and how much there is.

    draws    chains * draws * (width + 2 S) * 8       kept draws, their S statistics and those of the results
    buffers  chains * buffered * (2 D + S) * 8        kept draws between two flushes, and as they are reported
             + chains * 2 chunks * (width + S) * 8    with store=: draws that fill no chunk yet
    chains   (chains + 6) * (D^2 + 6 D) * 8           states, learnt covariances, curvature at the mode
    search   few rows, pieces of rows in float64 and 64 partial curvatures, while the mode is looked for
    scratch  slabs * chains * 8 and room for each thread, in a pass or a draw

Rows used as they were given cost nothing. Results are handed over in memory also where store= keeps them on disk, so
a store spares no memory. Where a time limit may end a run early its draws are counted, but refused by nobody.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import InputError

GIGABYTE = 1e9
WORTH_SAYING = GIGABYTE
FLOAT = 8
PROCESS_FILES = Path("/proc"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Estimate:
    """Bytes a run takes, by what they hold."""

    rows: int  # converted copies, which are there already when a run is prepared
    draws: int
    buffers: int
    chains: int
    search: int
    scratch: int

    @property
    def ahead(self) -> int:
        """What is still to be taken: the search for the mode is over before the first draw is kept."""
        return self.chains + self.scratch + max(self.search, self.draws + self.buffers)

    @property
    def total(self) -> int:
        return self.rows + self.ahead


@dataclass(frozen=True)
class Sizes:
    """The numbers an estimate is made of."""

    n_rows: int
    columns: int
    itemsize: int  # of a held value
    held_bytes: int  # converted copies of rows
    predictors: int
    size: int  # D
    width: int  # values reported of a draw
    statistics: int  # S
    chains: int
    draws: int
    threads: int
    buffered: int
    chunk: int  # draws in a chunk on disk; 0 without a store
    searched: bool  # whether the mode is looked for
    limited: bool  # whether a time limit may end the run before its draws are made


def estimate(sizes: Sizes) -> Estimate:
    """The formulas at the top of the file."""
    row = sizes.width + sizes.statistics
    waiting = sizes.buffered * (2 * sizes.size + sizes.statistics) + 2 * sizes.chunk * row
    return Estimate(
        rows=sizes.held_bytes,
        draws=sizes.chains * sizes.draws * (row + sizes.statistics) * FLOAT,
        buffers=sizes.chains * waiting * FLOAT,
        chains=(sizes.chains + 6) * (sizes.size**2 + 6 * sizes.size) * FLOAT,
        search=_search(sizes) if sizes.searched else 0,
        scratch=_scratch(sizes),
    )


def _search(sizes: Sizes) -> int:
    """Few rows (at most a quarter of all), three pieces of rows a thread, partial curvatures."""
    from ..rows.derivatives import GROUPS, PIECE
    from ..standin.mode import FEW_ROWS

    few = min(sizes.n_rows // 4, max(FEW_ROWS, 200 * sizes.size)) * sizes.columns * sizes.itemsize
    piece = min(PIECE, sizes.n_rows) * (3 * (sizes.columns + 1) + (sizes.predictors + 2) ** 2) * FLOAT
    return few + sizes.threads * piece + (GROUPS + 2 * sizes.threads) * sizes.size**2 * FLOAT


def _scratch(sizes: Sizes) -> int:
    """Partial sums of a pass over the rows; coefficients, predictors and blocks of each thread."""
    from ..rows.blocks import SLAB_ROWS, USER_BLOCK_ROWS

    slabs = -(-sizes.n_rows // SLAB_ROWS) * sizes.chains
    point = max(1, sizes.predictors) * (3 * sizes.columns + min(USER_BLOCK_ROWS, sizes.n_rows))
    # A pass takes all chains in each thread; a draw has the points and 128 rows of one chain, for every chain.
    room = sizes.threads * sizes.chains * point + max(sizes.threads, sizes.chains) * 128 * sizes.columns
    return (slabs + room) * FLOAT


def describe(bytes_: float) -> str:
    """'1.4 GB', '23 MB'."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= size:
            return f"{bytes_ / size:.3g} {unit}"
    return f"{max(1.0, bytes_ / 1e3):.3g} kB"


def check_room(needed: float, what: str, remedy: str, available: float | None = None) -> None:
    """Refuse what does not fit: `what` needs so many bytes, so many are free, and what to do."""
    free = available_memory() if available is None else available
    if needed > free:
        raise InputError(
            f"{what} needs about {describe(needed)} of memory, but {describe(free)} are available: {remedy}"
        )


def say_or_refuse(found: Estimate, sizes: Sizes, available: float | None = None) -> str | None:
    """A note when a run takes more than a gigabyte; a refusal when it does not fit."""
    draws = "the first draws" if sizes.limited else f"{sizes.draws:,} draws"
    check_room(
        replace(found, draws=0).ahead if sizes.limited else found.ahead,
        f"a run of {sizes.chains} chains with {draws} of {sizes.width:,} values",
        "take fewer draws= with a larger thin=, keep= fewer values, or fewer chains=",
        available,
    )
    if found.total <= WORTH_SAYING:
        return None
    rows = f" and {describe(found.rows)} for rows" if found.rows else ""
    about = "at most" if sizes.limited else "about"
    return f"memory: {about} {describe(found.total)}, of which {describe(found.draws)} for draws{rows}"


def available_memory() -> float:
    """Bytes this process may still take: the least of what the machine and its containers have left."""
    proc, groups = PROCESS_FILES
    return min(_free_of_machine(proc), _free_of_groups(proc, groups))


def _free_of_machine(proc: Path) -> float:
    """What the system could give without swapping; inf where it does not say."""
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        fields = {line.split(":")[0]: line.split(":")[1].split()[0] for line in lines if ":" in line}
        return float(fields["MemAvailable"]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        pass
    for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        if name in getattr(os, "sysconf_names", {}) and os.sysconf(name) > 0:
            return float(os.sysconf(name)) * os.sysconf("SC_PAGE_SIZE")
    return float(np.inf)


def _free_of_groups(proc: Path, groups: Path) -> float:
    """The least left in the control groups of this process and those above it; inf where none has a limit."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    places = []
    for line in lines:
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers not in ("", "memory") and "memory" not in controllers.split(","):
            continue
        top = groups / "memory" if controllers else groups
        parts = Path(path.lstrip("/")).parts
        places += [top.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
    return min((_left_in_group(place) for place in places), default=float(np.inf))


def _left_in_group(place: Path) -> float:
    """Limit minus use, pages of files that can be dropped given back; version 2 names, then version 1."""
    for limit_name, use_name, file_name in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            limit = float((place / limit_name).read_text())
            used = float((place / use_name).read_text())
            lines = (place / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):  # no such group, or the limit is "max"
            continue
        droppable = dict(line.split(" ", 1) for line in lines if " " in line).get(file_name, "0")
        return max(0.0, limit - used + float(droppable))
    return float(np.inf)

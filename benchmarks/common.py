"""How a figure is taken and shown: interleaved timing, ratios with their spread, one printed line each.

    value = min over rounds of the time of A / min over rounds of the time of B
    spread = the middle half of the ratios of single rounds

A and B take turns, A B A B ..., so that whatever else the machine does falls on both; the smallest time of each is the
one least disturbed.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

SIZES = ("full", "quick", "tiny")
Call = Callable[[], float | None]


@dataclass(frozen=True)
class Figure:
    """One measured number: what, how much of which unit, and the most it may be where there is a target."""

    what: str
    value: float
    of: str
    limit: float | None = None
    spread: tuple[float, float] | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """PASS or MISS where there is a target, nothing where there is none or nothing was measured."""
        if self.limit is None or math.isnan(self.value):
            return ""
        return "PASS" if self.value <= self.limit else "MISS"

    @property
    def measured(self) -> str:
        """The value with its unit and spread, in words."""
        if math.isnan(self.value):
            return self.of
        spread = f" [{shown(self.spread[0])} to {shown(self.spread[1])}]" if self.spread else ""
        return f"{shown(self.value)}{spread} {self.of}"

    def line(self) -> str:
        """The figure as it is printed."""
        limit = f" (limit {shown(self.limit)})" if self.limit is not None else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.what}: {self.measured}{limit}{note}" + (f"   {self.verdict}" if self.verdict else "")


@dataclass
class Report:
    """The figures of one benchmark, printed as they come."""

    name: str
    size: str
    figures: list[Figure] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        self.figures.append(figure)
        print(figure.line(), flush=True)

    def say(self, sentence: str) -> None:
        """A remark that is no figure."""
        print(f"  {sentence}", flush=True)

    def as_dict(self) -> dict[str, Any]:
        """Plain values: name, size and every figure by its words."""
        by_name = {f.what: {**asdict(f), "verdict": f.verdict} for f in self.figures}
        return {"name": self.name, "size": self.size, "figures": by_name}


def shown(value: float) -> str:
    """Three significant digits, without an exponent where that is readable."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    size = math.floor(math.log10(abs(value)))
    return f"{value:,.0f}" if size >= 2 else f"{value:.{2 - size}f}" if size > -4 else f"{value:.2e}"


def power(count: int) -> str:
    """10^6 for a million, digits otherwise."""
    exponent = round(math.log10(count))
    return f"10^{exponent}" if 10**exponent == count else f"{count:,}"


def interleaved(calls: Mapping[str, Call], rounds: int) -> dict[str, np.ndarray]:
    """Seconds (rounds,) of each call, taken in turns after one call of each that is not timed.

    A call that returns a number has done that many units, and its times are seconds a unit.
    """
    seconds = {name: np.empty(rounds) for name in calls}
    for call in calls.values():
        call()
    for r in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            units = call()
            seconds[name][r] = (time.perf_counter() - began) / (1.0 if units is None else units)
    return seconds


def best(seconds: np.ndarray) -> float:
    """The round that was disturbed least."""
    return float(np.min(seconds))


def ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Ratio of the smallest times, and the middle half of the ratios of single rounds."""
    low, high = np.quantile(above / below, (0.25, 0.75))
    return best(above) / best(below), (float(low), float(high))


def fastest(seconds: Mapping[str, np.ndarray]) -> str:
    """The name whose smallest time is smallest."""
    return min(seconds, key=lambda name: best(seconds[name]))


def unavailable(what: str, why: str) -> Figure:
    """A line for a figure that cannot be taken here."""
    return Figure(what, math.nan, why)


def single_thread() -> AbstractContextManager[None]:
    """Matrix products in one thread, as austerity itself runs them."""
    from austerity.sample import one_blas_thread

    return one_blas_thread()


def to_json(results: Mapping[str, Any]) -> str:
    """Results as text that another process can read; NaN becomes null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(plain(dict(results)), indent=1)

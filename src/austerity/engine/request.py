"""What a user asks of a run, checked before any compute."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError


def _whole(name: str, value: Any, least: int, why: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name}={value!r}: {why}, give a whole number of at least {least}")
    return int(value)


def _positive(name: str, value: Any, why: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)) or float(value) <= 0:
        raise InputError(f"{name}={value!r}: {why}, give a positive number")
    return float(value)


def seed_of(rng: Any) -> np.random.SeedSequence:
    """The root of random streams, by a number or a SeedSequence."""
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key)
    if isinstance(rng, bool) or not isinstance(rng, Integral) or int(rng) < 0:
        raise InputError(f"rng={rng!r}: give a whole number of at least 0, or a numpy SeedSequence")
    return np.random.SeedSequence(int(rng))


def threads_for(cores: Any) -> int:
    """As many threads as told, or as the machine gives this process."""
    if cores is not None:
        return _whole("cores", cores, 1, "threads share the work")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Request:
    """Settings of a run that belong to no model, decision or proposal."""

    draws: int
    warmup: int
    chains: int
    thin: int
    rng: Any
    start: Any
    keep: Any
    temperature: Any
    cores: int | None
    time_limit: float | None
    store: Any
    resume: bool
    progress: Any

    def checked(self) -> "Request":
        """The same, or the sentence that says what is wrong."""
        _whole("draws", self.draws, 1, "a run keeps at least one draw a chain")
        _whole("warmup", self.warmup, 0, "warm-up is a number of steps")
        _whole("chains", self.chains, 1, "a run has at least one chain")
        _whole("thin", self.thin, 1, "every thin-th step is kept")
        threads_for(self.cores)
        if self.time_limit is not None:
            _positive("time_limit", self.time_limit, "a limit is in seconds, None is no limit")
        self.temperatures()
        self.seed()
        if not isinstance(self.resume, bool):
            raise InputError(f"resume={self.resume!r}: give True or False")
        if self.resume and self.store is None:
            raise InputError("resume=True needs the store= that the run was written to: give its path")
        path = isinstance(self.store, (str, os.PathLike)) and str(self.store).strip()
        if self.store is not None and not path:
            raise InputError(f"store={self.store!r}: give the path of a directory to write, such as 'run.zarr'")
        if self.store is not None and not self.resume and os.path.lexists(self.store):
            from ..store.zarr_store import refuse_existing

            refuse_existing(Path(self.store))  # before any compute, not after it
        if not isinstance(self.progress, bool):
            raise InputError(f"progress={self.progress!r}: give True or False")
        self._check_start()
        self._check_keep()
        return self

    def _check_start(self) -> None:
        sentence = f"start={self.start!r}: give 'mode', 'prior', or numbers, one for each parameter"
        if isinstance(self.start, str):
            if self.start not in ("mode", "prior", "one", "all"):
                raise InputError(sentence)
            return
        if isinstance(self.start, Mapping):  # engine/start_sets.py knows what may be in it
            return
        try:
            points = np.asarray(self.start, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(sentence) from None
        if points.ndim not in (1, 2, 3):
            raise InputError(sentence)

    def _check_keep(self) -> None:
        if self.keep is None:
            return
        if isinstance(self.keep, str) or not isinstance(self.keep, (Mapping, Sequence)) or not self.keep:
            raise InputError(f"keep={self.keep!r}: give a list of parameter names, or a dictionary of functions")
        if isinstance(self.keep, Mapping) and not all(isinstance(f, Callable) for f in self.keep.values()):  # type: ignore[arg-type]
            raise InputError("keep={...} holds something that is no function: give name: function of the parameters")

    def temperatures(self) -> tuple[float, float]:
        """(start of warm-up, after it)."""
        if isinstance(self.temperature, (tuple, list)):
            if len(self.temperature) != 2:
                raise InputError(f"temperature={self.temperature!r}: give one number, or (start, end) of warm-up")
            first, last = (_positive("temperature", t, "it divides the log likelihood") for t in self.temperature)
            if first < last:
                raise InputError(f"temperature={self.temperature!r} rises: it may stay or fall during warm-up")
            if self.warmup == 0 and first != last:
                raise InputError("a temperature that falls during warm-up needs one: give warmup > 0")
            return first, last
        value = _positive("temperature", self.temperature, "it divides the log likelihood")
        return value, value

    def seed(self) -> np.random.SeedSequence:
        """The root of all random streams."""
        return seed_of(self.rng)

    def threads(self) -> int:
        """Threads to use: those the machine gives this process, unless told."""
        return threads_for(self.cores)

    def settings(self) -> dict[str, Any]:
        """As stored with the draws."""
        seed = self.seed()
        keep: Any = None if self.keep is None else list(self.keep)
        if isinstance(self.keep, Mapping):
            from ..models.user_cache import digest

            keep = {name: digest(function) or "a function" for name, function in self.keep.items()}
        start: Any = self.start
        if isinstance(start, Mapping):
            start = json.loads(json.dumps(dict(start), default=lambda value: np.asarray(value).tolist()))
        elif not isinstance(start, str):
            start = np.asarray(start, dtype=np.float64).tolist()
        return {
            "draws": int(self.draws),
            "warmup": int(self.warmup),
            "chains": int(self.chains),
            "thin": int(self.thin),
            "rng": {"entropy": str(seed.entropy), "spawn_key": [int(k) for k in seed.spawn_key]},
            "start": start,
            "keep": keep,
            "temperature": list(self.temperatures()),
        }

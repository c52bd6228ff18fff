"""The front door for Gibbs sampling: the manners of `austerity.sample`, a field of factors instead of rows."""

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import typeof

from ..decisions import Exact
from ..decisions.base import no_draw, signature_over
from ..engine.jit import pointer
from ..engine.keep import keeper
from ..engine.memory import check_room
from ..engine.prepare import Prepared
from ..engine.progress import Progress
from ..engine.request import Request
from ..engine.run import Run
from ..engine.state import Chains, from_checkpoint, new_chains
from ..errors import InputError, ModelError
from ..report.results import package_versions
from ..report.variables import Variable
from ..sample import conclude, interruptible
from ..store.base import STATS
from ..store.open import check_place, check_resumable, open_store
from . import checks
from .field import Field
from .scan import ScanPlan, advance
from .source import new_source

if TYPE_CHECKING:
    import xarray

TOLERATED = 0.01  # error of a log ratio by rounding of tables above which a run is not called exact


@dataclass(frozen=True)
class Visits:
    """How many factors a sweep visits: what factors read are a share of."""

    n: int


@dataclass(frozen=True)
class Bound:
    """A field as the keeper of draws and the run see it: states as whole numbers in a float64 vector."""

    field: Field

    @property
    def variables(self) -> list[Variable]:
        return [Variable("x", ("variable",), {"variable": self.field.names}, 0, self.field.size)]

    @property
    def rows(self) -> Visits:
        return Visits(int(self.field.degrees.sum()))

    @property
    def initial(self) -> np.ndarray:
        return np.zeros(self.field.size)

    n_indices = 0

    def natural(self, states: np.ndarray) -> np.ndarray:
        return np.array(states)


def sample(
    model: Field,
    decision: Any = None,
    *,
    draws: int = 2000,
    warmup: int = 1000,
    chains: int = 4,
    rng: Any = 0,
    cores: int | None = None,
    time_limit: float | None = None,
    thin: int = 1,
    scan: str = "random",
    start: Any = "random",
    keep: Any = None,
    store: Any = None,
    resume: bool = False,
    progress: bool = True,
) -> "xarray.DataTree":
    """Draw states of `model`, one variable given the others at a time.

    decision: `Exact()` (the default) takes all factors of a variable and draws from its conditional; a rule that
    decides a given threshold, such as `SequentialT`, takes few of them.
    draws, warmup, thin: counted in sweeps, each of as many updates as there are variables.
    scan: "random" picks a variable at random for every update, "systematic" takes them in order.
    start: "random" states, or states (D,) or (chains, D).
    keep: functions of {"x": states (n, D)} by name, where not all states are to be kept.
    The other settings are those of `austerity.sample`.

    Returns an xarray.DataTree in the ArviZ schema: `x` in group posterior, and sums over the updates of a kept draw in
    sample_stats, where n_rows counts factors read. The same arguments give the same draws, whatever `cores` is.
    """
    began = time.monotonic()
    decision = Exact() if decision is None else decision
    check_model(model)
    check_decision(decision)
    if scan not in ("random", "systematic"):
        raise InputError(f'scan={scan!r} is unknown: give "random" or "systematic"')
    request = Request(
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        rng=rng,
        start="prior",
        keep=keep,
        temperature=1.0,
        cores=cores,
        time_limit=time_limit,
        store=store,
        resume=resume,
        progress=progress,
    ).checked()
    prepared = _prepare(model, decision, scan, start, request)
    prepared.attrs["setup_time"] = time.monotonic() - began
    shown = Progress(request.warmup, request.draws, request.time_limit, silent=not progress)
    prepared.run.observe = shown.update if progress else None
    try:
        with interruptible(prepared.run):
            prepared.run.go()
    finally:
        shown.close()
    return conclude(prepared)


def check_model(model: Any) -> None:
    """Refuse what is no field."""
    if not isinstance(model, Field):
        raise InputError(f"model={model!r} is no field of factors: give an austerity.gibbs.Field(...)")


def check_decision(decision: Any) -> None:
    """Refuse what is no decision, and rules that cannot decide an update."""
    if isinstance(decision, type) or not hasattr(decision, "reads_all"):
        raise InputError(f"decision={decision!r} is no decision: give one such as Exact() or SequentialT(0.05)")
    if isinstance(decision, Exact):
        return
    name = type(decision).__name__
    if decision.reads_all:
        raise InputError(f"{name} reads everything at every step: for all factors of a variable give Exact()")
    if not decision.given_threshold:
        raise InputError(
            f"{name} does not decide a threshold it is given, which an update asks for: use Exact() or SequentialT()"
        )


def plan_of(model: Field, decision: Any, schedule: np.ndarray) -> ScanPlan:
    """Settings as compiled code reads them: parameters of the rule for each number of factors that occurs.

    Variables with too few factors for the rule take all of them; where all have too few the rule is refused.
    """
    places = np.full((model.size, 2), -1, np.int64)
    parts: list[np.ndarray] = []
    comparison = no_draw
    if not isinstance(decision, Exact):
        decision.check(int(model.degrees.max()))
        for count in np.unique(model.degrees):
            try:
                decision.check(int(count))
            except InputError:
                continue
            part = np.ascontiguousarray(decision.parameters(int(count)), np.float64)
            begin = sum(old.size for old in parts)
            places[model.degrees == count] = begin, begin + part.size
            parts.append(part)
        comparison = decision.compiled_comparison()
    decide = pointer(comparison, signature_over(typeof(new_source(model.factors))))
    return ScanPlan(schedule, np.concatenate([*parts, np.zeros(1)]), places, decide)


def starting_states(model: Field, start: Any, n_chains: int, seed: np.random.SeedSequence) -> np.ndarray:
    """States (chains, D) where chains begin."""
    if isinstance(start, str):
        if start != "random":
            raise InputError(f'start={start!r} is unknown: give "random", or states (D,) or (chains, D)')
        generator = np.random.Generator(np.random.Philox(seed))
        return generator.integers(0, model.states, (n_chains, model.size))
    given = checks.given_states(start, model.states, "start")
    if given.shape not in ((model.size,), (n_chains, model.size)):
        raise InputError(
            f"start has shape {given.shape} for {n_chains} chains: give ({model.size},) or ({n_chains}, {model.size})"
        )
    return np.broadcast_to(given, (n_chains, model.size))


def _promise(model: Field, decision: Any) -> tuple[bool, str]:
    """(exact, guarantee): the rule's own, less what rounding takes away."""
    said = decision.guarantee(int(model.degrees.max())).replace("rows", "factors")
    if isinstance(decision, Exact):
        said = "exact: every update takes all factors of its variable, so the states follow the model itself."
    if not (decision.exact and model.rounding > TOLERATED):
        return bool(decision.exact), said
    return False, (
        f"exact but for rounding: {model.dtype} tables put a log ratio off by up to {model.rounding:.2g}; give "
        "Field(..., dtype='float64')."
    )


def _settings(model: Field, decision: Any, scan: str, start: Any, request: Request) -> dict[str, Any]:
    """Everything that a draw depends on, as stored with the draws."""
    settings = {name: value for name, value in request.settings().items() if name != "temperature"}
    return {
        **settings,
        "start": start if isinstance(start, str) else np.asarray(start).tolist(),
        "scan": scan,
        "model": {"model": "Field", "variables": model.size, "factors": model.n_factors},
        "acceptance": decision.settings(),
        "dtype": model.dtype,
    }


def _attrs(model: Field, decision: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """attrs of the results: settings, guarantee, fingerprint, versions."""
    exact, guarantee = _promise(model, decision)
    return {
        "settings": json.dumps(settings),
        "exact": int(exact),
        "guarantee": guarantee,
        "data_fingerprint": model.fingerprint,
        "versions": json.dumps(package_versions()),
        "rows": int(model.degrees.max()),
        "columns": model.size,
        "notes": json.dumps([]),
    }


def _check_store(model: Field, settings: dict[str, Any], request: Request) -> None:
    """Refuse another run's store, and a place where none can be made, before any compilation."""
    if request.store is not None and request.resume and os.path.lexists(request.store):
        check_resumable(request.store, settings, model.fingerprint)
    elif request.store is not None:
        check_place(request.store)


def _prepare(model: Field, decision: Any, scan: str, start: Any, request: Request) -> Prepared:
    """Chains, plan and store: the run and what is said about it."""
    run_seed, start_seed = request.seed().spawn(2)
    states = starting_states(model, start, request.chains, start_seed)
    settings = _settings(model, decision, scan, start, request)
    _check_store(model, settings, request)
    bound: Any = Bound(model)  # has all that the keeper of draws asks of a Target
    variables, keep = keeper(bound, request.keep)
    width = variables[-1].stop + 2 * len(STATS)
    check_room(
        request.chains * request.draws * width * 8,
        f"a run of {request.chains} chains with {request.draws:,} draws of {variables[-1].stop:,} values",
        "take fewer draws= with a larger thin=, or keep= fewer values",
    )
    total = request.warmup + request.draws * request.thin
    in_order = int(scan == "systematic")
    plan = plan_of(model, decision, np.array([request.warmup, request.thin, total, 1, in_order], np.int64))
    none = np.zeros((request.chains, 0), np.int64)
    chains = new_chains(states.astype(np.float64), none, decision.state_size(), np.zeros(1), run_seed)
    attrs = _attrs(model, decision, settings)
    run = _run(model, plan, chains, keep, variables, attrs, request)
    return Prepared(run, attrs, [], variables, None)


def _run(
    model: Field, plan: ScanPlan, chains: Chains, keep: Any, variables: Any, attrs: dict[str, Any], request: Request
) -> Run:
    """Open the store, go back to its checkpoint where there is one, and put the run together."""
    store, checkpoint, counts = open_store(
        request.store,
        resume=request.resume,
        variables=variables,
        chains=request.chains,
        draws=request.draws,
        attrs=attrs,
    )
    if checkpoint is not None:
        from_checkpoint(chains, checkpoint)
    return Run(
        target=Bound(model),
        plan=plan,
        chains=chains,
        lockstep=False,
        keep=keep,
        store=store,
        stat_names=STATS,
        counts=np.array(counts),
        new_source=lambda: new_source(model.factors),
        advance=advance,
        cores=request.threads(),
        time_limit=request.time_limit,
        before=checkpoint or {},
        explain=lambda c, status: ModelError(f"the factors gave a value that is not a number in chain {c}"),
    )

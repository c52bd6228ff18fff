"""From a model, rows and settings to a Run: everything that happens before the first step."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import typeof

from ..decisions.base import no_draw, signature_over
from ..decisions.undecided import Undecided
from ..errors import InputError
from ..models.priors import FLAT, KIND
from ..models.target import Target
from ..proposals import Mixture, RandomWalk, Stiefel
from ..proposals.base import ADAPT, BLIND, COMPLETE, PROPOSE, Setting, kind_of, no_adaptation
from ..proposals.mixture import MOST
from ..rows.held import far_columns
from ..standin.mode import Mode, find_mode
from ..store.base import STATS
from ..store.open import open_store
from .choose import Work, choose_decision
from .early import check_early, check_rule
from .faults import explain_runaway, explain_step
from .jit import pointer
from .keep import keeper
from .orthogonal import moves_orthogonal, on_orthogonal
from .problem import DOUBLE_TERMS
from .promise import promised
from .request import Request
from .run import Run
from .starts import Rounding, first_values, measure_rounding, starting_points, with_double_terms
from .state import Chains, Plan, from_checkpoint, new_chains


@dataclass
class Prepared:
    """A run ready to go, and what the results will say about it."""

    run: Run
    attrs: dict[str, Any]
    notes: list[str]
    variables: list[Any]
    mode: Mode | None
    concluded: bool = False


def _components(proposal: Any) -> tuple[list[Any], np.ndarray]:
    parts = list(proposal.components) if isinstance(proposal, Mixture) else [proposal]
    weights = np.array(proposal.weights) if isinstance(proposal, Mixture) else np.ones(1)
    return parts, np.cumsum(weights)


def _moves(proposal: Any, setting: Setting) -> dict[str, Any]:
    """Parameters, states and pointers of all components, laid end to end."""
    parts, cumulative = _components(proposal)
    parameters = [np.ascontiguousarray(part.parameters(setting), dtype=np.float64) for part in parts]
    states = [np.ascontiguousarray(part.initial_state(setting), dtype=np.float64) for part in parts]
    ends, state_ends = np.cumsum([p.size for p in parameters]), np.cumsum([s.size for s in states])
    places = [
        (int(end - p.size), int(end), int(state_end - s.size), int(state_end))
        for p, s, end, state_end in zip(parameters, states, ends, state_ends, strict=True)
    ]
    proposals = [pointer(part.propose(), PROPOSE) for part in parts]
    adaptations = [pointer(part.adapt(), ADAPT) for part in parts]
    spare = pointer(no_adaptation, ADAPT)
    return {
        "moves": np.concatenate(parameters),
        "initial_state": np.concatenate(states),
        "places": np.array(places, dtype=np.int64),
        "cumulative": cumulative,
        "proposals": tuple(proposals + [proposals[0]] * (MOST - len(parts))),
        "adaptations": tuple(adaptations + [spare] * (MOST - len(parts))),
    }


def _tells_moves(proposal: Any) -> bool:
    """Whether draws say which kind of move was made last: where a proposal makes several kinds."""
    return any(getattr(part, "kinds", ()) for part in _components(proposal)[0])


def _step_in_sd(proposal: Any, setting: Setting, mode: Mode | None) -> float:
    """sd of the change in log likelihood that one step of the (first) proposal makes, by the curvature."""
    part = _components(proposal)[0][0]
    if mode is None or not isinstance(part, RandomWalk) or part.scale is None:
        return 2.38
    scale = np.asarray(part.scale, dtype=np.float64)
    covariance = scale if scale.ndim == 2 else np.diag(np.broadcast_to(scale, setting.size) ** 2)
    return float(np.sqrt(np.trace(covariance @ mode.precision)))


@dataclass
class _Found:
    """What is known before chains are made: mode, decision, and why that decision."""

    mode: Mode | None
    setting: Setting
    acceptance: Any
    reason: str


def _mode_wanted(target: Target, acceptance: Any, proposal: Any, request: Request) -> bool:
    """Where something builds on the mode, and where only the search for it tells whether there is a posterior."""
    at_mode = isinstance(request.start, str) and request.start in ("mode", "all")
    if any(getattr(part, "on_orthogonal", False) for part in _components(proposal)[0]):
        return at_mode  # moves there build on no mode, and no prior is improper there
    improper = target.kernels is not None and bool(np.any(target.prior[:, KIND] == FLAT))
    chosen = isinstance(acceptance, str) and target.fewest is None
    return at_mode or proposal.needs_mode or chosen or improper


def _find(
    target: Target, acceptance: Any, proposal: Any, request: Request, pool: ThreadPoolExecutor, notes: list[str]
) -> _Found:
    """Find the mode where something builds on it, and choose a decision where none was asked for."""
    wanted = _mode_wanted(target, acceptance, proposal, request)
    mode = find_mode(target, request.temperatures()[1], pool, request.threads()) if wanted else None
    if mode is not None:
        notes.append(mode.said)
    theta, root = (None, None) if mode is None else (mode.theta, mode.root)
    setting = Setting(target.size, theta, root, target.rows.n, target.fewest)
    reason = "given"
    if isinstance(acceptance, str):
        sd_lambda = _step_in_sd(proposal, setting, mode)
        choice = choose_decision(Work.of(target, request.chains), sd_lambda)
        acceptance, reason = choice.decision, choice.reason
        notes.append(f"decision chosen: {reason}")
        check_rule(target, acceptance)
    return _Found(mode, setting, acceptance, reason)


def _plan(target: Target, acceptance: Any, moves: dict[str, Any], request: Request) -> Plan:
    """Settings as compiled code reads them."""
    total = request.warmup + request.draws * request.thin
    return Plan(
        prior=target.prior,
        schedule=np.array([request.warmup, request.thin, total, moves["cumulative"].size], np.int64),
        temperature=np.array(request.temperatures()),
        bound=float("nan"),
        rule=np.ascontiguousarray(acceptance.parameters(target.rows.n), dtype=np.float64),
        decide=_decision_pointer(target, acceptance),
        **moves,
    )


def prepare(target: Target, acceptance: Any, proposal: Any, request: Request) -> Prepared:
    """Mode, choices, starting points, store: the run and what is said about it."""
    notes = list(target.notes)
    threads = 1 if target.interpreted else request.threads()
    run_seed, start_seed = request.seed().spawn(2)
    if proposal is None:
        proposal = target.proposal or (Stiefel() if target.orthogonal else RandomWalk())
    parts = _components(proposal)[0]
    acceptance = _rule_wanted(acceptance, parts)
    early = settings_before(target, acceptance, proposal, request)
    wanted = _mode_wanted(target, acceptance, proposal, request)
    needed, note = check_early(target, acceptance, parts, request, early, wanted)
    notes += [note] if note else []
    with ThreadPoolExecutor(max(1, threads)) as pool:
        found = _find(target, acceptance, proposal, request, pool, notes)
        acceptance = found.acceptance
        target = target.for_passes() if acceptance.reads_all else target
        moves = _moves(proposal, found.setting)
        starts = starting_points(target, request, found.mode, start_seed, pool, threads)
        if moves_orthogonal(target, parts):
            starts = on_orthogonal(target, starts)
        rounding = Rounding()
        if acceptance.exact:
            rounding = measure_rounding(target, found.mode, starts[0], request.temperatures()[1], pool, threads)
        if acceptance.reads_all and rounding.double:
            target = target.with_problem(with_double_terms(target.problem, True))
            notes.append(
                f"terms are taken in float64: in float32 a log ratio would be off by {rounding.single_error:.2g}"
            )
        chains = new_chains(
            starts, target.in_use(starts), acceptance.state_size(), moves.pop("initial_state"), run_seed
        )
        first_values(target, acceptance, chains, pool, threads)
    plan = _plan(target, acceptance, moves, request)
    promise = promised(acceptance, proposal, request, target.rows.n, rounding)
    attrs = describe(target, acceptance, proposal, request, found.reason, notes, promise)
    attrs["memory_estimate"] = needed.total
    tells = _tells_moves(proposal)
    run, variables = _make_run(target, acceptance, plan, chains, request, attrs, threads, parts, tells)
    return Prepared(run, attrs, notes, variables, found.mode)


def _make_run(
    target: Target,
    acceptance: Any,
    plan: Plan,
    chains: Chains,
    request: Request,
    attrs: dict[str, Any],
    threads: int,
    parts: list[Any],
    tells_moves: bool,
) -> tuple[Run, list[Any]]:
    """Open the store, go back to its checkpoint where there is one, and put the run together."""
    variables, keep = keeper(target, request.keep)
    statistics = STATS + (("lp",) if acceptance.reads_all else ()) + (("move",) if tells_moves else ())
    store, checkpoint, counts = open_store(
        request.store,
        resume=request.resume,
        variables=variables,
        stat_names=statistics,
        chains=request.chains,
        draws=request.draws,
        attrs=attrs,
    )
    if checkpoint is not None:
        from_checkpoint(chains, checkpoint)
    kinds = [kind_of(part) for part in parts]
    explain = explain_runaway if isinstance(acceptance, Undecided) else explain_step
    run = Run(
        target=target,
        plan=plan,
        chains=chains,
        lockstep=acceptance.reads_all and COMPLETE not in kinds,
        keep=keep,
        store=store,
        stat_names=statistics,
        counts=np.array(counts),
        new_source=lambda: target.new_source(target.problem, target.size, target.n_indices),
        cores=threads,
        time_limit=request.time_limit,
        before=checkpoint or {},
        explain=lambda c, status: explain(target, chains, c, status),
        reading=None if kinds.count(BLIND) == len(kinds) else _reading(target, acceptance, parts),
    )
    return run, variables


def _rule_wanted(acceptance: Any, parts: list[Any]) -> Any:
    """The rule asked for; a move that decides nothing has none, and stands alone."""
    undecided = [part for part in parts if kind_of(part) != BLIND and not part.decides]
    if not undecided:
        return acceptance
    name = type(undecided[0]).__name__
    if len(parts) > 1:
        raise InputError(f"a Mixture holds {name}(corrected=False), which decides nothing: take corrected=True")
    if not isinstance(acceptance, str):
        raise InputError(
            f"{name}(corrected=False) goes wherever it proposes, so {type(acceptance).__name__} would never be asked: "
            "leave out acceptance=, or take corrected=True"
        )
    return Undecided()


def _reading(target: Target, acceptance: Any, parts: list[Any]) -> tuple[Any, Any]:
    """What makes a reader for a thread, and the moves that read rows by component."""
    from .reader import Movers, move_signature, new_reader

    def make() -> Any:
        return new_reader(target, acceptance, parts)

    signature = move_signature(make())
    kinds = [kind_of(part) for part in parts]
    spare = next(part for part, kind in zip(parts, kinds, strict=True) if kind != BLIND)
    wanted = [spare if kind == BLIND else part for part, kind in zip(parts, kinds, strict=True)]
    moves = [pointer(part.move(), signature) for part in wanted + [spare] * (MOST - len(parts))]
    return make, Movers(np.array(kinds + [BLIND] * (MOST - len(kinds)), np.int64), tuple(moves))


def _decision_pointer(target: Target, acceptance: Any) -> Any:
    """Pointer to the rule over this kind of problem; a rule that reads everything decides in the lockstep loop."""
    dispatcher = no_draw if acceptance.reads_all else acceptance.compiled()
    return pointer(dispatcher, signature_over(typeof(target.new_source(target.problem, 1, 1))))


def settings_before(target: Target, acceptance: Any, proposal: Any, request: Request) -> dict[str, Any]:
    """Settings as stored with the draws, those that are known before any compute."""
    rule = {} if isinstance(acceptance, str) else {"acceptance": acceptance.settings()}
    return {
        **request.settings(),
        "model": target.settings(),
        **rule,
        "proposal": proposal.settings(),
        "dtype": str(target.problem.X.dtype),
    }


def _centred(target: Target) -> np.ndarray:
    """Columns that predictions take their mean off, before they are rounded to float32."""
    return np.asarray(far_columns(target.rows) & (target.rows.sd > 0))


def describe(
    target: Target,
    acceptance: Any,
    proposal: Any,
    request: Request,
    reason: str,
    notes: list[str],
    promise: tuple[bool, str],
) -> dict[str, Any]:
    """attrs of the results: settings, guarantee, fingerprint, versions."""
    from ..report.results import package_versions

    settings = {
        **settings_before(target, acceptance, proposal, request),
        "acceptance_reason": reason,
        "terms_in_float64": bool(target.problem.shape[DOUBLE_TERMS]),
    }
    return {
        "settings": json.dumps(settings),
        "exact": int(promise[0]),
        "guarantee": promise[1],
        "data_fingerprint": target.rows.fingerprint,
        "versions": json.dumps(package_versions()),
        "rows": target.rows.n,
        "columns": target.rows.d,
        "column_names": json.dumps(target.rows.names),
        "column_centres": json.dumps(np.where(_centred(target), target.rows.mean, 0.0).tolist()),
        "target": target.rows.target,
        "offset": int(target.rows.has_offset),
        "notes": json.dumps(notes),
        "stored": int(request.store is not None),
        "ended": "running",
    }

"""From a model, rows and settings to a Run: everything that happens before the first step."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decisions.base import FINE, decision_signature, no_draw
from ..errors import InputError
from ..models.target import Target
from ..proposals import Mixture, RandomWalk
from ..proposals.base import ADAPT, PROPOSE, Setting, no_adaptation
from ..proposals.mixture import MOST
from ..rows import derivatives, passes
from ..standin.mode import Mode, find_mode
from ..store.base import STATS
from ..store.open import open_store
from . import state
from .choose import choose_decision
from .faults import explain_fault
from .jit import pointer
from .keep import keeper
from .prior import log_prior
from .problem import DOUBLE_TERMS
from .request import Request
from .run import Run
from .state import Chains, Plan

TOLERATED = 0.01  # rounding error of a log ratio above which terms are taken in float64


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


def _starting_points(target: Target, request: Request, mode: Mode | None, seed: np.random.SeedSequence) -> np.ndarray:
    """States (chains, D) where the chains begin."""
    chains, size = request.chains, target.size
    if isinstance(request.start, str) and request.start == "mode":
        assert mode is not None
        return np.tile(mode.theta, (chains, 1))
    if isinstance(request.start, str):
        return target.draw_prior(np.random.Generator(np.random.Philox(seed)), chains)
    try:
        given = np.asarray(request.start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"start={request.start!r}: give 'mode', 'prior', or numbers ({size} a chain)") from None
    if given.shape not in ((size,), (chains, size)):
        raise InputError(
            f"start has shape {given.shape}, but the model has {size} parameters ({', '.join(target.labels[:6])}"
            f"{', ...' if size > 6 else ''}) and there are {chains} chains: give ({size},) or ({chains}, {size})"
        )
    if not np.all(np.isfinite(given)):
        raise InputError("start holds NaN or infinity: give finite values")
    points = np.tile(given, (chains, 1)) if given.ndim == 1 else given
    as_log = target.logarithms()
    if np.any(points[:, as_log] <= 0):
        names = [label for label, log in zip(target.labels, as_log, strict=True) if log]
        raise InputError(f"start gives {names[0]} a value that is not positive: give its natural, positive value")
    return target.from_natural(points)


def needs_double_terms(target: Target, mode: Mode | None, pool: ThreadPoolExecutor, threads: int) -> tuple[bool, float]:
    """Rounding error of Lambda at pairs a typical step apart, in float32 terms against float64 ones."""
    problem = target.problem
    if problem.X.dtype != np.float32 or problem.shape[0] == 0 or mode is None:
        return False, 0.0
    z = np.random.Generator(np.random.Philox(1)).standard_normal((7, target.size))
    steps = 2.38 / np.sqrt(target.size) * z @ mode.root.T
    points = np.vstack([mode.theta, mode.theta + steps])
    single, _ = passes.sums(with_double_terms(problem, False), points, None, pool, threads)
    double, _ = passes.sums(with_double_terms(problem, True), points, None, pool, threads)
    error = float(np.max(np.abs((single[1:] - single[0]) - (double[1:] - double[0]))))
    return bool(error > TOLERATED or not np.isfinite(error)), error


def with_double_terms(problem: Any, double: bool) -> Any:
    """The same problem with terms taken in float64 (or not)."""
    shape = problem.shape.copy()
    shape[DOUBLE_TERMS] = int(double)
    return problem._replace(shape=shape)


def _step_in_sd(proposal: Any, setting: Setting, mode: Mode | None) -> float:
    """sd of the change in log likelihood that one step of the (first) proposal makes, by the curvature."""
    part = _components(proposal)[0][0]
    if mode is None or not isinstance(part, RandomWalk) or part.scale is None:
        return 2.38
    scale = np.asarray(part.scale, dtype=np.float64)
    covariance = scale if scale.ndim == 2 else np.diag(np.broadcast_to(scale, setting.size) ** 2)
    return float(np.sqrt(np.trace(covariance @ mode.precision)))


def _first_values(target: Target, acceptance: Any, chains: Chains, pool: ThreadPoolExecutor, threads: int) -> None:
    """Fill log prior and, for rules that cache it, the sum at the starting points; refuse points with no density."""
    if acceptance.reads_all or target.kernels is None:
        values, status = passes.sums(target.problem, chains.theta, chains.indices, pool, threads)
        if status != FINE:
            raise explain_fault(target, chains.theta, chains.indices, 0, status)
        chains.rule_state[:, 0] = values
    else:  # the same sums without compiling a pass that the run will not make; chains often start at one point
        points, back = np.unique(chains.theta, axis=0, return_inverse=True)
        values = derivatives.values(target.problem, target.kernels, points)[back.ravel()]
    for c in range(values.size):
        chains.log_prior[c] = log_prior(target.prior, chains.theta[c])
        total = values[c] + chains.log_prior[c]
        if not np.isfinite(total):
            what = "prior density" if not np.isfinite(chains.log_prior[c]) else "likelihood"
            raise InputError(f"chain {c} starts where the log {what} is {total}: give start= points where it is finite")


def prepare(target: Target, acceptance: Any, proposal: Any, request: Request) -> Prepared:
    """Mode, choices, starting points, store: the run and what is said about it."""
    began, notes = time.monotonic(), list(target.notes)
    threads = 1 if target.interpreted else request.threads()
    seed = request.seed()
    run_seed, start_seed = seed.spawn(2)
    proposal = RandomWalk() if proposal is None else proposal
    n_rows = target.rows.n
    with ThreadPoolExecutor(max(1, threads)) as pool:
        at_mode = isinstance(request.start, str) and request.start == "mode"
        wanted = at_mode or proposal.needs_mode or isinstance(acceptance, str)
        mode = find_mode(target, request.temperatures()[1], pool, threads) if wanted else None
        if mode is not None:
            notes.append(mode.said)
        setting = Setting(target.size, None if mode is None else mode.theta, None if mode is None else mode.root)
        reason = "given"
        if isinstance(acceptance, str):
            sd_lambda = _step_in_sd(proposal, setting, mode)
            choice = choose_decision(n_rows, target.rows.d, request.chains, threads, sd_lambda)
            acceptance, reason = choice.decision, choice.reason
            notes.append(f"decision chosen: {reason}")
        acceptance.check(n_rows)
        if acceptance.reads_all:
            double, error = needs_double_terms(target, mode, pool, threads)
            if double:
                target = target.with_problem(with_double_terms(target.problem, True))
                notes.append(f"terms are taken in float64: in float32 a log ratio would be off by {error:.2g}")
        moves = _moves(proposal, setting)
        chains = state.new_chains(
            _starting_points(target, request, mode, start_seed),
            np.zeros((request.chains, target.n_indices), np.int64),
            acceptance.state_size(),
            moves.pop("initial_state"),
            run_seed,
        )
        _first_values(target, acceptance, chains, pool, threads)
    plan = Plan(
        prior=target.prior,
        schedule=np.array(
            [request.warmup, request.thin, request.warmup + request.draws * request.thin, moves["cumulative"].size],
            np.int64,
        ),
        temperature=np.array(request.temperatures()),
        bound=float("nan"),
        rule=np.ascontiguousarray(acceptance.parameters(n_rows), dtype=np.float64),
        decide=_decision_pointer(target, acceptance),
        **moves,
    )
    variables, keep = keeper(target, request.keep)
    statistics = (*STATS, "lp") if acceptance.reads_all else STATS
    attrs = describe(target, acceptance, proposal, request, reason, notes)
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
        state.from_checkpoint(chains, checkpoint)
    run = Run(
        target=target,
        plan=plan,
        chains=chains,
        lockstep=acceptance.reads_all,
        keep=keep,
        store=store,
        n_statistics=len(statistics),
        counts=np.array(counts),
        cores=threads,
        time_limit=request.time_limit,
        explain=lambda c, status: explain_fault(target, chains.proposed, chains.proposed_indices, c, status),
    )
    attrs["setup_time"] = time.monotonic() - began
    return Prepared(run, attrs, notes, variables, mode)


def _decision_pointer(target: Target, acceptance: Any) -> Any:
    """Pointer to the rule over this kind of problem; a rule that reads everything decides in the lockstep loop."""
    dispatcher = no_draw if acceptance.reads_all else acceptance.compiled()
    return pointer(dispatcher, decision_signature(target.problem))


def describe(
    target: Target, acceptance: Any, proposal: Any, request: Request, reason: str, notes: list[str]
) -> dict[str, Any]:
    """attrs of the results: settings, guarantee, fingerprint, versions."""
    from ..report.results import package_versions

    settings = {
        **request.settings(),
        "model": target.settings(),
        "acceptance": acceptance.settings(),
        "acceptance_reason": reason,
        "proposal": proposal.settings(),
        "dtype": str(target.problem.X.dtype),
        "terms_in_float64": bool(target.problem.shape[DOUBLE_TERMS]),
    }
    return {
        "settings": json.dumps(settings),
        "exact": int(acceptance.exact),
        "guarantee": acceptance.guarantee(target.rows.n),
        "data_fingerprint": target.rows.fingerprint,
        "versions": json.dumps(package_versions()),
        "rows": target.rows.n,
        "columns": target.rows.d,
        "notes": json.dumps(notes),
    }

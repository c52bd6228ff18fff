"""The front door for sampling."""

import inspect
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .engine.jit import nothing_cached
from .engine.prepare import Prepared, prepare
from .engine.prior import log_prior
from .engine.progress import Progress
from .engine.request import Request
from .engine.run import Run
from .errors import AusterityWarning, InputError, StoreError
from .models.target import Target

if TYPE_CHECKING:
    import xarray


def sample(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    acceptance: Any = "auto",
    proposal: Any = None,
    draws: int = 2000,
    warmup: int = 1000,
    chains: int = 4,
    rng: Any = 0,
    cores: int | None = None,
    time_limit: float | None = None,
    thin: int = 1,
    start: Any = "mode",
    keep: Any = None,
    temperature: Any = 1.0,
    intercept: bool = False,
    standardize: bool = False,
    weights: Any = None,
    offset: Any = None,
    target: str | None = None,
    columns: Any = None,
    names: Any = None,
    dtype: str = "float32",
    missing: str = "error",
    store: Any = None,
    resume: bool = False,
    progress: bool = True,
) -> "xarray.DataTree":
    """Draw from the posterior of `model` given rows `X` (N, d) and responses `y` (N,).

    X: an array, a table (pandas, polars, Arrow), a path (.csv, .parquet, .npy) or rows from `austerity.rows.open`.
    y: one response for each row; with a table or a path, target= names the column instead.

    acceptance: a decision (`austerity.decisions`), or "auto" for the one predicted to be faster.
    proposal: a move (`austerity.proposals`); by default a random walk scaled by the curvature at the mode.
    draws, warmup, chains: kept draws and warm-up steps a chain, and how many chains; every `thin`-th step is kept.
    rng: the seed of all random numbers, a whole number or a numpy SeedSequence.
    cores: threads to use, by default all that this process is given; they change no draw.
    time_limit: seconds of sampling after which the run ends with what it has.
    start: "mode", "prior", or reported values (D,) or (chains, D).
    keep: names of parameters to keep, or functions of them by name.
    temperature: T dividing the log likelihood, or (start, end) falling during warm-up.
    intercept, standardize: add an intercept; state the prior (and move) per sd of centred columns.

    weights, offset: what multiplies each row's term, and what is added to its predictor: (N,), or names of columns.
    target, columns: the column of X that is the response, and those that are inputs (by default all others).
    names: what the columns are called. dtype: how rows are held, "float32" or "float64".
    missing: "error", or "drop" to leave out rows with NaN.

    store, resume: a directory to write draws to as they come, and whether to go on from what is there.
    progress: show on standard error how the run goes on, and what was chosen for it.

    Returns an xarray.DataTree in the ArviZ schema: groups posterior and sample_stats. The same arguments give the
    same draws, whatever `cores` is.
    """
    arguments = dict(locals())
    with one_blas_thread():
        prepared, shown = begin(**arguments)
        try:
            with interruptible(prepared.run):
                prepared.run.go()
        finally:
            shown.close()
        return conclude(prepared)


def default_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `sample`, with its defaults where none were given."""
    known = {
        name: parameter.default
        for name, parameter in inspect.signature(sample).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(f"there is no setting {unknown[0]!r}: the settings are {', '.join(sorted(known))}")
    return {**known, **given}


def begin(
    *,
    model: Any,
    X: Any,
    y: Any,
    acceptance: Any,
    proposal: Any,
    intercept: bool,
    standardize: bool,
    progress: bool,
    weights: Any,
    offset: Any,
    target: Any,
    columns: Any,
    names: Any,
    dtype: str,
    missing: str,
    **settings: Any,
) -> tuple[Prepared, Progress]:
    """Check everything, bind the model to its rows and make the run."""
    from .rows import open as open_rows

    request = Request(progress=progress, **settings).checked()
    check_parts(model, acceptance, proposal, intercept, standardize)
    shown = Progress(request.warmup, request.draws, request.time_limit, silent=not progress)
    began, cold = time.monotonic(), nothing_cached(log_prior)
    rows = open_rows(
        X,
        y,
        target=target,
        names=names,
        columns=columns,
        weights=weights,
        offset=offset,
        dtype=dtype,
        missing=missing,
        centre_response=model.centre_response,
        centre_columns=model.centre_columns,
    )
    if cold:
        shown.say("compiling for the first time, which takes some ten seconds; later runs find it done")
    if rows.n != rows.X.shape[0] and not getattr(model, "knows_summaries", False):
        raise InputError(f"{type(model).__name__} reads rows, and {rows!r} has none: give it a table, or GaussianMean")
    bound = model.bind(rows, bool(intercept), bool(standardize))
    bound.notes.extend(said_of_rows(bound))
    for note in bound.notes:
        shown.say(note)
    prepared = prepare(bound, acceptance, proposal, request)
    prepared.run.setup_seconds = time.monotonic() - began
    for note in prepared.notes[len(bound.notes) :]:
        shown.say(note)
    prepared.run.observe = shown.update if progress else None
    return prepared, shown


def said_of_rows(bound: Target) -> list[str]:
    """What was done to the rows, or left undone, that a user may not expect."""
    rows, notes = bound.rows, []
    if rows.dropped:
        plural = "" if rows.dropped == 1 else "s"
        notes.append(f"{rows.dropped:,} row{plural} with missing values left out, {rows.n:,} used")
    if bound.kernels is not None and not bound.options.get("intercept") and not np.any(rows.sd == 0):
        notes.append("no intercept was asked for and no column is constant: predictors are 0 where all columns are")
    return notes


def check_parts(model: Any, acceptance: Any, proposal: Any, intercept: bool, standardize: bool) -> None:
    """Refuse what is no model, decision or proposal."""
    for name, value in (("model", model), ("acceptance", acceptance), ("proposal", proposal)):
        if isinstance(value, type):
            raise InputError(f"{name}={value.__name__} is a class: give an instance, {value.__name__}(...)")
    if not hasattr(model, "bind"):
        raise InputError(f"model={_short(model)} is no model: give one such as austerity.models.Logistic()")
    if not (isinstance(acceptance, str) and acceptance == "auto") and not hasattr(acceptance, "reads_all"):
        raise InputError(f"acceptance={_short(acceptance)} is no decision: give one such as Exact(), or 'auto'")
    if proposal is not None and not hasattr(proposal, "needs_mode"):
        raise InputError(f"proposal={_short(proposal)} is no proposal: give one such as RandomWalk()")
    for name, value in (("intercept", intercept), ("standardize", standardize)):
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{name}={value!r}: give True or False")


def _short(value: Any) -> str:
    """A value on one line of a sentence: what is long, such as a table, by its type alone."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"<{type(value).__name__}>"


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products use one thread inside; threads share row blocks instead (results do not depend on cores)."""
    import scipy.linalg.cython_blas  # noqa: F401  the library whose products compiled code calls
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def interruptible(run: Run) -> Iterator[None]:
    """The first Ctrl-C ends the run after its current piece and keeps what was drawn; a second one raises."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: Any) -> None:
        if run.stop.is_set():
            raise KeyboardInterrupt
        run.stop.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def conclude(prepared: Prepared, asked: bool = False) -> "xarray.DataTree":
    """Results of a run that has ended, however it ended; a fault is raised with the draws so far as `.partial`.

    asked: the end was asked for through a handle, so that nobody need be told.
    """
    from .report.results import build_tree

    run, store = prepared.run, prepared.run.store
    setup_seconds, sampling_seconds = (float(seconds) for seconds in run.times())
    times = {"setup_time": setup_seconds, "sampling_time": sampling_seconds}
    attrs = {**prepared.attrs, **times, "ended": run.status.ended}
    if run.status.ended != "store" and not prepared.concluded:
        prepared.concluded = True
        try:
            store.finish(attrs, run.counts)
        except StoreError as error:
            run.fault = run.fault or error
    values, statistics = store.draws()
    tree = build_tree(values, statistics, prepared.variables, run.stat_names, attrs)
    drawn = values.shape[1]
    if run.fault is not None:
        run.fault.partial = tree  # type: ignore[attr-defined]
        raise run.fault
    if run.status.ended == "interrupted" and not asked:
        warnings.warn(f"interrupted: {drawn} draws a chain were made and are returned", AusterityWarning, stacklevel=3)
    if run.status.ended == "time limit" and drawn == 0:
        sentence = f"the time limit of {run.time_limit} s ended before warm-up did: no draw was kept"
        warnings.warn(sentence, AusterityWarning, stacklevel=3)
    return tree

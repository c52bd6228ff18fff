"""(e) emcee and NumPyro's NUTS on the same posterior, one core each, helped with the mode and the curvature there.

A peer runs in a process of its own with the interpreter of this one; `make bench` has both installed. emcee evaluates
all walkers in one call of blocked float32 NumPy, NUTS runs in float32 on whitened coordinates; set-up (imports,
compilation, adaptation) is not counted but shown. Effective sizes and errors are taken as in efficiency.py.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import Figure, Report, shown, single_thread, unavailable
from efficiency import Chains, timed_run
from peer_worker import NOT_INSTALLED, PEERS
from problems import Problem, Reference, logistic_problem, reference

from austerity.decisions import Exact, SequentialT

NAMES = {"emcee": "emcee, affine-invariant ensemble", "numpyro": "NumPyro, NUTS"}
ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Rows and seconds a sampler. The last of the full form is one try that may give a peer too few draws to say much.
SIZES = {"full": ((100_000, 30.0), (1_000_000, 60.0)), "quick": ((20_000, 5.0),), "tiny": ((500, 0.2),)}


def run(size: str = "full") -> dict[str, Any]:
    """Speeds of ours and of the peers, then the ratios."""
    report = Report("peers", size)
    for n_rows, seconds in SIZES[size]:
        with single_thread():
            made = logistic_problem(n_rows, 10)
            truth = reference(made, 512 if size == "tiny" else 4096)
            report.say(f"reference for {made.words}: error of a mean at most {shown(truth.error)} sd")
            ours = _ours(report, made, truth, seconds)
        for name in PEERS:
            chains = _peer(report, name, made, truth, seconds)
            if chains is None or not chains.speed > 0:
                continue
            for ours_name, our_chains in ours.items():
                what = f"{ours_name} against {NAMES[name]}, {made.words}"
                report.add(Figure(what, our_chains.speed / chains.speed, "x its effective samples a second"))
    return report.as_dict()


def _ours(report: Report, made: Problem, truth: Reference, seconds: float) -> dict[str, Chains]:
    out = {
        "Exact, one chain": timed_run(made, Exact(), truth, seconds),
        "Exact, sixteen chains in lockstep": timed_run(made, Exact(), truth, seconds, chains=16),
        "SequentialT(0.05, 500)": timed_run(made, SequentialT(0.05, 500), truth, seconds),
    }
    for name, chains in out.items():
        what = f"{name}, {made.words}"
        report.add(Figure(what, chains.speed, "effective samples a second", note=chains.words(truth)))
    return out


def _peer(report: Report, name: str, made: Problem, truth: Reference, seconds: float) -> Chains | None:
    """Run one peer; None, with a line that says why, where it cannot be."""
    what = f"{NAMES[name]}, {made.words}"
    with tempfile.TemporaryDirectory() as folder:
        problem, result = Path(folder) / "problem.npz", Path(folder) / "result.npz"
        at_mode = {"mode": truth.mode.theta, "root": truth.mode.root}
        np.savez(problem, X=made.problem.X, y=made.problem.y, seconds=seconds, seed=8, **at_mode)
        why_not = _run_worker(name, problem, result, 600 + 10 * seconds)
        if why_not:
            report.add(unavailable(what, f"not measured: {why_not}"))
            return None
        with np.load(result) as file:
            chains, setup = Chains(file["draws"], float(file["seconds"])), float(file["setup"])
    note = f"{chains.words(truth)}; set-up {shown(setup)} s"
    report.add(Figure(what, chains.speed, "effective samples a second", note=note))
    return chains


def _run_worker(name: str, problem: Path, result: Path, limit: float) -> str:
    """The peer in its process; empty when it has written its result, else why it has not."""
    worker = Path(__file__).with_name("peer_worker.py")
    command = [sys.executable, str(worker), name, str(problem), str(result)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit, env=ONE_THREAD)
    except subprocess.TimeoutExpired:
        return f"it had not ended after {limit:.0f} s"
    if ended.returncode == NOT_INSTALLED:
        return "it is not installed here (`make bench` installs it)"
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        return f"its process ended with code {ended.returncode}, {last[:200]}"
    return ""

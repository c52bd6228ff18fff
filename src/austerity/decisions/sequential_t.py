"""The sequential t-test: read batches until the mean is clearly on one side of the threshold.

    t = (mean - mu0) / s,   s = sd / sqrt(n) * sqrt(1 - (n-1)/(N-1)),   mu0 = T (log u - log A0) / N
    stop when |t| > G_j or n = N;   accept iff mean > mu0

Paper: Korattikara, Chen, Welling 2014 (Austerity in MCMC land). Reference law: min(1, exp L).
Guarantee: none for a single decision; design.error gives its error under normality of batch means. At n = N the
decision is exact. Rows come in a fresh random order at every decision, without replacement, the last short batch too.
"""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from ..engine.jit import bare, dots, engine
from ..engine.problem import BLOCK, USER
from ..engine.streams import exponential
from ..errors import InputError
from ..rows.draws import read_block
from .base import EXHAUSTED, LOOKS, NOT_A_NUMBER, RATE, ROWS_READ, STATUS
from .boundaries import OBrienFleming, Pocock, WangTsiatis, critical_t, look_sizes

BATCH = 0  # place of the batch size in the parameters; the critical value of look j follows at BATCH + j


@dots
def _add_block(terms, count, shift):
    """Sum and sum of squares about a shift, which keeps the variance of nearly equal terms."""
    total, squares = 0.0, 0.0
    for i in range(count):
        centred = terms[i] - shift
        total += centred
        squares += centred * centred
    return total, squares


@engine
def decided(count, n_rows, total, squares, shift, threshold_mean, critical):
    """|t| > G for `count` terms with these sums about the shift. Equal terms are not evidence: draw on."""
    variance = (squares - total * total / count) / (count - 1)
    if not variance > 1e-30 * shift * shift:
        return False
    error = np.sqrt(variance / count * (1.0 - (count - 1.0) / (n_rows - 1.0)))
    return abs(total / count + shift - threshold_mean) > critical * error


@bare
def decide(source, log_a0, temperature, bound, stream, parameters, state, report):
    """The test; see the formula at the top of the file."""
    n_rows = source.problem.X.shape[0]
    batch = np.int64(parameters[BATCH])
    threshold_mean = temperature * (-exponential(stream) - log_a0) / n_rows
    total, squares, shift, count, look = 0.0, 0.0, 0.0, np.int64(0), np.int64(0)
    while count < n_rows:
        target = min(n_rows, count + batch)
        while count < target:
            size = min(BLOCK, target - count)
            status = read_block(source, size)
            if status != 0:
                report[STATUS] = status
                return 0
            if count == 0:
                shift = source.work.terms[0] if np.isfinite(source.work.terms[0]) else 0.0
            more, more_squares = _add_block(source.work.terms, size, shift)
            total, squares, count = total + more, squares + more_squares, count + size
        look += 1
        if not np.isfinite(total):
            break
        if count < n_rows and decided(count, n_rows, total, squares, shift, threshold_mean, parameters[BATCH + look]):
            break
    if np.isnan(total) and source.problem.shape[USER] == 0:
        total = -np.inf  # a family's terms overflow only at a proposal far from everything, which has no density
    if np.isnan(total) or total == np.inf:
        report[STATUS] = NOT_A_NUMBER
        return 0
    accept = np.int64(total / count + shift > threshold_mean)
    report[ROWS_READ], report[LOOKS], report[EXHAUSTED] = count, look, np.float64(count == n_rows)
    report[RATE] = accept
    return accept


@dataclass(frozen=True)
class SequentialT:
    """Sequential t-test at level `epsilon` a look, with `batch` rows a look and a boundary over the looks."""

    epsilon: float = 0.01
    batch: int = 500
    boundary: Pocock | OBrienFleming | WangTsiatis = field(default_factory=Pocock)

    reads_all = False
    given_threshold = True
    reference_law = "min(1, exp(L))"

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, Real) or not 0 <= float(self.epsilon) < 1:
            raise InputError(f"SequentialT(epsilon={self.epsilon!r}): epsilon is an error level, give 0 <= epsilon < 1")
        if isinstance(self.batch, bool) or not isinstance(self.batch, (int, np.integer)) or self.batch < 2:
            raise InputError(f"SequentialT(batch={self.batch!r}): a look needs a whole number of rows, at least 2")
        if not isinstance(self.boundary, (Pocock, OBrienFleming, WangTsiatis)):
            raise InputError(
                f"SequentialT(boundary={self.boundary!r}): give Pocock(), OBrienFleming() or WangTsiatis(alpha)"
            )

    @property
    def exact(self) -> bool:
        return self.epsilon == 0

    def check(self, n_rows: int) -> None:
        if self.batch > n_rows:
            raise InputError(
                f"SequentialT(batch={self.batch}) asks for more rows a look than the {n_rows} there are: "
                f"give a batch of at most {n_rows}, or use Exact()"
            )

    def parameters(self, n_rows: int) -> np.ndarray:
        sizes = look_sizes(n_rows, int(self.batch))
        return np.concatenate([[float(self.batch)], critical_t(self.epsilon, sizes, n_rows, self.boundary)])

    def compiled(self) -> Any:
        return decide

    def state_size(self) -> int:
        return 1

    def guarantee(self, n_rows: int) -> str:
        if self.exact:
            return f"exact: epsilon is 0, so every decision reads all {n_rows:,} rows."
        from ..design import error

        at, away = np.asarray(error(n_rows, int(self.batch), self.epsilon, [0.0, 1.0], self.boundary).error)
        return (
            f"approximate: each decision is a sequential t-test at level {self.epsilon:g} a look, batches of "
            f"{self.batch}, {self.boundary.describe()}; were batch means normal, it would go wrong with probability "
            f"{at:.2g} where exact MH is undecided and {away:.2g} one standard deviation of the whole sum away."
        )

    def settings(self) -> dict[str, Any]:
        boundary = {"name": type(self.boundary).__name__, "alpha": self.boundary.alpha}
        return {"rule": "SequentialT", "epsilon": float(self.epsilon), "batch": int(self.batch), "boundary": boundary}

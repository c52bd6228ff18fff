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

from ..engine.jit import bare, engine, inlined
from ..engine.streams import exponential
from ..errors import InputError
from ..rows.terms import Moments, add_terms, size_of
from .base import EXHAUSTED, LOOKS, NOT_A_NUMBER, RATE, ROWS_READ, STATUS
from .boundaries import OBrienFleming, Pocock, WangTsiatis, critical_t, look_sizes

MOST_LOOKS = 10_000_000  # critical values are worked out for every look before the run
BATCH = 0  # place of the batch size in the parameters; the critical value of look j follows at BATCH + j


@engine
def decided(moments, n_terms, threshold_mean, critical):
    """|t| > G for the terms so far. Equal terms are not evidence: draw on."""
    count, shift, total, squares = moments
    variance = (squares - total * total / count) / (count - 1)
    if not variance > 1e-30 * shift * shift:
        return False
    error = np.sqrt(variance / count * (1.0 - (count - 1.0) / (n_terms - 1.0)))
    return abs(total / count + shift - threshold_mean) > critical * error


@inlined
def _test(source, threshold, temperature, parameters, report):
    """Is the sum of all terms / T above the threshold? See the formula at the top of the file."""
    n_terms = size_of(source)
    batch = np.int64(parameters[BATCH])
    threshold_mean = temperature * threshold / n_terms
    moments, look = Moments(np.int64(0), 0.0, 0.0, 0.0), np.int64(0)
    while moments.n < n_terms:
        status, moments = add_terms(source, min(batch, n_terms - moments.n), moments)
        if status != 0:
            report[STATUS] = status
            return 0
        look += 1
        if not np.isfinite(moments.total):
            break
        if moments.n < n_terms and decided(moments, n_terms, threshold_mean, parameters[BATCH + look]):
            break
    count, shift, total, _ = moments
    if np.isnan(total) or total == np.inf:
        report[STATUS] = NOT_A_NUMBER
        return 0
    accept = np.int64(total / count + shift > threshold_mean)
    report[ROWS_READ], report[LOOKS], report[EXHAUSTED] = count, look, np.float64(count == n_terms)
    report[RATE] = accept
    return accept


@bare
def decide(source, log_a0, temperature, bound, stream, parameters, state, report):
    """The test at the threshold of Metropolis and Hastings, log u - log A0."""
    return _test(source, -exponential(stream) - log_a0, temperature, parameters, report)


@bare
def compare(source, threshold, temperature, bound, stream, parameters, state, report):
    """The test at a threshold from outside, as slice and Gibbs moves give it."""
    return _test(source, threshold, temperature, parameters, report)


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
        if n_rows // self.batch > MOST_LOOKS:
            raise InputError(
                f"SequentialT(batch={self.batch}) may look {n_rows // self.batch:,} times at {n_rows:,} rows: "
                f"give a batch of at least {-(-n_rows // MOST_LOOKS):,}"
            )

    def parameters(self, n_rows: int) -> np.ndarray:
        sizes = look_sizes(n_rows, int(self.batch))
        return np.concatenate([[float(self.batch)], critical_t(self.epsilon, sizes, n_rows, self.boundary)])

    def compiled(self) -> Any:
        return decide

    def compiled_comparison(self) -> Any:
        return compare

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

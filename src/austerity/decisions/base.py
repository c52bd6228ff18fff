"""What every decision declares, and the compiled form it takes.

    decide(source, log_a0, temperature, bound, stream, parameters, state, report) -> accept (0 or 1)

A decision gets log A0 (prior ratio, proposal ratio and any stand-in difference), a source of terms, the temperature,
a bound (NaN where the model declares none), its own random stream and its rule state. It knows nothing of theta. It
fills report with rows read, looks, whether it read everything, a status and the acceptance probability if known.

    compare(source, threshold, temperature, bound, stream, parameters, state, report) -> 1 where the sum / T > threshold

A rule with given_threshold answers the same question at a threshold from outside: log(u / (1 - u)) in a Gibbs flip, the
level of a slice. Both ask the source by `rows/terms.py` alone, whatever lies behind it.
"""

from typing import Any, Protocol

import numpy as np
from numba import types

from ..engine.jit import engine
from ..engine.problem import Problem, source_type

ROWS_READ, LOOKS, EXHAUSTED, STATUS, RATE = range(5)
REPORT_SIZE = 5

# Outcomes in report[STATUS]; the outermost call turns them into sentences.
FINE, NOT_A_NUMBER, USER_RAISED = 0, 1, 2

_float_vector = types.Array(types.float64, 1, "C")
_stream = types.Array(types.uint64, 1, "C")


class Decision(Protocol):
    """A rule: frozen settings, what it promises, and its compiled function."""

    @property
    def reads_all(self) -> bool:
        """True where a decision is a pass over all rows, made for all chains at once."""

    @property
    def exact(self) -> bool:
        """True where the chain keeps the posterior itself, up to rounding."""

    @property
    def given_threshold(self) -> bool:
        """True where the rule decides a threshold it is given, so that slice and Gibbs moves may use it."""

    @property
    def reference_law(self) -> str:
        """The acceptance probability when the rule's own approximation is perfect."""

    def check(self, n_rows: int) -> None:
        """Refuse settings that make no sense for this many rows."""

    def parameters(self, n_rows: int) -> np.ndarray:
        """Settings as the float64 vector that compiled code reads."""

    def compiled(self) -> Any:
        """The compiled function above."""

    # Where given_threshold is True: compiled_comparison(self) -> Any, the compiled function `compare`.

    def state_size(self) -> int:
        """Floats of rule-owned state a chain."""

    def guarantee(self, n_rows: int) -> str:
        """One sentence that says what a decision may get wrong."""

    def settings(self) -> dict[str, Any]:
        """The rule by name and value, as stored with the draws."""


def decision_signature(problem: Problem) -> Any:
    """Signature of `decide` over this kind of problem."""
    return signature_over(source_type(problem))


def signature_over(source: Any) -> Any:
    """Signature of `decide` and `compare` over a source of this Numba type."""
    return types.int64(
        source,
        types.float64,
        types.float64,
        types.float64,
        _stream,
        _float_vector,
        _float_vector,
        _float_vector,
    )


@engine
def no_draw(source, log_a0, temperature, bound, stream, parameters, state, report):
    """Stands where a rule reads everything and so is decided by the lockstep loop."""
    return 0

"""What a run may promise: whether it is exact, and the sentence that says what a decision may get wrong."""

from typing import Any

from ..proposals import AdaptiveMetropolis, Mixture
from .request import Request
from .starts import Rounding


def promised(acceptance: Any, proposal: Any, request: Request, n_rows: int, rounding: Rounding) -> tuple[bool, str]:
    """(exact, guarantee): the rule's own, less what rounding, a temperature or endless adaptation take away."""
    exact, said = acceptance.exact, acceptance.guarantee(n_rows)
    error = rounding.error if acceptance.reads_all else rounding.single_error
    if exact and error > Rounding.limit():
        exact = False
        said = (
            f"exact but for rounding: float32 rows put a log ratio off by up to {error:.2g}; pass dtype='float64' "
            "and centre columns and offsets that lie far from zero."
        )
    parts = proposal.components if isinstance(proposal, Mixture) else (proposal,)
    if any(isinstance(part, AdaptiveMetropolis) and part.forever for part in parts):
        exact = False
        said += " The proposal goes on learning after warm-up, so that the draws are right only in the limit."
    temperature = request.temperatures()[1]
    if temperature != 1.0:
        said += f" The posterior meant is the tempered one, its likelihood raised to the power 1/{temperature:g}."
    return exact, said

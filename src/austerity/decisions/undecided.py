"""No decision: what stands in a run whose move goes wherever it proposes.

Not offered by name: `Langevin(corrected=False)` brings it, and the results say that they are biased.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import no_draw


@dataclass(frozen=True)
class Undecided:
    """Every proposal is taken."""

    reads_all = False
    exact = False
    given_threshold = False
    reference_law = "1"

    def check(self, n_rows: int) -> None:
        """Every number of rows will do."""

    def parameters(self, n_rows: int) -> np.ndarray:
        return np.zeros(1)

    def compiled(self) -> Any:
        return no_draw

    def state_size(self) -> int:
        return 1

    def guarantee(self, n_rows: int) -> str:
        return (
            "biased: nothing is accepted or refused, so the draws follow no posterior but one that depends on the step "
            "and on the batch; take corrected=True for a decision at every step."
        )

    def settings(self) -> dict[str, Any]:
        return {"rule": "none"}

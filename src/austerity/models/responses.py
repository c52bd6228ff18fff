"""What families ask of their responses, said in one way."""

from typing import Any, Protocol

import numpy as np

from ..errors import InputError


class Responses(Protocol):
    """Responses and what they are called: rows, or those held back to score predictions."""

    @property
    def y(self) -> Any: ...

    @property
    def target(self) -> str: ...


def refuse_rows(rows: Responses, wrong: np.ndarray, needs: str, remedy: str) -> None:
    """Name the first row whose response a family cannot have produced; wrong (N,) marks them all."""
    places = np.flatnonzero(wrong)
    if places.size:
        value = float(rows.y[places[0]])
        raise InputError(
            f"{needs}, but {rows.target} is {value:g} at row {places[0]} ({places.size} such rows in all): {remedy}"
        )

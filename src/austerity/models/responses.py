"""What families ask of their responses, said in one way."""

import numpy as np

from ..errors import InputError
from ..rows.held import Rows


def refuse_rows(rows: Rows, wrong: np.ndarray, needs: str, remedy: str) -> None:
    """Name the first row whose response a family cannot have produced; wrong (N,) marks them all."""
    places = np.flatnonzero(wrong)
    if places.size:
        value = float(rows.y[places[0]])
        raise InputError(
            f"{needs}, but {rows.target} is {value:g} at row {places[0]} ({places.size} such rows in all): {remedy}"
        )

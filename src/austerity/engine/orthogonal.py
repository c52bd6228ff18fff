"""States that are orthogonal matrices: which moves keep them so, and which points they may begin at."""

from typing import Any

import numpy as np

from ..errors import InputError
from ..models.orthogonal import TOLERANCE, departure, nearest
from ..models.target import Target


def moves_orthogonal(target: Target, parts: list[Any]) -> bool:
    """Whether the components of a proposal stay on the orthogonal matrices; refuse those that do not fit the model."""
    staying = [part for part in parts if getattr(part, "on_orthogonal", False)]
    leaving = [part for part in parts if part not in staying]
    if target.orthogonal and leaving:
        raise InputError(
            f"{target.name} lives on the orthogonal matrices, which {type(leaving[0]).__name__} would leave: use "
            "Stiefel()"
        )
    if not staying:
        return False
    name = type(staying[0]).__name__
    shapes = [variable.shape for variable in target.variables]
    if len(shapes) != 1 or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1] or shapes[0][0] < 2:
        raise InputError(
            f"{name} moves one square matrix of at least 2 x 2, but the parameters of {target.name} are "
            f"{', '.join(target.labels[:4])}{', ...' if target.size > 4 else ''}: use RandomWalk()"
        )
    if leaving or target.logarithms().any():
        raise InputError(
            f"{name} keeps a matrix orthogonal, which "
            + (f"{type(leaving[0]).__name__} beside it does not" if leaving else "positive entries cannot be")
            + ": use one or the other"
        )
    return True


def on_orthogonal(target: Target, points: np.ndarray) -> np.ndarray:
    """States (C, D * D) put on the orthogonal matrices by the last digits that they are off, or refused."""
    size = target.variables[0].shape[0]
    matrices = points.reshape(-1, size, size)
    off = departure(matrices)
    if np.any(off > TOLERANCE):
        chain, name = int(np.argmax(off > TOLERANCE)), target.variables[0].name
        of_rows = " on the whitened rows" if target.to_natural is not None else ""
        remedy = "one, or start='prior' for random ones" if target.orthogonal else "one, such as the identity"
        raise InputError(
            f"start gives chain {chain} a matrix {name} that is not orthogonal{of_rows}, {name} {name}' being off the "
            f"identity by {off[chain]:.3g}: give an orthogonal {remedy}"
        )
    return nearest(matrices).reshape(points.shape)


def refuse_words(target: Target, start: str) -> None:
    """A model of the user's own knows no orthogonal point to begin at."""
    name = target.variables[0].name
    raise InputError(
        f"start={start!r} gives Stiefel no orthogonal matrix to begin at: give start= an orthogonal {name}, such as "
        "the identity"
    )

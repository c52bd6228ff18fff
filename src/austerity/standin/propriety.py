"""Whether there is a posterior at all: with flat priors the rows must say something in every direction.

    collinear    A = -sum_i l_i'' has an eigenvalue 0 where the columns repeat each other
    separated    sum_i l_i rises for ever along v, so v' A v dies on the way to the "mode"

A is taken where the search begins, where every row still counts, except for models with a scale or a kink: their A
depends on the coefficients through the residuals alone and is taken at the mode.
"""

import numpy as np
from scipy.linalg import eigh

from ..engine import prior as prior_module
from ..errors import InputError
from ..models.priors import FLAT, KIND
from ..models.target import Target

SINGULAR = 1e-9  # of an eigenvalue of a matrix with unit diagonal
DEAD = 1e-4  # share of the curvature at the start
SCALES = ("sigma", "scale")  # what models call the scale of their errors
REMEDY = "give a proper prior such as Normal(0, 2.5)"


def has_flat(target: Target) -> bool:
    return bool(np.any(target.prior[:, KIND] == FLAT))


def unit_diagonal(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix with a unit diagonal, and the size (D,) of each coordinate that was divided out."""
    diagonal = np.diag(matrix)
    size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return matrix / np.outer(size, size), size


def of_likelihood(target: Target, theta: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """-f'' without the part of the prior."""
    return precision + np.diag(prior_module.derivatives(target.prior, theta)[1])


def from_residuals(target: Target) -> bool:
    """Whether A depends on the coefficients through the residuals alone."""
    return target.rounded is not None or any(name in target.labels for name in SCALES)


def refuse_perfect_fit(target: Target, theta: np.ndarray, converged: bool) -> None:
    """Residuals of nothing but rounding: the density grows without bound as sigma shrinks, whatever the priors."""
    name = next((name for name in SCALES if name in target.labels), None)
    if name is None:
        return
    scale = float(np.exp(theta[target.labels.index(name)]))
    least = 100 * float(np.finfo(target.problem.X.dtype).eps) if converged else 0.01
    if not target.rows.has_response and scale < least * target.rows.sd[0]:
        raise InputError(
            f"every value of {target.rows.names[0]} lies on a component to within rounding ({name} falls to 0, here "
            f"{scale:.2g}), so there is no posterior: give {name}= a value"
        )
    if scale < least * target.rows.y_sd:
        raise InputError(
            f"the columns reproduce {target.rows.target} to within rounding ({name} falls to 0, here {scale:.2g}), so "
            f"there is no posterior: give {name}= a value, or leave out columns that together repeat the response"
        )


def collinear(target: Target, information: np.ndarray) -> str:
    """A note where the likelihood says nothing of some direction, or a refusal where the prior does not either.

    information (K, K): A for the first K parameters.
    """
    values, vectors = eigh(unit_diagonal(information)[0])
    if values[0] >= SINGULAR:
        return ""
    part = np.abs(vectors[:, 0])
    named = [target.labels[k] for k in sorted(np.argsort(-part)[:3]) if part[k] > 0.1]
    names, alone = ", ".join(named), len(named) == 1
    fault = f"the rows say nothing of {names}" if alone else f"{names} are collinear"
    if np.all(target.prior[: part.size, KIND][part > 0.1] == FLAT):
        raise InputError(
            f"{fault} and {'its prior is' if alone else 'their priors are'} flat, so there is no posterior: drop one "
            f"or {REMEDY}"
        )
    return f"; {fault}, so only {'its prior does' if alone else 'their priors tell them apart'}"


def refuse_separation(target: Target, theta: np.ndarray, precision: np.ndarray, at_start: np.ndarray) -> None:
    """Refuse where f rises for ever along some v: its curvature has died, and theta is far along it all the same.

        P v = lambda A v,   v' A v = 1:   lambda < 1e-4 and |theta . A v| sqrt(lambda) < 1/2

    theta, precision P: at the end of the search; at_start A (K, K): coefficients come first. At a true mode theta is
    known to some share of itself along v, or lambda is no small number; neither depends on the units of columns.
    """
    size = at_start.shape[0]
    try:
        values, vectors = eigh(precision[:size, :size], at_start)
    except np.linalg.LinAlgError:  # no curvature to begin with: nothing can be told
        return
    along = np.abs(vectors.T @ at_start @ theta[:size]) * np.sqrt(np.maximum(values, 0.0))
    flat = target.prior[:size, KIND] == FLAT
    reach = np.abs(vectors) * np.sqrt(np.diag(at_start))[:, None] * flat[:, None]
    lost = np.flatnonzero((values < DEAD) & (along < 0.5) & (reach.max(axis=0) > 0.1))
    if lost.size:
        name = target.labels[int(np.argmax(reach[:, lost[0]]))]
        raise InputError(
            f"the likelihood rises for ever along {name} (the columns separate the responses perfectly) and its prior "
            f"is flat, so there is no posterior: {REMEDY}"
        )

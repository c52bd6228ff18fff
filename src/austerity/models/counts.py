"""What Poisson and negative binomial regression ask of their responses."""

import numpy as np

from ..errors import InputError
from ..rows.held import Rows
from .responses import Responses, refuse_rows


def check_counts(rows: Responses, name: str) -> None:
    """Refuse responses that are no counts."""
    wrong = (rows.y < 0) | (rows.y != np.floor(rows.y))
    refuse_rows(rows, wrong, f"{name} needs counts 0, 1, 2, ...", "give whole numbers of at least 0")


def check_size(rows: Rows, name: str) -> None:
    """Refuse counts too large to be held exactly, and those that are all zero."""
    largest = float(rows.y.max())
    if rows.y.dtype == np.float32 and largest > 2**24:
        raise InputError(f"{rows.target} reaches {largest:.0f}, more than float32 holds exactly: pass dtype='float64'")
    if largest == 0:
        raise InputError(f"{rows.target} is 0 in every row, so {name} has nothing to fit: check the column")


def minus_log_factorial(y: np.ndarray) -> np.ndarray:
    """-log y!, which the kernels of counts leave out."""
    from scipy.special import gammaln

    return np.asarray(-gammaln(y + 1.0))


def log_mean(rows: Rows) -> float:
    """Where the intercept of a log-link model begins."""
    return float(np.log(max(rows.y_mean, 1e-6)))


def log_mean_exp(rows: Rows) -> float:
    """log of the mean of exp(offset): what an offset already says of the mean under a log link."""
    if not rows.offset.size:
        return 0.0
    offset = rows.offset.astype(np.float64)
    top = float(offset.max())
    return top + float(np.log(np.mean(np.exp(offset - top))))

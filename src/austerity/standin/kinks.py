"""Likelihoods with a kink, such as |y - eta|: how widely the search for the mode rounds it off.

    width w = the share q of residuals |z| nearest to zero, z in scales;  q: a half, a tenth, then N^-0.45

The loss is without curvature but at its kink, so -f'' is read from the rows within w of it: as w shrinks that is
2 N f(0) / scale * E[x x'] for absolute deviations, f(0) the density of residuals at zero: the curvature of the expected
loss. A last w that falls faster than N^-1/4 displaces the mode by ever less of an sd of the posterior, and one that
falls more slowly than N^-1/2 keeps ever more rows within. Where so many residuals are zero that w would vanish, it is
one scale over their number, the width of the peak e^(-n |z|) that they make. All this sets where chains start and how
long steps are, and decides nothing.
"""

import numpy as np

from ..models.target import Target
from ..rows.derivatives import predictors_at

WIDE = (0.5, 0.1)  # shares at which the search begins
FEWEST = 15  # rows within w in the end, where there are as many


def last_share(n_rows: int) -> float:
    """The share of rows within w in the end."""
    return min(0.5, max(n_rows**-0.45, FEWEST / n_rows))


def narrowed(target: Target, few: Target, theta: np.ndarray, share: float) -> Target:
    """The target with its kink rounded to the width that holds this share of the residuals of a few rows at theta."""
    problem = target.problem
    eta, y = predictors_at(few.problem, theta)
    place = int(problem.extras_at[0])  # a likelihood with a kink names its scale first and its width last
    scale = np.exp(theta[place]) if place >= 0 else problem.extras[0]
    sizes = np.sort(np.abs(y - eta[0])) / scale
    times = problem.X.shape[0] / sizes.size  # rows that one of the few stands for
    least = width = float(sizes[min(sizes.size - 1, int(share * sizes.size))])
    for _ in range(3):
        width = max(least, 1.0 / (times * max(1, int(np.searchsorted(sizes, width, side="right")))))
    extras = problem.extras.copy()
    extras[-1] = width
    return target.with_problem(problem._replace(extras=extras))

"""The log prior of a state in compiled code, with its first two derivatives; formulas in models/priors.py."""

import numpy as np

from ..models.priors import (
    AS_LOGARITHM,
    CONSTANT,
    DOF,
    EMPTY,
    KIND,
    L1_NORM,
    LAPLACE,
    LOCATION,
    MASS,
    NORMAL,
    SCALE,
    SELECTED,
    STUDENT_T,
)
from .jit import engine

KINK = 1e-3  # of the scale of a Laplace prior: where derivatives round off its kink


@engine
def log_prior_of_set(table, count, norm):
    """Log mass of the set in use, of `count` coefficients, and the density that an L1 norm gives to all of them."""
    if table[0, SELECTED] == 0.0:
        return 0.0
    if count == 0:
        return table[0, EMPTY]
    if table[0, KIND] != L1_NORM:
        return table[count - 1, MASS]
    if norm < table[0, LOCATION]:
        return -np.inf
    return table[count - 1, MASS] - count * np.log(norm)


@engine
def log_prior(table, theta):
    """Sum over parameters of the log density at theta (logarithms with their Jacobian), and what they have together."""
    total, norm, count = 0.0, 0.0, 0
    for i in range(table.shape[0]):
        kind, x = table[i, KIND], theta[i]
        if table[i, SELECTED] != 0.0:
            if x == 0.0:
                continue
            norm += abs(x)
            count += 1
        if table[i, AS_LOGARITHM] != 0.0:
            total += x
            x = np.exp(x)
        z = (x - table[i, LOCATION]) / table[i, SCALE]
        if kind == NORMAL:
            total -= 0.5 * z * z
        elif kind == STUDENT_T:
            total -= 0.5 * (table[i, DOF] + 1.0) * np.log1p(z * z / table[i, DOF])
        elif kind == LAPLACE:
            total -= abs(z)
        total += table[i, CONSTANT]
    return total + log_prior_of_set(table, count, norm)


@engine
def add_log_prior_gradient(table, theta, out):
    """out += d log prior / d theta; at the kink of a Laplace prior its middle, 0."""
    for i in range(table.shape[0]):
        kind, x = table[i, KIND], theta[i]
        if table[i, AS_LOGARITHM] != 0.0:
            x = np.exp(x)
        scale = table[i, SCALE]
        z = (x - table[i, LOCATION]) / scale
        slope = 0.0
        if kind == NORMAL:
            slope = -z / scale
        elif kind == STUDENT_T:
            slope = -(table[i, DOF] + 1.0) * z / (table[i, DOF] + z * z) / scale
        elif kind == LAPLACE:
            slope = -np.sign(z) / scale
        out[i] += x * slope + 1.0 if table[i, AS_LOGARITHM] != 0.0 else slope


@np.errstate(over="ignore", invalid="ignore")  # far from the mode a trial step may overflow, and is then refused
def derivatives(table: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivatives of the log prior, parameter by parameter (they do not mix).

    The kink of a Laplace prior is rounded off within KINK of its scale, so that Newton's steps end there too.
    """
    as_log = table[:, AS_LOGARITHM] != 0
    x = np.where(as_log, np.exp(np.where(as_log, theta, 0.0)), theta)
    scale, dof = table[:, SCALE], table[:, DOF]
    z = (x - table[:, LOCATION]) / scale
    first, second = np.zeros_like(x), np.zeros_like(x)
    normal, student, laplace = (table[:, KIND] == kind for kind in (NORMAL, STUDENT_T, LAPLACE))
    first[normal], second[normal] = (-z / scale)[normal], (-1 / scale**2)[normal]
    v, t, s = dof[student], z[student], scale[student]
    first[student] = -(v + 1) * t / (v + t * t) / s
    second[student] = -(v + 1) * (v - t * t) / (v + t * t) ** 2 / s**2
    t, s, width = z[laplace], scale[laplace], KINK
    root = np.sqrt(t * t + width * width)
    first[laplace], second[laplace] = -t / root / s, -(width**2) / root**3 / s**2
    # On the log scale: d/de = x d/dx (+ 1 from the Jacobian).
    first_log = np.where(as_log, x * first + 1.0, first)
    second_log = np.where(as_log, x * first + x * x * second, second)
    return first_log, second_log

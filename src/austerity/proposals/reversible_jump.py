"""Reversible jump over sets of variables: one coefficient changes, enters or leaves.

    update   beta_j += N(0, s_u) for one j of the k in use          log q ratio 0
    birth    one j of the D - k others enters, beta_j ~ N(0, s_b)   log [P_d(k+1) / (k+1)] / [P_b(k) / (D-k) N(beta_j)]
    death    one j of the k in use leaves                           the inverse of its birth

P_u, P_b, P_d(k) are the weights of the moves that are possible from a set of k, over their sum: no birth at k = D, no
death where sets are as small as the model allows, no update of nothing. The prior's own ratio is the model's. Papers:
Green 1995; Korattikara, Chen, Welling 2014, supplement E.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..engine.jit import engine
from ..engine.problem import copy_into
from ..engine.streams import normal, uniform
from ..errors import InputError
from .base import STEP_SIZE, TAG, Setting, no_adaptation

UPDATE, BIRTH, DEATH = range(3)  # move tags
KINDS = ("update", "birth", "death")
_SIZES, _WEIGHTS, _FEWEST = 0, 2, 5  # places in the parameters: s_u, s_b; three weights; the smallest set
_TINY = 1e-300  # stands for a coefficient in use that is 0 to the last bit


@engine
def chances(parameters, count, total):
    """P_u, P_b, P_d from a set of `count` of `total` variables."""
    update = parameters[_WEIGHTS + UPDATE] if count > 0 else 0.0
    birth = parameters[_WEIGHTS + BIRTH] if count < total else 0.0
    death = parameters[_WEIGHTS + DEATH] if count > parameters[_FEWEST] else 0.0
    whole = update + birth + death
    return update / whole, birth / whole, death / whole


@engine
def log_birth_ratio(parameters, count, total, value):
    """log q(death back) - log q(birth) for the variable that makes a set of `count` one of `count` + 1."""
    spread = parameters[_SIZES + BIRTH]
    back = chances(parameters, count + 1, total)[DEATH] / (count + 1)
    forth = chances(parameters, count, total)[BIRTH] / (total - count)
    log_density = -0.5 * (value / spread) ** 2 - np.log(spread * np.sqrt(2.0 * np.pi))
    return np.log(back) - np.log(forth) - log_density


@engine
def one_of(stream, indices, state, count):
    """The place of one of the `count` variables whose index is `state`, each as likely as the others."""
    rank = min(np.int64(uniform(stream) * count), count - 1)
    for j in range(indices.size):
        if indices[j] == state:
            if rank == 0:
                return j
            rank -= 1
    return 0


@engine
def propose(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """One move of a kind possible from here; see the formulas at the top."""
    copy_into(proposed, theta)
    copy_into(proposed_indices, indices)
    count, total = np.int64(0), indices.size
    for j in range(total):
        count += indices[j]
    _, birth, death = chances(parameters, count, total)
    u = uniform(stream)
    kind = DEATH if u < death else BIRTH if u < death + birth else UPDATE  # never one of chance 0
    place = one_of(stream, indices, np.int64(kind != BIRTH), total - count if kind == BIRTH else count)
    report[TAG] = kind
    report[STEP_SIZE] = parameters[_SIZES + UPDATE] if kind == UPDATE else parameters[_SIZES + BIRTH]
    if kind == DEATH:
        proposed[place], proposed_indices[place] = 0.0, 0
        return -log_birth_ratio(parameters, count - 1, total, theta[place])
    value = theta[place] + parameters[_SIZES + kind] * normal(stream)
    proposed[place] = value if value != 0.0 else _TINY
    proposed_indices[place] = 1
    return 0.0 if kind == UPDATE else log_birth_ratio(parameters, count, total, value)


def _positive(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 < float(value) < float("inf")


@dataclass(frozen=True)
class ReversibleJump:
    """For `models.VariableSelection`: update (N(0, `update`) steps), birth (N(0, `birth`) coefficients) and death.

    weights: of the three kinds of move, in this order; where one is impossible the others share its part.
    """

    update: float = 0.01
    birth: float = 0.1
    weights: tuple[float, float, float] = (2.0, 1.0, 1.0)

    symmetric = False
    independent = False
    needs_mode = False
    moves_sets = True
    kinds = KINDS

    def __post_init__(self) -> None:
        for name in ("update", "birth"):
            if not _positive(getattr(self, name)):
                value = getattr(self, name)
                raise InputError(f"ReversibleJump({name}={value!r}): a standard deviation, give a positive number")
        given = self.weights
        if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 3 or not all(map(_positive, given)):
            raise InputError(
                f"ReversibleJump(weights={given!r}): give three positive numbers, for update, birth and death"
            )
        object.__setattr__(self, "weights", tuple(float(weight) for weight in given))

    def parameters(self, setting: Setting) -> np.ndarray:
        if setting.fewest is None:
            raise InputError(
                "ReversibleJump moves between sets of variables, and this model always uses all of its own: give "
                "models.VariableSelection(), or another proposal"
            )
        return np.array([self.update, self.birth, *self.weights, setting.fewest], dtype=np.float64)

    def initial_state(self, setting: Setting) -> np.ndarray:
        return np.zeros(1)

    def propose(self) -> Any:
        return propose

    def adapt(self) -> Any:
        return no_adaptation

    def settings(self) -> dict[str, Any]:
        return {
            "move": "ReversibleJump",
            "update": float(self.update),
            "birth": float(self.birth),
            "weights": list(self.weights),
        }

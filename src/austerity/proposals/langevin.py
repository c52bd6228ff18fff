"""Langevin steps along the gradient of a batch of rows (SGLD), corrected by a decision or not.

    theta' = theta + (a/2) P G(theta) + sqrt(a) P^(1/2) z,      G = d log prior + (N / (n T)) sum_{i in batch} d l_i

The batch X_n is drawn afresh at every step, whatever theta is. For a given batch the proposal is an ordinary density
q(theta'|theta, X_n), so a decision with

    q ratio = q(theta|theta', X_n) / q(theta'|theta, X_n),     G and P of *the same batch* at theta and at theta',

keeps the posterior batch by batch, and so on average. With a constant P = R R' and theta' = theta + R w, g = R' G:

    log q ratio = -w.(g + g')/2 - (a/8) (g'.g' - g.g)

Fisher scoring takes P(theta) = I(theta)^-1, the batch's own information: a state-dependent P enters both densities,

    log q ratio = log |B| - log |C| - (|y|^2 - |z|^2)/2,   C C' = I(theta),   B B' = I(theta')
    y = -[B'(theta' - theta) + (a/2) B^-1 G(theta')] / sqrt(a)

where y is the noise that would bring the chain back. The batch must not be what the test reads first: those rows chose
theta' because they like it. They come last in the order of the decision.

Papers: Welling, Teh 2011; Ahn, Korattikara, Welling 2012; Korattikara, Chen, Welling 2014.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..decisions.base import RATE
from ..engine.jit import bare, engine
from ..engine.problem import copy_into
from ..engine.streams import PROPOSAL, fill_normal_plain
from ..errors import InputError
from ..models.priors import FLAT, KIND, SCALE
from ..rows.gradients import batch_gradient, draw_batch
from .base import ROWS_USED, STEP_SIZE, Setting, lower_times, no_adaptation, no_proposal
from .random_walk import root_of

# Places in the parameters: a (b + t)^-c, rows of a batch, whether it is corrected, whether the root is a matrix.
_SCALE, _DELAY, _POWER, _BATCH, _CORRECTED, _FULL, _ROOT = range(7)
MALA_SCALE = 1.65  # Roberts, Rosenthal 1998


@engine
def step_at(parameters, step):
    """a (b + t)^-c."""
    if parameters[_POWER] == 0.0:
        return parameters[_SCALE]
    return parameters[_SCALE] * (parameters[_DELAY] + np.float64(step)) ** -parameters[_POWER]


@engine
def _times_root(parameters, vector, out):
    """out = R vector."""
    if parameters[_FULL] != 0.0:
        lower_times(parameters[_ROOT:].reshape((out.size, out.size)), vector, out)
    else:
        for i in range(out.size):
            out[i] = parameters[_ROOT + i] * vector[i]


@engine
def _times_root_transposed(parameters, vector, out):
    """out = R' vector."""
    if parameters[_FULL] == 0.0:
        _times_root(parameters, vector, out)
        return
    root = parameters[_ROOT:].reshape((out.size, out.size))
    for j in range(out.size):
        out[j] = 0.0
    for i in range(out.size):
        for j in range(i + 1):
            out[j] += root[i, j] * vector[i]


@engine
def _dot(first, second):
    total = 0.0
    for i in range(first.size):
        total += first[i] * second[i]
    return total


@bare
def _gradient(reader, prior, temperature, parameters, theta, out, information):
    """G of this step's batch at theta, and f sum w s s' where there is room for it."""
    source, room = reader.questions.source, reader.room
    problem, batch = source.problem, np.int64(parameters[_BATCH])
    factor = problem.X.shape[0] / (batch * temperature)
    numbers = room.numbers[:batch]
    batch_gradient(problem, source.work, room, reader.slopes, numbers, prior, theta, factor, out, information)


@engine
def _or_refused(ratio, gradient):
    """A way back that overflows has no density: such a proposal is refused. What begins with NaN stays NaN."""
    if np.isnan(ratio) and np.isfinite(_dot(gradient, gradient)):
        return -np.inf
    return ratio


@bare
def move_by_root(
    reader,
    prior,
    temperature,
    key,
    theta,
    indices,
    parameters,
    state,
    streams,
    proposed,
    proposed_indices,
    report,
    rule_state,
    decision_report,
):
    """A step with a constant preconditioner."""
    source = reader.questions.source
    numbers, none = reader.room.numbers[: np.int64(parameters[_BATCH])], reader.matrices[0, :0, :0]
    step = step_at(parameters, streams[PROPOSAL, 2])
    gradient, slope, slope_back, w = reader.vectors[0], reader.vectors[1], reader.vectors[2], reader.vectors[3]
    draw_batch(source.work, source.problem.X.shape[0], key, numbers)
    report[ROWS_USED], report[STEP_SIZE] = numbers.size, step
    _gradient(reader, prior, temperature, parameters, theta, gradient, none)
    _times_root_transposed(parameters, gradient, slope)
    fill_normal_plain(streams[PROPOSAL], w)
    for i in range(w.size):
        w[i] = 0.5 * step * slope[i] + np.sqrt(step) * w[i]
    _times_root(parameters, w, proposed)
    for i in range(w.size):
        proposed[i] += theta[i]
    copy_into(proposed_indices, indices)
    if parameters[_CORRECTED] == 0.0:
        decision_report[RATE] = 1.0
        return 0.0
    _gradient(reader, prior, temperature, parameters, proposed, gradient, none)
    _times_root_transposed(parameters, gradient, slope_back)
    squares = _dot(slope_back, slope_back) - _dot(slope, slope)
    ratio = -0.5 * (_dot(w, slope) + _dot(w, slope_back)) - 0.125 * step * squares
    return _or_refused(ratio, slope)


@engine
def factorise(matrix):
    """Lower triangular C with C C' = matrix in place of its lower triangle; False where there is none."""
    for j in range(matrix.shape[0]):
        for k in range(j + 1):
            total = matrix[j, k]
            for i in range(k):
                total -= matrix[j, i] * matrix[k, i]
            if k < j:
                matrix[j, k] = total / matrix[k, k]
            elif total > 0.0:
                matrix[j, j] = np.sqrt(total)
            else:
                return False
    return True


@engine
def _solve(root, vector):
    """vector <- C^-1 vector."""
    for i in range(vector.size):
        for j in range(i):
            vector[i] -= root[i, j] * vector[j]
        vector[i] /= root[i, i]


@engine
def _solve_transposed(root, vector):
    """vector <- C'^-1 vector."""
    for i in range(vector.size - 1, -1, -1):
        for j in range(i + 1, vector.size):
            vector[i] -= root[j, i] * vector[j]
        vector[i] /= root[i, i]


@bare
def _scored(reader, prior, temperature, parameters, theta, slope, root):
    """C of the information at theta, and C^-1 G; False where the information of the batch is singular."""
    for j in range(root.shape[0]):
        for k in range(j + 1):
            root[j, k] = 0.0
        if prior[j, KIND] != FLAT:
            root[j, j] = 1.0 / (prior[j, SCALE] * prior[j, SCALE])
    _gradient(reader, prior, temperature, parameters, theta, slope, root)
    if not factorise(root):
        return False
    _solve(root, slope)
    return True


@bare
def move_by_fisher(
    reader,
    prior,
    temperature,
    key,
    theta,
    indices,
    parameters,
    state,
    streams,
    proposed,
    proposed_indices,
    report,
    rule_state,
    decision_report,
):
    """A step of Fisher scoring: theta' = theta + C'^-1 ((a/2) C^-1 G + sqrt(a) z)."""
    source, numbers = reader.questions.source, reader.room.numbers[: np.int64(parameters[_BATCH])]
    step = step_at(parameters, streams[PROPOSAL, 2])
    root, root_back = reader.matrices[0], reader.matrices[1]
    slope, slope_back, noise, back = reader.vectors[0], reader.vectors[1], reader.vectors[2], reader.vectors[3]
    copy_into(proposed, theta)
    copy_into(proposed_indices, indices)
    draw_batch(source.work, source.problem.X.shape[0], key, numbers)
    report[ROWS_USED], report[STEP_SIZE] = numbers.size, step
    decision_report[RATE] = 1.0
    if not _scored(reader, prior, temperature, parameters, theta, slope, root):
        decision_report[RATE] = 0.0
        return (
            -np.inf if parameters[_CORRECTED] != 0.0 else 0.0
        )  # no density to leave by with this batch, nor to come back
    fill_normal_plain(streams[PROPOSAL], noise)
    for i in range(back.size):
        back[i] = 0.5 * step * slope[i] + np.sqrt(step) * noise[i]
    _solve_transposed(root, back)
    for i in range(back.size):
        proposed[i] += back[i]
    if parameters[_CORRECTED] == 0.0:
        return 0.0
    decision_report[RATE] = 0.0
    if not _scored(reader, prior, temperature, parameters, proposed, slope_back, root_back):
        return -np.inf
    ratio = 0.0
    for j in range(back.size):  # z' = -(C_back' (theta' - theta) + (a/2) C_back^-1 G_back) / sqrt(a)
        total = 0.5 * step * slope_back[j]
        for i in range(j, back.size):
            total += root_back[i, j] * back[i]
        ratio += np.log(root_back[j, j] / root[j, j]) - 0.5 * (total * total / step - noise[j] * noise[j])
    return _or_refused(ratio, slope)


def _refuse_step(step: Any) -> None:
    """A number, or (a, b, c); finite and positive."""
    sentence = f"Langevin(step={step!r}): give a positive number, or (a, b, c) for steps a (b + t)^-c"
    parts = step if isinstance(step, (tuple, list)) else (step, 1.0, 0.0)
    if len(parts) != 3 or any(isinstance(v, (bool, str)) or not isinstance(v, Real) for v in parts):
        raise InputError(sentence)
    a, b, c = (float(v) for v in parts)
    if not (0 < a < np.inf and 0 < b < np.inf and 0 <= c < np.inf):
        raise InputError(sentence + (", with a and b positive and c at least 0" if parts is step else ""))


@dataclass(frozen=True, eq=False)
class Langevin:
    """Langevin steps along the gradient of `batch` rows; a decision corrects them unless `corrected=False`.

    step: the variance `a` of a step in units of the preconditioner, or (a, b, c) for a (b + t)^-c at step t; None takes
    the smaller of 1.65^2 d^(-1/3), right for the gradient of all rows, and n / (N d), where the noise of a batch of n
    begins to rule (not without a preconditioner, whose units nobody knows).
    preconditioner: None; "diagonal" or "full", from the curvature at the mode; "fisher", the inverse information of the
    batch itself; or variances (D,) or a covariance (D, D) of your own.
    """

    step: Any = None
    batch: int = 500
    preconditioner: str | ArrayLike | None = None
    corrected: bool = True

    symmetric = False
    independent = False

    def __post_init__(self) -> None:
        if isinstance(self.batch, bool) or not isinstance(self.batch, Integral) or int(self.batch) < 1:
            raise InputError(f"Langevin(batch={self.batch!r}): give a whole number of rows, at least 1")
        if not isinstance(self.corrected, (bool, np.bool_)):
            raise InputError(f"Langevin(corrected={self.corrected!r}): give True or False")
        if isinstance(self.preconditioner, str):
            if self.preconditioner not in ("diagonal", "full", "fisher"):
                raise InputError(
                    f"Langevin(preconditioner={self.preconditioner!r}): give None, 'diagonal', 'full', 'fisher', "
                    "variances or a covariance"
                )
        elif self.preconditioner is not None:
            self._check_matrix()
        if self.step is not None:
            _refuse_step(self.step)
        elif self.preconditioner is None:
            raise InputError(
                "Langevin() knows no step for parameters in units of their own: give step=, or preconditioner='full'"
            )

    def _check_matrix(self) -> None:
        name = "Langevin(preconditioner=...)"
        try:
            matrix = np.asarray(self.preconditioner, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name}={self.preconditioner!r}: give variances (D,) or a covariance (D, D)") from None
        if matrix.ndim not in (1, 2) or (matrix.ndim == 2 and matrix.shape[0] != matrix.shape[1]):
            raise InputError(f"{name} has shape {matrix.shape}: give variances (D,) or a covariance (D, D)")
        if not np.all(np.isfinite(matrix)):
            raise InputError(f"{name} holds NaN or infinity: give finite numbers")
        if matrix.ndim == 1 and not np.all(matrix > 0):
            place = int(np.argmin(matrix))
            raise InputError(f"{name} holds {matrix[place]:g} at place {place}: give positive variances")
        if matrix.ndim == 2:
            root_of(matrix, name)

    @property
    def needs_mode(self) -> bool:
        return isinstance(self.preconditioner, str) and self.preconditioner in ("diagonal", "full")

    @property
    def complete(self) -> bool:
        return not self.corrected

    @property
    def decides(self) -> bool:
        return bool(self.corrected)

    @property
    def information(self) -> bool:
        return isinstance(self.preconditioner, str) and self.preconditioner == "fisher"

    def check(self, target: Any, acceptance: Any) -> None:
        if target.kernels is None:
            raise InputError(
                f"Langevin needs derivatives in compiled code, which {target.name} has not: take a family with linear "
                "predictors, or another proposal"
            )
        if target.n_indices:
            raise InputError(f"Langevin moves every coefficient, but {target.name} leaves some out: take another move")
        if self.batch > target.rows.n:
            raise InputError(
                f"Langevin(batch={self.batch}) asks for more rows than the {target.rows.n} there are: "
                f"give a batch of at most {target.rows.n}"
            )
        if self.information and self.batch < 2 * target.size:
            raise InputError(
                f"Langevin(batch={self.batch}, preconditioner='fisher') inverts a matrix of {target.size} parameters "
                f"made of {self.batch} rows: give a batch of at least {2 * target.size}"
            )

    def _root(self, setting: Setting) -> np.ndarray:
        """R: a vector where the preconditioner is diagonal, else a matrix."""
        if self.preconditioner is None or self.information:
            return np.ones(setting.size)
        if isinstance(self.preconditioner, str):
            assert setting.root is not None
            if self.preconditioner == "full":
                return setting.root
            inverse = np.linalg.inv(setting.root)
            return np.asarray(1.0 / np.sqrt(np.sum(inverse * inverse, axis=0)))  # diagonal of the curvature
        matrix = np.asarray(self.preconditioner, dtype=np.float64)
        if matrix.shape[0] != setting.size:
            raise InputError(
                f"Langevin(preconditioner=...) is for {matrix.shape[0]} parameters, but the model has {setting.size}: "
                "give one for each, in the order of the model's parameters"
            )
        return np.sqrt(matrix) if matrix.ndim == 1 else root_of(matrix, "Langevin(preconditioner=...)")

    def parameters(self, setting: Setting) -> np.ndarray:
        root = self._root(setting)
        if self.step is None:
            a = min(MALA_SCALE**2 / setting.size ** (1 / 3), self.batch / (setting.n_rows * setting.size))
            schedule = [a, 1.0, 0.0]
        else:
            schedule = [float(v) for v in (self.step if isinstance(self.step, (tuple, list)) else (self.step, 1, 0))]
        return np.concatenate([schedule, [self.batch, self.corrected, root.ndim == 2], root.ravel()])

    def initial_state(self, setting: Setting) -> np.ndarray:
        return np.zeros(1)

    def propose(self) -> Any:
        return no_proposal

    def move(self) -> Any:
        return move_by_fisher if self.information else move_by_root

    def adapt(self) -> Any:
        return no_adaptation

    def settings(self) -> dict[str, Any]:
        given = self.preconditioner
        matrix = given if given is None or isinstance(given, str) else np.asarray(given, dtype=np.float64).tolist()
        step = [float(v) for v in self.step] if isinstance(self.step, (tuple, list)) else self.step
        return {
            "move": "Langevin",
            "step": step if step is None or isinstance(step, list) else float(step),
            "batch": int(self.batch),
            "preconditioner": matrix,
            "corrected": bool(self.corrected),
        }

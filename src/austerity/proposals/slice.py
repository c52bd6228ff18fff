"""Slice sampling: step out, shrink, and let the decision answer every question "is theta' inside the slice?".

    inside:  sum_i [l_i(theta') - l_i(theta)] / T  >  log u - [log prior(theta') - log prior(theta)]

u is drawn once a move: the stream of the decision begins at the same place for every question. Each question draws its
own rows. Along theta + s v an interval of length 1 in s is laid over s = 0 at random, stepped out until both ends are
outside (or `max_steps_out` steps are made, shared at random between the ends), and candidates are drawn from it; one
that is outside becomes its new end on that side (Neal 2003). v is `width_k` times a coordinate vector, k at random, or
R z / |z| with R the widths (a vector) or, by default, 3 times the root of the covariance at the mode.

Only rules that decide a threshold they are given can answer. The answer to the last question is where the chain goes.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..decisions.base import EXHAUSTED, LOOKS, NOT_A_NUMBER, RATE, ROWS_READ, STATUS
from ..engine.jit import bare
from ..engine.prior import log_prior
from ..engine.problem import copy_into
from ..engine.streams import DECISION, PROPOSAL, ROWS, fill_normal_plain, next_bits, uniform
from ..errors import InputError
from .base import STEP_SIZE, Setting, lower_times, no_adaptation, no_proposal

# Places in the parameters: most steps out, whether directions are random, whether the widths are a matrix, the widths.
_STEPS_OUT, _RANDOM, _FULL, _WIDTHS = range(4)
WIDTH = 3.0  # in standard deviations: what a slice of a normal density measures, and a little more
_READ, _LOOKED, _ALL, _FAULT = range(4)  # places in the tally of a move's questions


@bare
def choose_direction(parameters, stream, direction, room):
    """v into direction (D,); returns its length."""
    size = direction.size
    widths = parameters[_WIDTHS:]
    if parameters[_RANDOM] == 0.0:
        k = min(np.int64(uniform(stream) * size), size - 1)
        for i in range(size):
            direction[i] = 0.0
        direction[k] = widths[k]
        return widths[k]
    fill_normal_plain(stream, room)
    squares = 0.0
    for i in range(size):
        squares += room[i] * room[i]
    for i in range(size):
        room[i] /= np.sqrt(squares)
    if parameters[_FULL] != 0.0:
        lower_times(widths.reshape((size, size)), room, direction)
    else:
        for i in range(size):
            direction[i] = widths[i] * room[i]
    length = 0.0
    for i in range(size):
        length += direction[i] * direction[i]
    return np.sqrt(length)


class Line(NamedTuple):
    """theta + s v, and all that a question about a point of it takes."""

    reader: Any
    prior: np.ndarray
    temperature: float
    theta: np.ndarray
    indices: np.ndarray
    direction: np.ndarray
    streams: np.ndarray
    candidate: np.ndarray
    candidate_indices: np.ndarray
    rule_state: np.ndarray
    report: np.ndarray
    tally: np.ndarray


@bare
def is_inside(line, s):
    """The answer about theta + s v, with the u of this move and rows of its own; adds what it read to the tally."""
    theta, candidate, streams, report, tally = line.theta, line.candidate, line.streams, line.report, line.tally
    same = True
    for i in range(theta.size):
        candidate[i] = theta[i] + s * line.direction[i]
        same = same and candidate[i] == theta[i]
    copy_into(line.candidate_indices, line.indices)
    if same:
        return True
    log_a0 = log_prior(line.prior, candidate) - log_prior(line.prior, theta)
    if np.isnan(log_a0):
        tally[_FAULT] = NOT_A_NUMBER
    if not log_a0 > -np.inf:
        return False
    streams[DECISION, 3] = np.uint64(0)
    inside = line.reader.ask(
        line.reader.questions,
        log_a0,
        line.temperature,
        theta,
        line.indices,
        candidate,
        line.candidate_indices,
        next_bits(streams[ROWS]),
        np.int64(0),
        streams[DECISION],
        line.rule_state,
        report,
    )
    tally[_READ] += report[ROWS_READ]
    tally[_LOOKED] += report[LOOKS]
    tally[_ALL] += report[EXHAUSTED]
    tally[_FAULT] = max(tally[_FAULT], report[STATUS])
    return inside != 0


@bare
def step_out(line, end, direction, most):
    """The end after at most `most` unit steps outwards, made while it is inside."""
    while most > 0.0 and line.tally[_FAULT] == 0.0 and is_inside(line, end):
        end += direction
        most -= 1.0
    return end


@bare
def shrink(line, left, right, stream):
    """Draw from the interval until a point is inside; those outside become its ends. The candidate is the answer."""
    while line.tally[_FAULT] == 0.0:
        s = left + uniform(stream) * (right - left)
        if is_inside(line, s):
            break
        if s < 0.0:
            left = s
        else:
            right = s


@bare
def move(
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
    """One slice move; proposed is where the chain goes."""
    stream, direction, tally = streams[PROPOSAL], reader.vectors[0], state
    for k in range(4):
        tally[k] = 0.0
    report[STEP_SIZE] = choose_direction(parameters, stream, direction, reader.vectors[1])
    line = Line(
        reader,
        prior,
        temperature,
        theta,
        indices,
        direction,
        streams,
        proposed,
        proposed_indices,
        rule_state,
        decision_report,
        tally,
    )
    left, most = -uniform(stream), parameters[_STEPS_OUT]
    outwards = np.floor(uniform(stream) * (most + 1.0))
    right = left + 1.0
    left = step_out(line, left, -1.0, outwards)
    right = step_out(line, right, 1.0, most - outwards)
    shrink(line, left, right, stream)
    decision_report[ROWS_READ], decision_report[LOOKS] = tally[_READ], tally[_LOOKED]
    decision_report[EXHAUSTED], decision_report[STATUS], decision_report[RATE] = tally[_ALL], tally[_FAULT], 1.0
    return 0.0


@dataclass(frozen=True, eq=False)
class Slice:
    """Slice sampling along coordinates or random directions; no step size to tune.

    width: the first interval, a number or one a parameter; None takes 3 standard deviations from the curvature at the
    mode. directions: "coordinates" or "random". max_steps_out: steps by which the interval may grow, on both sides
    together; 0 shrinks only.
    """

    width: ArrayLike | None = None
    directions: str = "coordinates"
    max_steps_out: int = 16

    symmetric = False
    independent = False
    complete = True
    decides = True
    batch = 0
    information = False

    def __post_init__(self) -> None:
        if self.directions not in ("coordinates", "random"):
            raise InputError(f"Slice(directions={self.directions!r}): give 'coordinates' or 'random'")
        steps = self.max_steps_out
        if isinstance(steps, bool) or not isinstance(steps, Integral) or int(steps) < 0:
            raise InputError(f"Slice(max_steps_out={steps!r}): give a whole number of at least 0")
        if self.width is None:
            return
        try:
            width = np.asarray(self.width, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"Slice(width={self.width!r}): give a number, or one for each parameter") from None
        if width.ndim > 1:
            raise InputError(f"Slice(width=...) has shape {width.shape}: give a number, or one for each parameter")
        if not np.all(np.isfinite(width)) or not np.all(width > 0):
            place = int(np.argmin(np.where(np.isfinite(width), width, -np.inf)))
            where = f" at place {place}" if width.ndim else ""
            raise InputError(f"Slice(width=...) holds {width.flat[place]:g}{where}: give positive widths")

    @property
    def needs_mode(self) -> bool:
        return self.width is None

    def check(self, target: Any, acceptance: Any) -> None:
        if target.n_indices:
            raise InputError(f"Slice moves every coefficient, but {target.name} leaves some out: take another move")
        if not isinstance(acceptance, str) and not acceptance.given_threshold:
            raise InputError(
                f"Slice asks whether a sum lies above a given threshold, which {type(acceptance).__name__} does not "
                "decide: take Exact() or SequentialT()"
            )

    def _widths(self, setting: Setting) -> np.ndarray:
        """(D,), or (D, D) for random directions by the covariance at the mode."""
        if self.width is None:
            assert setting.root is not None
            if self.directions == "random":
                return WIDTH * setting.root
            inverse = np.linalg.inv(setting.root)
            return np.asarray(WIDTH / np.sqrt(np.sum(inverse * inverse, axis=0)))  # given all other parameters
        width = np.asarray(self.width, dtype=np.float64)
        if width.ndim and width.shape[0] != setting.size:
            raise InputError(
                f"Slice(width=...) is for {width.shape[0]} parameters, but the model has {setting.size}: "
                "give one for each, in the order of the model's parameters"
            )
        return np.broadcast_to(width, setting.size).astype(np.float64)

    def parameters(self, setting: Setting) -> np.ndarray:
        widths = self._widths(setting)
        head = [float(self.max_steps_out), float(self.directions == "random"), float(widths.ndim == 2)]
        return np.concatenate([head, widths.ravel()])

    def initial_state(self, setting: Setting) -> np.ndarray:
        return np.zeros(4)  # scratch: the tally of a move's questions

    def propose(self) -> Any:
        return no_proposal

    def move(self) -> Any:
        return move

    def adapt(self) -> Any:
        return no_adaptation

    def settings(self) -> dict[str, Any]:
        width = None if self.width is None else np.asarray(self.width, dtype=np.float64).tolist()
        return {
            "move": "Slice",
            "width": width,
            "directions": self.directions,
            "max_steps_out": int(self.max_steps_out),
        }

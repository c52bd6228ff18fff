"""A model of the user's own: the log likelihood of a row, compiled, or of a block of rows, in plain NumPy.

    row(theta, x, y) -> float                       x (d,) one row, y its response; Numba-compilable
    block(points, X, y) -> (n, K)                   points (K, D), X (n, d), y (n,); plain NumPy, K points a call
    gradient(theta, X, y) -> (D,)                   optional: of the sum over the rows given, used to find the mode

theta is flat and holds natural values, parameters in the order they are named. A parameter called positive is moved
on the log scale; its prior is given on the natural one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import njit, objmode, types
from numba.core.errors import NumbaError

from ..decisions.base import FINE, USER_RAISED
from ..engine.jit import ENGINE, engine, pointer
from ..engine.problem import (
    HANDLE,
    SHAPES,
    USER,
    Problem,
    block_signature,
    compiled_gather,
    compiled_kernel,
    no_kernel,
    no_total,
    total_signature,
)
from ..errors import InputError, ModelError
from ..report.variables import Variable
from ..rows.held import Rows
from .priors import PRIORS, Prior, table
from .target import Target
from .user_cache import compile_source, digest
from .user_trial import shape_of, try_likelihood

# Its name is found in no other module: Python looks for it in all of them when compiled code is kept.
_ROW_WRAPPER = """
def austerity_block(handle, X, y, points, indices, out):
    natural = np.empty(points.shape[1])
    try:
        for k in range(points.shape[0]):
            for j in range(natural.size):
                natural[j] = points[k, j]
            for place in positive:
                if place >= 0:
                    natural[place] = np.exp(points[k, place])
            for i in range(X.shape[0]):
                out[k, i] = row(natural, X[i], y[i if y.size else 0] if y.size else X.dtype.type(0))
    except Exception:
        return 2
    return 0
"""


@dataclass
class _Registered:
    """A likelihood known by number: to call it from compiled code, or to say what it raised."""

    function: Callable[..., Any]
    positive: np.ndarray
    error: str = ""


_registry: list[_Registered] = []


def _call_registered(handle: int, X: Any, y: Any, points: Any, out: Any) -> int:
    """Call a NumPy likelihood; faults become a status and a remembered sentence."""
    entry = _registry[handle]
    natural = np.array(points)
    natural[:, entry.positive] = np.exp(natural[:, entry.positive])
    try:
        values = np.asarray(entry.function(natural, X, y))
        if values.shape != (X.shape[0], points.shape[0]):
            entry.error = (
                f"returned shape {values.shape} for {X.shape[0]} rows and {points.shape[0]} points "
                f"(expected {(X.shape[0], points.shape[0])})"
            )
            return USER_RAISED
        if values.dtype.kind not in "fiub":
            entry.error = f"returned values of type {values.dtype}"
            return USER_RAISED
        out[:] = values.T
    except Exception as error:
        entry.error = f"raised {type(error).__name__}: {error}"
        return USER_RAISED
    return FINE


@engine
def call_numpy(handle, X, y, points, indices, out):
    """The block function of every NumPy likelihood: holds the interpreter while it is called."""
    with objmode(status="int64"):
        status = _call_registered(handle, X, y, points, out)
    return status


@dataclass(frozen=True, eq=False)
class Model:
    """A likelihood of your own, its parameters and their priors."""

    parameters: Mapping[str, Any]
    row: Callable[..., Any] | None = None
    block: Callable[..., Any] | None = None
    gradient: Callable[..., Any] | None = None
    positive: Sequence[str] = ()
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    initial: Mapping[str, Any] = field(default_factory=dict)

    centre_columns = False
    centre_response = False

    def __post_init__(self) -> None:
        if (self.row is None) == (self.block is None):
            raise InputError(
                "Model: give either row= (one row, compiled) or block= (many rows, NumPy), not both or none"
            )
        for name, function in (("row", self.row), ("block", self.block), ("gradient", self.gradient)):
            if function is not None and not callable(function):
                raise InputError(f"Model({name}={function!r}): give a function")
        if not isinstance(self.parameters, Mapping) or not self.parameters:
            raise InputError("Model: parameters= maps each name to its prior, such as {'mu': priors.Normal(0, 10)}")
        for name, prior in self.parameters.items():
            if not isinstance(prior, PRIORS):
                raise InputError(f"Model: the prior of {name!r} is {prior!r}: give one such as priors.Normal(0, 1)")
        if isinstance(self.positive, str):
            raise InputError(f"Model: positive={self.positive!r} is text: give a list of names, [{self.positive!r}]")
        for what, names in (("positive", self.positive), ("shapes", self.shapes), ("initial", self.initial)):
            unknown = [name for name in names if name not in self.parameters]
            if unknown:
                raise InputError(f"Model: {what} names {unknown[0]!r}, but the parameters are {list(self.parameters)}")

    def _variables(self) -> list[Variable]:
        out, place = [], 0
        for name in self.parameters:
            shape = shape_of(name, self.shapes.get(name, ()))
            dims = tuple(f"{name}_dim_{k}" for k in range(len(shape)))
            size = int(np.prod(shape))
            coords = {dim: list(range(n)) for dim, n in zip(dims, shape, strict=True)}
            out.append(Variable(name, dims, coords, place, place + size))
            place += size
        return out

    def _initial(self, variables: list[Variable], as_log: np.ndarray) -> np.ndarray:
        out = np.where(as_log, 1.0, 0.0)
        for variable in variables:
            if variable.name in self.initial:
                given = self.initial[variable.name]
                try:
                    value = np.broadcast_to(np.asarray(given, dtype=np.float64), variable.shape)
                except (TypeError, ValueError):
                    raise InputError(
                        f"Model: initial[{variable.name!r}] is {given!r}: give numbers of shape {variable.shape}"
                    ) from None
                positive = bool(as_log[variable.start])
                if not np.all(np.isfinite(value)) or (positive and not np.all(value > 0)):
                    kind = "positive" if positive else "finite"
                    raise InputError(f"Model: initial[{variable.name!r}] is {given!r}: give {kind} numbers")
                out[variable.start : variable.stop] = value.ravel()
        out[as_log] = np.log(out[as_log])
        return out

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior of this model on these rows."""
        if intercept or standardize:
            raise InputError("intercept and standardize are for models with linear predictors: write them into yours")
        if rows.offset.size:
            raise InputError("offset is for models with linear predictors: pass it as a column and use it in yours")
        rows = rows_as_given(rows)
        variables = self._variables()
        priors: list[Prior] = [self.parameters[v.name] for v in variables for _ in range(v.size)]
        as_log = np.array([v.name in self.positive for v in variables for _ in range(v.size)])
        initial = self._initial(variables, as_log)
        labels = [label for v in variables for label in v.labels()]
        try_likelihood(self.row, self.block, rows, np.where(as_log, np.exp(initial), initial), labels)
        problem = self._problem(rows, as_log)
        target = Target(
            name="Model",
            rows=rows,
            problem=problem,
            prior=table(priors, list(as_log)),
            priors=priors,
            labels=labels,
            variables=variables,
            gradient=self.gradient,
            initial=initial,
            options=self._options(),
            interpreted=self.block is not None,
        )
        return target

    def _options(self) -> dict[str, Any]:
        """Everything that a draw depends on, as stored with the draws."""
        likelihood = self.row or self.block
        return {
            "likelihood": digest(likelihood) or getattr(likelihood, "__name__", "?"),
            "gradient": None if self.gradient is None else digest(self.gradient) or "?",
            "positive": sorted(self.positive),
            "initial": {name: np.asarray(value, dtype=np.float64).tolist() for name, value in self.initial.items()},
        }

    def _problem(self, rows: Rows, as_log: np.ndarray) -> Problem:
        real = types.float32 if rows.X.dtype == np.float32 else types.float64
        shape = np.zeros(SHAPES, np.int64)
        shape[USER] = 1
        places = np.flatnonzero(as_log)
        _registry.append(_Registered(self.row or self.block, places))  # type: ignore[arg-type]
        shape[HANDLE] = len(_registry) - 1
        if self.block is not None:
            block = pointer(call_numpy, block_signature(real))
        else:
            block = self._compiled_block(places, real)
        empty = np.zeros(0)
        return Problem(
            X=rows.X,
            y=rows.y if rows.y.size else np.zeros(rows.n, rows.X.dtype),
            offset=rows.offset,
            weights=rows.weights,
            slope=np.ones(rows.d),
            shift=np.zeros(rows.d),
            base=0.0,
            affine=np.zeros((0, 0)),
            shape=shape,
            extras=empty,
            extras_at=np.zeros(0, np.int64),
            kernel=compiled_kernel(no_kernel, real),
            kernel_double=compiled_kernel(no_kernel, types.float64),
            total=pointer(no_total, total_signature(real)),
            block=block,
            gather=compiled_gather(0, real),
        )

    def _compiled_block(self, places: np.ndarray, real: Any) -> Any:
        """The user's row function inside a loop over rows, compiled once and kept on disk."""
        assert self.row is not None
        positive = tuple(int(p) for p in places) or (-1,)
        row = self.row if hasattr(self.row, "py_func") else njit(**ENGINE)(self.row)
        source = f"# {digest(self.row)}\nimport numpy as np\npositive = {positive!r}\n{_ROW_WRAPPER}"
        dispatcher = compile_source(source, "austerity_block", {"row": row}, digest(self.row, positive, str(real)))
        try:
            return pointer(dispatcher, block_signature(real))
        except NumbaError as error:
            raise ModelError(
                f"the row function {getattr(self.row, '__name__', '')!r} cannot be compiled ({_reason(error)}): "
                "use what Numba knows, or give block= in NumPy"
            ) from error


def _reason(error: NumbaError) -> str:
    """The line of Numba's long message that says what it does not know."""
    telling = ("Unknown", "Untyped", "No implementation", "Cannot", "nsupported", "Invalid use", "not supported")
    said = [line.strip() for line in str(error).splitlines() if line.strip() and "Failed in" not in line]
    said = [line for line in said if any(word in line for word in telling)] or said or ["no reason given"]
    return said[0][:200].rstrip(".:")


def rows_as_given(rows: Rows) -> Rows:
    """A likelihood of one's own sees the values themselves: rows that were opened centred are copied back."""
    if np.all(rows.centre == 0) and np.all(rows.scale == 1):
        return rows
    values = np.empty_like(rows.X)
    for first in range(0, rows.n, 65536):
        values[first : first + 65536] = rows.centre + rows.scale * rows.X[first : first + 65536].astype(np.float64)
    return replace(rows, X=values, centre=np.zeros(rows.d), scale=np.ones(rows.d))


def last_error(target: Target, theta: np.ndarray, row: int | None) -> str:
    """What a likelihood did wrong last: as remembered, or by calling the row function once more in plain Python."""
    entry = _registry[int(target.problem.shape[HANDLE])]
    if target.interpreted:
        return entry.error
    if row is not None:
        plain = getattr(entry.function, "py_func", entry.function)
        try:
            plain(target.natural(theta[None, :])[0], target.problem.X[row], target.problem.y[row])
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
    return "raised an exception"

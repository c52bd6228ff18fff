"""A model of the user's own: the log likelihood of a row, compiled, or of a block of rows, in plain NumPy.

    row(theta, x, y) -> float                       x (d,) one row, y its response; Numba-compilable
    block(points, X, y) -> (n, K)                   points (K, D), X (n, d), y (n,); plain NumPy, K points a call
    gradient(theta, X, y) -> (D,)                   optional: of the sum over the rows given, used to find the mode

theta is flat and holds natural values, parameters in the order they are named. A parameter called positive is moved
on the log scale; its prior is given on the natural one.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit, objmode, types
from numba.core.errors import NumbaError

from ..decisions.base import FINE, USER_RAISED
from ..engine.jit import ENGINE, engine, pointer
from ..engine.problem import SHAPES, USER, Problem, block_signature, compiled_kernel, no_kernel
from ..errors import InputError, ModelError
from ..report.variables import Variable
from ..rows.held import Rows
from .priors import PRIORS, Prior, table
from .target import Target
from .user_cache import compile_source, digest

_ROW_WRAPPER = """
def block(handle, X, y, points, indices, out):
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
    """A NumPy likelihood that compiled code calls by number."""

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
                f"nothing, but returned shape {values.shape} for {X.shape[0]} rows and {points.shape[0]} points "
                f"(expected {(X.shape[0], points.shape[0])})"
            )
            return USER_RAISED
        out[:] = values.T
    except Exception as error:
        entry.error = f"{type(error).__name__}: {error}"
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
        for what, names in (("positive", self.positive), ("shapes", self.shapes), ("initial", self.initial)):
            unknown = [name for name in names if name not in self.parameters]
            if unknown:
                raise InputError(f"Model: {what} names {unknown[0]!r}, but the parameters are {list(self.parameters)}")

    def _variables(self) -> list[Variable]:
        out, place = [], 0
        for name in self.parameters:
            shape = tuple(int(n) for n in self.shapes.get(name, ()))
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
                value = np.asarray(self.initial[variable.name], dtype=np.float64)
                out[variable.start : variable.stop] = np.broadcast_to(value, variable.shape).ravel()
        if np.any(out[as_log] <= 0):
            raise InputError("Model: initial gives a positive parameter a value that is not positive")
        out[as_log] = np.log(out[as_log])
        return out

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior of this model on these rows."""
        if intercept or standardize:
            raise InputError("intercept and standardize are for models with linear predictors: write them into yours")
        if rows.offset.size:
            raise InputError("offset is for models with linear predictors: pass it as a column and use it in yours")
        rows_as_given(rows)
        variables = self._variables()
        priors: list[Prior] = [self.parameters[v.name] for v in variables for _ in range(v.size)]
        as_log = np.array([v.name in self.positive for v in variables for _ in range(v.size)])
        problem = self._problem(rows, as_log)
        target = Target(
            name="Model",
            rows=rows,
            problem=problem,
            prior=table(priors, list(as_log)),
            priors=priors,
            labels=[label for v in variables for label in v.labels()],
            variables=variables,
            gradient=self.gradient,
            initial=self._initial(variables, as_log),
            options={"likelihood": digest(self.row or self.block) or getattr(self.row or self.block, "__name__", "?")},
            interpreted=self.block is not None,
        )
        self._try(target)
        return target

    def _problem(self, rows: Rows, as_log: np.ndarray) -> Problem:
        real = types.float32 if rows.X.dtype == np.float32 else types.float64
        shape = np.zeros(SHAPES, np.int64)
        shape[USER] = 1
        places = np.flatnonzero(as_log)
        if self.block is not None:
            _registry.append(_Registered(self.block, places))
            shape[-1] = len(_registry) - 1
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
            shape=shape,
            extras=empty,
            extras_at=np.zeros(0, np.int64),
            kernel=compiled_kernel(no_kernel, real),
            kernel_double=compiled_kernel(no_kernel, types.float64),
            block=block,
        )

    def _compiled_block(self, places: np.ndarray, real: Any) -> Any:
        """The user's row function inside a loop over rows, compiled once and kept on disk."""
        assert self.row is not None
        positive = tuple(int(p) for p in places) or (-1,)
        row = self.row if hasattr(self.row, "py_func") else njit(**ENGINE)(self.row)
        source = f"# {digest(self.row)}\nimport numpy as np\npositive = {positive!r}\n{_ROW_WRAPPER}"
        dispatcher = compile_source(source, "block", {"row": row}, digest(self.row, positive, str(real)))
        try:
            return pointer(dispatcher, block_signature(real))
        except NumbaError as error:
            said = str(error).strip().splitlines()
            reason = next(
                (line for line in said if "error" in line.lower() or "Unknown" in line), said[0] if said else ""
            )
            raise ModelError(
                f"the row function {getattr(self.row, '__name__', '')!r} cannot be compiled ({reason.strip()[:200]}): "
                "use what Numba knows, or give block= in NumPy"
            ) from error

    def _try(self, target: Target) -> None:
        """Evaluate the first rows at the starting point, so that a mistake is found before any work."""
        row, block = self.row, self.block
        problem, count = target.problem, min(5, target.rows.n)
        natural = target.natural(target.initial[None, :])
        X, y = problem.X[:count], problem.y[:count]
        where = ", ".join(f"{label}={v:.6g}" for label, v in zip(target.labels[:6], natural[0, :6], strict=False))
        for i in range(count if row is not None else 1):
            try:
                plain = getattr(row, "py_func", row)
                value = np.asarray(plain(natural[0], X[i], y[i]) if plain else block(natural, X, y))  # type: ignore[misc]
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                raise ModelError(
                    f"the user's likelihood raised {type(error).__name__}: {error} at row {i} for {where} "
                    f"(line {place.lineno} of {place.name}): correct it"
                ) from error
            expected = () if row is not None else (count, 1)
            if value.shape != expected or value.dtype.kind not in "fiub":
                raise ModelError(
                    f"the user's likelihood returned {value.dtype} of shape {value.shape} at row {i} for {where}: "
                    f"it must return a number{'' if row is not None else f's of shape {expected}'}"
                )


def rows_as_given(rows: Rows) -> None:
    """A likelihood of one's own sees the values themselves: undo centring and scaling of held rows in place."""
    if np.all(rows.centre == 0) and np.all(rows.scale == 1):
        return
    for first in range(0, rows.n, 65536):
        block = rows.X[first : first + 65536]
        block[...] = rows.centre + rows.scale * block.astype(np.float64)
    object.__setattr__(rows, "centre", np.zeros(rows.d))
    object.__setattr__(rows, "scale", np.ones(rows.d))


def last_error(target: Target) -> str:
    """What a likelihood raised last: as remembered, or by calling the row function on rows until it raises."""
    handle = int(target.problem.shape[-1])
    if target.interpreted:
        return _registry[handle].error
    return "an exception"

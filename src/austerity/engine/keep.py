"""What is kept of a draw: all parameters, some of them, or functions of them.

    keep = None | ["beta", "sigma"] | {"odds": lambda p: np.exp(p["beta"])}

A function gets a dictionary of arrays (n, *shape), one for each parameter, and returns an array whose first axis is n.
What it returns entry by entry for a parameter (odds above) is labelled as that parameter is.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..models.target import Target
from ..report.variables import Variable

MOST_TRIED = 500  # entries of a parameter up to which a function of it is tried for its labels


def _parameters(target: Target, states: np.ndarray) -> dict[str, np.ndarray]:
    natural = target.natural(states)
    return {variable.name: variable.take(natural) for variable in target.variables}


def _subset(target: Target, names: list[Any]) -> tuple[list[Variable], Callable[[np.ndarray], np.ndarray]]:
    known = {variable.name: variable for variable in target.variables}
    for name in names:
        if name not in known:
            raise InputError(f"keep={names!r}: there is no parameter {name!r}, the model has {', '.join(known)}")
    if len(set(names)) != len(names):
        raise InputError(f"keep={names!r} names a parameter twice: name each once")
    chosen: list[Variable] = []
    columns: list[int] = []
    place = 0
    for old in (known[name] for name in names):
        chosen.append(Variable(old.name, old.dims, old.coords, place, place + old.size))
        columns += range(old.start, old.stop)
        place += old.size
    return chosen, lambda states: target.natural(states)[:, np.array(columns)]


def _evaluate(target: Target, functions: Mapping[str, Any], states: np.ndarray) -> dict[str, np.ndarray]:
    """All functions at states (n, D + I), each checked for its first axis."""
    parameters, out = _parameters(target, states), {}
    for name, function in functions.items():
        try:
            value = np.asarray(function(parameters))
        except Exception as error:
            raise InputError(f"keep[{name!r}] raised {type(error).__name__}: {error}; correct that function") from error
        if value.dtype.kind not in "fiub":
            raise InputError(f"keep[{name!r}] returned values of type {value.dtype}: return real numbers")
        if value.ndim == 0 or value.shape[0] != states.shape[0]:
            raise InputError(
                f"keep[{name!r}] returned shape {value.shape} for {states.shape[0]} draws: its first axis must be draws"
            )
        out[name] = value.astype(np.float64)
    return out


def _functions(
    target: Target, functions: Mapping[str, Any]
) -> tuple[list[Variable], Callable[[np.ndarray], np.ndarray]]:
    trial = np.tile(np.concatenate([target.initial, np.zeros(target.n_indices)]), (3, 1))
    variables, place = [], 0
    shapes = {name: value.shape[1:] for name, value in _evaluate(target, functions, trial).items()}
    _evaluate(target, functions, trial[:2])  # an axis of another meaning has three entries by chance at most once
    for name, shape in shapes.items():
        if 0 in shape:
            raise InputError(f"keep[{name!r}] returned no values, shape {shape} a draw: return at least one")
        dims = tuple(f"{name}_dim_{k}" for k in range(len(shape)))
        size = int(np.prod(shape))
        coords: dict[str, list[Any]] = {dim: list(range(n)) for dim, n in zip(dims, shape, strict=True)}
        for variable in target.variables:
            if variable.dims and variable.shape == shape and _entry_by_entry(target, functions[name], variable):
                dims, coords = variable.dims, variable.coords
        variables.append(Variable(name, dims, coords, place, place + size))
        place += size

    def keep(states: np.ndarray) -> np.ndarray:
        values = _evaluate(target, functions, states)
        for name, value in values.items():
            if value.shape[1:] != shapes[name]:
                raise InputError(
                    f"keep[{name!r}] returned shape {value.shape[1:]} a draw, but {shapes[name]} before: "
                    "return the same shape at every call"
                )
        return np.concatenate([values[name].reshape(states.shape[0], -1) for name in functions], axis=1)

    return variables, keep


def _entry_by_entry(target: Target, function: Any, variable: Variable) -> bool:
    """Whether each entry of what the function returns follows that entry of the variable, and no other.

    Tried at one point: every entry by itself is moved a little, and the same entry alone must change.
    """
    if variable.size > MOST_TRIED:
        return False
    start = np.concatenate([target.initial, np.zeros(target.n_indices)])
    parameters = _parameters(target, np.tile(start, (variable.size + 1, 1)))
    moved = np.array(parameters[variable.name]).reshape(variable.size + 1, -1)
    moved[1:] += 0.1 * np.eye(variable.size)
    try:
        values = np.asarray(function({**parameters, variable.name: moved.reshape(-1, *variable.shape)}))
        flat = values.reshape(variable.size + 1, -1)
    except Exception:  # a function that fails here is used all the same, under labels of its own
        return False
    return bool(np.array_equal(flat[1:] != flat[0], np.eye(variable.size, dtype=bool)))


def keeper(target: Target, keep: Any) -> tuple[list[Variable], Callable[[np.ndarray], np.ndarray]]:
    """The variables a run writes, and the function from states (n, D + I) to their flat values (n, width)."""
    if keep is None:
        return target.variables, target.natural
    if isinstance(keep, Mapping):
        return _functions(target, keep)
    return _subset(target, list(keep))

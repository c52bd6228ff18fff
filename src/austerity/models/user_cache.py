"""Compiled code of a user's likelihood, kept on disk so that a second process compiles nothing.

Numba keys its cache by a function's file and code, and sees neither the values of globals nor the functions a
function calls. So the wrapper is written to a file named by a digest of everything the user's function refers to:
the same likelihood finds its compiled code again, a changed one gets a file of its own.
"""

import hashlib
import os
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.jit import ENGINE


class _Unknown(Exception):
    """A value whose content cannot be told; the wrapper is then compiled anew in every process."""


def digest(function: Any, *more: Any) -> str | None:
    """Hex digest of a function with all it refers to; None where that cannot be told."""
    state = hashlib.blake2b(digest_size=16)
    try:
        _feed(state, function, set())
        _feed(state, repr(more), set())
    except _Unknown:
        return None
    return state.hexdigest()


def _feed(state: Any, value: Any, seen: set[int]) -> None:
    """Add a value to the digest, following functions into their globals and closures."""
    value = getattr(value, "py_func", value)
    if isinstance(value, types.FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        state.update(f"{value.__module__}".encode())  # compiled code that is read back looks its module up
        _feed_code(state, value.__code__)
        for name in sorted(_names(value.__code__)):
            if name in value.__globals__:
                state.update(name.encode())
                _feed(state, value.__globals__[name], seen)
        for cell in value.__closure__ or ():
            _feed(state, cell.cell_contents, seen)
        _feed(state, value.__defaults__, seen)
    elif isinstance(value, types.ModuleType):
        state.update(f"{value.__name__} {getattr(value, '__version__', '')}".encode())
    elif isinstance(value, np.ndarray):
        state.update(repr((value.dtype, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        for item in value:
            _feed(state, item, seen)
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        state.update(repr(value).encode())
    elif isinstance(value, types.BuiltinFunctionType | type):
        state.update(f"{value.__module__}.{value.__qualname__}".encode())
    else:
        raise _Unknown(type(value).__name__)


def _feed_code(state: Any, code: types.CodeType) -> None:
    """Bytecode, names and constants, nested functions included."""
    state.update(code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _feed_code(state, constant)
        elif isinstance(constant, frozenset):  # its own order changes from process to process
            state.update(repr(sorted(map(repr, constant))).encode())
        else:
            state.update(repr(constant).encode())


def _names(code: types.CodeType) -> set[str]:
    """Global names that a code object or one nested in it may look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def directory() -> Path:
    """Where wrappers are kept: Numba's own cache directory if one is set, else the user's cache."""
    from numba import config

    base = config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "austerity-models"


def compile_source(source: str, name: str, namespace: dict[str, Any], key: str | None) -> Any:
    """Compile the function `name` of `source`, cached on disk under `key` where that can be written."""
    from numba import njit

    path = _write(source, key) if key is not None else None
    # Code read back from disk looks its module up by name, so that it must stand there before anything is read.
    module = types.ModuleType(f"austerity_model_{key or id(namespace)}")
    module.__dict__.update(namespace)
    sys.modules[module.__name__] = module
    exec(compile(source, str(path) if path else "<austerity model>", "exec"), module.__dict__)
    function: Callable[..., Any] = module.__dict__[name]
    if path is None:
        return njit(**ENGINE)(function)
    try:
        return njit(cache=True, **ENGINE)(function)
    except RuntimeError:  # no place for compiled code can be written
        return njit(**ENGINE)(function)


def _write(source: str, key: str) -> Path | None:
    """The file of this source, written once and whole; None where the directory cannot be written."""
    folder = directory()
    path = folder / f"model_{key}.py"
    try:
        if path.exists() and path.read_text() == source:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w") as file:
            file.write(source)
        os.replace(temporary, path)
    except OSError:
        return None
    return path

"""The one place for compiler options, function pointers and processor hints.

Three kinds of compiled function:
    engine    loops and decisions: strict arithmetic, NaN and order of sums as written
    dots      sums of products: the compiler may reorder them (fixed by the machine code, so still reproducible)
    pointer   a compiled function as a value: passed at block level it costs nothing and hits the cache on disk
"""

import functools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import AusterityWarning, InputError

if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    raise InputError("NUMBA_DISABLE_JIT is set, but austerity samples in compiled code: unset it and start again")

from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.extending import intrinsic

warnings.filterwarnings("ignore", message="Code running in object mode won.t allow parallel execution")
# Function pointers are marked experimental by Numba; every use of them here is covered by tests.
warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)

ENGINE = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
DOTS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz", "reassoc", "arcp"}}

# What a processor wants of requests for cache lines, as measured: rows between a request and its use, half of a row's
# lines asked for behind it (some fetch what follows lines read in order, which is then in the way of the next row), and
# the level of cache (3 the first, 2 the second). They change no draw. benchmarks/draws.py prints a machine's own limit.
_HINTS = {"znver3": (24, 1, 2), "znver4": (24, 1, 2)}
ROWS_AHEAD, LINES_BEHIND, CACHE_LEVEL = _HINTS.get(binding.get_host_cpu_name(), (32, 0, 3))


@functools.cache
def _say_no_cache() -> None:
    """Once a process, however many functions there are."""
    warnings.warn(
        "no directory for compiled code can be written, so every start compiles anew: set NUMBA_CACHE_DIR to one",
        AusterityWarning,
        stacklevel=4,
    )


def _compile(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile lazily with the cache on disk; where no directory can be written, without it and say so."""
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        _say_no_cache()
        return njit(**options)(function)


def nothing_cached(compiled: Any) -> bool:
    """Whether the directory of a function's compiled forms is known and holds none of any function."""
    where = getattr(getattr(compiled, "_cache", None), "cache_path", None)
    return where is not None and not any(Path(where).glob("*.nbi"))


def engine(function: Callable[..., Any]) -> Any:
    """Compile a loop or a decision."""
    return _compile(function, ENGINE)


def bare(function: Callable[..., Any]) -> Any:
    """Compile a loop that makes no array of its own, without counting references to those it is given.

    The arrays live in named tuples that the caller holds, and counting them, atomically, at every use costs a step a
    microsecond and the compiler a second.
    """
    return _compile(function, {**ENGINE, "_nrt": False})


def inlined(function: Callable[..., Any]) -> Any:
    """A part of one or two compiled functions, written into them: a function of its own takes the compiler longer."""
    return njit(inline="always", **ENGINE)(function)


def dots(function: Callable[..., Any]) -> Any:
    """Compile sums of products, which may be reordered into vector registers."""
    return _compile(function, DOTS)


@dots
def sum_of(values: Any, count: int) -> Any:
    """Sum of values[:count] in float64."""
    total = 0.0
    for i in range(count):
        total += values[i]
    return total


class Pointer(types.WrapperAddressProtocol):
    """A compiled function with one fixed signature, passed to other compiled code by its address."""

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        dispatcher.compile(signature)
        self._compiled = dispatcher.overloads[signature.args]  # keeps the machine code alive
        self._signature = self._compiled.signature
        name = self._compiled.fndesc.llvm_cfunc_wrapper_name
        self._address = self._compiled.library.get_pointer_to_function(name)

    def __wrapper_address__(self) -> int:
        return self._address

    def signature(self) -> Any:
        return self._signature


_pointers: dict[tuple[Any, Any], Pointer] = {}


def pointer(dispatcher: Any, signature: Any) -> Pointer:
    """Pointer to `dispatcher` at `signature`, compiled once a process and read from the cache on disk after that."""
    key = (dispatcher, signature)
    if key not in _pointers:
        _pointers[key] = Pointer(dispatcher, signature)
    return _pointers[key]


def prefetch_line(builder: Any, address: Any) -> None:
    """Emit a request for the cache line at an address (a byte pointer); never faults, changes nothing."""
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(hint, [address, word(0), word(CACHE_LEVEL), word(1)])  # to read, data


@intrinsic
def prefetch(typing_context, array, position):
    """Ask for the cache line that holds element `position` of a contiguous array, counted flat."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        prefetch_line(builder, builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(array, position), generate


@intrinsic
def multiply_high(typing_context, left, right):
    """Upper 64 bits of the 128-bit product of two unsigned 64-bit numbers."""

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate

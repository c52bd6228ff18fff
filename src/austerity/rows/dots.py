"""Dots of rows with one point, eight rows at a time: at the speed of memory also where rows are short.

    out[i] = sum_j X[first + i, j] * weights[j]

A row's products lie across the lanes of a vector register, its last columns under a mask; the registers of eight rows
are then added up together by a tree of shuffles, which costs some three instructions a row where each by itself would
cost ten. The compiler's own loop over columns leaves its vector form unused below 64 columns.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..engine.jit import engine, prefetch

ROWS = 8  # rows of a tile
BYTES_AHEAD = 4096  # between the request for a row and its use

_WORD, _HALF, _BIT = ir.IntType(64), ir.IntType(32), ir.IntType(1)


def _vector(real: Any) -> Any:
    """The vector type that fills a register of this processor; it holds at least four values."""
    size = 64 if binding.get_host_cpu_features().get("avx512f") else 32
    return ir.VectorType(real, size // (4 if isinstance(real, ir.FloatType) else 8))


def _name(vector: Any) -> str:
    return f"v{vector.count}{'f32' if isinstance(vector.element, ir.FloatType) else 'f64'}"


def _shuffled(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_HALF, len(places)), places))


def _folded(builder: Any, a: Any, b: Any, block: int) -> Any:
    """Lanes without the bit `block` hold a[l] + a[l + block], those with it b[l - block] + b[l]."""
    lanes = a.type.count
    low = [lane if not lane & block else lanes + lane - block for lane in range(lanes)]
    high = [lane + block if not lane & block else lanes + lane for lane in range(lanes)]
    return builder.fadd(_shuffled(builder, a, b, low), _shuffled(builder, a, b, high))


def _totals(builder: Any, vectors: list[Any]) -> Any:
    """The sums over lanes of ROWS vectors, as one vector of ROWS values."""
    block = 1
    while len(vectors) > 1 and block < vectors[0].type.count:
        vectors = [_folded(builder, vectors[i], vectors[i + 1], block) for i in range(0, len(vectors), 2)]
        block *= 2
    while len(vectors) == 1 and vectors[0].type.count > ROWS:  # wide registers: the upper half repeats the lower
        (whole,), half = vectors, vectors[0].type.count // 2
        lower, upper = list(range(half)), list(range(half, 2 * half))
        vectors = [builder.fadd(_shuffled(builder, whole, whole, lower), _shuffled(builder, whole, whole, upper))]
    while len(vectors) > 1:  # narrow ones: several vectors hold the totals
        size = 2 * vectors[0].type.count
        vectors = [_shuffled(builder, vectors[i], vectors[i + 1], list(range(size))) for i in range(0, len(vectors), 2)]
    return vectors[0]


def _masked_load(builder: Any, address: Any, vector: Any, mask: Any) -> Any:
    """The lanes that the mask names; the others are 0 and their memory is not touched."""
    pointer, align = vector.as_pointer(), 4 if isinstance(vector.element, ir.FloatType) else 8
    kind = ir.FunctionType(vector, [pointer, _HALF, mask.type, vector])
    load = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{_name(vector)}.p0{_name(vector)}")
    return builder.call(load, [builder.bitcast(address, pointer), _HALF(align), mask, ir.Constant(vector, None)])


def _load(builder: Any, address: Any, vector: Any) -> Any:
    align = 4 if isinstance(vector.element, ir.FloatType) else 8
    return builder.load(builder.bitcast(address, vector.as_pointer()), align=align)


def _first_lanes(builder: Any, count: Any, lanes: int) -> Any:
    """A mask of lanes 0 ... count - 1."""
    words = ir.VectorType(_WORD, lanes)
    one = builder.insert_element(ir.Constant(words, ir.Undefined), count, _HALF(0))
    return builder.icmp_signed("<", ir.Constant(words, list(range(lanes))), _shuffled(builder, one, one, [0] * lanes))


def _step(
    builder: Any, starts: list[Any], point: Any, j: Any, sums: list[Any], load: Callable[[Any], Any]
) -> list[Any]:
    """sums_r + X[row_r, j...] * weights[j...] over one register of columns."""
    vector = sums[0].type
    kind = ir.FunctionType(vector, [vector, vector, vector])
    multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.{_name(vector)}")
    column = load(builder.gep(point, [j]))
    return [
        builder.call(multiply_add, [load(builder.gep(start, [j])), column, total])
        for start, total in zip(starts, sums, strict=True)
    ]


def _partial_sums(builder: Any, starts: list[Any], point: Any, width: Any, vector: Any) -> list[Any]:
    """A vector of partial sums a row: whole registers of columns in a loop, the rest under a mask."""
    zero, whole = ir.Constant(vector, None), builder.and_(width, _WORD(-vector.count))
    before = builder.block
    loop, tail = builder.append_basic_block("columns"), builder.append_basic_block("tail")
    builder.cbranch(builder.icmp_signed(">", whole, _WORD(0)), loop, tail)
    builder.position_at_end(loop)
    j, sums = builder.phi(_WORD), [builder.phi(vector) for _ in starts]
    new = _step(builder, starts, point, j, sums, lambda at: _load(builder, at, vector))
    following = builder.add(j, _WORD(vector.count))
    for old, first, more in [(j, _WORD(0), following), *((s, zero, n) for s, n in zip(sums, new, strict=True))]:
        old.add_incoming(first, before)
        old.add_incoming(more, loop)
    builder.cbranch(builder.icmp_signed("<", following, whole), loop, tail)
    builder.position_at_end(tail)
    so_far = [builder.phi(vector) for _ in starts]
    for total, more in zip(so_far, new, strict=True):
        total.add_incoming(zero, before)
        total.add_incoming(more, loop)
    mask = _first_lanes(builder, builder.sub(width, whole), vector.count)
    return _step(builder, starts, point, whole, so_far, lambda at: _masked_load(builder, at, vector, mask))


@intrinsic
def _tile(typing_context, X, first, last, weights, out, column):
    """out[column + r] = X[min(first + r, last)] . weights for r = 0 ... ROWS - 1."""

    def generate(context, builder, signature, arguments):
        table, point, target = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3, 4)
        )
        width = cgutils.unpack_tuple(builder, table.shape, 2)[1]
        starts = []
        for r in range(ROWS):
            row = builder.add(arguments[1], _WORD(r))
            row = builder.select(builder.icmp_signed("<", row, arguments[2]), row, arguments[2])
            starts.append(builder.gep(table.data, [builder.mul(row, width)]))
        vector = _vector(context.get_value_type(X.dtype))
        totals = _totals(builder, _partial_sums(builder, starts, point.data, width, vector))
        place = builder.bitcast(builder.gep(target.data, [arguments[5]]), totals.type.as_pointer())
        builder.store(totals, place, align=X.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(X, types.int64, types.int64, weights, out, types.int64), generate


@engine
def dot_rows(X, first, last, weights, out):
    """out[i] = X[first + i] . weights for rows first..last-1; out has room for whole tiles.

    Eight rows at a time do not look like a stream to the processor, so the lines ahead are asked for.
    """
    line = 64 // X.itemsize
    for row in range(first, last, ROWS):
        place = row * X.shape[1] + BYTES_AHEAD // X.itemsize
        for k in range(place, place + ROWS * X.shape[1], line):
            prefetch(X, k)
        _tile(X, row, last - 1, weights, out, row - first)

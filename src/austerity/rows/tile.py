"""The matrix product under a pass: a tile of rows and points held in vector registers.

    eta[group * L + k, column + r] = sum_j X[first + r, j] * packed[group, j, k],    r = 0 ... 7, k = 0 ... L - 1

L values fill 64 bytes: 16 in float32, 8 in float64; one or two groups of L points are multiplied at once. The library's
matrix product packs its operands anew for every block of rows, which at 10 to 100 columns costs more than the product;
here points are packed once a pass and rows are read where they lie. Each sum runs over j in order, so a point's value
does not depend on how many points share the pass.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..engine.jit import engine, prefetch_line

ROWS = 8  # rows of a tile: as many as their addresses find registers
AHEAD = 4  # tiles between the request for a row and its use

_WORD, _HALF = ir.IntType(64), ir.IntType(32)


def lanes(dtype: Any) -> int:
    """Values of this type in 64 bytes."""
    return 64 // np.dtype(dtype).itemsize


def _lanes_constant(places: list[int]) -> Any:
    return ir.Constant(ir.VectorType(_HALF, len(places)), places)


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    """The same number in every lane."""
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _HALF(0))
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), _lanes_constant([0] * vector.count))


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Columns of a square of vectors: blocks of 1, 2, 4 are exchanged between pairs of rows."""
    size, block = len(rows), 1
    while block < size:
        low = _lanes_constant([lane if not lane & block else size + lane - block for lane in range(size)])
        high = _lanes_constant([lane + block if not lane & block else size + lane for lane in range(size)])
        for i in range(size):
            if not i & block:
                a, b = rows[i], rows[i + block]
                rows[i] = builder.shuffle_vector(a, b, low)
                rows[i + block] = builder.shuffle_vector(a, b, high)
        block *= 2
    return rows


def _row_addresses(builder: Any, data: Any, row: Any, last: Any, width: Any) -> list[Any]:
    """Where the rows of a tile begin; rows beyond `last` repeat it."""
    out = []
    for r in range(ROWS):
        at = builder.add(row, _WORD(r))
        at = builder.select(builder.icmp_signed("<", at, last), at, last)
        out.append(builder.gep(data, [builder.mul(at, width)]))
    return out


def _sum_over_columns(builder: Any, starts: list[Any], packed: list[Any], width: Any, vector: Any) -> list[list[Any]]:
    """The loop over j: for every group and row, sum_j x_rj * packed_j; one cache line is asked for at every j."""
    size, real = vector.count, vector.element
    bits = 32 if isinstance(real, ir.FloatType) else 64
    kind = ir.FunctionType(vector, [vector, vector, vector])
    multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{size}f{bits}")
    before, body, after = builder.block, builder.append_basic_block("columns"), builder.append_basic_block("done")
    builder.branch(body)
    builder.position_at_end(body)
    j = builder.phi(_WORD)
    j.add_incoming(_WORD(0), before)
    sums = [[builder.phi(vector) for _ in starts] for _ in packed]
    new: list[list[Any]] = [[] for _ in packed]
    place = builder.mul(j, _WORD(size))
    columns = [
        builder.load(builder.bitcast(builder.gep(group, [place]), vector.as_pointer()), align=bits // 8)
        for group in packed
    ]
    for r, start in enumerate(starts):
        value = _splat(builder, builder.load(builder.gep(start, [j])), vector)
        for g, column in enumerate(columns):
            new[g].append(builder.call(multiply_add, [value, column, sums[g][r]]))
    for old_group, new_group in zip(sums, new, strict=True):
        for old, more in zip(old_group, new_group, strict=True):
            old.add_incoming(ir.Constant(vector, None), before)
            old.add_incoming(more, body)
    ahead = builder.add(builder.mul(j, _WORD(ROWS * bits // 8)), builder.mul(width, _WORD(AHEAD * ROWS * bits // 8)))
    prefetch_line(builder, builder.gep(builder.bitcast(starts[0], ir.IntType(8).as_pointer()), [ahead]))
    following = builder.add(j, _WORD(1))
    j.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, width), body, after)
    builder.position_at_end(after)
    return new


def _make_tile(groups: int) -> Any:
    """The intrinsic for this many groups of points."""

    @intrinsic
    def tile(typing_context, X, row, last, packed, group, eta, column):
        size = 64 // (X.dtype.bitwidth // 8)

        def generate(context, builder, signature, arguments):
            rows, weights, out = (
                context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 3, 5)
            )
            width = cgutils.unpack_tuple(builder, rows.shape, 2)[1]
            stride = cgutils.unpack_tuple(builder, out.shape, 2)[1]
            real = context.get_value_type(X.dtype)
            starts = _row_addresses(builder, rows.data, arguments[1], arguments[2], width)
            group_size = builder.mul(width, _WORD(size))
            packs = [
                builder.gep(weights.data, [builder.mul(builder.add(arguments[4], _WORD(g)), group_size)])
                for g in range(groups)
            ]
            sums = _sum_over_columns(builder, starts, packs, width, ir.VectorType(real, size))
            store_type = ir.VectorType(real, ROWS).as_pointer()
            for g, vectors in enumerate(sums):
                first_point = builder.mul(builder.add(arguments[4], _WORD(g)), _WORD(size))
                for part in range(0, size, ROWS):
                    places = _lanes_constant(list(range(part, part + ROWS)))
                    square = [builder.shuffle_vector(v, v, places) for v in vectors]
                    for k, values in enumerate(_transposed(builder, square)):
                        line = builder.mul(builder.add(first_point, _WORD(part + k)), stride)
                        target = builder.gep(out.data, [builder.add(line, arguments[6])])
                        builder.store(values, builder.bitcast(target, store_type), align=X.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(X, types.int64, types.int64, packed, types.int64, eta, types.int64), generate

    return tile


_one_group, _two_groups = _make_tile(1), _make_tile(2)


@engine
def pack(weights, packed):
    """packed (groups, d, L) from weights (points, d); lanes without a point stay zero."""
    size = packed.shape[2]
    for k in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            packed[k // size, j, k % size] = weights[k, j]


@engine
def multiply(X, first, last, packed, eta):
    """eta[k, i] = X[first + i] . point k for rows first..last-1; eta (groups * L, block of rows, a multiple of 8)."""
    groups = packed.shape[0]
    for row in range(first, last, ROWS):
        for group in range(0, groups - 1, 2):
            _two_groups(X, row, last - 1, packed, group, eta, row - first)
        if groups % 2:
            _one_group(X, row, last - 1, packed, groups - 1, eta, row - first)

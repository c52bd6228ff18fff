"""Formulas written once, for float32 and float64, and handed to LLVM as straight-line code.

A `Lane` stands for one number inside a compiled loop. Adding or multiplying lanes emits the instruction, so a formula
over lanes reads like a formula over numbers, holds no branch and no call, and is vectorised with the loop around it.
Emitting it directly, not as a jitted function, also spares the compiler from working out its types: a whole kernel
compiles in about a tenth of a second.

Not for `fastmath=True`: the rounding trick of `arithmetic.py` needs additions left in their order, and NaN has to come
through. Of the flags "contract" and "nsz" are safe; "arcp" is not, for the estimate of 1/infinity it allows is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

FloatArray = npt.NDArray[np.floating[Any]]


class Lane:
    """One float inside a compiled loop: the LLVM value and the builder that emits what is done to it."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    @property
    def double(self) -> bool:
        """Whether the number is a float64 (otherwise a float32)."""
        return isinstance(self.value.type, ir.DoubleType)

    @property
    def digits(self) -> int:
        """Bits of the mantissa as stored: 52 or 23."""
        return 52 if self.double else 23

    @property
    def bias(self) -> int:
        """What the stored exponent of 1.0 is: 1023 or 127."""
        return 1023 if self.double else 127

    def like(self, other: Lane | float) -> Lane:
        """A constant of this lane's type; a lane stays itself."""
        return other if isinstance(other, Lane) else Lane(self.builder, ir.Constant(self.value.type, float(other)))

    def wide(self) -> Lane:
        """The same number as a float64."""
        return self if self.double else Lane(self.builder, self.builder.fpext(self.value, ir.DoubleType()))

    def __add__(self, other: Lane | float) -> Lane:
        return Lane(self.builder, self.builder.fadd(self.value, self.like(other).value))

    def __sub__(self, other: Lane | float) -> Lane:
        return Lane(self.builder, self.builder.fsub(self.value, self.like(other).value))

    def __mul__(self, other: Lane | float) -> Lane:
        return Lane(self.builder, self.builder.fmul(self.value, self.like(other).value))

    def __truediv__(self, other: Lane | float) -> Lane:
        return Lane(self.builder, self.builder.fdiv(self.value, self.like(other).value))

    def __radd__(self, other: float) -> Lane:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Lane:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Lane:
        return self.like(other) * self

    def __rtruediv__(self, other: float) -> Lane:
        return self.like(other) / self

    def __neg__(self) -> Lane:
        return Lane(self.builder, self.builder.fneg(self.value))

    def __abs__(self) -> Lane:
        function = self.builder.module.declare_intrinsic("llvm.fabs", [self.value.type])
        return Lane(self.builder, self.builder.call(function, [self.value]))

    def fma(self, factor: Lane | float, addend: Lane | float) -> Lane:
        """self * factor + addend, rounded once where the processor can (never a library call where it cannot)."""
        kind = self.value.type
        function = self.builder.module.declare_intrinsic("llvm.fmuladd", [kind], ir.FunctionType(kind, [kind] * 3))
        arguments = [self.value, self.like(factor).value, self.like(addend).value]
        return Lane(self.builder, self.builder.call(function, arguments))

    def polynomial(self, coefficients: Sequence[float]) -> Lane:
        """c0 + c1 x + c2 x² + … by Horner's rule."""
        result = self.like(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = result.fma(self, coefficient)
        return result

    def compare(self, operator: str, other: Lane | float) -> ir.Value:
        """The truth of `self operator other`; false wherever one of them is NaN."""
        return self.builder.fcmp_ordered(operator, self.value, self.like(other).value)

    def where(self, condition: ir.Value, otherwise: Lane | float) -> Lane:
        """self where the condition holds, the other number elsewhere."""
        return Lane(self.builder, self.builder.select(condition, self.value, self.like(otherwise).value))

    def at_least(self, bound: float) -> Lane:
        """max(self, bound); NaN stays NaN."""
        return self.like(bound).where(self.compare("<", bound), self)

    def bits(self) -> ir.Value:
        """The number's bits as an integer of its width."""
        return self.builder.bitcast(self.value, ir.IntType(64 if self.double else 32))

    def from_bits(self, bits: ir.Value) -> Lane:
        """The float of this lane's type with these bits."""
        return Lane(self.builder, self.builder.bitcast(bits, self.value.type))


def expose(formula: Callable[..., Lane]) -> Any:
    """A function of one number for compiled code: float32 in, float32 out; float64 in, float64 out."""

    @intrinsic
    def function(typing_context: Any, x: Any) -> Any:
        if not isinstance(x, types.Float):
            return None

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return formula(Lane(builder, arguments[0])).value

        return x(x), emit

    return function


def expose_double(formula: Callable[..., Lane], count: int) -> Any:
    """A function of one or two numbers for compiled code, in float64 whatever comes in."""
    kinds = [types.float64] * count

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return formula(*(Lane(builder, argument) for argument in arguments)).value

    if count == 1:

        @intrinsic
        def function_of_one(typing_context: Any, x: Any) -> Any:
            return types.float64(*kinds), emit

        return function_of_one

    @intrinsic
    def function_of_two(typing_context: Any, x: Any, y: Any) -> Any:
        return types.float64(*kinds), emit

    return function_of_two

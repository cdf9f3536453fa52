"""Four doubles in one register, for kernels whose inner loop is over something shorter than a register.

LLVM vectorises long loops by itself, but not the three rows of a 3x3 block. A `Lanes4` value holds four doubles;
inside a kernel `fma4(load4(a, i), x, total)` adds `a[i:i+4] * x` to a running total in one instruction. The fourth
lane of a block's column is whatever follows in memory, and is never read out.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

__all__ = ["first4", "fma4", "fnma4", "lane4", "load4", "shuffle4", "store4", "zero4"]

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, 4)
_INDEX = ir.IntType(32)
_FLAGS = ("contract",)


class _Lanes4(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float64x4")


_LANES4 = _Lanes4()


@register_model(_Lanes4)
class _Lanes4Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _splat(builder: Any, value: Any) -> Any:
    """Return a vector with `value` in all lanes."""
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_INDEX, 4), [0] * 4))


@intrinsic
def zero4(typing):
    """Return four zeros."""

    def generate(context, builder, signature, args):
        return ir.Constant(_VECTOR, [0.0] * 4)

    return _LANES4(), generate


@intrinsic
def first4(typing, value):
    """Return `value` in the first lane and zeros in the others."""

    def generate(context, builder, signature, args):
        number = context.cast(builder, args[0], signature.args[0], types.float64)
        return builder.insert_element(ir.Constant(_VECTOR, [0.0] * 4), number, ir.Constant(_INDEX, 0))

    return _LANES4(value), generate


@intrinsic
def load4(typing, array, index):
    """Return `array[index:index + 4]` of a contiguous one-dimensional array of doubles; no bounds are checked.

    Numbers of single precision are widened as they are read.
    """
    single = array.dtype == types.float32
    stored = ir.VectorType(ir.FloatType(), 4) if single else _VECTOR

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), stored.as_pointer())
        value = builder.load(place, typ=stored)
        value.align = 4 if single else 8
        return builder.fpext(value, _VECTOR) if single else value

    return _LANES4(array, index), generate


@intrinsic
def store4(typing, array, index, value):
    """Set `array[index:index + 4]` of a contiguous one-dimensional array of doubles; no bounds are checked.

    Into an array of single precision the numbers are rounded.
    """
    single = array.dtype == types.float32
    stored = ir.VectorType(ir.FloatType(), 4) if single else _VECTOR

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), stored.as_pointer())
        number = builder.fptrunc(args[2], stored) if single else args[2]
        builder.store(number, place, align=4 if single else 8)
        return context.get_dummy_value()

    return types.none(array, index, value), generate


@intrinsic
def shuffle4(typing, a, b, i, j, k, l):
    """Return four of the eight lanes of a and b, whose numbers must be literals: 0-3 are those of a, 4-7 of b."""
    if not all(isinstance(lane, types.IntegerLiteral) for lane in (i, j, k, l)):
        return None
    lanes = [lane.literal_value for lane in (i, j, k, l)]

    def generate(context, builder, signature, args):
        return builder.shuffle_vector(args[0], args[1], ir.Constant(ir.VectorType(_INDEX, 4), lanes))

    return _LANES4(a, b, i, j, k, l), generate


def _fused(operation: str) -> Any:
    def typing_function(typing, column, factor, total):
        def generate(context, builder, signature, args):
            factor_value = context.cast(builder, args[1], signature.args[1], types.float64)
            product = builder.fmul(args[0], _splat(builder, factor_value), flags=_FLAGS)
            return getattr(builder, operation)(args[2], product, flags=_FLAGS)

        return _LANES4(column, factor, total), generate

    return typing_function


fma4 = intrinsic(_fused("fadd"))
"""`fma4(column, factor, total)` returns total + column * factor."""

fnma4 = intrinsic(_fused("fsub"))
"""`fnma4(column, factor, total)` returns total - column * factor."""


@intrinsic
def lane4(typing, value, number):
    """Return one lane, whose number must be a literal from 0 to 3."""
    if not isinstance(number, types.IntegerLiteral):
        return None
    lane = number.literal_value

    def generate(context, builder, signature, args):
        return builder.extract_element(args[0], ir.Constant(_INDEX, lane))

    return types.float64(value, number), generate

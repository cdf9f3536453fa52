"""Four floats in one register: a point in space and one number more, handled by single instructions.

A neighbour of a particle is one row of an array [n, 4]: `load4s(array, 4 * j)` brings it in one load, and `+`, `-`, `*`
of such values (and of a value with a number) are one instruction each. The loops that use it read like scalar code and
need no wide gathers. Rows are read from contiguous one-dimensional arrays of float32; no bounds are checked.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = [
    "dot3s",
    "last4s",
    "load4s",
    "lowest_bit",
    "row4s",
    "splat4s",
    "squares_below16",
    "store4s",
    "sum3s",
    "sum4s",
]

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, 4)
_INDEX = ir.IntType(32)
_FLAGS = ("contract",)


class _Single4(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float32x4")


_SINGLE4 = _Single4()


@register_model(_Single4)
class _Single4Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _shuffled(builder: Any, value: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_INDEX, len(lanes)), lanes)
    return builder.shuffle_vector(value, ir.Constant(_VECTOR, ir.Undefined), mask)


def _splat(builder: Any, value: Any) -> Any:
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_INDEX, 0))
    return _shuffled(builder, first, [0] * 4)


def _define(operation: Any, name: str) -> None:
    """Let kernels use `operation` on two vectors, or on a vector and a number on either side."""
    numbers = (types.float32, types.float64)
    pairs = [(_SINGLE4, _SINGLE4), *((_SINGLE4, n) for n in numbers), *((n, _SINGLE4) for n in numbers)]

    class _Typing(ConcreteTemplate):
        cases = [signature(_SINGLE4, *pair) for pair in pairs]  # noqa: RUF012

    infer_global(operation)(_Typing)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide = [
            value if kind is _SINGLE4 else _splat(builder, context.cast(builder, value, kind, types.float32))
            for value, kind in zip(args, sig.args)
        ]
        return getattr(builder, name)(*wide, flags=_FLAGS)

    for pair in pairs:
        lower_builtin(operation, *pair)(generate)


for _operation, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _define(_operation, _name)


@intrinsic
def load4s(typing, array, index):
    """Return `array[index:index + 4]` of a contiguous one-dimensional array of float32."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), _VECTOR.as_pointer())
        value = builder.load(place, typ=_VECTOR)
        value.align = 4
        return value

    return _SINGLE4(array, index), generate


@intrinsic
def store4s(typing, array, index, value):
    """Set `array[index:index + 4]` of a contiguous one-dimensional array of float32."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), _VECTOR.as_pointer())
        builder.store(args[2], place, align=4)
        return context.get_dummy_value()

    return types.none(array, index, value), generate


@intrinsic
def splat4s(typing, value):
    """Return `value` in all lanes."""

    def generate(context, builder, signature, args):
        return _splat(builder, context.cast(builder, args[0], signature.args[0], types.float32))

    return _SINGLE4(value), generate


@intrinsic
def row4s(typing, x, y, z, w):
    """Return the four numbers as one value."""

    def generate(context, builder, signature, args):
        row = ir.Constant(_VECTOR, ir.Undefined)
        for lane, (value, kind) in enumerate(zip(args, signature.args)):
            number = context.cast(builder, value, kind, types.float32)
            row = builder.insert_element(row, number, ir.Constant(_INDEX, lane))
        return row

    return _SINGLE4(x, y, z, w), generate


@intrinsic
def last4s(typing, value):
    """Return the last lane."""

    def generate(context, builder, signature, args):
        return builder.extract_element(args[0], ir.Constant(_INDEX, 3))

    return types.float32(value), generate


def _summed(builder: Any, value: Any, count: int) -> Any:
    total = builder.extract_element(value, ir.Constant(_INDEX, 0))
    for lane in range(1, count):
        total = builder.fadd(total, builder.extract_element(value, ir.Constant(_INDEX, lane)))
    return total


@intrinsic
def sum3s(typing, value):
    """Return the sum of the first three lanes."""

    def generate(context, builder, signature, args):
        return _summed(builder, args[0], 3)

    return types.float32(value), generate


@intrinsic
def sum4s(typing, value):
    """Return the sum of all lanes."""

    def generate(context, builder, signature, args):
        return _summed(builder, args[0], 4)

    return types.float32(value), generate


@intrinsic
def dot3s(typing, a, b):
    """Return the inner product of the first three lanes."""

    def generate(context, builder, signature, args):
        return _summed(builder, builder.fmul(args[0], args[1], flags=_FLAGS), 3)

    return types.float32(a, b), generate


_LANES16 = ir.VectorType(_FLOAT, 16)
_FAST = ("contract", "nsz", "arcp")


def _wide(builder: Any, value: Any) -> Any:
    empty = ir.Constant(_LANES16, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_INDEX, 16), [0] * 16))


@intrinsic
def squares_below16(typing, points, index, stride, x, y, z, limit):
    """Measure the squares of the distances of 16 points from (x, y, z), and return which are below `limit`.

    Coordinates are read from `points[index:]`, `points[stride + index:]` and `points[2 stride + index:]`, squares
    written to `points[3 stride + index:]`. Bit k of the result, a uint64, stands for the k-th of the 16 points.
    """

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place, stride_value, total = args[1], args[2], None
        for axis in range(3):
            source = builder.bitcast(builder.gep(data, [place]), _LANES16.as_pointer())
            loaded = builder.load(source, typ=_LANES16)
            loaded.align = 4
            offset = builder.fsub(loaded, _wide(builder, args[3 + axis]), flags=_FAST)
            square = builder.fmul(offset, offset, flags=_FAST)
            total = square if total is None else builder.fadd(total, square, flags=_FAST)
            place = builder.add(place, stride_value)
        target = builder.bitcast(builder.gep(data, [place]), _LANES16.as_pointer())
        builder.store(total, target, align=4)
        below = builder.fcmp_ordered("<", total, _wide(builder, args[6]))
        return builder.zext(builder.bitcast(below, ir.IntType(16)), ir.IntType(64))

    single = types.float32
    return types.uint64(points, types.uint64, types.uint64, single, single, single, single), generate


@intrinsic
def lowest_bit(typing, mask):
    """Return the number of the lowest bit that is set in a uint64, which must not be zero."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate

"""Sixteen floats in one register (or two), for loops that fetch from places of their own.

LLVM vectorises loops over neighbouring values by itself, but not those whose places come from a computation, because it
cannot know that what is written is never read. Values of sixteen floats or whole numbers with `+`, `-` and `*`, and
`gather16` from an array, make such loops read like scalar code. Arrays must be C-contiguous and of float32 (they may
have several axes: places count values from the first); no bounds are checked.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = [
    "WIDE",
    "every_second16",
    "floor16",
    "from16",
    "gather16",
    "if_same16",
    "load16",
    "max16",
    "min16",
    "scatter16",
    "span16",
    "splat16",
    "sqrt16",
    "store16",
    "where_less16",
]

WIDE = 16

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, WIDE), ir.VectorType(_INT, WIDE)
_FLAGS = ("contract",)


class _Floats16(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float32x16")


class _Ints16(types.Type):
    def __init__(self) -> None:
        super().__init__(name="int32x16")


_F, _I = _Floats16(), _Ints16()


@register_model(_Floats16)
class _FloatsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)


@register_model(_Ints16)
class _IntsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _INTS)


def _splat(builder: Any, value: Any) -> Any:
    wide = ir.VectorType(value.type, WIDE)
    first = builder.insert_element(ir.Constant(wide, ir.Undefined), value, ir.Constant(_INT, 0))
    mask = ir.Constant(_INTS, [0] * WIDE)
    return builder.shuffle_vector(first, ir.Constant(wide, ir.Undefined), mask)


def _wide(context: Any, builder: Any, value: Any, kind: Any, wanted: Any) -> Any:
    """Return a value in all lanes, unless it has lanes already."""
    if kind in (_F, _I):
        return value
    single = types.float32 if wanted is _F else types.int32
    return _splat(builder, context.cast(builder, value, kind, single))


def _function(builder: Any, name: str, result: Any, inputs: list[Any]) -> Any:
    """Return one of LLVM's own functions."""
    known = builder.module.globals.get(name)
    return known or ir.Function(builder.module, ir.FunctionType(result, inputs), name)


def _define(operation: Any, on_floats: str, on_ints: str) -> None:
    """Let kernels use `operation` on two vectors of a kind, or on a vector and a number on either side."""
    pairs = []
    for lanes, numbers in (
        (_F, (types.float32, types.float64, types.int64)),
        (_I, (types.int64, types.int32, types.uint64)),
    ):
        pairs += [(lanes, lanes), *((lanes, n) for n in numbers), *((n, lanes) for n in numbers)]

    class _Typing(ConcreteTemplate):
        cases = [signature(_F if _F in pair else _I, *pair) for pair in pairs]  # noqa: RUF012

    infer_global(operation)(_Typing)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        wide = [_wide(context, builder, value, given, kind) for value, given in zip(args, sig.args)]
        if kind is _F:
            return getattr(builder, on_floats)(*wide, flags=_FLAGS)
        return getattr(builder, on_ints)(*wide)

    for pair in pairs:
        lower_builtin(operation, *pair)(generate)


for _operation, _names in (
    (operator.add, ("fadd", "add")),
    (operator.sub, ("fsub", "sub")),
    (operator.mul, ("fmul", "mul")),
):
    _define(_operation, *_names)


@intrinsic
def splat16(typing, value):
    """Return a number in all lanes, as floats."""

    def generate(context, builder, signature, args):
        return _wide(context, builder, args[0], signature.args[0], _F)

    return _F(value), generate


@intrinsic
def span16(typing, first):
    """Return the whole numbers from `first` on."""

    def generate(context, builder, signature, args):
        start = _wide(context, builder, args[0], signature.args[0], _I)
        return builder.add(start, ir.Constant(_INTS, list(range(WIDE))))

    return _I(first), generate


@intrinsic
def floor16(typing, value):
    """Return the next lower whole number of floats, as whole numbers."""

    def generate(context, builder, signature, args):
        floor = _function(builder, "llvm.floor.v16f32", _FLOATS, [_FLOATS])
        return builder.fptosi(builder.call(floor, [args[0]]), _INTS)

    return _I(_F), generate


@intrinsic
def from16(typing, value):
    """Return whole numbers as floats."""

    def generate(context, builder, signature, args):
        return builder.sitofp(args[0], _FLOATS)

    return _F(_I), generate


@intrinsic
def sqrt16(typing, value):
    """Return square roots of floats."""

    def generate(context, builder, signature, args):
        return builder.call(_function(builder, "llvm.sqrt.v16f32", _FLOATS, [_FLOATS]), [args[0]])

    return _F(_F), generate


@intrinsic
def where_less16(typing, one, two, value, other):
    """Return `value` in the lanes where `one` is less than `two`, and `other` elsewhere; all are floats."""

    def generate(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return _F(_F, _F, _F, _F), generate


def _extreme(sign: str) -> Any:
    def typing_function(typing, a, b):
        kind = a if a in (_F, _I) else b

        def generate(context, builder, signature, args):
            one, two = (_wide(context, builder, v, k, kind) for v, k in zip(args, signature.args))
            compare = builder.fcmp_ordered if kind is _F else builder.icmp_signed
            return builder.select(compare(sign, one, two), one, two)

        return kind(a, b), generate

    return typing_function


@intrinsic
def min16(typing, a, b):
    """Return the smaller of two values in each lane."""
    return _extreme("<")(typing, a, b)


@intrinsic
def max16(typing, a, b):
    """Return the larger of two values in each lane."""
    return _extreme(">")(typing, a, b)


@intrinsic
def every_second16(typing, first, a, b):
    """Return lanes of `a` and `b` by turns: the first of `a` if `first` is 0, else of `b`."""

    def generate(context, builder, signature, args):
        flags = ir.VectorType(ir.IntType(1), WIDE)
        even, odd = (ir.Constant(flags, [(n + start) % 2 for n in range(WIDE)]) for start in (1, 0))
        begins = builder.icmp_signed("==", args[0], ir.Constant(args[0].type, 0))
        return builder.select(builder.select(begins, even, odd), args[1], args[2])

    return _F(first, _F, _F), generate


@intrinsic
def if_same16(typing, value, one, two):
    """Return the floats `value` in the lanes where `one` and `two` are equal, and 0 in the others."""

    def generate(context, builder, signature, args):
        zero = ir.Constant(_FLOATS, [0.0] * WIDE)
        return builder.select(builder.fcmp_ordered("==", args[1], args[2]), args[0], zero)

    return _F(_F, _F, _F), generate


@intrinsic
def load16(typing, array, index):
    """Return sixteen values of an array, of float32 or int32, from the place `index` on."""
    kind = _I if array.dtype == types.int32 else _F

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        wide = _INTS if signature.return_type is _I else _FLOATS
        value = builder.load(builder.bitcast(builder.gep(data, [args[1]]), wide.as_pointer()), typ=wide)
        value.align = 4
        return value

    return kind(array, index), generate


@intrinsic
def store16(typing, array, index, value):
    """Write sixteen values into an array from the place `index` on."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        builder.store(args[2], builder.bitcast(builder.gep(data, [args[1]]), _FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.none(array, index, value), generate


class _Places(ir.Instruction):
    """One address for each lane; llvmlite's own instruction takes single places only."""

    def __init__(self, parent: Any, base: Any, places: Any) -> None:
        pointers = ir.VectorType(base.type, WIDE)
        super().__init__(parent, pointers, "getelementptr", [base, places], name="")

    def descr(self, buf: list[str]) -> None:
        base, places = self.operands
        buf.append(
            f"getelementptr {_FLOAT}, {base.type} {base.get_reference()}, {places.type} {places.get_reference()}\n"
        )


def _pointers(context: Any, builder: Any, signature: Any, args: Any) -> tuple[Any, Any]:
    """Return the addresses of lanes in an array at places plus a shift, and a mask that takes all of them."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    pointers = _Places(builder.block, builder.gep(data, [args[2]]), args[1])
    builder._insert(pointers)
    return pointers, ir.Constant(ir.VectorType(ir.IntType(1), WIDE), [1] * WIDE)


@intrinsic
def gather16(typing, array, places, shift):
    """Return the values of an array at `places` plus `shift`, a whole number for all lanes."""

    def generate(context, builder, signature, args):
        pointers, mask = _pointers(context, builder, signature, args)
        inputs = [pointers.type, _INT, mask.type, _FLOATS]
        function = _function(builder, "llvm.masked.gather.v16f32.v16p0f32", _FLOATS, inputs)
        empty = ir.Constant(_FLOATS, ir.Undefined)
        return builder.call(function, [pointers, ir.Constant(_INT, 4), mask, empty])

    return _F(array, _I, types.int64), generate


@intrinsic
def scatter16(typing, array, places, shift, value):
    """Write floats into an array at `places` plus `shift`; where two lanes have the same place the later one wins."""

    def generate(context, builder, signature, args):
        pointers, mask = _pointers(context, builder, signature, args)
        inputs = [_FLOATS, pointers.type, _INT, mask.type]
        function = _function(builder, "llvm.masked.scatter.v16f32.v16p0f32", ir.VoidType(), inputs)
        builder.call(function, [args[3], pointers, ir.Constant(_INT, 4), mask])
        return context.get_dummy_value()

    return types.none(array, _I, types.int64, _F), generate

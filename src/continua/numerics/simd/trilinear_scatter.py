"""Adding to the eight samples around a place, two neighbours with two values each at once.

The compiler does not join such additions by itself, because it cannot know that the places of a particle differ.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["spread8"]

_INT = ir.IntType(32)
_FLAGS = ("contract",)


class _Fours:
    """Arithmetic on four numbers at once."""

    def __init__(self, builder: Any, single: Any) -> None:
        self.builder, self.type = builder, ir.VectorType(single, 4)

    def of(self, *items: Any) -> Any:
        """Return four numbers as one value."""
        out = ir.Constant(self.type, ir.Undefined)
        for n, item in enumerate(items):
            out = self.builder.insert_element(out, item, ir.Constant(_INT, n))
        return out

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FLAGS)

    def sub(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b, flags=_FLAGS)

    def mul(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FLAGS)


def _eight(builder: Any, single: Any, data: Any, places: Any, parts: Any, value: Any, slopes: Any) -> None:
    """Write the additions; see `spread8`."""
    fours, one, zero = _Fours(builder, single), ir.Constant(single, 1.0), ir.Constant(single, 0.0)
    (at, up, row), (f, g, h), (c0, c1, c2) = places, parts, slopes
    low = fours.sub(one, h)
    along = fours.of(low, low, h, h)
    first = fours.of(value, one, fours.add(value, c2), one)
    more = [fours.of(c, zero, c, zero) for c in (c0, c1)]
    for a in range(2):
        for b in range(2):
            weight = fours.mul(f if a else fours.sub(one, f), g if b else fours.sub(one, g))
            carried, place = first, at
            if a:
                carried, place = fours.add(carried, more[0]), builder.add(place, up)
            if b:
                carried, place = fours.add(carried, more[1]), builder.add(place, row)
            twice = builder.mul(place, ir.Constant(place.type, 2))
            pointer = builder.bitcast(builder.gep(data, [twice]), fours.type.as_pointer())
            before = builder.load(pointer, typ=fours.type)
            before.align = 4
            share = fours.mul(fours.mul(fours.of(*[weight] * 4), along), carried)
            builder.store(fours.add(before, share), pointer, align=4)


@intrinsic
def spread8(typing, sums, at, up, row, f, g, h, value, c0, c1, c2):
    """Add a value that changes linearly, and the weight, to the eight samples around a place, weighted linearly.

    Args:
        sums: Sums of values and of weights in turn, of all samples, C-contiguous.
        at: Number of the lowest of the eight samples.
        up: How many samples on the next along the first axis is; 0 in a plane.
        row: The same along the second axis; along the third it is the next.
        f: Part of the way to the next sample along the first axis; 0 in a plane.
        g: Along the second.
        h: Along the third.
        value: Value at the lowest sample.
        c0: What it gains to the next sample along the first axis; `c1` and `c2` along the others.
        c1: Along the second.
        c2: Along the third.
    """

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        single = context.get_value_type(signature.args[0].dtype)
        _eight(builder, single, data, args[1:4], args[4:7], args[7], args[8:11])
        return context.get_dummy_value()

    real = sums.dtype
    return types.none(sums, types.int64, types.int64, types.int64, *[real] * 7), generate

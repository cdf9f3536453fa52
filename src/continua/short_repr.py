"""Short texts for objects that hold arrays: what there is and how much of it, never the values of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import Field, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

__all__ = ["ShortRepr", "counted", "function_name", "short", "tuple_repr"]

_MOST_ITEMS = 6
_MOST_LETTERS = 120
_PLAIN = (int, float, str, tuple, type(None))


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, in the plural where it must be: "1 body", "3 bodies"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("dy") else f"{number} {noun}s"


def short(value: Any) -> str:
    """Return a value as text: type and shape of an array, the number of items of a long list."""
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and 0 < value.size <= 4:
            return "[" + ", ".join(f"{number:g}" for number in value.tolist()) + "]"
        return f"<{value.dtype} {list(value.shape)}>"
    if isinstance(value, (Mapping, Sequence, Set)) and not isinstance(value, (str, bytes)):
        if len(value) > _MOST_ITEMS:
            return f"<{len(value)} items>"
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: {short(item)}" for key, item in value.items()) + "}"
        return "(" + ", ".join(map(short, value)) + ("," if len(value) == 1 else "") + ")"
    text = repr(value).partition("\n")[0]
    if "array(" in text:
        return f"<{type(value).__name__}>"
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def function_name(function: Any) -> str:
    """Return the name of a function, also of one with some arguments given."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__name__)).lstrip("_")


def tuple_repr(value: Any) -> str:
    """Return the text of a named tuple that holds arrays; for its `__repr__`."""
    items = (f"{name}={short(item)}" for name, item in zip(value._fields, value, strict=True))
    return f"{type(value).__name__}({', '.join(items)})"


class ShortRepr:
    """Base of dataclasses, made with `repr=False`, that hold arrays: their text has public fields without defaults."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __repr__(self) -> str:
        given = []
        for field in fields(self):
            value = getattr(self, field.name, None)
            if field.name.startswith("_") or not field.repr:
                continue
            if not (isinstance(value, _PLAIN) and value == field.default):
                given.append(f"{field.name}={short(value)}")
        return f"{type(self).__name__}({', '.join(given)})"

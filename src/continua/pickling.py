"""What pickling and copying need beyond Python's own mechanism, which copies attributes.

* NumPy forgets that an array is read-only. `KeepsReadOnlyArrays` remembers it, since frames and meshes promise it, and
  since Numba compiles a kernel again for arrays that can be written.
* NumPy copies the values of an array alone. `KeepsArrayViews` copies the memory around them too, which some kernels
  read.
* Read-only mappings can be pickled.
* Functions that have no name in a module, such as lambdas, cannot be pickled: a sentence says which one it is.
* Copies share functions. One that uses a part of a world would change the original, so it is found and refused.
"""

from __future__ import annotations

import copyreg
import gc
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError

__all__ = ["KeepsArrayViews", "KeepsReadOnlyArrays", "check_captures", "check_picklable"]

_BY_VALUE = {"copy", "cloudpickle", "dill"}  # copying, and picklers that store any function
_BETWEEN = {"continua", "pickle", "copyreg"}


def _read_only_mapping(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


copyreg.pickle(MappingProxyType, lambda mapping: (_read_only_mapping, (dict(mapping),)))


def _parts(root: object) -> Iterator[object]:
    """Yield all objects that an object consists of, once each: not what functions and classes refer to."""
    seen: dict[int, object] = {}  # keeps what is made on the way alive, so that no number is used twice
    todo = [root]
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, (type, ModuleType)):
            continue
        if type(part).__module__.partition(".")[0] in ("numba", "llvmlite"):
            continue
        seen[id(part)] = part
        yield part
        if not isinstance(part, FunctionType):
            todo += gc.get_referents(part)


class KeepsReadOnlyArrays:
    """Base of classes whose arrays are read-only after pickling and copying, if they were before."""

    __slots__ = ()

    def __getstate__(self) -> tuple[Any, list[NDArray]]:
        arrays = (part for part in _parts(self) if isinstance(part, np.ndarray))
        return self._own_state(), [array for array in arrays if not array.flags.writeable]

    def __setstate__(self, state: tuple[Any, list[NDArray]]) -> None:
        own, read_only = state
        attributes, slots = own if isinstance(own, tuple) else (own, None)
        for name, value in {**(attributes or {}), **(slots or {})}.items():
            object.__setattr__(self, name, value)
        for array in read_only:
            array.flags.writeable = False

    def _own_state(self) -> Any:
        """Return the attributes that are pickled and copied."""
        return object.__getstate__(self)


class _View:
    """A part of a larger array, in the form in which it is pickled: with the whole."""

    __slots__ = ("dtype", "offset", "shape", "strides", "whole", "writeable")

    def __init__(self, array: NDArray, whole: NDArray) -> None:
        self.whole, self.dtype, self.shape, self.strides = whole, array.dtype, array.shape, array.strides
        self.offset = array.ctypes.data - whole.ctypes.data
        self.writeable = array.flags.writeable

    def array(self) -> NDArray:
        """Return the part."""
        part: NDArray = np.ndarray(self.shape, self.dtype, self.whole, self.offset, self.strides)
        part.flags.writeable = self.writeable
        return part


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value, or the items of a list or tuple, changed by a function; the same object if nothing changes."""
    if not isinstance(value, (list, tuple)):
        return change(value)
    items = [_mapped(item, change) for item in value]
    if all(new is old for new, old in zip(items, value)):
        return value
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def _with_whole(value: Any) -> Any:
    if type(value) is np.ndarray and isinstance(value.base, np.ndarray) and value.base.nbytes > value.nbytes:
        return _View(value, value.base)
    return value


class KeepsArrayViews:
    """Base of classes whose arrays, also in lists and tuples, stay parts of larger arrays in pickles and copies.

    Kernels that read whole lanes touch the memory around such arrays.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: _mapped(value, _with_whole) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        views: dict[int, NDArray] = {}

        def part(value: Any) -> Any:
            return views.setdefault(id(value), value.array()) if isinstance(value, _View) else value

        vars(self).update((name, _mapped(value, part)) for name, value in state.items())


def _plain_pickle() -> bool:
    """Return whether the caller of Continua is a pickler that stores functions by name only."""
    frame = sys._getframe(1)
    while frame is not None:
        names = frame.f_globals.get("__name__", "").split(".")  # joblib.externals.cloudpickle, for instance
        if names[0] not in _BETWEEN:
            return _BY_VALUE.isdisjoint(names)
        frame = frame.f_back  # type: ignore[assignment]
    return True


def _is_named(function: object) -> bool:
    """Return whether a function can be found by its name in its module; other objects decide themselves."""
    if isinstance(function, partial):
        return all(map(_is_named, (function.func, *function.args, *function.keywords.values())))
    if not isinstance(function, FunctionType):
        return True
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def check_picklable(function: object, what: str) -> None:
    """Raise InputError if `function`, which is pickled now, cannot be; call it from `__getstate__`.

    Copies and picklers that store functions by value, such as cloudpickle, get any function.
    """
    if _plain_pickle() and not _is_named(function):
        name = getattr(function, "__qualname__", type(function).__name__)
        raise InputError(
            f"{what} cannot be pickled, because it is a function inside of another or a lambda ({name}); "
            "define it with def at the top level of a module"
        )


def _captured(function: FunctionType) -> dict[str, object]:
    """Return what a function uses besides its arguments, by name."""
    try:
        outside = inspect.getclosurevars(function)
    except ValueError:  # a variable that is not set yet
        return {}
    return {**outside.globals, **outside.nonlocals}


def check_captures(root: object, copied: Mapping[int, object]) -> None:
    """Raise InputError if a function that is a part of `root` uses one of the objects that were copied.

    Args:
        root: The original.
        copied: The copies by the `id` of their originals, as `copy.deepcopy` keeps them.
    """
    for part in _parts(root):
        function = part.__func__ if isinstance(part, MethodType) else part
        if not isinstance(function, FunctionType) or function.__module__.partition(".")[0] == "continua":
            continue
        for name, value in _captured(function).items():
            if hasattr(value, "__dict__") and copied.get(id(value), value) is not value:
                raise InputError(
                    f"the function {function.__qualname__} uses the variable '{name}', a part of this world, so that "
                    "it would change the original instead of the copy; use an object with a method instead, or "
                    "what the function gets as an argument"
                )

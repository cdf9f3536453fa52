"""Compares a copy with its original, object by object."""

import types
from functools import partial
from pathlib import PurePath

import numpy as np
from numpy.lib.array_utils import byte_bounds

ATOMS = (
    int,
    float,
    complex,
    str,
    bytes,
    type,
    np.generic,
    np.dtype,
    types.ModuleType,
    PurePath,
    types.BuiltinFunctionType,
)

SPARE_MEMORY = {
    "ApicParticles": (".rows", "._buffer", "._spare_buffer")
}  # two buffers in turn; copies begin with one


def _has_padding(array):
    return (
        array.size
        and array.dtype.kind == "f"
        and isinstance(array.base, np.ndarray)
        and array.base.nbytes > array.nbytes
    )


def _parts(value):
    """Yield (name, part) of what an object consists of."""
    if isinstance(value, (dict, types.MappingProxyType)):
        yield from (
            part
            for i, item in enumerate(value.items())
            for part in zip((f".key{i}", f"[{item[0]!r:.40}]"), item)
        )
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
    elif isinstance(value, types.MethodType):
        yield ".__self__", value.__self__
    elif isinstance(value, partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    if isinstance(value, (np.ndarray, types.FunctionType)):
        return
    yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield f".{name}", getattr(value, name)


def differences(original, copy):
    """Return sentences about everything in which a copy is not an equal, independent object."""
    found, copies, originals = [], {}, {}
    arrays = []
    todo = [("", original, copy)]
    while todo:
        path, a, b = todo.pop()
        if type(a) is not type(b):
            found.append(f"{path} is of type {type(b).__name__} instead of {type(a).__name__}")
            continue
        if isinstance(a, ATOMS) or a is None or type(a).__module__.startswith("numba"):
            continue
        if id(a) in copies or id(b) in originals:
            if copies.get(id(a), (None,))[0] is not b and not (isinstance(a, tuple) and len(a) == 0):
                found.append(f"{path} is shared in one, but not in the other")
            continue
        copies[id(a)], originals[id(b)] = (b, a), a
        if isinstance(a, types.FunctionType):
            continue
        if isinstance(a, np.ndarray):
            arrays.append((path, a, b))
            if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
                found.append(f"{path} has other values")
            if a.flags.writeable != b.flags.writeable:
                found.append(f"{path} is {'not ' * a.flags.writeable}read-only")
            contiguous = a.flags.c_contiguous or a.flags.f_contiguous
            if contiguous and _has_padding(a) and not _has_padding(b):
                found.append(f"{path} has lost the memory around it")
            if contiguous and (a.flags.c_contiguous, a.flags.f_contiguous) != (
                b.flags.c_contiguous,
                b.flags.f_contiguous,
            ):
                found.append(f"{path} is stored in another order")
            continue
        if isinstance(a, (set, frozenset)):
            continue
        mine, others = dict(_parts(a)), dict(_parts(b))
        for name in SPARE_MEMORY.get(type(a).__name__, ()):
            mine.pop(name), others.pop(name)
        if mine.keys() != others.keys():
            found.append(f"{path} has other attributes: {mine.keys() ^ others.keys()}")
        todo += ((f"{path}{name}", mine[name], others[name]) for name in mine.keys() & others.keys())
    return found + _memory(arrays)


def _memory(arrays):
    """Return sentences about writable arrays that share memory with the original, or no longer with each other."""
    found = []
    values = [
        pair for pair in arrays if pair[1].size and pair[1].dtype.kind == "f"
    ]  # connectivity is never written
    taken = [(*byte_bounds(pair[1 + side]), i, side) for i, pair in enumerate(values) for side in (0, 1)]
    last = None
    for entry in sorted(taken):
        if last is not None and entry[0] < last[1]:
            (_, _, i, side), (_, _, j, other) = last, entry
            (path_i, *pair_i), (path_j, *pair_j) = values[i], values[j]
            written = pair_i[0].flags.writeable or pair_j[0].flags.writeable
            if side != other and written:
                found.append(f"{path_i} of one shares memory with {path_j} of the other")
            elif side == 0 and written and not np.shares_memory(pair_i[1], pair_j[1]):
                found.append(f"{path_i} and {path_j} share memory in the original only")
        if last is None or entry[1] > last[1]:
            last = entry
    return found

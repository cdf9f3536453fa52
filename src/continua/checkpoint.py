"""Checkpoints: everything a run needs to continue bitwise identically, in one HDF5 file.

Layout of the file: the user block, 512 bytes before the HDF5 data, holds the kind, the format's number and a digest of
all that follows, because a flipped bit can make HDF5 loop forever; the attributes of the root hold the version of
Continua, the frames done, the length and frame rate of the run; `/scene` is the text of the scene; `/state/BODY/NAME`
holds one dataset for each entry of the world's state.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol

import h5py
import numpy as np

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.file_input import read_file

__all__ = ["FORMAT", "Checkpoint", "load", "save"]

KIND = b"continua checkpoint "
FORMAT = 3
_BLOCK = 512  # the smallest user block of HDF5
_HDF5 = b"\x89HDF\r\n\x1a\n"
_SCALARS: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


def _kind(value: Any) -> str:
    """Return the storage kind of a value of the state: a Python scalar by its type, a NumPy scalar, or an array."""
    for name, kind in _SCALARS.items():
        if type(value) is kind:
            return name
    if isinstance(value, np.generic):
        return "scalar"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return "array"
    raise TypeError(f"a state holds numbers, text and arrays of numbers, not {type(value).__name__}")


class HasState(Protocol):
    """An object with a flat state, such as a `World`."""

    def state(self) -> Mapping[str, Any]:
        """Return arrays, numbers and text by name; names such as "bridge/positions"."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run at one moment, as read from a file.

    Attributes:
        state: Argument of `World.restore`.
        scene: Text of the scene file.
        frames_done: Number of frames that the sinks had received.
        seconds: Length of the run [s].
        fps: Frames per second of simulated time.
        version: The version of Continua that wrote the file.
        geometry: A digest of the geometry of each body, by name; empty if the scene has one.
    """

    state: dict[str, Any]
    scene: str
    frames_done: int
    seconds: float
    fps: float
    version: str
    geometry: dict[str, str]


def _version() -> str:
    try:
        return metadata.version("continua")
    except metadata.PackageNotFoundError:
        return "0"


def _user_block(data: memoryview) -> bytes:
    """Return the user block of a file whose other bytes are `data`: the kind, the format and a digest."""
    text = KIND + f"format {FORMAT}\nsha256 {hashlib.sha256(data).hexdigest()}\n".encode()
    return text.ljust(_BLOCK, b"\0")


def _put(group: h5py.Group, key: str, value: Any) -> None:
    kind = _kind(value)
    if kind == "str":
        item = group.create_dataset(key, data=value, dtype=h5py.string_dtype(), track_times=False)
    else:
        item = group.create_dataset(key, data=value, track_times=False)
    item.attrs["kind"] = kind


def _get(item: h5py.Dataset) -> Any:
    kind = item.attrs["kind"]
    if kind == "str":
        return item.asstr()[()]
    if kind == "array":
        return np.asarray(item[()], order="C")  # an array of no dimension is read as a scalar
    return item[()] if kind == "scalar" else _SCALARS[kind](item[()])


def save(
    path: str | os.PathLike[str],
    world: HasState,
    scene_text: str,
    *,
    frames_done: int,
    seconds: float,
    fps: float,
    geometry: Mapping[str, str] | None = None,
) -> None:
    """Write the state of `world` to `path` under a temporary name, then rename it.

    Args:
        path: The file; an older checkpoint there is replaced only once the new one is complete.
        world: What to save.
        scene_text: The scene, as text, so that the run can be built again from this file alone.
        frames_done: Number of frames that the sinks have received.
        seconds: Length of the run [s].
        fps: Frames a second.
        geometry: A digest of the geometry of each body, by name.
    """
    state = dict(world.state())
    # The file is built in memory first: HDF5 cannot close a file cleanly on a full disk.
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver="v110", track_order=True, userblock_size=_BLOCK) as file:
        file.attrs["continua"] = _version()
        file.attrs["frames_done"] = frames_done
        file.attrs["seconds"] = float(seconds)
        file.attrs["fps"] = float(fps)
        file.create_dataset("scene", data=scene_text, dtype=h5py.string_dtype(), track_times=False)
        file.attrs["geometry"] = json.dumps(dict(geometry or {}))
        group = file.create_group("state")
        for key, value in state.items():
            _put(group, key, value)
    data = memory.getbuffer()[_BLOCK:]
    with atomic_write(path) as out:
        out.write(_user_block(data))
        out.write(data)


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint and verify that it is complete.

    Raises:
        InputError: The file is missing, truncated, damaged, of another kind, or from a version of Continua
            whose checkpoints this one cannot read.
    """
    where = str(path)
    data = read_file(path)
    _verify(data, where)
    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            return _read(file)
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"this checkpoint cannot be read ({error}); run again from the start", where=where
        ) from None


def _verify(data: bytes, where: str) -> None:
    """Raise InputError unless the bytes of a file are those that `save` wrote."""
    block = data[:_BLOCK]
    if block == _user_block(memoryview(data)[_BLOCK:]):
        return
    if block.startswith(_HDF5):
        raise InputError(
            "this HDF5 file is not a Continua checkpoint, or one of an earlier version; run again from the start",
            where=where,
        )
    if not block.startswith(KIND):
        raise InputError("this is not a Continua checkpoint, or a damaged one", where=where)
    written = re.match(rb"format (\d{1,9})\n", block[len(KIND) :])
    if written is not None and int(written[1]) != FORMAT:
        raise InputError(
            f"this checkpoint has format {int(written[1])} but format {FORMAT} is read here; "
            "continue this run with the version of Continua that wrote it",
            where=where,
        )
    raise InputError("this checkpoint is truncated or damaged; run again from the start", where=where)


def _read(file: h5py.File) -> Checkpoint:
    state: dict[str, Any] = {}

    def visit(key: str, item: h5py.HLObject) -> None:
        if isinstance(item, h5py.Dataset):
            state[key] = _get(item)

    file["state"].visititems(visit)
    return Checkpoint(
        state=state,
        scene=file["scene"].asstr()[()],
        frames_done=int(file.attrs["frames_done"]),
        seconds=float(file.attrs["seconds"]),
        fps=float(file.attrs["fps"]),
        version=str(file.attrs["continua"]),
        geometry=json.loads(file.attrs.get("geometry", "{}")),
    )

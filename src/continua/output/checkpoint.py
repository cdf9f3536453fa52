"""Checkpoints: everything a run needs to continue bitwise identically, in one HDF5 file.

Layout of the file: the attributes of the root hold the kind, the format's number, the version of Continua,
the frames done, the length and frame rate of the run and a digest of the state; `/scene` is the text of the
scene; `/state/BODY/NAME` holds one dataset for each entry of the world's state.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from continua.atomic_io import atomic_write
from continua.errors import InputError

__all__ = ["FORMAT", "Checkpoint", "load", "save"]

KIND = "continua checkpoint"
FORMAT = 2
_SCALARS: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


def _kind(value: Any) -> str:
    """Return how a value of the state is stored: a Python scalar by its type, a NumPy scalar, or an array."""
    for name, kind in _SCALARS.items():
        if type(value) is kind:
            return name
    if isinstance(value, np.generic):
        return "scalar"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return "array"
    raise TypeError(f"a state holds numbers, text and arrays of numbers, not {type(value).__name__}")


class HasState(Protocol):
    """Anything with a flat state, such as a `World`."""

    def state(self) -> Mapping[str, Any]:
        """Return arrays, numbers and text by name; names such as "bridge/positions"."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run at one moment, as read from a file.

    Attributes:
        state: What `World.restore` takes.
        scene: Text of the scene file.
        frames_done: How many frames had been given to the sinks.
        seconds: Length of the run [s].
        fps: Frames a second of simulated time.
        version: The version of Continua that wrote the file.
    """

    state: dict[str, Any]
    scene: str
    frames_done: int
    seconds: float
    fps: float
    version: str


def _version() -> str:
    try:
        return metadata.version("continua")
    except metadata.PackageNotFoundError:
        return "0"


def _digest(state: Mapping[str, Any]) -> str:
    """Return a hash over all names, kinds, types, shapes and bytes of the state."""
    digest = hashlib.sha256()
    for key in sorted(state):
        value = state[key]
        if isinstance(value, str):
            digest.update(f"{key} str {value}\n".encode())
        else:
            array = np.asarray(value, order="C")  # unlike ascontiguousarray it keeps arrays of no dimension
            digest.update(f"{key} {_kind(value)} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


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
) -> None:
    """Write the state of `world` to `path` under a temporary name, then rename it.

    Args:
        path: The file; an older checkpoint there is replaced only once the new one is complete.
        world: What to save.
        scene_text: The scene, as text, so that the run can be built again from this file alone.
        frames_done: How many frames the sinks have got.
        seconds: Length of the run [s].
        fps: Frames a second.
    """
    state = dict(world.state())
    # The file is made in memory first: HDF5 cannot give up a file on a full disk in good order.
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver="v110", track_order=True) as file:
        file.attrs["kind"] = KIND
        file.attrs["format"] = FORMAT
        file.attrs["continua"] = _version()
        file.attrs["frames_done"] = frames_done
        file.attrs["seconds"] = float(seconds)
        file.attrs["fps"] = float(fps)
        file.attrs["digest"] = _digest(state)
        file.create_dataset("scene", data=scene_text, dtype=h5py.string_dtype(), track_times=False)
        group = file.create_group("state")
        for key, value in state.items():
            _put(group, key, value)
    with atomic_write(path) as out:
        out.write(memory.getbuffer())


def load(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint and check that it is whole.

    Raises:
        InputError: The file is missing, truncated, damaged, of another kind, or from a version of Continua
            whose checkpoints this one cannot read.
    """
    where = str(path)
    if not Path(path).is_file():
        raise InputError("there is no checkpoint here; run without --resume first", where=where)
    try:
        with h5py.File(path, "r") as file:
            return _read(file, where)
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "this is not a whole HDF5 file (truncated or damaged); run again from the start", where=where
        ) from None


def _read(file: h5py.File, where: str) -> Checkpoint:
    if file.attrs.get("kind") != KIND:
        raise InputError("this HDF5 file is not a Continua checkpoint", where=where)
    version = str(file.attrs["continua"])
    if file.attrs["format"] != FORMAT:
        raise InputError(
            f"this checkpoint has format {file.attrs['format']} but format {FORMAT} is read here; "
            f"use Continua {version} to go on with this run",
            where=where,
        )
    state: dict[str, Any] = {}

    def visit(key: str, item: h5py.HLObject) -> None:
        if isinstance(item, h5py.Dataset):
            state[key] = _get(item)

    file["state"].visititems(visit)
    if _digest(state) != file.attrs["digest"]:
        raise InputError(
            "the checkpoint's contents do not match its digest (damaged); run again from the start",
            where=where,
        )
    return Checkpoint(
        state=state,
        scene=file["scene"].asstr()[()],
        frames_done=int(file.attrs["frames_done"]),
        seconds=float(file.attrs["seconds"]),
        fps=float(file.attrs["fps"]),
        version=version,
    )

"""Frames as the page of the studio reads them: binary messages of a JSON header and arrays.

A message is eight bytes (two little-endian uint32: the kind of message and the length of the header), a JSON header
padded with spaces so that what follows is aligned to four bytes, then the arrays one after another. The header says
where each array lies, so that a new quantity needs no new format.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame
from continua.render.colors import PALETTE

__all__ = [
    "Kind", "body_facts", "changes_shape", "collider_facts", "field_list", "pack", "poses_of", "starts_at",
]  # fmt: skip

_DTYPES = {"float32": "f4", "uint32": "u4", "uint16": "u2", "uint8": "u1"}

_FIELDS: dict[str, tuple[str, str, str]] = {
    "displacement": ("Motion", "Displacement", "zero"),
    "velocity": ("Motion", "Speed", "zero"),
    "von_mises": ("Stress and energy", "Von Mises stress", "zero"),
    "stress": ("Stress and energy", "Von Mises stress, by elements", "zero"),
    "energy_density": ("Stress and energy", "Energy density", "zero"),
    "pressure": ("Fluid", "Pressure", "zero"),
    "vorticity": ("Fluid", "Vorticity", "middle"),
    "density_error": ("Fluid", "Density above rest", "zero"),
    "stretch": ("Shape", "Stretch, the farthest from 1", "one"),
    "plastic_strain": ("Shape", "Plastic strain", "zero"),
    "inverted": ("Shape", "Inverted elements", "flag"),
    "voxels": ("Carried along", "Voxel data", "zero"),
}
"""Group and label of fields, and where their range begins: at 0, about 1, with 0 in the middle, or no and yes."""


class Kind(IntEnum):
    """The kinds of binary messages."""

    TOPOLOGY = 1
    FRAME = 2
    REPLAY = 3


def pack(kind: Kind, header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> bytes:
    """Put a header and arrays (float32, uint32, uint16 or uint8) into one binary message."""
    places: dict[str, dict[str, Any]] = {}
    blocks: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        block = np.ascontiguousarray(array, dtype=np.dtype(array.dtype).newbyteorder("<")).tobytes()
        places[name] = {"type": _DTYPES[array.dtype.name], "shape": list(array.shape), "offset": offset}
        block += b"\0" * (-len(block) % 4)
        blocks.append(block)
        offset += len(block)
    text = json.dumps({**header, "arrays": places}, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([struct.pack("<II", kind, len(text)), text, *blocks])


def starts_at(field: str) -> str:
    """Return where the range of a field begins: at "zero", about "one", with 0 in the "middle", or a "flag"."""
    return _FIELDS.get(field, ("", "", "zero"))[2]


def field_list(frame: Frame) -> list[dict[str, str]]:
    """Return group, name, label, unit and kind of range of every field that can colour the bodies."""
    found: dict[str, str] = {}
    for body in frame:
        for name, unit in body.fields.units.items():
            found.setdefault(name, unit)
    names = [name for name in _FIELDS if name in found] + [name for name in found if name not in _FIELDS]
    entries = []
    for name in names:
        group, label, start = _FIELDS.get(name, ("Others", name.replace("_", " ").capitalize(), "zero"))
        if start == "middle" and any(
            body.fields[name].values.ndim > 1 for body in frame if name in body.fields
        ):
            start = "zero"  # the length of a vector has no sign
        entries.append({"name": name, "group": group, "label": label, "unit": found[name], "start": start})
    return entries


def body_facts(number: int, body: BodyFrame) -> dict[str, Any]:
    """Return what never changes of a body, but its mesh."""
    return {
        "name": body.name,
        "kind": body.kind,
        "color": body.color or PALETTE[number % len(PALETTE)],
        "radius": body.point_radius if body.kind != "liquid" else _cell(body),
        "nodes": len(body.positions),
        "cells": {kind: len(cells) for kind, cells in body.cells.items()},
    }


def changes_shape(body: BodyFrame) -> bool:
    """Tell whether a body's points are others in every frame: those of fluids."""
    return body.point_radius is not None or body.kind == "liquid"


def _cell(body: BodyFrame) -> float:
    """Return half a cell of a liquid on a grid [m]: pages take a body with a radius as one whose points change."""
    return 1.0 if body.volume is None else 0.5 * body.volume.spacing


def collider_facts(number: int, about: Mapping[str, object], arrays: dict[str, NDArray]) -> dict[str, Any]:
    """Return what never changes of a collider; its mesh, if it has one, goes into `arrays`."""
    plain: dict[str, Any] = {}
    for key, value in about.items():
        if key == "points":
            arrays[f"collider/{number}/points"] = np.asarray(value, dtype=np.float32)
        elif key == "triangles":
            arrays[f"collider/{number}/triangles"] = np.asarray(value, dtype=np.uint32)
        elif key != "pose":
            plain[key] = (
                np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic, tuple)) else value
            )
    return plain


def poses_of(frame: Frame) -> dict[int, list[float]]:
    """Return the rows of the 3x4 matrices of the colliders that move, by their numbers."""
    return {
        number: np.asarray(about["pose"], dtype=np.float64).ravel().tolist()
        for number, about in enumerate(frame.colliders)
        if about.get("pose") is not None
    }

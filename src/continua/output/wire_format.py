"""Wire format of the studio and of replays: binary messages with a JSON header and arrays.

A message is eight bytes (two little-endian uint32: the kind of message and the length of the header), a JSON header
padded with spaces to a multiple of four bytes, then the arrays one after another. The header gives the offset of each
array, so that a new quantity needs no new format.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame
from continua.render.colors import PALETTE
from continua.textures import Texture

__all__ = [
    "MessageKind", "body_header", "collider_header", "collider_points", "collider_poses", "field_list",
    "frame_textures", "pack", "range_mode", "texture_arrays", "texture_header",
]  # fmt: skip

_DTYPES = {"float32": "f4", "uint32": "u4", "uint16": "u2", "uint8": "u1"}

_FIELDS: dict[str, tuple[str, str, str]] = {
    "displacement": ("Motion", "Displacement", "zero"),
    "velocity": ("Motion", "Speed", "zero"),
    "von_mises": ("Stress and energy", "Von Mises stress", "zero"),
    "stress": ("Stress and energy", "Von Mises stress, by element", "zero"),
    "energy_density": ("Stress and energy", "Energy density", "zero"),
    "pressure": ("Fluid", "Pressure", "zero"),
    "vorticity": ("Fluid", "Vorticity", "signed"),
    "density_error": ("Fluid", "Density above rest", "zero"),
    "stretch": ("Shape", "Stretch, farthest from 1", "one"),
    "plastic_strain": ("Shape", "Plastic strain", "zero"),
    "inverted": ("Shape", "Inverted elements", "flag"),
    "overlap": ("Shape", "Overlaps", "flag"),
    "voxels": ("Voxels", "Voxel data", "zero"),
}
"""Group and label of fields, and the mode of their colour range; see `range_mode`."""


class MessageKind(IntEnum):
    """Kinds of binary messages."""

    TOPOLOGY = 1
    FRAME = 2
    REPLAY = 3


def pack(kind: MessageKind, header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> bytes:
    """Encode a header and arrays (float32, uint32, uint16 or uint8) as one binary message."""
    table: dict[str, dict[str, Any]] = {}
    blocks: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        block = np.ascontiguousarray(array, dtype=np.dtype(array.dtype).newbyteorder("<")).tobytes()
        table[name] = {"type": _DTYPES[array.dtype.name], "shape": list(array.shape), "offset": offset}
        block += b"\0" * (-len(block) % 4)
        blocks.append(block)
        offset += len(block)
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([struct.pack("<II", kind, len(text)), text, *blocks])


def range_mode(field: str) -> str:
    """Return the colour range of a field: from "zero", about "one", "signed" about zero, or "flag" for 0 or 1."""
    return _FIELDS.get(field, ("", "", "zero"))[2]


def field_list(frame: Frame) -> list[dict[str, str]]:
    """Return group, name, label, unit and range mode of every field that can colour the bodies."""
    found: dict[str, str] = {}
    for body in frame:
        for name, unit in body.fields.units.items():
            found.setdefault(name, unit)
    names = [name for name in _FIELDS if name in found] + [name for name in found if name not in _FIELDS]
    entries = []
    for name in names:
        group, label, mode = _FIELDS.get(name, ("Other", name.replace("_", " ").capitalize(), "zero"))
        if mode == "signed" and any(
            body.fields[name].values.ndim > 1 for body in frame if name in body.fields
        ):
            mode = "zero"  # the magnitude of a vector has no sign
        entries.append({"name": name, "group": group, "label": label, "unit": found[name], "rangeMode": mode})
    return entries


def body_header(number: int, body: BodyFrame) -> dict[str, Any]:
    """Return the properties of a body that are constant while its topology is, except its mesh."""
    return {
        "name": body.name,
        "kind": body.kind,
        "color": body.color or PALETTE[number % len(PALETTE)],
        "pointRadius": body.point_radius,
        "dynamicTopology": body.has_dynamic_topology,
        "topologyVersion": body.topology_version,
        "nodes": len(body.positions),
        "cells": {kind: len(cells) for kind, cells in body.cells.items()},
        "texture": texture_header(body.texture if body.skin is None else body.skin.texture),
    }


def collider_header(number: int, about: Mapping[str, object], arrays: dict[str, NDArray]) -> dict[str, Any]:
    """Return the constant properties of a collider; its mesh, if any, is added to `arrays`."""
    plain: dict[str, Any] = {}
    for key, value in about.items():
        if key == "points":
            arrays[f"collider/{number}/points"] = np.asarray(value, dtype=np.float32)
        elif key == "triangles":
            arrays[f"collider/{number}/triangles"] = np.asarray(value, dtype=np.uint32)
        elif key == "uv":
            arrays[f"collider/{number}/uv"] = np.asarray(value, dtype=np.float32)
        elif isinstance(value, Texture):
            plain["texture"] = texture_header(value)
        elif key != "pose":
            plain[key] = (
                np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic, tuple)) else value
            )
    return plain


def texture_header(texture: Texture | None) -> dict[str, Any] | None:
    """Return how the header of a body or a collider refers to an image."""
    return None if texture is None else {"name": texture.digest, "factor": list(texture.factor)}


def texture_arrays(textures: Iterable[Texture | None]) -> dict[str, NDArray]:
    """Return the PNG files of images as arrays; each image is there once."""
    found = {texture.digest: texture for texture in textures if texture is not None}
    return {f"texture/{name}": np.frombuffer(image.png(), np.uint8) for name, image in found.items()}


def frame_textures(frame: Frame) -> list[Texture]:
    """Return the images of a frame, of bodies as they are drawn and of colliders."""
    found = [body.texture if body.skin is None else body.skin.texture for body in frame]
    colliders = [about.get("texture") for about in frame.colliders]
    return [texture for texture in (*found, *colliders) if isinstance(texture, Texture)]


def collider_points(frame: Frame) -> dict[int, NDArray]:
    """Return the points of colliders that deform [m] by number, shape [n, 3] each."""
    return {
        number: np.asarray(about["points"], dtype=np.float32)
        for number, about in enumerate(frame.colliders)
        if about.get("deforms")
    }


def collider_poses(frame: Frame) -> dict[int, list[float]]:
    """Return the 3x4 matrices of moving colliders by number, row-major."""
    return {
        number: np.asarray(about["pose"], dtype=np.float64).ravel().tolist()
        for number, about in enumerate(frame.colliders)
        if about.get("pose") is not None
    }

"""The file of a distance field: small, checked, and read in milliseconds.

A file holds, in this order and little-endian: the mark `CONTINUA-SDF`, the version of the format (uint32), the length
of the header (uint32), the header as JSON, the octree as one bit per node (1 if it is split; base cells first, then
level by level), the degree of each leaf (uint8), the coefficients (float32), and a CRC-32 of all that (uint32).
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.file_input import read_file
from continua.mesh import SurfaceMesh
from continua.sdf.field import DistanceField, FieldTable, FitReport
from continua.sdf.sampling_rules import coefficient_count
from continua.validation import file_path, instance_of

__all__ = ["load", "mesh_hash", "save"]

_MARK = b"CONTINUA-SDF"
_VERSION = 1


def mesh_hash(mesh: SurfaceMesh) -> str:
    """Return a hash of a surface's nodes and triangles."""
    instance_of(mesh, SurfaceMesh, "the surface")
    digest = hashlib.sha256(np.ascontiguousarray(mesh.points, "<f8").tobytes())
    digest.update(np.ascontiguousarray(mesh.triangles, "<i4").tobytes())
    return digest.hexdigest()


def save(field: DistanceField, path: str | os.PathLike[str]) -> None:
    """Write a field to `path`; its folder must exist."""
    table = field.table
    header = {
        "frame": table.frame.tolist(),
        "grid": table.grid.tolist(),
        "nodes": len(table.nodes),
        "leaves": len(table.ends),
        "coefficients": len(table.coefficients),
        "source": field.source_hash,
        "report": asdict(field.report),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    data = b"".join(
        [
            _MARK,
            struct.pack("<II", _VERSION, len(text)),
            text,
            np.packbits(table.nodes >= 0).tobytes(),
            table.degrees.tobytes(),
            np.ascontiguousarray(table.coefficients, "<f4").tobytes(),
        ]
    )
    goal = file_path(path, "the path of a distance field")
    if not goal.parent.is_dir():
        raise InputError("there is no such folder", where=str(goal.parent))
    with atomic_write(goal) as file:
        file.write(data)
        file.write(struct.pack("<I", zlib.crc32(data)))


def load(path: str | os.PathLike[str], mesh: SurfaceMesh | None = None) -> DistanceField:
    """Read a field that `DistanceField.save` wrote.

    Args:
        path: The file.
        mesh: If given, the file must be the field of this surface.
    """
    path = file_path(path, "the path of a distance field")
    label = str(path)
    if mesh is not None:
        instance_of(mesh, SurfaceMesh, "the surface of a distance field")
    data = read_file(path)
    if data[: len(_MARK)] != _MARK:
        raise InputError(
            "is not a distance field of Continua; create one with  continua sdf MESH FILE", where=label
        )
    begin = len(_MARK) + 8
    if len(data) < begin + 4 or zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise InputError("is damaged or truncated; create it again with  continua sdf MESH FILE", where=label)
    version, length = struct.unpack("<II", data[len(_MARK) : begin])
    if version != _VERSION:
        raise InputError(
            f"has version {version} of the format, and this Continua reads {_VERSION}; create the file again",
            where=label,
        )
    try:
        header = json.loads(data[begin : begin + length])
        table = _table(header, data, begin + length)
        field = DistanceField(table, FitReport(**header["report"]), header["source"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise InputError(
            f"has contents that do not fit each other ({type(error).__name__}); "
            "create it again with  continua sdf MESH FILE",
            where=label,
        ) from None
    if mesh is not None and field.source_hash != mesh_hash(mesh):
        raise InputError("is the field of another mesh; create it again from this one", where=label)
    return field


def _table(header: dict, data: bytes, place: int) -> FieldTable:
    count, leaves = header["nodes"], header["leaves"]
    bits = np.frombuffer(data, np.uint8, (count + 7) // 8, place)
    place += len(bits)
    degrees = np.frombuffer(data, np.uint8, leaves, place).copy()
    coefficients = np.frombuffer(data, "<f4", header["coefficients"], place + leaves).astype(np.float32)
    grid, frame = np.array(header["grid"], np.int32), np.array(header["frame"], np.float64)
    split = np.unpackbits(bits, count=count).astype(bool)
    ends = np.cumsum(coefficient_count(degrees.astype(np.int64)))
    roots = int(np.prod(grid, dtype=np.int64))
    if (
        grid.shape != (3,)
        or grid.min() < 1
        or not np.isfinite(frame).all()
        or count != roots + 8 * int(split.sum())
        or leaves != count - int(split.sum())
        or ends[-1] != len(coefficients)
    ):
        raise ValueError("the counts do not fit")
    return FieldTable(
        frame,
        grid,
        _numbered(split, roots),
        ends.astype(np.int32),
        degrees,
        coefficients,
    )


def _numbered(split: NDArray[np.bool_], roots: int) -> NDArray[np.int32]:
    """Return the links of nodes that stand level by level: children follow each other in the order of their parents."""
    links = np.empty(len(split), np.int32)
    links[split] = roots + 8 * np.arange(int(split.sum()))
    links[~split] = -1 - np.arange(int((~split).sum()))
    return links

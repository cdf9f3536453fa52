"""Reads the triangles of binary glTF files (.glb), in the places where their scene puts them."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.surface_images import SurfaceImage, combine_materials
from continua.textures import Texture, linear_to_srgb

__all__ = ["read_glb"]

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}
_TRIANGLES = 4
_MOST_NODES = 100_000
_MOST_CORNERS = 300_000_000


def read_glb(
    path: Path, *, images: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.int64], SurfaceImage]:
    """Return points [m] and triangles of all meshes of the file's scene, their image and texture coordinates.

    Raises:
        InputError: The file is cut off, compressed, refers to other files, or has no triangles.
    """
    try:
        return _Reader(path.read_bytes(), path.parent if images else None).surface()
    except InputError:
        raise
    except (
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        struct.error,
        RecursionError,
    ) as error:
        raise InputError(f"not a valid .glb file, or cut off ({type(error).__name__})") from None


class _Reader:
    """Reads the surface of a file.

    Args:
        data: The bytes of the file.
        folder: Where images lie that it names; None to read none.
    """

    def __init__(self, data: bytes, folder: Path | None) -> None:
        self.folder = folder
        magic, version, length = struct.unpack_from("<4sII", data)
        if magic != b"glTF" or version != 2 or length > len(data):
            raise InputError("not a valid .glb file of version 2, or cut off")
        size, kind = struct.unpack_from("<I4s", data, 12)
        if kind != b"JSON":
            raise InputError("not a valid .glb file: it does not begin with its description")
        self.about: dict[str, Any] = json.loads(data[20 : 20 + size])
        rest = 20 + size
        self.bytes = b""
        if rest + 8 <= length:
            count, kind = struct.unpack_from("<I4s", data, rest)
            self.bytes = data[rest + 8 : rest + 8 + count]
        needed = self.about.get("extensionsRequired", [])
        if needed:
            raise InputError(f"it needs {', '.join(map(str, needed))[:80]}; export it without compression")
        if any("uri" in buffer for buffer in self.about.get("buffers", [])):
            raise InputError("it refers to other files; export it as one binary file")

    def surface(self) -> tuple[NDArray[np.float64], NDArray[np.int64], SurfaceImage]:
        uv: list[NDArray[np.float64]] = []
        material_of: list[NDArray[np.int64]] = []
        has_uv = False
        points: list[NDArray[np.float64]] = []
        triangles: list[NDArray[np.int64]] = []
        first = corner_count = 0
        for mesh, matrix in self._placed():
            for part in self.about["meshes"][mesh]["primitives"]:
                if part.get("mode", _TRIANGLES) != _TRIANGLES:
                    continue
                own = self._array(part["attributes"]["POSITION"]).astype(np.float64)
                count = len(own)
                index = (
                    self._array(part["indices"]).astype(np.int64) if "indices" in part else np.arange(count)
                )
                if len(index) % 3 or (len(index) and index.max() >= count):
                    raise InputError("not a valid .glb file: its triangles name nodes that are not there")
                corners = index.reshape(-1, 3)
                material = int(part.get("material", -1))
                coordinates = self._coordinates(part, material, count)
                has_uv = has_uv or coordinates is not None
                uv.append(np.zeros((len(corners), 3, 2)) if coordinates is None else coordinates[corners])
                material_of.append(np.full(len(corners), material))
                if np.linalg.det(matrix[:3, :3]) < 0.0:
                    corners = corners[:, ::-1]  # a mirror turns surfaces inside out
                    uv[-1] = uv[-1][:, ::-1]
                points.append(own @ matrix[:3, :3].T + matrix[:3, 3])
                triangles.append(corners + first)
                first += count
                corner_count += corners.size
                if max(first, corner_count) > _MOST_CORNERS:
                    raise InputError("not a valid .glb file: its nodes place too many triangles")
        if not triangles:
            raise InputError("the file has no triangles")
        image = SurfaceImage(None, None)
        if has_uv:
            image = self._image(np.concatenate(material_of), np.concatenate(uv))
        return np.concatenate(points), np.concatenate(triangles), image

    def _coordinates(self, part: dict[str, Any], material: int, count: int) -> NDArray[np.float64] | None:
        """Return the texture coordinates of the nodes of a part [n, 2], v upwards; None if it has none."""
        slot = 0
        if material >= 0:
            slot = int(self._base(material).get("baseColorTexture", {}).get("texCoord", 0))
        name = f"TEXCOORD_{slot}"
        if name not in part["attributes"]:
            return None
        about = self.about["accessors"][part["attributes"][name]]
        values = self._array(part["attributes"][name])
        if values.shape != (count, 2):
            raise InputError("not a valid .glb file: its texture coordinates do not fit its nodes")
        coordinates = values.astype(np.float64)
        if about.get("normalized"):
            coordinates /= float(np.iinfo(values.dtype).max)
        return np.stack([coordinates[:, 0], 1.0 - coordinates[:, 1]], axis=1)

    def _base(self, material: int) -> dict[str, Any]:
        return dict(self.about["materials"][material].get("pbrMetallicRoughness", {}))

    def _image(self, material_of: NDArray[np.int64], uv: NDArray[np.float64]) -> SurfaceImage:
        """Return the image of all materials of the surface."""
        notes: list[str] = []
        materials: list[Texture | tuple[float, float, float] | None] = []
        for number in range(int(material_of.max()) + 1 if self.folder is not None else 0):
            base = self._base(number) if (material_of == number).any() else {}
            factor = np.array(base.get("baseColorFactor", (1.0, 1.0, 1.0, 1.0)), dtype=np.float64)[:3]
            r, g, b = linear_to_srgb(factor).tolist()
            materials.append((r, g, b))
            if "baseColorTexture" in base:
                try:
                    materials[-1] = self._texture(base["baseColorTexture"], np.clip(factor, 0.0, 1.0))
                except InputError as error:
                    name = self.about["materials"][number].get("name", number)
                    reason = error.message.removeprefix("the image cannot be read: ")
                    source = f" {error.where}" if error.where else ""
                    notes.append(f'drawn without the image{source} of material "{name}": {reason}')
        if self.folder is None:
            return SurfaceImage(None, uv)
        made = combine_materials(materials, material_of, uv)
        return SurfaceImage(made.texture, made.uv, (*notes, *made.notes))

    def _texture(self, reference: dict[str, Any], factor: NDArray[np.float64]) -> Texture:
        """Return the image that a material refers to: in the file, as a data URI, or beside the file."""
        source = self.about["textures"][reference["index"]].get("source")
        if source is None:
            raise InputError("it is in a format that is not read; export it as PNG or JPEG")
        about = self.about["images"][source]
        if "bufferView" in about:
            view = self.about["bufferViews"][about["bufferView"]]
            start = int(view.get("byteOffset", 0))
            return Texture.from_bytes(self.bytes[start : start + int(view["byteLength"])], factor)
        uri = str(about["uri"])
        if uri.startswith("data:"):
            try:
                data = base64.b64decode(uri.split(",", 1)[1], validate=True)
            except (IndexError, ValueError):
                raise InputError("its data URI is not valid") from None
            return Texture.from_bytes(data, factor)
        assert self.folder is not None
        name = unquote(uri)
        try:
            return Texture.read(self.folder / name, factor)
        except InputError as error:
            raise InputError(error.message, where=name) from None

    def _placed(self) -> list[tuple[int, NDArray[np.float64]]]:
        """Return the meshes of the scene with the matrices that put them there."""
        nodes = self.about.get("nodes", [])
        scenes = self.about.get("scenes", [])
        if not scenes:
            return [(number, np.eye(4)) for number in range(len(self.about.get("meshes", [])))]
        waiting = [(root, np.eye(4)) for root in scenes[self.about.get("scene", 0)].get("nodes", [])]
        found, seen = [], 0
        while waiting:
            number, above = waiting.pop()
            seen += 1
            if seen > _MOST_NODES:
                raise InputError("not a valid .glb file: its nodes go round in circles")
            node = nodes[number]
            matrix = above @ _matrix(node)
            if "mesh" in node:
                found.append((int(node["mesh"]), matrix))
            waiting += [(child, matrix) for child in node.get("children", [])]
        return found

    def _array(self, number: int) -> NDArray:
        about = self.about["accessors"][number]
        if "sparse" in about or "bufferView" not in about:
            raise InputError("it has sparse arrays, which are not read; export it without them")
        view = self.about["bufferViews"][about["bufferView"]]
        dtype, width, count = (
            np.dtype(_TYPES[about["componentType"]]),
            _WIDTHS[about["type"]],
            int(about["count"]),
        )
        step = int(view.get("byteStride", 0)) or dtype.itemsize * width
        start = int(view.get("byteOffset", 0)) + int(about.get("byteOffset", 0))
        if count < 0 or start < 0 or start + (count - 1) * step + dtype.itemsize * width > len(self.bytes):
            raise InputError("not a valid .glb file, or cut off")
        table = np.ndarray((count, width), dtype, self.bytes, start, (step, dtype.itemsize))
        return table[:, 0].copy() if width == 1 else table.copy()


def _matrix(node: dict[str, Any]) -> NDArray[np.float64]:
    """Return the matrix of a node: given as such, by columns, or as scale, turn (a quaternion) and shift."""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = np.array(node.get("rotation", (0.0, 0.0, 0.0, 1.0)), dtype=np.float64)
    matrix = np.eye(4)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix[:3, :3] = turn * np.array(node.get("scale", (1.0, 1.0, 1.0)), dtype=np.float64)
    matrix[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return matrix

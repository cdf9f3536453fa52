"""Reads binary glTF files (.glb): triangles in the places where their scene puts them, and what moves them."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.gltf_rig import GltfChannel, GltfNode, GltfPart, GltfRig, GltfSkin
from continua.mesh.surface_images import SurfaceImage, combine_materials
from continua.textures import Texture, linear_to_srgb
from continua.validation import shortened

__all__ = ["GltfSurface", "read_glb"]

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_PATHS = {"translation": 3, "rotation": 4, "scale": 3, "weights": 0}
_INTERPOLATIONS = ("STEP", "LINEAR", "CUBICSPLINE")
_TRIANGLES = 4
_MOST_NODES = 100_000
_MOST_CORNERS = 300_000_000


class GltfSurface(NamedTuple):
    """The surface of a file.

    Attributes:
        rig: What places and moves its points.
        triangles: Numbers of points, shape [k, 3].
        image: The image on it and its texture coordinates.
    """

    rig: GltfRig
    triangles: NDArray[np.int64]
    image: SurfaceImage


def read_glb(path: Path, *, images: bool = True, animation: str | int | None = None) -> GltfSurface:
    """Return all triangles of the file's scene, in their rest pose or with an animation.

    Args:
        path: The file.
        images: Whether images are read.
        animation: Name or number (from 0) of an animation of the file; None reads the rest pose only.

    Raises:
        InputError: The file is cut off, compressed, refers to other files, or has no triangles or no such animation.
    """
    try:
        return _Reader(path.read_bytes(), path.parent if images else None).surface(animation)
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

    def surface(self, animation: str | int | None) -> GltfSurface:
        uv: list[NDArray[np.float64]] = []
        material_of: list[NDArray[np.int64]] = []
        has_uv = False
        parts: list[GltfPart] = []
        triangles: list[NDArray[np.int64]] = []
        nodes = self._nodes()
        mirrors = GltfRig(nodes, (), ()).mirrors()
        first = corner_count = 0
        for mesh, node in self._placed(nodes):
            for about in self.about["meshes"][mesh]["primitives"]:
                if about.get("mode", _TRIANGLES) != _TRIANGLES:
                    continue
                part = self._part(about, mesh, node)
                count = len(part.rest)
                index = (
                    self._array(about["indices"]).astype(np.int64) if "indices" in about else np.arange(count)
                )
                if len(index) % 3 or (len(index) and index.max() >= count):
                    raise InputError("not a valid .glb file: its triangles name nodes that are not there")
                corners = index.reshape(-1, 3)
                material = int(about.get("material", -1))
                coordinates = self._coordinates(about, material, count)
                has_uv = has_uv or coordinates is not None
                uv.append(np.zeros((len(corners), 3, 2)) if coordinates is None else coordinates[corners])
                material_of.append(np.full(len(corners), material))
                if node >= 0 and part.skin < 0 and mirrors[node]:
                    corners = corners[:, ::-1]
                    uv[-1] = uv[-1][:, ::-1]
                parts.append(part)
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
        channels = () if animation is None else self._channels(animation, nodes)
        rig = GltfRig(nodes, self._skins(), parts, channels)
        return GltfSurface(rig, np.concatenate(triangles), image)

    def _part(self, about: dict[str, Any], mesh: int, node: int) -> GltfPart:
        """Return the points of a part of a mesh that a node places."""
        attributes = about["attributes"]
        rest = self._floats(attributes["POSITION"])
        targets = [
            self._floats(target["POSITION"]) if "POSITION" in target else np.zeros_like(rest)
            for target in about.get("targets", [])
        ]
        morphs = np.stack(targets) if targets else np.zeros((0, *rest.shape))
        if morphs.shape[1:] != rest.shape or rest.shape[1:] != (3,):
            raise InputError("not a valid .glb file: its morph targets do not fit its nodes")
        skin = int(self.about["nodes"][node].get("skin", -1)) if node >= 0 else -1
        if skin < 0 or "JOINTS_0" not in attributes:
            return GltfPart(node, rest, morphs)
        sets = [k for k in range(len(attributes)) if f"JOINTS_{k}" in attributes]
        joints = np.concatenate(
            [self._array(attributes[f"JOINTS_{k}"]).astype(np.int64) for k in sets], axis=1
        )
        weights = np.concatenate([self._floats(attributes[f"WEIGHTS_{k}"]) for k in sets], axis=1)
        total = weights.sum(axis=1, keepdims=True)
        if joints.shape != weights.shape or len(joints) != len(rest) or not (total > 0.0).all():
            raise InputError(
                "its skin has points without joints; give all points weights and export it again"
            )
        if joints.max(initial=0) >= len(self.about["skins"][skin]["joints"]):
            raise InputError("not a valid .glb file: its skin names joints that are not there")
        return GltfPart(node, rest, morphs, skin, joints, weights / total)

    def _skins(self) -> list[GltfSkin]:
        found = []
        for about in self.about.get("skins", []):
            joints = np.array(about["joints"], dtype=np.int64)
            inverse = np.tile(np.eye(4), (len(joints), 1, 1))
            if "inverseBindMatrices" in about:
                columns = self._floats(about["inverseBindMatrices"])[: len(joints)]
                inverse = columns.reshape(-1, 4, 4).transpose(0, 2, 1)
            if (
                len(joints) != len(inverse)
                or joints.min(initial=0) < 0
                or joints.max() >= len(self.about["nodes"])
            ):
                raise InputError("not a valid .glb file: its skin names joints that are not there")
            found.append(GltfSkin(joints, inverse))
        return found

    def _channels(self, animation: str | int, nodes: list[GltfNode]) -> list[GltfChannel]:
        """Return the keys of one animation of the file."""
        every = self.about.get("animations", [])
        names = [str(about.get("name", "")) for about in every]
        if not every:
            raise InputError("the file has no animation; export it with one, or use it as a mesh")
        if isinstance(animation, str) and animation in names:
            animation = names.index(animation)
        if isinstance(animation, str) or not 0 <= animation < len(every):
            known = ", ".join(f"'{name}'" if name else str(k) for k, name in enumerate(names[:20]))
            raise InputError(f"the file has no animation {shortened(animation)}; it has {known}")
        about, found = every[animation], []
        for channel in about["channels"]:
            node, path = channel["target"].get("node"), channel["target"]["path"]
            if node is None or path not in _PATHS:
                continue
            sampler = about["samplers"][channel["sampler"]]
            kind = sampler.get("interpolation", "LINEAR")
            times = self._floats(sampler["input"]).ravel()
            values = self._floats(sampler["output"])
            width = _PATHS[path] or len(nodes[node].weights)
            shape = (len(times), 3, width) if kind == "CUBICSPLINE" else (len(times), width)
            if (
                kind not in _INTERPOLATIONS
                or not len(times)
                or not (np.diff(times) > 0.0).all()
                or values.size != int(np.prod(shape))
                or not (np.isfinite(values).all() and np.isfinite(times).all())
                or nodes[node].matrix is not None
            ):
                raise InputError(f"not a valid .glb file: the keys of '{path}' of node {node} are damaged")
            found.append(GltfChannel(int(node), path, times, values.reshape(shape), kind))
        return found

    def _coordinates(self, part: dict[str, Any], material: int, count: int) -> NDArray[np.float64] | None:
        """Return the texture coordinates of the nodes of a part [n, 2], v upwards; None if it has none."""
        slot = 0
        if material >= 0:
            slot = int(self._base(material).get("baseColorTexture", {}).get("texCoord", 0))
        name = f"TEXCOORD_{slot}"
        if name not in part["attributes"]:
            return None
        coordinates = self._floats(part["attributes"][name])
        if coordinates.shape != (count, 2):
            raise InputError("not a valid .glb file: its texture coordinates do not fit its nodes")
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

    def _nodes(self) -> list[GltfNode]:
        """Return the nodes of the file; each has one parent at most, and none is above itself."""
        every = self.about.get("nodes", [])
        if len(every) > _MOST_NODES:
            raise InputError("not a valid .glb file: it has too many nodes")
        parent = np.full(len(every), -1)
        for number, about in enumerate(every):
            for child in about.get("children", []):
                if parent[child] >= 0:
                    raise InputError("not a valid .glb file: its nodes go round in circles")
                parent[child] = number
        above = parent.copy()  # halves the way to the root in each pass
        for _ in range(len(every).bit_length() + 1):
            above = np.where(above >= 0, above[above], -1)
        if (above >= 0).any():
            raise InputError("not a valid .glb file: its nodes go round in circles")
        return [self._node(about, int(up)) for about, up in zip(every, parent, strict=True)]

    def _node(self, about: dict[str, Any], parent: int) -> GltfNode:
        def vector(key: str, default: tuple[float, ...]) -> NDArray[np.float64]:
            return np.array(about.get(key, default), dtype=np.float64).reshape(len(default))

        matrix = None
        if "matrix" in about:
            matrix = np.array(about["matrix"], dtype=np.float64).reshape(4, 4).T
        weights = np.zeros(0)
        if "mesh" in about:
            mesh = self.about["meshes"][about["mesh"]]
            count = max((len(part.get("targets", [])) for part in mesh["primitives"]), default=0)
            given = about.get("weights", mesh.get("weights", [0.0] * count))
            weights = np.array(given, dtype=np.float64).reshape(count)
        return GltfNode(
            parent,
            matrix,
            vector("translation", (0.0, 0.0, 0.0)),
            vector("rotation", (0.0, 0.0, 0.0, 1.0)),
            vector("scale", (1.0, 1.0, 1.0)),
            weights,
        )

    def _placed(self, nodes: list[GltfNode]) -> list[tuple[int, int]]:
        """Return the meshes of the scene with the nodes that place them, or -1 in a file without scenes."""
        scenes = self.about.get("scenes", [])
        if not scenes:
            return [(number, -1) for number in range(len(self.about.get("meshes", [])))]
        waiting = list(scenes[self.about.get("scene", 0)].get("nodes", []))
        found, seen = [], 0
        while waiting:
            number = int(waiting.pop())
            seen += 1
            if seen > _MOST_NODES:
                raise InputError("not a valid .glb file: its nodes go round in circles")
            about = self.about["nodes"][number]
            if "mesh" in about:
                found.append((int(about["mesh"]), number))
            waiting += about.get("children", [])
        return found

    def _floats(self, number: int) -> NDArray[np.float64]:
        """Return an array of numbers; normalised integers as fractions."""
        values = self._array(number)
        result = values.astype(np.float64)
        if self.about["accessors"][number].get("normalized") and values.dtype.kind != "f":
            result = np.maximum(result / np.iinfo(values.dtype).max, -1.0)
        return result

    def _array(self, number: int) -> NDArray:
        about = self.about["accessors"][number]
        dtype, width, count = (
            np.dtype(_TYPES[about["componentType"]]),
            _WIDTHS[about["type"]],
            int(about["count"]),
        )
        if count < 0 or count * width > _MOST_CORNERS:
            raise InputError("not a valid .glb file, or cut off")
        start = int(about.get("byteOffset", 0))
        if "bufferView" in about:
            table = self._table(about["bufferView"], start, dtype, width, count)
        else:
            table = np.zeros((count, width), dtype)
        if "sparse" in about:
            sparse = about["sparse"]
            some = int(sparse["count"])
            where, what = sparse["indices"], sparse["values"]
            place = np.dtype(_TYPES[where["componentType"]])
            rows = self._table(where["bufferView"], int(where.get("byteOffset", 0)), place, 1, some)[:, 0]
            table[rows] = self._table(what["bufferView"], int(what.get("byteOffset", 0)), dtype, width, some)
        return table[:, 0] if width == 1 else table

    def _table(self, number: int, offset: int, dtype: np.dtype, width: int, count: int) -> NDArray:
        """Return `count` rows of a view of the file's bytes, shape [count, width]."""
        view = self.about["bufferViews"][number]
        step = int(view.get("byteStride", 0)) or dtype.itemsize * width
        start = int(view.get("byteOffset", 0)) + offset
        if count < 0 or start < 0 or start + (count - 1) * step + dtype.itemsize * width > len(self.bytes):
            raise InputError("not a valid .glb file, or cut off")
        return np.ndarray((count, width), dtype, self.bytes, start, (step, dtype.itemsize)).copy()

"""One animated glTF file of a run, in its binary form: morph targets that viewers blend in time.

Written with `struct` and `json`: the format is a header, a piece of JSON and a piece of bytes, and none of
the libraries that the base install brings writes morph targets.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.frames import Frame
from continua.output.deferred_sink import DeferredSink
from continua.output.glb_fluid import FluidNodes
from continua.render.colors import srgb_to_linear
from continua.render.composition import Legend, body_colors, make_view, smooth_surface

__all__ = ["GlbSink"]

# Viewers on the web keep morph targets in the layers of a texture, of which 256 are sure to be there.
MAX_KEYS = 240
_FLOAT, _UNSIGNED_INT, _BYTE, _UNSIGNED_BYTE = 5126, 5125, 5120, 5121


class Document:
    """Collects the bytes and the accessors of a glTF file."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(
        self, array: NDArray, component: int, kind: str, *, target: int | None = None, bounds: bool = False
    ) -> int:
        """Add an array and return the number of its accessor."""
        data = np.ascontiguousarray(array).tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.size, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": component,
            "count": len(array),
            "type": kind,
        }
        if component in (_BYTE, _UNSIGNED_BYTE):
            accessor["normalized"] = True
        if bounds:
            flat = array.reshape(len(array), -1)
            accessor["min"], accessor["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        self.views.append(view)
        self.accessors.append(accessor)
        self.chunks += [data, bytes(-len(data) % 4)]
        self.size += len(data) + -len(data) % 4
        return len(self.accessors) - 1

    def vertices(self, array: NDArray, *, bounds: bool = False) -> int:
        return self.add(array.astype("<f4"), _FLOAT, "VEC3", target=34962, bounds=bounds)


def glb_bytes(document: dict[str, Any], chunks: list[bytes]) -> bytes:
    """Return the container: header, JSON padded with spaces, binary buffer."""
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(chunks)
    total = 12 + 8 + len(text) + 8 + len(body)
    return b"".join(
        [
            struct.pack("<4sII", b"glTF", 2, total),
            struct.pack("<I4s", len(text), b"JSON"),
            text,
            struct.pack("<I4s", len(body), b"BIN\0"),
            body,
        ]
    )


class GlbSink(DeferredSink):
    """`NAME.glb` with each body's surface, its colours, and its motion; made when the run ends.

    Viewers that know colours of morph targets (three.js) animate the colours too; others show those of the
    frame with the highest values. Runs of more than 240 frames keep every second, third, ... frame; viewers
    blend between them. A fluid is a set of points, or a surface where the run's view says so, for each of those
    frames, shown one after another.
    """

    kind = "glb"
    suffix = ".glb"

    def keys(self) -> list[int]:
        """Return the frames that are kept: evenly spaced from the first, and the last."""
        indices = self.spool.indices
        stride = max(1, -(-(len(indices) - 1) // (MAX_KEYS - 1)))
        return sorted({*indices[::stride], indices[-1]})

    def finish(self) -> list[Path]:
        """Write the file."""
        legend = make_view(self.spool.frames(), color=self.asked_color).legend
        keys = [self.spool.read(index) for index in self.keys()]
        out = Document()
        times = np.array([frame.time for frame in keys], "<f4")
        clock = out.add(times, _FLOAT, "SCALAR", bounds=True)
        weights = out.add(np.eye(len(keys), dtype="<f4").ravel(), _FLOAT, "SCALAR")
        nodes: list[dict[str, Any]] = []
        meshes: list[dict[str, Any]] = []
        channels: list[dict[str, Any]] = []
        fluids = FluidNodes(out, clock, str(self.info.view.get("fluid") or "points"))
        for number, name in enumerate(keys[0].bodies):
            if keys[0][name].point_radius is not None or keys[0][name].kind == "liquid":
                fluids.add(keys, name, number, self.color, legend)
                continue
            if not len(keys[0][name].triangles):
                continue
            meshes.append(_mesh(out, keys, name, number, self.color, legend))
            channels.append({"sampler": 0, "target": {"node": len(nodes), "path": "weights"}})
            nodes.append({"name": name, "mesh": len(nodes)})
            self.report_done((number + 1) * self.spool.count // len(keys[0].bodies))
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "Continua"},
            "scene": 0,
            "scenes": [{"name": self.info.name}],
        }
        if nodes or fluids.nodes:
            surface = {"baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0.0, "roughnessFactor": 0.55}
            sampler = {"input": clock, "interpolation": "LINEAR", "output": weights}
            samplers = [sampler] if nodes else []
            document |= {
                "nodes": nodes,
                "meshes": meshes,
                "materials": [{"name": "body", "pbrMetallicRoughness": surface, "doubleSided": True}],
                "animations": [{"name": self.info.name, "samplers": samplers, "channels": channels}],
            }
            fluids.join(document)
            document["scenes"][0]["nodes"] = list(range(len(document["nodes"])))
        document |= {
            "accessors": out.accessors,
            "bufferViews": out.views,
            "buffers": [{"byteLength": out.size}],
        }
        with atomic_write(self.output.record(self.path)) as file:
            file.write(glb_bytes(document, out.chunks))
        return [self.path]


def _mesh(
    out: Document, keys: list[Frame], name: str, number: int, color: str, legend: Legend | None
) -> dict[str, Any]:
    """Add one body: the first frame as the base, every key as a morph target."""
    first = keys[0][name]
    for frame in keys:
        if name not in frame.bodies or not np.array_equal(frame[name].triangles, first.triangles):
            raise InputError(
                f'the surface of body "{name}" changes its connectivity at frame {frame.index}, which glTF '
                'cannot animate; choose "usd", "vtu" or "ply"'
            )
    surface = smooth_surface(first, {})
    base = first.positions[surface.nodes].astype(np.float32)
    normals = surface.normals(first.positions).astype(np.float32)
    primitive: dict[str, Any] = {
        "attributes": {"POSITION": out.vertices(base, bounds=True), "NORMAL": out.vertices(normals)},
        "indices": out.add(surface.triangles.astype("<u4").ravel(), _UNSIGNED_INT, "SCALAR", target=34963),
        "material": 0,
        "targets": [],
    }

    colored = legend is not None and color in first.fields

    def tint(frame: Frame) -> NDArray[np.float64]:
        return srgb_to_linear(body_colors(frame[name], number, color, legend))[surface.nodes]

    peak = max(keys, key=lambda frame: float(frame[name][color].max())) if colored else keys[0]
    shown = np.rint(255 * tint(peak)) / 255
    rgba = np.column_stack([np.rint(255 * shown), np.full(len(shown), 255)]).astype(np.uint8)
    primitive["attributes"]["COLOR_0"] = out.add(rgba, _UNSIGNED_BYTE, "VEC4", target=34962)
    for frame in keys:
        positions = frame[name].positions
        moved = positions[surface.nodes].astype(np.float32) - base
        turned = surface.normals(positions).astype(np.float32) - normals
        target = {"POSITION": out.vertices(moved, bounds=True), "NORMAL": out.vertices(turned)}
        if colored:
            change = np.rint(127 * np.clip(tint(frame) - shown, -1, 1))
            delta = np.column_stack([change, np.zeros(len(change))]).astype(np.int8)
            target["COLOR_0"] = out.add(delta, _BYTE, "VEC4", target=34962)
        primitive["targets"].append(target)
    return {"name": name, "primitives": [primitive], "weights": [1.0] + [0.0] * (len(keys) - 1)}

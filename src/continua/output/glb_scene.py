"""The nodes, meshes and animations of a glTF file: one node for each topology version of a body.

Morph targets move the vertices of a node, but cannot add or remove any. A body whose topology changes is therefore
several nodes, of which all but one have the scale 0 at any time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame, check_same_connectivity
from continua.output.glb_document import BYTE, FLOAT, UNSIGNED_BYTE, UNSIGNED_INT, Document
from continua.render.colors import srgb_to_linear
from continua.render.composition import Legend, body_colors, smooth_surface
from continua.render.fluid_surface import with_fluid_surface
from continua.render.surface import split_seams
from continua.textures import Texture

__all__ = ["AnimatedScene"]


class AnimatedScene:
    """Collects the bodies of a run.

    Args:
        keys: The frames that the animation shows.
        color: The field that colours the bodies that have it, or "plain".
        legend: The range of the colours, or None.
        fluid: How particles are drawn: "points" or "surface".
    """

    def __init__(self, keys: list[Frame], color: str, legend: Legend | None, fluid: str) -> None:
        self.out = Document()
        self._keys, self._color, self._legend, self._fluid = keys, color, legend, fluid
        times = np.array([frame.time for frame in keys], "<f4")
        self._clock = self.out.add(times, FLOAT, "SCALAR", bounds=True)
        self._nodes: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._samplers: list[dict[str, Any]] = []
        self._channels: list[dict[str, Any]] = []
        self._weights: dict[tuple[int, int], int] = {}
        self._materials: list[dict[str, Any]] = [_material("body")]
        self._images: list[Texture] = []
        self._material_of: dict[str, int] = {}

    def add_body(self, name: str, number: int) -> None:
        """Add all versions of the body `name`, which is the body with that number."""
        versions = self._versions(name)
        for first, last in versions:
            bodies = [self._keys[place][name] for place in range(first, last)]
            shown = with_fluid_surface(bodies[0]) if self._fluid == "surface" else bodies[0]
            is_cloud = shown.point_radius is not None
            if not len(shown.positions if is_cloud else shown.triangles):
                continue
            single = len(versions) == 1
            label = name if single else f"{name} {self._keys[first].index}"
            if _shown_anew(bodies[0]):
                mesh = {"name": label, "primitives": [self._still(shown, number)]}
            else:
                mesh = {"name": label, **self._moving(bodies, number)}
                self._animate("weights", self._weight_sampler(first, last))
            node: dict[str, Any] = {"name": label, "mesh": len(self._meshes)}
            if not single:
                node["scale"] = [float(first == 0)] * 3
                self._animate("scale", self._scale_sampler(first, last))
            self._nodes.append(node)
            self._meshes.append(mesh)

    def _versions(self, name: str) -> list[tuple[int, int]]:
        """Return the ranges of keys in which a body keeps its topology: the first, and the one after the last."""
        ranges: list[tuple[int, int]] = []
        before: BodyFrame | None = None
        for place, frame in enumerate(self._keys):
            body = frame.bodies.get(name)
            if body is None:
                before = None
                continue
            if (
                before is not None
                and not _shown_anew(body)
                and body.topology_version == before.topology_version
            ):
                check_same_connectivity(before, body)
                ranges[-1] = (ranges[-1][0], place + 1)
            else:
                ranges.append((place, place + 1))
            before = body
        return ranges

    def _animate(self, path: str, sampler: int) -> None:
        """Animate a property of the node that is added next."""
        self._channels.append({"sampler": sampler, "target": {"node": len(self._nodes), "path": path}})

    def _weight_sampler(self, first: int, last: int) -> int:
        """Return the sampler that blends the morph targets of the keys in a range; bodies share it."""
        if (first, last) not in self._weights:
            clock = self._clock
            if last - first < len(self._keys):
                times = np.array([frame.time for frame in self._keys[first:last]], "<f4")
                clock = self.out.add(times, FLOAT, "SCALAR", bounds=True)
            weights = self.out.add(np.eye(last - first, dtype="<f4").ravel(), FLOAT, "SCALAR")
            self._weights[first, last] = len(self._samplers)
            self._samplers.append({"input": clock, "interpolation": "LINEAR", "output": weights})
        return self._weights[first, last]

    def _scale_sampler(self, first: int, last: int) -> int:
        """Return a sampler of the scale that is 1 in a range of keys and 0 before and after it."""
        scales = np.zeros((len(self._keys), 3), "<f4")
        scales[first:last] = 1.0
        output = self.out.add(scales, FLOAT, "VEC3")
        self._samplers.append({"input": self._clock, "interpolation": "STEP", "output": output})
        return len(self._samplers) - 1

    def _still(self, body: BodyFrame, number: int) -> dict[str, Any]:
        """Return a set of points, or a surface, that is shown for one key only."""
        tint = body_colors(body, number, self._color, self._legend)
        if body.point_radius is not None:
            attributes = {"POSITION": self.out.vertices(body.positions, bounds=True)}
            return {"attributes": attributes | self._colors(tint), "material": 0, "mode": 0}
        surface = smooth_surface(body)
        attributes = {
            "POSITION": self.out.vertices(body.positions[surface.nodes], bounds=True),
            "NORMAL": self.out.vertices(surface.normals(body.positions)),
        }
        return {
            "attributes": attributes | self._colors(tint[surface.nodes]),
            "indices": self._indices(surface.triangles),
            "material": 0,
        }

    def _moving(self, bodies: list[BodyFrame], number: int) -> dict[str, Any]:
        """Return the mesh of a body over some keys: the first one as the base, every key as a morph target."""
        first, color, legend = bodies[0], self._color, self._legend
        surface = smooth_surface(first)
        vertices: NDArray[np.int64] | slice = slice(None)  # of the surface; more along the seams of an image
        triangles, uv = surface.triangles, None
        if first.uv is not None:
            vertices, triangles, uv = split_seams(triangles, first.uv)
        nodes = surface.nodes[vertices]
        base = first.positions[nodes].astype(np.float32)
        normals = surface.normals(first.positions)[vertices].astype(np.float32)
        primitive: dict[str, Any] = {
            "attributes": {
                "POSITION": self.out.vertices(base, bounds=True),
                "NORMAL": self.out.vertices(normals),
            },
            "indices": self._indices(triangles),
            "material": 0,
            "targets": [],
        }
        colored = legend is not None and color in first.fields

        def tint(body: BodyFrame) -> NDArray[np.float64]:
            return srgb_to_linear(body_colors(body, number, color, legend))[nodes]

        peak = max(bodies, key=lambda body: float(body[color].max())) if colored else first
        shown = np.rint(255 * tint(peak)) / 255
        if uv is not None:
            downwards = np.column_stack([uv[:, 0], 1.0 - uv[:, 1]]).astype("<f4")
            primitive["attributes"]["TEXCOORD_0"] = self.out.add(downwards, FLOAT, "VEC2", target=34962)
        if uv is not None and first.texture is not None and not colored:
            primitive["material"] = self._textured_material(first.texture)
        else:
            primitive["attributes"] |= self._linear_colors(shown)
        for body in bodies:
            moved = body.positions[nodes].astype(np.float32) - base
            turned = surface.normals(body.positions)[vertices].astype(np.float32) - normals
            target = {"POSITION": self.out.vertices(moved, bounds=True), "NORMAL": self.out.vertices(turned)}
            if colored:
                change = np.rint(127 * np.clip(tint(body) - shown, -1, 1))
                delta = np.column_stack([change, np.zeros(len(change))]).astype(np.int8)
                target["COLOR_0"] = self.out.add(delta, BYTE, "VEC4", target=34962)
            primitive["targets"].append(target)
        return {"primitives": [primitive], "weights": [1.0] + [0.0] * (len(bodies) - 1)}

    def _textured_material(self, texture: Texture) -> int:
        """Return the number of the material with an image; each image is in the file once."""
        if texture.digest not in self._material_of:
            self._material_of[texture.digest] = len(self._materials)
            material = _material(f"image {len(self._images)}")
            surface = material["pbrMetallicRoughness"]
            surface["baseColorFactor"] = [*texture.factor, 1]
            surface["baseColorTexture"] = {"index": len(self._images)}
            self._materials.append(material)
            self._images.append(texture)
        return self._material_of[texture.digest]

    def _indices(self, triangles: NDArray[np.int32]) -> int:
        return self.out.add(triangles.astype("<u4").ravel(), UNSIGNED_INT, "SCALAR", target=34963)

    def _colors(self, tint: NDArray[np.float64]) -> dict[str, int]:
        return self._linear_colors(srgb_to_linear(tint))

    def _linear_colors(self, linear: NDArray[np.float64]) -> dict[str, int]:
        rgba = np.column_stack([np.rint(255 * linear), np.full(len(linear), 255)]).astype(np.uint8)
        return {"COLOR_0": self.out.add(rgba, UNSIGNED_BYTE, "VEC4", target=34962)}

    def describe(self, name: str) -> dict[str, Any]:
        """Return the JSON of the file; `name` is that of the run."""
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "Continua"},
            "scene": 0,
            "scenes": [{"name": name}],
        }
        if self._nodes:
            document["scenes"][0]["nodes"] = list(range(len(self._nodes)))
            document |= {
                "nodes": self._nodes,
                "meshes": self._meshes,
                "materials": self._materials,
                "animations": [{"name": name, "samplers": self._samplers, "channels": self._channels}],
            }
        if self._images:
            views = [self.out.file(image.png()) for image in self._images]
            document |= {
                "images": [{"bufferView": view, "mimeType": "image/png"} for view in views],
                "samplers": [{"wrapS": 10497, "wrapT": 10497, "magFilter": 9729, "minFilter": 9987}],
                "textures": [{"sampler": 0, "source": i} for i in range(len(views))],
            }
        return document | {
            "accessors": self.out.accessors,
            "bufferViews": self.out.views,
            "buffers": [{"byteLength": self.out.size}],
        }


def _shown_anew(body: BodyFrame) -> bool:
    """Return whether each key has a mesh of its own: particles and ropes, and surfaces that are new in each frame."""
    return body.has_dynamic_topology or body.point_radius is not None


def _material(name: str) -> dict[str, Any]:
    surface = {"baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0.0, "roughnessFactor": 0.55}
    return {"name": name, "pbrMetallicRoughness": surface, "doubleSided": True}

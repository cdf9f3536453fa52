"""Fluids in a glTF file: a set of points or a surface for each moment, shown one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame
from continua.render.colors import srgb_to_linear
from continua.render.composition import Legend, body_colors, smooth_surface
from continua.render.fluid_surface import with_fluid_surface

if TYPE_CHECKING:
    from continua.output.glb import Document

__all__ = ["FluidNodes"]

_FLOAT, _UNSIGNED_INT, _UNSIGNED_BYTE = 5126, 5125, 5121


class FluidNodes:
    """One node for each moment of a fluid. All but one have the scale 0 at any time.

    Particles come and go and surfaces change their triangles, which morph targets cannot do.

    Args:
        out: The file.
        clock: Number of the accessor with the times of the keys.
        look: "points" or "surface".
    """

    def __init__(self, out: Document, clock: int, look: str) -> None:
        self.out, self.clock, self.look = out, clock, look
        self.nodes: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []

    def add(self, keys: list[Frame], name: str, number: int, color: str, legend: Legend | None) -> None:
        """Add the fluid `name`, which is the body with that number."""
        for place, frame in enumerate(keys):
            body = frame.bodies.get(name)
            if body is None or not len(body.positions) or (body.kind == "liquid" and not len(body.triangles)):
                continue
            primitive = self._primitive(body, number, color, legend)
            scales = np.zeros((len(keys), 3), "<f4")
            scales[place] = 1.0
            output = self.out.add(scales, _FLOAT, "VEC3")
            self.samplers.append({"input": self.clock, "interpolation": "STEP", "output": output})
            self.meshes.append({"name": f"{name} {frame.index}", "primitives": [primitive]})
            self.nodes.append({"name": f"{name} {frame.index}", "scale": [float(place == 0)] * 3})

    def _primitive(self, body: BodyFrame, number: int, color: str, legend: Legend | None) -> dict[str, Any]:
        if self.look == "points" and body.point_radius is not None:
            tint = body_colors(body, number, color, legend)
            attributes = {"POSITION": self.out.vertices(body.positions, bounds=True)}
            return {"attributes": attributes | self._colors(tint), "material": 0, "mode": 0}
        skin = with_fluid_surface(body)
        surface = smooth_surface(skin, {})
        tint = body_colors(skin, number, color, legend)[surface.nodes]
        attributes = {
            "POSITION": self.out.vertices(skin.positions[surface.nodes], bounds=True),
            "NORMAL": self.out.vertices(surface.normals(skin.positions)),
        }
        indices = surface.triangles.astype("<u4").ravel()
        return {
            "attributes": attributes | self._colors(tint),
            "indices": self.out.add(indices, _UNSIGNED_INT, "SCALAR", target=34963),
            "material": 0,
        }

    def _colors(self, tint: NDArray[np.float64]) -> dict[str, int]:
        linear = np.rint(255 * srgb_to_linear(tint))
        rgba = np.column_stack([linear, np.full(len(linear), 255)]).astype(np.uint8)
        return {"COLOR_0": self.out.add(rgba, _UNSIGNED_BYTE, "VEC4", target=34962)}

    def join(self, document: dict[str, Any]) -> None:
        """Put the nodes, meshes and samplers behind those of the other bodies."""
        channels = document["animations"][0]["channels"]
        first_sampler = len(document["animations"][0]["samplers"])
        for place, node in enumerate(self.nodes):
            target = {"node": len(document["nodes"]), "path": "scale"}
            channels.append({"sampler": first_sampler + place, "target": target})
            document["nodes"].append({**node, "mesh": len(document["meshes"])})
            document["meshes"].append(self.meshes[place])
        document["animations"][0]["samplers"] += self.samplers

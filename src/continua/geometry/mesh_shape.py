"""Shapes given by a closed triangle surface, with its exact or a fitted signed distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.geometry.shape import Shape
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.sdf import exact
from continua.validation import instance_of, number, shortened

__all__ = ["MeshShape"]


class _Field(Protocol):
    """A signed distance field: `sdf.exact`, `sdf.fit`, or one of the user's own."""

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]: ...

    def gradient(self, points: ArrayLike) -> NDArray[np.float64]: ...


@dataclass(frozen=True, eq=False)
class MeshShape(Shape):
    """Any closed surface as a collider.

    Attributes:
        mesh: The surface, outward oriented, or a volume mesh for its outside.
        field: Its signed distance, from `continua.sdf.fit` or with options from `continua.sdf.exact`; None uses the
            exact distance, which needs a closed surface.
        rounding: Outward offset of the surface [m]; it rounds the edges.
        inside: Keep bodies inside instead of outside.
    """

    kind = "mesh"
    mesh: SurfaceMesh | VolumeMesh
    field: _Field | None = None
    rounding: float = 0.0
    inside: bool = False

    def __post_init__(self) -> None:
        self.check_options()
        instance_of(self.mesh, (SurfaceMesh, VolumeMesh), "a mesh shape's mesh")
        self._set("rounding", number(self.rounding, "a mesh shape's rounding", low=0.0, unit="m"))
        self._check_flag("inside")
        if self.field is None:
            self._set("field", exact(self.surface))
        elif not (callable(self.field) and hasattr(self.field, "gradient")):
            raise InputError(
                f"a mesh shape's field must be a distance such as sdf.fit makes, not {shortened(self.field)}"
            )

    @property
    def surface(self) -> SurfaceMesh:
        """The surface."""
        return self.mesh if isinstance(self.mesh, SurfaceMesh) else self.mesh.surface

    def bounds(self) -> NDArray[np.float64] | None:
        """Return the bounding box of the shape at rest [m], shape [2, 3], or None if the shape is hollow."""
        if self.inside:
            return None
        return self.surface.bounds + self.rounding * np.array([[-1.0], [1.0]])

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and unit normals."""
        sign = -1.0 if self.inside else 1.0
        points = self._points(points)
        assert self.field is not None
        both = getattr(self.field, "value_and_gradient", None)
        gaps, normals = (
            both(points) if both else (self.field(points), np.asarray(self.field.gradient(points)))
        )
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), [0.0, 1.0, 0.0])
        return sign * (gaps - self.rounding), sign * normals

    def description(self) -> Mapping[str, object]:
        """Return the surface; its triangles face inwards if it is hollow."""
        surface = self.surface.flipped() if self.inside else self.surface
        points = surface.points
        if self.rounding > 0.0:
            points = points + self.rounding * self.surface.normals
        about = {"kind": "mesh", "points": points, "triangles": surface.triangles, "inside": self.inside}
        return about if surface.texture is None else about | {"uv": surface.uv, "texture": surface.texture}

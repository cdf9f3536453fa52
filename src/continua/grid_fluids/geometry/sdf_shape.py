"""A signed distance field as an obstacle, without the mesh it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry import Shape
from continua.sdf import DistanceField, TransformedField

__all__ = ["SdfShape"]

_DRAWN_CELLS = 32  # cells along the longest side of the mesh that is drawn


@dataclass(frozen=True, eq=False)
class SdfShape(Shape):
    """The interior of a fitted signed distance field, such as `sdf.load` reads from a file.

    Attributes:
        field: The distance field.
    """

    kind = "distance field"
    field: DistanceField | TransformedField

    def __post_init__(self) -> None:
        self.check_options()
        if not isinstance(self.field, DistanceField | TransformedField):
            raise InputError(f"an SDF shape needs a distance field, not {type(self.field).__name__}")

    def bounds(self) -> NDArray[np.float64]:
        """Return the box in which the field was fitted [m], shape [2, 3]; it contains the shape."""
        if isinstance(self.field, DistanceField):
            return np.asarray(self.field.bounds)
        box = np.asarray(self.field.field.bounds)
        ends = np.array(np.meshgrid(*box.T, indexing="ij")).reshape(3, -1).T
        ends = ends @ self.field.turn.T + self.field.shift
        return np.stack([ends.min(axis=0), ends.max(axis=0)])

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and unit normals."""
        gaps, slopes = self.field.value_and_gradient(points)
        length = np.linalg.norm(slopes, axis=1, keepdims=True)
        up = np.array([0.0, 1.0, 0.0])
        return np.asarray(gaps), np.where(length > 0.0, slopes / np.where(length > 0.0, length, 1.0), up)

    def description(self) -> Mapping[str, object]:
        """Return a surface for drawing: the faces between inside and outside cells, projected onto the zero level."""
        low, high = self.bounds()
        h = float((high - low).max()) / _DRAWN_CELLS
        n = np.maximum(np.ceil((high - low) / h).astype(int), 1)
        index = np.stack(np.meshgrid(*[np.arange(k) for k in n], indexing="ij"), axis=-1)
        inside = np.zeros(n + 2, bool)
        centers = (low + h * (index + 0.5)).reshape(-1, 3)
        inside[1:-1, 1:-1, 1:-1] = (self.distances(centers)[0] < 0.0).reshape(n)
        quads = []
        for axis in range(3):
            one, two = (np.moveaxis(inside, axis, 0)[s] for s in (slice(None, -1), slice(1, None)))
            for out, order in ((one & ~two, (0, 1, 2, 3)), (~one & two, (0, 3, 2, 1))):
                at = np.argwhere(np.moveaxis(out, 0, axis)).astype(np.int64)
                at[:, [a for a in range(3) if a != axis]] -= 1
                b, c = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
                ring = np.stack([at, at + b, at + b + c, at + c], axis=1)
                quads.append(ring[:, list(order)])
        corners = np.concatenate(quads).reshape(-1, 3)
        unique, number = np.unique(corners, axis=0, return_inverse=True)
        points = low + h * unique
        gaps, normals = self.distances(points)
        faces = number.reshape(-1, 4)
        triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]]).astype(np.int32)
        return {"kind": "mesh", "points": points - gaps[:, None] * normals, "triangles": triangles}

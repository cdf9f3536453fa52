"""Triangle surfaces."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import as_cells, as_points, compact, read_only, some
from continua.mesh.transform import Transformable, apply_transform
from continua.mesh.unique_rows import unique_rows
from continua.pickling import KeepsReadOnlyArrays
from continua.textures import Texture
from continua.validation import LARGEST, array, instance_of, mask_or_indices, number, sequence, text

__all__ = ["SurfaceMesh", "unique_edges"]


def unique_edges(
    triangles: NDArray[np.int32], node_count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return each edge of triangles [k, 3] once, [e, 2]; the edges of each triangle [k, 3]; and their uses [e]."""
    pairs = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges, group, _, starts = unique_rows(np.sort(pairs, axis=1), node_count)
    return edges, group.reshape(-1, 3), np.diff(starts)


_FLAT = 1e-9  # thickness of a flat surface, relative to its size
_NO_UV = "the surface has no texture coordinates, so no image can be put on it; export it with them"


def _as_uv(values: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return a copy of the texture coordinates of `count` triangles, all finite."""
    uv = array(values, f"the texture coordinates of {count} triangles", (count, 3, 2), finite=False)
    bad = np.flatnonzero(~(np.abs(uv) <= LARGEST).all(axis=(1, 2)))
    if bad.size:
        raise InputError(f"texture coordinates must be finite, but those of triangles {some(bad)} are not")
    return uv


class SurfaceMesh(KeepsReadOnlyArrays, Transformable):
    """A surface of triangles. All arrays are read-only.

    Attributes:
        points: Node positions [m], float64, shape [n, 3].
        triangles: Node numbers, int32, shape [k, 3]; counter-clockwise seen from outside.
        nodes: For the surface of a volume mesh, the node of that mesh for each node here [n]; else None.
        notes: What was repaired or remarkable when the mesh was made, one sentence each.
        uv: Texture coordinates of the corners of each triangle, float64, shape [k, 3, 2], or None.
        texture: The image on the surface, or None.
    """

    points: NDArray[np.float64]
    triangles: NDArray[np.int32]
    nodes: NDArray[np.int32] | None
    notes: tuple[str, ...]
    uv: NDArray[np.float64] | None
    texture: Texture | None

    def __init__(
        self,
        points: ArrayLike,
        triangles: ArrayLike,
        notes: tuple[str, ...] = (),
        *,
        uv: ArrayLike | None = None,
        texture: Texture | None = None,
    ) -> None:
        self.points = as_points(points)
        self.triangles = read_only(as_cells(triangles, 3, len(self.points), "triangles"))
        self.nodes = None
        self.notes = tuple(text(note, "each of the notes of a mesh") for note in sequence(notes, "notes"))
        self.uv = None if uv is None else read_only(_as_uv(uv, len(self.triangles)))
        self.texture = None if texture is None else instance_of(texture, Texture, "the texture of a surface")
        if texture is not None and uv is None:
            raise InputError(_NO_UV)

    @classmethod
    def _trusted(
        cls,
        points: NDArray,
        triangles: NDArray,
        nodes: NDArray[np.int32] | None = None,
        notes: tuple[str, ...] = (),
        uv: NDArray | None = None,
        texture: Texture | None = None,
    ) -> Self:
        """Make a surface from arrays that are right by construction; they are taken over, not copied."""
        mesh = cls.__new__(cls)
        mesh.points = read_only(np.ascontiguousarray(points, dtype=np.float64))
        mesh.triangles = read_only(np.ascontiguousarray(triangles, dtype=np.int32))
        mesh.nodes = None if nodes is None else read_only(nodes)
        mesh.notes = notes
        mesh.uv = None if uv is None else read_only(np.ascontiguousarray(uv, dtype=np.float64))
        mesh.texture = texture
        return mesh

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.points)

    @property
    def triangle_count(self) -> int:
        """Number of triangles."""
        return len(self.triangles)

    @property
    def element_count(self) -> int:
        """Number of triangles, by the name that volume meshes use."""
        return len(self.triangles)

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Smallest and largest coordinates [m], shape [2, 3]."""
        return read_only(np.stack([self.points.min(axis=0), self.points.max(axis=0)]))

    @cached_property
    def area_vectors(self) -> NDArray[np.float64]:
        """Normal of each triangle times its area [m2], shape [k, 3]."""
        a, b, c = (self.points[self.triangles[:, i]] for i in range(3))
        return read_only(0.5 * np.cross(b - a, c - a))

    @cached_property
    def areas(self) -> NDArray[np.float64]:
        """Area of each triangle [m2], shape [k]."""
        return read_only(np.linalg.norm(self.area_vectors, axis=1))

    @cached_property
    def area(self) -> float:
        """Area of the whole surface [m2]."""
        return float(self.areas.sum())

    @cached_property
    def volume(self) -> float:
        """Enclosed volume [m3] by the divergence theorem; negative if the surface is inside out.

        Only means something if `is_closed`.
        """
        origin = self.bounds.mean(axis=0)
        centers = self.points[self.triangles].mean(axis=1) - origin
        return float(np.einsum("ij,ij->", centers, self.area_vectors) / 3.0)

    @cached_property
    def normals(self) -> NDArray[np.float64]:
        """Unit normal of each node, the area-weighted mean of its triangles'; shape [n, 3]."""
        total = np.stack(
            [
                np.bincount(
                    self.triangles.ravel(), np.repeat(self.area_vectors[:, i], 3), minlength=self.node_count
                )
                for i in range(3)
            ],
            axis=1,
        )
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return read_only(total / np.where(length > 0.0, length, 1.0))

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Edges [e, 2]; edge of each side of each triangle [k, 3]; uses and signed uses of each edge [e]."""
        edges, sides, uses = unique_edges(self.triangles, self.node_count)
        turn = np.where(self.triangles < np.roll(self.triangles, -1, axis=1), 1, -1)
        signed = np.bincount(sides.ravel(), turn.ravel(), minlength=len(edges)).astype(np.int32)
        return read_only(edges), read_only(sides), uses, signed

    @property
    def edges(self) -> NDArray[np.int32]:
        """Each edge once as two node numbers, the smaller first, sorted; shape [e, 2]."""
        return self._edges[0]

    @property
    def triangle_edges(self) -> NDArray[np.int32]:
        """The numbers of the edges 0-1, 1-2, 2-0 of each triangle, shape [k, 3]."""
        return self._edges[1]

    @property
    def edge_uses(self) -> NDArray[np.int32]:
        """How many triangles each edge has, shape [e]."""
        return self._edges[2]

    @cached_property
    def is_manifold(self) -> bool:
        """Whether no edge belongs to more than two triangles."""
        return bool((self._edges[2] <= 2).all())

    @cached_property
    def is_closed(self) -> bool:
        """Whether every edge belongs to two triangles or more, so that there is an inside."""
        return bool((self._edges[2] >= 2).all())

    @cached_property
    def is_oriented(self) -> bool:
        """Whether neighbouring triangles run through their common edge in opposite directions."""
        return bool((np.abs(self._edges[3]) <= (self._edges[2] & 1)).all())

    @cached_property
    def is_flat(self) -> bool:
        """Whether all nodes lie in a plane, to rounding: there is no volume, whether the surface is closed or not."""
        centered = self.points - self.points.mean(axis=0)
        extent = np.linalg.svd(centered, compute_uv=False)
        return len(extent) < 3 or bool(extent[2] <= _FLAT * extent[0])

    @property
    def open_edges(self) -> NDArray[np.int32]:
        """Edges that belong to one triangle only, shape [., 2]."""
        return self.edges[self._edges[2] == 1]

    @property
    def non_manifold_edges(self) -> NDArray[np.int32]:
        """Edges that belong to more than two triangles, shape [., 2]."""
        return self.edges[self._edges[2] > 2]

    def welded(self, tolerance: float = 1e-6) -> Self:
        """Return the surface with nodes at the same place made one, and what thereby collapses dropped.

        Args:
            tolerance: Largest distance of such nodes, relative to the diagonal of the bounds.
        """
        from scipy import sparse  # slow to import, and seldom needed
        from scipy.sparse import csgraph
        from scipy.spatial import cKDTree

        tolerance = number(tolerance, "the tolerance of welding", low=0.0, high=1.0)
        reach = tolerance * float(np.linalg.norm(self.bounds[1] - self.bounds[0]))
        pairs = cKDTree(self.points).query_pairs(reach, output_type="ndarray")
        graph = sparse.coo_array(
            (np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])),
            (self.node_count, self.node_count),
        )
        count, part = csgraph.connected_components(graph, directed=False)
        first = np.full(count, self.node_count)
        np.minimum.at(first, part, np.arange(self.node_count))
        triangles = first[part][self.triangles]
        whole = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
        if not whole.any():
            raise InputError("all triangles of the surface collapse when nodes at the same place are welded")
        points, renumbered, _ = compact(self.points, triangles[whole])
        uv = None if self.uv is None else self.uv[whole]
        return type(self)(points, renumbered, self.notes, uv=uv, texture=self.texture)

    def subset(self, triangles: ArrayLike) -> Self:
        """Return the surface of some of its triangles, given by number or by a mask; unused nodes are dropped."""
        chosen = mask_or_indices(triangles, "the triangles of a subset", self.triangle_count)
        points, renumbered, _ = compact(self.points, self.triangles[chosen])
        uv = None if self.uv is None else self.uv[chosen]
        return type(self)(points, renumbered, self.notes, uv=uv, texture=self.texture)

    def flipped(self) -> Self:
        """Return the surface with its outside inside."""
        uv = None if self.uv is None else self.uv[:, ::-1]
        return type(self)._trusted(
            self.points, self.triangles[:, ::-1], self.nodes, self.notes, uv, self.texture
        )

    def textured(self, texture: Texture | None) -> Self:
        """Return the surface with another image, or without one; its texture coordinates stay."""
        if texture is not None:
            instance_of(texture, Texture, "the texture of a surface")
        if texture is not None and self.uv is None:
            raise InputError(_NO_UV)
        return type(self)._trusted(self.points, self.triangles, self.nodes, self.notes, self.uv, texture)

    def transformed(
        self,
        translate: ArrayLike = (0.0, 0.0, 0.0),
        rotate: ArrayLike | None = None,
        scale: float | ArrayLike = 1.0,
    ) -> Self:
        """Return the surface scaled, then turned about the origin, then moved.

        Args:
            translate: Displacement [m], shape [3].
            rotate: A vector along the axis whose length is the angle [rad], or a rotation matrix [3, 3].
            scale: One factor, or one for each axis; not zero. A mirror image keeps its outside outside.
        """
        points, mirrored = apply_transform(self.points, translate, rotate, scale)
        moved = type(self)._trusted(points, self.triangles, self.nodes, self.notes, self.uv, self.texture)
        return moved.flipped() if mirrored else moved

    def __repr__(self) -> str:
        return f"<SurfaceMesh: {self.triangle_count} triangles, {self.node_count} nodes>"

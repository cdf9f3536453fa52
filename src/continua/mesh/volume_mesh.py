"""What tetrahedral and hexahedral meshes share: arrays that never change, and topology made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import kernels
from continua.mesh.checks import as_cells, as_points, check_no_unused_nodes, read_only, some
from continua.mesh.curved_boundary import (
    CurvedBoundary,
    MovedBoundary,
    ProjectedBoundary,
    UserSurface,
)
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.transform import Transformable, apply_transform
from continua.mesh.unique_rows import unique_rows
from continua.pickling import KeepsReadOnlyArrays
from continua.short_repr import tuple_repr
from continua.validation import (
    function,
    indices,
    instance_of,
    mapping,
    mask_or_indices,
    numbers,
    sequence,
    shortened,
    text,
)

__all__ = ["Csr", "VolumeMesh"]


_ON_SURFACE = 1e-3
"""How far corners may lie from a curved surface, relative to the size of their face."""


class Csr(NamedTuple):
    """Lists of different lengths in one array: list i is `indices[indptr[i]:indptr[i + 1]]`."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]

    def __repr__(self) -> str:
        return tuple_repr(self)


class _Faces(NamedTuple):
    """Faces once each [f, k], outward from their first element, with elements and local numbers [f, 2]."""

    nodes: NDArray[np.int32]
    elements: NDArray[np.int32]
    locals: NDArray[np.int32]


class VolumeMesh(KeepsReadOnlyArrays, Transformable):
    """Base of `TetMesh` and `HexMesh`. All arrays are read-only.

    Attributes:
        points: Node positions [m], float64, shape [n, 3].
        regions: Named parts: element numbers (int32) by name. Parts may overlap or leave elements out.
        notes: What was repaired or remarkable when the mesh was made, one sentence each.
    """

    NAME: ClassVar[str]
    WIDTH: ClassVar[int]
    FACES: ClassVar[NDArray[np.int32]]
    EDGES: ClassVar[NDArray[np.int32]]

    points: NDArray[np.float64]
    cells: NDArray[np.int32]
    regions: Mapping[str, NDArray[np.int32]]
    notes: tuple[str, ...]
    is_split: bool = False
    """Whether the mesh was cut open along faces, so that nodes may lie at the same place."""
    curved_boundary: CurvedBoundary | None = None
    """The surface that nodes of order 2 and 3 between the corners lie on; None is straight. See `curved`."""

    def __init__(
        self,
        points: ArrayLike,
        cells: ArrayLike,
        regions: Mapping[str, ArrayLike] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        remarks_given = tuple(text(note, "each of the notes of a mesh") for note in sequence(notes, "notes"))
        self.points = as_points(points)
        table = as_cells(cells, self.WIDTH, len(self.points), self.NAME)
        check_no_unused_nodes(table, len(self.points), self.NAME)
        remarks = self._orient(table)
        self.cells = read_only(table)
        self.regions = _as_regions({} if regions is None else regions, len(table))
        self._check_not_tangled()
        self.notes = (*remarks_given, *remarks, *self._pinches())

    @classmethod
    def _trusted(
        cls,
        points: NDArray,
        cells: NDArray,
        regions: Mapping[str, NDArray[np.int32]] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Make a mesh from arrays that are right by construction; they are taken over, not copied."""
        mesh = cls.__new__(cls)
        mesh.points = read_only(np.ascontiguousarray(points, dtype=np.float64))
        mesh.cells = read_only(np.ascontiguousarray(cells, dtype=np.int32))
        mesh.regions = _as_regions(regions or {}, len(cells))
        mesh.notes = notes
        return mesh

    def child_mesh(self, points: NDArray, cells: NDArray, parents: NDArray[np.int32]) -> Self:
        """Make a mesh whose elements lie in elements `parents` of this one; regions and notes are kept."""
        parents = indices(parents, "the parents of elements", self.element_count)
        points = as_points(points)
        cells = as_cells(cells, self.WIDTH, len(points), self.NAME)
        if len(parents) != len(cells):
            raise InputError(f"each of {len(cells)} elements needs a parent, and there are {len(parents)}")
        inside = np.zeros(self.element_count, bool)
        regions = {}
        for name, elements in self.regions.items():
            inside[:] = False
            inside[elements] = True
            regions[name] = np.flatnonzero(inside[parents]).astype(np.int32)
        mesh = type(self)._trusted(points, cells, regions, self.notes)
        mesh.is_split = self.is_split
        return mesh

    def _orient(self, cells: NDArray[np.int32]) -> tuple[str, ...]:
        """Turn the elements with negative volume in place, refuse flat ones, and return remarks."""
        raise AssertionError("every kind of mesh has its own")

    def _longest_edges(self, cells: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the length of the longest edge of each element [m], one edge at a time to spare memory."""
        squares = np.zeros(len(cells))
        for a, b in self.EDGES:
            edge = self.points[cells[:, b]] - self.points[cells[:, a]]
            np.maximum(squares, np.einsum("ij,ij->i", edge, edge), out=squares)
        return np.sqrt(squares)

    @property
    def volumes(self) -> NDArray[np.float64]:
        """Volume of each element [m3], shape [m], all positive."""
        raise AssertionError("every kind of mesh has its own")

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.points)

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return len(self.cells)

    @cached_property
    def volume(self) -> float:
        """Volume of the whole mesh [m3]."""
        return float(self.volumes.sum())

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Smallest and largest coordinates [m], shape [2, 3]."""
        return read_only(np.stack([self.points.min(axis=0), self.points.max(axis=0)]))

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        pairs = np.sort(self.cells[:, self.EDGES].reshape(-1, 2), axis=1)
        edges, group, _, _ = unique_rows(pairs, self.node_count)
        return read_only(edges), read_only(group.reshape(self.element_count, len(self.EDGES)))

    @property
    def edges(self) -> NDArray[np.int32]:
        """Each edge once as two node numbers, the smaller first, sorted; shape [e, 2]."""
        return self._edges[0]

    @property
    def element_edges(self) -> NDArray[np.int32]:
        """The edge numbers of each element, in the order of the class's `EDGES`; shape [m, 6 or 12]."""
        return self._edges[1]

    @cached_property
    def _faces(self) -> _Faces:
        width = self.FACES.shape[1]
        nodes = self.cells[:, self.FACES].reshape(-1, width)
        _, _, order, starts = unique_rows(np.sort(nodes, axis=1), self.node_count)
        shared = np.diff(starts)
        if (shared > 2).any():
            crowded = np.flatnonzero(shared > 2)
            elements = np.unique(np.concatenate([order[starts[g] : starts[g + 1]] for g in crowded[:100]]))
            raise InputError(
                f"the mesh is not a manifold: {len(crowded)} faces belong to more than two {self.NAME} "
                f"({self.NAME} {some(np.unique(elements // len(self.FACES)))}); remove doubled elements"
            )
        first = order[starts[:-1]]
        second = np.where(shared == 2, order[starts[1:] - 1], -1)
        sides = np.stack([first, second], axis=1)
        elements = np.where(sides >= 0, sides // len(self.FACES), -1).astype(np.int32)
        local = np.where(sides >= 0, sides % len(self.FACES), -1).astype(np.int32)
        return _Faces(read_only(nodes[first]), read_only(elements), read_only(local))

    @property
    def faces(self) -> NDArray[np.int32]:
        """Each face once, outward from the first of its elements; shape [f, 3] or [f, 4]."""
        return self._faces.nodes

    @property
    def face_elements(self) -> NDArray[np.int32]:
        """The one or two elements of each face, shape [f, 2]; the second is -1 on the boundary."""
        return self._faces.elements

    @cached_property
    def neighbours(self) -> NDArray[np.int32]:
        """Element across each face, in the order of the class's `FACES`; -1 outside; shape [m, 4 or 6]."""
        table = np.full((self.element_count, len(self.FACES)), -1, dtype=np.int32)
        inner = self.face_elements[:, 1] >= 0
        (a, b), (i, j) = self.face_elements[inner].T, self._faces.locals[inner].T
        table[a, i] = b
        table[b, j] = a
        return read_only(table)

    @cached_property
    def _boundary(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.face_elements[:, 1] < 0)

    @cached_property
    def boundary_faces(self) -> NDArray[np.int32]:
        """Outward faces of the boundary; shape [k, 3] or [k, 4]."""
        return read_only(self.faces[self._boundary])

    @cached_property
    def boundary_elements(self) -> NDArray[np.int32]:
        """The element behind each boundary face, shape [k]."""
        return read_only(self.face_elements[self._boundary, 0])

    @property
    def boundary_sides(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The element behind each boundary face, and which of its faces it is (-1: none), shape [k] each."""
        return self.boundary_elements, self._faces.locals[self._boundary, 0]

    @property
    def boundary_triangles(self) -> NDArray[np.int32]:
        """Outward triangles of the boundary, shape [k, 3]; numbers of this mesh's nodes."""
        raise AssertionError("every kind of mesh has its own")

    @cached_property
    def surface(self) -> SurfaceMesh:
        """The boundary as a mesh of its own; its `nodes` say which node of this mesh each node is."""
        nodes, inverse = np.unique(self.boundary_triangles, return_inverse=True)
        triangles = inverse.reshape(-1, 3).astype(np.int32)
        return SurfaceMesh._trusted(self.points[nodes], triangles, nodes=nodes.astype(np.int32))

    @cached_property
    def node_elements(self) -> Csr:
        """The elements of each node, ascending, as CSR."""
        indptr, indices = kernels.invert_table(self.cells, self.node_count)
        return Csr(read_only(indptr), read_only(indices))

    @cached_property
    def node_neighbours(self) -> Csr:
        """The nodes that share an edge with each node, ascending, as CSR."""
        both = np.concatenate([self.edges[:, ::-1], self.edges])
        indptr, rows = kernels.invert_table(np.ascontiguousarray(both[:, :1]), self.node_count)
        return Csr(read_only(indptr), read_only(both[rows, 1]))

    @cached_property
    def node_colors(self) -> NDArray[np.int32]:
        """A colour (0, 1, 2, ...) for each node so that the ends of an edge differ; shape [n]."""
        return read_only(kernels.color_nodes(*self.node_neighbours))

    @cached_property
    def element_colors(self) -> NDArray[np.int32]:
        """A colour for each element so that elements with a common node differ; shape [m]."""
        return read_only(kernels.color_elements(self.cells, *self.node_elements))

    def _check_not_tangled(self) -> None:
        """Raise if two elements lie on the same side of their common face, which means they overlap."""
        inner = np.flatnonzero(self.face_elements[:, 1] >= 0)
        (a, b), (i, j) = self.face_elements[inner].T, self._faces.locals[inner].T
        here = self.cells[a[:, None], self.FACES[i]]
        there = self.cells[b[:, None], self.FACES[j]]
        # Opposite turns of the same cycle put the successor of a node on one side before it on the other.
        at = (there == here[:, :1]).argmax(axis=1)
        before = there[np.arange(len(there)), at - 1]
        bad = before != here[:, 1]
        if bad.any():
            pairs = [f"{x} and {y}" for x, y in zip(a[bad][:3], b[bad][:3])]
            raise InputError(
                f"{int(bad.sum())} pairs of {self.NAME} lie on the same side of a common face and so overlap "
                f"({'; '.join(pairs)}); mend the mesh where it is folded"
            )

    def _pinches(self) -> Iterator[str]:
        """Say where the boundary touches itself along an edge: allowed, but such a hinge has no stiffness."""
        surface = self.surface
        if not surface.is_manifold:
            rows = np.isin(surface.triangle_edges, np.flatnonzero(surface.edge_uses > 2)).any(axis=1)
            faces = np.flatnonzero(rows) // (len(self.boundary_triangles) // len(self.boundary_faces))
            elements = np.unique(self.boundary_elements[faces])
            yield (
                f"the boundary touches itself along {len(surface.non_manifold_edges)} edges "
                f"({self.NAME} {some(elements)})"
            )

    def transformed(
        self,
        translate: ArrayLike = (0.0, 0.0, 0.0),
        rotate: ArrayLike | None = None,
        scale: float | ArrayLike = 1.0,
    ) -> Self:
        """Return the mesh scaled, then turned about the origin, then moved.

        Args:
            translate: Displacement [m], shape [3].
            rotate: A vector along the axis whose length is the angle [rad], or a rotation matrix [3, 3].
            scale: One factor, or one for each axis; not zero. A mirror image stays properly oriented.
        """
        points, mirrored = apply_transform(self.points, translate, rotate, scale)
        if mirrored:
            mesh = type(self)(points, self._mirrored_cells(), self.regions)
        else:
            mesh = type(self)._trusted(points, self.cells, self.regions, self.notes)
        if self.curved_boundary is not None:
            frame, _ = apply_transform(
                np.concatenate([np.zeros((1, 3)), np.eye(3)]), translate, rotate, scale
            )
            mesh.curved_boundary = MovedBoundary(
                self.curved_boundary, (frame[1:] - frame[0]).T, frame[0].copy()
            )
        return mesh

    def curved(self, project: Callable[[NDArray[np.float64]], ArrayLike], where: Any = None) -> Self:
        """Return the mesh with a curved boundary, which elements of order 2 and 3 follow.

        The mesh keeps its corners. Spheres, cylinders, tori, bowls and blobs have their boundary already; one that was
        set before is kept, and nodes between two surfaces are put on both.

        Args:
            project: A function of points [n, 3] near the surface that returns points of the surface, such as the
                closest ones; it should be smooth, and the corners on the surface should stay where they are.
            where: The faces of the boundary on this surface (of a plane mesh, the edges of its outline): a function of
                the corners [f, c, 3] that returns a mask, a mask, or their numbers in `boundary_faces`; None are all.
        """
        function(project, "the surface of a curved mesh", "a function of points")
        count = len(self.boundary_faces)
        chosen = where(self.points[self.boundary_faces]) if callable(where) else where
        every = np.arange(count, dtype=np.int32)
        faces = every if where is None else mask_or_indices(chosen, "the faces of a curved surface", count)
        surface = UserSurface(project)
        corners = self.points[self.boundary_faces[faces]]
        far = np.linalg.norm(surface.project(corners.reshape(-1, 3)).reshape(corners.shape) - corners, axis=2)
        size = np.linalg.norm(np.ptp(corners, axis=1), axis=1)
        if (far.max(axis=1, initial=0.0) > _ON_SURFACE * size).any():
            raise InputError(
                f"corners of the mesh lie up to {far.max():.3g} m away from the curved surface; put them on it, or "
                "choose the faces that lie on it with 'where'"
            )
        before = self.curved_boundary
        if before is None:
            before = ProjectedBoundary()
        elif not isinstance(before, ProjectedBoundary):
            raise InputError(
                "give a mesh its curved surfaces before it is moved; one from a file has its own"
            )
        return self.with_boundary(before.with_patch(surface, faces))

    def straight(self) -> Self:
        """Return the mesh without a curved boundary."""
        return self if self.curved_boundary is None else self.with_boundary(None)

    def with_boundary(self, boundary: CurvedBoundary | None) -> Self:
        """Return the mesh with another curved boundary; see `curved`."""
        if boundary is not None:
            instance_of(boundary, CurvedBoundary, "the curved boundary of a mesh")
        mesh = type(self).__new__(type(self))
        mesh.__dict__.update({key: value for key, value in self.__dict__.items() if key != "_rest_shapes"})
        mesh.curved_boundary = boundary
        return mesh

    def _mirrored_cells(self) -> NDArray[np.int32]:
        raise AssertionError("every kind of mesh has its own")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.element_count} {self.NAME}, {self.node_count} nodes>"


def _as_regions(regions: Mapping[str, Any], count: int) -> Mapping[str, NDArray[np.int32]]:
    """Return a read-only map of sorted element numbers, each name's numbers once."""
    table = {}
    for key, values in mapping(regions, "the regions of a mesh").items():
        name = text(key, "the name of a region")
        found = numbers(values)
        if found is None or found.ndim != 1 or (found != np.floor(found)).any():
            raise InputError(f'region "{name}" must be a list of element numbers, not {shortened(values)}')
        if found.size and not (found.min() >= 0 and found.max() < count):
            raise InputError(f'region "{name}" names elements that do not exist (there are {count})')
        table[name] = read_only(np.unique(found).astype(np.int32))
    return MappingProxyType(table)

"""Topology of a body and its changes: what the arrays over nodes and elements mean, and how they follow a new mesh.

A change of topology (refinement, splitting along faces) is data: a new mesh, and for each of its nodes and elements
where it comes from. A node is a weighted mean of old nodes, an element lies in one old element. Everything that is
indexed by nodes, elements or boundary faces follows from these two tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import read_only, some
from continua.mesh.subdomains import MatterSurface
from continua.mesh.volume_mesh import VolumeMesh
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, instance_of, mask_or_indices, shortened

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Topology", "TopologyChange", "interpolate"]

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Topology:
    """What the arrays of a body mean now.

    Attributes:
        mesh: The mesh: nodes, elements, boundary, regions.
        version: Rises with every change; equal versions of a body have the same mesh.
    """

    mesh: VolumeMesh
    version: int = 0

    @property
    def node_count(self) -> int:
        """Number of nodes of the mesh."""
        return self.mesh.node_count

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return self.mesh.element_count

    def __repr__(self) -> str:
        return f"Topology(version {self.version}, {self.mesh!r})"


def interpolate(
    parents: NDArray[np.int32], weights: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weighted means of rows of `values` [n, ...]; a row with the weight 1 alone is copied bitwise.

    Args:
        parents: Rows that each result is a mean of, shape [k, p].
        weights: Their weights, shape [k, p].
        values: The rows.
    """
    result = np.array(values[parents[:, 0]], dtype=np.float64)
    mixed = np.flatnonzero(weights[:, 0] != 1.0)
    if len(mixed):
        factors = weights[mixed].reshape(len(mixed), -1, *(1,) * (values.ndim - 1))
        total = factors[:, 0] * values[parents[mixed, 0]]
        for column in range(1, parents.shape[1]):
            total += factors[:, column] * values[parents[mixed, column]]
        result[mixed] = total
    return result


@dataclass(frozen=True, eq=False)
class TopologyChange(KeepsReadOnlyArrays):
    """A change from one mesh to another, and where the new nodes and elements come from.

    Attributes:
        before: The old mesh.
        mesh: The new mesh.
        node_parents: Old nodes that each new node is a weighted mean of, shape [n_new, p]. Unused columns repeat the
            first with the weight 0; a copied node has one parent with the weight 1, in the first column. None for a
            replacement: a mesh whose nodes do not come from the old ones, as after a reset.
        weights: Their weights, shape [n_new, p]; rows sum to 1.
        element_parents: The old element that contains each new element, shape [m_new]; None for a replacement.
    """

    before: VolumeMesh
    mesh: VolumeMesh
    node_parents: NDArray[np.int32] | None
    weights: NDArray[np.float64] | None
    element_parents: NDArray[np.int32] | None

    def __post_init__(self) -> None:
        for mesh in (self.before, self.mesh):
            instance_of(mesh, VolumeMesh, "each mesh of a topology change")
        for values, kinds in ((self.node_parents, "iu"), (self.weights, "f"), (self.element_parents, "iu")):
            if values is not None and not (isinstance(values, np.ndarray) and values.dtype.kind in kinds):
                raise InputError(f"the tables of a topology change must be arrays, not {shortened(values)}")

    @classmethod
    def replacement(cls, before: VolumeMesh, mesh: VolumeMesh) -> TopologyChange:
        """Return a change to an unrelated mesh."""
        return cls(before, mesh, None, None, None)

    @property
    def is_replacement(self) -> bool:
        """Whether the new nodes and elements do not come from the old ones."""
        return self.node_parents is None or self.weights is None or self.element_parents is None

    def check(self) -> None:
        """Raise InputError unless the tables fit both meshes and every element lies in its parent."""
        parents, weights, elements = self._tables()
        old, new = self.before, self.mesh
        if type(old) is not type(new):
            raise InputError(f"a topology change cannot make {new.NAME} from {old.NAME}")
        if parents.ndim != 2 or parents.shape != weights.shape or len(parents) != new.node_count:
            raise InputError(
                f"a topology change needs parents and weights of {new.node_count} nodes, "
                f"not of shapes {parents.shape} and {weights.shape}"
            )
        if elements.shape != (new.element_count,):
            raise InputError(
                f"a topology change needs {new.element_count} parent elements, not {elements.shape}"
            )
        for numbers, count, what in (
            (parents, old.node_count, "nodes"),
            (elements, old.element_count, "elements"),
        ):
            if numbers.min() < 0 or numbers.max() >= count:
                raise InputError(
                    f"a topology change names parent {what} that do not exist (there are {count})"
                )
        if not np.isfinite(weights).all() or np.abs(weights.sum(axis=1) - 1.0).max() > _ROUNDING:
            raise InputError("the weights of every node of a topology change must sum to 1")
        flat = np.flatnonzero(~(new.volumes > 0.0))
        if len(flat):
            raise InputError(
                f"a topology change would make {new.NAME} {some(flat)} without volume; choose others"
            )
        outside = np.abs(self.corner_weights.sum(axis=2) - 1.0).max(axis=1) > _ROUNDING
        if outside.any():
            raise InputError(
                f"{new.NAME} {some(np.flatnonzero(outside))} of a topology change do not lie in their parents"
            )

    def then(self, other: TopologyChange) -> TopologyChange:
        """Return this change followed by another one that starts from its mesh."""
        instance_of(other, TopologyChange, "the second topology change")
        if other.before is not self.mesh and (
            other.before.node_count != self.mesh.node_count
            or not np.array_equal(other.before.cells, self.mesh.cells)
        ):
            raise InputError(
                "the second topology change does not start from the mesh that the first one ends with"
            )
        if self.is_replacement or other.is_replacement:
            return TopologyChange.replacement(self.before, other.mesh)
        elements = self._tables()[2][other._tables()[2]]
        parents, weights = _fixed_width(other.interpolation() @ self.interpolation())
        return TopologyChange(self.before, other.mesh, parents, weights, read_only(elements))

    def interpolation(self) -> sparse.csr_array:
        """Return the matrix that carries values from old to new nodes, shape [n_new, n_old]."""
        from scipy import sparse

        parents, weights, _ = self._tables()
        used = weights != 0.0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        return sparse.csr_array(
            (weights[used], parents[used], starts), shape=(len(parents), self.before.node_count)
        )

    def interpolate(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return values at the new nodes of a field that is linear between old nodes, shape [n_new, ...].

        For positions, velocities and displacements. Masses and forces are not interpolated: they are computed anew
        from the new mesh.
        """
        parents, weights, _ = self._tables()
        return interpolate(parents, weights, _rows(values, self.before.node_count, "nodes"))

    def copy_to_elements(self, values: ArrayLike) -> NDArray:
        """Return values of the new elements, each that of its parent; shape [m_new, ...]."""
        given = (
            values
            if isinstance(values, np.ndarray) and values.ndim
            else array(values, "values", finite=False)
        )
        if given.ndim == 0 or len(given) != self.before.element_count:
            raise InputError(f"there must be a value for each of {self.before.element_count} elements")
        return given[self._tables()[2]]

    def map_nodes(self, nodes: ArrayLike) -> NDArray[np.int32]:
        """Return the new nodes all of whose parents are among the given old ones, sorted."""
        parents, weights, _ = self._tables()
        return nodes_within(parents, weights, _members(nodes, self.before.node_count))

    def map_elements(self, elements: ArrayLike) -> NDArray[np.int32]:
        """Return the new elements whose parents are among the given old ones, sorted."""
        inside = _members(elements, self.before.element_count)
        return np.flatnonzero(inside[self._tables()[2]]).astype(np.int32)

    def map_boundary_faces(self, faces: ArrayLike) -> NDArray[np.int32]:
        """Return the new boundary faces that lie in the given old ones, sorted; numbers as in `boundary_faces`."""
        inside = np.append(_members(faces, len(self.before.boundary_faces)), False)
        return np.flatnonzero(inside[self.boundary_face_parents]).astype(np.int32)

    @cached_property
    def corner_weights(self) -> NDArray[np.float64]:
        """Corners of each new element as weighted means of the corners of its parent, shape [m_new, k, k].

        For tetrahedra these are barycentric coordinates. Rows sum to 1 if the element lies in its parent.
        """
        parents, weights, elements = self._tables()
        corners = self.before.cells[elements]
        nodes = self.mesh.cells
        table = np.zeros((*nodes.shape, corners.shape[1]))
        for column in range(parents.shape[1]):
            there, share = parents[nodes, column], weights[nodes, column]
            for corner in range(corners.shape[1]):
                table[:, :, corner] += np.where(there == corners[:, corner, None], share, 0.0)
        return read_only(table)

    @cached_property
    def boundary_face_parents(self) -> NDArray[np.int32]:
        """The old boundary face in which each new one lies, shape [k]; -1 where a cut has made it."""
        old, new = self.before, self.mesh
        elements = self._tables()[2]
        faces = np.full((old.element_count, len(old.FACES)), -1, np.int32)
        behind, side = old.boundary_sides
        on_face = side >= 0
        # where cuts have divided a face, any of its parts; the right one is found below
        faces[behind[on_face], side[on_face]] = np.flatnonzero(on_face)
        child, local = new.boundary_sides
        flank = local < 0
        corners = (
            self.corner_weights[child[:, None], new.FACES[local]] != 0.0
        )  # [k, nodes of a face, corners]
        result = np.full(len(child), -1, np.int32)
        for number, face in enumerate(old.FACES):
            off = np.ones(corners.shape[2], bool)
            off[face] = False
            inside = ~corners[:, :, off].any(axis=(1, 2))
            result = np.where(inside & ~flank, faces[elements[child], number], result)
        before, after = getattr(old, "matter_surface", None), getattr(new, "matter_surface", None)
        if before is not None and after is not None:
            result = _parts_around(before, after, elements[child])
        return read_only(result)

    def _tables(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        if self.node_parents is None or self.weights is None or self.element_parents is None:
            raise InputError("this topology change replaces the mesh: its nodes do not come from old ones")
        return self.node_parents, self.weights, self.element_parents

    def __repr__(self) -> str:
        how = "replaced by" if self.is_replacement else "to"
        return f"<TopologyChange: {self.before!r} {how} {self.mesh!r}>"


def _parts_around(old: MatterSurface, new: MatterSurface, elements: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the triangle of a cut mesh in which each triangle of the mesh after another cut lies; -1 for new flanks.

    Args:
        old: The surface before.
        new: The surface after.
        elements: The earlier element of each new triangle.
    """
    result = np.full(len(new.triangles), -1, np.int32)
    order = np.argsort(old.triangle_elements, kind="stable")
    behind = old.triangle_elements[order]
    low, high = np.searchsorted(behind, elements), np.searchsorted(behind, elements, side="right")
    corners, parts = new.points[new.triangles], old.points[old.triangles]
    size = np.linalg.norm(corners[:, 1:] - corners[:, :1], axis=2).max(axis=1)
    for k in range(len(result)):
        candidates = order[low[k] : high[k]]
        if not len(candidates):
            continue
        p = parts[candidates]
        a, b = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
        normal = np.cross(a, b)
        area = np.einsum("ki,ki->k", normal, normal)
        r = corners[k].mean(axis=0) - p[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            s = np.einsum("ki,ki->k", np.cross(r, b), normal) / area
            t = np.einsum("ki,ki->k", np.cross(a, r), normal) / area
            off = np.abs(np.einsum("ki,ki->k", r, normal)) / np.sqrt(area)
        fits = np.minimum(np.minimum(s, t), 1.0 - s - t)
        fits = np.where((off <= 1e-6 * size[k]) & np.isfinite(fits), fits, -np.inf)
        best = int(fits.argmax())
        if fits[best] > -1e-6:
            result[k] = candidates[best]
    return result


def nodes_within(
    parents: NDArray[np.int32], weights: NDArray[np.float64], inside: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return the rows whose parents of nonzero weight are all `inside` [n], sorted."""
    return np.flatnonzero((inside[parents] | (weights == 0.0)).all(axis=1)).astype(np.int32)


def _members(numbers: ArrayLike, count: int) -> NDArray[np.bool_]:
    """Return a mask [count] from numbers or from a mask."""
    mask = np.zeros(count, bool)
    mask[mask_or_indices(numbers, "a choice", count)] = True
    return mask


def _rows(values: ArrayLike, count: int, what: str) -> NDArray[np.float64]:
    """Return values, one row for each of `count` nodes or elements."""
    given = array(values, f"values at {what}", finite=False)
    if given.ndim == 0 or len(given) != count:
        raise InputError(f"there must be a value for each of {count} {what}, not {shortened(values)}")
    return given


def chosen_numbers(values: Any, count: int, what: str) -> NDArray[np.intp]:
    """Return sorted numbers from a mask [count] or numbers; an empty or wrong choice is an error."""
    chosen = np.unique(mask_or_indices(values, f"the choice of {what}", count)).astype(np.intp)
    if not len(chosen):
        raise InputError(f"no {what} are chosen")
    return chosen


def copied_nodes(copies: Sequence[int] | NDArray) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return parents and weights [k, 1] of nodes that are copies."""
    parents = np.asarray(copies, dtype=np.int32)[:, None]
    return read_only(parents), read_only(np.ones(parents.shape))


def _fixed_width(matrix: sparse.csr_array) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return a matrix as columns and values of fixed width [n, p]; spare places repeat the first column with 0."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return padded_rows(matrix.indptr, matrix.indices, matrix.data)


def padded_rows(
    indptr: NDArray, indices: NDArray, values: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the rows of a CSR matrix, none empty, at a fixed width [n, p]; see `TopologyChange.node_parents`."""
    counts = np.diff(indptr)
    columns = np.repeat(indices[indptr[:-1]][:, None], counts.max(), axis=1).astype(np.int32)
    weights = np.zeros(columns.shape)
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(indices)) - np.repeat(indptr[:-1], counts)
    columns[row, place] = indices
    weights[row, place] = values
    return read_only(columns), read_only(weights)

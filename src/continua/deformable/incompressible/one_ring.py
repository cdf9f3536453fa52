"""The composite one-ring discretisation of volume: one volume per node (Irving 2007, chapter 4).

Each element gives every corner the same share of its signed volume. The volumes of the nodes sum to that of the body,
and there is one constraint for three unknowns; a constraint per tetrahedron would lock. See
docs/theory/incompressible.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import Elements
from continua.deformable.incompressible import one_ring_kernels as kernels
from continua.errors import InputError
from continua.mesh import HexMesh, TetMesh, TriMesh

__all__ = ["OneRing"]

PARALLEL_FROM = 2000
"""Nodes from which an operator is worth a parallel region."""


class OneRing:
    """Node volumes of a body and their derivatives D = dV/dx at the positions of the last `update`.

    Attributes:
        rest_volumes: Volumes of the nodes at rest [m3], areas [m2] of a plane body or a sheet, shape [n].

    Args:
        elements: Elements of order 1: tetrahedra, hexahedra or triangles, in a plane or in space.
        body: Name of the body, for messages.
    """

    def __init__(self, elements: Elements, body: str = "") -> None:
        mesh = elements.mesh
        is_sheet = mesh.WIDTH == 3 and not isinstance(mesh, TriMesh)
        if not (isinstance(mesh, TetMesh | HexMesh | TriMesh) or is_sheet) or elements.order != 1:
            raise InputError(
                f"body '{body}' of {elements.mesh.NAME} of order {elements.order} cannot be incompressible; "
                "use tetrahedra, hexahedra or triangles of order 1, or a law with poisson: 0.49"
            )
        self._pattern, self._cells = elements.pattern, elements.elements
        self._mesh_type, self._is_sheet = type(mesh), is_sheet
        self._parallel = elements.node_count >= PARALLEL_FROM
        corners = self._pattern.corners
        self._element_volume = np.zeros(elements.element_count)
        self._gradient = np.zeros((elements.element_count, 3 * corners))
        self._divergence = np.zeros((len(self._pattern.indices), 3))
        self._transposed = np.zeros((len(self._pattern.indices), 3))
        self.rest_volumes = self.volumes(elements.rest_positions)
        if is_sheet:  # those of sewn patterns are at rest in their planes
            self._element_volume[:] = mesh.volumes / mesh.thickness
            self.rest_volumes = self._node_volumes()

    def volumes(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the node volumes [m3] at positions x [n, 3], shape [n]."""
        out = (self._element_volume, self._gradient)
        if issubclass(self._mesh_type, HexMesh):
            kernels.hex_volumes.variant(self._parallel)(x, self._cells, HexMesh.FACES, *out)
        else:
            is_plane = issubclass(self._mesh_type, TriMesh)
            geometry = kernels.triangle_areas if is_plane else kernels.tet_volumes
            geometry = kernels.surface_areas if self._is_sheet else geometry
            geometry.variant(self._parallel)(x, self._cells, *out)
        return self._node_volumes()

    def _node_volumes(self) -> NDArray[np.float64]:
        p = self._pattern
        volumes: NDArray[np.float64] = np.empty(len(p.indptr) - 1)
        kernels.node_volumes.variant(self._parallel)(
            p.inc_indptr, p.inc_codes, p.corners, self._element_volume, volumes
        )
        return volumes

    def update(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Set the operators at positions x [n, 3], and return the node volumes [m3] there."""
        volumes, p = self.volumes(x), self._pattern
        kernels.fill_operators.variant(self._parallel)(
            p.indptr,
            p.inc_indptr,
            p.inc_codes,
            p.slots,
            p.corners,
            self._gradient,
            self._divergence,
            self._transposed,
        )
        return volumes

    def divergence(
        self, velocities: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the rates of the node volumes D v [m3/s], shape [n]."""
        out = np.empty(len(velocities)) if out is None else out
        p = self._pattern
        kernels.apply_divergence.variant(self._parallel)(
            p.indptr, p.indices, self._divergence, velocities, out
        )
        return out

    def forces(
        self, pressures: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the forces D^T p [N] of node pressures [Pa], shape [n, 3]; a positive pressure expands."""
        out = np.empty((len(pressures), 3)) if out is None else out
        p = self._pattern
        kernels.apply_transposed.variant(self._parallel)(
            p.indptr, p.indices, self._transposed, pressures, out
        )
        return out

    def diagonal(self, inverse_mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the diagonal of D M^-1 D^T for inverse masses [n, 9], shape [n]."""
        p, out = self._pattern, np.empty(len(inverse_mass))
        kernels.operator_diagonal.variant(self._parallel)(
            p.indptr, p.indices, self._divergence, inverse_mass, out
        )
        return out

    def accelerations(
        self, inverse_mass: NDArray[np.float64], pressures: NDArray[np.float64], out: NDArray[np.float64]
    ) -> None:
        """Set `out` [n, 3] to M^-1 D^T p for inverse masses [n, 9]."""
        p = self._pattern
        kernels.accelerations.variant(self._parallel)(
            p.indptr, p.indices, self._transposed, inverse_mass, pressures, out
        )

    def divergence_and_product(
        self,
        velocities: NDArray[np.float64],
        z: NDArray[np.float64],
        out: NDArray[np.float64],
        partial: NDArray[np.float64],
    ) -> None:
        """Set `out` [n] to D v, and `partial` to the sums of z times it over chunks of rows."""
        p = self._pattern
        kernels.divergence_and_product.variant(self._parallel)(
            p.indptr, p.indices, self._divergence, velocities, z, out, partial
        )

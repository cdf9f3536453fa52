"""Elements of any shape under any law, by numerical quadrature (Irving 2007, ch. 2).

The deformation gradient is F = sum_a x_a grad N_a at a point; the force on node a is the sum of w P grad N_a over
the points, the stiffness that of w grad N_a dP/dF grad N_b. Linear tetrahedra, and the linear laws in
Bernstein-Bezier form, have faster implementations; everything else uses these.
"""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.damping import Damper
from continua.deformable.elements import AssembledSystem, DiscreteGradient, Elements
from continua.linalg import BlockPattern, DofMap
from continua.materials import Law, point_kernels
from continua.mesh import HexMesh, PlaneMesh, TetMesh
from continua.mesh.volume_mesh import VolumeMesh
from continua.numerics.bernstein import bernstein_slopes
from continua.numerics.kernel import KernelPair
from continua.numerics.quadrature import gauss_cube, tet_rule
from continua.solids.elements import lagrange, quadrature_kernels
from continua.solids.elements.base import TetElements, rest_geometry
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.colored_assembly import ColoredAssembly
from continua.solids.elements.mean_volume import (
    RESOLVED,
    ElementMeans,
    PatchMeans,
    PressureSpace,
    linear_pressures,
)
from continua.solids.elements.rest_shape import curved_rule, rest_gradients

__all__ = ["NodalElements", "QuadratureElements", "QuadratureTets"]

PARALLEL_FROM = 3000
"""Elements from which a pass over all of them is worth a parallel region."""


class QuadratureElements:
    """Base of elements with quadrature points: evaluation of the law and assembly.

    Attributes:
        gradients: Gradients of the shape functions at the points [1/m], shape [m, q, k, 3].
        weights: Quadrature weights, volumes [m3], shape [m, q].
        plastic: Inverse of the plastic deformation at the points, shape [m, q, 9], or None.
        plane: 1 for bodies in plane strain, 2 in plane stress, else 0.
        means: Averages the change of volume, so that nearly incompressible elements do not lock; None if they are
            integrated in full.
        averages: Whether the law has a part that is averaged.
        definite: Whether elements that average make their tangent positive semidefinite.
        point_constants: Then the constants of the law at every point, with the stress s as the last one, [m q, c + 1].
    """

    conservative = True
    elements: NDArray[np.int32]
    rest_positions: NDArray[np.float64]
    rest_coefficients: NDArray[np.float64]
    node_count: int
    element_count: int
    dof_map: DofMap
    pattern: BlockPattern
    means: ElementMeans | None = None
    patch_means: ClassVar[type[PatchMeans]] = PatchMeans
    averages = False
    definite = True
    point_constants: NDArray[np.float64]

    def _integrate_at(
        self,
        mesh: VolumeMesh,
        gradients: NDArray[np.float64],
        weights: NDArray[np.float64],
        plane: float = 0.0,
        pressures: PressureSpace | None = None,
    ) -> None:
        """Set the quadrature points; with `pressures` the change of volume is averaged."""
        self._volumes = mesh.volumes
        self.gradients = np.ascontiguousarray(gradients)
        self.weights = np.ascontiguousarray(weights)
        if pressures is not None and pressures.dofs is not None:
            self.means = self.patch_means(self.elements, pressures, self.weights, self.pattern)
            self.pattern = self.means.pattern
        elif pressures is not None:
            self.means = ElementMeans(self.elements, pressures, self.weights)
        if self.means is not None:  # the kernels take the points as elements with one point each
            count, nodes = self.weights.size, self.elements.shape[1]
            self._point_elements = np.repeat(self.elements, self.weights.shape[1], axis=0)
            self._point_gradients = self.gradients.reshape(count, 1, nodes, 3)
            self._point_inverted = np.zeros(-(-count // point_kernels.CHUNK), np.int64)
        self.plastic: NDArray[np.float64] | None = None
        self.inverted = 0
        self.parallel = self.element_count >= PARALLEL_FROM
        self.plane = plane
        self._records = np.zeros((*weights.shape, point_kernels.POINT))
        self._inverted = np.zeros(-(-self.element_count // point_kernels.CHUNK), np.int64)
        self._assembly = ColoredAssembly.make(self.elements, self.rest_positions, self.pattern)

    @property
    def has_pressure_unknowns(self) -> bool:
        """Whether the matrix has pressures that adjacent elements share, besides displacements."""
        return self.means is not None and self.means.space.stable

    def damper(self) -> Damper:
        """Return a new damper of deformation for these elements."""
        from continua.solids.damper import TangentDamper  # it is made of elements itself

        return TangentDamper(cast(Elements, self))

    def discrete_gradient(self) -> DiscreteGradient:
        """Return a new discrete gradient of the elastic energy, for `EnergyMomentum`."""
        from continua.solids.discrete_gradient import MeanStressGradient  # it is made of elements itself

        return MeanStressGradient(cast(Elements, self))

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]."""
        self._law = law
        self._constants = np.ascontiguousarray(constants)
        self.averages = False
        if self.means is not None and law.volume is not None:
            own, averaged = self.means.split(self._constants)
            self.averages = bool(averaged.any())
            if self.averages:
                self.means.set_constants(own, averaged)
                stress = np.zeros((self.weights.size, 1))
                points = np.repeat(own, self.weights.shape[1], axis=0)
                self.point_constants = np.concatenate([points, stress], axis=1)

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Evaluate the law at every point for the given coefficients."""
        if self.means is not None and self.averages:
            self._update_with_means(self.means, coefficients)
            return
        self._law.evaluate_points.variant(self.parallel)(
            coefficients,
            self.elements,
            self.gradients,
            self.plane,
            self._constants,
            self.plastic,
            True,
            self._records,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    @property
    def _mean_volume_kernels(self) -> tuple[KernelPair, KernelPair]:
        """The kernels of the measure of volume, and of the law under given stresses of the means."""
        return self._law.mean_volume_kernels

    def _update_with_means(self, means: ElementMeans, coefficients: NDArray[np.float64]) -> None:
        volumes_kernel, _ = self._mean_volume_kernels
        count = self.weights.size
        volumes_kernel.variant(self.parallel)(
            coefficients,
            self._point_elements,
            self._point_gradients,
            self.plane,
            None if self.plastic is None else self.plastic.reshape(count, 1, 9),
            means.volumes.reshape(count, 1, 2),
            self._point_inverted,
        )
        means.set_stress(self.parallel)
        self.evaluate_pressure_points(coefficients, means.stress, means.measure_gradients)
        means.set_derivatives(self.gradients, self.parallel)

    def evaluate_pressure_points(
        self,
        coefficients: NDArray[np.float64],
        stress: NDArray[np.float64],
        measure_gradients: NDArray[np.float64],
    ) -> None:
        """Evaluate the law under given stresses s of the means [m, q] at every point; set `inverted`.

        Also set the derivatives of the measure of volume by the deformation gradient, `measure_gradients` [m, q, 9].
        """
        count = self.weights.size
        self.point_constants[:, -1] = stress.reshape(-1)
        _, kernel = self._mean_volume_kernels
        kernel.variant(self.parallel)(
            coefficients,
            self._point_elements,
            self._point_gradients,
            self.plane,
            self.point_constants,
            None if self.plastic is None else self.plastic.reshape(count, 1, 9),
            self.definite,
            self._records.reshape(count, 1, point_kernels.POINT),
            measure_gradients.reshape(count, 1, 9),
            self._point_inverted,
        )
        self.inverted = int(self._point_inverted.sum())
        if self.inverted and self.weights.shape[1] > 1:
            self.inverted = int((np.linalg.det(self.deformation()) <= 0.0).any(axis=1).sum())

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Set `inverted` for the given coefficients."""
        self.update(coefficients)

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        means = self.means if self.averages else None
        system.matrix.pressure_term = None
        quadrature_kernels.assemble.variant(self.parallel)(
            self._records,
            self.gradients,
            self.weights,
            None if means is None else means.element_derivatives,
            self.elements,
            p.indptr,
            p.indices,
            self._assembly,
            system.arrays,
        )
        if means is not None:
            means.add(system, self.parallel)

    def stress(self) -> NDArray[np.float64]:
        """Return the mean Cauchy stress [Pa] of every element (xx, yy, zz, xy, xz, yz), as of the last update."""
        result = np.empty((self.element_count, 6))
        law = self._law
        quadrature_kernels.element_stress.variant(self.parallel)(
            self._records, self.weights, law.is_small_strain, law.is_rotation_invariant, result
        )
        return result

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises norm of the Cauchy stress [Pa] at the nodes, averaged over the adjacent elements."""
        result = np.empty(self.node_count)
        p = self.pattern
        quadrature_kernels.node_stress.variant(self.parallel)(
            self.stress(), self._volumes, p.inc_indptr, p.inc_codes, p.corners, result
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        return float(np.vdot(self.energy_density(), self.weights))

    @property
    def records(self) -> NDArray[np.float64]:
        """The records of the points (see `materials.point_kernels`), shape [m, q, 64], as of the last update."""
        return self._records

    def energy_density(self) -> NDArray[np.float64]:
        """Return the elastic energy per volume at rest [J/m3] at the points, shape [m, q], as of the last update."""
        return self._records[..., -1]

    def deformation(self) -> NDArray[np.float64]:
        """Return the deformation gradients at the points, shape [m, q, 3, 3], as of the last update."""
        return self._records[..., :9].reshape(*self.weights.shape, 3, 3)


class QuadratureTets(QuadratureElements, BernsteinGeometry, TetElements):
    """Tetrahedra of order 1, 2 or 3 under any law. The unknowns are Bernstein coefficients.

    With `mean_volume` the change of volume is averaged: around each node, and by continuous pressures of one order less
    at order 2 and 3 (see `mean_volume`). With `curved_points` curved elements have the points of `curved_rule`, as
    `CurvedCorotatedTets`, and straight ones as many, some of them without weight.
    """

    def __init__(
        self, mesh: TetMesh, order: int, mean_volume: bool = False, curved_points: bool = False
    ) -> None:
        BernsteinGeometry.__init__(self, mesh, order)
        TetElements.__init__(self, mesh, self.elements, self.rest_positions)
        points, weights = tet_rule(order)
        inverse, _ = rest_geometry(mesh)
        corners = _corner_gradients(inverse.T.reshape(-1, 3, 3))
        gradients = np.einsum("qkc,mcj->mqkj", bernstein_slopes(order, points), corners)
        weights = mesh.volumes[:, None] * weights
        shape = self.rest_shape
        if shape is not None:
            control = shape.coefficients[self.elements[shape.curved]]
            own_gradients, own_weights = _curved_points(control, order, curved_points)
            more = own_weights.shape[1] - len(points)
            gradients = np.concatenate([gradients, np.repeat(gradients[:, :1], more, axis=1)], axis=1)
            weights = np.pad(weights, ((0, 0), (0, more)))
            gradients[shape.curved], weights[shape.curved] = own_gradients, own_weights
        pressures = self._pressures(points, curved_points) if mean_volume else None
        self._integrate_at(mesh, gradients, weights, pressures=pressures)

    def _pressures(self, points: NDArray[np.float64], curved_points: bool) -> PressureSpace:
        """Return the functions of the pressure at the points [q, 4] of straight elements and those of curved ones."""
        if self.order == 1:
            return PressureSpace(np.full((1, 1, 4), 0.25), self.mesh.tets)
        degree = self.order - 1
        below = BernsteinGeometry(self.mesh, degree)
        values = _bernstein_values(degree, points)[None]
        if self.rest_shape is not None and curved_points:
            own = _bernstein_values(degree, curved_rule(self.order)[0])
            values = np.concatenate(
                [values, np.repeat(values[:, :1], len(own) - len(points), axis=1)], axis=1
            )
            values = np.repeat(values, len(self.mesh.tets), axis=0)
            values[self.rest_shape.curved] = own
        return PressureSpace(np.ascontiguousarray(values), below.elements, stable=True, resolved=RESOLVED)


def _bernstein_values(degree: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Bernstein polynomials of a degree at points [q, 4] in a tetrahedron, by Euler's theorem."""
    return np.einsum("qkc,qc->qk", bernstein_slopes(degree, points), points) / degree


def _corner_gradients(inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradients of all four barycentric coordinates [..., 4, 3] from those of the last three."""
    return np.concatenate([-inverse.sum(axis=-2, keepdims=True), inverse], axis=-2)


def _curved_points(
    control: NDArray[np.float64], order: int, exact: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return gradients [c, q, k, 3] and weights [c, q] in curved elements, at the points of `tet_rule`.

    That rule is too weak for the integrals of the gradients. What they miss is added to the gradients, the same at all
    points, and the weights are scaled to the exact volume: then linear fields have exact gradients, and uniform stress
    is in balance, as if these integrals were exact (Chen, Hillman and Rueter 2013).

    Args:
        control: Coefficients of the elements at rest [m], shape [c, k, 3].
        order: Their order.
        exact: Return those at the points of `curved_rule` instead, which is strong enough.
    """
    found = []
    for points, share in (tet_rule(order), curved_rule(order)):
        inverse, density = rest_gradients(control, order, points)
        slopes = bernstein_slopes(order, points)
        found.append(
            (
                np.einsum("qkc,mqcj->mqkj", slopes, _corner_gradients(inverse)),
                density * share,
            )
        )
    (gradients, weights), (exact_gradients, exact_weights) = found
    if exact:
        return exact_gradients, exact_weights
    volume = exact_weights.sum(axis=1)
    weights *= (volume / weights.sum(axis=1))[:, None]
    missing = np.einsum("mq,mqkj->mkj", exact_weights, exact_gradients)
    missing -= np.einsum("mq,mqkj->mkj", weights, gradients)
    return gradients + (missing / volume[:, None, None])[:, None], weights


class NodalElements(QuadratureElements):
    """Isoparametric elements of order 1 or 2: hexahedra, and plane triangles and quadrilaterals.

    The unknowns are the node positions themselves. The displacement of a plane body has no part along z and does
    not depend on z; in plane stress its thickness changes at every point so that the stress across is zero. With
    `mean_volume` the change of volume is averaged: over each hexahedron or quad, and around each node of triangles (see
    `mean_volume`).
    """

    nodal_maps = None

    def __init__(
        self,
        mesh: HexMesh | PlaneMesh,
        order: int = 1,
        plane_stress: bool = False,
        mean_volume: bool = False,
    ) -> None:
        self.mesh = mesh
        self.order = order
        self.plane_stress = plane_stress
        if order == 1:
            self.elements, self.rest_positions = (
                np.ascontiguousarray(mesh.cells),
                np.ascontiguousarray(mesh.points),
            )
        else:
            self.elements, self.rest_positions = lagrange.quadratic_nodes(mesh)
        self.rest_coefficients = self.rest_positions
        self.node_count = len(self.rest_positions)
        self.element_count = mesh.element_count
        self.dof_map = DofMap.from_nodes(self.elements, self.node_count)
        self.pattern = BlockPattern.from_dof_map(self.dof_map)
        plane = isinstance(mesh, PlaneMesh)
        self._depth = mesh.thickness if isinstance(mesh, PlaneMesh) else 1.0
        gradients, weights = self._points(order + 1)
        self._integrate_at(
            mesh,
            gradients,
            weights,
            plane=0.0 if not plane else 2.0 if plane_stress else 1.0,
            pressures=self._pressures(weights) if mean_volume else None,
        )

    def _pressures(self, weights: NDArray[np.float64]) -> PressureSpace:
        """Return the functions of the pressure at the quadrature points with these weights [m, q]."""
        nodes, count = self.elements.shape[1], self.order + 1
        if nodes == 3:
            return PressureSpace(np.full((1, 1, 3), 1.0 / 3.0), self.elements)
        if nodes == 6:
            return PressureSpace(
                lagrange.linear_values(6, count)[None], self.mesh.cells, stable=True, resolved=RESOLVED
            )
        if self.order == 1:
            return PressureSpace(np.ones((1, weights.shape[1], 1)), None, orthogonal=True)
        corners = self.rest_positions[self.elements][:, :, : 2 if isinstance(self.mesh, PlaneMesh) else 3]
        points = np.einsum("qk,mkd->mqd", _shape_values(nodes, count), corners)
        values = linear_pressures(points, weights)
        dofs = np.arange(self.element_count * values.shape[2], dtype=np.int32).reshape(self.element_count, -1)
        return PressureSpace(values, dofs, orthogonal=True, stable=True)

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block: consistent, or lumped on the diagonal.

        At order 1 the lumped mass are the row sums; at order 2 see `lagrange.lumped_mass`.
        """
        p = self.pattern
        mass = np.zeros(p.block_count)
        density = np.reshape(density, (-1, 1))
        if lumped and self.order == 2:
            corners = self.rest_positions[self.elements][:, :, : 2 if self.plane else 3]
            nodal = self._depth * density * lagrange.lumped_mass(corners)
            tables = nodal[:, :, None] * np.eye(nodal.shape[1])
        else:
            values = _shape_values(self.elements.shape[1], self.order + 2)
            _, weights = self._points(self.order + 2)
            tables = np.einsum("mq,qa,qb->mab", weights * density, values, values, optimize=True)
        pattern = (p.inc_indptr, p.inc_codes, p.slots, p.corners)
        mass_kernels.gather_tables(*pattern, tables, p.indptr, lumped, p.diagonal, mass)
        return mass

    def _points(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gradients [m, q, k, 3] and weights [m, q] at Gauss points, `count` along each axis."""
        slopes, weights = _shape_slopes(self.elements.shape[1], count)
        dimension = slopes.shape[2]
        corners = self.rest_positions[self.elements][:, :, :dimension]
        jacobians = np.einsum("mki,qkj->mqij", corners, slopes)
        gradients = np.zeros((self.element_count, *slopes.shape[:2], 3))
        gradients[..., :dimension] = np.einsum("qki,mqij->mqkj", slopes, np.linalg.inv(jacobians))
        return gradients, self._depth * np.linalg.det(jacobians) * weights

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients: they are the values at the nodes."""
        return coefficients

    def coefficients(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values: they are the coefficients."""
        return values

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the arguments: values and coefficients are the same."""
        return nodes, weights

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the elements."""
        return {lagrange.KINDS[self.elements.shape[1]]: self.elements}

    def boundary_faces(self) -> NDArray[np.int32]:
        """Return the nodes of the boundary faces, of a plane body of the edges of its outline."""
        if self.order == 1:
            return self.mesh.boundary_faces
        return lagrange.boundary_nodes(self.mesh, self.elements)

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface, faces of order 2 split at their nodes; of a plane body its front."""
        if self.order == 1:
            return self.mesh.boundary_triangles
        return lagrange.split_triangles(self.elements if self.plane else self.boundary_faces())


_CORNERS = {
    4: np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float64),
    8: np.array([[*c, z] for z in (-1, 1) for c in ((-1, -1), (1, -1), (1, 1), (-1, 1))], np.float64),
}
_TRIANGLE_POINTS = {  # degree 1 and degree 2, in barycentric coordinates
    2: np.full((1, 3), 1.0 / 3.0),
    3: np.array([[4.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 4.0]]) / 6.0,
}


def _shape_values(nodes: int, count: int) -> NDArray[np.float64]:
    """Return the shape functions of triangle, quad or hexahedron at the points of a rule, shape [q, k]."""
    if nodes in (6, 9, 27):
        return lagrange.quadratic_values(nodes, count)
    if nodes == 3:
        return _TRIANGLE_POINTS[count]
    corners = _CORNERS[nodes]
    points, _ = gauss_cube(count, corners.shape[1])
    return np.prod(0.5 * (1.0 + points[:, None] * corners), axis=2)


def _shape_slopes(nodes: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slopes of the shape functions in the reference cell [q, k, d], and the weights [q]."""
    if nodes in (6, 9, 27):
        return lagrange.quadratic_slopes(nodes, count)
    if nodes == 3:
        points = _TRIANGLE_POINTS[count]
        slopes = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
        return np.tile(slopes, (len(points), 1, 1)), np.full(len(points), 0.5 / len(points))
    corners = _CORNERS[nodes]
    points, weights = gauss_cube(count, corners.shape[1])
    factors = 0.5 * (1.0 + points[:, None] * corners)
    slopes = np.empty_like(factors)
    for axis in range(corners.shape[1]):
        others = np.delete(factors, axis, axis=2)
        slopes[..., axis] = 0.5 * corners[:, axis] * np.prod(others, axis=2)
    return slopes, weights

"""Stiff sheets: plates and shells with the bending of the theory of Kirchhoff and Love."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.deformable.damping import RotatedDamping
from continua.deformable.elements import AssembledSystem
from continua.deformable.integrators import Integrator
from continua.deformable.selection import Where, select_nodes
from continua.linalg import Direct, LinearSolver
from continua.materials import Law
from continua.mesh import SurfaceMesh
from continua.shells import assembly_kernels
from continua.shells.cloth import Cloth
from continua.shells.cloth_elements import X_AXIS, ClothElements
from continua.shells.cloth_pattern import make_pattern
from continua.shells.membrane import Membrane, ReferenceNormals
from continua.shells.sheet_mesh import SheetMesh
from continua.shells.shell_bending import ShellBending, check_oriented

__all__ = ["Shell", "ShellElements"]


class ShellElements(ClothElements):
    """Triangles of a stiff sheet: in-plane elasticity, and bending by curvature tensors; see `shell_bending`."""

    bending: ShellBending  # type: ignore[assignment]

    def __init__(self, mesh: SheetMesh, clamped: NDArray[np.bool_]) -> None:
        self._mesh = mesh
        self.elements = mesh.cells
        self.rest_positions = mesh.points
        self.rest_coefficients = mesh.points
        self.node_count, self.element_count = mesh.node_count, mesh.element_count
        self.membrane = Membrane(mesh, X_AXIS)
        self.inverted = 0
        self.bending = ShellBending(mesh, clamped)
        self.dof_map, self.pattern, self._lists = make_pattern(mesh.cells, self.bending.pairs, mesh.points)
        self.bending.set_pattern(self.pattern, self._lists.mirror)
        self._stiffness = None
        self._x = mesh.points

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every triangle, shape [m, k]; the first are Lame's [Pa]."""
        self.membrane.set_law(law, constants)
        self.bending.set_law(constants)

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        assembly_kernels.assemble.variant(self.pattern.parallel)(
            self.membrane.records, None, None, self.bending.linear_force, self._lists, system.arrays
        )
        self.bending.add_stiffness(system.matrix.blocks, system.c_stiffness)


class Shell(Cloth):
    """A stiff sheet, such as a plate, a can or a roof: it resists bending by E, nu and the thickness.

    Bending follows the theory of Kirchhoff and Love for thin shells, with the full tensor of curvature: results
    converge on every mesh, and Poisson's ratio acts. The rest shape is that of the mesh, flat or curved.

    Args:
        mesh: The sheet at rest, an open or closed surface whose triangles have the same orientation.
        material: The law in the plane, under plane stress, and its constants; bending takes its Young's modulus and
            Poisson's ratio.
        thickness: Thickness [m].
        clamped: Nodes that are held; boundary edges between two of them keep their tangent plane as well.
        parts: Parts with other constants, as pairs of a selection of triangles and a material of the same law.
        name: Name in the world.
        mass: "lumped" or "consistent".
        damping: Rayleigh damping (alpha [1/s], beta [s]).
        friction: Coulomb's coefficient of the body's contacts; None takes the world's.
        restitution: Coefficient of restitution; None takes the world's.
        integrator: The time integrator or its name.
        newton: Maximum number of Newton iterations per step of an integrator given by name.
        solver: The linear solver or its name; None is `Direct()`, as the matrices of thin shells are ill-conditioned.
        color: RGB in 0..1 for plain pictures.
        paint: A scalar field that moves with the sheet.
    """

    def __init__(
        self,
        mesh: SurfaceMesh | SheetMesh,
        material: Law | None = None,
        *,
        thickness: float | None = None,
        clamped: Where | None = None,
        parts: Sequence[tuple[Where, Law]] = (),
        name: str | None = None,
        mass: str = "lumped",
        damping: ArrayLike | RotatedDamping = (0.0, 0.0),
        friction: float | None = None,
        restitution: float | None = None,
        integrator: Integrator | str = "implicit_euler",
        newton: int | None = None,
        solver: LinearSolver | str | None = None,
        color: tuple[float, float, float] | None = None,
        paint: Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike | None = None,
    ) -> None:
        self._clamped = clamped
        super().__init__(
            mesh,
            material,
            thickness=thickness,
            parts=parts,
            name=name,
            mass=mass,
            damping=damping,
            friction=friction,
            restitution=restitution,
            integrator=integrator,
            newton=newton,
            solver=Direct() if solver is None else solver,
            color=color,
            paint=paint,
        )
        if clamped is not None:
            self.pin(clamped)

    def _make_elements(
        self, warp: NDArray[np.float64], reference_normals: ReferenceNormals | None
    ) -> ClothElements:
        mesh = self.mesh
        check_oriented(mesh, self.name)
        held = np.zeros(mesh.node_count, np.bool_)
        if self._clamped is not None:
            held[select_nodes(self._clamped, mesh.points, mesh.cells, mesh, "clamped")] = True
        return ShellElements(mesh, held)

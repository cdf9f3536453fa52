"""Cloth: a sheet that stretches, bends and touches others from both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.contact_solver.contact_body import ContactSurface
from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.deformable.boundary_conditions.constraints import Constraint
from continua.deformable.boundary_surface import BoundarySurface
from continua.deformable.contact_body import connected_pieces
from continua.deformable.damping import RotatedDamping
from continua.deformable.deformable_body import DeformableBody
from continua.deformable.element_materials import ElementMaterials, checked_parts
from continua.deformable.integrators import Integrator
from continua.deformable.selection import Where
from continua.errors import InputError
from continua.frames import BodyFields, BodyFrame, ContactForces, Field, readonly_copy
from continua.linalg import LinearSolver
from continua.materials import Law, Orthotropic, StVenantKirchhoff
from continua.materials.fabric import Fabric
from continua.mesh import SurfaceMesh, Topology
from continua.shells.attachment import FollowBody
from continua.shells.bending import Bending, HingeBending
from continua.shells.cloth_elements import ClothElements
from continua.shells.faces import sheet_faces
from continua.shells.fields import cloth_field, lazy_fields, vtk_stress
from continua.shells.inflation import Inflation
from continua.shells.membrane import ReferenceNormals
from continua.shells.sheet_mesh import SheetMesh
from continua.shells.springs import ClothSprings, SpringElements
from continua.validation import array, choice, function, instance_of, instances_of, number, numbers, shortened

__all__ = ["Cloth"]


AREA_RECOVERY_TIME = 1.0 / 300.0
"""Least time [s] in which cloth that keeps its areas recovers them if it starts with wrong ones."""


class Cloth(DeformableBody):
    """A sheet of cloth: triangles that stretch in their plane, and hinges between them that bend.

    Args:
        mesh: The sheet at rest, an open or closed surface.
        material: The law in the plane, under plane stress, and its constants; `density` is per volume.
        thickness: Thickness [m]. Layers in contact keep this distance.
        model: "membrane": triangles with the material law, and bending. "springs", or `ClothSprings()` with other
            options: springs between the nodes, which take their stiffness from Young's modulus and have no Poisson's
            ratio of their own.
        inextensible: "area" keeps the area around every node, by pressures in the plane (Irving 2007, chapter 4); the
            sheet then still shears.
        bending: How it bends; None is the stiffness of the material and the thickness.
        warp: Direction of the warp of a `Fabric`, one vector or one per triangle; the weft is across it. None is the
            first texture coordinate of the mesh if it has them, else the x axis.
        reference_normals: A function of points [m, 3] that returns the normals that triangles there should have, such
            as those of a surface that the sheet lies on: triangles that face the other way then turn back. None leaves
            them alone.
        parts: Parts with other constants, as pairs of a selection of triangles and a material of the same law.
        name: Name in the world; without one a world takes the name of the caller's variable.
        mass: "lumped" (diagonal, the default) or "consistent".
        damping: Rayleigh damping (alpha [1/s], beta [s]): C = alpha M + beta K.
        drag: Coefficient of the wind's force along the normal of a triangle: the drag of flow across, and the lift of
            oblique flow.
        skin_friction: Coefficient of the wind's force along the triangle.
        friction: Coulomb's coefficient of the body's contacts; None takes the world's, see `Contact`.
        restitution: Coefficient of restitution; None takes the world's.
        integrator: The time integrator: `ImplicitEuler()` (the default), `Newmark()`, `Explicit()` or
            `SemiImplicit()`, or its name with its default constants.
        newton: Maximum number of Newton iterations per step of an integrator given by name.
        solver: The linear solver, or its name with its default options; None or "auto" chooses one.
        color: RGB in 0..1 for plain pictures.
        paint: A scalar field that moves with the sheet: one number per node, or a function of the rest positions.
    """

    def __init__(
        self,
        mesh: SurfaceMesh | SheetMesh,
        material: Law | None = None,
        *,
        thickness: float | None = None,
        model: str | ClothSprings = "membrane",
        inextensible: str | None = None,
        bending: Bending | None = None,
        warp: ArrayLike | None = None,
        reference_normals: Callable[[NDArray[np.float64]], ArrayLike] | None = None,
        parts: Sequence[tuple[Where, Law]] = (),
        name: str | None = None,
        mass: str = "lumped",
        damping: ArrayLike | RotatedDamping = (0.0, 0.0),
        drag: float = 1.2,
        skin_friction: float = 0.02,
        friction: float | None = None,
        restitution: float | None = None,
        integrator: Integrator | str = "implicit_euler",
        newton: int | None = None,
        solver: LinearSolver | str | None = None,
        color: tuple[float, float, float] | None = None,
        paint: Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike | None = None,
    ) -> None:
        self._set_options(name, friction, restitution, color, integrator, newton)
        law = _checked_law(material, self._title)
        if isinstance(law, Fabric):
            law = law if thickness is None else replace(law, thickness=thickness)
            thickness = law.thickness
        if reference_normals is not None:
            function(reference_normals, "the reference normals of cloth", "a function of points")
        checked_parts(law, parts)
        self.bending = Bending() if bending is None else instance_of(bending, Bending, "the bending of cloth")
        self._model = _checked_model(model)
        if inextensible is not None:
            choice(inextensible, "'inextensible' of cloth", ("area",))
            self.incompressible, self._recovery_time = True, AREA_RECOVERY_TIME
        self._mass_lumped = choice(mass, "mass", ("consistent", "lumped")) == "lumped" or self.incompressible
        self._drag = number(drag, "the drag of cloth", low=0.0)
        self._skin_friction = number(skin_friction, "the skin friction of cloth", low=0.0)
        self._uv, self._texture = getattr(mesh, "uv", None), getattr(mesh, "texture", None)
        self.mesh = _checked_sheet(mesh, thickness, self._title)
        self._elements = self._make_elements(_warp(warp, self.mesh, self._uv), reference_normals)
        self._surface = BoundarySurface(self._elements)
        self._element_size = float(np.sqrt(4.0 / np.sqrt(3.0) * self.mesh.areas.mean()))
        given = paint(self.mesh.points.copy()) if callable(paint) else paint
        self._paint = (
            None
            if given is None
            else readonly_copy(array(given, "paint, one number for each node,", (self.mesh.node_count,)))
        )
        self._start(ElementMaterials(self.mesh, law, parts, self.name), solver, damping)

    # --- properties -------------------------------------------------------------------------------------

    mesh: SheetMesh
    _elements: ClothElements

    @property
    def _title(self) -> str:
        """What messages call it; a body without a name gets one in a world."""
        kind = type(self).__name__.lower()
        return f"{kind} '{self.name}'" if self.name else f"the {kind}"

    @property
    def topology(self) -> Topology:
        """The mesh and its version."""
        return Topology(self.mesh, 0)

    @property
    def thickness(self) -> float:
        """Thickness [m]."""
        return self.mesh.thickness

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired or remarkable when the mesh was made, one sentence each."""
        return self.mesh.notes

    def geometry_bytes(self) -> bytes:
        """Return the mesh as bytes; a run may only be resumed with the same."""
        return self.mesh.points.tobytes() + self.mesh.cells.tobytes()

    def inflate(self, pressure: float, *, gas: bool = False, until: float = inf) -> Inflation:
        """Put a pressure inside the closed sheet, over that outside.

        Args:
            pressure: The pressure [Pa]; of a gas that at the volume of the mesh.
            gas: Whether the pressure times the volume stays the same, as of a gas in a vacuum: the sheet then resists
                being squeezed. Otherwise the pressure stays the same.
            until: Time at which it ends [s].
        """
        if not (self.mesh.is_closed and self.mesh.is_oriented):
            raise InputError(
                f"{self._title} has no inside to inflate: its mesh must be closed, and its triangles all turned "
                "the same way"
            )
        return self._load(Inflation(self, pressure, gas, until))

    def attach(self, where: Where, body: Any, *, until: float = inf) -> Constraint:
        """Let nodes follow the surface of another body, soft or rigid, at the place on it where they are now.

        The other body does not feel the cloth. Give the pair `collide: False` where they are sewn together closely.

        Args:
            where: The nodes, as for `pin`.
            body: The body.
            until: Time at which they are released [s].
        """
        nodes = self._select(where, "attachment")
        return self.drive(nodes, FollowBody(body, self._x[nodes], self), until=until)

    # --- the body in a world ------------------------------------------------------------------------------

    def field(self, name: str) -> Field:
        """Return a derived field of the triangles: one of `shells.CLOTH_FIELDS`, such as "stretch"."""
        return cloth_field(self._elements, self._x.copy(), name)

    def inverted_elements(self) -> NDArray[np.int32]:
        """Return no elements: triangles in space do not invert."""
        return np.zeros(0, np.int32)

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot; `fields` are those of `shells.CLOTH_FIELDS` that files include as well."""
        fields = instances_of(fields, str, "the fields of a frame", "a name")
        self._elements.update(self._x)
        rest = self._read_only("rest positions", self._elements.rest_positions)
        positions = readonly_copy(self._x)
        stress = vtk_stress(self._elements.membrane.stress(self._x))
        computed = {
            "displacement": Field(readonly_copy(positions - rest), "m"),
            "velocity": Field(readonly_copy(self._v), "m/s"),
            "von_mises": Field(readonly_copy(self._elements.von_mises()), "Pa"),
            "contact_force": Field(readonly_copy(self._contact_force), "N"),
        }
        if self._paint is not None:
            computed["paint"] = Field(self._paint, "")
        return BodyFrame(
            name=self.name,
            kind="cloth",
            positions=positions,
            rest_positions=rest,
            cells=MappingProxyType(self._elements.cells()),
            triangles=self.triangles,
            fields=BodyFields(computed, lazy_fields(self._elements, positions, stress), fields),
            color=self.color,
            energy=MappingProxyType(self._energy()),
            contacts=ContactForces.at_nodes(positions, self._contact_force),
            uv=self._uv,
            texture=self._texture,
        )

    def __repr__(self) -> str:
        return (
            f"Cloth({self.name!r}, {self.element_count} triangles, {self.node_count} nodes, "
            f"thickness {self.thickness:g} m, {self.material!r})"
        )

    def _advance_material(self, dt: float) -> None:
        """Let folds that yield follow a substep."""
        if isinstance(self._elements.bending, HingeBending):
            self._elements.bending.flow(self._x)

    def _return_to_initial(self) -> None:
        if isinstance(self._elements.bending, HingeBending):
            self._elements.bending.reset()

    def _state_arrays(self) -> dict[str, NDArray]:
        arrays = super()._state_arrays()
        bending = self._elements.bending
        if isinstance(bending, HingeBending) and bending.is_plastic:
            arrays |= {"rest_half_sine": bending.half_sine, "yield_curvature": bending.yield_curvature}
        return arrays

    # --- internals -------------------------------------------------------------------------------------------

    def _make_elements(
        self, warp: NDArray[np.float64], reference_normals: ReferenceNormals | None
    ) -> ClothElements:
        if self._model is not None:
            return SpringElements(self.mesh, self._model)
        return ClothElements(self.mesh, self.bending, warp, reference_normals)

    def _boundary_faces(self) -> BoundaryFaces:
        return sheet_faces(self.mesh, self._drag, self._skin_friction)

    def _contact_surface(self) -> ContactSurface:
        """Return the sheet, which others touch from both sides."""
        triangles = self._surface.triangles
        pieces = connected_pieces(self._elements.elements, self._elements.node_count)[triangles[:, 0]]
        label = np.unique(pieces, return_inverse=True)[1].astype(np.int32)
        return ContactSurface(
            self._elements.rest_positions,
            triangles,
            two_sided=True,
            thickness=self.thickness,
            pieces=label if label.any() else None,
        )


def _checked_model(model: str | ClothSprings) -> ClothSprings | None:
    """Return the springs of a model, or None for triangles."""
    if isinstance(model, ClothSprings):
        return model
    return (
        ClothSprings() if choice(model, "the model of cloth", ("membrane", "springs")) == "springs" else None
    )


def _checked_law(material: Law | None, title: str) -> Law:
    if material is None:
        return StVenantKirchhoff(young=1e6, poisson=0.3, density=300.0)
    law: Law = instance_of(material, Law, "the material of cloth")
    if not law.is_rotation_invariant:
        raise InputError(
            f"the law {type(law).__name__} is not rotation invariant, and {title} turns; use "
            "StVenantKirchhoff or another law for large rotations"
        )
    if law.anisotropic is not None or isinstance(law, Orthotropic):
        raise InputError(
            f"the law {type(law).__name__} has directions in a solid; for {title} take a Fabric, with its warp"
        )
    if law.poisson == 0.5:
        raise InputError(f"{title} needs a Poisson's ratio below 0.5, such as 0.49")
    return law


def _warp(given: ArrayLike | None, mesh: SheetMesh, uv: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the direction of the warp, shape [3] or [m, 3]."""
    if given is not None:
        warp = numbers(given)
        if warp is None or warp.shape not in ((3,), (mesh.element_count, 3)) or not warp.any(axis=-1).all():
            raise InputError(
                f"the warp of cloth must be a vector, or one for each of {mesh.element_count} triangles, not "
                f"{shortened(given)}"
            )
        return warp
    if uv is None:
        return np.array([1.0, 0.0, 0.0])
    points = mesh.points[mesh.cells]
    edges, plane = points[:, 1:] - points[:, :1], uv[:, 1:] - uv[:, :1]
    area = plane[:, 0, 0] * plane[:, 1, 1] - plane[:, 0, 1] * plane[:, 1, 0]
    along = plane[:, 1, 1:] * edges[:, 0] - plane[:, 0, 1:] * edges[:, 1]  # times the area: d x / d u
    along = along * np.sign(area)[:, None]
    along[~along.any(axis=1)] = [1.0, 0.0, 0.0]
    return np.asarray(along, np.float64)


def _checked_sheet(mesh: Any, thickness: float | None, title: str) -> SheetMesh:
    """Return the mesh of a sheet, whose thickness is less than its shortest edge."""
    if not isinstance(mesh, SurfaceMesh | SheetMesh):
        instance_of(mesh, SurfaceMesh, "the mesh of cloth")
    if thickness is None:
        thickness = mesh.thickness if isinstance(mesh, SheetMesh) else 1e-3
    thick = number(thickness, f"the thickness of {title}", above=0.0, unit="m")
    sheet = SheetMesh(mesh.points, mesh.cells if isinstance(mesh, SheetMesh) else mesh.triangles,
                      mesh.regions if isinstance(mesh, SheetMesh) else None, mesh.notes, thick,
                      mesh.flat if isinstance(mesh, SheetMesh) else None)  # fmt: skip
    ends = sheet.points[sheet.edges]
    shortest = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).min())
    if thick >= shortest:
        raise InputError(
            f"the thickness of {title}, {thick:g} m, must be less than its shortest edge, {shortest:.3g} m; "
            "give a smaller thickness or a coarser mesh"
        )
    return sheet

"""The soft body: mesh, material, elements, time integrator and boundary conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.deformable.damping import RotatedDamping
from continua.deformable.deformable_body import DeformableBody
from continua.deformable.element_materials import ElementMaterials, are_incompressible, checked_parts
from continua.deformable.elements import Elements
from continua.deformable.integrators import Integrator
from continua.deformable.selection import Where, select_elements
from continua.errors import InputError
from continua.frames import (
    BodyFields,
    BodyFrame,
    ContactForces,
    EmbeddedSurface,
    Field,
    readonly_copy,
)
from continua.linalg import LinearSolver
from continua.materials import Corotated, Fabric, Law
from continua.mesh import (
    PlaneMesh,
    SurfaceMesh,
    TetMesh,
    Topology,
    TopologyChange,
    TriMesh,
    VolumeMesh,
    faces_between,
    refine_tets,
    split_faces,
)
from continua.registry import mesh_operation
from continua.solids.derived_fields import State
from continua.solids.discretisation import Discretisation
from continua.solids.elements.factory import checked_order
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.linear_tet import LinearTets
from continua.solids.elements.stvk_tet import StVKTets
from continua.solids.elements.volume_pressures import volume_pressure_elements
from continua.solids.embedding import embed_in_elements
from continua.solids.face_shapes import boundary_faces
from continua.solids.locking import averages_volume, note_locking
from continua.solids.plasticity.plasticity import Plasticity
from continua.solids.remap import (
    InitialTopology,
    apply_change,
    nodal_coefficients,
    note_plasticity,
    note_velocities,
    return_to_initial,
    take_topology,
    topology_state,
)
from continua.validation import array, choice, flag, instance_of, instances_of, number
from continua.voxels import Voxels

__all__ = ["SoftBody"]


def _checked_paint(paint: Any, rest: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if paint is None:
        return None
    values = paint(rest.copy()) if callable(paint) else paint
    return readonly_copy(array(values, "paint, one number for each node,", (len(rest),)))


def _with_curved_or_straight_elements(
    mesh: VolumeMesh, order: int, law: Law, curved: bool | None
) -> VolumeMesh:
    """Return the mesh, without its curved boundary if the elements are to be straight."""
    if not isinstance(mesh, VolumeMesh):
        return mesh  # refused where the elements are made
    rotation = law.rotation if isinstance(law, Corotated) else ""
    averaged = rotation in ("mean", "corner")
    if curved is None:
        return mesh.straight() if averaged else mesh
    if not flag(curved, "'curved' of a body"):
        return mesh.straight()
    if order == 1:
        raise InputError("elements of order 1 are straight; take order 2 or 3, or leave out 'curved'")
    if not isinstance(mesh, TetMesh | TriMesh):
        raise InputError(f"{mesh.NAME} are never curved; take tetrahedra or triangles, or leave out 'curved'")
    if mesh.curved_boundary is None:
        raise InputError(
            "the mesh has no curved boundary for curved elements; give it one with mesh.curved(function), or leave out "
            "'curved'"
        )
    if averaged:
        raise InputError(
            f"curved elements have no rotation='{rotation}'; leave out one of 'curved' and 'rotation'"
        )
    return mesh


class SoftBody(DeformableBody):
    """An elastic body.

    Args:
        mesh: The body at rest: tetrahedra, hexahedra, or plane triangles or quads.
        material: The law and its constants.
        parts: Parts with other constants, as pairs of a selection of elements (a function of their centres, a mask,
            numbers, the name of a region, or a side) and a material of the same law; later ones take precedence.
        order: Polynomial degree of the elements: 1 or 2, and for tetrahedra 3.
        curved: Whether elements of order 2 and 3 follow the curved boundary of the mesh (see `VolumeMesh.curved`):
            spheres, cylinders, tori, bowls, blobs and files with second-order nodes have one. None curves them if the
            mesh has one, except with `Corotated(rotation="mean")` and "corner".
        plane: Of plane bodies: "strain" (the default) holds the thickness, "stress" leaves it free, so that the stress
            across is zero, as in a thin plate.
        volumetric: "full" integrates the change of volume at all points; "mean" averages it over each hexahedron or
            quad, or with pressures that adjacent tetrahedra or triangles share, so that nearly incompressible bodies do
            not lock; "auto" takes the mean above a Poisson's ratio of 0.45, of order 2 and 3 of tetrahedra and
            triangles, whose matrix it makes larger, from 0.48.
        name: Name in the world; without one a world takes the name of the caller's variable.
        mass: "consistent" (exact integrals, the default) or "lumped" (diagonal, as explicit integrators need it).
        damping: Rayleigh damping (alpha [1/s], beta [s]): C = alpha M + beta K. Alpha damps all motion,
            beta damps deformation only. Or a `RotatedDamping`.
        friction: Coulomb's coefficient of the body's contacts; None takes the world's, see `Contact`.
        restitution: Coefficient of restitution; None takes the world's.
        plasticity: Constants of plasticity; None is purely elastic.
        integrator: The time integrator: `ImplicitEuler()` (the default), `Newmark()`, `EnergyMomentum()`,
            `Explicit()` or `SemiImplicit()`, or its name with its default constants.
        newton: Maximum number of Newton iterations per step of an integrator given by name.
        solver: The linear solver, or its name with its default options: "pcg", "merged_pcg", "multigrid", "pmultigrid"
            or "direct". None or "auto" chooses one by the number and order of the nodes, and switches if another does
            less work (`print(body.solver)`).
        color: RGB in 0..1 for plain pictures.
        paint: A scalar field that moves with the body, to show how it deforms: one number per node, or a function of
            the rest positions [n, 3] that returns them. It is the field "paint" of frames.
        skin: A detailed surface at rest, embedded in the tetrahedra, which is drawn in pictures, films and the studio;
            the tetrahedra may be coarse.
        voxels: A 3-D image of the undeformed body, such as a scan, that moves with it; may be set at any time. It is
            the field "voxels" of frames, and pictures of the inside show all of its detail.
        incompressible: Whether the volume at every node is kept, by pressures (tetrahedra, hexahedra and triangles of
            order 1). The law then resists changes of shape alone, by its `young`. Mass is lumped. A Poisson's
            ratio of 0.5 of the law means the same.
        volume_recovery_time: Least time [s] in which an incompressible body that starts with wrong volumes recovers
            them; 0 is within one step.
    """

    def __init__(
        self,
        mesh: VolumeMesh,
        *,
        material: Law | None = None,
        parts: Sequence[tuple[Where, Law]] = (),
        order: int = 1,
        curved: bool | None = None,
        plane: str | None = None,
        volumetric: str = "auto",
        name: str | None = None,
        mass: str = "consistent",
        damping: ArrayLike | RotatedDamping = (0.0, 0.0),
        friction: float | None = None,
        restitution: float | None = None,
        plasticity: Plasticity | None = None,
        integrator: Integrator | str = "implicit_euler",
        newton: int | None = None,
        solver: LinearSolver | str | None = None,
        color: tuple[float, float, float] | None = None,
        paint: Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike | None = None,
        skin: SurfaceMesh | None = None,
        voxels: Voxels | None = None,
        incompressible: bool = False,
        volume_recovery_time: float = 1.0 / 300.0,
    ) -> None:
        self._set_options(name, friction, restitution, color, integrator, newton)
        self.incompressible = flag(incompressible, "'incompressible' of a body")
        self._recovery_time = number(volume_recovery_time, "volume_recovery_time", low=0.0, unit="s")
        law = Corotated() if material is None else instance_of(material, Law, "the material of a body")
        if isinstance(law, Fabric):
            raise InputError("a Fabric is for cloth; give a soft body another law, such as Orthotropic")
        if plasticity is not None:
            instance_of(plasticity, Plasticity, "the plasticity of a body")
        laws = [law, *(part for _, part in checked_parts(law, parts))]
        self.incompressible = self.incompressible or are_incompressible(laws, self.name)
        self._mass_lumped = choice(mass, "mass", ("consistent", "lumped")) == "lumped" or self.incompressible
        choice(volumetric, "volumetric", ("auto", "mean", "full"))
        order = checked_order(mesh, order)
        if self.incompressible and (plane == "stress" or volumetric == "mean"):
            option = "plane='stress', whose thickness is free" if plane == "stress" else "volumetric='mean'"
            raise InputError(
                f"the incompressible body '{self.name}' keeps its volumes by pressures; leave out {option}"
            )
        self._mean_volume = not self.incompressible and averages_volume(volumetric, mesh, order, laws, plane)
        mesh = _with_curved_or_straight_elements(mesh, order, law, curved)
        built = Discretisation.of(mesh, order, law, plasticity is not None, plane, self._mean_volume)
        self._take_discretisation(built)
        self._plastic_state = built.plastic_state(plasticity, law, self.name)
        self._paint = _checked_paint(paint, self._elements.rest_positions)
        self._skin: EmbeddedSurface | None = None
        self._skin_elements: NDArray[np.int32] = np.zeros(0, np.int32)
        if skin is not None:
            instance_of(skin, SurfaceMesh, "the skin of a body")
            self._skin, self._skin_elements = embed_in_elements(skin, mesh, self._elements)
        self._skin_notes = () if skin is None else skin.notes
        self.voxels = voxels
        self._version = 0
        self._initial: InitialTopology | None = None  # None while the body has its initial mesh
        self._pending: TopologyChange | None = None  # changes since `take_topology_change`
        self._topology_key = 0
        self._topology_keys: dict[bytes, int] = {}
        self._start(ElementMaterials(mesh, law, parts, self.name, self.incompressible), solver, damping)

    # --- properties -------------------------------------------------------------------------------------

    @property
    def topology(self) -> Topology:
        """The mesh and its version, which rises with every change."""
        return Topology(self.mesh, self._version)

    @property
    def plasticity(self) -> Plasticity | None:
        """Constants of plasticity, or None."""
        return None if self._plastic_state is None else self._plastic_state.plasticity

    @property
    def plane(self) -> str | None:
        """ "strain" or "stress" of a plane body, else None."""
        if not isinstance(self.mesh, PlaneMesh):
            return None
        return "stress" if getattr(self._elements, "plane_stress", False) else "strain"

    @property
    def volumetric(self) -> str:
        """How the change of volume is integrated: "mean" or "full"; see `SoftBody`."""
        return "mean" if self._mean_volume else "full"

    @property
    def voxels(self) -> Voxels | None:
        """The 3-D image that moves with the body; may be set at any time."""
        return self._voxels

    @voxels.setter
    def voxels(self, voxels: Voxels | None) -> None:
        if voxels is not None:
            instance_of(voxels, Voxels, "the voxels of a body", "Voxels (see Voxels.around)")
        rest = self._elements.rest_positions
        self._voxel_values = readonly_copy(np.zeros(0) if voxels is None else voxels.sample(rest))
        self._voxels = voxels

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired or remarkable when the mesh and the skin were made, one sentence each."""
        shape = getattr(self._elements, "rest_shape", None)
        return (*self.mesh.notes, *(() if shape is None else shape.notes), *self._skin_notes)

    @property
    def curved_elements(self) -> NDArray[np.int32]:
        """Numbers of the elements with curved edges at rest, ascending."""
        shape = getattr(self._elements, "rest_shape", None)
        return np.array(() if shape is None else shape.curved, np.int32)

    def geometry_bytes(self) -> bytes:
        """Return the initial mesh as bytes; a run may only be resumed with the same."""
        mesh = self.mesh if self._initial is None else self._initial.mesh
        curved = b""
        if self.order > 1 and mesh.curved_boundary is not None and isinstance(mesh, TetMesh | TriMesh):
            curved = mesh.curved_boundary.geometry_bytes(mesh, self.order)
        return mesh.points.tobytes() + mesh.cells.tobytes() + curved

    def set_plasticity(self, plasticity: Plasticity) -> None:
        """Change the constants of plasticity; the plastic deformation stays.

        A body made without plasticity cannot get it later.
        """
        if self._plastic_state is None:
            raise InputError(f"body '{self.name}' was made without plasticity and cannot get one later")
        self._plastic_state.change(plasticity)
        note_plasticity(self, plasticity)

    def set_rest_to_current(self) -> None:
        """Make the present configuration stress-free: the body keeps this shape when it is unloaded.

        It needs plasticity, which stores the shape; `reset` clears it.
        """
        if self._plastic_state is None:
            raise InputError(f"body '{self.name}' is elastic; give it a plasticity to change its rest shape")
        self._plastic_state.set_rest(self._x)
        self._stepper.material_changed()

    # --- changes of topology --------------------------------------------------------------------------------

    def refine(self, where: Where) -> TopologyChange:
        """Cut tetrahedra into eight each, and their neighbours so that all faces fit; the motion continues.

        The field of displacements and velocities stays the same function. With lumped mass the velocities get the
        smallest correction that keeps momentum and angular momentum. See `mesh.refine_tets` and
        `apply_topology_change`.

        Args:
            where: Function of the centres of the elements at rest [m, 3] that returns a mask; a mask; numbers of
                elements; or the name of a region ("all" is everything).
        """
        elements = select_elements(where, self.mesh, self._label("refinement"))
        change = refine_tets(self.mesh, elements)
        self.apply_topology_change(change)
        return change

    def split(self, where: Where | None = None, *, faces: ArrayLike | None = None) -> TopologyChange:
        """Cut the body open along faces of its elements; the parts then move on their own.

        A cut that ends inside the body is a crack. Mass, momentum and angular momentum are kept. See
        `mesh.split_faces` and `apply_topology_change`.

        Args:
            where: Elements, as for `refine`: the cut runs along all faces between these and the others.
            faces: Numbers of interior faces, as in `mesh.faces`, instead.
        """
        if (where is None) == (faces is None):
            raise InputError("a split takes either elements on one side of the cut or faces")
        if where is not None:
            elements = select_elements(where, self.mesh, self._label("split"))
            faces = faces_between(self.mesh, elements)
            if not len(faces):
                raise InputError(
                    f"{self._label('split')}: no face lies between the chosen elements and others; choose a part of "
                    "the body"
                )
        assert faces is not None
        change = split_faces(self.mesh, faces)
        self.apply_topology_change(change)
        return change

    def cut(self, surface: Any, *, integration: str = "exact") -> TopologyChange:
        """Cut the body along a surface through its elements, without remeshing; the parts then move on their own.

        The surface lies in the undeformed body. Elements that it divides get an element for each side, and integrals
        are over the matter of each alone. Inserting a cut changes nothing until forces open it; mass, momentum and
        angular momentum are kept. A cut may end inside the body, cross earlier ones or meet them. It is for tetrahedra
        of order 1. See `cutting.cut_tets` and docs/theory/cutting.md.

        Args:
            surface: A `cutting.CutSurface` (a plane, triangles, or a swept curve), or a `SurfaceMesh`.
            integration: "exact" integrates over the matter of each part. "whole" gives each part of a divided element
                the mass and the stiffness of the whole, as the virtual node algorithm does; all cuts of a body have
                the same.
        """
        if not isinstance(self.mesh, TetMesh) or self.order != 1:
            raise InputError(
                f"{self._label('cut')}: only tetrahedra of order 1 are cut; this body has {self.mesh.NAME} of order "
                f"{self.order}"
            )
        if self.incompressible or self._mean_volume:
            raise InputError(
                f"{self._label('cut')}: bodies with pressures, which are incompressible or average the change of "
                "volume, are not cut; take a smaller Poisson's ratio or volumetric='full'"
            )
        choice(integration, "the integration of a cut", ("exact", "whole"))
        change = mesh_operation("cut")(self.mesh, surface, integration == "whole")
        self.apply_topology_change(change)
        return change

    def apply_topology_change(self, change: TopologyChange) -> None:
        """Continue on another mesh, whose elements lie in those of the present one.

        Everything follows: positions, velocities, the integrator's history, plastic deformation, materials, boundary
        conditions (the objects that `pin`, `pull` and the others return stay valid), paint, voxels, embedded surface
        and solver. Mass is computed anew. A change that cannot be is refused, and nothing changes.
        """
        apply_change(self, change)

    def take_topology_change(self) -> TopologyChange | None:
        """Return the changes since the last call, composed; None if there are none.

        After `reset` or `restore` to another topology it is a replacement, which has no parents.
        """
        change, self._pending = self._pending, None
        return change

    # --- the body in a world ------------------------------------------------------------------------------

    def field(self, name: str) -> Field:
        """Return a derived field of the elements: one of `solids.FIELDS`, such as "stress" or "stretch"."""
        return self._derived_fields.field(name, self._field_state())

    def inverted_elements(self) -> NDArray[np.int32]:
        """Return the numbers of the elements with a point of det F <= 0."""
        if self.order == 1 and isinstance(self.mesh, TetMesh):  # F is constant in each, and counted already
            self._elements.update(self._x)
            if not self._elements.inverted:
                return np.zeros(0, np.int32)
        return np.flatnonzero(self.field("inverted").values).astype(np.int32)

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot; `fields` are those of `solids.FIELDS` that files include as well."""
        fields = instances_of(fields, str, "the fields of a frame", "a name")
        self._elements.update(self._x)
        rest = self._read_only("rest positions", self._elements.rest_positions)
        positions = readonly_copy(self._elements.values(self._x))
        computed = {
            "displacement": Field(readonly_copy(positions - rest), "m"),
            "velocity": Field(readonly_copy(self._elements.values(self._v)), "m/s"),
            "von_mises": Field(readonly_copy(self._elements.von_mises()), "Pa"),
            "contact_force": Field(readonly_copy(self._contact_force), "N"),
        }
        if self._stepper.incompressibility is not None:
            computed["pressure"] = Field(readonly_copy(self._stepper.incompressibility.pressure), "Pa")
        if self._paint is not None:
            computed["paint"] = Field(self._paint, "")
        if self.voxels is not None:
            computed["voxels"] = Field(self._voxel_values, "")
        return BodyFrame(
            name=self.name,
            kind="soft",
            positions=positions,
            rest_positions=rest,
            cells=MappingProxyType(self._elements.cells()),
            triangles=self.triangles,
            fields=BodyFields(computed, self._derived_fields.available(self._field_state()), fields),
            color=self.color,
            skin=self._surface.skin() if self._skin is None else self._skin,
            voxels=self.voxels,
            energy=MappingProxyType(self._energy()),
            contacts=ContactForces.at_nodes(positions, self._contact_force),
            topology_version=self._version,
        )

    def __repr__(self) -> str:
        return (
            f"SoftBody({self.name!r}, {self.element_count} {self.mesh.NAME} of order {self.order}, "
            f"{self.node_count} nodes, {self.material!r})"
        )

    # --- internals -------------------------------------------------------------------------------------------

    @property
    def topology_version(self) -> int:
        """Version of the topology, which rises with every change."""
        return self._version

    def _advance_material(self, dt: float) -> None:
        """Let plastic deformation follow a substep of `dt` [s]."""
        if self._plastic_state is not None:
            self._plastic_state.advance(self._x, dt)

    def _static_elements(self) -> Elements:
        """Return elements of the same forces whose tangent is exact, if there are such; they take far fewer iterations.

        Corotated tetrahedra of order 1 may leave out how their rotations change, and those of Green's strain raise
        their tangent more than they have to. Those of incompressible bodies have pressures.
        """
        kind, law, mesh = type(self._elements), self.material, self.mesh
        if self.incompressible:
            keeping = volume_pressure_elements(mesh)
            keeping.set_law(law, self._materials.constants)
            if self._plastic_state is not None:
                keeping.plastic = self._plastic_state.inverse
            return cast(Elements, keeping)
        elements: LinearTets | HyperelasticTets
        if kind is LinearTets and isinstance(law, Corotated) and law.rotation != "exact":
            assert isinstance(mesh, TetMesh)
            elements, law = LinearTets(mesh), replace(law, rotation="exact")
        elif kind is StVKTets:
            assert isinstance(mesh, TetMesh)
            elements = HyperelasticTets(mesh)
        else:
            return self._elements
        elements.set_law(law, self._materials.constants)
        return elements

    def _boundary_faces(self) -> BoundaryFaces:
        return boundary_faces(self._elements, self.mesh)

    def _nodal_coefficients(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return nodal_coefficients(self._elements, values)

    def _material_changed(self, constants: Mapping[str, Any]) -> None:
        if "poisson" in constants:
            note_locking(self)

    def _velocities_set(self) -> None:
        note_velocities(self)

    def _topology_state(self) -> dict[str, Any]:
        return topology_state(self)

    def _take_topology(self, state: Mapping[str, Any]) -> None:
        take_topology(self, state)

    def _return_to_initial(self) -> None:
        return_to_initial(self)
        if self._plastic_state is not None:
            self._plastic_state.reset()

    def _state_arrays(self) -> dict[str, NDArray]:
        arrays = super()._state_arrays()
        if self._plastic_state is not None:
            arrays |= {"plastic": self._plastic_state.inverse, "plastic_strain": self._plastic_state.strain}
        return arrays

    def _take_discretisation(self, built: Discretisation) -> None:
        self.mesh, self._elements = built.mesh, built.elements
        self._surface, self._derived_fields = built.surface, built.derived_fields
        self._element_size = built.element_size

    def _field_state(self) -> State:
        plastic = getattr(self._elements, "plastic", None)
        constants, law = self._materials.constants, self._materials.law
        return State(self._x.copy(), law, constants, None if plastic is None else plastic.copy())

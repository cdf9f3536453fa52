"""The control panel of a world: its parameters in groups, and the forces of its boundary conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.deformable import INTEGRATORS, DeformableBody, RotatedDamping
from continua.environment import Wind
from continua.errors import InputError
from continua.frames import Frame
from continua.materials import Fabric
from continua.mesh import TetMesh
from continua.rigid import RigidInstances
from continua.scene import environment as surrounding_models
from continua.scene import integrators as integrator_models
from continua.scene import laws as law_models
from continua.scene import soft_bodies as matter_models
from continua.shells import Cloth
from continua.solids import SoftBody
from continua.studio.controls.boundary_condition_view import BoundaryConditionView, boundary_conditions_of
from continua.studio.controls.parameters import (
    Limits,
    Parameter,
    Scale,
    models_by_type,
    parameters_of,
    title_of,
)

if TYPE_CHECKING:
    from continua.body import Body
    from continua.materials import Law
    from continua.world import World

__all__ = ["BoundaryForces", "ControlPanel"]

_DEFAULT_WIND = Wind((5.0, 0.0, 0.0))
_MAX_MEASURED_TETS = 300_000  # the quality of larger meshes takes too long
_CELLS = {"tets": "tetrahedra", "hexes": "hexahedra"}


@dataclass(frozen=True)
class ParameterGroup:
    """Related parameters under a title; the first may switch all of them."""

    title: str
    parameters: list[Parameter]
    note: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the group, ready for JSON."""
        return {
            "title": self.title,
            "note": self.note,
            "parameters": [parameter.describe() for parameter in self.parameters],
        }


@dataclass(frozen=True)
class BodyPanel:
    """The part of a control panel that belongs to a body.

    Attributes:
        body: The body.
        summary: What it is, in a few words each.
        materials: Parameters of the material, one group for each part of the body.
        others: Further groups.
        integration: Parameters of the time integration.
    """

    body: Body
    summary: list[str]
    materials: list[ParameterGroup]
    others: list[ParameterGroup] = field(default_factory=list)
    integration: ParameterGroup = field(default_factory=lambda: ParameterGroup("", []))

    def describe(self) -> dict[str, Any]:
        """Return everything but the values, ready for JSON."""
        return {
            "name": self.body.name,
            "summary": self.summary,
            "materials": [group.describe() for group in self.materials],
            "others": [group.describe() for group in self.others],
            "integration": self.integration.describe(),
        }


@dataclass(frozen=True, slots=True)
class BoundaryForces:
    """Forces of the boundary conditions at one time.

    Attributes:
        forces: Total force [N] of each active one on its body, by key.
        magnitudes: Sum of the magnitudes of the nodal forces [N] of each load, by key.
        arrows: Forces [N] at the marker nodes of each load, by key, shape [k, 3].
        springs: End points of each spring [m], by key, shape [2, 3].
    """

    forces: dict[str, list[float]] = field(default_factory=dict)
    magnitudes: dict[str, float] = field(default_factory=dict)
    arrows: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    springs: dict[str, NDArray[np.float32]] = field(default_factory=dict)


class ControlPanel:
    """All values of a world that can be changed while it runs.

    Attributes:
        boundary_conditions: Constraints, loads and springs of the bodies.
        version: Counts changes of the list of parameters.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._wind = world.wind or _DEFAULT_WIND
        self.boundary_conditions = [
            condition
            for body in world.bodies_of(DeformableBody)
            for condition in boundary_conditions_of(world, body)
        ]
        self.version = 0
        self._topology_versions: dict[str, int] = {}
        self._meshes = {body.name: _mesh_summary(body) for body in world.bodies_of(DeformableBody)}
        self._parameters: dict[str, Parameter] = {}
        self._initial: dict[str, Any] = {}
        self._build()

    def refresh(self) -> None:
        """Update the boundary conditions from the bodies; known ones keep their state."""
        known = {id(condition.condition): condition for condition in self.boundary_conditions}
        taken = {condition.key for condition in self.boundary_conditions}
        found: list[BoundaryConditionView] = []
        for body in self._world.bodies_of(DeformableBody):
            free = (key for n in range(100_000) if (key := f"{body.name}/boundary/{n}") not in taken)
            found += [
                known.get(id(condition)) or BoundaryConditionView(self._world, body, condition, next(free))
                for condition in body.attached
            ]
        self.boundary_conditions = found
        self._build()

    def update_topology(self, frame: Frame) -> None:
        """Update mesh summaries and markers of the bodies whose topology version has changed."""
        versions = {body.name: body.topology_version for body in frame}
        before, self._topology_versions = self._topology_versions, versions
        changed = {name for name, version in before.items() if versions.get(name, version) != version}
        for body in self._world.bodies_of(DeformableBody):
            if body.name in changed:
                self._meshes[body.name] = _mesh_summary(body)
        for condition in self.boundary_conditions:
            if condition.body.name in changed:
                condition.update_nodes()
        self.version += bool(changed)

    def set_value(self, key: str, value: Any) -> None:
        """Set a parameter, or raise `InputError` with one sentence."""
        parameter = self._parameters.get(key)
        if parameter is None:
            raise InputError(f'there is no parameter "{key}" in this scene')
        parameter.assign(value)
        if parameter.changes_layout:
            self._build()

    def values(self) -> dict[str, Any]:
        """Return the values of all parameters by key, ready for JSON."""
        return {key: parameter.get() for key, parameter in self._parameters.items()}

    def describe(self) -> dict[str, Any]:
        """Return everything but the values, ready for JSON; `initial` has the initial values of the scene."""
        return {
            "world": [group.describe() for group in self._world_groups],
            "bodies": [
                {
                    **panel.describe(),
                    "boundaryConditions": [
                        self._describe_condition(condition)
                        for condition in self.boundary_conditions
                        if condition.body is panel.body
                    ],
                    "mesh": self._meshes.get(panel.body.name),
                }
                for panel in self._bodies
            ],
            "initial": self._initial,
        }

    def boundary_forces(self) -> BoundaryForces:
        """Return the current forces of the boundary conditions; call it between two steps."""
        found = BoundaryForces()
        for body in self._world.bodies_of(DeformableBody):
            mine = [condition for condition in self.boundary_conditions if condition.body is body]
            reactions = (
                body.reaction_forces()
                if any(condition.kind != "load" for condition in mine)
                else np.zeros((0, 3))
            )
            for condition in mine:
                with suppress(Exception):  # a user-defined load may fail; the next step reports that
                    _add_forces(condition, reactions, found)
        return found

    def markers(self) -> dict[str, tuple[int, NDArray[np.int32]]]:
        """Return for each boundary condition the number of its body and the nodes at which it is drawn."""
        numbers = {body.name: number for number, body in enumerate(self._world.bodies)}
        return {
            condition.key: (numbers[condition.body.name], condition.markers)
            for condition in self.boundary_conditions
        }

    def solvers(self) -> dict[str, str]:
        """Return a summary of the linear solver of each body, by the body's name."""
        return {body.name: str(body.solver) for body in self._world.bodies_of(DeformableBody)}

    def _build(self) -> None:
        self._world_groups = list(self._make_world_groups())
        self._bodies = _body_panels(self._world.bodies)
        groups = [*self._world_groups]
        for panel in self._bodies:
            groups += [*panel.materials, *panel.others, panel.integration]
        for group in groups:  # existing ones keep their sliders
            group.parameters[:] = [
                self._parameters.get(parameter.key, parameter) for parameter in group.parameters
            ]
        parameters = [parameter for group in groups for parameter in group.parameters]
        parameters += [
            parameter for condition in self.boundary_conditions for parameter in condition.parameters
        ]
        self._parameters = {parameter.key: parameter for parameter in parameters}
        self._initial = {**self.values(), **self._initial}
        self.version += 1

    def _make_world_groups(self) -> Iterator[ParameterGroup]:
        world = self._world

        def set_gravity(value: tuple[float, float, float]) -> None:
            world.gravity = value

        def set_dt(value: float) -> None:
            world.dt = value

        yield ParameterGroup(
            "",
            [
                Parameter(
                    "world/gravity",
                    "Gravity",
                    lambda: [float(part) for part in world.gravity],
                    set_gravity,
                    "vector",
                    "m/s²",
                    "Gravitational acceleration; 9.81 on Earth, 1.62 on the Moon",
                    scale=Scale("linear", 0.0, 25.0),
                ),
                Parameter(
                    "world/dt",
                    "Time step",
                    lambda: float(world.dt),
                    set_dt,
                    unit="s",
                    help="Simulated time per step; a shorter step is more accurate and slower",
                    limits=Limits(0.0, 1.0, open_low=True),
                    scale=Scale("log", world.dt / 10.0, world.dt * 10.0),
                ),
            ],
        )

        def set_wind(on: bool) -> None:
            world.wind = self._wind if on else None

        def change(changes: dict[str, Any]) -> None:
            self._wind = replace(self._wind, **changes)
            set_wind(world.wind is not None)

        switch = Parameter(
            "world/wind", "Wind", lambda: world.wind is not None, set_wind, "switch", changes_layout=True
        )
        model = surrounding_models.Wind
        parameters = (
            parameters_of("world/wind", lambda: self._wind, change, model) if world.wind is not None else []
        )
        parameters = [
            replace(parameter, label=f"Wind, {parameter.label.lower()}") for parameter in parameters
        ]
        parameters = [
            replace(k, scale=Scale("linear", 0.0, 30.0)) if k.kind == "vector" else k for k in parameters
        ]
        yield ParameterGroup("", [switch, *parameters])

    @staticmethod
    def _describe_condition(condition: BoundaryConditionView) -> dict[str, Any]:
        group = ParameterGroup(condition.title, condition.parameters, condition.note)
        return {
            "key": condition.key,
            "kind": condition.kind,
            "direction": condition.direction,
            **group.describe(),
        }


def _soft_panel(body: SoftBody) -> BodyPanel:
    kind = _CELLS.get(body.mesh.NAME, body.mesh.NAME)
    summary = [
        title_of(law_models.MODELS, body.material),
        f"{body.element_count:,} {kind} of order {body.order}",
        f"{body.node_count:,} nodes",
    ]
    return BodyPanel(
        body, summary, list(_material_groups(body)), list(_other_groups(body)), _integration(body)
    )


def _cloth_panel(body: Cloth) -> BodyPanel:
    material = body.material
    if isinstance(material, Fabric):
        what, groups = f"Fabric, {material.area_density:g} kg/m²", [ParameterGroup("Body", [])]
    else:
        what, groups = title_of(law_models.MODELS, material), list(_material_groups(body))
    summary = [
        what,
        f"{body.element_count:,} triangles, {body.thickness:g} m thick",
        f"{body.node_count:,} nodes",
    ]
    return BodyPanel(body, summary, groups, [_damping_group(body)], _integration(body))


def _rigid_panel(body: RigidInstances) -> BodyPanel:
    copies = "Rigid body" if body.count == 1 else f"{body.count:,} rigid bodies"
    mass = f"{body.mass_each:.4g} kg each" if body.count > 1 else f"{body.mass_each:.4g} kg"
    return BodyPanel(body, [copies, mass], [_rigid_group(body)])


def _plain_panel(body: Body) -> BodyPanel:
    """Return the panel of a body without parameters: what it is, and what it consists of."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(body).__name__).capitalize()
    parts = [
        f"{value:,} {key}" if isinstance(value, int) else str(value) for key, value in body.summary().items()
    ]
    return BodyPanel(body, [words, *parts], [ParameterGroup("Body", [])])


_PANELS: dict[type, Callable[[Any], BodyPanel]] = {
    SoftBody: _soft_panel,
    Cloth: _cloth_panel,
    RigidInstances: _rigid_panel,
}


def _body_panels(bodies: Iterable[Body]) -> list[BodyPanel]:
    """Return the panels of all bodies: kinds with parameters first."""
    kinds = list(_PANELS)
    found = []
    for body in bodies:
        rank = next((kinds.index(kind) for kind in type(body).__mro__ if kind in _PANELS), len(kinds))
        make = _plain_panel if rank == len(kinds) else _PANELS[kinds[rank]]
        found.append((rank, make(body)))
    return [panel for _, panel in sorted(found, key=lambda item: item[0])]


def _mesh_summary(body: DeformableBody) -> dict[str, Any]:
    """Return the counts of a body's mesh, and the dihedral angles of its tetrahedra."""
    mesh = body.mesh
    angles = None
    if isinstance(mesh, TetMesh) and len(mesh.cells) <= _MAX_MEASURED_TETS:
        found = mesh.quality()
        angles = {
            "bins": found.histogram.tolist(),
            "min": float(found.min_dihedral),
            "max": float(found.max_dihedral),
            "maxRadiusEdge": float(found.max_radius_edge),
        }
    return {
        "nodes": int(body.node_count),
        "elements": int(body.element_count),
        "kind": _CELLS.get(mesh.NAME, mesh.NAME),
        "triangles": len(body.triangles),
        "angles": angles,
        "volume": float(mesh.volume),
        "warnings": list(mesh.notes)[:5],
    }


def _add_forces(
    condition: BoundaryConditionView, reactions: NDArray[np.float64], found: BoundaryForces
) -> None:
    if (ends := condition.ends) is not None:
        found.springs[condition.key] = ends.astype(np.float32)
    if not condition.is_active:
        return
    forces = condition.forces(reactions)
    found.forces[condition.key] = [float(part) for part in forces.sum(axis=0)]
    if condition.kind == "load":
        found.magnitudes[condition.key] = float(np.linalg.norm(forces, axis=1).sum())
        found.arrows[condition.key] = forces[condition.markers].astype(np.float32)


def _material_groups(body: DeformableBody) -> Iterator[ParameterGroup]:
    """Return a group of material constants for the body and one for each part."""
    yield ParameterGroup("Body", _law_parameters(body, None))
    regions = {elements.tobytes(): name for name, elements in body.mesh.regions.items()}
    for number, (elements, _) in enumerate(body.parts):
        name = regions.get(elements.astype(np.int32).tobytes(), f"Part {number + 1}")
        note = f"{len(elements):,} elements"
        yield ParameterGroup(name, _law_parameters(body, number), note)


def _rigid_group(body: RigidInstances) -> ParameterGroup:
    """Return friction and restitution of a rigid body."""

    def parameter(name: str, label: str, help: str, high: float) -> Parameter:
        def put(value: float | None) -> None:
            setattr(body, name, value)

        return Parameter(
            f"{body.name}/{name}",
            label,
            lambda: float(getattr(body, name) or 0.0),
            put,
            help=help,
            limits=Limits(0.0, high),
            scale=Scale("linear", 0.0, 1.0),
            optional=True,
        )

    return ParameterGroup(
        "Body",
        [
            parameter("friction", "Friction", "Coulomb friction coefficient of the surface", 100.0),
            parameter(
                "restitution",
                "Restitution",
                "Coefficient of restitution: ratio of separation speed to impact speed",
                1.0,
            ),
        ],
    )


def _law_parameters(body: DeformableBody, part: int | None) -> list[Parameter]:
    def law() -> Law:
        return body.material if part is None else body.parts[part][1]

    def change(changes: dict[str, Any]) -> None:
        body.set_material(part=part, **changes)

    key = f"{body.name}/material" if part is None else f"{body.name}/part/{part}"
    parameters = parameters_of(key, law, change, law_models.MODELS.get(body.material.name))
    # the rotation option matters only for the corotated law of higher order
    return [
        parameter for parameter in parameters if body.order > 1 or not parameter.key.endswith("/rotation")
    ]


def _integration(body: DeformableBody) -> ParameterGroup:
    """Return the integrator and its parameters."""
    models = models_by_type(integrator_models)
    options = {name: title_of(models, kind) for name, kind in INTEGRATORS.items()}
    choice = Parameter(
        f"{body.name}/integrator",
        "Integrator",
        lambda: body.integrator.name,
        body.set_integrator,
        "choice",
        help="Time integration method of the body",
        options=options,
        changes_layout=True,
    )

    def change(changes: dict[str, Any]) -> None:
        body.set_integrator(replace(body.integrator, **changes))

    key = f"{body.name}/integrator/{body.integrator.name}"
    return ParameterGroup(
        "",
        [choice, *parameters_of(key, lambda: body.integrator, change, models.get(body.integrator.name))],
    )


def _other_groups(body: SoftBody) -> Iterator[ParameterGroup]:
    """Return damping, and plasticity if the body has one."""
    yield _damping_group(body)
    if body.plasticity is None:
        return

    def change(changes: dict[str, Any]) -> None:
        assert body.plasticity is not None
        body.set_plasticity(replace(body.plasticity, **changes))

    key = f"{body.name}/plasticity"
    yield ParameterGroup(
        "Plasticity", parameters_of(key, lambda: body.plasticity, change, matter_models.Plasticity)
    )


def _damping_group(body: DeformableBody) -> ParameterGroup:
    """Return the two coefficients of Rayleigh damping."""
    model = matter_models.Damping
    labels = ("Mass damping", "Stiffness damping")

    def parameter(which: int, name: str, reach: float) -> Parameter:
        info = model.model_fields[name]

        def put(value: float) -> None:
            mass, stiffness = (value, body.damping[1]) if which == 0 else (body.damping[0], value)
            if body.damping_time > 0.0:
                body.set_material(damping=RotatedDamping(body.damping_time, mass, stiffness))
            else:
                body.set_material(damping=(mass, stiffness))

        start = body.damping[which]
        return Parameter(
            f"{body.name}/damping/{name}",
            labels[which],
            lambda: float(body.damping[which]),
            put,
            unit=("1/s", "s")[which],
            help=info.description or "",
            limits=Limits(0.0, 1e6),
            scale=Scale("power", 0.0, max(reach, 2.0 * start)),
        )

    return ParameterGroup("", [parameter(0, "mass", 20.0), parameter(1, "stiffness", 0.1)])

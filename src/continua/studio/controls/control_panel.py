"""The board of a world: all its knobs in groups, and what goes on at its holds and loads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import TetMesh
from continua.rigid import RigidGroup
from continua.scene import integrators as integrator_models
from continua.scene import laws as law_models
from continua.scene import matter as matter_models
from continua.scene import surroundings as surrounding_models
from continua.solids import INTEGRATORS
from continua.studio.controls.boundary_condition_view import Hold, holds_of
from continua.studio.controls.parameters import Knob, Limits, Scale, constants, models_of, title_of
from continua.surroundings import Wind

if TYPE_CHECKING:
    from continua.solids import Law, SoftBody
    from continua.world import World

__all__ = ["Board", "Live"]

_BREEZE = Wind((5.0, 0.0, 0.0))
_MOST_MEASURED = 300_000  # tets; more would hold up the page
_CELLS = {"tets": "tetrahedra", "hexes": "hexahedra"}


@dataclass(frozen=True)
class Group:
    """Knobs that belong together, under a title; the first may switch all of them."""

    title: str
    knobs: list[Knob]
    note: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the group, ready for JSON."""
        return {"title": self.title, "note": self.note, "knobs": [knob.describe() for knob in self.knobs]}


@dataclass(frozen=True, slots=True)
class Live:
    """What holds and loads do at a moment.

    Attributes:
        forces: The total force [N] of each on its body, by key; without those that do not act.
        sizes: The sum of the sizes of the forces on the nodes [N], by key.
        arrows: The force [N] on the nodes at which each load is drawn, by key, shape [k, 3].
        springs: Where each spring starts and ends [m], by key, shape [2, 3].
    """

    forces: dict[str, list[float]] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    arrows: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    springs: dict[str, NDArray[np.float32]] = field(default_factory=dict)


class Board:
    """All that can be changed in a world.

    Attributes:
        holds: What is attached to the bodies when the board is made.
        version: Counts how often knobs have come or gone.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._wind = world.wind or _BREEZE
        self.holds = [hold for body in world.soft_bodies for hold in holds_of(world, body)]
        self.version = 0
        self._meshes = {body.name: _mesh_facts(body) for body in world.soft_bodies}
        self._knobs: dict[str, Knob] = {}
        self._initial: dict[str, Any] = {}
        self._build()

    def look_again(self) -> None:
        """Look anew what is attached to the bodies; what was known before keeps its switches."""
        known = {id(hold.handle): hold for hold in self.holds}
        taken = {hold.key for hold in self.holds}
        found: list[Hold] = []
        for body in self._world.soft_bodies:
            free = (key for n in range(100_000) if (key := f"{body.name}/hold/{n}") not in taken)
            found += [
                known.get(id(handle)) or Hold(self._world, body, handle, next(free))
                for handle in body.attached
            ]
        self.holds = found
        self._build()

    def turn(self, key: str, value: Any) -> None:
        """Give a knob a new value, or raise `InputError` with one sentence."""
        knob = self._knobs.get(key)
        if knob is None:
            raise InputError(f'there is no value called "{key}" in this scene')
        knob.turn(value)
        if knob.reshapes:
            self._build()

    def values(self) -> dict[str, Any]:
        """Return the values of all knobs by key, ready for JSON."""
        return {key: knob.get() for key, knob in self._knobs.items()}

    def describe(self) -> dict[str, Any]:
        """Return everything but the values, ready for JSON; `initial` has the values that the scene began with."""
        return {
            "world": [group.describe() for group in self._world_groups],
            "bodies": [
                {
                    "name": body.name,
                    "facts": self._facts(body),
                    "materials": [group.describe() for group in materials],
                    "others": [group.describe() for group in others],
                    "stepping": stepping.describe(),
                    "holds": [self._describe_hold(hold) for hold in self.holds if hold.body is body],
                    "mesh": self._meshes.get(body.name),
                }
                for body, materials, others, stepping in self._bodies
            ],
            "initial": self._initial,
        }

    def live(self) -> Live:
        """Return what holds and loads do now; call it between two steps."""
        live = Live()
        for body in self._world.soft_bodies:
            mine = [hold for hold in self.holds if hold.body is body]
            reactions = (
                body.reaction_forces() if any(hold.kind != "load" for hold in mine) else np.zeros((0, 3))
            )
            for hold in mine:
                with suppress(Exception):  # a load's own function may fail; the next step tells that
                    _look_at(hold, reactions, live)
        return live

    def marks(self) -> dict[str, tuple[int, NDArray[np.int32]]]:
        """Return for each hold and load the number of its body and the nodes at which it is drawn."""
        bodies = list(self._world.bodies)
        return {hold.key: (bodies.index(hold.body), hold.marks) for hold in self.holds}

    def solvers(self) -> dict[str, str]:
        """Return how the linear solver of each body does, by the body's name."""
        return {body.name: str(body.solver) for body in self._world.soft_bodies}

    def _build(self) -> None:
        self._world_groups = list(self._make_world_groups())
        self._bodies: list[tuple[Any, list[Group], list[Group], Group]] = [
            (body, list(_materials(body)), list(_others(body)), _stepping(body))
            for body in self._world.soft_bodies
        ]
        self._bodies += [(body, [_rigid(body)], [], Group("", [])) for body in self._world.rigid_bodies]
        groups = [*self._world_groups]
        for _, materials, others, stepping in self._bodies:
            groups += [*materials, *others, stepping]
        for group in groups:  # those that stay keep their sliders
            group.knobs[:] = [self._knobs.get(knob.key, knob) for knob in group.knobs]
        knobs = [knob for group in groups for knob in group.knobs]
        knobs += [knob for hold in self.holds for knob in hold.knobs]
        self._knobs = {knob.key: knob for knob in knobs}
        self._initial = {**self.values(), **self._initial}
        self.version += 1

    def _make_world_groups(self) -> Iterator[Group]:
        world = self._world

        def set_gravity(value: tuple[float, float, float]) -> None:
            world.gravity = value

        def set_dt(value: float) -> None:
            world.dt = value

        yield Group(
            "",
            [
                Knob(
                    "world/gravity",
                    "Gravity",
                    lambda: [float(part) for part in world.gravity],
                    set_gravity,
                    "vector",
                    "m/s²",
                    "Pull of the ground; 9.81 on Earth, 1.62 on the Moon",
                    scale=Scale("linear", 0.0, 25.0),
                ),
                Knob(
                    "world/dt",
                    "Time step",
                    lambda: float(world.dt),
                    set_dt,
                    unit="s",
                    help="Simulated time of a step; shorter is more exact and takes longer",
                    limits=Limits(0.0, 1.0, open_low=True),
                    scale=Scale("log", world.dt / 10.0, world.dt * 10.0),
                ),
            ],
        )

        def blow(on: bool) -> None:
            world.wind = self._wind if on else None

        def change(changes: dict[str, Any]) -> None:
            self._wind = replace(self._wind, **changes)
            blow(world.wind is not None)

        switch = Knob("world/wind", "Wind", lambda: world.wind is not None, blow, "switch", reshapes=True)
        model = surrounding_models.Wind
        knobs = constants("world/wind", lambda: self._wind, change, model) if world.wind is not None else []
        knobs = [replace(knob, label=f"Wind, {knob.label.lower()}") for knob in knobs]
        knobs = [replace(k, scale=Scale("linear", 0.0, 30.0)) if k.kind == "vector" else k for k in knobs]
        yield Group("", [switch, *knobs])

    @staticmethod
    def _facts(body: SoftBody | RigidGroup) -> list[str]:
        if isinstance(body, RigidGroup):
            copies = "Rigid body" if body.count == 1 else f"{body.count:,} rigid copies"
            return [copies, f"{body.mass_each:.4g} kg each" if body.count > 1 else f"{body.mass_each:.4g} kg"]
        kind = _CELLS.get(body.mesh.NAME, body.mesh.NAME)
        return [
            title_of(models_of(law_models), body.material),
            f"{body.element_count:,} {kind} of order {body.order}",
            f"{body.node_count:,} nodes",
        ]

    @staticmethod
    def _describe_hold(hold: Hold) -> dict[str, Any]:
        group = Group(hold.title, hold.knobs, hold.note)
        return {"key": hold.key, "kind": hold.kind, "direction": hold.direction, **group.describe()}


def _mesh_facts(body: SoftBody) -> dict[str, Any]:
    """Return the counts of a body's mesh, and the angles between the faces of its tetrahedra."""
    mesh = body.mesh
    angles = None
    if isinstance(mesh, TetMesh) and len(mesh.cells) <= _MOST_MEASURED:
        found = mesh.quality()
        angles = {
            "bins": found.histogram.tolist(),
            "min": float(found.min_dihedral),
            "max": float(found.max_dihedral),
            "ratio": float(found.max_radius_edge),
        }
    return {
        "nodes": int(body.node_count),
        "elements": int(body.element_count),
        "kind": _CELLS.get(mesh.NAME, mesh.NAME),
        "triangles": len(body.triangles),
        "angles": angles,
        "volume": float(mesh.volume),
        "notes": list(mesh.notes)[:5],
    }


def _look_at(hold: Hold, reactions: NDArray[np.float64], live: Live) -> None:
    if (ends := hold.ends) is not None:
        live.springs[hold.key] = ends.astype(np.float32)
    if not hold.acts:
        return
    forces = hold.forces(reactions)
    live.forces[hold.key] = [float(part) for part in forces.sum(axis=0)]
    if hold.kind == "load":
        live.sizes[hold.key] = float(np.linalg.norm(forces, axis=1).sum())
        live.arrows[hold.key] = forces[hold.marks].astype(np.float32)


def _materials(body: SoftBody) -> Iterator[Group]:
    """Return a group of constants for the body and one for each part."""
    yield Group("Body", _law_knobs(body, None))
    regions = {elements.tobytes(): name for name, elements in body.mesh.regions.items()}
    for number, (elements, _) in enumerate(body.parts):
        name = regions.get(elements.astype(np.int32).tobytes(), f"Part {number + 1}")
        note = f"{len(elements):,} elements"
        yield Group(name, _law_knobs(body, number), note)


def _rigid(body: RigidGroup) -> Group:
    """Return friction and restitution of a rigid body."""

    def knob(name: str, label: str, help: str, most: float) -> Knob:
        def put(value: float) -> None:
            setattr(body, name, value)

        return Knob(
            f"{body.name}/{name}",
            label,
            lambda: float(getattr(body, name) or 0.0),
            put,
            help=help,
            limits=Limits(0.0, most),
            scale=Scale("linear", 0.0, 1.0),
        )

    return Group(
        "Body",
        [
            knob("friction", "Friction", "Coulomb's coefficient of its surface", 100.0),
            knob("restitution", "Restitution", "Part of the speed that a hit gives back", 1.0),
        ],
    )


def _law_knobs(body: SoftBody, part: int | None) -> list[Knob]:
    def law() -> Law:
        return body.material if part is None else body.parts[part][1]

    def change(changes: dict[str, Any]) -> None:
        body.set_material(part=part, **changes)

    key = f"{body.name}/material" if part is None else f"{body.name}/part/{part}"
    knobs = constants(key, law, change, models_of(law_models).get(body.material.name))
    # only the corotated law of higher order asks where its rotations come from
    return [knob for knob in knobs if body.order > 1 or not knob.key.endswith("/rotation")]


def _stepping(body: SoftBody) -> Group:
    """Return the integrator and its constants."""
    models = models_of(integrator_models)
    options = {name: title_of(models, kind) for name, kind in INTEGRATORS.items()}
    choice = Knob(
        f"{body.name}/integrator",
        "Integrator",
        lambda: body.integrator.name,
        body.set_integrator,
        "choice",
        help="How the body is advanced in time",
        options=options,
        reshapes=True,
    )

    def change(changes: dict[str, Any]) -> None:
        body.set_integrator(replace(body.integrator, **changes))

    key = f"{body.name}/integrator/{body.integrator.name}"
    return Group(
        "",
        [choice, *constants(key, lambda: body.integrator, change, models.get(body.integrator.name))],
    )


def _others(body: SoftBody) -> Iterator[Group]:
    """Return damping, and plasticity where there is one."""
    yield _damping(body)
    if body.plasticity is None:
        return

    def change(changes: dict[str, Any]) -> None:
        assert body.plasticity is not None
        body.set_plasticity(replace(body.plasticity, **changes))

    key = f"{body.name}/plasticity"
    yield Group("Plasticity", constants(key, lambda: body.plasticity, change, matter_models.Plasticity))


def _damping(body: SoftBody) -> Group:
    """Return the two parts of Rayleigh damping."""
    model = matter_models.Damping
    labels = ("Damping, overall", "Damping, internal")

    def knob(which: int, name: str, reach: float) -> Knob:
        info = model.model_fields[name]

        def put(value: float) -> None:
            pair = list(body.damping)
            pair[which] = value
            body.set_material(damping=pair)

        start = body.damping[which]
        return Knob(
            f"{body.name}/damping/{name}",
            labels[which],
            lambda: float(body.damping[which]),
            put,
            unit=("1/s", "s")[which],
            help=info.description or "",
            limits=Limits(0.0, 1e6),
            scale=Scale("power", 0.0, max(reach, 2.0 * start)),
        )

    return Group("", [knob(0, "mass", 20.0), knob(1, "stiffness", 0.1)])

"""Two-way coupling of particle fluids with bodies: rigid and soft bodies are boundaries, and the fluid moves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Box, Capsule, Cylinder, MeshShape, Shape, Sphere
from continua.geometry.primitive_kernels import BOX, CAPSULE, CYLINDER, SPHERE
from continua.geometry.shape import Pose
from continua.rigid import RigidInstances
from continua.rigid.geometry import RigidGeometry
from continua.solids import SoftBody
from continua.sph import FluidSystem
from continua.sph.boundary import DeformableBoundary, RigidBoundary, make_boundary_model

__all__ = [
    "RigidImpulseAccumulator",
    "SoftImpulseAccumulator",
    "SphBodyCoupling",
    "added_mass_volume",
    "local_shape",
]

_DRAG_FACTOR = (
    4.0  # of the drag on a body alone in the fluid at rest next to it; that in a narrow tube is larger
)
_KEPT = ("previous_added_mass", "previous_drag", "previous_velocity", "withheld")  # from step to step
_WETTED_AREA_FACTOR = (
    0.5  # `wetted_area` per wet area and fluid density; 0.57 to 0.76 depending on the boundary method
)


def local_shape(solid: RigidGeometry) -> Shape:
    """Return a rigid body's shape in its local axes."""
    a, b, c = (float(size) for size in solid.size)
    if solid.kind == SPHERE:
        return Sphere((0.0, 0.0, 0.0), a)
    if solid.kind == BOX:
        return Box((0.0, 0.0, 0.0), (2.0 * a, 2.0 * b, 2.0 * c))
    if solid.kind == CAPSULE:
        return Capsule((0.0, 0.0, -b), (0.0, 0.0, b), a)
    if solid.kind == CYLINDER:
        return Cylinder((0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), radius=a, height=2.0 * b)
    return MeshShape(solid.surface, field=solid.field)


def added_mass_volume(solid: RigidGeometry) -> float:
    """Return the volume of a body's added mass [m3], an upper bound.

    This is the ellipsoid of its two largest half axes a > b, 4/3 pi a b b, with half axes from the moments of inertia:
    twice the added mass of a ball, 1.6 times that of a disc, and exact for a long rod.
    """
    squares = np.sort(2.5 * (solid.inertia.sum() - 2.0 * solid.inertia))
    return float(4.0 / 3.0 * np.pi * np.sqrt(squares[2]) * squares[1])


@dataclass(eq=False)
class RigidImpulseAccumulator:
    """Accumulates the fluid's impulses on one copy of a rigid group until the group is stepped.

    The impulses are those on a body that keeps its velocity. A body lighter than its added mass would overshoot more
    with every step, so it is stepped with its added mass: see `SoftImpulseAccumulator`.

    Attributes:
        body: The group.
        copy: Index of the copy.
        added_mass_per_wetted_area: Added mass for each unit of `wetted_area` [m]; see `added_mass_volume`.
        impulse: Impulse and moment [N s, N m s], shape [6].
        added_mass: Added mass [kg].
        drag: Viscous impulse for each m/s of the body's velocity [kg].
        previous_added_mass: Added mass of the last step [kg].
        previous_drag: Drag of the last step [kg].
        previous_velocity: Velocity [m/s] and angular momentum per mass [m2/s] before the last step, shape [6].
        withheld: Impulse and moment that drag kept from the body and that it has not got back yet, shape [6].
    """

    body: RigidInstances
    copy: int
    added_mass_per_wetted_area: float
    impulse: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    added_mass: float = 0.0
    drag: float = 0.0
    previous_added_mass: float = 0.0
    previous_drag: float = 0.0
    previous_velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    withheld: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    @property
    def owner(self) -> object:
        """The body."""
        return self.body

    def pose(self) -> Pose:
        """Return the pose of its local axes."""
        return self.body.pose(self.copy)

    def velocity(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return centre of mass, velocity and angular velocity."""
        v = self.body.twist(self.copy)
        return self.body.pose(self.copy).translation, v[:3], v[3:]

    def add_impulse(
        self,
        impulse: NDArray[np.float64],
        moment: NDArray[np.float64],
        wetted_area: float = 0.0,
        drag: float = 0.0,
    ) -> None:
        """Add an impulse, its moment about the centre of mass, wetted area, and viscous drag [kg]."""
        self.impulse[:3] += impulse
        self.impulse[3:] += moment
        self.added_mass += self.added_mass_per_wetted_area * wetted_area
        self.drag += _DRAG_FACTOR * drag

    def specific_momentum(self) -> NDArray[np.float64]:
        """Return velocity [m/s] and angular momentum per mass [m2/s], shape [6]."""
        rotation, v = self.pose().rotation, self.body.twist(self.copy)
        return np.concatenate([v[:3], rotation @ (self.body.geometry.inertia * (v[3:] @ rotation))])

    def take_impulse(self) -> tuple[NDArray[np.float64], float]:
        """Return impulse and moment for the next step [6], and added mass and drag in it [kg]; clear them."""
        now = self.specific_momentum()
        change = now - self.previous_velocity
        withheld = self.withheld + self.previous_drag * change
        returned = withheld * (self.body.mass_each / (self.body.mass_each + self.previous_drag)) ** 2
        impulse = self.impulse + self.previous_added_mass * change + returned
        inertia = self.added_mass + self.drag
        self.previous_added_mass, self.previous_drag, self.previous_velocity = self.added_mass, self.drag, now
        self.withheld = withheld - returned
        self.clear()
        return impulse, inertia

    def clear(self) -> None:
        """Discard the accumulated impulse, added mass and drag."""
        self.impulse, self.added_mass, self.drag = np.zeros(6), 0.0, 0.0

    def forget(self) -> None:
        """Discard all that is kept from step to step."""
        self.clear()
        self.previous_added_mass = self.previous_drag = 0.0
        self.previous_velocity, self.withheld = np.zeros(6), np.zeros(6)


@dataclass(eq=False)
class SoftImpulseAccumulator:
    """Accumulates the fluid's impulses on the nodes of a soft body until the body is stepped.

    The impulses are those on a surface that keeps its velocity. As the surface accelerates, it has to accelerate the
    fluid next to it, its added mass. A body lighter than its added mass overshoots more with every step if this is
    neglected. The body is therefore stepped with an estimate of the added mass, and the momentum that went into it is
    returned to the body in the next step, in which the fluid takes as much away. The resulting acceleration is correct
    whatever the estimate, and stable from half of the true added mass on.

    Viscous drag is implicit in the velocity of the body: it is inertia in the body's step as well. Its momentum is
    returned over many steps, the more the larger the drag is than the body's mass; at once, a drag that stops the body
    within a step would let it oscillate.

    Attributes:
        body: The body.
        impulse: Impulses on the nodes [N s], shape [n, 3].
        added_mass: Added mass of the nodes [kg], shape [n].
        drag: Viscous impulse for each m/s of the nodes' velocity [kg], shape [n].
        previous_added_mass: Added mass of the last step [kg], shape [n].
        previous_drag: Drag of the last step [kg], shape [n].
        previous_velocity: Velocities before the last step [m/s], shape [n, 3].
        withheld: Impulses that drag kept from the nodes and that they have not got back yet [N s], shape [n, 3].
    """

    body: SoftBody
    impulse: NDArray[np.float64] = field(init=False)
    added_mass: NDArray[np.float64] = field(init=False)
    drag: NDArray[np.float64] = field(init=False)
    previous_added_mass: NDArray[np.float64] = field(init=False)
    previous_drag: NDArray[np.float64] = field(init=False)
    previous_velocity: NDArray[np.float64] = field(init=False)
    withheld: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        n = self.body.node_count
        self.impulse, self.added_mass, self.drag = np.zeros((n, 3)), np.zeros(n), np.zeros(n)
        self.previous_added_mass, self.previous_drag = np.zeros(n), np.zeros(n)
        self.previous_velocity, self.withheld = np.zeros((n, 3)), np.zeros((n, 3))

    def continue_from(self, old: SoftImpulseAccumulator, change: Any) -> None:
        """Take over what is kept from before a change of topology, if its nodes come from old ones."""
        fits = len(old.impulse) == change.before.node_count and len(self.impulse) == change.mesh.node_count
        if change.is_replacement or not fits:  # elements of higher order have more nodes than the mesh
            return
        self.previous_velocity = change.interpolate(old.previous_velocity)
        self.previous_added_mass = _with_sum_of(
            old.previous_added_mass, change.interpolate(old.previous_added_mass)
        )
        self.previous_drag = _with_sum_of(old.previous_drag, change.interpolate(old.previous_drag))
        self.withheld[:] = old.withheld.sum(axis=0) / len(self.withheld)

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    @property
    def owner(self) -> object:
        """The body."""
        return self.body

    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [m] and velocities [m/s] of all nodes, shape [n, 3]."""
        return np.array(self.body.positions), np.array(self.body.velocities)

    def add_impulse(
        self,
        impulses: NDArray[np.float64],
        added_mass: NDArray[np.float64] | None = None,
        drag: NDArray[np.float64] | None = None,
    ) -> None:
        """Add impulses on the nodes [N s], shape [n, 3], their added mass and viscous drag [kg], shape [n]."""
        self.impulse += impulses
        if added_mass is not None:
            self.added_mass += added_mass
        if drag is not None:
            self.drag += _DRAG_FACTOR * drag

    def apply(self, dt: float) -> None:
        """Apply the accumulated impulses as forces over the body's next step of `dt` [s]."""
        velocities = self.body.velocities
        change = velocities - self.previous_velocity
        withheld = self.withheld + self.previous_drag[:, None] * change
        mass = self.body.mass_total / self.body.node_count
        returned = withheld * ((mass / (mass + self.previous_drag)) ** 2)[:, None]
        impulse = self.impulse + self.previous_added_mass[:, None] * change + returned
        inertia = self.added_mass + self.drag
        if impulse.any() or inertia.any():
            self.body.add_external_force(impulse / dt, inertia)
        self.previous_added_mass, self.previous_drag = self.added_mass.copy(), self.drag.copy()
        self.previous_velocity, self.withheld = velocities, withheld - returned
        self.clear()

    def clear(self) -> None:
        """Discard the accumulated impulses, added mass and drag."""
        self.impulse[:], self.added_mass[:], self.drag[:] = 0.0, 0.0, 0.0

    def forget(self) -> None:
        """Discard all that is kept from step to step."""
        self.clear()
        self.previous_added_mass[:], self.previous_drag[:] = 0.0, 0.0
        self.previous_velocity, self.withheld = np.zeros_like(self.withheld), np.zeros_like(self.withheld)


def _with_sum_of(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `new` scaled to the sum of `old`."""
    total = float(new.sum())
    return new * (float(old.sum()) / total if total > 0.0 else 0.0)


class SphBodyCoupling:
    """Makes the bodies of a world boundaries of its particle fluids, and applies the fluids' impulses to them.

    Args:
        system: The fluids.
        rigid: The rigid bodies.
        soft: The soft bodies.
    """

    def __init__(
        self, system: FluidSystem, rigid: tuple[RigidInstances, ...], soft: tuple[SoftBody, ...]
    ) -> None:
        method = system.fluids[0].boundary
        self._system = system
        self._rigid: list[tuple[RigidInstances, list[RigidImpulseAccumulator]]] = []
        self._soft = [SoftImpulseAccumulator(body) for body in soft]
        for body in rigid:
            shape = local_shape(body.geometry)
            model = system.kept_model(body) or make_boundary_model(shape, system.radius, method)
            per_area = added_mass_volume(body.geometry) / (_WETTED_AREA_FACTOR * body.geometry.surface.area)
            copies = [RigidImpulseAccumulator(body, index, per_area) for index in range(body.count)]
            for copy in copies:
                system.add_boundary(RigidBoundary(shape, model, copy))
            self._rigid.append((body, copies))
        for one in self._soft:
            triangles, rest = np.array(one.body.triangles), np.array(one.body.rest_positions)
            system.add_boundary(DeformableBoundary(one, triangles, system.radius, system.diameter, rest))

    def remap(self, body: SoftBody, change: Any) -> None:
        """Rebuild the boundary of a soft body after a change of topology.

        Velocities and added mass of the last step are interpolated, the latter with the same sum; they start anew for
        elements of higher order. The samples come from the rest shape: a run that is resumed gets the same ones.
        """
        system = self._system
        for index, old in enumerate(self._soft):
            if old.body is body:
                new = self._soft[index] = SoftImpulseAccumulator(body)
                new.continue_from(old, change)
                at = next(k for k, one in enumerate(system.boundaries) if getattr(one, "body", None) is old)
                triangles, rest = np.array(body.triangles), np.array(body.rest_positions)
                boundary = DeformableBoundary(new, triangles, system.radius, system.diameter, rest)
                boundary.slip = system.boundaries[at].slip
                system.boundaries[at] = boundary

    def apply(self, dt: float) -> None:
        """Apply the accumulated impulses as forces over the bodies' next step of `dt` [s]."""
        for body, copies in self._rigid:
            impulses, added_mass = (
                np.array(values) for values in zip(*(copy.take_impulse() for copy in copies))
            )
            if body.motion is None and (impulses.any() or added_mass.any()):
                body.add_external_force(impulses[:, :3] / dt, impulses[:, 3:] / dt, added_mass)
        for soft in self._soft:
            soft.apply(dt)

    def clear(self) -> None:
        """Discard all that is accumulated or kept from step to step."""
        for accumulator, _ in self._kept():
            accumulator.forget()

    def _kept(self) -> list[tuple[RigidImpulseAccumulator | SoftImpulseAccumulator, tuple[str, int | None]]]:
        """Return the accumulators, each with the name of its body and its row in the state."""
        rigid = [
            (copy, (body.name, index)) for body, copies in self._rigid for index, copy in enumerate(copies)
        ]
        return [*rigid, *((soft, (soft.name, None)) for soft in self._soft)]

    def state(self) -> dict[str, NDArray]:
        """Return what is kept from step to step."""
        state: dict[str, NDArray] = {}
        for body, copies in self._rigid:
            for key in _KEPT:
                state[f"{body.name}/{key}"] = np.array([getattr(copy, key) for copy in copies])
        for soft in self._soft:
            for key in _KEPT:
                state[f"{soft.name}/{key}"] = getattr(soft, key).copy()
        return state

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state; missing entries become zero."""
        self.clear()
        for accumulator, (name, row) in self._kept():
            for key in _KEPT:
                if f"{name}/{key}" in state:
                    value = state[f"{name}/{key}"]
                    if row is not None:
                        value = value[row]
                    setattr(accumulator, key, np.array(value) if np.ndim(value) else float(value))

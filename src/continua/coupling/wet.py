"""Fluids and bodies: rigid bodies and the skins of soft bodies are walls of a fluid, and are moved by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Box, Capsule, Cylinder, MeshShape, Shape, Sphere
from continua.geometry.primitive_kernels import BOX, CAPSULE, CYLINDER, SPHERE
from continua.geometry.shape import Pose
from continua.rigid import RigidInstances
from continua.rigid.geometry import RigidGeometry
from continua.solids import SoftBody
from continua.sph import FluidSystem
from continua.sph.skin import SkinWall
from continua.sph.walls import ShapeWall, wall_model

__all__ = ["Wetting", "own_shape"]


def own_shape(solid: RigidGeometry) -> Shape:
    """Return a rigid body's shape in its own axes."""
    a, b, c = (float(size) for size in solid.size)
    if solid.kind == SPHERE:
        return Sphere((0.0, 0.0, 0.0), a)
    if solid.kind == BOX:
        return Box((0.0, 0.0, 0.0), (2.0 * a, 2.0 * b, 2.0 * c))
    if solid.kind == CAPSULE:
        return Capsule((0.0, 0.0, -b), (0.0, 0.0, b), a)
    if solid.kind == CYLINDER:
        return Cylinder((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), a, 2.0 * b)
    return MeshShape(solid.surface, field=solid.field)


_WET = (
    0.5  # what a unit of wet area adds to `wet` for a fluid of density 1; 0.57 to 0.76 by the model of walls
)


@dataclass(eq=False)
class RigidCarrier:
    """One copy of a rigid group in a fluid. It gathers impulses until the group makes its step.

    What it gathers was found for a body that keeps its velocity. A body that is lighter than the fluid it moves along
    would overshoot, and more so with every step, so it makes its step with a burden: see `SoftCarrier`.

    Attributes:
        body: The group.
        copy: Number of the copy.
        reach: Fluid that the copy moves along for each unit of `wet` [m]; see `fluid_moved`.
        gathered: Impulse and moment [N s, N m s], shape [6].
        burden: Mass of the fluid that is moved along [kg].
        owed: Burden of the last step [kg].
        before: Velocity [m/s] and moment of momentum for a mass of 1 [m2/s] before the last step, shape [6].
    """

    body: RigidInstances
    copy: int
    reach: float
    gathered: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    burden: float = 0.0
    owed: float = 0.0
    before: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    def pose(self) -> Pose:
        """Return where its own axes are."""
        return self.body.pose(self.copy)

    def velocity(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return centre, velocity and angular velocity."""
        v = self.body.twist(self.copy)
        return self.body.pose(self.copy).translation, v[:3], v[3:]

    def receive(self, impulse: NDArray[np.float64], moment: NDArray[np.float64], wet: float = 0.0) -> None:
        """Gather an impulse and a moment about the centre, and how wet the body is."""
        self.gathered[:3] += impulse
        self.gathered[3:] += moment
        self.burden += self.reach * wet

    def momenta(self) -> NDArray[np.float64]:
        """Return velocity [m/s] and moment of momentum for a mass of 1 [m2/s], shape [6]."""
        turn, v = self.pose().rotation, self.body.twist(self.copy)
        return np.concatenate([v[:3], turn @ (self.body.geometry.inertia * (v[3:] @ turn))])

    def given(self) -> tuple[NDArray[np.float64], float]:
        """Return the impulse and moment for the next step [6] and the burden in it [kg]; begin to gather anew."""
        now = self.momenta()
        impulse, burden = self.gathered + self.owed * (now - self.before), self.burden
        self.owed, self.before = burden, now
        self.forget()
        return impulse, burden

    def forget(self) -> None:
        """Drop what was gathered."""
        self.gathered, self.burden = np.zeros(6), 0.0


def fluid_moved(solid: RigidGeometry) -> float:
    """Return how much fluid a body moves along [m3], at most.

    This is the fluid in the ellipsoid of its two largest half axes a > b: 4/3 pi a b b, with half axes from the moments
    of inertia. It is twice what a ball moves along and 1.6 times that of a disc, and exact for a long rod.
    """
    squares = np.sort(2.5 * (solid.inertia.sum() - 2.0 * solid.inertia))
    return float(4.0 / 3.0 * np.pi * np.sqrt(squares[2]) * squares[1])


@dataclass(eq=False)
class SoftCarrier:
    """A soft body in a fluid. It gathers impulses on its nodes until the body makes its step.

    The fluid pushes a skin that moves as it did. What the skin does under the push changes what the fluid would have
    pushed: it has to be moved along. A skin that is lighter than the fluid it moves overshoots if that is left out, and
    more so with every step. The body therefore makes its step with a `burden`, about the mass of that fluid, and the
    momentum that went into the burden is given to it in the step after, in which the fluid takes as much away. The
    acceleration that comes of it is the right one whatever the burden is, and stable from half of the fluid's mass on.
    """

    body: SoftBody
    gathered: NDArray[np.float64] = field(init=False)
    burden: NDArray[np.float64] = field(init=False)
    owed: NDArray[np.float64] = field(init=False)
    before: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        n = self.body.node_count
        self.gathered, self.burden = np.zeros((n, 3)), np.zeros(n)
        self.owed, self.before = np.zeros(n), np.zeros((n, 3))

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [m] and velocities [m/s] of all nodes, shape [n, 3]."""
        return self.body.positions, self.body.velocities

    def receive(self, impulses: NDArray[np.float64], burden: NDArray[np.float64] | None = None) -> None:
        """Gather impulses on the nodes [N s], shape [n, 3]; `burden` [kg] is the fluid they have to move, [n]."""
        self.gathered += impulses
        if burden is not None:
            self.burden += burden

    def give(self, dt: float) -> None:
        """Give the body what was gathered, as forces over its next step of `dt` [s]."""
        velocities = self.body.velocities
        impulse = self.gathered + self.owed[:, None] * (velocities - self.before)
        if impulse.any() or self.burden.any():
            self.body.add_force(impulse / dt, self.burden)
        self.owed, self.before = self.burden.copy(), velocities
        self.gathered[:], self.burden[:] = 0.0, 0.0

    def forget(self) -> None:
        """Drop what was gathered."""
        self.gathered[:], self.burden[:] = 0.0, 0.0


class Wetting:
    """Lets the bodies of a world be walls of its fluids, and gives them what the fluids push.

    Args:
        fluids: The fluids.
        rigid: The rigid bodies.
        soft: The soft bodies.
    """

    def __init__(
        self, fluids: FluidSystem, rigid: tuple[RigidInstances, ...], soft: tuple[SoftBody, ...]
    ) -> None:
        boundary = fluids.fluids[0].boundary
        self._rigid: list[tuple[RigidInstances, list[RigidCarrier]]] = []
        self._soft = [SoftCarrier(body) for body in soft]
        for body in rigid:
            shape = own_shape(body.geometry)
            model = wall_model(shape, fluids.radius, boundary)
            reach = fluid_moved(body.geometry) / (_WET * body.geometry.surface.area)
            carriers = [RigidCarrier(body, copy, reach) for copy in range(body.count)]
            for carrier in carriers:
                fluids.meet(ShapeWall(shape, model, carrier))
            self._rigid.append((body, carriers))
        for skin in self._soft:
            fluids.meet(SkinWall(skin, skin.body.triangles, fluids.radius, fluids.diameter))

    def give(self, dt: float) -> None:
        """Give the bodies what was gathered, as forces over their next step of `dt` [s]."""
        for body, carriers in self._rigid:
            impulses, burdens = (np.array(values) for values in zip(*(one.given() for one in carriers)))
            if body.motion is None and (impulses.any() or burdens.any()):
                body.add_force(impulses[:, :3] / dt, impulses[:, 3:] / dt, burdens)
        for skin in self._soft:
            skin.give(dt)

    def forget(self) -> None:
        """Drop what was gathered, and what is owed."""
        for _, carriers in self._rigid:
            for carrier in carriers:
                carrier.forget()
                carrier.owed = 0.0
        for skin in self._soft:
            skin.forget()
            skin.owed[:] = 0.0

    def state(self) -> dict[str, NDArray]:
        """Return what goes from step to step."""
        state = {}
        for body, carriers in self._rigid:
            state[f"{body.name}/owed"] = np.array([one.owed for one in carriers])
            state[f"{body.name}/before"] = np.array([one.before for one in carriers])
        for skin in self._soft:
            state[f"{skin.name}/owed"], state[f"{skin.name}/before"] = skin.owed.copy(), skin.before.copy()
        return state

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Take over a state; what it lacks is nothing."""
        self.forget()
        for body, carriers in self._rigid:
            if f"{body.name}/owed" in state:
                for copy, one in enumerate(carriers):
                    one.owed = float(state[f"{body.name}/owed"][copy])
                    one.before = np.array(state[f"{body.name}/before"][copy])
        for skin in self._soft:
            if f"{skin.name}/owed" in state:
                skin.owed = np.array(state[f"{skin.name}/owed"])
                skin.before = np.array(state[f"{skin.name}/before"])

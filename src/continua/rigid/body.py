"""Rigid bodies: one, or many instances of one shape that are simulated, drawn and saved together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.environment import Environment
from continua.errors import InputError
from continua.frames import BodyFields, BodyFrame, ContactForces, Field, readonly_copy
from continua.geometry import Pose, Shape
from continua.geometry.surface_coefficients import check_coefficient
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.motion import Motion
from continua.numerics.rotations import matrices_from_quaternions, quaternion_from_matrix, rotation_matrix
from continua.pickling import KeepsReadOnlyArrays
from continua.rigid.geometry import geometry_of
from continua.rigid.pull import RigidPull
from continua.validation import (
    array,
    index,
    instance_of,
    number,
    numbers,
    state_arrays,
    vector3,
)
from continua.validation import color as check_color
from continua.validation import name as check_name

__all__ = ["RigidBody", "RigidInstances"]

_CORNERS = np.vstack([np.zeros(3), np.eye(3)])


class RigidInstances(KeepsReadOnlyArrays):
    """Instances of one shape that move independently: a pile of marbles, a wall of bricks.

    Args:
        shape: A `Sphere`, `Box`, `Capsule` or `Cylinder`, or a closed mesh. Mass, centre and inertia come from it.
        translations: Displacement of each instance from the shape's position [m], shape [k, 3].
        rotations: Rotation of each about its centre of mass: rotation vectors [rad], shape [k, 3].
        density: Density [kg/m3].
        mass: Mass of each instance [kg], instead of a density.
        friction: Coulomb's friction coefficient; None uses the world's.
        restitution: Coefficient of restitution; None uses the world's.
        velocity: Initial velocity [m/s], for all [3] or each [k, 3].
        angular_velocity: Initial angular velocity [rad/s], for all [3] or each [k, 3].
        motion: A prescribed rigid motion: the instances push others and nothing moves them.
        color: RGB in 0..1 for plain pictures.
        name: Name, unique in a world.
    """

    def __init__(
        self,
        shape: Shape | SurfaceMesh | VolumeMesh,
        translations: ArrayLike,
        *,
        rotations: ArrayLike | None = None,
        density: float | None = None,
        mass: float | None = None,
        friction: float | None = None,
        restitution: float | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        motion: Motion | None = None,
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        self.name = check_name(name, "the name of a rigid body")
        self.color = check_color(color, "the color of a rigid body")
        self.friction = check_coefficient(friction, "the friction of a rigid body")
        self.restitution = check_coefficient(restitution, "the restitution of a rigid body", 1.0)
        self.motion = None if motion is None else instance_of(motion, Motion, "a rigid body's motion")
        self.geometry = geometry_of(shape)
        self.mass_each = self._start_mass = _mass(density, mass, self.geometry.volume)
        shifts = _table(translations, "translations")
        count = len(shifts)
        self.rest_centers = self.geometry.center + shifts
        vectors = np.zeros((count, 3)) if rotations is None else _table(rotations, "rotations", count)
        self._rest_q = np.stack(
            [quaternion_from_matrix(rotation_matrix(vector) @ self.geometry.rotation) for vector in vectors]
        )
        self._start_v = np.concatenate(
            [_table(velocity, "velocity", count), _table(angular_velocity, "angular_velocity", count)], axis=1
        )
        self._x, self._q, self._v = self.rest_centers.copy(), self._rest_q.copy(), self._start_v.copy()
        self._load = np.zeros((count, 6))  # forces and torques
        self._step_loads: NDArray[np.float64] | None = None  # forces and torques of the next step only
        self._added_mass: NDArray[np.float64] | None = None  # added masses of the next step only
        self._pulls: list[RigidPull] = []
        self._contacts = ContactForces.none()
        self._environment = Environment()

    # --- properties -------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of instances."""
        return len(self.rest_centers)

    @property
    def node_count(self) -> int:
        """Number of nodes of all surfaces."""
        return self.count * self.geometry.surface.node_count

    @property
    def mass_total(self) -> float:
        """Mass of all instances [kg]."""
        return self.count * self.mass_each

    @property
    def inertia(self) -> NDArray[np.float64]:
        """Principal moments of inertia of one instance [kg m2], shape [3]; a read-only copy."""
        return readonly_copy(self.mass_each * self.geometry.inertia)

    @property
    def centers_of_mass(self) -> NDArray[np.float64]:
        """Centres of mass [m], shape [k, 3]; a read-only copy."""
        return readonly_copy(self._x)

    @property
    def rotations(self) -> NDArray[np.float64]:
        """Rotations from the start, shape [k, 3, 3]; a read-only copy."""
        rest = np.swapaxes(matrices_from_quaternions(self._rest_q), 1, 2)
        return readonly_copy(matrices_from_quaternions(self._q) @ rest)

    @property
    def center_velocities(self) -> NDArray[np.float64]:
        """Velocities of the centres of mass [m/s], shape [k, 3]; a read-only copy."""
        return readonly_copy(self._v[:, :3])

    @property
    def angular_velocities(self) -> NDArray[np.float64]:
        """Angular velocities [rad/s], shape [k, 3]; a read-only copy."""
        return readonly_copy(self._v[:, 3:])

    def pose(self, instance: int) -> Pose:
        """Return the pose of the principal axes of an instance; the translation is its centre of mass."""
        instance = self._instance(instance)
        rotation = matrices_from_quaternions(self._q[instance : instance + 1])[0]
        return Pose(rotation, self._x[instance].copy())

    def twist(self, instance: int) -> NDArray[np.float64]:
        """Return velocity [m/s] and angular velocity [rad/s] of an instance, shape [6]; a copy."""
        return self._v[self._instance(instance)].copy()

    def _instance(self, value: int) -> int:
        return index(value, f"the number of an instance of '{self.name}'", self.count)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions of the surfaces' nodes [m], shape [n, 3]; a read-only copy."""
        return readonly_copy(self._placed(self._x, self._q))

    @cached_property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same nodes at the start [m], shape [n, 3]."""
        return readonly_copy(self._placed(self.rest_centers, self._rest_q))

    @cached_property
    def triangles(self) -> NDArray[np.int32]:
        """The surfaces of all instances over the nodes, outward oriented, shape [m, 3]."""
        one = self.geometry.surface
        starts = one.node_count * np.arange(self.count, dtype=np.int32)
        return readonly_copy((one.triangles[None] + starts[:, None, None]).reshape(-1, 3).astype(np.int32))

    @cached_property
    def _uv(self) -> NDArray[np.float64] | None:
        """Texture coordinates of the corners of all triangles, shape [m, 3, 2], or None."""
        uv = self.geometry.surface.uv
        return None if uv is None else readonly_copy(np.tile(uv, (self.count, 1, 1)))

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities of the surfaces' nodes [m/s], shape [n, 3]; a read-only copy."""
        arms = self.positions.reshape(self.count, -1, 3) - self._x[:, None]
        return readonly_copy((self._v[:, None, :3] + np.cross(self._v[:, None, 3:], arms)).reshape(-1, 3))

    @property
    def notes(self) -> tuple[str, ...]:
        """Repairs and remarks from when the mesh was made, one sentence each."""
        return self.geometry.notes

    def summary(self) -> dict[str, int | str]:
        """Return the number of instances, for reports."""
        return {"kind": "rigid", "instances": self.count}

    def geometry_bytes(self) -> bytes:
        """Return the geometry as bytes; a run may only go on with the same."""
        return self.geometry.surface.points.tobytes() + self.rest_centers.tobytes() + self._rest_q.tobytes()

    # --- loads --------------------------------------------------------------------------------

    def set_velocity(self, velocity: ArrayLike = (0, 0, 0), angular_velocity: ArrayLike = (0, 0, 0)) -> None:
        """Set velocities [m/s] and angular velocities [rad/s] now and after `reset`, for all [3] or each [k, 3]."""
        v, w = (
            _table(velocity, "velocity", self.count),
            _table(angular_velocity, "angular_velocity", self.count),
        )
        self._start_v[:] = np.concatenate([v, w], axis=1)
        self._v[:] = self._start_v

    def push(self, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0)) -> None:
        """Apply forces [N] at the centres and torques [N m] from now on, for all [3] or each [k, 3]."""
        self._load[:] = self._wrenches(force, torque)

    def _wrenches(self, force: ArrayLike, torque: ArrayLike) -> NDArray[np.float64]:
        """Return forces and torques of each instance, shape [k, 6]."""
        return np.concatenate(
            [_table(force, "force", self.count), _table(torque, "torque", self.count)], axis=1
        )

    def add_external_force(
        self,
        force: ArrayLike = (0, 0, 0),
        torque: ArrayLike = (0, 0, 0),
        added_mass: NDArray[np.float64] | None = None,
    ) -> None:
        """Add forces [N] at the centres and torques [N m], for all [3] or each [k, 3], for the next step only.

        Other parts of a world, such as a fluid, act on a body in this way; see `World.add_pre_step_callback`. An
        `added_mass` [kg], shape [k], is inertia without weight in that step, distributed like the body's own mass.
        """
        loads = self._wrenches(force, torque)
        if added_mass is not None:
            mass = array(added_mass, "the added mass of a rigid body", (self.count,))
            self._added_mass = mass if self._added_mass is None else self._added_mass + mass
        self._step_loads = loads if self._step_loads is None else self._step_loads + loads

    def external_forces(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None] | None:
        """Return this step's external forces and torques, each [k, 3], and added masses [k] or None; None if none."""
        if self._step_loads is None:
            return None
        return self._step_loads[:, :3].copy(), self._step_loads[:, 3:].copy(), self._added_mass

    def clear_external_forces(self) -> None:
        """Clear what `add_external_force` added."""
        self._step_loads = self._added_mass = None

    def set_contact_forces(self, points: NDArray[np.float64], forces: NDArray[np.float64]) -> None:
        """Set the contact forces of the last step [N] and their points of application [m], shape [c, 3] each."""
        at = array(points, "the points of contact forces", (None, 3))
        self._contacts = ContactForces(
            readonly_copy(at), readonly_copy(array(forces, "contact forces", (len(at), 3)))
        )

    @property
    def _effective_masses(self) -> NDArray[np.float64]:
        """Mass of each instance with its added mass [kg], shape [k]."""
        own = np.full(self.count, self.mass_each)
        return own if self._added_mass is None else own + self._added_mass

    @property
    def _loads(self) -> NDArray[np.float64]:
        """All forces [N] and torques [N m] of the next step, shape [k, 6]."""
        return self._load if self._step_loads is None else self._load + self._step_loads

    def pull(
        self, point: ArrayLike, target: ArrayLike, stiffness: float | None = None, *, instance: int = 0
    ) -> RigidPull:
        """Pull a point of an instance to a target by a damped spring.

        Args:
            point: Current position of the point [m].
            target: Target position [m].
            stiffness: Stiffness of the spring [N/m]; None is chosen from the mass.
            instance: Number of the instance.
        """
        pose = self.pose(instance)
        local = (vector3(point, "the point of a pull") - pose.translation) @ pose.rotation
        pull = RigidPull(
            self, instance, local, target, self.pull_stiffness if stiffness is None else stiffness
        )
        self._pulls.append(pull)
        return pull

    @property
    def pull_stiffness(self) -> float:
        """Default stiffness of a pull [N/m]: with the mass, a period of a quarter of a second."""
        return self.mass_each * (2.0 * np.pi / 0.25) ** 2

    def pull_face(self, triangle: int, weights: ArrayLike, stiffness: float | None = None) -> RigidPull:
        """Pull at a point of a surface triangle; the target starts there."""
        nodes = self.triangles[index(triangle, "the number of a triangle", len(self.triangles))]
        point = vector3(weights, "a pull's weights") @ self.positions[nodes]
        return self.pull(point, point, stiffness, instance=int(nodes[0]) // self.geometry.surface.node_count)

    # --- the body in a world ------------------------------------------------------------------------------

    def prepare(self, environment: Environment) -> None:
        """Enter a world: gravity and time come from `environment` from now on."""
        self._environment = instance_of(environment, Environment, "the environment of a body")

    def pose_at(self, time: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of a prescribed motion at `time` [s]: centres [k, 3] and quaternions [k, 4]."""
        time = number(time, "the time of a pose")
        if self.motion is None:
            raise InputError(f"'{self.name}' has no prescribed motion")
        corners = self.motion.at(time, _CORNERS)
        rotation = (corners[1:] - corners[0]).T
        if not np.allclose(rotation.T @ rotation, np.eye(3), atol=1e-6):
            raise InputError(
                f"the motion of '{self.name}' must be rigid; at t = {time:g} s it deforms the body"
            )
        rest = matrices_from_quaternions(self._rest_q)
        quaternions = np.stack([quaternion_from_matrix(rotation @ one) for one in rest])
        return self.rest_centers @ rotation.T + corners[0], quaternions

    def energy(self) -> dict[str, float]:
        """Return kinetic and gravitational energy [J]; the latter is zero at the start."""
        if self.motion is not None:
            return {"kinetic": 0.0, "elastic": 0.0, "gravity": 0.0}
        own = np.einsum("kji,kj->ki", matrices_from_quaternions(self._q), self._v[:, 3:])
        kinetic = 0.5 * self.mass_each * float((self._v[:, :3] ** 2).sum()) + 0.5 * float(
            (own**2 @ self.inertia).sum()
        )
        fall = float(((self._x - self.rest_centers) @ self._environment.gravity).sum())
        return {"kinetic": kinetic, "elastic": 0.0, "gravity": -self.mass_each * fall}

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot."""
        positions = self.positions
        computed = {
            "displacement": Field(readonly_copy(positions - self.rest_positions), "m"),
            "velocity": Field(self.velocities, "m/s"),
            "contact_force": Field(readonly_copy(self._contacts.at_nearest(positions)), "N"),
        }
        return BodyFrame(
            name=self.name,
            kind="rigid",
            positions=positions,
            rest_positions=self.rest_positions,
            cells=MappingProxyType({}),
            triangles=self.triangles,
            fields=BodyFields(computed),
            color=self.color,
            energy=MappingProxyType(self.energy()),
            contacts=self._contacts,
            uv=self._uv,
            texture=self.geometry.surface.texture,
        )

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs, besides the world's contacts."""
        state = {"centers": self._x.copy(), "quaternions": self._q.copy(), "velocities": self._v.copy()}
        if self.mass_each != self._start_mass:
            state["mass"] = np.array(self.mass_each)
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`."""
        targets = {"centers": self._x, "quaternions": self._q, "velocities": self._v}
        given = state_arrays(
            state, {key: target.shape for key, target in targets.items()}, f"body '{self.name}'"
        )
        mass = number(state.get("mass", self._start_mass), f"the mass of body '{self.name}'", above=0.0)
        for key, target in targets.items():
            target[:] = given[key]
        self.mass_each = mass
        self._contacts = ContactForces.none()

    def reset(self) -> None:
        """Return to the start."""
        self._contacts = ContactForces.none()
        self.mass_each = self._start_mass
        self._x[:], self._q[:], self._v[:] = self.rest_centers, self._rest_q, self._start_v

    def __repr__(self) -> str:
        return f"RigidInstances({self.name!r}, {self.count} instances of {self.mass_each:g} kg)"

    # --- internals -------------------------------------------------------------------------------------------

    def _placed(self, x: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        points = self.geometry.surface.points
        return (np.einsum("kij,pj->kpi", matrices_from_quaternions(q), points) + x[:, None]).reshape(-1, 3)


class RigidBody(RigidInstances):
    """One rigid body.

    Args:
        shape: A `Sphere`, `Box`, `Capsule` or `Cylinder`, or a closed mesh, at its initial position.
        **options: `density` or `mass`, `friction`, `restitution`, `velocity`, `angular_velocity`, `motion`, `color`
            and `name`, as for `RigidInstances`.
    """

    def __init__(self, shape: Shape | SurfaceMesh | VolumeMesh, **options: Any) -> None:
        super().__init__(shape, np.zeros((1, 3)), **options)

    @property
    def mass(self) -> float:
        """Mass [kg]; set it at any time."""
        return self.mass_each

    @mass.setter
    def mass(self, value: float) -> None:
        self.mass_each = _mass(None, value, self.geometry.volume)

    @property
    def center_of_mass(self) -> NDArray[np.float64]:
        """Centre of mass [m], shape [3]; a read-only copy."""
        return readonly_copy(self._x[0])

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Rotation from the start, shape [3, 3]; a read-only copy."""
        return self.rotations[0]

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Velocity of the centre of mass [m/s], shape [3], a read-only copy; set it at any time."""
        return readonly_copy(self._v[0, :3])

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._v[0, :3] = vector3(value, "velocity")

    @property
    def angular_velocity(self) -> NDArray[np.float64]:
        """Angular velocity [rad/s], shape [3], a read-only copy; set it at any time."""
        return readonly_copy(self._v[0, 3:])

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._v[0, 3:] = vector3(value, "angular_velocity")

    def summary(self) -> dict[str, int | str]:
        """Return its kind, for reports."""
        return {"kind": "rigid"}

    def __repr__(self) -> str:
        return f"RigidBody({self.name!r}, {self.mass_each:g} kg)"


def _mass(density: float | None, mass: float | None, volume: float) -> float:
    if (density is None) == (mass is None):
        raise InputError("a rigid body needs either a density or a mass")
    name, value = ("density", density) if mass is None else ("mass", mass)
    try:
        given = number(value, f"a rigid body's {name}", above=0.0)
    except InputError as error:
        raise InputError(f"{error.message}; give a body that nothing moves a motion instead") from None
    return given * volume if mass is None else given


def _table(values: ArrayLike, what: str, count: int | None = None) -> NDArray[np.float64]:
    """Return one row of three finite numbers per instance."""
    given = numbers(values)
    if count is not None and given is not None and given.shape == (3,):
        values = np.tile(given, (count, 1))
    return array(values, f"{what} of a rigid body", (count, 3), empty=False)

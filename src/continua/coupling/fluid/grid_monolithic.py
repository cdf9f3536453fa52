"""Rigid bodies in grid liquids: their velocities are solved monolithically with the pressure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.coupling.fluid.rigid_obstacle import RigidObstacle, RigidTrajectory
from continua.environment import Environment
from continua.grid_fluids import Liquid
from continua.grid_fluids.pressure.rigid_coupling import FloatingBody
from continua.numerics.rotations import matrices_from_quaternions

__all__ = ["LiquidRigidCoupling"]

_MAX_CONTACT_WEIGHTS = (
    2.0  # limit of the contact velocity guess, in weights of the body and of the displaced liquid
)


class LiquidRigidCoupling:
    """Monolithic coupling of rigid bodies with the pressure of a liquid.

    The liquid sees a body half a sub-step ahead: in its own step the body moves with the mean of its old and new
    velocity, so that forces at the middle of the step neither excite nor damp oscillations.

    Contacts and joints of a body are known only after its own step. They are assumed to act as in the previous step, so
    that a body resting on the ground is at rest for the liquid.

    Args:
        fluid: The liquid.
        obstacles: The shapes of the bodies among its obstacles.
        environment: Gravity and time.
    """

    def __init__(self, fluid: Liquid, obstacles: Sequence[RigidObstacle], environment: Environment) -> None:
        self.fluid, self._environment = fluid, environment
        self._obstacles = [obstacle for obstacle in obstacles if obstacle.group.motion is None]
        n = len(self._obstacles)
        self._contact_velocity_guess = np.zeros((n, 6))  # velocity change by contacts in the last step
        self._predicted_velocity = np.full(
            (n, 6), np.nan
        )  # velocity after the last step, had contacts acted the same again
        self._impulses = np.zeros((n, 6))
        self._bodies: list[FloatingBody] = []
        self._dt = self._substep = 0.0

    def begin_step(self, dt: float) -> None:
        """Begin a step of `dt` [s] at the current poses of the bodies."""
        self._dt, self._substep = dt, 0.0
        self._impulses[:] = 0.0
        gravity = float(np.linalg.norm(self._environment.gravity))
        for index, obstacle in enumerate(self._obstacles):
            group, number = obstacle.group, obstacle.index
            state = group.state()
            turn = matrices_from_quaternions(state["quaternions"][number : number + 1])[0]
            velocity = state["velocities"][number].copy()
            obstacle.set_trajectory(
                RigidTrajectory(self._environment.time, state["centers"][number].copy(), turn, velocity)
            )
            if np.isnan(self._predicted_velocity[index]).any():
                continue
            guess = self._contact_velocity_guess[index] + velocity - self._predicted_velocity[index]
            buoyancy_factor = 1.0 + self.fluid.flow.density * group.geometry.volume / group.mass_each
            radius = float(np.sqrt(group.geometry.inertia.mean()))
            magnitude = max(float(np.linalg.norm(guess[:3])), radius * float(np.linalg.norm(guess[3:])))
            limit = _MAX_CONTACT_WEIGHTS * gravity * buoyancy_factor * dt
            self._contact_velocity_guess[index] = guess * (limit / magnitude if magnitude > limit else 1.0)

    def begin_substep(self, dt: float) -> Sequence[FloatingBody]:
        """Return the bodies for a sub-step of `dt` [s]."""
        self._bodies = []
        flat = self.fluid.grid.dim == 2
        for obstacle in self._obstacles:
            group, trajectory = obstacle.group, obstacle.trajectory
            assert trajectory is not None
            trajectory.advance(self._substep)
            if self._substep == 0.0:
                trajectory.advance_pose(0.5 * dt)
            inverse = np.zeros((6, 6))
            inverse[:3, :3] = np.eye(3) / group.mass_each
            inverse[3:, 3:] = (
                trajectory.turn / (group.mass_each * group.geometry.inertia)
            ) @ trajectory.turn.T
            depth = float(np.ptp(group.geometry.surface.points[:, 2])) if flat else 1.0
            self._bodies.append(FloatingBody(obstacle, trajectory.center.copy(), inverse, depth))
        self._substep = dt
        return self._bodies

    def predict(self) -> None:
        """Predict velocities without the pressure, but with the hydrostatic correction."""
        for index, (obstacle, body) in enumerate(zip(self._obstacles, self._bodies, strict=True)):
            assert obstacle.trajectory is not None
            free = (
                obstacle.trajectory.velocity + self._substep / self._dt * self._contact_velocity_guess[index]
            )
            free[:3] += self._substep * self._environment.gravity
            obstacle.trajectory.velocity = free + body.inverse_mass @ body.hydrostatic_impulse
            self._impulses[index] += body.hydrostatic_impulse

    def correct(self) -> None:
        """Correct velocities by the impulses that the bodies received."""
        for index, (obstacle, body) in enumerate(zip(self._obstacles, self._bodies, strict=True)):
            assert obstacle.trajectory is not None
            obstacle.trajectory.velocity = obstacle.trajectory.velocity + body.inverse_mass @ body.impulse
            self._impulses[index] += body.impulse

    def accumulate(self, duration: float, dt: float) -> None:
        """Do nothing: `correct` has accumulated the impulses of the sub-step."""

    def apply(self, dt: float) -> None:
        """Apply the impulses of the sub-steps to the bodies, as forces over their next step of `dt` [s]."""
        for index, obstacle in enumerate(self._obstacles):
            assert obstacle.trajectory is not None
            self._predicted_velocity[index] = obstacle.trajectory.velocity
            obstacle.set_trajectory(None)
            if self._impulses[index].any():
                row = np.arange(obstacle.group.count)[:, None] == obstacle.index
                forces = np.where(row, self._impulses[index] / dt, 0.0)
                obstacle.group.add_external_force(forces[:, :3], forces[:, 3:])

    def clear(self) -> None:
        """Clear the state that is kept between steps."""
        self._contact_velocity_guess[:], self._predicted_velocity[:] = 0.0, np.nan
        for obstacle in self._obstacles:
            obstacle.set_trajectory(None)

    def state(self) -> dict[str, NDArray]:
        """Return the state that is kept between steps."""
        return (
            {
                "contact_velocity_guess": self._contact_velocity_guess.copy(),
                "predicted_velocity": self._predicted_velocity.copy(),
            }
            if self._obstacles
            else {}
        )

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state; without entries it is cleared."""
        self.clear()
        if "contact_velocity_guess" in state and "predicted_velocity" in state:
            self._contact_velocity_guess[:] = state["contact_velocity_guess"]
            self._predicted_velocity[:] = state["predicted_velocity"]

    def follow(self, before: Any) -> None:
        """Take over the effect of contacts on the bodies that stay, after others were added or removed."""
        old = {id(obstacle): row for row, obstacle in enumerate(before._obstacles)}
        for row, obstacle in enumerate(self._obstacles):
            if id(obstacle) in old:
                self._contact_velocity_guess[row] = before._contact_velocity_guess[old[id(obstacle)]]
                self._predicted_velocity[row] = before._predicted_velocity[old[id(obstacle)]]

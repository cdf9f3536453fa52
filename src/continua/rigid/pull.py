"""A spring that pulls a point of a rigid body to a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.frames import readonly_copy
from continua.validation import index, number, vector3

if TYPE_CHECKING:
    from continua.rigid.body import RigidInstances

__all__ = ["RigidPull"]


class RigidPull:
    """A damped spring from a point of a rigid body to a target; made by `RigidBody.pull`.

    Attributes:
        instance: Number of the instance that is pulled.
        local_point: The point in the instance's own axes [m], shape [3].
        stiffness: Stiffness [N/m].
    """

    def __init__(
        self,
        body: RigidInstances,
        instance: int,
        local_point: NDArray[np.float64],
        target: ArrayLike,
        stiffness: float,
    ) -> None:
        self._body = body
        self.instance = index(instance, f"the number of an instance of '{body.name}'", body.count)
        self.local_point = local_point
        self.target = target
        self.stiffness = number(stiffness, "the stiffness of a pull", low=0.0)
        self._force = np.zeros(3)

    @property
    def target(self) -> NDArray[np.float64]:
        """Target of the point [m]; set it at any time."""
        return self._target

    @target.setter
    def target(self, value: ArrayLike) -> None:
        self._target = vector3(value, "the target of a pull")

    @property
    def point(self) -> NDArray[np.float64]:
        """Current position of the point [m]."""
        pose = self._body.pose(self.instance)
        return pose.translation + pose.rotation @ self.local_point

    @property
    def force(self) -> NDArray[np.float64]:
        """The force on the body in the last step [N]; a read-only copy."""
        return readonly_copy(self._force)

    def store_force(self, force: NDArray[np.float64]) -> None:
        """Store the force on the body in the last step [N]."""
        self._force = vector3(force, "the force of a pull")

    @property
    def damping(self) -> float:
        """Damping [N s/m] with which the body reaches the target without oscillation."""
        return 1.4 * float(np.sqrt(self.stiffness * self._body.mass_each))

    def remove(self) -> None:
        """Remove the pull."""
        if self in self._body._pulls:
            self._body._pulls.remove(self)

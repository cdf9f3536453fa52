"""A spring that draws a point of a rigid body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.rigid.turning import from_quaternions
from continua.surroundings import as_vector
from continua.values import isfinite

if TYPE_CHECKING:
    from continua.rigid.body import RigidGroup

__all__ = ["RigidPull"]


class RigidPull:
    """A damped spring from a point of a rigid body to a target; made by `RigidBody.pull`.

    Attributes:
        copy: Number of the copy that is pulled.
        own: The point in the copy's own axes [m], shape [3].
        stiffness: Stiffness [N/m].
    """

    def __init__(
        self, body: RigidGroup, copy: int, own: NDArray[np.float64], target: ArrayLike, stiffness: float
    ) -> None:
        if not 0 <= copy < body.count:
            raise InputError(f"'{body.name}' has copies 0 to {body.count - 1}, not {copy}")
        if not (isfinite(stiffness) and stiffness >= 0.0):
            raise InputError(
                f"the stiffness of a pull must be a finite number of at least 0, not {stiffness}"
            )
        self._body = body
        self.copy = copy
        self.own = own
        self.target = target
        self.stiffness = float(stiffness)
        self._force = np.zeros(3)

    @property
    def target(self) -> NDArray[np.float64]:
        """Where the point is drawn to [m]; set it at any time."""
        return self._target

    @target.setter
    def target(self, value: ArrayLike) -> None:
        self._target = as_vector(value, "the target of a pull")

    @property
    def point(self) -> NDArray[np.float64]:
        """Where the point is now [m]."""
        body = self._body
        return body._x[self.copy] + from_quaternions(body._q[self.copy : self.copy + 1])[0] @ self.own

    @property
    def force(self) -> NDArray[np.float64]:
        """The force on the body in the last step [N]."""
        return self._force.copy()

    @property
    def damping(self) -> float:
        """Damping that lets the body come to the target without swinging [N s/m]."""
        return 1.4 * float(np.sqrt(self.stiffness * self._body.mass_each))

    def remove(self) -> None:
        """Let go."""
        if self in self._body._pulls:
            self._body._pulls.remove(self)

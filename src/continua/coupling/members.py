"""Bodies as the meeting sees them: rows of V, places that can touch, and steps to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from continua.contact import BodyStep, BodySystem, TouchingBody
from continua.frames import StepReport
from continua.solids import SoftBody
from continua.solids.step import SoftStep

__all__ = ["SoftMember"]


class SoftMember:
    """A soft body in the meeting."""

    def __init__(self, body: SoftBody, number: int) -> None:
        """Take over the body and its number in the world."""
        self.body, self.number = body, number
        self.size = body._element_size

    @property
    def row_count(self) -> int:
        """Number of its rows of V."""
        return self.body.node_count

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities at the start of a step [n, 3]."""
        return self.body._v

    @property
    def touching(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Nodes that obstacles can touch, and where they are."""
        nodes = self.body.contact_nodes
        return nodes, self.body._x[nodes]

    @property
    def surface(self) -> TouchingBody:
        """Its surface, as the search for contacts sees it."""
        body = self.body
        return TouchingBody(body.name, body._elements.rest_positions, body.triangles, number=self.number)

    @property
    def places(self) -> NDArray[np.float64]:
        """Where the points of its surface are [m]."""
        return self.body._x

    def moved(self, V: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
        """Return where the points of its surface are after `dt` [s] with its rows of V [m]."""
        return self.body._x + dt * V

    def begin(self, dt: float) -> BodyStep:
        """Begin a step of `dt` [s]."""
        self.forget()
        return SoftStep(self.body, dt)

    def forget(self) -> None:
        """Forget what pressed on the body: the step begins anew."""
        self._force = np.zeros((self.row_count, 3))
        self._time, self._depth = 0.0, 0.0

    def make_exact(self, system: BodySystem, impulse: NDArray[np.float64]) -> None:
        """Move a body that nothing holds as a whole so that it has the momentum that the impulses give it."""
        if system.fixed.any():
            return
        lacking = (system.rhs + impulse - system.matrix.multiply(system.x)).sum(axis=0)
        whole = system.matrix.blocks.sum(axis=0).reshape(3, 3)
        system.x += np.linalg.solve(whole, lacking)

    def pressed(self, force: NDArray[np.float64], depth: float, time: float) -> None:
        """Hear of the contact forces on the nodes [N] over a part of a step of `time` [s]."""
        self._force += time * force
        self._time += time
        self._depth = max(self._depth, depth)

    def complete(self, report: StepReport) -> StepReport:
        """Add what contacts did to the report of a step."""
        force = self._force / self._time if self._time > 0.0 else self._force
        self.body.set_contact_forces(force)
        total = force.sum(axis=0)
        return replace(
            report, contact_force=(float(total[0]), float(total[1]), float(total[2])), overlap=self._depth
        )

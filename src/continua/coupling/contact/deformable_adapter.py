"""A deformable body in the contact stepper: its number in the world, and its contact forces of a step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from continua.contact_solver import ContactBody
from continua.coupling.contact.island_kernels import column_sums
from continua.frames import StepReport
from continua.timestepping import BodyStep, VelocitySystem

__all__ = ["DeformableAdapter"]


class DeformableAdapter:
    """A deformable body in the contact stepper.

    Args:
        body: What the body offers.
        number: Its number in the world.

    Attributes:
        size: Size of its elements [m].
        surface: The surface with which it touches others.
        piece_count: Number of its pieces.
        radius: Half of its thickness [m]; zero unless it is two-sided.
        index: Its place among the bodies that can touch something, or -1.
    """

    def __init__(self, body: ContactBody, number: int) -> None:
        self.body, self.number = body, number
        self.size, self.surface = body.size, body.surface
        self.piece_count = self.surface.piece_count
        self.radius = 0.5 * self.surface.thickness
        self.index = -1

    @property
    def name(self) -> str:
        """Name of the body."""
        return self.body.name

    @property
    def row_count(self) -> int:
        """Number of its rows of V."""
        return self.body.row_count

    @property
    def carriers(self) -> sparse.csr_array | None:
        """The matrix from nodes to the points that touch others, or None where these are the nodes."""
        return getattr(self.body, "carriers", None)  # bodies of others need not have it

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities at the start of a step [n, 3]."""
        return self.body.velocities

    @property
    def positions(self) -> NDArray[np.float64]:
        """Current node positions [m]."""
        return self.body.positions

    @property
    def candidate_nodes(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Nodes that can touch colliders, and their positions."""
        nodes = self.body.contact_nodes
        return nodes, self.body.positions[nodes]

    def positions_after(self, V: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
        """Return the node positions [m] after `dt` [s] with its rows of V."""
        return self.body.positions_after(V, dt)

    def point_velocities(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the velocities of the points that touch others [m/s], given those of the nodes [n, 3]."""
        return V if self.carriers is None else self.carriers @ V

    def begin_step(self, dt: float) -> BodyStep:
        """Begin a step of `dt` [s]."""
        self.clear_contact()
        return self.body.begin_step(dt)

    def clear_contact(self) -> None:
        """Clear the accumulated contact forces."""
        self._impulse = np.zeros((self.row_count, 3))
        self._time, self._depth = 0.0, 0.0
        self._notes: list[str] = []

    @property
    def can_be_corrected(self) -> bool:
        """Whether the body's motion can be corrected after a substep; see `ContactBody`.

        That of a cut body cannot, as the points that touch others are no nodes.
        """
        return hasattr(self.body, "correct_motion") and self.carriers is None

    @property
    def node_masses(self) -> NDArray[np.float64] | None:
        """Masses of the nodes [kg], shape [n], or None if its motion cannot be corrected."""
        return np.asarray(self.body.node_masses) if self.can_be_corrected else None

    def correct_motion(self, moved: NDArray[np.float64], velocity: NDArray[np.float64]) -> None:
        """Move the nodes by [m] and add to their velocities [m/s], shape [n, 3] each, after a substep."""
        self.body.correct_motion(moved, velocity)

    def add_note(self, note: str) -> None:
        """Add a warning to the report of the step."""
        if note not in self._notes:
            self._notes.append(note)

    def restore_momentum(self, system: VelocitySystem, impulse: NDArray[np.float64]) -> None:
        """Translate a body without fixed nodes so that its momentum matches the impulses exactly."""
        if system.fixed.any():
            return
        defect, total = np.empty(3), np.empty(9)
        column_sums(system.rhs + impulse - system.matrix.multiply(system.x), defect)
        column_sums(system.matrix.blocks, total)
        system.x += np.linalg.solve(total.reshape(3, 3), defect)

    def accumulate_contact(self, force: NDArray[np.float64], depth: float, time: float) -> None:
        """Add contact forces on the nodes [N] over a substep of `time` [s], and its penetration depth [m]."""
        self._impulse += time * force
        self._time += time
        self._depth = max(self._depth, depth)

    def finish_report(self, report: StepReport) -> StepReport:
        """Return the report of a step with its contact forces, and store these in the body."""
        force = self._impulse / self._time if self._time > 0.0 else self._impulse
        self.body.set_contact_forces(force)
        total = force.sum(axis=0)
        return replace(
            report,
            warnings=(*report.warnings, *self._notes),
            contact_force=(float(total[0]), float(total[1]), float(total[2])),
            max_penetration=self._depth,
        )

"""Where contact comes into the steps of Irving's integrator (2007): positions, the velocity solve, and friction.

A node touches a shape of unit normal n; velocities count from that of the shape. With the velocity filter

    G(v): v_n -> max(v_n, 0),     v_t -> max(0, 1 - mu (max(v_n, 0) - v_n)/|v_t|) v_t

a node that would go through the shape goes on along it, its normal velocity is kept in the second solve, and the normal
velocity that the solve could not give it makes its friction. The thesis prints that last step with max(0, .), which
leaves no friction at all: with an outward normal it has to be min(0, .).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.contact import ContactSet
from continua.solids.constraints import Held
from continua.solids.integrators.hook_kernels import collide, constrain, rub

__all__ = ["ContactHooks"]


class ContactHooks:
    """The nodes that collide in one step, with what is done to them.

    Args:
        contacts: Nodes that are inside a shape, or will be after the step.
        held: What is held; a pinned node does not collide.
    """

    def __init__(self, contacts: ContactSet, held: Held) -> None:
        loose = held.fixed[contacts.nodes] != 1
        self.nodes = contacts.nodes[loose]
        self.normals = contacts.normals[loose]
        self.gaps = contacts.gaps[loose]
        self.friction = contacts.friction[loose]
        self.surface = contacts.surface[loose]

    def __len__(self) -> int:
        return len(self.nodes)

    def collide(
        self,
        x: NDArray[np.float64],
        dt: float,
        moved: NDArray[np.float64],
        v: NDArray[np.float64],
    ) -> None:
        """Let nodes go from x to `moved` along the shapes instead of through them, and filter v.

        The part of the way before the shape is reached stays as it is. A node that was inside already is put outside.
        A node that another shape has turned away does not collide.
        """
        hit = np.zeros(len(self.nodes), np.bool_)
        collide(self.nodes, self.normals, self.gaps, self.friction, self.surface, x, dt, moved, v, hit)
        if not hit.all():
            self.nodes, self.normals = self.nodes[hit], self.normals[hit]
            self.gaps, self.friction = self.gaps[hit], self.friction[hit]
            self.surface = self.surface[hit]

    def constrain(self, held: Held) -> tuple[NDArray[np.uint8], NDArray[np.float64] | None]:
        """Return what is held in the second solve: besides `held`, the normal velocities of colliding nodes."""
        if not len(self):
            return held.fixed, held.projections
        fixed = held.fixed.copy()
        projections = np.zeros((len(fixed), 6)) if held.projections is None else held.projections.copy()
        constrain(self.nodes, self.normals, fixed, projections)
        return fixed, projections

    def rub(self, v: NDArray[np.float64], lost: NDArray[np.float64]) -> None:
        """Let friction act on v, given the velocity changes that the solve could not make [n, 3]."""
        rub(self.nodes, self.normals, self.friction, self.surface, v, lost)

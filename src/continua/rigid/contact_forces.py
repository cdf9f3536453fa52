"""Impulses of contacts on rigid bodies, accumulated over the parts of a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.rigid_contact_layout import LEVER_A, NORMAL, T1, T2, TOTAL_IMPULSE
from continua.rigid.contact_detection import RigidContacts

__all__ = ["ImpulseAccumulator"]


class ImpulseAccumulator:
    """Impulses on instances [N s] and their points of application [m]."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all impulses."""
        self._instances: list[NDArray[np.integer]] = []
        self._points: list[NDArray[np.float64]] = []
        self._impulses: list[NDArray[np.float64]] = []

    def add(
        self, instances: NDArray[np.integer], points: NDArray[np.float64], impulses: NDArray[np.float64]
    ) -> None:
        """Add impulses [c, 3] on instances [c] at points [c, 3]."""
        self._instances.append(instances)
        self._points.append(points)
        self._impulses.append(impulses)

    def add_all(self, other: ImpulseAccumulator) -> None:
        """Add the impulses of another accumulator."""
        self._instances += other._instances
        self._points += other._points
        self._impulses += other._impulses

    def add_contacts(self, contacts: RigidContacts, X: NDArray[np.float64]) -> None:
        """Add the impulses of contacts of instances at X [n, 3]: on the first of two, and the opposite on the other."""
        some = np.flatnonzero(contacts.rows[:, TOTAL_IMPULSE] > 0.0)
        if not len(some):
            return
        C, AB = contacts.rows[some], contacts.pairs[some]
        impulses = np.zeros((len(C), 3))
        for column, direction in enumerate((NORMAL, T1, T2)):
            impulses += C[:, TOTAL_IMPULSE + column, None] * C[:, direction : direction + 3]
        points = X[AB[:, 0]] + C[:, LEVER_A : LEVER_A + 3]
        self.add(AB[:, 0], points, impulses)
        self.add(AB[:, 1], points, -impulses)

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return instances [c], points [c, 3] and impulses [c, 3]."""
        none = np.zeros((0, 3))
        return (
            np.concatenate([np.zeros(0, np.int64), *self._instances]),
            np.concatenate([none, *self._points]),
            np.concatenate([none, *self._impulses]),
        )

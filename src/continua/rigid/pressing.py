"""What contacts do to rigid pieces in a step, gathered part by part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.contact.impulses import LEVER_A, NORMAL, T1, T2, TOTAL
from continua.rigid.detect import Touching

__all__ = ["Pressing"]


class Pressing:
    """Impulses on pieces [N s] and the points where they act [m]."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._pieces: list[NDArray[np.integer]] = []
        self._points: list[NDArray[np.float64]] = []
        self._impulses: list[NDArray[np.float64]] = []

    def add(
        self, pieces: NDArray[np.integer], points: NDArray[np.float64], impulses: NDArray[np.float64]
    ) -> None:
        """Add impulses [c, 3] on pieces [c] at points [c, 3]."""
        self._pieces.append(pieces)
        self._points.append(points)
        self._impulses.append(impulses)

    def add_all(self, other: Pressing) -> None:
        """Add what another one gathered."""
        self._pieces += other._pieces
        self._points += other._points
        self._impulses += other._impulses

    def add_contacts(self, touching: Touching, X: NDArray[np.float64]) -> None:
        """Add the impulses of contacts of pieces at X [n, 3]: on the first of two, and the opposite on the other."""
        some = np.flatnonzero(touching.C[:, TOTAL] > 0.0)
        if not len(some):
            return
        C, AB = touching.C[some], touching.AB[some]
        impulses = np.zeros((len(C), 3))
        for column, direction in enumerate((NORMAL, T1, T2)):
            impulses += C[:, TOTAL + column, None] * C[:, direction : direction + 3]
        points = X[AB[:, 0]] + C[:, LEVER_A : LEVER_A + 3]
        self.add(AB[:, 0], points, impulses)
        self.add(AB[:, 1], points, -impulses)

    def gathered(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return pieces [c], points [c, 3] and impulses [c, 3]."""
        none = np.zeros((0, 3))
        return (
            np.concatenate([np.zeros(0, np.int64), *self._pieces]),
            np.concatenate([none, *self._points]),
            np.concatenate([none, *self._impulses]),
        )

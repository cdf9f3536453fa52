"""Points that touch others but are no nodes: those of the surface of a cut body, weighted means of its nodes.

Contact detection numbers them after all rows of V, as if each had a row of its own. `resolve` expresses the constraints
that it finds by rows of V.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.contact_solver import ConstraintRows
from continua.coupling.contact.deformable_adapter import DeformableAdapter

__all__ = ["SurfacePoints"]


class SurfacePoints:
    """The points of the surfaces of the soft bodies of a group.

    Args:
        soft: The bodies.
        starts: First row in V of each of them, then of the rigid bodies if there are any, and the end.

    Attributes:
        first: The number of the first point of each body; it is its first row in V if its points are its nodes.
    """

    def __init__(self, soft: Sequence[DeformableAdapter], starts: NDArray[np.integer]) -> None:
        self.first = np.array(starts[: len(soft)], np.int64)
        self._starts, self._total = starts, int(starts[-1])
        maps = []
        end = self._total
        for i, body in enumerate(soft):
            carriers = body.carriers
            if carriers is None:
                continue
            self.first[i] = end
            end += carriers.shape[0]
            empty = sparse.csr_array((carriers.shape[0], int(starts[i])))
            after = sparse.csr_array((carriers.shape[0], self._total - int(starts[i]) - carriers.shape[1]))
            maps.append(sparse.hstack([empty, carriers, after], format="csr"))
        self._map = sparse.csr_array(sparse.vstack(maps, format="csr")) if maps else None
        if self._map is not None:
            nodes = sparse.eye_array(self._total, format="csr")
            self._all_rows = sparse.csr_array(sparse.vstack([nodes, self._map], format="csr"))

    def extended(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the velocities of all rows, and then those of the points [m/s]."""
        return V if self._map is None else np.concatenate([V, self._map @ V])

    def is_free(self, i: int, points: NDArray[np.integer], fixed: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which points of body i can move, given which of its nodes are fixed (1)."""
        if self._map is None or self.first[i] < self._total:
            return np.asarray(fixed[points] != 1)
        own = sparse.csr_array(self._map[self.first[i] - self._total + np.asarray(points)])
        movable = np.zeros(self._total)
        movable[self._starts[i] : self._starts[i] + len(fixed)] = fixed != 1
        return np.asarray(abs(own) @ movable > 0.0)

    def resolve(self, rows: ConstraintRows) -> ConstraintRows:
        """Return the same constraints on rows of V."""
        if self._map is None or not len(rows) or not (rows.row >= self._total).any():
            return rows
        return rows.transformed(self._all_rows)

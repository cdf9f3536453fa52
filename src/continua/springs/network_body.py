"""What bodies made of a network share, whatever moves them: loads on their surface, and wind on their lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.deformable.deformable_body import DeformableBody
from continua.errors import InputError
from continua.springs.network import SpringNetwork
from continua.springs.particles import air_drag, sheet_faces, without_wind

__all__ = ["NetworkBody"]


class NetworkBody(DeformableBody):
    """A body of nodes that a network joins."""

    network: SpringNetwork
    radius: float

    def _boundary_faces(self) -> BoundaryFaces:
        if not len(self.network.triangles):
            raise InputError(f"body '{self.name}' has no surface that a pressure or traction could act on")
        return sheet_faces(self.network)

    def _collect_forces(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        force: NDArray[np.float64],
        time: float | None = None,
    ) -> None:
        if len(self.network.triangles):
            super()._collect_forces(x, v, force, time)
            return
        with without_wind(self) as wind:
            super()._collect_forces(x, v, force, time)
        if wind is not None:
            now = self._environment.time if time is None else time
            air_drag(self.network.springs, x, v, self.radius, wind, now, force)

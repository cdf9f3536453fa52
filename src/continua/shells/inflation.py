"""Pressure inside a closed sheet: balloons and cushions."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.loads import Load
from continua.shells.wind_kernels import enclosed_volume
from continua.validation import flag, number

if TYPE_CHECKING:
    from continua.shells.cloth import Cloth

__all__ = ["Inflation"]

LEAST_VOLUME = 0.01
"""Least volume, relative to that at rest, for which the pressure of a gas rises."""


class Inflation(Load):
    """A pressure inside a closed sheet; set `pressure` to change it while the simulation runs.

    Attributes:
        gas: Whether the pressure is that of a gas, `pressure` times the volume at rest over the present volume.
    """

    def __init__(self, body: Cloth, pressure: float, gas: bool, until: float = inf) -> None:
        super().__init__(body, until)
        self.gas = flag(gas, "'gas' of an inflation")
        self.pressure = pressure
        mesh = body.mesh
        self._faces = np.arange(mesh.element_count, dtype=np.int32)
        self._triangles = mesh.cells
        signed = float(enclosed_volume(mesh.points, mesh.cells))
        self._outward = 1.0 if signed >= 0.0 else -1.0  # a sheet may be inside out
        self._rest_volume = abs(signed)

    @property
    def pressure(self) -> float:
        """The pressure inside over that outside [Pa], of a gas at the rest volume."""
        return self._pressure

    @pressure.setter
    def pressure(self, value: float) -> None:
        self._pressure = number(value, "the pressure of an inflation", unit="Pa")

    @property
    def volume(self) -> float:
        """The enclosed volume now [m3]."""
        return self._outward * float(enclosed_volume(self._attached()._x, self._triangles))

    def pressure_at(self, x: NDArray[np.float64]) -> float:
        """Return the pressure [Pa] when the sheet is at x [n, 3]."""
        if not self.gas:
            return self._pressure
        volume = self._outward * float(enclosed_volume(x, self._triangles))
        return self._pressure * self._rest_volume / max(volume, LEAST_VOLUME * self._rest_volume)

    def _add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the pressure along the outward normals at x."""
        self._attached()._faces.add_pressure(x, self._faces, -self._outward * self.pressure_at(x), force)

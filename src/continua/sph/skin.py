"""The skin of a soft body as a wall: samples that move with its triangles (Akinci and others 2013)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.mesh import SurfaceMesh
from continua.sdf import exact
from continua.sph import skin_kernels as kernels
from continua.sph.boundary import WallSums
from continua.sph.grid import CellGrid
from continua.sph.sampled import DEPTH, SPACING, sample_volumes
from continua.sph.sampling import below, strew
from continua.sph.walls import Pressing

__all__ = ["SkinCarrier", "SkinWall"]

_PARALLEL_FROM = 8192
_NOTHING = np.zeros(0, np.float32)


class SkinCarrier(Protocol):
    """A body whose skin is a wall."""

    @property
    def name(self) -> str:
        """Name of the body."""

    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [m] and velocities [m/s] of all nodes, shape [n, 3]."""

    def receive(self, impulses: NDArray[np.float64]) -> None:
        """Take impulses on the nodes [N s], shape [n, 3]."""


class SkinWall:
    """Samples below the triangles of a body that changes its shape.

    Args:
        carrier: The body.
        triangles: Its surface over its nodes, outward oriented, shape [t, 3].
        radius: Radius of the kernel [m].
        diameter: Of a particle [m].
    """

    def __init__(
        self, carrier: SkinCarrier, triangles: NDArray[np.int32], radius: float, diameter: float
    ) -> None:
        self.carrier, self.triangles = carrier, triangles
        self.name = f"'{carrier.name}'"
        self._depth = DEPTH * diameter
        points, _ = carrier.nodes()
        self._which, self._weights = strew(points, triangles, SPACING * diameter, self._depth)
        self._grid = CellGrid(radius)
        samples = below(points, triangles, self._which, self._weights, self._depth)
        self.volumes = sample_volumes(samples, radius)
        self._rows = self._speeds = _NOTHING

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return len(self._which)

    def _put(self, origin: NDArray[np.float64]) -> None:
        """Put the samples where the skin is, sorted."""
        points, velocities = self.carrier.nodes()
        corners = self.triangles[self._which]
        rows = np.zeros((self.sample_count, 4), np.float32)
        rows[:, :3] = below(points, self.triangles, self._which, self._weights, self._depth) - origin
        rows[:, 3] = self.volumes
        speeds = np.zeros_like(rows)
        speeds[:, :3] = np.einsum("kc,kcd->kd", self._weights, velocities[corners])
        self._order = self._grid.sort(rows.ravel()).copy()
        self._rows = np.ascontiguousarray(rows[self._order]).ravel()
        self._speeds = np.ascontiguousarray(speeds[self._order]).ravel()

    def add_to(
        self, walls: WallSums, rows: NDArray[np.float32], origin: NDArray, time: float, dt: float
    ) -> None:
        """Add what particles feel of the skin."""
        self._put(origin)
        kernels.add_skin.pick(len(walls.density) >= _PARALLEL_FROM)(
            rows, self._grid.inverse, *self._grid.tables, self._grid.starts, self._rows, self._speeds,
            walls.gradient, walls.density, walls.rate, walls.drift,
        )  # fmt: skip

    def wants_pressing(self, pressing: bool) -> bool:
        """Return True: the body always feels the fluid."""
        return True

    def press(self, fluid: Pressing, scratch: WallSums, origin: NDArray, time: float, dt: float) -> None:
        """Let the body feel the pressure: samples hand their impulses to the corners of their triangles."""
        impulses = np.zeros((self.sample_count, 3))
        weight, velocities = (_NOTHING, _NOTHING) if fluid.sticky is None else fluid.sticky
        kernels.skin_impulses.pick(self.sample_count >= _PARALLEL_FROM)(
            self._rows, self._speeds, fluid.grid.inverse, *fluid.grid.tables, fluid.grid.starts, fluid.rows,
            fluid.pressures, np.float32(fluid.volume), weight, velocities, impulses,
        )  # fmt: skip
        back = np.empty_like(impulses)
        back[self._order] = impulses
        corners = self.triangles[self._which]
        result = np.zeros_like(self.carrier.nodes()[0])
        for axis in range(3):
            parts = (self._weights * back[:, axis : axis + 1]).ravel()
            result[:, axis] = np.bincount(corners.ravel(), parts, minlength=len(result))
        self.carrier.receive(result)

    def put_back(
        self, fluid: Pressing, walls: WallSums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> int:
        """Leave all particles where they are."""
        return 0

    def speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the largest speed of the skin [m/s]."""
        _, velocities = self.carrier.nodes()
        return float(np.linalg.norm(velocities[np.unique(self.triangles)], axis=1).max(initial=0.0))

    def depths(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the skin [m], negative inside."""
        nodes, _ = self.carrier.nodes()
        used, triangles = np.unique(self.triangles, return_inverse=True)
        surface = SurfaceMesh(nodes[used], triangles.reshape(-1, 3).astype(np.int32))
        return exact(surface, sign="winding")(points)

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return self._rows.nbytes + self._speeds.nbytes + self.volumes.nbytes

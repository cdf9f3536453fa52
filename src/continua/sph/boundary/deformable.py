"""The skin of a soft body as a wall: samples that move with its triangles (Akinci and others 2013)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance, exact
from continua.sph.boundary import deformable_kernels as kernels
from continua.sph.boundary.akinci import DEPTH, SPACING, sample_volumes
from continua.sph.boundary.model import WallSums
from continua.sph.boundary.rigid import OUT, Pressing, rub
from continua.sph.neighbour_search import CellGrid
from continua.sph.sampling import below, strew

__all__ = ["SkinCarrier", "SkinWall"]

_PARALLEL_FROM = 8192
_NOTHING = np.zeros(0, np.float32)
_NO_RUBS = np.zeros((0, 3))
_NEAR_SKIN = 0.35  # share of a particle's density from the skin above which it is watched for entering


class SkinCarrier(Protocol):
    """A body whose skin is a wall."""

    @property
    def name(self) -> str:
        """Name of the body."""

    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [m] and velocities [m/s] of all nodes, shape [n, 3]."""

    def receive(self, impulses: NDArray[np.float64], burden: NDArray[np.float64] | None = None) -> None:
        """Take impulses on the nodes [N s], shape [n, 3], and the mass of fluid that they have to move [kg], [n]."""


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
        self._rows = self._speeds = self._share = _NOTHING
        self._used, local = np.unique(triangles, return_inverse=True)
        self._local = local.reshape(-1, 3).astype(np.int32)
        self._reach = self._moved_depth(points)

    def _moved_depth(self, points: NDArray[np.float64]) -> float:
        """Return the volume of fluid that a sample moves along [m3]: that of the body, shared out."""
        a, b, c = (points[self.triangles[:, k]] for k in range(3))
        inside = abs(float(np.einsum("ij,ij->", a, np.cross(b, c)))) / 6.0
        return inside / max(self.sample_count, 1)

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
        before = walls.density.copy()
        self._add(walls, rows)
        self._share = walls.density - before

    def _add(self, walls: WallSums, rows: NDArray[np.float32]) -> None:
        kernels.add_skin.pick(len(walls.density) >= _PARALLEL_FROM)(
            rows, self._grid.inverse, *self._grid.tables, self._grid.starts, self._rows, self._speeds,
            walls.gradient, walls.density, walls.rate, walls.drift,
        )  # fmt: skip

    def wants_pressing(self, pressing: bool) -> bool:
        """Return True: the body always feels the fluid."""
        return True

    def press(self, fluid: Pressing, scratch: WallSums, origin: NDArray, time: float, dt: float) -> None:
        """Let the body feel the pressure, and rub the fluid: samples hand impulses to the corners of triangles."""
        count = self.sample_count
        impulses, wet = np.zeros((count, 3)), np.zeros(count)
        weight, velocities = (_NOTHING, _NOTHING) if fluid.sticky is None else fluid.sticky
        rubs = _NO_RUBS
        if fluid.friction > 0.0 or fluid.drag > 0.0:
            rubs = self._rub(fluid, scratch)
        kernels.skin_impulses.pick(count >= _PARALLEL_FROM)(
            self._rows, self._speeds, fluid.grid.inverse, *fluid.grid.tables, fluid.grid.starts, fluid.rows,
            fluid.pressures, np.float32(fluid.volume), fluid.masses, weight, velocities, rubs, impulses, wet,
        )  # fmt: skip
        back, moved = np.empty_like(impulses), np.empty_like(wet)
        back[self._order], moved[self._order] = impulses, self._reach * wet
        corners = self.triangles[self._which]
        result = np.zeros((len(self.carrier.nodes()[0]), 4))
        for axis, values in enumerate((*back.T, moved)):
            parts = (self._weights * values[:, None]).ravel()
            result[:, axis] = np.bincount(corners.ravel(), parts, minlength=len(result))
        self.carrier.receive(result[:, :3], result[:, 3])

    def _rub(self, fluid: Pressing, scratch: WallSums) -> NDArray[np.float64]:
        """Slow the slip of particles along the skin; return the impulses for each unit of density [n, 3]."""
        scratch.clear(len(fluid.masses))
        self._add(scratch, fluid.rows)
        near = np.flatnonzero(scratch.density > 0.0)
        gradient = scratch.gradient.reshape(-1, 4)[near, :3].astype(np.float64)
        share = scratch.density[near, None].astype(np.float64)
        wall = scratch.drift.reshape(-1, 4)[near, :3] / share
        pressed = fluid.volume * fluid.pressures[near] * np.linalg.norm(gradient, axis=1)
        result = np.zeros((len(fluid.masses), 3))
        result[near] = rub(fluid, near, gradient, wall, pressed) / share
        return result

    def put_back(
        self, fluid: Pressing, walls: WallSums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> NDArray[np.float64]:
        """Move particles that have entered the skin back to it; return how deep each was [m].

        The skin is where it was at the start of the sub-step, since bodies move after the fluid.
        """
        near = np.flatnonzero(self._share > _NEAR_SKIN)
        if len(near) == 0:
            return np.zeros(0)
        rows, velocities = fluid.rows.reshape(-1, 4), fluid.velocities.reshape(-1, 4)
        nodes, speeds = self.carrier.nodes()
        found = self._distance(nodes).closest(rows[near, :3].astype(np.float64) + origin)
        inside = np.flatnonzero(found.distances < 0.0)
        if len(inside) == 0:
            return np.zeros(0)
        who, n = near[inside], found.gradients[inside]
        corners = self.triangles[found.triangles[inside]]
        weights = _weights_at(nodes[corners], found.points[inside])
        rows[who, :3] = found.points[inside] + OUT * diameter * n - origin
        before = velocities[who, :3].astype(np.float64)
        wall = np.einsum("kc,kcd->kd", weights, speeds[corners])
        into = np.minimum(((before - wall) * n).sum(axis=1), 0.0)
        velocities[who, :3] = before - into[:, None] * n
        impulses = fluid.masses[who, None] * (before - velocities[who, :3])
        result = np.zeros_like(nodes)
        np.add.at(result, corners, weights[:, :, None] * impulses[:, None, :])
        self.carrier.receive(result)
        return -found.distances[inside]

    def speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the largest speed of the skin [m/s]."""
        _, velocities = self.carrier.nodes()
        return float(np.linalg.norm(velocities[np.unique(self.triangles)], axis=1).max(initial=0.0))

    def depths(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the skin [m], negative inside."""
        return self._distance(self.carrier.nodes()[0])(points)

    def _distance(self, nodes: NDArray[np.float64]) -> ExactDistance:
        return exact(SurfaceMesh(nodes[self._used], self._local), sign="winding")

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return self._rows.nbytes + self._speeds.nbytes + self.volumes.nbytes


def _weights_at(corners: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights [k, 3] of the corners [k, 3, 3] of triangles at points on them [k, 3]."""
    a, b, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    aa, ab, bb = (np.einsum("ij,ij->i", *pair) for pair in ((a, a), (a, b), (b, b)))
    pa, pb = np.einsum("ij,ij->i", p, a), np.einsum("ij,ij->i", p, b)
    size = np.maximum(aa * bb - ab * ab, 1e-300)
    u, v = (bb * pa - ab * pb) / size, (aa * pb - ab * pa) / size
    return np.stack([1.0 - u - v, u, v], axis=1)

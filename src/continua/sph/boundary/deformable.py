"""Surfaces of deformable bodies as boundaries: samples that move with the triangles (Akinci and others 2013)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance, exact
from continua.sph.boundary import deformable_kernels as kernels
from continua.sph.boundary.akinci import SAMPLE_DEPTH, SAMPLE_SPACING, sample_volumes
from continua.sph.boundary.interface import PUSH_OUT, FluidState, apply_friction
from continua.sph.boundary.model import BoundarySums
from continua.sph.boundary.wall_drag import sampled_wall_profile
from continua.sph.neighbour_search import CellGrid
from continua.sph.sampling import offset_inward, poisson_sample

__all__ = ["DeformableBoundary", "DeformableBoundaryBody"]

_PARALLEL_FROM = 8192
_EMPTY = np.zeros(0, np.float32)
_NO_FRICTION = np.zeros((0, 3))
_CANDIDATE_DENSITY = 0.35  # boundary part of the density above which a particle is checked for penetration


class DeformableBoundaryBody(Protocol):
    """A deformable body whose surface is a boundary of the fluid."""

    @property
    def name(self) -> str:
        """Name of the body."""

    @property
    def owner(self) -> object:
        """The body in the world."""

    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [m] and velocities [m/s] of all nodes, shape [n, 3]."""

    def add_impulse(
        self,
        impulses: NDArray[np.float64],
        added_mass: NDArray[np.float64] | None = None,
        drag: NDArray[np.float64] | None = None,
    ) -> None:
        """Add impulses on the nodes [N s], shape [n, 3], their added mass and viscous drag [kg], shape [n]."""


class DeformableBoundary:
    """The surface of a deformable body, as samples below its triangles.

    Args:
        body: The body.
        triangles: Its surface, outward oriented, shape [t, 3].
        radius: Radius of the kernel [m].
        diameter: Of a particle [m].
        rest: Positions of the nodes for which the samples are made [m], shape [n, 3].
    """

    def __init__(
        self,
        body: DeformableBoundaryBody,
        triangles: NDArray[np.int32],
        radius: float,
        diameter: float,
        rest: NDArray[np.float64],
    ) -> None:
        self.body, self.triangles = body, triangles
        self.name = f"'{body.name}'"
        self._depth = SAMPLE_DEPTH * diameter
        self.slip = 0.0
        self.profile = sampled_wall_profile(SAMPLE_SPACING, SAMPLE_DEPTH, diameter)
        self._sample_triangles, self._weights = poisson_sample(
            rest, triangles, SAMPLE_SPACING * diameter, self._depth
        )
        self._grid = CellGrid(radius)
        samples = offset_inward(rest, triangles, self._sample_triangles, self._weights, self._depth)
        self.volumes = sample_volumes(samples, radius)
        self._samples = self._sample_velocities = self._boundary_density = _EMPTY
        self._surface_nodes, local = np.unique(triangles, return_inverse=True)
        self._local_triangles = local.reshape(-1, 3).astype(np.int32)
        self._added_volume = self._volume_per_sample(rest)

    @property
    def owner(self) -> object:
        """The body whose surface it is."""
        return self.body.owner

    def _volume_per_sample(self, points: NDArray[np.float64]) -> float:
        """Return the added-mass volume of a sample [m3]: the body's volume over the number of samples."""
        a, b, c = (points[self.triangles[:, k]] for k in range(3))
        inside = abs(float(np.einsum("ij,ij->", a, np.cross(b, c)))) / 6.0
        return inside / max(self.sample_count, 1)

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return len(self._sample_triangles)

    def _move_samples(self, origin: NDArray[np.float64]) -> None:
        """Move the samples with the surface and sort them."""
        points, velocities = self.body.nodes()
        corners = self.triangles[self._sample_triangles]
        samples = np.zeros((self.sample_count, 4), np.float32)
        samples[:, :3] = (
            offset_inward(points, self.triangles, self._sample_triangles, self._weights, self._depth) - origin
        )
        samples[:, 3] = self.volumes
        sample_velocities = np.zeros_like(samples)
        sample_velocities[:, :3] = np.einsum("kc,kcd->kd", self._weights, velocities[corners])
        self._order = self._grid.sort(samples.ravel()).copy()
        self._samples = np.ascontiguousarray(samples[self._order]).ravel()
        self._sample_velocities = np.ascontiguousarray(sample_velocities[self._order]).ravel()

    def add_to(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], origin: NDArray, time: float, dt: float
    ) -> None:
        """Add the contributions of the samples."""
        self._move_samples(origin)
        previous = sums.copy_parts()
        self._add(sums, xyzp)
        self._boundary_density = sums.density - previous[0]
        sums.add_drag(previous, self.profile, self.slip)

    def _add(self, sums: BoundarySums, xyzp: NDArray[np.float32]) -> None:
        kernels.add_moving_samples.variant(len(sums.density) >= _PARALLEL_FROM)(
            xyzp, self._grid.inverse, *self._grid.tables, self._grid.starts, self._samples, self._sample_velocities,
            sums.gradient, sums.density, sums.rate, sums.weighted_velocity,
        )  # fmt: skip

    def needs_forces(self, friction: bool) -> bool:
        """Return True: the fluid always acts on the body."""
        return True

    def apply_fluid_forces(
        self, fluid: FluidState, scratch: BoundarySums, origin: NDArray, time: float, dt: float
    ) -> None:
        """Apply friction to the fluid, and all impulses to the nodes of the triangles that carry the samples."""
        count = self.sample_count
        impulses, fluid_density, drag = np.zeros((count, 3)), np.zeros(count), np.zeros(count)
        weight = velocities = _EMPTY
        if fluid.viscous_coupling is not None:
            weight, velocities = fluid.viscous_coupling
            weight = weight * self._drag_per_density()
        friction = _NO_FRICTION
        if fluid.friction > 0.0 or fluid.drag > 0.0:
            friction = self._apply_friction(fluid, scratch)
        kernels.sample_impulses.variant(count >= _PARALLEL_FROM)(
            self._samples, self._sample_velocities, fluid.grid.inverse, *fluid.grid.tables,
            fluid.grid.starts, fluid.xyzp,
            fluid.pressures, np.float32(fluid.volume), fluid.masses, weight, velocities, friction, impulses,
            fluid_density, drag,
        )  # fmt: skip
        unsorted = np.empty((count, 5))
        unsorted[self._order] = np.column_stack([impulses, self._added_volume * fluid_density, drag])
        corners = self.triangles[self._sample_triangles]
        result = np.zeros((len(self.body.nodes()[0]), 5))
        for axis, values in enumerate(unsorted.T):
            parts = (self._weights * values[:, None]).ravel()
            result[:, axis] = np.bincount(corners.ravel(), parts, minlength=len(result))
        self.body.add_impulse(result[:, :3], result[:, 3], result[:, 4])

    def _drag_per_density(self) -> NDArray[np.float32]:
        """Return the viscous drag for each unit of this boundary's part of the density, shape [n]."""
        distance, force = self.profile.interpolate(self._boundary_density)
        drag = force * self.profile.diameter / (distance * self.profile.diameter + self.slip)
        return (drag / np.maximum(self._boundary_density, 1e-30)).astype(np.float32)

    def _apply_friction(self, fluid: FluidState, scratch: BoundarySums) -> NDArray[np.float64]:
        """Reduce the slip of particles along the surface; return the impulses for each unit of density [n, 3]."""
        scratch.clear(len(fluid.masses))
        self._add(scratch, fluid.xyzp)
        near = np.flatnonzero(scratch.density > 0.0)
        gradient = scratch.gradient.reshape(-1, 4)[near, :3].astype(np.float64)
        share = scratch.density[near, None].astype(np.float64)
        boundary_velocity = scratch.weighted_velocity.reshape(-1, 4)[near, :3] / share
        normal_impulse = fluid.volume * fluid.pressures[near] * np.linalg.norm(gradient, axis=1)
        result = np.zeros((len(fluid.masses), 3))
        result[near] = apply_friction(fluid, near, gradient, boundary_velocity, normal_impulse) / share
        return result

    def resolve_penetration(
        self, fluid: FluidState, sums: BoundarySums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> NDArray[np.float64]:
        """Move penetrating particles back to the surface; return the depth of each [m].

        The surface is that at the start of the sub-step, since bodies move after the fluid.
        """
        near = np.flatnonzero(self._boundary_density > _CANDIDATE_DENSITY)
        if len(near) == 0:
            return np.zeros(0)
        xyzp, velocities = fluid.xyzp.reshape(-1, 4), fluid.velocities.reshape(-1, 4)
        nodes, node_velocities = self.body.nodes()
        found = self._distance(nodes).closest(xyzp[near, :3].astype(np.float64) + origin)
        inside = np.flatnonzero(found.distances < 0.0)
        if len(inside) == 0:
            return np.zeros(0)
        indices, n = near[inside], found.gradients[inside]
        corners = self.triangles[found.triangles[inside]]
        weights = _barycentric_at(nodes[corners], found.points[inside])
        xyzp[indices, :3] = found.points[inside] + PUSH_OUT * diameter * n - origin
        previous = velocities[indices, :3].astype(np.float64)
        boundary_velocity = np.einsum("kc,kcd->kd", weights, node_velocities[corners])
        inward = np.minimum(((previous - boundary_velocity) * n).sum(axis=1), 0.0)
        velocities[indices, :3] = previous - inward[:, None] * n
        impulses = fluid.masses[indices, None] * (previous - velocities[indices, :3])
        result = np.zeros_like(nodes)
        np.add.at(result, corners, weights[:, :, None] * impulses[:, None, :])
        self.body.add_impulse(result)
        return -found.distances[inside]

    def max_speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the largest speed of the surface [m/s]."""
        _, velocities = self.body.nodes()
        return float(np.linalg.norm(velocities[np.unique(self.triangles)], axis=1).max(initial=0.0))

    def signed_distances(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the surface [m], negative inside."""
        return self._distance(self.body.nodes()[0])(points)

    def _distance(self, nodes: NDArray[np.float64]) -> ExactDistance:
        return exact(SurfaceMesh(nodes[self._surface_nodes], self._local_triangles), sign="winding")

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return self._samples.nbytes + self._sample_velocities.nbytes + self.volumes.nbytes


def _barycentric_at(corners: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return barycentric coordinates [k, 3] of points [k, 3] on triangles with corners [k, 3, 3]."""
    a, b, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    aa, ab, bb = (np.einsum("ij,ij->i", *pair) for pair in ((a, a), (a, b), (b, b)))
    pa, pb = np.einsum("ij,ij->i", p, a), np.einsum("ij,ij->i", p, b)
    size = np.maximum(aa * bb - ab * ab, 1e-300)
    u, v = (bb * pa - ab * pb) / size, (aa * pb - ab * pa) / size
    return np.stack([1.0 - u - v, u, v], axis=1)

"""Rigid bodies in contact with soft bodies: exact distances, and edges and corners that fit between nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.collision import CollisionMesh, CollisionSurface
from continua.collision.collider_features import collider_edges
from continua.contact_solver import Contact, ContactPairTable
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.surface_contacts import (
    COLLIDER_DISTANCE_FRACTION,
    MAX_FEATURE_DEPTH,
    MOVE_APART,
    NOTE_FRACTION,
    PROXIMITY_FRACTION,
    THICKNESS_FRACTION,
    max_depth,
)
from continua.errors import InputError
from continua.mesh import SurfaceMesh
from continua.rigid import RigidSystem

__all__ = ["Poses", "RigidSurfaces"]


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of all rigid instances: positions [m], shape [n, 3], and rotations [n, 3, 3]."""

    X: NDArray[np.float64]
    R: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], R: NDArray[np.float64]) -> Poses:
        """Return poses with rotations given row by row [n, 9]; both are copied."""
        return cls(X.copy(), R.reshape(-1, 3, 3).copy())


class RigidSurfaces:
    """The rigid bodies of a world for detection of their contacts with soft bodies.

    Args:
        soft: The soft bodies.
        system: The rigid bodies.
        numbers: Their numbers in the pair table.
        contact: Contact options, of which only the thickness is used here.
        table: Pair table.

    Attributes:
        shapes: The shape of each rigid body in its own axes.
        mesh: Surfaces of the soft bodies, and the edges and corners of rigid bodies that have any.
        bodies_with_edges: Indices of those rigid bodies, in the order of the surfaces.
        min_distance: Distance that surfaces keep [m], shape [m, m].
        max_distance: Largest distance at which pairs are found [m], shape [m, m].
    """

    def __init__(
        self,
        soft: Sequence[DeformableAdapter],
        system: RigidSystem,
        numbers: Sequence[int],
        contact: Contact,
        table: ContactPairTable,
    ) -> None:
        self.soft, self.system, self.numbers, self.table = tuple(soft), system, np.array(numbers), table
        self.shapes = [body.geometry.local_shape() for body in system.rigid_state.bodies]
        surfaces = [
            CollisionSurface(
                a.surface.rest,
                a.surface.triangles,
                a.surface.edges,
                a.surface.vertices,
                radius=a.radius,
                name=a.name,
                two_sided=a.surface.two_sided,
            )
            for a in self.soft
        ]
        length = [surface.edge_length for surface in surfaces]
        self.bodies_with_edges: list[int] = []
        self._local_points: list[
            NDArray[np.float64]
        ] = []  # edges and corners of one instance in its own axes
        for g, (shape, body) in enumerate(zip(self.shapes, system.rigid_state.bodies, strict=True)):
            one = collider_edges(shape, max(length))
            if one is not None:
                self.bodies_with_edges.append(g)
                self._local_points.append(one.rest)
                surfaces.append(_repeat(one, body.count, body.name))
        number = [a.number for a in self.soft] + self.numbers[self.bodies_with_edges].tolist()
        ids = [k * 2**32 + np.arange(len(one.rest)) for k, one in zip(number, surfaces, strict=True)]
        self.mesh = CollisionMesh(surfaces, np.concatenate(ids))
        self._set_distances(contact.thickness, np.array(length + [0.0] * len(self.bodies_with_edges)))

    def _set_distances(self, thickness: float | None, length: NDArray[np.float64]) -> None:
        count = len(self.soft)
        own = THICKNESS_FRACTION * length if thickness is None else np.where(length > 0.0, thickness, 0.0)
        self.min_distance = COLLIDER_DISTANCE_FRACTION * np.maximum(own[:, None], own[None, :])
        self.max_distance = (
            PROXIMITY_FRACTION * np.maximum(length[:, None], length[None, :]) + self.min_distance
        )
        first = np.array([adapter.number for adapter in self.soft], dtype=int)
        number = np.concatenate([first, self.numbers[self.bodies_with_edges]]).astype(int)
        collide = self.table.collide[np.ix_(number, number)].copy()
        rigid = np.arange(len(number)) >= count
        collide &= rigid[:, None] ^ rigid[None, :]
        # contacts of soft nodes are found by the exact distance of the rigid bodies
        self.collide = collide
        self.mesh.vertex_face_pairs = collide & ~rigid[None, :]
        self.mesh.edge_edge_pairs = np.triu(collide)

    def points(self, soft: Sequence[NDArray[np.float64]], poses: Poses) -> NDArray[np.float64]:
        """Return the positions of all points of the surfaces [m], shape [n, 3]."""
        parts = list(soft)
        starts = self.system.rigid_state.starts
        for g, own in zip(self.bodies_with_edges, self._local_points, strict=True):
            rows = slice(starts[g], starts[g + 1])
            placed = np.einsum("kij,pj->kpi", poses.R[rows], own) + poses.X[rows][:, None]
            parts.append(placed.reshape(-1, 3))
        return self.mesh.positions(parts)

    def instance_of(self, surface: NDArray[np.int64], point: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the instances of points, given by their surface and their index in it."""
        sizes = np.array([len(own) for own in self._local_points])
        starts = self.system.rigid_state.starts[self.bodies_with_edges]
        k = surface - len(self.soft)
        return starts[k] + point // sizes[k]

    def restrict_to(self, soft: Sequence[int]) -> None:
        """Detect only contacts of these soft bodies from now on."""
        some = np.zeros(len(self.mesh.surfaces), bool)
        some[list(soft)] = True
        some[len(self.soft) :] = True
        collide = self.collide & some[:, None] & some[None, :]
        rigid = np.arange(len(some)) >= len(self.soft)
        self.mesh.vertex_face_pairs = collide & ~rigid[None, :]
        self.mesh.edge_edge_pairs = np.triu(collide)

    def check_start(self, only: frozenset[int] | None = None) -> tuple[str, ...]:
        """Raise InputError if a rigid body starts deep inside a soft one, or the other way round.

        Returns notes on those that overlap a little. With `only`, pairs count in which one of these numbers takes part.
        """
        notes = []
        state = self.system.rigid_state
        poses = Poses.of(state.X, state.R)
        for adapter in self.soft:
            x = adapter.positions
            low, high = x.min(axis=0), x.max(axis=0)
            length = self.mesh.surfaces[self.soft.index(adapter)].edge_length
            surface: SurfaceMesh | None = None
            for i in range(state.count):
                g = int(state.owner[i])
                far = (poses.X[i] - state.radius[i] > high) | (poses.X[i] + state.radius[i] < low)
                if far.any() or not self.table.collide[adapter.number, self.numbers[g]]:
                    continue
                if only is not None and only.isdisjoint((adapter.number, int(self.numbers[g]))):
                    continue
                _, points = adapter.candidate_nodes
                depth = float(-self.shapes[g].distances((points - poses.X[i]) @ poses.R[i])[0].min())
                too_deep = depth > length
                if not too_deep and not adapter.surface.two_sided:
                    surface = _surface_mesh(adapter) if surface is None else surface
                    corners = np.vstack([state.bodies[g].geometry.surface.points, np.zeros((1, 3))])
                    corner_depth = max_depth(surface, corners @ poses.R[i].T + poses.X[i])
                    depth = max(depth, corner_depth)
                    too_deep = corner_depth > MAX_FEATURE_DEPTH * length
                said = (
                    f"rigid body '{state.bodies[g].name}' and body '{adapter.name}' overlap at the start, "
                    f"{depth:.3g} m deep"
                )
                if too_deep:
                    raise InputError(f"{said}; {MOVE_APART}")
                if depth > NOTE_FRACTION * length:
                    notes.append(f"{said}; contact pushes them apart in the first steps: {MOVE_APART}")
        return tuple(notes)


def _surface_mesh(adapter: DeformableAdapter) -> SurfaceMesh:
    used, triangles = np.unique(adapter.surface.triangles, return_inverse=True)
    return SurfaceMesh(adapter.positions[used], triangles.reshape(-1, 3))


def _repeat(one: CollisionSurface, count: int, name: str) -> CollisionSurface:
    """Return a surface of `count` copies of one."""
    assert one.edges is not None
    assert one.vertices is not None
    n = len(one.rest)
    shift = n * np.arange(count, dtype=np.int32)[:, None, None]
    return CollisionSurface(
        np.tile(one.rest, (count, 1)),
        (one.triangles[None] + shift).reshape(-1, 3),
        edges=(one.edges[None] + shift).reshape(-1, 2) if not len(one.triangles) else None,
        vertices=(one.vertices[None] + shift[:, :, 0]).reshape(-1),
        radius=one.radius,
        name=name,
        keep_flat_edges=False,
    )

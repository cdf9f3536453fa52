"""Contacts between surfaces as constraint rows: soft bodies with each other, themselves, rigid bodies and colliders.

Contacts of nodes with colliders are found elsewhere, by the collider's distance; here are those of a collider's edges
and corners with the triangles and edges of soft bodies. Contacts of two rigid bodies are detected in `collision.rigid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.collision.broad_phase import CollisionMesh, CollisionSurface
from continua.collision.ccd import describe_overlaps, find_impacts, find_intersections
from continua.collision.collider_features import collider_edges
from continua.collision.proximity import ContactCandidates, find_candidates
from continua.contact_solver.constraint_rows import EMPTY_ROWS, ConstraintRows, contact_rows
from continua.contact_solver.options import Contact, ContactPairTable
from continua.errors import InputError
from continua.geometry.shape import Shape
from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance

__all__ = ["SurfaceBody", "SurfaceContacts"]

THICKNESS_FRACTION = 0.02
"""Distance that surfaces of meshes keep, as a fraction of the mean length of their edges."""

COLLIDER_DISTANCE_FRACTION = 0.1
"""Distance from edges and corners of colliders, as a fraction of that between meshes."""

CROSSED_MARGIN = 0.1
"""Distance below which surfaces count as crossing on their path, as a fraction of the distance that they keep."""

PROXIMITY_FRACTION = 0.5
"""Distance up to which pairs are found before they touch, as a fraction of the mean length of edges."""


@dataclass(frozen=True, eq=False)
class SurfaceBody:
    """The surface of a body for contact detection.

    Attributes:
        name: Its name.
        rest: Rest positions of its points [m], shape [n, 3].
        triangles: Its outer surface, shape [k, 3].
        rigid: Whether it is rigid; its points then have no velocities of their own.
        number: Its number in the pair table; None is its index among the bodies.
    """

    name: str
    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    rigid: bool = False
    number: int | None = None


class SurfaceContacts:
    """Detects contacts between the surfaces of a world.

    Args:
        bodies: The bodies, in the world's order.
        shapes: The colliders.
        contact: Contact options, of which only the thickness is used here.
        table: Pair table of the bodies and, last, the colliders.

    Attributes:
        mesh: All surfaces: the bodies, and then those colliders that have edges or corners.
        min_distance: Distance that two surfaces keep [m], shape [m, m].
        max_distance: Largest distance at which pairs are found [m], shape [m, m].
    """

    def __init__(
        self,
        bodies: Sequence[SurfaceBody],
        shapes: Sequence[Shape],
        contact: Contact,
        table: ContactPairTable,
    ) -> None:
        self.bodies = tuple(bodies)
        self.table = table
        self._number = [k if body.number is None else body.number for k, body in enumerate(self.bodies)]
        self_collision = np.diagonal(table.collide)
        surfaces = [
            CollisionSurface(
                np.asarray(body.rest),
                body.triangles,
                name=body.name,
                self_collision=bool(self_collision[k]) and not body.rigid,
            )
            for k, body in zip(self._number, self.bodies, strict=True)
        ]
        lengths = np.array([surface.edge_length for surface in surfaces])
        soft = [length for length, body in zip(lengths, bodies, strict=True) if not body.rigid]
        self._first_collider = len(table.friction) - len(shapes)
        self._shapes: list[Shape | None] = [None] * len(surfaces)
        for k, shape in enumerate(shapes):
            surface = collider_edges(shape, max(soft, default=0.0)) if soft else None
            if surface is not None:
                surfaces.append(surface)
                self._number.append(self._first_collider + k)
                self._shapes.append(shape)
        self.mesh = CollisionMesh(surfaces)
        self._set_distances(contact.thickness, lengths)

    def _set_distances(self, thickness: float | None, lengths: NDArray[np.float64]) -> None:
        """Set the distances to keep, and which surfaces are tested against which."""
        count, bodies = len(self.mesh.surfaces), len(self.bodies)
        length = np.concatenate([lengths, np.zeros(count - bodies)])
        own = THICKNESS_FRACTION * length if thickness is None else np.where(length > 0.0, thickness, 0.0)
        is_collider = np.arange(count) >= bodies
        rigid = np.array([body.rigid for body in self.bodies] + [True] * (count - bodies), dtype=bool)
        self._is_rigid = rigid & ~is_collider
        self._is_collider = is_collider
        min_distance = np.maximum(own[:, None], own[None, :])
        min_distance[is_collider[:, None] | is_collider[None, :]] *= COLLIDER_DISTANCE_FRACTION
        self.min_distance = min_distance
        self.max_distance = PROXIMITY_FRACTION * np.maximum(length[:, None], length[None, :]) + min_distance
        numbers = np.array(self._number, dtype=int)
        collide = self.table.collide[np.ix_(numbers, numbers)] & ~(rigid[:, None] & rigid[None, :])
        collide |= np.diag(np.diagonal(self.table.collide)[numbers] & ~rigid)
        # contacts of nodes with colliders are found by the collider's distance
        self.mesh.vertex_face_pairs = collide & ~is_collider[None, :]
        self.mesh.edge_edge_pairs = np.triu(collide)

    @property
    def any(self) -> bool:
        """Whether any surfaces can touch."""
        return bool(self.mesh.vertex_face_pairs.any())

    def _positions(self, positions: Sequence[NDArray[np.float64]], time: float) -> NDArray[np.float64]:
        """Return the positions of all points, those of colliders at `time` [s]."""
        parts = list(positions)
        for k in range(len(self.bodies), len(self.mesh.surfaces)):
            shape, rest = self._shapes[k], self.mesh.surfaces[k].rest
            assert shape is not None
            pose = shape.pose(time)
            parts.append(rest if pose is None else rest @ pose.rotation.T + pose.translation)
        return self.mesh.positions(parts)

    def find_close(
        self,
        start: Sequence[NDArray[np.float64]],
        end: Sequence[NDArray[np.float64]],
        time: float,
        dt: float,
        first_row: NDArray[np.integer],
        centers: NDArray[np.float64] | None = None,
        previous_keys: NDArray[np.int64] | None = None,
    ) -> ConstraintRows:
        """Return the contacts of surfaces that are close to each other or would be at the end of the step.

        Args:
            start: Positions of each body's points at the start [m], shape [n, 3] each.
            end: Positions at the end of the step without these contacts [m].
            time: Time at the start [s].
            dt: Time step [s].
            first_row: First row of each body in V.
            centers: Centres of mass of rigid bodies [m], shape [bodies, 3] (unused for soft bodies); or None.
            previous_keys: Keys of the contacts that were active in the last step; see `find_candidates`.
        """
        x0, x1 = self._positions(start, time), self._positions(end, time + dt)
        pairs = find_candidates(
            self.mesh,
            x0,
            x1 - x0,
            self.min_distance,
            max_distance=self.max_distance,
            previous_keys=previous_keys,
        )
        return self._rows(pairs, x0, x1, dt, first_row, centers)

    def find_crossings(
        self,
        start: Sequence[NDArray[np.float64]],
        end: Sequence[NDArray[np.float64]],
        time: float,
        dt: float,
        first_row: NDArray[np.integer],
        centers: NDArray[np.float64] | None = None,
    ) -> tuple[ConstraintRows, float]:
        """Return contacts of surfaces that cross on the path of a step, and the first time of impact (1 is never).

        The arguments are those of `find_close`; `end` is the result of the step. A solve with these rows added keeps
        the pairs apart; before the first time of impact nothing has crossed.
        """
        x0, x1 = self._positions(start, time), self._positions(end, time + dt)
        pairs = find_impacts(self.mesh, x0, x1, CROSSED_MARGIN * self.min_distance)
        first = float(pairs.times.min(initial=1.0))
        return self._rows(pairs, x0, x1, dt, first_row, centers), first

    def check_start(self, positions: Sequence[NDArray[np.float64]], time: float) -> str:
        """Check the initial positions: return a warning about bodies that intersect, or an empty string.

        Contact between such bodies is disabled, as the direction in which to separate them is not known. A collider
        that starts inside a body raises InputError.
        """
        x = self._positions(positions, time)
        found = find_intersections(self.mesh, x)
        both = ~(self._is_collider[found.a] | self._is_collider[found.b])
        overlaps = {(int(a), int(b)) for a, b in zip(found.a[both], found.b[both], strict=True)}
        for i in range(len(self.bodies)):
            for j in range(i + 1, len(self.bodies)):
                if self.mesh.vertex_face_pairs[i, j] and (
                    self._is_inside(i, j, x) or self._is_inside(j, i, x)
                ):
                    overlaps.add((i, j))
        for pairs in (self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs):
            for i, j in overlaps:
                pairs[i, j] = pairs[j, i] = False
        for k in range(len(self.bodies), len(self.mesh.surfaces)):
            for i in np.flatnonzero(self.mesh.vertex_face_pairs[k, : len(self.bodies)]).tolist():
                self._check_not_inside(k, i, x)
        return describe_overlaps(overlaps, [surface.name for surface in self.mesh.surfaces])

    def _surface_mesh(self, i: int, x: NDArray[np.float64]) -> SurfaceMesh:
        """Return the surface of body i."""
        first = self.mesh.first
        used, triangles = np.unique(self.mesh.surfaces[i].triangles, return_inverse=True)
        return SurfaceMesh(x[first[i] : first[i + 1]][used], triangles.reshape(-1, 3))

    def _is_inside(self, i: int, j: int, x: NDArray[np.float64]) -> bool:
        """Return whether points just below the surface of body i lie inside body j."""
        one, other = self._surface_mesh(i, x), self._surface_mesh(j, x)
        if (one.bounds[1] < other.bounds[0]).any() or (one.bounds[0] > other.bounds[1]).any():
            return False
        if not (other.is_closed and other.volume > 0.0):
            return False
        below = 1e-3 * min(self.mesh.surfaces[k].edge_length for k in (i, j))
        corners = one.points[one.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        inner = corners.mean(axis=1) - below * normals
        near = ((inner > other.bounds[0]) & (inner < other.bounds[1])).all(axis=1)
        return bool(near.any() and (ExactDistance(other)(inner[near]) < -0.5 * below).any())

    def _check_not_inside(self, k: int, i: int, x: NDArray[np.float64]) -> None:
        """Raise InputError if collider k lies inside body i, or a corner of it is deep inside."""
        first, surfaces = self.mesh.first, self.mesh.surfaces
        corners = x[first[k] + np.asarray(surfaces[k].vertices)]
        surface = self._surface_mesh(i, x)
        near = ((corners > surface.bounds[0]) & (corners < surface.bounds[1])).all(axis=1)
        if not near.any():
            return
        if not (surface.is_closed and surface.volume > 0.0):
            return
        depth = -ExactDistance(surface)(corners[near])
        if depth.max() > surfaces[i].edge_length or (near.all() and depth.min() > 0.0):
            number = self._number[k] - self._first_collider + 1
            raise InputError(
                f"collider {number} ({surfaces[k].name}) starts {depth.max():.3g} m inside body '{surfaces[i].name}'; "
                "move one of them away"
            )

    def intersection_count(self, positions: Sequence[NDArray[np.float64]], time: float) -> int:
        """Return how many edges pierce triangles."""
        return len(find_intersections(self.mesh, self._positions(positions, time)))

    def _rows(
        self,
        pairs: ContactCandidates,
        x0: NDArray[np.float64],
        x1: NDArray[np.float64],
        dt: float,
        first_row: NDArray[np.integer],
        centers: NDArray[np.float64] | None,
    ) -> ConstraintRows:
        """Convert pairs to rows; where side a is a collider, the sides are swapped."""
        if not len(pairs):
            return EMPTY_ROWS
        flip = np.where(self._is_collider[pairs.a], -1.0, 1.0)
        weights, normals = flip[:, None] * pairs.weights, flip[:, None] * pairs.normals
        a, b = np.where(flip < 0, pairs.b, pairs.a), np.where(flip < 0, pairs.a, pairs.b)
        surface = np.searchsorted(self.mesh.first, pairs.nodes, side="right") - 1
        rigid, is_collider = self._is_rigid[surface], self._is_collider[surface]
        offset = np.concatenate([first_row, np.zeros(len(self.mesh.surfaces) - len(self.bodies), int)])
        soft_rows = np.where(
            rigid | is_collider | (np.abs(weights) < 1e-9),
            -1,
            offset[surface] + pairs.nodes - self.mesh.first[surface],
        ).astype(np.int64)
        near = np.einsum("ck,cki->ci", np.abs(weights), x0[pairs.nodes]) / 2.0
        move = x1[pairs.nodes] - x0[pairs.nodes]
        surface_velocity = -np.einsum("ck,cki->ci", np.where(is_collider, weights, 0.0), move) / dt
        numbers = np.array(self._number, dtype=np.int64)
        extra = {}
        if self._is_rigid.any():
            sides = np.column_stack([a, b])
            assert centers is not None
            extra = {
                "rigid_rows": np.where(self._is_rigid[sides], offset[sides], -1),
                "rigid_signs": np.array([1.0, -1.0]),
                "rigid_centers": np.where(
                    self._is_rigid[sides][..., None], centers[np.minimum(sides, len(centers) - 1)], 0.0
                ),
            }
        return contact_rows(
            normals,
            near,
            pairs.gaps - self.min_distance[pairs.a, pairs.b],
            soft_rows=soft_rows,
            soft_weights=weights,
            surface_velocity=surface_velocity,
            friction=self.table.friction[numbers[a], numbers[b]],
            restitution=self.table.restitution[numbers[a], numbers[b]],
            key=pairs.keys,
            a=numbers[a],
            b=numbers[b],
            **extra,
        )

"""Detection of contacts between soft and rigid bodies in one substep, as constraint rows.

A node close to a rigid body gets the tangent plane at the body's closest point, gap + dt n.(v - v_c - w x r) >= 0. The
lever arm r reaches to the node itself, so that the impulses on the two sides have one line of action: momentum and
angular momentum are conserved. Other nodes are followed along their path in the axes of the moving body (see
`collision.colliders`). Edges and corners of rigid bodies touch triangles and edges of soft ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from continua.collision import ContactCandidates, find_candidates, find_impacts
from continua.collision.colliders import sphere_trace
from continua.contact_solver import EMPTY_ROWS, ConstraintRows, contact_rows, join_rows
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.rigid_surfaces import Poses, RigidSurfaces
from continua.coupling.contact.surface_contacts import CROSSED_MARGIN

__all__ = ["SoftRigidDetector", "already_separated"]

_NODE_KEY = 2**61
_ROUND_KEY = 2**56
_PROXIMITY_FACTOR = 2.0  # pairs are candidates within this many distances to keep
_FLAT_SINE = 1e-6  # contact bends the edges of soft bodies: any bend counts, so that pairs do not come and go
_DEPTH_FRACTION = 0.01  # fraction of the distance to keep by which a pair may end too close


class SoftRigidDetector:
    """Detects contacts in one substep.

    Args:
        surfaces: The rigid bodies.
        soft: The soft bodies that take part.
        starts: Their first rows in V.
        row: First row in V of every instance, -1 for those with prescribed motion and those not included, shape [n].
        included: Whether an instance takes part, shape [n].
        dt: Time step [s].
    """

    def __init__(
        self,
        surfaces: RigidSurfaces,
        soft: Sequence[DeformableAdapter],
        starts: Sequence[int],
        row: NDArray[np.int64],
        included: NDArray[np.bool_],
        dt: float,
    ) -> None:
        self.surfaces, self.soft, self.starts, self.row, self.dt = surfaces, soft, starts, row, dt
        self._included = included
        self._state = surfaces.system.rigid_state
        self._start = Poses.of(self._state.X, self._state.R)
        self._velocities = self._state.V.copy()
        self._has_plane: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._which = [surfaces.soft.index(adapter) for adapter in soft]

    def find_close(
        self, margins: Sequence[float], ends: Sequence[NDArray[np.float64]], end_poses: Poses
    ) -> ConstraintRows:
        """Return contacts of what is close at the start.

        Args:
            margins: Distance at which a node of each soft body counts as close [m].
            ends: Node positions of each at the end of the step without contacts [m].
            end_poses: Poses of the rigid instances at the end without contacts.
        """
        parts = []
        for i, margin in enumerate(margins):
            nodes, points = self.soft[i].candidate_nodes
            for instance, some in self._candidates(
                i, points, points, self._start, margin + self.soft[i].radius
            ):
                gaps, normals = self._distances(instance, points[some], self._start)
                gaps -= self.soft[i].radius
                close = np.flatnonzero(gaps <= margin)
                self._plane_flags(i, instance, len(nodes))[some[close]] = True
                parts.append(
                    self._node_rows(
                        i, instance, nodes[some[close]], points[some[close]], gaps[close], normals[close]
                    )
                )
        parts.append(self._pair_rows(self._find_candidates(ends, end_poses)))
        return join_rows(parts)

    def find_crossings(
        self,
        ends: Sequence[NDArray[np.float64]],
        end_poses: Poses,
        tolerances: Sequence[float],
        held: Sequence[NDArray[np.bool_]],
        V: NDArray[np.float64],
        rows: ConstraintRows,
        round_: int,
    ) -> ConstraintRows:
        """Return contacts of what penetrates something on its path.

        Args:
            ends: Node positions of each soft body at the end [m].
            end_poses: Poses of the rigid instances at the end.
            tolerances: Accepted depth for each soft body [m].
            held: Fixed nodes of each.
            V: The velocities that lead there.
            rows: Existing contacts.
            round_: Number of this round of detection in the substep.
        """
        parts = []
        for i, tolerance in enumerate(tolerances):
            nodes, points = self.soft[i].candidate_nodes
            to = ends[i][nodes]
            for instance, some in self._candidates(i, points, to, end_poses, tolerance):
                hit = self._trace(i, instance, points, to, some, end_poses, tolerance, len(nodes))
                which, gaps, normals, positions = hit
                if self.row[instance] < 0:
                    free = ~held[i][nodes[which]]
                    which, gaps, normals, positions = which[free], gaps[free], normals[free], positions[free]
                parts.append(
                    self._node_rows(i, instance, nodes[which], positions, gaps, normals, rows.key, round_)
                )
        parts.append(self._crossing_rows(ends, end_poses, V, rows, round_))
        return join_rows(parts)

    # --- nodes --------------------------------------------------------------------------------------------

    def _candidates(
        self, i: int, points: NDArray[np.float64], to: NDArray[np.float64], end_poses: Poses, margin: float
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Iterate over the instances that nodes of soft body i may touch on their paths, with these nodes."""
        p = self._state
        low, high = np.minimum(points, to), np.maximum(points, to)
        reach = p.radius[: p.count, None] + margin
        lower = np.minimum(self._start.X, end_poses.X)[: p.count] - reach
        upper = np.maximum(self._start.X, end_poses.X)[: p.count] + reach
        collide = self.surfaces.table.collide[self.soft[i].number, self.surfaces.numbers[p.owner[: p.count]]]
        near = (lower <= high.max(axis=0)).all(axis=1) & (upper >= low.min(axis=0)).all(axis=1)
        for instance in np.flatnonzero(near & collide & self._included[: p.count]).tolist():
            inside = (low <= upper[instance]).all(axis=1) & (high >= lower[instance]).all(axis=1)
            some = np.flatnonzero(inside)
            if len(some):
                yield instance, some

    def _plane_flags(self, i: int, instance: int, count: int) -> NDArray[np.bool_]:
        return self._has_plane.setdefault((i, instance), np.zeros(count, np.bool_))

    def _distances(
        self, instance: int, points: NDArray[np.float64], poses: Poses
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = self.surfaces.shapes[self._state.owner[instance]]
        gaps, normals = shape.distances((points - poses.X[instance]) @ poses.R[instance])
        return gaps, normals @ poses.R[instance].T

    def _trace(
        self,
        i: int,
        instance: int,
        points: NDArray[np.float64],
        to: NDArray[np.float64],
        some: NDArray[np.int64],
        end_poses: Poses,
        tolerance: float,
        count: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return nodes that hit an instance on their path, with gaps, normals and its points at the start."""
        shape, start = self.surfaces.shapes[self._state.owner[instance]], self._start
        a = (points[some] - start.X[instance]) @ start.R[instance]
        b = (to[some] - end_poses.X[instance]) @ end_poses.R[instance]
        gaps = shape.distances(a)[0]
        maybe = np.flatnonzero(gaps < np.linalg.norm(b - a, axis=1) - tolerance)
        has_plane = self._plane_flags(i, instance, count)
        a, b = a[maybe], b[maybe]
        fraction = sphere_trace(shape, a, b, gaps[maybe], ~has_plane[some[maybe]], tolerance)
        hits = np.flatnonzero(fraction <= 1.0)
        hit = a[hits] + fraction[hits, None] * (b[hits] - a[hits])
        depth, normal = shape.distances(hit)
        hit = hit - depth[:, None] * normal  # on the surface
        which = some[maybe[hits]]
        has_plane[which] = True
        place = hit @ start.R[instance].T + start.X[instance]
        # the plane rotates with the instance: its normal is that at the end, its point that at the start
        normal = normal @ end_poses.R[instance].T
        gap = np.einsum("ki,ki->k", normal, points[which] - place) - self.soft[i].radius
        return which, gap, normal, place

    def _node_rows(
        self,
        i: int,
        instance: int,
        nodes: NDArray[np.int32],
        points: NDArray[np.float64],
        gaps: NDArray[np.float64],
        normals: NDArray[np.float64],
        previous: NDArray[np.int64] | None = None,
        round_: int = 0,
    ) -> ConstraintRows:
        if not len(nodes):
            return EMPTY_ROWS
        number = self.soft[i].number
        key = _NODE_KEY + (number * len(self._included) + instance) * 2**32 + nodes.astype(np.int64)
        if previous is not None:
            key += np.where(np.isin(key, previous), round_ * _ROUND_KEY, 0)
        return self._rows(
            np.full(len(nodes), number), np.full(len(nodes), instance), normals, points, gaps, key,
            (self.starts[i] + nodes.astype(np.int64))[:, None], 1.0,
        )  # fmt: skip

    # --- edges and corners --------------------------------------------------------------------------------

    def _paths(
        self, ends: Sequence[NDArray[np.float64]], end_poses: Poses
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the positions of all points of the surfaces at the start and the end."""
        start = [adapter.positions for adapter in self.surfaces.soft]
        end = list(start)
        for i, where in zip(self._which, ends, strict=True):
            end[i] = where
        self.surfaces.restrict_to(self._which)
        return self.surfaces.points(start, self._start), self.surfaces.points(end, end_poses)

    def _find_candidates(self, ends: Sequence[NDArray[np.float64]], end_poses: Poses) -> ContactCandidates:
        x0, x1 = self._paths(ends, end_poses)
        s = self.surfaces
        return find_candidates(
            s.mesh,
            x0,
            x1 - x0,
            _PROXIMITY_FACTOR * s.min_distance,
            max_distance=s.max_distance,
            flat_sine=_FLAT_SINE,
        )

    def _crossing_rows(
        self,
        ends: Sequence[NDArray[np.float64]],
        end_poses: Poses,
        V: NDArray[np.float64],
        rows: ConstraintRows,
        round_: int,
    ) -> ConstraintRows:
        """Return pairs that cross, and new ones that end closer than allowed."""
        x0, x1 = self._paths(ends, end_poses)
        if not self.surfaces.mesh.vertex_face_pairs.any():
            return EMPTY_ROWS
        tolerance = _DEPTH_FRACTION * float(self.surfaces.min_distance.max())
        crossed = self._pair_rows(
            find_impacts(self.surfaces.mesh, x0, x1, CROSSED_MARGIN * self.surfaces.min_distance)
        )
        crossed = crossed.take(~already_separated(crossed, rows, V, self.dt, tolerance))
        near, previous = self._pair_rows(self._find_candidates(ends, end_poses)), rows.key
        near = near.take(~np.isin(near.key, previous) & ~np.isin(near.key, crossed.key))
        if not len(crossed):
            near = near.take(near.gap + self.dt * near.relative_velocities(V)[:, 0] < -tolerance)
        crossed.key = crossed.key - np.where(np.isin(crossed.key, previous), round_, 0)
        return join_rows([near, crossed])

    def _pair_rows(self, pairs: ContactCandidates) -> ConstraintRows:
        """Convert pairs to rows, with the soft body on side a."""
        if not len(pairs):
            return EMPTY_ROWS
        s, count = self.surfaces, len(self.surfaces.soft)
        flip = np.where(pairs.a >= count, -1.0, 1.0)
        weights, normals = flip[:, None] * pairs.weights, flip[:, None] * pairs.normals
        soft, rigid = np.minimum(pairs.a, pairs.b), np.maximum(pairs.a, pairs.b).astype(np.int64)
        first = s.mesh.first
        of_soft = pairs.nodes < first[count]
        at = np.argmax(~of_soft, axis=1)  # a point of the rigid body
        point = np.take_along_axis(pairs.nodes.astype(np.int64), at[:, None], axis=1)[:, 0] - first[rigid]
        instance = s.instance_of(rigid, point)
        x = s.mesh.positions([adapter.positions for adapter in s.soft])
        near = np.where(of_soft, pairs.nodes, 0)
        lever_point = np.einsum("ck,cki->ci", np.where(of_soft, np.abs(weights), 0.0), x[near])
        start = np.zeros(count, np.int64)
        start[self._which] = self.starts
        own = start[soft][:, None] + pairs.nodes - first[soft][:, None]
        rows = np.where(of_soft & (np.abs(weights) > 1e-9), own, -1)
        numbers = np.array([adapter.number for adapter in s.soft])
        made = self._rows(
            numbers[soft], instance, normals, lever_point, pairs.gaps - s.min_distance[pairs.a, pairs.b],
            -1 - pairs.keys, rows, weights,
        )  # fmt: skip
        return made.take(self._included[instance])

    # --- rows -----------------------------------------------------------------------------------------------

    def _rows(
        self,
        number: NDArray[np.int64],
        instance: NDArray[np.int64],
        normals: NDArray[np.float64],
        points: NDArray[np.float64],
        gaps: NDArray[np.float64],
        key: NDArray[np.int64],
        soft_rows: NDArray[np.int64],
        weights: NDArray[np.float64] | float,
    ) -> ConstraintRows:
        table, other = self.surfaces.table, self.surfaces.numbers[self._state.owner[instance]]
        row, V = self.row[instance], self._velocities[instance]
        arm = points - self._start.X[instance]
        prescribed = V[:, :3] + np.cross(V[:, 3:], arm)
        return contact_rows(
            normals,
            points,
            gaps,
            soft_rows=soft_rows,
            soft_weights=weights,
            rigid_rows=row[:, None],
            rigid_signs=-1.0,
            rigid_centers=self._start.X[instance][:, None],
            surface_velocity=np.where((row < 0)[:, None], prescribed, 0.0),
            friction=table.friction[number, other],
            restitution=table.restitution[number, other],
            key=key,
            a=number,
            b=other,
        )


def already_separated(
    crossed: ConstraintRows, rows: ConstraintRows, V: NDArray[np.float64], dt: float, tolerance: float
) -> NDArray[np.bool_]:
    """Return which pairs only seem to cross: they start too close, and an existing contact separates them by the end.

    Args:
        find_crossings: Pairs that come too near on their way.
        rows: Contacts that there are.
        V: The velocities.
        dt: Time step [s].
        tolerance: Accepted depth [m].
    """
    order = np.argsort(rows.key, kind="stable")
    at = np.searchsorted(rows.key[order], crossed.key)
    found = at < len(order)
    found[found] = rows.key[order[at[found]]] == crossed.key[found]
    same = order[at[found]]
    apart = np.zeros(len(crossed), np.bool_)
    end = rows.gap[same] + dt * rows.relative_velocities(V)[same, 0]
    apart[found] = (crossed.gap[found] < 0.0) & (end >= np.minimum(rows.gap[same], 0.0) - tolerance)
    return apart

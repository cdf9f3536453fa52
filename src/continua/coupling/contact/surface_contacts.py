"""Contacts between surfaces as constraint rows: soft bodies with each other, themselves, rigid bodies and colliders.

Contacts of nodes with colliders are found elsewhere, by the collider's distance; here are those of a collider's edges
and corners with the triangles and edges of soft bodies. A collider that deforms has all its contacts here, like a body.
Contacts of two rigid bodies are detected in `collision.rigid`.

A body in several pieces has one surface for each. Pieces touch each other whether or not the body may touch itself.
They were one, and their faces may coincide when they separate. So nothing pushes them apart: where two are closer than
the distance that surfaces keep, the distance to keep is that at the start of the step. It grows as they open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.collision.broad_phase import CollisionMesh, CollisionSurface
from continua.collision.ccd import (
    Intersections,
    describe_overlaps,
    find_collider_impacts,
    find_impacts,
    find_intersections,
    find_passages,
)
from continua.collision.collider_features import collider_edges
from continua.collision.colliders import PoseCache
from continua.collision.proximity import ContactCandidates, find_candidates
from continua.contact_solver.constraint_rows import EMPTY_ROWS, ConstraintRows, contact_rows
from continua.contact_solver.contact_body import ContactSurface
from continua.contact_solver.options import Contact, ContactPairTable
from continua.errors import InputError
from continua.geometry import AnimatedMeshShape, Shape
from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance

__all__ = ["Passages", "SurfaceBody", "SurfaceContacts"]

THICKNESS_FRACTION = 0.02
"""Distance that surfaces of meshes keep, as a fraction of the mean length of their edges."""

COLLIDER_DISTANCE_FRACTION = 0.1
"""Distance from edges and corners of colliders, as a fraction of that between meshes."""

CROSSED_MARGIN = 0.1
"""Distance below which surfaces count as crossing on their path, as a fraction of the distance that they keep."""

BELOW_FRACTION = 1e-3
"""Depth of points just below a surface, as a fraction of the mean length of its edges."""

MAX_FEATURE_DEPTH = 0.4
"""Depth up to which contact pushes an edge or corner out of a soft body, as a fraction of the mean length of edges."""

NOTE_FRACTION = 0.02
"""Depth from which an overlap is noted, as a fraction of the size of elements or of a rigid body."""

MOVE_APART = "move them apart, or set 'collide' of this pair to false"
"""What to do about two participants that overlap at the start."""

RECOVERY_RATE = 0.2
"""Fraction of a missing distance between sheets that is recovered in a step: all at once would add kinetic energy."""

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
        two_sided: Whether others touch it from both sides; see `ContactSurface`.
        thickness: Thickness of the matter around a two-sided surface [m].
        pieces: The piece of each triangle, shape [k]; None is one piece.
        edges: Edges of a body without triangles, see `ContactSurface`.
        vertices: Nodes of such a body that touch others.
    """

    name: str
    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    rigid: bool = False
    number: int | None = None
    two_sided: bool = False
    thickness: float = 0.0
    pieces: NDArray[np.int32] | None = None
    edges: NDArray[np.int32] | None = None
    vertices: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, name: str, surface: ContactSurface, number: int) -> SurfaceBody:
        """Return the surface that a deformable body offers."""
        return cls(
            name,
            surface.rest,
            surface.triangles,
            number=number,
            two_sided=surface.two_sided,
            thickness=surface.thickness,
            pieces=surface.pieces,
            edges=surface.edges,
            vertices=surface.vertices,
        )

    def collision_surfaces(
        self, body: int, self_collision: bool
    ) -> list[tuple[CollisionSurface, NDArray[np.int64]]]:
        """Return a surface for each piece, with the nodes of the body that are its points."""

        def surface(rest: NDArray[np.float64], triangles: NDArray, body: int) -> CollisionSurface:
            return CollisionSurface(
                rest,
                triangles,
                self.edges,
                self.vertices,
                radius=0.5 * self.thickness,
                name=self.name,
                self_collision=self_collision,
                two_sided=self.two_sided,
                body=body,
            )

        if self.pieces is None:
            return [(surface(np.asarray(self.rest), self.triangles, -1), np.arange(len(self.rest)))]
        parts = []
        for piece in range(int(self.pieces.max()) + 1):
            nodes, local = np.unique(self.triangles[self.pieces == piece], return_inverse=True)
            parts.append((surface(self.rest[nodes], local.reshape(-1, 3), body), nodes.astype(np.int64)))
        return parts


@dataclass(frozen=True, eq=False)
class Passages:
    """Pairs of surfaces that pass through each other.

    Attributes:
        pairs: The pairs.
        body: The body of each of their points, -1 for those of colliders and rigid bodies, shape [c, 4].
        node: The node of each point in its body, shape [c, 4].
        other: The collider, or the rigid instance, of each pair, or -1, shape [c].
        given: Displacement that it adds to the relative one [m], shape [c, 3].
        keep: Distance that counts as passing [m], shape [c].
        points: Where they are at the start [m], shape [c, 3].
    """

    pairs: ContactCandidates
    body: NDArray[np.int64]
    node: NDArray[np.int64]
    other: NDArray[np.int64]
    given: NDArray[np.float64]
    keep: NDArray[np.float64]
    points: NDArray[np.float64]


class SurfaceContacts:
    """Detects contacts between the surfaces of a world.

    Args:
        bodies: The bodies, in the world's order.
        shapes: The colliders.
        contact: Contact options, of which only the thickness is used here.
        table: Pair table of the bodies and, last, the colliders.
        poses: Poses of the colliders in a step; None asks the colliders.

    Attributes:
        mesh: All surfaces: the pieces of the bodies, and then those colliders that have edges or corners.
        body_of_surface: The body of each of the first surfaces, shape [p].
        min_distance: Distance that two surfaces keep [m], shape [m, m].
        max_distance: Largest distance at which pairs are found [m], shape [m, m].
        overlapping: Numbers of bodies that intersected at the start and do not touch each other.
        found_none: Whether the last `find_crossings` found nothing at all that comes too close.
    """

    overlapping: frozenset[tuple[int, int]] = frozenset()
    found_none = False

    def __init__(
        self,
        bodies: Sequence[SurfaceBody],
        shapes: Sequence[Shape],
        contact: Contact,
        table: ContactPairTable,
        poses: PoseCache | None = None,
    ) -> None:
        self.bodies = tuple(bodies)
        self.table = table
        self._poses = poses
        numbers = [k if body.number is None else body.number for k, body in enumerate(self.bodies)]
        surfaces: list[CollisionSurface] = []
        self._number: list[int] = []
        owner: list[int] = []
        nodes: list[NDArray[np.int64]] = []
        for k, (number, body) in enumerate(zip(numbers, self.bodies, strict=True)):
            self_collision = bool(table.collide[number, number]) and not body.rigid
            for surface, own in body.collision_surfaces(k, self_collision):
                surfaces.append(surface)
                nodes.append(own)
                owner.append(k)
                self._number.append(number)
        self.body_of_surface = np.array(owner, dtype=np.int64)
        lengths = np.array([surface.edge_length for surface in surfaces])
        soft = [length for length, k in zip(lengths, owner, strict=True) if not self.bodies[k].rigid]
        self._first_collider = len(table.friction) - len(shapes)
        self._shapes: list[Shape | None] = [None] * len(surfaces)
        for k, shape in enumerate(shapes):
            collider = collider_edges(shape, max(soft, default=0.0)) if soft else None
            if collider is not None:
                collider.is_static = shape.motion is None and not isinstance(shape, AnimatedMeshShape)
                surfaces.append(collider)
                nodes.append(np.arange(len(collider.rest)))
                self._number.append(self._first_collider + k)
                self._shapes.append(shape)
        self._nodes = nodes
        self._node_of_point = np.concatenate([np.zeros(0, np.int64), *nodes])
        ids = [number * 2**32 + own for number, own in zip(self._number, nodes, strict=True)]
        self.mesh = CollisionMesh(surfaces, np.concatenate([np.zeros(0, np.int64), *ids]))
        self._rest = self.mesh.topology.rest
        self._surface_of_point = np.repeat(np.arange(len(surfaces)), np.diff(self.mesh.first))
        self._numbers = np.array(self._number, dtype=np.int64)
        self._set_distances(contact.thickness, lengths)

    def _set_distances(self, thickness: float | None, lengths: NDArray[np.float64]) -> None:
        """Set the distances to keep, and which surfaces are tested against which."""
        count, own_count = len(self.mesh.surfaces), len(self.body_of_surface)
        length = np.concatenate([lengths, np.zeros(count - own_count)])
        own = THICKNESS_FRACTION * length if thickness is None else np.where(length > 0.0, thickness, 0.0)
        is_collider = np.arange(count) >= own_count
        is_rigid = [self.bodies[k].rigid for k in self.body_of_surface] + [True] * (count - own_count)
        rigid = np.array(is_rigid, dtype=bool)
        self._is_rigid = rigid & ~is_collider
        self._is_collider = is_collider
        self._is_sheet = np.array([surface.two_sided for surface in self.mesh.surfaces], np.bool_)
        min_distance = np.maximum(own[:, None], own[None, :])
        min_distance[is_collider[:, None] | is_collider[None, :]] *= COLLIDER_DISTANCE_FRACTION
        pieces = self._pieces_of_one_body()
        longer = np.maximum(length[:, None], length[None, :])
        self._pieces = pieces
        self.min_distance = np.where(
            pieces, np.maximum(THICKNESS_FRACTION * longer, min_distance), min_distance
        )
        self.max_distance = PROXIMITY_FRACTION * longer + self.min_distance
        numbers = np.array(self._number, dtype=int)
        collide = self.table.collide[np.ix_(numbers, numbers)] & ~(rigid[:, None] & rigid[None, :])
        collide |= np.diag(np.diagonal(self.table.collide)[numbers] & ~rigid)
        collide = np.where(pieces, self.table.pieces_collide[numbers], collide)
        # contacts of nodes with colliders that do not deform are found by the collider's distance
        by_distance = np.array([shape is not None and not shape.deforms for shape in self._shapes], np.bool_)
        self.mesh.vertex_face_pairs = collide & ~by_distance[None, :]
        self.mesh.edge_edge_pairs = np.triu(collide)
        self._pairs = (self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs)

    def _pieces_of_one_body(self) -> NDArray[np.bool_]:
        """Return which surfaces are different pieces of one closed body, shape [m, m]."""
        kinds = self.mesh.kinds
        if kinds is None:
            return np.zeros((len(self.mesh.surfaces),) * 2, np.bool_)
        body, closed = kinds.body, ~kinds.two_sided
        pieces = (body[:, None] == body[None, :]) & ((body >= 0) & closed)[:, None]
        np.fill_diagonal(pieces, False)
        return pieces

    @property
    def collide(self) -> NDArray[np.bool_]:
        """Whether vertices of the row's surface may touch triangles of the column's, of all bodies, shape [m, m]."""
        return self._pairs[0]

    @property
    def bodies_collide(self) -> bool:
        """Whether any two bodies, or a body and itself, may touch."""
        count = len(self.body_of_surface)
        return bool(self.collide[:count, :count].any())

    def restrict_to(self, bodies: NDArray[np.bool_]) -> bool:
        """Detect only contacts of these bodies [k] and the colliders; returns whether any surfaces can touch."""
        if bodies.all():
            self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs = self._pairs
            return self.any
        some = np.ones(len(self.mesh.surfaces), np.bool_)
        some[: len(self.body_of_surface)] = bodies[self.body_of_surface]
        mask = some[:, None] & some[None, :]
        self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs = self._pairs[0] & mask, self._pairs[1] & mask
        return self.any

    @property
    def any(self) -> bool:
        """Whether any surfaces can touch."""
        return bool(self.mesh.vertex_face_pairs.any())

    def _positions(self, positions: Sequence[NDArray[np.float64]], time: float) -> NDArray[np.float64]:
        """Return the positions of all points, those of colliders at `time` [s]."""
        x = self._rest.copy()
        first = self.mesh.first
        for m, k in enumerate(self.body_of_surface.tolist()):
            whole = self.bodies[k].pieces is None
            x[first[m] : first[m + 1]] = positions[k] if whole else positions[k][self._nodes[m]]
        for m in range(len(self.body_of_surface), len(self.mesh.surfaces)):
            shape = self._shapes[m]
            assert shape is not None
            if isinstance(shape, AnimatedMeshShape):
                x[first[m] : first[m + 1]] = shape.positions_at(time)
            elif shape.motion is not None:
                pose = shape.pose(time) if self._poses is None else self._poses.at(shape, time)
                if pose is not None:
                    rest = self.mesh.surfaces[m].rest
                    x[first[m] : first[m + 1]] = rest @ pose.rotation.T + pose.translation
        return x

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
        previous_keys: NDArray[np.int64] | None = None,
    ) -> tuple[ConstraintRows, float]:
        """Return contacts of surfaces that cross on the path of a step, and the first time of impact (1 is never).

        The arguments are those of `find_close`; `end` is the result of the step. A solve with these rows added keeps
        the pairs apart; before the first time of impact nothing has crossed.
        """
        x0, x1 = self._positions(start, time), self._positions(end, time + dt)
        pairs = find_impacts(self.mesh, x0, x1, CROSSED_MARGIN * self.min_distance, previous_keys)
        self.found_none = not len(pairs)
        # pairs that are too close from the start have no side from which they came; `find_close` separates them
        pairs = pairs.take(pairs.times > 0.0)
        first = float(pairs.times.min(initial=1.0))
        return self._rows(pairs, x0, x1, dt, first_row, centers), first

    def find_passages(
        self,
        start: Sequence[NDArray[np.float64]],
        end: Sequence[NDArray[np.float64]],
        time: float,
        dt: float,
    ) -> Passages:
        """Return the pairs of surfaces that pass through each other on their paths, whatever their distance.

        The arguments are those of `find_close`.
        """
        x0, x1 = self._positions(start, time), self._positions(end, time + dt)
        pairs = find_passages(self.mesh, x0, x1, CROSSED_MARGIN * self.min_distance)
        surface = self._surface_of_point[pairs.nodes]
        count = len(self.body_of_surface)
        body = np.where(surface < count, np.append(self.body_of_surface, -1)[np.minimum(surface, count)], -1)
        numbers = np.where(body < 0, self._numbers[surface], -1).max(axis=1, initial=-1)
        collider = np.where(numbers >= 0, numbers - self._first_collider, -1)
        given = np.einsum("ck,cki->ci", np.where(body < 0, pairs.weights, 0.0), (x1 - x0)[pairs.nodes])
        keep = CROSSED_MARGIN * self.min_distance[pairs.a, pairs.b]
        points = np.einsum("ck,cki->ci", np.abs(pairs.weights), x0[pairs.nodes]) / 2.0
        return Passages(pairs, body, self._node_of_point[pairs.nodes], collider, given, keep, points)

    def tangled_nodes(
        self, positions: Sequence[NDArray[np.float64]], time: float
    ) -> tuple[list[NDArray[np.bool_]], Intersections, NDArray[np.float64]]:
        """Return which nodes of each body belong to edges and triangles that pierce each other; these; positions."""
        x = self._positions(positions, time)
        found = find_intersections(self.mesh, x)
        points = np.zeros(len(x), np.bool_)
        points[self.mesh.triangle_bvh.cells[found.triangles]] = True
        points[self.mesh.edge_bvh.cells[found.edges]] = True
        beside = self.mesh.topology.edge_triangles[found.edges]
        points[self.mesh.triangle_bvh.cells[beside[beside >= 0]]] = True
        nodes = [np.zeros(len(body.rest), np.bool_) for body in self.bodies]
        for m, k in enumerate(self.body_of_surface.tolist()):
            nodes[k][self._nodes[m]] |= points[self.mesh.first[m] : self.mesh.first[m + 1]]
        return nodes, found, x

    def check_start(
        self, positions: Sequence[NDArray[np.float64]], time: float, only: frozenset[int] | None = None
    ) -> tuple[str, ...]:
        """Check the initial positions: return warnings about bodies that intersect each other or colliders.

        With `only`, pairs count in which one of these numbers takes part.

        Contact between such bodies is disabled, as the direction in which to separate them is not known. A collider
        that starts deep inside a body raises InputError.
        """
        x = self._positions(positions, time)
        found = find_intersections(self.mesh, x)
        # the faces of pieces may coincide, where rounding decides whether they intersect
        both = ~(self._is_collider[found.a] | self._is_collider[found.b] | self._pieces[found.a, found.b])
        overlaps = {(int(a), int(b)) for a, b in zip(found.a[both], found.b[both], strict=True)}
        count = len(self.body_of_surface)
        overlaps |= self._nested(x)
        fresh = [only is None or number in only for number in self._number]
        overlaps = {(i, j) for i, j in overlaps if fresh[i] or fresh[j]}
        self._disable(overlaps)
        self.overlapping |= frozenset((self._number[i], self._number[j]) for i, j in overlaps)
        notes = [
            self._check_not_inside(k, i, x, time)
            for k in range(count, len(self.mesh.surfaces))
            for i in np.flatnonzero(self.mesh.vertex_face_pairs[k, :count]).tolist()
            if fresh[k] or fresh[i]
        ]
        for k in range(count, len(self.mesh.surfaces)):
            for i in np.flatnonzero(self.mesh.vertex_face_pairs[k, :count]).tolist():
                if fresh[k] or fresh[i]:
                    self._check_outside(k, i, x)
        self._pairs = (self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs)
        warning = describe_overlaps(
            overlaps,
            [surface.name for surface in self.mesh.surfaces],
            lambda i, j: self._depth(i, j, x),
            lambda i, j: self._place(found, i, j, x),
        )
        return tuple(text for text in (warning, *notes) if text)

    def _place(self, found: Intersections, i: int, j: int, x: NDArray[np.float64]) -> str:
        """Return how many triangles of two surfaces intersect, and where."""
        both = ((found.a == i) & (found.b == j)) | ((found.a == j) & (found.b == i))
        pierced = np.unique(found.triangles[both])
        if not len(pierced):
            return ""
        corners = x[self.mesh.triangle_bvh.cells[pierced[0]]]
        at = ", ".join(f"{value:.3g}" for value in corners.mean(axis=0))
        return f", in {len(pierced)} triangle{'s' * (len(pierced) > 1)}, one at ({at}) m,"

    def _depth(self, i: int, j: int, x: NDArray[np.float64]) -> float:
        """Return how deep points of two closed surfaces lie inside each other [m]."""
        one, other = self._surface_mesh(i, x), self._surface_mesh(j, x)
        return max(max_depth(one, other.points), max_depth(other, one.points))

    def disable_overlapping(self, overlapping: frozenset[tuple[int, int]]) -> None:
        """Disable contact between bodies that intersected at the start, by their numbers; see `overlapping`."""
        count = len(self.body_of_surface)
        self._disable(
            (i, j)
            for i in range(count)
            for j in range(count)
            if (self._number[i], self._number[j]) in overlapping
            and (self._number[i] != self._number[j] or i == j)
        )
        self.overlapping = overlapping
        self._pairs = (self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs)

    def _disable(self, surfaces: Iterable[tuple[int, int]]) -> None:
        for i, j in surfaces:
            for pairs in (self.mesh.vertex_face_pairs, self.mesh.edge_edge_pairs):
                pairs[i, j] = pairs[j, i] = False

    def _nested(self, x: NDArray[np.float64]) -> set[tuple[int, int]]:
        """Return the pairs of surfaces of bodies of which one is partly inside the other."""
        parts = np.split(x, self.mesh.first[1:-1])[: len(self.body_of_surface)]
        boxes = [np.concatenate([own.min(axis=0), own.max(axis=0)]) for own in parts]
        solid = [len(self.mesh.surfaces[i].triangles) > 0 for i in range(len(boxes))]  # ropes enclose nothing
        meshes = [self._surface_mesh(i, x) if solid[i] else None for i in range(len(boxes))]
        distances: dict[int, ExactDistance] = {}
        nested = set()
        for i, one in enumerate(boxes):
            for j, other in enumerate(boxes[:i]):
                if (
                    not self.mesh.vertex_face_pairs[j, i]
                    or (one[3:] < other[:3]).any()
                    or (one[:3] > other[3:]).any()
                ):
                    continue
                if not (solid[i] and solid[j]):
                    continue
                if self._is_inside(j, i, meshes, distances) or self._is_inside(i, j, meshes, distances):
                    nested.add((j, i))
        return nested

    def _surface_mesh(self, i: int, x: NDArray[np.float64]) -> SurfaceMesh:
        """Return the surface of body i."""
        first = self.mesh.first
        used, triangles = np.unique(self.mesh.surfaces[i].triangles, return_inverse=True)
        return SurfaceMesh(x[first[i] : first[i + 1]][used], triangles.reshape(-1, 3))

    def _is_inside(
        self, i: int, j: int, meshes: Sequence[SurfaceMesh | None], distances: dict[int, ExactDistance]
    ) -> bool:
        """Return whether points just below surface i lie inside surface j; `distances` are those made before."""
        one, other = meshes[i], meshes[j]
        assert one is not None
        assert other is not None
        if (one.bounds[1] < other.bounds[0]).any() or (one.bounds[0] > other.bounds[1]).any():
            return False
        if self.mesh.surfaces[j].two_sided or not (other.is_closed and other.volume > 0.0):
            return False
        below = BELOW_FRACTION * min(self.mesh.surfaces[k].edge_length for k in (i, j))
        corners = one.points[one.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        inner = corners.mean(axis=1) - below * normals
        near = ((inner > other.bounds[0]) & (inner < other.bounds[1])).all(axis=1)
        if not near.any():
            return False
        if j not in distances:
            distances[j] = ExactDistance(other)
        return bool((distances[j](inner[near]) < -0.5 * below).any())

    def _check_not_inside(self, k: int, i: int, x: NDArray[np.float64], time: float) -> str:
        """Raise InputError if collider k lies inside body i or passes through it, or a corner of it is deep inside.

        Returns a note if a corner is a little inside, or an empty string.
        """
        first, surfaces = self.mesh.first, self.mesh.surfaces
        if surfaces[i].two_sided:
            return ""
        corners = x[first[k] + np.asarray(surfaces[k].vertices)]
        surface = self._surface_mesh(i, x)
        depth = max_depth(surface, corners)
        length = surfaces[i].edge_length
        number = self._number[k] - self._first_collider + 1
        name, body = f"collider {number} ({surfaces[k].name})", f"body '{surfaces[i].name}'"
        if depth == 0.0 and self._passes_through(k, i, x, time):
            raise InputError(f"{name} passes through {body} at the start; {MOVE_APART}")
        if depth <= NOTE_FRACTION * length:
            return ""
        said = f"{name} starts {depth:.3g} m inside {body}"
        if depth > MAX_FEATURE_DEPTH * length or (ExactDistance(surface)(corners) < 0.0).all():
            raise InputError(f"{said}; {MOVE_APART}")
        return f"{said}; contact pushes it out in the first steps: {MOVE_APART}"

    def _passes_through(self, k: int, i: int, x: NDArray[np.float64], time: float) -> bool:
        """Return whether edges of body i enter and leave collider k on opposite sides, as those around a thin wall."""
        shape, first = self._shapes[k], self.mesh.first
        assert shape is not None
        a, b = (x[first[i] + np.asarray(self.mesh.surfaces[i].edges)[:, end]] for end in (0, 1))
        there, back = (find_collider_impacts(shape, *path, time, 0.0) for path in ((a, b), (b, a)))
        _, one, other = np.intersect1d(there.points, back.points, return_indices=True)
        outside = (there.gaps[one] > 0.0) & (back.gaps[other] > 0.0)
        opposite = np.einsum("ki,ki->k", there.normals[one], back.normals[other]) < -0.5
        return bool((outside & opposite).any())

    def _check_outside(self, k: int, i: int, x: NDArray[np.float64]) -> None:
        """Raise InputError if body i starts inside collider k, which deforms: it would not be pushed out."""
        shape = self._shapes[k]
        if not isinstance(shape, AnimatedMeshShape) or shape.two_sided:
            return
        surface, points = self._surface_mesh(k, x), self._surface_mesh(i, x).points
        near = ((points > surface.bounds[0]) & (points < surface.bounds[1])).all(axis=1)
        if not near.any():
            return
        depth = -float(ExactDistance(surface)(points[near]).min())
        if depth > PROXIMITY_FRACTION * self.mesh.surfaces[i].edge_length:
            number = self._number[k] - self._first_collider + 1
            raise InputError(
                f"body '{self.mesh.surfaces[i].name}' starts {depth:.3g} m inside collider {number} ({shape.kind}); "
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
        surface = self._surface_of_point[pairs.nodes]
        rigid, is_collider = self._is_rigid[surface], self._is_collider[surface]
        own = np.asarray(first_row)[self.body_of_surface]
        offset = np.concatenate([own, np.zeros(len(self.mesh.surfaces) - len(own), int)])
        soft_rows = np.where(
            rigid | is_collider | (np.abs(weights) < 1e-9),
            -1,
            offset[surface] + self._node_of_point[pairs.nodes],
        ).astype(np.int64)
        near = np.einsum("ck,cki->ci", np.abs(weights), x0[pairs.nodes]) / 2.0
        move = x1[pairs.nodes] - x0[pairs.nodes]
        surface_velocity = -np.einsum("ck,cki->ci", np.where(is_collider, weights, 0.0), move) / dt
        full, pieces = self.min_distance[pairs.a, pairs.b], self._pieces[pairs.a, pairs.b]
        kept = np.where(pieces, np.clip(pairs.gaps, 0.0, full), full)
        numbers = self._numbers
        extra = {}
        if self._is_rigid.any():
            sides = np.column_stack([a, b])
            assert centers is not None
            body = np.concatenate([self.body_of_surface, np.zeros(len(offset) - len(own), np.int64)])
            extra = {
                "rigid_rows": np.where(self._is_rigid[sides], offset[sides], -1),
                "rigid_signs": np.array([1.0, -1.0]),
                "rigid_centers": np.where(self._is_rigid[sides][..., None], centers[body[sides]], 0.0),
            }
        gap = pairs.gaps - kept
        sheets = self._is_sheet[pairs.a] | self._is_sheet[pairs.b]
        return contact_rows(
            normals,
            near,
            np.where(sheets & (gap < 0.0), RECOVERY_RATE * gap, gap),
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


def max_depth(surface: SurfaceMesh, points: NDArray[np.float64]) -> float:
    """Return how deep the deepest point lies inside a closed surface [m], or 0."""
    near = ((points > surface.bounds[0]) & (points < surface.bounds[1])).all(axis=1)
    if not near.any() or not (surface.is_closed and surface.volume > 0.0):
        return 0.0
    return max(0.0, -float(ExactDistance(surface)(points[near]).min()))

"""Contacts between surfaces, as rows: soft bodies with each other, with themselves, with rigid bodies and obstacles.

Nodes of soft bodies against obstacles are found elsewhere, by the obstacle's distance; here its edges and corners meet
the triangles and edges of soft bodies. Two rigid bodies have a search of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.contact.broad import Member, Surfaces
from continua.contact.continuous import describe_overlaps, find_crossings, find_intersections
from continua.contact.features import shape_member
from continua.contact.options import Contact, PairTable
from continua.contact.proximity import Pairs, find_pairs
from continua.contact.rows import NO_ROWS, ContactRows, contact_rows
from continua.contact.shapes import Shape
from continua.errors import InputError
from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance

__all__ = ["SurfaceContacts", "TouchingBody"]

THIN = 0.02
"""Distance that surfaces of meshes keep, as a part of the mean length of their edges."""

NEAR = 0.1
"""Distance from edges and corners of obstacles, as a part of that between meshes."""

CROSSED = 0.1
"""Distance below which surfaces count as crossing on their way, as a part of the distance that they keep."""

EARLY = 0.5
"""Distance up to which pairs are found before they touch, as a part of the mean length of edges."""


@dataclass(frozen=True, eq=False)
class TouchingBody:
    """A body as the search sees it.

    Attributes:
        name: Its name.
        rest: Positions of its points at rest [m], shape [n, 3].
        triangles: Its outer surface, shape [k, 3].
        rigid: Whether it moves as one; its points then have no velocities of their own.
        number: Its number in the table of pairs; None is its place among the bodies.
    """

    name: str
    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    rigid: bool = False
    number: int | None = None


class SurfaceContacts:
    """Finds contacts between the surfaces of a world.

    Args:
        bodies: The bodies, in the world's order.
        shapes: The obstacles.
        contact: What the user says; of it only the thickness is read.
        table: Friction, restitution and who touches whom, over bodies and, as the last, obstacles.

    Attributes:
        surfaces: All surfaces; members are the bodies and then those obstacles that have edges or corners.
        keep: Distance that two members keep [m], shape [m, m].
    """

    def __init__(
        self, bodies: Sequence[TouchingBody], shapes: Sequence[Shape], contact: Contact, table: PairTable
    ) -> None:
        self.bodies = tuple(bodies)
        self.table = table
        self._number = [k if body.number is None else body.number for k, body in enumerate(self.bodies)]
        own = np.diagonal(table.touch)
        members = [
            Member(np.asarray(body.rest), body.triangles, name=body.name, own=bool(own[k]) and not body.rigid)
            for k, body in zip(self._number, self.bodies, strict=True)
        ]
        lengths = np.array([member.edge_length for member in members])
        soft = [length for length, body in zip(lengths, bodies, strict=True) if not body.rigid]
        self._first_collider = len(table.friction) - len(shapes)
        self._shapes: list[Shape | None] = [None] * len(members)
        for k, shape in enumerate(shapes):
            member = shape_member(shape, max(soft, default=0.0)) if soft else None
            if member is not None:
                members.append(member)
                self._number.append(self._first_collider + k)
                self._shapes.append(shape)
        self.surfaces = Surfaces(members)
        self._set_distances(contact.thickness, lengths)

    def _set_distances(self, thickness: float | None, lengths: NDArray[np.float64]) -> None:
        """Work out the distances to keep, and who is tested against whom."""
        count, bodies = len(self.surfaces.members), len(self.bodies)
        length = np.concatenate([lengths, np.zeros(count - bodies)])
        own = THIN * length if thickness is None else np.where(length > 0.0, thickness, 0.0)
        obstacle = np.arange(count) >= bodies
        rigid = np.array([body.rigid for body in self.bodies] + [True] * (count - bodies), dtype=bool)
        self._is_rigid = rigid & ~obstacle
        self._is_obstacle = obstacle
        keep = np.maximum(own[:, None], own[None, :])
        keep[obstacle[:, None] | obstacle[None, :]] *= NEAR
        self.keep = keep
        self.limit = EARLY * np.maximum(length[:, None], length[None, :]) + keep
        numbers = np.array(self._number, dtype=int)
        touch = self.table.touch[np.ix_(numbers, numbers)] & ~(rigid[:, None] & rigid[None, :])
        touch |= np.diag(np.diagonal(self.table.touch)[numbers] & ~rigid)
        # nodes of bodies against obstacles are found by the obstacle's own distance
        self.surfaces.face_pairs = touch & ~obstacle[None, :]
        self.surfaces.edge_pairs = np.triu(touch)

    @property
    def any(self) -> bool:
        """Whether there is anything to search for."""
        return bool(self.surfaces.face_pairs.any())

    def _places(self, positions: Sequence[NDArray[np.float64]], time: float) -> NDArray[np.float64]:
        """Return the positions of all points, those of obstacles at `time` [s]."""
        parts = list(positions)
        for k in range(len(self.bodies), len(self.surfaces.members)):
            shape, rest = self._shapes[k], self.surfaces.members[k].rest
            assert shape is not None
            pose = shape.pose(time)
            parts.append(rest if pose is None else rest @ pose.turn.T + pose.shift)
        return self.surfaces.positions(parts)

    def find(
        self,
        start: Sequence[NDArray[np.float64]],
        end: Sequence[NDArray[np.float64]],
        time: float,
        dt: float,
        first_row: NDArray[np.integer],
        centers: NDArray[np.float64] | None = None,
        known: NDArray[np.int64] | None = None,
    ) -> ContactRows:
        """Return the contacts of bodies that are near each other or would be at the end of the step.

        Args:
            start: Positions of each body's points at the start [m], shape [n, 3] each.
            end: Where they would be at the end of the step if nothing stopped them [m].
            time: Time at the start [s].
            dt: Time step [s].
            first_row: First row of each body in V.
            centers: Centres of mass of rigid bodies [m], shape [bodies, 3] (soft ones are not read); or None.
            known: Keys of the contacts that pressed in the last step; see `find_pairs`.
        """
        x0, x1 = self._places(start, time), self._places(end, time + dt)
        pairs = find_pairs(self.surfaces, x0, x1 - x0, self.keep, limit=self.limit, known=known)
        return self._rows(pairs, x0, x1, dt, first_row, centers)

    def crossings(
        self,
        start: Sequence[NDArray[np.float64]],
        end: Sequence[NDArray[np.float64]],
        time: float,
        dt: float,
        first_row: NDArray[np.integer],
        centers: NDArray[np.float64] | None = None,
    ) -> tuple[ContactRows, float]:
        """Return contacts of all that crosses on the straight way of a step, and when the first does (1 is never).

        The arguments are those of `find`; `end` is where the step leads. With the rows added, another solve keeps
        these pairs apart; before the first time nothing has crossed.
        """
        x0, x1 = self._places(start, time), self._places(end, time + dt)
        pairs = find_crossings(self.surfaces, x0, x1, CROSSED * self.keep)
        first = float(pairs.times.min(initial=1.0))
        return self._rows(pairs, x0, x1, dt, first_row, centers), first

    def check_start(self, positions: Sequence[NDArray[np.float64]], time: float) -> str:
        """Look at the start: return a warning about bodies that go through each other, or nothing.

        Contact cannot know how such bodies are to come apart; they do not touch each other from now on. A collider
        that starts inside a body raises InputError.
        """
        x = self._places(positions, time)
        found = find_intersections(self.surfaces, x)
        both = ~(self._is_obstacle[found.a] | self._is_obstacle[found.b])
        overlaps = {(int(a), int(b)) for a, b in zip(found.a[both], found.b[both], strict=True)}
        for i in range(len(self.bodies)):
            for j in range(i + 1, len(self.bodies)):
                if self.surfaces.face_pairs[i, j] and (self._inside(i, j, x) or self._inside(j, i, x)):
                    overlaps.add((i, j))
        for pairs in (self.surfaces.face_pairs, self.surfaces.edge_pairs):
            for i, j in overlaps:
                pairs[i, j] = pairs[j, i] = False
        for k in range(len(self.bodies), len(self.surfaces.members)):
            for i in np.flatnonzero(self.surfaces.face_pairs[k, : len(self.bodies)]).tolist():
                self._refuse_inside(k, i, x)
        return describe_overlaps(overlaps, [member.name for member in self.surfaces.members])

    def _skin(self, i: int, x: NDArray[np.float64]) -> SurfaceMesh:
        """Return the surface of body i."""
        first = self.surfaces.first
        used, triangles = np.unique(self.surfaces.members[i].triangles, return_inverse=True)
        return SurfaceMesh(x[first[i] : first[i + 1]][used], triangles.reshape(-1, 3))

    def _inside(self, i: int, j: int, x: NDArray[np.float64]) -> bool:
        """Return whether matter just below the surface of body i lies inside body j."""
        one, other = self._skin(i, x), self._skin(j, x)
        if (one.bounds[1] < other.bounds[0]).any() or (one.bounds[0] > other.bounds[1]).any():
            return False
        if not (other.is_closed and other.volume > 0.0):
            return False
        below = 1e-3 * min(self.surfaces.members[k].edge_length for k in (i, j))
        corners = one.points[one.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        inner = corners.mean(axis=1) - below * normals
        near = ((inner > other.bounds[0]) & (inner < other.bounds[1])).all(axis=1)
        return bool(near.any() and (ExactDistance(other)(inner[near]) < -0.5 * below).any())

    def _refuse_inside(self, k: int, i: int, x: NDArray[np.float64]) -> None:
        """Raise if obstacle k lies inside body i, or a corner of it does so deeply."""
        first, members = self.surfaces.first, self.surfaces.members
        corners = x[first[k] + np.asarray(members[k].points)]
        surface = self._skin(i, x)
        near = ((corners > surface.bounds[0]) & (corners < surface.bounds[1])).all(axis=1)
        if not near.any():
            return
        if not (surface.is_closed and surface.volume > 0.0):
            return
        depth = -ExactDistance(surface)(corners[near])
        if depth.max() > members[i].edge_length or (near.all() and depth.min() > 0.0):
            number = self._number[k] - self._first_collider + 1
            raise InputError(
                f"collider {number} ({members[k].name}) starts {depth.max():.3g} m inside body '{members[i].name}'; "
                "move one of them away"
            )

    def intersection_count(self, positions: Sequence[NDArray[np.float64]], time: float) -> int:
        """Return how many edges go through triangles."""
        return len(find_intersections(self.surfaces, self._places(positions, time)))

    def _rows(
        self,
        pairs: Pairs,
        x0: NDArray[np.float64],
        x1: NDArray[np.float64],
        dt: float,
        first_row: NDArray[np.integer],
        centers: NDArray[np.float64] | None,
    ) -> ContactRows:
        """Turn pairs into rows; where side a is an obstacle, the sides change places."""
        if not len(pairs):
            return NO_ROWS
        flip = np.where(self._is_obstacle[pairs.a], -1.0, 1.0)
        weights, normals = flip[:, None] * pairs.weights, flip[:, None] * pairs.normals
        a, b = np.where(flip < 0, pairs.b, pairs.a), np.where(flip < 0, pairs.a, pairs.b)
        member = np.searchsorted(self.surfaces.first, pairs.nodes, side="right") - 1
        rigid, obstacle = self._is_rigid[member], self._is_obstacle[member]
        offset = np.concatenate([first_row, np.zeros(len(self.surfaces.members) - len(self.bodies), int)])
        soft_rows = np.where(
            rigid | obstacle | (np.abs(weights) < 1e-9),
            -1,
            offset[member] + pairs.nodes - self.surfaces.first[member],
        ).astype(np.int64)
        near = np.einsum("ck,cki->ci", np.abs(weights), x0[pairs.nodes]) / 2.0
        move = x1[pairs.nodes] - x0[pairs.nodes]
        surface = -np.einsum("ck,cki->ci", np.where(obstacle, weights, 0.0), move) / dt
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
            pairs.gaps - self.keep[pairs.a, pairs.b],
            soft_rows=soft_rows,
            soft_weights=weights,
            surface=surface,
            friction=self.table.friction[numbers[a], numbers[b]],
            restitution=self.table.restitution[numbers[a], numbers[b]],
            key=pairs.keys,
            a=numbers[a],
            b=numbers[b],
            **extra,
        )

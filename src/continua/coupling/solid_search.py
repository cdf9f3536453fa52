"""Contacts of soft bodies with rigid ones in one part of a step, as rows.

A node near a rigid body gets the plane through the body's nearest point, gap + dt n.(v - v_c - w x r) >= 0. The lever r
reaches to the node itself, so that the two sides push each other along one line: momentum and angular momentum are
kept. Others are followed on their way in the axes of the moving body (see `contact.obstacles`). Edges and corners of
rigid bodies meet triangles and edges of soft ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact import NO_ROWS, ContactRows, Pairs, contact_rows, find_crossings, find_pairs, join_rows
from continua.contact.obstacles import first_hit
from continua.contact.surface_contacts import CROSSED
from continua.coupling.members import SoftMember
from continua.coupling.solids import Poses, Solids

__all__ = ["SolidSearch", "kept_apart"]

_NODE = 2**61
_AGAIN = 2**56
_WIDE = 2.0  # distances that are kept, within which pairs are known from the start
_FLAT = 1e-6  # edges of soft bodies are bent by what they touch: any bend counts, so that none comes and goes
_LITTLE = 0.01  # part of the distance that is kept by which a pair may end too near


class SolidSearch:
    """The search in one part of a step.

    Args:
        solids: The rigid bodies.
        members: The soft bodies that take part.
        starts: Their first rows in V.
        row: First row in V of every piece, -1 for those that move as told and those that take no part, shape [n].
        takes: Whether a piece takes part, shape [n].
        dt: Time step [s].
    """

    def __init__(
        self,
        solids: Solids,
        members: Sequence[SoftMember],
        starts: Sequence[int],
        row: NDArray[np.int64],
        takes: NDArray[np.bool_],
        dt: float,
    ) -> None:
        self.solids, self.members, self.starts, self.row, self.dt = solids, members, starts, row, dt
        self._takes = takes
        self._pieces = solids.system.pieces
        self._start = Poses.of(self._pieces.X, self._pieces.R)
        self._velocities = self._pieces.V.copy()
        self._kept: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._which = [solids.soft.index(member) for member in members]

    def near(self, margins: Sequence[float], ends: Sequence[NDArray[np.float64]], then: Poses) -> ContactRows:
        """Return contacts of what is near at the start.

        Args:
            margins: Distance at which a node of each soft body counts as near [m].
            ends: Where the nodes of each would go if nothing stopped them [m].
            then: Where the pieces would go.
        """
        parts = []
        for i, margin in enumerate(margins):
            nodes, points = self.members[i].touching
            for piece, some in self._candidates(i, points, points, self._start, margin):
                gaps, normals = self._distances(piece, points[some], self._start)
                close = np.flatnonzero(gaps <= margin)
                self._kept_by(i, piece, len(nodes))[some[close]] = True
                parts.append(
                    self._node_rows(
                        i, piece, nodes[some[close]], points[some[close]], gaps[close], normals[close]
                    )
                )
        parts.append(self._pair_rows(self._find(ends, then)))
        return join_rows(parts)

    def crossed(
        self,
        ends: Sequence[NDArray[np.float64]],
        then: Poses,
        tolerances: Sequence[float],
        held: Sequence[NDArray[np.bool_]],
        V: NDArray[np.float64],
        rows: ContactRows,
        round_: int,
    ) -> ContactRows:
        """Return contacts of what goes through something on its way.

        Args:
            ends: Where the nodes of each soft body are at the end [m].
            then: Where the pieces are at the end.
            tolerances: Depth that is none, for each soft body [m].
            held: Nodes of each that nothing can move.
            V: The velocities that lead there.
            rows: Contacts that there are.
            round_: How often this was asked in this part.
        """
        parts = []
        for i, tolerance in enumerate(tolerances):
            nodes, points = self.members[i].touching
            to = ends[i][nodes]
            for piece, some in self._candidates(i, points, to, then, tolerance):
                met = self._followed(i, piece, points, to, some, then, tolerance, len(nodes))
                which, gaps, normals, places = met
                if self.row[piece] < 0:
                    free = ~held[i][nodes[which]]
                    which, gaps, normals, places = which[free], gaps[free], normals[free], places[free]
                parts.append(self._node_rows(i, piece, nodes[which], places, gaps, normals, rows.key, round_))
        parts.append(self._crossing_pairs(ends, then, V, rows, round_))
        return join_rows(parts)

    # --- nodes --------------------------------------------------------------------------------------------

    def _candidates(
        self, i: int, points: NDArray[np.float64], to: NDArray[np.float64], then: Poses, margin: float
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Go through the pieces that nodes of soft body i may meet on their ways, with these nodes."""
        p = self._pieces
        low, high = np.minimum(points, to), np.maximum(points, to)
        reach = p.radius[: p.count, None] + margin
        floor = np.minimum(self._start.X, then.X)[: p.count] - reach
        top = np.maximum(self._start.X, then.X)[: p.count] + reach
        touch = self.solids.table.touch[self.members[i].number, self.solids.numbers[p.group[: p.count]]]
        near = (floor <= high.max(axis=0)).all(axis=1) & (top >= low.min(axis=0)).all(axis=1)
        for piece in np.flatnonzero(near & touch & self._takes[: p.count]).tolist():
            inside = (low <= top[piece]).all(axis=1) & (high >= floor[piece]).all(axis=1)
            some = np.flatnonzero(inside)
            if len(some):
                yield piece, some

    def _kept_by(self, i: int, piece: int, count: int) -> NDArray[np.bool_]:
        return self._kept.setdefault((i, piece), np.zeros(count, np.bool_))

    def _distances(
        self, piece: int, points: NDArray[np.float64], poses: Poses
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = self.solids.shapes[self._pieces.group[piece]]
        gaps, normals = shape.distances((points - poses.X[piece]) @ poses.R[piece])
        return gaps, normals @ poses.R[piece].T

    def _followed(
        self,
        i: int,
        piece: int,
        points: NDArray[np.float64],
        to: NDArray[np.float64],
        some: NDArray[np.int64],
        then: Poses,
        tolerance: float,
        count: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return nodes that meet a piece on their way, with gaps, normals and the places of the piece at the start."""
        shape, start = self.solids.shapes[self._pieces.group[piece]], self._start
        a = (points[some] - start.X[piece]) @ start.R[piece]
        b = (to[some] - then.X[piece]) @ then.R[piece]
        gaps = shape.distances(a)[0]
        maybe = np.flatnonzero(gaps < np.linalg.norm(b - a, axis=1) - tolerance)
        kept = self._kept_by(i, piece, count)
        a, b = a[maybe], b[maybe]
        share = first_hit(shape, a, b, gaps[maybe], ~kept[some[maybe]], tolerance)
        hits = np.flatnonzero(share <= 1.0)
        met = a[hits] + share[hits, None] * (b[hits] - a[hits])
        depth, normal = shape.distances(met)
        met = met - depth[:, None] * normal  # on the surface
        which = some[maybe[hits]]
        kept[which] = True
        place = met @ start.R[piece].T + start.X[piece]
        # the plane turns with the piece: its normal is that of the end, its place that of the start moved along
        normal = normal @ then.R[piece].T
        gap = np.einsum("ki,ki->k", normal, points[which] - place)
        return which, gap, normal, place

    def _node_rows(
        self,
        i: int,
        piece: int,
        nodes: NDArray[np.int32],
        levers: NDArray[np.float64],
        gaps: NDArray[np.float64],
        normals: NDArray[np.float64],
        known: NDArray[np.int64] | None = None,
        round_: int = 0,
    ) -> ContactRows:
        if not len(nodes):
            return NO_ROWS
        number = self.members[i].number
        key = _NODE + (number * len(self._takes) + piece) * 2**32 + nodes.astype(np.int64)
        if known is not None:
            key += np.where(np.isin(key, known), round_ * _AGAIN, 0)
        return self._rows(
            np.full(len(nodes), number), np.full(len(nodes), piece), normals, levers, gaps, key,
            (self.starts[i] + nodes.astype(np.int64))[:, None], 1.0,
        )  # fmt: skip

    # --- edges and corners --------------------------------------------------------------------------------

    def _ways(
        self, ends: Sequence[NDArray[np.float64]], then: Poses
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the positions of all points of surfaces at the start and the end."""
        start = [member.places for member in self.solids.soft]
        end = list(start)
        for i, where in zip(self._which, ends, strict=True):
            end[i] = where
        self.solids.choose(self._which)
        return self.solids.points(start, self._start), self.solids.points(end, then)

    def _find(self, ends: Sequence[NDArray[np.float64]], then: Poses) -> Pairs:
        x0, x1 = self._ways(ends, then)
        s = self.solids
        return find_pairs(s.surfaces, x0, x1 - x0, _WIDE * s.keep, limit=s.limit, flat=_FLAT)

    def _crossing_pairs(
        self,
        ends: Sequence[NDArray[np.float64]],
        then: Poses,
        V: NDArray[np.float64],
        rows: ContactRows,
        round_: int,
    ) -> ContactRows:
        """Return pairs that cross, and new ones that end nearer than they may."""
        x0, x1 = self._ways(ends, then)
        if not self.solids.surfaces.face_pairs.any():
            return NO_ROWS
        tolerance = _LITTLE * float(self.solids.keep.max())
        crossed = self._pair_rows(find_crossings(self.solids.surfaces, x0, x1, CROSSED * self.solids.keep))
        crossed = crossed.take(~kept_apart(crossed, rows, V, self.dt, tolerance))
        near, known = self._pair_rows(self._find(ends, then)), rows.key
        near = near.take(~np.isin(near.key, known) & ~np.isin(near.key, crossed.key))
        if not len(crossed):
            near = near.take(near.gap + self.dt * near.velocities(V)[:, 0] < -tolerance)
        crossed.key = crossed.key - np.where(np.isin(crossed.key, known), round_, 0)
        return join_rows([near, crossed])

    def _pair_rows(self, pairs: Pairs) -> ContactRows:
        """Turn pairs into rows, with the soft body on side a."""
        if not len(pairs):
            return NO_ROWS
        s, count = self.solids, len(self.solids.soft)
        flip = np.where(pairs.a >= count, -1.0, 1.0)
        weights, normals = flip[:, None] * pairs.weights, flip[:, None] * pairs.normals
        soft, rigid = np.minimum(pairs.a, pairs.b), np.maximum(pairs.a, pairs.b).astype(np.int64)
        first = s.surfaces.first
        of_soft = pairs.nodes < first[count]
        at = np.argmax(~of_soft, axis=1)  # a point of the rigid body
        point = np.take_along_axis(pairs.nodes.astype(np.int64), at[:, None], axis=1)[:, 0] - first[rigid]
        piece = s.piece_of(rigid, point)
        x = s.surfaces.positions([member.places for member in s.soft])
        near = np.where(of_soft, pairs.nodes, 0)
        lever = np.einsum("ck,cki->ci", np.where(of_soft, np.abs(weights), 0.0), x[near])
        start = np.zeros(count, np.int64)
        start[self._which] = self.starts
        own = start[soft][:, None] + pairs.nodes - first[soft][:, None]
        rows = np.where(of_soft & (np.abs(weights) > 1e-9), own, -1)
        numbers = np.array([member.number for member in s.soft])
        made = self._rows(
            numbers[soft], piece, normals, lever, pairs.gaps - s.keep[pairs.a, pairs.b], -1 - pairs.keys, rows, weights
        )  # fmt: skip
        return made.take(self._takes[piece])

    # --- rows -----------------------------------------------------------------------------------------------

    def _rows(
        self,
        number: NDArray[np.int64],
        piece: NDArray[np.int64],
        normals: NDArray[np.float64],
        levers: NDArray[np.float64],
        gaps: NDArray[np.float64],
        key: NDArray[np.int64],
        soft_rows: NDArray[np.int64],
        weights: NDArray[np.float64] | float,
    ) -> ContactRows:
        table, other = self.solids.table, self.solids.numbers[self._pieces.group[piece]]
        row, V = self.row[piece], self._velocities[piece]
        arm = levers - self._start.X[piece]
        led = V[:, :3] + np.cross(V[:, 3:], arm)
        return contact_rows(
            normals,
            levers,
            gaps,
            soft_rows=soft_rows,
            soft_weights=weights,
            rigid_rows=row[:, None],
            rigid_signs=-1.0,
            rigid_centers=self._start.X[piece][:, None],
            surface=np.where((row < 0)[:, None], led, 0.0),
            friction=table.friction[number, other],
            restitution=table.restitution[number, other],
            key=key,
            a=number,
            b=other,
        )


def kept_apart(
    crossed: ContactRows, rows: ContactRows, V: NDArray[np.float64], dt: float, tolerance: float
) -> NDArray[np.bool_]:
    """Return which pairs only seem to cross: they start too near, and a contact that they have parts them by the end.

    Args:
        crossed: Pairs that come too near on their way.
        rows: Contacts that there are.
        V: The velocities.
        dt: Time step [s].
        tolerance: Depth that is none [m].
    """
    order = np.argsort(rows.key, kind="stable")
    at = np.searchsorted(rows.key[order], crossed.key)
    found = at < len(order)
    found[found] = rows.key[order[at[found]]] == crossed.key[found]
    same = order[at[found]]
    apart = np.zeros(len(crossed), np.bool_)
    end = rows.gap[same] + dt * rows.velocities(V)[same, 0]
    apart[found] = (crossed.gap[found] < 0.0) & (end >= np.minimum(rows.gap[same], 0.0) - tolerance)
    return apart

"""Rigid bodies as soft bodies meet them: exact distances, and the edges and corners that fit between nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.contact import (
    Box,
    Capsule,
    Contact,
    Cylinder,
    Member,
    MeshShape,
    PairTable,
    Shape,
    Sphere,
    Surfaces,
)
from continua.contact.features import shape_member
from continua.contact.rigid_shapes import BALL, BOX, CYLINDER, ROD
from continua.contact.surface_contacts import EARLY, NEAR, THIN
from continua.coupling.members import SoftMember
from continua.errors import InputError
from continua.mesh import SurfaceMesh
from continua.rigid import RigidSystem
from continua.rigid.solid import Solid
from continua.sdf import ExactDistance

__all__ = ["Poses", "Solids"]


@dataclass(frozen=True, eq=False)
class Poses:
    """Where all pieces are: positions [m], shape [n, 3], and rotations [n, 3, 3]."""

    X: NDArray[np.float64]
    R: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], R: NDArray[np.float64]) -> Poses:
        """Return poses with rotations given row by row [n, 9]; both are copied."""
        return cls(X.copy(), R.reshape(-1, 3, 3).copy())


class Solids:
    """The rigid bodies of a world, for the search of their contacts with soft bodies.

    Args:
        soft: The soft bodies.
        system: The rigid bodies.
        numbers: Their numbers in the table of pairs.
        contact: What the user says; of it only the thickness is read.
        table: Friction, restitution and who touches whom.

    Attributes:
        shapes: The shape of each rigid body in the axes of its pieces.
        surfaces: Surfaces of the soft bodies, and skeletons of the rigid ones that have edges or corners.
        groups: Numbers of the rigid bodies with a skeleton, in the order of the members.
        keep: Distance that members keep [m], shape [m, m].
        limit: Largest distance at which pairs are found [m], shape [m, m].
    """

    def __init__(
        self,
        soft: Sequence[SoftMember],
        system: RigidSystem,
        numbers: Sequence[int],
        contact: Contact,
        table: PairTable,
    ) -> None:
        self.soft, self.system, self.numbers, self.table = tuple(soft), system, np.array(numbers), table
        self.shapes = [_shape(body.solid) for body in system.pieces.bodies]
        members = [Member(m.surface.rest, m.surface.triangles, name=m.body.name) for m in self.soft]
        length = [member.edge_length for member in members]
        self.groups: list[int] = []
        self._own: list[NDArray[np.float64]] = []  # points of one copy's skeleton in its own axes
        for g, (shape, body) in enumerate(zip(self.shapes, system.pieces.bodies, strict=True)):
            one = shape_member(shape, max(length))
            if one is not None:
                self.groups.append(g)
                self._own.append(one.rest)
                members.append(_copies(one, body.count, body.name))
        self.surfaces = Surfaces(members)
        self._set_distances(contact.thickness, np.array(length + [0.0] * len(self.groups)))

    def _set_distances(self, thickness: float | None, length: NDArray[np.float64]) -> None:
        count = len(self.soft)
        own = THIN * length if thickness is None else np.where(length > 0.0, thickness, 0.0)
        self.keep = NEAR * np.maximum(own[:, None], own[None, :])
        self.limit = EARLY * np.maximum(length[:, None], length[None, :]) + self.keep
        first = np.array([member.number for member in self.soft], dtype=int)
        number = np.concatenate([first, self.numbers[self.groups]]).astype(int)
        touch = self.table.touch[np.ix_(number, number)].copy()
        rigid = np.arange(len(number)) >= count
        touch &= rigid[:, None] ^ rigid[None, :]
        # nodes of soft bodies are met by the exact distance of the rigid ones
        self.touch = touch
        self.surfaces.face_pairs = touch & ~rigid[None, :]
        self.surfaces.edge_pairs = np.triu(touch)

    def points(self, soft: Sequence[NDArray[np.float64]], poses: Poses) -> NDArray[np.float64]:
        """Return the positions of all points of the surfaces [m], shape [n, 3]."""
        parts = list(soft)
        starts = self.system.pieces.starts
        for g, own in zip(self.groups, self._own, strict=True):
            rows = slice(starts[g], starts[g + 1])
            placed = np.einsum("kij,pj->kpi", poses.R[rows], own) + poses.X[rows][:, None]
            parts.append(placed.reshape(-1, 3))
        return self.surfaces.positions(parts)

    def piece_of(self, member: NDArray[np.int64], point: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pieces to which points belong, numbered in their rigid members."""
        sizes = np.array([len(own) for own in self._own])
        starts = self.system.pieces.starts[self.groups]
        k = member - len(self.soft)
        return starts[k] + point // sizes[k]

    def choose(self, soft: Sequence[int]) -> None:
        """Look for contacts of these soft bodies alone from now on."""
        some = np.zeros(len(self.surfaces.members), bool)
        some[list(soft)] = True
        some[len(self.soft) :] = True
        touch = self.touch & some[:, None] & some[None, :]
        rigid = np.arange(len(some)) >= len(self.soft)
        self.surfaces.face_pairs = touch & ~rigid[None, :]
        self.surfaces.edge_pairs = np.triu(touch)

    def check_start(self) -> None:
        """Raise InputError if a rigid body starts inside a soft one, or the other way round."""
        pieces = self.system.pieces
        poses = Poses.of(pieces.X, pieces.R)
        for member in self.soft:
            x = member.places
            low, high = x.min(axis=0), x.max(axis=0)
            length = self.surfaces.members[self.soft.index(member)].edge_length
            skin: SurfaceMesh | None = None
            for i in range(pieces.count):
                g = int(pieces.group[i])
                far = (poses.X[i] - pieces.radius[i] > high) | (poses.X[i] + pieces.radius[i] < low)
                if far.any() or not self.table.touch[member.number, self.numbers[g]]:
                    continue
                _, points = member.touching
                depth = -self.shapes[g].distances((points - poses.X[i]) @ poses.R[i])[0].min()
                solid = pieces.bodies[g].solid
                if depth <= length:
                    skin = _skin(member) if skin is None else skin
                    spots = np.vstack([solid.surface.points, np.zeros((1, 3))]) @ poses.R[i].T + poses.X[i]
                    depth = _depth(skin, spots)
                if depth > length:
                    raise InputError(
                        f"rigid body '{pieces.bodies[g].name}' and body '{member.body.name}' lie in each other at the "
                        f"start, {depth:.3g} m deep; move one of them away, or let them not touch in contact pairs"
                    )


def _depth(skin: SurfaceMesh, points: NDArray[np.float64]) -> float:
    """Return how deep the deepest point lies inside a closed surface [m], or 0."""
    near = ((points > skin.bounds[0]) & (points < skin.bounds[1])).all(axis=1)
    if not near.any() or not (skin.is_closed and skin.volume > 0.0):
        return 0.0
    return max(0.0, -float(ExactDistance(skin)(points[near]).min()))


def _skin(member: SoftMember) -> SurfaceMesh:
    used, triangles = np.unique(member.surface.triangles, return_inverse=True)
    return SurfaceMesh(member.places[used], triangles.reshape(-1, 3))


def _shape(solid: Solid) -> Shape:
    """Return a solid as a shape in its own axes."""
    size = solid.size
    if solid.kind == BALL:
        return Sphere(radius=float(size[0]))
    if solid.kind == BOX:
        return Box(size=(2.0 * float(size[0]), 2.0 * float(size[1]), 2.0 * float(size[2])))
    if solid.kind == ROD:
        h = float(size[1])
        return Capsule(start=(0.0, 0.0, -h), end=(0.0, 0.0, h), radius=float(size[0]))
    if solid.kind == CYLINDER:
        return Cylinder(axis=(0.0, 0.0, 1.0), radius=float(size[0]), height=2.0 * float(size[1]))
    return MeshShape(solid.surface, field=solid.field)


def _copies(one: Member, count: int, name: str) -> Member:
    """Return a member that is so many copies of one side by side."""
    assert one.edges is not None
    assert one.points is not None
    n = len(one.rest)
    shift = n * np.arange(count, dtype=np.int32)[:, None, None]
    return Member(
        np.tile(one.rest, (count, 1)),
        (one.triangles[None] + shift).reshape(-1, 3),
        edges=(one.edges[None] + shift).reshape(-1, 2) if not len(one.triangles) else None,
        points=(one.points[None] + shift[:, :, 0]).reshape(-1),
        radius=one.radius,
        name=name,
        flat=False,
    )

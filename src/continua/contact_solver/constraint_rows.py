"""Contacts and joints as constraint rows of one problem for all velocities.

The unknown velocities of a step are the rows of one array V [N, 3]: a node of a soft body is one row, a rigid body two
(the velocity of its centre of mass, and its angular velocity in world axes). A contact has a frame of three directions,
the normal n that points from side b to side a, and two tangents. Its relative velocity in that frame is

    u = sum over its entries of G V[row] + offset,

with a 3x3 block G per entry and the offset minus the velocity of a prescribed collider; u_n > 0 means that they
separate. A soft node of weight w has G = w C, with the directions as the rows of C; a rigid body has C and C [r]x^T.
A constraint that is `bilateral` in a direction asks for u = 0 there, as joints do; an error to be corrected in the
step, divided by dt, is part of its offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from continua.contact_solver.constraint_row_kernels import apply_transpose, fill_rows, relative_velocities
from continua.linalg.basis_change import BasisChange
from continua.short_repr import ShortRepr
from continua.timestepping.requests import VelocitySystem

__all__ = ["EMPTY_ROWS", "ConstraintRows", "contact_rows", "join_rows"]


@dataclass(eq=False, repr=False)
class ConstraintRows(ShortRepr):
    """Contacts and joints of a step.

    Attributes:
        ptr: First entry of every contact, and the end, shape [c + 1].
        row: The rows of V that take part, shape [e].
        block: The matrices G, row by row, shape [e, 9].
        offset: Relative velocity when V is zero [m/s], shape [c, 3].
        gap: Signed distance minus the distance to keep, at the start of the step [m], shape [c].
        friction: Coulomb's friction coefficient, shape [c].
        restitution: Coefficient of restitution, shape [c].
        frame: Normal and two tangents, unit vectors in world axes, shape [c, 9].
        point: Contact point [m], shape [c, 3].
        key: Key that identifies the same contact in the next step, shape [c].
        a: Number of the body to which the normal points, shape [c].
        b: Number of the other body, or of a collider (numbered after the bodies), shape [c].
        bilateral: Bit i is set where direction i of the frame is an equality, u_i = 0; 0 is a contact, shape [c].
    """

    ptr: NDArray[np.int32]
    row: NDArray[np.int32]
    block: NDArray[np.float64]
    offset: NDArray[np.float64]
    gap: NDArray[np.float64]
    friction: NDArray[np.float64]
    restitution: NDArray[np.float64]
    frame: NDArray[np.float64]
    point: NDArray[np.float64]
    key: NDArray[np.int64]
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    bilateral: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def normal(self) -> NDArray[np.float64]:
        """Normals from side b to side a, shape [c, 3]."""
        return self.frame[:, :3]

    def relative_velocities(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the relative velocities in the contacts' frames [m/s], shape [c, 3]."""
        out = np.empty((len(self), 3))
        relative_velocities(self.ptr, self.row, self.block, self.offset, V, out)
        return out

    def apply_transpose(self, impulse: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """Add G^T times impulses in the contacts' frames [c, 3] to the rows of `out` [N, 3]."""
        apply_transpose(self.ptr, self.row, self.block, impulse, out)

    def in_unknowns(self, systems: Sequence[VelocitySystem]) -> ConstraintRows:
        """Return the same constraints on the unknowns of the systems, one after the other in V."""
        if all(s.basis is None for s in systems) or not len(self):
            return self
        parts = [_to_coefficients(len(s.rhs), s.basis) for s in systems]
        return self.transformed(sparse.csr_array(sparse.block_diag(parts, format="csr")))

    def transformed(self, matrix: sparse.csr_array) -> ConstraintRows:
        """Return the same constraints on other rows, of which the present ones are weighted sums, shape [N, N new]."""
        used = matrix[self.row]
        counts = np.diff(used.indptr)
        contact = np.repeat(np.repeat(np.arange(len(self)), np.diff(self.ptr)), counts)
        block = np.repeat(self.block, counts, axis=0) * used.data[:, None]
        # entries of one contact with the same row are added; the order within a contact does not matter
        keys, places = np.unique(contact * np.int64(used.shape[1]) + used.indices, return_inverse=True)
        total = np.zeros((len(keys), 9))
        np.add.at(total, places.ravel(), block)
        contact, row = np.divmod(keys, used.shape[1])
        ptr = np.searchsorted(contact, np.arange(len(self) + 1)).astype(np.int32)
        return replace(self, ptr=ptr, row=row.astype(np.int32), block=total)

    def take(self, which: NDArray) -> ConstraintRows:
        """Return some of the contacts, by a mask or by index."""
        numbers = np.flatnonzero(which) if which.dtype == np.bool_ else np.asarray(which)
        counts = np.diff(self.ptr)[numbers]
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        entry = np.repeat(self.ptr[numbers] - ptr[:-1], counts) + np.arange(ptr[-1])
        rest = {f.name: getattr(self, f.name)[numbers] for f in fields(self)[3:]}
        return ConstraintRows(ptr, self.row[entry], self.block[entry], **rest)


def contact_rows(
    normals: NDArray[np.float64],
    points: NDArray[np.float64],
    gaps: NDArray[np.float64],
    *,
    soft_rows: NDArray[np.integer] | None = None,
    soft_weights: ArrayLike | None = None,
    rigid_rows: NDArray[np.integer] | None = None,
    rigid_signs: ArrayLike | None = None,
    rigid_centers: NDArray[np.float64] | None = None,
    surface_velocity: NDArray[np.float64] | None = None,
    friction: ArrayLike = 0.0,
    restitution: ArrayLike = 0.0,
    key: ArrayLike = 0,
    a: ArrayLike = 0,
    b: ArrayLike = 0,
    bilateral: ArrayLike = 0,
) -> ConstraintRows:
    """Build c contacts of any kind; scalars apply to all.

    Side a has positive weights and signs, side b negative ones: a soft node against a collider has one soft row of
    weight 1; a node against a triangle of nodes (1, -w1, -w2, -w3); two edges (1 - s, s, t - 1, -t); a soft node
    against a rigid body one soft row and one rigid row of sign -1; two rigid bodies the signs (1, -1).

    Args:
        normals: Unit normals from side b to side a [c, 3].
        points: Contact points [m], shape [c, 3].
        gaps: Signed distance minus the distance to keep [m], shape [c].
        soft_rows: Rows of soft nodes [c, k]; -1 is none.
        soft_weights: Their weights, shape [c, k] or broadcastable.
        rigid_rows: Rows of the velocities of rigid bodies [c, m]; the row of the angular velocity follows; -1 is none.
        rigid_signs: Their signs, shape [c, m] or broadcastable.
        rigid_centers: Their centres of mass [m], shape [c, m, 3].
        surface_velocity: Velocity of a prescribed collider on side b [m/s], shape [c, 3].
        friction: Coulomb's friction coefficient.
        restitution: Coefficient of restitution.
        key: Key that identifies the same contact in the next step.
        a: Number of the body on side a.
        b: Number of the body or collider on side b.
        bilateral: Bits of the directions that are equalities.
    """
    c = len(gaps)
    soft = _matrix(soft_rows, c)
    rigid = _matrix(rigid_rows, c)
    entries = int((soft >= 0).sum() + 2 * (rigid >= 0).sum())
    ptr, row = np.zeros(c + 1, np.int32), np.zeros(entries, np.int32)
    block, offset, frame = np.zeros((entries, 9)), np.zeros((c, 3)), np.zeros((c, 9))
    centers = np.zeros((c, rigid.shape[1], 3)) if rigid_centers is None else rigid_centers
    fill_rows(
        _floats(normals), _floats(points), soft, _broadcast(soft_weights, soft.shape), rigid,
        _broadcast(rigid_signs, rigid.shape), _floats(centers), 
        _floats(np.zeros((c, 3)) if surface_velocity is None else surface_velocity),
        ptr, row, block, offset, frame,
    )  # fmt: skip
    return ConstraintRows(
        ptr,
        row,
        block,
        offset,
        _floats(gaps),
        _broadcast(friction, (c,)),
        _broadcast(restitution, (c,)),
        frame,
        _floats(points),
        np.array(np.broadcast_to(key, (c,)), np.int64),
        np.array(np.broadcast_to(a, (c,)), np.int32),
        np.array(np.broadcast_to(b, (c,)), np.int32),
        np.array(np.broadcast_to(bilateral, (c,)), np.uint8),
    )


def _to_coefficients(count: int, basis: BasisChange | None) -> sparse.csr_array:
    """Return the matrix T of a change of unknowns, shape [n, n]."""
    if basis is None:
        return sparse.csr_array(sparse.eye_array(count, format="csr"))
    kept = np.setdiff1d(np.arange(count), basis.nodes)
    order = np.empty(count, np.int64)
    order[np.concatenate([basis.nodes, kept])] = np.arange(count)
    same = sparse.csr_array((np.ones(len(kept)), (np.arange(len(kept)), kept)), shape=(len(kept), count))
    return sparse.csr_array(sparse.vstack([basis.to_coefficients, same], format="csr")[order])


def join_rows(parts: Sequence[ConstraintRows]) -> ConstraintRows:
    """Concatenate several sets of rows, in their order."""
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return EMPTY_ROWS
    starts = np.cumsum([0] + [len(part.row) for part in parts])
    ptr = np.concatenate(
        [[0]] + [part.ptr[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
    )
    rest = {
        f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(ConstraintRows)[1:]
    }
    return ConstraintRows(ptr.astype(np.int32), **rest)


def _matrix(rows: NDArray[np.integer] | None, count: int) -> NDArray[np.int32]:
    if rows is None:
        return np.zeros((count, 0), np.int32)
    given = np.asarray(rows)
    return np.ascontiguousarray(given if given.ndim == 2 else given[:, None], np.int32)


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    return np.ascontiguousarray(values, np.float64)


def _broadcast(values: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.array(np.broadcast_to(1.0 if values is None else values, shape), np.float64)


EMPTY_ROWS = (
    ConstraintRows(  # made without a kernel, which would be compiled as soon as the module is imported
        ptr=np.zeros(1, np.int32),
        row=np.zeros(0, np.int32),
        block=np.zeros((0, 9)),
        offset=np.zeros((0, 3)),
        gap=np.zeros(0),
        friction=np.zeros(0),
        restitution=np.zeros(0),
        frame=np.zeros((0, 9)),
        point=np.zeros((0, 3)),
        key=np.zeros(0, np.int64),
        a=np.zeros(0, np.int32),
        b=np.zeros(0, np.int32),
        bilateral=np.zeros(0, np.uint8),
    )
)
"""No contacts at all."""

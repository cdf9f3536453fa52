"""Bending of stiff sheets: curvature tensors of triangles from the angles of hinges, with the flexural law of a plate.

The normal along every edge is a direction of its own, shared by both triangles. Seen from a triangle it is turned by an
angle a_e against the triangle's normal, and the triangle has the curvature tensor

    kappa = 1/A sum_e L_e a_e n_e n_e^T,

with the lengths L_e, the outward normals n_e in its plane, and the area A (Grinspun et al. 2006; of a plate it is
Morley's element). Both triangles of a hinge of angle theta have a_e = theta/2 + psi and theta/2 - psi. In Morley's
element psi is an unknown. Here it is the value that a constant curvature has: psi_e = p_e . kappa', where kappa' is the
curvature that fits the angles of the edges of both triangles best. So constant curvatures are exact on every mesh, the
sum of the moments around a node is zero for them, and the energy vanishes only with all angles: which gives convergence
without more unknowns. An edge of the boundary has the a_e that the energy is least with (no moment), unless it is
clamped: then it is the angle to the plane that the sheet would go on in.

The energy is quadratic in the angles: 1/2 (theta - theta_0)^T K (theta - theta_0), with a sparse constant K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import BlockPattern
from continua.shells import shell_kernels
from continua.shells.sheet_mesh import SheetMesh

__all__ = ["ShellBending", "bent_pairs"]

PARALLEL_FROM = 500
"""Hinges from which a pass over all of them is worth a parallel region."""

_RCOND = 0.08
"""Singular values of a fit, relative to the largest, below which the angles around say nothing about a curvature."""


class _Hinges(NamedTuple):
    """The hinges of a sheet and its clamped edges.

    `nodes` [h, 4]: a corner, the edge, the other corner; that of a clamped edge is a fixed point, numbered from the
    node count on. `triangles` [h, 2], -1 beyond a clamped edge. `of_triangle` [m, 3]: the hinge opposite each corner, or -1.
    `ghosts` [g, 3]: the fixed points.
    """

    nodes: NDArray[np.int32]
    triangles: NDArray[np.int32]
    of_triangle: NDArray[np.int32]
    ghosts: NDArray[np.float64]


def _find_hinges(mesh: SheetMesh, clamped: NDArray[np.bool_]) -> _Hinges:
    """Return the hinges, with the boundary edges whose nodes are both `clamped` [n]."""
    outer = np.flatnonzero(mesh.face_elements[:, 1] < 0)
    locals_ = mesh._faces.locals
    a, i = mesh.face_elements[outer, 0], locals_[outer, 0]
    edge = mesh.cells[a[:, None], mesh.FACES[i]]
    held = clamped[edge].all(axis=1)
    a, i, edge = a[held], i[held], edge[held]
    corner = mesh.cells[a, i]
    x = mesh.points
    middle = 0.5 * (x[edge[:, 0]] + x[edge[:, 1]])
    ghosts = 2.0 * middle - x[corner]  # the parallelogram goes on in the plane of the triangle
    numbers = mesh.node_count + np.arange(len(ghosts))
    nodes = np.concatenate([mesh.hinges, np.column_stack([corner, edge, numbers])]).astype(np.int32)
    triangles = np.concatenate([mesh.hinge_triangles, np.column_stack([a, np.full(len(a), -1)])]).astype(
        np.int32
    )
    of_triangle = np.full((mesh.element_count, 3), -1, np.int32)
    inner = np.flatnonzero(mesh.face_elements[:, 1] >= 0)
    for side in range(2):
        of_triangle[mesh.face_elements[inner, side], locals_[inner, side]] = np.arange(len(inner))
    of_triangle[a, i] = len(inner) + np.arange(len(a))
    return _Hinges(nodes, triangles, of_triangle, ghosts)


def check_oriented(mesh: SheetMesh, name: str) -> None:
    """Refuse a sheet whose neighbours run through their common edge in the same direction."""
    pairs, (i, j) = mesh.hinge_triangles, mesh._faces.locals[mesh.face_elements[:, 1] >= 0].T
    here = mesh.cells[pairs[:, 0], mesh.FACES[i, 0]]
    there = mesh.cells[pairs[:, 1], mesh.FACES[j, 0]]
    bad = int((here == there).sum())
    if bad:
        raise InputError(
            f"shell '{name}' has {bad} edges whose two triangles have opposite orientations; turn some of its "
            "triangles, "
            "and cut a surface with one side only"
        )


def _rotated(angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrices [k, 3, 3] that take (xx, xy, yy) of a tensor to axes turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack(
        [
            np.stack([c * c, 2.0 * c * s, s * s], -1),
            np.stack([-c * s, c * c - s * s, c * s], -1),
            np.stack([s * s, -2.0 * c * s, c * c], -1),
        ],
        -2,
    )


def angle_stiffness(mesh: SheetMesh, hinges: _Hinges, law: NDArray[np.float64]) -> sparse.csr_array:
    """Return K [N m], shape [h, h].

    Args:
        mesh: The sheet at rest.
        hinges: Its hinges.
        law: Flexural stiffness D [N m] and Poisson's ratio of every triangle, shape [m, 2].
    """
    count, m = len(hinges.nodes), mesh.element_count
    # directions of the edges in axes of each triangle, and the outward normals
    corners, first = mesh.corners, mesh.corners[:, 1] - mesh.corners[:, 0]
    first = first / np.linalg.norm(first, axis=1)[:, None]
    second = np.cross(np.cross(first, corners[:, 2] - corners[:, 0]), first)
    second /= np.linalg.norm(second, axis=1)[:, None]
    along = corners[:, mesh.FACES[:, 1]] - corners[:, mesh.FACES[:, 0]]
    length = np.linalg.norm(along, axis=2)
    direction = np.arctan2(np.einsum("mki,mi->mk", along, second), np.einsum("mki,mi->mk", along, first))
    normal = np.stack([np.sin(direction), -np.cos(direction)], axis=2)
    # the frame of a hinge: x along its edge, y towards its first triangle; a clamped edge has one triangle
    edges, heights, feet = mesh.hinge_heights
    lone = hinges.triangles[len(edges) :, 0]
    place = np.argmax(hinges.of_triangle[lone] == np.arange(len(edges), count)[:, None], axis=1)
    span = np.concatenate([edges, length[lone, place]])
    rows = []
    for side, sign in enumerate((1.0, -1.0)):
        height = np.concatenate([heights[:, side], 2.0 * mesh.areas[lone] / length[lone, place]])
        start = mesh.FACES[place, 0]
        foot = (
            np.einsum("ci,ci->c", corners[lone, place] - corners[lone, start], along[lone, place])
            / length[lone, place] ** 2
        )
        t = (np.concatenate([feet[:, side], foot]) - 0.5) * span
        rows.append(np.stack([0.5 * (t * t - 0.25 * span**2) / height, sign * t, 0.5 * height], axis=1))
    clamped = hinges.triangles[:, 1] < 0
    rows[1][clamped] = 0.0
    total, half = rows[0] + rows[1], 0.5 * (rows[0] - rows[1])
    scale = 1.0 / np.linalg.norm(total, axis=1)
    # the fit of a curvature to the angles of up to five hinges
    stencil = np.full((count, 5), -1, np.int64)
    stencil[:, 0] = np.arange(count)
    fits = np.zeros((count, 5, 3))
    fits[:, 0] = total * scale[:, None]
    for side in range(2):
        here = np.flatnonzero(hinges.triangles[:, side] >= 0)
        t = hinges.triangles[here, side]
        own = np.argmax(hinges.of_triangle[t] == here[:, None], axis=1)
        base = direction[
            t, own
        ]  # the direction of the edge in t, up to half a turn, which tensors do not see
        for step in (1, 2):
            place = (own + step) % 3
            other = hinges.of_triangle[t, place]
            column = 2 * side + step
            exists = other >= 0
            stencil[here[exists], column] = other[exists]
            turn = _rotated(direction[t, place] - base)[exists]
            f = other[exists]
            fits[here[exists], column] = np.einsum("ka,kab->kb", total[f] * scale[f, None], turn)
    weights = np.einsum("ha,haf->hf", half, np.linalg.pinv(fits, rcond=_RCOND))
    present = stencil >= 0
    weights = np.where(present, weights * scale[np.where(present, stencil, 0)], 0.0)
    weights[clamped] = 0.0
    where = np.repeat(np.arange(count), 5)[present.ravel()]
    psi = sparse.csr_array(
        (weights.ravel()[present.ravel()], (where, stencil.ravel()[present.ravel()])), shape=(count, count)
    )
    # the angles of the edges of every triangle
    hinge = hinges.of_triangle.ravel()
    has: NDArray[np.int64] = np.flatnonzero(hinge >= 0)
    h = hinge[has]
    is_first = hinges.triangles[h, 0] == has // 3
    share = np.where(clamped[h], 1.0, 0.5)
    pick = sparse.csr_array((share, (has, h)), shape=(3 * m, count))
    turn_signs = sparse.csr_array((np.where(is_first, 1.0, -1.0), (has, h)), shape=(3 * m, count))
    angles = (pick + turn_signs @ psi).tocsr()
    # the quadratic form of the three angles of a triangle
    D, nu = law[:, 0], law[:, 1]
    cosines = np.einsum("mai,mbi->mab", normal, normal)
    Q = (1.0 - nu)[:, None, None] * cosines**2 + nu[:, None, None]
    Q *= (D / mesh.areas)[:, None, None] * length[:, :, None] * length[:, None, :]
    free = hinges.of_triangle < 0
    for corner in range(3):  # no moment at a free edge: leave out its angle by the energy's minimum
        at = np.flatnonzero(free[:, corner])
        pivot = Q[at, corner, corner]
        pivot = np.where(pivot > 0.0, pivot, 1.0)
        Q[at] -= Q[at][:, :, corner, None] * Q[at][:, None, corner, :] / pivot[:, None, None]
        Q[at, corner, :] = 0.0
        Q[at, :, corner] = 0.0
    place = np.arange(3 * m).reshape(m, 3)
    places = np.repeat(place, 3, axis=1).ravel(), np.tile(place, (1, 3)).ravel()
    blocks = sparse.csr_array((Q.ravel(), places), shape=(3 * m, 3 * m))
    K = (angles.T @ blocks @ angles).tocsr()
    K = (0.5 * (K + K.T)).tocsr()
    K.sort_indices()
    return K


def bent_pairs(K: sparse.csr_array, nodes: NDArray[np.int32], node_count: int) -> NDArray[np.int32]:
    """Return the pairs of nodes, shape [p, 2], that the bending of a sheet joins."""
    count = len(nodes)
    real = nodes.ravel() < node_count
    at = sparse.csr_array(
        (np.ones(int(real.sum())), (np.repeat(np.arange(count), 4)[real], nodes.ravel()[real])),
        shape=(count, node_count),
    )
    joined = abs(K).astype(bool).astype(np.float64)
    both = sparse.triu(at.T @ (joined @ at), k=1).tocoo()
    return np.column_stack(both.coords).astype(np.int32)


class ShellBending:
    """The bending of a stiff sheet, as `ClothElements` and its assembly take it.

    Attributes:
        linear_force: Gradient of the energy [N], shape [n, 3].
        exact: Whether the stiffness has the second derivatives of the angles, which can make it indefinite.
    """

    records: None = None
    linear: None = None

    def __init__(self, mesh: SheetMesh, clamped: NDArray[np.bool_]) -> None:
        self._mesh = mesh
        self._hinges = _find_hinges(mesh, clamped)
        self.exact = False
        n, count = mesh.node_count, len(self._hinges.nodes)
        self.parallel = count >= PARALLEL_FROM
        # the entries of K do not depend on the constants: Poisson's ratio of 0.3 has them all
        shape = angle_stiffness(mesh, self._hinges, np.tile([1.0, 0.3], (mesh.element_count, 1)))
        self.indptr, self.indices = shape.indptr.astype(np.int32), shape.indices.astype(np.int32)
        self.values = np.zeros(len(self.indices))
        self.pairs = bent_pairs(shape, self._hinges.nodes, n)
        self._extended = np.concatenate([mesh.points, self._hinges.ghosts])
        self.theta, self.moment = np.zeros(count), np.zeros(count)
        self.gradients = np.zeros((count, 12))
        kernels = shell_kernels.angles_and_gradients.variant(self.parallel)
        kernels(self._extended, self._hinges.nodes, self.theta, self.gradients)
        self.rest = self.theta.copy() if mesh.flat is None else np.zeros(count)
        self.linear_force = np.zeros((n, 3))
        self._curvature = np.zeros((0, 12, 12))

    def set_pattern(self, pattern: BlockPattern, mirror: NDArray[np.int32]) -> None:
        """Set the pattern of the matrix, which has the blocks of `pairs`."""
        self._pattern, self._mirror = pattern, mirror
        n, nodes = self._mesh.node_count, self._hinges.nodes
        count = len(nodes)
        # the nodes in the rows of K g, sorted
        e = np.repeat(np.arange(count), np.diff(self.indptr))
        found = nodes[self.indices].astype(np.int64)
        real = found < n
        keys = e[:, None] * np.int64(n) + np.where(real, found, 0)
        rows = np.unique(keys[real])
        self.row_starts = np.searchsorted(rows, np.arange(count + 1) * np.int64(n)).astype(np.int32)
        self.row_nodes = (rows % n).astype(np.int32)
        places = np.searchsorted(rows, keys) - self.row_starts[e][:, None]
        self.places = np.where(real, places, -1).astype(np.int32)
        own = nodes.astype(np.int64)
        places = np.searchsorted(rows, np.arange(count)[:, None] * np.int64(n) + np.where(own < n, own, 0))
        self.own_places = np.where(own < n, places - self.row_starts[:-1, None], -1).astype(np.int32)
        self.row_products = np.zeros((len(rows), 3))
        # the hinges of every node, and the blocks that each adds to
        flat = nodes.ravel()
        codes = np.argsort(flat, kind="stable")[: int((flat < n).sum())]
        self.node_indptr = np.searchsorted(flat[codes], np.arange(n + 1)).astype(np.int32)
        self.codes = codes.astype(np.int32)
        lengths = np.diff(self.row_starts)[codes // 4]
        self.slot_starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        here = np.repeat(flat[codes].astype(np.int64), lengths)
        offset = np.arange(self.slot_starts[-1]) - np.repeat(self.slot_starts[:-1], lengths)
        there = self.row_nodes[np.repeat(self.row_starts[codes // 4], lengths) + offset].astype(np.int64)
        blocks = np.repeat(np.arange(n, dtype=np.int64), np.diff(pattern.indptr)) * n + pattern.indices
        slots = np.searchsorted(blocks, here * n + there)
        self.slots = np.where(there >= here, slots, -1).astype(np.int32)
        self.upper = np.zeros((pattern.block_count, 9))

    def set_law(self, constants: NDArray[np.float64]) -> None:
        """Set Lame's constants [Pa] of every triangle, shape [m, 2]."""
        lam, mu = constants[:, 0], constants[:, 1]
        total = lam + 2.0 * mu
        plane = np.where(total > 0.0, 2.0 * lam * mu / np.where(total > 0.0, total, 1.0), 0.0)
        D = self._mesh.thickness**3 / 12.0 * (plane + 2.0 * mu)
        nu = np.divide(plane, plane + 2.0 * mu, out=np.zeros_like(mu), where=mu > 0.0)
        K = angle_stiffness(self._mesh, self._hinges, np.column_stack([D, nu]))
        e = np.repeat(np.arange(K.shape[0]), np.diff(K.indptr))
        mine = np.repeat(np.arange(K.shape[0]), np.diff(self.indptr))
        count = np.int64(K.shape[0])
        at = np.searchsorted(mine * count + self.indices, e * count + K.indices)
        self.values[:] = 0.0
        self.values[at] = K.data

    def update(self, x: NDArray[np.float64]) -> None:
        """Recompute angles, moments and forces for positions x [n, 3]."""
        parallel = self.parallel
        self._extended[: len(x)] = x
        shell_kernels.angles_and_gradients.variant(parallel)(
            self._extended, self._hinges.nodes, self.theta, self.gradients
        )
        shell_kernels.moments.variant(parallel)(
            self.indptr, self.indices, self.values, self.theta, self.rest, self.moment
        )
        shell_kernels.node_forces.variant(parallel)(
            self.node_indptr, self.codes, self.moment, self.gradients, self.linear_force
        )

    def add_stiffness(self, blocks: NDArray[np.float64], factor: float) -> None:
        """Add `factor` times the stiffness to the blocks of the pattern, as of the last update."""
        parallel = self.parallel
        if self.exact:
            if not len(self._curvature):
                self._curvature = np.zeros((len(self.rest), 12, 12))
            shell_kernels.hessians.variant(parallel)(self._extended, self._hinges.nodes, self._curvature)
        shell_kernels.products.variant(parallel)(
            self.indptr,
            self.indices,
            self.values,
            self.gradients,
            self.places,
            self.row_starts,
            self.row_products,
        )
        p = self._pattern
        shell_kernels.upper_blocks.variant(parallel)(
            self.node_indptr,
            self.codes,
            self.gradients,
            self.row_starts,
            self.row_nodes,
            self.row_products,
            self.slots,
            self.slot_starts,
            self.moment,
            self._curvature if self.exact else np.zeros((0, 12, 12)),
            self.own_places,
            p.indptr,
            self.upper,
        )
        shell_kernels.add_blocks.variant(parallel)(
            p.indptr, p.indices, self._mirror, self.upper, factor, blocks
        )

    def energy(self) -> float:
        """Return the energy [J], as of the last update."""
        return 0.5 * float(self.moment @ (self.theta - self.rest))

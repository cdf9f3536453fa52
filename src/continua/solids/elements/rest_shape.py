"""The rest shape of curved tetrahedra: Bernstein coefficients of the map from the reference element (isoparametric).

The nodes on curved edges and faces interpolate the surface of the body. At order 3 the coefficient at the centre of an
interior face follows from its edges so that quadratic bends stay quadratic, b_111 = sum(edges) / 4 - sum(corners) / 6;
with the bends of order h^2 and their cubic part of order h^3, as projections have, derivatives of the map of order k
are then of order h^k, which optimal convergence needs (Ciarlet and Raviart 1972, Lenoir 1986).

The determinant of the Jacobian is a polynomial of degree 3 (p - 1), which lies between the smallest and the largest of
its Bernstein coefficients; where that bound is too weak the element is subdivided (Johnen, Remacle and Geuzaine 2013).
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import factorial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.mesh import TetMesh
from continua.mesh.curved_boundary import BoundaryNodes, GivenCoefficients, edge_numbers
from continua.numerics.bernstein import TET_FACES, bernstein_tables
from continua.validation import pluralize

__all__ = ["RestShape", "curved_rule", "rest_gradients", "rest_shape", "weighted_mass"]

LEAST_DETERMINANT = 0.1
"""Smallest determinant of a curved element, relative to the straight one with the same corners."""

_STRAIGHT = 1e-9  # of the length of an edge: bends below are none
_ROUNDING = 1e-13  # of the coordinates
_HALVINGS = 3  # of the bend of an edge before it becomes straight
_SUBDIVISIONS = 2


class RestShape(NamedTuple):
    """The rest shape of all elements of one order on a mesh.

    Attributes:
        coefficients: Bernstein coefficients of all nodes [m], shape [n, 3].
        curved: Numbers of the curved elements, ascending, shape [c].
        densities: Bernstein coefficients of their volume over that of the reference element [m3], shape [c, h].
        notes: What was changed so that all elements are valid.
    """

    coefficients: NDArray[np.float64]
    curved: NDArray[np.intp]
    densities: NDArray[np.float64]
    notes: tuple[str, ...]


class _Geometry(Protocol):
    mesh: TetMesh
    order: int
    elements: NDArray[np.int32]

    def coefficients(self, values: NDArray[np.float64]) -> NDArray[np.float64]: ...


def rest_shape(geometry: _Geometry, straight: NDArray[np.float64]) -> RestShape | None:
    """Return the rest shape, or None if all elements are straight; it is made once for a mesh and an order.

    Args:
        geometry: Mesh, order and nodes of the elements.
        straight: Positions of all nodes with straight edges [m], shape [n, 3].
    """
    mesh, order = geometry.mesh, geometry.order
    if order == 1 or mesh.curved_boundary is None:
        return None
    known = mesh.__dict__.setdefault("_rest_shapes", {})
    if order not in known:
        known[order] = _make(geometry, straight)
    return known[order]


def _make(geometry: _Geometry, straight: NDArray[np.float64]) -> RestShape | None:
    mesh, order, elements = geometry.mesh, geometry.order, geometry.elements
    boundary = mesh.curved_boundary
    if isinstance(boundary, GivenCoefficients):
        if boundary.order != order:
            return None
        control = boundary.coefficients[elements]
        size = np.abs(control).max(axis=(1, 2))
        gap = control - np.einsum("kc,mci->mki", bernstein_tables(order).indices / order, control[:, :4])
        curved = np.flatnonzero(np.abs(gap).max(axis=(1, 2)) > _ROUNDING * size)
        return _result(boundary.coefficients, curved, elements, order, ())
    assert boundary is not None
    bends = _Bends(mesh, boundary.nodes(mesh, order, mesh.points), straight, order)
    corners = mesh.points[mesh.tets]
    least = LEAST_DETERMINANT * np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
    touched = np.zeros(0, np.intp)
    while len(bends.nodes):
        coefficients = _coefficients(geometry, straight, bends)
        bent = bends.touched(elements)
        lowest = least_densities(coefficients[elements[bent]], order, least[bent])
        bad = bent[lowest <= least[bent]]
        if not len(bad):
            break
        touched = np.union1d(touched, bad)
        bends.relax(elements[bad])
    if not len(bends.nodes):
        return None
    notes: tuple[str, ...] = ()
    if len(touched):
        count = f"{len(touched)} of {pluralize(len(bends.touched(elements)), 'curved element')}"
        notes = (f"the edges of {count} were bent less than the surface, which would fold them",)
    return _result(coefficients, bends.touched(elements), elements, order, notes)


def _result(
    coefficients: NDArray[np.float64],
    curved: NDArray[np.intp],
    elements: NDArray[np.int32],
    order: int,
    notes: tuple[str, ...],
) -> RestShape:
    densities = density_coefficients(coefficients[elements[curved]], order)
    for values in (coefficients, curved, densities):
        values.flags.writeable = False
    return RestShape(coefficients, curved, densities, notes)


class _Bends:
    """Nodes that do not lie where those of straight elements lie, and how far they have been moved there."""

    def __init__(
        self, mesh: TetMesh, found: BoundaryNodes, straight: NDArray[np.float64], order: int
    ) -> None:
        edges = mesh.node_count + (order - 1) * found.edges[:, None] + np.arange(order - 1)
        faces = mesh.node_count + (order - 1) * len(mesh.edges) + found.faces[:, None]
        ends = mesh.points[mesh.edges[found.edges]]
        length = np.repeat(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), order - 1)
        corners = mesh.points[mesh.faces[found.faces]]
        length = np.concatenate([length, np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)])
        nodes = np.concatenate([edges.ravel(), faces.ravel()])
        targets = np.concatenate([found.edge_points.reshape(-1, 3), found.face_points])
        bend = np.linalg.norm(targets - straight[nodes], axis=1)
        groups = np.concatenate(
            [np.repeat(np.arange(len(edges)), order - 1), len(edges) + np.arange(len(faces))]
        )
        largest = np.zeros(len(edges) + len(faces))
        np.maximum.at(largest, groups, bend / length)
        used = largest > _STRAIGHT
        sides = np.stack([mesh.faces[found.faces], np.roll(mesh.faces[found.faces], -1, axis=1)], axis=2)
        if order == 3 and len(sides):  # the centre of a face with a bent edge counts, wherever it lies
            bent = np.zeros(len(mesh.edges), bool)
            bent[found.edges] = used[: len(edges)]
            used[len(edges) :] |= bent[edge_numbers(mesh, sides.reshape(-1, 2))].reshape(-1, 3).any(axis=1)
        used = used[groups]
        self.nodes, self.targets, self._groups = nodes[used], targets[used], groups[used]
        self._edge_count = len(edges)
        self._halved = np.zeros(len(largest), int)
        self._count = len(straight)

    @property
    def factors(self) -> NDArray[np.float64]:
        """Part of the bend of every node that is left."""
        halved = self._halved[self._groups]
        return np.where(halved > _HALVINGS, 0.0, 0.5**halved)

    def touched(self, elements: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the elements that have one of the nodes."""
        bent = np.zeros(self._count, bool)
        bent[self.nodes] = True
        return np.flatnonzero(bent[elements].any(axis=1))

    def relax(self, elements: NDArray[np.int32]) -> None:
        """Halve the bends of the edges of elements; centres of their faces follow from the edges."""
        there = np.zeros(self._count, bool)
        there[elements] = True
        groups = np.unique(self._groups[there[self.nodes]])
        self._halved[groups] += np.where(groups < self._edge_count, 1, _HALVINGS + 1)
        left = self._halved[self._groups] <= _HALVINGS
        self.nodes, self.targets, self._groups = self.nodes[left], self.targets[left], self._groups[left]


def _coefficients(geometry: _Geometry, straight: NDArray[np.float64], bends: _Bends) -> NDArray[np.float64]:
    """Return the coefficients of all nodes."""
    mesh, elements = geometry.mesh, geometry.elements
    values = straight.copy()
    values[bends.nodes] += bends.factors[:, None] * (bends.targets - straight[bends.nodes])
    coefficients = geometry.coefficients(values)
    coefficients[: mesh.node_count] = mesh.points
    moved = np.zeros(len(straight), bool)
    moved[bends.nodes] = True
    if geometry.order == 3:
        for corners, edges, face in zip(*_face_nodes(), range(16, 20), strict=True):
            rows = elements[~moved[elements[:, face]]]
            coefficients[rows[:, face]] = (
                0.25 * coefficients[rows[:, edges]].sum(axis=1)
                - coefficients[rows[:, corners]].sum(axis=1) / 6.0
            )
    unmoved = np.unique(elements[~moved[elements].any(axis=1)])  # bitwise those of straight elements
    coefficients[unmoved] = straight[unmoved]
    return coefficients


@cache
def _face_nodes() -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the local corners [4, 3] and nodes on edges [4, 6] of the faces of a tetrahedron of order 3."""
    indices = bernstein_tables(3).indices
    edges = []
    for face in TET_FACES:
        outside = 6 - sum(face)
        own = (indices[:, outside] == 0) & (indices.max(axis=1) == 2)
        edges.append(np.flatnonzero(own))
    return np.array(TET_FACES), np.array(edges)


def _indices(degree: int) -> NDArray[np.int64]:
    """Return the multi-indices of a degree, shape [h, 4]."""
    return np.array([I for I in np.ndindex((degree + 1,) * 4) if sum(I) == degree])


def _factorials(values: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.cumprod(np.concatenate([[1.0], np.arange(1.0, values.max(initial=0) + 1.0)]))[values]


def _values(indices: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Bernstein polynomials with these multi-indices [k, 4] at barycentric coordinates [q, 4], shape [q, k]."""
    degree = int(indices[0].sum())
    scale = factorial(degree) / np.prod(_factorials(indices), axis=1)
    return scale * np.prod(points[:, None, :] ** indices, axis=2)


def _slopes(order: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return dB_I/d(b_1, b_2, b_3), with b_0 what they leave of 1, at points [q, 4], shape [q, k, 3]."""
    indices = bernstein_tables(order).indices
    scale = factorial(order) / np.prod(_factorials(indices), axis=1)
    table = np.empty((len(points), len(indices), 4))
    for c in range(4):
        lower = np.maximum(indices - np.eye(4, dtype=int)[c], 0)
        table[:, :, c] = scale * indices[:, c] * np.prod(points[:, None, :] ** lower, axis=2)
    return table[:, :, 1:] - table[:, :, :1]


@cache
def _density_tables(order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slopes at the points that fix a polynomial of degree 3 (p - 1), and its coefficients of the values."""
    indices = _indices(3 * (order - 1))
    points = indices / (3 * (order - 1))
    return _slopes(order, points), np.asarray(np.linalg.inv(_values(indices, points)), np.float64)


def density_coefficients(control: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Return the Bernstein coefficients [c, h] of det J / 6 of elements with the coefficients `control` [c, k, 3]."""
    slopes, inverse = _density_tables(order)
    jacobians = np.einsum("mki,qkj->mqij", control, slopes)
    return np.asarray(np.einsum("mq,hq->mh", np.linalg.det(jacobians), inverse) / 6.0)


def least_densities(
    control: NDArray[np.float64], order: int, enough: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return lower bounds of det J / 6 of elements, subdivided where a bound is not more than `enough`, shape [c]."""
    parts = density_coefficients(control, order)[:, None]
    lowest = parts.min(axis=(1, 2))
    todo = np.flatnonzero(lowest <= enough)
    # the coefficients at the corners are values of the determinant: no subdivision raises the bound above them
    ends = np.flatnonzero(_indices(3 * (order - 1)).max(axis=1) == 3 * (order - 1))
    todo = todo[parts[todo, 0][:, ends].min(axis=1) > enough[todo]]
    parts = parts[todo]
    for _ in range(_SUBDIVISIONS):
        if not len(todo):
            break
        parts = np.einsum("sgh,mph->mpsg", _subdivision(order), parts).reshape(len(todo), -1, parts.shape[2])
        lowest[todo] = parts.min(axis=(1, 2))
        left = lowest[todo] <= enough[todo]
        todo, parts = todo[left], parts[left]
    return lowest


@cache
def _subdivision(order: int) -> NDArray[np.float64]:
    """Return the coefficients on eight parts of a tetrahedron of a polynomial of degree 3 (p - 1), shape [8, h, h]."""
    indices = _indices(3 * (order - 1))
    points = indices / (3 * (order - 1))
    inverse = np.linalg.inv(_values(indices, points))
    unit = np.eye(4)
    middle = {(a, b): 0.5 * (unit[a] + unit[b]) for a in range(4) for b in range(4)}
    around = [
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 3),
    ]  # the ring around the diagonal between the middles of 0-2 and 1-3
    tets = [[middle[a, b] if a != b else unit[a] for b in range(4)] for a in range(4)]
    tets += [[middle[0, 2], middle[1, 3], middle[around[i]], middle[around[(i + 1) % 4]]] for i in range(4)]
    return np.array([inverse @ _values(indices, points @ np.array(tet)) for tet in tets])


@cache
def curved_rule(order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points [q, 4] and weights [q] (sum 1) of degree 3 (p - 1), which uniform stress is in balance with.

    Integrals of the slopes of shape functions over a curved element have this degree. Order 2: eight points of degree 3
    (Walkington 2000); order 3: 24 points of degree 6 (Keast 1986).
    """
    orbits: dict[int, tuple[tuple[tuple[float, ...], float], ...]] = {
        2: (
            ((0.3280546967114266,) * 3, 0.1385279665118621),
            ((0.1069522739329307,) * 3, 0.1114720334881379),
        ),
        3: (
            ((0.214602871259152029,) * 3, 0.0399227502581674921),
            ((0.0406739585346113531,) * 3, 0.0100772110553206429),
            ((0.322337890142275510,) * 3, 0.0553571815436547221),
            ((0.0636610018750175253, 0.0636610018750175253, 0.269672331458315808), 0.0482142857142857143),
        ),
    }
    points, weights = [], []
    for own, weight in orbits[order]:
        orbit = sorted(set(permutations((*own, 1.0 - sum(own)))))
        points += orbit
        weights += [weight] * len(orbit)
    return np.array(points), np.array(weights) / np.sum(weights)


def rest_gradients(
    control: NDArray[np.float64], order: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradients of b_1, b_2, b_3 [1/m], shape [c, q, 3, 3], and det J / 6 [m3], shape [c, q], at points."""
    jacobians = np.einsum("mki,qkj->mqij", control, _slopes(order, points))
    density: NDArray[np.float64] = np.linalg.det(jacobians) / 6.0
    return np.asarray(np.linalg.inv(jacobians)), density


@cache
def _triple_products(order: int) -> NDArray[np.float64]:
    """Return the integrals of B_I B_J B_H over volume 1, H of degree 3 (p - 1), shape [k, k, h]."""
    own, other = bernstein_tables(order).indices, _indices(3 * (order - 1))
    d = 3 * (order - 1)
    total = own[:, None, None] + own[None, :, None] + other[None, None]
    scale = 6.0 * factorial(order) ** 2 * factorial(d) / factorial(2 * order + d + 3)
    below = [np.prod(_factorials(part), axis=1) for part in (own, own, other)]
    product = np.prod(_factorials(total), axis=3)
    return np.asarray(
        scale * product / (below[0][:, None, None] * below[1][None, :, None] * below[2][None, None])
    )


def weighted_mass(order: int, densities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exact integrals of B_I B_J over curved elements [m3], shape [c, k, k]."""
    # not by BLAS, whose results depend on the number of threads
    return np.asarray(np.einsum("mh,klh->mkl", densities, _triple_products(order)))

"""Transfer of fields between the elements of two meshes, where the new elements lie in the old ones.

A field of degree p on an old element is a polynomial, so it has exact coefficients on every new element inside it. With
the blossom b(u_1, ..., u_p), the symmetric multi-affine form of the polynomial, the Bernstein coefficient of the
multi-index I is b at the corners of the element, corner c taken I_c times (Farin 2002). Corners of a new element are
given by barycentric coordinates in the old one; the other way round the same formula returns old coefficients from
those of one new element.

Forces are dual to fields. They are carried by the transpose of a map R from new to old fields with R P = 1, where P
carries fields: total force, moment and the power of every old motion are kept.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import TetMesh, TopologyChange, connected_pieces
from continua.mesh.topology import interpolate, nodes_within, padded_rows
from continua.numerics.bernstein import bernstein_tables
from continua.numerics.quadrature import tet_rule

__all__ = ["FieldTransfer"]

_NONZERO = 1e-12  # weights below come from rounding
_CHUNK = 8192  # elements whose weights are computed at once


class FieldTransfer:
    """Carries fields, node sets, point forces and plastic states over the elements of a body through a change.

    Args:
        change: The change of the mesh.
        order: Polynomial degree of the elements.
        before: Nodes of the old elements, shape [m_old, k].
        after: Nodes of the new elements, shape [m_new, k].
        old_count: Number of old nodes.
        new_count: Number of new nodes.

    Attributes:
        change: The change.
        element_parents: The old element that contains each new one, shape [m_new].
        old_count: Number of old nodes.
        new_count: Number of new nodes.
        parents: Old nodes whose coefficients make up each new one, shape [n_new, p].
        weights: Their weights, shape [n_new, p]; rows sum to 1.
    """

    def __init__(
        self,
        change: TopologyChange,
        order: int,
        before: NDArray[np.int32],
        after: NDArray[np.int32],
        old_count: int,
        new_count: int,
    ) -> None:
        self.change = change
        self._order, self._before, self._after = order, before, after
        self.old_count, self.new_count = old_count, new_count
        assert change.element_parents is not None
        self.element_parents = change.element_parents
        if order == 1:
            assert change.node_parents is not None
            assert change.weights is not None
            self.parents, self.weights = change.node_parents, change.weights
        else:
            self.parents, self.weights = self._coefficient_weights()

    def _coefficient_weights(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        element, local = self._owners
        corners = self.change.corner_weights[element[:, None], _corner_lists(self._order)[local]]
        return self._rows(element, _blossom_weights(self._order, corners))

    @cached_property
    def _value_parents(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Old nodes whose values make up the value at each new node, and their weights; as `parents` and `weights`."""
        if self._order == 1:
            return self.parents, self.weights
        element, local = self._owners
        tables = bernstein_tables(self._order)
        place = np.einsum(
            "nc,nca->na", tables.indices[local] / self._order, self.change.corner_weights[element]
        )
        same = np.repeat(place[:, None], self._order, axis=1)
        rows = _blossom_weights(self._order, same) @ tables.inverse
        rows[np.abs(rows) < _NONZERO] = 0.0
        return self._rows(element, rows)

    @cached_property
    def _owners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """An element of each new node, and the number of the node in it.

        Any of the elements that share a node will do: they have the same field on the shared edge or face.
        """
        owner = np.empty(self.new_count, np.int64)
        owner[self._after.ravel()] = np.arange(self._after.size)
        element, local = np.divmod(owner, self._after.shape[1])
        return element, local

    def _rows(
        self, element: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return weights [n_new, k] of the old nodes in the parents of elements as `parents` and `weights`."""
        used = rows != 0.0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        columns = self._before[self.element_parents[element]]
        return padded_rows(starts, columns[used], rows[used])

    def interpolate(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the new coefficients [n_new, ...] of the field with the given old ones [n_old, ...]."""
        return interpolate(self.parents, self.weights, coefficients)

    def map_nodes(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the new nodes where the value follows from the values at the given old nodes alone, sorted."""
        inside = np.zeros(self.old_count, bool)
        inside[nodes] = True
        found = nodes_within(*self._value_parents, inside)
        cut = self._cut_mesh
        return found if cut is None or cut.subdomains is None else cut.subdomains.touching(cut, found)

    @property
    def _cut_mesh(self) -> TetMesh | None:
        """The new mesh if it was cut through elements, else None."""
        mesh = self.change.mesh
        return mesh if isinstance(mesh, TetMesh) and mesh.subdomains is not None else None

    def distribute(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return forces at the new nodes [n_new, ...] that are equivalent to forces at the old ones."""
        return np.asarray(self._restriction.T @ forces)

    def collect(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return forces at the old nodes [n_old, ...] that are equivalent to forces at the new ones."""
        return np.asarray(self._interpolation.T @ forces)

    def restrict(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return old coefficients [n_old, ...] of a field with the given new ones; exact if it is an old field."""
        return np.asarray(self._restriction @ coefficients)

    def map_point(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return new nodes and weights of a point that was a weighted mean of the coefficients of one old element.

        A point on a cut follows one side: the piece of the new element that holds it, in the element with the smallest
        number that has its nodes.
        """
        has = np.isin(self._before, nodes).sum(axis=1)
        element = int(has.argmax())
        if has[element] < len(nodes):  # not in one element: a mean of many nodes
            return _used(self.distribute(_scattered(nodes, weights, self.old_count)))
        children = np.flatnonzero(self.element_parents == element)
        values = _scattered(nodes, weights, self.old_count)
        cut = self._cut_mesh
        if cut is not None and cut.subdomains is not None and len(children) > 1:
            before = self.change.before
            point = values[self._before[element]] @ before.points[before.cells[element]]
            holder = cut.subdomains.holders(cut, self.element_parents, np.array([element]), point[None])
            return _used(self._restriction_over(holder).T @ values)
        if len(children) > 1 and self.change.mesh.is_split:
            place = values[self._before[element]] @ bernstein_tables(self._order).indices / self._order
            inside = np.linalg.solve(self.change.corner_weights[children].swapaxes(1, 2), place[:, None])
            holder = children[inside.min(axis=(1, 2)).argmax()]
            children = children[self._pieces[children] == self._pieces[holder]]
        return _used(self._restriction_over(children).T @ values)

    def return_point(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return old nodes and weights of a point that is a weighted mean of new coefficients."""
        return _used(self.collect(_scattered(nodes, weights, self.new_count)))

    def return_nodes(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return old nodes for a set of new ones: those with most of their copies in it, or else the parents."""
        inside = np.zeros(self.new_count)
        inside[nodes] = 1.0
        parents, weights = self._value_parents
        if self._order == 1:
            old = np.flatnonzero(self.restrict(inside) > 0.5 - _NONZERO)
        else:
            copies = np.flatnonzero((weights != 0.0).sum(axis=1) == 1)
            there = np.bincount(parents[copies, 0], minlength=self.old_count)
            held = np.bincount(parents[copies, 0], inside[copies], self.old_count)
            old = np.flatnonzero((there > 0) & (held >= 0.5 * there))
        if not len(old):
            old = np.unique(parents[nodes][weights[nodes] != 0.0])
        return old.astype(np.int32)

    def interpolate_points(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values at the quadrature points of the new elements, shape [m_new, q, ...], from old ones.

        On a refined element they follow the polynomial of the degree of the strain that fits the old values best.
        Elements that are the same keep theirs. Elements other than tetrahedra are never refined.
        """
        result = values[self.element_parents]
        changed = self._changed
        if len(changed) and self._order > 1:
            points, _ = tet_rule(self._order)
            there = np.einsum("qc,mca->mqa", points, self.change.corner_weights[changed])
            weights = _monomials(there, self._order - 1) @ np.linalg.pinv(_monomials(points, self._order - 1))
            result[changed] = np.einsum("mqp,mp...->mq...", weights, result[changed])
        return result

    @cached_property
    def _pieces(self) -> NDArray[np.int32]:
        return connected_pieces(self.change.mesh)

    @cached_property
    def _interpolation(self) -> sparse.csr_array:
        used = self.weights != 0.0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        shape = (self.new_count, self.old_count)
        return sparse.csr_array((self.weights[used], self.parents[used], starts), shape=shape)

    @cached_property
    def _restriction(self) -> sparse.csr_array:
        return self._restriction_over(np.arange(len(self.element_parents)))

    @cached_property
    def _changed(self) -> NDArray[np.intp]:
        """Elements that differ from their parents."""
        table = self.change.corner_weights
        return np.flatnonzero((table != np.eye(table.shape[2])).any(axis=(1, 2)))

    def _restriction_over(self, children: NDArray[np.intp]) -> sparse.csr_array:
        """Return R [n_old, n_new]: old coefficients from those of the given new elements.

        Each old coefficient follows from any one of the elements in its old elements. Of these the ones that
        extrapolate least are taken, and averaged by volume.
        """
        changed = np.zeros(len(self.element_parents), bool)
        changed[self._changed] = True
        width = self._after.shape[1]
        same = children[~changed[children]]
        volumes = self.change.mesh.volumes
        # for each pair (new element, node of its parent): the old node, the cost, the volume, and weights
        old = [self._before[self.element_parents[same]].ravel()]
        cost = [np.ones(len(same) * width)]
        cut = self._cut_mesh
        if cut is not None and cut.subdomains is not None:  # a node is where its matter is
            cost = [np.where(cut.subdomains.real_corners(cut)[same], 1.0, 2.0).ravel()]
        share = [np.repeat(volumes[same], width)]
        rows = [np.arange(len(same) * width)]
        columns = [self._after[same].ravel()]
        values = [np.ones(len(same) * width)]
        count = len(same) * width
        others = children[changed[children]]
        for start in range(0, len(others), _CHUNK):
            part = others[start : start + _CHUNK]
            inverse = np.asarray(np.linalg.inv(self.change.corner_weights[part]), np.float64)
            weights = _blossom_weights(self._order, inverse[:, _corner_lists(self._order)])
            used = np.abs(weights) > _NONZERO
            pair, local = np.divmod(np.flatnonzero(used), width)
            rows.append(count + pair)
            columns.append(self._after[part[pair // width], local])
            values.append(weights[used])
            old.append(self._before[self.element_parents[part]].ravel())
            cost.append(np.abs(weights).sum(axis=2).ravel())
            share.append(np.repeat(volumes[part], width))
            count += len(part) * width
        node, price, volume = np.concatenate(old), np.concatenate(cost), np.concatenate(share)
        least = np.full(self.old_count, np.inf)
        np.minimum.at(least, node, price)
        volume = np.where(price <= (1.0 + 1e-9) * least[node], volume, 0.0)
        total = np.bincount(node, volume, self.old_count)
        pairs = sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(count, self.new_count),
        )
        mean = sparse.csr_array(
            (volume / total[node], (node, np.arange(count))), shape=(self.old_count, count)
        )
        result = sparse.csr_array(mean @ pairs)
        result.eliminate_zeros()
        return result.copy()  # the values were part of a longer array, which copies of a body would not have


def _scattered(nodes: NDArray[np.int32], weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    values = np.zeros(count)
    values[nodes] = weights
    return values


def _used(weights: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    nodes = np.flatnonzero(np.abs(weights) > _NONZERO)
    if not len(nodes):
        raise InputError("a point of the body is lost in the change of topology")
    return nodes.astype(np.int32), weights[nodes]


def _monomials(points: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return a basis of the polynomials of degree 1 or 2 at barycentric coordinates [..., 4], shape [..., k]."""
    if degree == 1:
        return points
    pairs = [(a, b) for a in range(4) for b in range(a, 4)]
    return np.stack([points[..., a] * points[..., b] for a, b in pairs], axis=-1)


@cache
def _corner_lists(order: int) -> NDArray[np.intp]:
    """Return the corners of each local node, each as often as its multi-index says, shape [k, p]."""
    return np.array([np.repeat(np.arange(4), index) for index in bernstein_tables(order).indices])


@cache
def _index_of_products(order: int) -> NDArray[np.float64]:
    """Return which local node a product of p barycentric coordinates belongs to, as a matrix [4^p, k] of 0 and 1."""
    number = {tuple(index): k for k, index in enumerate(bernstein_tables(order).indices.tolist())}
    table = np.zeros((4**order, len(number)))
    for row, corners in enumerate(np.ndindex(*(4,) * order)):
        table[row, number[tuple(np.bincount(corners, minlength=4).tolist())]] = 1.0
    return table


def _blossom_weights(order: int, arguments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the coefficients in the blossom at p points [..., p, 4] (barycentric), shape [..., k]."""
    product = arguments[..., 0, :]
    for i in range(1, order):
        product = (product[..., :, None] * arguments[..., i, None, :]).reshape(*product.shape[:-1], -1)
    return np.asarray(product @ _index_of_products(order))

"""Transfer of Bernstein fields: exact on children, dual forces, points of the material."""

import numpy as np
import pytest

from continua import mesh
from continua.deformable.field_transfer import FieldTransfer
from continua.numerics.bernstein import bernstein_tables
from continua.numerics.quadrature import tet_rule
from continua.solids.elements.bernstein_geometry import BernsteinGeometry


def centers(m):
    return m.points[m.cells].mean(axis=1)


def refined_twice_and_split():
    first = mesh.refine_tets(mesh.sphere(0.5, 1).straight(), [0, 4])
    second = mesh.refine_tets(first.mesh, centers(first.mesh)[:, 1] < -0.1)
    cut = mesh.split_faces(second.mesh, mesh.faces_between(second.mesh, centers(second.mesh)[:, 0] < 0.0))
    return first.then(second).then(cut)


def transfer(change, order):
    old, new = BernsteinGeometry(change.before, order), BernsteinGeometry(change.mesh, order)
    made = FieldTransfer(change, order, old.elements, new.elements, old.node_count, new.node_count)
    return made, old, new


def evaluate(geometry, coefficients, elements, points):
    """Return a field at points given by barycentric coordinates [q, 4] in elements [q]."""
    indices = bernstein_tables(geometry.order).indices
    factorial = np.array([1.0, 1.0, 2.0, 6.0])
    scale = factorial[geometry.order] / factorial[indices].prod(axis=1)
    basis = scale * (points[:, None, :] ** indices).prod(axis=2)
    return np.einsum("qk,qkd->qd", basis, coefficients[geometry.elements[elements]])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_field_is_the_same_function_on_children(order):
    change = refined_twice_and_split()
    made, old, new = transfer(change, order)
    rng = np.random.default_rng(order)
    coefficients = rng.normal(size=(old.node_count, 3))
    elements = np.repeat(np.arange(change.mesh.element_count), 3)
    points = rng.dirichlet(np.ones(4), len(elements))
    parents = np.einsum("qc,qca->qa", points, change.corner_weights[elements])
    np.testing.assert_allclose(
        evaluate(new, made.interpolate(coefficients), elements, points),
        evaluate(old, coefficients, change.element_parents[elements], parents),
        atol=1e-12,
    )
    np.testing.assert_allclose(made.weights.sum(axis=1), 1.0, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_rest_positions_are_carried(order):
    made, old, new = transfer(refined_twice_and_split(), order)
    np.testing.assert_allclose(made.interpolate(old.rest_positions), new.rest_positions, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_forces_are_dual_to_fields(order):
    made, old, new = transfer(refined_twice_and_split(), order)
    rng = np.random.default_rng(order)
    velocities, forces = rng.normal(size=(2, old.node_count, 3))
    spread = made.distribute(forces)
    carried = made.interpolate(velocities)
    np.testing.assert_allclose(np.vdot(spread, carried), np.vdot(forces, velocities), rtol=1e-11)  # power
    np.testing.assert_allclose(spread.sum(axis=0), forces.sum(axis=0), atol=1e-11)
    x, y = old.rest_positions, new.rest_positions
    np.testing.assert_allclose(
        np.cross(y, spread).sum(axis=0), np.cross(x, forces).sum(axis=0), atol=1e-11
    )  # moment
    np.testing.assert_allclose(made.collect(spread), forces, atol=1e-10)
    np.testing.assert_allclose(made.restrict(carried), velocities, atol=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_points_of_the_material_keep_their_place(order):
    change = refined_twice_and_split()
    made, old, new = transfer(change, order)
    rng = np.random.default_rng(order)
    coefficients = rng.normal(size=(old.node_count, 3))
    carried = made.interpolate(coefficients)
    pieces = mesh.connected_pieces(change.mesh)
    piece = np.zeros(new.node_count, int)
    piece[new.elements] = pieces[:, None]
    for triangle in old.surface_triangles()[::5]:
        nodes, weights = old.point_weights(triangle, rng.dirichlet(np.ones(3)))
        there, again = made.map_point(nodes, weights)
        np.testing.assert_allclose(again @ carried[there], weights @ coefficients[nodes], atol=1e-11)
        assert len(np.unique(piece[there])) == 1  # a spring does not hold two pieces
        back, and_back = made.return_point(there, again)
        np.testing.assert_allclose(and_back @ coefficients[back], weights @ coefficients[nodes], atol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_nodes_of_a_plane_stay_those_of_the_plane(order):
    m = mesh.box(cells=(2, 2, 1))
    made, old, new = transfer(mesh.refine_tets(m, [0, 9]), order)
    chosen = np.flatnonzero(old.rest_positions[:, 0] == 0.0).astype(np.int32)
    carried = made.map_nodes(chosen)
    np.testing.assert_array_equal(carried, np.flatnonzero(new.rest_positions[:, 0] == 0.0))
    np.testing.assert_array_equal(made.return_nodes(carried), chosen)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_values_at_quadrature_points_follow_polynomials(order):
    """Fields of the degree of the strain are exact, and elements that do not change keep their values bitwise."""
    m = mesh.box(cells=(3, 1, 1))
    change = mesh.refine_tets(m, [0])
    made, _, _ = transfer(change, order)
    points, _ = tet_rule(order)

    def field(m):
        x = np.einsum("qc,mcd->mqd", points, m.points[m.tets])
        return np.stack([x @ (1.0, -2.0, 0.5), (x[..., 0] - x[..., 1] + 0.3) ** (order - 1)], axis=-1) ** min(
            order - 1, 1
        )

    old, new = field(m), field(change.mesh)
    carried = made.interpolate_points(old)
    np.testing.assert_allclose(carried, new, atol=1e-12)
    same = np.bincount(change.element_parents)[change.element_parents] == 1
    np.testing.assert_array_equal(carried[same], old[change.element_parents[same]])

"""Topology changes as data: composition, and how fields, sets and faces follow."""

import numpy as np
import pytest

from continua import mesh
from continua.errors import InputError
from continua.mesh import TopologyChange


def centers(m):
    return m.points[m.cells].mean(axis=1)


def chain():
    """A refinement, another one, and a split of the result."""
    first = mesh.refine_tets(mesh.box(cells=(3, 2, 2)), [0, 5, 17])
    second = mesh.refine_tets(first.mesh, centers(first.mesh)[:, 1] < 0.3)
    cut = mesh.faces_between(second.mesh, centers(second.mesh)[:, 0] < 0.5)
    return first, second, mesh.split_faces(second.mesh, cut)


def test_weights_sum_to_one_and_linear_fields_are_exact():
    for change in chain():
        np.testing.assert_allclose(change.weights.sum(axis=1), 1.0)
        np.testing.assert_allclose(change.interpolate(change.before.points), change.mesh.points, atol=1e-15)


def test_composition_is_one_after_the_other():
    first, second, third = chain()
    whole = first.then(second).then(third)
    whole.check()
    assert whole.before is first.before
    assert whole.mesh is third.mesh
    assert whole.node_parents.shape[1] <= 4  # nodes lie in tets of the first mesh
    rng = np.random.default_rng(0)
    nodal, elemental = (
        rng.normal(size=(first.before.node_count, 2)),
        rng.normal(size=first.before.element_count),
    )
    np.testing.assert_allclose(
        whole.interpolate(nodal), third.interpolate(second.interpolate(first.interpolate(nodal))), atol=1e-14
    )
    np.testing.assert_array_equal(
        whole.copy_to_elements(elemental),
        third.copy_to_elements(second.copy_to_elements(first.copy_to_elements(elemental))),
    )
    nodes = np.flatnonzero(first.before.points[:, 0] > 0.6)
    np.testing.assert_array_equal(
        whole.map_nodes(nodes), third.map_nodes(second.map_nodes(first.map_nodes(nodes)))
    )
    faces = np.arange(0, len(first.before.boundary_faces), 3)
    np.testing.assert_array_equal(
        whole.map_boundary_faces(faces),
        third.map_boundary_faces(second.map_boundary_faces(first.map_boundary_faces(faces))),
    )
    np.testing.assert_allclose(whole.interpolation().sum(axis=1), 1.0)


def test_copied_nodes_are_bitwise_copies():
    change = chain()[0]
    values = np.random.default_rng(1).normal(size=(change.before.node_count, 3))
    values[3] = -0.0
    copied = change.interpolate(values)[: len(values)]
    assert copied.tobytes() == values.tobytes()


def test_node_sets_follow_a_plane():
    m = mesh.box(cells=(3, 2, 2))
    change = mesh.refine_tets(m, np.ones(m.element_count, bool))
    nodes = change.map_nodes(np.flatnonzero(m.points[:, 0] == 0.0))
    np.testing.assert_array_equal(nodes, np.flatnonzero(change.mesh.points[:, 0] == 0.0))


def test_boundary_faces_lie_in_their_parents():
    first, second, third = chain()
    whole = first.then(second).then(third)
    old, new = whole.before, whole.mesh
    parents = whole.boundary_face_parents
    area = [
        np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1) / 2.0
        for p in (old.points[old.boundary_faces], new.points[new.boundary_faces])
    ]
    outer = parents >= 0
    np.testing.assert_allclose(np.bincount(parents[outer], area[1][outer]), area[0], rtol=1e-12)
    # the other faces are the two sides of the cut
    assert area[1][~outer].sum() > 2.0 - 1e-12
    inside = new.points[new.boundary_faces[~outer]].mean(axis=1)
    assert ((inside > 0.0) & (inside < 1.0)).all()


def test_corner_weights_place_elements_in_their_parents():
    change = chain()[1]
    corners = change.before.points[change.before.cells[change.element_parents]]
    np.testing.assert_allclose(
        np.einsum("mia,mad->mid", change.corner_weights, corners),
        change.mesh.points[change.mesh.cells],
        atol=1e-15,
    )
    assert change.corner_weights.min() >= 0.0


def test_changes_that_do_not_fit_are_refused():
    first, second, _ = chain()
    with pytest.raises(InputError, match="does not start from the mesh"):
        second.then(first)
    m = first.mesh
    bad = [
        ({"weights": 2.0 * first.weights}, "sum to 1"),
        ({"element_parents": np.roll(first.element_parents, 40)}, "do not lie in their parents"),
        ({"element_parents": first.element_parents + 1000}, "do not exist"),
        ({"node_parents": first.node_parents[:-1]}, "parents and weights"),
        ({"element_parents": first.element_parents[:-1]}, "parent elements"),
        ({"mesh": mesh.TetMesh._trusted(m.points, m.tets[:, [1, 0, 2, 3]])}, "without volume"),
        ({"before": mesh.hex_box(cells=(2, 2, 2))}, "cannot make tets from hexes"),
    ]
    parts = {
        "before": first.before,
        "mesh": m,
        "node_parents": first.node_parents,
        "weights": first.weights,
        "element_parents": first.element_parents,
    }
    TopologyChange(**parts).check()
    for changed, text in bad:
        with pytest.raises(InputError, match=text):
            TopologyChange(**parts | changed).check()


def test_a_replacement_has_no_parents():
    first, second, _ = chain()
    change = TopologyChange.replacement(first.before, first.mesh)
    assert change.is_replacement
    assert change.then(second).is_replacement
    assert change.then(second).mesh is second.mesh
    with pytest.raises(InputError, match="replaces the mesh"):
        change.interpolate(first.before.points)

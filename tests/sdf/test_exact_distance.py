"""The exact distance equals the slow one, everywhere and at every size."""

import numpy as np
import pytest
from brute_force import distance, signed_distance, winding

import continua as ct
from continua.mesh import SurfaceMesh, surfaces


def star(seed, cells=4):
    """A closed surface with sharp spikes and dents: a sphere whose radius jumps from node to node."""
    rng = np.random.default_rng(seed)
    ball = surfaces.sphere(1.0, cells)
    return SurfaceMesh(ball.points * rng.uniform(0.3, 1.0, (ball.node_count, 1)), ball.triangles)


@pytest.mark.parametrize("seed", range(3))
def test_equals_brute_force_on_random_meshes(seed):
    mesh = star(seed)
    points = np.random.default_rng(seed + 100).uniform(-1.3, 1.3, (1500, 3))
    found = ct.sdf.exact(mesh).closest(points)
    wanted = signed_distance(points, mesh)
    np.testing.assert_allclose(found.distances, wanted, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(points - found.points, axis=1), np.abs(wanted), atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(found.gradients, axis=1), 1.0, atol=1e-14)
    # The nearest point lies on the triangle that is named: its own distance to that triangle is zero.
    named = mesh.points[mesh.triangles[found.triangles[:50]]]
    for point, corners in zip(found.points[:50], named, strict=True):
        assert distance(point[None], SurfaceMesh(corners, [[0, 1, 2]]))[0] < 1e-15


def test_a_box_has_its_known_distance_at_faces_edges_corners_and_far_away():
    mesh = surfaces.box((2.0, 2.0, 2.0), (3, 3, 3), origin=(-1.0, -1.0, -1.0))
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.uniform(-2, 2, (4000, 3)), 1e5 * rng.normal(size=(100, 3))])
    points = np.concatenate([points, np.round(points[:500])])  # exactly at edges, corners, on the medial axis
    outside = np.maximum(np.abs(points) - 1.0, 0.0)
    depth = np.abs(points).max(axis=1) - 1.0
    wanted = np.where(depth > 0.0, np.linalg.norm(outside, axis=1), depth)
    field = ct.sdf.exact(mesh)
    np.testing.assert_allclose(field(points), wanted, rtol=1e-13, atol=1e-14)


def test_the_gradient_is_that_of_a_sphere():
    mesh = surfaces.sphere(1.0, 24)
    points = np.random.default_rng(0).normal(size=(500, 3))
    gradient = ct.sdf.exact(mesh).gradient(points)
    cosine = np.einsum("ij,ij->i", gradient, points) / np.linalg.norm(points, axis=1)
    assert np.quantile(cosine, 0.05) > 0.99
    assert ct.sdf.exact(mesh).gradient(np.array([[0.0, 0.0, 0.0]])).shape == (1, 3)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_a_mesh_of_any_size_gives_the_scaled_answer(size):
    mesh = star(7)
    points = np.random.default_rng(3).uniform(-1.3, 1.3, (2000, 3))
    small = ct.sdf.exact(mesh)
    scaled = ct.sdf.exact(mesh.transformed(scale=size))
    np.testing.assert_allclose(scaled(size * points), size * small(points), rtol=1e-12, atol=1e-15 * size)


def test_the_order_of_queries_and_the_threads_do_not_matter():
    mesh = star(1)
    points = np.random.default_rng(4).uniform(-1.3, 1.3, (6000, 3))
    field = ct.sdf.exact(mesh)
    before = ct.get_threads()
    try:
        ct.set_threads(1)
        one = field.closest(points)
        ct.set_threads(2)
        two = field.closest(points)
    finally:
        ct.set_threads(before)
    mixed = np.random.default_rng(0).permutation(len(points))
    again = field.closest(points[mixed])
    for first, second, third in zip(one, two, again, strict=True):
        assert np.array_equal(first, second)
        assert np.array_equal(first[mixed], third)


def test_thin_walls_keep_their_sides():
    mesh = surfaces.box((1.0, 1e-7, 1.0), (4, 1, 4))
    field = ct.sdf.exact(mesh)
    rng = np.random.default_rng(0)
    inside = rng.uniform([0.1, 0.1e-7, 0.1], [0.9, 0.9e-7, 0.9], (500, 3))
    wanted = -np.minimum(inside[:, 1], 1e-7 - inside[:, 1])
    np.testing.assert_allclose(field(inside), wanted, atol=1e-18)
    np.testing.assert_allclose(field(inside + [0.0, 1e-7, 0.0]), inside[:, 1], rtol=1e-6)


def test_triangles_without_area_do_no_harm():
    box = surfaces.box((1.0, 1.0, 1.0))
    edge = box.edges[0]
    points = np.vstack([box.points, box.points[edge].mean(axis=0)])
    middle = len(points) - 1
    # One side of the edge gets a node in its middle: the gap is closed by a triangle without area.
    first = np.flatnonzero((box.triangle_edges == 0).any(axis=1))[0]
    a, b, c = np.roll(box.triangles[first], -int(np.flatnonzero(box.triangle_edges[first] == 0)[0]))
    others = np.delete(box.triangles, first, axis=0)
    triangles = np.vstack([others, [[a, middle, c], [middle, b, c], [a, b, middle]]])
    mesh = SurfaceMesh(points, triangles)
    assert mesh.is_closed
    queries = np.random.default_rng(2).uniform(-0.5, 1.5, (3000, 3))
    np.testing.assert_allclose(ct.sdf.exact(mesh)(queries), ct.sdf.exact(box)(queries), atol=1e-14)


def test_winding_numbers_equal_the_sum_of_solid_angles():
    mesh = star(3)
    points = np.random.default_rng(6).uniform(-1.3, 1.3, (1000, 3))
    field = ct.sdf.exact(mesh, sign="winding")
    np.testing.assert_allclose(field.winding(points), winding(points, mesh), atol=0.02)
    np.testing.assert_allclose(field(points), ct.sdf.exact(mesh)(points), atol=1e-14)
    np.testing.assert_allclose(field.gradient(points), ct.sdf.exact(mesh).gradient(points), atol=1e-12)


def test_open_and_crossing_surfaces_have_signs_by_winding():
    ball = surfaces.sphere(1.0, 8)
    hole = SurfaceMesh(ball.points, ball.triangles[6:])
    points = np.random.default_rng(6).uniform(-1.3, 1.3, (2000, 3))
    away = np.linalg.norm(points - ball.points[ball.triangles[:6]].mean(axis=(0, 1)), axis=1) > 0.5
    found = ct.sdf.exact(hole, sign="winding")(points[away])
    np.testing.assert_array_equal(found < 0.0, ct.sdf.exact(ball)(points[away]) < 0.0)
    both = SurfaceMesh(
        np.vstack([ball.points, ball.points + [0.9, 0.1, 0.05]]),
        np.vstack([ball.triangles, ball.triangles + ball.node_count]),
    )
    field = ct.sdf.exact(both, sign="winding")
    inside = ct.sdf.exact(ball)(points) < 0.0
    inside |= ct.sdf.exact(ball)(points - [0.9, 0.1, 0.05]) < 0.0
    np.testing.assert_array_equal(field(points) < 0.0, inside)
    assert len(field.crossings) > 10
    assert len(ct.sdf.exact(ball).crossings) == 0


def test_parts_that_are_mirror_images_cross_and_parts_that_touch_do_not():
    ball = surfaces.sphere(1.0, 2)
    n = ball.node_count
    for away in (0.6, 1.2):  # edges meet their own images in the middle
        image = ball.points * [-1, 1, 1] + [2 * away, 0, 0]
        both = SurfaceMesh(
            np.concatenate([ball.points, image]),
            np.concatenate([ball.triangles, ball.triangles[:, ::-1] + n]),
        )
        assert (len(ct.sdf.exact(both, sign="winding").crossings) > 10) == (away < 1.0)
    box = surfaces.box((1, 1, 1))
    beside = SurfaceMesh(
        np.concatenate([box.points, box.points + [1, 0, 0]]),
        np.concatenate([box.triangles, box.triangles + 8]),
    )
    assert len(ct.sdf.exact(beside).crossings) == 0


BAD = {
    "open": (lambda b: SurfaceMesh(b.points, b.triangles[1:]), r"a hole with 3 edges around \("),
    "inverted": (lambda b: SurfaceMesh(b.points, b.triangles[:, ::-1]), "inside out"),
    "mixed": (
        lambda b: SurfaceMesh(b.points, np.vstack([b.triangles[:1, ::-1], b.triangles[1:]])),
        "opposite sides",
    ),
    "flat": (lambda b: SurfaceMesh(b.points * [1.0, 0.0, 0.0], b.triangles), "zero area"),
    "volume": (lambda b: ct.mesh.box(), "SurfaceMesh"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_mesh_gets_a_sentence(name):
    make, message = BAD[name]
    with pytest.raises(ct.InputError, match=message):
        ct.sdf.exact(make(surfaces.box()))


def test_bad_queries_get_a_sentence():
    field = ct.sdf.exact(surfaces.box())
    with pytest.raises(ct.InputError, match="rows 1"):
        field([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])
    with pytest.raises(ct.InputError, match=r"shape \[n, 3\]"):
        field([0.0, 0.0, 0.0])
    with pytest.raises(ct.InputError, match="'normals' or 'winding'"):
        ct.sdf.exact(surfaces.box(), sign="rays")
    assert field(np.empty((0, 3))).shape == (0,)

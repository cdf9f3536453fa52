"""Point location against brute force; carried surfaces against affine maps, rigid motion and true normals."""

import numpy as np
import pytest
import trimesh

from continua import mesh
from continua.errors import InputError
from continua.mesh.locate import Locator


def all_barycentrics(m, points):
    """Return the barycentric coordinates of every point in every tet [q, m, 4] by plain linear solves."""
    corners = m.points[m.tets]
    matrix = np.concatenate([corners, np.ones((len(corners), 4, 1))], axis=2).transpose(0, 2, 1)
    inverse = np.linalg.inv(matrix)
    return np.einsum("mij,qj->qmi", inverse, np.concatenate([points, np.ones((len(points), 1))], axis=1))


def angles(a, b):
    """Return the angles between unit vectors [degrees]."""
    return np.degrees(np.arccos(np.clip(np.einsum("ij,ij->i", a, b), -1.0, 1.0)))


@pytest.fixture(scope="module")
def scattered():
    m = mesh.torus(0.5, 0.2, (2, 12))
    points = np.random.default_rng(0).uniform(-0.9, 0.9, (600, 3)) * [1, 0.4, 1]
    return m, points, Locator(m).bind(points), all_barycentrics(m, points)


def test_inside_is_found_as_by_brute_force(scattered):
    _, _, binding, b = scattered
    smallest = b.min(axis=2)
    inside = smallest.max(axis=1) >= -1e-9
    np.testing.assert_array_equal(binding.inside, inside)
    assert 50 < inside.sum() < 500
    np.testing.assert_array_equal(binding.elements[inside], smallest[inside].argmax(axis=1))
    rows = np.arange(len(b))
    np.testing.assert_allclose(binding.weights, b[rows, binding.elements], atol=1e-9)


def test_nearest_boundary_triangle_is_that_of_trimesh(scattered):
    m, points, binding, _ = scattered
    surface = trimesh.Trimesh(m.points, m.boundary_triangles, process=False)
    corners = m.points[m.boundary_triangles]
    wanted = np.array(
        [
            np.linalg.norm(
                trimesh.triangles.closest_point(corners, np.repeat(p[None], len(corners), 0)) - p, axis=1
            ).min()
            for p in points[:150]
        ]
    )
    np.testing.assert_allclose(binding.distances[:150], wanted, atol=1e-12)
    at = np.einsum("qc,qcd->qd", binding.face_weights, surface.triangles[binding.faces])
    np.testing.assert_allclose(np.linalg.norm(at - points, axis=1), binding.distances, atol=1e-12)


def test_outside_takes_the_least_extrapolation_around_the_nearest_triangle(scattered):
    m, _, binding, b = scattered
    indptr, indices = m.node_tets
    for q in np.flatnonzero(~binding.inside):
        nodes = m.boundary_triangles[binding.faces[q]]
        around = np.unique(np.concatenate([indices[indptr[n] : indptr[n + 1]] for n in nodes]))
        w = np.maximum(0.0, -b[q, around].min(axis=1))
        np.testing.assert_allclose(max(0.0, -binding.weights[q].min()), w.min(), rtol=1e-9)


def test_interpolation_to_any_points_is_exact_for_linear_fields():
    m = mesh.sphere(0.5, 2)
    points = np.random.default_rng(1).uniform(-0.8, 0.8, (500, 3))
    matrix = mesh.interpolation(points, m)
    field = np.array([[1.0, 0.3], [-2.0, 1.0], [0.7, -0.1]])
    np.testing.assert_allclose(matrix @ (m.points @ field + 3.0), points @ field + 3.0, atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-13)
    one = mesh.TetMesh(np.vstack([np.zeros(3), np.eye(3)]), [[0, 1, 2, 3]])
    np.testing.assert_allclose(mesh.interpolation([[2.0, 3.0, 4.0]], one).toarray(), [[-8.0, 2.0, 3.0, 4.0]])


@pytest.fixture(scope="module")
def bound():
    """A fine sphere, part of it outside the coarse ball that carries it."""
    coarse, fine = mesh.sphere(0.5, 2), mesh.surfaces.sphere(0.5, 20)
    return coarse, fine, mesh.Embedding(fine, coarse)


def test_affine_motion_is_exact_also_outside(bound):
    coarse, fine, embedding = bound
    assert 0 < embedding.inside_count < fine.node_count
    matrix = np.array([[1.2, 0.3, -0.1], [0.0, 0.8, 0.2], [0.5, 0.0, 1.1]])
    moved = embedding.positions(coarse.points @ matrix.T + [1.0, 2.0, 3.0])
    np.testing.assert_allclose(moved, fine.points @ matrix.T + [1.0, 2.0, 3.0], atol=1e-13)
    np.testing.assert_allclose(embedding.weights @ coarse.points, fine.points, atol=1e-14)


def test_forces_keep_total_moment_and_work(bound):
    coarse, fine, embedding = bound
    rng = np.random.default_rng(2)
    forces = rng.normal(size=fine.points.shape)
    spread = embedding.forces(forces)
    np.testing.assert_allclose(spread.sum(axis=0), forces.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(
        np.cross(coarse.points, spread).sum(axis=0), np.cross(fine.points, forces).sum(axis=0), atol=1e-10
    )
    u = rng.normal(size=coarse.points.shape)
    np.testing.assert_allclose(np.vdot(spread, u), np.vdot(forces, embedding.positions(u)))


def test_normals_are_exact_at_rest_rigidly_moved_and_scaled(bound):
    coarse, fine, embedding = bound
    assert angles(embedding.normals(coarse.points), fine.normals).max() < 1e-5
    moved = coarse.transformed(translate=(1, 2, 3), rotate=(0.4, -2.0, 1.0))
    wanted = fine.transformed(rotate=(0.4, -2.0, 1.0)).normals
    assert angles(embedding.normals(moved.points), wanted).max() < 1e-5
    assert angles(embedding.normals(100.0 * coarse.points), fine.normals).max() < 1e-5
    np.testing.assert_allclose(np.linalg.norm(embedding.normals(moved.points), axis=1), 1.0)


@pytest.mark.parametrize("radius", [20.0, 8.0])
def test_normals_of_a_bent_beam_are_close_to_the_true_ones(radius):
    rod = mesh.surfaces.cylinder(0.45, 7.6, (6, 60))
    rod = rod.transformed(rotate=(0, 0, np.pi / 2), translate=(4.0, 0.5, 0.5))
    coarse = mesh.bridge(2)

    def bent(x):
        angle, r = x[:, 0] / radius, radius - (x[:, 1] - 0.5)
        return np.stack([r * np.sin(angle), radius - r * np.cos(angle), x[:, 2]], axis=1)

    embedding = mesh.Embedding(rod, coarse)
    x = bent(coarse.points)
    carried = mesh.SurfaceMesh(embedding.positions(x), rod.triangles)
    assert angles(embedding.normals(x), carried.normals).mean() < 2.0
    true = mesh.SurfaceMesh(bent(rod.points), rod.triangles)
    assert angles(embedding.normals(x), true.normals).mean() < 2.0
    # They must be far better than the rest normals left as they are.
    assert angles(embedding.normals(x), true.normals).mean() < 0.2 * angles(rod.normals, true.normals).mean()


def test_a_node_between_two_fingers_takes_its_own():
    # Two fingers joined at the bottom; each detailed surface lies 0.05 m outside its own finger, so that in
    # the gap of 0.08 m its nodes are nearer to the other one.
    b = mesh.box((0.48, 1.0, 0.2), (12, 10, 2))
    centers = b.points[b.tets].mean(axis=1)
    keep = (centers[:, 1] < 0.2) | (np.abs(centers[:, 0] - 0.24) > 0.04)
    points, tets, _ = mesh.compact(b.points, b.tets[keep])
    hand = mesh.TetMesh(points, tets)
    finger = mesh.surfaces.box((0.3, 0.7, 0.3), (8, 12, 6), origin=(-0.05, 0.35, -0.05))
    binding = mesh.Embedding(finger, hand).binding
    carrier = hand.points[hand.tets[binding.elements]].mean(axis=1)
    inner = finger.normals[:, 0] > 0.9
    assert inner.any()
    assert (carrier[inner, 0] < 0.24).all()
    plain = Locator(hand).bind(finger.points)
    assert (hand.points[hand.tets[plain.elements]].mean(axis=1)[inner, 0] > 0.24).any()


def test_separate_pieces_keep_their_own_surface():
    left, right = mesh.box((1, 1, 1), (2, 2, 2)), mesh.box((1, 1, 1), (2, 2, 2), origin=(1.02, 0, 0))
    both = mesh.TetMesh(
        np.vstack([left.points, right.points]), np.vstack([left.tets, right.tets + left.node_count])
    )
    around = mesh.surfaces.sphere(0.515, 6).transformed(translate=(0.5, 0.5, 0.5))
    binding = mesh.Embedding(around, both).binding
    assert (binding.elements < left.element_count).all()
    assert not binding.inside.all()


def test_a_surface_of_other_size_or_place_is_refused():
    with pytest.raises(InputError, match="move or scale"):
        mesh.Embedding(mesh.surfaces.sphere(500.0, 2), mesh.sphere(0.5, 1))
    embedding = mesh.Embedding(mesh.surfaces.sphere(0.5, 2), mesh.sphere(0.5, 1))
    with pytest.raises(InputError, match="13 nodes"):
        embedding.positions(np.zeros((5, 3)))
    with pytest.raises(InputError, match=r"\[42, 3\]"):
        embedding.forces(np.zeros((5, 3)))

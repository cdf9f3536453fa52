"""Boxes, cylinders and capsules: exact distances and normals, sharp, rounded, solid, hollow, rotated and moved."""

import numpy as np
import pytest

import continua as ct
from continua.mesh import SurfaceMesh
from continua.scene import parse_scene

SHAPES = {
    "box": ct.Box((1, 2, 3), (1.0, 0.6, 0.4), rotate=(0.3, -0.5, 0.9)),
    "rounded box": ct.Box((1, 2, 3), (1.0, 0.6, 0.4), rotate=(0.3, -0.5, 0.9), rounding=0.1),
    "ball of a box": ct.Box((0, 0, 0), (1.0, 1.0, 1.0), rounding=0.5),
    "cylinder": ct.Cylinder((1, 0, -1), axis=(1, 2, 0), radius=0.5, height=0.8),
    "rounded cylinder": ct.Cylinder((1, 0, -1), axis=(1, 2, 0), radius=0.5, height=0.8, rounding=0.15),
    "capsule": ct.Capsule((0, 0, 0), (0.4, 0.8, 0.2), 0.3),
}


def surface(shape) -> SurfaceMesh:
    about = shape.description()
    return SurfaceMesh(about["points"], about["triangles"])


def around(shape, count, seed=0):
    mesh = surface(shape)
    low, high = mesh.bounds
    rng = np.random.default_rng(seed)
    return rng.uniform(low - 0.5, high + 0.5, (count, 3))


@pytest.mark.parametrize("name", SHAPES)
def test_triangles_are_closed_outward_and_lie_on_the_surface(name):
    shape = SHAPES[name]
    mesh = surface(shape)
    assert mesh.is_closed
    assert mesh.is_oriented
    assert mesh.volume > 0.0
    np.testing.assert_allclose(shape.distances(mesh.points)[0], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_distance_is_that_to_the_nearest_of_many_surface_points(name):
    shape = SHAPES[name]
    mesh = surface(shape)
    rng = np.random.default_rng(1)
    picked = rng.choice(mesh.triangle_count, 60_000, p=mesh.areas / mesh.area)
    weights = rng.dirichlet((1, 1, 1), len(picked))
    samples = np.einsum("kc,kci->ki", weights, mesh.points[mesh.triangles[picked]])
    gap, normal = shape.distances(samples)
    samples -= gap[:, None] * normal  # from the drawn triangles onto the true surface
    points = around(shape, 300)
    gaps, normals = shape.distances(points)
    from scipy.spatial import cKDTree

    brute, _ = cKDTree(samples).query(points)
    assert (np.abs(gaps) <= brute + 1e-12).all()
    np.testing.assert_allclose(np.abs(gaps), brute, atol=0.02)
    feet = points - gaps[:, None] * normals
    np.testing.assert_allclose(shape.distances(feet)[0], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_normal_is_the_gradient_of_the_distance_and_the_sign_is_negative_inside(name):
    shape = SHAPES[name]
    points = around(shape, 400, 2)
    gaps, normals = shape.distances(points)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-12)
    slope = np.stack(
        [
            (shape.distances(points + step)[0] - shape.distances(points - step)[0]) / 2e-6
            for step in 1e-6 * np.eye(3)
        ],
        axis=1,
    )
    smooth = np.abs(np.linalg.norm(slope, axis=1) - 1.0) < 1e-5  # not where two nearest points swap
    assert smooth.mean() > 0.97
    np.testing.assert_allclose(slope[smooth], normals[smooth], atol=1e-5)
    mesh = surface(shape)
    corners = mesh.points[mesh.triangles]
    away = corners[None] - points[:, None, None]
    a, b, c = np.moveaxis(away / np.linalg.norm(away, axis=3, keepdims=True), 2, 0)
    volume = np.einsum("pki,pki->pk", a, np.cross(b, c))
    below = 1 + sum(np.einsum("pki,pki->pk", u, v) for u, v in ((a, b), (b, c), (c, a)))
    winding = np.arctan2(volume, below).sum(axis=1) / (2 * np.pi)
    clear = np.abs(gaps) > 0.01  # the drawn triangles of a round shape cut through its surface
    np.testing.assert_array_equal((winding > 0.5)[clear], (gaps < 0)[clear])


@pytest.mark.parametrize("name", ["box", "cylinder", "capsule"])
def test_a_hollow_shape_has_the_opposite_distance(name):
    from dataclasses import replace

    solid = SHAPES[name]
    hollow = replace(solid, inside=True)
    points = around(solid, 100, 3)
    gaps, normals = solid.distances(points)
    other_gaps, other_normals = hollow.distances(points)
    np.testing.assert_allclose(other_gaps, -gaps, atol=1e-14)
    np.testing.assert_allclose(other_normals, -normals, atol=1e-12)
    assert surface(hollow).volume == pytest.approx(-surface(solid).volume)


def test_points_on_edges_corners_axes_and_in_the_centre_have_unit_normals():
    box = ct.Box((0, 0, 0), (2, 2, 2))
    points = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0], [1 + 1e-300, 0, 0], [3, 1, 1.5]])
    gaps, normals = box.distances(points)
    np.testing.assert_allclose(gaps, [0, 0, 0, -1, 0, np.hypot(2, 0.5)], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    for shape in (ct.Cylinder(radius=1.0, height=2.0), ct.Capsule()):
        gaps, normals = shape.distances(np.array([[0.0, 0, 0], [0, 3, 0]]))
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
        np.testing.assert_allclose(normals[1], [0, 1, 0], atol=1e-12)


def test_a_moving_box_has_its_distance_and_velocity():
    box = ct.Box((1, 0, 0), (0.4, 0.4, 0.4), motion=ct.Motion.rotate((0, 0, 1), (0, 0, 0), np.pi / 2))
    gaps, normals, velocities = box.distances_at(np.array([[0.0, 1.5, 0.0]]), 1.0, 1e-6)
    np.testing.assert_allclose(gaps, [0.3], atol=1e-12)
    np.testing.assert_allclose(normals, [[0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(velocities, [[-1.5 * np.pi / 2, 0, 0]], atol=1e-5)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ct.Box(size=(1, 0, 1)), "size"),
        (lambda: ct.Box(size=(1, 0.2, 1), rounding=0.2), "rounding must be a finite number from 0 to 0.1"),
        (lambda: ct.Box(center=(0, 0)), "center"),
        (lambda: ct.Cylinder(axis=(0, 0, 0)), "axis"),
        (lambda: ct.Cylinder(height=-1.0), "height"),
        (lambda: ct.Capsule((0, 0, 0), (0, 0, 0), 1.0), "two different ends"),
        (lambda: ct.Capsule(radius=float("nan")), "radius"),
        (lambda: ct.Box(friction=-1.0), "friction"),
    ],
)
def test_bad_shapes_are_refused(make, says):
    with pytest.raises(ct.InputError, match=says):
        make()


def test_scene_keys_make_the_same_shapes():
    scene = parse_scene(
        """
name: shapes
bodies: [{type: soft, name: ball, mesh: {type: sphere}}]
colliders:
  - {type: box, center: [1, 2, 3], size: [1, 2, 0.5], rotate: {axis: [0, 0, 1], degrees: 90}, rounding: 0.1}
  - {type: cylinder, radius: 2, height: 3, inside: true}
  - {type: capsule, start: [0, 5, 0], end: [1, 5, 0], radius: 0.1, friction: 0.2}
"""
    )
    box, drum, rod = scene.build().colliders
    points = np.random.default_rng(0).normal(size=(50, 3))
    expected = ct.Box((1, 2, 3), (2, 1, 0.5), rounding=0.1)
    np.testing.assert_allclose(box.distances(points)[0], expected.distances(points)[0], atol=1e-12)
    assert drum == ct.Cylinder(radius=2.0, height=3.0, inside=True)
    assert rod == ct.Capsule((0, 5, 0), (1, 5, 0), 0.1, friction=0.2)

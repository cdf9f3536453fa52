"""Density and volume maps against brute-force integrals."""

import numpy as np
import pytest
from scipy.integrate import quad

import continua as ct
from continua.sph import build_map, cubic_spline, planar_density
from continua.sph.boundary.map_boundary import make_map_boundary
from continua.sph.boundary.planar_profile import planar_volume, rest_inset, smoothed_weight_table

R = 0.1  # radius of the kernel
TABLE = {-1: 2.0, 0: 1.0, 0.25: 0.750056, 0.5: 0.502976, 0.75: 0.277028, 1: 0.110714, 1.25: 0.027028, 1.5: 0.002976,
         1.75: 0.000056, 2: 0.0}  # fmt: skip


def brute(distance, point, extension, inset, cells=96):
    """Return the integral over the ball by the midpoint rule on a fine lattice."""
    q = (np.arange(cells) + 0.5) * 2 / cells - 1
    ball = np.stack(np.meshgrid(q, q, q, indexing="ij"), axis=-1).reshape(-1, 3)
    length = np.linalg.norm(ball, axis=1)
    ball, weight = ball[length < 1], cubic_spline(length[length < 1], 1.0)
    gamma = np.maximum(1 - (distance(point + R * ball) / R + inset) / extension, 0)
    return float((weight * gamma).sum() / weight.sum())


def test_planar_values_of_the_thesis():
    np.testing.assert_allclose(planar_density(list(TABLE)), list(TABLE.values()), atol=5e-7)
    assert np.allclose(planar_density([-1.3, -2.0]), [2.3, 3.0])  # linear inside
    assert np.allclose(planar_density(np.array([0.05]), radius=0.1), 0.502976, atol=5e-7)


def test_planar_values_by_adaptive_quadrature():
    for distance in (-0.4, 0.1, 0.6):
        for extension in (0.2, 0.7):
            slices = lambda u: 2 * np.pi * quad(lambda s: cubic_spline(np.array(s), 1.0) * s, abs(u), 1)[0]  # noqa: E731
            exact = quad(
                lambda u: slices(u) * max(1 - (distance + u) / extension, 0),  # noqa: B023
                -1, 1, points=[-0.5, 0, 0.5, float(np.clip(extension - distance, -1, 1))], limit=200,
            )[0]  # fmt: skip
            assert abs(planar_density([distance], extension=extension)[0] - exact) < 1e-7
    cap = lambda h: np.pi * h * h * (3 - h) / 3  # noqa: E731
    assert abs(planar_volume([-1.5])[0] - 4 / 3 * np.pi) < 1e-9
    assert planar_volume([0.5])[0] > cap(0.5)  # the part outside the surface contributes too


@pytest.mark.parametrize("extension", [1.0, 0.125])
def test_plane_edge_and_corner_of_a_box_within_one_per_cent(extension):
    box = ct.Box((0, 0, 0), (1.0, 0.8, 0.9), inside=True)
    distance = lambda p: box.distances(p)[0]  # noqa: E731
    bounds = np.array([[-0.5, -0.4, -0.45], [0.5, 0.4, 0.45]])
    inset = 0.0 if extension == 1.0 else rest_inset("density", extension)
    found = build_map(distance, bounds, R, extension=extension, inset=inset, inverted=True)
    assert found.flat_count > 0
    assert found.spline_count > 0
    for axes in ((1, 0, 0), (0, 1, 1), (1, 1, 1)):
        for away in (0.0, 0.25) if extension < 1 else (0.0, 0.25, 0.5, 0.75, 1.0):
            point = np.where(np.array(axes) > 0, bounds[0] + away * R, 0.013)
            exact = brute(distance, point, extension, inset)
            assert abs(found(point[None])[0][0] / exact - 1) < 0.01


def test_curved_walls_and_gradients():
    ball = ct.Sphere((0, 0, 0), 0.4)
    distance = lambda p: ball.distances(p)[0]  # noqa: E731
    found = build_map(distance, np.array([[-0.4] * 3, [0.4] * 3]), R, extension=1.0, inset=0.0)
    random = np.random.default_rng(3)
    directions = random.normal(size=(40, 3))
    points = (
        directions
        / np.linalg.norm(directions, axis=1)[:, None]
        * (0.4 + R * random.uniform(-0.4, 1.2, (40, 1)))
    )
    exact = np.array([brute(distance, p, 1.0, 0.0, 64) for p in points])
    values, gradients = found(points)
    assert np.abs(values - exact).max() < 2e-3
    step = 1e-3
    for axis in range(3):
        move = step * np.eye(3)[axis]
        slope = (found(points + move)[0] - found(points - move)[0]) / (2 * step)
        assert np.abs(gradients[:, axis] - slope).max() < 0.02 * np.abs(gradients).max()
    inside = points * (0.4 - 0.9 * R) / np.linalg.norm(points, axis=1)[:, None]
    assert (np.einsum("ij,ij->i", found(inside)[1], inside) < 0).all()  # it still points outwards deep inside


def test_map_of_a_mesh_equals_that_of_its_shape():
    box = ct.Box((0, 0, 0), (0.6, 0.5, 0.4))
    mesh = ct.MeshShape(ct.mesh.surfaces.box((0.6, 0.5, 0.4), origin=(-0.3, -0.25, -0.2)))
    random = np.random.default_rng(5)
    points = random.uniform(-1, 1, (2000, 3)) * [0.42, 0.37, 0.32]
    for model in (ct.DensityMap(), ct.VolumeMap()):
        one, two = (make_map_boundary(shape, R, model).map(points)[0] for shape in (box, mesh))
        close = np.abs(box.distances(points)[0]) < R  # deep inside maps are inaccurate
        assert np.abs(one - two)[close].max() < 1e-4
        plane = make_map_boundary(ct.Plane((0, -0.25, 0), (0, -1, 0)), R, model).map(
            np.array([[0.0, -0.25 - 0.3 * R, 0]])
        )[0]
        there = make_map_boundary(box, R, model).map(np.array([[0.0, -0.25 - 0.3 * R, 0]]))[0]
        assert np.abs(plane - there).max() < 2e-3  # splines there: the box is small


def test_smoothed_weight_preserves_lines_and_ends_at_zero():
    table = smoothed_weight_table("density", 0.5, 0.25, 1.5, 2.0)
    x = -2 + np.arange(len(table)) / 64
    assert np.abs(table[x < -0.1] - (1 - x[x < -0.1] / 0.5)).max() < 1e-5
    assert np.abs(table[x > 1.01]).max() < 1e-6


def test_lattice_at_rest_has_rest_density_beside_a_flat_wall():
    for model in (ct.DensityMap(), ct.VolumeMap(), ct.DensityMap(1.0)):
        water = ct.Fluid(((-0.25, 0, -0.25), (0.25, 0.3, 0.25)), particle_radius=0.025, boundary=model)
        world = ct.World([water], colliders=[ct.Plane()], gravity=(0, 0, 0))
        world.step(1e-6)
        x = water.positions
        middle = (np.abs(x[:, [0, 2]]).max(axis=1) < 0.13) & (x[:, 1] < 0.2)
        first = middle & (x[:, 1] < 0.04)
        assert np.abs(water.density_error[first]).max() < 2e-3
        assert np.abs(water.density_error[middle]).max() < 0.02

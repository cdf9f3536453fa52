"""The cubic splines of boundary maps: partition of unity, polynomial reproduction, continuity, accuracy."""

import numpy as np
from scipy.optimize import brentq

import continua as ct
from continua.numerics import kernel
from continua.sph import build_map, cubic_spline
from continua.sph.boundary.map_eval_kernels import spline_at


@kernel
def evaluate(coefficients, points, result):
    for k in range(points.shape[0]):
        u, v, w = np.float32(points[k, 0]), np.float32(points[k, 1]), np.float32(points[k, 2])
        value, gx, gy, gz = spline_at(coefficients, 0, u, v, w, np.float32(1.0))
        result[k, 0], result[k, 1], result[k, 2], result[k, 3] = value, gx, gy, gz


def brick(function):
    """Return coefficients [1331] of the spline through the values of a function at nodes 0..8 along each axis."""
    steps = np.arange(-3, 12)  # nodes -1..9 carry coefficients; each needs two more on both sides
    values = function(*np.meshgrid(steps, steps, steps, indexing="ij"))
    for axis in range(3):  # 1 - d/6 + d d/36, d the second difference
        values = np.moveaxis(values, axis, 0)
        n = len(values) - 4
        values = (
            (values[:n] + values[4:]) / 36
            - 10 / 36 * (values[1 : n + 1] + values[3 : n + 3])
            + 1.5 * values[2 : n + 2]
        )
        values = np.moveaxis(values, 0, axis)
    return np.concatenate([values.astype(np.float32).ravel(), np.zeros(4, np.float32)])


def at(coefficients, points):
    result = np.zeros((len(points), 4))
    evaluate(coefficients, np.asarray(points, np.float64), result)
    return result


def test_weights_sum_to_one_and_cubics_are_reproduced():
    points = np.random.default_rng(1).uniform(0, 8, (300, 3))
    ones = at(brick(lambda x, y, z: np.ones_like(x, dtype=float)), points)
    assert np.abs(ones - [1, 0, 0, 0]).max() < 2e-6
    x, y, z = points.T / 8
    for i, j, k in (
        (3, 0, 0),
        (0, 3, 0),
        (0, 0, 3),
        (2, 1, 0),
        (1, 1, 1),
        (0, 2, 1),
        (1, 2, 0),
        (3, 1, 1),
        (2, 2, 0),
    ):
        found = at(brick(lambda x, y, z: (x / 8.0) ** i * (y / 8.0) ** j * (z / 8.0) ** k), points)  # noqa: B023
        power = lambda value, n: value**n if n >= 0 else 0.0 * value  # noqa: E731
        exact = [
            x**i * y**j * z**k,
            i * power(x, i - 1) * y**j * z**k / 8,
            j * x**i * power(y, j - 1) * z**k / 8,
            k * x**i * y**j * power(z, k - 1) / 8,
        ]
        assert np.abs(found - np.stack(exact, axis=1)).max() < 5e-6


def test_gradient_is_that_of_the_value_and_continuous_from_cell_to_cell():
    rough = np.random.default_rng(2).normal(size=(15, 15, 15))
    coefficients = brick(lambda *_: rough)
    points = np.random.default_rng(3).uniform(0.1, 7.9, (200, 3))
    h = 0.01
    for axis in range(3):
        move = h * np.eye(3)[axis]
        slope = (at(coefficients, points + move)[:, 0] - at(coefficients, points - move)[:, 0]) / (2 * h)
        assert np.abs(at(coefficients, points)[:, 1 + axis] - slope).max() < 5e-3
    face = points.copy()
    face[:, 0] = np.round(face[:, 0]).clip(1, 7)
    before, after = at(coefficients, face - [1e-5, 0, 0]), at(coefficients, face + [1e-5, 0, 0])
    assert np.abs(before - after).max() < 1e-3  # value and gradient


def test_cubic_is_far_more_accurate_than_linear_between_the_same_nodes():
    """A ball of ten kernel radii's curvature: errors in the band next to the surface, nodes a quarter radius apart."""
    r, radius = 0.1, 0.3
    ball = ct.Sphere((0, 0, 0), radius)
    q = (np.arange(48) + 0.5) / 24 - 1
    lattice = np.stack(np.meshgrid(q, q, q, indexing="ij"), axis=-1).reshape(-1, 3)
    length = np.linalg.norm(lattice, axis=1)
    lattice, weight = lattice[length < 1], cubic_spline(length[length < 1], 1.0)

    def exact(points):
        return np.array([
            (weight * np.maximum(1 - (np.linalg.norm(p + r * lattice, axis=1) - radius) / r, 0)).sum() / weight.sum()
            for p in points
        ])  # fmt: skip

    found = build_map(
        lambda p: ball.distances(p)[0], np.array([[-radius] * 3, [radius] * 3]), r, extension=1.0, inset=0.0
    )
    directions = np.random.default_rng(4).normal(size=(60, 3))
    away = np.random.default_rng(5).uniform(-0.5, 1.5, (60, 1))
    points = directions / np.linalg.norm(directions, axis=1)[:, None] * (radius + r * away)
    truth = exact(points)
    cubic = np.abs(found(points)[0] - truth).mean()
    h = r / 4
    low = np.floor(points / h)
    t = points / h - low
    linear = np.zeros(len(points))
    for corner in np.ndindex(2, 2, 2):
        share = np.prod(np.where(np.array(corner) == 1, t, 1 - t), axis=1)
        linear += share * exact((low + corner) * h)
    assert np.abs(linear - truth).mean() > 4 * cubic


def test_fluid_at_rest_keeps_a_gap_of_half_a_kernel_radius():
    """With the paper's extension and no inset fluid ends 0.5 r from walls: its layers begin there plus half a particle.

    How far it is follows from the height of its centre of mass, for a block of its volume that fills the tank.
    """
    r, d, n = 0.1, 0.05, 10
    gap = 0.95 * r
    side = (n - 1) * d + 2 * gap
    axis = gap + d * np.arange(n)
    points = np.stack(np.meshgrid(axis, axis[:8], axis, indexing="ij"), axis=-1).reshape(-1, 3)
    water = ct.Fluid(
        points=points, particle_radius=d / 2, boundary=ct.DensityMap(extension=1.0, inset=0.0), xsph=0.1,
        solver=ct.DFSPH(density_error=1e-3),
    )  # fmt: skip
    tank = ct.Box((side / 2, side, side / 2), (side, 2 * side, side), inside=True)
    world = ct.World([water], colliders=[tank], dt=0.005)
    heights = []
    for step in range(100):
        world.step()
        if step >= 70:
            heights.append(water.positions[:, 1].mean())
    surplus = lambda s: s + 0.5 * len(points) * d**3 / (side - 2 * s) ** 2 - np.mean(heights)  # noqa: E731
    assert abs(brentq(surplus, 0.0, r) / r - 0.5) < 0.04


def test_a_regular_grid_stays_regular_on_a_map():
    """Particles outside of each other's kernel should stay where they are."""
    d = 0.05
    axis = 2.3 * d * (np.arange(6) - 2.5)
    start = np.stack(np.meshgrid(axis, [0.02 * d], axis, indexing="ij"), axis=-1).reshape(-1, 3)
    for boundary in ("density_map", ct.DensityMap(extension=1.0, inset=0.0)):
        grid = ct.Fluid(points=start, particle_radius=d / 2, boundary=boundary, viscosity=0.0)
        world = ct.World([grid], colliders=[ct.Plane()], dt=0.005)
        for _ in range(60):
            world.step()
        assert np.abs((grid.positions - start)[:, [0, 2]]).max() < 1e-5 * d

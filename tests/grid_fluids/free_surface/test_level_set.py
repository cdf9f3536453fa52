"""Level sets, marching cubes and particles of liquids against exact shapes."""

from collections import Counter

import numpy as np
import pytest

from continua.grid_fluids import make_grid, marching_cubes
from continua.grid_fluids.free_surface.level_set import LevelSet
from continua.grid_fluids.free_surface.particles import ApicParticles


def _ball(n, center, radius):
    places = np.stack(np.meshgrid(*[np.arange(n) + 0.5] * 3, indexing="ij"), axis=-1)
    return np.linalg.norm(places - center, axis=-1) - radius


def test_marching_cubes_of_a_ball():
    values = _ball(32, (16.2, 15.9, 16.1), 11.0).astype(np.float32)
    points, triangles = marching_cubes(values)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert volume == pytest.approx(4 / 3 * np.pi * 11**3, rel=0.01)  # a polyhedron inside of the ball
    assert abs(np.linalg.norm(points + 0.5 - (16.2, 15.9, 16.1), axis=1) - 11.0).max() < 0.02


def test_marching_cubes_is_closed_and_manifold_for_any_values():
    values = np.random.default_rng(1).normal(size=(20, 18, 17)).astype(np.float32)
    values[[0, -1]] = values[:, [0, -1]] = values[:, :, [0, -1]] = 1.0
    _, triangles = marching_cubes(values)
    sides = Counter(map(tuple, np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]).tolist()))
    assert set(sides.values()) == {1}
    assert all((b, a) in sides for a, b in sides)


def test_reinitialisation_gives_distances_and_keeps_the_surface():
    exact = _ball(32, (15.7, 16.3, 16.1), 8.4)
    level = LevelSet(make_grid((1.0,) * 3, (32,) * 3), np.float32, 3)
    exact = exact.astype(np.float32)
    level.phi = exact * (1.5 + 0.5 * np.sin(0.7 * np.arange(32))).astype(
        np.float32
    )  # the same surface, no distance
    level.reinitialise()
    error = abs(level.phi - exact)
    assert error[abs(exact) < 2.5].max() < 0.4
    assert error[abs(exact) < 2.5].mean() < 0.1
    assert ((level.phi < 0) == (exact < 0)).all()
    flat = np.broadcast_to(np.arange(32) - 11.3, (32, 32, 32)).astype(np.float32)
    level.phi = flat.copy()
    level.reinitialise()
    assert abs(level.phi - flat)[abs(flat) < 4.0].max() < 1e-5


def test_volume_is_exact_for_planes():
    grid = make_grid((1.0,) * 3, (8,) * 3)
    level = LevelSet(grid, np.float32, 3)
    places = np.stack(np.meshgrid(*[np.arange(8) + 0.5] * 3, indexing="ij"), axis=-1)
    for normal in ((1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (1.0, 2.0, 3.0), (-0.3, 0.5, 0.9)):
        n = np.array(normal) / np.linalg.norm(normal)
        level.phi = ((places - 4.0) @ n).astype(np.float32)  # through the middle of the box
        assert level.volume() == pytest.approx(256.0, rel=1e-5)
    level.phi = ((places @ np.ones(3) - 3.0) / np.sqrt(3.0)).astype(np.float32)  # cuts off a corner
    assert level.volume() == pytest.approx(27.0 / 6.0, rel=1e-5)


def test_volume_of_a_ball():
    level = LevelSet(make_grid((1.0,) * 3, (32,) * 3), np.float32, 3)
    level.phi = _ball(32, (16.2, 15.9, 16.1), 9.0).astype(np.float32)
    assert level.volume() == pytest.approx(4 / 3 * np.pi * 9**3, rel=5e-3)


@pytest.mark.parametrize("cells", [(10, 12), (8, 10, 12)])
def test_particles_transfer_an_affine_flow_to_the_grid_and_back(cells):
    grid = make_grid([n * 0.1 for n in cells], cells)
    particles = ApicParticles(grid, np.float32, 7)
    velocity = [np.zeros(grid.faces_shape(a), np.float32) for a in range(3)]
    old = [u.copy() for u in velocity]
    full = np.full(grid.shape, -5.0, np.float32)
    counts = np.zeros(grid.cell_count, np.int64)
    particles.reseed(full, counts, np.zeros((0, 0, 0)), velocity, below=0.0, least=1)
    particles.set_rows(particles.rows)
    assert len(particles.rows) == particles.per_cell * grid.cell_count
    matrix, shift = np.random.default_rng(2).normal(size=(3, 3)), np.array([0.3, -0.2, 0.5])
    if grid.dim == 2:
        matrix[0], matrix[:, 0], shift[0] = 0.0, 0.0, 0.0
    rows = particles.rows
    rows[:, 3:6] = rows[:, :3] @ matrix.T + shift
    rows[:, 6:] = matrix.ravel()
    wanted = rows.copy()
    particles.to_grid(velocity, old)
    for axis in grid.axes:
        offset = [0.0 if a == axis else 0.5 for a in range(3)]
        places = np.stack(
            np.meshgrid(*[np.arange(n) + o for n, o in zip(velocity[axis].shape, offset)], indexing="ij"),
            axis=-1,
        )
        near = particles._face_sums[axis][..., 1] > 1e-3  # every face but a few in the corners of the box
        assert near.mean() > 0.95
        wanted_there = (places @ matrix[axis] + shift[axis])[near]
        assert velocity[axis][near] == pytest.approx(wanted_there, abs=1e-4)
    particles.classify(full)
    particles.move(velocity, old, 0.0, 0.0, (0.0, 0.0, 0.0), np.zeros((0, 0, 0)))
    inner = ((rows[:, grid.x_axis : 3] > 1.0) & (rows[:, grid.x_axis : 3] < np.array(cells) - 1.0)).all(
        axis=1
    )
    assert rows[inner] == pytest.approx(wanted[inner], abs=1e-4)


def test_density_counts_every_particle_once():
    grid = make_grid((1.0, 1.0), (12, 12))
    particles = ApicParticles(grid, np.float32, 0)
    rows = np.zeros((50, 15))
    rows[:, 0] = 0.5
    rows[:, 1:3] = np.random.default_rng(3).uniform(1.0, 11.0, size=(50, 2))
    particles.set_rows(rows)
    assert particles.density().sum() == pytest.approx(50.0)

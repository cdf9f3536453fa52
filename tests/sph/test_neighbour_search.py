import numpy as np
import pytest
from scipy.spatial import cKDTree

from continua import InputError
from continua.sph import CellGrid, NeighbourLists, find_neighbours


def brute(points, radius):
    single = points.astype(np.float32).astype(np.float64)
    return [
        np.setdiff1d(found, [i]) for i, found in enumerate(cKDTree(single).query_ball_point(single, radius))
    ]


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_lists_agree_with_a_tree(far):
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (3000, 3)) * [1.0, 0.4, 2.0]
    points[:20] += far  # a splash far away makes cells share Morton codes
    points[20] *= 1e4
    starts, neighbours = find_neighbours(points, 0.1003)
    for i, expected in enumerate(brute(points, 0.1003)):
        np.testing.assert_array_equal(neighbours[starts[i] : starts[i + 1]], expected)


def test_order_follows_the_z_order_curve_and_is_stable():
    rng = np.random.default_rng(1)
    rows = np.zeros((500, 4), np.float32)
    rows[:, :3] = rng.uniform(0, 4, (500, 3))
    grid = CellGrid(1.0)
    order = grid.sort(rows.ravel())
    cells = np.floor(rows[:, :3]).astype(int)
    keys = np.zeros(500, int)
    for bit in range(3):  # interleave the bits by hand
        for axis in range(3):
            keys |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))


def test_lists_grow_when_crowded():
    points = np.random.default_rng(2).uniform(0, 0.3, (700, 3))
    starts, neighbours = find_neighbours(points, 1.0)
    assert np.all(np.diff(starts) == 699)
    assert len(neighbours) == 700 * 699


def test_no_points_and_bad_radius():
    starts, neighbours = find_neighbours(np.zeros((0, 3)), 1.0)
    assert len(neighbours) == 0
    assert starts.tolist() == [0]
    with pytest.raises(InputError, match="radius of a neighbour search"):
        CellGrid(0.0)


def test_memory_of_lists_is_that_of_their_entries():
    rows = np.zeros((4096, 4), np.float32)
    rows[:, :3] = np.stack(np.meshgrid(*[np.arange(16.0)] * 3), -1).reshape(-1, 3)
    grid, lists = CellGrid(2.01), NeighbourLists()
    order = grid.sort(rows.ravel())
    lists.update(grid, np.ascontiguousarray(rows[order]).ravel())
    assert lists.counts.max() == 32
    assert lists.nbytes() / 4096 < 500

"""Cut cells form closed surfaces and have exact areas; polygons and thin walls."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import continua as ct
from continua.grid_fluids import CutCells, Polygon, make_grid


def box_grid(n: int, dim: int = 3):
    return make_grid((2.0,) * dim, (n,) * dim, (-1.0,) * dim)


def loop_area(corners: np.ndarray) -> np.ndarray:
    """Area vector of the open faces of a cell from the lines in which the wall meets them: half the sum of a x b.

    Each face is four triangles around its centre; in each the wall is a straight line. The edges of the cell belong
    to two faces and cancel, so that only these lines are left.
    """
    total = np.zeros(3)
    for axis in range(3):
        for end in (0, 1):
            b, c = (axis + 1) % 3, (axis + 2) % 3
            ring = [(0, 0), (1, 0), (1, 1), (0, 1)] if end else [(0, 0), (0, 1), (1, 1), (1, 0)]
            points, values = [], []
            for s, t in ring:
                index = [0, 0, 0]
                index[axis], index[b], index[c] = end, s, t
                points.append(np.array(index, float))
                values.append(corners[tuple(index)])
            middle, mean = np.mean(points, axis=0), np.mean(values)
            for i in range(4):
                tri = [(points[i], values[i]), (points[(i + 1) % 4], values[(i + 1) % 4]), (middle, mean)]
                ends = {}
                for k in range(3):
                    (p, f), (q, g) = tri[k], tri[(k + 1) % 3]
                    if (f > 0) != (g > 0):
                        ends["leave" if f > 0 else "enter"] = p + f / (f - g) * (q - p)
                if ends:  # round the open part: along the edges to "leave", back along the wall to "enter"
                    total += 0.5 * np.cross(ends["leave"], ends["enter"])
    return total


def test_open_faces_and_wall_of_every_cell_form_a_closed_surface():
    cut = CutCells(box_grid(12), [ct.Sphere(center=(0.03, -0.02, 0.01), radius=0.61)], np.float64)
    walls = cut.wall_areas()
    phi = cut.corner_distances
    checked = 0
    for i, j, k in np.argwhere(np.abs(walls).sum(axis=-1) > 0):
        around = phi[i : i + 2, j : j + 2, k : k + 2]
        np.testing.assert_allclose(walls[i, j, k] + loop_area(around), 0.0, atol=1e-10)
        checked += 1
    assert checked > 200
    np.testing.assert_allclose(walls.sum(axis=(0, 1, 2)), 0.0, atol=1e-10)


def test_wall_area_of_a_sphere_converges_with_order_two():
    errors = []
    for n in (16, 32, 64):
        grid = box_grid(n)
        cut = CutCells(grid, [ct.Sphere(center=(0.01, 0.02, 0.03), radius=0.6)], np.float64)
        area = np.linalg.norm(cut.wall_areas(), axis=-1).sum() * grid.spacing**2
        errors.append(abs(area / (4 * np.pi * 0.36) - 1.0))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    print("errors of the area", errors, "orders", orders)
    assert (orders > 1.9).all()


def test_faces_across_a_plane_have_the_exact_open_fraction():
    grid = make_grid((1.0, 1.0), (4, 4))
    cut = CutCells(grid, [ct.Plane(point=(0.0, 0.6, 0.0), normal=(0.0, 1.0, 0.0))], np.float64)
    np.testing.assert_allclose(
        cut.face_fractions[1][0, :, :], np.broadcast_to([0.0, 0.0, 0.6, 1.0], (5, 4)), atol=1e-12
    )
    np.testing.assert_allclose(
        cut.face_fractions[2][0, :, :], np.broadcast_to([0, 0, 0, 1, 1], (4, 5)), atol=1e-12
    )


def test_face_fractions_stay_between_zero_and_one():
    cut = CutCells(box_grid(24), [ct.mesh.torus(0.5, 0.2).surface], np.float32)
    for part in cut.face_fractions:
        assert part.min() == 0.0
        assert part.max() == 1.0


def test_replacing_an_obstacle_equals_cutting_from_scratch():
    grid = make_grid((2.0, 2.0), (64, 64), (-1.0, -1.0))
    kept, first = (
        ct.Sphere(center=(-0.5, 0.0, 0.0), radius=0.2),
        ct.Sphere(center=(0.4, 0.1, 0.0), radius=0.3),
    )
    moved = Polygon([(0.2, -0.5), (0.7, -0.4), (0.4, 0.3)])
    cut = CutCells(grid, [kept, first])
    cut.replace([kept, moved])
    fresh = CutCells(grid, [kept, moved])
    for one, two in zip(cut.face_fractions, fresh.face_fractions, strict=True):
        assert np.array_equal(one, two)


def test_polygon_distances_agree_with_those_of_a_box():
    square = Polygon([(-0.4, -0.3), (0.4, -0.3), (0.4, 0.3), (-0.4, 0.3)])
    box = ct.Box(center=(0.0, 0.0, 0.0), size=(0.8, 0.6, 100.0))
    points = np.random.default_rng(1).uniform(-1, 1, (500, 3))
    np.testing.assert_allclose(square.distances(points)[0], box.distances(points)[0], atol=1e-12)
    around = square.distances(points)[1]
    np.testing.assert_allclose(np.linalg.norm(around, axis=1), 1.0)


def test_polygon_distances_agree_with_brute_force_and_winding():
    rng = np.random.default_rng(3)
    angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, 60))
    star = Polygon(rng.uniform(0.2, 0.9, 60)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    line = np.linspace(-1.0, 1.0, 41)
    points = np.stack([*np.meshgrid(line, line, indexing="ij"), np.zeros((41, 41))], axis=-1).reshape(-1, 3)
    a = np.asarray(star.points) - points[:, None, :2]
    b = np.roll(a, -1, axis=1)
    side = b - a
    t = np.clip(-(a * side).sum(axis=-1) / (side**2).sum(axis=-1), 0.0, 1.0)
    far = np.linalg.norm(a + t[..., None] * side, axis=-1).min(axis=1)
    turn = np.arctan2(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], (a * b).sum(axis=-1)).sum(axis=1)
    np.testing.assert_allclose(star.distances(points)[0], np.where(turn > np.pi, -far, far), atol=1e-14)


def test_a_wall_thinner_than_a_cell_is_thickened_with_a_warning():
    grid = box_grid(16, 2)
    wall = Polygon([(-0.03, -0.7), (-0.02, -0.7), (-0.02, 0.7), (-0.03, 0.7)], name="sheet")
    with pytest.warns(UserWarning, match="thinner than the cells"):
        cut = CutCells(grid, [wall])
    closed = cut.face_fractions[1][0, :, 4:12] == 0.0
    assert closed.any(axis=0).all()  # no gap along the wall


def star(tips: int, inner: float, turn: float) -> Polygon:
    """A star with sharp tips 0.8 away from the centre."""
    angles = turn + np.pi * np.arange(2 * tips) / tips
    radii = np.where(np.arange(2 * tips) % 2, inner, 0.8)
    return Polygon(np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1))


@pytest.mark.parametrize("turn", np.linspace(0.0, 1.2, 7))
def test_sharp_tips_are_not_taken_for_thin_walls(turn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (24, 40, 64):
            CutCells(box_grid(n, 2), [star(5, 0.35, turn)])
            wedge = np.array([(-0.7, -0.12), (0.7, 0.0), (-0.7, 0.12)])  # a tip of 10 degrees
            turned = wedge @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
            CutCells(box_grid(n, 2), [Polygon(turned)])


@pytest.mark.parametrize("turn", np.linspace(0.1, 1.4, 7))
def test_thin_plates_and_thin_links_between_thick_parts_are_detected(turn):
    plate = np.array([(-0.7, -0.01), (0.7, -0.01), (0.7, 0.01), (-0.7, 0.01)])
    link = np.array(
        [(-0.7, -0.3), (-0.4, -0.3), (-0.4, -0.01), (0.4, -0.01), (0.4, -0.3), (0.7, -0.3)]
        + [(0.7, 0.3), (0.4, 0.3), (0.4, 0.01), (-0.4, 0.01), (-0.4, 0.3), (-0.7, 0.3)]
    )  # fluid must not get through the neck of the dumb-bell
    spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    for outline in (plate, link):
        with pytest.warns(UserWarning, match="thinner than the cells"):
            CutCells(box_grid(32, 2), [Polygon(outline @ spin)])


def test_an_obstacle_outside_is_rejected():
    with pytest.raises(ct.InputError, match="outside of the grid"):
        CutCells(box_grid(8), [ct.Sphere(center=(5.0, 0.0, 0.0), radius=0.5)])


@pytest.mark.filterwarnings("ignore:the obstacle a sphere has walls thinner")
def test_an_obstacle_inside_one_cell_is_rejected_as_too_small():
    with pytest.raises(ct.InputError, match="smaller than the cells"):
        CutCells(box_grid(8), [ct.Sphere(center=(0.125, 0.125, 0.125), radius=0.01)])

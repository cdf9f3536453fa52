"""Holes of surfaces and how they are closed."""

import numpy as np
import pytest

from continua.errors import InputError
from continua.mesh import SurfaceMesh, close_holes, holes, surfaces


def test_a_closed_surface_has_no_holes_and_stays_itself():
    ball = surfaces.sphere(1.0, 4)
    assert holes(ball) == []
    assert close_holes(ball) is ball


def test_flat_holes_are_closed_flat():
    box = surfaces.box((2.0, 1.0, 1.0), (4, 3, 3))
    middle = box.points[box.triangles].mean(axis=1)
    inside = (np.abs(middle[:, 1:] - 0.5) < 0.2).all(axis=1)  # a hole in both ends
    open_box = SurfaceMesh(box.points, box.triangles[~inside])
    loops = holes(open_box)
    assert [len(loop) for loop in loops] == [4, 4]
    closed = close_holes(open_box)
    assert closed.is_closed
    assert closed.is_oriented
    assert closed.volume == pytest.approx(2.0)
    assert closed.area == pytest.approx(10.0)


def test_a_wide_hole_gets_a_node_in_its_middle():
    tube = surfaces.cylinder(1.0, 1.0, (4, 500))
    side = np.abs(tube.points[tube.triangles][:, :, 1]).mean(axis=1) < 0.4999
    closed = close_holes(SurfaceMesh(tube.points, tube.triangles[side]))
    assert closed.is_closed
    assert closed.volume == pytest.approx(tube.volume, rel=1e-9)


def test_a_tooth_at_the_rim_is_not_folded_over():
    """A lone triangle that sticks out into the hole: the smallest area would lie right on its back."""
    ball = surfaces.sphere(1.0, 6)
    top = ball.points[ball.triangles][:, :, 1].min(axis=1) > 0.6
    rim = np.flatnonzero(top)[0]
    top[rim] = False
    closed = close_holes(SurfaceMesh(ball.points, ball.triangles[~top]))
    assert closed.is_closed
    a = closed.area_vectors / closed.areas[:, None]
    pairs = {}
    for number, edges in enumerate(closed.triangle_edges):
        for edge in edges:
            pairs.setdefault(int(edge), []).append(number)
    folds = [a[i] @ a[j] for i, j in pairs.values()]
    assert min(folds) > -0.5


def test_triangles_that_face_opposite_sides_are_refused():
    with pytest.raises(InputError, match="cannot be closed"):
        close_holes(SurfaceMesh(np.eye(4, 3), [[0, 1, 2], [0, 1, 3]]))

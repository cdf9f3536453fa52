from __future__ import annotations

import numpy as np

from continua.render.surface import SmoothSurface

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SIDES = (
    np.array(
        [
            [0, 1, 3, 2],
            [4, 6, 7, 5],
            [0, 4, 5, 1],
            [2, 3, 7, 6],
            [0, 2, 6, 4],
            [1, 5, 7, 3],
        ]
    )[:, [0, 1, 2, 0, 2, 3]]
    .reshape(-1, 3)
    .astype(np.int32)
)


def globe(rows=24, columns=48):
    tilt = np.linspace(0, np.pi, rows + 1)[1:-1, None]
    turn = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None]
    ring = np.stack([np.sin(tilt) * np.cos(turn), np.cos(tilt) + 0 * turn, np.sin(tilt) * np.sin(turn)], -1)
    points = np.vstack([ring.reshape(-1, 3), [[0, 1, 0], [0, -1, 0]]])
    top, bottom = len(points) - 2, len(points) - 1
    faces = []
    for j in range(columns):
        k = (j + 1) % columns
        faces += [[top, k, j], [bottom, (rows - 2) * columns + j, (rows - 2) * columns + k]]
        for i in range(rows - 2):
            a, b, c, d = i * columns + j, i * columns + k, (i + 1) * columns + k, (i + 1) * columns + j
            faces += [[a, b, c], [a, c, d]]
    return points, np.array(faces)


def test_cube_keeps_its_twelve_creases():
    surface = SmoothSurface(CUBE, SIDES)
    assert len(surface.nodes) == 24  # each of 8 corners belongs to 3 sides
    np.testing.assert_array_equal(surface.nodes[surface.triangles], SIDES)
    normals = surface.normals(CUBE)
    np.testing.assert_allclose(np.sort(np.abs(normals), axis=1), np.tile([0, 0, 1.0], (24, 1)), atol=1e-12)
    outward = ((CUBE[surface.nodes] - 0.5) * normals).sum(axis=1)
    np.testing.assert_allclose(outward, 0.5, atol=1e-12)


def test_sphere_is_smooth_with_radial_normals():
    points, faces = globe()
    surface = SmoothSurface(points, faces)
    assert len(surface.nodes) == len(points)
    normals = surface.normals(points)
    direction = points[surface.nodes]
    assert (normals * direction).sum(axis=1).min() > np.cos(np.radians(1.5))


def test_creases_are_those_of_the_undeformed_body():
    surface = SmoothSurface(CUBE, SIDES)
    flat = CUBE * [1.0, 0.02, 1.0]
    sheared = CUBE + np.outer(CUBE[:, 1], [5.0, 0, 0])
    for shape in (flat, sheared):
        assert np.isfinite(surface.normals(shape)).all()
        assert len(surface.normals(shape)) == 24
    points, faces = globe()
    folded = points.copy()
    folded[points[:, 1] > 0, 1] *= -0.9
    assert len(SmoothSurface(points, faces).normals(folded)) == len(points)


def test_open_inconsistently_oriented_and_non_manifold_surfaces():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    turned = SmoothSurface(square, np.array([[0, 1, 2], [0, 3, 2]]))  # the second face is the wrong way round
    assert len(turned.nodes) == 6
    fan = np.vstack([square, [[0, 0, 1.0]]])
    branching = SmoothSurface(fan, np.array([[0, 1, 2], [0, 2, 3], [0, 2, 4]]))
    assert len(branching.nodes) == 9  # three faces at one edge share nothing
    empty = SmoothSurface(square, np.empty((0, 3), int))
    assert empty.normals(square).shape == (0, 3)
    collapsed = SmoothSurface(np.zeros((3, 3)), np.array([[0, 1, 2]]))
    np.testing.assert_array_equal(collapsed.normals(np.zeros((3, 3))), 0.0)

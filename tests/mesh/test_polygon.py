"""Meshes of outlines: angles, areas, the Delaunay property, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest

import continua as ct
from continua.mesh.outline_mesh import mesh_outline

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
RING = 0.5 + 0.2 * np.stack([np.cos(np.arange(24) * np.pi / 12), np.sin(np.arange(24) * np.pi / 12)], axis=1)


def angles(mesh):
    """Return the angles of all triangles [deg], shape [m, 3]."""
    corners = mesh.points[mesh.triangles][..., :2]
    ahead, behind = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    cosine = (ahead * behind).sum(-1) / np.linalg.norm(ahead, axis=-1) / np.linalg.norm(behind, axis=-1)
    return np.degrees(np.arccos(cosine))


def areas(mesh):
    a, b, c = (mesh.points[mesh.triangles[:, i]] for i in range(3))
    return 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def polygon_area(loop):
    x, y = np.asarray(loop, float).T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def is_constrained_delaunay(mesh):
    """Whether no triangle's circle holds the far corner of a neighbour across an edge that is no segment."""
    fixed = {tuple(sorted(pair)) for side in (*mesh.sides, *mesh.lines) for pair in pairwise(side)}
    owner = {}
    for t, nodes in enumerate(mesh.triangles):
        for i in range(3):
            owner.setdefault(tuple(sorted((nodes[i - 2], nodes[i - 1]))), []).append((t, nodes[i]))
    for edge, sides in owner.items():
        if len(sides) == 2 and edge not in fixed:
            a, b, c = mesh.points[mesh.triangles[sides[0][0]]]
            d = mesh.points[sides[1][1]]
            rows = np.array([[*(p - d), (p - d) @ (p - d)] for p in (a, b, c)])
            if np.linalg.det(rows) > 1e-7 * np.abs(rows).max() ** 2:
                return False
    return True


def test_square_with_a_hole():
    """AC-R19: angles of at least 20.7 degrees, an empty hole, the Delaunay property."""
    for size in (None, 0.08, lambda p: 0.02 + 0.2 * p[:, 0]):
        mesh = mesh_outline(SQUARE, holes=[RING], size=size)
        assert angles(mesh).min() >= 25.0
        assert areas(mesh).min() > 0.0
        assert areas(mesh).sum() == pytest.approx(1.0 - polygon_area(RING), rel=1e-12)
        centers = mesh.points[mesh.triangles].mean(axis=1)
        assert np.linalg.norm(centers - 0.5, axis=1).min() > 0.2 * np.cos(np.pi / 24)
        assert is_constrained_delaunay(mesh)
        if size is not None:
            ends = mesh.points[mesh.triangles]
            lengths = np.linalg.norm(np.roll(ends, -1, axis=1) - ends, axis=2)
            limit = (
                size
                if not callable(size)
                else size((0.5 * (ends + np.roll(ends, -1, axis=1))).reshape(-1, 2))
            )
            assert (lengths.ravel() <= limit * (1.0 + 1e-5)).all()


def test_smallest_angle_is_as_asked():
    for degrees in (20.7, 30.0, 33.0):
        assert angles(mesh_outline(SQUARE, holes=[RING], min_angle=degrees)).min() >= degrees


def test_sides_and_lines_are_kept_exactly():
    dart = [(0, 0), (1.7, 0.1), (1.3, 1), (0.72, 1.05), (0.7, 0.4), (0.68, 1.05), (0.1, 0.9)]
    line = [(0.2, 0.2), (0.9, 0.15), (1.2, 0.5)]
    mesh = mesh_outline(dart, lines=[line], size=0.1)
    assert areas(mesh).sum() == pytest.approx(polygon_area(dart), rel=1e-12)
    for k, nodes in enumerate(mesh.sides):
        a, b = np.array(dart[k], float), np.array(dart[(k + 1) % len(dart)], float)
        assert (mesh.points[nodes[0]] == a).all()
        assert (mesh.points[nodes[-1]] == b).all()
        t = (mesh.points[nodes] - a) @ (b - a) / ((b - a) @ (b - a))
        assert (np.diff(t) > 0.0).all()
        assert np.abs(mesh.points[nodes] - a - t[:, None] * (b - a)).max() < 1e-15
    edges = {tuple(sorted((t[i], t[i - 1]))) for t in mesh.triangles for i in range(3)}
    (nodes,) = mesh.lines
    assert all(tuple(sorted(pair)) in edges for pair in pairwise(nodes))
    assert (mesh.points[nodes[0]] == line[0]).all()
    assert (mesh.points[nodes[-1]] == line[-1]).all()
    assert is_constrained_delaunay(mesh)


@pytest.mark.parametrize("degrees", [1.0, 8.0, 40.0])
def test_sharp_corners_end(degrees):
    """Only triangles at the sharp corner are flat."""
    tip = np.tan(np.radians(degrees))
    mesh = mesh_outline([(0, 0), (1, 0), (1, tip)], size=0.2)
    assert areas(mesh).sum() == pytest.approx(0.5 * tip, rel=1e-12)
    assert len(mesh.triangles) < 3000
    flat = angles(mesh).min(axis=1) < 24.99
    assert flat.sum() <= 0.4 * len(flat)


def test_random_stars():
    rng = np.random.default_rng(3)
    for _ in range(8):
        turn = np.sort(rng.uniform(0, 2 * np.pi, 17))
        radius = rng.uniform(0.4, 1.0, 17) * 10.0 ** rng.integers(-3, 4)
        star = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
        if np.diff(turn).max() > 3.0:
            continue
        mesh = mesh_outline(star)
        assert areas(mesh).min() > 0.0
        assert areas(mesh).sum() == pytest.approx(polygon_area(star), rel=1e-9)
        assert is_constrained_delaunay(mesh)


def test_moved_and_scaled_outlines_give_the_same_mesh():
    """The grid of the exact predicates follows the outline."""
    first = mesh_outline(SQUARE, holes=[RING], size=0.1)
    other = mesh_outline(np.array(SQUARE) * 1024.0 + 512.0, holes=[RING * 1024.0 + 512.0], size=102.4)
    assert (first.triangles == other.triangles).all()


def test_body_of_a_polygon_is_a_plane_body():
    """A bar with a slanted end, pulled, has the stress of its section."""
    mesh = ct.mesh.polygon([(0, 0), (4, 0), (4, 1), (0, 1)], size=0.4, thickness=0.1)
    assert mesh.volumes.sum() == pytest.approx(0.4)
    bar = ct.SoftBody(mesh, material=ct.Linear(young=1e6, poisson=0.0, density=1000.0))
    bar.pin("left")
    bar.push("right", (100.0, 0.0, 0.0))
    ct.World([bar], gravity=(0, 0, 0)).settle(rtol=1e-8)
    stretch = (bar.positions - bar.rest_positions)[mesh.points[:, 0] > 3.999, 0]
    assert stretch.mean() == pytest.approx(100.0 * 4.0 / (1e6 * 0.1), rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"outline": [(0, 0), (1, 1), (1, 0), (0, 1)]}, "side 0 of the outline meets side 2 of the outline"),
        ({"outline": SQUARE, "holes": [RING + 2.0]}, "hole 0 lies outside"),
        ({"outline": SQUARE, "holes": [RING, 0.5 + 0.5 * (RING - 0.5)]}, "hole 1 lies in hole 0"),
        ({"outline": SQUARE, "holes": [RING + 0.35]}, "meets"),
        ({"outline": SQUARE, "size": 0.0}, "size"),
        ({"outline": SQUARE, "size": -1.0}, "size"),
        ({"outline": SQUARE, "size": 1e-7}, "too small"),
        ({"outline": SQUARE, "size": lambda p: 0.0 * p[:, 0]}, "positive number"),
        ({"outline": SQUARE, "min_angle": 50.0}, "min_angle"),
        ({"outline": [(0, 0), (1, 0)]}, "at least 3 points"),
        ({"outline": [(0, 0), (1, 0), (1, 0), (0, 1)]}, "no length"),
        ({"outline": [(0, 0), (1, 0), (2, 0)]}, "meets"),
        ({"outline": [(0, 0), (1, np.nan), (0, 1)]}, "finite"),
        ({"outline": SQUARE, "lines": [[(0.5, 0.5), (1.5, 0.5)]]}, "meets"),
        ({"outline": SQUARE, "lines": [[(1.2, 0.5), (1.5, 0.5)]]}, "leaves the outline"),
    ],
)
def test_bad_outlines_are_refused(arguments, words):
    with pytest.raises(ct.InputError, match=words):
        ct.mesh.polygon(**arguments)

"""Continuous collision detection misses nothing: against rational arithmetic, constructed impacts, known motions."""

from fractions import Fraction

import numpy as np
import pytest

import continua as ct
from continua.collision.broad_phase import CollisionMesh, CollisionSurface
from continua.collision.ccd import find_collider_impacts, find_impacts, find_intersections
from continua.collision.ccd_kernels import times_of_impact
from continua.mesh import surfaces


def times_of(x0, x1, is_triangle, separation=0.0):
    """First meetings of quads [c, 4, 3]."""
    count = len(x0)
    quads = np.arange(4 * count, dtype=np.int32).reshape(-1, 4)
    times, places = np.empty(count), np.empty((count, 2))
    flat = (np.ascontiguousarray(x.reshape(-1, 3), dtype=float) for x in (x0, x1))
    times_of_impact(*flat, quads, is_triangle, separation, times, places)
    return times, places


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def certainly_apart(quad0, quad1, is_triangle, most=4000):
    """Prove in exact arithmetic that a pair never meets: every small box of (t, u, v) leaves out zero somewhere."""
    ends = []
    for quad in (quad0, quad1):
        a, b, c, d = ([Fraction(float(value)) for value in point] for point in quad)
        minus = lambda p, q: [i - j for i, j in zip(p, q, strict=True)]  # noqa: E731
        ends.append(
            (minus(a, b), minus(c, b), minus(d, b))
            if is_triangle
            else (minus(a, c), minus(a, b), minus(d, c))
        )
    (d0, e0, g0), (d1, e1, g1) = ends
    directions = [[1, 0, 0], [0, 1, 0], [0, 0, 1], cross(e0, g0), cross(e1, g1)]
    mean = lambda p, q: [(i + j) / 2 for i, j in zip(p, q, strict=True)]  # noqa: E731
    directions.append(cross(mean(e0, e1), mean(g0, g1)))
    dot = lambda p, q: sum(i * j for i, j in zip(p, q, strict=True))  # noqa: E731
    parts = [[dot(n, w) for w in (d0, e0, g0, d1, e1, g1)] for n in directions]
    boxes = [(Fraction(0), Fraction(1)) * 3]
    for _ in range(most):
        if not boxes:
            return True
        t0, t1, u0, u1, v0, v1 = boxes.pop()
        if is_triangle and u0 + v0 > 1:
            continue
        for da, ea, ga, db, eb, gb in parts:
            low, high = [], []
            for t in (t0, t1):
                d, e, g = da + t * (db - da), ea + t * (eb - ea), ga + t * (gb - ga)
                low.append(d - max(u0 * e, u1 * e) - max(v0 * g, v1 * g))
                high.append(d - min(u0 * e, u1 * e) - min(v0 * g, v1 * g))
            if min(low) > 0 or max(high) < 0:
                break
        else:
            tm, um, vm = (t0 + t1) / 2, (u0 + u1) / 2, (v0 + v1) / 2
            boxes += [
                (*t, *u, *v)
                for t in ((t0, tm), (tm, t1))
                for u in ((u0, um), (um, u1))
                for v in ((v0, vm), (vm, v1))
            ]
    return False


@pytest.mark.parametrize("is_triangle", [True, False])
@pytest.mark.parametrize("kind", ["random", "near", "grid", "plane", "slow"])
def test_pairs_without_impact_are_proven_not_to_collide(is_triangle, kind):
    """Exact rational arithmetic confirms every "never"; grids of small whole numbers are full of degenerate cases."""
    rng = np.random.default_rng([is_triangle, len(kind)])
    count = 120
    x0 = rng.normal(size=(count, 4, 3))
    x1 = x0 + rng.normal(size=(count, 4, 3))
    if kind == "near":
        x1 = x0 + 0.3 * rng.normal(size=(count, 4, 3))
        x0 += 100.0  # coordinates far from the origin
        x1 += 100.0
    if kind == "grid":
        x0, x1 = rng.integers(0, 3, (2, count, 4, 3)).astype(float)
    if kind == "plane":  # all in one tilted plane, so that the coplanarity cubic is zero
        x0 = x0[..., :2] @ np.array([[1.0, 0, 0.5], [0, 1.0, 0.25]])
        x1 = x1[..., :2] @ np.array([[1.0, 0, 0.5], [0, 1.0, 0.25]])
        x0, x1 = np.round(x0 * 64) / 64, np.round(x1 * 64) / 64
    if kind == "slow":
        x1 = x0 + 1e-9 * rng.normal(size=(count, 4, 3))
    times, _ = times_of(x0, x1, is_triangle)
    apart = np.flatnonzero(times > 1.0)
    assert len(apart) > 10
    for k in apart:
        assert certainly_apart(x0[k], x1[k], is_triangle), k


@pytest.mark.parametrize("is_triangle", [True, False])
def test_constructed_impacts_are_found_in_time(is_triangle):
    """The points are whole numbers of 1/1024, so that they meet exactly, at inner points, edges and corners."""
    rng = np.random.default_rng(5)
    count = 2000
    x0, x1 = rng.integers(-1024, 1025, (2, count, 4, 3)) / 1024.0
    part = rng.integers(0, 9, (count, 2)) / 8.0
    if is_triangle:
        part[part.sum(axis=1) > 1.0] = 1.0 - part[part.sum(axis=1) > 1.0]
    when = 0.5 ** rng.integers(0, 3, count)
    middle = x0 + when[:, None, None] * (x1 - x0)
    u, v = part[:, :1], part[:, 1:]
    if is_triangle:
        b, c, d = middle[:, 1], middle[:, 2], middle[:, 3]
        target = b + u * (c - b) + v * (d - b)
        x1[:, 0] = x0[:, 0] + (target - x0[:, 0]) / when[:, None]
    else:
        a, b, c, d = (middle[:, k] for k in range(4))
        x1 += (
            ((c + v * (d - c)) - (a + u * (b - a)))[:, None]
            / when[:, None, None]
            * np.array([1.0, 1.0, 0.0, 0.0]).reshape(1, 4, 1)
        )
    times, _ = times_of(x0, x1, is_triangle)
    assert (times <= when + 1e-9).all()


def test_time_and_parameters_of_a_known_impact():
    x0 = np.array([[[0.25, 1.0, 0.25], [0, 0, 0], [0, 0, 1], [1, 0, 0]]], dtype=float)
    x1 = x0.copy()
    x1[0, 0, 1] = -1.0
    (time,), ((u, v),) = times_of(x0, x1, True)
    assert time == pytest.approx(0.5, abs=1e-5)
    assert (u, v) == pytest.approx((0.25, 0.25), abs=1e-5)
    (time,), _ = times_of(x0, x1, True, separation=0.1)
    assert time == pytest.approx(0.45, abs=0.02)
    assert times_of(x0, x0, True)[0][0] > 1.0


def two_balls():
    ball = surfaces.sphere(0.5, 3)
    return ball, CollisionMesh(
        [CollisionSurface(ball.points, ball.triangles), CollisionSurface(ball.points, ball.triangles)]
    )


def test_impacts_of_crossing_balls_are_found_at_any_speed():
    ball, both = two_balls()
    none = np.zeros((2, 2))
    for speed in (0.3, 3.0, 50.0):
        start = both.positions([ball.points, ball.points + [1.2, 0.1, 0.05]])
        end = both.positions([ball.points, ball.points + [1.2 - speed, 0.1, 0.05]])
        pairs = find_impacts(both, start, end, none)
        assert len(pairs) > 0
        flight = (pairs.normals @ [1.0, 0, 0]) * np.where(pairs.a == 0, -1, 1)
        assert (flight > 0).all()  # to the side from which they came
        first = pairs.times.min() * speed
        assert 0.15 < first < 0.25  # the gap of the balls, 0.21 m where they are round
    apart = both.positions([ball.points, ball.points + [1.2, 5.0, 0.0]])
    assert len(find_impacts(both, apart, apart + [0.0, 1.0, 0.0], none)) == 0


def test_impacts_are_those_of_a_loop_over_all_pairs():
    rng = np.random.default_rng(3)
    mesh = surfaces.torus(0.5, 0.2, (4, 8))
    torus = CollisionSurface(mesh.points, mesh.triangles, self_collision=True)
    both = CollisionMesh([torus, CollisionSurface(mesh.points, mesh.triangles, self_collision=True)])
    n = len(mesh.points)
    for _ in range(4):
        start = both.positions([mesh.points, mesh.points + rng.uniform(-0.5, 0.5, 3)])
        end = (
            start + np.repeat(rng.uniform(-0.5, 0.5, (2, 3)), n, axis=0) + 0.03 * rng.normal(size=start.shape)
        )
        pairs = find_impacts(both, start, end, np.zeros((2, 2)))
        found = {tuple(q) for q in pairs.nodes.tolist()}
        cells, edges = both.triangle_bvh.cells, both.edge_bvh.cells
        v, t = np.meshgrid(np.arange(2 * n), np.arange(len(cells)), indexing="ij")
        quads = np.column_stack([v.ravel(), cells[t.ravel()]])
        quads = quads[(quads[:, 1:] != quads[:, :1]).all(axis=1)]
        e, f = np.triu_indices(len(edges), 1)
        pair = np.column_stack([edges[e], edges[f]])
        pair = pair[(pair[:, :2, None] != pair[:, None, 2:]).all(axis=(1, 2))]
        brute = set()
        for table, kind in ((quads, True), (pair, False)):
            times, _ = times_of(start[table], end[table], kind)
            brute |= {tuple(q) for q in table[times <= 1.0].tolist()}
        assert found == brute
        assert brute


def test_points_hit_thin_shapes_on_their_path():
    sheet = ct.Box((0, 0, 0), (4.0, 1e-4, 4.0))
    x0 = np.array([[0.0, 1.0, 0.0], [0.5, 1.0, 0.5], [3.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    x1 = x0 + [0.0, -50.0 * 0.02, 0.0] - [0, 1e-3, 0]
    hits = find_collider_impacts(sheet, x0, x1, 0.0, 0.02)
    assert hits.points.tolist() == [0, 1]
    np.testing.assert_allclose(hits.normals, [[0, 1, 0]] * 2, atol=1e-12)
    np.testing.assert_allclose(hits.gaps, 1.0 - 5e-5, atol=1e-6)
    for shape in (ct.Sphere((0, 0, 0), 0.01), ct.Capsule((-1, 0, 0), (1, 0, 0), 1e-3), ct.Plane()):
        hits = find_collider_impacts(shape, x0[:1], x1[:1] - [0, 1.0, 0], 0.0, 0.02)
        assert hits.points.tolist() == [0]
        assert hits.normals[0, 1] == pytest.approx(1.0)


def test_a_fast_plate_hits_a_point_at_rest():
    plate = ct.Box((0, 5.0, 0), (1, 0.01, 1), motion=ct.Motion.translate((0, -50.0, 0)))
    point = np.array([[0.1, 4.5, 0.2]])
    hits = find_collider_impacts(plate, point, point, 0.0, 0.02)
    assert hits.points.tolist() == [0]
    np.testing.assert_allclose(hits.normals, [[0, -1, 0]], atol=1e-12)
    assert hits.times[0] == pytest.approx((0.5 - 0.005) / 1.0, abs=1e-6)


def test_intersections_are_those_of_a_loop_over_all_edges_and_triangles():
    import trimesh

    ball, both = two_balls()
    for shift, overlap in ((1.2, False), (0.7, True)):
        x = both.positions([ball.points, ball.points + [shift, 0.03, 0.02]])
        found = find_intersections(both, x)
        assert (len(found) > 0) == overlap
        if overlap:
            ends, cells = x[both.edge_bvh.cells[found.edges]], x[both.triangle_bvh.cells[found.triangles]]
            side = ends[:, 1] - ends[:, 0]
            normal = np.cross(cells[:, 1] - cells[:, 0], cells[:, 2] - cells[:, 0])
            part = np.einsum("ij,ij->i", normal, cells[:, 0] - ends[:, 0]) / np.einsum(
                "ij,ij->i", normal, side
            )
            assert ((part > 0) & (part < 1)).all()
            hit = ends[:, 0] + part[:, None] * side
            nearest = trimesh.triangles.closest_point(cells, hit)
            np.testing.assert_allclose(nearest, hit, atol=1e-9)

"""Proximity candidates against loops over all pairs, without duplicates on flat contact."""

import numpy as np
import pytest
import trimesh

import continua as ct
from continua.collision.broad_phase import Bvh, CollisionMesh, CollisionSurface
from continua.collision.bvh_kernels import query_box
from continua.collision.proximity import find_candidates
from continua.mesh import surfaces
from continua.numerics.closest_points import closest_point_triangle, closest_points_segments


def as_points(array):
    return [tuple(map(float, point)) for point in array]


def test_boxes_that_overlap_are_those_of_a_loop_over_all():
    """Thousands of random queries, after the boxes were refitted to a random motion."""
    rng = np.random.default_rng(0)
    for count in (1, 5, 40, 300):
        cells = rng.integers(0, 200, (count, 3)).astype(np.int32)
        rest = rng.normal(size=(200, 3))
        tree = Bvh.build([cells], rest)
        x0 = rng.normal(size=(200, 3))
        x1 = x0 + 0.2 * rng.normal(size=(200, 3))
        tree.refit(x0, x1, np.array([0.01]), np.ones(1, np.bool_))
        low = np.minimum(x0, x1)[cells].min(axis=1) - 0.01
        high = np.maximum(x0, x1)[cells].max(axis=1) + 0.01
        for _ in range(300):
            center, half = rng.normal(size=3), rng.uniform(0, 0.3, 3)
            found = np.empty(count, np.int32)
            number = query_box(
                tree.boxes, tree.root[0], tree.leaf_count[0], tree.leaf_range, tree.first_leaf[0], tree.order,
                *(center - half), *(center + half), np.empty(64, np.int32), found,
            )  # fmt: skip
            brute = np.flatnonzero(((center - half <= high) & (center + half >= low)).all(axis=1))
            assert set(brute) <= set(found[:number])
            assert len(set(found[:number])) == number


def test_closest_points_of_triangles_and_segments_also_degenerate_ones():
    rng = np.random.default_rng(1)
    for kind in range(4):
        p = rng.normal(size=(200, 3))
        tri = rng.normal(size=(200, 3, 3))
        if kind == 1:
            tri = rng.integers(-1, 2, (200, 3, 3)).astype(float)  # many lines and points among them
        if kind == 2:
            tri[:, 2] = 0.5 * (tri[:, 0] + tri[:, 1])
        if kind == 3:
            tri[:, 1] = tri[:, 2] = tri[:, 0]
        weights = np.array([closest_point_triangle(*as_points([q, *t])) for q, t in zip(p, tri, strict=True)])
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
        distance = np.linalg.norm(np.einsum("kc,kci->ki", weights, tri) - p, axis=1)
        grid = np.array([(i, j, 20 - i - j) for i in range(21) for j in range(21 - i)]) / 20
        brute = np.linalg.norm(np.einsum("gc,kci->kgi", grid, tri) - p[:, None], axis=2).min(axis=1)
        assert (distance <= brute + 1e-9).all()
        if kind == 0:
            known = np.linalg.norm(trimesh.triangles.closest_point(tri, p) - p, axis=1)
            np.testing.assert_allclose(distance, known, atol=1e-9)
        quad = rng.normal(size=(200, 4, 3)) if kind != 1 else rng.integers(-1, 2, (200, 4, 3)).astype(float)
        if kind == 2:
            quad[:, 3] = quad[:, 2] + rng.normal(size=(200, 1)) * (quad[:, 1] - quad[:, 0])  # parallel
        if kind == 3:
            quad[:, 3] = quad[:, 2]
        st = np.array([closest_points_segments(*as_points(q)) for q in quad])
        assert ((st >= 0) & (st <= 1)).all()
        a = quad[:, 0] + st[:, :1] * (quad[:, 1] - quad[:, 0])
        b = quad[:, 2] + st[:, 1:] * (quad[:, 3] - quad[:, 2])
        s = np.linspace(0, 1, 21)
        pa = quad[:, None, 0] + s[None, :, None] * (quad[:, None, 1] - quad[:, None, 0])
        pb = quad[:, None, 2] + s[None, :, None] * (quad[:, None, 3] - quad[:, None, 2])
        brute = np.linalg.norm(pa[:, :, None] - pb[:, None], axis=3).min(axis=(1, 2))
        assert (np.linalg.norm(a - b, axis=1) <= brute + 1e-7).all()


@pytest.mark.parametrize("seed", range(6))
def test_every_vertex_close_to_a_surface_has_its_closest_point_among_the_candidates(seed):
    rng = np.random.default_rng(seed)
    one, two = surfaces.torus(0.5, 0.2, (6, 12)), surfaces.sphere(0.4, 3)
    away = rng.normal(size=3)
    turned = two.transformed(rotate=rng.normal(size=3)).points + 0.7 * away / np.linalg.norm(away)
    both = CollisionMesh(
        [CollisionSurface(one.points, one.triangles), CollisionSurface(two.points, two.triangles)]
    )
    x = both.positions([one.points, turned])
    keep = np.full((2, 2), 0.05)
    pairs = find_candidates(both, x, np.zeros_like(x), keep)
    place = np.einsum("ck,cki->ci", pairs.weights, x[pairs.nodes])
    np.testing.assert_allclose(np.einsum("ci,ci->c", place, pairs.normals), pairs.gaps, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(pairs.normals, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(pairs.weights.sum(axis=1), 0.0, atol=1e-12)
    assert len(set(pairs.keys.tolist())) == len(pairs)
    placed = ct.SurfaceMesh(turned, two.triangles)
    for own, other, first in ((one, placed, 0), (placed, one, len(one.points))):
        distance = ct.sdf.exact(other)(own.points)
        near = np.flatnonzero((distance < 0.07) & (distance > 0.0))
        for v in near:
            mine = (pairs.nodes[:, 0] == first + v) & (pairs.weights[:, 0] == 1.0)
            twin = np.isin(pairs.nodes[:, 1:], first + v).any(axis=1) & (pairs.weights[:, 0] == 1.0)
            gaps = pairs.gaps[mine | twin]
            assert len(gaps)
            assert gaps.min() == pytest.approx(distance[v], abs=1e-9) or gaps.min() < distance[v]


def test_the_distance_of_crossed_edges_is_found():
    """Two roofs, one upside down and turned: only their ridges are near."""
    points = np.array(
        [[-1, 0, 0], [1, 0, 0], [-1, -1, 1], [1, -1, 1], [-1, -1, -1], [1, -1, -1]], dtype=float
    )
    roof = np.array([[0, 2, 3], [0, 3, 1], [0, 1, 5], [0, 5, 4], [2, 4, 5], [2, 5, 3], [0, 4, 2], [1, 3, 5]])
    turned = points @ np.array([[np.cos(0.7), 0, -np.sin(0.7)], [0, -1, 0], [np.sin(0.7), 0, np.cos(0.7)]])
    mesh = ct.SurfaceMesh(points, roof)
    assert mesh.is_closed
    assert mesh.volume > 0
    both = CollisionMesh([CollisionSurface(points, roof), CollisionSurface(turned, roof[:, ::-1])])
    x = both.positions([points, turned + [0.1, 0.03, 0.05]])
    pairs = find_candidates(both, x, np.zeros_like(x), np.full((2, 2), 0.05))
    assert len(pairs) == 1
    assert pairs.gaps[0] == pytest.approx(0.03)
    np.testing.assert_allclose(pairs.normals[0] * (1 if pairs.a[0] else -1), [0, 1, 0], atol=1e-12)
    deep = both.positions([points, turned + [0.1, -0.02, 0.05]])
    pairs = find_candidates(both, deep, np.zeros_like(x), np.full((2, 2), 0.05))
    assert pairs.gaps[pairs.weights[:, 0] < 1.0].tolist() == pytest.approx([-0.02])
    assert len(find_candidates(both, x, np.zeros_like(x), np.full((2, 2), 0.05), edges=False)) == 0


def test_nearly_flat_ridges_count_while_they_are_active():
    """Two roofs of less than two degrees: their ridges are a contact only if they were one in the last step."""
    points = np.array([[-1, 0, 0], [1, 0, 0], [-1, -0.01, 1], [1, -0.01, 1], [-1, -0.01, -1], [1, -0.01, -1]])
    roof = np.array([[0, 2, 3], [0, 3, 1], [0, 1, 5], [0, 5, 4]])
    turned = points @ np.array([[np.cos(0.7), 0, -np.sin(0.7)], [0, -1, 0], [np.sin(0.7), 0, np.cos(0.7)]])
    both = CollisionMesh([CollisionSurface(points, roof), CollisionSurface(turned, roof[:, ::-1])])
    keep = np.full((2, 2), 0.005)

    def ridges(height, sharpness=1.0, known=None):
        x = both.positions([points * [1, sharpness, 1], turned * [1, sharpness, 1] + [0.1, height, 0.05]])
        pairs = find_candidates(both, x, np.zeros_like(x), keep, previous_keys=known)
        return pairs.keys[(pairs.weights[:, 0] < 1.0) & (np.abs(pairs.weights) > 1e-3).all(axis=1)]

    assert len(ridges(0.003)) == 0
    sharp = ridges(0.003, sharpness=3.0)
    assert len(sharp) > 0
    assert np.isin(ridges(0.003, known=sharp), sharp).all()
    assert len(ridges(0.003, known=sharp)) > 0
    assert len(ridges(0.003, known=sharp + 1)) == 0
    assert not np.isin(sharp, ridges(0.003, sharpness=0.1, known=sharp)).any()  # flat, whatever was before


def test_flat_contact_has_one_row_for_each_vertex():
    box = surfaces.box((1, 1, 1), (6, 6, 6))
    both = CollisionMesh(
        [CollisionSurface(box.points, box.triangles), CollisionSurface(box.points, box.triangles)]
    )
    keep = np.full((2, 2), 0.01)
    aligned = both.positions([box.points, box.points + [0, 1.01, 0]])
    assert len(find_candidates(both, aligned, 0 * aligned, keep)) == 49
    shifted = both.positions([box.points, box.points + [0.07, 1.01, 0.09]])
    pairs = find_candidates(both, shifted, 0 * shifted, keep)
    assert 36 + 36 <= len(pairs) <= 36 + 36 + 2  # vertices over the other, and where two ridges cross


def test_candidates_are_found_before_they_touch_and_only_within_the_largest_distance():
    box = surfaces.box((1, 1, 1), (2, 2, 2))
    both = CollisionMesh(
        [CollisionSurface(box.points, box.triangles), CollisionSurface(box.points, box.triangles)]
    )
    x = both.positions([box.points, box.points + [0.1, 1.3, 0.1]])
    way = np.zeros_like(x)
    keep = np.full((2, 2), 0.01)
    assert len(find_candidates(both, x, way, keep)) == 0
    way[len(box.points) :, 1] = -0.5
    assert len(find_candidates(both, x, way, keep)) >= 8
    assert len(find_candidates(both, x, way, keep, max_distance=np.full((2, 2), 0.2))) == 0
    way[:, 1] = -0.5
    assert len(find_candidates(both, x, way, keep)) == 0  # both move alike


def test_a_body_at_rest_does_not_touch_itself_but_a_folded_one_does():
    sheet = ct.mesh.box((2.0, 0.05, 0.5), (40, 1, 10))
    triangles = sheet.boundary_triangles
    one = CollisionMesh([CollisionSurface(sheet.points, triangles, self_collision=True)])
    keep = np.full((1, 1), 0.02)
    assert len(find_candidates(one, sheet.points, np.zeros_like(sheet.points), keep)) == 0
    radius, x = 0.2, sheet.points.copy()
    x[:, 1] -= 0.025
    arc = np.clip(x[:, 0] - (1.0 - np.pi * radius / 2), 0, np.pi * radius)
    over = np.clip(x[:, 0] - (1.0 + np.pi * radius / 2), 0, None)
    straight = np.minimum(x[:, 0], 1.0 - np.pi * radius / 2)
    r = radius - x[:, 1]
    gap = 2 * radius - 0.05
    folded = np.column_stack(
        [straight + r * np.sin(arc / radius) - over, radius - r * np.cos(arc / radius), x[:, 2]]
    )
    assert len(find_candidates(one, folded, np.zeros_like(x), keep)) == 0
    closer = folded.copy()
    closer[:, 1] = np.where(over > 0, closer[:, 1] - (gap - 0.015), closer[:, 1])
    pairs = find_candidates(one, closer, np.zeros_like(x), keep)
    assert len(pairs) > 40
    assert pairs.gaps.min() > 0
    assert (np.abs(pairs.normals[:, 1]) > 0.9).mean() > 0.9


def test_same_candidates_for_any_number_of_threads():
    ball = surfaces.sphere(0.5, 8)
    both = CollisionMesh(
        [
            CollisionSurface(ball.points, ball.triangles, self_collision=True),
            CollisionSurface(ball.points, ball.triangles),
        ]
    )
    x = both.positions([ball.points, ball.points + [0.99, 0.1, 0.0]])
    before = ct.get_threads()
    found = []
    for threads in (1, 2):
        ct.set_threads(threads)
        found.append(find_candidates(both, x, np.zeros_like(x), np.full((2, 2), 0.03)))
    ct.set_threads(before)
    assert len(found[0]) > 0
    for name in found[0].__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))

"""Open two-sided surfaces: candidates and impacts against all pairs by brute force, from both sides."""

import numpy as np
import pytest

from continua.collision import CollisionMesh, CollisionSurface, find_candidates, find_impacts
from continua.collision.ccd_kernels import times_of_impact
from continua.numerics.closest_points import closest_point_triangle, closest_points_segments


def open_sheet(rng, cells=5, size=1.0, roughness=0.06, holes=0.15):
    """Return points and triangles of a rough sheet around y = 0 with holes, its triangles oriented at random."""
    n = cells + 1
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    points = np.stack([i / cells - 0.5, np.zeros((n, n)), j / cells - 0.5], axis=-1).reshape(-1, 3) * size
    points += roughness * rng.normal(size=points.shape) * [0.3, 1.0, 0.3]
    a = (i[:-1, :-1] * n + j[:-1, :-1]).ravel()
    triangles = np.concatenate(
        [np.column_stack([a, a + 1, a + n]), np.column_stack([a + 1, a + n + 1, a + n])]
    )
    triangles = triangles[rng.random(len(triangles)) > holes]
    turned = rng.random(len(triangles)) < 0.5
    triangles[turned] = triangles[turned][:, ::-1]
    return points, triangles.astype(np.int32)


def closest_on_triangle(p, corners):
    weights = np.array(closest_point_triangle(tuple(p), *(tuple(c) for c in corners)))
    return weights @ corners


def two_sheets(rng, offset, radius=0.0):
    surfaces, parts = [], []
    for turn, shift in ((0.0, 0.0), (0.7, offset)):
        points, triangles = open_sheet(rng)
        c, s = np.cos(turn), np.sin(turn)
        points = points @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) + [0.0, shift, 0.0]
        surfaces.append(CollisionSurface(points, triangles, two_sided=True, radius=radius))
        parts.append(points)
    mesh = CollisionMesh(surfaces)
    return mesh, mesh.positions(parts)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_every_point_within_the_distance_has_its_closest_point_among_the_candidates(seed, side):
    rng = np.random.default_rng(seed)
    mesh, x = two_sheets(rng, side * 0.12)
    distance = np.full((2, 2), 0.1)
    pairs = find_candidates(mesh, x, np.zeros_like(x), distance, edges=False)
    assert (pairs.gaps >= 0.0).all()  # nothing is inside
    found = dict.fromkeys(range(len(x)), np.inf)
    for nodes, weights, normal, gap in zip(
        pairs.nodes, pairs.weights, pairs.normals, pairs.gaps, strict=True
    ):
        away = weights @ x[nodes]
        np.testing.assert_allclose(
            away, gap * normal, atol=1e-12
        )  # from the triangle to the point, on either side
        found[nodes[0]] = min(found[nodes[0]], gap)
    close = 0
    for k, surface in enumerate(mesh.surfaces):
        other = mesh.surfaces[1 - k]
        corners = x[mesh.first[1 - k] + other.triangles]
        for v in mesh.first[k] + surface.vertices:
            nearest = min(np.linalg.norm(x[v] - closest_on_triangle(x[v], c)) for c in corners)
            if nearest < 0.1:
                close += 1
                assert abs(found[int(v)] - nearest) < 1e-12
            else:
                assert found[int(v)] > 0.1 - 1e-12
    assert close > 5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_every_two_edges_within_the_distance_are_candidates(seed, side):
    """All edges of a rough sheet are borders or bends, and count on both sides."""
    rng = np.random.default_rng(100 + seed)
    mesh, x = two_sheets(rng, side * 0.1)
    pairs = find_candidates(mesh, x, np.zeros_like(x), np.full((2, 2), 0.08), flat_sine=1e-9)
    is_edge = (pairs.weights[:, 2] < 0.0) & (pairs.weights[:, 1] > 0.0)
    found = {}
    for nodes, weights, normal, gap in zip(
        pairs.nodes[is_edge], pairs.weights[is_edge], pairs.normals[is_edge], pairs.gaps[is_edge], strict=True
    ):
        np.testing.assert_allclose(weights @ x[nodes], gap * normal, atol=1e-9)
        found[tuple(nodes.tolist())] = gap
    border = 0
    for e in mesh.first[0] + mesh.surfaces[0].edges:
        for f in mesh.first[1] + mesh.surfaces[1].edges:
            p, q = x[e], x[f]
            s, t = closest_points_segments(*(tuple(c) for c in (*p, *q)))
            away = p[0] + s * (p[1] - p[0]) - q[0] - t * (q[1] - q[0])
            u, v = p[1] - p[0], q[1] - q[0]
            sine = np.linalg.norm(np.cross(u, v)) / np.linalg.norm(u) / np.linalg.norm(v)
            inner = 1e-3 < s < 1 - 1e-3 and 1e-3 < t < 1 - 1e-3
            if inner and sine > 0.01 and np.linalg.norm(away) < 0.08:
                assert abs(found[(*e.tolist(), *f.tolist())] - np.linalg.norm(away)) < 1e-9
                border += 1
    assert border > 5


def test_edges_of_a_flat_sheet_count_at_its_border_only_and_a_fold_counts():
    """Two crossed strips: four pairs of border edges; folded back onto itself, the crease is an edge as well."""
    strip = np.array([[-1, 0, -0.1], [1, 0, -0.1], [1, 0, 0.1], [-1, 0, 0.1]], float)
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    other = strip[:, [2, 1, 0]] + [0.0, 0.05, 0.0]
    both = CollisionMesh([CollisionSurface(p, triangles, two_sided=True) for p in (strip, other)])
    x = both.positions([strip, other])
    pairs = find_candidates(both, x, np.zeros_like(x), np.full((2, 2), 0.06))
    assert len(pairs) == 4
    np.testing.assert_allclose(pairs.gaps, 0.05)
    np.testing.assert_allclose(pairs.normals, [[0, -1, 0]] * 4, atol=1e-12)
    folded = x.copy()
    folded[3] = [0.0, 0.0, -0.5]  # the second triangle lies on the first: the diagonal is a crease
    creased = find_candidates(both, folded, np.zeros_like(x), np.full((2, 2), 0.06))
    assert any({0, 2} == set(nodes[:2].tolist()) for nodes in creased.nodes)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_impacts_and_their_times_are_those_of_all_pairs(seed, side):
    rng = np.random.default_rng(200 + seed)
    mesh, x0 = two_sheets(rng, side * 0.35)
    x1 = x0 + 0.05 * rng.normal(size=x0.shape)
    x1[mesh.first[1] :] -= [0.0, side * 0.6, 0.0]  # passes through
    separation = 1e-4
    pairs = find_impacts(mesh, x0, x1, np.full((2, 2), separation))
    found = {tuple(nodes.tolist()): (time, n, gap) for nodes, time, n, gap in
             zip(pairs.nodes, pairs.times, pairs.normals, pairs.gaps, strict=True)}  # fmt: skip
    for is_triangle in (True, False):
        stencils = []
        for k in (0, 1) if is_triangle else (0,):
            one, other = mesh.surfaces[k], mesh.surfaces[1 - k]
            a = (mesh.first[k] + (one.vertices[:, None] if is_triangle else one.edges)).astype(np.int32)
            b = (mesh.first[1 - k] + (other.triangles if is_triangle else other.edges)).astype(np.int32)
            i, j = np.meshgrid(np.arange(len(a)), np.arange(len(b)), indexing="ij")
            stencils.append(np.column_stack([a[i.ravel()], b[j.ravel()]]))
        stencils = np.ascontiguousarray(np.concatenate(stencils))
        times, places = np.empty(len(stencils)), np.empty((len(stencils), 2))
        times_of_impact(x0, x1, stencils, is_triangle, separation, times, places)
        hits = np.flatnonzero(times <= 1.0)
        assert len(hits) > 5
        for k in hits:
            assert found[tuple(stencils[k].tolist())][0] == times[k]
    first = min(found.values(), key=lambda one: one[0])
    assert first[2] > 0.0  # the first to meet come from the side to which the normal points


def test_a_point_in_contact_stays_on_its_side():
    """One that the accepted error of the last step has carried through the sheet is pushed back, not onward."""
    sheet = np.array([[-1, 0, -1], [1, 0, -1], [0, 0, 1]], float)
    triangle = np.array([[0, 1, 2]])
    none = np.zeros((0, 3), np.int32)
    both = CollisionMesh(
        [
            CollisionSurface(np.zeros((1, 3)), none, vertices=np.zeros(1, np.int32)),
            CollisionSurface(sheet, triangle, two_sided=True, radius=0.01),
        ]
    )
    distance = np.full((2, 2), 0.02)
    for side in (1.0, -1.0):
        above = both.positions([np.array([[0.0, side * 0.025, 0.0]]), sheet])
        pair = find_candidates(both, above, np.zeros_like(above), distance)
        np.testing.assert_allclose(pair.normals, [[0, side, 0]], atol=1e-15)
        np.testing.assert_allclose(pair.gaps, [0.015])
        through = both.positions([np.array([[0.0, -side * 0.001, 0.0]]), sheet])
        later = find_candidates(both, through, np.zeros_like(above), distance, previous_keys=pair.keys)
        np.testing.assert_array_equal(later.keys, pair.keys)
        np.testing.assert_allclose(later.normals, [[0, side, 0]], atol=1e-15)
        np.testing.assert_allclose(later.gaps, [-0.011])
        impact = find_impacts(both, through, above, 0.1 * distance, pair.keys)
        np.testing.assert_array_equal(impact.keys, pair.keys)
        new = find_candidates(both, through, np.zeros_like(above), distance)
        np.testing.assert_allclose(new.normals, [[0, -side, 0]], atol=1e-15)


def test_a_flat_sheet_does_not_touch_itself_but_a_folded_one_does():
    n = 9
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    points = np.stack([i, 0 * i, j], axis=-1).reshape(-1, 3) * 0.1
    a = (i[:-1, :-1] * n + j[:-1, :-1]).ravel()
    triangles = np.concatenate(
        [np.column_stack([a, a + 1, a + n]), np.column_stack([a + 1, a + n + 1, a + n])]
    )
    sheet = CollisionMesh(
        [CollisionSurface(points, triangles, two_sided=True, radius=0.01, self_collision=True)]
    )
    distance = np.full((1, 1), 0.01)
    assert len(find_candidates(sheet, points, np.zeros_like(points), distance)) == 0
    for side in (1.0, -1.0):  # both faces of the sheet may meet
        folded = points.copy()
        over = points[:, 0] > 0.45
        folded[over, 0] = 0.9 - folded[over, 0]
        folded[over, 1] = side * 0.025
        pairs = find_candidates(sheet, folded, np.zeros_like(points), distance)
        inner = pairs.take(np.abs(pairs.normals[:, 1]) > 1.0 - 1e-12)
        assert len(inner) > 20
        np.testing.assert_allclose(inner.gaps, 0.005, atol=1e-12)


def test_the_keys_of_all_points_and_sides_of_a_triangle_differ():
    """Else a point takes over the side of another one, and is pulled through the surface."""
    points = np.column_stack([np.linspace(0.1, 0.3, 64), np.full(64, 0.01), np.full(64, 0.1)])
    cloud = CollisionSurface(points, np.zeros((0, 3), np.int32), vertices=np.arange(64, dtype=np.int32))
    corners = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    triangle = CollisionSurface(corners, np.array([[0, 1, 2]], np.int32), two_sided=True)
    mesh = CollisionMesh([cloud, triangle])
    keys = []
    for side in (1.0, -1.0):
        x = mesh.positions([points * [1.0, side, 1.0], corners])
        found = find_candidates(mesh, x, np.zeros_like(x), np.full((2, 2), 0.02))
        keys += found.keys[found.b == 1].tolist()
    assert len(keys) == 128
    assert len(set(keys)) == 128

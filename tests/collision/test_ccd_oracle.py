"""Continuous detection against an independent library (`ipctk`), and thin passages at the distances of thick ones."""

import numpy as np
import pytest

from continua.collision import CollisionMesh, CollisionSurface, find_passages
from continua.collision.ccd_kernels import times_of_impact

COUNTS = {"random": 300, "near": 300, "far": 300, "slow": 300, "parallel": 30, "touching": 10}
KINDS = tuple(COUNTS)  # the other library needs up to a second for a degenerate pair


def quads(kind, rng, count):
    """Return start and end of vertices and triangles, or of two edges, of some kind, shape [count, 4, 3] each."""
    x0 = rng.normal(size=(count, 4, 3))
    x1 = x0 + rng.normal(size=(count, 4, 3))
    if kind == "near":
        x1 = x0 + 0.3 * rng.normal(size=x0.shape)
    elif kind == "far":
        x0, x1 = x0 + 1e3, x1 + 1e3
    elif kind == "slow":
        x1 = x0 + 1e-6 * rng.normal(size=x0.shape)
    elif kind == "parallel":
        for x in (x0, x1):
            x[:, 3] = x[:, 2] + x[:, 1] - x[:, 0]
    elif kind == "touching":  # the last point comes to the first
        x1[:, 3] = x1[:, 0]
    return x0, x1


def our_times(x0, x1, is_triangle):
    count = len(x0)
    times, places = np.empty(count), np.empty((count, 2))
    stencils = np.arange(4 * count, dtype=np.int32).reshape(-1, 4)
    flat = (np.ascontiguousarray(x.reshape(-1, 3)) for x in (x0, x1))
    times_of_impact(*flat, stencils, is_triangle, 0.0, times, places)
    return times


def distance_at(x0, x1, time, is_triangle):
    """Return the least distance of a pair at a time, by projected descent on a fine grid of parameters."""
    x = x0 + time * (x1 - x0)
    u, v = (a.ravel() for a in np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41)))
    if is_triangle:
        keep = u + v <= 1.0 + 1e-12
        u, v = u[keep], v[keep]
        away = x[0] - x[1] - np.outer(u, x[2] - x[1]) - np.outer(v, x[3] - x[1])
    else:
        away = x[0] + np.outer(u, x[1] - x[0]) - x[2] - np.outer(v, x[3] - x[2])
    return np.linalg.norm(away, axis=1).min()


@pytest.mark.parametrize("is_triangle", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_impacts_are_those_of_tight_inclusion(kind, is_triangle):
    """What the other finds we find, no later than its time and ours allow; what we add is within its tolerance."""
    ipctk = pytest.importorskip("ipctk")
    compare_with_tight_inclusion(ipctk, kind, is_triangle, COUNTS[kind])


def compare_with_tight_inclusion(ipctk, kind, is_triangle, count, seed=0):
    rng = np.random.default_rng([seed, KINDS.index(kind), is_triangle])
    x0, x1 = quads(kind, rng, count)
    ours = our_times(x0, x1, is_triangle)
    ccd = ipctk.TightInclusionCCD(1e-6, 2000)
    find = ccd.point_triangle_ccd if is_triangle else ccd.edge_edge_ccd
    hits = 0
    for k in range(count):
        hit, _ = find(*x0[k], *x1[k])
        hits += hit
        if hit and ours[k] > 1.0:  # its boxes are larger: then the pair is close to touching, but does not
            assert min(distance_at(x0[k], x1[k], t, is_triangle) for t in np.linspace(0.0, 1.0, 301)) > 1e-7
        elif ours[k] <= 1.0:
            assert hit or distance_at(x0[k], x1[k], ours[k], is_triangle) < 0.06 * np.abs(x0[k]).max()
    if kind in ("random", "touching"):
        assert hits > 4
    return hits


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("part", [2.0, 1.0 + 1e-6, 0.9, 0.3, -0.5])
def test_sheets_pass_only_if_they_lose_more_than_half_of_a_small_distance(distance, part):
    """Two triangles of any thickness approach by a part of their distance; those that stay apart are never found."""
    corners = np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    triangle, separation = np.array([[0, 1, 2]]), 1e-3
    mesh = CollisionMesh([CollisionSurface(corners, triangle, two_sided=True, radius=0.02) for _ in range(2)])
    x0 = np.concatenate([corners, corners[:, [2, 1, 0]] + [0.0, distance, 0.0]])
    x1 = x0.copy()
    x1[3:, 1] -= part * distance
    found = find_passages(mesh, x0, x1, np.full((2, 2), separation))
    left = distance * (1.0 - part)
    passes = left < min(separation, 0.5 * distance)
    assert (len(found) > 0) == passes
    if passes and part > 1.0:
        assert len(found) == 9  # the pairs of edges


def test_a_flat_sheet_in_any_orientation_does_not_pierce_itself():
    """Coplanar edges and triangles: rounding must not decide; a vertex pushed through by 1e-12 of its size is found."""
    from continua.collision import find_intersections
    from tests.shells.throws import random_rotation, square_mesh

    for seed in range(12):
        sheet = square_mesh(7, 0.3, (0.3, 2.0, -0.7), random_rotation(1.0 + seed, seed))
        mesh = CollisionMesh(
            [CollisionSurface(sheet.points, sheet.triangles, two_sided=True, self_collision=True)]
        )
        assert len(find_intersections(mesh, sheet.points)) == 0
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    spike = np.array([[0.2, 0.2, 1.0], [0.2, 0.2, -1e-12], [1.0, 1.0, 1.0]])
    two = CollisionMesh(
        [CollisionSurface(p, np.array([[0, 1, 2]]), two_sided=True) for p in (corners, spike)]
    )
    assert len(find_intersections(two, np.concatenate([corners, spike]))) >= 1
    spike[1, 2] = 1e-12
    assert len(find_intersections(two, np.concatenate([corners, spike]))) == 0

"""Local refinement: conforming, exact volumes, kept regions and orientation, bounded shapes."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from continua import mesh
from continua.errors import InputError
from continua.mesh.quality import mean_ratios
from continua.mesh.refinement import _CLOSURE, _COUNTS, GREEN_SHAPE
from continua.mesh.tet_mesh import tet_volumes


def shuffled(m, seed):
    """The same mesh with its nodes and elements in random order, and local orders turned."""
    rng = np.random.default_rng(seed)
    nodes, elements = rng.permutation(m.node_count), rng.permutation(m.element_count)
    tets = nodes[m.tets][elements]
    turns = np.array([[0, 1, 2, 3], [1, 2, 0, 3], [1, 0, 3, 2], [3, 1, 0, 2]])
    tets = np.take_along_axis(tets, turns[rng.integers(0, 4, len(tets))], axis=1)
    points = np.empty_like(m.points)
    points[nodes] = m.points
    return mesh.TetMesh(points, tets)


def assert_conforming(m):
    """Check by brute force: every face has one or two tets, and no node lies on a face or an edge of another tet."""
    faces = Counter(tuple(sorted(face)) for tet in m.tets.tolist() for face in combinations(tet, 3))
    assert set(faces.values()) <= {1, 2}
    outer = np.array([face for face, count in faces.items() if count == 1])
    np.testing.assert_array_equal(
        np.unique(np.sort(outer, axis=1), axis=0), np.unique(np.sort(m.boundary_triangles, axis=1), axis=0)
    )
    corners = m.points[m.tets]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    for tet, origin, matrix in zip(m.tets, corners[:, 0], np.linalg.inv(edges), strict=True):
        b = (m.points - origin) @ matrix.T
        b = np.column_stack([1.0 - b.sum(axis=1), b])
        inside = np.flatnonzero((b > -1e-9).all(axis=1))
        assert set(inside) == set(tet)  # a hanging node would lie in a tet without being a corner of it


def start(kind):
    """Return meshes of different kinds."""
    if kind == "box":
        return mesh.box(cells=(2, 2, 2))
    if kind == "shuffled sphere":
        return shuffled(mesh.sphere(0.5, 2), 7)
    coarse = mesh.box((1.0, 1.0, 0.2), (2, 2, 1))  # graded: one corner is fine
    return mesh.refine_tets(coarse, coarse.points[coarse.tets].mean(axis=1)[:, 0] < 0.4).mesh


@pytest.mark.parametrize("kind", ["box", "shuffled sphere", "graded"])
@pytest.mark.parametrize("seed", [0, 1])
def test_random_selections_give_conforming_meshes(kind, seed):
    m = start(kind)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        chosen = rng.choice(m.element_count, max(1, m.element_count // 25), replace=False)
        change = mesh.refine_tets(m, chosen)
        fine = change.mesh
        assert_conforming(fine)
        assert (fine.volumes > 0.0).all()
        parts = np.bincount(change.element_parents, fine.volumes)
        np.testing.assert_allclose(parts, m.volumes, rtol=1e-12)
        np.testing.assert_array_equal(np.bincount(change.element_parents)[chosen], 8)
        np.testing.assert_array_equal(fine.points[: m.node_count], m.points)
        change.check()
        m = fine


def test_every_pattern_of_the_closure_fills_its_tet():
    points = np.array([[0.0, 0.0, 0.0], [1.1, 0.0, 0.1], [0.2, 0.9, 0.0], [0.1, 0.3, 1.2]])
    points = np.concatenate([points, points[mesh.TetMesh.EDGES].mean(axis=1)])
    whole = tet_volumes(points, np.array([[0, 1, 2, 3]]))[0]
    tables = [(pattern, count) for pattern, count in enumerate(_COUNTS) if count in (2, 4)]
    assert len(tables) == 6 + 3 + 4  # one edge, two opposite edges, three edges of a face
    for pattern, count in tables:
        volumes = tet_volumes(points, _CLOSURE[pattern, :count])
        np.testing.assert_allclose(volumes, whole / count, rtol=1e-12)
        used = set(_CLOSURE[pattern, :count].ravel()) - set(range(4))
        assert used == {4 + edge for edge in range(6) if pattern >> edge & 1}


def test_refining_all_is_regular_refinement():
    m = mesh.sphere(0.5, 2)
    fine, other = mesh.refine_tets(m, np.ones(m.element_count, bool)).mesh, mesh.refine(m).mesh
    np.testing.assert_array_equal(fine.tets, other.tets)
    np.testing.assert_array_equal(fine.points, other.points)


@pytest.mark.parametrize("where", ["corner", "side"])
def test_shapes_stay_bounded(where):
    """Refining the same place again and again: shapes stay above the bound times that of regular refinement."""
    first = m = shuffled(mesh.box(cells=(2, 1, 1)), 3)
    ratios = mean_ratios(first.points[first.tets])
    for _ in range(5 if where == "corner" else 3):
        centers = m.points[m.tets].mean(axis=1)
        near = np.linalg.norm(centers, axis=1)
        chosen = near <= np.partition(near, 3)[3] if where == "corner" else centers[:, 0] < 0.3
        m = mesh.refine_tets(m, chosen).mesh
    assert m.element_count > 20 * first.element_count
    worst = (mean_ratios(m.points[m.tets]) / m.root_shapes).min()
    np.testing.assert_allclose(np.unique(m.root_shapes.round(12)), np.unique(ratios.round(12)))
    # regular refinement of a tet has a handful of shapes (Bey 1995), not far from its own
    assert worst > 0.5 * GREEN_SHAPE
    assert m.quality().min_dihedral > 5.0


def test_without_the_bound_shapes_degenerate(monkeypatch):
    """The bound is what keeps them: closures of closures get flatter and flatter."""
    monkeypatch.setattr("continua.mesh.refinement.GREEN_SHAPE", 0.0)
    m = mesh.box(cells=(2, 2, 2))
    for _ in range(3):
        m = mesh.refine_tets(m, m.points[m.tets].mean(axis=1)[:, 0] < 0.3).mesh
    assert (mean_ratios(m.points[m.tets]) / m.root_shapes).min() < 0.25


def test_regions_are_kept():
    m = mesh.box(cells=(4, 2, 2))
    left = m.points[m.tets].mean(axis=1)[:, 0] < 0.5
    m = mesh.TetMesh(m.points, m.tets, {"left": np.flatnonzero(left)})
    fine = mesh.refine_tets(m, m.points[m.tets].mean(axis=1)[:, 1] < 0.3).mesh
    here = fine.points[fine.tets].mean(axis=1)[:, 0] < 0.5
    np.testing.assert_array_equal(fine.regions["left"], np.flatnonzero(here))


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (np.zeros(0, int), "no tets are chosen"),
        (np.zeros(5, bool), "mask must have 48 entries"),
        ([48], "whole numbers from 0 to 47"),
        ([-1], "whole numbers from 0 to 47"),
        ([0.5], "whole numbers"),
    ],
)
def test_bad_selections_are_refused(chosen, text):
    with pytest.raises(InputError, match=text):
        mesh.refine_tets(mesh.box(cells=(2, 2, 2)), chosen)


def test_other_elements_are_refused():
    with pytest.raises(InputError, match="only tetrahedra"):
        mesh.refine_tets(mesh.hex_box(cells=(2, 1, 1)), [0])

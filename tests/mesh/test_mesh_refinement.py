"""Regular refinement: eight children, conforming, bounded shapes, exact transfer of linear fields."""

import numpy as np
import pytest

from continua import mesh


def tet_set(m):
    """Return the tets as a set of corner positions, whatever their numbering."""
    keys = np.round(m.points * 2**20).astype(np.int64)
    return {tuple(sorted(map(tuple, corners))) for corners in keys[m.tets].tolist()}


@pytest.mark.parametrize("n", [1, 2])
def test_refined_lattice_is_the_finer_lattice(n):
    once = mesh.refine(mesh.bridge(n)).mesh
    assert tet_set(once) == tet_set(mesh.bridge(2 * n))
    assert tet_set(mesh.refine(once).mesh) == tet_set(mesh.bridge(4 * n))


def test_children_fill_their_parent_and_conform():
    coarse = mesh.sphere(0.5, 2)
    step = mesh.refine(coarse)
    fine = step.mesh
    assert fine.element_count == 8 * coarse.element_count
    assert fine.node_count == coarse.node_count + len(coarse.edges)
    np.testing.assert_allclose(fine.volumes, coarse.volumes[step.parent_of] / 8, rtol=1e-12)
    assert mesh.TetMesh(fine.points, fine.tets).notes == ()  # no face twice, none tangled, all positive
    assert len(fine.boundary_triangles) == 4 * len(coarse.boundary_triangles)
    np.testing.assert_array_equal(fine.points[: coarse.node_count], coarse.points)
    np.testing.assert_allclose(fine.points[coarse.node_count :], coarse.points[step.parents].mean(axis=1))


def test_children_lie_in_the_parent_named():
    coarse = mesh.sphere(0.5, 1)
    step = mesh.refine(coarse)
    centers = step.mesh.points[step.mesh.tets].mean(axis=1)
    corners = coarse.points[coarse.tets[step.parent_of]]
    matrix = np.concatenate([corners, np.ones((len(corners), 4, 1))], axis=2).transpose(0, 2, 1)
    weights = np.linalg.solve(
        matrix, np.concatenate([centers, np.ones((len(centers), 1))], axis=1)[..., None]
    )
    assert weights.min() > 0


def test_shapes_stay_bounded_over_four_refinements():
    rng = np.random.default_rng(3)
    m = mesh.sphere(0.5, 1)
    m = mesh.TetMesh(m.points + 0.05 * rng.normal(size=m.points.shape), m.tets)
    first = m.quality()
    for _ in range(4):
        m = mesh.refine(m).mesh
    last = m.quality()
    assert last.min_dihedral > 0.6 * first.min_dihedral
    assert last.max_aspect < 1.7 * first.max_aspect
    np.testing.assert_allclose(last.volume, first.volume)


def test_interpolation_carries_linear_fields_and_keeps_constants():
    step = mesh.refine(mesh.torus(cells=(1, 6)))
    matrix = step.interpolation()
    field = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]])
    np.testing.assert_allclose(matrix @ (step.coarse.points @ field + 7.0), step.mesh.points @ field + 7.0)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)


def test_regions_are_handed_down():
    m = mesh.box(cells=(2, 1, 1))
    m = mesh.TetMesh(m.points, m.tets, {"left": np.flatnonzero(m.points[m.tets].mean(axis=1)[:, 0] < 0.5)})
    fine = mesh.refine(m).mesh
    left = fine.points[fine.tets].mean(axis=1)[:, 0] < 0.5
    np.testing.assert_array_equal(fine.regions["left"], np.flatnonzero(left))

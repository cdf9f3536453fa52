"""The levels of multigrid: transfers between them and Galerkin products."""

import numpy as np
import pytest
import scipy.sparse as sparse

from continua import Multigrid, mesh
from continua.linalg import BlockMatrix
from continua.linalg.multigrid.aggregation import Aggregation
from continua.linalg.multigrid.lattice_prolongation import lattice_prolongation, lattice_spacing
from tests.linalg.bodies import SHAPES, jittered, left, ready, system


def expanded(P, n):
    """An interpolation of n nodes as a matrix of numbers: with one number a pair of nodes, or with blocks."""
    return sparse.kron(P, sparse.eye_array(3)).tocsr() if P.shape[0] == n else sparse.csr_array(P)


@pytest.mark.parametrize("name", ["lattice", "odd lattice", "refined", "hexes"])
def test_prolongation_carries_linear_fields_exactly(name):
    """Rows add up to 1 and a linear field on the coarse points is that field on the fine ones (G35)."""
    matrix, _, elements = system(SHAPES[name]())
    points = elements.rest_positions
    known = matrix.pattern.geometry.coarser
    if known is not None:
        P, below = known()
        coarse = below.points
    else:
        P, coarse = lattice_prolongation(points, 2.0 * lattice_spacing(points))
    assert P.shape[1] < 0.4 * P.shape[0]
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(P @ coarse, points, atol=1e-9)
    assert np.bincount(P.indices, minlength=P.shape[1]).min() > 0  # no coarse node that nothing refers to


def rigid_motion(points, velocity, spin):
    return velocity + np.cross(spin, points)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["irregular", "sphere"])
def test_aggregates_carry_rigid_motions_exactly_on_every_level(name, turned):
    """Without mass no force acts against rigid motions, so smoothing keeps them: P (v + w x c, s w) is v + w x x, at
    rest, and where the body turned by 1.2 rad."""
    shape = SHAPES[name]()
    matrix, _, elements = system(shape, masses=0.0)
    positions = elements.rest_positions
    if turned:
        axis = np.array([1.0, 2.0, -0.5]) / np.sqrt(5.25)
        cross = np.cross(np.eye(3), axis).T
        R = np.eye(3) + np.sin(1.2) * cross + (1 - np.cos(1.2)) * cross @ cross
        rest, _, _ = system(shape, masses=0.0)
        K = sparse.kron(sparse.eye_array(len(positions)), R)
        matrix.blocks[:] = BlockMatrix.from_scipy(K @ rest.to_scipy() @ K.T).blocks
        positions = positions @ R.T
        matrix.positions = positions
    h = ready(matrix, coarsest=20).hierarchy
    assert len(h.levels) >= 2
    velocity, spin = np.random.default_rng(0).normal(size=(2, 3))
    fine = rigid_motion(positions, velocity, spin)
    for level in h.levels:
        assert isinstance(level, Aggregation)
        coarse = np.empty((level.row_count, 3))
        coarse[::2] = rigid_motion(level.near_nullspace.points, velocity, spin)
        coarse[1::2] = level.near_nullspace.sizes[:, None] * spin
        np.testing.assert_allclose(level.prolongate(coarse), fine, atol=1e-9)
        fine = coarse


def test_a_body_that_turned_converges_as_at_rest():
    """Levels follow the positions: a rigid turn changes neither the problem nor the number of iterations."""
    shape = jittered((10, 6, 6))
    counts = []
    for angle in (0.0, 0.7, 1.6):
        matrix, rhs, elements = system(shape, young=1e8)
        R = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
        K = sparse.kron(sparse.eye_array(len(rhs)), R)
        matrix.blocks[:] = BlockMatrix.from_scipy(K @ matrix.to_scipy() @ K.T).blocks
        fixed = left(elements.rest_positions)
        solver = Multigrid(rtol=1e-8, fallback=False)
        solver.setup(matrix)
        if angle > 1.0:  # levels were made at rest
            solver.update(system(shape, young=1e8)[0], fixed)
        matrix.positions = elements.rest_positions @ R.T
        solver.update(matrix, fixed)
        counts.append(solver.solve(rhs @ R.T, np.zeros_like(rhs)).iterations)
    assert max(counts) <= min(counts) + 1


def test_lattice_and_refinement_are_the_nested_hierarchy():
    """Lattices go 8 n x n x n -> 4 n ...: the node counts of the bridge (Georgii 2007), all weights 1 or 1/2."""
    matrix, _, _ = system(mesh.bridge(8))
    solver = ready(matrix)
    assert solver.hierarchy.node_counts == [5265, 825, 153, 36]
    assert set(np.unique(np.concatenate([P.data for P in solver.hierarchy.prolongations]))) == {0.5, 1.0}


def test_galerkin_matrix_of_a_nested_lattice_is_that_of_the_coarse_mesh():
    """|P^T K_h P - K_H| / |K_H| < 1e-12 for linear elasticity on nested meshes (G36); mass is consistent."""
    fine, _, elements = system(mesh.bridge(4))
    coarse, _, below = system(mesh.bridge(2))
    h = ready(fine, coarsest=200).hierarchy
    level = h.levels[0]
    ours = sparse.bsr_array((level.blocks.reshape(-1, 3, 3).swapaxes(1, 2), level.indices, level.indptr))
    where = h.prolongations[0].T @ elements.rest_positions
    where /= h.prolongations[0].sum(axis=0)[:, None]
    match = np.array([np.abs(below.rest_positions - point).sum(axis=1).argmin() for point in where])
    place = (3 * match[:, None] + np.arange(3)).ravel()
    expected = coarse.to_scipy().toarray()[np.ix_(place, place)]
    assert np.abs(ours.toarray() - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", SHAPES)
def test_galerkin_products_in_place_equal_scipy_on_all_levels(name):
    shape = SHAPES[name]()
    matrix, _, _ = system(shape)
    fixed = left(shape.points)
    solver = ready(matrix, fixed)
    indices = [level.indices.copy() for level in solver.hierarchy.levels]
    matrix, _, _ = system(shape, seed=3, wobble=0.01, poisson=0.4)  # new values through the old pattern
    solver.update(matrix, fixed)
    h = solver.hierarchy
    assert len(h.levels) >= 2
    A = matrix.to_scipy().tocsr()
    free = sparse.diags_array(np.repeat(1.0 - fixed, 3))
    for number, P in enumerate(h.prolongations):
        P3 = expanded(P, A.shape[0] // 3)
        P3 = free @ P3 if number == 0 else P3
        A = P3.T @ A @ P3
        level = h.levels[number]
        np.testing.assert_array_equal(level.indices, indices[number])
        ours = BlockMatrix.from_scipy(
            sparse.bsr_array((level.blocks.reshape(-1, 3, 3).swapaxes(1, 2), level.indices, level.indptr))
        )
        assert abs(ours.to_scipy() - A).max() < 1e-12 * abs(A).max()

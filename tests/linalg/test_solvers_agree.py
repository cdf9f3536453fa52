"""Every solver gives the same answer, to its tolerance, on random bodies; each is tested against the others."""

import numpy as np
import pytest
import scipy.sparse as sparse

from continua import PCG, Direct, MergedPCG, Multigrid, PMultigrid, SoftBody, mesh
from continua.linalg import BlockMatrix, SlicedEllMatrix
from tests.linalg.bodies import jittered, system


def random_body(seed):
    """A shape, an order, a contrast and constraints by chance."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(2, 6, 3)
    order = 1
    match seed % 6:
        case 0:
            shape = mesh.box((1, 0.5, 0.7), cells)
        case 1:
            shape = jittered(cells, seed)
        case 2:
            shape = mesh.sphere(0.5, int(rng.integers(2, 5)))
        case 3:
            shape = mesh.hex_box((1, 0.5, 0.7), cells)
        case 4:
            shape, order = jittered(rng.integers(1, 4, 3), seed), 2
        case _:
            shape, order = mesh.box((1, 0.5, 0.7), rng.integers(1, 3, 3)), 3
    options = {
        "order": order,
        "young": 10.0 ** rng.uniform(4, 9),
        "poisson": rng.uniform(0.0, 0.45),
        "contrast": 10.0 ** rng.uniform(0, 6) if rng.random() < 0.5 else None,
    }
    matrix, rhs, elements = system(shape, seed=seed, **options)
    n = len(rhs)
    fixed = np.zeros(n, np.uint8)
    S = np.tile(np.eye(3), (n, 1, 1))
    if rng.random() < 0.8:
        fixed[elements.rest_positions[:, 0] < elements.rest_positions[:, 0].min() + 0.2] = 1
    if rng.random() < 0.4:
        locked = (rng.random(n) < 0.1) & (fixed == 0)
        fixed[locked] = 2
        u = rng.normal(size=(n, 3))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        S[locked] -= (u[:, :, None] * u[:, None, :])[locked]
    projections = np.ascontiguousarray(S[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])
    return matrix, rhs, fixed, projections, order


@pytest.mark.parametrize("seed", range(30))
def test_all_solvers_agree_on_a_random_body(seed):
    matrix, rhs, fixed, projections, order = random_body(seed)
    solvers = [
        Direct(),
        PCG(rtol=1e-10),
        PCG(rtol=1e-10, preconditioner="jacobi"),
        MergedPCG(rtol=1e-10),
        (PMultigrid if order > 1 else Multigrid)(rtol=1e-10, coarsest=20, fallback=False),
    ]
    start = 1e-4 * np.random.default_rng(seed).normal(size=rhs.shape)
    results = []
    for solver in solvers:
        solver.setup(matrix)
        solver.update(matrix, fixed, projections)
        x = start.copy()
        report = solver.solve(rhs, x)
        assert report.converged, (solver, report)
        assert (x[fixed == 1] == start[fixed == 1]).all()
        results.append(x)
    A = matrix.to_scipy()
    size = results[0].ravel() @ (A @ results[0].ravel())
    for solver, x in zip(solvers[1:], results[1:], strict=True):
        e = (x - results[0]).ravel()
        assert e @ (A @ e) < 1e-10 * size, solver


def test_merged_iterates_are_those_of_pcg_in_three_passes():
    """Same mathematics, other layout (A24)."""
    matrix, rhs, _ = system(mesh.box((1, 1, 1), (5, 5, 5)))
    fixed = np.zeros(len(rhs), np.uint8)
    for iterations in (1, 3, 10, 30):
        pair = []
        for solver in (
            PCG(rtol=1e-14, max_iterations=iterations, preconditioner="jacobi"),
            MergedPCG(rtol=1e-14, max_iterations=iterations),
        ):
            solver.setup(matrix)
            solver.update(matrix, fixed)
            x = np.zeros_like(rhs)
            solver.solve(rhs, x)
            pair.append(x)
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12 * np.abs(pair[0]).max())
        assert solver.passes == 1 + 3 * iterations


@pytest.mark.parametrize("n", [1, 7, 8, 9, 40])
def test_product_in_bins_equals_scipy(n):
    """Random patterns, rows of one block, and sizes that are no multiple of the width (A23)."""
    dense = sparse.random_array((3 * n, 3 * n), density=0.1, rng=np.random.default_rng(n)).tocsr()
    matrix = BlockMatrix.from_scipy(dense)
    bins = SlicedEllMatrix.from_matrix(matrix)
    x = np.random.default_rng(1).normal(size=(n, 3))
    np.testing.assert_allclose(bins.multiply(x).ravel(), dense @ x.ravel(), rtol=1e-13, atol=1e-13)
    assert 0.0 <= bins.overhead <= 1.0


def test_direct_keeps_its_factor_while_nothing_changes():
    matrix, rhs, _ = system(mesh.box((1, 1, 1), (3, 3, 3)))
    fixed = np.zeros(len(rhs), np.uint8)
    solver = Direct()
    solver.setup(matrix)
    for _ in range(3):
        solver.update(matrix, fixed)
    assert solver.factorisations == 1
    fixed[0] = 1
    solver.update(matrix, fixed)
    matrix.blocks *= 2.0
    solver.update(matrix, fixed)
    assert solver.factorisations == 3
    x = np.zeros_like(rhs)
    assert solver.solve(rhs, x).residual < 1e-10
    matrix.blocks[:] = 0.0
    solver.update(matrix, np.zeros_like(fixed))
    assert not solver.solve(rhs, np.zeros_like(rhs)).converged


def test_bodies_choose_by_size_and_order_and_say_why():
    small = SoftBody(mesh.box((1, 1, 1), (4, 4, 4)))
    large = SoftBody(mesh.bridge(10))
    curved = SoftBody(mesh.box((1, 1, 1), (8, 8, 8)), order=2)
    assert isinstance(small.solver, PCG)
    assert type(large.solver) is Multigrid
    assert isinstance(curved.solver, PMultigrid)
    for body in (small, large, curved):
        assert f"chosen because {body.node_count} nodes" in str(body.solver)
    assert isinstance(SoftBody(mesh.bridge(10), solver=PCG()).solver, PCG)

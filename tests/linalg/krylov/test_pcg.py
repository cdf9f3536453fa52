"""Conjugate gradients against a direct solver."""

import numpy as np
import pytest
import scipy.sparse.linalg as spla

from continua import mesh
from continua.errors import InputError
from continua.linalg import PCG, BlockMatrix, BlockPattern, DofMap


def definite_system(cells=(4, 3, 2), seed=0):
    """A random symmetric positive definite block matrix: graph Laplacian with random definite couplings."""
    tets = mesh.box(size=(1, 1, 1), cells=cells).tets
    p = BlockPattern.from_dof_map(DofMap.from_nodes(tets, int(tets.max()) + 1))
    rng = np.random.default_rng(seed)
    matrix = BlockMatrix(p)
    rows = np.repeat(np.arange(p.node_count), np.diff(p.indptr))
    lookup = {(i, j): k for k, (i, j) in enumerate(zip(rows.tolist(), p.indices.tolist(), strict=True))}
    for (i, j), k in lookup.items():
        if i < j:
            g = rng.normal(size=(3, 3))
            c = (g @ g.T).ravel()
            for a, b, sign in ((k, lookup[j, i], -1.0), (lookup[i, i], lookup[j, j], 1.0)):
                matrix.blocks[a] += sign * c
                matrix.blocks[b] += sign * c
    matrix.blocks[p.diagonal] += 0.1 * np.eye(3).ravel()
    return matrix, rng.normal(size=(p.node_count, 3))


def solver_for(matrix, fixed=None, **options):
    solver = PCG(**options)
    solver.setup(matrix)
    n = matrix.pattern.node_count
    solver.update(matrix, np.zeros(n, np.uint8) if fixed is None else fixed)
    return solver


def test_solution_equals_a_direct_solve():
    matrix, rhs = definite_system()
    x = np.zeros_like(rhs)
    report = solver_for(matrix, rtol=1e-12).solve(rhs, x)
    exact = spla.spsolve(matrix.to_scipy().tocsc(), rhs.ravel()).reshape(-1, 3)
    assert report.converged
    np.testing.assert_allclose(x, exact, rtol=1e-9, atol=1e-10)


def test_fixed_nodes_keep_their_values_and_the_rest_solves_the_reduced_system():
    matrix, rhs = definite_system()
    fixed = np.zeros(len(rhs), np.uint8)
    fixed[::5] = 1
    x = np.zeros_like(rhs)
    x[fixed == 1] = np.random.default_rng(4).normal(size=(int(fixed.sum()), 3))
    given = x[fixed == 1].copy()
    assert solver_for(matrix, fixed, rtol=1e-12).solve(rhs, x).converged
    np.testing.assert_array_equal(x[fixed == 1], given)
    A = matrix.to_scipy().tocsr()
    free = np.repeat(fixed == 0, 3)
    reduced = rhs.ravel()[free] - A[free][:, ~free] @ x.ravel()[~free]
    np.testing.assert_allclose(
        x.ravel()[free], spla.spsolve(A[free][:, free].tocsc(), reduced), rtol=1e-8, atol=1e-10
    )


def test_good_start_needs_no_iteration_and_zero_gives_zero():
    matrix, rhs = definite_system()
    solver = solver_for(matrix, rtol=1e-10)
    x = np.zeros_like(rhs)
    solver.solve(rhs, x)
    assert solver.solve(rhs, x).iterations <= 1
    y = np.zeros_like(rhs)
    assert solver.solve(np.zeros_like(rhs), y) == solver.last
    assert solver.last.iterations == 0
    assert not y.any()


def test_report_tells_the_truth_about_too_few_iterations_and_indefinite_matrices():
    matrix, rhs = definite_system()
    report = solver_for(matrix, rtol=1e-12, max_iterations=3).solve(rhs, np.zeros_like(rhs))
    assert (report.converged, report.iterations) == (False, 3)
    matrix.blocks[:] *= -1.0
    matrix.blocks[matrix.pattern.diagonal] *= -0.1  # definite blocks on the diagonal, indefinite matrix
    report = solver_for(matrix).solve(rhs, np.zeros_like(rhs))
    assert not report.converged
    assert report.residual < 0.0


def test_not_a_number_is_never_called_converged():
    matrix, rhs = definite_system()
    rhs[0, 0] = np.nan
    assert not solver_for(matrix).solve(rhs, np.zeros_like(rhs)).converged


@pytest.mark.parametrize("options", [{"rtol": 0.0}, {"rtol": 2.0}, {"max_iterations": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        PCG(**options)


def test_print_tells_how_it_does():
    matrix, rhs = definite_system()
    solver = solver_for(matrix)
    solver.solve(rhs, np.zeros_like(rhs))
    assert f"{3 * len(rhs)} unknowns" in str(solver)
    assert f"{solver.last.iterations} iterations" in str(solver)


def random_locks(n, seed=7):
    """Return `fixed` [n], the projectors onto the free directions [n, 3, 3], and the free directions of each node."""
    rng = np.random.default_rng(seed)
    fixed = rng.integers(0, 3, n).astype(np.uint8)
    S = np.zeros((n, 3, 3))
    basis = []
    for i in range(n):
        if fixed[i] == 1:
            continue
        q = np.linalg.qr(rng.normal(size=(3, 3)))[0] if i % 3 else np.eye(3)[rng.permutation(3)]
        free = q[:, : 3 if fixed[i] == 0 else rng.integers(1, 3)]
        S[i] = free @ free.T
        basis += [(i, column) for column in free.T]
    return fixed, S, basis


@pytest.mark.parametrize("preconditioner", ["ssor", "jacobi"])
def test_partly_fixed_nodes_solve_the_projected_system(preconditioner):
    """x = x0 + Z y with Z a basis of the free directions: (Z^T A Z) y = Z^T (rhs - A x0), solved directly."""
    matrix, rhs = definite_system()
    fixed, S, basis = random_locks(len(rhs))
    Z = np.zeros((len(rhs), 3, len(basis)))
    for column, (i, direction) in enumerate(basis):
        Z[i, :, column] = direction
    Z = Z.reshape(-1, len(basis))
    projections = np.ascontiguousarray(S[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])
    solver = PCG(rtol=1e-12, preconditioner=preconditioner)
    solver.setup(matrix)
    before = matrix.blocks.copy()
    solver.update(matrix, fixed, projections)
    start = np.random.default_rng(3).normal(size=rhs.shape)
    x = start.copy()
    assert solver.solve(rhs, x).converged
    A = matrix.to_scipy().toarray()
    y = np.linalg.solve(Z.T @ A @ Z, Z.T @ (rhs.ravel() - A @ start.ravel()))
    np.testing.assert_allclose(x.ravel(), start.ravel() + Z @ y, atol=1e-9)
    held = np.einsum("nij,nj->ni", np.eye(3) - S, x - start)
    assert np.abs(held).max() < 1e-13  # what is held keeps its value
    axes = (fixed == 2) & (np.abs(S - S.round()).max(axis=(1, 2)) == 0.0)
    assert axes.any()
    assert not held[axes].any()  # and to the last bit along the axes
    np.testing.assert_array_equal(matrix.blocks, before)


def test_partly_fixed_nodes_solve_alike_in_parts_and_with_any_preconditioner():
    """A large matrix is swept in several parts in parallel; the answer is that of the other preconditioner."""
    matrix, rhs = definite_system(cells=(24, 16, 16))
    assert matrix.pattern.parallel
    fixed, S, _ = random_locks(len(rhs))
    projections = np.ascontiguousarray(S[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])
    results = []
    for preconditioner in ("ssor", "jacobi"):
        solver = PCG(rtol=1e-11, preconditioner=preconditioner)
        solver.setup(matrix)
        solver.update(matrix, fixed, projections)
        results.append(np.zeros_like(rhs))
        assert solver.solve(rhs, results[-1]).converged
    np.testing.assert_allclose(results[0], results[1], atol=1e-8)

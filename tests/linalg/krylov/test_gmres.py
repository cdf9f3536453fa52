"""GMRES and conjugate gradients for a matrix with small terms, against dense solves."""

import numpy as np
import pytest

import continua as ct
from continua.linalg import BlockMatrix, BlockPattern
from continua.linalg.krylov import gmres_kernels, ssor_kernels

RELAXATION = 1.4


def _matrix(rng, n, spread):
    """A symmetric positive definite matrix whose rows are coupled to the `spread` next ones."""
    i = np.arange(n)
    near = np.abs(i[:, None] - i[None, :]) <= spread
    dense = np.where(np.kron(near, np.ones((3, 3))) > 0, rng.normal(size=(3 * n, 3 * n)), 0.0)
    dense = 0.5 * (dense + dense.T)
    dense += (1.0 + np.abs(dense).sum(axis=1).max()) * np.eye(3 * n) * 0.6
    indptr = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int32)
    indices = np.nonzero(near)[1].astype(np.int32)
    diagonal = np.array(
        [indptr[k] + np.flatnonzero(indices[indptr[k] : indptr[k + 1]] == k)[0] for k in i], np.int32
    )
    matrix = BlockMatrix(BlockPattern.without_elements(indptr, indices, diagonal))
    rows = np.repeat(i, np.diff(indptr))
    blocks = dense.reshape(n, 3, n, 3)[rows, :, indices, :]
    matrix.blocks[:] = blocks.transpose(0, 2, 1).reshape(-1, 9)
    return matrix, dense


def _terms(rng, n, count):
    """Small terms of two rows each, with matrices H that are not symmetric; also their sum as a dense matrix."""
    ptr = np.arange(0, 2 * count + 1, 2, dtype=np.int32)
    row = np.concatenate([rng.choice(n, 2, replace=False) for _ in range(count)]).astype(np.int32)
    block, H = rng.normal(size=(2 * count, 9)), rng.normal(size=(count, 3, 3))
    H = 4.0 * np.eye(3) + H
    dense = np.zeros((3 * n, 3 * n))
    for c in range(count):
        G = np.zeros((3, 3 * n))
        for e in (2 * c, 2 * c + 1):
            G[:, 3 * row[e] : 3 * row[e] + 3] += block[e].reshape(3, 3)
        dense += G.T @ H[c] @ G
    return ptr, row, block, np.ascontiguousarray(H.reshape(count, 9)), dense


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("n", "spread", "count"), [(6, 1, 1), (20, 3, 4), (40, 2, 9)])
def test_it_solves_what_a_dense_solver_solves(n, spread, count, parts):
    rng = np.random.default_rng(n)
    matrix, dense = _matrix(rng, n, spread)
    ptr, row, block, H, terms = _terms(rng, n, count)
    fixed = np.zeros(n, np.uint8)
    fixed[2] = 1
    p = matrix.pattern
    starts = np.linspace(0, n, parts + 1).astype(np.int64)
    inner, inverse, scaled = np.zeros((n, 2), np.int32), np.zeros((n, 6)), np.zeros((n, 6))
    ssor_kernels.split_rows.serial(p.indptr, p.indices, starts, inner)
    ssor_kernels.diagonal_blocks.serial(matrix.blocks, p.diagonal, fixed, RELAXATION, starts, scaled, inverse)
    rhs, limit = rng.normal(size=(n, 3)), 3 * n
    arguments = (
        p.indptr, p.indices, matrix.blocks, p.diagonal, inner, starts, inverse, scaled, ptr, row, block, H,
        np.arange(count), np.unique(row).astype(np.int64), np.zeros((n, 6)), rhs,
    )  # fmt: skip
    work = (np.empty((limit + 1, n, 3)), *(np.zeros((n, 3)) for _ in range(4)), np.zeros((parts, limit + 2)))
    free = np.repeat(fixed == 0, 3)
    expected = np.zeros(3 * n)
    expected[free] = np.linalg.solve((dense + terms)[np.ix_(free, free)], rhs.ravel()[free])
    found = []
    for threads in (1, 2):
        ct.set_threads(threads)
        x = np.zeros((n, 3))
        iterations, residual, start = gmres_kernels.ssor_gmres.parallel(
            *arguments, x, 1e-12, 0.0, *(array.copy() for array in work)
        )
        assert 0 < iterations <= limit
        assert 0.0 <= residual <= 1e-11 * start
        np.testing.assert_allclose(x.ravel(), expected, atol=1e-9 * np.abs(expected).max())
        found.append(x)
    assert np.array_equal(*found)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("n", "spread", "count"), [(6, 1, 1), (20, 3, 4), (40, 2, 9)])
def test_conjugate_gradients_solve_it_where_the_terms_are_symmetric(n, spread, count, parts):
    rng = np.random.default_rng(n)
    matrix, dense = _matrix(rng, n, spread)
    ptr, row, block, H, _ = _terms(rng, n, count)
    sides = rng.normal(size=(count, 3, 3))
    H = sides @ sides.transpose(0, 2, 1)
    for c in range(count):
        G = np.zeros((3, 3 * n))
        for e in (2 * c, 2 * c + 1):
            G[:, 3 * row[e] : 3 * row[e] + 3] += block[e].reshape(3, 3)
        dense += G.T @ H[c] @ G
    fixed = np.zeros(n, np.uint8)
    fixed[2] = 1
    p = matrix.pattern
    starts = np.linspace(0, n, parts + 1).astype(np.int64)
    inner, inverse, scaled = np.zeros((n, 2), np.int32), np.zeros((n, 6)), np.zeros((n, 6))
    ssor_kernels.split_rows.serial(p.indptr, p.indices, starts, inner)
    ssor_kernels.diagonal_blocks.serial(matrix.blocks, p.diagonal, fixed, RELAXATION, starts, scaled, inverse)
    rhs = rng.normal(size=(n, 3))
    free = np.repeat(fixed == 0, 3)
    expected = np.zeros(3 * n)
    expected[free] = np.linalg.solve(dense[np.ix_(free, free)], rhs.ravel()[free])
    found = []
    for threads in (1, 2):
        ct.set_threads(threads)
        x, work = np.zeros((n, 3)), [np.zeros((n, 3)) for _ in range(6)]
        iterations, residual, start = gmres_kernels.ssor_cg.parallel(
            p.indptr, p.indices, matrix.blocks, p.diagonal, inner, starts, inverse, scaled, ptr, row, block,
            np.ascontiguousarray(H.reshape(count, 9)), np.arange(count), np.unique(row).astype(np.int64),
            np.zeros((n, 6)), rhs, x, 1e-12, 0.0, 30 * n, *work, np.zeros((parts, 2)),
        )  # fmt: skip
        assert 0 < iterations < 30 * n
        assert 0.0 <= residual <= 1e-11 * start
        np.testing.assert_allclose(x.ravel(), expected, atol=1e-9 * np.abs(expected).max())
        found.append(x)
    assert np.array_equal(*found)

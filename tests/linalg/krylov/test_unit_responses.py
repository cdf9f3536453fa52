"""Columns of the inverse of a matrix against dense inverses."""

import numpy as np
import pytest
import scipy.sparse as sparse

from continua.linalg import BlockMatrix
from continua.linalg.krylov.unit_responses import matrix_around, unit_responses


def _matrix(rng, nodes, stiffness=50.0):
    """Return masses and springs between random nodes, as a block matrix and a dense one."""
    A = np.diag(np.repeat(0.5 + rng.random(nodes), 3))
    for i in range(nodes):
        for j in {(i + 1) % nodes, int(rng.integers(nodes))} - {i}:
            d = rng.normal(size=3)
            k = stiffness * np.outer(d, d)
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                A[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * k
    return BlockMatrix.from_scipy(sparse.csr_array(A)), A


def _rows(nodes):
    return (3 * np.asarray(nodes)[:, None] + np.arange(3)).ravel()


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9])
def test_responses_are_columns_of_the_inverse(count):
    rng = np.random.default_rng(count)
    matrix, A = _matrix(rng, 40)
    nodes, targets = rng.permutation(40)[:count], rng.permutation(40)[:7]
    found, products = unit_responses(matrix, np.zeros(40, np.uint8), None, nodes, targets, 1e-12)
    np.testing.assert_allclose(found, np.linalg.inv(A)[np.ix_(_rows(targets), _rows(nodes))], atol=1e-10)
    assert products > 0


def test_fixed_nodes_do_not_respond():
    rng = np.random.default_rng(3)
    matrix, A = _matrix(rng, 30)
    fixed = np.zeros(30, np.uint8)
    fixed[[2, 7, 11]] = 1
    free = np.flatnonzero(np.repeat(fixed == 0, 3))
    inverse = np.zeros_like(A)
    inverse[np.ix_(free, free)] = np.linalg.inv(A[np.ix_(free, free)])
    nodes = np.array([1, 7, 20])
    found, _ = unit_responses(matrix, fixed, None, nodes, nodes, 1e-12)
    np.testing.assert_allclose(found, inverse[np.ix_(_rows(nodes), _rows(nodes))], atol=1e-10)


def test_known_motions_make_few_iterations_enough_for_a_stiff_body():
    """Stiff springs couple all nodes: the response is nearly a translation, which few iterations alone do not find."""
    rng = np.random.default_rng(4)
    links = np.zeros((200, 200))
    for i in range(200):
        for j in {(i + 1) % 200, int(rng.integers(200))} - {i}:
            links[[i, j], [i, j]] += 1.0
            links[[i, j], [j, i]] -= 1.0
    A = np.kron(1e4 * links + np.eye(200), np.eye(3))
    matrix = BlockMatrix.from_scipy(sparse.csr_array(A))
    exact = np.linalg.inv(A)
    nodes = np.array([3, 150])
    translations = np.broadcast_to(np.eye(3)[:, None], (3, 200, 3)).copy()
    fixed = np.zeros(200, np.uint8)
    plain, _ = unit_responses(matrix, fixed, None, nodes, nodes, 0.0, 5)
    with_modes, _ = unit_responses(matrix, fixed, None, nodes, nodes, 0.0, 5, translations)
    wanted = exact[np.ix_(_rows(nodes), _rows(nodes))]
    errors = [np.abs(found - wanted).max() for found in (plain, with_modes)]
    assert errors[1] < 0.5 * errors[0]


def test_groups_do_not_depend_on_each_other():
    rng = np.random.default_rng(5)
    matrix, _ = _matrix(rng, 60)
    nodes = rng.permutation(60)[:8]
    fixed = np.zeros(60, np.uint8)
    both, _ = unit_responses(matrix, fixed, None, nodes, nodes, 0.1)
    second, _ = unit_responses(matrix, fixed, None, nodes[4:], nodes, 0.1)
    np.testing.assert_array_equal(both[:, 12:], second)


def test_rows_around_the_nodes_give_the_responses_of_the_matrix_of_these_rows():
    """A chain: with the rows farther than some links from a node at rest, the response is that of a shorter chain."""
    links = np.zeros((100, 100))
    for i in range(99):
        links[[i, i + 1], [i, i + 1]] += 1.0
        links[[i, i + 1], [i + 1, i]] -= 1.0
    A = np.kron(links + 0.01 * np.eye(100), np.eye(3))
    matrix = BlockMatrix.from_scipy(sparse.csr_array(A))
    fixed = np.zeros(100, np.uint8)
    nodes, targets = np.array([50]), np.array([45, 50, 90])
    found, _ = unit_responses(matrix, fixed, None, nodes, targets, 1e-12, rows=21)
    inside = np.arange(40, 61)
    inverse = np.linalg.inv(A[np.ix_(_rows(inside), _rows(inside))])
    np.testing.assert_allclose(found[:6], inverse[np.ix_(_rows([5, 10]), _rows([10]))], atol=1e-10)
    np.testing.assert_array_equal(found[6:], 0.0)
    place, sub = matrix_around(matrix, nodes, 21)
    assert sub.pattern.node_count == 21
    np.testing.assert_array_equal(np.flatnonzero(place >= 0), inside)

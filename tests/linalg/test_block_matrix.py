"""Block matrices against SciPy and brute force."""

import numba
import numpy as np
import pytest
import scipy.sparse as sparse

from continua import mesh
from continua.errors import InputError
from continua.linalg import BlockMatrix, BlockPattern, DofMap


@pytest.fixture
def pattern():
    tets = mesh.box(size=(1, 1, 1), cells=(3, 2, 2)).tets
    return tets, BlockPattern.from_dof_map(DofMap.from_nodes(tets, int(tets.max()) + 1))


def random_matrix(pattern, seed=0):
    matrix = BlockMatrix(pattern)
    matrix.blocks[:] = np.random.default_rng(seed).normal(size=matrix.blocks.shape)
    return matrix


def test_pattern_holds_exactly_the_node_pairs_that_share_an_element(pattern):
    tets, p = pattern
    expected = {(int(a), int(b)) for tet in tets for a in tet for b in tet}
    rows = np.repeat(np.arange(p.node_count), np.diff(p.indptr))
    assert set(zip(rows.tolist(), p.indices.tolist(), strict=True)) == expected
    assert all((np.diff(p.indices[a:b]) > 0).all() for a, b in zip(p.indptr[:-1], p.indptr[1:], strict=True))
    assert (p.indices[p.diagonal] == np.arange(p.node_count)).all()


def test_gather_lists_lead_every_element_entry_to_its_block(pattern):
    tets, p = pattern
    seen = 0
    for node in range(p.node_count):
        for q in range(p.inc_indptr[node], p.inc_indptr[node + 1]):
            e, a = divmod(int(p.inc_codes[q]), p.corners)
            assert tets[e, a] == node
            for b in range(p.corners):
                assert p.indices[p.indptr[node] + p.slots[q, b]] == tets[e, b]
            seen += 1
    assert seen == tets.size


def test_node_without_elements_keeps_a_diagonal_block():
    p = BlockPattern.from_dof_map(DofMap.from_nodes(np.array([[0, 1, 2, 4]], np.int32), 5))
    assert p.indices[p.indptr[3] : p.indptr[4]].tolist() == [3]


def test_product_equals_scipy(pattern):
    matrix = random_matrix(pattern[1])
    x = np.random.default_rng(1).normal(size=(pattern[1].node_count, 3))
    np.testing.assert_allclose((matrix @ x).ravel(), matrix.to_scipy() @ x.ravel(), rtol=1e-13, atol=1e-13)


def test_scipy_round_trip():
    dense = sparse.random_array((12, 12), density=0.2, rng=np.random.default_rng(2)).tocsr()
    matrix = BlockMatrix.from_scipy(dense)
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), dense.toarray())
    with pytest.raises(InputError, match="multiple of 3"):
        BlockMatrix.from_scipy(sparse.eye_array(4))


def test_product_has_the_same_bits_for_any_number_of_threads():
    tets = mesh.bridge(8).tets  # large enough for the parallel variant
    p = BlockPattern.from_dof_map(DofMap.from_nodes(tets, int(tets.max()) + 1))
    assert p.parallel
    matrix = random_matrix(p)
    x = np.random.default_rng(3).normal(size=(p.node_count, 3))
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        results.append(matrix @ x)
    np.testing.assert_array_equal(*results)

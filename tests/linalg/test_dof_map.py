"""Dof maps and the patterns they give: against brute force, dense assembly and scikit-fem."""

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
import skfem
from skfem.helpers import dot

from continua import mesh
from continua.errors import InputError
from continua.linalg import AssemblyPattern, BlockMatrix, BlockPattern, DofMap
from tests.linalg.bodies import elements_of


def random_map(seed, elements=60, dofs=40, largest=9):
    """Elements with 0 to `largest` dofs; some dofs belong to no element."""
    rng = np.random.default_rng(seed)
    lists = [
        rng.choice(dofs - 3, rng.integers(0, largest + 1), replace=False).tolist() for _ in range(elements)
    ]
    return DofMap.from_lists(lists, dofs), lists


def pairs_of(indptr, indices):
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return list(zip(rows.tolist(), indices.tolist(), strict=True))


def element_entries(rows, columns, rng, shape=()):
    counts = np.diff(rows.offsets) * np.diff(columns.offsets)
    return rng.normal(size=(int(counts.sum()), *shape))


def dense_assembly(rows, columns, entries):
    """Sum the element matrices of entries [count, a, b] into a dense matrix, one entry at a time."""
    a, b = entries.shape[1:]
    dense = np.zeros((a * rows.dof_count, b * columns.dof_count))
    at = 0
    for e in range(rows.element_count):
        for i in rows.of(e):
            for j in columns.of(e):
                dense[a * i : a * (i + 1), b * j : b * (j + 1)] += entries[at]
                at += 1
    assert at == len(entries)
    return dense


@pytest.mark.parametrize("seed", range(4))
def test_a_ragged_pattern_holds_exactly_the_pairs_of_dofs_that_share_an_element(seed):
    dof_map, lists = random_map(seed)
    assert dof_map.width is None
    expected = {(i, j) for dofs in lists for i in dofs for j in dofs}
    expected |= {(i, i) for i in range(dof_map.dof_count)}
    p = BlockPattern.from_dof_map(dof_map)
    assert pairs_of(p.indptr, p.indices) == sorted(expected)
    assert (p.indices[p.diagonal] == np.arange(dof_map.dof_count)).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_ragged_system_equals_its_dense_assembly(seed):
    dof_map, _ = random_map(seed, elements=30 + 40 * seed, largest=4 + 3 * seed)
    entries = element_entries(dof_map, dof_map, np.random.default_rng(seed), (3, 3))
    matrix = BlockMatrix(BlockPattern.from_dof_map(dof_map))
    matrix.assemble(entries)
    expected = dense_assembly(dof_map, dof_map, entries)
    np.testing.assert_allclose(matrix.to_scipy().toarray(), expected, rtol=0, atol=1e-13)
    x = np.random.default_rng(9).normal(size=(dof_map.dof_count, 3))
    np.testing.assert_allclose((matrix @ x).ravel(), expected @ x.ravel(), rtol=0, atol=1e-12)


def test_two_fields_couple_where_they_share_an_element():
    rows, _ = random_map(5, dofs=23, largest=3)
    columns, _ = random_map(6, dofs=31, largest=6)
    pattern = AssemblyPattern.from_dof_maps(rows, columns)
    entries = element_entries(rows, columns, np.random.default_rng(7), (1, 3))
    values = pattern.assemble(entries[:, 0])
    got = sparse.bsr_array(
        (values[:, None, :], pattern.indices, pattern.indptr), shape=(rows.dof_count, 3 * columns.dof_count)
    )
    np.testing.assert_allclose(got.toarray(), dense_assembly(rows, columns, entries), rtol=0, atol=1e-13)
    assert all(
        (np.diff(pattern.indices[a:b]) > 0).all()
        for a, b in zip(pattern.indptr[:-1], pattern.indptr[1:], strict=True)
    )


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        (lambda: mesh.box((2, 1, 1), (4, 3, 2)), 1),
        (lambda: mesh.box((2, 1, 1), (3, 2, 2)), 2),
        (lambda: mesh.sphere(0.5, 4), 3),
        (lambda: mesh.hex_box((2, 1, 1), (4, 3, 2)), 1),
    ],
)
def test_elements_with_equally_many_dofs_have_the_same_pattern_by_both_paths(shape, order):
    """The rectangular arrays are a faster form of the same pattern, and their gather lists reach the same blocks."""
    elements = elements_of(shape(), order)
    dof_map, p = elements.dof_map, elements.pattern
    np.testing.assert_array_equal(dof_map.rectangular, elements.elements)
    assert np.shares_memory(dof_map.dofs, elements.elements)
    ragged = AssemblyPattern.from_dof_maps(dof_map)
    np.testing.assert_array_equal(p.indptr, ragged.indptr)
    np.testing.assert_array_equal(p.indices, ragged.indices)
    k = dof_map.width
    for node in range(0, p.node_count, 7):
        for q in range(p.inc_indptr[node], p.inc_indptr[node + 1]):
            e, a = divmod(int(p.inc_codes[q]), k)
            for b in range(k):
                block = p.indptr[node] + p.slots[q, b]
                sources = ragged.sources[ragged.source_indptr[block] : ragged.source_indptr[block + 1]]
                assert (e * k + a) * k + b in sources.tolist()


@pytest.mark.parametrize("element", [skfem.ElementTetP1, skfem.ElementTetP2])
def test_the_pattern_is_that_of_scikit_fem(element):
    shape = mesh.box((1, 1, 1), (2, 3, 2))
    basis = skfem.Basis(skfem.MeshTet(shape.points.T, shape.tets.T.astype(np.int64)), element())
    laplace = skfem.BilinearForm(lambda u, v, w: dot(u.grad, v.grad) + u * v).assemble(basis)
    reference = sparse.csr_array(laplace)
    reference.sort_indices()
    dof_map = DofMap.from_nodes(basis.element_dofs.T, basis.N)
    pattern = BlockPattern.from_dof_map(dof_map)
    np.testing.assert_array_equal(pattern.indptr, reference.indptr)
    np.testing.assert_array_equal(pattern.indices, reference.indices)


def test_pressures_per_element_assemble_the_divergence_of_scikit_fem():
    """B of P2-P0: rows are pressures, which belong to no node, columns are displacements."""
    shape = mesh.sphere(0.7, 3)
    grid = skfem.MeshTet(shape.points.T, shape.tets.T.astype(np.int64))
    u = skfem.Basis(grid, skfem.ElementTetP2(), intorder=3)
    p = u.with_element(skfem.ElementTetP0())
    parts = [skfem.BilinearForm(lambda v, q, w, a=a: v.grad[a] * q) for a in range(3)]
    reference = [part.assemble(u, p).toarray() for part in parts]
    pressures = DofMap.per_element(shape.element_count)
    nodes = DofMap.from_nodes(u.element_dofs.T, u.N)
    pattern = AssemblyPattern.from_dof_maps(pressures, nodes)
    local = np.stack([part.elemental(u, p).tolocal() for part in parts], axis=-1)
    values = pattern.assemble(local.reshape(-1, 3))
    for a in range(3):
        B = sparse.csr_array((values[:, a], pattern.indices, pattern.indptr), shape=reference[a].shape)
        np.testing.assert_allclose(B.toarray(), reference[a], rtol=0, atol=1e-14)


def test_enrichments_add_dofs_to_some_elements():
    """Nodes of a box, and three more dofs for the elements that a plane cuts (shared as their nodes are)."""
    shape = mesh.box((1, 1, 1), (3, 2, 2))
    nodes = DofMap.from_nodes(shape.tets, shape.node_count)
    side = shape.points[:, 0] > 0.5
    cut = side[shape.tets].any(axis=1) & ~side[shape.tets].all(axis=1)
    enriched_nodes = np.unique(shape.tets[cut])
    number = {int(node): k for k, node in enumerate(enriched_nodes)}
    more = [[number[int(n)] for n in tet] if c else [] for tet, c in zip(shape.tets, cut, strict=True)]
    both = DofMap.concatenate([nodes, DofMap.from_lists(more, len(enriched_nodes))])
    assert both.dof_count == shape.node_count + len(enriched_nodes)
    assert set(np.diff(both.offsets).tolist()) == {4, 8}
    for e in range(0, shape.element_count, 5):
        expected = [*shape.tets[e].tolist(), *(shape.node_count + k for k in more[e])]
        assert both.of(e).tolist() == expected
    entries = element_entries(both, both, np.random.default_rng(0), (3, 3))
    matrix = BlockMatrix(BlockPattern.from_dof_map(both))
    matrix.assemble(entries)
    np.testing.assert_allclose(
        matrix.to_scipy().toarray(), dense_assembly(both, both, entries), rtol=0, atol=1e-13
    )


def test_assembly_is_bitwise_identical_for_any_number_of_threads():
    dof_map, _ = random_map(3, elements=4000, dofs=700)
    pattern = AssemblyPattern.from_dof_maps(dof_map)
    assert pattern.entry_count > 100_000  # parallel
    entries = element_entries(dof_map, dof_map, np.random.default_rng(1), (9,))
    threads = numba.get_num_threads()
    results = []
    for count in sorted({1, threads}):
        numba.set_num_threads(count)
        results.append(pattern.assemble(entries).tobytes())
    numba.set_num_threads(threads)
    assert len(set(results)) == 1


def test_an_empty_map_and_elements_without_dofs_are_allowed():
    empty = DofMap.from_lists([], 2)
    p = BlockPattern.from_dof_map(empty)
    assert p.indices.tolist() == [0, 1]
    hollow = DofMap.from_lists([[], [1], []], 2)
    assert BlockPattern.from_dof_map(hollow).indices.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: DofMap.from_lists([[0, 4]], 4), "from 0 to 3"),
        (lambda: DofMap.from_lists([[0, -1]], 4), "from 0 to 3"),
        (lambda: DofMap(np.array([0, 3, 2]), np.zeros(2, np.int32), 1), "rise from 0"),
        (lambda: DofMap(np.array([0, 1]), np.zeros(2, np.int32), 1), "rise from 0"),
        (lambda: DofMap.from_nodes(np.zeros(4, np.int32), 1), "shape"),
        (lambda: DofMap.concatenate([DofMap.per_element(2), DofMap.per_element(3)]), "same elements"),
        (lambda: AssemblyPattern.from_dof_maps(DofMap.per_element(2), DofMap.per_element(3)), "fit together"),
        (lambda: AssemblyPattern.from_dof_maps(DofMap.per_element(2)).assemble(np.zeros((3, 1))), "shape"),
    ],
)
def test_bad_maps_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()

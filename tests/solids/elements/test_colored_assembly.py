"""Adding element matrices into the global one: colours without races, the same sums as a plain loop."""

import numpy as np
import pytest

import continua as ct
from continua.linalg import BlockMatrix, BlockPattern, DofMap
from continua.numerics import kernel
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.colored_assembly import ColoredAssembly, add_element

MESHES = {
    "bridge": ct.mesh.bridge(2),
    "sphere": ct.mesh.sphere(radius=1.0, cells=4),
    "one tet": ct.TetMesh(np.eye(4, 3, -1), [[0, 1, 2, 3]]),
}


@kernel
def add_all(order, elements, indptr, slots, K, f, blocks, rhs):
    for t in range(order.shape[0]):
        add_element(order[t], elements, indptr, slots, K[order[t]], f[order[t]], 2.0, 0.5, blocks, rhs)


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_chunks_of_a_colour_share_no_node(name, order):
    geometry = BernsteinGeometry(MESHES[name], order)
    pattern = BlockPattern.from_dof_map(DofMap.from_nodes(geometry.elements, geometry.node_count))
    assembly = ColoredAssembly.make(geometry.elements, geometry.rest_positions, pattern)
    np.testing.assert_array_equal(np.sort(assembly.order), np.arange(geometry.element_count))
    assert assembly.chunks[-1] == geometry.element_count
    assert assembly.colors[-1] == len(assembly.chunks) - 1
    for color in range(len(assembly.colors) - 1):
        touched = np.zeros(geometry.node_count, int)
        for chunk in range(assembly.colors[color], assembly.colors[color + 1]):
            members = assembly.order[assembly.chunks[chunk] : assembly.chunks[chunk + 1]]
            touched[np.unique(geometry.elements[members])] += 1
        assert touched.max() <= 1


def test_a_node_of_very_many_elements_needs_more_than_64_colours():
    """A fan of 3000 tets around one edge: all chunks meet there, and none may share a colour."""
    n = 3000
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=1)
    mesh = ct.TetMesh(
        np.concatenate([[[0, 0, -0.01], [0, 0, 0.01]], ring]),
        [[0, 1, 2 + i, 2 + (i + 1) % n] for i in range(n)],
    )
    pattern = BlockPattern.from_dof_map(DofMap.from_nodes(mesh.tets, mesh.node_count))
    assembly = ColoredAssembly.make(mesh.tets, mesh.points, pattern)
    assert len(assembly.colors) == len(assembly.chunks)
    assert (np.diff(assembly.colors) == 1).all()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sums_equal_a_plain_loop(order):
    """Random symmetric element matrices added up by NumPy into a dense matrix."""
    geometry = BernsteinGeometry(MESHES["bridge"], order)
    elements, n, k = geometry.elements[:60], geometry.node_count, geometry.elements.shape[1]
    pattern = BlockPattern.from_dof_map(DofMap.from_nodes(elements, n))
    assembly = ColoredAssembly.make(elements, geometry.rest_positions, pattern)
    rng = np.random.default_rng(2)
    full = rng.normal(size=(len(elements), 3 * k, 3 * k))
    full += full.swapaxes(1, 2)
    force = rng.normal(size=(len(elements), k, 3))
    by_columns = full.reshape(-1, k, 3, k, 3).transpose(0, 1, 3, 4, 2).reshape(-1, k, k, 9)
    K = np.where(np.triu(np.ones((k, k)))[None, :, :, None] > 0, by_columns, np.nan)  # the rest is not read
    matrix, rhs = BlockMatrix(pattern), np.zeros((n, 3))
    add_all(assembly.order, elements, pattern.indptr, assembly.slots, K, force, matrix.blocks, rhs)
    dense, expected = np.zeros((3 * n, 3 * n)), np.zeros((n, 3))
    for e, nodes in enumerate(elements):
        rows = (3 * nodes[:, None] + np.arange(3)).ravel()
        dense[np.ix_(rows, rows)] += 2.0 * full[e]
        expected[nodes] -= 0.5 * force[e]
    np.testing.assert_allclose(matrix.to_scipy().toarray(), dense, atol=1e-12)
    np.testing.assert_allclose(rhs, expected, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3])
def test_a_block_gets_as_many_contributions_as_its_simplex_has_tets(order):
    """The lowest simplex that spans both nodes: all tets around a vertex or an edge, 2 or 1 at a face, 1 inside."""
    geometry = BernsteinGeometry(MESHES["bridge"], order)
    n = geometry.node_count
    pattern = BlockPattern.from_dof_map(DofMap.from_nodes(geometry.elements, n))
    assembly = ColoredAssembly.make(geometry.elements, geometry.rest_positions, pattern)
    counts = np.zeros(pattern.block_count, int)
    np.add.at(counts, pattern.indptr[geometry.elements][:, :, None] + assembly.slots, 1)
    corners: list[set[int]] = [set() for _ in range(n)]  # of the simplex in whose inside each node lies
    around: dict[frozenset[int], int] = {}
    for tet, nodes in zip(geometry.mesh.tets.tolist(), geometry.elements.tolist(), strict=True):
        for a, index in enumerate(geometry.tables.indices):
            corners[nodes[a]] = {tet[c] for c in range(4) if index[c]}
        for bits in range(1, 16):
            simplex = frozenset(tet[c] for c in range(4) if bits >> c & 1)
            around[simplex] = around.get(simplex, 0) + 1
    for i in range(n):
        for k in range(pattern.indptr[i], pattern.indptr[i + 1]):
            assert counts[k] == around[frozenset(corners[i] | corners[pattern.indices[k]])]

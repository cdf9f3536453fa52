"""Topology against brute force over Python sets, and against Euler's formula."""

from itertools import combinations

import numpy as np
import pytest

from continua import mesh


def jittered(m, amount=0.1, seed=0):
    """Return the mesh with its nodes moved a little, so that nothing is symmetric by chance."""
    rng = np.random.default_rng(seed)
    shortest = np.linalg.norm(m.points[m.edges[:, 0]] - m.points[m.edges[:, 1]], axis=1).min()
    return mesh.TetMesh(m.points + amount * shortest * rng.uniform(-1, 1, m.points.shape), m.tets)


MESHES = [mesh.box((1, 2, 3), (2, 3, 2), split=5), mesh.sphere(0.5, 2), mesh.torus(cells=(1, 5))]


@pytest.mark.parametrize("m", MESHES)
def test_edges_and_node_neighbours_are_those_of_a_set(m):
    wanted = {tuple(sorted(pair)) for tet in m.tets.tolist() for pair in combinations(tet, 2)}
    assert [tuple(edge) for edge in m.edges.tolist()] == sorted(wanted)
    around = [set() for _ in range(m.node_count)]
    for a, b in wanted:
        around[a].add(b)
        around[b].add(a)
    indptr, indices = m.node_neighbours
    assert [indices[indptr[i] : indptr[i + 1]].tolist() for i in range(m.node_count)] == [
        sorted(nodes) for nodes in around
    ]
    for element, edges in enumerate(m.element_edges):
        for (a, b), edge in zip(m.EDGES, edges):
            assert set(m.edges[edge]) == {m.tets[element, a], m.tets[element, b]}


@pytest.mark.parametrize("m", MESHES)
def test_faces_neighbours_and_boundary_are_those_of_a_dictionary(m):
    owners = {}
    for element, tet in enumerate(m.tets.tolist()):
        for face in combinations(tet, 3):
            owners.setdefault(tuple(sorted(face)), []).append(element)
    assert {tuple(sorted(face)) for face in m.faces.tolist()} == set(owners)
    for face, pair in zip(m.faces.tolist(), m.face_elements.tolist()):
        assert sorted(e for e in pair if e >= 0) == owners[tuple(sorted(face))]
    outside = {face for face, elements in owners.items() if len(elements) == 1}
    assert {tuple(sorted(face)) for face in m.boundary_triangles.tolist()} == outside
    for face, owner in zip(m.boundary_triangles.tolist(), m.boundary_tets.tolist()):
        assert owners[tuple(sorted(face))] == [owner]
    for element, tet in enumerate(m.tets.tolist()):
        for local, other in enumerate(m.neighbours[element]):
            face = tuple(sorted(tet[:local] + tet[local + 1 :]))
            rest = [e for e in owners[face] if e != element]
            assert other == (rest[0] if rest else -1)


@pytest.mark.parametrize("m", MESHES)
def test_boundary_faces_point_away_from_their_element(m):
    corners = m.points[m.boundary_triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = m.points[m.tets[m.boundary_tets]].mean(axis=1) - corners.mean(axis=1)
    assert (np.einsum("ij,ij->i", normals, inward) < 0).all()
    assert m.surface.is_closed
    assert m.surface.is_oriented
    np.testing.assert_allclose(m.surface.volume, m.volume, rtol=1e-12)
    np.testing.assert_array_equal(m.points[m.surface.nodes], m.surface.points)


@pytest.mark.parametrize("m", MESHES)
def test_node_tets_and_colours(m):
    indptr, indices = m.node_tets
    for node in range(m.node_count):
        np.testing.assert_array_equal(
            indices[indptr[node] : indptr[node + 1]], np.flatnonzero((m.tets == node).any(axis=1))
        )
        around = m.element_colors[indices[indptr[node] : indptr[node + 1]]]
        assert len(set(around.tolist())) == len(around)
    a, b = m.edges.T
    assert (m.node_colors[a] != m.node_colors[b]).all()
    assert m.node_colors.min() == 0
    assert m.node_colors.max() <= np.diff(m.node_neighbours.indptr).max()  # greedy uses at most degree + 1


def test_euler_characteristic_of_ball_and_ring():
    for m, wanted in ((mesh.sphere(0.5, 3), 1), (mesh.torus(cells=(2, 8)), 0), (mesh.bridge(2), 1)):
        assert m.node_count - len(m.edges) + len(m.faces) - m.element_count == wanted


def test_hex_topology_counts_and_neighbours():
    nx, ny, nz = 3, 4, 5
    h = mesh.hex_box((1, 2, 3), (nx, ny, nz))
    assert len(h.faces) == (nx + 1) * ny * nz + nx * (ny + 1) * nz + nx * ny * (nz + 1)
    assert len(h.edges) == (nx * (ny + 1) * (nz + 1) + (nx + 1) * ny * (nz + 1) + (nx + 1) * (ny + 1) * nz)
    assert len(h.boundary_faces) == 2 * (nx * ny + ny * nz + nx * nz)
    for element in range(h.element_count):
        for local, other in enumerate(h.neighbours[element]):
            common = set(h.hexes[element][h.FACES[local]].tolist())
            others = [
                e for e in range(h.element_count) if e != element and common <= set(h.hexes[e].tolist())
            ]
            assert others == ([other] if other >= 0 else [])
    np.testing.assert_allclose(h.surface.volume, 6.0)


def test_arrays_cannot_be_written():
    m = mesh.box()
    for array in (m.points, m.tets, m.edges, m.faces, m.volumes, m.boundary_triangles, m.node_tets.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_transform_scales_turns_moves_and_keeps_orientation():
    m = jittered(mesh.box((1, 1, 1), (2, 2, 2)))
    turned = m.transformed(translate=(1, 2, 3), rotate=(0, 0, np.pi / 2), scale=2.0)
    np.testing.assert_allclose(turned.points, 2.0 * m.points @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [1, 2, 3])
    np.testing.assert_allclose(turned.volumes, 8.0 * m.volumes)
    mirrored = m.transformed(scale=(-1, 1, 1))
    assert (mirrored.volumes > 0).all()
    assert mirrored.notes == ()
    np.testing.assert_allclose(mirrored.volume, m.volume)
    surface = m.surface.transformed(scale=(1, -2, 1))
    np.testing.assert_allclose(surface.volume, 2.0 * m.volume)


def test_surface_figures_of_a_box():
    s = mesh.surfaces.box((1, 2, 3), (2, 2, 2))
    np.testing.assert_allclose(s.area, 2 * (2 + 3 + 6))
    np.testing.assert_allclose(s.volume, 6.0)
    middle = np.flatnonzero((s.points == [1.0, 1.0, 1.5]).all(axis=1))[0]
    np.testing.assert_allclose(s.normals[middle], [1, 0, 0], atol=1e-15)
    opened = mesh.SurfaceMesh(s.points, s.triangles[1:])
    assert not opened.is_closed
    assert len(opened.open_edges) == 3
    doubled = mesh.SurfaceMesh(s.points, np.vstack([s.triangles, s.triangles[:1]]))
    assert not doubled.is_manifold
    flipped = mesh.SurfaceMesh(s.points, np.vstack([s.triangles[:1, ::-1], s.triangles[1:]]))
    assert flipped.is_closed
    assert not flipped.is_oriented


def test_welding_makes_a_triangle_soup_closed():
    s = mesh.surfaces.sphere(0.5, 3)
    soup = mesh.SurfaceMesh(
        s.points[s.triangles].reshape(-1, 3), np.arange(3 * s.triangle_count).reshape(-1, 3)
    )
    assert not soup.is_closed
    welded = soup.welded()
    assert welded.is_closed
    assert welded.node_count == s.node_count
    np.testing.assert_allclose(welded.volume, s.volume, rtol=1e-12)

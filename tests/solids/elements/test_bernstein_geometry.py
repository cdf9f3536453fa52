"""Nodes of higher-order tetrahedra: counts, values and coefficients, surfaces, and what VTK makes of them."""

from math import comb

import numpy as np
import pytest
import vtk
from vtk.util.numpy_support import vtk_to_numpy

import continua as ct
from continua.numerics.bernstein import bernstein_tables
from continua.output import make_sink
from continua.solids.elements.bernstein_geometry import BernsteinGeometry

MESHES = {
    "box": ct.mesh.box(size=(1.5, 1.0, 1.0), cells=(2, 1, 1)),
    "sphere": ct.mesh.sphere(radius=0.5, cells=2).straight(),
    "thesis bar": ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(5, 1, 1), split=24),
}


def evaluated(geometry, coefficients, b):
    """The polynomial of every element at barycentric coordinates b, by de Casteljau's recursion."""
    p = geometry.order
    table = {
        tuple(index): coefficients[geometry.elements[:, a]]
        for a, index in enumerate(geometry.tables.indices.tolist())
    }
    for _ in range(p):
        smaller = {
            tuple(np.subtract(index, np.eye(4, dtype=int)[c]))
            for index in table
            for c in range(4)
            if index[c]
        }
        table = {
            index: sum(b[c] * table[tuple(np.add(index, np.eye(4, dtype=int)[c]))] for c in range(4))
            for index in smaller
        }
    return table[(0, 0, 0, 0)]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", MESHES)
def test_every_node_is_counted_once(order, name):
    """|V| + (p-1)|E| + C(p-1, 2)|F| nodes, all at different places, each where its element says."""
    mesh = MESHES[name]
    geometry = BernsteinGeometry(mesh, order)
    edges = {tuple(sorted((int(t[a]), int(t[b])))) for t in mesh.tets for a in range(4) for b in range(a)}
    faces = {tuple(sorted(np.delete(t, a).tolist())) for t in mesh.tets for a in range(4)}
    assert geometry.node_count == mesh.node_count + (order - 1) * len(edges) + comb(order - 1, 2) * len(faces)
    assert len(np.unique(np.round(geometry.rest_positions, 9), axis=0)) == geometry.node_count
    for a, index in enumerate(geometry.tables.indices):
        expected = np.einsum("c,mci->mi", index / order, mesh.points[mesh.tets])
        np.testing.assert_allclose(geometry.rest_positions[geometry.elements[:, a]], expected, atol=1e-14)
    if name == "thesis bar":
        assert geometry.node_count == {1: 55, 2: 273, 3: 775}[order]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_values_are_those_of_the_polynomial(order):
    geometry = BernsteinGeometry(MESHES["box"], order)
    field = np.random.default_rng(0).normal(size=(geometry.node_count, 3))
    values = geometry.values(field)
    for a, index in enumerate(geometry.tables.indices):
        np.testing.assert_allclose(
            values[geometry.elements[:, a]], evaluated(geometry, field, index / order), atol=1e-13
        )
    np.testing.assert_allclose(geometry.coefficients(values), field, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_polynomial_is_met_between_the_nodes(order):
    """The field through the values of a polynomial of degree p is that polynomial everywhere."""
    geometry = BernsteinGeometry(MESHES["sphere"], order)

    def polynomial(x):
        return sum((x[..., i] - 0.3 * x[..., (i + 1) % 3] + 0.1) ** order for i in range(3))

    field = geometry.coefficients(polynomial(geometry.rest_positions))
    b = np.array([0.13, 0.42, 0.25, 0.2])
    where = np.einsum("c,mci->mi", b, geometry.mesh.points[geometry.mesh.tets])
    np.testing.assert_allclose(evaluated(geometry, field, b), polynomial(where), atol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_weights_of_points_act_on_coefficients(order):
    geometry = BernsteinGeometry(MESHES["box"], order)
    field = np.random.default_rng(1).normal(size=(geometry.node_count, 3))
    triangle = geometry.surface_triangles()[7]
    mean = np.array([0.2, 0.5, 0.3])
    nodes, weights = geometry.point_weights(triangle, mean)
    np.testing.assert_allclose(weights @ field[nodes], mean @ geometry.values(field)[triangle], atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", MESHES)
def test_the_surface_is_closed_and_points_outward(order, name):
    mesh = MESHES[name]
    geometry = BernsteinGeometry(mesh, order)
    triangles = geometry.surface_triangles()
    assert len(triangles) == order**2 * len(mesh.boundary_triangles)
    surface = ct.mesh.SurfaceMesh(geometry.rest_positions, triangles)
    assert surface.is_closed
    a, b, c = (geometry.rest_positions[triangles[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", np.cross(a, b), c) / 6 == pytest.approx(mesh.volume, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_node_order_is_that_of_vtk(order):
    for number, index in enumerate(bernstein_tables(order).indices):
        b = [0, 0, 0, 0]
        vtk.vtkHigherOrderTetra.BarycentricIndex(number, b, order)
        assert index.tolist() == [b[3], b[0], b[1], b[2]]  # VTK lists the first corner last


@pytest.mark.parametrize("order", [2, 3])
def test_vtk_sees_the_same_curved_body(order, tmp_path):
    """Every point of a bent cell, as VTK interpolates the written nodes, is where our polynomial is."""
    body = ct.SoftBody(ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(2, 1, 1)), order=order, name="bent")
    geometry = body._elements
    body._x += 0.05 * np.random.default_rng(3).normal(size=body._x.shape)
    sink = make_sink("vtu", tmp_path)
    sink.open(ct.RunInfo(name="bent", fps=10.0))
    sink.write(ct.World([body]).frame())
    sink.close()
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(tmp_path / "vtu" / "bent_000000.vtu"))
    reader.Update()
    grid = reader.GetOutput()
    np.testing.assert_array_equal(vtk_to_numpy(grid.GetPoints().GetData()), body.positions)
    b = (0.1, 0.2, 0.3, 0.4)
    expected = evaluated(geometry, body._x, b)
    for e in range(body.element_count):
        cell = grid.GetCell(e)
        assert cell.GetCellType() == {2: vtk.VTK_QUADRATIC_TETRA, 3: vtk.VTK_LAGRANGE_TETRAHEDRON}[order]
        found, weights = [0.0] * 3, [0.0] * geometry.elements.shape[1]
        cell.EvaluateLocation(vtk.reference(0), b[1:], found, weights)
        np.testing.assert_allclose(found, expected[e], atol=1e-13)


def test_meshio_and_our_reader_read_cubic_cells(tmp_path):
    import meshio

    mesh = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(2, 1, 1))
    body = ct.SoftBody(mesh, order=3, name="cubic")
    sink = make_sink("vtu", tmp_path)
    sink.open(ct.RunInfo(name="cubic", fps=10.0))
    sink.write(ct.World([body]).frame())
    sink.close()
    path = tmp_path / "vtu" / "cubic_000000.vtu"
    cells = meshio.read(path).cells_dict["VTK_LAGRANGE_TETRAHEDRON"]
    np.testing.assert_array_equal(cells, body._elements.elements)
    again = ct.mesh.read(path)
    assert again.volume == pytest.approx(mesh.volume, rel=1e-12)
    assert "higher order" in " ".join(again.notes)

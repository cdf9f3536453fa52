"""Bad arrays are refused with one sentence that names the elements; what can be repaired is."""

import numpy as np
import pytest

from continua import mesh
from continua.errors import InputError

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
GOOD = [[0, 1, 2, 3], [1, 2, 3, 4]]


def refused(points, tets, *words, kind=mesh.TetMesh):
    with pytest.raises(InputError) as caught:
        kind(points, tets)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_negative_tets_are_turned_and_counted():
    m = mesh.TetMesh(POINTS, [[0, 1, 2, 3], [1, 2, 3, 4]])
    assert (m.volumes > 0).all()
    wrong = [[0, 2, 1, 3], [1, 2, 3, 4]]
    turned = mesh.TetMesh(POINTS, wrong)
    np.testing.assert_allclose(turned.volumes, [1 / 6, 1 / 3])
    assert turned.notes == ("turned 1 of 2 tets that had negative volume",)


def test_numbers_out_of_range():
    refused(POINTS, [[0, 1, 2, 3], [1, 2, 3, 5]], "tets 1", "5 nodes")
    refused(POINTS, [[-1, 1, 2, 3], [1, 2, 3, 4]], "tets 0")


def test_same_node_twice():
    refused(POINTS, [[0, 1, 2, 3], [1, 2, 4, 4]], "tets 1", "twice")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_flat_tet_at_any_scale(scale):
    points = np.vstack([POINTS, [1, 1, 0]]) * scale
    refused(points, [*GOOD, [0, 1, 2, 5]], "tets 2", "no volume")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_positions_must_be_finite(bad):
    points = POINTS.copy()
    points[3, 1] = bad
    refused(points, GOOD, "nodes 3", "finite")


def test_three_tets_on_a_face_and_overlapping_tets():
    points = np.vstack([POINTS, [2, 2, 2]])
    refused(points, [*GOOD, [1, 2, 3, 5]], "manifold", "0, 1, 2")
    refused(POINTS, [[0, 1, 2, 3], [0, 1, 2, 4]], "overlap", "0 and 1")


def test_boundary_that_touches_itself_along_an_edge_is_told():
    b = mesh.box((2, 2, 1), (2, 2, 1))
    corner = (b.points[b.tets].mean(axis=1)[:, :2] > 1).sum(axis=1)
    points, tets, _ = mesh.compact(b.points, b.tets[corner != 1])  # two cells that share only an upright edge
    hinged = mesh.TetMesh(points, tets)
    assert "touches itself along 1 edges" in hinged.notes[0]
    hexes = mesh.hex_box((2, 2, 1), (2, 2, 1))
    points, cells, _ = mesh.compact(hexes.points, hexes.hexes[[0, 3]])
    assert "touches itself along 1 edges (hexes 0, 1)" in mesh.HexMesh(points, cells).notes[0]


def test_nodes_without_element():
    refused(np.vstack([POINTS, [9, 9, 9]]), GOOD, "nodes 5", "compact")
    points, tets, kept = mesh.compact(np.vstack([[9, 9, 9], POINTS]), np.array(GOOD) + 1)
    assert mesh.TetMesh(points, tets).node_count == 5
    np.testing.assert_array_equal(kept, [1, 2, 3, 4, 5])


def test_shapes_types_and_emptiness():
    refused(POINTS, [[0, 1, 2]], "4 columns")
    refused(POINTS[:, :2], GOOD, "3 columns")
    refused(POINTS, np.array(GOOD, dtype=float), "whole numbers")
    refused(POINTS, np.empty((0, 4), dtype=int), "at least one element")
    refused(np.empty((0, 3)), GOOD, "at least one node")
    refused([["a", "b", "c"]], GOOD, "numbers")
    refused([[0, 1], [0, 1, 2]], GOOD, "table")


def test_regions_must_name_elements():
    assert mesh.TetMesh(POINTS, GOOD, {"left": [1, 0, 1]}).regions["left"].tolist() == [0, 1]
    with pytest.raises(InputError, match='region "left"'):
        mesh.TetMesh(POINTS, GOOD, {"left": [2]})
    with pytest.raises(InputError, match="element numbers"):
        mesh.TetMesh(POINTS, GOOD, {"left": [0.5]})


def test_hexes_turned_folded_and_flat():
    h = mesh.hex_box((1, 1, 1), (2, 1, 1))
    upside_down = h.hexes[:, [4, 5, 6, 7, 0, 1, 2, 3]]
    turned = mesh.HexMesh(h.points, upside_down)
    np.testing.assert_allclose(turned.volumes, 0.5)
    assert "turned 2 of 2 hexes" in turned.notes[0]
    folded = h.points.copy()
    folded[h.hexes[1, 6]] = folded[h.hexes[1, 0]] + [0.05, 0.05, 0.05]
    refused(folded, h.hexes, "hexes 1", "folded", kind=mesh.HexMesh)


def test_surface_triangles():
    refused(POINTS, [[0, 1, 1]], "triangles 0", "twice", kind=mesh.SurfaceMesh)
    refused(POINTS, [[0, 1, 9]], "triangles 0", kind=mesh.SurfaceMesh)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mesh.box(cells=(0, 1, 1)), "at least 1"),
        (lambda: mesh.box(cells=(1.5, 1, 1)), "whole numbers"),
        (lambda: mesh.box(cells=(1000, 1000, 1000)), "GiB"),
        (lambda: mesh.box(size=(1, -1, 1)), "positive lengths"),
        (lambda: mesh.box(size=(1, np.nan, 1)), "positive lengths"),
        (lambda: mesh.box(split=7), "split"),
        (lambda: mesh.box(origin=(0, 0)), "origin"),
        (lambda: mesh.bridge(0), "at least 1"),
        (lambda: mesh.bridge(2000), "GiB"),
        (lambda: mesh.sphere(-1.0), "radius"),
        (lambda: mesh.sphere(1.0, 1000), "GiB"),
        (lambda: mesh.torus(0.2, 0.5), "smaller"),
        (lambda: mesh.torus(cells=(2, 2)), "at least 3"),
        (lambda: mesh.bowl(0.2, 0.5), "thinner"),
        (lambda: mesh.bowl(opening=180.0), "at most 170 degrees"),
        (lambda: mesh.surfaces.torus(cells=(2, 9)), "at least 3"),
        (lambda: mesh.surfaces.sphere(0.5, 100000), "GiB"),
        (lambda: mesh.box().transformed(scale=0.0), "zero"),
        (lambda: mesh.box().transformed(rotate=np.ones((3, 3))), "rotation"),
        (lambda: mesh.box().transformed(translate=(1, 2)), "translate"),
    ],
)
def test_generators_refuse_nonsense_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)

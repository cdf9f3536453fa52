"""Mesh files: every format there and back, files of other programs, and broken ones."""

import contextlib
import io

import meshio
import numpy as np
import pytest
import trimesh

from continua import mesh
from continua.errors import InputError

SURFACE = mesh.surfaces.torus(cells=(7, 11))
TETS = mesh.sphere(0.5, 2)
HEXES = mesh.hex_box((1, 2, 3), (2, 3, 2))
VOLUME_FORMATS = (".vtu", ".vtk", ".msh", ".mesh")
ALL_FORMATS = (*VOLUME_FORMATS, ".ply", ".obj", ".stl", ".off")


def quietly(function, *arguments, **options):
    """Call a writer of meshio without its remarks."""
    with contextlib.redirect_stderr(io.StringIO()):
        function(*arguments, **options)


@pytest.mark.parametrize("suffix", VOLUME_FORMATS)
@pytest.mark.parametrize("m", [TETS, HEXES], ids=["tets", "hexes"])
def test_volume_meshes_round_trip_to_the_last_bit(tmp_path, m, suffix):
    again = mesh.read(mesh.write(m, tmp_path / f"mesh{suffix}"))
    assert type(again) is type(m)
    np.testing.assert_array_equal(again.points, m.points)
    np.testing.assert_array_equal(again.cells, m.cells)
    assert again.notes == ()
    assert [file.name for file in tmp_path.iterdir()] == [f"mesh{suffix}"]


@pytest.mark.parametrize("suffix", ALL_FORMATS)
def test_surfaces_round_trip(tmp_path, suffix):
    again = mesh.read(mesh.write(SURFACE, tmp_path / f"mesh{suffix}"))
    assert again.is_closed
    assert again.node_count == SURFACE.node_count
    if suffix == ".stl":  # single precision, and nodes in order of appearance
        np.testing.assert_allclose(
            again.points[again.triangles], SURFACE.points[SURFACE.triangles], atol=1e-6
        )
    else:
        np.testing.assert_array_equal(again.points, SURFACE.points)
        np.testing.assert_array_equal(again.triangles, SURFACE.triangles)


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".stl", ".off"])
def test_trimesh_reads_what_we_write_and_we_read_what_it_writes(tmp_path, suffix):
    ours = trimesh.load(mesh.write(SURFACE, tmp_path / f"ours{suffix}"))
    np.testing.assert_allclose(ours.volume, SURFACE.volume, rtol=1e-6)
    assert ours.is_watertight
    path = tmp_path / f"theirs{suffix}"
    trimesh.Trimesh(SURFACE.points, SURFACE.triangles, process=False).export(path)
    theirs = mesh.read(path)
    assert theirs.is_closed
    np.testing.assert_allclose(theirs.volume, SURFACE.volume, rtol=1e-6)


@pytest.mark.parametrize("suffix", [".vtu", ".msh"])
def test_regions_round_trip(tmp_path, suffix):
    regions = {"left": [0, 1, 2], "the right side": np.arange(10, 100)}
    m = mesh.TetMesh(TETS.points, TETS.tets, regions)
    again = mesh.read(mesh.write(m, tmp_path / f"mesh{suffix}"))
    assert set(again.regions) == set(regions)
    for name, elements in regions.items():
        np.testing.assert_array_equal(again.regions[name], elements)


def test_overlapping_regions_need_vtu(tmp_path):
    m = mesh.TetMesh(TETS.points, TETS.tets, {"a": [0, 1], "b": [1, 2]})
    assert mesh.read(mesh.write(m, tmp_path / "mesh.vtu")).regions["b"].tolist() == [1, 2]
    with pytest.raises(InputError, match="overlap"):
        mesh.write(m, tmp_path / "mesh.msh")
    assert not (tmp_path / "mesh.msh").exists()


@pytest.mark.parametrize("version", ["2.2", "4.1"])
@pytest.mark.parametrize("binary", [True, False])
def test_gmsh_versions(tmp_path, version, binary):
    content = meshio.Mesh(np.array(TETS.points), [("tetra", np.array(TETS.tets))])
    quietly(meshio.gmsh.write, tmp_path / "mesh.msh", content, version, binary=binary)
    again = mesh.read(tmp_path / "mesh.msh")
    np.testing.assert_allclose(again.points, TETS.points, atol=1e-15)
    np.testing.assert_array_equal(again.tets, TETS.tets)


GMSH_41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
2
2 7 "skin"
3 9 "core"
$EndPhysicalNames
$Entities
0 0 1 1
1 0 0 0 1 1 1 1 7 0
1 0 0 0 1 1 1 1 9 1 1
$EndEntities
$Nodes
1 5 1 10
3 1 0 5
1
2
3
4
10
0 0 0
1 0 0
0 1 0
0 0 1
1 1 1
$EndNodes
$Elements
2 3 1 3
2 1 2 1
1 1 3 2
3 1 4 2
2 1 2 3 4
3 2 3 4 10
$EndElements
"""


def test_gmsh_physical_groups_become_regions(tmp_path):
    (tmp_path / "mesh.msh").write_text(GMSH_41)
    m = mesh.read(tmp_path / "mesh.msh")
    assert m.element_count == 2
    np.testing.assert_allclose(m.volume, 1 / 6 + 1 / 3)
    assert {name: e.tolist() for name, e in m.regions.items()} == {"core": [0, 1]}


@pytest.mark.parametrize("base", [0, 1])
def test_tetgen_pair_with_comments_and_regions(tmp_path, base):
    nodes = "\n".join(f"{i + base}\t{x} {y} {z}" for i, (x, y, z) in enumerate(TETS.points.tolist()))
    tets = "\n".join(
        f"{i}  {a + base} {b + base} {c + base} {d + base}  {1 + i % 2}"
        for i, (a, b, c, d) in enumerate(TETS.tets.tolist())
    )
    (tmp_path / "ball.node").write_text(f"# nodes\n{TETS.node_count} 3 0 0\n{nodes}\n# end\n")
    (tmp_path / "ball.ele").write_text(f"{TETS.element_count} 4 1\n{tets}\n")
    for name in ("ball.node", "ball.ele"):
        m = mesh.read(tmp_path / name)
        np.testing.assert_array_equal(m.points, TETS.points)
        np.testing.assert_array_equal(m.tets, TETS.tets)
        np.testing.assert_array_equal(m.regions["2"], np.arange(1, TETS.element_count, 2))
    (tmp_path / "ball.ele").unlink()
    with pytest.raises(InputError, match=r"ball\.ele"):
        mesh.read(tmp_path / "ball.node")


def test_obj_with_polygons_textures_and_relative_numbers(tmp_path):
    (tmp_path / "cube.obj").write_text(
        "o cube\nv 0 0 0 1 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n"
        "v 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
        "f 4/1/1 3//1 2 1\nf -4 -3 -2 -1\ns off\nf 1 2 6 5\nf 2 3 7 6 # side\nf 3 4 8 7\nf 4 1 5 8\n"
    )
    cube = mesh.read(tmp_path / "cube.obj")
    assert cube.triangle_count == 12
    assert cube.is_closed
    np.testing.assert_allclose(cube.volume, 1.0)


def test_ply_with_the_other_name_of_the_face_list(tmp_path):
    text = (
        "ply\nformat ascii 1.0\ncomment by hand\nelement vertex 4\nproperty float x\nproperty float y\n"
        "property float z\nelement face 4\nproperty list uchar int vertex_index\nend_header\n"
        "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n"
    )
    (tmp_path / "tet.ply").write_text(text)
    np.testing.assert_allclose(mesh.read(tmp_path / "tet.ply").volume, 1 / 6)


def test_quadratic_tets_keep_their_corners_and_unused_nodes_go(tmp_path):
    middles = TETS.points[TETS.edges].mean(axis=1)
    cells = np.concatenate([TETS.tets, TETS.node_count + TETS.element_edges], axis=1)
    content = meshio.Mesh(np.concatenate([TETS.points, middles]), [("tetra10", cells)])
    quietly(meshio.vtu.write, tmp_path / "curved.vtu", content)
    m = mesh.read(tmp_path / "curved.vtu")
    np.testing.assert_array_equal(m.tets, TETS.tets)
    assert "corners" in m.notes[0]
    assert f"dropped {len(middles)} nodes" in m.notes[1]


def test_stl_nodes_a_little_apart_are_welded(tmp_path):
    corners = SURFACE.points[SURFACE.triangles].reshape(-1, 3)
    corners = corners + 1e-8 * np.random.default_rng(0).uniform(-1, 1, corners.shape)
    soup = mesh.SurfaceMesh(corners, np.arange(len(corners)).reshape(-1, 3))
    again = mesh.read(mesh.write(soup, tmp_path / "soup.stl"))
    assert again.is_closed
    assert again.node_count == SURFACE.node_count


@pytest.mark.parametrize("suffix", ALL_FORMATS)
def test_files_cut_off_are_refused_in_one_sentence(tmp_path, suffix, capfd):
    path = mesh.write(SURFACE, tmp_path / f"mesh{suffix}")
    data = path.read_bytes()
    for part in (0.0, 0.02, 0.1, 0.3, 0.6):
        path.write_bytes(data[: int(part * len(data))])
        with pytest.raises(InputError) as caught:
            mesh.read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [".node", ".ele", ".obj", ".off", ".ply", ".stl", ".msh", ".vtk", ".mesh"])
def test_rubbish_is_refused(tmp_path, suffix):
    for number, data in enumerate((b"\x00\xff\x13" * 50, b"# only a comment\n", b"hello world\n1 2 3\n" * 9)):
        path = tmp_path / f"rubbish{number}{suffix}"
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            mesh.read(path)
        assert "\n" not in str(caught.value)


def test_missing_unknown_and_unusable_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        mesh.read(tmp_path / "none.msh")
    with pytest.raises(InputError, match="not a file"):
        mesh.read(tmp_path)
    (tmp_path / "mesh.xyz").write_text("?")
    with pytest.raises(InputError, match="unknown mesh format"):
        mesh.read(tmp_path / "mesh.xyz")
    content = meshio.Mesh(np.eye(6, 3), [("wedge", np.arange(6)[None])])
    quietly(meshio.vtu.write, tmp_path / "wedge.vtu", content)
    with pytest.raises(InputError, match="wedge"):
        mesh.read(tmp_path / "wedge.vtu")
    content = meshio.Mesh(np.eye(4, 3), [("tetra", np.array([[0, 1, 2, 7]]))])
    quietly(meshio.vtk.write, tmp_path / "range.vtk", content)
    with pytest.raises(InputError, match=r"range\.vtk: tets 0"):
        mesh.read(tmp_path / "range.vtk")


def test_writing_refuses_what_a_format_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="surfaces only"):
        mesh.write(TETS, tmp_path / "mesh.obj")
    with pytest.raises(InputError, match="cannot be written"):
        mesh.write(TETS, tmp_path / "mesh.docx")
    with pytest.raises(InputError, match="no folder"):
        mesh.write(TETS, tmp_path / "none" / "mesh.vtu")
    assert list(tmp_path.iterdir()) == []

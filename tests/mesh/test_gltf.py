"""Binary glTF files are read as the scene places their meshes, and broken ones are refused in a sentence."""

import json
import struct

import numpy as np
import pytest
import trimesh

import continua as ct
from continua.errors import InputError
from continua.mesh import read


def test_what_trimesh_writes_is_read_in_its_place(tmp_path):
    scene = trimesh.Scene()
    place = trimesh.transformations.euler_matrix(0.3, -0.8, 1.1)
    place[:3, 3] = (1.0, 2.0, -0.5)
    box = trimesh.creation.box((1.0, 0.5, 0.25))
    scene.add_geometry(box, transform=place)
    path = tmp_path / "box.glb"
    path.write_bytes(scene.export(file_type="glb"))
    mesh = read(path)
    assert isinstance(mesh, ct.SurfaceMesh)
    assert len(mesh.triangles) == 12
    assert len(mesh.points) == 8  # welded
    moved = box.copy().apply_transform(place)
    assert mesh.points.min(axis=0) == pytest.approx(moved.bounds[0], abs=1e-6)
    assert mesh.points.max(axis=0) == pytest.approx(moved.bounds[1], abs=1e-6)
    a, b, c = (mesh.points[mesh.triangles[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 == pytest.approx(0.125, rel=1e-5)  # and outward


def glb(about, data=b""):
    text = json.dumps(about).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + len(data)
    return (
        struct.pack("<4sII", b"glTF", 2, total)
        + struct.pack("<I4s", len(text), b"JSON")
        + text
        + struct.pack("<I4s", len(data), b"BIN\0")
        + data
    )


POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4").tobytes()
TRIANGLES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], "<u2").tobytes()


def tet(**changes):
    about = {
        "asset": {"version": "2.0"},
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": 72}],
        "nodes": [{"mesh": 0, "scale": [2, 2, -2]}],
        "scenes": [{"nodes": [0]}],
    }
    return {**about, **changes}


def test_a_mirror_keeps_the_outside_outside(tmp_path):
    (tmp_path / "a.glb").write_bytes(glb(tet(), POINTS + TRIANGLES))
    mesh = read(tmp_path / "a.glb")
    a, b, c = (mesh.points[mesh.triangles[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 == pytest.approx(8.0 / 6.0)


@pytest.mark.parametrize(
    "content",
    [
        b"glTF",
        b"glTF" + b"\xff" * 40,
        glb({}),
        glb(tet()),
        glb(tet(), POINTS),
        glb(tet(), POINTS + b"\xff" * 24),
        glb(tet(nodes=[{"children": [0]}]), POINTS + TRIANGLES),
        glb(tet(extensionsRequired=["KHR_draco_mesh_compression"]), POINTS + TRIANGLES),
        glb(tet(buffers=[{"uri": "../secret.bin", "byteLength": 72}]), POINTS + TRIANGLES),
        glb(tet(scenes=[7]), POINTS + TRIANGLES),
    ],
)
def test_broken_files_are_refused(tmp_path, content):
    (tmp_path / "a.glb").write_bytes(content)
    with pytest.raises(InputError):
        read(tmp_path / "a.glb")

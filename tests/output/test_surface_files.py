from __future__ import annotations

import meshio
import numpy as np
import pytest
import trimesh

from continua.frames import RunInfo
from continua.output import make_sink

INFO = RunInfo(name="swing", fps=10.0, seconds=0.5)


def run(kind, folder, frames):
    sink = make_sink(kind, folder)
    sink.open(INFO)
    for frame in frames:
        sink.write(frame)
    return sink.close()


def test_ply_holds_a_closed_surface_with_all_fields(tmp_path, frames):
    paths = run("ply", tmp_path, frames)
    body = frames[4]["block"]
    nodes = np.unique(body.triangles)
    mesh = meshio.read(paths[4])
    np.testing.assert_array_equal(mesh.points, body.positions[nodes].astype(np.float32))
    np.testing.assert_array_equal(nodes[mesh.cells_dict["triangle"]], body.triangles)
    np.testing.assert_array_equal(mesh.point_data["von_mises"], body["von_mises"][nodes].astype(np.float32))
    for i, axis in enumerate("xyz"):
        want = body["velocity"][nodes, i].astype(np.float32)
        np.testing.assert_array_equal(mesh.point_data[f"velocity_{axis}"], want)


def test_trimesh_finds_the_ply_watertight_with_the_right_volume(tmp_path, frames):
    paths = run("ply", tmp_path, frames[:1])
    mesh = trimesh.load(paths[0], process=False)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(0.25, rel=1e-6)
    normals = np.column_stack([meshio.read(paths[0]).point_data[f"n{axis}"] for axis in "xyz"])
    # The box is convex about its middle: every vertex normal points outwards.
    assert ((mesh.vertices - mesh.bounds.mean(axis=0)) * normals).sum(axis=1).min() > 0


def test_obj_keeps_positions_and_sharp_normals(tmp_path, frames):
    paths = run("obj", tmp_path, frames)
    body = frames[5]["block"]
    nodes = np.unique(body.triangles)
    mesh = trimesh.load(paths[5], process=False)
    corners = mesh.vertices[mesh.faces].astype(np.float32)
    np.testing.assert_array_equal(corners, body.positions[body.triangles].astype(np.float32))
    lines = paths[0].read_text().splitlines()
    normals = np.array([line.split()[1:] for line in lines if line.startswith("vn ")], float)
    # At rest a box has no other normals than those of its six sides.
    np.testing.assert_allclose(np.abs(normals).max(axis=1), 1.0, atol=1e-6)
    corners = [line.split()[1:] for line in lines if line.startswith("f ")]
    rest = body.rest_positions[nodes]
    for face in corners:
        ids = np.array([corner.split("//") for corner in face], int) - 1
        a, b, c = rest[ids[:, 0]]
        flat = np.cross(b - a, c - a)
        np.testing.assert_allclose(
            normals[ids[:, 1]], np.tile(flat / np.linalg.norm(flat), (3, 1)), atol=1e-6
        )

"""Fluids in files of whole runs: particles that come and go, and surfaces around them."""

import json
import struct

import numpy as np
import pytest

import continua as ct
from continua.frames import RunInfo
from continua.output.registry import make_sink


@pytest.fixture(scope="module")
def frames():
    jet = ct.Emitter((0, 0.3, 0), (1, 0, 0), radius=0.06, speed=2.0)
    water = ct.Fluid(emitters=[jet], particle_radius=0.015, name="water")
    world = ct.World([water], colliders=[ct.Plane((0, 0, 0), (0, 1, 0))], dt=0.01)
    return list(world.run(0.2, 20))


def written(kind, folder, frames, look):
    sink = make_sink(kind, folder)
    sink.open(RunInfo(name="jet", fps=20, seconds=0.2, view={"color": "velocity", "fluid": look}))
    for frame in frames:
        sink.write(frame)
    return sink.close()[0]


def read_glb(path):
    """Return the document of a binary glTF file, and a function that reads its accessors."""
    data = path.read_bytes()
    size = struct.unpack("<I", data[12:16])[0]
    document = json.loads(data[20 : 20 + size])
    types = {5126: "<f4", 5125: "<u4", 5121: "u1"}
    widths = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}

    def read(number):
        about = document["accessors"][number]
        view = document["bufferViews"][about["bufferView"]]
        width = widths[about["type"]]
        start = 28 + size + view["byteOffset"]
        values = np.frombuffer(data, types[about["componentType"]], about["count"] * width, start)
        return values.reshape(-1, width)

    return document, read


@pytest.mark.parametrize("look", ["points", "surface"])
def test_glb_shows_one_moment_after_another(tmp_path, frames, look):
    if look == "surface":
        pytest.importorskip("pysplashsurf")
    document, read = read_glb(written("glb", tmp_path, frames, look))
    assert len(frames[0]["water"].positions) == 0  # nothing is there yet
    assert len(document["nodes"]) == len(frames) - 1
    animation = document["animations"][0]
    scales = []
    for number, channel in enumerate(animation["channels"]):
        assert channel["target"] == {"node": number, "path": "scale"}
        sampler = animation["samplers"][channel["sampler"]]
        assert sampler["interpolation"] == "STEP"
        scales.append(read(sampler["output"])[:, 0])
    np.testing.assert_array_equal(scales, np.eye(len(frames))[1:])
    last = document["meshes"][-1]["primitives"][0]
    points = read(last["attributes"]["POSITION"])
    water = frames[-1]["water"].positions
    if look == "points":
        assert last["mode"] == 0
        np.testing.assert_allclose(points, water, atol=1e-6)
    else:
        corners = points[read(last["indices"]).reshape(-1, 3)].astype(float)
        volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        assert 0.4 < volume / (len(water) * 0.03**3) < 1.6


@pytest.mark.parametrize("look", ["points", "surface"])
def test_usd_has_points_or_a_mesh_sampled_in_time(tmp_path, frames, look):
    pytest.importorskip("pxr")
    if look == "surface":
        pytest.importorskip("pysplashsurf")
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(written("usd", tmp_path, frames, look)))
    if look == "surface":
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/World/water/surface"))
        for index in range(1, len(frames)):
            points = mesh.GetPointsAttr().Get(index)
            assert max(mesh.GetFaceVertexIndicesAttr().Get(index)) == len(points) - 1
        return
    cloud = UsdGeom.Points(stage.GetPrimAtPath("/World/water/points"))
    for index, frame in enumerate(frames):
        points = np.array(cloud.GetPointsAttr().Get(index)).reshape(-1, 3)
        np.testing.assert_allclose(points, frame["water"].positions, atol=1e-6)
    np.testing.assert_allclose(cloud.GetWidthsAttr().Get(len(frames) - 1), 0.03)

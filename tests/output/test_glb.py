from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
import trimesh

from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import make_sink
from continua.output.glb import MAX_KEYS

INFO = RunInfo(name="swing", fps=10.0, seconds=0.5)
SIZES = {5120: "i1", 5121: "u1", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


def run(folder, frames, **options):
    sink = make_sink("glb", folder, **options)
    sink.open(INFO)
    for frame in frames:
        sink.write(frame)
    return sink.close()[0]


class Reader:
    """A glTF reader that knows only the specification."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, total = struct.unpack_from("<4sII", data)
        assert (magic, version, total) == (b"glTF", 2, len(data))
        length, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON"
        assert length % 4 == 0
        self.json = json.loads(data[20 : 20 + length])
        size, kind = struct.unpack_from("<I4s", data, 20 + length)
        assert kind == b"BIN\0"
        self.bytes = data[28 + length :]
        assert len(self.bytes) == size == self.json["buffers"][0]["byteLength"]

    def get(self, number):
        accessor = self.json["accessors"][number]
        view = self.json["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        width = WIDTHS[accessor["type"]]
        values = np.frombuffer(
            self.bytes, SIZES[accessor["componentType"]], accessor["count"] * width, view["byteOffset"]
        )
        assert values.nbytes == view["byteLength"]
        values = values.reshape(-1, width) if width > 1 else values
        if "min" in accessor:
            np.testing.assert_array_equal(np.atleast_1d(values.min(axis=0)), accessor["min"])
            np.testing.assert_array_equal(np.atleast_1d(values.max(axis=0)), accessor["max"])
        if accessor.get("normalized"):
            return values.astype(float) / (127 if values.dtype == np.int8 else 255)
        return values

    def at(self, mesh, weights, name):
        """Return an attribute of a mesh under given weights."""
        part = self.json["meshes"][mesh]["primitives"][0]
        base = self.get(part["attributes"][name]).astype(float)
        for weight, target in zip(weights, part["targets"]):
            base = base + weight * self.get(target[name])
        return base


def corner_positions(body):
    return body.positions[body.triangles]


def test_each_key_shows_its_frame(tmp_path, frames):
    file = Reader(run(tmp_path, frames))
    (animation,) = file.json["animations"]
    sampler = animation["samplers"][0]
    times = file.get(sampler["input"])
    np.testing.assert_array_equal(times, np.array([frame.time for frame in frames], np.float32))
    weights = file.get(sampler["output"]).reshape(len(times), -1)
    indices = file.get(file.json["meshes"][0]["primitives"][0]["indices"]).reshape(-1, 3)
    for frame, row in zip(frames, weights):
        points = file.at(0, row, "POSITION")
        np.testing.assert_allclose(points[indices], corner_positions(frame["block"]), atol=2e-7)
        normals = file.at(0, row, "NORMAL")
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-5)
        faces = np.cross(
            points[indices[:, 1]] - points[indices[:, 0]], points[indices[:, 2]] - points[indices[:, 0]]
        )
        assert (np.einsum("ij,ikj->ik", faces, normals[indices]) > 0).all()


def test_trimesh_reads_the_first_frame(tmp_path, two_bodies):
    scene = trimesh.load(run(tmp_path, two_bodies))
    assert set(scene.geometry) == set(two_bodies[0].bodies)
    for name, mesh in scene.geometry.items():
        body = two_bodies[0][name]
        np.testing.assert_allclose(mesh.bounds[0], body.positions.min(axis=0), atol=1e-6)
        np.testing.assert_allclose(mesh.bounds[1], body.positions.max(axis=0), atol=1e-6)
        assert mesh.area == pytest.approx(2 * (0.5 + 0.5 + 0.25), rel=1e-5)
        assert mesh.visual.vertex_attributes["color"].shape == (len(mesh.vertices), 4)


def test_colours_are_linear_light_and_change_with_the_values(tmp_path, frames):
    from continua.render.colors import color_map

    file = Reader(run(tmp_path, frames))
    count = len(frames)
    start = file.at(0, np.eye(count)[0], "COLOR_0")
    lowest = color_map()[0]
    linear = np.where(lowest <= 0.04045, lowest / 12.92, ((lowest + 0.055) / 1.055) ** 2.4)
    np.testing.assert_allclose(start[:, :3], np.tile(linear, (len(start), 1)), atol=0.008)
    assert np.ptp(file.at(0, np.eye(count)[5], "COLOR_0")[:, :3], axis=0).max() > 0.1
    assert file.json["meshes"][0]["weights"] == [1.0] + [0.0] * (count - 1)


def test_plain_bodies_have_one_colour_and_no_colour_targets(tmp_path, frames):
    file = Reader(run(tmp_path, frames, color="plain"))
    part = file.json["meshes"][0]["primitives"][0]
    assert np.ptp(file.get(part["attributes"]["COLOR_0"]), axis=0).max() == 0.0
    assert all("COLOR_0" not in target for target in part["targets"])


def test_long_runs_keep_few_keys_with_both_ends(tmp_path, frames):
    many = [replace(frames[i % 6], index=i, time=i / 10.0) for i in range(MAX_KEYS + 60)]
    file = Reader(run(tmp_path, many))
    times = file.get(file.json["animations"][0]["samplers"][0]["input"])
    assert len(times) <= MAX_KEYS
    assert times[0] == 0.0
    assert times[-1] == np.float32(many[-1].time)


def test_changing_connectivity_is_refused_in_one_sentence(tmp_path, frames):
    body = frames[1]["block"]
    cut = replace(frames[1], bodies={"block": replace(body, triangles=body.triangles[:8])})
    with pytest.raises(InputError, match="changes its connectivity"):
        run(tmp_path, [frames[0], cut])
    assert not list(tmp_path.glob("*.glb"))

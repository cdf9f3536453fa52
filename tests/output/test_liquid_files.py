"""Surfaces of liquids on grids, which are others at every moment, in all files."""

import base64
import json
import re
import struct
import zlib

import meshio
import numpy as np
import pytest

import continua as ct
from continua.frames import RunInfo
from continua.output import make_sink


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("liquid")
    water = ct.Liquid((1.0, 1.0), (16, 16), block=((0, 0), (0.4, 0.6)), detail=1, name="water")
    world = ct.World([water], dt=0.05, name="dam")
    sinks = [make_sink(kind, place) for kind in ("vti", "vtu", "ply", "glb", "usd", "html")]
    for sink in sinks:
        sink.open(RunInfo(name="dam", fps=10.0, seconds=0.3, view={"color": "velocity"}))
    frames = list(world.run(0.3, 10.0, sinks))
    for sink in sinks:
        sink.close()
    return place, frames


def test_files_hold_the_surface_of_each_frame(folder):
    place, frames = folder
    for index, frame in enumerate(frames):
        body = frame["water"]
        vtu = meshio.read(next(place.glob(f"vtu/water_{index:06d}.vtu")))
        assert np.allclose(vtu.points, body.positions)
        assert np.array_equal(vtu.cells_dict["triangle"], body.triangles)
        ply = meshio.read(next(place.glob(f"ply/water_{index:06d}.ply")))
        assert len(ply.cells_dict["triangle"]) == len(body.triangles)
        vti = next(place.glob(f"vti/water_{index:06d}.vti")).read_bytes()
        for name in (b"level_set", b"velocity", b"pressure"):
            assert b'Name="' + name + b'"' in vti
    assert len({len(frame["water"].triangles) for frame in frames}) > 1


def test_gltf_has_a_mesh_for_each_moment(folder):
    place, frames = folder
    data = next(place.glob("*.glb")).read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20 : 20 + length])
    assert len(document["meshes"]) == len(frames)
    assert all("indices" in mesh["primitives"][0] for mesh in document["meshes"])


def test_usd_has_the_surface_at_each_time(folder):
    usd = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    place, frames = folder
    stage = usd.Stage.Open(str(next(place.glob("*.usd*"))))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/World/water/surface"))
    for index, frame in enumerate(frames):
        assert len(mesh.GetFaceVertexCountsAttr().Get(index)) == len(frame["water"].triangles)


def _unfolded(codes):
    """Read corners of triangles one after the other, as a page does."""
    corners, following = [], 0
    for back in codes.tolist():
        corners.append(following - back)
        following += back == 0
    return np.array(corners).reshape(-1, 3)


def test_replay_has_the_surface_of_each_frame(folder):
    place, frames = folder
    page = next(place.glob("*.html")).read_text()
    data = zlib.decompress(base64.b64decode(re.search('id="continua-replay"[^>]*>([^<]*)', page)[1]))
    _, length = struct.unpack_from("<II", data)
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]

    def array(name):
        place = header["arrays"][name]
        return np.frombuffer(body, np.uint8, int(np.prod(place["shape"])), place["offset"]).astype(int)

    motion = header["motions"][0]
    places = array("0/positions").reshape(2, -1, 3)
    folded = places[0] + 256 * places[1]
    steps = np.where(folded % 2, -(folded + 1) // 2, folded // 2)
    low, high = np.array(motion["positions"]["low"]), np.array(motion["positions"]["high"])
    codes = (array("0/faces").reshape(3, -1) * [[1], [256], [65536]]).sum(axis=0)
    for frame in frames:
        count, corners = motion["counts"].pop(0), motion["faces"].pop(0)
        points = low + (high - low) / 65535 * (np.cumsum(steps[:count], axis=0) % 65536)
        found = points[_unfolded(codes[:corners])]
        wanted = frame["water"].positions[frame["water"].triangles]
        assert found == pytest.approx(wanted, abs=2.0 / 65535)
        steps, codes = steps[count:], codes[corners:]
    assert len(steps) == len(codes) == 0

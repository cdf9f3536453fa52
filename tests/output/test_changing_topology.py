"""All formats follow a body whose nodes, elements and surface change during the run."""

from __future__ import annotations

import base64
import json
import re
import struct
import subprocess
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace

import meshio
import numpy as np
import pytest
import trimesh
from changing_box import changing_frames
from PIL import Image, ImageSequence
from test_glb import Reader
from test_resume import assert_same, tree

from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import SINKS, make_sink
from continua.render import Painter, make_view

VIEW = {"size": (200, 112), "camera": {"azimuth": 0.0, "elevation": 0.0}}
INFO = RunInfo(name="cut", fps=10.0, seconds=0.5, view=VIEW)
KINDS = [kind for kind in SINKS if kind != "vti"]  # grids: see test_vti


@pytest.fixture(scope="module")
def frames():
    return changing_frames()


@pytest.fixture(scope="module")
def skinned():
    return changing_frames(with_skin=True)


def run(kind, folder, frames, start=0, close=True, **options):
    sink = make_sink(kind, folder, **options)
    sink.open(INFO, start)
    for frame in frames[start:]:
        sink.write(frame)
    return sink.close() if close else []


def corners(points, triangles):
    """Return the corners of triangles in space, in an order that does not depend on numbering."""
    flat = np.round(np.asarray(points, float)[np.asarray(triangles)], 5) + 0.0
    turned = [np.roll(t, -min(range(3), key=lambda i: tuple(t[i])), axis=0) for t in flat]
    return sorted(map(tuple, np.reshape(turned, (-1, 9))))


def assert_same_triangles(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def body_corners(frame, name="block"):
    return corners(frame[name].positions, frame[name].triangles)


def test_vtu_has_the_mesh_of_each_version(tmp_path, frames):
    run("vtu", tmp_path, frames)
    for frame in frames:
        body = frame["block"]
        mesh = meshio.read(tmp_path / f"vtu/block_{frame.index:06d}.vtu")
        np.testing.assert_array_equal(mesh.points, body.positions)
        np.testing.assert_array_equal(mesh.cells_dict["tetra"], body.cells["tetra"])
        assert len(mesh.point_data["von_mises"]) == len(body.positions)
    listed = ET.parse(tmp_path / "cut.pvd").getroot().iter("DataSet")
    assert [item.get("file") for item in listed if item.get("name") == "block"] == [
        f"vtu/block_{frame.index:06d}.vtu" for frame in frames
    ]
    assert len({len(frame["block"].positions) for frame in frames}) == 3


@pytest.mark.parametrize("kind", ["ply", "obj"])
def test_surface_files_have_the_surface_of_each_version(tmp_path, frames, kind):
    run(kind, tmp_path, frames)
    for frame in frames:
        mesh = trimesh.load(tmp_path / kind / f"block_{frame.index:06d}.{kind}", process=False)
        assert_same_triangles(corners(mesh.vertices, mesh.faces), body_corners(frame))
        outside = np.einsum("ij,ij->i", mesh.face_normals, mesh.vertex_normals[mesh.faces[:, 0]])
        assert (outside > 0.0).all()


def test_usd_samples_the_topology_in_time(tmp_path, frames):
    from pxr import Usd, UsdGeom

    (path,) = run("usd", tmp_path, frames)
    stage = Usd.Stage.Open(str(path))
    mesh = UsdGeom.Mesh.Get(stage, "/World/block/surface")
    tets = UsdGeom.TetMesh.Get(stage, "/World/block/volume")
    assert mesh.GetFaceVertexIndicesAttr().GetTimeSamples() == [0, 2, 4]
    other = UsdGeom.Mesh.Get(stage, "/World/other/surface")
    assert other.GetFaceVertexIndicesAttr().GetNumTimeSamples() == 0
    for frame in frames:
        body, time = frame["block"], frame.index
        points = np.array(mesh.GetPointsAttr().Get(time))
        indices = mesh.GetFaceVertexIndicesAttr().Get(time)
        counts = mesh.GetFaceVertexCountsAttr().Get(time)
        assert UsdGeom.Mesh.ValidateTopology(indices, counts, len(points))[0]
        assert_same_triangles(corners(points, np.reshape(indices, (-1, 3))), body_corners(frame))
        normals = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals").ComputeFlattened(time)
        assert len(normals) == len(indices)
        assert len(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("von_mises").Get(time)) == len(points)
        np.testing.assert_array_equal(tets.GetTetVertexIndicesAttr().Get(time), body.cells["tetra"])
        np.testing.assert_array_equal(tets.GetPointsAttr().Get(time), body.positions.astype(np.float32))
        assert len(UsdGeom.TetMesh.FindInvertedElements(tets, time)) == 0


def test_usd_validators_have_no_complaints(tmp_path, frames):
    validation = pytest.importorskip("pxr.UsdValidation")
    from pxr import Usd

    (path,) = run("usd", tmp_path, frames)
    registry = validation.ValidationRegistry()
    context = validation.ValidationContext(registry.GetOrLoadAllValidators())
    errors = context.Validate(Usd.Stage.Open(str(path)))
    assert [error.GetErrorAsString() for error in errors] == []


def sampled(file, channel, time):
    """Return the value of an animation channel at a time, by the rules of glTF."""
    sampler = file.json["animations"][0]["samplers"][channel["sampler"]]
    times = file.get(sampler["input"])
    output = file.get(sampler["output"]).reshape(len(times), -1)
    after = int(np.clip(np.searchsorted(times, time, side="right"), 1, len(times)) - 1)
    if time <= times[0] or time >= times[-1] or sampler["interpolation"] == "STEP":
        return output[0] if time <= times[0] else output[-1] if time >= times[-1] else output[after]
    share = (time - times[after]) / (times[after + 1] - times[after])
    return (1 - share) * output[after] + share * output[after + 1]


def visible(file, time):
    """Return the triangles that a viewer shows at a time, by the name of their node."""
    found = {}
    channels = file.json["animations"][0]["channels"]
    for number, node in enumerate(file.json["nodes"]):
        scale, weights = node.get("scale", [1.0] * 3), file.json["meshes"][node["mesh"]]["weights"]
        for channel in channels:
            if channel["target"]["node"] == number:
                value = sampled(file, channel, time)
                if channel["target"]["path"] == "scale":
                    scale = value
                else:
                    weights = value
        if np.all(np.asarray(scale) == 1.0):
            part = file.json["meshes"][node["mesh"]]["primitives"][0]
            triangles = file.get(part["indices"]).reshape(-1, 3)
            found[node["name"]] = corners(file.at(node["mesh"], weights, "POSITION"), triangles)
        else:
            assert np.all(np.asarray(scale) == 0.0)
    return found


def test_gltf_shows_one_node_for_each_version(tmp_path, frames):
    file = Reader(run("glb", tmp_path, frames)[0])
    assert [node["name"] for node in file.json["nodes"]] == ["block 0", "block 2", "block 4", "other"]
    for frame in frames:
        shown = visible(file, np.float32(frame.time))
        assert len(shown) == 2
        assert_same_triangles(shown["other"], body_corners(frame, "other"))
        name = f"block {2 * (frame.index // 2)}"
        assert_same_triangles(shown[name], body_corners(frame))
    between = visible(file, 0.5 * (frames[1].time + frames[2].time))  # held until the next version begins
    assert_same_triangles(between["block 0"], body_corners(frames[1]))
    scene = trimesh.load(tmp_path / "cut.glb")
    cut = 2 * 0.5 * 0.5  # m2 of new surface, apart from the small shear of the motion
    assert scene.geometry["block 4"].area == pytest.approx(scene.geometry["block 2"].area + cut, rel=1e-3)


def read_replay(path):
    page = path.read_text(encoding="utf-8")
    data = zlib.decompress(base64.b64decode(re.search('id="continua-replay"[^>]*>([^<]*)', page)[1]))
    _, length = struct.unpack_from("<II", data)
    header = json.loads(data[8 : 8 + length])

    def array(name):
        entry = header["arrays"][name]
        count = int(np.prod(entry["shape"]))
        values = np.frombuffer(data, "<" + entry["type"], count, 8 + length + entry["offset"])
        return values.reshape(entry["shape"])

    return header, array


def test_replay_has_the_mesh_of_each_version_once(tmp_path, frames):
    header, array = read_replay(run("html", tmp_path, frames)[0])
    motion, other = header["motions"]
    assert motion["topologies"] == [0, 0, 1, 1, 2, 2]
    assert [body["topologyVersion"] for body in motion["bodies"]] == [0, 1, 2]
    assert "topologies" not in other
    low, high = np.array(motion["positions"]["low"]), np.array(motion["positions"]["high"])
    coded = array("0/positions").astype(int).reshape(2, -1)
    coded = coded[0] + 256 * coded[1]
    change, before = np.where(coded % 2, -(coded + 1) // 2, coded // 2), None
    for frame, count, version in zip(frames, motion["counts"], motion["topologies"], strict=True):
        rows, change = change[: 3 * count].reshape(-1, 3), change[3 * count :]
        same = before is not None and before.shape == rows.shape
        before = (rows + (before if same else 0)) % 65536
        points = low + (high - low) / 65535 * before
        key = f"0/topology{version}" if version else "0"
        triangles = array(f"{key}/triangles")
        body = frame["block"]
        np.testing.assert_allclose(points[triangles], body.positions[body.triangles], atol=2.0 / 65535)
        rest = array(f"{key}/rest")
        np.testing.assert_allclose(rest[triangles], body.rest_positions[body.triangles], atol=1e-6)
    assert len(change) == 0


def gap_colors(pictures, frames):
    """Return the mean colour in the middle of where the halves move apart, relative to the corner's, per picture."""
    view = make_view(frames, **VIEW)
    place = np.array([[0.7, 0.25 + 0.1 * frames[-1].time * 0.5, 0.25]])
    x, y, depth = view.camera.to_camera_space(place)[0]
    focal = view.camera.focal(112)
    column, row = round(100 + focal * x / depth), round(56 - focal * y / depth)
    return [
        np.abs(
            np.asarray(p, int)[row - 2 : row + 3, column - 1 : column + 2].mean((0, 1))
            - np.asarray(p)[row, 2]
        )
        for p in pictures
    ]


def pictures_of(kind, folder, frames):
    paths = run(kind, folder, frames)
    if kind == "png":
        return [np.asarray(Image.open(path)) for path in sorted(paths)]
    if kind == "mp4":
        import imageio_ffmpeg

        program = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(paths[0])]
        done = subprocess.run(
            [*program, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
        )
        return list(np.frombuffer(done.stdout, np.uint8).reshape(-1, 112, 200, 3))
    with Image.open(paths[0]) as film:
        return [np.asarray(picture.convert("RGB")) for picture in ImageSequence.Iterator(film)]


@pytest.mark.parametrize("kind", ["png", "mp4", "webp", "gif"])
def test_pictures_show_the_gap_between_the_halves(tmp_path, frames, kind):
    pictures = pictures_of(kind, tmp_path, frames)
    assert len(pictures) == len(frames)
    differences = [difference.max() for difference in gap_colors(pictures, frames)]
    assert min(differences[:4]) > 40.0  # the body
    assert max(differences[4:]) < 12.0  # the background


def test_a_painter_keeps_nothing_of_an_earlier_version(frames):
    view = make_view(frames, **VIEW)
    painter = Painter(view)
    for frame in frames:
        np.testing.assert_array_equal(painter.paint(frame), Painter(view).paint(frame))


@pytest.mark.parametrize("kind", KINDS)
def test_resumed_run_equals_uninterrupted_run(tmp_path, frames, skinned, kind):
    for run_frames, name in ((frames, "bare"), (skinned, "skinned")):
        run(kind, tmp_path / f"whole-{name}", run_frames)
        for start in (0, 2, 3, 5):  # at a change of the topology and inside a version
            run(kind, tmp_path / f"parts-{name}", run_frames[: start + 2], start=start, close=start % 2 == 0)
        run(kind, tmp_path / f"parts-{name}", run_frames, start=4)
        assert_same(tree(tmp_path / f"whole-{name}"), tree(tmp_path / f"parts-{name}"))


@pytest.mark.parametrize("kind", ["glb", "html", "obj"])
def test_embedded_surfaces_change_with_the_body(tmp_path, skinned, frames, kind):
    run(kind, tmp_path / "bare", frames)
    run(kind, tmp_path / "skinned", skinned)
    if kind == "obj":
        one, two = (
            trimesh.load(tmp_path / name / "obj/block_000005.obj", process=False)
            for name in ("bare", "skinned")
        )
        assert_same_triangles(corners(two.vertices, two.faces), corners(one.vertices, one.faces))
    elif kind == "glb":
        one, two = (Reader(tmp_path / name / "cut.glb") for name in ("bare", "skinned"))
        for frame in frames:
            shown, wanted = visible(two, np.float32(frame.time)), visible(one, np.float32(frame.time))
            assert shown.keys() == wanted.keys()
            for name in shown:
                assert_same_triangles(shown[name], wanted[name])
    else:
        (one, first), (two, second) = (
            read_replay(tmp_path / name / "cut.html") for name in ("bare", "skinned")
        )
        assert one["motions"][0]["topologies"] == two["motions"][0]["topologies"]
        for key in ("0", "0/topology1", "0/topology2"):
            assert_same_triangles(
                corners(first(f"{key}/rest"), first(f"{key}/triangles")),
                corners(second(f"{key}/rest"), second(f"{key}/triangles")),
            )


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind != "ply"]
)  # a PLY file knows only its own frame
def test_a_change_without_a_new_version_is_refused(tmp_path, frames, kind):
    wrong = [
        replace(frame, bodies={"block": replace(frame["block"], topology_version=0)}) for frame in frames[:3]
    ]
    with pytest.raises(
        InputError, match=r'body "block" changes its connectivity, but not its topology version'
    ):
        run(kind, tmp_path, wrong)


def test_versions_may_skip_numbers(tmp_path, frames):
    skipping = [
        replace(
            frame,
            bodies={
                "block": replace(frame["block"], topology_version=7 * frame["block"].topology_version + 3)
            },
        )
        for frame in frames
    ]
    file = Reader(run("glb", tmp_path, skipping)[0])
    assert [node["name"] for node in file.json["nodes"]] == ["block 0", "block 2", "block 4"]
    header, _ = read_replay(run("html", tmp_path, skipping)[0])
    assert header["motions"][0]["topologies"] == [0, 0, 1, 1, 2, 2]


def test_images_follow_the_surface_through_versions(tmp_path, skinned):
    """A texture coordinate belongs to a corner of a triangle, so it stays with it in any numbering."""
    from pxr import Usd, UsdGeom

    from tests.checker import checker, corner_set

    def painted(body):
        skin = body.skin
        if skin is None:
            return body
        uv = skin.rest[skin.triangles][:, :, :2]  # its position at rest
        return replace(body, skin=replace(skin, uv=uv, texture=checker()))

    run_frames = [
        replace(frame, bodies={name: painted(body) for name, body in frame.bodies.items()})
        for frame in skinned
    ]
    for kind in ("glb", "usd", "html", "obj"):
        run(kind, tmp_path, run_frames, **({} if kind == "obj" else {"color": "plain"}))
    stage = Usd.Stage.Open(str(tmp_path / "cut.usdc"))
    mesh = UsdGeom.Mesh.Get(stage, "/World/block/surface")
    header, array = read_replay(tmp_path / "cut.html")
    file = Reader(tmp_path / "cut.glb")
    assert len(file.json["images"]) == 1
    for frame in run_frames:
        body = frame["block"].with_embedded_surface()
        wanted = corner_set(body.positions, body.triangles, body.uv)
        triangles = np.reshape(mesh.GetFaceVertexIndicesAttr().Get(frame.index), (-1, 3))
        st = np.reshape(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").Get(frame.index), (-1, 3, 2))
        found = corner_set(np.array(mesh.GetPointsAttr().Get(frame.index)), triangles, st)
        np.testing.assert_allclose(found, wanted, atol=2e-5)
        version = header["motions"][0]["topologies"][frame.index]
        key = f"0/topology{version}" if version else "0"
        rest = array(f"{key}/rest")[array(f"{key}/triangles")]
        np.testing.assert_allclose(array(f"{key}/uv"), rest[:, :, :2], atol=1e-6)
        part = trimesh.load(tmp_path / f"obj/block_{frame.index:06d}.obj", process=False)
        assert part.visual.kind == "texture"
    node = next(node for node in file.json["nodes"] if node["name"] == "block 4")
    part = file.json["meshes"][node["mesh"]]["primitives"][0]
    assert "TEXCOORD_0" in part["attributes"]
    assert part["material"] == 1

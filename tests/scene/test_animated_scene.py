"""Animated colliders and driven nodes in scene files: built, drawn, resumed and explained."""

import base64
import json
import re
import struct
import zlib

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.output import make_sink
from continua.scene import load_scene
from continua.scene.parser import parse_scene
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.session.snapshot import SessionScene, Snapshot, Stats

SMALL = """
name: touch
seconds: 0.1
fps: 50
dt: 0.01
bodies:
  - type: soft
    name: block
    mesh: {type: box, size: [0.3, 0.1, 0.3], cells: [2, 1, 2], origin: [0, 0, -0.15]}
    drive:
      - where: bottom
        motion: {type: animation, path: arm.glb, speed: 2, transform: {translate: [-0.7, -0.11, 0]}}
colliders:
  - {type: animated_mesh, name: arm, path: arm.glb, animation: press, transform: {translate: [-0.8, 0.3, 0]}}
"""


def written(kind, folder, frames):
    """Write frames and return the file."""
    sink = make_sink(kind, folder)
    sink.open(ct.RunInfo("touch", 50.0, len(frames)), 0)
    for frame in frames:
        sink.write(frame)
    sink.close()
    return next(folder.glob(f"*.{kind}"))


def test_a_shipped_file_is_found_from_any_folder(tmp_path):
    path = tmp_path / "touch.yaml"
    path.write_text(SMALL, encoding="utf-8")
    scene = load_scene(path)
    world = scene.build()
    arm = world.colliders[0]
    expected = ct.MeshAnimation.read(scene.file("arm.glb"), animation="press").positions(0.7) + [
        -0.8,
        0.3,
        0.0,
    ]
    assert arm.positions_at(0.7) == pytest.approx(expected)
    (tmp_path / "arm.glb").write_bytes(b"no mesh")  # a file of the scene's own folder comes first
    with pytest.raises(InputError, match=r"touch.yaml.*arm.glb.*not a valid .glb file"):
        load_scene(path).build()


def test_driven_nodes_follow_the_arm(tmp_path):
    world = parse_scene(SMALL).build()
    body = world.bodies[0]
    held = np.flatnonzero(body.mesh.points[:, 1] < 1e-9)
    for _ in range(10):
        world.step()
    hand = ct.MeshAnimation.read(load_scene("arm").file("arm.glb"), speed=2.0).transformed((-0.7, -0.11, 0.0))
    expected = ct.geometry.follow_surface(hand).at(world.time, body.mesh.points[held])
    assert body.positions[held] == pytest.approx(expected, abs=1e-12)
    assert np.abs(body.positions[held] - body.mesh.points[held]).max() > 0.005


def test_the_contents_of_a_sequence_are_part_of_the_fingerprint(tmp_path):
    surface = ct.mesh.surfaces.box()
    for k in range(3):
        ct.mesh.write(surface.transformed((0.1 * k, 0.0, 0.0)), tmp_path / f"step{k}.obj")
    path = tmp_path / "walk.yaml"
    path.write_text(SMALL.replace("path: arm.glb, animation: press", "path: step*.obj"), encoding="utf-8")
    before = load_scene(path).fingerprint()
    assert load_scene(path).fingerprint() == before
    ct.mesh.write(surface.transformed((0.3, 0.0, 0.0)), tmp_path / "step2.obj")
    assert load_scene(path).fingerprint() != before


def test_wrong_animations_name_their_place(tmp_path):
    with pytest.raises(InputError, match=r"colliders\[0\].*no animation 'walk'; it has 'press'"):
        parse_scene(SMALL.replace("animation: press", "animation: walk")).build()
    with pytest.raises(InputError, match="no such file"):
        parse_scene(SMALL.replace("path: arm.glb, animation: press", "path: leg.glb")).build()


def test_replays_and_the_studio_have_the_moving_points(tmp_path):
    world = parse_scene(SMALL).build()
    frames = list(world.run(0.1, 50))
    points = [np.asarray(frame.colliders[0]["points"]) for frame in frames]
    assert np.abs(points[-1] - points[0]).max() > 0.002

    page = written("html", tmp_path, frames).read_text(encoding="utf-8")
    data = zlib.decompress(base64.b64decode(re.search('id="continua-replay"[^>]*>([^<]*)', page)[1]))
    header = json.loads(data[8 : 8 + struct.unpack_from("<II", data)[1]])
    motion = header["colliderMotions"]["0"]
    assert motion["counts"] == [len(points[0])] * len(frames)
    every = np.concatenate(points)
    assert motion["positions"]["low"] == pytest.approx(every.min(axis=0), abs=1e-6)
    assert motion["positions"]["high"] == pytest.approx(every.max(axis=0), abs=1e-6)

    encoder, scene = FrameEncoder(), SessionScene(world, color="von_mises")
    snapshots = [Snapshot(k, 1, frame, Stats(), scene) for k, frame in enumerate(frames)]
    encoder.encode_topology(snapshots[0])
    for snapshot, own in zip(snapshots, points, strict=True):
        assert own.astype("<f4").tobytes() in encoder.encode_frame(snapshot)


def test_a_run_written_as_glb_is_an_animation_again(tmp_path):
    world = load_scene("jelly").build()
    frames = list(world.run(0.2, 20))
    animation = ct.MeshAnimation.read(written("glb", tmp_path, frames))
    body = frames[0].bodies["jelly"] if "jelly" in frames[0].bodies else next(iter(frames[0].bodies.values()))
    for frame in frames:
        own = frame[body.name]
        used = np.unique(own.triangles)
        low, high = own.positions[used].min(axis=0), own.positions[used].max(axis=0)
        x = animation.positions(frame.time)
        assert x.min(axis=0) == pytest.approx(low, abs=1e-4)
        assert x.max(axis=0) == pytest.approx(high, abs=1e-4)

"""Exports and recordings, replays, screenshots, and notebook views."""

import json
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image
from studio_world import ListenerLog, client_of, make_session, make_world

import continua as ct
from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import make_sink
from continua.output.replay import squeezed
from continua.scene import load_scene
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.export.manager import ExportManager, export_formats
from continua.studio.protocol import Export, ExportCancel, Record
from continua.studio.session.catalog import open_session

SCENE = {
    "name": "cube",
    "seconds": 0.1,
    "fps": 50,
    "bodies": [
        {
            "type": "soft",
            "name": "cube",
            "mesh": {"type": "box", "cells": [1, 1, 1]},
            "pin": [{"where": {"type": "box", "min": [-1, -1, -1], "max": [2, 0.01, 2]}}],
        }
    ],
    "output": {"picture": {"size": [160, 90]}},
}


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def decode_deltas(data, counts, width):
    """Decode delta-encoded frames by their specification, independently of the code that wrote them."""
    half = len(data) // 2
    codes = data[:half].astype(int) + 256 * data[half:].astype(int)
    frames, start = [], 0
    for number, count in enumerate(counts):
        piece = codes[start : start + count * width].reshape(count, width)
        change = np.where(piece % 2 == 1, -(piece + 1) // 2, piece // 2)
        same = number > 0 and counts[number - 1] == count
        frames.append((change + (frames[-1] if same else 0)) % 65536)
        start += count * width
    return frames


def test_quantized_frames_are_within_half_a_step():
    generator = np.random.default_rng(3)
    frames = [generator.uniform(-2.0, 5.0, (40, 3)).cumsum(axis=0) for _ in range(4)]
    frames.append(generator.normal(size=(7, 3)))
    every = np.concatenate(frames)
    low, high = every.min(axis=0), every.max(axis=0)
    back = decode_deltas(squeezed(frames, low, high), [len(f) for f in frames], 3)
    for before, after in zip(frames, back, strict=True):
        error = np.abs(low + after * (high - low) / 65535 - before)
        assert (error <= 0.5001 * (high - low) / 65535).all()


def replay_of(text):
    """Return header and arrays of a replay, read by hand."""
    start = text.index('type="text/plain">') + len('type="text/plain">')
    data = zlib.decompress(b64decode(text[start : text.index("</script>", start)]))
    kind, length = struct.unpack_from("<II", data)
    assert kind == 3
    header = json.loads(data[8 : 8 + length])
    arrays = {}
    for name, entry in header["arrays"].items():
        dtype = {"f4": "<f4", "u4": "<u4", "u1": "u1"}[entry["type"]]
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(data, dtype, count, 8 + length + entry["offset"])
        arrays[name] = flat.reshape(entry["shape"])
    return header, arrays


def test_replay_is_one_file_with_the_positions_of_the_run(tmp_path):
    world = make_world()
    sink = make_sink("html", tmp_path)
    sink.open(RunInfo(name="swing", fps=20.0, view={"color": "displacement"}))
    kept = []
    for frame in world.run(0.2, 20.0):
        sink.write(frame)
        kept.append(frame["beam"])
    (path,) = sink.close()
    text = path.read_text(encoding="utf-8")
    assert path.name == "swing.html"
    assert "default-src 'none'" in text  # the browser itself blocks external resources
    assert 'src="' not in text.split('<script id="continua-replay"')[0]
    header, arrays = replay_of(text)
    assert header["times"] == pytest.approx([0.0, 0.05, 0.1, 0.15, 0.2])
    nodes = np.unique(kept[0].triangles)
    motion = header["motions"][0]
    low, high = (np.array(motion["positions"][side]) for side in ("low", "high"))
    found = decode_deltas(arrays["0/positions"], motion["counts"], 3)
    for body, whole in zip(kept, found, strict=True):
        positions = low + whole * (high - low) / 65535
        assert np.abs(positions - body.positions[nodes]).max() < 1e-4 * (high - low).max()
    assert np.array_equal(arrays["0/triangles"], np.searchsorted(nodes, kept[0].triangles))


@pytest.mark.parametrize("kind", ["webp", "gif"])
def test_animated_images_have_every_frame_at_the_right_rate(tmp_path, kind):
    world = make_world()
    sink = make_sink(kind, tmp_path)
    sink.open(RunInfo(name="swing", fps=10.0, view={"size": (96, 54)}))
    for frame in world.run(0.4, 10.0):
        sink.write(frame)
    (path,) = sink.close()
    with Image.open(path) as film:
        assert film.size == (96, 54)
        assert film.n_frames == 5
        film.seek(2)
        film.load()
        assert film.info["duration"] == 100


@pytest.fixture
def studio(tmp_path):
    scene = ct.Scene.from_data(SCENE)
    session, scenes = open_session(scene, tmp_path)
    log = ListenerLog()
    session.add_listener(1, log.listener)
    session.start()
    yield session, scenes, log, tmp_path
    session.stop()


def test_run_is_exported_in_the_background_and_can_be_downloaded(studio):
    session, scenes, log, folder = studio
    session.submit(1, Export(type="export", format="html"))
    wait_for(lambda: session.exports.status["files"])
    (file,) = session.exports.status["files"]
    assert file["name"] == "exports/cube-html/cube.html"
    assert not (folder / "exports" / "cube-html" / ".continua").exists()
    header, _ = replay_of((folder / file["name"]).read_text(encoding="utf-8"))
    assert len(header["times"]) == 6
    client = client_of(session, scenes)
    answer = client.get(f"/exported/{file['name']}")
    assert answer.content == (folder / file["name"]).read_bytes()
    assert answer.headers["content-disposition"].startswith("attachment")
    for other in ("exported/../x", "exported/secret.txt", "exported/%2e%2e/etc/passwd"):
        assert client.get(f"/{other}").status_code == 404
    assert log.failures == []


def test_cancelled_export_leaves_no_files(studio):
    session, _, _, folder = studio
    session.submit(1, Export(type="export", format="mp4"))
    wait_for(lambda: session.exports.status["job"] is not None)
    session.submit(1, ExportCancel(type="export_cancel"))
    wait_for(lambda: session.exports.status["job"] is None)
    assert session.exports.status["error"] == "the export was cancelled"
    assert session.exports.status["files"] == []
    assert not (folder / "exports" / "cube-mp4").exists()


def test_recording(studio):
    session, _, log, folder = studio
    session.submit(1, Record(type="record", on=True, format="html"))
    wait_for(lambda: (session.exports.status["recording"] or {"frames": 0})["frames"] > 5)
    session.submit(1, Record(type="record", on=False, format="html"))
    wait_for(lambda: session.exports.status["files"])
    (file,) = session.exports.status["files"]
    header, _ = replay_of((folder / file["name"]).read_text(encoding="utf-8"))
    assert len(header["times"]) > 5
    assert np.diff(header["times"]) == pytest.approx(0.02, abs=1e-6)  # 50 frames per second
    session.submit(1, Record(type="record", on=True, format="nonsense"))
    wait_for(lambda: log.failures)
    assert "no export format 'nonsense'" in log.failures[0][0]


def test_invalid_scene_cannot_be_exported(tmp_path):
    exports = ExportManager(lambda: None)
    session, _ = open_session(None, tmp_path)
    with pytest.raises(InputError, match="no bodies yet"):
        exports.start(session.editor.document, "html")
    assert exports.status["job"] is None
    assert set(export_formats()) >= {"html", "mp4", "webp", "gif", "glb", "usd", "vtu"}


def test_notebook_view_is_a_frame_protected_by_a_secret(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cell = {}
    exec("import continua as ct\nshown = ct.view(world, height=480)\n", {"world": make_world()} | cell, cell)
    shown = cell["shown"]
    try:
        frame = shown._repr_html_()
        assert f'src="{shown.address}"' in frame
        assert 'height="480"' in frame
        assert shown.address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(shown.address, timeout=20) as answer:
            page = answer.read().decode()
            assert "frame-ancestors *" in answer.headers["content-security-policy"]
        assert '<div id="root">' in page
        with urllib.request.urlopen(f"{shown.address}assets/studio.js", timeout=20) as answer:
            assert answer.status == 200  # relative addresses carry the secret
        bare = shown.address.rsplit("/", 2)[0] + "/"
        for refused in (bare, f"{bare}assets/studio.js", f"{bare}wrong-secret/"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(refused, timeout=20)
            caught.value.close()
            assert caught.value.code == 403
    finally:
        shown.close()
        shown.close()
    assert shown.closed
    assert not shown.session._thread.is_alive()
    with pytest.raises(InputError, match="100 to 10000"):
        ct.view(make_world(), height=3)


def test_screenshot_without_a_browser_is_drawn_by_the_renderer(tmp_path):
    scene = tmp_path / "cube.yaml"
    scene.write_text(json.dumps(SCENE))
    assert load_scene(scene).name == "cube"
    target = tmp_path / "cube.png"
    command = [sys.executable, "-m", "continua", "studio", str(scene), "--screenshot", str(target)]
    done = subprocess.run(
        [*command, "--at", "0.05"],
        capture_output=True,
        text=True,
        env={**__import__("os").environ, "CONTINUA_BROWSER": "none"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "the renderer, as there is no browser" in done.stdout
    with Image.open(target) as picture:
        assert picture.size == (1280, 720)
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 100


@pytest.mark.parametrize("soft", [True, False])
def test_worlds_with_rigid_bodies_are_recorded_and_drawn(tmp_path, monkeypatch, soft):
    from continua.studio.screenshot import screenshot

    monkeypatch.setenv("CONTINUA_BROWSER", "none")
    ball = {"type": "rigid", "name": "ball", "shape": {"type": "sphere"}, "color": "#00a000"}
    ball["transform"] = {"translate": [2, 0, 0]}
    data = {**SCENE, "bodies": [*(SCENE["bodies"] if soft else []), ball]}
    screenshot(ct.Scene.from_data(data), tmp_path / "shot.png", size=(320, 180))
    session, _ = open_session(ct.Scene.from_data(data), tmp_path)
    assert FrameEncoder().encode_topology(session.snapshot)
    assert session.snapshot.color == ("von_mises" if soft else None)
    session.add_listener(1, ListenerLog().listener)
    session.start()
    try:
        session.submit(1, Record(type="record", on=True, format="png"))
        wait_for(lambda: (session.exports.status["recording"] or {"frames": 0})["frames"] > 1)
        session.submit(1, Record(type="record", on=False, format="png"))
        wait_for(lambda: session.exports.status["recording"] is None)
        wait_for(lambda: session.exports.status["files"] or session.exports.status["error"])
        assert not session.exports.status["error"]
    finally:
        session.stop()
    for path in (tmp_path / "shot.png", *tmp_path.glob("exports/*/png/*.png")):
        with Image.open(path) as shown:
            image = np.asarray(shown.convert("RGB"), int)
        green = (image[..., 1] - image[..., 0] > 40) & (image[..., 1] - image[..., 2] > 40)
        assert green.mean() > 0.01


def test_python_world_cannot_be_exported():
    session = make_session()
    log = ListenerLog()
    session.add_listener(1, log.listener)
    session.start()
    try:
        session.submit(1, Export(type="export", format="html"))
        wait_for(lambda: log.failures)
        assert "record it instead" in log.failures[0][0]
    finally:
        session.stop()


@pytest.mark.filterwarnings("ignore:.*elements are inverted")
def test_time_dependent_motions_are_bitwise_identical_to_a_run(tmp_path):
    turned = {
        "where": {"type": "box", "min": [-1, 0.99, -1], "max": [2, 2, 2]},
        "motion": {
            "type": "rotate",
            "axis": [0, 1, 0],
            "point": [0.5, 0.5, 0.5],
            "degrees_per_second": 131.7,
        },
    }
    data = {**SCENE, "fps": 24, "dt": 0.006, "seconds": 1.0}
    data["bodies"] = [{**SCENE["bodies"][0], "drive": [turned]}]
    session, _ = open_session(ct.Scene.from_data(data), tmp_path)
    session.editor.store.save("turned.yaml")
    session.run_to(1.0)
    scene = load_scene(tmp_path / "turned.yaml")
    *_, last = scene.build().run(scene.seconds, scene.fps)
    shown = session.snapshot.frame
    assert (shown.time, shown.step) == (last.time, last.step)
    for name in ("positions", "rest_positions"):
        assert np.array_equal(getattr(shown["cube"], name), getattr(last["cube"], name))
    assert np.array_equal(shown["cube"]["velocity"], last["cube"]["velocity"])


def test_invalid_screenshot_options_are_rejected_before_anything_runs(tmp_path):
    from continua.studio.screenshot import screenshot

    for target, at, said in (
        (tmp_path / "x.jpg", 0.0, ".png file"),
        (tmp_path / "none" / "x.png", 0.0, "no such folder"),
        (tmp_path / "x.png", float("inf"), "finite"),
        (tmp_path / "x.png", float("nan"), "finite"),
    ):
        with pytest.raises(ct.InputError, match=said):
            screenshot("jelly", target, at=at)
    assert not list(tmp_path.iterdir())

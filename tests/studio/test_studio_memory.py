"""Replaced worlds are freed, and buffers stay bounded."""

import json
import time
import weakref

import pytest
from studio_world import ListenerLog, make_session, make_world

from continua.scene import parse_scene
from continua.studio.editor.document import Document, Edit, empty_scene
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.export.manager import ExportManager
from continua.studio.protocol import parse_command
from continua.studio.server.app import _view_change
from continua.studio.session.catalog import open_session
from continua.studio.session.session import Session
from continua.studio.session.snapshot import SessionScene
from continua.studio.session.world_gc import WorldCollector


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def send_command(session, **command):
    session.submit(1, parse_command(json.dumps(command)))


@pytest.fixture
def session():
    """A session with one listener that builds a new world for every scene."""
    session = Session("test", lambda _name: SessionScene(make_world()))
    session.add_listener(1, ListenerLog().listener)
    session.start()
    yield session
    session.stop()


def test_world_is_freed_after_another_scene_was_opened(session):
    worlds = []
    for _ in range(3):
        wait_for(lambda: session.snapshot.frame.step > 1)
        worlds.append(weakref.ref(session._world))
        send_command(
            session,
            type="pull_begin",
            id=1,
            body="beam",
            triangle=3,
            barycentric=[0.3, 0.3, 0.4],
            target=[1, 1, 0],
        )
        send_command(session, type="pin_node", body="beam", node=40)
        epoch = session.snapshot.epoch
        send_command(session, type="load_scene", name="test")
        wait_for(lambda: session.snapshot.epoch > epoch)  # noqa: B023
    wait_for(lambda: all(world() is None for world in worlds))  # the session itself collects garbage


def test_worlds_are_freed_after_builds(tmp_path):
    text = "bodies: [{type: soft, name: bar, mesh: {type: box, size: [1, 0.2, 0.2], cells: [4, 1, 1]}}]"
    session, _ = open_session(parse_scene(text), tmp_path)
    session.add_listener(1, ListenerLog().listener)
    session.start()
    worlds = []
    for _ in range(4):
        worlds.append(weakref.ref(session._world))
        epoch = session.snapshot.epoch
        send_command(session, type="build")
        wait_for(lambda: session.snapshot.epoch > epoch)  # noqa: B023
    wait_for(lambda: all(world() is None for world in worlds))
    session.stop()


def test_quickly_replaced_worlds_do_not_accumulate(session):
    worlds = []
    for number in range(12):
        worlds.append(weakref.ref(session._world))
        send_command(session, type="load_scene", name="test")
        wait_for(lambda: session.snapshot.epoch >= number + 2)  # noqa: B023
        assert sum(world() is not None for world in worlds) <= 9


def test_collection_waits_for_a_quiet_time_and_runs_once(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("continua.studio.session.world_gc.time.monotonic", lambda: now[0])
    collector = WorldCollector()
    assert not collector.collect()
    collector.add()
    assert not collector.collect()
    now[0] += 1.5
    assert collector.collect()
    assert not collector.collect()


def test_undo_is_limited_to_two_hundred_edits(tmp_path):
    document = Document(empty_scene(), tmp_path)
    for number in range(230):
        document.edit([Edit("set", ("seconds",), 1.0 + number)])
    document.replace("bodies: [{type: soft, name: box, mesh: {type: box}}]", "loading")
    count = 0
    while document.undo_text is not None:
        document.undo()
        count += 1
    assert count == 200
    assert document.data["seconds"] == 1.0 + 30  # the oldest ones were dropped


def test_buffers_of_a_session_are_bounded():
    session = make_session()
    session.run_to(8.0)  # 800 steps
    for _ in range(700):
        session.publisher.dirty = True
        session._publish(force=True)
    assert len(session.snapshot.samples) == 600
    assert len(session.publisher.times) == 0
    session.exports.close()


def test_only_the_newest_exports_are_listed(tmp_path):
    exports = ExportManager(lambda: None)
    for number in range(25):
        path = tmp_path / "exports" / f"{number}" / "run.glb"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
        exports._add("glb", [path], tmp_path)
    exports.update_status()
    names = [file["name"] for file in exports.status["files"]]
    assert names == [f"exports/{number}/run.glb" for number in range(24, 4, -1)]
    assert exports.path("exports/24/run.glb") is not None
    assert exports.path("exports/0/run.glb") is None


def test_last_view_command_of_each_type_wins():
    encoder, changes = FrameEncoder(1), {}
    for number in range(100):
        for command in ({"type": "color_by", "field": f"f{number}"}, {"type": "clip", "axis": number % 3}):
            parsed = parse_command(json.dumps(command))
            changes[type(parsed)] = _view_change(encoder, parsed)
    assert len(changes) == 2
    for change in changes.values():
        change()
    assert encoder.field == "f99"
    assert _view_change(encoder, parse_command('{"type": "play"}')) is None

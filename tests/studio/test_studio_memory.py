"""What a session drops is really gone, and what it keeps stays small."""

import json
import time
import weakref

import pytest
from studio_world import Ear, make_session, make_world

from continua.scene import parse_scene
from continua.studio.editor.document import Document, Edit, empty_scene
from continua.studio.encoding.frame_encoder import Encoder
from continua.studio.export.manager import Exports
from continua.studio.protocol import parse_command
from continua.studio.server.app import _wish
from continua.studio.session.catalog import open_session
from continua.studio.session.session import Session
from continua.studio.session.snapshot import Opening
from continua.studio.session.world_gc import Leftovers


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def say(session, **command):
    session.submit(1, parse_command(json.dumps(command)))


@pytest.fixture
def session():
    """A session that opens a new world whenever it is asked, with somebody who listens."""
    session = Session("test", lambda _name: Opening(make_world()))
    session.listen(1, Ear().listener)
    session.start()
    yield session
    session.stop()


def test_a_world_is_gone_after_another_scene_was_opened(session):
    gone = []
    for _ in range(3):
        wait_for(lambda: session.snapshot.frame.step > 1)
        gone.append(weakref.ref(session._world))
        say(
            session,
            type="pull_begin",
            id=1,
            body="beam",
            triangle=3,
            barycentric=[0.3, 0.3, 0.4],
            target=[1, 1, 0],
        )
        say(session, type="pin", body="beam", node=40)
        epoch = session.snapshot.epoch
        say(session, type="scene", name="test")
        wait_for(lambda: session.snapshot.epoch > epoch)  # noqa: B023
    wait_for(lambda: all(world() is None for world in gone))  # nobody here collects garbage: the session does


def test_worlds_are_gone_after_builds(tmp_path):
    text = "bodies: [{type: soft, name: bar, mesh: {type: box, size: [1, 0.2, 0.2], cells: [4, 1, 1]}}]"
    session, _ = open_session(parse_scene(text), tmp_path)
    session.listen(1, Ear().listener)
    session.start()
    worlds = []
    for _ in range(4):
        worlds.append(weakref.ref(session._world))
        epoch = session.snapshot.epoch
        say(session, type="build")
        wait_for(lambda: session.snapshot.epoch > epoch)  # noqa: B023
    wait_for(lambda: all(world() is None for world in worlds))
    session.stop()


def test_worlds_do_not_pile_up_while_scenes_follow_each_other_quickly(session):
    worlds = []
    for number in range(12):
        worlds.append(weakref.ref(session._world))
        say(session, type="scene", name="test")
        wait_for(lambda: session.snapshot.epoch >= number + 2)  # noqa: B023
        assert sum(world() is not None for world in worlds) <= 9


def test_sweeping_waits_for_a_quiet_moment_and_happens_once(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("continua.studio.session.world_gc.time.monotonic", lambda: now[0])
    leftovers = Leftovers()
    assert not leftovers.sweep()
    leftovers.add()
    assert not leftovers.sweep()
    now[0] += 1.5
    assert leftovers.sweep()
    assert not leftovers.sweep()


def test_undo_remembers_two_hundred_edits_and_no_more(tmp_path):
    document = Document(empty_scene(), tmp_path)
    for number in range(230):
        document.edit([Edit("set", ("seconds",), 1.0 + number)])
    document.replace("bodies: [{type: soft, name: box, mesh: {type: box}}]", "loading")
    count = 0
    while document.undo_text is not None:
        document.undo()
        count += 1
    assert count == 200
    assert document.data["seconds"] == 1.0 + 30  # the oldest ones were forgotten


def test_buffers_of_a_session_stay_bounded_while_it_runs():
    session = make_session()
    session.go_to(8.0)  # 800 steps
    for _ in range(700):
        session.news.dirty = True
        session._publish(force=True)
    assert len(session.snapshot.samples) == 600
    assert len(session.news.times) == 0
    session.exports.close()


def test_only_the_newest_exports_are_known(tmp_path):
    exports = Exports(lambda: None)
    for number in range(25):
        path = tmp_path / "exports" / f"{number}" / "run.glb"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
        exports._add("glb", [path], tmp_path)
    exports._tell()
    names = [file["name"] for file in exports.status["files"]]
    assert names == [f"exports/{number}/run.glb" for number in range(24, 4, -1)]
    assert exports.path("exports/24/run.glb") is not None
    assert exports.path("exports/0/run.glb") is None


def test_of_many_wishes_of_a_page_the_last_of_each_kind_counts():
    encoder, changes = Encoder(1), {}
    for number in range(100):
        for command in ({"type": "color", "field": f"f{number}"}, {"type": "cut", "axis": number % 3}):
            parsed = parse_command(json.dumps(command))
            changes[type(parsed)] = _wish(encoder, parsed)
    assert len(changes) == 2
    for change in changes.values():
        change()
    assert encoder.field == "f99"
    assert _wish(encoder, parse_command('{"type": "play"}')) is None

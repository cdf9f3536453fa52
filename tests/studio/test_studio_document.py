import json
import random
import time

import numpy as np
import pytest
from studio_world import ListenerLog, client_of

from continua.errors import InputError
from continua.scene import load_scene, parse_scene, shipped_scenes
from continua.scene.templates import MATERIALS
from continua.studio.editor.document import Document, Edit, InvalidEditError, empty_scene, yaml_text
from continua.studio.editor.document_store import DocumentStore
from continua.studio.editor.templates import new_object, templates
from continua.studio.editor.uploads import store_upload
from continua.studio.protocol import parse_command
from continua.studio.session.catalog import open_session

BEAM = {
    "name": "beam",
    "bodies": [
        {
            "type": "soft",
            "name": "bar",
            "mesh": {"type": "box", "size": [1.0, 0.2, 0.2], "cells": [4, 1, 1]},
            "material": {"type": "corotated", "young": 1e5},
            "pin": [{"where": "left"}, {"where": {"type": "nodes", "nodes": [3, 4]}}],
            "load_volume": [{"force": [0, -5, 0]}],
        }
    ],
}


@pytest.fixture
def document(tmp_path):
    return Document(json.loads(json.dumps(BEAM)), tmp_path)


def young(document):
    return document.data["bodies"][0]["material"]["young"]


def put(document, *path, value, **options):
    document.edit([Edit("set", path, value)], **options)


def test_undo_and_redo(document):
    first = json.dumps(document.data)
    put(document, "bodies", 0, "material", "young", value=300)
    document.edit([Edit("add", ("colliders",), {"type": "plane"})], "adding a floor")
    document.edit([Edit("remove", ("bodies", 0, "pin", 0))], "removing a pin")
    last = json.dumps(document.data)
    assert document.undo_text == "removing a pin"
    for _ in range(3):
        document.undo()
    assert json.dumps(document.data) == first
    assert document.undo_text is None
    for _ in range(3):
        document.redo()
    assert json.dumps(document.data) == last
    document.undo()
    put(document, "dt", value=0.02)
    assert document.redo_text is None


def test_moves_of_a_slider_are_one_edit(document):
    for value in (2e5, 3e5, 4e5):
        put(document, "bodies", 0, "material", "young", value=value, merge="young")
    document.undo()
    assert young(document) == 1e5


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("bodies", 0, "material", "poisson"), 0.6, "at most 0.5"),
        (("bodies", 0, "material", "young"), "soft", "must be a number"),
        (("bodies", 0, "material", "colour"), 1, "unknown key"),
        (("bodies", 0, "mesh", "cells"), [0, 1, 1], "at least 1"),
        (("bodies", 7, "name"), "x", "no such key"),
        (("bodies", 0, "mesh"), {"type": "file", "path": "/etc/passwd"}, "inside the folder"),
        (("bodies", 0, "mesh"), {"type": "file", "path": "../x.obj"}, "inside the folder"),
        (("bodies", 0, "mesh"), {"type": "file", "path": "~/x.obj"}, "inside the folder"),
        (("bodies", 0, "mesh"), {"type": "file", "path": "C:\\x.obj"}, "inside the folder"),
    ],
)
def test_invalid_edit_is_rejected_and_changes_nothing(document, path, value, words):
    before = json.dumps(document.data)
    with pytest.raises(InvalidEditError, match=words):
        document.edit([Edit("set", ("dt",), 0.5), Edit("set", path, value)])
    assert json.dumps(document.data) == before
    assert document.version == 0


def test_new_mesh_drops_selections_by_node_index(document):
    put(document, "bodies", 0, "mesh", "cells", value=[8, 2, 2])
    assert document.data["bodies"][0]["pin"] == [{"where": "left"}]
    assert "1 boundary condition was removed" in document.notice
    document.undo()
    assert len(document.data["bodies"][0]["pin"]) == 2


@pytest.mark.parametrize("name", list(shipped_scenes()))
def test_shipped_scenes_round_trip_through_yaml(name, tmp_path):
    scene = load_scene(name)
    document = Document.of(scene, tmp_path)
    again = parse_scene(document.yaml())
    assert again.model_dump() == scene.model_dump()
    assert yaml_text(document.data) == yaml_text(again.model_dump(mode="json", exclude_unset=True))


def test_numeric_strings_stay_strings():
    data = {**empty_scene(), "name": "1e6", "description": "no"}
    data["bodies"] = [{"type": "soft", "name": "007", "mesh": {"type": "box"}}]
    scene = parse_scene(yaml_text(data))
    assert (scene.name, scene.description, scene.bodies[0].name) == ("1e6", "no", "007")


def test_python_script_builds_the_same_scene(document):
    names = {}
    text = document.python().replace("for frame in world.run", "for frame in ()and world.run")
    exec(text, names)
    assert names["scene"].model_dump() == document.scene().model_dump()
    assert len(names["world"].bodies) == 1


def test_save_autosave_and_recover(document, tmp_path):
    store = DocumentStore(document)
    put(document, "dt", value=0.02)
    store.autosave(0.0)
    store.autosave(1.0)
    assert not (tmp_path / ".continua").exists()  # only after a delay
    store.autosave(9.0)  # less than ten seconds after the edit
    kept = DocumentStore(Document(json.loads(json.dumps(BEAM)), tmp_path))
    assert kept.recoverable
    kept.recover()
    assert kept.document.data["dt"] == 0.02
    assert store.save("my beam") == "my beam.yaml"
    assert load_scene(tmp_path / "my beam.yaml").dt == 0.02
    assert not DocumentStore(document).recoverable
    assert store.describe()["files"] == ["my beam.yaml"]
    for name in ("../x", "/tmp/x", "a/b", ".hidden", ""):
        if name:
            with pytest.raises(InputError, match="file name"):
                store.save(name)


def test_every_template_is_a_valid_scene():
    bodies = ["soft", "cloth", "shell", "rigid", "springs", "position_based"]
    bodies += ["fluid", "smoke", "liquid", "wind_tunnel"]
    assert list(templates()["kinds"]) == [*bodies, "collider", "joint", "emitter"]
    for kind, shapes in templates()["shapesByKind"].items():
        assert kind in templates()["kinds"]
        for shape in shapes:
            assert shape in templates()["shapes"]
            data = json.loads(json.dumps({**empty_scene(), "bodies": BEAM["bodies"]}))
            for edit in new_object(kind, shape, data, {}):
                data.setdefault(edit.path[0], []).append(json.loads(json.dumps(edit.value)))
            parse_scene(yaml_text(data))
    for material in MATERIALS.values():
        body = {**BEAM["bodies"][0], "material": material}
        parse_scene(yaml_text({**BEAM, "bodies": [body]}))


CUBE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n" + "".join(
    f"f {a} {b} {c}\nf {a} {c} {d}\n"
    for a, b, c, d in ((1, 4, 3, 2), (5, 6, 7, 8), (1, 2, 6, 5), (3, 4, 8, 7), (1, 5, 8, 4), (2, 3, 7, 6))
)


def test_uploaded_mesh_gets_a_unique_name(tmp_path):
    entry = store_upload(CUBE.encode(), "../../cube one.obj", "soft", tmp_path, BEAM)
    assert entry["value"]["mesh"]["path"] == "cube-one.obj"
    assert entry["value"]["mesh"]["tetrahedralize"]["size"] > 0
    again = store_upload(CUBE.replace("v 1 1 1", "v 1 1 2").encode(), "cube-one.obj", "rigid", tmp_path, BEAM)
    assert again["value"]["shape"]["path"] == "cube-one-2.obj"
    assert (tmp_path / "cube-one.obj").read_text() == CUBE


def test_an_animated_file_becomes_an_animated_collider(tmp_path):
    content = load_scene("arm").file("arm.glb").read_bytes()
    entry = store_upload(content, "arm.glb", "collider", tmp_path, BEAM)
    assert entry["list"] == "colliders"
    assert entry["value"] == {"type": "animated_mesh", "name": "arm", "path": "arm.glb", "loop": True}
    assert store_upload(CUBE.encode(), "cube.obj", "collider", tmp_path, BEAM)["value"]["type"] == "mesh"
    assert store_upload(content, "arm.glb", "rigid", tmp_path, BEAM)["value"]["type"] == "rigid"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.obj", b""),
        ("a.obj", b"v 1 2\nf 1 2 3\n"),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n"),
        ("a.obj", b"\xff\xfe\x00" * 50),
        ("a.obj", b"v nan nan nan\n" * 3 + b"f 1 2 3\n"),
        ("a.obj", b"f " + b"9" * 400 + b" 1 2\n"),
        ("a.stl", b"solid x\nfacet normal\n"),
        ("a.stl", b"\0" * 84),
        ("a.stl", b"\0" * 80 + b"\xff\xff\xff\xff"),
        ("a.stl", b"x"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 99999999\n"),
        ("a.ply", b"ply\nformat binary_little_endian 1.0\nend_header\n"),
        ("a.ply", b"not a ply"),
        ("a.off", b"OFF\n3 1 0\n0 0 0\n"),
        ("a.msh", b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"),
        ("a.vtu", b"<?xml version='1.0'?><VTKFile><!ENTITY a 'b'></VTKFile>"),
        ("a.vtu", b"<VTKFile"),
        ("a.vtk", b"# vtk DataFile Version 3.0\nx\nBINARY\n"),
        ("a.mesh", b"MeshVersionFormatted 2\nDimension 3\nVertices\n5\n"),
        ("a.exe", b"MZ"),
        ("noname", b"x"),
        ("", b"x"),
    ],
)
def test_malformed_upload_is_rejected_and_leaves_no_file(tmp_path, name, content):
    with pytest.raises(InputError):
        store_upload(content, name, "soft", tmp_path, BEAM)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def session(tmp_path):
    session, _ = open_session(parse_scene(yaml_text(BEAM)), tmp_path)
    session.start()
    log = ListenerLog()
    session.add_listener(1, log.listener)
    yield session, log
    session.stop()
    assert not session._thread.is_alive()


def send_command(session, **command):
    session.submit(1, parse_command(json.dumps(command)))


def edit(session, *path, value, op="set", field=""):
    send_command(session, type="edit", changes=[{"op": op, "path": list(path), "value": value}], field=field)


def wait_for(condition, seconds=60.0):
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end, "waited in vain"
        time.sleep(0.005)


def test_running_world_applies_parameters_and_needs_a_rebuild_for_other_edits(session):
    session, log = session
    wait_for(lambda: session.snapshot.frame.step > 2)
    edit(session, "bodies", 0, "material", "young", value=5e5)
    wait_for(lambda: session.state["values"]["bar/material/young"] == 5e5)
    wait_for(lambda: session.state["worldVersion"] == session.editor.document.version == 1)
    edit(session, "bodies", 0, "load_volume", 0, "force", value=[0, -9, 0])
    wait_for(lambda: session.state["values"]["bar/boundary/2/force"] == [0, -9, 0])
    edit(session, "bodies", 0, "mesh", "cells", value=[6, 1, 1])
    wait_for(lambda: session.state["worldVersion"] < session.editor.document.version == 3)
    assert len(session.snapshot.frame["bar"].positions) == 20
    wait_for(lambda: log.failures)  # the removal of index selections is reported
    send_command(session, type="build")
    wait_for(lambda: session.state["worldVersion"] == 3)
    assert session.snapshot.frame.step == 0
    assert len(session.snapshot.frame["bar"].positions) == 28


def test_changed_parameter_is_written_to_the_document(session):
    session, _ = session
    for key, value in (("bar/material/young", 7e5), ("bar/damping/mass", 2.0), ("world/gravity", [0, -1, 0])):
        send_command(session, type="set_parameter", key=key, value=value)
    document = session.editor.document
    wait_for(lambda: document.data.get("gravity") == [0, -1, 0])
    assert document.data["bodies"][0]["material"]["young"] == 7e5
    assert document.data["bodies"][0]["damping"] == {"mass": 2.0}


def test_studio_is_bitwise_identical_to_a_run(session):
    session, _ = session
    send_command(session, type="reset")
    edit(session, "seconds", value=0.3)
    send_command(session, type="time_limit", on=True)
    send_command(session, type="fast", on=True)
    send_command(session, type="play")
    wait_for(lambda: session.snapshot.frame.time > 0.299 and not session.state["playing"])
    scene = parse_scene(session.editor.document.yaml())
    *_, last = scene.build().run(scene.seconds, scene.fps)
    np.testing.assert_array_equal(session.snapshot.frame["bar"].positions, last["bar"].positions)


def test_failed_build_keeps_the_world(session):
    session, _ = session
    send_command(session, type="reset")
    edit(
        session,
        "bodies",
        0,
        "pin",
        value={"where": {"type": "sphere", "center": [9, 9, 9], "radius": 0.1}},
        op="add",
    )
    wait_for(lambda: session.state["buildError"])
    assert "selects no node" in session.state["buildError"]
    assert len(session.snapshot.frame["bar"].positions) == 20
    send_command(session, type="undo")
    wait_for(
        lambda: (
            session.state["buildError"] is None
            and session.state["worldVersion"] == session.editor.document.version
        )
    )


def test_random_edits_never_end_the_session(session):
    session, log = session
    send_command(session, type="pause")
    random.seed(3)
    paths = [
        ["bodies", 0, "material"], ["bodies", 0, "mesh", "size"], ["bodies", 0, "name"], ["gravity"], ["dt"], ["wind"],
        ["bodies", 0, "pin", 0, "where"], ["bodies", 3], ["output", "folder"], ["bodies", 0, "order"], ["contact"],
    ]  # fmt: skip
    values = [
        None,
        0,
        -1,
        1e300,
        "",
        "x" * 3000,
        [],
        [1, 2],
        {},
        {"type": "box"},
        True,
        {"a": {"b": []}},
        2**70,
    ]
    for _ in range(50):
        op = random.choice(["set", "add", "remove"])
        edit(session, *random.choice(paths), value=random.choice(values), op=op, field="f")
    edit(session, "description", value="still here")
    wait_for(lambda: session.editor.document.data.get("description") == "still here")
    assert session._thread.is_alive()
    assert log.failures


def test_scene_texts_are_served_and_a_foreign_page_cannot_upload(tmp_path):
    session, scenes = open_session(parse_scene(yaml_text(BEAM)), tmp_path)
    with client_of(session, scenes) as client:
        assert parse_scene(client.get("/scene.yaml").text).bodies[0].name == "bar"
        assert "ct.Scene.from_data" in client.get("/scene.py").text
        answer = client.post("/upload?name=c.obj&kind=rigid", content=CUBE)
        assert answer.json()["value"]["name"] == "c"
        foreign = {"origin": "http://evil.example"}
        assert client.post("/upload?name=d.obj", content=CUBE, headers=foreign).status_code == 403
        assert not (tmp_path / "d.obj").exists()
        assert "message" in client.post("/upload?name=e.obj", content=b"v").json()

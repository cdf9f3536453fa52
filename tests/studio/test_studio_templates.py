"""Everything that the studio offers to add, and every scene to start from, gives a scene that builds and runs."""

import numpy as np
import pytest
from studio_world import ListenerLog
from test_studio_session import send_command, wait_for

from continua.errors import InputError
from continua.frames import Frame
from continua.studio.controls.control_panel import ControlPanel
from continua.studio.editor.document import Document, empty_scene
from continua.studio.editor.scene_editor import SceneEditor
from continua.studio.editor.starters import STARTERS
from continua.studio.editor.templates import new_object, templates
from continua.studio.protocol import AddShape, StartFrom
from continua.studio.session.catalog import build_session_scene, open_session

FEATURES = ("smoke", "liquid", "wind_tunnel", "joint", "emitter")
ADDITIONS = [(kind, shape) for kind in FEATURES for shape in templates()["shapesByKind"][kind]]


def editor_of(data, folder):
    editor = SceneEditor(Document(data, folder), build_session_scene)
    return editor, build_session_scene(editor).world


def add(editor, world, kind, shape):
    editor.edit(AddShape(type="add_shape", kind=kind, shape=shape), world, ControlPanel(world))
    scene = editor.build()
    assert editor.build_error is None
    return scene.world


def test_every_kind_of_addition_is_listed():
    assert set(FEATURES) <= set(templates()["kinds"])
    for kind, shapes in templates()["shapesByKind"].items():
        assert shapes, kind
        assert set(shapes) <= set(templates()["shapes"])
    with pytest.raises(InputError, match="cannot be added as joint"):
        new_object("joint", "torus", empty_scene(), {})


@pytest.mark.parametrize(("kind", "shape"), ADDITIONS)
def test_addition_builds_and_steps_alone_and_again(kind, shape, tmp_path):
    editor, world = editor_of(empty_scene(), tmp_path)
    for _ in range(2):
        world = add(editor, world, kind, shape)
        frame = stepped(world, 2)
        assert all(np.isfinite(body.positions).all() for body in frame)
    editor.document.scene()  # a valid scene file


def stepped(world, count) -> Frame:
    for _ in range(count):
        world.step()
    return world.frame()


def test_joint_connects_the_rigid_bodies_of_the_scene(tmp_path):
    editor, world = editor_of(empty_scene(), tmp_path)
    for _ in range(2):
        world = add(editor, world, "rigid", "box")
    world = add(editor, world, "joint", "ball")
    (joint,) = editor.document.data["joints"]
    assert (joint["a"], joint["b"]) == ("box-2", "box")
    centers = [body["transform"]["translate"] for body in editor.document.data["bodies"]]
    np.testing.assert_allclose(joint["point"], np.mean(centers, axis=0))
    world = add(editor, world, "joint", "hinge")  # all are joined now: a bar of its own hangs from the world
    assert [body["name"] for body in editor.document.data["bodies"]] == ["box", "box-2", "bar"]
    point = editor.document.data["joints"][1]["point"]
    before = world.frame()["bar"].positions
    after = stepped(world, 20)["bar"].positions
    distance = [np.linalg.norm(p - point, axis=1) for p in (before, after)]
    np.testing.assert_allclose(distance[0], distance[1], atol=1e-3)  # it swings about the hinge
    assert after[:, 1].mean() < before[:, 1].mean() - 1e-3


def test_emitter_belongs_to_the_fluid_that_is_there(tmp_path):
    editor, world = editor_of(empty_scene(), tmp_path)
    world = add(editor, world, "smoke", "smoke")
    world = add(editor, world, "emitter", "smoke_source")
    (smoke,) = editor.document.data["bodies"]
    assert len(smoke["inflow"]) == 2
    center = np.array(smoke["inflow"][1]["shape"]["center"])
    assert (center > smoke["origin"]).all()
    assert (center < np.add(smoke["origin"], smoke["size"])).all()


def test_additions_stand_beside_grids_too(tmp_path):
    """The mesh of a smoke body is its mid-plane only, and that of a tank its water only."""
    editor, world = editor_of(empty_scene(), tmp_path)
    world = add(editor, world, "liquid", "liquid")
    world = add(editor, world, "soft", "box")
    tank, box = editor.document.data["bodies"]
    assert box["transform"]["translate"][0] - 0.5 > tank["origin"][0] + tank["size"][0]


@pytest.mark.parametrize("name", STARTERS)
def test_starter_runs_and_one_undo_gives_the_empty_scene_back(name, tmp_path):
    session, _ = open_session(None, tmp_path)
    session.start()
    session.add_listener(1, ListenerLog().listener)
    try:
        send_command(session, type="start_from", name=name)
        wait_for(lambda: session.snapshot.frame.step > 1, 300)
        assert session.state["playing"]
        assert session.state["buildError"] is None
        assert len(session.editor.document.data["bodies"]) > 0
        send_command(session, type="undo")
        send_command(session, type="build")
        wait_for(lambda: session.snapshot.frame.step == 0 and not len(list(session.snapshot.frame)))
        assert session.editor.document.data == empty_scene()
    finally:
        session.stop()


def test_unknown_starter_is_refused(tmp_path):
    editor, world = editor_of(empty_scene(), tmp_path)
    with pytest.raises(InputError, match="no scene 'x' to start from"):
        editor.edit(StartFrom(type="start_from", name="x"), world, None)
    assert editor.document.data == empty_scene()

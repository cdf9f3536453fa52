"""The running world has the parameters of the document, or the page says that a rebuild is needed."""

import copy
import json
import random

import numpy as np
import pytest
from studio_world import ListenerLog

from continua.errors import InputError
from continua.scene import cost, parse_scene
from continua.studio.controls.control_panel import ControlPanel
from continua.studio.editor.document import Document, yaml_text
from continua.studio.editor.scene_editor import SceneEditor
from continua.studio.protocol import parse_command
from continua.studio.session.catalog import build_session_scene, open_session

SCENE = {
    "name": "mixed",
    "bodies": [
        {
            "type": "soft",
            "name": "bar",
            "mesh": {"type": "box", "size": [1.0, 0.2, 0.2], "cells": [4, 1, 1]},
            "material": {"type": "corotated", "young": 1e5},
            "parts": [{"where": "right", "density": 500.0}],
            "damping": {"rotated": 0.01},
            "newton": 2,
            "pin": [{"where": "left"}],
            "load_volume": [{"force": [0, -5, 0]}],
            "pull": [{"point": [1, 0.1, 0.1], "target": [1, 0.3, 0.1]}],
        },
        {
            "type": "rigid",
            "name": "ball",
            "shape": {"type": "sphere", "radius": 0.1},
            "transform": {"translate": [3, 2, 0]},
        },
    ],
    "colliders": [{"type": "plane", "name": "floor", "point": [0, -1, 0]}],
}
LIVE = [
    ("bar/material/young", [1e5, 2e5, 7e4]),
    ("bar/material/poisson", [0.3, 0.2]),
    ("bar/part/0/young", [1e5, 5e5]),
    ("bar/damping/mass", [0.0, 2.0]),
    ("bar/integrator", ["implicit_euler", "newmark", "explicit"]),
    ("bar/integrator/newmark/beta", [0.25, 0.4]),
    ("bar/integrator/newmark/gamma", [0.5, 0.8]),
    ("bar/integrator/implicit_euler/newton", [1, 2, 3]),
    ("bar/boundary/1/force", [[0, -5, 0], [0, -9, 0]]),
    ("bar/boundary/2/stiffness", [50.0, 80.0]),
    ("ball/friction", [0.1, 0.9]),
    ("world/gravity", [[0, -9.81, 0], [0, -1, 0]]),
    ("world/dt", [0.01, 0.005, 0.007]),
    ("world/wind", [True, False]),
    ("world/wind/velocity", [[1, 0, 0], [5, 0, 0]]),
]
EDITS = [
    (["gravity"], [[0, -9.81, 0], [0, -3, 0], None]),
    (["dt"], [0.01, 0.02, None]),
    (["wind"], [None, {"velocity": [1, 0, 0]}, {"velocity": [2, 0, 0], "gust": 0.5}]),
    (["description"], ["a", "b"]),
    (["seconds"], [2.0, 3.0]),
    (["fps"], [60.0, 30.0]),
    (["output"], [{"picture": {"color": "plain"}}, {"fields": ["stress"]}, {}]),
    (["bodies", 0, "material"], [{"type": "corotated", "young": 1e5}, {"type": "neo_hookean", "young": 1e5}]),
    (["bodies", 0, "material", "young"], [1e5, 3e5]),
    (["bodies", 0, "material", "density"], [1000.0, 800.0]),
    (["bodies", 0, "mesh", "cells"], [[4, 1, 1], [5, 1, 1]]),
    (["bodies", 0, "damping"], [{"rotated": 0.01}, {"rotated": 0.02, "mass": 1.0}]),
    (["bodies", 0, "integrator"], ["newmark", {"type": "newmark", "beta": 0.3}, None]),
    (["bodies", 0, "newton"], [None, 3]),
    (["bodies", 0, "pin"], [[{"where": "left"}], [{"where": "left"}, {"where": "right"}]]),
    (["bodies", 0, "load_volume", 0, "force"], [[0, -5, 0], [0, 5, 0]]),
    (["bodies", 0, "pull", 0, "stiffness"], [None, 60.0]),
    (["bodies", 0, "name"], ["bar", "rod"]),
    (["bodies", 1, "friction"], [None, 0.5]),
]


def signature(world, panel, fps):
    """Return what distinguishes two worlds of the test's scenes, without their state of motion."""
    values = panel.values()
    by_mouse = [key for key in values if key.endswith(("/on", "/factor"))]
    bodies = {
        body.name: (type(body).__name__, body.frame(world.fields).rest_positions.tolist())
        for body in world.bodies
    }
    constants = {
        body.name: (body.material, [law for _, law in body.parts], body.integrator, body.damping_time)
        for body in world.bodies
        if hasattr(body, "material")
    }
    rigid = {
        body.name: (body.friction, body.restitution) for body in world.bodies if hasattr(body, "friction")
    }
    return (
        {key: value for key, value in values.items() if key not in by_mouse},
        bodies,
        constants,
        rigid,
        [collider.description() for collider in world.colliders],
        list(world.fields),
        fps,
    )


def built(document, folder):
    """Return a world built from a document, its panel and its frames per second."""
    editor = SceneEditor(Document(copy.deepcopy(document.data), folder), build_session_scene)
    scene = build_session_scene(editor)
    return scene.world, ControlPanel(scene.world), scene.frame_schedule[1]


def run(session, **command):
    """Execute a command as the simulation's thread does; return whether it was accepted."""
    failures = []
    session.publisher.listeners.notify_failure = lambda client, message, key: failures.append(message)
    session._run_command(1, parse_command(json.dumps(command)))
    session._sync_document()
    return failures


def differs(session, folder):
    """Return whether a world built from the document differs from the running one, or cannot be built."""
    running = session._world, session.panel, session.snapshot.scene.frame_schedule[1]
    try:
        fresh = built(session.editor.document, folder)
    except InputError:
        return True
    return repr(signature(*running)) != repr(signature(*fresh))


@pytest.mark.parametrize("seed", range(6))
def test_a_rebuild_is_needed_exactly_when_document_and_world_differ(seed, tmp_path):
    choose = random.Random(seed)
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="step")
    for _ in range(40):
        kind = choose.choice(
            ["live", "live", "edit", "edit", "undo", "undo", "redo", "build", "reset", "step"]
        )
        if kind == "live":
            key, values = choose.choice(LIVE)
            command = {"type": "set_parameter", "key": key, "value": choose.choice(values)}
        elif kind == "edit":
            path, values = choose.choice(EDITS)
            value = choose.choice(values)
            change = {"op": "remove" if value is None else "set", "path": path, "value": value}
            command = {"type": "edit", "changes": [change]}
        else:
            command = {"type": kind}
        run(session, **command)
        if session._world.step_index == 0:
            run(session, type="step")  # at its start the world is rebuilt after every edit
        flag = session.editor.needs_rebuild
        assert flag == differs(session, tmp_path), command
        shown = session.state["worldVersion"] != session.editor.document.version
        assert shown == flag


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bar/material/young", 9e5),
        ("bar/integrator", "newmark"),
        ("bar/boundary/2/stiffness", 44.0),
        ("ball/friction", 0.9),
        ("world/gravity", [0, -1.62, 0]),
        ("world/dt", 0.004),
        ("world/wind", True),
    ],
)
def test_undo_and_redo_of_a_live_change_reach_the_running_world(key, value, tmp_path):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="step")
    before = session.panel.values()
    assert not run(session, type="set_parameter", key=key, value=value)
    after = session.panel.values()
    assert after[key] != before[key]
    for command, expected in (("undo", before), ("redo", after), ("undo", before)):
        run(session, type=command)
        assert session.panel.values() == expected
        assert session.state["values"] == expected
        assert not session.editor.needs_rebuild
    assert session._world.step_index == 1


def test_live_change_and_its_undo_reach_the_world_while_another_edit_waits_for_a_rebuild(tmp_path):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="step")
    cells = {"op": "set", "path": ["bodies", 0, "mesh", "cells"], "value": [6, 1, 1]}
    run(session, type="edit", changes=[cells])
    run(session, type="set_parameter", key="bar/material/young", value=9e5)
    run(session, type="undo")
    assert session.panel.values()["bar/material/young"] == 1e5
    assert session.editor.needs_rebuild
    run(session, type="undo")
    assert not session.editor.needs_rebuild


def test_constants_of_a_part_follow_those_of_the_body(tmp_path):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="step")
    run(session, type="set_parameter", key="bar/material/young", value=9e5)
    values = session.panel.values()
    assert values["bar/part/0/young"] == 9e5  # the part has a density of its own only
    assert values["bar/part/0/density"] == 500.0


def test_damping_keeps_its_rotated_part(tmp_path):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="set_parameter", key="bar/damping/mass", value=3.0)
    body = session._world.bodies[0]
    assert (body.damping, body.damping_time) == ((3.0, 0.0), 0.01)


def test_undo_of_a_drawn_obstacle_reaches_the_flow(tmp_path):
    scene = {
        "name": "flow",
        "bodies": [
            {"type": "wind_tunnel", "name": "air", "size": [2.0, 1.0], "cells": [32, 16], "speed": 1.0},
        ],
    }
    session, _ = open_session(parse_scene(yaml_text(scene)), tmp_path)
    run(session, type="step")
    square = [[0.5, 0.3], [0.8, 0.3], [0.8, 0.6], [0.5, 0.6]]
    assert not run(session, type="add_obstacle", points=square, smooth=False)
    assert not run(session, type="move_obstacle", number=0, offset=[0.1, 0.0])
    flow = session._world.bodies[0]
    for command, left in (("undo", 0.5), ("redo", 0.6), ("undo", 0.5)):
        run(session, type=command)
        np.testing.assert_allclose(np.asarray(flow.obstacles[0].points)[:, 0].min(), left)
        assert not session.editor.needs_rebuild
    run(session, type="undo")
    assert flow.obstacles == ()
    assert not session.editor.needs_rebuild
    run(session, type="redo")
    assert len(flow.obstacles) == 1


def test_time_does_not_jump_after_steps_of_another_length(tmp_path):
    session, _ = open_session(parse_scene(yaml_text({**SCENE, "dt": 1 / 120})), tmp_path)
    times = []
    for dt in (1 / 120, 1 / 60, 1 / 120):
        run(session, type="set_parameter", key="world/dt", value=dt)
        for _ in range(5):
            run(session, type="step")
            times.append((session._world.time, dt))
    steps = np.diff([0.0, *(time for time, _ in times)])
    np.testing.assert_allclose(steps, [dt for _, dt in times], rtol=1e-9)


def set_cells(count):
    return {"op": "set", "path": ["bodies", 0, "mesh", "cells"], "value": [count, 1, 1]}


def test_large_scene_is_asked_for_once_and_the_question_goes_with_its_cause(tmp_path, monkeypatch):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="reset")
    monkeypatch.setattr(cost, "_ASK_MEMORY", cost.estimate_cost(session.editor.document.scene()).memory)
    run(session, type="edit", changes=[set_cells(5)])
    first = session.state["question"]
    assert "Build it anyway?" in first["message"]
    assert session._world.bodies[0].element_count == 24  # the old world stays
    assert session.editor.needs_rebuild
    run(session, type="play")
    assert not session.state["playing"]
    assert session.state["question"]["id"] > first["id"]
    run(session, type="undo")
    assert session.state["question"] is None
    assert not session.editor.needs_rebuild
    run(session, type="redo")
    assert session.state["question"] is not None
    run(session, **session.state["question"]["command"])
    assert session.state["question"] is None
    assert session._world.bodies[0].element_count == 30
    run(session, type="edit", changes=[set_cells(4)])
    run(session, type="edit", changes=[set_cells(5)])  # not larger than what was accepted
    assert session._world.bodies[0].element_count == 30
    run(session, type="edit", changes=[set_cells(6)])
    assert session.state["question"] is not None


def test_scene_that_does_not_fit_the_memory_is_refused(tmp_path, monkeypatch):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    run(session, type="reset")
    limit = cost.estimate_cost(session.editor.document.scene()).memory
    monkeypatch.setattr(cost, "memory_limit", lambda: limit)
    run(session, type="edit", changes=[set_cells(5)])
    assert "but this machine has only" in session.state["buildError"]
    assert session.state["question"] is None
    run(session, type="undo")
    assert session.state["buildError"] is None
    monkeypatch.setattr(cost, "memory_limit", lambda: cost.BASE_MEMORY)
    with pytest.raises(InputError, match="this machine has only"):
        open_session(parse_scene(yaml_text(SCENE)), tmp_path)


def test_error_of_the_simulation_ends_when_a_value_is_corrected(tmp_path):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    for command in (
        {"type": "set_parameter", "key": "bar/material/young", "value": 2e5},
        {"type": "undo"},
        {"type": "edit", "changes": [{"op": "set", "path": ["gravity"], "value": [0, -1, 0]}]},
    ):
        session._stop_on_error("The simulation became unstable and was paused.")
        run(session, type="save", file="kept", replace=True)
        assert session.state["error"]  # saving changes nothing in the world
        run(session, **command)
        assert session.state["error"] is None
        run(session, type="step")
        assert session.state["error"] is None


def test_saving_asks_before_it_replaces_another_file(tmp_path):
    session, _ = open_session(parse_scene(yaml_text(SCENE)), tmp_path)
    log = ListenerLog()
    session.add_listener(1, log.listener)
    (tmp_path / "taken.yaml").write_text("mine")
    run(session, type="save", file="taken")
    assert (tmp_path / "taken.yaml").read_text() == "mine"
    (question,) = log.questions
    assert "taken.yaml exists" in question["message"]
    run(session, **question["command"])
    assert parse_scene((tmp_path / "taken.yaml").read_text()).name == "mixed"
    for file in (None, "taken", "taken.yaml"):
        run(session, type="save", file=file)  # its own file
    assert len(log.questions) == 1
    again, _ = open_session(tmp_path / "taken.yaml", tmp_path)
    again.add_listener(1, log.listener)
    run(again, type="edit", changes=[{"op": "set", "path": ["description"], "value": "new"}])
    run(again, type="save")  # the file that was opened
    assert len(log.questions) == 1
    assert parse_scene((tmp_path / "taken.yaml").read_text()).description == "new"

"""Obstacles sketched in a running 2D flow: with commands, and with a real mouse in the page."""

import json
from pathlib import Path

import numpy as np
import pytest
from studio_world import make_session
from test_studio_page import browser, click_tool, opened, serving, until  # noqa: F401

import continua as ct
from continua.scene import parse_scene
from continua.studio.editor.document import Document
from continua.studio.editor.sketch_edits import sketch_edits
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.interaction.flow_sketch import FlowSketch
from continua.studio.protocol import parse_command


def tunnel_world() -> ct.World:
    post = ct.Cylinder(center=(0.5, 0.5, 0.0), axis=(0.0, 0.0, 1.0), radius=0.12, height=0.1)
    tunnel = ct.WindTunnel((2.0, 1.0), (48, 24), obstacles=[post], streaks=4, name="tunnel")
    return ct.World([tunnel], dt=0.02)


def apply(sketch, world, **command):
    sketch.apply(world, parse_command(json.dumps(command)))


def test_obstacles_are_added_moved_and_removed_while_the_flow_runs():
    world, sketch = tunnel_world(), FlowSketch()
    world.step()
    apply(
        sketch,
        world,
        type="add_obstacle",
        points=[[1.2, 0.3], [1.5, 0.3], [1.5, 0.6], [1.2, 0.6]],
        smooth=False,
    )
    world.step()
    closed = world.body("tunnel").flow.domain.cut_cells.solid_cells[0]
    assert closed[33, 11]  # (1.4, 0.48)
    apply(sketch, world, type="move_obstacle", number=0, offset=[0.2, 0.2])
    round_one, square = sketch.describe(world)["obstacles"]
    corners = np.reshape(round_one, (-1, 2))
    np.testing.assert_allclose(np.linalg.norm(corners - [0.7, 0.7], axis=1), 0.12, atol=1e-3)
    assert len(square) == 8
    apply(sketch, world, type="remove_obstacle", number=1)
    world.step()
    assert not world.body("tunnel").flow.domain.cut_cells.solid_cells[0, 33, 11]
    assert len(sketch.describe(world)["force"]) == 2
    for bad in ({"number": 7, "offset": [0.0, 0.0]}, {"number": 0, "offset": [9.0, 0.0]}):
        with pytest.raises(ct.InputError, match=r"no obstacle number 7|inside the flow"):
            apply(sketch, world, type="move_obstacle", **bad)
    with pytest.raises(ct.InputError, match="2D grid"):
        apply(sketch, ct.World([]), type="add_obstacle", points=[[0, 0], [1, 0], [0, 1]])


@pytest.mark.filterwarnings("ignore:the obstacle")  # corners of polygons count as thin
def test_sketched_obstacles_are_written_to_the_scene():
    data = {
        "name": "tunnel",
        "bodies": [
            {
                "type": "wind_tunnel",
                "name": "tunnel",
                "size": [2.0, 1.0],
                "cells": [48, 24],
                "obstacles": [
                    {
                        "type": "cylinder",
                        "center": [0.5, 0.5, 0.0],
                        "axis": [0, 0, 1],
                        "radius": 0.12,
                        "height": 0.1,
                    },
                    {"type": "sphere", "center": [0.4, 0.2, 0.0], "radius": 0.08},
                ],
            }
        ],
    }
    document, sketch = Document(data, Path()), FlowSketch()
    world = document.scene().build()

    def draw(**command):
        parsed = parse_command(json.dumps(command))
        sketch.apply(world, parsed)
        document.edit(sketch_edits(world, parsed, document.data))

    draw(type="add_obstacle", points=[[1.2, 0.3], [1.5, 0.3], [1.5, 0.6], [1.2, 0.6]], smooth=False)
    draw(type="add_obstacle", points=[[1.5, 0.4], [1.9, 0.4], [1.9, 0.95], [1.5, 0.95]], smooth=True)
    draw(type="move_obstacle", number=0, offset=[0.2, 0.2])
    draw(type="move_obstacle", number=3, offset=[-0.05, 0.0])
    draw(type="remove_obstacle", number=1)
    again = parse_scene(document.yaml(), label="the scene").build().body("tunnel")
    here = world.body("tunnel")
    assert len(again.obstacles) == len(here.obstacles) == 3
    for one, two in zip(
        again.flow.domain.cut_cells.face_fractions, here.flow.domain.cut_cells.face_fractions, strict=True
    ):
        assert one == pytest.approx(two, abs=1e-6)
    document.undo()
    assert len(document.data["bodies"][0]["obstacles"]) == 4


def test_streamlines_of_a_uniform_flow_are_straight():
    tunnel = ct.WindTunnel((2.0, 1.0), (48, 24), name="tunnel")
    world, sketch = ct.World([tunnel]), FlowSketch()
    assert sketch.streamlines(world) is None
    apply(sketch, world, type="streamlines", on=True)
    lines = sketch.streamlines(world)
    assert lines.shape[0] == sketch.describe(world)["streamlineCount"]
    np.testing.assert_allclose(lines[:, :, 1], np.broadcast_to(lines[:, :1, 1], lines.shape[:2]), atol=1e-5)
    assert lines[:, -1, 0].min() > 1.9


def test_volume_is_sent_x_fastest():
    smoke = ct.Smoke((1.0, 1.0, 1.0), (8, 8, 8), name="smoke")
    values = np.zeros((8, 8, 8))
    values[6, 1, 3] = 0.5
    smoke.set_smoke(values)
    session = make_session(ct.World([smoke]))
    encoder = FrameEncoder()
    encoder.encode_topology(session.snapshot)
    encoder.set_field("smoke")
    packed = encoder.encode_frame(session.snapshot)
    header = json.loads(packed[8 : 8 + int.from_bytes(packed[4:8], "little")])
    assert header["volumes"]["0"]["cells"] == [8, 8, 8]
    place = header["arrays"]["0/volume"]
    start = 8 + int.from_bytes(packed[4:8], "little") + place["offset"]
    sent = np.frombuffer(packed[start : start + 512], np.uint8).reshape(8, 8, 8)
    assert sent[3, 1, 6] == 127
    assert sent.sum() == 127


@pytest.mark.browser
def test_obstacles_are_drawn_dragged_and_removed_with_the_mouse(browser):  # noqa: F811
    session = make_session(tunnel_world())
    with serving(session) as port, opened(browser, port) as page:
        obstacles = lambda: page.evaluate("() => __continua.frame().planeFlow.obstacles")  # noqa: E731
        at = lambda x, y: page.evaluate(f"() => __continua.project({x}, {y}, 0)")  # noqa: E731
        page.get_by_label("Draw obstacles").check()
        page.mouse.move(*at(1.2, 0.3))
        page.mouse.down()
        for x, y in ((1.5, 0.3), (1.5, 0.7), (1.2, 0.7), (1.2, 0.35)):
            page.mouse.move(*at(x, y), steps=4)
        page.mouse.up()
        until(page, lambda: len(obstacles()) == 2)
        page.mouse.move(*at(1.35, 0.5))
        page.mouse.down()
        page.mouse.move(*at(1.55, 0.5), steps=5)
        page.mouse.up()
        until(page, lambda: np.reshape(obstacles()[1], (-1, 2))[:, 0].mean() > 1.5)
        page.get_by_label("Streamlines").check()
        until(page, lambda: page.evaluate("() => __continua.frame().planeFlow.streamlineCount") > 0)
        page.get_by_test_id("forces").wait_for()
        page.get_by_label("Colour by").select_option("velocity")
        page.mouse.move(*at(0.9, 0.2))
        value = page.locator("output[data-testid=flow-value]")
        until(page, lambda: value.count() > 0 and "m/s" in (value.text_content() or ""))
        page.keyboard.down("Shift")
        page.mouse.click(*at(1.55, 0.5))
        page.keyboard.up("Shift")
        until(page, lambda: len(obstacles()) == 1)
        click_tool(page, "Pause")

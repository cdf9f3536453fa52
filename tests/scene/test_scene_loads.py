"""Loads, locks and changes of material in scene files: the same as in Python, and clear refusals."""

import numpy as np
import pytest

import continua as ct
from continua.scene import parse_scene
from continua.scene.build_environment import build_motion

HEAD = """
gravity: [0, 0, 0]
dt: 0.01
bodies:
  - type: soft
    name: box
    mesh: {type: box, size: [1, 0.5, 0.4], cells: [3, 2, 2]}
    material: {type: corotated, young: 1e4, poisson: 0.3, density: 100}
"""


def python_box():
    return ct.SoftBody(
        ct.mesh.box(size=(1, 0.5, 0.4), cells=(3, 2, 2)),
        material=ct.Corotated(young=1e4, poisson=0.3, density=100),
        name="box",
    )


def test_keyframes_turn_by_degrees():
    motion = "{type: keyframes, times: [0, 1], rotations: [[0, 0, 0], [0, 0, 90]], point: [0.5, 0, 0]}"
    scene = parse_scene(HEAD + f"    drive: [{{where: right, motion: {motion}}}]\n")
    motion = build_motion(scene.bodies[0].drive[0].motion)
    assert np.allclose(motion.at(1.0, np.array([[1.0, 0.2, 0.3]])), [[0.3, 0.5, 0.3]])
    for wrong, words in (
        ("times: [0, 1], rotations: [[0, 0, 0]]", "'times' and 'rotations' must be equally long"),
        ("times: [0, 1]", "need 'offsets', 'rotations' or both"),
    ):
        with pytest.raises(ct.InputError, match=words):
            parse_scene(HEAD + f"    drive: [{{where: right, motion: {{type: keyframes, {wrong}}}}}]\n")


def test_scene_loads_equal_those_of_python():
    scene = parse_scene(
        HEAD
        + """
    lock:
      - {where: left, direction: x}
      - {where: bottom, direction: [0, 2, 0]}
      - {where: back, direction: z, motion: {type: translate, velocity: [0, 0, 0.1]}}
    push: [{where: right, force: [0, 3, 0], course: {times: [0, 0.1], factors: [0, 1]}}]
    press: [{where: top, pressure: 40, until: 0.05}]
    load_faces:
      - {where: right, traction: [30, 0, 5]}
      - {where: right, traction: -8, course: {times: [0.02], factors: [2]}}
    load_volume:
      - {force: [0, -50, 0]}
      - where: {type: half_space, point: [0.5, 0, 0], normal: [1, 0, 0]}
        force: [0, 0, 20]
        course: {times: [0, 1], factors: [1, 0]}
      - {field: {type: wave, force: [0, 30, 0], direction: [1, 0, 0], length: 0.7, period: 0.2}}
      - {field: {type: radial, center: [0.5, 0.2, 0.2], force: 60, radius: 0.3}}
"""
    )
    body = python_box()
    face, cell = body.face_centers, body.mesh.points[body.mesh.tets].mean(axis=1)
    right = face[:, 0] > 1 - 1e-9
    body.lock(lambda x: x[:, 0] < 1e-9, "x")
    body.lock(lambda x: x[:, 1] < 1e-9, "y")
    body.lock(lambda x: x[:, 2] < 1e-9, "z", ct.Motion.translate((0, 0, 0.1)))
    body.push(lambda x: x[:, 0] > 1 - 1e-9, lambda t: (0, 3 * min(1.0, t / 0.1), 0))
    body.apply_pressure(face[:, 1] > 0.5 - 1e-9, 40.0, until=0.05)
    body.apply_traction(right, (30, 0, 5))
    body.apply_traction(right, lambda t: -16.0)
    body.apply_body_force("all", (0, -50, 0))
    body.apply_body_force(cell[:, 0] <= 0.5, lambda t, x: np.array([0, 0, 20.0]) * (1.0 - t))
    body.apply_body_force("all", ct.ForceField.wave((0, 30, 0), (1, 0, 0), 0.7, 0.2))
    body.apply_body_force("all", ct.ForceField.radial((0.5, 0.2, 0.2), 60.0, 0.3))
    mine, theirs = ct.World([body], gravity=(0, 0, 0), dt=0.01), scene.build()
    for _ in range(10):
        mine.step()
        theirs.step()
    assert np.abs(body.positions - body.rest_positions).max() > 1e-3
    np.testing.assert_allclose(theirs.bodies[0].positions, body.positions, atol=1e-12)


def test_changes_happen_at_their_time_and_again_after_a_reset():
    scene = parse_scene(
        HEAD
        + """
    parts: [{where: left, young: 5e4}, {where: right, young: 2e4}]
changes:
  - {time: 0.02, body: box, young: 0}
  - {time: 0.04, body: box, young: 3e4, poisson: 0.1}
  - {time: 0.04, body: box, part: 1, density: 50}
""".replace(
            "{where: left, young: 5e4}", "{where: {type: box, min: [0, 0, 0], max: [0.4, 1, 1]}, young: 5e4}"
        ).replace(
            "{where: right, young: 2e4}", "{where: {type: box, min: [0.7, 0, 0], max: [1, 1, 1]}, young: 2e4}"
        )
    )
    world = scene.build()
    body = world.bodies[0]
    for _ in range(2):
        seen = []
        for _ in range(6):
            world.step()
            seen.append((body.material.young, body.material.poisson, body._materials.parts[1][1].density))
        assert seen == [(1e4, 0.3, 100.0)] * 2 + [(0.0, 0.3, 100.0)] * 2 + [(3e4, 0.1, 50.0)] * 2
        world.reset()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    press: [{where: {type: nodes, nodes: [1]}, pressure: 1}]", "node numbers cannot choose faces"),
        (
            "    press: [{where: {type: sphere, center: [9, 0, 0], radius: 1}, pressure: 1}]",
            "selects no face",
        ),
        ("    press: [{where: {type: region, region: roof}, pressure: 1}]", "no region called 'roof'"),
        ("    press: [{where: all, pressure: .nan}]", "pressure"),
        ("    load_faces: [{where: all, traction: [1, 2]}]", "traction"),
        ("    load_volume: [{where: all}]", "either 'force' or 'field'"),
        ("    load_volume: [{field: {type: storm}}]", "must be one of 'wave', 'radial'"),
        ("    load_volume: [{force: [0, 1, 0], where: {type: nodes, nodes: [1]}}]", "cannot choose elements"),
        ("    push: [{where: all, force: [0, 1, 0], course: {times: [0, 1], factors: [1]}}]", "equally long"),
        (
            "    push: [{where: all, force: [0, 1, 0], course: {times: [1, 0], factors: [1, 2]}}]",
            "must increase",
        ),
        ("    lock: [{where: left, direction: [0, 0, 0]}]", "zero vector"),
        ("    lock: [{where: left, direction: up}]", "direction"),
        (
            "    pin: [{where: left}]\n    drive: [{where: left, motion: {type: translate, velocity: [1, 0, 0]}}]",
            "pinned and driven",
        ),
        ("changes: [{time: 1, body: ball, young: 1}]", "no body called 'ball'"),
        ("changes: [{time: 1, body: box, part: 0, young: 1}]", "no part 0"),
        ("changes: [{time: 1, body: box, activation: 1}]", "not 'activation'"),
        ("changes: [{time: -1, body: box, young: 1}]", "time"),
    ],
)
def test_mistakes_are_told_in_one_sentence(text, message):
    with pytest.raises(ct.InputError, match=message) as caught:
        parse_scene(HEAD + text + "\n").build()
    assert "\n" not in str(caught.value)

"""Rigid bodies and joints from scene files."""

import numpy as np
import pytest

import continua as ct
from continua.scene import parse_scene

_SCENE = """
seconds: 0.1
bodies:
  - type: rigid
    name: door
    shape: {type: box, size: [1, 2, 0.1]}
    transform: {translate: [0.5, 0, 0]}
    mass: 20
  - type: rigid
    name: balls
    shape: {type: sphere, radius: 0.1}
    transform: {scale: 2, translate: [3, 1, 0]}
    grid: {counts: [2, 3, 4], spacing: [0.5, 0.5, 0.5], jitter: 0.01}
    density: 500
    initial: {velocity: [1, 0, 0], angular_velocity: [0, 0, 2]}
joints:
  - {type: hinge, a: door, point: [0, 0, 0], axis: [0, 1, 0], limits: [-90, 90], motor: {speed: 2, strength: 1000}}
colliders:
  - {type: plane, point: [0, -5, 0]}
"""


def test_a_scene_makes_rigid_bodies_and_joints():
    world = parse_scene(_SCENE).build()
    door, balls = world.bodies
    assert isinstance(door, ct.RigidBody)
    assert door.mass == 20.0
    assert balls.count == 24
    assert balls.mass_each == pytest.approx(500.0 * 4.0 / 3.0 * np.pi * 0.2**3)
    for _ in world.run(0.1, 60):
        pass
    assert door.angular_velocity[1] == pytest.approx(2.0, rel=1e-6)
    assert balls.center_velocities[:, 0] == pytest.approx(np.ones(24))
    frame = world.frame()
    assert frame["balls"].kind == "rigid"
    assert len(frame["balls"].positions) == balls.node_count


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a: door", "a: gate", "must name a rigid body, not 'gate'"),
        ("mass: 20", "mass: 20\n    density: 3", "either 'density' or 'mass'"),
        ("limits: [-90, 90]", "limits: [90, -90]", "limits of a Hinge"),
        ("type: hinge", "type: spring", "ball"),
        ("mass: 20", "mass: 0", "greater than 0"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, words):
    with pytest.raises(ct.InputError, match=words):
        parse_scene(_SCENE.replace(old, new)).build()

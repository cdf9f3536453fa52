"""Contact forces and joints as the page gets them."""

import json

import numpy as np
import pytest

import continua as ct
from continua.studio.encoding.frame_encoder import Encoder
from continua.studio.protocol import parse_command
from continua.studio.session.snapshot import Opening, Snapshot, Stats


def _world():
    boxes = ct.RigidGroup(ct.Box(size=(1, 1, 1)), [[0, 0.5, 0], [0, 1.5, 0]], density=100.0, name="boxes")
    ball = ct.RigidBody(ct.Sphere((3, 2, 0), 0.2), density=100.0, name="ball")
    hung = [ct.joints.Ball(ball, None, point=(3, 3, 0))]
    return ct.World([boxes, ball], colliders=[ct.Plane()], joints=hung), boxes


def test_forces_are_sent_when_asked_for_and_joints_until_they_are_not():
    world, boxes = _world()
    for _ in range(20):
        world.step(0.01)
    snapshot = Snapshot(1, 1, world.frame(), Stats(), Opening(world))
    encoder = Encoder()
    encoder.topology(snapshot)
    assert "contact_forces" not in encoder._extras(snapshot.frame)
    assert encoder._extras(snapshot.frame)["joint_lines"] == pytest.approx(
        np.array([[3, 3, 0, 3, 2, 0]]), abs=1e-5
    )
    command = parse_command(json.dumps({"type": "extras", "forces": True, "joints": False}))
    encoder.draw_extras(command.forces, command.joints)
    sent = encoder._extras(snapshot.frame)
    assert "joint_lines" not in sent
    np.testing.assert_allclose(
        sent["contact_forces"][:, 3:].sum(axis=0), [0, 9.81 * boxes.mass_total, 0], rtol=1e-5, atol=1e-3
    )
    assert b"contact_forces" in encoder.frame(snapshot)
    encoder.draw_extras(False, False)
    assert not len(encoder._extras(snapshot.frame)["contact_forces"])  # the page has to let go of them

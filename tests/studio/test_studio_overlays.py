"""Contact forces and joint lines as sent to the page."""

import json

import numpy as np
import pytest

import continua as ct
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.protocol import parse_command
from continua.studio.session.snapshot import SessionScene, Snapshot, Stats


def _world():
    boxes = ct.RigidInstances(ct.Box(size=(1, 1, 1)), [[0, 0.5, 0], [0, 1.5, 0]], density=100.0, name="boxes")
    ball = ct.RigidBody(ct.Sphere((3, 2, 0), 0.2), density=100.0, name="ball")
    hung = [ct.joints.Ball(ball, None, point=(3, 3, 0))]
    return ct.World([boxes, ball], colliders=[ct.Plane()], joints=hung), boxes


def test_contact_forces_and_joint_lines_are_sent_on_request():
    world, boxes = _world()
    for _ in range(20):
        world.step(0.01)
    snapshot = Snapshot(1, 1, world.frame(), Stats(), SessionScene(world))
    encoder = FrameEncoder()
    encoder.encode_topology(snapshot)
    assert "contact_forces" not in encoder._overlays(snapshot.frame)
    assert encoder._overlays(snapshot.frame)["joint_lines"] == pytest.approx(
        np.array([[3, 3, 0, 3, 2, 0]]), abs=1e-5
    )
    command = parse_command(json.dumps({"type": "overlays", "forces": True, "joints": False}))
    encoder.set_overlays(command.forces, command.joints)
    sent = encoder._overlays(snapshot.frame)
    assert "joint_lines" not in sent
    np.testing.assert_allclose(
        sent["contact_forces"][:, 3:].sum(axis=0), [0, 9.81 * boxes.mass_total, 0], rtol=1e-5, atol=1e-3
    )
    assert b"contact_forces" in encoder.encode_frame(snapshot)
    encoder.set_overlays(False, False)
    assert not len(encoder._overlays(snapshot.frame)["contact_forces"])  # the page has to clear them

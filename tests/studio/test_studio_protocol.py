import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from studio_world import make_session

from continua.errors import InputError
from continua.output.wire_format import MessageKind, pack
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.protocol import MAX_MESSAGE, PullBegin, SetParameter, parse_command
from continua.studio.session.snapshot import Snapshot, Stats


def unpack(message):
    """Decode a message by its specification, without the library."""
    kind, length = struct.unpack_from("<II", message)
    header = json.loads(message[8 : 8 + length])
    arrays = {}
    for name, entry in header.pop("arrays").items():
        count = int(np.prod(entry["shape"]))
        data = np.frombuffer(message, "<" + entry["type"], count, 8 + length + entry["offset"])
        arrays[name] = data.reshape(entry["shape"])
    return kind, header, arrays


def test_packed_message_is_aligned_and_can_be_decoded():
    arrays = {
        "bytes": np.arange(7, dtype=np.uint8),
        "points": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3),
        "empty": np.zeros((0, 5), np.float32),
        "corners": np.array([[0, 1, 2]], np.uint32),
    }
    message = pack(MessageKind.FRAME, {"naïve": "ü", "seq": 3}, arrays)
    kind, header, read = unpack(message)
    assert kind == 2
    assert header == {"naïve": "ü", "seq": 3}
    assert len(message) % 4 == 0
    assert struct.unpack_from("<II", message)[1] % 4 == 0
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


def test_topology_has_the_surface_and_frames_omit_unchanged_arrays():
    session = make_session()
    snapshot = session.snapshot
    body = snapshot.frame["beam"]
    encoder = FrameEncoder()
    kind, header, arrays = unpack(encoder.encode_topology(snapshot))
    assert kind == MessageKind.TOPOLOGY
    assert header["bodies"][0]["name"] == "beam"
    units = body.fields.units
    assert {field["name"]: field["unit"] for field in header["fields"]} == units
    assert {"displacement", "velocity", "von_mises", "stress", "stretch", "inverted"} <= units.keys()
    assert header["colliders"][0]["kind"] == "plane"
    assert arrays["colormap"].shape == (256, 3)
    # the compact surface has the same corners in space as the body's own
    np.testing.assert_allclose(
        arrays["0/rest"][arrays["0/triangles"]], body.rest_positions[body.triangles], rtol=1e-6
    )

    _, header, arrays = unpack(encoder.encode_frame(snapshot))
    assert set(arrays) == {"0/positions", "0/displacement", "samples"}
    _, header, arrays = unpack(encoder.encode_frame(snapshot))
    assert set(arrays) == {"samples"}

    world = snapshot.scene.world
    for _ in range(3):
        world.step()
    moved = Snapshot(7, 1, world.frame(), Stats(), snapshot.scene)
    encoder.set_field("velocity")
    _, header, arrays = unpack(encoder.encode_frame(moved))
    assert header["seq"] == 7
    assert header["step"] == 3
    assert set(arrays) == {"0/positions", "0/velocity", "samples"}
    nodes = np.unique(body.triangles)
    speed = np.linalg.norm(moved.frame["beam"]["velocity"][nodes], axis=1)
    np.testing.assert_allclose(arrays["0/velocity"], speed, rtol=1e-5)
    np.testing.assert_allclose(arrays["0/positions"], moved.frame["beam"].positions[nodes], rtol=1e-6)


def test_moving_collider_mesh_is_sent_once_and_its_pose_with_every_frame():
    session = make_session()
    points, triangles = np.eye(4, 3), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    pose = np.hstack([np.diag([1.0, -1.0, -1.0]), [[0.0], [2.0], [0.5]]])
    moving = {"kind": "mesh", "points": points, "triangles": triangles, "pose": pose}
    plane, snapshot = session.snapshot.frame.colliders[0], session.snapshot
    snapshot = replace(snapshot, frame=replace(snapshot.frame, colliders=(plane, moving)))
    encoder = FrameEncoder()
    _, header, arrays = unpack(encoder.encode_topology(snapshot))
    assert header["colliders"][1] == {"kind": "mesh"}
    np.testing.assert_array_equal(arrays["collider/1/points"], points)
    np.testing.assert_array_equal(arrays["collider/1/triangles"], triangles)
    _, header, arrays = unpack(encoder.encode_frame(snapshot))
    assert not any(name.startswith("collider") for name in arrays)
    assert header["poses"] == {"1": pose.ravel().tolist()}


def test_inverted_elements_flag_all_their_nodes():
    session = make_session()
    world = session.snapshot.scene.world
    beam = world.bodies[0]
    state = beam.state()
    state["positions"][0] += 0.5  # a corner is drawn through the beam
    beam.restore(state)
    frame = world.frame()
    encoder = FrameEncoder()
    encoder.encode_topology(session.snapshot)
    encoder.set_field("inverted")
    _, _, arrays = unpack(encoder.encode_frame(replace(session.snapshot, frame=frame)))
    cells = beam.mesh.tets[frame["beam"]["inverted"] > 0.0]
    assert len(cells) > 0
    nodes = np.unique(frame["beam"].triangles)
    np.testing.assert_array_equal(arrays["0/inverted"], np.isin(nodes, cells))


def test_valid_commands_are_parsed():
    for value in (2e6, True, "newmark", (0.0, 1.0, 2.0)):
        command = parse_command(
            json.dumps({"type": "set_parameter", "key": "beam/material/young", "value": value})
        )
        assert command == SetParameter(type="set_parameter", key="beam/material/young", value=value)
        assert type(command.value) is type(value)
    text = (
        '{"type": "pull_begin", "id": 1, "body": "b", "triangle": 3,'
        ' "barycentric": [1, 0, 0], "target": [0, 1, 2]}'
    )
    assert parse_command(text) == PullBegin(
        type="pull_begin", id=1, body="b", triangle=3, barycentric=(1, 0, 0), target=(0, 1, 2)
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[]",
        "null",
        "{}",
        '{"type": "explode"}',
        '{"type": "play", "loud": true}',
        '{"type": "set_parameter", "key": "world/gravity", "value": [0, NaN, 0]}',
        '{"type": "set_parameter", "key": "world/gravity", "value": [0, 1e400, 0]}',
        '{"type": "set_parameter", "key": "world/gravity", "value": [0, 1]}',
        '{"type": "pull_move", "id": -1, "target": [0, 0, 0]}',
        '{"type": "pull_move", "id": 1, "target": "here"}',
        '{"type": "set_parameter", "key": "", "value": 1}',
        '{"type": "set_parameter", "key": "beam/material/young", "value": null}',
        '{"type": "load_scene", "name": "' + "x" * 500 + '"}',
        "[" * 10_000,
        '{"type": "play"' + " " * MAX_MESSAGE + "}",
    ],
)
def test_invalid_command_is_rejected_in_one_sentence(text):
    with pytest.raises(InputError) as caught:
        parse_command(text)
    message = str(caught.value)
    assert len(message) < 400
    assert "\n" not in message

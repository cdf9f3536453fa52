"""Encoding of fluids for the page."""

import json
import struct

import numpy as np
import pytest

import continua as ct
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.session.snapshot import SessionScene, Snapshot, Stats


def unpack(message):
    """Return the header and the arrays of a message, decoded as in the page."""
    _, size = struct.unpack("<II", message[:8])
    header = json.loads(message[8 : 8 + size])
    arrays = {}
    for name, about in header["arrays"].items():
        shape = tuple(about["shape"])
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(message, "<" + about["type"], count, 8 + size + about["offset"]).reshape(
            shape
        )
    return header, arrays


@pytest.fixture
def encoder_and_world():
    jet = ct.Emitter((0, 0.5, 0), (1, 0, 0), radius=0.1, speed=4.0)
    water = ct.Fluid(((0, 0, 0), (0.2, 0.2, 0.2)), particle_radius=0.02, emitters=[jet], name="water")
    world = ct.World([water], colliders=[ct.Plane((0, 0, 0), (0, 1, 0))], dt=0.01)
    return FrameEncoder(), world


def snapshot(world, seq):
    return Snapshot(seq, 1, world.frame(), Stats(), SessionScene(world, color="velocity"))


def test_particles_are_sent_with_their_field(encoder_and_world):
    encoder, world = encoder_and_world
    header, arrays = unpack(encoder.encode_topology(snapshot(world, 0)))
    assert header["bodies"][0]["pointRadius"] == 0.02
    assert len(arrays["0/rest"]) == 125
    assert [entry["name"] for entry in header["fields"]] == ["velocity", "pressure", "density_error"]
    world.step()
    world.step()
    header, arrays = unpack(encoder.encode_frame(snapshot(world, 1)))
    water = world.bodies[0]
    assert len(arrays["0/positions"]) == water.node_count > 125
    assert len(arrays["0/triangles"]) == 0
    assert arrays["0/velocity"].max() == pytest.approx(
        np.linalg.norm(water.velocities, axis=1).max(), rel=1e-6
    )
    assert header["warnings"] == []
    encoder.set_field("density_error")
    _, arrays = unpack(encoder.encode_frame(snapshot(world, 2)))
    np.testing.assert_allclose(arrays["0/density_error"], np.maximum(water.density_error, 0.0), rtol=1e-6)


def test_surface_is_reconstructed_on_request(encoder_and_world):
    pytest.importorskip("pysplashsurf")
    encoder, world = encoder_and_world
    encoder.encode_topology(snapshot(world, 0))
    encoder.set_fluid_style("surface")
    header, arrays = unpack(encoder.encode_frame(snapshot(world, 1)))
    assert header["fluidStyle"] == "surface"
    points, triangles = arrays["0/positions"].astype(float), arrays["0/triangles"]
    assert triangles.max() == len(points) - 1 == len(arrays["0/velocity"]) - 1
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    # closed and oriented outward, around the particle centres, and within the block, whose corners it rounds
    assert 0.16**3 < volume < 0.2**3
    encoder.set_fluid_style("points")
    _, arrays = unpack(encoder.encode_frame(snapshot(world, 2)))
    assert len(arrays["0/positions"]) == 125
    assert len(arrays["0/triangles"]) == 0

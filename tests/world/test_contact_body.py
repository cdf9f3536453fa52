"""A body of a new kind collides with rigid and soft bodies because it has a `contact_body`; nothing is registered."""

import numpy as np
import pytest

import continua as ct
from continua.coupling.contact.system import SolidSystem
from continua.frames import BodyFields, BodyFrame
from tests.coupling.contact.particle_body import ParticleBody
from tests.coupling.contact.test_two_sided_contact import sheet

THICKNESS, KEPT, RADIUS = 0.012, 0.004, 0.1


class Membrane(ParticleBody):
    """A square two-sided sheet of particles, pinned at its border, as a body of a world."""

    notes = ()

    def __init__(self):
        points, triangles, border = sheet()
        super().__init__(
            "membrane", points, triangles, stiffness=600.0, damping=4.0, pinned=border, two_sided=True,
            thickness=THICKNESS, gravity=(0.0, -9.81, 0.0),
        )  # fmt: skip
        self.node_count, self.rest_positions, self.triangles = len(points), self.rest, self.surface.triangles
        self.mass_total = self.mass * len(points)

    def prepare(self, environment):
        self.environment = environment

    def frame(self, fields=()):
        return BodyFrame(
            "membrane", "soft", self.positions.copy(), self.rest, {}, self.triangles, BodyFields({})
        )

    def energy(self):
        return {"kinetic": 0.5 * self.mass * float((self.velocities**2).sum())}

    def state(self):
        return {"positions": self.positions.copy(), "velocities": self.velocities.copy()}

    def restore(self, state):
        self.rollback((np.array(state["positions"]), np.array(state["velocities"])))

    def reset(self):
        self.rollback((self.rest, np.zeros_like(self.rest)))

    def summary(self):
        return {"particles": self.node_count}

    def geometry_bytes(self):
        return self.rest.tobytes()


def make_world(kind):
    center = (0.02, 0.13, 0.01)
    if kind == "rigid":
        ball = ct.RigidBody(ct.Sphere(center, RADIUS), mass=0.3, name="ball")
    else:
        mesh = ct.mesh.sphere(RADIUS, 3).transformed(translate=center)
        ball = ct.SoftBody(mesh, material=ct.Corotated(young=2e4, density=70.0), name="ball")
    membrane = Membrane()
    contact = ct.Contact(friction=0.3, thickness=KEPT)
    return ct.World([membrane, ball], contact=contact, dt=1 / 120), membrane, ball


@pytest.mark.parametrize("kind", ["rigid", "soft"])
def test_a_ball_falls_onto_a_membrane_and_rests_on_it(kind):
    world, membrane, ball = make_world(kind)
    assert len(world.systems) == 1
    assert isinstance(world.systems[0], SolidSystem)
    for _ in range(240):
        world.step()
    assert ball.positions[:, 1].mean() > membrane.positions[:, 1].min() + 0.5 * RADIUS  # above it
    weight = 9.81 * ball.mass_total
    assert world.reports[1].contact_force[1] == pytest.approx(weight, rel=0.05)
    assert membrane.contact_forces[:, 1].sum() == pytest.approx(-weight, rel=0.05)


def test_a_restored_world_continues_bitwise():
    world, membrane, ball = make_world("rigid")
    for _ in range(30):
        world.step()
    state = world.state()
    for _ in range(10):
        world.step()
    expected = membrane.positions.copy(), ball.positions
    again, other, rigid = make_world("rigid")
    again.restore(state)
    for _ in range(10):
        again.step()
    np.testing.assert_array_equal(other.positions, expected[0])
    np.testing.assert_array_equal(rigid.positions, expected[1])

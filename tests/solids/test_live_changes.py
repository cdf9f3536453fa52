"""What a user interface asks a running body, and changes in it."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError


def make_beam(**options):
    beam = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(5, 1, 1)),
        material=ct.Corotated(young=1e5, poisson=0.3, density=1000.0),
        **options,
    )
    beam.pin(where=lambda x: x[:, 0] < 1e-6)
    return beam


@pytest.mark.parametrize("integrator", ["newmark", "explicit", "semi_implicit"])
def test_a_changed_integrator_steps_like_one_given_at_the_start(integrator):
    changed, given = make_beam(name="a"), make_beam(name="b", integrator=integrator)
    changed.set_integrator(integrator)
    apart = ct.Contact(pairs={("a", "b"): {"collide": False}})
    world = ct.World([changed, given], dt=0.005, contact=apart)
    for _ in range(10):
        world.step()
    assert changed.integrator == given.integrator
    np.testing.assert_array_equal(changed.positions, given.positions)


def test_a_change_of_integrator_leaves_the_state_as_it_is():
    beam = make_beam()
    world = ct.World([beam], dt=0.005)
    for _ in range(5):
        world.step()
    positions, velocities = beam.positions, beam.velocities
    beam.set_integrator("newmark", newton=2)
    np.testing.assert_array_equal(beam.positions, positions)
    np.testing.assert_array_equal(beam.velocities, velocities)
    assert beam.integrator.newton == 2
    with pytest.raises(InputError, match="Newton"):
        beam.set_integrator("explicit", newton=2)


def test_what_is_attached_is_listed_and_loads_tell_their_forces():
    beam = make_beam()
    pin = beam.attached[0]
    press = beam.apply_pressure(lambda x, n: n[:, 1] > 0.5, 1000.0, until=1.0)
    pull = beam.pull(point=(1.0, 0.1, 0.1))
    assert beam.attached == (pin, press, pull)
    np.testing.assert_allclose(press.forces.sum(axis=0), [0.0, -1000.0 * 1.0 * 0.2, 0.0], atol=1e-9)
    press.until = 0.0
    assert not press.forces.any()
    press.remove()
    assert beam.attached == (pin, pull)


def test_the_lock_of_a_plane_body_is_its_own():
    sheet = ct.SoftBody(ct.mesh.rectangle((1.0, 1.0), (2, 2)))
    assert sheet.attached == ()
    pin = sheet.pin(where=lambda x: x[:, 0] < 1e-6)
    assert sheet.attached == (pin,)


@pytest.mark.parametrize("order", [1, 2])
def test_rest_positions_can_not_be_changed_from_outside(order):
    body = ct.SoftBody(ct.mesh.box((1, 1, 1), (1, 1, 1)), material=ct.Corotated(young=1e5), order=order)
    before = body.rest_positions
    with pytest.raises(ValueError, match="read-only"):
        body.rest_positions[:] += 1.0
    np.testing.assert_array_equal(body.rest_positions, before)


@pytest.mark.parametrize("order", [1, 2])
def test_arrays_of_frames_are_read_only(order):
    body = ct.SoftBody(ct.mesh.box((1, 1, 1), (1, 1, 1)), material=ct.Corotated(young=1e5), order=order)
    frame = body.frame()
    for array in (frame.positions, frame.rest_positions, frame.triangles):
        assert not array.flags.writeable
    assert body.frame().rest_positions is frame.rest_positions

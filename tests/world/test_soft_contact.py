"""Soft bodies that touch each other and themselves in a world: no crossings, momentum kept, at rest in the end."""

import warnings

import numpy as np
import pytest

import continua as ct


def cube(name, at, cells=3, young=1e5, size=0.2):
    mesh = ct.mesh.box((size,) * 3, (cells,) * 3).transformed(translate=at)
    material = ct.Corotated(young=young, poisson=0.3, density=1000.0)
    return ct.SoftBody(mesh, material=material, name=name, damping=(0.0, 0.01))


def crossings(world):
    search = world.system(ct.SoftBody).stepper.surface_contacts
    return search.intersection_count([body._x for body in world.bodies], world.time)


def test_a_stack_of_two_comes_to_rest_without_crossing():
    low, high = cube("low", (0, 0.001, 0)), cube("high", (0.03, 0.21, 0.02))
    world = ct.World([low, high], colliders=[ct.Plane()], dt=0.01)
    for _ in range(120):
        world.step()
        assert crossings(world) == 0
    assert np.abs(high.velocities).max() < 0.02
    assert 0.15 < high.positions[:, 1].min() < 0.2  # carried by the other
    assert np.mean(high.positions[:, 1]) > 0.27


@pytest.mark.parametrize("speed", [1.0, 50.0])
def test_two_that_collide_in_free_space_keep_their_momentum(speed):
    one = cube("one", (0, 0, 0), young=1e7)
    two = cube("two", (0.22 + 0.01 * speed, 0.03, 0.02), young=1e7)
    one.set_velocity((speed, 0, 0))
    world = ct.World([one, two], gravity=(0, 0, 0), dt=0.005)

    def momentum():
        return sum(body._node_mass @ body.velocities for body in world.bodies)

    before = momentum()
    touched = 0
    for _ in range(8):
        reports = world.step()
        touched += sum(report.contacts for report in reports)
        assert crossings(world) == 0
    assert touched > 0
    np.testing.assert_allclose(momentum(), before, atol=1e-9 * np.abs(before).max())
    assert one.positions[:, 0].mean() < two.positions[:, 0].mean()  # nothing has gone through


def test_linked_rings_do_not_come_apart():
    ring = ct.mesh.torus(0.1, 0.03, (1, 12))
    material = ct.Corotated(young=2e5, poisson=0.3, density=1000.0)
    held = ct.SoftBody(ring.transformed(rotate=(np.pi / 2, 0, 0)), material=material, name="held")
    hangs = ct.SoftBody(
        ring.transformed(rotate=(0, 0, np.pi / 2)).transformed(translate=(0, -0.11, 0)),
        material=material,
        name="hangs",
        damping=(1.0, 0.005),
    )
    held.pin(lambda x: x[:, 1] > 0.09)
    world = ct.World([held, hangs], dt=0.01)
    for _ in range(25):
        world.step()
        assert crossings(world) == 0
    assert hangs.positions[:, 1].max() > -0.12  # free fall would be at -0.3 by now


def test_a_world_warns_of_bodies_that_overlap_at_the_start():
    with pytest.warns(UserWarning, match="'one' and 'two' overlap at the start"):
        world = ct.World([cube("one", (0, 0, 0)), cube("two", (0.05, 0.04, 0.03))])
    world.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.World([cube("one", (0, 0, 0)), cube("two", (0.3, 0, 0))])

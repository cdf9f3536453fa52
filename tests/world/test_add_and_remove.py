"""Bodies and colliders that enter and leave a running world: the others notice nothing."""

import numpy as np
import pytest

import continua as ct
from continua.output import make_sink

GROUND = ct.Plane((0.0, 0.0, 0.0), name="ground")


def block(name="block", x=0.0, **options):
    mesh = ct.mesh.box((0.3, 0.1, 0.3), (2, 1, 2), origin=(x, 0.001, 0.0))
    return ct.SoftBody(mesh, name=name, damping=(2.0, 0.0), **options)


def ball(name="ball", x=5.0, y=0.1005, **options):
    return ct.RigidBody(ct.Sphere((x, y, 0.15), 0.1), density=500.0, name=name, **options)


def resting(*bodies, steps=20, **options):
    world = ct.World(bodies or [block(), ball(), block("other", 2.0)], dt=0.01, colliders=[GROUND], **options)
    for _ in range(steps):
        world.step()
    return world


def assert_same(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, two[key], err_msg=key)


def contact_forces(world):
    return {body.name: body.frame().contacts.forces.sum(axis=0) for body in world}


def test_far_bodies_and_colliders_that_come_and_go_change_nothing():
    """Contacts keep the forces of the last step: the next ones begin with them, as without the change."""
    world, alone = resting(), resting()
    before = world.system(ct.SoftBody).stepper.warm_start
    assert len(before.keys) > 5
    wall = ct.Plane((-9.0, 0.0, 0.0), (1.0, 0.0, 0.0), name="wall")
    guest, marble = block("guest", -3.0), ball("marble", -5.0)
    for change in (lambda: world.add(guest, marble, wall), lambda: world.remove("guest", marble, wall)):
        change()
        after = world.system(ct.SoftBody).stepper.warm_start
        assert len(after.keys) == len(before.keys)
        for _ in range(3):
            reports, expected = world.step(), alone.step()
            for report in expected:
                own = next(one for one in reports if one.body == report.body)
                assert own.contacts == report.contacts
        for body in alone:
            np.testing.assert_allclose(world[body.name].positions, body.positions, atol=1e-9)
            np.testing.assert_allclose(world[body.name].velocities, body.velocities, atol=1e-7)


def test_the_forces_of_contacts_follow_when_numbers_change():
    """The first body leaves: all others get lower numbers, and the contacts with the ground other keys."""
    world = resting(block("first", -2.0), block(), ball())
    state = world.system(ct.SoftBody).stepper.warm_start
    mine = (state.participants[:, :2] == 1).any(axis=1)
    world.remove("first")
    after = world.system(ct.SoftBody).stepper.warm_start
    assert mine.sum() > 3
    np.testing.assert_array_equal(np.sort(after.forces, axis=0), np.sort(state.forces[mine], axis=0))
    weight = -9.81 * world["block"].mass_total
    world.step()
    assert contact_forces(world)["block"][1] == pytest.approx(-weight, rel=0.05)
    assert contact_forces(world)["ball"][1] == pytest.approx(9.81 * world["ball"].mass, rel=0.05)


def test_a_body_that_is_added_falls_on_what_is_there():
    world = resting(block())
    stone = ct.RigidBody(ct.Sphere((0.15, 0.3, 0.15), 0.05), density=2000.0)
    world.add(stone)
    assert stone.name == "stone"
    assert world["stone"] is stone
    for _ in range(80):
        world.step()
    assert 0.1 < stone.center_of_mass[1] < 0.16  # on the block
    world.remove("block")
    for _ in range(100):
        world.step()
    assert stone.center_of_mass[1] == pytest.approx(0.05, abs=2e-3)  # on the ground
    world.remove(GROUND)
    for _ in range(10):
        world.step()
    assert stone.center_of_mass[1] < 0.02
    assert [body.name for body in world.frame()] == ["stone"]
    assert world.frame().colliders == ()


def test_a_body_that_is_removed_keeps_its_state_and_is_free():
    world = resting()
    guest = world["block"]
    there = guest.positions
    world.remove(guest)
    assert "block" not in world
    np.testing.assert_array_equal(guest.positions, there)
    other = ct.World([guest], gravity=(0, 0, 0))
    other.step()
    world.gravity = (0, 5.0, 0)
    assert not other.gravity.any()
    with pytest.raises(ct.InputError, match="no body called 'block'"):
        world.remove("block")


def test_joints_and_pairs_go_with_their_body():
    one, two = ball("one", 0.0, 1.0), ball("two", 0.3, 1.0)
    contact = ct.Contact(pairs={("one", "ground"): {"collide": False}})
    world = ct.World(
        [one, two],
        colliders=[GROUND],
        contact=contact,
        joints=[ct.joints.Ball(one, two), ct.joints.Ball(two)],
    )
    world.remove("one")
    assert len(world.joints) == 1
    assert not world.contact.pairs
    three = ball("three", 0.6, 1.0)
    world.add(three, joints=[ct.joints.Fixed(three, two)])
    for _ in range(20):
        world.step()
    gap = np.linalg.norm(three.center_of_mass - two.center_of_mass)
    assert gap == pytest.approx(0.3, abs=1e-6)


def test_states_files_and_reset_follow(tmp_path):
    world, file = resting(), tmp_path / "world.h5"
    old = world.state()
    world.add(block("guest", -3.0))
    world.remove("ball")
    for _ in range(3):
        world.step()
    world.save(file)
    again = resting(block(), block("other", 2.0), block("guest", -3.0), steps=0)
    again.load(file)
    for _ in range(3):
        world.step()
        again.step()
    assert_same(world.state(), again.state())
    with pytest.raises(ct.InputError, match="body 'ball', which this one does not have"):
        world.restore(old)
    world.reset()
    np.testing.assert_array_equal(world["guest"].positions, world["guest"].rest_positions)
    assert not world["guest"].velocities.any()


def test_an_event_may_add_a_body_and_a_restore_repeats_it():
    def scheduled():
        world = resting(block(), steps=0)
        world.schedule(0.02, lambda world: world.add(ball("late", 1.0)))
        return world

    world = scheduled()
    for _ in range(4):
        world.step()
    again = scheduled()
    again.restore(world.state())
    assert_same(world.state(), again.state())
    fresh = scheduled()
    broken = {**world.state(), "late/centers": np.zeros((7, 3))}
    with pytest.raises(ct.InputError, match="late"):
        fresh.restore(broken)
    assert [body.name for body in fresh] == ["block"]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda world: world.add(ball("deep", 8.0, -1.0)), "behind collider 'ground'"),
        (lambda world: world.add(block("block", 7.0)), "two bodies are called 'block'"),
        (lambda world: world.add(world["ball"]), "is in this world already"),
        (lambda world: world.add(ct.World([block("taken")], name="elsewhere")["taken"]), None),
        (lambda world: world.add(3), "must be a body, not 3"),
        (
            lambda world: world.add(ct.Fluid(((3, -1, 0), (3.2, -0.8, 0.2)), particle_radius=0.05)),
            "collider 'ground'",
        ),
        (lambda world: world.add(ball("new", 8.0), joints=["x"]), "join"),
        (lambda world: world.remove(block("stranger", 9.0)), "no body or collider"),
        (lambda world: world.remove(ct.Plane()), "no body or collider"),
    ],
)
def test_what_is_refused_changes_nothing(make, sentence):
    world, alone = resting(), resting()
    if sentence is not None:
        with pytest.raises(ct.InputError, match=sentence):
            make(world)
        assert_same(world.state(), alone.state())
        world.step()
        alone.step()
        assert_same(world.state(), alone.state())


def test_a_body_of_another_world_is_refused():
    world, other = resting(), ct.World([block("taken", 9.0)], name="elsewhere")
    with pytest.raises(ct.InputError, match="is in the world 'elsewhere'"):
        world.add(other["taken"])


@pytest.mark.parametrize("kind", ["vtu", "ply"])
def test_files_of_a_run_follow(kind, tmp_path):
    world, folder = resting(block(), steps=0), tmp_path / "out"
    sink = make_sink(kind, folder)
    sink.open(ct.RunInfo(name="run", fps=50, seconds=0.1))
    counts = []
    for frame in world.run(seconds=0.1, fps=50, sinks=[sink]):
        counts.append(len(frame.bodies))
        if frame.index == 1:
            world.add(ball("late", 1.0))
        if frame.index == 3:
            world.remove("late")
    sink.close()
    assert counts == [1, 1, 2, 2, 1, 1]

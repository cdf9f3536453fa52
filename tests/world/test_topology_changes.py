"""Bodies whose mesh changes in a world: systems and couplings follow, and runs restart bitwise across a change."""

import numpy as np
import pytest

import continua as ct
from continua.output import checkpoint
from continua.scene import parse_scene


def right_half(x):
    return x[:, 0] > 0.5


def beam(**options):
    body = ct.SoftBody(ct.mesh.box((1.0, 0.25, 0.25), (4, 1, 1)), name="beam", **options)
    body.pin(lambda x: x[:, 0] < 1e-6)
    return body


def assert_same(one, two, but=()):
    assert one.keys() == two.keys()
    for key, value in one.items():
        if not key.endswith(but):
            np.testing.assert_array_equal(value, two[key], err_msg=key)


def changing_world(order=1):
    """A beam above the ground that is refined and then cut; another block rests on the ground all the time."""
    body = beam(order=order)
    other = ct.SoftBody(ct.mesh.box((0.3, 0.1, 0.3), (2, 1, 2), origin=(0, -0.301, 1.0)), name="other")
    world = ct.World([body, other], dt=0.01, colliders=[ct.Plane((0.0, -0.3, 0.0))])
    world.schedule(0.03, lambda _: body.refine(right_half))
    world.schedule(0.06, lambda _: body.split(right_half))
    return world


@pytest.mark.parametrize("order", [1, 2])
def test_a_restart_across_changes_of_topology_is_bitwise_identical(order, tmp_path):
    straight, file = changing_world(order), tmp_path / "checkpoint.h5"
    saved = []
    for _ in range(9):
        checkpoint.save(file, straight, "", frames_done=0, seconds=1.0, fps=60)
        saved.append(checkpoint.load(file).state)
        straight.step()
    for start in (2, 3, 5, 6, 7):  # before, at and after the changes
        world = changing_world(order)
        world.restore(saved[start])
        while world.step_index < 9:
            world.step()
        assert_same(straight.state(), world.state())


def test_an_earlier_state_and_a_reset_bring_the_earlier_mesh_back():
    world, states = changing_world(), []
    nodes = []
    for _ in range(9):
        states.append(world.state())
        world.step()
        nodes.append(world.body("beam").node_count)
    assert nodes[2] < nodes[3] == nodes[5] < nodes[6]
    end = world.state()
    world.restore(states[1])
    assert world.body("beam").node_count == nodes[1]
    while world.step_index < 9:
        world.step()
    assert_same(end, world.state(), but="topology_version")
    world.reset()
    assert world.body("beam").node_count == nodes[0]
    while world.step_index < 9:
        world.step()
    assert_same(end, world.state(), but="topology_version")


def test_a_step_that_fails_after_a_change_keeps_the_changed_body_and_does_not_change_it_again():
    world = changing_world()
    body = world.body("beam")
    for _ in range(3):
        world.step()
    push = world.body("other").push([0], (1e40, 0, 0))
    push.force = (1e40, 0, 0)
    with pytest.raises(ct.DivergedError):
        world.step()
    nodes, state = body.node_count, world.state()
    push.remove()
    again = changing_world()
    again.restore(state)  # the event of this moment has happened already
    for one in (world, again):
        one.step()
        assert one.body("beam").node_count == nodes
    assert_same(world.state(), again.state())


def test_contacts_of_other_bodies_keep_their_forces():
    world = changing_world()
    for _ in range(3):
        world.step()
    stepper = world.system(ct.SoftBody).stepper
    before = stepper.warm_start
    assert len(before.keys) > 0
    world.body("beam").refine(right_half)
    world.state()  # systems follow
    after = world.system(ct.SoftBody).stepper
    assert after is not stepper
    np.testing.assert_array_equal(after.warm_start.keys, before.keys)
    np.testing.assert_array_equal(after.warm_start.forces, before.forces)


def test_contacts_at_nodes_that_stay_keep_their_forces_when_their_body_is_refined():
    body = ct.SoftBody(ct.mesh.box((0.3, 0.1, 0.3), (2, 1, 2)), name="body")
    world = ct.World([body], dt=0.01, colliders=[ct.Plane((0.0, -0.0005, 0.0))])
    for _ in range(5):
        world.step()
    system = world.system(ct.SoftBody)
    before = system.stepper.warm_start
    old = body.positions[before.participants[:, 2]]
    body.refine("all")
    world.state()
    after = system.stepper.warm_start
    assert len(after.keys) == len(before.keys) > 0
    new = body.positions[after.participants[:, 2]]
    assert {(*x, *f) for x, f in zip(old, before.forces)} == {(*x, *f) for x, f in zip(new, after.forces)}


def test_a_lone_body_collides_with_itself_once_it_is_cut():
    """The upper half of a pinned column, cut off, stays on the lower half."""
    body = ct.SoftBody(ct.mesh.box((0.2, 0.4, 0.2), (1, 4, 1)), name="column")
    body.pin(lambda x: x[:, 1] < 0.25)
    world = ct.World([body], dt=0.005)
    world.step()
    assert world.system(ct.SoftBody).stepper is None
    body.split(lambda x: x[:, 1] > 0.2)
    for _ in range(40):
        world.step()
    assert world.system(ct.SoftBody).stepper is not None
    top = body.rest_positions[:, 1] > 0.35
    assert body.positions[top, 1].min() > 0.35  # a free fall would be 0.2 m


@pytest.mark.filterwarnings("ignore:.*overlap")
def test_bodies_that_overlap_from_the_start_still_pass_through_each_other_after_a_change():
    one = ct.SoftBody(ct.mesh.box((0.2, 0.2, 0.2), (2, 2, 2)), name="one")
    two = ct.SoftBody(ct.mesh.box((0.2, 0.2, 0.2), (2, 2, 2), origin=(0.1, 0.1, 0.1)), name="two")
    world = ct.World([one, two], dt=0.01)
    world.step()
    one.refine("all")
    for _ in range(5):
        reports = world.step()
    assert not any(report.contacts for report in reports)
    fall = 9.81 * 0.01**2 * 6 * 7 / 2
    for body in (one, two):
        move = body.positions - body.rest_positions
        np.testing.assert_allclose(move, np.broadcast_to([0.0, -fall, 0.0], move.shape), atol=1e-6)


def test_the_boundary_of_a_body_in_water_follows_its_mesh_and_restarts_bitwise():
    def make():
        soft = ct.SoftBody(
            ct.mesh.box((0.1, 0.1, 0.1), (2, 2, 2), origin=(0, 0, 0)),
            material=ct.Corotated(young=1e5, density=500.0),
            name="soft",
        )
        water = ct.Fluid(block=((0.0, 0.11, 0.0), (0.1, 0.16, 0.1)), particle_radius=0.01, name="water")
        room = ct.Box((0.05, 0.5, 0.05), (0.1, 1.0, 0.1), inside=True, friction=0.0)
        world = ct.World([soft, water], colliders=[room], dt=0.005)
        world.schedule(0.01, lambda _: soft.refine(lambda x: x[:, 1] > 0.05))
        return world

    world, states = make(), []
    boundary = world.system(ct.Fluid).boundaries[-1]
    for _ in range(5):
        states.append(world.state())
        world.step()
    now = world.system(ct.Fluid).boundaries[-1]
    assert now is not boundary
    assert len(now.triangles) > len(boundary.triangles)
    assert now.triangles.max() < world.body("soft").node_count
    for start in (1, 3):
        other = make()
        other.restore(states[start])
        while other.step_index < 5:
            other.step()
        assert_same(world.state(), other.state())


def test_scene_files_refine_and_split_at_a_time():
    text = """
seconds: 0.1
fps: 100
bodies:
  - {type: soft, name: beam, mesh: {type: box, size: [1, 0.25, 0.25], cells: [4, 1, 1]}, pin: [{where: left}]}
changes:
  - {type: refine, time: 0.02, body: beam, where: {type: half_space, point: [0.5, 0, 0], normal: [-1, 0, 0]}}
  - {type: split, time: 0.04, body: beam, where: {type: half_space, point: [0.5, 0, 0], normal: [-1, 0, 0]}}
  - {time: 0.05, body: beam, young: 2e6}
"""
    world = parse_scene(text).build()
    body = world.bodies[0]
    mass = body.mass_total
    counts, nodes = zip(*((body.element_count, body.node_count) for _ in world.run(seconds=0.1, fps=100)))
    assert counts[2] < counts[3] == counts[-1]
    assert nodes[3] == nodes[4] < nodes[5]
    assert body.mass_total == pytest.approx(mass, rel=1e-12)
    assert body.material.young == 2e6
    free = body.rest_positions[:, 0] > 0.9
    fallen = body.positions[free] - body.rest_positions[free]
    # the cut off half falls: with what it has from before the cut, more than a free fall since then
    assert fallen[:, 1].max() < -0.5 * 9.81 * 0.06**2

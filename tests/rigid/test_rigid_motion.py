"""Rigid bodies against mechanics: free flight, tops, bounces, slopes, rolling, stacks, and conserved quantities."""

import numpy as np
import pytest

import continua as ct


def _run(world, seconds, dt=0.01, each=lambda: None):
    for _ in range(round(seconds / dt)):
        world.step(dt)
        each()


def _slope(degrees):
    angle = np.radians(degrees)
    return (9.81 * np.sin(angle), -9.81 * np.cos(angle), 0.0)


def test_free_flight_is_a_parabola():
    ball = ct.RigidBody(ct.Sphere(radius=0.1), mass=2.0, velocity=(3.0, 4.0, 5.0))
    _run(ct.World([ball]), 1.0)
    assert ball.center_of_mass == pytest.approx([3.0, 4.0 - 0.5 * 9.81, 5.0], rel=1e-12)
    assert ball.velocity == pytest.approx([3.0, 4.0 - 9.81, 5.0], rel=1e-12)


def test_a_top_keeps_its_angular_momentum_and_its_energy():
    top = ct.RigidBody(ct.Box(size=(0.1, 0.3, 0.7)), density=1000.0, angular_velocity=(0.1, 20.0, 0.1))
    world = ct.World([top], gravity=(0, 0, 0))

    def momentum():
        turn = top.rotation
        return turn @ (top.inertia * (turn.T @ top.angular_velocity))

    before, energy = momentum(), top.energy()["kinetic"]
    flips = []
    _run(world, 5.0, each=lambda: flips.append(top.rotation[1, 1]))
    assert momentum() == pytest.approx(before, abs=1e-11 * np.linalg.norm(before))
    assert top.energy()["kinetic"] == pytest.approx(energy, rel=1e-3)
    assert min(flips) < -0.9  # the middle axis is unstable (Dzhanibekov): it turns over


def test_a_very_fast_top_stays_bounded():
    top = ct.RigidBody(ct.Box(size=(0.1, 0.3, 0.7)), density=1000.0, angular_velocity=(300.0, 900.0, 500.0))
    energy = top.energy()["kinetic"]
    _run(ct.World([top], gravity=(0, 0, 0)), 2.0)
    least, most = top.inertia.min(), top.inertia.max()
    assert energy * least / most < top.energy()["kinetic"] < energy * most / least


@pytest.mark.parametrize("friction", [0.0, 0.3, 0.5])
def test_a_box_slides_down_a_slope_by_coulombs_law(friction):
    box = ct.RigidBody(ct.Box((0.0, 0.5, 0.0), (1.0, 1.0, 1.0)), density=1000.0)
    world = ct.World([box], colliders=[ct.Plane(friction=friction)], gravity=_slope(30.0))
    _run(world, 1.0)
    angle = np.radians(30.0)
    assert box.velocity[0] == pytest.approx(9.81 * (np.sin(angle) - friction * np.cos(angle)), rel=1e-6)
    assert box.velocity[1:] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert box.center_of_mass[1] == pytest.approx(0.5, abs=1e-9)


def test_a_box_sticks_on_a_slope_that_is_not_steep_enough():
    box = ct.RigidBody(ct.Box((0.0, 0.5, 0.0), (1.0, 1.0, 1.0)), density=1000.0)
    world = ct.World(
        [box], colliders=[ct.Plane(friction=1.01 * np.tan(np.radians(30.0)))], gravity=_slope(30.0)
    )
    _run(world, 5.0)
    assert box.center_of_mass == pytest.approx([0.0, 0.5, 0.0], abs=1e-9)


def test_a_sliding_box_stops_where_it_must():
    box = ct.RigidBody(ct.Box((0.0, 0.5, 0.0), (1.0, 1.0, 1.0)), density=1000.0, velocity=(2.0, 0.0, 1.0))
    world = ct.World([box], colliders=[ct.Plane(friction=0.4)])
    _run(world, 2.0)
    way = 5.0 / (2.0 * 0.4 * 9.81)
    assert np.linalg.norm(box.center_of_mass[[0, 2]]) == pytest.approx(
        way, rel=5e-3
    )  # of first order in the small step
    assert box.center_of_mass[2] / box.center_of_mass[0] == pytest.approx(0.5, rel=1e-6)
    assert np.abs(box.velocity).max() < 1e-9


def test_a_ball_rolls_without_slip():
    ball = ct.RigidBody(ct.Sphere((0.0, 0.5, 0.0), 0.5), density=1000.0)
    world = ct.World([ball], colliders=[ct.Plane(friction=0.5)], gravity=_slope(20.0))
    _run(world, 1.0)
    assert ball.velocity[0] == pytest.approx(5.0 / 7.0 * 9.81 * np.sin(np.radians(20.0)), rel=1e-6)
    assert ball.angular_velocity[2] == pytest.approx(-ball.velocity[0] / 0.5, rel=1e-6)


@pytest.mark.parametrize("restitution", [1.0, 0.7, 0.3])
def test_a_ball_bounces_to_the_square_of_the_restitution(restitution):
    ball = ct.RigidBody(ct.Sphere((0.0, 1.1, 0.0), 0.1), density=1000.0, restitution=restitution)
    world = ct.World([ball], colliders=[ct.Plane()])
    heights, tops = [1.0, 1.0], []

    def look():
        heights.append(ball.center_of_mass[1] - 0.1)
        if heights[-2] > heights[-3] and heights[-2] >= heights[-1]:
            tops.append(heights[-2])

    _run(world, 1.5, each=look)
    assert tops[0] == pytest.approx(restitution**2, rel=2e-3)


def test_a_stack_of_20_boxes_stands():
    boxes = ct.RigidInstances(
        ct.Box(size=(1.0, 1.0, 1.0)), [[0.0, 0.5 + i, 0.0] for i in range(20)], density=1000.0
    )
    world = ct.World([boxes], colliders=[ct.Plane()])
    start = boxes.centers_of_mass
    _run(world, 10.0)
    scale = boxes.mass_total * 9.81 * 10.0
    assert boxes.energy()["kinetic"] < 1e-12 * scale
    assert boxes.centers_of_mass == pytest.approx(start, abs=1e-9)


def test_nothing_tunnels_at_50_metres_a_second():
    rng = np.random.default_rng(5)
    count = 60
    places = np.column_stack([np.arange(count) * 1.0, rng.uniform(0.5, 1.5, count), np.zeros(count)])
    turns = rng.normal(size=(count, 3))
    box = ct.RigidInstances(
        ct.Box(size=(0.1, 0.1, 0.1)),
        places,
        rotations=turns,
        mass=1.0,
        velocity=(0, -50, 0),
        angular_velocity=(3, 4, 5),
    )
    ball = ct.RigidInstances(ct.Sphere(radius=0.05), places + [0, 0, 3.0], mass=1.0, velocity=(0, -50, 0))
    thin = ct.Box((30.0, -0.005, 1.5), (80.0, 0.01, 8.0))
    world = ct.World([box, ball], colliders=[thin], dt=0.01)
    lowest = [1.0]
    _run(
        world,
        0.3,
        each=lambda: lowest.append(min(box.centers_of_mass[:, 1].min(), ball.centers_of_mass[:, 1].min())),
    )
    assert min(lowest) > 0.04


def test_collisions_conserve_momentum():
    rng = np.random.default_rng(2)
    places = np.stack(np.meshgrid(*[np.arange(3) * 0.25] * 3), axis=-1).reshape(-1, 3)
    boxes = ct.RigidInstances(
        ct.Box(size=(0.2, 0.2, 0.2)), places, density=500.0, velocity=-3.0 * (places - places.mean(axis=0)),
        angular_velocity=rng.normal(size=places.shape),
    )  # fmt: skip
    world = ct.World([boxes], gravity=(0, 0, 0), contact=ct.Contact(friction=0.4, restitution=0.5))
    before, energy = boxes.center_velocities.sum(axis=0), boxes.energy()["kinetic"]
    _run(world, 1.0)
    assert boxes.center_velocities.sum(axis=0) == pytest.approx(before, abs=1e-11)
    assert boxes.energy()["kinetic"] < 0.9 * energy


def test_a_kinematic_body_carries_others():
    plate = ct.RigidBody(
        ct.Box((0, -0.1, 0), (2, 0.2, 2)), mass=1.0, motion=ct.Motion.translate((0.5, 0.0, 0.0))
    )
    cube = ct.RigidBody(ct.Box((0, 0.2, 0), (0.4, 0.4, 0.4)), mass=1.0, velocity=(0.5, 0, 0))
    world = ct.World([plate, cube], contact=ct.Contact(friction=0.6))
    _run(world, 1.0)
    assert plate.center_of_mass == pytest.approx([0.5, -0.1, 0.0], abs=1e-12)
    assert cube.center_of_mass == pytest.approx([0.5, 0.2, 0.0], abs=1e-6)


@pytest.mark.filterwarnings("ignore:.*more pairs overlap")  # at random places
def test_a_restart_is_bitwise_identical():
    def make():
        rng = np.random.default_rng(0)
        balls = ct.RigidInstances(
            ct.Sphere(radius=0.1), rng.uniform(0.2, 1.2, (40, 3)), density=1000.0, name="balls"
        )
        stick = ct.RigidBody(ct.Capsule((0, 2, 0), (1, 2, 0), 0.1), density=500.0, name="stick")
        return ct.World(
            [balls, stick],
            colliders=[ct.Plane()],
            joints=[ct.joints.Ball(stick, None, point=(0.0, 2.0, 0.0))],
        )

    first, second = make(), make()
    _run(first, 0.4)
    second.restore(first.state())
    _run(first, 0.2)
    _run(second, 0.2)
    for one, other in zip(first.bodies, second.bodies, strict=True):
        assert (one.positions == other.positions).all()
        assert (one.velocities == other.velocities).all()
    first.reset()
    _run(first, 0.6)
    assert (first.bodies[0].positions == second.bodies[0].positions).all()


def test_a_pull_moves_a_body_to_its_target():
    cube = ct.RigidBody(ct.Box(size=(0.2, 0.2, 0.2)), mass=3.0)
    world = ct.World([cube], gravity=(0, 0, 0))
    pull = cube.pull((0.0, 0.0, 0.0), (0.5, 0.2, 0.1))
    _run(world, 3.0)
    assert cube.center_of_mass == pytest.approx([0.5, 0.2, 0.1], abs=1e-4)
    pull.remove()
    cube.push(force=(6.0, 0.0, 0.0))
    cube.velocity = (0.0, 0.0, 0.0)
    _run(world, 1.0)
    assert cube.velocity[0] == pytest.approx(2.0, rel=1e-9)


def test_meshes_rest_on_planes_and_on_each_other():
    lower = ct.RigidBody(
        ct.mesh.surfaces.box((0.4, 0.2, 0.4), (2, 1, 2), origin=(-0.2, 0.01, -0.2)), density=1000.0
    )
    ring = ct.RigidBody(
        ct.mesh.surfaces.torus(0.12, 0.04, (10, 24)).transformed(translate=(0, 0.26, 0)), density=1000.0
    )
    world = ct.World([lower, ring], colliders=[ct.Plane()])
    _run(world, 1.0)
    assert lower.center_of_mass == pytest.approx([0.0, 0.1, 0.0], abs=2e-3)
    assert ring.center_of_mass[1] == pytest.approx(0.24, abs=2e-3)
    assert world.energy()["kinetic"] < 1e-6

"""Physics of soft against rigid bodies: weight, rest, momentum, friction, corners, speed, masses, joints."""

import numpy as np
import pytest

import continua as ct


def _block(name="block", *, size=(0.4, 0.2, 0.4), cells=(6, 3, 6), young=5e4, move=(0, 0, 0), **options):
    mesh = ct.mesh.box(size=size, cells=cells).transformed(translate=move)
    return ct.SoftBody(mesh, material=ct.Corotated(young=young), name=name, **options)


def _pinned(**options):
    block = _block(**options)
    block.pin(lambda x: x[:, 1] < 1e-6)
    return block


def _momentum(soft, rigid):
    """Momentum, and angular momentum about the origin, of a soft body with lumped mass and a rigid body."""
    m = soft._node_mass[:, None]
    x, v = soft.positions, soft.velocities
    turn = rigid.rotation @ rigid.geometry.rotation
    spin = turn @ (rigid.inertia * (turn.T @ rigid.angular_velocity))
    linear = (m * v).sum(axis=0) + rigid.mass * rigid.velocity
    return linear, (m * np.cross(x, v)).sum(axis=0) + rigid.mass * np.cross(
        rigid.center_of_mass, rigid.velocity
    ) + spin


@pytest.mark.parametrize("shape", ["box", "cylinder"])
def test_a_rigid_body_rests_on_a_soft_block_with_its_weight(shape):
    block = _pinned(damping=(5.0, 0.01))
    shapes = {
        "box": ct.Box((0.2, 0.26, 0.2), (0.15, 0.1, 0.15)),
        "cylinder": ct.Cylinder((0.2, 0.26, 0.2), axis=(0, 1, 0), radius=0.1, height=0.1),
    }
    brick = ct.RigidBody(shapes[shape], density=1000.0, name="brick")
    world = ct.World([block, brick], dt=0.01)
    for _ in range(90):
        world.step()
    here, forces = brick.center_of_mass, []
    for _ in range(50):
        reports = world.step()
        forces.append(reports[1].contact_force)
        np.testing.assert_allclose(reports[0].contact_force, -np.array(forces[-1]), atol=1e-10)
        assert world.energy()["kinetic"] < 1e-9 * 9.81 * brick.mass * 0.1
    weight = 9.81 * brick.mass  # where a contact goes over to its neighbour, a step is off by some 1e-5
    np.testing.assert_allclose(np.median(forces, axis=0), [0, weight, 0], atol=1e-6 * weight)
    np.testing.assert_allclose(forces, [[0, weight, 0]] * 50, atol=1e-4 * weight)
    np.testing.assert_allclose(brick.center_of_mass, here, atol=1e-6)
    corners = brick.positions
    assert block.positions[:, 1].max() < 0.2 + 1e-3
    assert corners[:, 1].min() > 0.15  # its corners did not sink in


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3])
def test_a_free_pair_conserves_momentum_for_any_mass_ratio(ratio):
    block = _block(size=(0.2, 0.2, 0.2), cells=(3, 3, 3), young=1e5, mass="lumped")
    ball = ct.RigidBody(ct.Sphere((0.35, 0.13, 0.12), 0.1), mass=ratio * block.mass_total, name="ball")
    ball.set_velocity((-2.0, 0, 0), (0, 0, 5.0))
    world = ct.World([block, ball], gravity=(0, 0, 0), dt=0.01)
    before, turning = _momentum(block, ball)
    energy, pushed = sum(world.energy().values()), 0.0
    for _ in range(40):
        one, other = (np.array(report.contact_force) for report in world.step())
        np.testing.assert_allclose(one, -other, atol=1e-12 * (1.0 + np.abs(one).max()))
        pushed = max(pushed, float(np.abs(one).max()))
        now = sum(world.energy().values())
        assert now <= energy * (1.0 + 1e-6)
        energy = now
    assert pushed > 0.0
    after, turned = _momentum(block, ball)
    scale = np.abs(before).max()
    np.testing.assert_allclose(after, before, atol=1e-10 * scale)
    np.testing.assert_allclose(turned, turning, atol=0.02 * 0.2 * scale)
    assert block.velocities[:, 0].mean() < ball.velocity[0]  # they part


@pytest.mark.parametrize("friction", [0.2, 0.8])
def test_a_soft_cube_on_a_tilted_rigid_slab_obeys_coulomb(friction):
    """On a slope of 30 degrees it slides with g (sin - mu cos), or stays."""
    angle = np.pi / 6
    slab = ct.RigidBody(
        ct.Box((0, -0.05, 0), (4, 0.1, 2)), density=1000.0, motion=ct.Motion.translate((0, 0, 0)), name="slab"
    )
    cube = _block("cube", size=(0.1, 0.1, 0.1), cells=(2, 2, 2), young=1e6, move=(0, 0.0, 0), mass="lumped")
    down = 9.81 * np.array([np.sin(angle), -np.cos(angle), 0.0])
    world = ct.World([cube, slab], gravity=down, dt=0.01, contact=ct.Contact(friction=friction))
    for _ in range(60):
        world.step()
    first = cube._node_mass @ cube.velocities / cube.mass_total
    for _ in range(40):
        world.step()
    gained = (cube._node_mass @ cube.velocities / cube.mass_total - first)[0] / 0.4
    expected = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle)))
    assert gained == pytest.approx(expected, abs=2e-4 * 9.81)
    assert cube.positions[:, 1].min() > -1e-6


def test_a_free_slab_takes_up_the_friction_of_a_soft_cube():
    """A cube thrown along a free slab: both end at the common velocity of their momentum."""
    slab = ct.RigidBody(ct.Box((0, -0.051, 0), (4, 0.1, 2)), mass=3.0, name="slab")
    cube = _block("cube", size=(0.1, 0.1, 0.1), cells=(2, 2, 2), young=1e6, mass="lumped")
    cube.set_velocity((1.0, 0, 0))
    slide = ct.joints.Slider(slab, point=(0, 0, 0), axis=(1, 0, 0))
    world = ct.World([cube, slab], joints=[slide], dt=0.01, contact=ct.Contact(friction=0.5))
    for _ in range(60):
        world.step()
    assert slab.velocity[0] == pytest.approx(0.25, abs=1e-4)
    assert (cube._node_mass @ cube.velocities / cube.mass_total)[0] == pytest.approx(0.25, abs=1e-4)
    assert abs(slab.velocity[1]) < 1e-6  # the slider holds it
    assert world.system(ct.RigidBody).rigid.joints.error < 1e-6


@pytest.mark.parametrize("dt", [0.01, 0.02])
@pytest.mark.parametrize("radius", [0.01, 0.05])
def test_a_bullet_does_not_go_through_a_thin_plate(dt, radius):
    """50 m/s against a plate of 1 cm: in a step the bullet would be half a metre or more behind it."""
    plate = _block("plate", size=(0.6, 0.01, 0.6), cells=(6, 1, 6), young=1e6, damping=(1.0, 0.0))
    plate.pin(lambda x: (np.abs(x[:, [0, 2]] - 0.3) > 0.299).any(axis=1))
    bullet = ct.RigidBody(
        ct.Sphere((0.33, 0.2, 0.28), radius), density=1000.0, velocity=(0, -50, 0), name="bullet"
    )
    world = ct.World([plate, bullet], dt=dt)
    energy = sum(world.energy().values())
    for _ in range(8):
        world.step()
        sheet = plate.positions.reshape(-1, 3)
        near = np.argsort(np.hypot(*(sheet - bullet.center_of_mass)[:, [0, 2]].T))[:4]
        assert bullet.center_of_mass[1] > sheet[near, 1].min() - 0.005
    assert sum(world.energy().values()) < energy


def _moment(block, about):
    """Moment of the contact forces on what presses a block [N m]."""
    return np.cross(block.positions - about, -block._contact_force).sum(axis=0)[2]


def test_a_hinged_flap_presses_a_soft_block():
    """A flap on a hinge lies on a block: the moment of its weight is that of the contact forces."""
    block = _pinned(size=(0.2, 0.2, 0.2), cells=(3, 3, 3), damping=(5.0, 0.01))
    flap = ct.RigidBody(ct.Box((-0.07, 0.22, 0.1), (0.66, 0.02, 0.15)), density=2000.0, name="flap")
    hinge = ct.joints.Hinge(flap, point=(-0.4, 0.22, 0.1), axis=(0, 0, 1))
    world = ct.World([block, flap], joints=[hinge], dt=0.01)
    for _ in range(120):
        world.step()
    assert world.energy()["kinetic"] < 1e-9
    assert world.system(ct.RigidBody).rigid.joints.error < 1e-7
    weight = np.cross(flap.center_of_mass - [-0.4, 0.22, 0.1], [0, -9.81 * flap.mass, 0])[2]
    assert _moment(block, [-0.4, 0.22, 0.1]) + weight == pytest.approx(0.0, abs=1e-4 * abs(weight))


def test_a_motor_presses_a_soft_block_with_its_strength():
    block = _pinned(size=(0.2, 0.2, 0.2), cells=(3, 3, 3), damping=(5.0, 0.01))
    arm = ct.RigidBody(ct.Box((-0.07, 0.22, 0.1), (0.66, 0.02, 0.15)), density=500.0, name="arm")
    hinge = ct.joints.Hinge(arm, point=(-0.4, 0.22, 0.1), axis=(0, 0, 1))
    motor = ct.joints.Motor(hinge, speed=-0.5, strength=3.0)
    world = ct.World([block, arm], gravity=(0, 0, 0), joints=[hinge, motor], dt=0.01)
    for _ in range(120):
        world.step()
    assert abs(arm.angular_velocity[2]) < 1e-4
    assert _moment(block, [-0.4, 0.22, 0.1]) == pytest.approx(3.0, rel=1e-3)


def _scene(turn):
    """A box that hits a soft block at an angle, in a world turned by `turn`; returns all turned back."""
    mesh = ct.mesh.box(size=(0.3, 0.1, 0.3), cells=(4, 2, 4))
    mesh = ct.TetMesh(mesh.points @ turn.T, mesh.tets)
    block = ct.SoftBody(mesh, material=ct.Corotated(young=1e5), solver=ct.PCG(rtol=1e-10), name="block")
    block.pin(lambda x: (x @ turn)[:, 1] < 1e-6)
    half = ct.mesh.surfaces.box((0.1, 0.06, 0.08), origin=(0.12, 0.12, 0.1))
    brick = ct.RigidBody(ct.SurfaceMesh(half.points @ turn.T, half.triangles), density=800.0, name="brick")
    brick.set_velocity(turn @ [0.5, -1.0, 0.1], turn @ [1.0, 0.5, 2.0])
    world = ct.World([block, brick], gravity=turn @ [0, -9.81, 0], dt=0.01)
    for _ in range(25):
        world.step()
    return block.positions @ turn, brick.center_of_mass @ turn


def test_rotated_scenes_agree():
    q, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turn = q * np.sign(np.linalg.det(q))
    for one, other in zip(_scene(np.eye(3)), _scene(turn), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_soft_and_a_rigid_body_that_overlap_at_the_start_are_refused():
    ball = ct.RigidBody(ct.Sphere((0.2, 0.1, 0.2), 0.08), density=1000.0, name="ball")
    with pytest.raises(ct.InputError, match="'ball' and body 'block' overlap at the start"):
        ct.World([_block(), ball])
    apart = ct.Contact(pairs={("ball", "block"): {"collide": False}})
    ct.World([_block(), ball], contact=apart).step()  # they may go through each other


def test_a_restart_with_soft_and_rigid_bodies_is_bitwise_identical():
    def make():
        block = _pinned(cells=(4, 2, 4))
        ball = ct.RigidBody(
            ct.Sphere((0.2, 0.31, 0.2), 0.1), density=500.0, angular_velocity=(1, 0, 2), name="ball"
        )
        box = ct.RigidBody(ct.Box((0.25, 0.5, 0.2), (0.1, 0.1, 0.1)), density=500.0, name="box")
        return ct.World([block, ball, box], dt=0.01)

    one, other = make(), make()
    for _ in range(12):
        one.step()
    state = one.state()
    other.restore(state)
    for _ in range(12):
        one.step()
        other.step()
    for body, again in zip(one.bodies, other.bodies, strict=True):
        assert np.array_equal(body.positions, again.positions)


def test_rigid_bodies_far_from_soft_ones_move_as_without_them():
    def bricks():
        return ct.RigidInstances(
            ct.Box(size=(0.1, 0.1, 0.1)), [[0, 0.06 + 0.11 * k, 0] for k in range(4)], density=500.0
        )

    block = _block(move=(5, 0, 0), cells=(2, 1, 2))
    one, other = bricks(), bricks()
    floor = [ct.Plane()]
    mixed, plain = ct.World([block, one], colliders=floor), ct.World([other], colliders=floor)
    for _ in range(20):
        mixed.step()
        plain.step()
    assert np.array_equal(one.centers_of_mass, other.centers_of_mass)
    assert np.array_equal(one.center_velocities, other.center_velocities)


def test_distant_bodies_step_by_themselves():
    low, high = _block("low", cells=(2, 1, 2)), _block("high", cells=(2, 1, 2), move=(3, 2, 0))
    world = ct.World([low, high], colliders=[ct.Plane()])
    world.step()
    groups = world.system(ct.SoftBody).stepper._group(0.01, np.zeros((0, 2), np.int64), everything=False)
    assert groups.label[0] != groups.label[1]
    assert groups.isolated.tolist() == [False, True]


def test_contact_with_a_body_that_expands_faster_than_its_velocity_is_found():
    """A bar squeezed to a third is let go beside a light ball; in one step it jumps by more than the gap."""
    bar = _block("bar", size=(0.6, 0.1, 0.1), cells=(6, 1, 1), young=1e6)
    bar._x[:, 0] *= 1.0 / 3.0
    ball = ct.RigidBody(ct.Sphere((0.32, 0.05, 0.05), 0.05), mass=0.01, name="ball")
    world = ct.World([bar, ball], gravity=(0, 0, 0), dt=0.02)
    reports = world.step()
    assert reports[1].contacts > 0
    assert ball.velocity[0] > 1.0
    assert bar.positions[:, 0].max() < ball.center_of_mass[0]


def test_restitution_of_a_pair_returns_the_impact_speed():
    """The nodes of a soft cube that meet a rigid slab part from it with e times the speed with which they came."""
    cube = _block(
        "cube", size=(0.1, 0.1, 0.1), cells=(2, 2, 2), young=1e6, move=(0.15, 0.1501, 0.15), mass="lumped"
    )
    cube.set_velocity((0, -3, 0))
    slab = ct.RigidBody(ct.Box((0.2, 0.1, 0.2), (0.4, 0.1, 0.4)), density=3000.0, name="slab")
    pair = {("cube", "slab"): {"restitution": 0.6, "friction": 0.0}}
    world = ct.World([cube, slab], gravity=(0, 0, 0), dt=0.001, contact=ct.Contact(pairs=pair, friction=0.4))
    before = 9 * [0.0]
    low = cube.rest_positions[:, 1] < 0.1502
    momentum = _momentum(cube, slab)[0]
    while not any(before):
        world.step()
        before = world.frame()["cube"]["contact_force"][low, 1]
    there = slab.velocity + np.cross(slab.angular_velocity, cube.positions[low] - slab.center_of_mass)
    np.testing.assert_allclose(cube.velocities[low, 1] - there[:, 1], 0.6 * 3.0, rtol=1e-5)
    np.testing.assert_allclose(_momentum(cube, slab)[0], momentum, atol=1e-10)
    assert world.frame()["cube"]["contact_force"][:, [0, 2]] == pytest.approx(0.0, abs=1e-9)


def test_a_step_that_fails_leaves_soft_and_rigid_bodies_at_their_last_good_state(monkeypatch):
    from continua.coupling.contact import substep_solve
    from continua.linalg import SolveReport

    def make():
        block = _pinned(cells=(4, 2, 4))
        ball = ct.RigidBody(
            ct.Sphere((0.2, 0.31, 0.2), 0.1), density=500.0, angular_velocity=(1, 0, 2), name="ball"
        )
        world = ct.World([block, ball], dt=0.01)
        for _ in range(15):
            reports = world.step()
        assert reports[1].contacts
        return world

    world, twin = make(), make()
    before = world.state()
    solve = substep_solve.SemismoothNewton.solve

    def fails(*args, **options):
        found = solve(*args, **options)
        found.report = SolveReport(1, -1.0, False)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(substep_solve.SemismoothNewton, "solve", fails)
        with pytest.raises(ct.DivergedError):
            world.step()
    after = world.state()
    assert before.keys() == after.keys()
    for key, value in before.items():
        assert np.array_equal(value, after[key]), key
    for _ in range(3):  # and goes on as if nothing had happened
        world.step()
        twin.step()
    for body, other in zip(world.bodies, twin.bodies, strict=True):
        assert np.array_equal(body.positions, other.positions)

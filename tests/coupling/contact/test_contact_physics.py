"""Physics of contact: no tunnelling, momentum, energy, rest, moving colliders, and rotated and scaled scenes."""

import numpy as np
import pytest

import continua as ct
from continua.deformable import mass_kernels


def _tets(count, rng, size=0.1):
    """A mesh of loose tetrahedra, each turned at random about its own place, and their middles."""
    corner = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    corner -= corner.mean(axis=0)
    points = []
    for _ in range(count):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        points.append(corner @ (q * np.sign(np.linalg.det(q))).T)
    return np.array(points), np.arange(4 * count).reshape(count, 4)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_tunnels_in_a_thousand_throws(seed):
    """200 tetrahedra at a time, thrown at up to 50 m/s at a plate of 1 mm, a ball, a rod and a wall that comes."""
    rng = np.random.default_rng(seed)
    tets, cells = _tets(200, rng)
    places = np.column_stack([rng.uniform(-4, 4, 200), rng.uniform(0.3, 3.0, 200), rng.uniform(-4, 4, 200)])
    shapes = [
        ct.Box(center=(0, 0.1, 0), size=(200.0, 0.001, 200.0)),
        ct.Sphere(center=(0, 4.2, 0), radius=0.8),
        ct.Capsule(start=(-4, 4, 3), end=(4, 4, 3), radius=0.02),
        ct.Plane(point=(-6, 0, 0), normal=(1, 0, 0), motion=ct.Motion.translate((5.0, 0, 0))),
    ]
    mesh = ct.TetMesh((tets + places[:, None]).reshape(-1, 3), cells)
    body = ct.SoftBody(mesh, material=ct.Corotated(young=1e6), name="tets")
    velocity = rng.normal(size=(200, 3))
    velocity *= (50.0 * rng.random(200) / np.linalg.norm(velocity, axis=1))[:, None]
    body._v[:] = np.repeat(velocity, 4, axis=0)
    body._stepper.restart(body._v)
    apart = {("tets", "tets"): {"collide": False}}  # some overlap from the start
    world = ct.World([body], colliders=shapes, dt=0.02, contact=ct.Contact(friction=0.2, pairs=apart))
    touched = 0
    for _ in range(5):
        (report,) = world.step()
        touched += report.contacts
        x = body.positions
        depth = max(-shape.distances_at(x, world.time, 0.0)[0].min() for shape in shapes)
        assert depth < 1e-3 * body._element_size
        assert report.max_penetration < 0.01 * body._element_size  # with the distance that edges keep
        assert (x[:, 1] > 0.1).all()  # all began above the plate
    assert touched > 50


def _pair(integrator="implicit_euler", **options):
    bodies = []
    for name, x, v in (("left", 0.0, 1.0), ("right", 0.25, -0.5)):
        mesh = ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(2, 2, 2)).transformed(
            translate=(x, 0.02 * (v < 0), 0.0)
        )
        body = ct.SoftBody(
            mesh, material=ct.Corotated(young=1e5), name=name, integrator=integrator, mass="lumped", **options
        )
        body.set_velocity((v, 0, 0))
        bodies.append(body)
    return bodies


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark"])
def test_two_bodies_that_collide_keep_their_momentum_and_push_each_other_equally(integrator):
    bodies = _pair(integrator)
    world = ct.World(bodies, gravity=(0, 0, 0), dt=0.005)
    before = sum(body._node_mass @ body._v for body in bodies)
    energy, pushed = world.energy()["kinetic"], 0.0
    for _ in range(60):
        one, other = (np.array(report.contact_force) for report in world.step())
        np.testing.assert_allclose(one, -other, atol=1e-9 * (1.0 + np.abs(one).max()))
        pushed = max(pushed, float(np.abs(one).max()))
        assert bodies[0].positions[:, 0].max() < bodies[1].positions[:, 0].min() + 0.02
    assert pushed > 1.0
    after = sum(body._node_mass @ body._v for body in bodies)
    np.testing.assert_allclose(after, before, atol=1e-4 * np.abs(before).max())
    assert bodies[0].velocities[:, 0].mean() < bodies[1].velocities[:, 0].mean()  # they part
    total = world.energy()
    assert total["kinetic"] + total["elastic"] < energy


def test_a_stiff_block_rests_without_jitter_for_a_minute():
    """E = 1e7 at dt = 20 ms: kinetic energy below 1e-6 of m g h, and no drift."""
    block = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(2, 2, 2)), material=ct.Corotated(young=1e7), name="b"
    )
    world = ct.World([block], colliders=[ct.Plane()], dt=0.02)
    for _ in range(100):
        world.step()
    rested, scale = block.positions, block.mass_total * 9.81 * 0.2
    for k in range(2900):
        world.step()
        if k % 50 == 0:
            assert world.energy()["kinetic"] < 1e-6 * scale
    np.testing.assert_allclose(block.positions, rested, atol=1e-6)


def test_a_node_moves_with_a_plate_and_separates_when_it_retreats():
    """B6: a plate that rises at 0.5 m/s carries a block at its own speed; one that falls faster than g lets it go."""
    times = [0.0, 1.0, 1.1]
    plate = ct.Plane(motion=ct.Motion.keyframes(times, [[0, 0, 0], [0, 0.5, 0], [0, -4.5, 0]]))
    block = ct.SoftBody(
        ct.mesh.box(size=(0.1, 0.1, 0.1), cells=(1, 1, 1)), material=ct.Corotated(young=1e6), name="b"
    )
    world = ct.World([block], colliders=[plate], dt=0.01)
    for _ in range(95):
        (report,) = world.step()
    assert report.contacts == 4
    assert block.velocities[:4, 1].min() == pytest.approx(0.5, abs=1e-6)
    assert block.positions[:, 1].min() == pytest.approx(0.5 * world.time, abs=1e-6)
    for _ in range(7):
        (report,) = world.step()
    assert report.contacts == 0
    start = block._node_mass @ block._v[:, 1] / block.mass_total
    world.step()
    end = block._node_mass @ block._v[:, 1] / block.mass_total
    assert end - start == pytest.approx(-9.81 * 0.01, rel=1e-6)  # free fall, no sticking


def test_friction_never_adds_energy():
    """A block that slides, tumbles and comes to rest loses energy in every step."""
    block = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.4, 0.2), cells=(2, 4, 2)), material=ct.Corotated(young=2e5), name="b"
    )
    block.set_velocity((2.0, 0, 0.3), (0, 0, -2.0))
    world = ct.World([block], colliders=[ct.Plane(friction=0.7)], dt=0.01)
    last = sum(world.energy().values())
    for _ in range(200):
        world.step()
        now = sum(world.energy().values())
        assert now <= last + 1e-5 * block.mass_total
        last = now


def node_momenta(body, velocities):
    momentum = np.empty_like(velocities)
    pattern = body._elements.pattern
    mass_kernels.mass_times.variant(False)(
        pattern.indptr, pattern.indices, body._mass, velocities.copy(), momentum
    )
    return momentum


def vertical_momentum(body):
    """Return the angular momentum of a body about the vertical axis."""
    return np.cross(body.positions, node_momenta(body, body.velocities))[:, 1].sum()


@pytest.mark.parametrize(("young", "newton"), [(1e5, 1), (1e6, 1), (1e5, 6)])
def test_a_floor_without_friction_keeps_the_spin(young, newton):
    """A bar that spins about the vertical, and hits and rests on a smooth floor, keeps that angular momentum."""
    bar = ct.SoftBody(
        ct.mesh.box((0.3, 0.1, 0.1), (6, 2, 2)).transformed(translate=(0, 0.3, 0)),
        material=ct.Corotated(young=young, rotation="exact"),
        integrator=ct.ImplicitEuler(newton=newton),
        name="bar",
    )
    bar.set_velocity((0.5, -2.0, 0.3), (0.0, 10.0, 1.0))
    world = ct.World([bar], colliders=[ct.Plane(friction=0.0)], dt=0.01)
    before = vertical_momentum(bar)
    touched = sum(world.step()[0].contacts > 0 for _ in range(60))
    assert touched > 20
    assert abs(vertical_momentum(bar) / before - 1.0) < 0.004


@pytest.mark.parametrize(("young", "dt"), [(1e4, 0.01), (1e6, 0.02), (1e7, 0.01), (1e7, 0.02)])
def test_the_default_tangent_keeps_the_spin_of_stiff_bodies(young, dt):
    mesh = ct.mesh.box((0.3, 0.1, 0.1), (6, 2, 2)).transformed(translate=(0, 0.3, 0))
    bar = ct.SoftBody(mesh, material=ct.Corotated(young=young), name="bar")
    bar.set_velocity((0.5, -2.0, 0.3), (0.0, 10.0, 1.0))
    world = ct.World([bar], colliders=[ct.Plane(friction=0.0)], dt=dt)
    before = vertical_momentum(bar)
    touched = sum(world.step()[0].contacts > 0 for _ in range(round(0.6 / dt)))
    assert touched > 10
    assert abs(vertical_momentum(bar) / before - 1.0) < 0.01


@pytest.mark.parametrize(("young", "rotation"), [(1e5, "exact"), (1e6, "exact"), (1e6, "auto")])
def test_bars_that_spin_on_each_other_keep_the_spin(young, rotation):
    """Without friction nothing brakes the rotation about the vertical, whatever presses the bars together."""
    bars = []
    for number in range(2):
        mesh = ct.mesh.box((0.3, 0.1, 0.1), (6, 2, 2)).transformed(translate=(0, 0.3 + 0.105 * number, 0))
        bars.append(
            ct.SoftBody(mesh, material=ct.Corotated(young=young, rotation=rotation), name=f"bar {number}")
        )
        bars[-1].set_velocity((0.0, -2.0, 0.0), (0.0, 10.0, 0.0))
    contact = ct.Contact(friction=0.0)
    world = ct.World(bars, colliders=[ct.Plane(friction=0.0)], contact=contact, dt=0.01)
    before = sum(map(vertical_momentum, bars))
    touched = sum(world.step()[1].contacts > 0 for _ in range(60))
    assert touched > 20
    assert abs(sum(map(vertical_momentum, bars)) / before - 1.0) < 0.015


@pytest.mark.parametrize("young", [1e5, 1e7])
def test_internal_forces_have_no_moment_in_contact(young):
    """In every step each of two bodies that hit each other changes its momenta by its contact forces only."""
    bars = []
    for number in range(2):
        mesh = ct.mesh.box((0.3, 0.1, 0.1), (6, 2, 2)).transformed(
            translate=(0.05 * number, 0.105 * number, 0)
        )
        bars.append(ct.SoftBody(mesh, material=ct.Corotated(young=young), name=f"bar {number}"))
    bars[1].set_velocity((0.3, -2.0, 0.1), (1.0, 10.0, 2.0))
    world = ct.World(bars, gravity=(0.0, 0.0, 0.0), contact=ct.Contact(friction=0.3), dt=0.01)
    touched = 0
    for _ in range(15):
        before = [(bar.positions, bar.velocities) for bar in bars]
        touched += world.step()[0].contacts > 0
        for bar, (x, v) in zip(bars, before, strict=True):
            change = node_momenta(bar, bar.velocities - v) - world.dt * bar.contact_forces
            size = 3.0 * 10.0  # mass [kg] times speed
            np.testing.assert_allclose(change.sum(axis=0), 0.0, atol=1e-9 * size)
            np.testing.assert_allclose(np.cross(x, change).sum(axis=0), 0.0, atol=1e-9 * size)
    assert touched > 3


def _tumble(turn, scale):
    """Run a block that hits a slope, in a world that is turned and scaled; return it turned and scaled back."""
    mesh = ct.mesh.box(size=(0.2, 0.1, 0.15), cells=(2, 1, 2)).transformed(translate=(0.0, 0.02, 0.0))
    mesh = ct.TetMesh(scale * mesh.points @ turn.T, mesh.tets)
    body = ct.SoftBody(mesh, material=ct.Corotated(young=1e5 * scale), solver=ct.PCG(rtol=1e-12), name="b")
    body.set_velocity(np.sqrt(scale) * turn @ [1.0, 0, 0.2], turn @ [0, 0, 3.0] / np.sqrt(scale))
    down = turn @ [0.3, -9.0, 0.0]
    floor = ct.Plane(normal=tuple(turn @ [0, 1.0, 0]), friction=0.4)
    world = ct.World([body], gravity=down, colliders=[floor], dt=0.01 * np.sqrt(scale))
    for _ in range(40):
        world.step()
    return body.positions @ turn / scale


def test_rotated_and_scaled_scenes_agree():
    q, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turn = q * np.sign(np.linalg.det(q))
    plain = _tumble(np.eye(3), 1.0)
    np.testing.assert_allclose(_tumble(turn, 1.0), plain, atol=1e-6)
    np.testing.assert_allclose(_tumble(turn, 16.0), plain, atol=1e-6)


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "semi_implicit"])
def test_an_impact_returns_its_speed_by_the_restitution(integrator):
    """Particles that fall at 2 m/s on a floor with restitution 0.6 come off with 1.2 m/s, and their sideways speed."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    body = ct.SoftBody(
        ct.TetMesh(points, np.array([[0, 1, 2, 3]])), material=ct.Linear(young=1e-9), integrator=integrator,
        mass="lumped",
        name="b",
    )  # fmt: skip
    body._x[:] = [[0, 0.05, 0], [1, 0.05, 0], [2, 0.05, 1], [3, 0.05, 0]]
    body.set_velocity((0.5, -2.0, 0))
    floor = ct.Plane(friction=0.0, restitution=0.6)
    world = ct.World([body], gravity=(0, 0, 0), colliders=[floor], dt=0.01)
    for _ in range(10):
        world.step()
    np.testing.assert_allclose(body._v, np.tile([0.5, 1.2, 0.0], (4, 1)), atol=1e-6)


@pytest.mark.parametrize(("angle", "friction", "speed"), [(0.5, 0.2, 0.0), (0.3, 0.6, 3.0)])
@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "semi_implicit"])
def test_an_elastic_tetrahedron_slides_as_the_formula_says(integrator, angle, friction, speed):
    """B3 and B4 with every integrator: g (sin - mu cos), accelerating and braking, and rest after it."""
    points = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0.3, 1, 0.3]])
    body = ct.SoftBody(
        ct.TetMesh(points, np.array([[0, 2, 1, 3]])), material=ct.Corotated(young=1e6), damping=(0.0, 0.01),
        integrator=integrator, solver=ct.PCG(rtol=1e-13), name="tet",
    )  # fmt: skip
    dt, down = 1 / 96, 9.81 * np.array([np.sin(angle), -np.cos(angle), 0.0])
    world = ct.World([body], gravity=down, colliders=[ct.Plane(friction=friction)], dt=dt)
    body.set_velocity((speed, 0, 0))
    a = 9.81 * (np.sin(angle) - friction * np.cos(angle))
    start = body._node_mass @ body._x[:, 0] / body.mass_total
    for step in range(1, 145):
        world.step()
        t = min(step * dt, -speed / a if a < 0.0 else np.inf)
        way = speed * t + 0.5 * a * t * t
        if integrator == "implicit_euler":  # its positions go with the velocity at the end of each step
            way += 0.5 * a * dt * t
        moved = body._node_mass @ body._x[:, 0] / body.mass_total - start
        assert moved == pytest.approx(way, abs=1e-4 * 1.65)
    v = body._node_mass @ body._v[:, 0] / body.mass_total
    assert v == pytest.approx(max(speed + a * 1.5, 0.0), abs=1e-4)

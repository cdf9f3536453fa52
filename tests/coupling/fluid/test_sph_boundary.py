"""Two-way coupling of particle fluids with bodies: momentum, buoyancy, added mass."""

import numpy as np
import pytest

import continua as ct


def momentum(world, water, ball):
    """Return linear and angular momentum, with that of added mass and drag, which the ball gets back later."""
    m, v, x = water.particle_mass, water.velocities, water.positions
    turn, kept = ball.rotation, world.couplings[0].state()
    unit = np.concatenate([ball.velocity, turn @ (ball.geometry.inertia * (ball.angular_velocity @ turn))])
    inertia = kept["ball/previous_added_mass"][0] + kept["ball/previous_drag"][0]
    own = ball.mass * unit + inertia * (unit - kept["ball/previous_velocity"][0]) + kept["ball/withheld"][0]
    angular = np.cross(x, m * v).sum(axis=0) + np.cross(ball.center_of_mass, own[:3]) + own[3:]
    return m * v.sum(axis=0) + own[:3], angular


@pytest.mark.parametrize(
    ("boundary", "solver", "viscosity"),
    [
        ("density_map", ct.DFSPH(), 0.001),
        ("volume_map", ct.IISPH(), 0.001),
        ("particles", ct.DFSPH(), 0.001),
        ("particles", ct.DFSPH(), 5.0),
        ("particles", ct.DFSPH(), 500.0),
        ("density_map", ct.PBF(), 0.001),
    ],
)
def test_momentum_is_conserved_to_round_off(boundary, solver, viscosity, monkeypatch):
    monkeypatch.setattr("continua.sph.forces.viscosity._RTOL", 1e-7)
    ball = ct.RigidBody(ct.Sphere((0.02, 0, 0), 0.1), density=500, velocity=(0, -2, 0), name="ball")
    water = ct.Fluid(
        ((-0.2, -0.35, -0.2), (0.2, -0.12, 0.2)), particle_radius=0.025, boundary=boundary, solver=solver,
        wall_friction=0.3, viscosity=viscosity, name="water",
    )  # fmt: skip
    world = ct.World([water, ball], gravity=(0, 0, 0), dt=0.005)
    linear, angular = momentum(world, water, ball)
    for _ in range(12):
        world.step()
    now, turned = momentum(world, water, ball)
    assert ball.velocity[1] > -1.7  # they have collided
    scale = np.abs(linear).max()
    # positions of PBF are single precision: 3e-8 m in 5 ms are 6e-6 m/s; so are the iterations of implicit viscosity
    single = isinstance(solver, ct.PBF) or viscosity > 100.0
    assert np.abs(now - linear).max() < (1e-5 if single else 1e-6) * scale
    # forces act at centres of the start of a sub-step, and drag is returned where the ball is later
    assert np.abs(turned - angular).max() < (1e-3 if viscosity > 100.0 else 1e-4) * scale


@pytest.mark.parametrize("density", [125.0, 250.0, 500.0, 1200.0, 2000.0])
def test_a_ball_floats_at_the_depth_of_archimedes_or_sinks(density):
    radius = 0.1
    ball = ct.RigidBody(ct.Sphere((0, 0.3, 0), radius), density=density, name="ball")
    water = ct.Fluid(
        ((-0.2, 0, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.02, boundary="density_map", xsph=0.1,
        solver=ct.DFSPH(density_error=1e-3), name="water",
    )  # fmt: skip
    world = ct.World([water, ball], colliders=[ct.Box((0, 0.5, 0), (0.4, 1, 0.4), inside=True)], dt=0.01)
    heights = []
    for _ in range(90 if density < 2000 else 40):
        world.step()
        heights.append(ball.center_of_mass[1])
    if density > 1000:
        assert heights[-1] < radius + 0.02  # on the bottom
        return
    # the basin is small: the displaced water raises the level. A part x of the radius is in the water:
    cap = lambda h: np.pi * h * h * (3 * radius - h) / 3  # noqa: E731
    depth = next(
        h for h in np.linspace(0, 2 * radius, 2001) if cap(h) > density / 1000 * 4 / 3 * np.pi * radius**3
    )
    level = (0.4 * 0.4 * 0.2 + cap(depth)) / 0.16
    assert abs(np.mean(heights[-30:]) - (level + radius - depth)) < 0.02  # half a particle


def test_a_ball_of_growing_density_floats_lower_and_sinks_beyond_that_of_water():
    radius = 0.1
    volume = 4 / 3 * np.pi * radius**3
    ball = ct.RigidBody(ct.Sphere((0, 0.34, 0), radius), density=125.0, name="ball")
    water = ct.Fluid(
        ((-0.2, 0, -0.2), (0.2, 0.24, 0.2)), particle_radius=0.02, boundary="density_map", xsph=0.1,
        solver=ct.DFSPH(density_error=1e-3), name="water",
    )  # fmt: skip
    world = ct.World([water, ball], colliders=[ct.Box((0, 0.5, 0), (0.4, 1, 0.4), inside=True)], dt=0.01)
    found = []
    for density in (125.0, 250.0, 500.0, 2000.0):
        ball.mass = density * volume
        heights = []
        for _ in range(60):
            world.step()
            heights.append(ball.center_of_mass[1])
        found.append(np.mean(heights[-20:]))
    assert (np.diff(found) < -0.2 * radius).all()
    assert found[2] > 0.24  # half of it is in the water
    assert found[3] < radius + 0.01  # on the bottom
    kept = world.state()
    ball.mass = 1.0
    world.restore(kept)
    assert ball.mass == 2000.0 * volume


def test_a_light_submerged_ball_accelerates_according_to_its_added_mass():
    """The added mass of a ball is half its volume of water: a = g (1 - s) / (s + 1/2), more than g for a light one."""
    d, radius, center = 1 / 30, 0.1, np.array([0, 0.3, 0])
    lattice = [np.arange(low + d / 2, high, d) for low, high in ((-0.3, 0.3), (0, 0.6), (-0.3, 0.3))]
    points = np.stack(np.meshgrid(*lattice, indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[np.linalg.norm(points - center, axis=1) > radius + 0.45 * d]
    ball = ct.RigidBody(ct.Sphere(tuple(center), radius), density=1000.0, name="ball")
    water = ct.Fluid(points=points, particle_radius=d / 2, boundary="density_map", name="water")
    tank = ct.Box((0, 0.8, 0), (0.6, 1.6, 0.6), inside=True)
    world = ct.World([water, ball], colliders=[tank], dt=0.005)
    for _ in range(60):
        world.step()  # the water comes to rest
    s = 0.02
    ball.mass *= s
    ball.velocity, ball.angular_velocity = (0, 0, 0), (0, 0, 0)
    speeds = [0.0]
    for _ in range(8):
        world.step()
        speeds.append(ball.velocity[1])
    gained = np.diff(speeds) / 0.005
    # the walls are near and the particles a third of the radius: both increase the added mass
    assert 0.7 < gained.mean() / (9.81 * (1 - s) / (s + 0.5)) < 1.05
    assert np.ptp(gained) < 0.25 * gained.mean()  # no oscillation


def test_a_soft_block_and_the_water_exchange_momentum():
    block = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(2, 2, 2), origin=(-0.1, 0.02, -0.1)),
        material=ct.Corotated(young=1e5, density=300.0), mass="lumped", name="block",
    )  # fmt: skip
    water = ct.Fluid(
        ((-0.2, -0.3, -0.2), (0.2, 0, 0.2)), particle_radius=0.025, boundary="density_map",
        velocity=(0, 1.0, 0), name="water",
    )  # fmt: skip
    world = ct.World([water, block], gravity=(0, 0, 0), dt=0.005)

    def total():
        """Return the momentum, with that of the added mass, which the body gets back in the next step."""
        kept = world.couplings[0].state()
        deferred = kept["block/previous_added_mass"] @ (block.velocities - kept["block/previous_velocity"])
        return (
            water.particle_mass * water.velocities.sum(axis=0)
            + block._node_mass @ block.velocities
            + deferred
        )

    before, own = total(), (block._node_mass @ block.velocities)[1]
    for _ in range(8):
        world.step()
    assert (block._node_mass @ block.velocities)[1] > own + 0.5  # it was pushed up
    assert np.abs(total() - before).max() < 1e-5 * np.abs(before).max()


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_light_soft_block_floats_calmly(friction):
    """It is much lighter than its added mass, which the coupling must account for."""
    block = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.1, 0.2), cells=(4, 2, 4), origin=(-0.1, 0.2, -0.1)),
        material=ct.Corotated(young=2e4, density=250.0), damping=(0.0, 0.005), name="block",
    )  # fmt: skip
    water = ct.Fluid(
        ((-0.2, 0, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.02, boundary="density_map", xsph=0.1,
        wall_friction=friction, solver=ct.DFSPH(density_error=1e-3), name="water",
    )  # fmt: skip
    tank = ct.Box((0, 0.5, 0), (0.4, 1, 0.4), inside=True)
    world = ct.World([water, block], colliders=[tank], dt=0.005)
    heights, fastest = [], []
    for step in range(220):
        world.step()
        if step > 120:
            heights.append(block.positions[:, 1].mean())
            fastest.append(np.linalg.norm(block.velocities, axis=1).max())
    level = 0.2 + 0.25 * 0.2 * 0.1 * 0.2 / 0.16
    assert abs(np.mean(heights) - (level + 0.25 * 0.1)) < 0.02  # half a particle
    assert max(fastest) < 0.6
    boundary = world.system(ct.Fluid).boundaries[-1]
    assert boundary.signed_distances(water.positions, world.time).min() > -0.2 * water.diameter


def test_water_and_a_soft_block_continue_bitwise_identically():
    def make():
        block = ct.SoftBody(
            ct.mesh.box(size=(0.1, 0.1, 0.1), cells=(2, 2, 2), origin=(-0.05, 0.1, -0.05)),
            material=ct.Corotated(young=2e4, density=250.0), name="block",
        )  # fmt: skip
        water = ct.Fluid(((-0.1, 0, -0.1), (0.1, 0.1, 0.1)), particle_radius=0.0125, name="water")
        tank = ct.Box((0, 0.25, 0), (0.2, 0.5, 0.2), inside=True)
        return ct.World([water, block], colliders=[tank], dt=0.005)

    through, half, other = make(), make(), make()
    for k in range(8):
        through.step()
        if k < 4:
            half.step()
    other.restore(half.state())
    for _ in range(4):
        other.step()
    for key, value in through.state().items():
        np.testing.assert_array_equal(value, other.state()[key], err_msg=key)


def test_fluid_may_not_start_inside_a_body():
    ball = ct.RigidBody(ct.Sphere((0, 0.1, 0), 0.1), density=500, name="ball")
    water = ct.Fluid(((-0.2, 0, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.025, name="water")
    with pytest.raises(ct.InputError, match=r"start inside 'ball'; move the fluid or the body apart$"):
        ct.World([water, ball])

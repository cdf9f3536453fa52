"""Fluids and bodies push each other, equally and oppositely."""

import numpy as np
import pytest

import continua as ct


def momentum(water, ball):
    m, v, x = water.particle_mass, water.velocities, water.positions
    turn = ball.rotation
    angular = np.cross(x, m * v).sum(axis=0) + np.cross(ball.center, ball.mass * ball.velocity)
    return m * v.sum(axis=0) + ball.mass * ball.velocity, angular + turn @ np.diag(
        ball.inertia
    ) @ turn.T @ ball.spin


@pytest.mark.parametrize(
    ("boundary", "solver"),
    [
        ("density_map", ct.DFSPH()),
        ("volume_map", ct.IISPH()),
        ("particles", ct.DFSPH()),
        ("density_map", ct.PBF()),
    ],
)
def test_momentum_is_exchanged_to_round_off(boundary, solver):
    ball = ct.RigidBody(ct.Sphere((0.02, 0, 0), 0.1), density=500, velocity=(0, -2, 0), name="ball")
    water = ct.Fluid(
        ((-0.2, -0.35, -0.2), (0.2, -0.12, 0.2)), particle_radius=0.025, boundary=boundary, solver=solver,
        wall_friction=0.3, name="water",
    )  # fmt: skip
    world = ct.World([water, ball], gravity=(0, 0, 0), dt=0.005)
    linear, angular = momentum(water, ball)
    for _ in range(12):
        world.step()
    now, turned = momentum(water, ball)
    assert ball.velocity[1] > -1.7  # they have met
    scale = np.abs(linear).max()
    # positions of PBF are single precision: 3e-8 m in 5 ms are 6e-6 m/s
    assert np.abs(now - linear).max() < (1e-5 if isinstance(solver, ct.PBF) else 1e-6) * scale
    assert np.abs(turned - angular).max() < 1e-4 * scale  # forces act at centres of the start of a sub-step


@pytest.mark.parametrize("density", [250.0, 2000.0])
def test_a_ball_floats_as_deep_as_archimedes_says_or_sinks(density):
    radius = 0.1
    ball = ct.RigidBody(ct.Sphere((0, 0.3, 0), radius), density=density, name="ball")
    water = ct.Fluid(
        ((-0.2, 0, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.02, boundary="density_map", xsph=0.1,
        solver=ct.DFSPH(density_error=1e-3), name="water",
    )  # fmt: skip
    world = ct.World([water, ball], colliders=[ct.Box((0, 0.5, 0), (0.4, 1, 0.4), inside=True)], dt=0.01)
    heights = []
    for _ in range(90 if density < 1000 else 40):
        world.step()
        heights.append(ball.center[1])
    if density > 1000:
        assert heights[-1] < radius + 0.02  # on the floor
        return
    # the basin is small: the displaced water raises the level. A part x of the radius is in the water:
    cap = lambda h: np.pi * h * h * (3 * radius - h) / 3  # noqa: E731
    depth = next(
        h for h in np.linspace(0, 2 * radius, 2001) if cap(h) > density / 1000 * 4 / 3 * np.pi * radius**3
    )
    level = (0.4 * 0.4 * 0.2 + cap(depth)) / 0.16
    assert abs(np.mean(heights[-30:]) - (level + radius - depth)) < 0.02  # half a particle


def test_a_soft_block_feels_the_water_and_pushes_back():
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
        return water.particle_mass * water.velocities.sum(axis=0) + block._node_mass @ block.velocities

    before, own = total(), (block._node_mass @ block.velocities)[1]
    for _ in range(8):
        world.step()
    assert (block._node_mass @ block.velocities)[1] > own + 0.5  # it was pushed up
    assert np.abs(total() - before).max() < 1e-5 * np.abs(before).max()


def test_fluid_may_not_start_inside_a_body():
    ball = ct.RigidBody(ct.Sphere((0, 0.1, 0), 0.1), density=500, name="ball")
    water = ct.Fluid(((-0.2, 0, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.025, name="water")
    with pytest.raises(ct.InputError, match=r"start inside 'ball'; move the fluid or the body apart$"):
        ct.World([water, ball])

"""Viscosity against exact flows between walls. One implicit step of a very long time gives the steady flow."""

import numpy as np
import pytest

import continua as ct
from continua.sph.forces import viscosity as solve

WALLS = ["particles", "density_map", "volume_map"]
FREE = 1e9  # slip length [m]


@pytest.fixture(autouse=True)
def exact_solves(monkeypatch):
    monkeypatch.setattr(solve, "_RTOL", 1e-6)
    monkeypatch.setattr(solve, "_MAX_ITERATIONS", 2000)


def steady(points, d, colliders, force=0.0, **options):
    """Return positions and steady velocities under a force along x [N/kg], and the drag of each particle [N]."""
    honey = ct.Fluid(points=points, particle_radius=d / 2, viscosity=100.0, **options)
    system = ct.World([honey], colliders=colliders, gravity=(0, 0, 0)).system(ct.Fluid)
    system._dt = 1e-6
    system.update_neighbours_and_density(0.0)
    p, dt = system.particles, 50.0
    p.velocities[0::4] = dt * force
    solve.solve_viscosity(p, dt)
    x, v = (a.reshape(-1, 4)[:, :3].astype(float) for a in (p.xyzp, p.velocities))
    weight = solve.Viscosity(True).boundary_drag(p, 1.0)[:, None]
    drag = weight * (p.boundary.drag[:, None] * v - p.boundary.drag_velocity.reshape(-1, 4)[:, :3])
    return x + system.origin, v, drag


def channel(across, boundary="particles", speed=0.0, force=0.0, slip=0.0, long=6, height=0.2):
    """Return heights, velocities along x in the middle of a channel, and the stress on its bottom."""
    d = height / across
    nx, nz = long * across, 4
    axes = [(np.arange(n) + 0.5) * d for n in (nx, across, nz)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    move = ct.Motion.translate((speed, 0, 0)) if speed else None
    walls = [
        ct.Plane((0, 0, 0), (0, 1, 0), slip=slip),
        ct.Plane((0, height, 0), (0, -1, 0), slip=slip, motion=move),
        ct.Plane((0, 0, 0), (0, 0, 1), slip=FREE),
        ct.Plane((0, 0, nz * d), (0, 0, -1), slip=FREE),
    ]
    x, v, drag = steady(points, d, walls, force, boundary=boundary)
    middle = np.abs(x[:, 0] - 0.5 * nx * d) < 2 * d
    lower = (np.abs(x[:, 0] - 0.5 * nx * d) < height) & (x[:, 1] < height / 2)
    return x[middle, 1], v[middle, 0], drag[lower, 0].sum() / (2.0 * height * nz * d)


@pytest.mark.parametrize("boundary", WALLS)
def test_plane_couette_flow(boundary):
    y, v, stress = channel(16, boundary, speed=1.0)
    assert np.abs(v - y / 0.2).max() < 0.01
    assert stress == pytest.approx(100.0 / 0.2, rel=0.03)


def poiseuille_error(across, boundary="particles", slip=0.0):
    y, v, stress = channel(across, boundary, force=1.0, slip=slip)
    exact = 1000.0 / 200.0 * (y * (0.2 - y) + slip * 0.2)
    assert stress == pytest.approx(1000.0 * 0.1, rel=0.03)
    return np.abs(v - exact).max() / exact.max()


@pytest.mark.parametrize("boundary", WALLS)
def test_plane_poiseuille_flow_converges(boundary):
    assert poiseuille_error(16, boundary) < 0.03
    assert poiseuille_error(8, boundary) > poiseuille_error(16, boundary)


@pytest.mark.parametrize("slip", [0.005, 0.05])
def test_a_slip_length_adds_the_same_velocity_everywhere(slip):
    assert poiseuille_error(16, slip=slip) < 0.03


def annulus(across, boundary="particles", slip=0.0, inner=0.2, gap=0.2, layers=4):
    """Return radii, tangential velocities, the exact ones, and torque over exact torque between cylinders."""
    d, outer = gap / across, inner + gap
    rings = [inner + (k + 0.5) * d for k in range(across)]
    counts = [round(2 * np.pi * r / d) for r in rings]
    disc = np.concatenate([
        np.stack([r * np.cos(t), r * np.sin(t)], 1)
        for r, n in zip(rings, counts, strict=True) for t in [2 * np.pi * np.arange(n) / n]
    ])  # fmt: skip
    points = np.concatenate(
        [np.column_stack([disc, np.full(len(disc), (k + 0.5) * d)]) for k in range(layers)]
    )
    high = layers * d
    turn = ct.Motion.rotate((0, 0, 1), (0, 0, 0), 1.0)
    shape = {"axis": (0, 0, 1), "height": 4 * high, "slip": slip}
    walls = [
        ct.Cylinder((0, 0, high / 2), radius=inner, motion=turn, **shape),
        ct.Cylinder((0, 0, high / 2), radius=outer, inside=True, **shape),
        ct.Plane((0, 0, 0), (0, 0, 1), slip=FREE),
        ct.Plane((0, 0, high), (0, 0, -1), slip=FREE),
    ]
    x, v, drag = steady(points, d, walls, boundary=boundary)
    r = np.hypot(x[:, 0], x[:, 1])
    # a r + b/r with Navier's slip proportional to r d(v/r)/dr = -2 b/r^2
    matrix = [[inner, 1 / inner + 2 * slip / inner**2], [outer, 1 / outer - 2 * slip / outer**2]]
    a, b = np.linalg.solve(matrix, [inner, 0.0])
    torque = np.cross(x, drag)[:, 2][r < inner + gap / 2].sum()
    v = (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) / r
    return r, v, a * r + b / r, -torque / (4 * np.pi * 100.0 * b * high)


@pytest.mark.parametrize("boundary", WALLS)
def test_flow_between_rotating_cylinders(boundary):
    r, v, exact, torque = annulus(16, boundary)
    middle = np.abs(r - 0.3) < 0.0125
    assert v[middle].mean() == pytest.approx(exact[middle].mean(), rel=0.02)
    assert np.abs(v - exact).max() < 0.03 * 0.2
    assert torque == pytest.approx(1.0, abs=0.03)


def test_cylinders_with_slip():
    _, v, exact, torque = annulus(16, slip=0.05)
    assert np.abs(v - exact).max() < 0.03 * 0.2
    assert torque == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("d", [0.025, 0.0125])
def test_walls_grip_the_fluid_in_proportion_to_the_viscosity(d):
    """Below some viscosity steps are explicit, above it they are implicit."""
    drag = {}
    for viscosity in (0.1, 1.0, 3.0, 12.0, 13.0, 50.0):
        water = ct.Fluid(
            ((0, 0, 0), (0.2, 4 * d, 0.2)), particle_radius=d / 2, viscosity=viscosity, velocity=(1.0, 0, 0)
        )
        world = ct.World([water], colliders=[ct.Plane((0, 0, 0), (0, 1, 0))], gravity=(0, 0, 0))
        dt = min(0.005, 2e-3 / viscosity)
        world.step(dt)
        lost = water.particle_mass * (1.0 - water.velocities[:, 0]).sum()
        drag[viscosity] = lost / (viscosity * dt)
    # the first layer is half a diameter from the wall: shear stress mu v/(d/2) on the area of 0.04 m2
    for value in drag.values():
        assert value == pytest.approx(0.04 / (d / 2), rel=0.1)


@pytest.mark.parametrize("implicit", [False, True])
def test_momentum_and_angular_momentum_are_kept(implicit):
    rng = np.random.default_rng(1)
    block = ct.Fluid(((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)), particle_radius=0.0125).positions
    points = block + rng.uniform(-0.002, 0.002, block.shape)
    velocity = rng.normal(size=points.shape)
    honey = ct.Fluid(points=points, particle_radius=0.0125, viscosity=50.0, velocity=velocity)
    system = ct.World([honey], gravity=(0, 0, 0)).system(ct.Fluid)
    system.update_neighbours_and_density(0.0)
    p = system.particles
    x, before = (a.reshape(-1, 4)[:, :3].astype(float) for a in (p.xyzp, p.velocities.copy()))
    force = solve.Viscosity(implicit)
    p.accelerations[:] = 0.0
    force.explicit_step(p)
    p.velocities += np.float32(1e-4) * p.accelerations
    force.implicit_step(p, 0.01, np.zeros(0, np.intp))
    change = p.velocities.reshape(-1, 4)[:, :3] - before
    assert np.abs(change).max() > 0.1
    scale = np.linalg.norm(change, axis=1).sum()
    tolerance = 1e-4 if implicit else 1e-6  # of the conjugate gradients, and of single precision
    assert np.abs(change.sum(axis=0)).max() < tolerance * scale
    assert np.abs(np.cross(x, change).sum(axis=0)).max() < tolerance * scale * 0.1


@pytest.mark.parametrize(("viscosity", "dt"), [(100.0, 1e-3), (2000.0, 2e-4)], ids=["explicit", "implicit"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_a_shear_wave_decays_at_the_exact_rate_in_every_direction(viscosity, dt, diagonal):
    d, waves = 0.04, 16
    k = 2.0 * np.pi / (waves * d)
    points = ct.Fluid(((0, 0, 0), (2 * waves * d, 12 * d, 12 * d)), particle_radius=d / 2).positions
    along, across = np.eye(3)[:2]
    if diagonal:
        along, across = np.array([1.0, 1.0, 0]) / np.sqrt(2), np.array([-1.0, 1.0, 0]) / np.sqrt(2)
    velocity = 0.01 * np.sin(k * points @ along)[:, None] * across
    honey = ct.Fluid(points=points, particle_radius=d / 2, viscosity=viscosity, velocity=velocity)
    world = ct.World([honey], gravity=(0, 0, 0), dt=dt)
    inner = ((points > points.min(axis=0) + 3 * d) & (points < points.max(axis=0) - 3 * d)).all(axis=1)
    world.step()
    wave = velocity[inner] @ across
    left = (honey.velocities[inner] @ across) @ wave / (wave @ wave)
    decay = viscosity / 1000.0 * k * k * dt
    # one explicit step takes that part; an implicit one divides by one more
    lost = 1.0 - left if viscosity < 1000.0 else 1.0 / left - 1.0
    assert lost == pytest.approx(decay, rel=0.03)


def test_bad_slip_lengths_are_refused():
    with pytest.raises(ct.InputError, match="slip must"):
        ct.Plane(slip=-1.0)
    with pytest.raises(ct.InputError, match="wall_slip must"):
        ct.Fluid(((0, 0, 0), (1, 1, 1)), particle_radius=0.1, wall_slip="much")

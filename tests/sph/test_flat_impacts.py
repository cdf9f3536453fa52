"""Jets of flat impacts are faster than the impact, but no particle leaves them at many times that speed."""

import numpy as np
import pytest

import continua as ct

RADIUS, WIDTH, SPEED = 0.02, 0.4, 5.0


def slab(bottom, **options):
    half = 0.5 * WIDTH
    return ct.Fluid(
        ((-half, bottom, -half), (half, bottom + 0.2, half)),
        particle_radius=RADIUS,
        velocity=(0.0, -SPEED, 0.0),
        name="slab",
        **options,
    )


def floor(**options):
    return [slab(RADIUS, **options)], [ct.Plane(point=(0, 0, 0), normal=(0, 1, 0))]


def narrow_tank(**options):
    """A slab that falls into a tank with a gap of one particle around it, up which the water shoots."""
    side = WIDTH + 6 * RADIUS
    return [slab(0.2, **options)], [ct.Box((0, 1, 0), (side, 2, side), inside=True)]


def plate(**options):
    """A rigid plate that slams onto a pool."""
    side = 2 * WIDTH
    pool = ct.Fluid(
        ((-WIDTH, 0, -WIDTH), (WIDTH, 0.16, WIDTH)), particle_radius=RADIUS, name="pool", **options
    )
    body = ct.RigidBody(ct.Box((0, 0.16 + 2 * RADIUS, 0), (WIDTH, 0.04, WIDTH)), density=2000.0, name="plate")
    body.set_velocity((0, -SPEED, 0))
    return [pool, body], [ct.Box((0, 1, 0), (side, 2, side), inside=True)]


@pytest.mark.parametrize("boundary", ["particles", "density_map", "volume_map"])
@pytest.mark.parametrize("case", [floor, narrow_tank, plate])
def test_no_particle_is_faster_than_a_jet(case, boundary):
    bodies, colliders = case(boundary=boundary)
    world = ct.World(bodies, colliders=colliders, dt=0.005)
    fastest = 0.0
    for _ in range(25):
        world.step()
        fastest = max(fastest, float(np.linalg.norm(bodies[0].velocities, axis=1).max()))
    assert fastest < 3.0 * SPEED * np.sqrt(WIDTH / (2 * RADIUS))
    assert fastest > (0.3 if case is plate else 1.2) * SPEED

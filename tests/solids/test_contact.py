"""Contact with planes and spheres: rest, friction on a slope, action and reaction, no sinking."""

import numpy as np
import pytest

import continua as ct


def cube(**options):
    options.setdefault("material", ct.Corotated(young=1e5, poisson=0.3, density=1000.0))
    mesh = ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(3, 3, 3)).transformed(translate=(0, 0.001, 0))
    return ct.SoftBody(mesh, name="cube", **options)


def test_dropped_cube_comes_to_rest_on_the_floor():
    body = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(3, 3, 3)).transformed(translate=(0, 0.3, 0)),
        material=ct.Corotated(young=1e5),
        name="cube",
        damping=(0.5, 0.002),
    )
    world = ct.World([body], colliders=[ct.Plane()], dt=0.01)
    lowest = 0.0
    for _ in range(400):
        world.step()
        lowest = min(lowest, body.positions[:, 1].min())
    assert lowest > -1e-6  # never inside
    assert abs(body.positions[:, 1].min()) < 1e-7  # rests on the floor
    assert world.energy()["kinetic"] < 1e-9 * body.mass_total * 9.81 * 0.2
    assert world.energy()["elastic"] > 0.0


@pytest.mark.parametrize(("slope", "slides"), [(15, False), (40, True)])
def test_friction_holds_below_the_angle_of_friction_and_slides_at_coulombs_rate_above(slope, slides):
    """Friction 0.5 holds up to 26.6 degrees; above, the acceleration is g (sin - mu cos)."""
    a = np.radians(slope)
    gravity = 9.81 * np.array([np.sin(a), -np.cos(a), 0.0])
    body = cube(damping=(0.0, 0.003))
    world = ct.World([body], gravity=gravity, colliders=[ct.Plane(friction=0.5)], dt=0.005)
    for _ in range(100):
        world.step()
    start, v0 = body.positions, body.velocities.mean(axis=0)
    for _ in range(100):
        world.step()
    moved, dv = body.positions - start, body.velocities.mean(axis=0) - v0
    if slides:
        assert dv[0] / 0.5 == pytest.approx(9.81 * (np.sin(a) - 0.5 * np.cos(a)), rel=1e-4)
    else:
        on_floor = body.rest_positions[:, 1] < 0.002
        assert np.abs(moved[on_floor]).max() < 1e-6


def test_floor_carries_exactly_the_weight():
    """At rest the floor's push is the weight, in the report and as a field of the nodes on the floor."""
    body = cube(damping=(3.0, 0.002))
    world = ct.World([body], colliders=[ct.Plane()], dt=0.01)
    for _ in range(300):
        (report,) = world.step()
    weight = body.mass_total * 9.81
    assert report.contacts == 16
    np.testing.assert_allclose(report.contact_force, [0, weight, 0], atol=1e-3 * weight)
    force = world.frame()["cube"]["contact_force"]
    np.testing.assert_allclose(force.sum(axis=0), report.contact_force, atol=1e-9)
    on_floor = body.rest_positions[:, 1] < 0.002
    assert not force[~on_floor].any()
    assert (force[on_floor, 1] > 0.0).all()


def test_body_on_a_ball_and_in_a_bowl():
    body = cube(damping=(1.0, 0.003))
    body.set_velocity((0.3, 0, 0))
    bowl = ct.Sphere(center=(0.1, 0.55, 0.1), radius=0.6, inside=True, friction=0.1)
    world = ct.World([body], colliders=[bowl], dt=0.005)
    for _ in range(600):
        world.step()
    offset = np.linalg.norm(body.positions - [0.1, 0.55, 0.1], axis=1)
    assert offset.max() < 0.6 + 1e-3 * body._element_size
    middle = body.positions.mean(axis=0) - [0.1, 0.55, 0.1]
    assert np.hypot(middle[0], middle[2]) < 0.1 * abs(middle[1])  # at rest within the angle of friction
    assert np.abs(body.velocities).max() < 1e-4
    distance, normal = ct.Sphere(center=(0, 0, 0), radius=1.0).distances(np.array([[2.0, 0, 0], [0, 0, 0]]))
    np.testing.assert_allclose(distance, [1.0, -1.0])
    np.testing.assert_allclose(normal, [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "make",
    [
        lambda: ct.Plane(normal=(0, 0, 0)),
        lambda: ct.Plane(friction=-1.0),
        lambda: ct.Sphere(radius=0.0),
        lambda: ct.Sphere(center=(0, float("nan"), 0)),
        lambda: ct.Wind(velocity=(1, 0, 0), period=0.0),
    ],
)
def test_impossible_shapes_are_refused(make):
    with pytest.raises(ct.InputError):
        make()


def test_wind_presses_with_the_dynamic_pressure():
    """A plate across the wind feels density/2 v^2 times its area; along the wind nothing."""
    box = ct.mesh.box(size=(0.1, 1.0, 1.0), cells=(1, 4, 4))
    plate = ct.SoftBody(box, name="plate", solver=ct.PCG(rtol=1e-12))
    world = ct.World([plate], gravity=(0, 0, 0), wind=ct.Wind((10.0, 0, 0), density=1.2), dt=1e-4)
    world.step()
    momentum = plate._node_mass @ plate.velocities
    np.testing.assert_allclose(momentum / 1e-4, [0.5 * 1.2 * 100.0, 0, 0], rtol=1e-6, atol=1e-6)

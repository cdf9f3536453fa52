"""Shapes on a motion of their own: a carried block, a belt, a gear's distance."""

import numpy as np
import pytest

import continua as ct
from continua.collision import ColliderSet


def test_a_moving_shape_is_where_its_motion_puts_it():
    turn = ct.Motion.rotate((0, 0, 1), (1, 0, 0), np.pi / 2)
    ball = ct.Sphere((2, 0, 0), 0.5, motion=turn + ct.Motion.translate((0, 0, 3)))
    # after one second the centre has gone a quarter around (1, 0, 0), and up by 3
    gaps, normals, velocity = ball.distances_at(np.array([[1.0, 2.0, 3.0]]), 1.0, 1e-6)
    assert gaps == pytest.approx(0.5)
    np.testing.assert_allclose(normals, [[0, 1, 0]], atol=1e-9)
    np.testing.assert_allclose(velocity, [[-np.pi, 0, 3]], atol=1e-4)  # w x r of the point itself
    with pytest.raises(ct.InputError, match="must be rigid"):
        ct.Sphere((0, 0, 0), 1.0, motion=ct.Motion(lambda t, x: (1 + t) * x)).pose(1.0)


def test_a_motion_must_be_one():
    with pytest.raises(ct.InputError, match="a sphere's motion must be a Motion, not"):
        ct.Sphere(motion=3)


def test_a_lifted_plane_carries_a_block_up():
    """Raised at 0.5 m/s, the block on it rises as fast."""
    block = ct.SoftBody(ct.mesh.box(cells=(2, 2, 2)), material=ct.Corotated(young=1e6), damping=(0, 0.05))
    world = ct.World([block], colliders=[ct.Plane(motion=ct.Motion.translate((0, 0.5, 0)))], dt=0.01)
    for _ in range(200):
        world.step()
    assert block.velocities[:, 1].mean() == pytest.approx(0.5, abs=1e-3)
    assert block.positions[:, 1].min() == pytest.approx(1.0, abs=0.01)
    assert world.frame().colliders[0]["pose"][1][3] == pytest.approx(1.0)


@pytest.mark.parametrize("integrator", [ct.ImplicitEuler(), ct.Newmark(), ct.SemiImplicit()])
def test_friction_takes_a_block_along(integrator):
    """On a belt that starts at 0.5 s a block is carried: first with the acceleration mu g, then with its 1 m/s."""
    block = ct.SoftBody(
        ct.mesh.box((0.4, 0.1, 0.4), (2, 1, 2)),
        material=ct.Corotated(young=1e6),
        damping=(0, 0.005),
        mass="lumped",
        integrator=integrator,
    )
    start = ct.Motion.keyframes([0, 0.5, 10.5], [[0, 0, 0], [0, 0, 0], [10, 0, 0]])
    belt = ct.Plane(friction=0.3, motion=start)
    world = ct.World([block], colliders=[belt], dt=0.005)
    speeds = []
    for _ in range(200):
        world.step()
        speeds.append(block.velocities[:, 0].mean())
    assert speeds[139] == pytest.approx(0.3 * 9.81 * 0.2, rel=0.05)
    assert speeds[-1] == pytest.approx(1.0, abs=0.03)


def test_distance_to_a_gear():
    """Zero on the drawn surface, one along the normal, and the volume of the profile."""
    gear = ct.Gear((1, 2, 3), axis=(1, 1, 0), radius=1.0, width=0.6, teeth=9, depth=0.2)
    about = gear.description()
    points, triangles = about["points"], about["triangles"]
    rim = points[: 2 * 24 * 9]
    gaps, normals = gear.distances(rim)
    np.testing.assert_allclose(gaps, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    volume = np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6
    angle = np.linspace(0, 2 * np.pi, 4001)
    area = np.trapezoid(0.5 * gear._profile(angle)[0] ** 2, angle)
    assert volume == pytest.approx(0.6 * area, rel=3e-3)
    rng = np.random.default_rng(0)
    middle = 0.5 * (rim[: 24 * 9] + rim[24 * 9 :])
    near = middle[rng.integers(0, len(middle), 200)] + 0.002 * rng.normal(size=(200, 3))
    _, normals = gear.distances(near)
    for c in range(3):
        step = np.zeros(3)
        step[c] = 1e-6
        slope = (gear.distances(near + step)[0] - gear.distances(near - step)[0]) / 2e-6
        np.testing.assert_allclose(slope, normals[:, c], atol=0.15)  # to second order in the distance
    for wrong in ({"teeth": 2}, {"depth": 1.0}, {"radius": 0.0}, {"axis": (0, 0, 0)}):
        with pytest.raises(ct.InputError, match="gear"):
            ct.Gear(**wrong)


def test_contacts_have_the_velocity_of_the_collider():
    ball = ct.Sphere((0, 0, 0), 1.0, motion=ct.Motion.translate((0, 2, 0)))
    found = ColliderSet([ball]).query(np.array([[5.0, 0, 0], [0.0, 0.9, 0.0]]), 0.0, 0.1).find_close(0.01)
    assert found.point.tolist() == [1]
    np.testing.assert_allclose(found.surface_velocity, [[0, 2, 0]])
    np.testing.assert_allclose(found.gap, [-0.1])


def test_a_free_plane_body_stays_in_its_plane_however_it_is_loaded():
    body = ct.SoftBody(ct.mesh.rectangle((1, 0.5), (4, 2)), name="sheet")
    world = ct.World([body], gravity=(0, -9.81, 5.0), dt=0.01)
    body.pull(0, target=(0.5, 0.5, 3.0))
    for _ in range(20):
        world.step()
    assert not body.positions[:, 2].any()
    assert body.velocities[:, 1].mean() < -0.1

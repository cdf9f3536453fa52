"""Irving's integrator of 2007: its checks B1 to B5, on bodies and on particles."""

import numpy as np
import pytest

import continua as ct
from tests.solids.linearise import linearised


def one_tet(law, **options):
    mesh = ct.TetMesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2, 3]]))
    return ct.SoftBody(mesh, material=law, name="tet", **options)


def highest(body):
    K = linearised(body._elements, body.rest_positions)[0].toarray()
    root = 1.0 / np.sqrt(np.repeat(body._node_mass, 3))
    values, vectors = np.linalg.eigh(root[:, None] * K * root)
    return np.sqrt(values[-1]), (root * vectors[:, -1]).reshape(-1, 3)


@pytest.mark.parametrize(("product", "steps"), [(1.9, 20_000), (2.05, 400)])
def test_an_undamped_oscillator_is_bounded_up_to_omega_dt_of_two(product, steps):
    """B1: bounded at 1.9 for 2e4 steps, gone at 2.05."""
    body = one_tet(ct.Linear(young=1e4), integrator=ct.SemiImplicit(substeps=False))
    omega, mode = highest(body)
    body._x += 1e-3 * mode
    world = ct.World([body], gravity=(0, 0, 0), dt=product / omega)
    start = world.energy()["elastic"]
    largest = 0.0
    try:
        for step in range(steps):
            world.step()
            if step % 50 == 0:
                largest = max(largest, sum(world.energy().values()) / start)
    except ct.DivergedError:
        largest = np.inf
    # central differences keep v^2 + omega^2 (1 - (omega dt/2)^2) x^2, so the energy stays below 1/(1 - 0.95^2)
    assert (largest < 1.001 / (1.0 - 0.95**2)) if product < 2.0 else (largest > 1e6)


def test_the_velocity_update_is_the_trapezoidal_rule():
    """B2: M (v+ - v)/dt = f - K (x + x+)/2 - C (v + v+)/2 to 1e-10 for linear damping."""
    alpha, beta, dt = 0.7, 0.01, 0.02
    body = one_tet(
        ct.Linear(young=1e3), integrator="semi_implicit", damping=(alpha, beta), solver=ct.PCG(rtol=1e-14)
    )
    rng = np.random.default_rng(1)
    body._x += 0.05 * rng.normal(size=(4, 3))
    body._v += rng.normal(size=(4, 3))
    x, v = body._x.copy(), body._v.copy()
    ct.World([body], dt=dt).step()
    K = linearised(body._elements, body.rest_positions)[0].toarray()
    m = np.repeat(body._node_mass, 3)
    u = (0.5 * (x + body._x) - body.rest_positions).ravel()
    mean = 0.5 * (v + body._v).ravel()
    load = (body._node_mass[:, None] * [0, -9.81, 0]).ravel()
    right = load - K @ u - alpha * m * mean - beta * (K @ mean)
    np.testing.assert_allclose(m * (body._v - v).ravel() / dt, right, atol=1e-10 * np.abs(right).max())


def slope(angle):
    """The normal of a slope and the direction down it."""
    return np.array([np.sin(angle), np.cos(angle), 0.0]), np.array([np.cos(angle), -np.sin(angle), 0.0])


def particles(angle, mu, speed):
    """A body pressed flat onto a slope, so soft that its nodes are four particles."""
    normal, down = slope(angle)
    body = one_tet(ct.Linear(young=1e-9, density=6000.0), integrator="semi_implicit")
    body._x[:] = np.outer([0, 1, 2, 3.0], down) + np.outer([0, 1, 0, 1.0], [0, 0, 1.0])
    body.set_velocity(speed * down)
    shape = ct.Plane(normal=tuple(normal), friction=mu)
    return body, ct.World([body], colliders=[shape], dt=1 / 96), down


def test_particles_slide_down_a_slope_as_they_should():
    """B3: from rest at angle 0.5 with friction 0.2: g (sin - mu cos), to rounding."""
    body, world, down = particles(0.5, 0.2, 0.0)
    start = body._x.copy()
    for _ in range(96):
        report = world.step()[0]
    acceleration = 9.81 * (np.sin(0.5) - 0.2 * np.cos(0.5))
    assert report.contacts == 4
    np.testing.assert_allclose((body._x - start) @ down, 0.5 * acceleration, atol=1e-10)
    np.testing.assert_allclose(body._v @ down, acceleration, atol=1e-10)


def test_particles_come_to_rest_on_a_slope_and_stay():
    """B3: thrown down a slope of angle 0.3 with friction 0.6 they stop where v0^2/2a says, and do not creep."""
    body, world, down = particles(0.3, 0.6, 3.0)
    start = body._x.copy()
    brake = 9.81 * (0.6 * np.cos(0.3) - np.sin(0.3))
    for step in range(1, 3 * 96):
        world.step()
        t = step / 96
        if t < 3.0 / brake - 0.02:
            np.testing.assert_allclose((body._x - start) @ down, 3.0 * t - 0.5 * brake * t * t, atol=1e-10)
    # within the last step a particle goes on until it is over; the error is of the order of the brake times dt^2
    np.testing.assert_allclose((body._x - start) @ down, 9.0 / (2.0 * brake), atol=brake / 96**2)
    assert np.abs(body._v).max() < 1e-6


def test_a_damped_body_slides_like_a_particle():
    """B4: the centre of a damped elastic tetrahedron within 1e-3 of the analytic way."""
    normal, down = slope(0.5)
    turn = np.stack([down, normal, [0, 0, 1.0]], axis=1)
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 0, -1], [0.3, 0.5, -0.3]]) * 0.1
    body = ct.SoftBody(
        ct.TetMesh(points @ turn.T, np.array([[0, 1, 2, 3]])),
        material=ct.Corotated(young=1e4, density=1000.0),
        integrator="semi_implicit",
        damping=(0.0, 0.02),
        solver=ct.PCG(rtol=1e-10),
        name="tet",
    )
    world = ct.World([body], colliders=[ct.Plane(normal=tuple(normal), friction=0.2)], dt=1 / 96)
    start = body._node_mass @ body._x
    for _ in range(96):
        world.step()
    way = (body._node_mass @ body._x - start) @ down / body.mass_total
    assert way == pytest.approx(0.5 * 9.81 * (np.sin(0.5) - 0.2 * np.cos(0.5)), rel=1e-3)
    assert (body._x @ normal).min() > -1e-12


def test_a_body_sticks_where_the_slope_is_flatter_than_its_friction():
    """B5: ten seconds, and no creep once it has come to rest."""
    normal, down = slope(0.3)
    turn = np.stack([down, normal, [0, 0, 1.0]], axis=1)
    mesh = ct.mesh.box(size=(0.2, 0.1, 0.2), cells=(2, 1, 2))
    body = ct.SoftBody(
        ct.TetMesh(mesh.points @ turn.T, mesh.tets),
        material=ct.Corotated(young=2e4),
        integrator="semi_implicit",
        damping=(5.0, 0.02),
        solver=ct.PCG(rtol=1e-10),
        name="box",
    )
    world = ct.World([body], colliders=[ct.Plane(normal=tuple(normal), friction=0.6)], dt=0.02)
    for _ in range(150):
        world.step()
    rested = body.positions
    for _ in range(350):
        world.step()
    np.testing.assert_allclose(body.positions, rested, atol=1e-6)


def test_nodes_never_enter_a_shape_and_leave_it_freely():
    """A ball dropped on the floor stays out of it, bounces and comes off again."""
    mesh = ct.mesh.sphere(radius=0.2, cells=4)
    body = ct.SoftBody(mesh, material=ct.Corotated(young=2e4), integrator="semi_implicit", name="ball")
    lowest = mesh.points[:, 1].min()
    world = ct.World([body], colliders=[ct.Plane(point=(0, lowest - 0.05, 0), friction=0.3)], dt=0.01)
    touched, heights = 0, []
    for _ in range(100):
        touched = max(touched, world.step()[0].contacts)
        heights.append(body.positions[:, 1].min() - (lowest - 0.05))
    assert touched > 3
    assert min(heights) > -1e-12
    assert max(heights[30:]) > 0.002


def test_a_node_in_the_corner_of_two_shapes_stays_there():
    body = one_tet(ct.Linear(young=1e-9, density=6000.0), integrator="semi_implicit")
    body._x[:] = [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3.0]]
    walls = [ct.Plane(friction=0.1), ct.Plane(normal=(-1, 0, 0), friction=0.1)]
    world = ct.World([body], colliders=walls, gravity=(5.0, -9.81, 0.0), dt=0.01)
    for _ in range(100):
        world.step()
    np.testing.assert_allclose(body._x[:, :2], 0.0, atol=1e-12)

"""Time integrators against matrices, SciPy, textbook recursions, and conservation."""

import numba
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import continua as ct
from continua.deformable import INTEGRATORS
from tests.solids.linearise import linearised

ORDERS = [
    (ct.ImplicitEuler(newton=20), 1),
    (ct.Newmark(newton=20), 2),
    (ct.Newmark(newton=20, beta=0.3025, gamma=0.6), 1),
    (ct.EnergyMomentum(), 2),
    (ct.Explicit(), 2),
    (ct.SemiImplicit(), 2),
]
NAMES = [f"{type(i).__name__}-{order}" for i, order in ORDERS]


def bar(integrator, material=None, damping=(0.0, 0.0), cells=(3, 1, 1), held=True):
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.3, 0.3), cells=cells),
        material=material or ct.Linear(young=2e4, poisson=0.3, density=1000.0),
        integrator=integrator,
        damping=damping,
        name="bar",
        solver=ct.PCG(rtol=1e-12),
    )
    if held:
        body.pin(lambda x: x[:, 0] < 1e-9)
    body._v[:] = body._x[:, [1, 0, 2]] * [0.2, 0.8, -0.3] * body._x[:, :1] ** 2
    return body


def matrices(body):
    """Free components, M, C and K of a linear body as dense matrices."""
    K, _ = linearised(body._elements, body._elements.rest_positions)
    M = K.copy()
    M.data[:] = 0.0
    p = body._elements.pattern
    M = scipy.sparse.bsr_array(
        (body._mass[:, None, None] * np.eye(3), p.indices, p.indptr), shape=K.shape
    ).toarray()
    K = K.toarray()
    C = body.damping[0] * M + body.damping[1] * K
    free = np.repeat(body.rest_positions[:, 0] > 1e-9, 3)
    return free, M, C, K


def run(body, dt, steps, gravity=(0.0, -9.81, 0.0)):
    world = ct.World([body], gravity=gravity, dt=dt)
    for _ in range(steps):
        reports = world.step()
    return reports[0]


@pytest.mark.parametrize(("integrator", "order"), ORDERS, ids=NAMES)
def test_order_of_convergence_on_a_damped_linear_body(integrator, order):
    """Against the matrix exponential of the same semi-discrete system, at 0.4 s."""
    errors = []
    for steps in (32, 64, 128):
        body = bar(integrator, damping=(0.5, 0.003))
        free, M, C, K = matrices(body)
        M, C, K = (A[np.ix_(free, free)] for A in (M, C, K))
        n = len(M)
        load = (body._node_mass[:, None] * [0, -9.81, 0]).ravel()[free]
        rest = np.linalg.solve(K, load)
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
        start = np.concatenate([-rest, body._v.ravel()[free]])
        exact = scipy.linalg.expm(0.4 * A) @ start
        report = run(body, 0.4 / steps, steps)
        assert report.substeps == 1
        u = (body._x - body.rest_positions).ravel()[free] - rest
        w = body._v.ravel()[free]
        errors.append(
            max(
                np.linalg.norm(u - exact[:n]) / np.linalg.norm(exact[:n]),
                np.linalg.norm(w - exact[n:]) / np.linalg.norm(exact[n:]),
            )
        )
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates[-1] == pytest.approx(order, abs=0.15), (errors, rates)
    assert errors[-1] < (0.1 if order == 1 else 0.01)


@pytest.mark.parametrize(("integrator", "order"), ORDERS, ids=NAMES)
def test_order_of_convergence_at_large_strains(integrator, order):
    """Against SciPy's Runge-Kutta method of order 8 for the same elastic forces."""
    law = ct.StableNeoHookean(young=3e4, poisson=0.35)
    body = bar(integrator, law, cells=(2, 1, 1))
    free = body.rest_positions[:, 0] > 1e-9
    mass = matrices(body)[1][::3, ::3][np.ix_(free, free)]
    rest, shape = body.rest_positions, body._x[free].shape
    load = body._node_mass[free, None] * [0, -9.81, 0]

    def rate(_, y):
        x = rest.copy()
        x[free] = y[: y.size // 2].reshape(shape)
        force = load - linearised(body._elements, x)[1][free]
        return np.concatenate([y[y.size // 2 :], np.linalg.solve(mass, force).ravel()])

    start = np.concatenate([body._x[free].ravel(), body._v[free].ravel()])
    exact = solve_ivp(rate, (0.0, 0.2), start, method="DOP853", rtol=1e-9, atol=1e-10).y[:, -1]
    errors = []
    for steps in (32, 64):
        body = bar(integrator, law, cells=(2, 1, 1))
        run(body, 0.2 / steps, steps)
        errors.append(np.linalg.norm(body._x[free].ravel() - exact[: exact.size // 2]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2), errors
    assert np.abs(body._x - rest).max() > 0.1  # it did deform


def textbook_newmark(body, dt, steps, beta, gamma):
    """Displacements by the recursion of every textbook: unknown acceleration, dense matrices, constant load."""
    free, M, C, K = matrices(body)
    M, C, K = (A[np.ix_(free, free)] for A in (M, C, K))
    f = (body._node_mass[:, None] * [0, -9.81, 0]).ravel()[free]
    u, v = np.zeros(len(f)), body._v.ravel()[free].copy()
    a = np.linalg.solve(M, f - K @ u - C @ v)
    for _ in range(steps):
        u_guess = u + dt * v + dt * dt * (0.5 - beta) * a
        v_guess = v + dt * (1 - gamma) * a
        a = np.linalg.solve(M + gamma * dt * C + beta * dt * dt * K, f - C @ v_guess - K @ u_guess)
        u, v = u_guess + beta * dt * dt * a, v_guess + gamma * dt * a
    return free, u, v


@pytest.mark.parametrize(("beta", "gamma"), [(0.25, 0.5), (0.3025, 0.6), (0.3, 0.5), (0.5, 1.0)])
def test_newmark_is_the_textbook_recursion(beta, gamma):
    body = bar(ct.Newmark(beta=beta, gamma=gamma), damping=(0.7, 0.004))
    free, u, v = textbook_newmark(body, 0.02, 25, beta, gamma)
    run(body, 0.02, 25)
    np.testing.assert_allclose((body._x - body.rest_positions).ravel()[free], u, atol=1e-9)
    np.testing.assert_allclose(body._v.ravel()[free], v, atol=1e-8)


def test_explicit_is_the_recursion_of_central_differences():
    """G11: (M/dt^2 + C/2dt) u+ = f - K u + M (2 u - u-)/dt^2 + C u-/2dt with lumped M and C = alpha M."""
    alpha, dt = 0.8, 0.01
    body = bar("explicit", damping=(alpha, 0.0))
    free, M, _, K = matrices(body)
    m = np.diag(M)[free]
    K = K[np.ix_(free, free)]
    f = (body._node_mass[:, None] * [0, -9.81, 0]).ravel()[free]
    u, v = np.zeros(len(f)), body._v.ravel()[free].copy()
    before = u - dt * (v - 0.5 * dt * f / m) / (1.0 - 0.5 * dt * alpha)  # the half step that led to v
    for _ in range(30):
        after = (f - K @ u + m * (2 * u - before) / dt**2 + alpha * m * before / (2 * dt)) / (
            m / dt**2 + alpha * m / (2 * dt)
        )
        before, u = u, after
    assert run(body, dt, 30).substeps == 1
    np.testing.assert_allclose((body._x - body.rest_positions).ravel()[free], u, atol=1e-10)


def total_energy(body):
    return sum(body.energy()[kind] for kind in ("kinetic", "elastic"))


def test_newmark_keeps_the_energy_of_a_linear_body():
    body = bar("newmark")
    start = total_energy(body)
    world = ct.World([body], gravity=(0, 0, 0), dt=0.02)
    for _ in range(1000):
        world.step()
    assert total_energy(body) == pytest.approx(start, rel=1e-8)


def test_implicit_euler_loses_energy_in_every_step_and_less_in_shorter_ones():
    lost = {}
    for dt in (0.02, 0.005):
        body = bar("implicit_euler")
        world = ct.World([body], gravity=(0, 0, 0), dt=dt)
        before = start = total_energy(body)
        for _ in range(round(0.4 / dt)):
            world.step()
            after = total_energy(body)
            assert after < before * (1 + 1e-12)
            before = after
        lost[dt] = start - after
    assert lost[0.02] > 1.5 * lost[0.005]


def test_newmark_with_larger_gamma_damps():
    body = bar(ct.Newmark(beta=0.36, gamma=0.7))
    start = total_energy(body)
    run(body, 0.02, 200, gravity=(0, 0, 0))
    assert total_energy(body) < 0.85 * start


@pytest.mark.parametrize("name", ["newmark", "energy_momentum", "explicit", "semi_implicit"])
@pytest.mark.parametrize("order", [1, 2])
def test_constant_acceleration_is_exact(name, order):
    body = ct.SoftBody(
        ct.mesh.box(size=(0.4, 0.2, 0.2), cells=(2, 1, 1)),
        integrator=name,
        order=order,
        name="box",
        solver=ct.PCG(rtol=1e-12),
    )
    body.set_velocity((1.0, 2.0, 0.0))
    world = ct.World([body], gravity=(0.5, -9.81, 0.2))
    for _ in range(50):
        world.step()
    t = world.time
    way = np.array([1.0, 2.0, 0.0]) * t + 0.5 * np.array([0.5, -9.81, 0.2]) * t * t
    np.testing.assert_allclose(
        body.positions - body.rest_positions, np.tile(way, (body.node_count, 1)), atol=1e-11
    )


def test_free_newmark_body_keeps_momentum_and_angular_momentum():
    body = bar("newmark", ct.Corotated(young=2e4, poisson=0.4), held=False)
    body.set_velocity((1.0, 0.5, -0.2), (3.0, -8.0, 6.0))
    M = matrices(body)[1][::3, ::3]

    def momentum():
        p = M @ body._v
        return p.sum(axis=0), np.cross(body._x, p).sum(axis=0)

    p0, L0 = momentum()
    run(body, 0.01, 200, gravity=(0, 0, 0))
    p1, L1 = momentum()
    np.testing.assert_allclose(p1, p0, atol=1e-10 * np.linalg.norm(p0))
    np.testing.assert_allclose(L1, L0, atol=1e-8 * np.linalg.norm(L0))


# --- the limit of explicit steps ------------------------------------------------------------------------------


def limit(body, damping=(0.0, 0.0)):
    """Highest frequency by a dense eigenvalue solver, and the limit 2/omega."""
    _, M, _, K = matrices(body)
    root = 1.0 / np.sqrt(np.diag(M))
    return np.sqrt(np.linalg.eigvalsh(root[:, None] * K * root)[-1])


def explicit_mode(omega, beta, dt):
    """What one explicit step does to (x, v) of one mode, from the recursion itself."""
    columns = []
    for x, v in ((1.0, 0.0), (0.0, 1.0)):
        half = v + dt / 2 * (-(omega**2) * x - beta * omega**2 * v)
        x = x + dt * half
        guess = half + dt / 2 * (-(omega**2) * x - beta * omega**2 * half)
        columns.append((x, half + dt / 2 * (-(omega**2) * x - beta * omega**2 * guess)))
    return np.array(columns).T


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.parametrize("kind", [ct.Explicit, ct.SemiImplicit])
@pytest.mark.parametrize("beta", [0.0, 0.005])
def test_the_stability_limit_is_the_true_one(kind, beta):
    """Stable at 0.99 of it, not at 1.01; and `stable_dt` is what a dense eigenvalue solver gives."""
    growth = {}
    for part in (0.99, 1.01):
        body = bar(kind(substeps=False), damping=(0.0, beta), held=False)
        omega = limit(body)
        if beta == 0.0:
            exact = 2.0 / omega
        elif kind is ct.Explicit:
            exact = brentq(lambda dt: radius(explicit_mode(omega, beta, dt)) - 1.0, 0.01 / omega, 4.0 / omega)  # noqa: B023
        else:
            exact = beta + np.sqrt(beta**2 + 4 / omega**2)
        assert body.stable_dt == pytest.approx(exact, rel=1e-4)
        body._v += 0.01 * np.random.default_rng(0).normal(size=body._v.shape)
        world = ct.World([body], gravity=(0, 0, 0), dt=part * exact)
        speed = np.abs(body._v).max()
        largest = 0.0
        try:
            for _ in range(600):
                world.step()
                largest = max(largest, np.abs(body._v).max())
        except ct.DivergedError:
            largest = np.inf
        growth[part] = largest / speed
    assert growth[0.99] < 30.0
    assert growth[1.01] > 1e4


def test_the_printed_courant_bound_is_too_optimistic_on_a_lattice():
    """E13: the true limit of the 6-tet lattice is about 0.66 of h sqrt(rho/(lambda + 2 mu))."""
    law = ct.Corotated(young=1e5, poisson=0.3, density=1000.0)
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 1.0, 1.0), cells=(5, 5, 5)), material=law, integrator="explicit"
    )
    lam, mu = law.lame
    courant = 0.2 * np.sqrt(1000.0 / (lam + 2 * mu))
    assert body.stable_dt / courant == pytest.approx(0.66, abs=0.03)
    assert ct.SoftBody(body.mesh).stable_dt == np.inf


def test_explicit_steps_above_the_limit_are_cut_into_parts_and_say_so():
    body = bar("explicit", ct.Corotated(young=1e6))
    report = run(body, 0.02, 1)
    assert report.substeps == np.ceil(0.02 / (0.9 * body.stable_dt))
    assert "stability limit" in report.warnings[-1]
    report = run(body, 0.02, 30)
    assert np.abs(body._v).max() < 20.0
    stiff = bar("explicit", ct.Corotated(young=1e13))
    with pytest.raises(ct.InputError, match="longest stable step"):
        run(stiff, 1.0, 1)


def test_a_spring_shortens_the_stable_step():
    body = bar("explicit")
    free = body.stable_dt
    body.pull(10, stiffness=1e6)
    assert body.stable_dt < 0.3 * free
    run(body, 0.01, 20)
    assert np.isfinite(body.positions).all()


@pytest.mark.parametrize("kind", ["explicit", "semi_implicit"])
@pytest.mark.parametrize("spring", [0.0, 2e3])
def test_a_muscle_activated_at_once_gains_no_energy(kind, spring):
    """It contracts and stiffens between two estimates of the limit; the step follows (before: 100 to 900 times)."""
    body = ct.SoftBody(
        ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1)),
        material=ct.Muscle(young=2e4, poisson=0.45, density=1000.0, strength=3e5),
        integrator=kind,
        name="muscle",
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    if spring:
        body.pull(body.node_count - 1, body.positions[-1], stiffness=spring)
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    world.step()
    body.set_material(activation=1.0)
    start = total_energy(body)
    assert start > 100.0
    for _ in range(60):
        (report,) = world.step()
        assert total_energy(body) < 1.2 * start
    assert not report.inverted


def test_a_body_that_stiffens_is_stepped_in_parts_or_refused():
    """Squeezed to a quarter by fast nodes a neo-Hookean bar is many times stiffer than at rest."""
    body = bar("explicit", ct.NeoHookean(young=2e4, poisson=0.4))
    dt = 0.85 * body.stable_dt
    world = ct.World([body], gravity=(0, 0, 0), dt=dt)
    world.step()
    body._v[:, 0] = -12.0 * body._x[:, 0]
    start, reasons = total_energy(body), []
    for _ in range(round(0.1 / dt)):
        (report,) = world.step()
        reasons += [text for text in report.warnings if "became stiffer" in text]
        assert total_energy(body) < 1.3 * start
    assert reasons
    assert body.stable_dt < 0.9 * dt


def test_implicit_steps_are_stable_at_a_hundred_times_the_explicit_limit():
    dt = 100.0 * bar("explicit").stable_dt
    for name in ("implicit_euler", "newmark"):
        body = bar(name, ct.Linear(young=2e4))
        start = total_energy(body)
        run(body, dt, 50, gravity=(0, 0, 0))
        assert total_energy(body) < start * (1 + 1e-8)


# --- bits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INTEGRATORS)
def test_restored_state_goes_on_with_the_same_bits(name):
    def make():
        body = bar(name, ct.Corotated(young=5e4), damping=(0.1, 0.002))
        body.drive(lambda x: x[:, 0] > 0.99, ct.Motion.rotate((1, 0, 0), (0, 0.15, 0.15), 2.0), until=0.1)
        body.pull(5, target=(0.2, 0.5, 0.0))
        return ct.World(
            [body], dt=0.01, colliders=[ct.Plane(point=(0, -0.1, 0))], wind=ct.Wind((3.0, 0, 0), gust=0.5)
        )

    straight, first, second = make(), make(), make()
    for _ in range(25):
        straight.step()
    for _ in range(12):
        first.step()
    second.restore(first.state())
    for _ in range(13):
        second.step()
    expected, state = straight.state(), second.state()
    assert expected.keys() == state.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(state[key], value, err_msg=key)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_same_bits_for_any_number_of_threads(name):
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        ct.set_threads(threads)
        body = ct.SoftBody(
            ct.mesh.bridge(6),
            integrator=name,
            damping=(0.1, 0.001),
            material=ct.Corotated(young=1e5),
            name="bridge",
        )
        body.pin(where=lambda x: x[:, 0] < 1e-6)
        world = ct.World([body], colliders=[ct.Plane(point=(0, -0.02, 0))])
        for _ in range(4):
            world.step()
        results.append(world.state())
    for key, value in results[0].items():
        np.testing.assert_array_equal(results[1][key], value, err_msg=key)


def test_driven_nodes_move_exactly_as_told_with_every_integrator():
    for name in INTEGRATORS:
        body = bar(name)
        end = body.rest_positions[:, 0] > 0.99
        body.drive(end, lambda t, x: x + [0.0, 0.1 * np.sin(5 * t), 0.0])
        run(body, 0.01, 37, gravity=(0, 0, 0))
        lifted = body.positions[end] - body.rest_positions[end]
        np.testing.assert_allclose(
            lifted, np.tile([0, 0.1 * np.sin(5 * 0.37), 0], (end.sum(), 1)), atol=1e-12
        )


@pytest.mark.parametrize("name", ["newmark", "explicit", "semi_implicit"])
def test_a_body_driven_by_a_smooth_motion_converges_at_second_order(name):
    """The inertia that moving nodes exert through the consistent mass matrix must count once, not twice."""
    ways = []
    for steps in (40, 80, 160):
        body = bar(name)
        body._v[:] = 0.0
        body.drive(lambda x: x[:, 0] > 0.99, lambda t, x: x + [0.0, 0.1 * (1 - np.cos(9 * t)) ** 2, 0.0])
        run(body, 0.4 / steps, steps, gravity=(0, 0, 0))
        ways.append(body.positions)
    rate = np.log2(np.abs(ways[1] - ways[0]).max() / np.abs(ways[2] - ways[1]).max())
    assert rate > 1.8


def test_bad_integrators_are_refused():
    mesh = ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1))
    for options, words in (
        ({"integrator": "verlet"}, "must be 'implicit_euler', 'newmark'"),
        ({"integrator": 3}, "not 3"),
        ({"integrator": ct.Newmark(), "newton": 3}, "give newton to the integrator"),
        ({"integrator": "explicit", "newton": 3}, "no Newton iterations"),
        ({"newton": 0}, "newton"),
    ):
        with pytest.raises(ct.InputError, match=words):
            ct.SoftBody(mesh, **options)
    with pytest.raises(ct.InputError, match="2 beta >= gamma >= 1/2"):
        ct.Newmark(beta=0.2)
    with pytest.raises(ct.InputError, match="newton"):
        ct.ImplicitEuler(newton=0)

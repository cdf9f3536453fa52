"""Integrators of springs: their order, their stability limit, and what they do with energy."""

import numpy as np
import pytest

import continua as ct
from continua import springs
from continua.springs.explicit_methods import longest_step

METHODS = {
    "forward_euler": (springs.ForwardEuler, 1),
    "symplectic_euler": (springs.SymplecticEuler, 1),
    "verlet": (springs.Verlet, 2),
    "rk2": (springs.RungeKutta2, 2),
    "rk4": (springs.RungeKutta4, 4),
    "implicit_euler": (ct.ImplicitEuler, 1),
    "newmark": (ct.Newmark, 2),
}


def oscillator(name, damping=0.0, **options):
    """A mass of 1 kg on a spring without length to a pinned node, omega = 1 rad/s: x'' = -x, exactly linear."""
    kind, _ = METHODS[name]
    explicit = kind not in (ct.ImplicitEuler, ct.Newmark)
    integrator = kind(substeps=False, **options) if explicit else kind(**options)
    body = ct.Springs(
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0, 1]], stiffness=1.0, rest_lengths=[0.0], mass=[1e9, 1.0],
        spring_damping=damping, integrator=integrator, solver="direct",
    )  # fmt: skip
    body.pin([0])
    body.prepare(ct.environment.Environment(gravity=np.zeros(3)))
    return body


@pytest.mark.parametrize("name", METHODS)
def test_order(name):
    """Against x = cos t: halving the step divides the error by 2^order."""
    errors = []
    for steps in (20, 40, 80):
        body = oscillator(name)
        for _ in range(steps):
            body.step(1.2 / steps)
        errors.append(abs(body.positions[1, 0] - np.cos(1.2)))
    order = np.log2(errors[1] / errors[2])
    assert order == pytest.approx(METHODS[name][1], abs=0.1)


@pytest.mark.parametrize(
    ("name", "limit"), [("symplectic_euler", 2.0), ("verlet", 2.0), ("rk4", 2.0 * np.sqrt(2.0))]
)
def test_stability_limit(name, limit):
    """The reported limit is the textbook's; 1 % above it the motion grows, 1 % below it does not."""
    body = oscillator(name)
    assert body.stable_dt == pytest.approx(limit, rel=1e-3)
    for factor, grows in ((0.99, False), (1.01, True)):
        body = oscillator(name)
        body.positions, body.velocities = [[0, 0, 0], [0.01, 0, 0]], [[0, 0, 0], [0.001, 0, 0]]
        largest = 0.0
        try:
            for _ in range(400):
                report = body.step(factor * limit)
                largest = max(largest, abs(body.positions[1, 0]))
        except ct.DivergedError:
            largest = np.inf
        assert (largest > 0.3) == grows
        assert any("unstable" in text for text in report.warnings) == grows


@pytest.mark.parametrize("name", ["symplectic_euler", "verlet", "rk2", "rk4", "forward_euler"])
@pytest.mark.parametrize("damping", [0.1, 1.0, 5.0])
def test_stability_limit_with_damping(name, damping):
    """The limit is where the spectral radius of the method's own steps becomes 1, found by stepping unit states."""
    kind = METHODS[name][0]
    limit = longest_step(kind, 1.0, 0.0, damping)

    def radius(dt):
        columns = []
        for x, v in ((1.0, 0.0), (0.0, 1.0)):
            a, b = kind.advance(np.array([x]), np.array([v]), dt, lambda x, v: -x - damping * v)
            columns.append([a[0], b[0]])
        return np.abs(np.linalg.eigvals(np.array(columns).T)).max()

    assert radius(0.99 * limit) <= 1.0 + 1e-9
    assert radius(1.01 * limit) > 1.0


@pytest.mark.parametrize("name", ["forward_euler", "rk2"])
def test_methods_that_gain_energy_at_every_step_say_so(name):
    body = oscillator(name)
    assert body.stable_dt == 0.0
    assert any("unstable at every step" in text for text in body.step(0.01).warnings)


def test_forward_euler_gains_energy_as_computed():
    """Each step multiplies the energy by 1 + dt^2: 1.22 after 2000 steps of 0.01."""
    body = oscillator("forward_euler")
    for _ in range(2000):
        body.step(0.01)
    x, v = body.positions[1, 0], body.velocities[1, 0]
    assert x * x + v * v == pytest.approx((1.0 + 1e-4) ** 2000, rel=1e-9)


def test_implicit_euler_decays_at_every_step_size():
    """Its amplitude falls by 1 / sqrt(1 + dt^2) per step."""
    body = oscillator("implicit_euler")
    for _ in range(10):
        body.step(2.1)
    x, v = body.positions[1, 0], body.velocities[1, 0]
    assert np.hypot(x, v) == pytest.approx((1.0 + 2.1**2) ** -5.0, rel=1e-6)


def test_explicit_integrators_take_stable_substeps():
    """A stiff lattice with a step far above its limit stays bounded, and the report says how it was done."""
    for name in ("symplectic_euler", "verlet", "rk4"):
        body = ct.Springs(springs.lattice((1, 1, 1), (2, 2, 2)), stiffness=1e5, mass=1.0, integrator=name)
        body.positions = 1.05 * body.rest_positions
        limit = body.stable_dt
        report = body.step(20.0 * limit)
        assert report.substeps >= 20
        assert any("above the stability limit" in text for text in report.warnings)
        for _ in range(5):
            body.step(20.0 * limit)
        assert np.abs(body.positions).max() < 0.6


def test_limit_of_a_chain_is_that_of_its_highest_mode():
    """n equal masses and springs on a line: omega_max^2 = 4 k/m cos^2(pi / 2n)."""
    n, k = 12, 50.0
    body = ct.Springs(
        springs.line((0, 0, 0), (1, 0, 0), n - 1), stiffness=k, mass=np.ones(n), integrator="verlet"
    )
    omega = 2.0 * np.sqrt(k) * np.cos(np.pi / (2 * n))
    assert body.stable_dt == pytest.approx(2.0 / omega, rel=1e-3)

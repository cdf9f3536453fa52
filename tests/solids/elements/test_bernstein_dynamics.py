"""Bodies of higher order in motion and at rest: the checks of Weber's thesis (2015), beam theory, another law."""

import numpy as np
import pytest

import continua as ct


def thesis_bar(order, law, cells=(4, 1, 1), **options):
    """The hanging bar: 1 x 0.2 x 0.2 m, clamped at x = 0, so heavy that linear elasticity stretches it to 2.62 m."""
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=cells, split=24)
    body = ct.SoftBody(
        mesh,
        material=law(young=5e5, poisson=0.45, density=3265.0),
        order=order,
        name="bar",
        solver=ct.PCG(rtol=1e-7),
        **options,
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    return body


def centre_line(body):
    rest = body.rest_positions
    nodes = np.flatnonzero(np.abs(rest[:, 1:] - 0.1).max(axis=1) < 1e-9)
    nodes = nodes[np.argsort(rest[nodes, 0])]
    return float(np.linalg.norm(np.diff(body.positions[nodes], axis=0), axis=1).sum())


@pytest.mark.parametrize(("order", "length"), [(1, 1.024), (2, 1.028), (3, 1.0285)])
def test_hanging_bar_keeps_its_length(order, length):
    """Corotated 1.02 to 1.05 m (the thesis, with one rotation per element: 1.04); settled or swung out, the same."""
    body = thesis_bar(order, ct.Corotated)
    ct.World([body]).settle(rtol=1e-5)
    assert centre_line(body) == pytest.approx(length, abs=2e-3)
    swung = thesis_bar(order, ct.Corotated, damping=(3.0, 0.0))
    world = ct.World([swung], dt=0.05)
    for _ in range(150):
        world.step()
    assert centre_line(swung) == pytest.approx(centre_line(body), abs=2e-4)


def test_hanging_bar_of_linear_elasticity_swells():
    lengths = []
    for order in (2, 3):
        body = thesis_bar(order, ct.Linear)
        ct.World([body]).settle()
        lengths.append(centre_line(body))
    assert lengths[0] > 2.4
    assert lengths[1] == pytest.approx(2.62, abs=0.005)


def test_hanging_bar_hardly_depends_on_the_mesh():
    lengths = []
    for cells in ((4, 1, 1), (8, 2, 2)):
        body = thesis_bar(2, ct.Corotated, cells)
        ct.World([body]).settle(rtol=1e-3)
        lengths.append(centre_line(body))
    assert lengths[1] == pytest.approx(lengths[0], rel=0.01)


def test_first_frequency_of_a_slender_bar():
    """Euler and Bernoulli: 1.875^2 / (2 pi) sqrt(E I / (rho A L^4)), within 2 %."""
    length, side, young, density, dt = 1.0, 0.05, 1e6, 1000.0, 0.02
    mesh = ct.mesh.box(size=(length, side, side), cells=(6, 1, 1), split=24)
    body = ct.SoftBody(
        mesh,
        material=ct.Corotated(young=young, poisson=0.3, density=density),
        order=3,
        name="bar",
        solver=ct.PCG(rtol=1e-6),
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    body._v[:, 1] = 0.02 * (body.rest_positions[:, 0] / length) ** 2
    world = ct.World([body], gravity=(0, 0, 0), dt=dt)
    expected = 1.875104**2 / (2 * np.pi) * np.sqrt(young * side**2 / 12 / (density * length**4))
    tip = int(np.abs(body.rest_positions - [length, side / 2, side / 2]).sum(axis=1).argmin())
    heights = [0.0]
    for _ in range(int(1.6 / expected / dt)):
        world.step()
        heights.append(body.positions[tip, 1] - body.rest_positions[tip, 1])
    y = np.array(heights)
    crossings = [(k + y[k] / (y[k] - y[k + 1])) * dt for k in range(1, len(y) - 1) if y[k] * y[k + 1] < 0]
    assert len(crossings) >= 2
    assert 0.5 / np.diff(crossings).mean() == pytest.approx(expected, rel=0.02)


def test_corotated_path_follows_that_of_green_strain():
    """A bar falls from the horizontal for a second; St. Venant-Kirchhoff, whose strain has no rotation to leave out.

    It is slender, as the laws differ by the square of the strain, and both solve the equation of the step.
    """

    def path(law, newton):
        mesh = ct.mesh.box(size=(1.0, 0.1, 0.1), cells=(10, 1, 1))
        body = ct.SoftBody(
            mesh, material=law(young=1.25e6, poisson=0.34, density=500.0), order=2, newton=newton, name="bar"
        )
        body.pin(lambda x: x[:, 0] < 1e-9)
        world = ct.World([body], dt=0.01)
        moved = []
        for _ in range(100):
            world.step()
            moved.append(body.positions - body.rest_positions)
        return np.array(moved)

    ours, reference = path(ct.Corotated, 4), path(ct.StVenantKirchhoff, 4)
    swing = np.linalg.norm(reference, axis=2).max()
    assert swing > 0.8
    assert np.linalg.norm(ours - reference, axis=2).max() < 0.03 * swing


def twisted_energy(order, cells):
    """Elastic energy of a bar whose right end is turned by 1.2 rad: what a coarse mesh has too much."""
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=cells, split=24, origin=(0, -0.1, -0.1))
    body = ct.SoftBody(mesh, material=ct.Corotated(young=5e5, poisson=0.45), order=order, name="bar")
    body.pin(lambda x: x[:, 0] < 1e-9)
    body.drive(lambda x: x[:, 0] > 1 - 1e-9, ct.Motion(lambda _, x: turned(x, 1.2)))
    body._x[:] = turned(body.rest_positions, 1.2 * body.rest_positions[:, 0])
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-3)
    return body.energy()["elastic"]


def turned(x, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([x[:, 0], c * x[:, 1] - s * x[:, 2], s * x[:, 1] + c * x[:, 2]], axis=1)


def test_120_quadratic_tets_twist_like_thousands_of_linear_ones():
    fine = twisted_energy(2, (15, 3, 3))
    linear, quadratic, cubic = (twisted_energy(order, (5, 1, 1)) / fine - 1.0 for order in (1, 2, 3))
    many = twisted_energy(1, (15, 3, 3)) / fine - 1.0
    assert linear > 1.0
    assert 0.0 < cubic < quadratic < many < linear  # 120, 120, 3240 and 120 tets


@pytest.mark.parametrize("order", [2, 3])
def test_implicit_euler_takes_energy_and_less_of_it_with_shorter_steps(order):
    """Total energy never grows by more than a thousandth, and the swing after 1 s is larger with a shorter step."""

    def swing(dt):
        mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(3, 1, 1))
        body = ct.SoftBody(
            mesh,
            material=ct.Corotated(young=5e5, poisson=0.3),
            order=order,
            name="bar",
            solver=ct.PCG(rtol=1e-8),
        )
        body.pin(lambda x: x[:, 0] < 1e-9)
        body._v[:, 1] = 1.0 * body.rest_positions[:, 0]
        world = ct.World([body], gravity=(0, 0, 0), dt=dt)
        totals = [sum(world.energy().values())]
        heights = []
        for _ in range(round(1.0 / dt)):
            world.step()
            totals.append(sum(world.energy().values()))
            heights.append(np.abs(body.positions[:, 1] - body.rest_positions[:, 1]).max())
        assert np.diff(totals).max() < 1e-3 * totals[0]
        return max(heights[-round(0.5 / dt) :])

    coarse, fine = swing(0.02), swing(0.005)
    assert coarse < 0.95 * fine


def test_a_truncated_solve_is_said_to_be_one():
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(10, 2, 2)),
        order=2,
        name="bar",
        solver=ct.PCG(rtol=1e-8, max_iterations=20),
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    (report,) = ct.World([body], dt=0.02).step()
    assert not report.converged
    assert any("stopped after 20 iterations" in warning for warning in report.warnings)

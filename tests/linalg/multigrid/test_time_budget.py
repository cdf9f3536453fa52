"""Solves that end at a budget: they say how far off they are, and bad starts do not add up."""

import numpy as np
import pytest

import continua as ct
from continua import Multigrid, mesh
from tests.linalg.bodies import system


def test_a_start_of_higher_energy_is_forgotten_even_if_its_residual_is_smaller():
    """A smooth error has much energy and little residual: the guard by the residual alone would keep it."""
    matrix, rhs, elements = system(mesh.bridge(4), young=1e10)
    fixed = (elements.rest_positions[:, 0] < 1e-9).astype(np.uint8)
    free = fixed == 0
    noise = np.random.default_rng(0).normal(size=rhs.shape) * free[:, None]
    rhs = (matrix @ noise) * free[:, None]
    full = Multigrid(rtol=1e-10)
    full.setup(matrix)
    full.update(matrix, fixed)
    bend = noise.copy()
    for _ in range(5):  # towards the softest mode
        load, bend = bend / np.linalg.norm(bend), np.zeros_like(rhs)
        full.solve(load, bend)
    start = 0.9 * noise + 0.3 * bend * np.linalg.norm(rhs) / np.linalg.norm((matrix @ bend)[free])
    energy = lambda x: 0.5 * float(np.vdot(x, matrix @ x)) - float(np.vdot(x, rhs))  # noqa: E731
    assert np.linalg.norm((rhs - matrix @ start)[free]) < 0.5 * np.linalg.norm(rhs)
    assert energy(start) > 0.0
    from_start, from_zero = start.copy(), np.zeros_like(rhs)
    for x in (from_start, from_zero):
        solver = Multigrid(rtol=1e-10, budget_ms=1e-6)
        solver.setup(matrix)
        solver.update(matrix, fixed)
        solver.solve(rhs, x)
    np.testing.assert_array_equal(from_start, from_zero)


def test_a_good_start_is_kept():
    matrix, rhs, elements = system(mesh.bridge(4), young=1e8)
    fixed = (elements.rest_positions[:, 0] < 1e-9).astype(np.uint8)
    solver = Multigrid(rtol=1e-6, budget_ms=1e6)
    solver.setup(matrix)
    solver.update(matrix, fixed)
    x = np.zeros_like(rhs)
    assert solver.solve(rhs, x).iterations > 3
    x *= 1.0 + 1e-7
    assert solver.solve(rhs, x).iterations <= 1


@pytest.mark.parametrize("law", [ct.Corotated, ct.Linear])
def test_a_body_on_a_budget_of_one_iteration_reports_its_error_and_stays_near_the_exact_path(law):
    def tips(solver):
        body = ct.SoftBody(
            mesh.bridge(4), material=law(young=1e7, poisson=0.3, density=1000.0), solver=solver
        )
        body.pin(lambda x: x[:, 0] < 1e-9)
        world = ct.World([body], dt=0.02)
        reports, path = [], []
        for _ in range(40):
            reports.append(world.step()[0])
            path.append(body.positions[-1, 1])
        return np.array(path), reports

    exact, plain = tips(Multigrid(rtol=1e-9))
    rough, reports = tips(Multigrid(rtol=1e-9, budget_ms=1e-6))
    assert all(report.error is None for report in plain)
    for report in reports:
        assert not report.converged
        assert 0.0 < report.error < 0.2
        assert any("an error of about" in said for said in report.warnings)
    assert np.abs(rough - exact).max() < 0.05 * np.ptp(exact)

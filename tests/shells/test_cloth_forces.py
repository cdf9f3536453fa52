"""Forces of cloth: minus the gradient of the energy, no net force and torque, definite stiffness."""

import numpy as np
import pytest

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockMatrix
from tests.shells.sheets import rectangle


def forces_and_stiffness(elements, x):
    """Return the elastic force [n, 3] and the dense stiffness at positions x."""
    elements.update(x)
    zeros = np.zeros_like(x)
    matrix = BlockMatrix(elements.pattern)
    system = AssembledSystem(
        matrix, zeros.copy(), np.zeros(elements.pattern.block_count), 0.0, 1.0, 1.0, zeros, zeros
    )
    elements.assemble(system)
    return system.rhs.copy(), matrix.to_scipy().toarray()


def numerical_force(elements, x, node, axis, h=1e-6):
    energies = []
    for sign in (1.0, -1.0):
        moved = x.copy()
        moved[node, axis] += sign * h
        elements.update(moved)
        energies.append(elements.energy())
    return -(energies[0] - energies[1]) / (2.0 * h)


@pytest.mark.parametrize("model", ["hinge", "quadratic"])
def test_force_is_minus_the_gradient_of_the_energy(model):
    mesh = rectangle((1.0, 0.8), (5, 4))
    law = ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0)
    cloth = ct.Cloth(mesh, law, thickness=1e-3, bending=ct.Bending(stiffness=0.02, model=model))
    elements = cloth._elements
    rng = np.random.default_rng(0)
    x = elements.rest_positions + 0.04 * rng.standard_normal(elements.rest_positions.shape)
    force, stiffness = forces_and_stiffness(elements, x)
    scale = np.abs(force).max()
    for node in (0, 7, 12):
        for axis in range(3):
            assert numerical_force(elements, x, node, axis) == pytest.approx(
                force[node, axis], abs=1e-6 * scale
            )
    assert np.abs(force.sum(axis=0)).max() < 1e-11 * scale
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-11 * scale
    eigenvalues = np.linalg.eigvalsh(stiffness)
    assert eigenvalues[0] > -1e-10 * eigenvalues[-1]
    assert np.abs(stiffness - stiffness.T).max() == 0.0


def test_hinge_angles_and_their_derivatives():
    """A13: the directions of the bending force are -d theta / dx, sum to zero and have no torque."""
    from continua.shells.bending import hinge_angles

    points = np.array([[0.3, 0.0, 1.0], [0.0, 0.1, 0.0], [1.0, 0.0, 0.0], [0.6, -0.5, -0.8]])
    mesh = ct.SheetMesh(points, [[0, 1, 2], [3, 2, 1]])
    cloth = ct.Cloth(mesh, thickness=1e-3, bending=ct.Bending(rest="flat"))
    bending = cloth._elements.bending
    bending.update(points)
    derivative = bending.records[0, :12].reshape(4, 3)
    nodes = mesh.hinges[0]
    for a in range(4):
        for axis in range(3):
            moved = points.copy()
            moved[nodes[a], axis] += 1e-6
            up = hinge_angles(mesh, moved)[0]
            moved[nodes[a], axis] -= 2e-6
            down = hinge_angles(mesh, moved)[0]
            assert derivative[a, axis] == pytest.approx((up - down) / 2e-6, abs=1e-8)
    assert np.abs(derivative.sum(axis=0)).max() < 1e-14
    assert np.abs(np.cross(points[nodes], derivative).sum(axis=0)).max() < 1e-14


def test_mass_is_density_times_thickness_times_area():
    mesh = rectangle((2.0, 1.5), (4, 3))
    for mass in ("lumped", "consistent"):
        cloth = ct.Cloth(mesh, ct.StVenantKirchhoff(density=250.0), thickness=2e-3, mass=mass)
        assert cloth.mass_total == pytest.approx(250.0 * 2e-3 * 3.0, rel=1e-12)

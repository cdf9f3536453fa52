"""Forces of cloth: minus the gradient of the energy, no net force and torque, definite stiffness."""

import numpy as np
import pytest

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.environment import Environment
from continua.linalg import BlockMatrix
from continua.mesh import surfaces
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


LAWS = [
    ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0),
    ct.Corotated(young=1e5, poisson=0.3, density=300.0),
    ct.NeoHookean(young=1e5, poisson=0.3, density=300.0),
    ct.StableNeoHookean(young=1e5, poisson=0.45, density=300.0),
    ct.SplineHyperelastic(young=1e5, poisson=0.3, density=300.0),
    ct.Fabric.measured("denim"),
    ct.Fabric(warp=500.0, weft=100.0, coupling=20.0, shear=10.0, limit=0.02),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("state", ["stretched", "crumpled", "line", "point"])
def test_all_laws_in_all_states(law, state):
    mesh = rectangle((1.0, 0.8), (4, 3))
    cloth = ct.Cloth(mesh, law, thickness=1e-3, bending=ct.Bending(stiffness=0.0), warp=(1.0, 0.0, 0.4))
    elements = cloth._elements
    rng = np.random.default_rng(1)
    x = elements.rest_positions + 0.02 * rng.standard_normal(elements.rest_positions.shape)
    x = {
        "stretched": x * [1.3, 1.0, 1.2],
        "crumpled": x + 0.1 * rng.standard_normal(x.shape),
        "line": x * [1.0, 0.0, 0.0],
        "point": x * 0.0,
    }[state]
    force, stiffness = forces_and_stiffness(elements, x)
    assert np.isfinite(force).all()
    assert np.isfinite(stiffness).all()
    scale = max(np.abs(force).max(), 1e-3)
    assert np.abs(force.sum(axis=0)).max() < 1e-10 * scale
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-9 * scale
    eigenvalues = np.linalg.eigvalsh(stiffness)
    assert eigenvalues[0] > -1e-9 * max(eigenvalues[-1], 1.0)
    if state in ("stretched", "crumpled"):
        for node in (0, 6, 11):
            for axis in range(3):
                slope = numerical_force(elements, x, node, axis)
                assert slope == pytest.approx(force[node, axis], abs=2e-6 * scale)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_tangent_is_the_derivative_under_tension(law):
    """Where nothing is compressed the stiffness is exact."""
    mesh = rectangle((1.0, 0.8), (3, 2))
    cloth = ct.Cloth(mesh, law, thickness=1e-3, bending=ct.Bending(stiffness=0.0), warp=(1.0, 0.0, 0.4))
    elements = cloth._elements
    rng = np.random.default_rng(2)
    x = elements.rest_positions * [1.25, 1.0, 1.3] + 0.01 * rng.standard_normal(elements.rest_positions.shape)
    _, stiffness = forces_and_stiffness(elements, x)
    h = 1e-6
    numerical = np.zeros_like(stiffness)
    for dof in range(x.size):
        forces = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved.ravel()[dof] += sign * h
            forces.append(forces_and_stiffness(elements, moved)[0].ravel())
        numerical[:, dof] = -(forces[0] - forces[1]) / (2.0 * h)
    assert np.abs(numerical - stiffness).max() < 2e-6 * np.abs(stiffness).max()


def test_uniaxial_stress_of_a_strip():
    """A strip pulled to the stretch s carries E (s^2 - 1) s / 2 per area, its sides free (St. Venant-Kirchhoff)."""
    mesh = rectangle((1.0, 0.5), (6, 3))
    young, thickness, stretch = 2e5, 1e-3, 1.1
    for law in (
        ct.StVenantKirchhoff(young=young, poisson=0.3, density=300.0),
        ct.Fabric(warp=young * thickness, weft=100.0, shear=50.0),
    ):
        cloth = ct.Cloth(mesh, law, thickness=thickness)
        cloth.lock("left", "x")
        cloth.lock("right", "x", stretch - 1.0)
        cloth.lock("all", "y")
        cloth.pin([0])
        cloth.prepare(Environment(gravity=np.zeros(3)))
        cloth.settle()
        force = cloth.reaction_forces()
        right = cloth.rest_positions[:, 0] > 0.999
        expected = 0.5 * young * (stretch**2 - 1.0) * stretch * 0.5 * thickness
        assert force[right, 0].sum() == pytest.approx(expected, rel=1e-6)


def test_triangles_turn_back_to_their_reference_normal():
    """I10: a triangle that faces the wrong way is as an inverted one, and is driven to turn over."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    mesh = ct.SurfaceMesh(points, [[0, 2, 1]])
    law = ct.Corotated(young=1e5, poisson=0.3, density=300.0)
    turned = points * [1.0, 1.0, -0.8]
    for reference, inverted in ((None, 0), (lambda x: np.tile([0.0, 1.0, 0.0], (len(x), 1)), 1)):
        cloth = ct.Cloth(mesh, law, thickness=1e-3, reference_normals=reference)
        force, _ = forces_and_stiffness(cloth._elements, turned)
        assert cloth._elements.inverted == inverted
        # at rest it would have length 1 along z: without a reference it lengthens, with one it goes back through zero
        assert np.sign(force[2, 2]) == (1.0 if inverted else -1.0)


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


def test_bending_stiffness_is_exact_at_the_rest_angles():
    """Without a moment the second derivative of the angle does no work, also on a folded rest shape."""
    mesh = surfaces.sphere(0.5, 1)
    cloth = ct.Cloth(
        mesh, ct.StVenantKirchhoff(young=0.0, density=300.0), thickness=1e-3, bending=ct.Bending(0.02)
    )
    elements, x = cloth._elements, mesh.points.copy()
    _, stiffness = forces_and_stiffness(elements, x)
    numerical = np.zeros_like(stiffness)
    h = 1e-5
    for dof in range(0, x.size, 5):
        forces = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved.ravel()[dof] += sign * h
            forces.append(forces_and_stiffness(elements, moved)[0].ravel())
        numerical[:, dof] = -(forces[0] - forces[1]) / (2.0 * h)
        assert np.abs(numerical[:, dof] - stiffness[:, dof]).max() < 1e-6 * np.abs(stiffness).max()

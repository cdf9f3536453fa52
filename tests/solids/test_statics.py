"""Elements at rest: patch test, rigid motion, sag against beam theory, stress against formulas, scikit-fem."""

import numpy as np
import pytest
import scipy.sparse.linalg as spla
import skfem
from scipy.spatial.transform import Rotation
from skfem.models.elasticity import lame_parameters, linear_elasticity

import continua as ct
from continua.linalg import BlockMatrix
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.linear_tet import LinearTets
from tests.solids.linearise import give, linearised


def jittered(cells=(3, 2, 2), seed=0):
    """A box whose inner nodes are moved about: no symmetry left to hide an error."""
    box = ct.mesh.box(size=(1.5, 1.0, 1.0), cells=cells)
    points = box.points.copy()
    inner = np.all((points > 1e-9) & (points < np.array([1.5, 1.0, 1.0]) - 1e-9), axis=1)
    points[inner] += np.random.default_rng(seed).uniform(-0.08, 0.08, size=(int(inner.sum()), 3))
    return ct.TetMesh(points, box.tets)


def tets(mesh, order):
    return LinearTets(mesh) if order == 1 else BernsteinTets(mesh, order)


def made(order, law, mesh=None):
    return give(tets(mesh if mesh is not None else jittered(), order), law)


def boundary_nodes(elements):
    return np.unique(elements.surface_triangles())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_patch_test_is_exact(order):
    """A linear displacement on the boundary gives the same linear displacement inside, and constant stress."""
    law = ct.Linear(young=3.0, poisson=0.35)
    elements = made(order, law)
    rest = elements.rest_positions
    H = 0.01 * np.random.default_rng(1).normal(size=(3, 3))
    exact = rest @ H.T
    K, _ = linearised(elements, rest)
    held = np.zeros(len(rest), bool)
    held[boundary_nodes(elements)] = True
    fixed = np.repeat(held, 3)
    u = np.zeros(3 * len(rest))
    u[fixed] = exact[held].ravel()
    u[~fixed] = spla.spsolve(K[~fixed][:, ~fixed].tocsc(), -K[~fixed][:, fixed] @ u[fixed])
    assert (~held).sum() > 0
    np.testing.assert_allclose(u.reshape(-1, 3), exact, atol=1e-14)
    elements.update(rest + u.reshape(-1, 3))
    lam, mu = law.lame
    s = mu * (H + H.T) + lam * np.trace(H) * np.eye(3)
    deviator = s - np.trace(s) / 3 * np.eye(3)
    np.testing.assert_allclose(elements.von_mises(), np.sqrt(1.5 * (deviator**2).sum()), rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("degrees", [1, 30, 90, 135, 180])
def test_rigid_motion_gives_no_force_and_no_energy(order, degrees):
    elements = made(order, ct.Corotated(young=1e6))
    axis = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    R = Rotation.from_rotvec(np.radians(degrees) * axis).as_matrix()
    moved = elements.rest_positions @ R.T + [0.3, -0.2, 5.0]
    K, force = linearised(elements, moved)
    without_offset = K @ (moved - elements.rest_positions).ravel()  # what the printed formula would give
    assert np.abs(force).max() < 1e-8
    assert np.abs(without_offset).max() > 1e3 * np.abs(force).max()
    assert elements.energy() < 1e-9 * 1e6
    assert elements.inverted == 0


@pytest.mark.parametrize("order", [1, 2, 3])
def test_stiffness_is_symmetric_with_six_rigid_modes(order):
    elements = made(order, ct.Corotated(young=1.0, poisson=0.3), jittered((2, 1, 1)))
    K = linearised(elements, elements.rest_positions)[0].toarray()
    np.testing.assert_allclose(K, K.T, atol=1e-13)
    values = np.linalg.eigvalsh(K)
    assert np.abs(values[:6]).max() < 1e-12
    assert values[6] > 1e-4


@pytest.mark.parametrize("order", [1, 2, 3])
def test_stiffness_turns_with_the_body(order):
    """A turned body has the stiffness R K R^T of the body at rest, block by block."""
    elements = made(order, ct.Corotated(young=3.0, poisson=0.35))
    R = Rotation.from_rotvec([0.7, -1.9, 1.1]).as_matrix()
    rest = elements.rest_positions
    K = linearised(elements, rest)[0].toarray()
    turned = np.kron(np.eye(len(rest)), R)
    moved = linearised(elements, rest @ R.T)[0].toarray()
    np.testing.assert_allclose(moved, turned @ K @ turned.T, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_linear_stiffness_and_mass_equal_scikit_fem(order):
    mesh = jittered()
    elements = made(order, ct.Linear(young=7.0, poisson=0.28), mesh)
    K = linearised(elements, elements.rest_positions)[0]
    fem_mesh = skfem.MeshTet(mesh.points.T.copy(), mesh.tets.T.astype(np.int64))
    scalar = skfem.ElementTetP1() if order == 1 else skfem.ElementTetP2()
    basis = skfem.Basis(fem_mesh, skfem.ElementVector(scalar), intorder=4)
    reference = linear_elasticity(*lame_parameters(7.0, 0.28)).assemble(basis)
    # the same field in both bases: ours by coefficients, theirs by the values at their nodes
    rng = np.random.default_rng(3)
    u, w = rng.normal(size=(2, len(elements.rest_positions), 3))
    found = np.lexsort(np.round(elements.rest_positions, 9).T)
    theirs = np.lexsort(np.round(locations(basis).T, 9))
    order_map = np.empty(len(found), int)
    order_map[theirs] = found
    dofs = node_dofs(basis)

    def moved(field):
        result = np.zeros(basis.N)
        result[dofs] = elements.values(field)[order_map]
        return result

    assert u.ravel() @ (K @ w.ravel()) == pytest.approx(moved(u) @ (reference @ moved(w)), rel=1e-10)
    mass = skfem.BilinearForm(lambda a, b, _: 5.0 * sum(a[i] * b[i] for i in range(3))).assemble(basis)
    p = elements.pattern
    ours = BlockMatrix(p)
    ours.blocks[:, ::4] = elements.mass(5.0, lumped=False)[:, None]
    assert np.vdot(u, ours @ w) == pytest.approx(moved(u) @ (mass @ moved(w)), rel=1e-10)


def node_dofs(basis):
    """Dofs of scikit-fem's basis as [node, component]: vertices, then edges."""
    parts = [basis.nodal_dofs.T]
    if basis.edge_dofs.size:
        parts.append(basis.edge_dofs.T)
    return np.concatenate(parts)


def locations(basis):
    return basis.doflocs[:, node_dofs(basis)[:, 0]].T


def cantilever_sag(order, n):
    """Static tip sag of the 8 x 1 x 1 beam over Timoshenko's value, E = 1e7, nu = 0.3, rho = 1000."""
    mesh = ct.mesh.bridge(n)
    elements = made(order, ct.Linear(young=1e7, poisson=0.3), mesh)
    K = linearised(elements, elements.rest_positions)[0]
    rest = elements.rest_positions
    load = np.zeros_like(rest)
    p = elements.pattern
    load[:, 1] = -9.81 * np.add.reduceat(elements.mass(1000.0, lumped=True), p.indptr[:-1])
    free = np.repeat(rest[:, 0] > 1e-9, 3)
    u = np.zeros(load.size)
    A = K[free][:, free]
    diagonal = A.diagonal()
    u[free], info = spla.cg(
        A,
        load.ravel()[free],
        rtol=1e-9,
        maxiter=20000,
        M=spla.LinearOperator(A.shape, lambda r: r / diagonal),
    )
    assert info == 0
    tip = elements.values(u.reshape(-1, 3))[rest[:, 0] > 8 - 1e-9, 1].mean()
    return -tip / 6.125


def test_sag_of_linear_tets_follows_the_known_table():
    """Georgii's bridges: linear tetrahedra lock, 0.50 / 0.78 / 0.92 of Timoshenko at 384 / 3k / 24.6k."""
    assert cantilever_sag(1, 2) == pytest.approx(0.504, abs=0.01)
    assert cantilever_sag(1, 4) == pytest.approx(0.783, abs=0.01)
    assert cantilever_sag(1, 8) == pytest.approx(0.925, abs=0.01)


def test_quadratic_tets_do_not_lock():
    assert cantilever_sag(2, 1) == pytest.approx(0.961, abs=0.01)
    assert cantilever_sag(2, 2) == pytest.approx(0.982, abs=0.01)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    ("stress", "expected"),
    [
        (np.diag([5.0, 0, 0]), 5.0),
        (np.array([[0, 2.0, 0], [2.0, 0, 0], [0, 0, 0]]), 2.0 * np.sqrt(3)),
        (-3.0 * np.eye(3), 0.0),
    ],
)
def test_von_mises_of_pure_states_in_any_orientation(order, stress, expected):
    """Uniaxial gives |s|, shear t gives sqrt(3) t (not twice that), pressure gives nothing."""
    law = ct.Corotated(young=1e4, poisson=0.3)
    elements = made(order, law)
    lam, mu = law.lame
    strain = (stress - lam / (3 * lam + 2 * mu) * np.trace(stress) * np.eye(3)) / (2 * mu)
    R = Rotation.from_euler("xyz", [20, 130, -75], degrees=True).as_matrix()
    elements.update(elements.rest_positions @ (R @ (np.eye(3) + strain)).T)
    np.testing.assert_allclose(elements.von_mises(), expected, atol=1e-8)
    volume = elements.mesh.volume
    assert elements.energy() == pytest.approx(0.5 * volume * (stress * strain).sum(), rel=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_force_is_the_gradient_of_energy(order):
    """With the exact rotation gradient included, differences of the energy give the force (order 1)."""
    elements = made(
        order, ct.Linear(young=10.0) if order > 1 else ct.Corotated(young=10.0), jittered((2, 1, 1))
    )
    rng = np.random.default_rng(5)
    x = elements.rest_positions + 0.1 * rng.normal(size=elements.rest_positions.shape)
    direction = rng.normal(size=x.shape)
    _, force = linearised(elements, x)

    def energy(t):
        elements.update(x + t * direction)
        return elements.energy()

    assert np.vdot(force, direction) == pytest.approx((energy(1e-6) - energy(-1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_total_mass_is_density_times_volume(order):
    body = ct.SoftBody(jittered(), material=ct.Corotated(density=700.0), order=order)
    assert body.mass_total == pytest.approx(700.0 * 1.5, rel=1e-12)
    lumped = ct.SoftBody(jittered(), material=ct.Corotated(density=700.0), order=order, mass="lumped")
    assert lumped.mass_total == pytest.approx(700.0 * 1.5, rel=1e-12)

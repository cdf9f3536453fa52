"""Higher-order tetrahedra against polynomials, scikit-fem, beam theory and the checks of Weber's thesis (2015)."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg as spla
import skfem
from scipy.spatial.transform import Rotation
from skfem.models.elasticity import lame_parameters, linear_elasticity

import continua as ct
from continua.linalg import BlockMatrix
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.linear_tet import LinearTets
from tests.solids.linearise import give, linearised
from validation import convergence


def tets(mesh, order, law):
    return give(LinearTets(mesh) if order == 1 else BernsteinTets(mesh, order), law)


def jittered(cells=(3, 2, 2), seed=0):
    """A box whose inner nodes are moved about."""
    box = ct.mesh.box(size=(1.5, 1.0, 1.0), cells=cells)
    points = box.points.copy()
    inner = np.all((points > 1e-9) & (points < np.array([1.5, 1.0, 1.0]) - 1e-9), axis=1)
    points[inner] += np.random.default_rng(seed).uniform(-0.08, 0.08, size=(int(inner.sum()), 3))
    return ct.TetMesh(points, box.tets)


def thesis_bar(cells=(5, 1, 1), size=(1.0, 0.2, 0.2)):
    return ct.mesh.box(size=size, cells=cells, split=24)


def mass_matrix(elements, density=1.0):
    matrix = BlockMatrix(elements.pattern)
    matrix.blocks[:, ::4] = elements.mass(density, lumped=False)[:, None]
    return matrix.to_scipy().tocsr()


def solved(K, load, held, given):
    """K u = load with the coefficients of the nodes `held` given."""
    fixed = np.repeat(held, 3)
    u = np.where(fixed, given.ravel(), 0.0)
    free = ~fixed
    u[free] = spla.spsolve(K[free][:, free].tocsc(), (load.ravel() - K @ u)[free])
    return u.reshape(-1, 3)


@pytest.mark.parametrize("order", [2, 3])
def test_polynomials_of_the_order_are_exact(order):
    """A field of degree p with its body force, on a distorted mesh: nothing is left but rounding."""
    law = ct.Linear(young=3.0, poisson=0.35)
    lam, mu = law.lame
    elements = tets(jittered(), order, law)
    rng = np.random.default_rng(4)
    directions, amplitudes = rng.normal(size=(2, 5, 3))

    def field(x):
        return ((x @ directions.T) ** order) @ amplitudes

    def force(x):
        """-div of the stress of sum_k a_k (d_k . x)^p, which is of degree p - 2."""
        powers = order * (order - 1) * (x @ directions.T) ** (order - 2)
        along = np.einsum("ki,ki->k", directions, amplitudes)[:, None] * directions
        squared = (directions**2).sum(axis=1)[:, None] * amplitudes
        return -powers @ ((lam + mu) * along + mu * squared)

    rest = elements.rest_positions
    # the force has degree p - 2, so its product with the basis is a product of two fields of degree p
    load = mass_matrix(elements) @ elements.coefficients(force(rest)).ravel()
    held = np.zeros(len(rest), bool)
    held[np.unique(elements.surface_triangles())] = True
    expected = elements.coefficients(field(rest))
    u = solved(linearised(elements, rest)[0], load, held, expected)
    assert (~held).sum() > 5
    np.testing.assert_allclose(u, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("order", "cells"), [(1, (4, 8)), (2, (2, 4)), (3, (2, 3))])
def test_errors_fall_with_the_known_powers_of_the_size(order, cells):
    """h^(p+1) in the mean square and h^p in the energy, for a smooth manufactured solution."""
    mean_square, energy = convergence.slopes([convergence.solve(order, n) for n in cells])
    assert mean_square == pytest.approx(order + 1, abs=0.2)
    assert energy == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("order", [1, 2])
def test_matrices_equal_those_of_scikit_fem(order):
    """In the basis of nodal values, entry by entry."""
    mesh = jittered()
    elements = tets(mesh, order, ct.Linear(young=7.0, poisson=0.28))
    to_coefficients = BernsteinGeometry(mesh, order)._to_coefficients
    T = sparse.kron(to_coefficients, np.eye(3))
    K = T.T @ linearised(elements, elements.rest_positions)[0] @ T
    M = T.T @ mass_matrix(elements, 5.0) @ T
    fem = skfem.MeshTet(mesh.points.T.copy(), mesh.tets.T.astype(np.int64))
    scalar = skfem.ElementTetP1() if order == 1 else skfem.ElementTetP2()
    basis = skfem.Basis(fem, skfem.ElementVector(scalar), intorder=4)
    dofs = basis.nodal_dofs.T if order == 1 else np.concatenate([basis.nodal_dofs.T, basis.edge_dofs.T])
    places = basis.doflocs[:, dofs[:, 0]].T
    ours = np.lexsort(np.round(elements.rest_positions, 9).T)
    theirs = np.lexsort(np.round(places, 9).T)
    order_map = np.empty(len(ours), int)
    order_map[ours] = theirs
    columns = dofs[order_map].ravel()
    stiffness = linear_elasticity(*lame_parameters(7.0, 0.28)).assemble(basis)[columns][:, columns]
    mass = skfem.BilinearForm(lambda a, b, _: 5.0 * sum(a[i] * b[i] for i in range(3))).assemble(basis)
    assert abs(K - stiffness).max() < 1e-12 * abs(stiffness).max()
    assert abs(M - mass[columns][:, columns]).max() < 1e-12 * abs(mass).max()


@pytest.mark.parametrize("order", [1, 2])
def test_lower_orders_are_nested_in_higher_ones(order):
    """Raising the degree of coefficients turns the matrices of order p + 1 into those of order p."""
    mesh = jittered((2, 1, 1))
    law = ct.Linear(young=2.0, poisson=0.3)
    low, high = tets(mesh, order, law), tets(mesh, order + 1, law)
    fine, coarse = BernsteinGeometry(mesh, order + 1), BernsteinGeometry(mesh, order)
    local = {tuple(I): a for a, I in enumerate(coarse.tables.indices.tolist())}
    raising = np.zeros((fine.node_count, coarse.node_count))
    for a, I in enumerate(fine.tables.indices):
        for c in range(4):
            if I[c]:
                b = local[tuple((I - np.eye(4, dtype=int)[c]).tolist())]
                raising[fine.elements[:, a], coarse.elements[:, b]] = I[c] / (order + 1)
    P = np.kron(raising, np.eye(3))
    K = linearised(low, low.rest_positions)[0].toarray()
    raised = P.T @ linearised(high, high.rest_positions)[0] @ P
    assert np.abs(raised - K).max() < 1e-13 * np.abs(K).max()
    M = mass_matrix(low).toarray()
    assert np.abs(P.T @ mass_matrix(high) @ P - M).max() < 1e-13 * np.abs(M).max()


def cantilever_tip(order, poisson, mesh=None):
    """Sag of the centre of the free end under 10 N there: 1 x 0.2 x 0.2 m, 500 kPa, clamped at x = 0."""
    elements = tets(mesh if mesh is not None else thesis_bar(), order, ct.Linear(young=5e5, poisson=poisson))
    rest = elements.rest_positions
    load = np.zeros_like(rest)
    tip = np.abs(rest - [1.0, 0.1, 0.1]).sum(axis=1).argmin()
    load[tip, 1] = -10.0
    u = solved(linearised(elements, rest)[0], load, rest[:, 0] < 1e-9, np.zeros_like(rest))
    return -u[tip, 1]


def test_cantilever_tips_of_the_thesis():
    """Table of Weber (2015): 0.030 / 0.048 / 0.050 m; the digits behind are those of an independent NumPy program."""
    tips = [cantilever_tip(order, 0.45) for order in (1, 2, 3)]
    assert tips == pytest.approx([0.0296, 0.0486, 0.0503], rel=0.01)
    assert tips[0] < tips[1] < tips[2]
    assert [cantilever_tip(order, 0.0) for order in (1, 2, 3)] == pytest.approx(
        [0.0281, 0.0514, 0.0518], rel=0.01
    )


def test_linear_tets_lock_near_incompressibility_and_higher_orders_do_not():
    fine = cantilever_tip(3, 0.49, thesis_bar((10, 2, 2)))
    tips = [cantilever_tip(order, 0.49) / fine for order in (1, 2, 3)]
    assert tips[0] < 0.6
    assert 0.9 < tips[1] < tips[2] <= 1.0 + 1e-9


@pytest.mark.parametrize("rotation", ["mean", "corner"])
@pytest.mark.parametrize("order", [2, 3])
def test_force_of_one_tet_is_turned_hooke(order, rotation):
    """f = R K (R^T x - x0) with R by SciPy from the mean or the corner gradient, also for an inverted tet."""
    mesh = ct.TetMesh([[0, 0, 0], [1.2, 0.1, 0], [0.2, 0.9, 0.1], [0.1, -0.1, 1.1]], [[0, 1, 2, 3]])
    law = ct.Corotated(young=2.0, poisson=0.3, rotation=rotation)
    elements = tets(mesh, order, law)
    K = linearised(tets(mesh, order, ct.Linear(young=2.0, poisson=0.3)), elements.rest_positions)[0].toarray()
    rest = elements.rest_positions
    rng = np.random.default_rng(7)
    for flip in (1.0, -1.0):
        x = rest @ (Rotation.from_rotvec([0.4, -1.1, 0.8]).as_matrix() * [1.1, 0.8, 0.6 * flip]).T
        x = x + 0.1 * rng.normal(size=x.shape)
        if rotation == "corner":
            F = np.linalg.solve(rest[1:4] - rest[0], x[1:4] - x[0]).T
        else:  # the integral of the gradient is that of x n^T over the surface, exact on each face's coefficients
            F = np.zeros((3, 3))
            per_face = (order + 1) * (order + 2) // 2
            for c in range(4):
                on_face = elements.tables.indices[:, c] == 0
                a, b, d = rest[mesh.FACES[c]]
                normal = np.cross(b - a, d - a) / 2
                F += np.outer(x[elements.elements[0][on_face]].sum(axis=0) / per_face, normal)
            F /= mesh.volume
        U, _, Vt = scipy.linalg.svd(F)
        R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        turned = np.kron(np.eye(len(rest)), R)
        expected = turned @ K @ ((x @ R) - rest).ravel()
        stiffness, force = linearised(elements, x)
        np.testing.assert_allclose(force.ravel(), expected, atol=1e-12)
        np.testing.assert_allclose(stiffness.toarray(), turned @ K @ turned.T, atol=1e-13)
        split = stiffness @ x.ravel() - turned @ K @ rest.ravel()  # K_T x - f0
        np.testing.assert_allclose(split, expected, atol=1e-12)
        assert elements.inverted == (np.linalg.det(F) < 0.0)


def test_rotation_must_be_one_of_three():
    with pytest.raises(ct.InputError, match="'exact', 'mean' or 'corner', not 'average'"):
        ct.Corotated(rotation="average")


def relative_torque(order, rotation, state):
    """|sum x cross f| / sum |x cross f| of the elastic force, and the same of the force itself."""
    elements = tets(thesis_bar(), order, ct.Corotated(young=1e5, poisson=0.4, rotation=rotation))
    x = state(elements.rest_positions)
    force = linearised(elements, x)[1]
    torque = np.cross(x - x.mean(axis=0), force)
    lengths = np.linalg.norm(torque, axis=1).sum()
    net = np.linalg.norm(force.sum(axis=0)) / np.linalg.norm(force, axis=1).sum()
    return np.linalg.norm(torque.sum(axis=0)) / lengths, net


def bent(x):
    """A smooth deformation without symmetry: bent, twisted and stretched."""
    angle = 1.5 * x[:, 0] ** 2
    y, z = x[:, 1] - 0.1, x[:, 2] - 0.1
    return np.stack(
        [
            1.1 * x[:, 0] + 0.3 * y * x[:, 0],
            np.cos(angle) * y - np.sin(angle) * z + 0.4 * x[:, 0] ** 2,
            np.sin(angle) * y + np.cos(angle) * z + 0.2 * x[:, 0] ** 3,
        ],
        axis=1,
    )


def test_torque_of_elastic_forces():
    """Zero for linear tets; small, and smaller with the mean rotation, for higher orders (Weber's choice: corners)."""
    assert relative_torque(1, "mean", bent) < (1e-12, 1e-12)
    for order in (2, 3):
        mean, net = relative_torque(order, "mean", bent)
        corner, net_corner = relative_torque(order, "corner", bent)
        print(f"order {order}: relative torque {mean:.1e} (mean), {corner:.1e} (corner)")
        assert max(net, net_corner) < 1e-12
        assert mean < 2e-3
        assert corner < 2e-3
        assert mean < corner

"""The contact solver against independent references: NNLS on the dual, and Gauss-Seidel on the cone."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sparse

from continua.contact_solver import contact_rows
from continua.contact_solver.augmented_lagrangian import solve_contacts
from continua.linalg import PCG, BlockMatrix
from continua.timestepping.requests import VelocitySystem


def _body(rng, nodes, stiff=50.0, rtol=1e-12):
    """A random body: masses, and springs between random nodes (positive definite)."""
    n = 3 * nodes
    A = sparse.lil_array((n, n))
    for _ in range(3 * nodes):
        i, j = rng.integers(nodes, size=2)
        d = rng.normal(size=3)
        k = stiff * rng.random() * np.outer(d, d)
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            if i != j:
                A[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * k
    A += sparse.diags_array(np.repeat(0.5 + rng.random(nodes), 3))
    matrix = BlockMatrix.from_scipy(sparse.csr_array(A))
    solver = PCG(rtol=rtol)
    solver.setup(matrix)
    rhs = rng.normal(size=(nodes, 3))
    system = VelocitySystem(
        matrix,
        rhs,
        np.zeros((nodes, 3)),
        0.0 * rhs,
        np.zeros(nodes, np.uint8),
        None,
        solver,
        lambda: solver.last,
    )
    return system, A.toarray()


def _unit(rng, count):
    n = rng.normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=1, keepdims=True)


def _collider_contacts(rng, nodes, count, friction):
    return contact_rows(
        _unit(rng, count), np.zeros((count, 3)), np.zeros(count), soft_rows=rng.permutation(nodes)[:count, None],
        surface_velocity=0.2 * rng.normal(size=(count, 3)), friction=friction,
    )  # fmt: skip


def _pair_contacts(rng, left, right, count, friction):
    rows = np.column_stack([rng.integers(left, size=count)] + [
        left + rng.permutation(right)[:count] if k == 0 else left + (rng.permutation(right)[:count] + 7 * k) % right
        for k in range(3)
    ])  # fmt: skip
    weights = np.column_stack([np.ones(count), -rng.dirichlet(np.ones(3), size=count)])
    return contact_rows(
        _unit(rng, count), np.zeros((count, 3)), np.zeros(count), soft_rows=rows, soft_weights=weights,
        friction=friction,
    )  # fmt: skip


def _dense(rows, n):
    G = np.zeros((3 * len(rows), 3 * n))
    for c in range(len(rows)):
        for e in range(rows.ptr[c], rows.ptr[c + 1]):
            i = 3 * rows.row[e]
            G[3 * c : 3 * c + 3, i : i + 3] += rows.block[e].reshape(3, 3)
    return G


def _frictionless(A, r, G, d):
    """Minimise 1/2 V.A V - r.V with G V + d >= 0, by non-negative least squares on the dual."""
    inverse = np.linalg.inv(A)
    W, q = G @ inverse @ G.T, G @ inverse @ r + d
    L = np.linalg.cholesky(W + 1e-13 * np.trace(W) / len(W) * np.eye(len(W)))
    p, _ = scipy.optimize.nnls(L.T, -np.linalg.solve(L, q), maxiter=10_000)
    return inverse @ (r + G.T @ p)


def _coulomb(A, r, G, d, friction):
    """Find the velocities with exact Coulomb friction, by Gauss-Seidel over contacts, each solved by itself."""
    inverse = np.linalg.inv(A)
    W, q = G @ inverse @ G.T, G @ inverse @ r + d
    p = np.zeros(len(q))
    for _ in range(20_000):
        before = p.copy()
        for c in range(len(friction)):
            s = slice(3 * c, 3 * c + 3)
            rho = 1.0 / np.linalg.eigvalsh(W[s, s]).max()
            for _ in range(5):
                x = p[s] - rho * (W[s] @ p + q[s])
                x[0] = max(0.0, x[0])
                size = np.hypot(x[1], x[2])
                if size > friction[c] * x[0]:
                    x[1:] *= friction[c] * x[0] / size
                p[s] = x
        if np.abs(p - before).max() < 1e-14:
            break
    return inverse @ (r + G.T @ p)


def _solve(systems, rows, tolerance=1e-10):
    bound = np.zeros(len(rows))
    return solve_contacts(
        systems, rows, bound, np.zeros((len(rows), 3)), tolerance, rtol=1e-12, max_solves=150
    )


@pytest.mark.parametrize("seed", range(5))
def test_frictionless_contact_with_colliders_is_the_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    system, A = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.0)
    G = _dense(rows, 30)[::3]
    reference = _frictionless(A, system.rhs.ravel(), G, rows.offset[:, 0])
    found = _solve([system], rows)
    assert found.converged
    np.testing.assert_allclose(system.x.ravel(), reference, atol=1e-8)
    assert 0 < (found.impulse[:, 0] > 0).sum() < 20


@pytest.mark.parametrize("seed", range(5))
def test_friction_with_colliders_is_coulombs(seed):
    rng = np.random.default_rng(100 + seed)
    system, A = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    reference = _coulomb(A, system.rhs.ravel(), _dense(rows, 30), rows.offset.ravel(), rows.friction)
    found = _solve([system], rows)
    assert found.converged
    np.testing.assert_allclose(system.x.ravel(), reference, atol=1e-8)
    p = found.impulse
    across = np.hypot(p[:, 1], p[:, 2])
    u = rows.relative_velocities(system.x)
    slides = (p[:, 0] > 1e-9) & (np.hypot(u[:, 1], u[:, 2]) > 1e-7)
    assert slides.any()
    np.testing.assert_allclose(across[slides], 0.3 * p[slides, 0], rtol=1e-6)
    np.testing.assert_allclose((p[slides, 1:] * u[slides, 1:]).sum(axis=1),
                               -across[slides] * np.hypot(u[slides, 1], u[slides, 2]), rtol=1e-5)  # fmt: skip
    assert (across <= 0.3 * p[:, 0] + 1e-12).all()


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_two_bodies_that_touch_are_solved_together(seed, friction):
    rng = np.random.default_rng(200 + seed)
    left, A = _body(rng, 25, rtol=1e-12)
    right, B = _body(rng, 20, stiff=2000.0, rtol=1e-12)
    rows = _pair_contacts(rng, 25, 20, 15, friction)
    both = np.block([[A, np.zeros((75, 60))], [np.zeros((60, 75)), B]])
    r = np.concatenate([left.rhs, right.rhs]).ravel()
    G = _dense(rows, 45)
    if friction:
        reference = _coulomb(both, r, G, rows.offset.ravel(), rows.friction)
    else:
        reference = _frictionless(both, r, G[::3], rows.offset[:, 0])
    found = _solve([left, right], rows)
    assert found.converged
    V = np.concatenate([left.x, right.x])
    np.testing.assert_allclose(V.ravel(), reference, atol=1e-7)
    out = np.zeros_like(V)
    rows.apply_transpose(found.impulse, out)
    np.testing.assert_allclose(out[:25].sum(axis=0), -out[25:].sum(axis=0), atol=1e-13)


def test_bilateral_constraints_agree_with_lagrange_multipliers():
    rng = np.random.default_rng(7)
    left, A = _body(rng, 10)
    right, B = _body(rng, 12)
    rows = _pair_contacts(rng, 10, 12, 6, 0.0)
    rows.bilateral[:] = [7, 7, 1, 3, 6, 4]
    keep = np.concatenate([[3 * c + i for i in range(3) if rows.bilateral[c] >> i & 1] for c in range(6)])
    G = _dense(rows, 22)[keep]
    both = np.block([[A, np.zeros((30, 36))], [np.zeros((36, 30)), B]])
    K = np.block([[both, G.T], [G, np.zeros((len(G), len(G)))]])
    r = np.concatenate([left.rhs.ravel(), right.rhs.ravel(), np.zeros(len(G))])
    reference = np.linalg.solve(K, r)[:66]
    assert _solve([left, right], rows).converged
    np.testing.assert_allclose(np.concatenate([left.x, right.x]).ravel(), reference, atol=1e-8)


def test_a_warm_start_takes_one_solve_and_a_fine_one_where_contacts_slide():
    rng = np.random.default_rng(8)
    system, _ = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    first = _solve([system], rows)
    system.solver.rtol = 1e-4
    again = solve_contacts([system], rows, np.zeros(20), first.impulse, 1e-4)
    assert first.solves > 1
    assert again.solves <= 2


def test_the_matrix_is_restored():
    rng = np.random.default_rng(9)
    system, A = _body(rng, 30)
    _solve([system], _collider_contacts(rng, 30, 20, 0.3))
    np.testing.assert_array_equal(
        system.matrix.to_scipy().toarray(), BlockMatrix.from_scipy(sparse.csr_array(A)).to_scipy().toarray()
    )

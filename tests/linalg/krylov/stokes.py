"""Systems with displacement and pressure on tetrahedra, assembled by scikit-fem, for tests of saddle-point solvers."""

import numpy as np
import scipy.sparse as sparse
import skfem
from skfem.helpers import ddot, div, sym_grad

from continua.linalg import BlockMatrix, CouplingMatrix, Geometry, SaddlePointMatrix


def mixed(shape, *, young=1.0, poisson=0.5, pressure=skfem.ElementTetP1, velocity=skfem.ElementTetP2):
    """Return (system, points, pressure mass) of linear elasticity in displacement and pressure, p = -lambda div u.

    A = 2 mu (eps, eps), B = -(div, q), C = (p, q) / lambda; with poisson = 0.5 it is Stokes' problem, C = 0.
    """
    mu = young / (2.0 * (1.0 + poisson))
    grid = skfem.MeshTet(np.ascontiguousarray(shape.points.T), shape.tets.T.astype(np.int64))
    u = skfem.Basis(grid, skfem.ElementVector(velocity()), intorder=4)
    p = u.with_element(pressure())
    A = skfem.BilinearForm(lambda u, v, w: 2.0 * mu * ddot(sym_grad(u), sym_grad(v))).assemble(u)
    B = skfem.BilinearForm(lambda u, q, w: -div(u) * q).assemble(u, p)
    M = sparse.csr_array(skfem.BilinearForm(lambda p, q, w: p * q).assemble(p))
    # scikit-fem numbers the components of vertices first, then those of edges: three in a row each
    points = u.doflocs[:, ::3].T
    assert 3 * len(points) == u.N
    inverse_lambda = (1.0 + poisson) * (1.0 - 2.0 * poisson) / (young * poisson)
    matrix = BlockMatrix.from_scipy(sparse.csr_array(A))
    system = SaddlePointMatrix(
        matrix,
        CouplingMatrix.from_scipy(sparse.csr_array(B)),
        inverse_lambda * M if inverse_lambda > 0.0 else None,
        schur=M.diagonal() * (1.0 / (2.0 * mu) + inverse_lambda),
    )
    object.__setattr__(matrix.pattern, "geometry", Geometry(np.ascontiguousarray(points)))
    return system, points, M


def clamped(points, everywhere=False):
    """Fix the side x = 0, or the whole boundary of the bounding box."""
    low, high = points.min(axis=0), points.max(axis=0)
    fixed = np.abs(points[:, 0] - low[0]) < 1e-9
    if everywhere:
        fixed = ((np.abs(points - low) < 1e-9) | (np.abs(points - high) < 1e-9)).any(axis=1)
    return fixed.astype(np.uint8)


def loads(system, seed=0):
    """A random right-hand side for both fields."""
    return np.random.default_rng(seed).normal(size=system.size)


def free_dofs(system, fixed):
    return np.concatenate([np.repeat(fixed == 0, 3), np.ones(system.B.row_count, bool)])


def direct(system, rhs, fixed, x=None):
    """SciPy's sparse LU of the free dofs; fixed ones keep their value in x."""
    K = system.to_scipy()
    free = free_dofs(system, fixed)
    x = np.zeros(system.size) if x is None else x.copy()
    left = rhs - K @ np.where(free, 0.0, x)
    x[free] = sparse.linalg.spsolve(sparse.csc_array(K[free][:, free]), left[free])
    return x


def true_residual(system, rhs, x, fixed):
    free = free_dofs(system, fixed)
    r = (rhs - system.to_scipy() @ x)[free]
    return np.linalg.norm(r) / np.linalg.norm(rhs[free])

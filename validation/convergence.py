"""Convergence of linear elasticity with the size of the elements, for orders 1, 2 and 3.

On the unit cube the displacement u = (sin(pi x) cos(y) exp(z/2), cos(x) sin(pi y) z, x^2 + y cos(pi z)) is prescribed
on the boundary, with the body force that makes it an exact solution. In theory the error decreases as h^(p+1) in the L2
norm and as h^p in the energy norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse.linalg as spla
import sympy as sp

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockMatrix
from continua.numerics.bernstein import bernstein_slopes
from continua.solids.elements.bernstein_tet import BernsteinTets

LAW = ct.Linear(young=3.0, poisson=0.3, density=1.0)


@cache
def exact():
    """Return compiled functions of (x, y, z): the displacement [3], its gradient [3, 3], and the body force [3]."""
    x = sp.symbols("x y z")
    u = sp.Matrix(
        [
            sp.sin(sp.pi * x[0]) * sp.cos(x[1]) * sp.exp(x[2] / 2),
            sp.cos(x[0]) * sp.sin(sp.pi * x[1]) * x[2],
            x[0] ** 2 + x[1] * sp.cos(sp.pi * x[2]),
        ]
    )
    lam, mu = LAW.lame
    gradient = u.jacobian(x)
    strain = (gradient + gradient.T) / 2
    stress = 2 * mu * strain + lam * strain.trace() * sp.eye(3)
    force = -sp.Matrix([sum(sp.diff(stress[i, j], x[j]) for j in range(3)) for i in range(3)])
    return tuple(sp.lambdify(x, list(part), "numpy", cse=True) for part in (u, gradient, force))


def _at(function, points):
    """Evaluate one of the exact functions at points [..., 3]."""
    values = function(*np.moveaxis(points, -1, 0))
    return np.stack([np.broadcast_to(value, points.shape[:-1]) for value in values], axis=-1)


@dataclass(frozen=True)
class Error:
    """The errors of one solution: the size of an element, the error in the L2 norm and in the energy norm."""

    h: float
    mean_square: float
    energy: float


def solve(order: int, cells: int) -> Error:
    """Solve on a cube of `cells`^3 cells of six tetrahedra, distorted smoothly inside."""
    mesh = ct.mesh.box(size=(1, 1, 1), cells=(cells, cells, cells))
    bump = np.prod(np.sin(np.pi * mesh.points), axis=1)
    points = mesh.points + 0.08 * bump[:, None] * [1.0, -0.7, 0.4]
    mesh = ct.TetMesh(points, mesh.tets)
    elements = BernsteinTets(mesh, order)
    elements.set_law(LAW, LAW.element_constants(np.arange(mesh.element_count, dtype=np.int32)))
    rest = elements.rest_positions
    displacement, gradient, force = exact()

    matrix, zero = BlockMatrix(elements.pattern), np.zeros_like(rest)
    elements.update(rest)
    massless = np.zeros(elements.pattern.block_count)
    elements.assemble(AssembledSystem(matrix, np.zeros_like(rest), massless, 0.0, 1.0, 1.0, zero, zero))
    K = matrix.to_scipy().tocsr()

    b, weights = _rule(order + 4)
    where = np.einsum("qc,mci->mqi", b, points[mesh.tets])
    volume = weights * mesh.volumes[:, None]
    basis = _basis(order, b)
    load = np.zeros_like(rest)
    shares = np.einsum("mq,qk,mqi->mki", volume, basis, _at(force, where), optimize=True)
    np.add.at(load, elements.elements, shares)

    held = np.zeros(len(rest), bool)
    held[np.unique(elements.surface_triangles())] = True
    u = elements.coefficients(_at(displacement, rest))
    fixed = np.repeat(held, 3)
    u.reshape(-1)[~fixed] = 0.0
    rhs = (load.ravel() - K @ u.ravel())[~fixed]
    A = K[~fixed][:, ~fixed]
    diagonal = A.diagonal()
    solved, info = spla.cg(
        A, rhs, rtol=1e-11, maxiter=20000, M=spla.LinearOperator(A.shape, lambda r: r / diagonal)
    )
    assert info == 0
    u.reshape(-1)[~fixed] = solved

    ours = np.einsum("qk,mki->mqi", basis, u[elements.elements])
    mean_square = np.sqrt((volume[..., None] * (ours - _at(displacement, where)) ** 2).sum())
    corners = np.linalg.inv(np.swapaxes(points[mesh.tets][:, 1:] - points[mesh.tets][:, :1], 1, 2))
    corners = np.concatenate([-corners.sum(axis=1, keepdims=True), corners], axis=1)
    slopes = np.einsum(
        "qkc,mcj,mki->mqij", bernstein_slopes(order, b), corners, u[elements.elements], optimize=True
    )
    d = slopes - _at(gradient, where).reshape(slopes.shape)
    strain = 0.5 * (d + np.swapaxes(d, 2, 3))
    lam, mu = LAW.lame
    density = 2 * mu * (strain**2).sum((2, 3)) + lam * np.trace(strain, axis1=2, axis2=3) ** 2
    return Error(1.0 / cells, float(mean_square), float(np.sqrt((volume * density).sum())))


def _rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a Gauss rule on a cube collapsed to a tetrahedron: barycentric coordinates, weights with sum 1."""
    x, w = np.polynomial.legendre.leggauss(count)
    x, w = (x + 1.0) / 2.0, w / 2.0
    u, v, t = (axis.ravel() for axis in np.meshgrid(x, x, x, indexing="ij"))
    b1, b2, b3 = u, v * (1.0 - u), t * (1.0 - u) * (1.0 - v)
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel() * 6.0 * (1.0 - u) ** 2 * (1.0 - v)
    return np.stack([1.0 - b1 - b2 - b3, b1, b2, b3], axis=1), weights


def _basis(order: int, b: np.ndarray) -> np.ndarray:
    """Return B_I at barycentric coordinates b [q, 4], shape [q, k], by Euler's theorem: sum_c b_c dB_I/db_c = p B_I."""
    return np.einsum("qkc,qc->qk", bernstein_slopes(order, b), b) / order


def slopes(errors: list[Error]) -> tuple[float, float]:
    """Return the orders of convergence between the last two errors, in the L2 and in the energy norm."""
    a, b = errors[-2:]
    step = np.log(a.h / b.h)
    return float(np.log(a.mean_square / b.mean_square) / step), float(np.log(a.energy / b.energy) / step)


def main() -> None:
    """Print the errors and the orders of convergence."""
    print("order  cells  L2 error         order  energy           order")
    for order, counts in ((1, (4, 8, 16, 24)), (2, (2, 4, 8, 12)), (3, (2, 3, 4, 6))):
        errors: list[Error] = []
        for cells in counts:
            errors.append(solve(order, cells))
            rates = slopes(errors) if len(errors) > 1 else (np.nan, np.nan)
            e = errors[-1]
            print(
                f"{order:5d}  {cells:5d}  {e.mean_square:.3e}  {rates[0]:9.2f}  {e.energy:.3e}  {rates[1]:9.2f}"
            )


if __name__ == "__main__":
    main()

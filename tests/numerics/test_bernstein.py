"""Tables of the Bernstein-Bezier basis against quadrature, finite differences and identities."""

from math import comb, factorial, prod

import numpy as np
import pytest

from continua.numerics.bernstein import bernstein_tables


def basis(indices, b):
    """B_I at barycentric coordinates b [q, 4], shape [q, k], from the definition."""
    p = int(indices[0].sum())
    numbers = np.array([factorial(p) / prod(factorial(int(i)) for i in I) for I in indices])
    return numbers * np.prod(b[:, None, :] ** indices, axis=2)


def points(degree):
    """Barycentric coordinates and weights (they add up to 1) of Gauss's rule on a cube pressed into a tetrahedron."""
    x, w = np.polynomial.legendre.leggauss(degree // 2 + 2)  # the map has a Jacobian of degree 2
    x, w = (x + 1.0) / 2.0, w / 2.0
    u, v, t = (axis.ravel() for axis in np.meshgrid(x, x, x, indexing="ij"))
    b1, b2, b3 = u, v * (1.0 - u), t * (1.0 - u) * (1.0 - v)
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel() * 6.0 * (1.0 - u) ** 2 * (1.0 - v)
    return np.stack([1.0 - b1 - b2 - b3, b1, b2, b3], axis=1), weights


@pytest.mark.parametrize("order", [1, 2, 3])
def test_mass_mean_and_integral_equal_quadrature(order):
    tables = bernstein_tables(order)
    b, w = points(2 * order)
    B = basis(tables.indices, b)
    np.testing.assert_allclose(B.sum(axis=1), 1.0, atol=1e-13)
    assert B.min() >= 0.0
    np.testing.assert_allclose(w @ B, 1.0 / comb(order + 3, 3), atol=1e-13)
    np.testing.assert_allclose(tables.mass, np.einsum("q,qi,qj->ij", w, B, B), atol=1e-13)
    np.testing.assert_allclose(
        tables.mass.sum(axis=1), 1.0 / comb(order + 3, 3), atol=1e-15
    )  # lumped: all positive


@pytest.mark.parametrize("order", [1, 2, 3])
def test_slopes_equal_differences_and_stiffness_quadrature(order):
    tables = bernstein_tables(order)
    b, w = points(2 * order)
    h = 1e-6
    step = h * np.eye(4)
    slopes = np.stack(
        [
            (basis(tables.indices, b + step[c]) - basis(tables.indices, b - step[c])) / (2 * h)
            for c in range(4)
        ]
    )
    np.testing.assert_allclose(tables.mean, np.einsum("q,cqi->ci", w, slopes), atol=1e-9)
    np.testing.assert_allclose(
        tables.stiffness, np.einsum("q,cqi,dqj->cdij", w, slopes, slopes, optimize=True), atol=1e-8
    )
    at_nodes = tables.indices / order
    np.testing.assert_allclose(tables.nodal, basis(tables.indices, at_nodes), atol=1e-14)
    np.testing.assert_allclose(tables.inverse @ tables.nodal, np.eye(len(tables.indices)), atol=1e-13)
    for c in range(4):
        forward = basis(tables.indices, at_nodes + step[c]) - basis(tables.indices, at_nodes - step[c])
        np.testing.assert_allclose(tables.slopes[:, :, c], forward / (2 * h), atol=1e-8)


def test_spot_values_of_the_quadratic_mass():
    """V/35 at a corner, V/210 between corners, 2V/105 at an edge (Weber 2015)."""
    mass = bernstein_tables(2).mass
    assert mass[0, 0] == pytest.approx(1 / 35, rel=1e-14)
    assert mass[0, 1] == pytest.approx(1 / 210, rel=1e-14)
    assert mass[4, 4] == pytest.approx(2 / 105, rel=1e-14)


def test_orders_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="orders 1, 2 and 3"):
        bernstein_tables(4)

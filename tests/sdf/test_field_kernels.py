"""A compiled point query of a field, as other kernels use it."""

import numpy as np
import sympy

import continua as ct
from continua.numerics import kernel
from continua.sdf import FieldTable
from continua.sdf.kernels import closest_on_mesh, value_and_gradient


@kernel
def ask(table, points, result):
    for q in range(points.shape[0]):
        v, gx, gy, gz = value_and_gradient(table, points[q, 0], points[q, 1], points[q, 2])
        result[q, 0], result[q, 1], result[q, 2], result[q, 3] = v, gx, gy, gz


@kernel
def ask_mesh(tree, points, result):
    for q in range(points.shape[0]):
        result[q] = closest_on_mesh(tree, points[q, 0], points[q, 1], points[q, 2])[0]


def two_cells():
    """One base cell from 0 to 1 beside one that is split; each leaf k holds k + a cubic polynomial."""
    order = [(i, j, k) for i in range(4) for j in range(4 - i) for k in range(4 - i - j)]
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=(9, 20)).astype(np.float32)
    table = FieldTable(
        frame=np.array([0.0, 0.0, 0.0, 1.0]),
        grid=np.array([2, 1, 1], np.int32),
        nodes=np.array([-1, 2, *(-2 - np.arange(8))], np.int32),
        ends=np.arange(1, 10, dtype=np.int32) * 20,
        degrees=np.full(9, 3, np.uint8),
        coefficients=coefficients.ravel(),
    )
    return table, order, coefficients


def test_value_and_gradient_are_those_of_the_cells_polynomial():
    table, order, coefficients = two_cells()
    x, y, z = sympy.symbols("x y z")
    points = np.random.default_rng(1).uniform(0.02, 0.98, (40, 3)) * [2.0, 1.0, 1.0]
    result = np.empty((40, 4))
    ask(table, points, result)
    for point, found in zip(points, result, strict=True):
        if point[0] < 1.0:
            leaf, lower, size = 0, np.zeros(3), 1.0
        else:
            octant = (point - [1.0, 0.0, 0.0] >= 0.5).astype(int)
            leaf, lower, size = 1 + int(octant @ [4, 2, 1]), np.array([1.0, 0.0, 0.0]) + 0.5 * octant, 0.5
        local = [2 * (s - float(lo)) / size - 1 for s, lo in zip((x, y, z), lower, strict=True)]
        poly = sum(
            float(c) * local[0] ** i * local[1] ** j * local[2] ** k
            for c, (i, j, k) in zip(coefficients[leaf], order, strict=True)
        )
        at = dict(zip((x, y, z), point.tolist(), strict=True))
        wanted = [float(f.subs(at)) for f in (poly, poly.diff(x), poly.diff(y), poly.diff(z))]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_kernel_can_ask_for_the_exact_distance_too():
    field = ct.sdf.exact(ct.mesh.surfaces.sphere(1.0, 6))
    points = np.random.default_rng(1).normal(size=(100, 3))
    result = np.empty(100)
    ask_mesh(field.tree, points, result)
    np.testing.assert_allclose(result, field(points), rtol=1e-14)

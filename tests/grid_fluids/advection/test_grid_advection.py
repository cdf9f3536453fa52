"""Advection: bounded for any step, exact in uniform flow, with the theoretical orders of convergence."""

from __future__ import annotations

import numpy as np
import pytest

from continua.grid_fluids import Advection, make_grid

SCHEMES = ("semi-lagrangian", "maccormack", "bfecc")


def rotation(grid):
    """RigidGeometry-body rotation about the centre of the unit square, on the faces."""
    u = [np.zeros(grid.faces_shape(a)) for a in range(3)]
    u[1][:] = -(grid.face_centers(1)[:, 1] - 0.5).reshape(u[1].shape)
    u[2][:] = (grid.face_centers(2)[:, 0] - 0.5).reshape(u[2].shape)
    return u


def blob(points, angle=0.0):
    """A smooth blob rotated by `angle` about the centre."""
    x, y = 0.5 + 0.2 * np.cos(angle), 0.5 + 0.2 * np.sin(angle)
    return np.exp(-(((points[:, 0] - x) ** 2 + (points[:, 1] - y) ** 2) / 0.01))


def error_after_a_turn(n: int, scheme: str) -> float:
    grid = make_grid((1.0, 1.0), (n, n))
    u, points = rotation(grid), grid.centers()
    q = blob(points).reshape(grid.shape)
    advect = Advection(scheme, 3)
    steps = n // 4
    angle = 0.5 * np.pi
    for _ in range(steps):
        q = advect(q, (0.5, 0.5, 0.5), u, angle / steps / grid.spacing)
    exact = blob(points, angle).reshape(grid.shape)
    return float(np.abs(q - exact).mean())


@pytest.mark.parametrize(
    ("scheme", "low", "high"), [("semi-lagrangian", 0.7, 1.4), ("maccormack", 1.8, 3.2), ("bfecc", 1.8, 3.2)]
)
def test_orders_of_the_error_after_a_quarter_turn(scheme, low, high):
    errors = np.array([error_after_a_turn(n, scheme) for n in (64, 128, 256)])
    orders = np.log2(errors[:-1] / errors[1:])
    print(scheme, "errors", errors, "orders", orders)
    assert low < orders[-1] < high


@pytest.mark.parametrize("scheme", SCHEMES)
def test_values_stay_in_their_range_at_any_step(scheme):
    grid = make_grid((1.0, 1.0, 1.0), (12, 12, 12))
    rng = np.random.default_rng(0)
    u = [5.0 * rng.normal(size=grid.faces_shape(a)) for a in range(3)]
    q = rng.uniform(2.0, 3.0, grid.shape)
    for _ in range(3):
        q = Advection(scheme)(q, (0.5, 0.5, 0.5), u, 3.0)
        assert q.min() >= 2.0
        assert q.max() <= 3.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_linear_profile_in_uniform_flow_is_advected_exactly(scheme):
    grid = make_grid((1.0, 1.0), (32, 32))
    u = [np.zeros(grid.faces_shape(a)) for a in range(3)]
    u[1][:], u[2][:] = 0.3, -0.2
    x = grid.centers()
    q = (2.0 * x[:, 0] + 3.0 * x[:, 1]).reshape(grid.shape)
    out = Advection(scheme)(q, (0.5, 0.5, 0.5), u, 0.1 / grid.spacing)
    exact = (2.0 * (x[:, 0] - 0.03) + 3.0 * (x[:, 1] + 0.02)).reshape(grid.shape)
    inside = (slice(None), slice(6, -6), slice(6, -6))
    np.testing.assert_allclose(out[inside], exact[inside], atol=1e-12)


@pytest.mark.parametrize("cells", [(19, 21), (9, 10, 23)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_simd_and_scalar_kernels_agree(cells, scheme):
    grid = make_grid(cells, cells)
    rng = np.random.default_rng(4)
    u = [1.5 * rng.normal(size=grid.faces_shape(a)) for a in range(3)]
    for axis in (None, *grid.axes):
        q = rng.normal(size=grid.shape) if axis is None else u[axis]
        offset = [0.0 if a == axis else 0.5 for a in range(3)]
        advect = Advection(scheme, 3)
        double = advect(q, offset, u, 0.9)  # double precision goes one by one
        single = advect(q.astype(np.float32), offset, [v.astype(np.float32) for v in u], 0.9)
        np.testing.assert_allclose(single, double, atol=2e-5)

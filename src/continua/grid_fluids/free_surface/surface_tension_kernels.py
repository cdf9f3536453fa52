"""Compiled surface tension of a liquid: the curvature of its surface, and the pressure jump across it."""

from __future__ import annotations

from numba import prange

from continua.grid_fluids.pressure.ghost_fluid_kernels import ghost_fluid_weight
from continua.grid_fluids.pressure.projection_kernels import before_face
from continua.numerics import inline, kernel_pair

__all__ = ["add_surface_tension", "curvatures", "surface_tension_rhs"]


@inline
def _at(phi, i, j, k):
    """Return the level set in a cell, mirrored at the domain boundary."""
    n0, n1, n2 = phi.shape
    return phi[min(max(i, 0), n0 - 1), min(max(j, 0), n1 - 1), min(max(k, 0), n2 - 1)]


@inline
def _curvature(phi, i, j, k):
    """Return the curvature of the level set in a cell [1/cells], the divergence of its normal."""
    c = _at(phi, i, j, k)
    a, b = _at(phi, i - 1, j, k), _at(phi, i + 1, j, k)
    gx, hxx = 0.5 * (b - a), a + b - 2.0 * c
    a, b = _at(phi, i, j - 1, k), _at(phi, i, j + 1, k)
    gy, hyy = 0.5 * (b - a), a + b - 2.0 * c
    a, b = _at(phi, i, j, k - 1), _at(phi, i, j, k + 1)
    gz, hzz = 0.5 * (b - a), a + b - 2.0 * c
    hxy = _at(phi, i + 1, j + 1, k) - _at(phi, i + 1, j - 1, k)
    hxy = 0.25 * (hxy - _at(phi, i - 1, j + 1, k) + _at(phi, i - 1, j - 1, k))
    hxz = _at(phi, i + 1, j, k + 1) - _at(phi, i + 1, j, k - 1)
    hxz = 0.25 * (hxz - _at(phi, i - 1, j, k + 1) + _at(phi, i - 1, j, k - 1))
    hyz = _at(phi, i, j + 1, k + 1) - _at(phi, i, j + 1, k - 1)
    hyz = 0.25 * (hyz - _at(phi, i, j - 1, k + 1) + _at(phi, i, j - 1, k - 1))
    square = gx * gx + gy * gy + gz * gz
    if square < 0.01:
        return 0.0
    value = gx * gx * (hyy + hzz) + gy * gy * (hxx + hzz) + gz * gz * (hxx + hyy)
    value -= 2.0 * (gx * gy * hxy + gx * gz * hxz + gy * gz * hyz)
    return value / (square * square**0.5)


@kernel_pair
def curvatures(phi, band, most, kappa):
    """Set the curvature [1/cells] where the level set is within `band` cells, clamped to [-most, most]."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            kappa[i, j, k] = 0.0
            if abs(phi[i, j, k]) <= band:
                kappa[i, j, k] = min(max(_curvature(phi, i, j, k), -most), most)


@inline
def _jump(phi, kappa, i, j, k, a, b, c):
    """Return the curvature on the surface between a wet cell (i, j, k) and a dry one, divided by theta."""
    weight = ghost_fluid_weight(phi[i, j, k], phi[a, b, c])
    return (kappa[i, j, k] + (kappa[a, b, c] - kappa[i, j, k]) / weight) * weight


@kernel_pair
def surface_tension_rhs(b, phi, w0, w1, w2, kappa, scale):
    """Add the surface pressure, `scale` times the curvature, to the right-hand side b of wet cells."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if phi[i, j, k] >= 0.0:
                continue
            total = 0.0
            if i > 0 and phi[i - 1, j, k] >= 0.0:
                total += w0[i, j, k] * _jump(phi, kappa, i, j, k, i - 1, j, k)
            if i < n0 - 1 and phi[i + 1, j, k] >= 0.0:
                total += w0[i + 1, j, k] * _jump(phi, kappa, i, j, k, i + 1, j, k)
            if j > 0 and phi[i, j - 1, k] >= 0.0:
                total += w1[i, j, k] * _jump(phi, kappa, i, j, k, i, j - 1, k)
            if j < n1 - 1 and phi[i, j + 1, k] >= 0.0:
                total += w1[i, j + 1, k] * _jump(phi, kappa, i, j, k, i, j + 1, k)
            if k > 0 and phi[i, j, k - 1] >= 0.0:
                total += w2[i, j, k] * _jump(phi, kappa, i, j, k, i, j, k - 1)
            if k < n2 - 1 and phi[i, j, k + 1] >= 0.0:
                total += w2[i, j, k + 1] * _jump(phi, kappa, i, j, k, i, j, k + 1)
            b[i, j, k] += scale * total


@kernel_pair
def add_surface_tension(u, phi, fraction, axis, kappa, scale):
    """Add the gradient of the surface pressure, `scale` times the curvature, to the faces beside the surface."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            a, b, c = before_face(axis, i, j, k)
            here, before = phi[i, j, k] < 0.0, phi[a, b, c] < 0.0
            if fraction[i, j, k] > 0 and here != before:
                if here:
                    u[i, j, k] += scale * _jump(phi, kappa, i, j, k, a, b, c)
                else:
                    u[i, j, k] -= scale * _jump(phi, kappa, a, b, c, i, j, k)

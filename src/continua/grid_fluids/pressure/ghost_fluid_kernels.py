"""Compiled ghost fluid method for the pressure below a free surface: coefficients, right-hand side, gradient."""

from __future__ import annotations

from numba import prange

from continua.grid_fluids.pressure.projection_kernels import before_face
from continua.numerics import inline, kernel_pair

__all__ = [
    "MIN_DEPTH",
    "ghost_fluid_coefficients",
    "ghost_fluid_weight",
    "liquid_rhs",
    "subtract_gradient",
    "zero_isolated",
]

MIN_DEPTH = 1e-4  # spacings: least depth of the centre of a wet cell below the surface


@inline
def ghost_fluid_weight(wet, dry):
    """Return 1 / theta, where the surface lies at the fraction theta between a wet and a dry cell centre.

    The depth of a cell is limited, not theta: so the pressure of a cell just below the surface balances gravity along
    all axes.
    """
    return 1.0 - dry / min(wet, -MIN_DEPTH)


@kernel_pair
def ghost_fluid_coefficients(phi, w0, w1, w2, side_dirichlet, i0, i1, i2, dirichlet, coarse_dirichlet):
    """Set the weights i0, i1, i2 between wet cells, and the Dirichlet terms of the surface.

    `dirichlet` receives these terms exactly, `coarse_dirichlet` as coarser grids need them.
    """
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            here = phi[i, j, k]
            wet = here < 0.0
            if i > 0:
                i0[i, j, k] = w0[i, j, k] if wet and phi[i - 1, j, k] < 0.0 else 0.0
            if j > 0:
                i1[i, j, k] = w1[i, j, k] if wet and phi[i, j - 1, k] < 0.0 else 0.0
            if k > 0:
                i2[i, j, k] = w2[i, j, k] if wet and phi[i, j, k - 1] < 0.0 else 0.0
            fine = coarse = 0.0
            if wet:
                fine = coarse = side_dirichlet[i, j, k]
                if i > 0 and phi[i - 1, j, k] >= 0.0:
                    fine += w0[i, j, k] * ghost_fluid_weight(here, phi[i - 1, j, k])
                    coarse += 2.0 * w0[i, j, k]
                if i < n0 - 1 and phi[i + 1, j, k] >= 0.0:
                    fine += w0[i + 1, j, k] * ghost_fluid_weight(here, phi[i + 1, j, k])
                    coarse += 2.0 * w0[i + 1, j, k]
                if j > 0 and phi[i, j - 1, k] >= 0.0:
                    fine += w1[i, j, k] * ghost_fluid_weight(here, phi[i, j - 1, k])
                    coarse += 2.0 * w1[i, j, k]
                if j < n1 - 1 and phi[i, j + 1, k] >= 0.0:
                    fine += w1[i, j + 1, k] * ghost_fluid_weight(here, phi[i, j + 1, k])
                    coarse += 2.0 * w1[i, j + 1, k]
                if k > 0 and phi[i, j, k - 1] >= 0.0:
                    fine += w2[i, j, k] * ghost_fluid_weight(here, phi[i, j, k - 1])
                    coarse += 2.0 * w2[i, j, k]
                if k < n2 - 1 and phi[i, j, k + 1] >= 0.0:
                    fine += w2[i, j, k + 1] * ghost_fluid_weight(here, phi[i, j, k + 1])
                    coarse += 2.0 * w2[i, j, k + 1]
            dirichlet[i, j, k] = fine
            coarse_dirichlet[i, j, k] = coarse


@kernel_pair
def subtract_gradient(u, p, fraction, phi, axis):
    """Subtract the gradient of p [spacings times velocity] from the inner open faces across `axis` beside liquid."""
    n0, n1, n2 = p.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            a, b, c = before_face(axis, i, j, k)
            here, before = phi[i, j, k], phi[a, b, c]
            if fraction[i, j, k] > 0 and (here < 0.0 or before < 0.0):
                if here < 0.0 and before < 0.0:
                    u[i, j, k] -= p[i, j, k] - p[a, b, c]
                elif here < 0.0:
                    u[i, j, k] -= p[i, j, k] * ghost_fluid_weight(here, before)
                else:
                    u[i, j, k] += p[a, b, c] * ghost_fluid_weight(before, here)


@kernel_pair
def liquid_rhs(b, phi, open_volume, growth):
    """Restrict the right-hand side b to liquid cells, and add the source `growth` [m/s] times their open volume."""
    n0, n1, n2 = b.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            b[i, j, k] = b[i, j, k] + growth * open_volume[i, j, k] if phi[i, j, k] < 0.0 else 0.0


@kernel_pair
def zero_isolated(b, w0, w1, w2, dirichlet):
    """Set the right-hand side b to 0 in cells without an equation, whose faces are all closed."""
    n0, n1, n2 = b.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            total = dirichlet[i, j, k] + w1[i, j, k] + w1[i, j + 1, k] + w2[i, j, k] + w2[i, j, k + 1]
            if n0 > 1:
                total += w0[i, j, k] + w0[i + 1, j, k]
            if total == 0.0:
                b[i, j, k] = 0.0

"""Plane stress: the last column of the deformation gradient for which the stress on planes z = const is zero.

The energy is minimised over the director d = F e_z, with the in-plane part of F given (Bonet and Wood 2008, 6.6, for
an isotropic law, where only the thickness d_z is unknown). At the minimum P e_z = 0, so the stress of the reduced
energy is the in-plane part of P, and its derivative is the Schur complement of dP/dF. By moment equilibrium the other
out-of-plane components of P are then zero too. d_z is at least `LEAST_THICKNESS`: a smaller one would let an element
that is inverted in the plane turn over through zero thickness.
"""

from __future__ import annotations

from math import sqrt

from continua.numerics import inline

__all__ = ["ITERATIONS", "LEAST_THICKNESS", "condense", "next_director"]

ITERATIONS = 100
LEAST_THICKNESS = 0.01
_LAST_STEP = 1e-7  # quadratic convergence leaves the square of it
_SHORTEST = 1e-5  # of shorter steps the differences of energy are rounding


@inline
def _solve3(h00, h11, h22, h01, h02, h12, g0, g1, g2, floor):
    """Return whether a symmetric matrix is positive definite, and -H^-1 g, by a Cholesky factorisation."""
    if not h00 > floor:
        return False, 0.0, 0.0, 0.0
    l10, l20 = h01 / h00, h02 / h00
    d1 = h11 - l10 * h01
    if not d1 > floor:
        return False, 0.0, 0.0, 0.0
    c21 = h12 - l10 * h02
    l21 = c21 / d1
    d2 = h22 - l20 * h02 - l21 * c21
    if not d2 > floor:
        return False, 0.0, 0.0, 0.0
    y1 = g1 - l10 * g0
    y2 = g2 - l20 * g0 - l21 * y1
    x2 = y2 / d2
    x1 = y1 / d1 - l21 * x2
    return True, -(g0 / h00 - l10 * x1 - l20 * x2), -x1, -x2


@inline
def next_director(energy, P, T, F, search):
    """Return whether d = F e_z is found, the next d to evaluate, and the state of the search.

    Newton steps with halving where the energy rises, from constant thickness.

    Args:
        energy, P, T: The law at F, with the exact tangent T.
        F: Deformation gradient, a tuple of nine.
        search: Energy and d of the last point that was accepted, and the step from there.
    """
    lowest, x0, x1, x2, s0, s1, s2 = search
    d0, d1, d2 = F[2], F[5], F[8]
    scale = abs(T[2, 2]) + abs(T[5, 5]) + abs(T[8, 8])
    length = sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    if length > _SHORTEST and not energy <= lowest:
        s0, s1, s2 = 0.5 * s0, 0.5 * s1, 0.5 * s2
        return False, (x0 + s0, x1 + s1, x2 + s2), (lowest, x0, x1, x2, s0, s1, s2)
    g0, g1, g2 = P[2], P[5], P[8]
    thin = d2 <= LEAST_THICKNESS and g2 > 0.0
    h22, h02, h12 = T[8, 8], T[2, 8], T[5, 8]
    if thin:
        g2, h22, h02, h12 = 0.0, scale + 1e-300, 0.0, 0.0
    definite, s0, s1, s2 = _solve3(T[2, 2], T[5, 5], h22, T[2, 5], h02, h12, g0, g1, g2, 1e-9 * scale)
    if not definite:
        factor = -1.0 / (scale + 1e-300)
        s0, s1, s2 = factor * g0, factor * g1, factor * g2
    length = sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    if length > 0.5:
        s0, s1, s2 = 0.5 * s0 / length, 0.5 * s1 / length, 0.5 * s2 / length
    if d2 + s2 < LEAST_THICKNESS:
        s2 = LEAST_THICKNESS - d2
    found = not length > _LAST_STEP
    return found, (d0 + s0, d1 + s1, d2 + s2), (energy, d0, d1, d2, s0, s1, s2)


@inline
def condense(F, P, T):
    """Eliminate d = F e_z from the tangent T [9, 9] in place; keep its part of motions along z uncoupled."""
    largest = abs(T[2, 2]) + abs(T[5, 5]) + abs(T[8, 8])
    for number in range(3):
        k = 8 - 3 * number
        pivot = T[k, k]
        held = k == 8 and F[8] <= LEAST_THICKNESS and P[8] > 0.0
        if not held and pivot > 1e-12 * largest:
            for r in range(8):
                if (r % 3 != 2 and r < 6) or (r % 3 == 2 and r < k):
                    factor = T[r, k] / pivot
                    for c in range(8):
                        if (c % 3 != 2 and c < 6) or (c % 3 == 2 and c < k):
                            T[r, c] -= factor * T[k, c]
    for r in range(9):
        for c in range(9):
            if r % 3 == 2 or c % 3 == 2 or (r < 6) != (c < 6):
                T[r, c] = 0.0

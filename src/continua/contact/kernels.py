"""Compiled functions of contact: how a touching node changes a velocity solve."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel


@inline
def _drag(k, c, gap, friction, n, v, s, dt, slip):
    """Return the coefficients (along the normal, across it) of the impulse that depends on the velocity v - s."""
    along = n[0] * (v[0] - s[0]) + n[1] * (v[1] - s[1]) + n[2] * (v[2] - s[2])
    press = max(0.0, -k * (gap + dt * along) - c * along)
    across = 0.0
    for i in range(3):
        across += (v[i] - s[i] - along * n[i]) ** 2
    return dt * (c + dt * k), dt * friction * press / max(np.sqrt(across), slip)


@kernel
def apply_contacts(
    nodes, normals, gaps, stiffness, damping, friction, surface, velocities, dt, slip, diagonal, blocks, rhs
):
    """Add the contacts' impulses to the matrix and the right-hand side of a velocity solve.

    Sliding below the speed `slip` [m/s] is resisted in proportion to it, faster sliding by the full friction.
    """
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n = normals[q]
        s = surface[q]
        normal, tangent = _drag(stiffness[q], damping[q], gaps[q], friction[q], n, velocities[i], s, dt, slip)
        k = diagonal[i]
        for a in range(3):
            rhs[i, a] -= dt * stiffness[q] * gaps[q] * n[a]
            for b in range(3):
                nn = n[a] * n[b]
                value = normal * nn + tangent * ((1.0 if a == b else 0.0) - nn)
                blocks[k, 3 * a + b] += value
                rhs[i, a] += value * s[b]


@kernel
def contact_impulses(
    nodes, normals, gaps, stiffness, damping, friction, surface, velocities, solved, dt, slip, impulse
):
    """Add what the contacts really did to the momentum in this step, given the solved velocities."""
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n = normals[q]
        s = surface[q]
        normal, tangent = _drag(stiffness[q], damping[q], gaps[q], friction[q], n, velocities[i], s, dt, slip)
        w0, w1, w2 = solved[i, 0] - s[0], solved[i, 1] - s[1], solved[i, 2] - s[2]
        along = n[0] * w0 + n[1] * w1 + n[2] * w2
        for a in range(3):
            impulse[i, a] -= dt * stiffness[q] * gaps[q] * n[a]
            impulse[i, a] -= normal * along * n[a] + tangent * (solved[i, a] - s[a] - along * n[a])

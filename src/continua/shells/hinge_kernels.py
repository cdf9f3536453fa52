"""Compiled functions for the bending of hinges: two triangles with a common edge.

A hinge has the nodes i, j, k, l; the edge is jk. With n_1 = (x_i - x_j) x (x_i - x_k), n_2 = (x_l - x_k) x (x_l - x_j)
and e = x_k - x_j, its angle is theta = atan2((n_1 x n_2).e / |e|, n_1.n_2), zero if it is flat (Bridson et al. 2003).
The energy k [4 (cos(theta_0/2) - cos(theta/2)) - 2 sin(theta_0/2) (theta - theta_0)] has the moment
2 k (sin(theta/2) - sin(theta_0/2)), the force of Bridson et al. with the factor of the rest shape, so that it is a
gradient. A record holds: columns 0-11 the derivative of theta by the four nodes; 12 the second derivative of the energy
by theta, 13 the moment, 14 the energy, 15 theta.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.numerics import inline, kernel_pair

RECORD = 16
CHUNK = 64
LEAST_AREA = 1e-12
"""Squared area of a triangle over the fourth power of the edge of the hinge, below which it has no moment."""


@inline
def angle_and_gradient(x, hinges, h):
    """Return whether a hinge has an angle, the angle [rad], and its derivatives by the nodes [1/m], a tuple of 12."""
    i, j, k, l = (
        uint32(hinges[h, 0]),
        uint32(hinges[h, 1]),
        uint32(hinges[h, 2]),
        uint32(hinges[h, 3]),
    )
    e0, e1, e2 = x[k, 0] - x[j, 0], x[k, 1] - x[j, 1], x[k, 2] - x[j, 2]
    a0, a1, a2 = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
    b0, b1, b2 = x[l, 0] - x[j, 0], x[l, 1] - x[j, 1], x[l, 2] - x[j, 2]
    # n_1 = a x (a - e) = e x a, n_2 = (b - e) x b = b x e
    n0, n1, n2 = e1 * a2 - e2 * a1, e2 * a0 - e0 * a2, e0 * a1 - e1 * a0
    m0, m1, m2 = b1 * e2 - b2 * e1, b2 * e0 - b0 * e2, b0 * e1 - b1 * e0
    ee = e0 * e0 + e1 * e1 + e2 * e2
    nn = n0 * n0 + n1 * n1 + n2 * n2
    mm = m0 * m0 + m1 * m1 + m2 * m2
    if not (min(nn, mm) > LEAST_AREA * ee * ee and ee > 0.0):
        return False, 0.0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    length = np.sqrt(ee)
    sine = ((n1 * m2 - n2 * m1) * e0 + (n2 * m0 - n0 * m2) * e1 + (n0 * m1 - n1 * m0) * e2) / length
    theta = np.arctan2(sine, n0 * m0 + n1 * m1 + n2 * m2)
    p, q = -length / nn, -length / mm
    s = (a0 * e0 + a1 * e1 + a2 * e2) / ee  # where the heights of the corners meet the edge
    t = (b0 * e0 + b1 * e1 + b2 * e2) / ee
    u0, u1, u2 = p * n0, p * n1, p * n2
    v0, v1, v2 = q * m0, q * m1, q * m2
    return (
        True,
        theta,
        (
            u0, u1, u2,
            (s - 1.0) * u0 + (t - 1.0) * v0, (s - 1.0) * u1 + (t - 1.0) * v1, (s - 1.0) * u2 + (t - 1.0) * v2,
            -(s * u0 + t * v0), -(s * u1 + t * v1), -(s * u2 + t * v2),
            v0, v1, v2,
        ),
    )  # fmt: skip


@kernel_pair
def records(x, hinges, stiffness, half_sine, out):
    """Fill the records of hinges.

    Args:
        x: Positions [m], shape [n, 3].
        hinges: Nodes i, j, k, l of the hinges, shape [h, 4].
        stiffness: Their stiffness k [N m].
        half_sine: Sine of half the rest angle.
        out: Result, shape [h, 16].
    """
    count = hinges.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for h in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            valid, theta, g = angle_and_gradient(x, hinges, h)
            k = stiffness[h] if valid else 0.0
            for c in range(12):
                out[h, c] = g[c]
            s0 = half_sine[h]
            s, c = np.sin(0.5 * theta), np.cos(0.5 * theta)
            rest = 2.0 * np.arcsin(s0)
            out[h, 12] = k * c
            out[h, 13] = 2.0 * k * (s - s0)
            out[h, 14] = k * (4.0 * (np.sqrt(1.0 - s0 * s0) - c) - 2.0 * s0 * (theta - rest))
            out[h, 15] = theta


@kernel_pair
def angles(x, hinges, out):
    """Set the angles [rad] of hinges, 0 where a triangle has no area."""
    count = hinges.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for h in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            out[h] = angle_and_gradient(x, hinges, h)[1]

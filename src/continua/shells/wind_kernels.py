"""Compiled functions of loads on sheets: wind from both sides, and the enclosed volume."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel


@inline
def _area_vector(x, i, j, k):
    """Return the area times the normal of a triangle."""
    a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    b0, b1, b2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    return 0.5 * (a1 * b2 - a2 * b1), 0.5 * (a2 * b0 - a0 * b2), 0.5 * (a0 * b1 - a1 * b0)


@kernel
def add_wind(x, v, triangles, wind, half_density, drag, skin_friction, force):
    """Add the forces of the wind on triangles [N].

    With the relative velocity w of the air at a triangle of area A, and its normal part w_n and tangential part w_t,
    the force is density/2 A (drag |w_n| w_n + skin_friction |w_t| w_t), a third of it on each corner.
    """
    for e in range(triangles.shape[0]):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        n0, n1, n2 = _area_vector(x, i, j, k)
        area = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        if area == 0.0:
            continue
        n0, n1, n2 = n0 / area, n1 / area, n2 / area
        w0 = wind[0] - (v[i, 0] + v[j, 0] + v[k, 0]) / 3.0
        w1 = wind[1] - (v[i, 1] + v[j, 1] + v[k, 1]) / 3.0
        w2 = wind[2] - (v[i, 2] + v[j, 2] + v[k, 2]) / 3.0
        along = w0 * n0 + w1 * n1 + w2 * n2
        t0, t1, t2 = w0 - along * n0, w1 - along * n1, w2 - along * n2
        across = skin_friction * np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
        push = drag * abs(along) * along
        share = half_density * area / 3.0
        f0, f1, f2 = (
            share * (push * n0 + across * t0),
            share * (push * n1 + across * t1),
            share * (push * n2 + across * t2),
        )
        for node in (i, j, k):
            force[node, 0] += f0
            force[node, 1] += f1
            force[node, 2] += f2


@kernel
def enclosed_volume(x, triangles):
    """Return the volume [m3] that a closed sheet encloses, by the divergence theorem."""
    total = 0.0
    for e in range(triangles.shape[0]):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        n0, n1, n2 = _area_vector(x, i, j, k)
        for node in (i, j, k):
            total += n0 * (x[node, 0] - x[0, 0]) + n1 * (x[node, 1] - x[0, 1]) + n2 * (x[node, 2] - x[0, 2])
    return total / 9.0

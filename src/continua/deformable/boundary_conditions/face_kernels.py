"""Compiled functions of loads on faces: follower pressure and wind."""

from __future__ import annotations

from continua.numerics import inline, kernel


@inline
def _area_vector(positions, nodes, f, slopes, q, depth):
    """Return dx/ds x dx/dt at point q of face f."""
    s0 = s1 = s2 = 0.0
    t0, t1, t2 = depth[0], depth[1], depth[2]
    for a in range(nodes.shape[1]):
        i = nodes[f, a]
        u, v = slopes[q, a, 0], slopes[q, a, 1]
        s0 += u * positions[i, 0]
        s1 += u * positions[i, 1]
        s2 += u * positions[i, 2]
        t0 += v * positions[i, 0]
        t1 += v * positions[i, 1]
        t2 += v * positions[i, 2]
    return s1 * t2 - s2 * t1, s2 * t0 - s0 * t2, s0 * t1 - s1 * t0


@kernel
def add_pressure(positions, chosen, nodes, shapes, slopes, weights, depth, pressure, force):
    """Add to `force` [N] a pressure [Pa] against the current outward normals of the chosen faces."""
    for c in range(chosen.shape[0]):
        f = chosen[c]
        for q in range(weights.shape[0]):
            n0, n1, n2 = _area_vector(positions, nodes, f, slopes, q, depth)
            push = -pressure * weights[q]
            for a in range(nodes.shape[1]):
                i = nodes[f, a]
                force[i, 0] += push * shapes[q, a] * n0
                force[i, 1] += push * shapes[q, a] * n1
                force[i, 2] += push * shapes[q, a] * n2


@kernel
def add_wind(positions, velocities, nodes, shapes, slopes, weights, depth, wind, density, force):
    """Add to `force` [N] the pressure density/2 (n.w)^2 on faces that the wind [m/s] blows against."""
    for f in range(nodes.shape[0]):
        for q in range(weights.shape[0]):
            n0, n1, n2 = _area_vector(positions, nodes, f, slopes, q, depth)
            area = (n0 * n0 + n1 * n1 + n2 * n2) ** 0.5
            if area == 0.0:
                continue
            w0, w1, w2 = wind[0], wind[1], wind[2]
            for a in range(nodes.shape[1]):
                i = nodes[f, a]
                w0 -= shapes[q, a] * velocities[i, 0]
                w1 -= shapes[q, a] * velocities[i, 1]
                w2 -= shapes[q, a] * velocities[i, 2]
            speed = (n0 * w0 + n1 * w1 + n2 * w2) / area
            if speed < 0.0:
                push = -0.5 * density * speed * speed * weights[q]
                for a in range(nodes.shape[1]):
                    i = nodes[f, a]
                    force[i, 0] += push * shapes[q, a] * n0
                    force[i, 1] += push * shapes[q, a] * n1
                    force[i, 2] += push * shapes[q, a] * n2

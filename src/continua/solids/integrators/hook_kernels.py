"""Compiled functions of collisions in Irving's integrator; a node in several contacts meets them one after another."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel

_SAME = 1e-6  # part of a normal below which nothing of it is left


@inline
def _filtered(v0, v1, v2, n, mu):
    """Return G(v): no motion into a shape of normal n, and friction for what that took away."""
    along = v0 * n[0] + v1 * n[1] + v2 * n[2]
    t0 = v0 - along * n[0]
    t1 = v1 - along * n[1]
    t2 = v2 - along * n[2]
    speed = np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
    kept = max(along, 0.0)
    part = max(0.0, 1.0 - mu * (kept - along) / speed) if speed > 0.0 else 0.0
    return kept * n[0] + part * t0, kept * n[1] + part * t1, kept * n[2] + part * t2


@kernel
def collide(nodes, normals, gaps, friction, surface, x, dt, moved, v, hit):
    """Turn the ways and velocities of nodes that would go through their shapes; `hit` tells which they are."""
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n = normals[q]
        s = surface[q]
        gap = gaps[q]
        there = gap
        for c in range(3):
            there += n[c] * (moved[i, c] - x[i, c] - dt * s[c])
        hit[q] = there < 0.0
        if not hit[q]:
            continue
        w0 = (moved[i, 0] - x[i, 0]) / dt - s[0]
        w1 = (moved[i, 1] - x[i, 1]) / dt - s[1]
        w2 = (moved[i, 2] - x[i, 2]) / dt - s[2]
        before = min(max(gap / (gap - there), 0.0), 1.0) if gap > there else 0.0
        f0, f1, f2 = _filtered(w0, w1, w2, n, friction[q])
        w0 = before * w0 + (1.0 - before) * f0
        w1 = before * w1 + (1.0 - before) * f1
        w2 = before * w2 + (1.0 - before) * f2
        out = max(0.0, -(gap + dt * (n[0] * w0 + n[1] * w1 + n[2] * w2)))
        moved[i, 0] = x[i, 0] + dt * (w0 + s[0]) + out * n[0]
        moved[i, 1] = x[i, 1] + dt * (w1 + s[1]) + out * n[1]
        moved[i, 2] = x[i, 2] + dt * (w2 + s[2]) + out * n[2]
        f0, f1, f2 = _filtered(v[i, 0] - s[0], v[i, 1] - s[1], v[i, 2] - s[2], n, friction[q])
        v[i, 0], v[i, 1], v[i, 2] = f0 + s[0], f1 + s[1], f2 + s[2]


@kernel
def constrain(nodes, normals, fixed, projections):
    """Take the normals of colliding nodes from the directions in which they are free."""
    for q in range(nodes.shape[0]):
        i = nodes[q]
        if fixed[i] == 1:
            continue
        p = projections[i]
        if fixed[i] == 0:
            p[0], p[1], p[2], p[3], p[4], p[5] = 1.0, 0.0, 0.0, 1.0, 0.0, 1.0
        n = normals[q]
        l0 = p[0] * n[0] + p[1] * n[1] + p[2] * n[2]
        l1 = p[1] * n[0] + p[3] * n[1] + p[4] * n[2]
        l2 = p[2] * n[0] + p[4] * n[1] + p[5] * n[2]
        square = l0 * l0 + l1 * l1 + l2 * l2
        if square > _SAME * _SAME:
            p[0] -= l0 * l0 / square
            p[1] -= l0 * l1 / square
            p[2] -= l0 * l2 / square
            p[3] -= l1 * l1 / square
            p[4] -= l1 * l2 / square
            p[5] -= l2 * l2 / square
        fixed[i] = 1 if p[0] + p[3] + p[5] < 0.5 else 2


@kernel
def rub(nodes, normals, friction, surface, v, lost):
    """Let friction act on v for the normal velocities `lost`, twice, since v has gone on for two half steps."""
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n = normals[q]
        press = min(0.0, 2.0 * (lost[i, 0] * n[0] + lost[i, 1] * n[1] + lost[i, 2] * n[2]))
        s = surface[q]
        f0, f1, f2 = _filtered(
            v[i, 0] - s[0] + press * n[0],
            v[i, 1] - s[1] + press * n[1],
            v[i, 2] - s[2] + press * n[2],
            n,
            friction[q],
        )
        v[i, 0], v[i, 1], v[i, 2] = f0 + s[0], f1 + s[1], f2 + s[2]

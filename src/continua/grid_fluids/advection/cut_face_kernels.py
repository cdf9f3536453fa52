"""Compiled middles of the open parts of cut faces, and the transport of the samples that lie there.

Paths begin in the middle of the open part, because the middle of the whole face may be behind the wall. The way
they go is laid off from the middle of the face, where interpolation takes the sample to be.
"""

from __future__ import annotations

from numba import prange

from continua.grid_fluids.advection.advection_kernels import range_at, trace, value_at
from continua.numerics import inline, kernel_pair

__all__ = ["count_cut", "follow", "list_cut"]


@inline
def _edge_middle(a, b):
    """Return the middle of the open part of an edge with the end values a and b, from the middle of the edge."""
    if a > 0.0:
        return 0.0 if b > 0.0 else 0.5 * (a / (a - b) - 1.0)
    return 0.5 * (1.0 - b / (b - a)) if b > 0.0 else 0.0


@inline
def _corner(a, b, c, x, y, bx, by, cx, cy):
    """Return part and moments of a triangle around its corner a at (x, y), whose sign differs from that of b and c."""
    s, t = a / (a - b), a / (a - c)
    part = s * t
    return (
        part,
        part * (x + (s * (bx - x) + t * (cx - x)) / 3.0),
        part * (y + (s * (by - y) + t * (cy - y)) / 3.0),
    )


@inline
def _triangle(a, b, c, ax, ay, bx, by, cx, cy):
    """Return part and moments of a triangle where the linear function with the corner values a, b, c is above zero."""
    count = (1 if a > 0.0 else 0) + (1 if b > 0.0 else 0) + (1 if c > 0.0 else 0)
    if count == 0:
        return 0.0, 0.0, 0.0
    x, y = (ax + bx + cx) / 3.0, (ay + by + cy) / 3.0
    if count == 3:
        return 1.0, x, y
    odd = count == 1  # the corner that is unlike the others is open
    if (a > 0.0) == odd:
        part, px, py = _corner(a, b, c, ax, ay, bx, by, cx, cy)
    elif (b > 0.0) == odd:
        part, px, py = _corner(b, c, a, bx, by, cx, cy, ax, ay)
    else:
        part, px, py = _corner(c, a, b, cx, cy, ax, ay, bx, by)
    if odd:
        return part, px, py
    return 1.0 - part, x - px, y - py


@inline
def _square_middle(a, b, c, d):
    """Return the middle of the open part of a square with the corner values a, b, c, d in turn, from its middle."""
    m = 0.25 * (a + b + c + d)
    p0, x0, y0 = _triangle(a, b, m, -0.5, -0.5, 0.5, -0.5, 0.0, 0.0)
    p1, x1, y1 = _triangle(b, c, m, 0.5, -0.5, 0.5, 0.5, 0.0, 0.0)
    p2, x2, y2 = _triangle(c, d, m, 0.5, 0.5, -0.5, 0.5, 0.0, 0.0)
    p3, x3, y3 = _triangle(d, a, m, -0.5, 0.5, -0.5, -0.5, 0.0, 0.0)
    part = p0 + p1 + p2 + p3
    if part <= 0.0:
        return 0.0, 0.0
    return (x0 + x1 + x2 + x3) / part, (y0 + y1 + y2 + y3) / part


@kernel_pair
def count_cut(part, low, high, counts):
    """Count the cut faces of each row from `low` to before `high` (three numbers each)."""
    wide = high[1] - low[1]
    for r in prange(counts.shape[0]):
        row = part[low[0] + r // wide, low[1] + r % wide]
        count = 0
        for k in range(low[2], high[2]):
            count += 1 if 0.0 < row[k] < 1.0 else 0
        counts[r] = count


@kernel_pair
def list_cut(part, phi, axis, low, high, begin, index, shift):
    """List the cut faces across `axis` from `low` to before `high`, and the middles of their open parts.

    `begin` says where each row begins, `index` [n] receives places in the flat array, `shift` [n, 3] the way from the
    middle of the face to that of its open part, in cells.
    """
    _, n1, n2 = part.shape
    flat = phi.shape[0] == 1
    wide = high[1] - low[1]
    for r in prange(begin.shape[0]):
        i, j = low[0] + r // wide, low[1] + r % wide
        at = begin[r]
        for k in range(low[2], high[2]):
            if not 0.0 < part[i, j, k] < 1.0:
                continue
            x = y = z = 0.0
            if flat:
                if axis == 1:
                    z = _edge_middle(phi[i, j, k], phi[i, j, k + 1])
                else:
                    y = _edge_middle(phi[i, j, k], phi[i, j + 1, k])
            elif axis == 0:
                y, z = _square_middle(phi[i, j, k], phi[i, j + 1, k], phi[i, j + 1, k + 1], phi[i, j, k + 1])
            elif axis == 1:
                x, z = _square_middle(phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j, k + 1], phi[i, j, k + 1])
            else:
                x, y = _square_middle(phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j + 1, k], phi[i, j + 1, k])
            index[at] = (i * n1 + j) * n2 + k
            shift[at, 0], shift[at, 1], shift[at, 2] = x, y, z
            at += 1


@kernel_pair
def follow(q, index, shift, o0, o1, o2, u0, u1, u2, s, order, there, value, low, high):
    """Carry the samples `index` of q along paths that begin `shift` away from them, into value [n].

    Their way is laid off from the samples, or with `there` from where the paths begin. `low` and `high` [n] receive the
    range of the samples used.
    """
    _, n1, n2 = q.shape
    for a in prange(index.shape[0]):
        n = index[a]
        i, j, k = n // (n1 * n2), (n // n2) % n1, n % n2
        dx, dy, dz = shift[a, 0], shift[a, 1], shift[a, 2]
        x, y, z = trace(u0, u1, u2, i + o0 + dx, j + o1 + dy, k + o2 + dz, s, order)
        if not there:
            x, y, z = x - dx, y - dy, z - dz
        value[a] = value_at(q, x - o0, y - o1, z - o2)
        low[a], high[a] = range_at(q, x - o0, y - o1, z - o2)

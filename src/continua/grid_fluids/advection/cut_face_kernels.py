"""Compiled centroids of the open parts of cut faces, and advection to these faces.

Paths start at the centroid of the open part, because the centre of the whole face may lie behind the wall. The
displacement is applied to the face centre, where interpolation assumes the sample to be.
"""

from __future__ import annotations

from numba import prange

from continua.grid_fluids.advection.advection_kernels import range_at, trace, value_at
from continua.numerics import inline, kernel_pair

__all__ = ["advect_cut_faces", "count_cut_faces", "list_cut_faces"]


@inline
def _edge_centroid(a, b):
    """Return the centre of the open part of an edge with the end values a and b, relative to the centre of the edge."""
    if a > 0.0:
        return 0.0 if b > 0.0 else 0.5 * (a / (a - b) - 1.0)
    return 0.5 * (1.0 - b / (b - a)) if b > 0.0 else 0.0


@inline
def _corner(a, b, c, x, y, bx, by, cx, cy):
    """Return area fraction and moments of a triangle around its corner a at (x, y), whose sign differs from b and c."""
    s, t = a / (a - b), a / (a - c)
    fraction = s * t
    return (
        fraction,
        fraction * (x + (s * (bx - x) + t * (cx - x)) / 3.0),
        fraction * (y + (s * (by - y) + t * (cy - y)) / 3.0),
    )


@inline
def _triangle(a, b, c, ax, ay, bx, by, cx, cy):
    """Return area fraction and moments of the part of a triangle with corner values a, b, c that is positive."""
    count = (1 if a > 0.0 else 0) + (1 if b > 0.0 else 0) + (1 if c > 0.0 else 0)
    if count == 0:
        return 0.0, 0.0, 0.0
    x, y = (ax + bx + cx) / 3.0, (ay + by + cy) / 3.0
    if count == 3:
        return 1.0, x, y
    single = count == 1  # the corner whose sign differs is open
    if (a > 0.0) == single:
        fraction, px, py = _corner(a, b, c, ax, ay, bx, by, cx, cy)
    elif (b > 0.0) == single:
        fraction, px, py = _corner(b, c, a, bx, by, cx, cy, ax, ay)
    else:
        fraction, px, py = _corner(c, a, b, cx, cy, ax, ay, bx, by)
    if single:
        return fraction, px, py
    return 1.0 - fraction, x - px, y - py


@inline
def _square_centroid(a, b, c, d):
    """Return the centroid of the open part of a square with corner values a, b, c, d, relative to its centre."""
    m = 0.25 * (a + b + c + d)
    p0, x0, y0 = _triangle(a, b, m, -0.5, -0.5, 0.5, -0.5, 0.0, 0.0)
    p1, x1, y1 = _triangle(b, c, m, 0.5, -0.5, 0.5, 0.5, 0.0, 0.0)
    p2, x2, y2 = _triangle(c, d, m, 0.5, 0.5, -0.5, 0.5, 0.0, 0.0)
    p3, x3, y3 = _triangle(d, a, m, -0.5, 0.5, -0.5, -0.5, 0.0, 0.0)
    fraction = p0 + p1 + p2 + p3
    if fraction <= 0.0:
        return 0.0, 0.0
    return (x0 + x1 + x2 + x3) / fraction, (y0 + y1 + y2 + y3) / fraction


@kernel_pair
def count_cut_faces(fraction, low, high, counts):
    """Count the cut faces of each row in [low, high) (three indices each)."""
    width = high[1] - low[1]
    for r in prange(counts.shape[0]):
        row = fraction[low[0] + r // width, low[1] + r % width]
        count = 0
        for k in range(low[2], high[2]):
            count += 1 if 0.0 < row[k] < 1.0 else 0
        counts[r] = count


@kernel_pair
def list_cut_faces(fraction, phi, axis, low, high, begin, index, offset):
    """List the cut faces across `axis` in [low, high), and the centroids of their open parts.

    `begin` is the first entry of each row. `index` [n] receives flat indices, `offset` [n, 3] the offset of the
    centroid from the face centre, in cells.
    """
    _, n1, n2 = fraction.shape
    flat = phi.shape[0] == 1
    width = high[1] - low[1]
    for r in prange(begin.shape[0]):
        i, j = low[0] + r // width, low[1] + r % width
        at = begin[r]
        for k in range(low[2], high[2]):
            if not 0.0 < fraction[i, j, k] < 1.0:
                continue
            x = y = z = 0.0
            if flat:
                if axis == 1:
                    z = _edge_centroid(phi[i, j, k], phi[i, j, k + 1])
                else:
                    y = _edge_centroid(phi[i, j, k], phi[i, j + 1, k])
            elif axis == 0:
                y, z = _square_centroid(
                    phi[i, j, k], phi[i, j + 1, k], phi[i, j + 1, k + 1], phi[i, j, k + 1]
                )
            elif axis == 1:
                x, z = _square_centroid(
                    phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j, k + 1], phi[i, j, k + 1]
                )
            else:
                x, y = _square_centroid(
                    phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j + 1, k], phi[i, j + 1, k]
                )
            index[at] = (i * n1 + j) * n2 + k
            offset[at, 0], offset[at, 1], offset[at, 2] = x, y, z
            at += 1


@kernel_pair
def advect_cut_faces(q, index, offset, o0, o1, o2, u0, u1, u2, s, order, from_start, value, low, high):
    """Advect the samples `index` of q along paths that start `offset` away from them, into value [n].

    Displacements are applied to the samples, or with `from_start` to the starts of the paths. `low` and `high` [n]
    receive the range of the samples used.
    """
    _, n1, n2 = q.shape
    for a in prange(index.shape[0]):
        n = index[a]
        i, j, k = n // (n1 * n2), (n // n2) % n1, n % n2
        dx, dy, dz = offset[a, 0], offset[a, 1], offset[a, 2]
        x, y, z = trace(u0, u1, u2, i + o0 + dx, j + o1 + dy, k + o2 + dz, s, order)
        if not from_start:
            x, y, z = x - dx, y - dy, z - dz
        value[a] = value_at(q, x - o0, y - o1, z - o2)
        low[a], high[a] = range_at(q, x - o0, y - o1, z - o2)

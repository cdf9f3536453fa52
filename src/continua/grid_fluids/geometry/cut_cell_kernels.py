"""Open parts of faces from distances at the corners of cells, clipped exactly as linear functions."""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "closed_cells", "face_parts", "known_cells", "known_faces", "layers", "layers_within", "nearest_of",
    "snap_corners", "wall_cells",
]  # fmt: skip


@inline
def _corner_part(a, b, c):
    """Part of a triangle around its corner a, whose sign differs from that of b and c."""
    return a * a / ((a - b) * (a - c))


@inline
def triangle_part(a, b, c):
    """Part of a triangle where the linear function with the corner values a, b, c is above zero."""
    count = (1 if a > 0.0 else 0) + (1 if b > 0.0 else 0) + (1 if c > 0.0 else 0)
    if count == 0:
        return 0.0
    if count == 3:
        return 1.0
    if count == 1:
        if a > 0.0:
            return _corner_part(a, b, c)
        return _corner_part(b, c, a) if b > 0.0 else _corner_part(c, a, b)
    if a <= 0.0:
        return 1.0 - _corner_part(a, b, c)
    return 1.0 - (_corner_part(b, c, a) if b <= 0.0 else _corner_part(c, a, b))


@inline
def square_part(a, b, c, d):
    """Open part of a square with the corner values a, b, c, d in turn: four triangles around its middle."""
    low = min(min(a, b), min(c, d))
    high = max(max(a, b), max(c, d))
    if low > 0.0:
        return 1.0
    if high <= 0.0:
        return 0.0
    m = 0.25 * (a + b + c + d)
    parts = triangle_part(a, b, m) + triangle_part(b, c, m) + triangle_part(c, d, m) + triangle_part(d, a, m)
    return 0.25 * parts


@inline
def edge_part(a, b):
    """Open part of an edge with the end values a and b."""
    if a > 0.0:
        return 1.0 if b > 0.0 else a / (a - b)
    return b / (b - a) if b > 0.0 else 0.0


@kernel_pair
def face_parts(phi, low, high, a0, a1, a2):
    """Set the open parts of all faces of the cells from `low` to `high` (three numbers each)."""
    flat = phi.shape[0] == 1
    for r in prange((high[0] - low[0] + 1) * (high[1] - low[1] + 1)):
        i = low[0] + r // (high[1] - low[1] + 1)
        j = low[1] + r % (high[1] - low[1] + 1)
        inside0, inside1 = i < high[0], j < high[1]
        for k in range(low[2], high[2] + 1):
            inside2 = k < high[2]
            if flat:
                if inside0 and inside2:
                    a1[i, j, k] = edge_part(phi[i, j, k], phi[i, j, k + 1])
                if inside0 and inside1:
                    a2[i, j, k] = edge_part(phi[i, j, k], phi[i, j + 1, k])
                continue
            if inside1 and inside2:
                a0[i, j, k] = square_part(
                    phi[i, j, k], phi[i, j + 1, k], phi[i, j + 1, k + 1], phi[i, j, k + 1]
                )
            if inside0 and inside2:
                a1[i, j, k] = square_part(
                    phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j, k + 1], phi[i, j, k + 1]
                )
            if inside0 and inside1:
                a2[i, j, k] = square_part(
                    phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j + 1, k], phi[i, j + 1, k]
                )


@kernel_pair
def snap_corners(phi, least):
    """Close corners that are open by less than `least`: no face is left open by a sliver."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        row = phi[r // n1, r % n1]
        for k in range(n2):
            row[k] = 0.0 if 0.0 < row[k] < least else row[k]


@kernel_pair
def nearest_of(phi, others, low):
    """Put the smaller of two distances into `phi`; `others` covers the corners from `low` on."""
    m0, m1, m2 = others.shape
    for r in prange(m0 * m1):
        i, j = r // m1, r % m1
        row, new = phi[low[0] + i, low[1] + j, low[2] : low[2] + m2], others[i, j]
        for k in range(m2):
            row[k] = min(row[k], new[k])


@inline
def _is_beside(state, number, i, j, k):
    """Tell whether a sample has a neighbour along an axis with a smaller number."""
    n0, n1, n2 = state.shape
    return (
        (i > 0 and state[i - 1, j, k] < number)
        or (i < n0 - 1 and state[i + 1, j, k] < number)
        or (j > 0 and state[i, j - 1, k] < number)
        or (j < n1 - 1 and state[i, j + 1, k] < number)
        or (k > 0 and state[i, j, k - 1] < number)
        or (k < n2 - 1 and state[i, j, k + 1] < number)
    )


@kernel_pair
def layers(state, number):
    """Give `number` to samples without one (255) that have a neighbour along an axis with a smaller number."""
    n0, n1, n2 = state.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] == 255 and _is_beside(state, number, i, j, k):
                state[i, j, k] = number


@kernel_pair
def layers_within(state, number, low, high):
    """The same as `layers` for samples from `low` to before `high` (three numbers each)."""
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        i, j = low[0] + r // wide, low[1] + r % wide
        for k in range(low[2], high[2]):
            if state[i, j, k] == 255 and _is_beside(state, number, i, j, k):
                state[i, j, k] = number


@kernel_pair
def closed_cells(a0, a1, a2, closed):
    """Tell which cells have no open face."""
    n0, n1, n2 = closed.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            total = a1[i, j, k] + a1[i, j + 1, k] + a2[i, j, k] + a2[i, j, k + 1]
            if n0 > 1:
                total += a0[i, j, k] + a0[i + 1, j, k]
            closed[i, j, k] = total == 0.0


@kernel_pair
def known_faces(part, least, state, low, high):
    """Give 0 to faces from `low` to before `high` that are open by `least` or more, 255 to others."""
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        row, out = part[low[0] + r // wide, low[1] + r % wide], state[low[0] + r // wide, low[1] + r % wide]
        for k in range(low[2], high[2]):
            out[k] = 0 if row[k] >= least else 255


@kernel_pair
def known_cells(a0, a1, a2, state, closed, low, high):
    """Give 0 to cells from `low` to before `high` with an open face, 255 to others; and tell which are closed."""
    n0 = closed.shape[0]
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        i, j = low[0] + r // wide, low[1] + r % wide
        for k in range(low[2], high[2]):
            total = a1[i, j, k] + a1[i, j + 1, k] + a2[i, j, k] + a2[i, j, k + 1]
            if n0 > 1:
                total += a0[i, j, k] + a0[i + 1, j, k]
            closed[i, j, k] = total == 0.0
            state[i, j, k] = 255 if total == 0.0 else 0


@kernel
def wall_cells(a0, a1, a2, low, high, cells, areas):
    """List the cells with a wall in flat order, and the walls' areas along the array axes; return how many there are.

    Only cells from `low` to before `high` are looked at. With an empty `cells` they are only counted.
    """
    n1, n2 = a0.shape[1], a0.shape[2]
    count = 0
    for i in range(low[0], high[0]):
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                x = a0[i, j, k] - a0[i + 1, j, k]
                y = a1[i, j, k] - a1[i, j + 1, k]
                z = a2[i, j, k] - a2[i, j, k + 1]
                if x != 0.0 or y != 0.0 or z != 0.0:
                    if cells.size > 0:
                        cells[count] = (i * n1 + j) * n2 + k
                        areas[count, 0], areas[count, 1], areas[count, 2] = x, y, z
                    count += 1
    return count

"""Compiled conservative transport of cell quantities: piecewise parabolic sweeps along the axes, merged small cells.

Volumes are in cells; fluxes are volumes that cross a face in a step. The `order` of a cell is 1, or 0 if it belongs to
a group of merged cells, in which a quantity is constant. Cells inside obstacles have the volume 1 and no fluxes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.grid_fluids.free_surface.level_set_kernels import liquid_fraction
from continua.grid_fluids.geometry.cut_cell_kernels import square_fraction
from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "apply_fluxes",
    "cell_volumes",
    "courant_rows",
    "group_courant",
    "group_means",
    "mass_fluxes",
    "merge_small_cells",
    "restore_volumes",
    "volume_fluxes",
]

_HALF, _TWO, _THREE, _SIX = (
    np.float32(0.5),
    np.float32(2),
    np.float32(3),
    np.float32(6),
)  # keep single precision
_NONE, _ONE = np.float32(0), np.float32(1)
_TINY = np.float32(1e-30)
_MIN_VOLUME = 0.5  # cells: least volume of a group of merged cells
_ROUNDS = 6  # of merging; a group grows by a cell or joins another in each


@kernel_pair
def cell_volumes(corners, spacing, solid, low, high, volume):
    """Set the open volume of the cells in [low, high) from the obstacle distances at their corners [m]."""
    flat = corners.shape[0] == 1
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        i, j = low[0] + r // wide, low[1] + r % wide
        for k in range(low[2], high[2]):
            if solid[i, j, k]:
                volume[i, j, k] = 0.0
            elif flat:
                a, b = corners[0, j, k], corners[0, j, k + 1]
                volume[i, j, k] = square_fraction(a, b, corners[0, j + 1, k + 1], corners[0, j + 1, k])
            else:
                mean = g0 = g1 = g2 = 0.0
                for n in range(8):
                    a, b, c = n // 4, (n // 2) % 2, n % 2
                    d = min(corners[i + a, j + b, k + c] / spacing, 10.0)
                    mean += d / 8
                    g0 += (d if a == 1 else -d) / 4
                    g1 += (d if b == 1 else -d) / 4
                    g2 += (d if c == 1 else -d) / 4
                volume[i, j, k] = 1.0 - liquid_fraction(mean, g0, g1, g2)


@kernel_pair
def volume_fluxes(u, fraction, s, flux):
    """Set the volumes that cross the faces in a step: open fraction times velocity times `s`."""
    n0, n1, n2 = u.shape
    for r in prange(n0 * n1):
        row, part, out = u[r // n1, r % n1], fraction[r // n1, r % n1], flux[r // n1, r % n1]
        for k in range(n2):
            out[k] = s * part[k] * row[k]


@inline
def _limited_slope(a, b, c):
    """Return the slope at b, limited so that no new extremum arises (van Leer 1977)."""
    one, two = b - a, c - b
    slope = _HALF * (one + two)
    size, left, right = abs(slope), _TWO * abs(one), _TWO * abs(two)
    size = left if left < size else size
    size = right if right < size else size
    return (size if slope > _NONE else -size) if one * two > _NONE else _NONE * slope


@inline
def _swept_mean(a, b, c, d, e, order, x):
    """Return the mean of the limited parabola in cell c over its fraction x beside d (Colella and Woodward 1984)."""
    slope = _limited_slope(b, c, d)
    down = c + _HALF * (d - c) - (_limited_slope(c, d, e) - slope) / _SIX
    up = c - _HALF * (c - b) - (slope - _limited_slope(a, b, c)) / _SIX
    rise, fall = down - c, c - up
    flat = rise * fall <= _NONE
    rise, fall = (_NONE if flat else order * rise), (_NONE if flat else order * fall)
    limited_rise = _TWO * fall if abs(rise) > _TWO * abs(fall) else rise
    fall = _TWO * rise if abs(fall) > _TWO * abs(rise) else fall
    rise = limited_rise
    curvature = _THREE * (fall - rise)
    return c + rise - x * (_HALF * (rise + fall) - (_HALF - x / _THREE) * curvature)


@inline
def _face_flux(a, b, c, d, e, f, before, after, order_before, order_after, crossing):
    """Return the amount that crosses the face between the cells c and d, in a line a to f of cells."""
    forth = crossing > _NONE
    near, far = (b if forth else e), (a if forth else f)
    here, there, beyond = (c if forth else d), (d if forth else c), (e if forth else b)
    order = order_before if forth else order_after
    volume = before if forth else after
    x = abs(crossing) / (volume if volume > _TINY else _TINY)
    x = x if x < _ONE else _ONE
    return crossing * _swept_mean(far, near, here, there, beyond, order, x)


@inline
def _row_fluxes(a, b, c, d, e, f, before, after, order_before, order_after, flux, part, out):
    """Set the amounts that cross a row of faces between the cells c and d."""
    for k in range(out.shape[0]):
        out[k] = _face_flux(
            a[k], b[k], c[k], d[k], e[k], f[k],
            before[k], after[k], order_before[k], order_after[k], part * flux[k],
        )  # fmt: skip


@inline
def _line_fluxes(q, volume, order, flux, part, out):
    """Set the amounts that cross the faces along a row of cells."""
    n = q.shape[0]
    m = n - 5  # faces with three cells on either side
    if m > 0:
        _row_fluxes(
            q[:m], q[1 : m + 1], q[2 : m + 2], q[3 : m + 3], q[4 : m + 4], q[5:],
            volume[2 : m + 2], volume[3 : m + 3], order[2 : m + 2], order[3 : m + 3],
            flux[3 : m + 3], part, out[3 : m + 3],
        )  # fmt: skip
    for k in range(n + 1):
        if 3 <= k < n - 2:
            continue
        c, d = max(k - 1, 0), min(k, n - 1)
        out[k] = _face_flux(
            q[max(k - 3, 0)], q[max(k - 2, 0)], q[c], q[d], q[min(k + 1, n - 1)], q[min(k + 2, n - 1)],
            volume[c], volume[d], order[c], order[d], part * flux[k],
        )  # fmt: skip
    out[0] = out[0] if flux[0] < _NONE else _NONE * out[0]
    out[n] = out[n] if flux[n] > _NONE else _NONE * out[n]


@kernel_pair
def mass_fluxes(q, volume, order, flux, axis, part, out):
    """Set `out` to the amounts of q that cross the faces across `axis` with `part` of the volumes `flux`.

    What enters through a side of the grid has q = 0.
    """
    n0, n1, n2 = q.shape
    m1 = flux.shape[1]
    for r in prange(flux.shape[0] * m1):
        i, j = r // m1, r % m1
        if axis == 2:
            _line_fluxes(q[i, j], volume[i, j], order[i, j], flux[i, j], part, out[i, j])
            continue
        di, dj = (1, 0) if axis == 0 else (0, 1)
        p, s = i - di, j - dj  # the cell before the face
        i0, i1, i2 = max(p - 2 * di, 0), max(p - di, 0), max(p, 0)
        i3, i4, i5 = min(i, n0 - 1), min(i + di, n0 - 1), min(i + 2 * di, n0 - 1)
        j0, j1, j2 = max(s - 2 * dj, 0), max(s - dj, 0), max(s, 0)
        j3, j4, j5 = min(j, n1 - 1), min(j + dj, n1 - 1), min(j + 2 * dj, n1 - 1)
        _row_fluxes(
            q[i0, j0], q[i1, j1], q[i2, j2], q[i3, j3], q[i4, j4], q[i5, j5],
            volume[i2, j2], volume[i3, j3], order[i2, j2], order[i3, j3],
            flux[i, j], part, out[i, j],
        )  # fmt: skip
        if p < 0 or s < 0:
            for k in range(n2):
                out[i, j, k] = out[i, j, k] if flux[i, j, k] < _NONE else _NONE * out[i, j, k]
        elif i == n0 or j == n1:
            for k in range(n2):
                out[i, j, k] = out[i, j, k] if flux[i, j, k] > _NONE else _NONE * out[i, j, k]


@kernel_pair
def apply_fluxes(q, volume, order, flux, axis, part, amount, new_q, new_volume):
    """Set q and volumes after the fluxes across `axis`; cells of the order 0 get their amount instead of q."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        a, b = (i + 1 if axis == 0 else i), (j + 1 if axis == 1 else j)
        shift = 1 if axis == 2 else 0
        old, size, kind = q[i, j], volume[i, j], order[i, j]
        low, high = flux[i, j][:n2], flux[a, b][shift : shift + n2]
        low_amount, high_amount = amount[i, j][:n2], amount[a, b][shift : shift + n2]
        out, out_volume = new_q[i, j], new_volume[i, j]
        for k in range(n2):
            left = size[k] - part * (high[k] - low[k])
            content = old[k] * size[k] - (high_amount[k] - low_amount[k])
            out[k] = content / (left if kind[k] > _NONE else _ONE)
            out_volume[k] = left


@kernel_pair
def group_means(q, volume, start, members):
    """Set q in the cells of each group from amounts to their mean."""
    flat, sizes = q.reshape(-1), volume.reshape(-1)
    for g in prange(start.shape[0] - 1):
        content = room = 0.0
        for n in range(start[g], start[g + 1]):
            content += flat[members[n]]
            room += sizes[members[n]]
        value = content / room if room > 0.0 else 0.0
        for n in range(start[g], start[g + 1]):
            flat[members[n]] = value


@kernel_pair
def restore_volumes(q, volume, order, new_volume):
    """Change the volumes and keep the amounts; cells of the order 0 get their amount instead of q."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        row, size, kind, new = (
            q[r // n1, r % n1],
            volume[r // n1, r % n1],
            order[r // n1, r % n1],
            new_volume[r // n1, r % n1],
        )
        for k in range(n2):
            row[k] = row[k] * size[k] / (new[k] if kind[k] > _NONE else _ONE)


@inline
def _worst_courant(out0, out1, out2, net0, net1, net2):
    """Return the largest part of a volume that leaves in the sweeps along the axes, in either order."""
    forth = max(out0, max(net0 + out1, net0 + net1 + out2))
    back = max(out2, max(net2 + out1, net2 + net1 + out0))
    return max(forth, back)


@kernel_pair
def courant_rows(f0, f1, f2, volume, order, maxima):
    """Set `maxima` to the largest part of a volume that leaves a cell of the order 1 in each row of cells."""
    n0, n1, n2 = volume.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        largest = 0.0 * volume[i, j, 0]
        a, b, c, d = f1[i, j], f1[i, j + 1], f2[i, j][:n2], f2[i, j][1:]
        size, kind = volume[i, j], order[i, j]
        for k in range(n2):
            out0 = net0 = _NONE * size[k]
            if n0 > 1:
                x, y = f0[i, j, k], f0[i + 1, j, k]
                out0, net0 = max(y, _NONE) - min(x, _NONE), y - x
            out1, net1 = max(b[k], _NONE) - min(a[k], _NONE), b[k] - a[k]
            out2, net2 = max(d[k], _NONE) - min(c[k], _NONE), d[k] - c[k]
            worst = kind[k] * _worst_courant(out0, out1, out2, net0, net1, net2) / max(size[k], _TINY)
            largest = max(largest, worst)
        maxima[r] = largest


@inline
def _neighbour(at, side, n0, n1, n2):
    """Return the flat index of the neighbour on one of six sides, -1 beyond the grid."""
    i, j, k = at // (n1 * n2), (at // n2) % n1, at % n2
    step = 1 if side % 2 else -1
    i, j, k = (
        i + (step if side < 2 else 0),
        j + (step if side // 2 == 1 else 0),
        k + (step if side > 3 else 0),
    )
    if i < 0 or j < 0 or k < 0 or i >= n0 or j >= n1 or k >= n2:
        return -1
    return (i * n1 + j) * n2 + k


@inline
def _face(at, side, n0, n1, n2):
    """Return the indices of the face of a cell on one of its six sides."""
    i, j, k = at // (n1 * n2), (at // n2) % n1, at % n2
    return i + (1 if side == 1 else 0), j + (1 if side == 3 else 0), k + (1 if side == 5 else 0)


@kernel
def group_courant(f0, f1, f2, volume, start, members, group):
    """Return the largest part of its volume that leaves a group of cells; `group` is the group of each cell or -1."""
    n0, n1, n2 = volume.shape
    sizes, labels = volume.reshape(-1), group.reshape(-1)
    largest = 0.0
    for g in range(start.shape[0] - 1):
        out, net, room = np.zeros(3), np.zeros(3), 0.0
        for n in range(start[g], start[g + 1]):
            at = members[n]
            room += sizes[at]
            for side in range(0 if n0 > 1 else 2, 6):
                to = _neighbour(at, side, n0, n1, n2)
                if to >= 0 and labels[to] == g:
                    continue
                i, j, k = _face(at, side, n0, n1, n2)
                axis = side // 2
                leaving = f0[i, j, k] if axis == 0 else (f1[i, j, k] if axis == 1 else f2[i, j, k])
                leaving = leaving if side % 2 else -leaving
                out[axis] += max(leaving, 0.0)
                net[axis] += leaving
        if room > 0.0:
            largest = max(largest, _worst_courant(out[0], out[1], out[2], net[0], net[1], net[2]) / room)
    return largest


@inline
def _root(parent, a):
    while parent[a] != a:
        a = parent[a]
    return a


@inline
def _best_neighbour(at, a0, a1, a2, b0, b1, b2, least, label, parent, root, hidden):
    """Return the neighbour outside the group `root` with the largest open face and volume, -1 without one."""
    n0, n1, n2 = least.shape
    sizes, labels = least.reshape(-1), label.reshape(-1)
    best, most = -1, 0.0
    for side in range(0 if n0 > 1 else 2, 6):
        to = _neighbour(at, side, n0, n1, n2)
        if to < 0 or (labels[to] >= 0 and _root(parent, labels[to]) == root):
            continue
        i, j, k = _face(at, side, n0, n1, n2)
        if side < 2:
            opening = max(a0[i, j, k], b0[i, j, k])
        elif side < 4:
            opening = max(a1[i, j, k], b1[i, j, k])
        else:
            opening = max(a2[i, j, k], b2[i, j, k])
        weight = (opening + hidden) * (sizes[to] + 1e-6)
        if weight > most:
            best, most = to, weight
    return best, most


@kernel
def merge_small_cells(old, new, a0, a1, a2, b0, b1, b2, least, label, members, parent):
    """Merge cells with less than half of their volume open with neighbours, until each group has that volume.

    Args:
        old: Open volumes at the beginning of a step.
        new: Open volumes at its end.
        a0, a1, a2: Open fractions of the faces at the beginning.
        b0, b1, b2: Open fractions of the faces at the end.
        least: Work array: the smaller volume of each cell.
        label: Receives the index of each merged cell in `members`, -1 for others.
        members: Receives the flat indices of the merged cells.
        parent: Receives the root of each merged cell, an index into `members`.

    Returns:
        The number of merged cells.
    """
    n0, n1, n2 = old.shape
    labels = label.reshape(-1)
    before, after, sizes = old.reshape(-1), new.reshape(-1), least.reshape(-1)
    count = 0
    for at in range(before.shape[0]):
        labels[at] = -1
        sizes[at] = min(before[at], after[at])
        if sizes[at] >= _MIN_VOLUME:
            continue
        used = before[at] > 0.0 or after[at] > 0.0
        for side in range(0 if n0 > 1 else 2, 6):
            i, j, k = _face(at, side, n0, n1, n2)
            if side < 2:
                used = used or a0[i, j, k] > 0 or b0[i, j, k] > 0
            elif side < 4:
                used = used or a1[i, j, k] > 0 or b1[i, j, k] > 0
            else:
                used = used or a2[i, j, k] > 0 or b2[i, j, k] > 0
        if used:
            labels[at] = count
            members[count] = at
            parent[count] = count
            count += 1
    small = count
    room_before, room_after = np.zeros(members.shape[0]), np.zeros(members.shape[0])
    for n in range(count):
        room_before[n], room_after[n] = before[members[n]], after[members[n]]
    for _ in range(_ROUNDS):
        changed = False
        for n in range(small):
            root = _root(parent, n)
            if min(room_before[root], room_after[root]) >= _MIN_VOLUME:
                continue
            hidden = 1e-9 if after[members[n]] == 0.0 else 0.0  # covered, even if no face is open any more
            to, _ = _best_neighbour(members[n], a0, a1, a2, b0, b1, b2, least, label, parent, root, hidden)
            if to < 0:
                continue
            if labels[to] < 0:
                labels[to] = count
                members[count] = to
                parent[count] = count
                room_before[count], room_after[count] = before[to], after[to]
                count += 1
            other = _root(parent, labels[to])
            first, second = min(root, other), max(root, other)
            parent[second] = first
            room_before[first] += room_before[second]
            room_after[first] += room_after[second]
            changed = True
        if not changed:
            break
    for n in range(count):
        parent[n] = _root(parent, n)
    return count

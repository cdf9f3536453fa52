"""Compiled level set of a liquid: advection, reinitialisation, volume. Lengths are in cells."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.grid_fluids.advection.advection_kernels import range_at, trace, value_at
from continua.grid_fluids.advection.extrapolation_kernels import (
    first_front,
    neighbour,
    next_front,
    sum_of_lines,
    unpack,
)
from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "advect_band",
    "clamp_far",
    "correct_band",
    "extrapolate_at_angle",
    "extrapolate_surface",
    "interface_distances",
    "liquid_fraction",
    "liquid_volumes",
    "march_layers",
    "merge_particles",
    "open_volumes",
    "smooth_along",
    "subtract_obstacles",
]

_REGULAR = (
    1e-9  # added to the moments of a fitted plane: without samples across a direction its slope is zero
)
_OPEN = 0.87  # open part of the weights around a cell centre beside a side of the box, without obstacles
_MIN_SLOPE, _MAX_SLOPE = 0.8, 1.25  # slopes for which the values at the surface are kept


@kernel_pair
def advect_band(q, u0, u1, u2, s, band, out, low, high):
    """Advect the values nearer to zero than `band`; `low` and `high` receive the ranges of the samples used."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            out[i, j, k] = q[i, j, k]
            if abs(q[i, j, k]) < band:
                x, y, z = trace(u0, u1, u2, i + 0.5, j + 0.5, k + 0.5, s, 2)
                out[i, j, k] = value_at(q, x - 0.5, y - 0.5, z - 0.5)
                low[i, j, k], high[i, j, k] = range_at(q, x - 0.5, y - 0.5, z - 0.5)


@kernel_pair
def correct_band(q, advected, u0, u1, u2, s, band, low, high, out):
    """MacCormack correction of `advected`; it is rejected where the value would leave its range."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            out[i, j, k] = advected[i, j, k]
            if abs(q[i, j, k]) < band:
                x, y, z = trace(u0, u1, u2, i + 0.5, j + 0.5, k + 0.5, -s, 2)
                value = advected[i, j, k] + 0.5 * (q[i, j, k] - value_at(advected, x - 0.5, y - 0.5, z - 0.5))
                if low[i, j, k] <= value <= high[i, j, k]:
                    out[i, j, k] = value


@inline
def _gradient(phi, i, j, k):
    """Return the central differences along the axes, one-sided at the domain boundary."""
    n0, n1, n2 = phi.shape
    im, ip, jm, jp = max(i - 1, 0), min(i + 1, n0 - 1), max(j - 1, 0), min(j + 1, n1 - 1)
    km, kp = max(k - 1, 0), min(k + 1, n2 - 1)
    g0 = (phi[ip, j, k] - phi[im, j, k]) / max(ip - im, 1)
    g1 = (phi[i, jp, k] - phi[i, jm, k]) / (jp - jm)
    g2 = (phi[i, j, kp] - phi[i, j, km]) / (kp - km)
    return g0, g1, g2


@inline
def _solve3(a00, a01, a02, a11, a12, a22, b0, b1, b2):
    """Solve a symmetric positive definite system of three equations."""
    c00, c01, c02 = a11 * a22 - a12 * a12, a02 * a12 - a01 * a22, a01 * a12 - a02 * a11
    c11, c12, c22 = a00 * a22 - a02 * a02, a01 * a02 - a00 * a12, a00 * a11 - a01 * a01
    scale = 1.0 / (a00 * c00 + a01 * c01 + a02 * c02)
    x, y, z = c00 * b0 + c01 * b1 + c02 * b2, c01 * b0 + c11 * b1 + c12 * b2, c02 * b0 + c12 * b1 + c22 * b2
    return scale * x, scale * y, scale * z


@inline
def _fitted_plane(phi, state, i, j, k, number):
    """Return the value at a cell of the plane that fits the cells of lower layers around it by least squares."""
    n0, n1, n2 = phi.shape
    count = mean = x0 = x1 = x2 = 0.0
    a00 = a11 = a22 = a01 = a02 = a12 = b0 = b1 = b2 = 0.0
    for a in range(max(i - 2, 0), min(i + 3, n0)):
        for b in range(max(j - 2, 0), min(j + 3, n1)):
            for c in range(max(k - 2, 0), min(k + 3, n2)):
                if state[a, b, c] < number:
                    d0, d1, d2 = a - i, b - j, c - k
                    w = 1.0 / (d0 * d0 + d1 * d1 + d2 * d2)
                    value = w * phi[a, b, c]
                    count, mean = count + w, mean + value
                    x0, x1, x2 = x0 + w * d0, x1 + w * d1, x2 + w * d2
                    b0, b1, b2 = b0 + value * d0, b1 + value * d1, b2 + value * d2
                    a00, a11, a22 = a00 + w * d0 * d0, a11 + w * d1 * d1, a22 + w * d2 * d2
                    a01, a02, a12 = a01 + w * d0 * d1, a02 + w * d0 * d2, a12 + w * d1 * d2
    mean, x0, x1, x2 = mean / count, x0 / count, x1 / count, x2 / count
    a00, a01, a02 = a00 / count - x0 * x0 + _REGULAR, a01 / count - x0 * x1, a02 / count - x0 * x2
    a11, a12, a22 = a11 / count - x1 * x1 + _REGULAR, a12 / count - x1 * x2, a22 / count - x2 * x2 + _REGULAR
    b0, b1, b2 = b0 / count - mean * x0, b1 / count - mean * x1, b2 / count - mean * x2
    g0, g1, g2 = _solve3(a00, a01, a02, a11, a12, a22, b0, b1, b2)
    slope = sqrt(g0 * g0 + g1 * g1 + g2 * g2)
    limit = 1.0 / slope if slope > _MAX_SLOPE else 1.0
    return mean - limit * (g0 * x0 + g1 * x1 + g2 * x2)


@kernel_pair
def extrapolate_surface(phi, state, number):
    """Extrapolate the level set linearly to cells of layer `number` from lower layers.

    The result is the mean over the directions along the axes with two known cells, with limited slopes; without any,
    the value of the plane that fits the cells around best. So a level set that is linear is extrapolated exactly.
    """
    n0, n1, n2 = phi.shape
    values, states = phi.reshape(-1), state.reshape(-1)
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] != number:
                continue
            at = (i * n1 + j) * n2 + k
            line, lines = sum_of_lines(values, states, number, at, i, j, k, n0, n1, n2)
            values[at] = line / lines if lines > 0 else _fitted_plane(phi, state, i, j, k, number)


@kernel_pair
def extrapolate_at_angle(phi, state, number, distance, cosine):
    """Extrapolate the level set to cells of layer `number` of obstacles, so that it meets them at the contact angle.

    Its slope along the normal of the wall is the cosine of that angle: from each known neighbour along the axes it
    rises by the cosine times the difference of the distances to the wall, and the mean of these is taken.
    """
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] != number:
                continue
            total = 0.0
            count = 0
            for side in range(6):
                a, b, c = neighbour(i, j, k, side)
                if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2 and state[a, b, c] < number:
                    total += phi[a, b, c] + cosine * (distance[i, j, k] - distance[a, b, c])
                    count += 1
            phi[i, j, k] = total / count


@inline
def _crossing(here, one, two):
    """Return 1 over the squared distance to the nearest change of sign along an axis; 0 without one."""
    far = 0.0
    if (one < 0.0) != (here < 0.0):
        far = max(far, (here - one) / here if here != 0.0 else 1e6)
    if (two < 0.0) != (here < 0.0):
        far = max(far, (here - two) / here if here != 0.0 else 1e6)
    return far * far


@inline
def _mark_sign_changes(phi, i, j, state):
    """Set the state of the cells of a row: 0 with a neighbour of the other sign, else 255."""
    n0, n1, n2 = phi.shape
    row, known = phi[i, j], state[i, j]
    a, b = phi[max(i - 1, 0), j], phi[min(i + 1, n0 - 1), j]
    c, d = phi[i, max(j - 1, 0)], phi[i, min(j + 1, n1 - 1)]
    for k in range(n2):
        wet = row[k] < 0.0
        differ = ((a[k] < 0.0) ^ wet) | ((b[k] < 0.0) ^ wet) | ((c[k] < 0.0) ^ wet) | ((d[k] < 0.0) ^ wet)
        known[k] = 0 if differ else 255
    for k in range(1, n2):
        known[k] = 0 if (row[k - 1] < 0.0) ^ (row[k] < 0.0) else known[k]
    for k in range(n2 - 1):
        known[k] = 0 if (row[k + 1] < 0.0) ^ (row[k] < 0.0) else known[k]


@kernel_pair
def interface_distances(phi, state, out):
    """Set the distances of the cells beside the surface, which get the state 0; other cells get 255."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        im, ip, jm, jp = max(i - 1, 0), min(i + 1, n0 - 1), max(j - 1, 0), min(j + 1, n1 - 1)
        _mark_sign_changes(phi, i, j, state)
        out[i, j] = phi[i, j]
        for k in range(n2):
            if state[i, j, k] == 255:
                continue
            km, kp = max(k - 1, 0), min(k + 1, n2 - 1)
            here = phi[i, j, k]
            total = _crossing(here, phi[im, j, k], phi[ip, j, k]) + _crossing(
                here, phi[i, jm, k], phi[i, jp, k]
            )
            total += _crossing(here, phi[i, j, km], phi[i, j, kp])
            g0, g1, g2 = _gradient(phi, i, j, k)
            slope = sqrt(g0 * g0 + g1 * g1 + g2 * g2)
            if not _MIN_SLOPE < slope < _MAX_SLOPE:
                distance = 1.0 / sqrt(total)
                out[i, j, k] = -distance if here < 0.0 else distance


@inline
def _eikonal(a, b, c):
    """Solve the upwind eikonal equation from the nearest neighbours' values a, b and c along the axes (Zhao 2005)."""
    low, high = min(a, min(b, c)), max(a, max(b, c))
    mid = max(min(a, b), min(max(a, b), c))
    d = low + 1.0
    if d > mid:
        d = 0.5 * (low + mid + sqrt(max(2.0 - (mid - low) ** 2, 0.0)))
        if d > high:
            total = low + mid + high
            square = low * low + mid * mid + high * high
            d = (total + sqrt(max(total * total - 3.0 * (square - 1.0), 0.0))) / 3.0
    return d


@inline
def _known_distance(phi, state, i, j, k, number):
    return abs(phi[i, j, k]) if state[i, j, k] < number else 1e6


@inline
def _upwind_distance(phi, state, i, j, k, number):
    """Return the distance of a cell computed from its neighbours with a state below `number`."""
    n0, n1, n2 = phi.shape
    a = b = c = 1e6
    if i > 0:
        a = _known_distance(phi, state, i - 1, j, k, number)
    if i < n0 - 1:
        a = min(a, _known_distance(phi, state, i + 1, j, k, number))
    if j > 0:
        b = _known_distance(phi, state, i, j - 1, k, number)
    if j < n1 - 1:
        b = min(b, _known_distance(phi, state, i, j + 1, k, number))
    if k > 0:
        c = _known_distance(phi, state, i, j, k - 1, number)
    if k < n2 - 1:
        c = min(c, _known_distance(phi, state, i, j, k + 1, number))
    return _eikonal(a, b, c)


@kernel
def march_layers(phi, state, layers):
    """Set the distances of cells with state 255, layer by layer from those with state 0.

    A layer of neighbours is not a layer of equal distance, so all cells are then updated twice from all of their
    neighbours.
    """
    front = np.empty(phi.size, np.int64)
    begin, end = 0, first_front(state, front)
    for number in range(1, layers + 1):
        for at in range(begin, end):
            i, j, k = unpack(front[at])
            d = _upwind_distance(phi, state, i, j, k, number)
            phi[i, j, k] = -d if phi[i, j, k] < 0.0 else d
        if number < layers:
            begin, end = end, next_front(state, front, begin, end, number + 1)
    for _ in range(2):
        for at in range(end):
            i, j, k = unpack(front[at])
            d = min(_upwind_distance(phi, state, i, j, k, 255), abs(phi[i, j, k]))
            phi[i, j, k] = -d if phi[i, j, k] < 0.0 else d


@kernel
def clamp_far(phi, state, far):
    """Set cells beyond the last layer to `far` or -`far`."""
    n0, n1, n2 = phi.shape
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] == 255:
                phi[i, j, k] = -far if phi[i, j, k] < 0.0 else far


@inline
def _subcells(flat):
    """Return the number of subcells per axis and in a cell."""
    return (3, 9) if flat else (2, 8)


@inline
def _subcell_center(n, per, flat):
    """Return the centre of a subcell, in cells from the corner of its cell; `n` is its number."""
    x = 0.5 if flat else (n // (per * per) + 0.5) / per
    return x, ((n // per) % per + 0.5) / per, (n % per + 0.5) / per


@kernel
def subtract_obstacles(corners, part):
    """Subtract the subcells inside obstacles from the open part of the linear weights around each cell centre.

    Args:
        corners: Distances to obstacles at the corners of cells.
        part: The open part of the weights around each cell centre.
    """
    n0, n1, n2 = part.shape
    flat = n0 == 1
    per, count = _subcells(flat)
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                lowest = corners[i, j, k]
                for m in range(1, 4 if flat else 8):
                    lowest = min(lowest, corners[i + m // 4, j + (m // 2) % 2, k + m % 2])
                if lowest > 0.0:
                    continue
                for n in range(count):
                    x, y, z = _subcell_center(n, per, flat)
                    if value_at(corners, 0.0 if flat else i + x, j + y, k + z) > 0.0:
                        continue
                    for m in range(4 if flat else 8):
                        a = (m // 4) * (1 if x >= 0.5 else -1)
                        b, c = ((m // 2) % 2) * (1 if y >= 0.5 else -1), (m % 2) * (1 if z >= 0.5 else -1)
                        p, q, r = i + a, j + b, k + c
                        if 0 <= p < n0 and 0 <= q < n1 and 0 <= r < n2:
                            weight = (
                                (1.0 - abs(x - 0.5 - a)) * (1.0 - abs(y - 0.5 - b)) * (1.0 - abs(z - 0.5 - c))
                            )
                            part[p, q, r] -= weight / count


@inline
def _filled_by_surface(phi, corners, part, i, j, k):
    """Return the part of the open volume around a cell centre, with linear weights, that is below the surface."""
    n0, n1, n2 = phi.shape
    flat = n0 == 1
    per, count = _subcells(flat)
    total = 0.0
    for a in range(0 if flat else max(i - 1, 0), 1 if flat else min(i + 2, n0)):
        for b in range(max(j - 1, 0), min(j + 2, n1)):
            for c in range(max(k - 1, 0), min(k + 2, n2)):
                for n in range(count):
                    x, y, z = _subcell_center(n, per, flat)
                    weight = max(1.0 - abs(b + y - j - 0.5), 0.0) * max(1.0 - abs(c + z - k - 0.5), 0.0)
                    weight *= 1.0 if flat else max(1.0 - abs(a + x - i - 0.5), 0.0)
                    if weight > 0.0 and value_at(corners, 0.0 if flat else a + x, b + y, c + z) > 0.0:
                        level = value_at(phi, a + x - 0.5, b + y - 0.5, c + z - 0.5)
                        total += weight * min(max(0.5 - per * level, 0.0), 1.0)
    return total / (count * part)


@kernel
def merge_particles(phi, density, part, corners, deep, full, least, most):
    """Correct the level set where it contradicts the particles.

    A dry cell becomes wet where particles fill more than `most` of the volume around its centre, and a wet one dry
    where they fill less than `least`. Where the level set is below `deep`, it is left unchanged. Beside obstacles the
    filled part is compared with the part of the open volume that is below the surface.

    Args:
        phi: The level set.
        density: Number of particles around each cell centre, with linear weights.
        part: The open part of these weights.
        corners: Distances to obstacles at the corners of cells, or empty.
        deep: Level below which nothing is changed.
        full: Number of particles in a full cell.
        least: See above.
        most: See above.
    """
    n0, n1, n2 = phi.shape
    before = phi.copy() if corners.size > 0 else phi
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            share = part[i, j, k]
            if share < 0.1 or phi[i, j, k] < deep:
                continue
            filled = density[i, j, k] / (full * share)
            if least <= filled <= most or (filled > most) == (phi[i, j, k] < 0.0):
                continue
            if corners.size > 0 and share < _OPEN and abs(phi[i, j, k]) < 2.0:
                expected = _filled_by_surface(before, corners, share, i, j, k)
                if filled > most:  # fewer particles in an open part: larger deviations are by chance
                    phi[i, j, k] -= max(min(filled, 1.0) - expected - (most - 0.5) / (share * share), 0.0)
                else:
                    phi[i, j, k] += max(expected - filled - (0.5 - least) / (share * share), 0.0)
            elif filled > most:
                phi[i, j, k] = min(phi[i, j, k], most - filled)
            else:
                phi[i, j, k] = max(phi[i, j, k], least - filled)


@inline
def liquid_fraction(phi, g0, g1, g2):
    """Return the fraction of a unit cube where phi + g x < 0, x from its centre (Scardovelli and Zaleski 2000)."""
    a, b, c = abs(g0) + 1e-7, abs(g1) + 1e-7, abs(g2) + 1e-7
    total = a + b + c
    if total < 1e-6:
        return 1.0 if phi < 0.0 else 0.0
    level = 0.5 - phi / total
    if level <= 0.0:
        return 0.0
    if level >= 1.0:
        return 1.0
    turned = level > 0.5
    if turned:
        level = 1.0 - level
    a, b, c = a / total, b / total, c / total
    m1, m3 = min(a, min(b, c)), max(a, max(b, c))
    m2 = 1.0 - m1 - m3
    m12 = m1 + m2
    six = 6.0 * m1 * m2 * m3
    if level < m1:
        part = level**3 / six
    elif level < m2:
        part = level * (level - m1) / (2.0 * m2 * m3) + m1 * m1 / (6.0 * m2 * m3)
    elif level < min(m3, m12):
        part = level * level * (3.0 * m12 - level)
        part = (part + m1 * m1 * (m1 - 3.0 * level) + m2 * m2 * (m2 - 3.0 * level)) / six
    elif m3 < m12:
        part = level * level * (3.0 - 2.0 * level) + m1 * m1 * (m1 - 3.0 * level)
        part = (part + m2 * m2 * (m2 - 3.0 * level) + m3 * m3 * (m3 - 3.0 * level)) / six
    else:
        part = (2.0 * level - m12) / (2.0 * m3)
    return 1.0 - part if turned else part


@kernel_pair
def liquid_volumes(phi, open_volume, parts):
    """Set `parts` to the volume of liquid in each row of cells, in cells."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        total = 0.0
        for k in range(n2):
            here = phi[i, j, k]
            if here > 1.0 or open_volume[i, j, k] == 0:
                continue
            part = 1.0
            if here > -1.0:
                g0, g1, g2 = _gradient(phi, i, j, k)
                part = liquid_fraction(np.float64(here), np.float64(g0), np.float64(g1), np.float64(g2))
            total += part * open_volume[i, j, k]
        parts[r] = total


@kernel
def open_volumes(corners, spacing, out):
    """Set the open volume fraction of each cell from the solid distances at its corners [m]."""
    n0, n1, n2 = out.shape
    flat = corners.shape[0] == 1
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            mean = g0 = g1 = g2 = 0.0
            count = 4 if flat else 8
            for a in range(1 if flat else 2):
                for b in range(2):
                    for c in range(2):
                        d = min(corners[i + a, j + b, k + c] / spacing, 10.0)
                        mean += d / count
                        g0 += 0.0 if flat else (d if a == 1 else -d) / 4
                        g1 += (d if b == 1 else -d) / (count // 2)
                        g2 += (d if c == 1 else -d) / (count // 2)
            out[i, j, k] = 1.0 - liquid_fraction(mean, g0, g1, g2)


@kernel
def smooth_along(values, axis, out):
    """Smooth along `axis` with the weights 1/8, 6/8, 1/8; values beyond the boundary are 0."""
    n0, n1, n2 = values.shape
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            total = 6.0 * values[i, j, k]
            if axis == 0:
                total += (values[i - 1, j, k] if i > 0 else 0.0) + (
                    values[i + 1, j, k] if i < n0 - 1 else 0.0
                )
            elif axis == 1:
                total += (values[i, j - 1, k] if j > 0 else 0.0) + (
                    values[i, j + 1, k] if j < n1 - 1 else 0.0
                )
            else:
                total += (values[i, j, k - 1] if k > 0 else 0.0) + (
                    values[i, j, k + 1] if k < n2 - 1 else 0.0
                )
            out[i, j, k] = total / 8.0

"""Compiled extrapolation, layer by layer, of samples on a grid: behind walls, and from a liquid into the air.

The state of a sample is 0 where its value is valid, 255 where it is not known, else the number of its layer.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "extrapolate",
    "extrapolate_layer",
    "extrapolate_layer_linear",
    "extrapolate_layer_within",
    "first_front",
    "mark_layer",
    "mark_layer_within",
    "mark_liquid_faces",
    "neighbour",
    "next_front",
    "pack",
    "unpack",
]


@inline
def _has_lower_neighbour(state, number, i, j, k):
    """Return whether a sample has a neighbour along an axis in a lower layer."""
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
def mark_layer(state, number):
    """Put unknown samples (255) with a neighbour along an axis in a lower layer into layer `number`."""
    n0, n1, n2 = state.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] == 255 and _has_lower_neighbour(state, number, i, j, k):
                state[i, j, k] = number


@kernel_pair
def mark_layer_within(state, number, low, high):
    """The same as `mark_layer` for samples in [low, high) (three indices each)."""
    width = high[1] - low[1]
    for r in prange((high[0] - low[0]) * width):
        i, j = low[0] + r // width, low[1] + r % width
        for k in range(low[2], high[2]):
            if state[i, j, k] == 255 and _has_lower_neighbour(state, number, i, j, k):
                state[i, j, k] = number


@inline
def _neighbour_mean(q, state, number, i, j, k):
    """Return the mean of the neighbours of a sample along the axes in layers below `number`."""
    n0, n1, n2 = q.shape
    total = 0.0
    count = 0
    if i > 0 and state[i - 1, j, k] < number:
        total += q[i - 1, j, k]
        count += 1
    if i < n0 - 1 and state[i + 1, j, k] < number:
        total += q[i + 1, j, k]
        count += 1
    if j > 0 and state[i, j - 1, k] < number:
        total += q[i, j - 1, k]
        count += 1
    if j < n1 - 1 and state[i, j + 1, k] < number:
        total += q[i, j + 1, k]
        count += 1
    if k > 0 and state[i, j, k - 1] < number:
        total += q[i, j, k - 1]
        count += 1
    if k < n2 - 1 and state[i, j, k + 1] < number:
        total += q[i, j, k + 1]
        count += 1
    return total / count


@kernel_pair
def extrapolate_layer(q, state, number):
    """Set samples of layer `number` to the mean of their neighbours along the axes in lower layers."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] == number:
                q[i, j, k] = _neighbour_mean(q, state, number, i, j, k)


@kernel_pair
def extrapolate_layer_within(q, state, number, low, high):
    """The same as `extrapolate_layer` for samples in [low, high) (three indices each)."""
    width = high[1] - low[1]
    for r in prange((high[0] - low[0]) * width):
        i, j = low[0] + r // width, low[1] + r % width
        for k in range(low[2], high[2]):
            if state[i, j, k] == number:
                q[i, j, k] = _neighbour_mean(q, state, number, i, j, k)


@inline
def _extrapolated(u, state, number, at, stride, reach):
    """Extrapolate u to the sample `at` from those `stride` apart, of which `reach` lie inside the grid.

    Returns:
        The value, and the number of samples it is computed from: 0, 1 or 2. The slope is limited by the slope between
        the next two samples (minmod), so that values stay bounded over many layers.
    """
    if reach < 1 or state[at + stride] >= number:
        return 0.0, 0
    first = u[at + stride]
    if reach < 2 or state[at + 2 * stride] >= number:
        return first, 1
    second = u[at + 2 * stride]
    slope = first - second
    if reach > 2 and state[at + 3 * stride] < number:
        before = second - u[at + 3 * stride]
        if slope * before <= 0.0:
            slope = 0.0 * slope
        elif abs(before) < abs(slope):
            slope = before
    return first + slope, 2


@inline
def sum_of_lines(values, states, number, at, i, j, k, n0, n1, n2):
    """Return the sum of linear extrapolations to a sample along the axes with two known samples, and their number."""
    line = 0.0
    lines = 0
    for axis in range(3):
        x, n, stride = (i, n0, n1 * n2) if axis == 0 else ((j, n1, n2) if axis == 1 else (k, n2, 1))
        for end in range(2):
            reach = x if end == 0 else n - 1 - x
            value, made = _extrapolated(values, states, number, at, -stride if end == 0 else stride, reach)
            if made == 2:
                line += value
                lines += 1
    return line, lines


@kernel_pair
def extrapolate_layer_linear(u, state, number, low, high):
    """Extrapolate u linearly to samples of layer `number` in [low, high) (three indices each) from lower layers.

    The result is the mean over the directions along the axes with two known samples; without any, it is the mean of
    the known neighbours.
    """
    n0, n1, n2 = u.shape
    values, states = u.reshape(-1), state.reshape(-1)
    width = high[1] - low[1]
    for r in prange((high[0] - low[0]) * width):
        i, j = low[0] + r // width, low[1] + r % width
        for k in range(low[2], high[2]):
            if state[i, j, k] != number:
                continue
            at = (i * n1 + j) * n2 + k
            line = mean = 0.0
            lines = count = 0
            for axis in range(3):
                x, n, stride = (i, n0, n1 * n2) if axis == 0 else ((j, n1, n2) if axis == 1 else (k, n2, 1))
                for end in range(2):
                    reach = x if end == 0 else n - 1 - x
                    direction = -stride if end == 0 else stride
                    value, made = _extrapolated(values, states, number, at, direction, reach)
                    if made == 2:
                        line += value
                        lines += 1
                    elif made == 1:
                        mean += value
                        count += 1
            values[at] = line / lines if lines > 0 else mean / count


@kernel_pair
def mark_liquid_faces(u, phi, open_fraction, axis, narrow, state):
    """Set the state of faces: 0 beside liquid and open by at least `narrow`; others get 255 and velocity 0."""
    n0, n1, n2 = state.shape
    m0, m1, m2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        one = phi[min(i, m0 - 1), min(j, m1 - 1)]
        two = phi[
            max(i - 1, 0) if axis == 0 else min(i, m0 - 1), max(j - 1, 0) if axis == 1 else min(j, m1 - 1)
        ]
        known, fraction, row = state[i, j], open_fraction[i, j], u[i, j]
        back = 1 if axis == 2 else 0
        for k in range(back, m2):
            wet = (one[k] < 0.0) | (two[k - back] < 0.0)
            known[k] = 0 if wet & (fraction[k] >= narrow) else 255
        if axis == 2:
            known[0] = 0 if one[0] < 0.0 and fraction[0] >= narrow else 255
            known[m2] = 0 if one[m2 - 1] < 0.0 and fraction[m2] >= narrow else 255
        for k in range(n2):
            row[k] = row[k] if known[k] == 0 else 0


@inline
def pack(i, j, k):
    """Return the indices of a sample packed into one integer."""
    return (i << 40) | (j << 20) | k


@inline
def unpack(at):
    """Return the indices of a packed sample."""
    return at >> 40, (at >> 20) & 0xFFFFF, at & 0xFFFFF


@inline
def neighbour(i, j, k, side):
    """Return the neighbour on one of the six sides."""
    step = 1 if side % 2 else -1
    return (
        i + (step if side // 2 == 0 else 0),
        j + (step if side // 2 == 1 else 0),
        k + (step if side // 2 == 2 else 0),
    )


@inline
def first_front(state, front):
    """List the unknown samples (255) beside valid ones (0), and put them into layer 1; return their number."""
    n0, n1, n2 = state.shape
    near = np.empty(n2, np.uint8)
    count = 0
    for i in range(n0):
        for j in range(n1):
            row = state[i, j]
            a, b = state[max(i - 1, 0), j], state[min(i + 1, n0 - 1), j]
            c, d = state[i, max(j - 1, 0)], state[i, min(j + 1, n1 - 1)]
            for k in range(n2):
                near[k] = (a[k] == 0) | (b[k] == 0) | (c[k] == 0) | (d[k] == 0)
            for k in range(1, n2):
                near[k] |= row[k - 1] == 0
            for k in range(n2 - 1):
                near[k] |= row[k + 1] == 0
            for k in range(n2):
                near[k] &= row[k] == 255
            for k in range(n2):
                if near[k]:
                    row[k] = 1
                    front[count] = pack(i, j, k)
                    count += 1
    return count


@inline
def next_front(state, front, begin, end, number):
    """Append the unknown samples beside those in [begin, end) of the list, and put them into layer `number`."""
    n0, n1, n2 = state.shape
    count = end
    for at in range(begin, end):
        i, j, k = unpack(front[at])
        for side in range(6):
            a, b, c = neighbour(i, j, k, side)
            if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2 and state[a, b, c] == 255:
                state[a, b, c] = number
                front[count] = pack(a, b, c)
                count += 1
    return count


@kernel
def extrapolate(u, state, layers):
    """Extrapolate u from faces with state 0 into those with 255, layer by layer, as the mean of known neighbours."""
    n0, n1, n2 = u.shape
    front = np.empty(u.size, np.int64)
    begin, end = 0, first_front(state, front)
    for number in range(1, layers + 1):
        for at in range(begin, end):
            i, j, k = unpack(front[at])
            total = 0.0
            count = 0
            for side in range(6):
                a, b, c = neighbour(i, j, k, side)
                if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2 and state[a, b, c] < number:
                    total += u[a, b, c]
                    count += 1
            u[i, j, k] = total / count
        if number < layers:
            begin, end = end, next_front(state, front, begin, end, number + 1)

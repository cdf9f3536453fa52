"""Compiled linear continuation of a velocity component behind walls."""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = ["fill_linear"]


@inline
def _continued(u, state, number, at, stride, reach):
    """Continue u to the sample `at` from those `stride` apart, of which `reach` are inside of the grid.

    Returns:
        The value, and from how many samples it comes: 0, 1 or 2. The slope is never steeper than that between the next
        two samples, and never of the opposite sign, so that layer after layer no value grows out of bounds.
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


@kernel_pair
def fill_linear(u, state, number, low, high):
    """Continue u to samples of layer `number` from lower layers, from `low` to before `high` (three numbers each).

    Directions along the axes with two known samples give a straight line, and their mean is taken; without any, it is
    the mean of the known neighbours.
    """
    n0, n1, n2 = u.shape
    values, states = u.reshape(-1), state.reshape(-1)
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        i, j = low[0] + r // wide, low[1] + r % wide
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
                    way = -stride if end == 0 else stride
                    value, made = _continued(values, states, number, at, way, reach)
                    if made == 2:
                        line += value
                        lines += 1
                    elif made == 1:
                        mean += value
                        count += 1
            values[at] = line / lines if lines > 0 else mean / count

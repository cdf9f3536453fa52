"""Compiled parts of the pressure below a free surface: its equations, sources and gradient."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.grid_fluids.flow_kernels import before_face
from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "equations",
    "known_faces",
    "no_sources",
    "reach",
    "sources",
    "spread",
    "subtract_gradient",
]

NEAREST = 0.01  # of the spacing: the surface is never taken to be nearer to a middle of a cell


@inline
def reach(wet, dry):
    """Return 1 over the part of the way from a wet to a dry middle at which the surface lies."""
    return 1.0 / min(max(wet / (wet - dry), NEAREST), 1.0)


@kernel_pair
def equations(phi, w0, w1, w2, fixed, i0, i1, i2, held, coarse):
    """Set the weights between wet cells, and what fixes these: exactly in `held`, for coarser grids in `coarse`."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            here = phi[i, j, k]
            wet = here < 0.0
            if i > 0:
                i0[i, j, k] = w0[i, j, k] if wet and phi[i - 1, j, k] < 0.0 else 0.0
            if j > 0:
                i1[i, j, k] = w1[i, j, k] if wet and phi[i, j - 1, k] < 0.0 else 0.0
            if k > 0:
                i2[i, j, k] = w2[i, j, k] if wet and phi[i, j, k - 1] < 0.0 else 0.0
            exact = rough = 0.0
            if wet:
                exact = rough = fixed[i, j, k]
                if i > 0 and phi[i - 1, j, k] >= 0.0:
                    exact += w0[i, j, k] * reach(here, phi[i - 1, j, k])
                    rough += 2.0 * w0[i, j, k]
                if i < n0 - 1 and phi[i + 1, j, k] >= 0.0:
                    exact += w0[i + 1, j, k] * reach(here, phi[i + 1, j, k])
                    rough += 2.0 * w0[i + 1, j, k]
                if j > 0 and phi[i, j - 1, k] >= 0.0:
                    exact += w1[i, j, k] * reach(here, phi[i, j - 1, k])
                    rough += 2.0 * w1[i, j, k]
                if j < n1 - 1 and phi[i, j + 1, k] >= 0.0:
                    exact += w1[i, j + 1, k] * reach(here, phi[i, j + 1, k])
                    rough += 2.0 * w1[i, j + 1, k]
                if k > 0 and phi[i, j, k - 1] >= 0.0:
                    exact += w2[i, j, k] * reach(here, phi[i, j, k - 1])
                    rough += 2.0 * w2[i, j, k]
                if k < n2 - 1 and phi[i, j, k + 1] >= 0.0:
                    exact += w2[i, j, k + 1] * reach(here, phi[i, j, k + 1])
                    rough += 2.0 * w2[i, j, k + 1]
            held[i, j, k] = exact
            coarse[i, j, k] = rough


@kernel_pair
def subtract_gradient(u, p, part, phi, axis):
    """Take the gradient of p off the inner open faces across `axis` beside liquid; p in spacings times velocity."""
    n0, n1, n2 = p.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            a, b, c = before_face(axis, i, j, k)
            here, before = phi[i, j, k], phi[a, b, c]
            if part[i, j, k] > 0 and (here < 0.0 or before < 0.0):
                if here < 0.0 and before < 0.0:
                    u[i, j, k] -= p[i, j, k] - p[a, b, c]
                elif here < 0.0:
                    u[i, j, k] -= p[i, j, k] * reach(here, before)
                else:
                    u[i, j, k] += p[a, b, c] * reach(before, here)


@kernel_pair
def sources(b, phi, open_volume, growth):
    """Leave sources of pressure in the liquid only, and let it grow there by `growth` of its volume, in velocity."""
    n0, n1, n2 = b.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            b[i, j, k] = b[i, j, k] + growth * open_volume[i, j, k] if phi[i, j, k] < 0.0 else 0.0


@kernel_pair
def no_sources(b, w0, w1, w2, held):
    """Leave no sources of pressure in cells without any equation: all their faces are closed, but for rounding."""
    n0, n1, n2 = b.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            total = held[i, j, k] + w1[i, j, k] + w1[i, j + 1, k] + w2[i, j, k] + w2[i, j, k + 1]
            if n0 > 1:
                total += w0[i, j, k] + w0[i + 1, j, k]
            if total == 0.0:
                b[i, j, k] = 0.0


@kernel_pair
def known_faces(u, phi, part, axis, narrow, state):
    """Give the state 0 to faces beside liquid that are open by `narrow` or more; all others get 255 and stand still."""
    n0, n1, n2 = state.shape
    m0, m1, m2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        one = phi[min(i, m0 - 1), min(j, m1 - 1)]
        two = phi[
            max(i - 1, 0) if axis == 0 else min(i, m0 - 1), max(j - 1, 0) if axis == 1 else min(j, m1 - 1)
        ]
        known, open_part, row = state[i, j], part[i, j], u[i, j]
        back = 1 if axis == 2 else 0
        for k in range(back, m2):
            wet = (one[k] < 0.0) | (two[k - back] < 0.0)
            known[k] = 0 if wet & (open_part[k] >= narrow) else 255
        if axis == 2:
            known[0] = 0 if one[0] < 0.0 and open_part[0] >= narrow else 255
            known[m2] = 0 if one[m2 - 1] < 0.0 and open_part[m2] >= narrow else 255
        for k in range(n2):
            row[k] = row[k] if known[k] == 0 else 0


@inline
def packed(i, j, k):
    """Return a sample as one number."""
    return (i << 40) | (j << 20) | k


@inline
def unpacked(at):
    """Return the sample of a packed number."""
    return at >> 40, (at >> 20) & 0xFFFFF, at & 0xFFFFF


@inline
def beside(i, j, k, side):
    """Return the neighbour on one of the six sides."""
    step = 1 if side % 2 else -1
    return (
        i + (step if side // 2 == 0 else 0),
        j + (step if side // 2 == 1 else 0),
        k + (step if side // 2 == 2 else 0),
    )


@inline
def first_front(state, front):
    """List the samples without a state (255) beside those with state 0, and give them state 1; return how many."""
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
                    front[count] = packed(i, j, k)
                    count += 1
    return count


@inline
def next_front(state, front, begin, end, number):
    """List the samples without a state beside those from `begin` to `end` of the list, and give them `number`."""
    n0, n1, n2 = state.shape
    count = end
    for at in range(begin, end):
        i, j, k = unpacked(front[at])
        for side in range(6):
            a, b, c = beside(i, j, k, side)
            if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2 and state[a, b, c] == 255:
                state[a, b, c] = number
                front[count] = packed(a, b, c)
                count += 1
    return count


@kernel
def spread(u, state, layers):
    """Continue u from faces with state 0 into those with 255, layer by layer, as the mean of known neighbours."""
    n0, n1, n2 = u.shape
    front = np.empty(u.size, np.int64)
    begin, end = 0, first_front(state, front)
    for number in range(1, layers + 1):
        for at in range(begin, end):
            i, j, k = unpacked(front[at])
            total = 0.0
            count = 0
            for side in range(6):
                a, b, c = beside(i, j, k, side)
                if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2 and state[a, b, c] < number:
                    total += u[a, b, c]
                    count += 1
            u[i, j, k] = total / count
        if number < layers:
            begin, end = end, next_front(state, front, begin, end, number + 1)

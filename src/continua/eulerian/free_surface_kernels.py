"""Compiled parts of the pressure below a free surface: its equations, sources and gradient."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = ["equations", "forget", "known_faces", "sources", "spread", "subtract_gradient"]

NEAREST = 0.01  # of the spacing: the surface is never taken to be nearer to a middle of a cell


@inline
def _reach(wet, dry):
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
                    exact += w0[i, j, k] * _reach(here, phi[i - 1, j, k])
                    rough += 2.0 * w0[i, j, k]
                if i < n0 - 1 and phi[i + 1, j, k] >= 0.0:
                    exact += w0[i + 1, j, k] * _reach(here, phi[i + 1, j, k])
                    rough += 2.0 * w0[i + 1, j, k]
                if j > 0 and phi[i, j - 1, k] >= 0.0:
                    exact += w1[i, j, k] * _reach(here, phi[i, j - 1, k])
                    rough += 2.0 * w1[i, j, k]
                if j < n1 - 1 and phi[i, j + 1, k] >= 0.0:
                    exact += w1[i, j + 1, k] * _reach(here, phi[i, j + 1, k])
                    rough += 2.0 * w1[i, j + 1, k]
                if k > 0 and phi[i, j, k - 1] >= 0.0:
                    exact += w2[i, j, k] * _reach(here, phi[i, j, k - 1])
                    rough += 2.0 * w2[i, j, k]
                if k < n2 - 1 and phi[i, j, k + 1] >= 0.0:
                    exact += w2[i, j, k + 1] * _reach(here, phi[i, j, k + 1])
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
            a = i - 1 if axis == 0 else i
            b = j - 1 if axis == 1 else j
            c = k - 1 if axis == 2 else k
            here, before = phi[i, j, k], phi[a, b, c]
            if part[i, j, k] > 0 and (here < 0.0 or before < 0.0):
                if here < 0.0 and before < 0.0:
                    u[i, j, k] -= p[i, j, k] - p[a, b, c]
                elif here < 0.0:
                    u[i, j, k] -= p[i, j, k] * _reach(here, before)
                else:
                    u[i, j, k] += p[a, b, c] * _reach(before, here)


@kernel_pair
def sources(b, phi, open_volume, growth):
    """Leave sources of pressure in the liquid only, and let it grow there by `growth` of its volume, in velocity."""
    n0, n1, n2 = b.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            b[i, j, k] = b[i, j, k] + growth * open_volume[i, j, k] if phi[i, j, k] < 0.0 else 0.0


@kernel_pair
def known_faces(phi, part, axis, narrow, state):
    """Give the state 0 to faces beside liquid that are open by `narrow` or more, 255 to all others."""
    n0, n1, n2 = state.shape
    m0, m1, m2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            a = i - 1 if axis == 0 else i
            b = j - 1 if axis == 1 else j
            c = k - 1 if axis == 2 else k
            wet = i < m0 and j < m1 and k < m2 and phi[min(i, m0 - 1), min(j, m1 - 1), min(k, m2 - 1)] < 0.0
            if a >= 0 and b >= 0 and c >= 0:
                wet = wet or phi[a, b, c] < 0.0
            state[i, j, k] = 0 if wet and part[i, j, k] >= narrow else 255


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
    count = 0
    for i in range(n0):
        for j in range(n1):
            row = state[i, j]
            for k in range(n2):
                if row[k] != 255:
                    continue
                near = (
                    (k > 0 and row[k - 1] == 0)
                    or (k < n2 - 1 and row[k + 1] == 0)
                    or (j > 0 and state[i, j - 1, k] == 0)
                    or (j < n1 - 1 and state[i, j + 1, k] == 0)
                    or (i > 0 and state[i - 1, j, k] == 0)
                    or (i < n0 - 1 and state[i + 1, j, k] == 0)
                )
                if near:
                    row[k] = 1
                    front[count] = (i * n1 + j) * n2 + k
                    count += 1
    return count


@inline
def next_front(state, front, begin, end, number):
    """List the samples without a state beside those from `begin` to `end` of the list, and give them `number`."""
    n0, n1, n2 = state.shape
    count = end
    for at in range(begin, end):
        i, j, k = front[at] // (n1 * n2), front[at] // n2 % n1, front[at] % n2
        for side in range(6):
            a, b, c = beside(i, j, k, side)
            if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2 and state[a, b, c] == 255:
                state[a, b, c] = number
                front[count] = (a * n1 + b) * n2 + c
                count += 1
    return count


@kernel
def spread(u, state, layers):
    """Continue u from faces with state 0 into those with 255, layer by layer, as the mean of known neighbours."""
    n0, n1, n2 = u.shape
    front = np.empty(u.size, np.int32)
    begin, end = 0, first_front(state, front)
    for number in range(1, layers + 1):
        for at in range(begin, end):
            i, j, k = front[at] // (n1 * n2), front[at] // n2 % n1, front[at] % n2
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


@kernel
def forget(u, state):
    """Set faces without a known velocity to 0."""
    n0, n1, n2 = u.shape
    for r in range(n0 * n1):
        row, known = u[r // n1, r % n1], state[r // n1, r % n1]
        for k in range(n2):
            row[k] = row[k] if known[k] == 0 else 0

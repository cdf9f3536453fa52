"""Compiled functions for curved Bernstein-Bezier tetrahedra of the corotated law.

As `corotated_tet_kernels`, but the gradients of the barycentric coordinates and the volume density differ from point
to point. The stiffness is still a sum of the moments of E_cd over the points, with G_c = sqrt(det J / 6) R grad b_c of
each point.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel_pair
from continua.numerics.polar import LANES, polar_lanes
from continua.solids.elements.bernstein_kernels import element_stiffness
from continua.solids.elements.colored_assembly import add_element, begin_rows
from continua.solids.elements.corotated_tet_kernels import (
    _D,
    _DET,
    _LAM,
    _MU,
    _N,
    _R,
    _X,
    _corner_gradients,
    _deformation_lanes,
    _element_force,
    _law_lanes,
    _point_stiffness,
    _sum_moments,
)


@kernel_pair
def point_records(coefficients, elements, gradients, lam, mu, slopes, records, inverted):
    """Fill the records of all points; `inverted` counts elements with a point of det F <= 0, a block of lanes each.

    Args:
        coefficients: Current coefficients [n, 3].
        elements: Nodes of the curved elements [m, k].
        gradients: Rest gradients of corners 1 to 3 at the points [m, q, 9].
        lam, mu: Lame's constants [m].
        slopes: dB_I/db_c at the points [q, k, 4].
        records: Result [m, q, 25].
        inverted: Result.
    """
    m = elements.shape[0]
    for block in prange(inverted.shape[0]):
        s = np.zeros(_X + 3 * LANES * elements.shape[1])
        flipped = np.zeros(LANES, np.int64)
        lo = uint64(block * LANES)
        n = min(uint64(LANES), uint64(m) - lo)
        for a in range(uint64(elements.shape[1])):
            row = uint64(_X) + uint64(3 * LANES) * a
            for e in range(n):
                i = uint32(elements[lo + e, a])
                for c in range(uint64(3)):
                    s[row + c * uint64(LANES) + e] = coefficients[i, c]
        for e in range(n):
            s[uint64(_LAM) + e] = lam[lo + e]
            s[uint64(_MU) + e] = mu[lo + e]
        for q in range(uint64(slopes.shape[0])):
            for c in range(uint64(9)):
                for e in range(n):
                    s[uint64(_D) + c * uint64(LANES) + e] = gradients[lo + e, q, c]
            _deformation_lanes(s, slopes, q)
            polar_lanes(s, 0, 9, 18, n)
            _law_lanes(s)
            for e in range(n):
                if s[uint64(_DET) + e] <= 0.0:
                    flipped[e] = 1
                for c in range(uint64(9)):
                    records[lo + e, q, c] = s[uint64(_R) + c * uint64(LANES) + e]
                for c in range(uint64(16)):
                    records[lo + e, q, uint64(9) + c] = s[uint64(_N) + c * uint64(LANES) + e]
        inverted[block] = flipped.sum()


@inline
def _point_gradients(gradients, e, q, g):
    """Set g [4, 3] to the rest gradients of the corners of element e at point q."""
    for i in range(3):
        g[1, i] = gradients[e, q, i]
        g[2, i] = gradients[e, q, 3 + i]
        g[3, i] = gradients[e, q, 6 + i]
        g[0, i] = -(g[1, i] + g[2, i] + g[3, i])


@inline
def _add_point_force(records, e, q, g, density, weights, S):
    """Add point q to S [r, 12]: the moments of P grad b_c of the four corners with the basis of degree p - 1."""
    for c in range(4):
        g0, g1, g2 = density * g[c, 0], density * g[c, 1], density * g[c, 2]
        for i in range(3):
            at = 15 + 3 * i
            t = records[e, q, at] * g0 + records[e, q, at + 1] * g1 + records[e, q, at + 2] * g2
            for J in range(weights.shape[0]):
                S[J, 3 * c + i] += weights[J, q] * t


@kernel_pair
def assemble(straight, curved, place, constants, weights, terms, elements, indptr, indices, assembly, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f (see `elements.colored_assembly`).

    Args:
        straight: Of the straight elements: records [m, q, 25], gradients of corners 1 to 3 [9, m], and roots of the
            volumes [m].
        curved: Of the curved elements: records [c, q, 25], gradients at the points [c, q, 9], and roots of the volume
            densities there [c, q].
        place: Number among the straight elements, or -1 - the number among the curved ones, of every element.
        constants: Lame's, lambda and mu of every element.
        weights: Of the points in the moments [h, q], padded, and in the force [r, q], of straight and of curved
            elements; `parts` of the tables.
        terms: `moment_terms` of the tables.
        elements: Nodes of the elements [m, k].
        indptr, indices: Of the pattern.
        assembly: The `ColoredAssembly`.
        system: The arrays of the `AssembledSystem`.
    """
    records, rest_inverse, root_volume = straight
    curved_records, gradients, roots = curved
    lam, mu = constants
    moments, forces, curved_moments, curved_forces, parts = weights
    groups, places, blocks_of, factors = terms
    order, chunks, colors, first, slots = assembly
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    k = elements.shape[1]
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            g = np.empty((4, 3))
            G = np.empty((4, 3))
            V = np.empty((3, 4, 9))
            E = np.zeros((moments.shape[1], 144))
            curved_E = np.zeros((curved_moments.shape[1], 144))
            M = np.empty((moments.shape[0], 144))
            K = np.empty((k, k, 9))
            S = np.empty((forces.shape[0], 12))
            f = np.empty((k, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                at = place[e]
                if at >= 0:
                    own = uint64(at)
                    root = root_volume[own]
                    _corner_gradients(rest_inverse, own, g)
                    for q in range(uint64(records.shape[1])):
                        _point_stiffness(records, own, q, g, root, lam[e], mu[e], G, V, E)
                    _sum_moments(moments, E, M)
                    _element_force(records, own, g, root * root, forces, parts, S, f)
                else:
                    own = uint64(-1 - at)
                    S[:] = 0.0
                    for q in range(uint64(curved_records.shape[1])):
                        root = roots[own, q]
                        _point_gradients(gradients, own, q, g)
                        _point_stiffness(curved_records, own, q, g, root, lam[e], mu[e], G, V, curved_E)
                        _add_point_force(curved_records, own, q, g, root * root, curved_forces, S)
                    _sum_moments(curved_moments, curved_E, M)
                    for I in range(k):
                        for i in range(3):
                            f[I, i] = 0.0
                        for c in range(4):
                            J = parts[I, c]
                            if J >= 0:
                                for i in range(3):
                                    f[I, i] += S[J, 3 * c + i]
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                element_stiffness(M, groups, places, blocks_of, factors, K)
                add_element(e, elements, indptr, slots, K, f, c_stiffness, dt, blocks, rhs)

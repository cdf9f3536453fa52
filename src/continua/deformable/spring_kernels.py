"""Force, energy and tangent of damped springs and of volumes of tetrahedra, on arrays.

A spring acts on the vector s = sum of w_a x_a of up to four nodes: its energy is k/2 (|s| - l)^2, its force on node a
is -w_a k (|s| - l) s/|s|. With the weights -1 and 1 it is a spring between two nodes; with the weights of a discrete
Laplacian it resists bending of a rope (three nodes) or of two triangles (four, Bergou 2006). As the weights add up to
zero and the force is along s, the forces keep momentum, and those of two nodes angular momentum as well; so do the
others where l = 0 or the weights are those of a rotation-invariant s.

Its tangent is w_a w_b S with S = k ((1 - l/|s|) (1 - n n^T) + n n^T), where the first factor is at least zero, so that
matrices are positive semidefinite.
"""

from math import sqrt

from numba import prange

from continua.numerics.kernel import inline, kernel, kernel_pair

__all__ = [
    "add_gathered",
    "add_volume_forces",
    "assemble_blocks",
    "assemble_momentum",
    "damping_records",
    "edge_forces",
    "edge_forces_by_node",
    "edge_records",
    "volume_records",
    "weighted_records",
]

_TINY = 1e-280  # square of a length below which the direction of a spring is unknown


@inline
def _record(s0, s1, s2, k, l, e, g, S):
    """Write energy, gradient with respect to s and tangent of spring e."""
    square = s0 * s0 + s1 * s1 + s2 * s2
    if not square > _TINY:
        g[e, 0] = g[e, 1] = g[e, 2] = 0.0
        S[e, 0] = S[e, 1] = S[e, 2] = k
        S[e, 3] = S[e, 4] = S[e, 5] = 0.0
        return 0.5 * k * l * l
    length = sqrt(square)
    n0, n1, n2 = s0 / length, s1 / length, s2 / length
    pull = k * (length - l)
    g[e, 0], g[e, 1], g[e, 2] = pull * n0, pull * n1, pull * n2
    across = max(pull / length, 0.0)
    along = k - across
    S[e, 0] = across + along * n0 * n0
    S[e, 1] = across + along * n1 * n1
    S[e, 2] = across + along * n2 * n2
    S[e, 3] = along * n0 * n1
    S[e, 4] = along * n0 * n2
    S[e, 5] = along * n1 * n2
    return 0.5 * pull * (length - l)


@kernel_pair
def edge_records(x, edges, k, l, energy, g, S):
    """Write energy [J], gradient [N] and tangent (00, 11, 22, 01, 02, 12) [N/m] of springs between two nodes."""
    for e in prange(edges.shape[0]):
        i, j = edges[e, 0], edges[e, 1]
        energy[e] = _record(
            x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2], k[e], l[e], e, g, S
        )  # fmt: skip


@kernel_pair
def weighted_records(x, nodes, weights, k, l, energy, g, S):
    """Write the same of springs on weighted sums of four nodes; `nodes` and `weights` have the shape [m, 4]."""
    for e in prange(nodes.shape[0]):
        s0 = s1 = s2 = 0.0
        for a in range(4):
            i, w = nodes[e, a], weights[e, a]
            s0 += w * x[i, 0]
            s1 += w * x[i, 1]
            s2 += w * x[i, 2]
        energy[e] = _record(s0, s1, s2, k[e], l[e], e, g, S)


@kernel_pair
def damping_records(x, edges, c, S):
    """Write c n n^T of springs between two nodes, the matrix of damping along them, with c [kg/s]."""
    for e in prange(edges.shape[0]):
        i, j = edges[e, 0], edges[e, 1]
        s0, s1, s2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        square = s0 * s0 + s1 * s1 + s2 * s2
        f = c[e] / square if square > _TINY else 0.0
        S[e, 0], S[e, 1], S[e, 2] = f * s0 * s0, f * s1 * s1, f * s2 * s2
        S[e, 3], S[e, 4], S[e, 5] = f * s0 * s1, f * s0 * s2, f * s1 * s2


@kernel_pair
def volume_records(x, tets, k, volume, energy, pressure, gradients):
    """Write energy k/2 (v - V)^2, pressure k (v - V) and the gradients of the volume v of each tet, shape [m, 4, 3].

    k [Pa/m3]. The gradient at a corner is a third of the inward area vector of the opposite face, so the forces add up
    to zero over a tetrahedron, unlike those along unit normals.
    """
    for e in prange(tets.shape[0]):
        i, j, m, n = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
        a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        b0, b1, b2 = x[m, 0] - x[i, 0], x[m, 1] - x[i, 1], x[m, 2] - x[i, 2]
        c0, c1, c2 = x[n, 0] - x[i, 0], x[n, 1] - x[i, 1], x[n, 2] - x[i, 2]
        p0, p1, p2 = (b1 * c2 - b2 * c1) / 6.0, (b2 * c0 - b0 * c2) / 6.0, (b0 * c1 - b1 * c0) / 6.0
        q0, q1, q2 = (c1 * a2 - c2 * a1) / 6.0, (c2 * a0 - c0 * a2) / 6.0, (c0 * a1 - c1 * a0) / 6.0
        r0, r1, r2 = (a1 * b2 - a2 * b1) / 6.0, (a2 * b0 - a0 * b2) / 6.0, (a0 * b1 - a1 * b0) / 6.0
        excess = a0 * p0 + a1 * p1 + a2 * p2 - volume[e]
        energy[e] = 0.5 * k[e] * excess * excess
        pressure[e] = k[e] * excess
        gradients[e, 0, 0], gradients[e, 0, 1] = -(p0 + q0 + r0), -(p1 + q1 + r1)
        gradients[e, 0, 2] = -(p2 + q2 + r2)
        gradients[e, 1, 0], gradients[e, 1, 1], gradients[e, 1, 2] = p0, p1, p2
        gradients[e, 2, 0], gradients[e, 2, 1], gradients[e, 2, 2] = q0, q1, q2
        gradients[e, 3, 0], gradients[e, 3, 1], gradients[e, 3, 2] = r0, r1, r2


@kernel
def edge_forces(x, v, edges, k, l, c, damped, out):
    """Add the forces of springs between two nodes to `out` [n, 3], spring by spring."""
    for e in range(edges.shape[0]):
        i, j = edges[e, 0], edges[e, 1]
        s0, s1, s2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        square = s0 * s0 + s1 * s1 + s2 * s2
        if not square > _TINY:
            continue
        length = sqrt(square)
        f = k[e] * (1.0 - l[e] / length)
        if damped:
            rate = (v[j, 0] - v[i, 0]) * s0 + (v[j, 1] - v[i, 1]) * s1 + (v[j, 2] - v[i, 2]) * s2
            f += c[e] * rate / square
        s0 *= f
        s1 *= f
        s2 *= f
        out[i, 0] += s0
        out[i, 1] += s1
        out[i, 2] += s2
        out[j, 0] -= s0
        out[j, 1] -= s1
        out[j, 2] -= s2


@kernel_pair
def edge_forces_by_node(x, v, indptr, neighbours, springs, k, l, c, damped, out):
    """Add the same forces node by node: every spring is computed at both of its ends."""
    for i in prange(indptr.shape[0] - 1):
        f0 = f1 = f2 = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            j, e = neighbours[q], springs[q]
            s0, s1, s2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            square = s0 * s0 + s1 * s1 + s2 * s2
            if not square > _TINY:
                continue
            length = sqrt(square)
            f = k[e] * (1.0 - l[e] / length)
            if damped:
                rate = (v[j, 0] - v[i, 0]) * s0 + (v[j, 1] - v[i, 1]) * s1 + (v[j, 2] - v[i, 2]) * s2
                f += c[e] * rate / square
            f0 += f * s0
            f1 += f * s1
            f2 += f * s2
        out[i, 0] += f0
        out[i, 1] += f1
        out[i, 2] += f2


@kernel_pair
def add_gathered(indptr, records, weights, g, factor, out):
    """Add `factor` times the sum of w g over the springs of each node to `out`, shape [n, 3]."""
    for i in prange(indptr.shape[0] - 1):
        f0 = f1 = f2 = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            e, w = records[q], weights[q]
            f0 += w * g[e, 0]
            f1 += w * g[e, 1]
            f2 += w * g[e, 2]
        out[i, 0] += factor * f0
        out[i, 1] += factor * f1
        out[i, 2] += factor * f2


@kernel_pair
def add_volume_forces(indptr, codes, pressure, gradients, factor, out):
    """Add `factor` times pressure times gradient over the tetrahedra of each node; a code is 4 * tet + corner."""
    for i in prange(indptr.shape[0] - 1):
        f0 = f1 = f2 = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            e, a = codes[q] // 4, codes[q] % 4
            p = pressure[e]
            f0 += p * gradients[e, a, 0]
            f1 += p * gradients[e, a, 1]
            f2 += p * gradients[e, a, 2]
        out[i, 0] += factor * f0
        out[i, 1] += factor * f1
        out[i, 2] += factor * f2


@kernel_pair
def assemble_blocks(
    springs, spring_codes, products, S, tets, tet_codes, k, gradients, mass, c_mass, c_stiffness, blocks
):
    """Set every block [9] to c_mass m 1 + c_stiffness (sum of w_a w_b S + sum of k g_a g_b^T).

    Block b has the springs `spring_codes[springs[b]:springs[b + 1]]` with the factors `products`, and the pairs of
    corners `tet_codes[tets[b]:tets[b + 1]]`, each 16 * tet + 4 * row + column.
    """
    for b in prange(blocks.shape[0]):
        s00 = s11 = s22 = s01 = s02 = s12 = 0.0
        for q in range(springs[b], springs[b + 1]):
            e, w = spring_codes[q], products[q]
            s00 += w * S[e, 0]
            s11 += w * S[e, 1]
            s22 += w * S[e, 2]
            s01 += w * S[e, 3]
            s02 += w * S[e, 4]
            s12 += w * S[e, 5]
        m = c_mass * mass[b]
        blocks[b, 0] = m + c_stiffness * s00
        blocks[b, 4] = m + c_stiffness * s11
        blocks[b, 8] = m + c_stiffness * s22
        blocks[b, 1] = blocks[b, 3] = c_stiffness * s01
        blocks[b, 2] = blocks[b, 6] = c_stiffness * s02
        blocks[b, 5] = blocks[b, 7] = c_stiffness * s12
        for q in range(tets[b], tets[b + 1]):
            e, r, s = tet_codes[q] // 16, (tet_codes[q] // 4) % 4, tet_codes[q] % 4
            f = c_stiffness * k[e]
            for u in range(3):
                for w in range(3):
                    blocks[b, 3 * u + w] += f * gradients[e, r, u] * gradients[e, s, w]


@kernel_pair
def assemble_momentum(mass, v, load, out):
    """Set `out` to m v + load, with the mass of every node."""
    for i in prange(mass.shape[0]):
        for u in range(3):
            out[i, u] = mass[i] * v[i, u] + load[i, u]

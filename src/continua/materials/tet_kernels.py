"""An isotropic law on linear tetrahedra: the pass that every law of principal stretches compiles for itself.

A record keeps an element's linearisation in its diagonal frame, with F = U diag(f) V^T and V the rest volume:
columns 0-11 V^T g_a, the gradients of the four corners; 12-20 U, row by row; 21-26 the Hessian (00, 11, 22, 01,
02, 12), 27-29 a and 30-32 b (01, 02, 12), 33-35 the principal stress, all times the volume; 36-38 f; 39 the
energy.
"""

from __future__ import annotations

from continua.materials.point_kernels import specialised
from continua.materials.principal_stretch import diagonal_tangent, extended
from continua.numerics.mat3 import matmul3, signed_svd

__all__ = ["CHUNK", "RECORD", "fill_record", "fill_records"]

RECORD = 40
CHUNK = 128  # elements per task


@specialised
def fill_records(principal, positions, tets, rest_inverse, volumes, constants, limit, records, chunk):
    """Fill the records of one chunk of elements for the law `principal`; return how many have det F <= 0."""
    count = 0
    for e in range(chunk * CHUNK, min(tets.shape[0], (chunk + 1) * CHUNK)):
        count += fill_record(
            principal, positions, tets, rest_inverse, volumes[e], constants[e], limit, records, e
        )
    return count


@specialised
def fill_record(principal, positions, tets, rest_inverse, volume, p, limit, records, e):
    """Fill the record of one element and return whether it is inverted."""
    i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
    x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
    edges = (
        positions[j, 0] - x, positions[k, 0] - x, positions[l, 0] - x,
        positions[j, 1] - y, positions[k, 1] - y, positions[l, 1] - y,
        positions[j, 2] - z, positions[k, 2] - z, positions[l, 2] - z,
    )  # fmt: skip
    D = (
        rest_inverse[0, e], rest_inverse[1, e], rest_inverse[2, e],
        rest_inverse[3, e], rest_inverse[4, e], rest_inverse[5, e],
        rest_inverse[6, e], rest_inverse[7, e], rest_inverse[8, e],
    )  # fmt: skip
    U, f, V = signed_svd(matmul3(edges, D))
    energy, g, h = extended(principal, f[0], f[1], f[2], p, limit)
    h, a, b = diagonal_tangent(f, g, h, True)
    G = matmul3(D, V)  # row c: V^T g of corner c + 1
    for c in range(3):
        records[e, c] = -(G[c] + G[3 + c] + G[6 + c])
        records[e, 3 + c] = G[c]
        records[e, 6 + c] = G[3 + c]
        records[e, 9 + c] = G[6 + c]
        records[e, 27 + c] = volume * a[c]
        records[e, 30 + c] = volume * b[c]
        records[e, 33 + c] = volume * g[c]
        records[e, 36 + c] = f[c]
    for c in range(9):
        records[e, 12 + c] = U[c]
    for c in range(6):
        records[e, 21 + c] = volume * h[c]
    records[e, 39] = volume * energy
    return 1 if f[2] <= 0.0 else 0

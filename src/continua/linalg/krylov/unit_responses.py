"""Columns of the inverse of a matrix: the responses to unit loads on single nodes, for many nodes at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.linalg import block_kernels
from continua.linalg.krylov import ssor_kernels, unit_response_kernels
from continua.linalg.matrix import BlockMatrix

__all__ = ["unit_responses"]

RELAXATION = 1.4
"""Over-relaxation factor of the preconditioner, as in `PCG`."""


def unit_responses(
    matrix: BlockMatrix,
    fixed: NDArray[np.uint8],
    projections: NDArray[np.float64] | None,
    nodes: NDArray[np.integer],
    targets: NDArray[np.integer],
    rtol: float,
    max_iterations: int = 200,
    modes: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], int]:
    """Return blocks of A^-1, and the iterations of conjugate gradients as products of the matrix with one vector.

    Args:
        matrix: The matrix A.
        fixed: Which rows are fixed; their responses are zero. See `LinearSolver.update`.
        projections: Free directions of partly fixed rows, or None.
        nodes: Rows on which unit loads act, shape [k].
        targets: Rows whose responses are wanted, shape [m].
        rtol: Tolerance of the residual, relative to the load, in the preconditioner's norm. The error of a node's
            response to its own load is about the square of the tolerance.
        max_iterations: Limit of the iterations.
        modes: Motions for which the response is found exactly first, such as rigid ones, shape [m, n, 3]; zero in fixed
            rows. Stiff bodies would need many iterations for these.

    Returns:
        The responses, shape [3 m, 3 k], and the number of matrix products.
    """
    p = matrix.pattern
    n = p.node_count
    out = np.zeros((3 * len(targets), 3 * len(nodes)))
    if not len(nodes) or not len(targets):
        return out, 0
    inverse, scaled = np.zeros((n, 6)), np.zeros((n, 6))
    ssor_kernels.diagonal_blocks.variant(p.parallel)(
        matrix.blocks, p.diagonal, fixed, RELAXATION, np.array([0, n], np.int64), scaled, inverse
    )
    if projections is not None:
        block_kernels.project_diagonal.variant(p.parallel)(
            matrix.blocks, p.diagonal, fixed, projections, RELAXATION, inverse, scaled
        )
    known = np.zeros((0, n, 3)) if modes is None else np.ascontiguousarray(modes)
    products = np.zeros_like(known)
    for mode, product in zip(known, products, strict=True):
        matrix.multiply(mode, product)
    nodes, targets = np.asarray(nodes, np.int64), np.asarray(targets, np.int64)
    energy = np.array([[float((a * b).sum()) for b in products] for a in known]).reshape(
        len(known), len(known)
    )
    loads = known[:, nodes].reshape(len(known), 3 * len(nodes))
    coefficients = (
        np.linalg.lstsq(energy, loads, rcond=1e-12)[0] if len(known) else np.zeros((0, loads.shape[1]))
    )
    groups = -(-len(nodes) // unit_response_kernels.NODES_PER_GROUP)
    iterations = np.zeros(groups, np.int64)
    unit_response_kernels.unit_responses.variant(groups > 1 and p.block_count >= 4_000)(
        p.indptr, p.indices, matrix.blocks, p.diagonal, inverse, scaled, nodes,
        targets, products, coefficients, rtol, max_iterations, out, iterations,
    )  # fmt: skip
    out += np.einsum("mi,mj->ij", known[:, targets].reshape(len(known), 3 * len(targets)), coefficients)
    return out, int(3 * iterations.sum()) + len(known)

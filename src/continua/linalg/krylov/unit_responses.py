"""Columns of the inverse of a matrix: the responses to unit loads on single nodes, for many nodes at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.linalg import block_kernels
from continua.linalg.krylov import ssor_kernels, unit_response_kernels
from continua.linalg.matrix import BlockMatrix, BlockPattern

__all__ = ["matrix_around", "unit_responses"]

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
    rows: int | None = None,
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
        rows: How many rows around the nodes take part, with all others at rest apart from the modes; None is all. The
            cost is then that of a small matrix, and responses are too small by what lies beyond.

    Returns:
        The responses, shape [3 m, 3 k], and the number of matrix products.
    """
    p = matrix.pattern
    nodes = np.asarray(nodes, np.int64)
    targets = np.asarray(targets, np.int64)
    out = np.zeros((3 * len(targets), 3 * len(nodes)))
    if not len(nodes) or not len(targets):
        return out, 0
    known = np.zeros((0, p.node_count, 3)) if modes is None else np.ascontiguousarray(modes)
    products = np.zeros_like(known)
    for mode, product in zip(known, products, strict=True):
        matrix.multiply(mode, product)
    energy = np.array([[float((a * b).sum()) for b in products] for a in known]).reshape(
        len(known), len(known)
    )
    loads = known[:, nodes].reshape(len(known), 3 * len(nodes))
    coefficients = (
        np.linalg.lstsq(energy, loads, rcond=1e-12)[0] if len(known) else np.zeros((0, loads.shape[1]))
    )
    part = None if rows is None or 2 * rows > p.node_count else matrix_around(matrix, nodes, rows)
    if part is None:
        iterations = _solve(
            matrix, fixed, projections, nodes, targets, products, coefficients, rtol, max_iterations, out
        )
    else:
        place, sub = part
        inside = np.flatnonzero(place >= 0)
        reached = np.flatnonzero(place[targets] >= 0)
        found = np.zeros((3 * len(reached), out.shape[1]))
        iterations = _solve(
            sub, fixed[inside], None if projections is None else projections[inside], place[nodes],
            place[targets[reached]], np.ascontiguousarray(products[:, inside]), coefficients, rtol, max_iterations,
            found,
        )  # fmt: skip
        out.reshape(len(targets), 3, -1)[reached] = found.reshape(len(reached), 3, -1)
    out += np.einsum("mi,mj->ij", known[:, targets].reshape(len(known), 3 * len(targets)), coefficients)
    return out, int(3 * iterations) + len(known)


def matrix_around(
    matrix: BlockMatrix, nodes: NDArray[np.integer], rows: int
) -> tuple[NDArray[np.int64], BlockMatrix]:
    """Return the places of at least `rows` rows around some nodes, -1 for others [n], and the matrix of these rows."""
    p = matrix.pattern
    place = np.empty(p.node_count, np.int64)
    count = unit_response_kernels.neighbourhood(p.indptr, p.indices, nodes, rows, place)
    inside = np.flatnonzero(place >= 0)
    most = int((p.indptr[inside + 1] - p.indptr[inside]).sum())
    indptr, indices = np.zeros(count + 1, np.int32), np.zeros(most, np.int32)
    diagonal, blocks = np.zeros(count, np.int32), np.zeros((most, 9))
    used = unit_response_kernels.restrict_matrix(
        p.indptr, p.indices, matrix.blocks, place, indptr, indices, blocks, diagonal
    )
    sub = BlockMatrix(BlockPattern.without_elements(indptr, indices[:used].copy(), diagonal))
    sub.blocks[:] = blocks[:used]
    return place, sub


def _solve(
    matrix: BlockMatrix,
    fixed: NDArray[np.uint8],
    projections: NDArray[np.float64] | None,
    nodes: NDArray[np.integer],
    targets: NDArray[np.integer],
    products: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    rtol: float,
    max_iterations: int,
    out: NDArray[np.float64],
) -> int:
    """Find the responses without those of the modes; returns the iterations of all groups."""
    p = matrix.pattern
    n = p.node_count
    inverse, scaled = np.zeros((n, 6)), np.zeros((n, 6))
    ssor_kernels.diagonal_blocks.variant(p.parallel)(
        matrix.blocks, p.diagonal, fixed, RELAXATION, np.array([0, n], np.int64), scaled, inverse
    )
    if projections is not None:
        block_kernels.project_diagonal.variant(p.parallel)(
            matrix.blocks, p.diagonal, fixed, projections, RELAXATION, inverse, scaled
        )
    groups = -(-len(nodes) // unit_response_kernels.NODES_PER_GROUP)
    iterations = np.zeros(groups, np.int64)
    unit_response_kernels.unit_responses.variant(groups > 1 and p.block_count >= 4_000)(
        p.indptr, p.indices, matrix.blocks, p.diagonal, inverse, scaled, nodes,
        targets, products, coefficients, rtol, max_iterations, out, iterations,
    )  # fmt: skip
    return int(iterations.sum())

"""All levels of a hierarchy brought up to date in place, against SciPy's triple products."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

import continua as ct
from benchmarks.bridge import irregular, least, product_time, system
from benchmarks.report import Result


def main(threads: int | None = None) -> Result:
    """Time the bridge of n = 8 and an irregular block of 48,000 tets."""
    ct.set_threads(threads if threads is not None else 2)
    rows: list[dict[str, object]] = []
    ratios = []
    for name, mesh in {"bridge, n = 8": ct.mesh.bridge(8), "irregular": irregular()}.items():
        matrix, _, fixed = system(mesh)
        solver = ct.Multigrid()
        solver.setup(matrix)
        solver.update(matrix, fixed)
        h = solver.hierarchy
        assert h is not None
        A0 = matrix.to_scipy().tocsr()
        carriers, size = [], A0.shape[0]
        for P in h.prolongations:  # with one number a pair of nodes, or with blocks
            carriers.append(
                sparse.csr_array(P if P.shape[0] == size else sparse.kron(P, sparse.eye_array(3)))
            )
            size = carriers[-1].shape[1]

        def scipy_products(A: sparse.csr_array = A0, carriers: list = carriers) -> None:
            for P in carriers:
                A = P.T @ A @ P

        def in_place(h: object = h, blocks: np.ndarray = matrix.blocks) -> None:
            for level in h.levels:  # type: ignore[attr-defined]
                level.product(blocks)
                blocks = level.blocks

        ours, theirs = least(in_place), least(scipy_products, 3)
        ratios.append(theirs / ours)
        rows.append(
            {
                "what": name,
                "tets": mesh.element_count,
                "levels": str(h.node_counts),
                "complexity": h.complexity,
                "in place ms": 1e3 * ours,
                "SciPy ms": 1e3 * theirs,
                "times": theirs / ours,
                "in SpMV": ours / product_time(matrix),
            }
        )
    return Result("Galerkin products of all levels", rows, min(ratios), 10.0)

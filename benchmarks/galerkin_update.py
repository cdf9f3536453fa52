"""Galerkin products of all levels of a hierarchy in place, against SciPy's triple products."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

import continua as ct
from benchmarks.bridge import irregular, product_time, system
from benchmarks.report import Result
from benchmarks.run import Run


def main(run: Run) -> Result:
    """Time a bridge and an irregular cube."""
    run.set_threads(2)
    rows: list[dict[str, object]] = []
    ratios = []
    n, cells = run.choose((2, 4), (8, 20))
    meshes = {f"bridge, n = {n}": ct.mesh.bridge(n), "irregular": irregular(cells)}
    for name in run.cases(list(meshes)):
        mesh = meshes[name]
        matrix, _, fixed = system(mesh)
        solver = ct.Multigrid()
        solver.setup(matrix)
        solver.update(matrix, fixed)
        h = solver.hierarchy
        assert h is not None
        A0 = matrix.to_scipy().tocsr()
        prolongations, size = [], A0.shape[0]
        for P in h.prolongations:  # with one number per pair of nodes, or with blocks
            prolongations.append(
                sparse.csr_array(P if P.shape[0] == size else sparse.kron(P, sparse.eye_array(3)))
            )
            size = prolongations[-1].shape[1]

        def scipy_products(A: sparse.csr_array = A0, prolongations: list = prolongations) -> None:
            for P in prolongations:
                A = P.T @ A @ P

        def in_place(h: object = h, blocks: np.ndarray = matrix.blocks) -> None:
            for level in h.levels:  # type: ignore[attr-defined]
                level.product(blocks)
                blocks = level.blocks

        ours, theirs = run.least(in_place), run.least(scipy_products, 3)
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
                "in SpMV": ours / product_time(run, matrix),
            }
        )
    return Result(
        "Galerkin products of all levels",
        rows,
        min(ratios),
        10.0,
        ["ratio = SciPy over in place, the smaller"],
    )

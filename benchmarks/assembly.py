"""Rotations and assembly of one corotated step of the 196,608-tet bridge against one product with its matrix."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.report import Result, best_of
from continua.linalg import BlockMatrix
from continua.solids.elements import LinearTets, System


def main(threads: int | None = None) -> Result:
    """Measure in turns: rotations, assembly, float64 block SpMV."""
    count = threads if threads is not None else 2
    ct.set_threads(count)
    mesh = ct.mesh.bridge(16)
    elements = LinearTets(mesh)
    law = ct.Corotated(young=1e6, poisson=0.3)
    elements.set_law(law, law.element_constants(np.arange(mesh.element_count)))
    rng = np.random.default_rng(0)
    x = mesh.points + 0.01 * rng.normal(size=mesh.points.shape)
    x[:, 1] += 0.3 * np.sin(mesh.points[:, 0])
    mass = elements.mass(1000.0, lumped=False)
    matrix, rhs = BlockMatrix(elements.pattern), np.zeros_like(x)
    v, out = rng.normal(size=x.shape), np.zeros_like(x)

    system = System(matrix, rhs, mass, 1.0, 1e-4, 0.01, v, out)
    times = best_of(
        {
            "rotations and stress": lambda: elements.update(x),
            "assembly of A and rhs": lambda: elements.assemble(system),
            "block SpMV, float64": lambda: matrix.multiply(v, out),
        }
    )
    spmv = times["block SpMV, float64"]
    ours = times["rotations and stress"] + times["assembly of A and rhs"]
    rows: list[dict[str, object]] = [
        {"what": what, "ms": 1e3 * t, "in SpMV": t / spmv, "ns a tet": 1e9 * t / mesh.element_count}
        for what, t in {**times, "rotations + assembly": ours}.items()
    ]
    note = f"{mesh.element_count} tets, {mesh.node_count} nodes, {matrix.pattern.block_count} blocks, {count} threads"
    return Result("One corotated step: rotations + assembly over one SpMV", rows, spmv / ours, 0.1, [note])

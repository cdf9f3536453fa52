"""One step of the bridge with a constant matrix: right-hand side and solve, against one product; and bandwidth."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.bridge import DT, YOUNG, least, left_end, product_time, triad
from benchmarks.report import Result
from continua.linalg import BlockMatrix
from continua.solids import mass_kernels
from continua.solids.elements import LinearTets, System
from continua.solids.unknowns import give_geometry

RTOL, STEPS = 1e-3, 60


def main(threads: int | None = None) -> Result:
    """Let the bridge of n = 16 swing with a constant matrix."""
    ct.set_threads(threads if threads is not None else 2)
    rows = [_case(n) for n in (4, 8, 16)]
    spmv = float(rows[-1]["in SpMV"])  # type: ignore[arg-type]
    notes = [f"n = 16: a step takes {spmv:.1f} SpMV; bar 14: {'met' if spmv <= 14 else 'not met'}"]
    return Result("A step with a constant matrix, 1e-3 from the warm start", rows, 14 / spmv, 1.0, notes)


def _case(n: int) -> dict[str, object]:
    mesh = ct.mesh.bridge(n)
    elements = LinearTets(mesh)
    give_geometry(elements)
    law = ct.Linear(young=YOUNG, poisson=0.3)
    elements.set_law(law, law.element_constants(np.arange(mesh.element_count)))
    mass = elements.mass(np.full(mesh.element_count, 1000.0), False)
    p = elements.pattern
    A, K = BlockMatrix(p), BlockMatrix(p)
    rhs, zero = np.zeros_like(mesh.points), np.zeros_like(mesh.points)
    elements.update(mesh.points)
    elements.assemble(System(K, rhs, mass, 0.0, 1.0, DT, zero, zero))
    elements.assemble(System(A, rhs, mass, 1.0, DT * DT, DT, zero, zero))
    fixed = left_end(mesh.points)
    load = DT * np.add.reduceat(mass, p.indptr[:-1])[:, None] * np.array([0.0, -9.81, 0.0])
    solver = ct.Multigrid(rtol=RTOL)
    solver.setup(A)
    solver.update(A, fixed)
    u, v, last, w = (np.zeros_like(rhs) for _ in range(4))
    force, momentum = np.zeros_like(rhs), np.zeros_like(rhs)
    iterations: list[int] = []
    times = mass_kernels.mass_times.pick(p.parallel)

    def step() -> None:
        K.multiply(u, force)
        times(p.indptr, p.indices, mass, v, momentum)
        np.multiply(force, -DT, out=rhs)
        np.add(rhs, momentum, out=rhs)
        np.add(rhs, load, out=rhs)
        np.multiply(v, 2.0, out=w)
        np.subtract(w, last, out=w)
        w[fixed == 1] = 0.0
        iterations.append(solver.solve(rhs, w, load).iterations)
        last[:] = v
        v[:] = w
        np.add(u, DT * w, out=u)

    seconds = [least(step, 1) for _ in range(STEPS)][5:]
    product = product_time(A)
    h = solver.hierarchy
    assert h is not None
    cycle = least(h.cycle)
    size = (p.block_count * 76 + 48 * p.node_count) * 1e-9
    sweep = (p.block_count * 40 * 2 + 150 * p.node_count) * 1e-9
    peak = triad(max(1.0, 1e3 * size))
    return {
        "n": n,
        "ms a step": 1e3 * float(np.median(seconds)),
        "in SpMV": float(np.median(seconds)) / product,
        "steps/s": 1.0 / float(np.median(seconds)),
        "iterations": float(np.median(iterations[5:])),
        "SpMV ms": 1e3 * product,
        "cycle in SpMV": cycle / product,
        "SpMV GB/s": size / product,
        "% of triad": 100 * size / product / peak,
        "cycle GB/s": sweep / cycle,
        "% of triad ": 100 * sweep / cycle / peak,
        "setup ms": 1e3 * least(lambda: solver.update(A, fixed), 5),
    }

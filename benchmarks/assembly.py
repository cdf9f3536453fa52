"""Assembly of one corotated step: linear tets in matrix products, quadratic tets against searching for each block."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

import continua as ct
from benchmarks.report import Result, against
from benchmarks.run import Run
from continua.linalg import BlockMatrix
from continua.numerics import inline, kernel
from continua.solids.elements import AssembledSystem, BernsteinTets, LinearTets
from continua.solids.elements.colored_assembly import ColoredAssembly, add_element, begin_rows


def main(run: Run) -> Result:
    """Measure linear tets in matrix products, and two ways of adding the matrices of quadratic tets."""
    count = run.set_threads(2)
    rows: list[dict[str, object]] = []
    notes, ratios = [], []
    sizes = run.choose([(1, 2), (2, 1)], [(1, 16), (2, 3), (2, 6)])
    for order, n in run.cases(sizes, lambda case: f"order {case[0]}, n = {case[1]}"):
        if order == 1:
            part, note = linear_rows(run, ct.mesh.bridge(n))
            notes.append(note)
        else:
            ct.set_threads(1)  # the cost of two ways to do the same, not how they share the memory
            part, ratio = quadratic_rows(run, ct.mesh.bridge(n))
            ratios.append(ratio)
        rows += part
    notes.append("ratio = adding the matrices of quadratic tets, searching for every block over known slots")
    return Result(
        f"Assembly of one corotated step, order 1 with {count} threads, order 2 with one",
        rows,
        min(ratios, default=None),
        1.7,
        notes,
    )


def _system(elements: LinearTets | BernsteinTets) -> tuple[AssembledSystem, np.ndarray]:
    law = ct.Corotated(young=1e6, poisson=0.3)
    elements.set_law(law, law.element_constants(np.arange(elements.element_count, dtype=np.int32)))
    rng = np.random.default_rng(0)
    rest = elements.rest_positions
    x = rest + 0.01 * rng.normal(size=rest.shape)
    x[:, 1] += 0.3 * np.sin(rest[:, 0])
    mass = elements.mass(np.full(elements.element_count, 1000.0), lumped=False)
    v = rng.normal(size=x.shape)
    matrix = BlockMatrix(elements.pattern)
    return AssembledSystem(matrix, np.zeros_like(x), mass, 1.0, 1e-4, 0.01, v, np.zeros_like(x)), x


def linear_rows(run: Run, mesh: ct.TetMesh) -> tuple[list[dict[str, object]], str]:
    """Measure rotations and assembly of linear tets, in products with the same matrix."""
    elements = LinearTets(mesh)
    system, x = _system(elements)
    out = np.zeros_like(x)
    times = run.best_of(
        {
            "rotations and stress": lambda: elements.update(x),
            "assembly of A and rhs": lambda: elements.assemble(system),
            "block SpMV, float64": lambda: system.matrix.multiply(system.velocities, out),
        },
        repeats=3,
    )
    spmv = times["block SpMV, float64"]
    ours = times["rotations and stress"] + times["assembly of A and rhs"]
    rows: list[dict[str, object]] = [
        {
            "order": 1,
            "tets": mesh.element_count,
            "what": what,
            "ms": 1e3 * t,
            "in SpMV": t / spmv,
            "ns per tet": 1e9 * t / mesh.element_count,
        }
        for what, t in {**times, "rotations + assembly": ours}.items()
    ]
    return rows, against(
        "order 1: rotations and assembly in matrix products", ours / spmv, 10.0, at_most=True
    )


def quadratic_rows(run: Run, mesh: ct.TetMesh) -> tuple[list[dict[str, object]], float]:
    """Measure the assembly of quadratic tets with known slots, and with a search for every block."""
    elements = BernsteinTets(mesh, 2)
    system, x = _system(elements)
    p = elements.pattern
    assembly = ColoredAssembly.make(elements.elements, elements.rest_positions, p)
    rng = np.random.default_rng(1)
    given = rng.normal(size=(10, 10, 9)), rng.normal(size=(10, 3))
    where = elements.elements, p.indptr, p.indices, *assembly, *system.arrays

    elements.update(x)
    add_known(*given, *where)
    known = system.matrix.blocks.copy()
    add_searching(*given, *where)
    if not np.array_equal(system.matrix.blocks, known):
        raise AssertionError("the two ways give different matrices")
    times = run.best_of(
        {
            "rotations": lambda: elements.update(x),
            "whole assembly": lambda: elements.assemble(system),
            "adding, known slots": lambda: add_known(*given, *where),
            "adding, searching": lambda: add_searching(*given, *where),
        },
        repeats=3,
    )
    rows: list[dict[str, object]] = [
        {
            "order": 2,
            "tets": mesh.element_count,
            "what": what,
            "ms": 1e3 * t,
            "ns per tet": 1e9 * t / mesh.element_count,
        }
        for what, t in times.items()
    ]
    return rows, times["adding, searching"] / times["adding, known slots"]


@inline
def _find(indices, first, last, column):
    """Return the position of `column` in the sorted indices[first:last], by bisection."""
    while last - first > uint32(1):
        middle = (first + last) >> uint32(1)
        if uint32(indices[middle]) <= column:
            first = middle
        else:
            last = middle
    return first


@inline
def _search_slots(e, elements, indptr, indices, found):
    """Set found [1, k, k] to the slots of the blocks of element e in their rows."""
    k = elements.shape[1]
    for a in range(k):
        i = uint32(elements[e, a])
        first, last = uint32(indptr[i]), uint32(indptr[i + uint32(1)])
        for b in range(k):
            found[0, a, b] = _find(indices, first, last, uint32(elements[e, b])) - first


@kernel(parallel=True)
def add_known(
    K, f, elements, indptr, indices, order, chunks, colors, first, slots,
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs,
):  # fmt: skip
    """Add the same matrix for every element, as the assembly of Bernstein tets adds each its own."""
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                add_element(e, elements, indptr, slots, K, f, c_stiffness, dt, blocks, rhs)


@kernel(parallel=True)
def add_searching(
    K, f, elements, indptr, indices, order, chunks, colors, first, slots,
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs,
):  # fmt: skip
    """Do the same, but search for every block in its row."""
    k = elements.shape[1]
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            found = np.empty((1, k, k), np.uint16)
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                _search_slots(e, elements, indptr, indices, found)
                add_element(
                    uint32(0), elements[e : e + 1], indptr, found, K, f, c_stiffness, dt, blocks, rhs
                )  # fmt: skip

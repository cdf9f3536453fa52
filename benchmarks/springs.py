"""Explicit springs against the bandwidth of memory, and position-based bodies against pyPBD.

pyPBD (Jan Bender's PositionBasedDynamics) gets the same constraints, one by one, in the same order, and the same number
of iterations. Each runs on one thread; they take turns.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run
from continua import springs
from continua.deformable import spring_kernels

STEP = 1.0 / 60.0
ITERATIONS = 10


def _bandwidth(run: Run, megabytes: int) -> float:
    """Return the bandwidth of a triad on one thread [bytes/s]."""
    n = megabytes * 2**17
    a, b, c = np.zeros(n), np.ones(n), np.ones(n)

    def triad() -> None:
        np.multiply(b, 1.5, out=a)
        np.add(a, c, out=a)

    return 5 * 8 * n / run.least(triad, 5)


def _explicit(run: Run) -> list[dict[str, object]]:
    """Measure the forces of springs on one thread, in both layouts."""
    rows: list[dict[str, object]] = []
    bandwidth = _bandwidth(run, run.choose(4, 64))
    networks = {
        "sheet": springs.sheet((1, 1), run.choose((20, 20), (500, 500))),
        "lattice": springs.lattice((1, 1, 1), run.choose((5, 5, 5), (42, 42, 42))),
    }
    for name, network in networks.items():
        m = network.element_count
        edges = network.springs
        x, v = network.points * 1.01, np.zeros_like(network.points)
        k, c = np.ones(m), np.zeros(m)
        length = np.linalg.norm(network.points[edges[:, 1]] - network.points[edges[:, 0]], axis=1)
        order = np.argsort(edges.ravel(), kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(edges.ravel()))]).astype(np.int32)
        neighbours = edges[:, ::-1].ravel()[order].astype(np.int32)
        numbers = (order // 2).astype(np.int32)
        out = np.zeros_like(x)
        by_spring = (x, v, edges, k, length, c, False, out)
        by_node = (x, v, indptr, neighbours, numbers, k, length, c, False, out)
        functions: dict[str, Callable[[], object]] = {
            "by spring": lambda by_spring=by_spring: spring_kernels.edge_forces(*by_spring),
            "by node": lambda by_node=by_node: spring_kernels.edge_forces_by_node.serial(*by_node),
        }
        times = run.best_of(functions, 10)
        for layout, seconds in times.items():
            # by spring: two indices, k and l of each spring; x and the force of each node once
            bound = (24 * m + 72 * network.node_count) / bandwidth
            rows.append(
                {
                    "case": f"forces of {m:,} springs of a {name}, {layout}",
                    "ms": 1e3 * seconds,
                    "million springs/s": m / seconds / 1e6,
                    "part of memory bound": bound / seconds,
                }
            )
    return rows


def _cloth(count: int) -> springs.SpringNetwork:
    """Return cloth of count x count nodes, with springs along the edges of its triangles."""
    full = springs.sheet((1, 1), (count - 1, count - 1), diagonals=False)
    mesh = ct.SurfaceMesh(full.points, full.triangles)
    return springs.SpringNetwork(mesh.points, mesh.edges, hinges=full.hinges, triangles=full.triangles)


def _volume(cells: int) -> springs.SpringNetwork:
    """Return a box of about 6 cells^3 tetrahedra."""
    mesh = ct.mesh.box(size=(1, 1, 1), cells=(cells, cells, cells))
    return springs.SpringNetwork(mesh.points, mesh.edges, tets=mesh.tets)


def _pypbd(network: springs.SpringNetwork, extended: bool, fixed: np.ndarray) -> Callable[[], object]:
    """Return the step of a pyPBD model with the constraints of the network."""
    import pypbd

    simulation = pypbd.Simulation.getCurrent()
    simulation.initDefault()
    model = simulation.getModel()
    if len(network.tets):
        model.addTetModel(network.points, network.tets.ravel().astype(np.uint32))
    else:
        model.addTriangleModel(network.points, network.triangles.ravel().astype(np.uint32))
    particles = model.getParticles()
    mass = 1.0 / network.node_count
    for node in range(network.node_count):
        particles.setMass(node, 0.0 if fixed[node] else mass)
    edges, hinges, tets = network.springs.tolist(), network.hinges.tolist(), network.tets.tolist()
    for i, j in edges:
        if extended:
            model.addDistanceConstraint_XPBD(i, j, 1e5)
        else:
            model.addDistanceConstraint(i, j, 1.0)
    for a, b, c, d in hinges:
        if extended:
            model.addIsometricBendingConstraint_XPBD(c, d, a, b, 1e-3)
        else:
            model.addIsometricBendingConstraint(c, d, a, b, 1e-3)
    for tet in tets:
        if extended:
            model.addVolumeConstraint_XPBD(*tet, 1e6)
        else:
            model.addVolumeConstraint(*tet, 1.0)
    controller = simulation.getTimeStep()
    controller.setValueUInt(pypbd.TimeStepController.NUM_SUB_STEPS, 1)
    controller.setValueUInt(pypbd.TimeStepController.MAX_ITERATIONS, ITERATIONS)
    controller.setValueUInt(pypbd.TimeStepController.MAX_ITERATIONS_V, 0)
    pypbd.TimeManager.getCurrent().setTimeStepSize(STEP)
    return lambda: controller.step(model)


def _ours(network: springs.SpringNetwork, extended: bool, fixed: np.ndarray) -> Callable[[], object]:
    constraints: list = [springs.Distance(compliance=1e-5)]
    if len(network.hinges):
        constraints.append(springs.Bending(modulus=1e-3, stiffness=1e-3))
    if len(network.tets):
        constraints.append(springs.Volume(bulk_modulus=1e6))
    body = ct.PositionBased(
        network,
        constraints=constraints,
        method="xpbd" if extended else "pbd",
        small_steps=1,
        iterations=ITERATIONS,
    )
    body.pin(np.flatnonzero(fixed))
    return lambda: body.step(STEP)


def main(run: Run) -> Result:
    """Measure one thread: million spring updates a second, and milliseconds a step against pyPBD."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read by pyPBD when it is imported
    run.set_threads(1)
    rows: list[dict[str, object]] = []
    ratios: list[float] = []
    networks = {
        "cloth": _cloth(run.choose(12, 100)),
        "volume": _volume(run.choose(3, 12)),
    }
    cases = ["explicit", *(f"{method} {name}" for name in networks for method in ("PBD", "XPBD"))]
    for case in run.cases(cases):
        if case == "explicit":
            rows += _explicit(run)
            continue
        method, name = case.split()
        network, extended = networks[name], method == "XPBD"
        fixed = network.points[:, 0] < network.points[:, 0].min() + 1e-6
        functions = {"Continua": _ours(network, extended, fixed)}
        peer = run.peer("pyPBD", lambda n=network, e=extended, f=fixed: _pypbd(n, e, f))
        if peer is not None:
            functions["pyPBD"] = peer
        times = run.best_of(functions, 20)
        count = network.element_count + len(network.hinges) + len(network.tets)
        row: dict[str, object] = {
            "case": f"{method} {name}, {count:,} constraints, {ITERATIONS} iterations",
            "ms": 1e3 * times["Continua"],
        }
        if peer is not None:
            row["pyPBD ms"] = 1e3 * times["pyPBD"]
            row["ratio"] = times["pyPBD"] / times["Continua"]
            ratios.append(times["pyPBD"] / times["Continua"])
        rows.append(row)
    return Result(
        "springs and position-based bodies, 1 thread",
        rows,
        min(ratios) if ratios else None,
        3.0,
        notes=["the ratio is that of the least favourable case of PBD and XPBD"],
        keys=("case",),
    )

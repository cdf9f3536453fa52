"""Multigrid with pressures as unknowns: the solution of the whole matrix, iterations near 0.5, constraints, threads."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.deformable.solver_setup import choose_solver
from continua.linalg import BlockMatrix
from continua.solids.elements.factory import make_elements
from continua.solids.multigrid_geometry import attach_multigrid_geometry
from tests.solids.linearise import give

KINDS = [("tets", 2), ("tets", 3), ("hexes", 2), ("quads", 2), ("triangles", 2)]


def _system(kind, order, n, poisson, dt=1e3, law=ct.Corotated, mean=True):
    """Return the elements, the matrix and right-hand side of a step of a bar under gravity, and its fixed nodes."""
    if kind in ("tets", "hexes"):
        mesh = (ct.mesh.box if kind == "tets" else ct.mesh.hex_box)((2.0, 1.0, 1.0), (2 * n, n, n))
    else:
        mesh = ct.mesh.rectangle((2.0, 1.0), (2 * n, n), kind=kind)
    law = law(young=1e6, poisson=poisson, density=1000.0)
    elements = give(make_elements(mesh, order, law, False, mean_volume=mean), law)
    attach_multigrid_geometry(elements)
    elements.update(elements.rest_positions)
    count = elements.node_count
    matrix, rhs = BlockMatrix(elements.pattern), np.zeros((count, 3))
    mass = elements.mass(np.full(elements.element_count, 1000.0), False)
    load = np.zeros((count, 3))
    load[:, 1] = -dt
    elements.assemble(AssembledSystem(matrix, rhs, mass, 1.0, dt * dt, dt, np.zeros_like(rhs), load))
    x = elements.rest_positions[:, 0]
    fixed = (x < x.min() + 1e-9).astype(np.uint8)
    rhs[fixed == 1] = 0.0
    return elements, matrix, rhs, fixed


def _solve(matrix, rhs, fixed, projections=None, start=None, **options):
    solver = ct.Multigrid(fallback=False, **options)
    solver.setup(matrix)
    solver.update(matrix, fixed, projections)
    x = np.zeros_like(rhs) if start is None else start.copy()
    return x, solver.solve(rhs, x)


@pytest.mark.parametrize("poisson", [0.49, 0.49999])
@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_the_solution_is_that_of_the_whole_matrix(kind, order, poisson):
    """With a node that slides in a plane, from a guess that satisfies neither."""
    n = 2 if kind in ("tets", "hexes") else 4
    _, matrix, rhs, fixed = _system(kind, order, n, poisson)
    sliding = int(np.flatnonzero(fixed == 0)[0])
    fixed[sliding] = 2
    projections = np.zeros((len(rhs), 6))
    projections[:, [0, 3, 5]] = 1.0
    projections[sliding, 0] = 0.0  # fixed along x
    start = np.random.default_rng(0).normal(size=rhs.shape) * 1e-6
    start[fixed == 1] = 0.0
    start[sliding, 0] = 0.0
    x, report = _solve(matrix, rhs, fixed, projections, start, rtol=1e-8)
    assert report.converged
    keep = np.repeat(fixed != 1, 3)
    keep[3 * sliding] = False
    if kind in ("quads", "triangles"):
        keep[2::3] = False
    A = matrix.to_scipy().tocsr()
    expected = np.zeros(x.size)
    expected[keep] = spsolve(A[keep][:, keep].tocsc(), rhs.ravel()[keep])
    np.testing.assert_allclose(x.ravel(), expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("kind", "order", "n"), [("tets", 2, 4), ("tets", 3, 2), ("hexes", 2, 3)])
def test_iterations_hardly_depend_on_the_poisson_ratio(kind, order, n):
    """At most three times those at 0.3, in statics and in a step of 20 ms, and without a dependence on lambda."""
    for dt in (1e3, 0.02):
        iterations = {}
        for poisson in (0.3, 0.49, 0.4999, 0.49999):
            _, matrix, rhs, fixed = _system(kind, order, n, poisson, dt, mean=poisson > 0.45)
            _, report = _solve(matrix, rhs, fixed, rtol=1e-6)
            assert report.converged
            iterations[poisson] = report.iterations
        assert iterations[0.4999] <= 3.0 * iterations[0.3]
        assert iterations[0.49999] <= 1.35 * iterations[0.4999]


def test_elements_of_order_two_use_it_by_default():
    elements, matrix, _, fixed = _system("tets", 2, 3, 0.4999)
    solver = choose_solver(elements)
    assert isinstance(solver.current, ct.PMultigrid)
    assert matrix.pressure_term is not None
    _, other, *_ = _system("tets", 2, 2, 0.4999, mean=False)
    assert other.pressure_term is None
    solver = ct.Multigrid()
    solver.setup(matrix)
    solver.update(matrix, fixed)
    assert solver.hierarchy.block_counts[0] < 0.25 * matrix.pattern.block_count


@pytest.mark.parametrize("law", [ct.Linear, ct.NeoHookean])
def test_copies_and_threads_step_alike(law):
    """Steps of a bar, of a law with constant stiffness and of another; restored, pickled, with one thread and two."""
    bar = ct.SoftBody(
        ct.mesh.box((1.0, 0.25, 0.25), (8, 2, 2)),
        material=law(young=1e5, poisson=0.4999, density=1000.0),
        order=2,
        name="bar",
    )
    bar.pin("left")
    world = ct.World([bar], gravity=(0.0, -5.0, 0.0), dt=0.01)
    for _ in range(2):
        assert world.step()[0].converged
    assert isinstance(bar.solver, ct.PMultigrid)
    twins = [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    state = bar.state()
    results = []
    try:
        for threads, each in ((2, world), (2, twins[0]), (1, twins[1])):
            ct.set_threads(threads)
            for _ in range(2):
                each.step()
            results.append(each.bodies[0].positions.tobytes())
    finally:
        ct.set_threads(2)
    bar.restore(state)
    for _ in range(2):
        world.step()
    assert {bar.positions.tobytes(), *results} == {results[0]}

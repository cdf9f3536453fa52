"""Multigrid: symmetry of the cycle, constraints on all levels, convergence, what it says."""

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as spla

from continua import Direct, Multigrid, PMultigrid, mesh
from continua.errors import InputError
from continua.linalg import PCG, BlockMatrix
from tests.linalg.bodies import SHAPES, apply, jittered, left, ready, system


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cycle": "w"},
        {"sweeps": 2},
        {"smoother": "jacobi", "cycle": "w"},
        {"smoother": "chebyshev", "sweeps": 2},
    ],
)
def test_cycle_is_symmetric_and_positive(name, options):
    """<B x, y> = <x, B y> to 1e-10 (A27), with pins, locks and single precision."""
    shape = SHAPES[name]()
    matrix, _, _ = system(shape)
    n = matrix.pattern.node_count
    rng = np.random.default_rng(5)
    fixed = left(shape.points)
    fixed[rng.random(n) < 0.05] = 2
    direction = rng.normal(size=(n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    S = np.eye(3) - direction[:, :, None] * direction[:, None, :]
    projections = np.ascontiguousarray(S[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])
    solver = ready(matrix, fixed, projections, **options)
    x, y = rng.normal(size=(2, n, 3))
    for vector in (x, y):
        vector[fixed == 1] = 0.0
        partly = fixed == 2
        vector[partly] = np.einsum("nij,nj->ni", S[partly], vector[partly])
    bx, by = apply(solver, x), apply(solver, y)
    assert abs(np.vdot(bx, y) - np.vdot(x, by)) < 1e-10 * np.sqrt(np.vdot(bx, x) * np.vdot(by, y))
    assert np.vdot(bx, x) > 0.0
    assert not bx[fixed == 1].any()  # constraints hold in the correction of all levels
    assert np.abs(np.einsum("ni,ni->n", bx, direction)[fixed == 2]).max() < 1e-12 * np.abs(bx).max()


def test_a_cycle_forgets_the_one_before_in_few_parts_as_in_many(monkeypatch):
    """From zero means from zero, also on a level that is cut into parts but swept by one thread."""
    monkeypatch.setattr("continua.linalg.hierarchy.PARALLEL_FROM", 1)
    matrix, rhs, elements = system(mesh.box((2, 1, 1), (12, 6, 6)))
    other = np.random.default_rng(6).normal(size=rhs.shape)
    parts = set()
    for least in (50, 150, 250, 350):
        monkeypatch.setattr("continua.linalg.hierarchy.LEAST_ROWS", least)
        solver = ready(matrix, left(elements.rest_positions))
        parts.add(int(solver.hierarchy.table[0, 3] - solver.hierarchy.table[0, 2]))
        first = apply(solver, rhs)
        apply(solver, other)
        np.testing.assert_array_equal(apply(solver, rhs), first)
        free = (left(elements.rest_positions) == 0)[:, None]
        a, b = apply(solver, rhs * free), apply(solver, other * free)
        assert abs(np.vdot(a, other * free) - np.vdot(b, rhs * free)) < 1e-10 * np.linalg.norm(
            a
        ) * np.linalg.norm(other)
    assert min(parts) <= 3 < max(parts)


def test_slow_solves_go_over_to_w_cycles():
    """A slender beam that bends and hardly has mass: V-cycles are slow, since coarse tetrahedra bend too little."""
    matrix, rhs, elements = system(mesh.bridge(4), young=1e11)
    fixed = left(elements.rest_positions)
    counts, results = {}, []
    for kind in ("v", "auto"):
        x = np.zeros_like(rhs)
        report = ready(matrix, fixed, cycle=kind, rtol=1e-8, fallback=False).solve(rhs, x)
        assert report.converged
        counts[kind] = report.iterations
        results.append(x)
    assert counts["auto"] < counts["v"]
    np.testing.assert_allclose(*results, atol=1e-5 * np.abs(results[0]).max())
    easy, rhs, elements = system(mesh.bridge(4), young=1e5)
    assert (
        len(
            {
                ready(easy, fixed, cycle=kind).solve(rhs, np.zeros_like(rhs)).iterations
                for kind in ("v", "auto")
            }
        )
        == 1
    )


def test_plain_cycles_contract_and_energy_falls_monotonously():
    """A cube under gravity: error at most 1e-2 after 3 V-cycles (Georgii 2007's protocol), monotone in energy."""
    matrix, rhs, elements = system(mesh.box((1, 1, 1), (16, 16, 16)))
    rhs[:] = [0.0, -1.0, 0.0]
    fixed = left(elements.rest_positions)
    free = np.repeat(fixed == 0, 3)
    A = matrix.to_scipy().tocsr()[free][:, free]
    exact = np.zeros(rhs.size)
    exact[free] = spla.spsolve(A.tocsc(), rhs.ravel()[free])
    errors, distances = [], []
    for cycles in (1, 2, 3, 4):
        solver = ready(matrix, fixed, accelerate=False, max_iterations=cycles, rtol=1e-14, fallback=False)
        x = np.zeros_like(rhs)
        solver.solve(rhs, x)
        e = (x.ravel() - exact)[free]
        errors.append(np.sqrt(e @ (A @ e)))
        distances.append(np.linalg.norm(e) / np.linalg.norm(exact))
    assert (np.diff(errors) < 0.0).all()
    assert distances[2] < 1e-2


def test_iterations_do_not_grow_with_the_mesh_while_those_of_jacobi_do():
    """MG-PCG to 1e-8 grows by less than 50 % from 384 to 24,576 tets (G38); Jacobi's at least doubles a step."""
    ours, jacobi = [], []
    for n in (2, 4, 8):
        matrix, rhs, elements = system(mesh.bridge(n), young=1e8)
        fixed = left(elements.rest_positions)
        ours.append(ready(matrix, fixed, rtol=1e-8, coarsest=40).solve(rhs, np.zeros_like(rhs)).iterations)
        other = PCG(rtol=1e-8, preconditioner="jacobi")
        other.setup(matrix)
        other.update(matrix, fixed)
        jacobi.append(other.solve(rhs, np.zeros_like(rhs)).iterations)
    assert ours[2] < 1.5 * ours[1]
    assert jacobi[2] > 1.5 * jacobi[1] > 2.0 * jacobi[0]
    assert ours[2] < 0.15 * jacobi[2]


CASES = {
    "soft": {"young": 1e3},
    "stiff": {"young": 1e12},
    "nearly incompressible": {"poisson": 0.49},
    "contrast 1e6": {"contrast": 1e6},
    "contrast 1e9": {"contrast": 1e9},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", ["lattice", "irregular"])
def test_hard_materials_converge_to_the_direct_solution(name, shape):
    matrix, rhs, elements = system(SHAPES[shape](), **CASES[name])
    fixed = left(elements.rest_positions)
    x, exact = np.zeros_like(rhs), np.zeros_like(rhs)
    report = ready(matrix, fixed, rtol=1e-10, fallback=False).solve(rhs, x)
    assert report.converged
    most = 25 if name != "nearly incompressible" else 50 if shape == "lattice" else 60
    assert report.iterations <= most
    direct = Direct()
    direct.setup(matrix)
    direct.update(matrix, fixed)
    assert direct.solve(rhs, exact).converged
    A = matrix.to_scipy()
    e = (x - exact).ravel()
    assert e @ (A @ e) < 1e-12 * (exact.ravel() @ (A @ exact.ravel()))


@pytest.mark.parametrize("size", [0.12, 0.07])
def test_bodies_with_limbs_and_cut_elements_converge_as_lattices_do(size):
    """At most 25 iterations to 1e-6 at 20 ms on an irregular mesh with slivers and thin limbs, held or free."""
    limbs = [
        mesh.RoundCone((0, 0, 0), (1, 0, 0), 0.3),
        *(mesh.RoundCone((x, 0, z), (x, -0.9, z), 0.1) for x in (0, 1) for z in (-0.15, 0.15)),
    ]
    matrix, rhs, elements = system(mesh.blob(limbs, size, 0.05))
    low = elements.rest_positions[:, 1]
    for fixed in ((low < low.min() + 0.05).astype(np.uint8), np.zeros(len(rhs), np.uint8)):
        report = ready(matrix, fixed, rtol=1e-6, fallback=False).solve(rhs, np.zeros_like(rhs))
        assert report.converged
        assert report.iterations <= 25


@pytest.mark.parametrize("contrast", [1e6, 1e9])
@pytest.mark.parametrize("shape", ["lattice", "irregular"])
def test_thin_layers_of_very_different_stiffness_converge_or_say_who_did(shape, contrast):
    """Layers of one element: the answer is that of the direct solver, by multigrid or by what replaces it."""
    body = SHAPES[shape]()
    steps = np.round(body.points[body.cells].mean(axis=1)[:, 2] * 6 - 0.5).astype(int) % 2
    matrix, rhs, elements = system(body, layers=1.0 + contrast * steps)
    fixed = left(elements.rest_positions)
    x, exact = np.zeros_like(rhs), np.zeros_like(rhs)
    report = ready(matrix, fixed, rtol=1e-9).solve(rhs, x)
    assert report.converged
    assert report.iterations <= 200 or "did not converge" in report.warnings[0]
    direct = Direct()
    direct.setup(matrix)
    direct.update(matrix, fixed)
    direct.solve(rhs, exact)
    e = (x - exact).ravel()
    A = matrix.to_scipy()
    assert e @ (A @ e) < 1e-10 * (exact.ravel() @ (A @ exact.ravel()))


def test_free_and_thin_bodies_converge():
    for shape in (mesh.bridge(4), mesh.box((1, 1, 0.05), (20, 20, 1))):
        matrix, rhs, _ = system(shape)
        report = ready(matrix, rtol=1e-6, fallback=False).solve(rhs, np.zeros_like(rhs))
        assert report.converged
        assert report.iterations <= 40


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("masses", [1.0, 0.0])
def test_p_multigrid_by_itself_needs_few_cycles_on_both_meshes(order, masses):
    """Bars of 4 x 1 x 1 and 8 x 2 x 2 cubes of 24 tets, 5 + 5 sweeps, the linear level solved exactly: about 1e-3 in 5
    or 6 cycles, dynamic and static, whatever the mesh (A25, A26).

    Sweeps back after the correction keep the cycle symmetric and cost convergence: for the static 4 x 1 x 1 bar of
    order 3 the dense error operator has a spectral radius of 0.69, and of 0.58 with forward sweeps alone."""
    most, factor = {2: (12, 0.55), 3: (17, 0.72)}[order]  # cycles to 1e-5, and the factor in the end
    for n in (1, 2):
        shape = mesh.box((1, 0.25, 0.25), (4 * n, n, n), split=24)
        matrix, rhs, elements = system(shape, order=order, young=5e5, poisson=0.45, masses=masses)
        squeezed = elements.rest_positions * [-0.2, 0.0, 0.0]
        rhs[:] = matrix.multiply(squeezed)
        fixed = left(elements.rest_positions)
        rhs[fixed == 1] = 0.0
        options = {"accelerate": False, "sweeps": 5, "coarsest": shape.node_count, "fallback": False}
        solver = ready(matrix, fixed, rtol=1e-12, **options)
        x, sizes = np.zeros_like(rhs), [np.linalg.norm(rhs)]
        for _ in range(most + 1):
            solver.max_iterations = 1
            solver.solve(rhs, x)
            sizes.append(np.linalg.norm((rhs - matrix @ x)[fixed == 0]))
        assert sizes[3 + order] <= {2: 1e-3, 3: 2e-3}[order] * sizes[0]
        assert sizes[most] <= 1e-5 * sizes[0]
        assert sizes[-1] <= factor * sizes[-2]


@pytest.mark.parametrize("order", [2, 3])
def test_iterations_of_orders_2_and_3_do_not_grow_with_the_mesh(order):
    """With coarser meshes below the linear level, and CG around the cycle (A26)."""
    counts = []
    for n in (2, 4):
        shape = mesh.box((1, 0.25, 0.25), (4 * n, n, n))
        matrix, rhs, elements = system(shape, order=order, young=5e5, poisson=0.45)
        solver = ready(matrix, left(elements.rest_positions), rtol=1e-5)
        counts.append(solver.solve(rhs, np.zeros_like(rhs)).iterations)
    assert counts[1] <= 1.3 * counts[0]
    assert solver.hierarchy.orders[: order + 1] == [*range(order, 0, -1), 1]


def test_degree_elevation_makes_galerkin_the_direct_discretisation():
    """P^T A_p P = A_{p-1} on flat tetrahedra (W11), with the consistent mass."""
    shape = mesh.box((1, 0.5, 0.5), (2, 1, 1))
    for order in (2, 3):
        high, _, elements = system(shape, order=order)
        low, _, _ = system(shape, order=order - 1)
        P, _ = elements.pattern.geometry.coarser()
        P3 = sparse.kron(P, sparse.eye_array(3))
        difference = (P3.T @ high.to_scipy() @ P3 - low.to_scipy()).toarray()
        assert np.abs(difference).max() < 1e-12 * np.abs(low.blocks).max()


def test_full_cycle_beats_one_cycle_from_zero():
    """FMG from zero has a smaller error than one V-cycle (G41)."""
    matrix, rhs, elements = system(mesh.bridge(4), young=1e8)
    fixed = left(elements.rest_positions)
    rhs[:] = [0.0, -1.0, 0.0]
    residuals = {}
    exact = np.zeros_like(rhs)
    ready(matrix, fixed, rtol=1e-12).solve(rhs, exact)
    A = matrix.to_scipy()
    solver = ready(matrix, fixed)
    rhs[fixed == 1] = 0.0
    for name, x in {
        "full": solver.hierarchy.full_cycle(matrix, rhs),
        "v": apply(solver, rhs),
    }.items():
        e = (x - exact).ravel()
        residuals[name] = e @ (A @ e)
    assert residuals["full"] < residuals["v"]
    x = np.zeros_like(rhs)
    assert ready(matrix, fixed, cycle="full", rtol=1e-8).solve(rhs, x).converged
    np.testing.assert_allclose(x, exact, atol=1e-6 * np.abs(exact).max())


def test_same_bits_for_any_number_of_threads():
    matrix, rhs, elements = system(mesh.bridge(8), wobble=0.005)
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        x = np.zeros_like(rhs)
        ready(matrix, left(elements.rest_positions)).solve(rhs, x)
        results.append(x)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("smoother", ["jacobi", "chebyshev"])
@pytest.mark.parametrize("shape", ["lattice", "irregular"])
def test_polynomial_smoothers_converge_with_the_same_bits_for_any_number_of_threads(smoother, shape):
    matrix, rhs, elements = system(mesh.bridge(8) if shape == "lattice" else jittered((16, 10, 10)))
    fixed = left(elements.rest_positions)
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        x = np.zeros_like(rhs)
        report = ready(matrix, fixed, smoother=smoother, sweeps=2, rtol=1e-8, fallback=False).solve(rhs, x)
        assert report.converged
        assert report.iterations <= 40
        results.append(x)
    np.testing.assert_array_equal(*results)
    exact = np.zeros_like(rhs)
    ready(matrix, fixed, rtol=1e-10).solve(rhs, exact)
    np.testing.assert_allclose(x, exact, atol=1e-6 * np.abs(exact).max())


def test_pins_may_change_without_new_levels():
    matrix, rhs, elements = system(mesh.box((2, 1, 1), (12, 6, 6)))
    solver = ready(matrix, left(elements.rest_positions), rtol=1e-10)
    solver.solve(rhs, np.zeros_like(rhs))
    hierarchy = solver.hierarchy
    fixed = (elements.rest_positions[:, 0] > 1.5).astype(np.uint8)  # whole coarse nodes are held now
    solver.update(matrix, fixed)
    assert solver.hierarchy is hierarchy
    x = np.zeros_like(rhs)
    x[fixed == 1] = 0.1
    report = solver.solve(rhs, x)
    assert report.converged
    assert not report.warnings
    assert (x[fixed == 1] == 0.1).all()
    free = np.repeat(fixed == 0, 3)
    A = matrix.to_scipy().tocsr()
    given = rhs.ravel()[free] - A[free][:, ~free] @ x.ravel()[~free]
    np.testing.assert_allclose(
        x.ravel()[free], spla.spsolve(A[free][:, free].tocsc(), given), rtol=1e-6, atol=1e-9
    )


def test_plane_bodies_have_no_stiffness_across_on_any_level():
    matrix, rhs, elements = system(mesh.rectangle((2, 1), (24, 12)))
    n = len(rhs)
    fixed = np.full(n, 2, np.uint8)
    projections = np.tile([1.0, 0, 0, 1.0, 0, 0], (n, 1))
    fixed[elements.rest_positions[:, 0] < 1e-9] = 1
    rhs[:, 2] = 0.0
    x = np.zeros_like(rhs)
    report = ready(matrix, fixed, projections, rtol=1e-8, fallback=False).solve(rhs, x)
    assert report.converged
    assert report.iterations <= 30
    assert not x[:, 2].any()


def test_without_geometry_neighbours_are_put_together():
    """Groups that only translate: slower than with rotations, but no more than that."""
    matrix, rhs, elements = system(mesh.box((1, 1, 1), (10, 10, 10)))
    bare = BlockMatrix.from_scipy(matrix.to_scipy())
    assert bare.pattern.geometry is None
    solver = ready(bare, left(elements.rest_positions), rtol=1e-6, fallback=False)
    report = solver.solve(rhs, np.zeros_like(rhs))
    assert len(solver.hierarchy.levels) >= 1
    assert not solver.hierarchy.levels[0].turning
    assert report.converged
    assert report.iterations <= 30


def test_failure_is_said_and_the_next_solver_takes_over():
    matrix, rhs, elements = system(mesh.box((1, 1, 1), (6, 6, 6)))
    fixed = left(elements.rest_positions)
    x, exact = np.zeros_like(rhs), np.zeros_like(rhs)
    report = ready(matrix, fixed, rtol=1e-8, max_iterations=1).solve(rhs, x)
    assert report.converged
    assert "Multigrid did not converge; PCG did" in report.warnings[0]
    ready(matrix, fixed, rtol=1e-10).solve(rhs, exact)
    np.testing.assert_allclose(x, exact, atol=1e-5 * np.abs(exact).max())
    alone = ready(matrix, fixed, rtol=1e-8, max_iterations=1, fallback=False).solve(rhs, np.zeros_like(rhs))
    assert not alone.converged
    matrix.blocks[:] *= -1.0
    start = np.ones_like(rhs)
    report = ready(matrix, fixed).solve(rhs, start)
    assert "Direct did" in report.warnings[0]  # a negative definite matrix: only the direct solver can
    np.testing.assert_allclose((matrix @ start)[fixed == 0], rhs[fixed == 0], atol=1e-6 * np.abs(rhs).max())


def test_budget_tells_its_error():
    """The estimate is within a factor 2 of the true error in the energy norm."""
    matrix, rhs, elements = system(mesh.bridge(4), young=1e9)
    fixed = left(elements.rest_positions)
    exact, x = np.zeros_like(rhs), np.zeros_like(rhs)
    ready(matrix, fixed, rtol=1e-12).solve(rhs, exact)
    report = ready(matrix, fixed, rtol=1e-12, budget_ms=1e-6).solve(rhs, x)
    assert (report.iterations, report.converged) == (1, False)
    assert "budget" in report.warnings[0]
    A = matrix.to_scipy()
    e = (x - exact).ravel()
    true = np.sqrt(e @ (A @ e) / (x.ravel() @ (A @ x.ravel())))
    assert 0.5 * true < report.error < 2.0 * true


def test_a_bad_start_is_forgotten():
    matrix, rhs, elements = system(mesh.bridge(2))
    fixed = left(elements.rest_positions)
    x = 1e6 * np.random.default_rng(0).normal(size=rhs.shape)
    x[fixed == 1] = 0.0
    report = ready(matrix, fixed, rtol=1e-6).solve(rhs, x)
    fresh = ready(matrix, fixed, rtol=1e-6).solve(rhs, np.zeros_like(rhs))
    assert report == fresh


def test_tiny_systems_are_solved_by_the_coarsest_level_alone():
    matrix, rhs, elements = system(mesh.box((1, 1, 1), (2, 2, 2)))
    report = ready(matrix, left(elements.rest_positions), rtol=1e-10).solve(rhs, np.zeros_like(rhs))
    assert report.converged
    assert report.iterations <= 2


def test_print_tells_levels_complexity_smoother_and_convergence():
    matrix, rhs, elements = system(mesh.bridge(4))
    solver = ready(matrix, left(elements.rest_positions))
    solver.solve(rhs, np.zeros_like(rhs))
    text = str(solver)
    for part in ("level 0: 2475 unknowns", "operator complexity", "Gauss-Seidel", "convergence factor"):
        assert part in text


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 0.0},
        {"cycle": "x"},
        {"sweeps": 0},
        {"precision": "half"},
        {"smoother": "x"},
        {"budget_ms": -1.0},
        {"coarsest": 0},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        Multigrid(**options)


def test_pmultigrid_refuses_order_1():
    matrix, _, _ = system(mesh.box((1, 1, 1), (2, 2, 2)))
    solver = PMultigrid()
    solver.setup(matrix)
    with pytest.raises(InputError, match="order 2 or 3"):
        solver.update(matrix, np.zeros(matrix.pattern.node_count, np.uint8))

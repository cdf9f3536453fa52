"""MINRES on displacement and pressure: against SciPy's direct solve and its MINRES, and honest where it fails."""

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as spla
import skfem

from continua import Multigrid, mesh
from continua.errors import InputError
from continua.linalg import MINRES, BlockMatrix, CouplingMatrix, SaddlePointMatrix
from tests.linalg.bodies import jittered
from tests.linalg.krylov.stokes import clamped, direct, free_dofs, loads, mixed, true_residual

PRECONDITIONERS = ["none", "jacobi", "ssor", "multigrid"]


def solved(system, rhs, fixed=None, x=None, projections=None, **options):
    """Return (solution, report) of one solve."""
    solver = MINRES(**options)
    solver.setup(system)
    solver.update(system, fixed, projections)
    x = np.zeros_like(rhs) if x is None else x.copy()
    return x, solver.solve(rhs, x)


@pytest.fixture(scope="module")
def stokes():
    system, points, _ = mixed(mesh.box((2, 1, 1), (4, 2, 2)))
    return system, clamped(points), loads(system)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("poisson", [0.3, 0.499, 0.5])
@pytest.mark.parametrize(
    "shape",
    [lambda: mesh.box((2, 1, 1), (3, 2, 2)), lambda: jittered((2, 3, 2)), lambda: mesh.sphere(0.5, 3)],
)
def test_the_solution_is_that_of_a_direct_solve(shape, poisson, preconditioner):
    system, points, _ = mixed(shape(), poisson=poisson, young=3.0)
    fixed = (points[:, 0] < points[:, 0].min() + 0.06).astype(np.uint8)
    rhs = loads(system)
    x, report = solved(system, rhs, fixed, rtol=1e-10, max_iterations=20_000, preconditioner=preconditioner)
    expected = direct(system, rhs, fixed)
    assert report.converged
    assert not report.warnings
    assert true_residual(system, rhs, x, fixed) <= 1e-10
    # the condition number of these systems is below 1e5
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_pressure_per_element_and_a_stabilised_pair_are_solved():
    """P2-P0 is stable; P1-P1 is not, and gets C = h^2 times the Laplacian (Brezzi and Pitkaranta 1984)."""
    shape = mesh.box((1, 1, 1), (3, 3, 2))
    system, points, _ = mixed(shape, pressure=skfem.ElementTetP0)
    fixed, rhs = clamped(points), loads(system)
    x, report = solved(system, rhs, fixed, rtol=1e-10, preconditioner="ssor")
    assert report.converged
    expected = direct(system, rhs, fixed)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    system, points, _ = mixed(shape, velocity=skfem.ElementTetP1)
    basis = skfem.Basis(skfem.MeshTet(shape.points.T, shape.tets.T.astype(np.int64)), skfem.ElementTetP1())
    laplace = skfem.BilinearForm(lambda p, q, w: 0.1 * w.h**2 * sum(p.grad * q.grad)).assemble(basis)
    system = SaddlePointMatrix(system.A, system.B, sparse.csr_array(laplace))
    fixed, rhs = clamped(points), loads(system)
    x, report = solved(system, rhs, fixed, rtol=1e-10, preconditioner="jacobi")
    assert report.converged
    expected = direct(system, rhs, fixed)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_iterations_stay_bounded_up_to_poisson_one_half():
    """The mass matrix over the shear modulus is spectrally equivalent to the Schur complement, whatever poisson is."""
    counts = []
    for poisson in (0.3, 0.49, 0.4999, 0.4999999, 0.5):
        system, points, _ = mixed(mesh.box((2, 1, 1), (4, 2, 2)), poisson=poisson)
        fixed = clamped(points)
        _, report = solved(system, loads(system), fixed, rtol=1e-8, preconditioner="multigrid")
        assert report.converged
        counts.append(report.iterations)
    assert max(counts) <= 1.6 * counts[0]
    assert max(counts[1:]) <= 1.1 * min(
        counts[1:]
    )  # about 100; rounding, and so the processor, changes a few


def test_iterations_hardly_grow_with_the_mesh_with_multigrid_while_those_of_jacobi_do():
    counts = {"multigrid": [], "jacobi": []}
    for cells in ((4, 2, 2), (8, 4, 4)):
        system, points, _ = mixed(mesh.box((2, 1, 1), cells))
        for preconditioner, found in counts.items():
            _, report = solved(
                system, loads(system), clamped(points), rtol=1e-6, preconditioner=preconditioner
            )
            assert report.converged
            found.append(report.iterations)
    growth = {name: after / before for name, (before, after) in counts.items()}
    assert growth["multigrid"] <= 1.45
    assert growth["jacobi"] >= 1.5
    assert counts["multigrid"][1] <= 0.4 * counts["jacobi"][1]


@pytest.mark.parametrize("preconditioner", ["none", "jacobi"])
@pytest.mark.parametrize("steps", [1, 2, 5, 17, 40])
def test_iterates_are_those_of_scipy(stokes, preconditioner, steps):
    """After the same number of steps both are in the same Krylov space and minimise the same norm."""
    system, fixed, rhs = stokes
    x, report = solved(system, rhs, fixed, rtol=1e-14, max_iterations=steps, preconditioner=preconditioner)
    assert report.iterations == steps
    assert not report.converged
    free = free_dofs(system, fixed)
    K = sparse.csr_array(system.to_scipy()[free][:, free])
    M = None
    if preconditioner == "jacobi":
        A = system.A.to_scipy().toarray()
        inverses = [
            np.linalg.inv(A[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]) for i in np.flatnonzero(fixed == 0)
        ]
        M = sparse.block_diag([*inverses, sparse.diags_array(1.0 / system.schur)], format="csr")
    else:
        scale = np.concatenate([np.ones(3 * int((fixed == 0).sum())), 1.0 / system.schur])
        M = sparse.diags_array(scale)  # a given Schur complement is used even without a preconditioner of A
    expected, _ = spla.minres(K, rhs[free], M=M, rtol=1e-30, maxiter=steps)
    np.testing.assert_allclose(x[free], expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_the_preconditioned_residual_falls_monotonously(stokes):
    """The defining property of the method, in the norm of the preconditioner."""
    system, fixed, rhs = stokes
    free = free_dofs(system, fixed)
    K = system.to_scipy()
    scale = np.concatenate([np.ones(3 * len(fixed)), 1.0 / system.schur])
    norms = []
    for steps in range(1, 40, 3):
        x, _ = solved(system, rhs, fixed, rtol=1e-14, max_iterations=steps, preconditioner="none")
        r = (rhs - K @ x) * free
        norms.append(np.sqrt((scale * r * r).sum()))
    assert (np.diff(norms) <= 1e-12 * norms[0]).all()


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("young", [1e-6, 1e9])
def test_units_do_not_matter(preconditioner, young):
    """Pressures of 1e9 beside displacements of 1e-9, and the reverse: both fields are solved to the tolerance.

    With E = 1e-6 the terms of B u are 1e6 times the load, so that rounding leaves 1e-10 of it.
    """
    system, points, _ = mixed(mesh.box((2, 1, 1), (3, 2, 2)), young=young, poisson=0.499)
    fixed = clamped(points)
    rhs = loads(system)
    rhs[3 * len(fixed) :] = 0.0
    expected = direct(system, rhs, fixed)
    if preconditioner == "none":  # without one the fields are not comparable
        _, report = solved(system, rhs, fixed, rtol=1e-9, max_iterations=300, preconditioner="none")
        assert report.converged or "limit" in report.warnings[0] or "stagnated" in report.warnings[0]
        return
    x, report = solved(system, rhs, fixed, rtol=1e-8, preconditioner=preconditioner)
    assert report.converged
    for got, wanted in zip(system.split(x), system.split(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("contrast", [1e3, 1e6])
def test_jumps_of_stiffness_are_solved_honestly(contrast):
    system, points, _ = mixed(mesh.box((2, 1, 1), (4, 2, 2)))
    n = len(points)
    jump = np.where(points[:, 0] > 1.0, np.sqrt(contrast), 1.0)
    D = sparse.diags_array(np.repeat(jump, 3))
    A = BlockMatrix.from_scipy(sparse.csr_array(D @ system.A.to_scipy() @ D))
    system = SaddlePointMatrix(A, system.B)
    fixed, rhs = clamped(points), loads(system)
    x, report = solved(system, rhs, fixed, rtol=1e-9, max_iterations=20_000, preconditioner="ssor")
    assert report.converged
    assert true_residual(system, rhs, x, fixed) <= 1e-9
    assert len(x) == 3 * n + system.B.row_count


@pytest.mark.parametrize("preconditioner", ["jacobi", "multigrid"])
@pytest.mark.parametrize("given", [True, False])
def test_a_constant_pressure_in_an_enclosed_flow_is_a_nullspace(preconditioner, given):
    """With the whole boundary fixed the pressure is known up to a constant; the solver finds the one without it."""
    system, points, _ = mixed(mesh.box((1, 1, 1), (3, 3, 3)))
    fixed = clamped(points, everywhere=True)
    rhs = loads(system)
    pressure = rhs[3 * len(points) :]
    pressure -= pressure.mean()  # no net source
    nullspace = np.concatenate([np.zeros(3 * len(points)), np.ones(system.B.row_count)])
    assert np.abs((system.to_scipy() @ nullspace)[free_dofs(system, fixed)]).max() < 1e-14
    options = {"nullspace": nullspace} if given else {}
    x, report = solved(system, rhs, fixed, rtol=1e-9, preconditioner=preconditioner, **options)
    assert report.converged
    assert true_residual(system, rhs, x, fixed) <= 1e-9
    free = free_dofs(system, fixed)
    K = system.to_scipy()[free][:, free].toarray()
    shortest = np.linalg.lstsq(K, rhs[free], rcond=1e-12)[0]
    if given:
        np.testing.assert_allclose(x[free], shortest, rtol=0, atol=1e-6 * np.abs(shortest).max())
        assert abs(x @ nullspace) <= 1e-12 * np.abs(x).sum()
    else:
        difference = x[free] - shortest
        difference -= nullspace[free] * (difference @ nullspace[free]) / nullspace.sum()
        assert np.abs(difference).max() <= 1e-6 * np.abs(shortest).max()


@pytest.mark.parametrize("given", [True, False])
def test_an_inconsistent_right_hand_side_is_reported_and_solved_in_the_least_squares_sense(given):
    system, points, _ = mixed(mesh.box((1, 1, 1), (2, 2, 2)))
    fixed = clamped(points, everywhere=True)
    rhs = loads(system)
    rhs[3 * len(points) :] = 1.0  # a net source in a closed box
    nullspace = np.concatenate([np.zeros(3 * len(points)), np.ones(system.B.row_count)])
    options = {"nullspace": nullspace} if given else {}
    x, report = solved(system, rhs, fixed, rtol=1e-9, preconditioner="jacobi", **options)
    assert not report.converged
    assert "nullspace" in report.warnings[-1] or "not in its range" in report.warnings[-1]
    assert np.isfinite(x).all()
    free = free_dofs(system, fixed)
    r = (rhs - system.to_scipy() @ x)[free]
    assert np.linalg.norm(r) / np.linalg.norm(rhs[free]) <= report.residual * (1.0 + 1e-9)
    assert np.linalg.norm(r) < np.linalg.norm(rhs[free])
    if given:  # what is left is the part in the nullspace
        np.testing.assert_allclose(r, nullspace[free] * (rhs @ nullspace) / nullspace.sum(), atol=1e-6)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_a_tolerance_below_rounding_is_reported_not_pretended(stokes, preconditioner):
    system, fixed, rhs = stokes
    x, report = solved(system, rhs, fixed, rtol=1e-17, max_iterations=5000, preconditioner=preconditioner)
    assert not report.converged
    assert "rounding" in report.warnings[-1]
    assert report.residual <= 1e-13
    assert true_residual(system, rhs, x, fixed) == pytest.approx(report.residual, rel=0.9)


@pytest.mark.parametrize("seed", range(6))
def test_converged_means_that_the_true_residual_passes(seed):
    """Ill-conditioned random systems, on which recurrences drift from the truth."""
    rng = np.random.default_rng(seed)
    n, m = 20, 15
    Q, _ = np.linalg.qr(rng.normal(size=(3 * n, 3 * n)))
    A = (Q * 10.0 ** rng.uniform(-2.0 * seed, 0, 3 * n)) @ Q.T
    B = rng.normal(size=(m, 3 * n))
    system = SaddlePointMatrix(
        BlockMatrix.from_scipy(sparse.csr_array(0.5 * (A + A.T))),
        CouplingMatrix.from_scipy(sparse.csr_array(B)),
    )
    rhs = loads(system, seed)
    for rtol in (1e-4, 1e-8, 1e-11):
        for preconditioner in ("none", "jacobi", "ssor"):
            x, report = solved(system, rhs, rtol=rtol, max_iterations=3000, preconditioner=preconditioner)
            left = np.linalg.norm(rhs - system.to_scipy() @ x) / np.linalg.norm(rhs)
            assert report.converged == (report.residual <= rtol)
            assert report.converged or report.warnings
            terms = np.linalg.norm(abs(system.to_scipy()) @ abs(x)) / np.linalg.norm(rhs)
            assert left <= report.residual + 1e-14 * (1.0 + terms)


def test_a_single_indefinite_matrix_needs_no_preconditioner_and_no_second_field():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 30))
    A = 0.5 * (A + A.T)
    matrix = BlockMatrix.from_scipy(sparse.csr_array(A))
    rhs = rng.normal(size=(10, 3))
    x, report = solved(matrix, rhs, rtol=1e-12, max_iterations=200, preconditioner="none")
    assert report.converged
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(A, rhs.ravel()), rtol=1e-8)
    x, report = solved(matrix, rhs, rtol=1e-10, max_iterations=200, preconditioner="jacobi")
    assert report.converged
    assert "without a preconditioner" in report.warnings[0]


def test_zero_gives_zero_and_the_solution_needs_no_iteration(stokes):
    system, fixed, rhs = stokes
    x, report = solved(system, np.zeros_like(rhs), fixed)
    assert (report.iterations, report.residual, report.converged) == (0, 0.0, True)
    assert not x.any()
    exact = direct(system, rhs, fixed)
    x, report = solved(system, rhs, fixed, x=exact, rtol=1e-9)
    assert report.iterations == 0
    assert report.converged
    np.testing.assert_array_equal(x, exact)
    near = exact * (1.0 + 1e-5 * np.random.default_rng(0).normal(size=exact.shape))
    _, warm = solved(system, rhs, fixed, x=near, rtol=1e-8)
    _, cold = solved(system, rhs, fixed, rtol=1e-8)
    assert warm.converged
    assert warm.iterations < 0.8 * cold.iterations
    _, report = solved(system, np.zeros_like(rhs), fixed, x=np.where(free_dofs(system, fixed), exact, 0.0))
    assert report.converged  # back to zero, relative to the residual of the guess


def test_fixed_values_enter_the_solution():
    system, points, _ = mixed(mesh.box((2, 1, 1), (3, 2, 2)), poisson=0.4)
    fixed = clamped(points)
    rhs = loads(system)
    start = np.zeros(system.size)
    system.split(start)[0][fixed == 1] = [0.1, -0.2, 0.3]
    for preconditioner in PRECONDITIONERS:
        x, report = solved(
            system, rhs, fixed, x=start, rtol=1e-10, max_iterations=5000, preconditioner=preconditioner
        )
        assert report.converged
        np.testing.assert_array_equal(system.split(x)[0][fixed == 1], system.split(start)[0][fixed == 1])
        expected = direct(system, rhs, fixed, start)
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_nodes_that_slide_solve_the_projected_system(preconditioner):
    """Nodes of one side are free in a slanted plane; S K S with S their projector is the reduced system."""
    system, points, _ = mixed(mesh.box((2, 1, 1), (3, 2, 2)))
    fixed = clamped(points)
    fixed[points[:, 0] > 2.0 - 1e-9] = 2
    normal = np.array([2.0, 1.0, -1.0]) / np.sqrt(6.0)
    S = np.eye(3) - np.outer(normal, normal)
    projections = np.tile(S[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]], (len(fixed), 1))
    rhs = loads(system)
    x, report = solved(
        system, rhs, fixed, projections=projections, rtol=1e-10, max_iterations=5000, preconditioner=preconditioner
    )  # fmt: skip
    assert report.converged
    blocks = [S if f == 2 else (1.0 - f) * np.eye(3) for f in fixed]
    P = sparse.block_diag([*blocks, sparse.eye_array(system.B.row_count)], format="csr")
    reduced = (P @ system.to_scipy() @ P).toarray()
    expected = np.linalg.lstsq(reduced, P @ rhs, rcond=1e-12)[0]
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_too_few_iterations_are_reported(stokes):
    system, fixed, rhs = stokes
    x, report = solved(system, rhs, fixed, rtol=1e-10, max_iterations=7)
    assert report.iterations == 7
    assert not report.converged
    assert "limit of 7 iterations" in report.warnings[0]
    assert true_residual(system, rhs, x, fixed) == pytest.approx(report.residual, rel=0.5)


def test_a_multigrid_with_other_options_is_the_preconditioner(stokes):
    system, fixed, rhs = stokes
    solver = MINRES(rtol=1e-8, preconditioner=Multigrid(smoother="chebyshev", sweeps=2, precision="double"))
    solver.setup(system)
    solver.update(system, fixed)
    x = np.zeros(system.size)
    assert solver.solve(rhs, x).converged
    assert "Chebyshev" in str(solver)
    assert "720 unknowns (225 nodes, 45 scalar dofs)" in str(solver)


def test_values_may_change_between_solves(stokes):
    system, fixed, rhs = stokes
    solver = MINRES(rtol=1e-10, preconditioner="ssor")
    other, _, _ = mixed(mesh.box((2, 1, 1), (4, 2, 2)), young=7.0, poisson=0.45)
    solver.setup(system)
    for each in (system, other, system):
        solver.update(each, fixed)
        x = np.zeros(each.size)
        assert solver.solve(rhs, x).converged
        expected = direct(each, rhs, fixed)
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_results_are_bitwise_identical_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("continua.linalg.matrix.PARALLEL_FROM", 1)
    system, points, _ = mixed(mesh.box((2, 1, 1), (8, 6, 6)))
    assert len(points) > 2 * 1024  # several parts and chunks
    fixed, rhs = clamped(points), loads(system)
    threads = numba.get_num_threads()
    nullspace = np.random.default_rng(0).normal(size=system.size) * free_dofs(system, fixed)
    for preconditioner in ("ssor", "multigrid"):
        found = set()
        for count in sorted({1, threads}):
            numba.set_num_threads(count)
            x, _ = solved(
                system, rhs, fixed, rtol=1e-3, preconditioner=preconditioner, nullspace=nullspace, max_iterations=30
            )  # fmt: skip
            found.add(x.tobytes())
        numba.set_num_threads(threads)
        assert len(found) == 1


@pytest.mark.parametrize("where", ["rhs", "x", "tolerance_scale"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_and_nothing_changes(stokes, where, value):
    system, fixed, rhs = stokes
    solver = MINRES()
    solver.setup(system)
    solver.update(system, fixed)
    vectors = {"rhs": rhs.copy(), "x": np.ones(system.size), "tolerance_scale": np.zeros(system.size)}
    vectors[where][5] = value
    before = vectors["x"].copy()
    with pytest.raises(InputError, match=f"{where} has values that are not finite"):
        solver.solve(**vectors)
    np.testing.assert_array_equal(vectors["x"], before)
    for matrix, array in (("A", system.A.blocks), ("B", system.B.values)):
        kept = array[3].copy()
        array[3] = value
        with pytest.raises(InputError, match=f"{matrix} has values that are not finite"):
            solver.update(system, fixed)
        array[3] = kept


def test_bad_input_is_refused(stokes):
    system, fixed, rhs = stokes
    for options in ({"rtol": 0.0}, {"max_iterations": 0}, {"preconditioner": "x"}):
        with pytest.raises(InputError, match=next(iter(options))):
            MINRES(**options)
    solver = MINRES()
    with pytest.raises(InputError, match="setup"):
        solver.update(system, fixed)
    with pytest.raises(InputError, match="setup"):
        solver.solve(rhs, rhs.copy())
    solver.setup(system)
    solver.update(system, fixed)
    with pytest.raises(InputError, match="rhs has shape"):
        solver.solve(rhs[:-1], rhs.copy())
    with pytest.raises(InputError, match="nullspace"):
        MINRES(nullspace=np.ones(5)).setup(system)
    with pytest.raises(InputError, match="schur must be"):
        SaddlePointMatrix(system.A, system.B, schur=np.zeros(system.B.row_count))
    with pytest.raises(InputError, match="C must have shape"):
        SaddlePointMatrix(system.A, system.B, sparse.eye_array(3))
    with pytest.raises(InputError, match="block columns"):
        SaddlePointMatrix(system.A, CouplingMatrix.from_scipy(sparse.csr_array(np.ones((2, 3)))))
    with pytest.raises(InputError, match="multiple of 3"):
        CouplingMatrix.from_scipy(sparse.csr_array(np.ones((2, 4))))

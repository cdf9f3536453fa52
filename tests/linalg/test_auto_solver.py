"""The automatic choice between conjugate gradients and multigrid counts work and changes over."""

import numpy as np
import pytest

import continua as ct
from continua import mesh
from continua.linalg import AutoSolver, BlockMatrix


def make_beam(cells, young, **options):
    material = ct.Corotated(young=young, poisson=0.3, density=1000.0)
    body = ct.SoftBody(mesh.box((1.0, 0.25, 0.25), cells), material=material, name="beam", **options)
    body.pin(lambda x: x[:, 0] < 1e-9)
    return body


def kinds(world, body, steps):
    """Step, and return which solver each step had."""
    found = []
    for _ in range(steps):
        world.step()
        found.append(type(body.solver).__name__)
    return found


def test_a_small_body_that_is_too_stiff_for_conjugate_gradients_goes_over_to_multigrid_and_stays():
    body = make_beam((20, 5, 5), 1e10)
    found = kinds(ct.World([body], dt=0.01), body, 40)
    assert found[0] == "PCG"
    assert set(found[8:]) == {"Multigrid"}
    assert "because PCG took more work" in str(body.solver)


def test_a_large_body_that_is_soft_goes_over_to_conjugate_gradients():
    body = make_beam((40, 10, 10), 100.0)
    world = ct.World([body], dt=0.002, gravity=(0.0, -1.0, 0.0))
    found = kinds(world, body, 30)
    assert found[0] == "Multigrid"
    assert set(found[22:]) == {"PCG"}
    report = world.step()[0]
    assert report.solver.startswith("PCG, chosen because it takes")
    assert "Multigrid took" in report.solver


def test_a_body_that_is_easy_and_small_never_leaves_conjugate_gradients():
    body = make_beam((12, 3, 3), 1e6)
    assert set(kinds(ct.World([body], dt=0.01), body, 40)) == {"PCG"}


def test_a_run_that_goes_on_from_a_state_takes_the_same_turns():
    whole, parts = make_beam((20, 5, 5), 1e10), make_beam((20, 5, 5), 1e10)
    world = ct.World([whole], dt=0.01)
    kinds(world, whole, 30)
    first = ct.World([parts], dt=0.01)
    kinds(first, parts, 3)  # before it changes over
    state = parts.state()
    rest = make_beam((20, 5, 5), 1e10)
    rest.restore(state)
    kinds(ct.World([rest], dt=0.01), rest, 27)
    np.testing.assert_array_equal(rest.positions, whole.positions)
    assert type(rest.solver) is type(whole.solver)


def test_a_reset_body_starts_with_a_fresh_choice():
    body = make_beam((20, 5, 5), 1e10)
    world = ct.World([body], dt=0.01)
    kinds(world, body, 10)
    once = body.positions
    world.reset()
    assert isinstance(body.solver, ct.PCG)
    kinds(world, body, 10)
    np.testing.assert_array_equal(body.positions, once)


def test_a_state_without_a_choice_is_a_fresh_start():
    body = make_beam((8, 2, 2), 1e6)
    state = body.state()
    del state["solver"]
    body._stepper.history["solver"][:] = 1.0
    body.restore(state)
    assert not body._stepper.history["solver"].any()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_turns_and_bits_on_any_number_of_threads(threads):
    before = ct.get_threads()
    try:
        ct.set_threads(1)
        one = make_beam((24, 6, 6), 1e9)
        kinds(ct.World([one], dt=0.01), one, 12)
        ct.set_threads(threads)
        other = make_beam((24, 6, 6), 1e9)
        kinds(ct.World([other], dt=0.01), other, 12)
    finally:
        ct.set_threads(before)
    np.testing.assert_array_equal(one.positions, other.positions)


def test_multigrid_takes_over_where_conjugate_gradients_end_without_a_solution():
    body = make_beam((20, 5, 5), 1e9)
    body.step(0.01)
    matrix = body._stepper.matrix
    pcg, multigrid = ct.PCG(rtol=1e-8, max_iterations=5), ct.Multigrid(rtol=1e-8)
    choice = AutoSolver(pcg, multigrid, pcg)
    choice.setup(matrix)
    choice.update(matrix, body._dirichlet.fixed)
    rhs = np.random.default_rng(0).normal(size=(body.node_count, 3))
    rhs[body._dirichlet.fixed == 1] = 0.0
    x = np.zeros_like(rhs)
    report = choice.solve(rhs, x)
    assert report.converged
    assert report.warnings[0] == "PCG did not converge in 5 iterations; Multigrid took over"
    left = rhs - matrix.multiply(x)
    assert np.linalg.norm(left[body._dirichlet.fixed == 0]) < 1e-6 * np.linalg.norm(rhs)


def test_it_solves_what_scipy_solves():
    rng = np.random.default_rng(1)
    body = make_beam((6, 2, 2), 1e7)
    body.step(0.01)
    A: BlockMatrix = body._stepper.matrix
    free = np.zeros(body.node_count, np.uint8)
    pcg, multigrid = ct.PCG(rtol=1e-11), ct.Multigrid(rtol=1e-11)
    for start in (pcg, multigrid):
        choice = AutoSolver(pcg, multigrid, start)
        choice.setup(A)
        choice.update(A, free)
        for _ in range(30):  # tries and changes among them
            rhs = rng.normal(size=(body.node_count, 3))
            x = np.zeros_like(rhs)
            assert choice.solve(rhs, x).converged
            expected = np.linalg.solve(A.to_scipy().toarray(), rhs.ravel())
            np.testing.assert_allclose(x.ravel(), expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())

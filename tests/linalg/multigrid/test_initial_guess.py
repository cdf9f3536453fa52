"""A first guess that may be improved along two directions: the best one in the norm of the residual."""

import numba
import numpy as np
import pytest

from continua import Multigrid, mesh
from tests.linalg.bodies import system


@pytest.fixture(scope="module")
def body():
    matrix, rhs, elements = system(mesh.bridge(8), wobble=0.003)
    points = elements.rest_positions
    fixed = (points[:, 0] < points[:, 0].min() + 1e-9).astype(np.uint8)
    fixed[points[:, 0] > points[:, 0].max() - 1e-9] = 2
    across = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 1.0], (len(fixed), 1))  # free along y and z
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(2, *rhs.shape))
    directions[:, fixed == 1] = 0.0
    directions[:, fixed == 2, 0] = 0.0
    return matrix, rhs, fixed, across, directions


def solver_for(body, **options):
    matrix, _, fixed, across, _ = body
    solver = Multigrid(**options)
    solver.setup(matrix)
    solver.update(matrix, fixed, across)
    return solver


def free_part(values, fixed):
    free = values.copy()
    free[fixed == 1] = 0.0
    free[fixed == 2, 0] = 0.0
    return free


def test_a_solution_along_the_ways_needs_no_iteration(body):
    matrix, _, _, _, directions = body
    guess = np.random.default_rng(4).normal(size=directions[0].shape)
    exact = guess + 0.7 * directions[0] - 2.3 * directions[1]
    rhs = matrix.to_scipy() @ exact.ravel()
    x = guess.copy()
    report = solver_for(body, rtol=1e-9).solve(rhs.reshape(-1, 3), x, guess_directions=directions)
    assert report.converged
    assert report.iterations == 0
    np.testing.assert_allclose(x, exact, atol=1e-9)


def test_the_start_is_the_least_squares_solution(body):
    """SciPy's products and NumPy's least squares, in the norm of the inverse diagonal blocks."""
    matrix, rhs, fixed, _, directions = body
    A = matrix.to_scipy()
    guess = np.zeros_like(rhs)
    diagonal = matrix.blocks[matrix.pattern.diagonal].reshape(-1, 3, 3)
    whitening = np.linalg.cholesky(np.linalg.inv(diagonal)).swapaxes(1, 2)
    # a node that is free in the plane has the inverse of its block in the plane
    plane = np.zeros((int((fixed == 2).sum()), 3, 3))
    plane[:, 1:, 1:] = np.linalg.cholesky(np.linalg.inv(diagonal[fixed == 2][:, 1:, 1:])).swapaxes(1, 2)
    whitening[fixed == 2] = plane

    def weighed(force):
        return np.einsum("nij,nj->ni", whitening, free_part(force.reshape(-1, 3), fixed)).ravel()

    products = np.stack([weighed(A @ way.ravel()) for way in directions], axis=1)
    target = weighed(rhs.ravel() - A @ guess.ravel())
    factors = np.linalg.lstsq(products, target)[0]
    x = guess.copy()
    report = solver_for(body, rtol=0.999999).solve(rhs, x, guess_directions=directions)
    assert report.iterations == 0
    np.testing.assert_allclose(
        x, guess + np.einsum("k,kni->ni", factors, directions), atol=1e-9 * np.abs(x).max()
    )
    left = np.linalg.norm(target - products @ factors)
    np.testing.assert_allclose(report.residual, left / np.linalg.norm(weighed(rhs.ravel())), rtol=1e-9)


@pytest.mark.parametrize("kind", ["none", "one", "same"])
def test_ways_that_lead_nowhere_do_no_harm(body, kind):
    _, rhs, _, _, directions = body
    directions = directions.copy()
    if kind == "none":
        directions[:] = 0.0
    elif kind == "one":
        directions[0] = 0.0
    else:
        directions[1] = -3.0 * directions[0]
    plain, x = np.zeros_like(rhs), np.zeros_like(rhs)
    solver = solver_for(body, rtol=1e-10, fallback=False)
    solver.solve(rhs, plain)
    assert solver.solve(rhs, x, guess_directions=directions).converged
    np.testing.assert_allclose(x, plain, atol=1e-8 * np.abs(plain).max())


def test_the_same_bits_for_any_number_of_threads(body):
    _, rhs, _, _, directions = body
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        x = np.zeros_like(rhs)
        solver_for(body).solve(rhs, x, guess_directions=directions)
        results.append(x)
    np.testing.assert_array_equal(*results)

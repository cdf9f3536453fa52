"""Rotations in lanes: against SciPy and NumPy, and independent of threads, neighbours and scale."""

import numba
import numpy as np
import pytest
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

from continua.numerics import get_threads, rotation_batch, set_threads, signed_svd_batch


def rotations_of(n, seed):
    return Rotation.random(n, rng=np.random.default_rng(seed)).as_matrix()


def stretched(low, high, n=6000, seed=0):
    f = np.random.default_rng(seed).uniform(low, high, (n, 3))
    return rotations_of(n, seed + 1) @ (f[:, :, None] * rotations_of(n, seed + 2))


def best_rotation(F):
    """Return the proper rotation with the largest tr(R^T F), from NumPy's SVD, and how well it is defined."""
    U, f, Vt = np.linalg.svd(F)
    sign = np.sign(np.linalg.det(U @ Vt))
    U[:, :, 2] *= sign[:, None]
    return U @ Vt, (f[:, 1] + sign * f[:, 2]) / f[:, 0]


def assert_proper(R):
    assert np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max() < 1e-12
    assert np.abs(np.linalg.det(R) - 1).max() < 1e-12


@pytest.mark.parametrize("degrees", [1, 60, 179, 180])
def test_a_rotation_is_its_own_rotation(degrees):
    axes = np.random.default_rng(1).standard_normal((500, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    Q = Rotation.from_rotvec(np.radians(degrees) * axes).as_matrix()
    np.testing.assert_allclose(rotation_batch(Q), Q, atol=1e-14)


def test_agrees_with_scipy_polar():
    F = stretched(0.3, 2.0, n=300)
    expected = np.array([polar(M)[0] for M in F])
    np.testing.assert_allclose(rotation_batch(F), expected, atol=1e-13)


@pytest.mark.parametrize(("low", "high"), [(0.7, 1.4), (0.05, 3.0), (-1.0, 1.0), (-1.0, -0.2)])
def test_agrees_with_numpy_wherever_the_rotation_is_well_defined(low, high):
    F = stretched(low, high)
    R = rotation_batch(F)
    expected, defined = best_rotation(F)
    assert_proper(R)
    # A rounding error of F turns its rotation by eps / defined; 1e-12 holds above 1e-2, the bound everywhere.
    error = np.abs(R - expected).max(axis=(1, 2))
    assert error[defined > 1e-2].max() < 1e-12
    assert (error * np.minimum(defined, 1)).max() < 1e-13


@pytest.mark.parametrize(
    "f", [(1, 1, 0), (2, 1, 1e-14), (1, 0.6, -1e-14), (2, 2, 1), (1, 1, 1), (5, 1, 1), (1, 0.5, -0.4)]
)
def test_flat_and_repeated_values(f):
    P, Q = rotations_of(700, 8), rotations_of(700, 9)
    R = rotation_batch(P @ (np.array(f, float)[:, None] * Q))
    assert_proper(R)
    np.testing.assert_allclose(R, P @ Q, atol=2e-14 * max(f) / (f[1] + f[2]))


@pytest.mark.parametrize(
    "f", [(1, 0, 0), (1, 1e-9, 0), (1, 1, -1), (0, 0, 0), (1, 1e-6, -1e-6), (1, 1, -1 + 1e-9)]
)
def test_without_a_unique_answer_it_is_that_of_the_signed_svd(f):
    F = rotations_of(300, 8) @ (np.array(f, float)[:, None] * rotations_of(300, 9))
    R = rotation_batch(F)
    U, _, V = signed_svd_batch(F)
    assert_proper(R)
    np.testing.assert_allclose(R, U @ V.transpose(0, 2, 1), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e-30, 1e30, 1e100, 1e200])
def test_scale_does_not_matter(scale):
    F = stretched(-1.0, 2.0, n=2000)
    defined = best_rotation(F)[1] > 1e-2
    difference = np.abs(rotation_batch(F * scale) - rotation_batch(F)).max(axis=(1, 2))
    assert difference[defined].max() < 1e-12


def test_turning_the_matrix_turns_the_rotation():
    F, Q = stretched(0.3, 2.0), rotations_of(6000, 20)
    np.testing.assert_allclose(rotation_batch(Q @ F), Q @ rotation_batch(F), atol=1e-13)
    np.testing.assert_allclose(rotation_batch(F @ Q), rotation_batch(F) @ Q, atol=1e-13)


def test_neighbours_in_the_block_do_not_matter():
    F = stretched(-1.0, 1.0)
    order = np.random.default_rng(4).permutation(len(F))
    np.testing.assert_array_equal(rotation_batch(F[order]), rotation_batch(F)[order])


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 2047, 2049])
def test_any_number_of_matrices(n):
    F = stretched(0.5, 2.0, n=3000)
    R = rotation_batch(F[:n])
    assert R.shape == (n, 3, 3)
    np.testing.assert_allclose(R, rotation_batch(F)[:n], atol=1e-14)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_one_and_two_threads_give_the_same_bits():
    F = stretched(-1.0, 1.0, n=20_000)
    before = get_threads()
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append((rotation_batch(F), *signed_svd_batch(F)))
    set_threads(before)
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)


def test_not_a_number_stays_in_its_lane():
    F = stretched(0.5, 2.0, n=64)
    clean = rotation_batch(F)
    F[5, 1, 2] = np.nan
    R = rotation_batch(F)
    assert np.isnan(R[5]).any()
    others = np.arange(64) != 5
    np.testing.assert_array_equal(R[others], clean[others])

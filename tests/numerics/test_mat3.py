"""Single 3x3 matrices: decompositions against NumPy, for every kind of degenerate matrix."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from continua.errors import InputError
from continua.numerics import (
    eigen_symmetric_batch,
    inverse_batch,
    kernel,
    load3,
    rotation,
    rotation_batch,
    signed_svd,
    signed_svd_batch,
    store3,
)

STRETCHES = [
    (1, 1, 1), (1, 1, -1), (-1, -1, -1), (2, 1, 1), (2, 2, 1), (2, 1, -1), (3, 2, 1),  # repeated, inverted
    (1, 1, 0), (2, 1, 0), (1, 0.5, 1e-9), (1, 0.5, -1e-12),  # flat
    (1, 0, 0), (1, 1e-9, 0), (1, 1e-9, 1e-9), (1, 1e-9, -1e-9), (1, 1e-8, 1e-16), (1, 1e-150, 0),  # lines
    (0, 0, 0),
]  # fmt: skip


def with_stretches(stretches, n, seed=3):
    """Return n matrices P diag(f) Q for each row f of stretches, with random rotations P and Q."""
    f = np.repeat(np.asarray(stretches, float), n, axis=0)
    P = Rotation.random(len(f), rng=np.random.default_rng(seed)).as_matrix()
    Q = Rotation.random(len(f), rng=np.random.default_rng(seed + 1)).as_matrix()
    return P @ (f[:, :, None] * Q)


def all_kinds():
    rng = np.random.default_rng(0)
    integers = rng.integers(-1, 2, (2000, 3, 3)).astype(float)  # many exact zeros and equal entries
    return np.concatenate([rng.standard_normal((5000, 3, 3)), with_stretches(STRETCHES, 200), integers])


def assert_rotations(R, tolerance=1e-12):
    assert np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max() < tolerance
    assert np.abs(np.linalg.det(R) - 1).max() < tolerance


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30, 1e-250, 1e250])
def test_signed_svd_rebuilds_every_matrix_from_proper_rotations(scale):
    F = all_kinds()
    U, f, V = signed_svd_batch(F * scale)
    f = f / scale
    size = np.abs(F).max(axis=(1, 2), keepdims=True) + 1e-300
    assert (np.abs(U @ (f[:, :, None] * V.transpose(0, 2, 1)) - F) / size).max() < 1e-14
    assert_rotations(U)
    assert_rotations(V)
    assert (f[:, 0] >= f[:, 1]).all()
    assert (f[:, 1] >= np.abs(f[:, 2])).all()
    assert np.abs(np.abs(f) - np.linalg.svd(F, compute_uv=False)).max() < 1e-13


def test_sign_of_the_smallest_value_is_that_of_the_determinant():
    F = np.random.default_rng(5).standard_normal((5000, 3, 3))
    _, f, _ = signed_svd_batch(F)
    np.testing.assert_array_equal(np.sign(f[:, 2]), np.sign(np.linalg.det(F)))


def test_plain_matrices_give_plain_rotations():
    F = np.array([np.zeros((3, 3)), np.eye(3), np.diag([1.0, 0, 0]), np.diag([2.0, 3.0, 0.0])])
    U, _, V = signed_svd_batch(F)
    np.testing.assert_allclose(U @ V.transpose(0, 2, 1), np.broadcast_to(np.eye(3), F.shape), atol=1e-15)


@kernel
def _one(F, U, f, V, R):
    u, s, v = signed_svd(load3(F, 0))
    store3(U, 0, u)
    f[0, 0], f[0, 1], f[0, 2] = s
    store3(V, 0, v)
    store3(R, 0, rotation(load3(F, 0)))


def test_helpers_inside_a_kernel_agree_with_the_batch():
    F = np.random.default_rng(6).standard_normal((1, 3, 3))
    U, f, V, R = np.empty_like(F), np.empty((1, 3)), np.empty_like(F), np.empty_like(F)
    _one(F, U, f, V, R)
    for mine, batch in zip((U, f, V), signed_svd_batch(F)):
        np.testing.assert_allclose(mine, batch, atol=1e-14)
    np.testing.assert_allclose(R, U @ V.transpose(0, 2, 1), atol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_eigenvalues_agree_with_numpy(scale):
    F = all_kinds()
    A = F + F.transpose(0, 2, 1)
    values, vectors = eigen_symmetric_batch(A * scale)
    values = values / scale
    np.testing.assert_allclose(values[:, ::-1], np.linalg.eigvalsh(A), atol=1e-13)
    assert_rotations(vectors)
    np.testing.assert_allclose(vectors @ (values[:, :, None] * vectors.transpose(0, 2, 1)), A, atol=1e-13)


def test_inverse_and_determinant_agree_with_numpy():
    A = with_stretches([(3, 2, 1), (2, 1, -0.5)], 3000)
    inverses, dets = inverse_batch(A)
    np.testing.assert_allclose(inverses, np.linalg.inv(A), atol=1e-13)
    np.testing.assert_allclose(dets, np.linalg.det(A), atol=1e-13)


def test_not_a_number_stays_visible():
    F = np.tile(np.eye(3), (4, 1, 1))
    F[1, 0, 2] = np.nan
    F[2, 1, 1] = np.inf
    U, f, V = signed_svd_batch(F)
    R = U @ V.transpose(0, 2, 1)
    assert np.isnan(R[1]).any()
    assert np.isnan(R[2]).any()
    np.testing.assert_array_equal(f[[0, 3]], 1.0)


def test_wrong_shape_is_refused():
    with pytest.raises(InputError, match=r"shape \[n, 3, 3\], not \[2, 3\]"):
        signed_svd_batch(np.zeros((2, 3)))


def _degenerate_tets(rng):
    """Return edge matrices [200, 3, 3]: points, lines, random and mirrored tetrahedra, 50 of each."""
    rest = np.array([[1.0, 0.2, 0.1], [0.0, 0.9, 0.3], [0.0, 0.0, 1.1]])
    points = np.zeros((50, 3, 3))
    lines = rng.standard_normal((50, 3, 1)) * rng.standard_normal((50, 1, 3))
    shapeless = 2 * rng.standard_normal((50, 3, 3))
    turns = Rotation.random(50, rng=rng).as_matrix()
    mirrors = turns @ np.diag([1.0, 1.0, -1.0]) @ turns.transpose(0, 2, 1) @ rest
    return rest, np.concatenate([points, lines, shapeless, mirrors])


def _by_svd(F):
    U, _, V = signed_svd_batch(F)
    return U @ V.transpose(0, 2, 1)


@pytest.mark.parametrize("rotations", [_by_svd, rotation_batch])
def test_all_of_200_degenerate_tets_recover_their_shape(rotations):
    """Follow the elastic force of rotated linear elasticity downhill (Irving 2007): all must come right."""
    rest, edges = _degenerate_tets(np.random.default_rng(11))
    inverse = np.linalg.inv(rest)
    mu, lam = 1.0, 1.0
    for _ in range(400):
        F = edges @ inverse
        R = rotations(F)
        trace = np.einsum("nij,nij->n", R, F) - 3
        stress = 2 * mu * (F - R) + lam * trace[:, None, None] * R
        edges = edges - 0.1 * stress @ rest
    f = np.linalg.svd(edges @ inverse, compute_uv=False)
    assert (np.linalg.det(edges @ inverse) > 0).sum() == 200
    np.testing.assert_allclose(f, 1.0, atol=1e-6)

"""The linear and the corotated law."""

import numpy as np
from scipy.spatial.transform import Rotation

from continua import Corotated, Linear

LINEAR, COROTATED = Linear(young=2.0, poisson=0.3), Corotated(young=2.0, poisson=0.3)


def samples():
    rng = np.random.default_rng(0)
    shapes = [np.eye(3) + 0.3 * rng.normal(size=(3, 3)) for _ in range(20)]
    inverted = [np.diag([1.2, 0.9, -0.4]) @ Rotation.random(random_state=i).as_matrix() for i in range(5)]
    return shapes + inverted


def test_definite_tangent_is_the_nearest_positive_semidefinite_one():
    for F in [*samples(), np.zeros((3, 3)), np.diag([0.3, 0.2, 0.1]), np.diag([1.0, 0.0, 0.0])]:
        exact = COROTATED.tangent(F)
        definite = COROTATED.tangent(F, definite=True)
        assert np.isfinite(definite).all()
        values, vectors = np.linalg.eigh(exact)
        nearest = (vectors * np.maximum(values, 0.0)) @ vectors.T
        if values.min() > -1e6:  # the rotation of a collapsed element is not unique, its tangent is unbounded
            np.testing.assert_allclose(definite, nearest, atol=1e-8)
        assert np.linalg.eigvalsh(definite).min() > -1e-9


def test_linear_law_is_hookes_matrix():
    """Voigt form with engineering shears, written down independently."""
    lam, mu = LINEAR.lame
    D = np.diag([2 * mu] * 3 + [mu] * 3)
    D[:3, :3] += lam
    rng = np.random.default_rng(1)
    for _ in range(5):
        H = 1e-3 * rng.normal(size=(3, 3))
        e = H + H.T
        voigt = np.array([H[0, 0], H[1, 1], H[2, 2], e[0, 1], e[0, 2], e[1, 2]])
        s = D @ voigt
        stress = np.array([[s[0], s[3], s[4]], [s[3], s[1], s[5]], [s[4], s[5], s[2]]])
        np.testing.assert_allclose(LINEAR.stress(np.eye(3) + H), stress, atol=1e-15)


def test_laws_agree_for_small_deformations():
    H = np.random.default_rng(2).normal(size=(3, 3))
    errors = []
    for size in (1e-3, 1e-4):
        F = np.eye(3) + size * H
        errors.append(np.abs(LINEAR.stress(F) - COROTATED.stress(F)).max())
    assert errors[1] < errors[0] / 90  # the difference is of second order


def test_an_inverted_element_is_pushed_back_through_its_nearest_face():
    F = np.diag([1.0, 1.0, -0.1])
    assert COROTATED.stress(F)[2, 2] < 0  # descending the energy raises F_zz

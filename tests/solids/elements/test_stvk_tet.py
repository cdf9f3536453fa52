"""St. Venant-Kirchhoff tetrahedra without a decomposition, against the same law in principal stretches."""

import numpy as np
import pytest

import continua as ct
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.stvk_tet import StVKTets
from tests.solids.linearise import give, linearised

LAW = ct.StVenantKirchhoff(young=10.0, poisson=0.3)


def both(x_of_rest):
    mesh = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(2, 1, 1))
    elements = [give(kind(mesh), LAW) for kind in (StVKTets, HyperelasticTets)]
    x = x_of_rest(mesh.points)
    return x, elements, [linearised(e, x) for e in elements]


@pytest.mark.parametrize("size", [0.02, 0.1, 0.4])
def test_forces_energies_and_stresses_are_those_of_the_law(size):
    """Also where elements are pressed below the law's limit, or inside out."""
    rng = np.random.default_rng(3)
    _, (green, plain), ((_, force), (_, expected)) = both(lambda x: x + size * rng.normal(size=x.shape))
    np.testing.assert_allclose(force, expected, atol=1e-11 * max(np.abs(expected).max(), 1.0))
    assert green.energy() == pytest.approx(plain.energy(), rel=1e-11)
    assert green.inverted == plain.inverted
    assert (plain.inverted > 0) == (size > 0.2)
    np.testing.assert_allclose(green.von_mises(), plain.von_mises(), rtol=1e-12)


def test_the_tangent_is_exact_in_tension():
    x, (green, _), ((K, _), (K_plain, _)) = both(
        lambda x: x @ np.array([[1.3, 0.1, 0], [0, 1.2, 0.2], [0, 0, 1.4]]).T
    )
    np.testing.assert_allclose(K.toarray(), K_plain.toarray(), atol=1e-10)
    step = 1e-6
    numeric = np.empty(K.shape)
    for i in range(x.size):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved.flat[i] += sign * step
            ends.append(linearised(green, moved)[1].ravel())
        numeric[:, i] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(K.toarray(), numeric, atol=1e-6)


@pytest.mark.parametrize("size", [0.02, 0.1, 0.4])
def test_the_tangent_is_never_indefinite_and_little_above_the_least_that_is_not(size):
    rng = np.random.default_rng(4)
    _, _, ((K, _), (K_plain, _)) = both(lambda x: 0.93 * x + size * rng.normal(size=x.shape))
    K, K_plain = K.toarray(), K_plain.toarray()
    np.testing.assert_allclose(K, K.T, atol=1e-10)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.linalg.norm(K)
    if size == 0.02:
        assert np.linalg.norm(K - K_plain) < 0.3 * np.linalg.norm(K_plain)


def test_a_body_takes_them_and_settles_with_the_exact_tangent():
    body = ct.SoftBody(
        ct.mesh.box(size=(1, 0.25, 0.25), cells=(4, 1, 1)), material=ct.StVenantKirchhoff(young=1e5)
    )
    assert type(body._elements) is StVKTets
    body.pin(lambda x: x[:, 0] < 1e-9)
    world = ct.World([body])
    assert world.settle()[0].newton_iterations < 40
    rested = body.positions
    for _ in range(20):
        world.step()
    np.testing.assert_allclose(body.positions, rested, atol=1e-5)
    with pytest.raises(ct.InputError, match="not the St"):
        StVKTets(body.mesh).set_law(ct.NeoHookean(), np.ones((body.element_count, 2)))

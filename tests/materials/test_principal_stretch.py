"""How laws go on below their least stretch (checks A4, A5, A6, A8 of Irving 2007)."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct
from continua.materials.law import lame


def young_poisson(lam, mu):
    return mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))


def printed_neo_hookean(f, lam, mu):
    return mu * (f - 1 / f) + lam * np.log(np.prod(f)) / f


def test_extended_neo_hookean_is_exact_above_the_limit_finite_below_and_restoring_through_zero():
    """A4."""
    lam, mu = lame(2.0, 0.3)
    law = ct.NeoHookean(2.0, 0.3)
    rng = np.random.default_rng(0)
    for f in rng.uniform(0.26, 3.0, (50, 3)):
        np.testing.assert_allclose(
            np.diag(law.stress(np.diag(f))), printed_neo_hookean(f, lam, mu), rtol=1e-9
        )
    wild = rng.uniform(-10.0, 10.0, (2000, 3, 3))
    assert np.isfinite(law.stress(wild)).all()
    gap = law.stress(np.diag([1.0, 1.0, 0.25 + 1e-9])) - law.stress(np.diag([1.0, 1.0, 0.25 - 1e-9]))
    assert np.abs(gap).max() < 1e-5  # continuous across the threshold
    pressed = law.stress(np.array([np.diag([1.0, 1.0, f]) for f in np.linspace(0.9, -0.99, 60)]))[:, 2, 2]
    assert (np.diff(pressed) < 0).all()  # ever more against the inversion
    assert (pressed < 0).all()


def test_what_the_extension_is_for():
    """A4: Green's strain alone pushes an inverted element further in, neo-Hookean has no value at flat."""
    lam, mu = lame(2.0, 0.3)
    f = np.array([1.0, 1.0, -0.5])
    e = (f**2 - 1) / 2
    plain = f * (2 * mu * e + lam * e.sum())
    assert plain[2] > 0  # raises f2 downhill no more: it goes towards -1
    assert ct.StVenantKirchhoff(2.0, 0.3).stress(np.diag(f))[2, 2] < 0
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not np.isfinite(printed_neo_hookean(np.array([1.0, 1.0, 0.0]), lam, mu)).all()
    assert np.isfinite(ct.NeoHookean(2.0, 0.3).stress(np.diag([1.0, 1.0, 0.0]))).all()


def test_the_force_against_inversion_grows():
    """A5: linear extrapolation, not a stress that is cut off."""
    for law in (
        ct.NeoHookean(2.0, 0.3),
        ct.StVenantKirchhoff(2.0, 0.3),
        ct.Muscle(2.0, 0.3, strength=0.0),
    ):
        one, two, three = (law.stress(np.diag([4.0, 4.0, f]))[2, 2] for f in (-1.0, -2.0, -3.0))
        assert two - three == pytest.approx(one - two, rel=1e-9)
        assert one - two > 0.1


def test_hessian_of_neo_hookean_loses_definiteness_when_it_swells():
    """A6: with mu = 1, lambda = 10 the least eigenvalue is 2 at J = 1 and -2.74 at J = 2; the fix raises it to 0."""
    law = ct.NeoHookean(*young_poisson(10.0, 1.0))
    diagonal = [0, 4, 8]
    for J, expected in ((1.0, 2.0), (2.0, -2.74)):
        F = J ** (1 / 3) * np.eye(3)
        H = law.tangent(F)[np.ix_(diagonal, diagonal)]
        assert np.linalg.eigvalsh(H).min() == pytest.approx(expected, abs=0.005)
        assert np.linalg.eigvalsh(law.tangent(F, definite=True)).min() >= -1e-12


@pytest.mark.parametrize(
    "law", [ct.NeoHookean(2.0, 0.3), ct.SplineHyperelastic(2.0, 0.3)], ids=lambda law: law.name
)
def test_turning_the_material_changes_nothing_but_for_fibres_that_are_not_turned(law):
    """A8: QR-reduced rest shapes turn material space; isotropic laws do not see it, fibres turn with it."""
    rng = np.random.default_rng(1)
    F = rng.normal(size=(50, 3, 3))
    Q = Rotation.random(50, random_state=2).as_matrix()
    np.testing.assert_allclose(law.stress(F @ Q), law.stress(F) @ Q, atol=1e-10)
    a = np.array([0.6, 0.0, 0.8])
    fiber_reinforced = ct.FiberReinforced(2.0, 0.3, fiber=a, fiber_stiffness=5.0)
    for i in range(5):
        turned = ct.FiberReinforced(2.0, 0.3, fiber=Q[i].T @ a, fiber_stiffness=5.0)
        np.testing.assert_allclose(
            turned.stress(F[i] @ Q[i]), fiber_reinforced.stress(F[i]) @ Q[i], atol=1e-12
        )

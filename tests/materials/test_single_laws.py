"""What single laws are made for, and their formulas against SymPy; for all laws see `test_registered_laws`."""

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq, root

import continua as ct
from continua.numerics.mat3 import signed_svd_batch
from tests.materials.test_registered_laws import states


@pytest.mark.parametrize(
    "law",
    [
        ct.Corotated(2.0, 0.3),
        ct.SplineHyperelastic(2.0, 0.3),
        ct.Muscle(2.0, 0.3),
        ct.FiberReinforced(2.0, 0.3, fiber_stiffness=0.0),
    ],
    ids=lambda law: law.name,
)
def test_small_strains_obey_hooke(law):
    hooke = ct.Linear(2.0, 0.3)
    np.testing.assert_allclose(law.tangent(np.eye(3)), hooke.tangent(np.eye(3)), atol=1e-9)
    assert np.abs(law.stress(np.eye(3))).max() < 1e-14


def test_spline_is_the_printed_piecewise_law():
    """Slope 1 at rest, the cubic up to h, the line beyond, in tension and, with its own numbers, in compression."""
    E, h, k, hc, kc = 3.0, 0.5, 7.0, 0.2, 4.0
    law = ct.SplineHyperelastic(E, 0.0, 1.0, h, k, hc, kc)

    def hardened(s, h, k):
        return s * (1 + (k - 1) / (3 * h * h) * s * s) if s < h else k * s - 2 / 3 * h * (k - 1)

    for s in (0.1, 0.3, 0.49, 0.51, 1.5):
        assert law.stress(np.diag([1 + s, 1, 1]))[0, 0] == pytest.approx(E * hardened(s, h, k), rel=1e-12)
    for s in (0.1, 0.19, 0.21, 0.7, 1.5):  # the last is inverted
        assert law.stress(np.diag([1, 1, 1 - s]))[2, 2] == pytest.approx(-E * hardened(s, hc, kc), rel=1e-12)


def test_mooney_rivlin_matrix_against_sympy():
    f = sympy.symbols("f0:3", positive=True)
    lam, mu, share = 3.0, 0.8, 0.3
    J = f[0] * f[1] * f[2]
    I1 = sum(s**2 for s in f)
    I2 = (f[0] * f[1]) ** 2 + (f[0] * f[2]) ** 2 + (f[1] * f[2]) ** 2
    third = sympy.Rational(1, 3)
    W = mu / 2 * ((1 - share) * (I1 * J ** (-2 * third) - 3) + share * (I2 * J ** (-4 * third) - 3))
    W += (lam + 2 * mu / 3) / 2 * sympy.log(J) ** 2
    young, poisson = mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))
    law = ct.Muscle(young, poisson, second_invariant=share, strength=0.0)
    for state in ((1.3, 0.9, 0.8), (2.0, 1.1, 0.4), (0.7, 0.6, 0.5)):
        at = dict(zip(f, state, strict=True))
        assert law.energy(np.diag(state)) == pytest.approx(float(W.subs(at)), rel=1e-12)
        expected = [float(sympy.diff(W, s).subs(at)) for s in f]
        np.testing.assert_allclose(np.diag(law.stress(np.diag(state))), expected, rtol=1e-10)


def test_fibre_tension_follows_the_force_length_curves():
    """Active bell and passive rise at lengths relative to the optimum, taken from the printed formulas."""
    s, optimum = 3e5, 1.4
    a = np.array([0.0, 0.6, 0.8])

    def fa(l):
        if 0.6 <= l <= 1.4:
            return 1 - 4 * (l - 1) ** 2
        return 9 * (l - 0.4) ** 2 if 0.4 < l < 0.6 else 9 * (l - 1.6) ** 2 if 1.4 < l < 1.6 else 0.0

    def fp(l):
        return 0.05 * (np.exp(6.6 * (l - 1)) - 1) if l > 1 else 0.0

    for activation in (0.0, 0.5, 1.0):
        law = ct.Muscle(6e4, 0.45, fiber=a, activation=activation, strength=s, optimum=optimum)
        plain = ct.Muscle(6e4, 0.45, fiber=a, activation=activation, strength=0.0)
        for l in (0.3, 0.5, 0.7, 1.0, 1.2, 1.39, 1.5, 1.7):
            F = np.eye(3) + (l * optimum - 1) * np.outer(a, a)
            added = law.stress(F) - plain.stress(F)
            tension = s * (
                activation * fa(l) + (fp(l) if l <= 1.4 else fp(1.4) + (l - 1.4) * 0.33 * np.exp(2.64))
            )
            np.testing.assert_allclose(added, tension * np.outer(a, a), atol=1e-8 * s)


def uniaxial(law, axis, strain):
    """Stress along `axis` of a bar that is free across, divided by the strain."""
    pairs = [(i, j) for i in range(3) for j in range(i, 3) if (i, j) != (axis, axis)]

    def shape(x):
        F = np.eye(3)
        F[axis, axis] += strain
        for (i, j), value in zip(pairs, x, strict=True):
            F[i, j] += value
            if i != j:
                F[j, i] += value
        return F

    def rest(x):
        sigma = law.stress(shape(x)) @ shape(x).T
        return [sigma[i, j] for i, j in pairs]

    return law.stress(shape(root(rest, np.zeros(5), tol=1e-14).x))[axis, axis] / strain


def test_young_of_a_fibrous_solid_is_as_designed():
    law = ct.FiberReinforced(2e5, 0.4, fiber=(0, 1, 0), fiber_stiffness=7e5)
    assert uniaxial(law, 1, 1e-5) == pytest.approx(2e5 + 7e5, rel=1e-3)
    assert uniaxial(law, 0, 1e-5) == pytest.approx(
        2e5, rel=0.25
    )  # the fibres hinder the contraction a little
    assert uniaxial(law, 0, 1e-5) == pytest.approx(uniaxial(law, 2, 1e-5), rel=1e-6)
    crossed = ct.FiberReinforced(
        2e5, 0.0, fiber=(1, 0, 0), fiber_stiffness=7e5, second_fiber=(0, 1, 0), second_stiffness=3e5
    )
    assert uniaxial(crossed, 0, 1e-5) == pytest.approx(9e5, rel=1e-3)
    assert uniaxial(crossed, 1, 1e-5) == pytest.approx(5e5, rel=1e-3)
    assert uniaxial(crossed, 2, 1e-5) == pytest.approx(2e5, rel=1e-3)


def test_shape_keeping_is_the_modified_hooke_law():
    """Check 33: diagonal stresses E e_ii, others a E e_ij; a = 1 is Hooke without contraction; no lateral strain."""
    rng = np.random.default_rng(4)
    for shear in (0.3, 1.0, 4.0):
        law = ct.EditingMaterial(5.0, shear=shear)
        H = 1e-6 * rng.normal(size=(3, 3))
        e = 0.5 * (H + H.T)
        expected = 5.0 * np.where(np.eye(3) > 0, e, shear * e)
        np.testing.assert_allclose(law.stress(np.eye(3) + H), expected, atol=1e-10)
        np.testing.assert_allclose(
            law.stress(np.diag([1.7, 1.0, 1.0])), np.diag([5.0 * 0.7, 0, 0]), atol=1e-12
        )
    F = states()
    plain = ct.Corotated(5.0, 0.0)
    np.testing.assert_allclose(ct.EditingMaterial(5.0, shear=1.0).stress(F), plain.stress(F), atol=1e-12)


@pytest.mark.parametrize("plane", [True, False])
def test_more_shear_stiffness_makes_parts_turn_rather_than_shear(plane):
    """Check 33 on a block that is held on the left and dragged down at a corner, in 2D and in 3D.

    The same way down is sheared (half as much rotation as slope) or bent (as much rotation as slope, no shear).
    """
    turned, sheared = [], []
    for shear in (0.25, 1.0, 4.0, 16.0):
        cube = ct.mesh.box(size=(1, 1, 1), cells=(4, 4, 1))
        mesh = ct.mesh.rectangle(size=(1, 1), cells=(4, 4)) if plane else cube
        body = ct.SoftBody(mesh, material=ct.EditingMaterial(1e4, shear=shear, density=1.0), name="block")
        x = mesh.points
        body.pin(lambda x: x[:, 0] < x[:, 0].min() + 1e-6)
        corner = np.flatnonzero(np.linalg.norm(x[:, :2] - x[:, :2].max(axis=0), axis=1) < 1e-6)
        body.drive(corner, lambda time, rest: rest + [0.0, -0.3, 0.0])
        world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
        world.settle(rtol=1e-5)
        angles, shears = [], []
        for cell in body.mesh.cells if plane else mesh.tets:
            A, *_ = np.linalg.lstsq(x[cell] - x[cell].mean(axis=0), body.positions[cell], rcond=None)
            F = A.T
            F[2, 2] = 1.0 if plane else F[2, 2]
            U, _, V = signed_svd_batch(F[None])
            R = (U @ V.swapaxes(1, 2))[0]
            angles.append(np.arctan2(R[1, 0], R[0, 0]))
            shears.append(abs((R.T @ F)[0, 1]))
        turned.append(abs(np.mean(angles)))
        sheared.append(np.mean(shears))
    assert (np.diff(sheared) < 0).all(), sheared
    assert (np.diff(np.divide(turned, sheared)) > 0).all(), turned
    assert turned[-1] / sheared[-1] > 2.0 * turned[0] / sheared[0]


def test_activation_contracts_a_muscle_along_its_fibres_and_keeps_its_volume():
    """The length of a free bundle where the nominal stress along the fibres vanishes, against the body."""
    law = ct.Muscle(6e4, 0.45, density=1000.0, fiber=(1, 0, 0), activation=0.4)
    mesh = ct.mesh.box(size=(0.2, 0.05, 0.05), cells=(4, 1, 1))
    body = ct.SoftBody(mesh, material=law, damping=(20.0, 0.01), newton=4, name="bundle")
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    for _ in range(100):
        world.step()
    size = np.ptp(body.positions, axis=0)

    def across(s):
        return brentq(lambda t: law.stress(np.diag([s, t, t]))[1, 1], 0.5, 2.0, xtol=1e-12)

    stretch = brentq(lambda s: law.stress(np.diag([s, across(s), across(s)]))[0, 0], 0.3, 1.0, xtol=1e-10)
    assert stretch < 0.9
    assert size[0] / 0.2 == pytest.approx(stretch, rel=1e-3)
    assert size[1] / 0.05 == pytest.approx(across(stretch), rel=1e-3)
    body.set_material(activation=0.0)
    for _ in range(100):
        world.step()
    np.testing.assert_allclose(np.ptp(body.positions, axis=0), [0.2, 0.05, 0.05], rtol=1e-3)


def test_fibres_of_their_own_for_every_element():
    mesh = ct.mesh.box(size=(0.2, 0.1, 0.1), cells=(2, 1, 1))
    directions = np.random.default_rng(0).normal(size=(mesh.element_count, 3))
    law = ct.FiberReinforced(1e5, 0.3, fiber=directions)
    F = np.random.default_rng(1).normal(size=(mesh.element_count, 3, 3))
    for e in (0, 5):
        one = ct.FiberReinforced(1e5, 0.3, fiber=directions[e])
        np.testing.assert_array_equal(law.stress(F)[e], one.stress(F[e]))
    ct.SoftBody(mesh, material=law)
    with pytest.raises(ct.InputError, match="more elements"):
        ct.SoftBody(mesh, material=ct.FiberReinforced(fiber=directions[:-1]))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: ct.Muscle(fiber=(0, 0, 0)), "fiber"),
        (lambda: ct.FiberReinforced(fiber=(1, 0)), "fiber"),
        (lambda: ct.FiberReinforced(second_stiffness=1.0), "second_fiber"),
        (lambda: ct.EditingMaterial(poisson=0.3), "no transverse contraction"),
        (lambda: ct.Corotated(poisson=0.51), "at most 0.5"),
        (lambda: ct.Corotated(poisson=0.5).lame, "no finite bulk modulus"),
        (lambda: ct.Corotated(rotation="edge"), "'auto', 'exact', 'mean' or 'corner'"),
    ],
)
def test_what_a_law_cannot_be_made_of_is_refused(make, word):
    with pytest.raises(ct.InputError, match=word):
        make()

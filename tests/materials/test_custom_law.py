"""Laws that a user writes: the same as ours where they say the same, and refused where they say nonsense."""

from dataclasses import dataclass
from math import log

import numpy as np
import pytest

import continua as ct


@dataclass(frozen=True)
class ByStretches(ct.CustomLaw):
    def principal_energy(f, p):  # noqa: N805
        j = log(f[0] * f[1] * f[2])
        return 0.5 * p.mu * (f[0] ** 2 + f[1] ** 2 + f[2] ** 2 - 3.0) - p.mu * j + 0.5 * p.lam * j**2


@dataclass(frozen=True)
class ByEnergy(ct.CustomLaw):
    factor: float = 1.0

    @staticmethod
    def energy(F, p):
        m = 4.0 / 3.0 * p.mu
        k = p.lam + 5.0 / 6.0 * p.mu
        J = (
            F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
            - F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
            + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
        )
        i = (F * F).sum()
        return p.factor * (
            0.5 * m * (i - 3) + 0.5 * k * (J - 1 - 0.75 * m / k) ** 2 - 0.5 * m * np.log(i + 1)
        )


@dataclass(frozen=True)
class ByStress(ct.CustomLaw):
    """St. Venant-Kirchhoff without extension."""

    def energy(F, p):  # noqa: N805
        e = 0.5 * (F.T @ F - np.eye(3))
        return p.mu * (e * e).sum() + 0.5 * p.lam * np.trace(e) ** 2

    def stress(F, p):  # noqa: N805
        e = 0.5 * (F.T @ F - np.eye(3))
        return F @ (2.0 * p.mu * e + p.lam * np.trace(e) * np.eye(3))


def states(inverted=True):
    F = np.eye(3) + 0.3 * np.random.default_rng(0).normal(size=(100, 3, 3))
    return F if inverted else F[np.linalg.svd(F, compute_uv=False).min(axis=1) > 0.71]


@pytest.mark.parametrize(
    ("own", "ours", "inverted"),
    [
        (ByStretches, ct.NeoHookean, True),
        (ByEnergy, ct.StableNeoHookean, True),
        (ByStress, ct.StVenantKirchhoff, False),
    ],
)
def test_a_law_written_by_hand_is_the_shipped_one(own, ours, inverted):
    own, ours = own(2.0, 0.3), ours(2.0, 0.3)
    F = states(inverted)
    F = F[np.linalg.det(F) > 0] if not inverted else F
    difference = own.energy(F) - ours.energy(F)
    np.testing.assert_allclose(difference, difference[0], atol=1e-7)  # up to a constant
    np.testing.assert_allclose(own.stress(F), ours.stress(F), atol=1e-6)
    np.testing.assert_allclose(own.tangent(F), ours.tangent(F), atol=1e-5)
    values = np.linalg.eigvalsh(own.tangent(F, definite=True))
    assert values.min() > -1e-9


def test_a_body_of_a_law_of_its_own_moves_like_one_of_the_shipped_law():
    bodies = []
    for law in (ByEnergy(1e4, 0.3, factor=1.0), ct.StableNeoHookean(1e4, 0.3)):
        body = ct.SoftBody(
            ct.mesh.box(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)),
            material=law,
            newton=5,
            solver=ct.PCG(rtol=1e-9),
            name="bar",
        )
        body.pin(lambda x: x[:, 0] < 1e-6)
        world = ct.World([body], dt=0.02)
        for _ in range(20):
            world.step()
        bodies.append(body)
    own, ours = bodies
    assert np.abs(ours.positions - ours.rest_positions).max() > 0.05
    np.testing.assert_allclose(own.positions, ours.positions, atol=1e-5)
    own.set_material(factor=2.0)
    assert own.material.factor == 2.0
    with pytest.raises(ct.InputError, match="not 'activation'"):
        own.set_material(activation=0.5)


def make(**functions):
    return dataclass(frozen=True)(type("Mine", (ct.CustomLaw,), functions))


def test_a_stress_that_is_not_the_derivative_of_the_energy_is_refused():
    def stress(F, p):
        e = 0.5 * (F.T @ F - np.eye(3))
        return F @ (2.0 * p.mu * e)

    with pytest.raises(ct.InputError, match=r"stress of the law Mine is not the derivative.*%\) at F = \[\["):
        make(energy=ByStress._functions["energy"], stress=stress)()


@pytest.mark.parametrize(
    ("energy", "sentence"),
    [
        (lambda F, p: p.mu * (F * F).sum(), "stress at rest"),
        (lambda F, p: p.mu * ((F - np.eye(3)) ** 2).sum(), "is rotated"),
        (lambda F, p: p.mu * (3.0 - (F * F).sum() + 3.0 * np.log((F * F).sum() / 3.0)), "not stable at rest"),
        (lambda F, p: np.log((F * F).sum() - 3.0), "no finite energy"),
        (lambda F, p: p.nothing * F.sum(), r"has no constant 'nothing' \(p has: lam, mu, young, poisson\)$"),
        (lambda F, p: p.yung * F.sum(), r"no constant 'yung' .*do you mean p\.young\?$"),
        (lambda F, p: F.nothing, r"cannot be compiled by Numba: Unknown attribute 'nothing' of type array"),
        (lambda F, p: p.mu * nothing, "name 'nothing' is not defined$"),  # noqa: F821
    ],
)
def test_nonsense_is_refused(energy, sentence):
    with pytest.raises(ct.InputError, match=sentence):
        make(energy=energy)()


@pytest.mark.parametrize(
    ("energy", "symmetric"),
    [
        (lambda f, p: p.mu * ((f[0] - 1) ** 2 + (f[1] - 1) ** 2 + 1.2 * (f[2] - 1) ** 2), False),
        (
            lambda f, p: p.mu * ((f[0] - 1) ** 2 + (f[1] - 1) ** 2 + (f[2] - 1) ** 2 + (f[0] - f[1]) ** 4),
            False,
        ),
        (lambda f, p: p.mu * ((f[0] - 1) ** 2 + (f[1] - 1) ** 2 + (f[2] - 1) ** 2), True),
        (
            lambda f, p: (
                p.mu * ((f[0] - 1) ** 2 + (f[1] - 1) ** 2 + (f[2] - 1) ** 2) + (f[0] * f[1] * f[2] - 1) ** 2
            ),
            True,
        ),
    ],
)
def test_an_energy_that_knows_the_order_of_the_stretches_is_refused(energy, symmetric):
    if symmetric:
        make(principal_energy=energy)(1e5, 0.3)
        return
    with pytest.raises(ct.InputError, match=r"law Mine .*symmetric in f\[0\], f\[1\] and f\[2\]$"):
        make(principal_energy=energy)(1e5, 0.3)


def test_a_law_needs_one_energy():
    with pytest.raises(ct.InputError, match="needs a function"):
        make()()
    with pytest.raises(ct.InputError, match="not both"):
        make(energy=lambda F, p: 0.0, principal_energy=lambda f, p: 0.0)
    with pytest.raises(ct.InputError, match="young"):
        ByStretches(young=-1.0)


def test_an_energy_that_ends_at_collapse_warns():
    def energy(F, p):
        i = (F * F).sum()
        return p.mu * (i - 3.0 - 3.0 * np.log(i / 3.0))

    with pytest.warns(UserWarning, match="principal_energy"):
        make(energy=energy)(1.0, 0.3)

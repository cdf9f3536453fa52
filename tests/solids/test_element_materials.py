"""Bodies of several materials: against a sum of bodies, in series, with huge contrasts, and while running."""

import numpy as np
import pytest

import continua as ct
from continua.solids.elements.corotated_tet import CorotatedTets
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.linear_tet import LinearTets
from tests.solids.linearise import give, linearised

BOX = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(4, 2, 2))


def right_half(x):
    return x[:, 0] > 0.5


@pytest.mark.parametrize(
    ("kind", "law", "order"),
    [(LinearTets, ct.Corotated, 1), (CorotatedTets, ct.Corotated, 2), (HyperelasticTets, ct.NeoHookean, 1)],
)
def test_body_of_two_materials_is_the_sum_of_its_halves(kind, law, order):
    """Stiffness, force, energy and mass, with other Poisson's ratios and densities on both sides."""
    soft, hard = law(young=3.0, poisson=0.1, density=500.0), law(young=40.0, poisson=0.4, density=2000.0)
    body = ct.SoftBody(BOX, material=soft, parts=[(right_half, hard)], order=order)
    x = body.rest_positions + 0.03 * np.random.default_rng(0).normal(size=body.rest_positions.shape)
    K, force = linearised(body._elements, x)
    energy = body._elements.energy()
    in_right = right_half(BOX.points[BOX.tets].mean(axis=1))
    total, sum_force, sum_energy = 0.0, 0.0, 0.0
    for material, inside in ((soft, ~in_right), (hard, in_right)):
        half = ct.TetMesh(*ct.mesh.compact(BOX.points, BOX.tets[inside])[:2])
        part = give(kind(half), material)
        rest = part.rest_positions
        where = np.array([np.abs(body.rest_positions - p).sum(axis=1).argmin() for p in rest])
        assert np.allclose(body.rest_positions[where], rest)
        K_part, force_part = linearised(part, x[where])
        spread = np.zeros((len(x), len(rest)))
        spread[where, np.arange(len(rest))] = 1.0
        spread = np.kron(spread, np.eye(3))
        total = total + spread @ K_part @ spread.T
        sum_force = sum_force + (spread @ force_part.ravel()).reshape(-1, 3)
        sum_energy += part.energy()
    np.testing.assert_allclose(K.toarray(), total, atol=1e-9)
    np.testing.assert_allclose(force, sum_force, atol=1e-10)
    assert energy == pytest.approx(sum_energy, rel=1e-12)
    assert body.mass_total == pytest.approx(0.125 * (500.0 + 2000.0))


def test_two_springs_in_series():
    """A bar of two materials pulled at its end, nu = 0: the stretches are F / (E A) each."""
    bar = ct.SoftBody(
        BOX,
        material=ct.Linear(young=1e6, poisson=0.0),
        parts=[(right_half, ct.Linear(young=4e6, poisson=0.0))],
        solver=ct.PCG(rtol=1e-10),
    )
    bar.pin(lambda x: x[:, 0] < 1e-9)
    end = lambda x: x[:, 0] > 1 - 1e-9  # noqa: E731
    target = bar.rest_positions[end(bar.rest_positions)] + [0.01, 0, 0]
    bar.drive(end, lambda t, x: target)
    ct.World([bar], gravity=(0, 0, 0)).settle()
    middle = np.abs(bar.rest_positions[:, 0] - 0.5) < 1e-9
    moved = (bar.positions - bar.rest_positions)[middle, 0]
    np.testing.assert_allclose(moved, 0.01 * (1 / 1e6) / (1 / 1e6 + 1 / 4e6), rtol=1e-6)


def test_contrast_of_nine_decades_stays_alive():
    """1e3 to 1e12 Pa in one body at dt = 20 ms: bounded and finite."""
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(8, 2, 2)),
        material=ct.Corotated(young=1e3),
        parts=[
            (lambda x: x[:, 0] < 0.4, ct.Corotated(young=1e12)),
            (lambda x: x[:, 0] > 0.8, ct.Corotated(young=1e8)),
        ],
        damping=(1.0, 0.0),
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    world = ct.World([body], dt=0.02)
    for _ in range(300):
        world.step()
    assert np.isfinite(body.positions).all()
    assert np.abs(body.positions - body.rest_positions)[body.rest_positions[:, 0] < 0.4].max() < 1e-4
    assert np.abs(body.positions).max() < 10.0


def test_parts_change_while_running_and_bad_ones_are_refused():
    body = ct.SoftBody(BOX, material=ct.Corotated(), parts=[(right_half, ct.Corotated(young=1e5))], name="b")
    body.set_material(young=7e5, density=300.0, part=0)
    fresh = ct.SoftBody(
        BOX, material=ct.Corotated(), parts=[(right_half, ct.Corotated(young=7e5, density=300.0))], name="b"
    )
    for b in (body, fresh):
        b.pin(lambda x: x[:, 0] < 1e-9)
        world = ct.World([b])
        for _ in range(5):
            world.step()
    np.testing.assert_array_equal(body.positions, fresh.positions)
    with pytest.raises(ct.InputError, match="number of a part"):
        body.set_material(young=1.0, part=1)
    with pytest.raises(ct.InputError, match="law of its body"):
        ct.SoftBody(BOX, material=ct.Corotated(), parts=[(right_half, ct.NeoHookean())])
    with pytest.raises(ct.InputError, match="no element"):
        ct.SoftBody(BOX, parts=[(lambda x: x[:, 0] > 9, ct.Corotated())])
    with pytest.raises(ct.InputError, match="no region called 'core'"):
        ct.SoftBody(BOX, parts=[("core", ct.Corotated())])


def test_a_body_has_one_choice_of_the_rotation():
    mean = ct.Corotated(rotation="mean")
    with pytest.raises(ct.InputError, match="must have the rotation of its body, 'auto', not 'mean'"):
        ct.SoftBody(BOX, material=ct.Corotated(), parts=[(right_half, mean)])
    body = ct.SoftBody(BOX, material=mean, parts=[(right_half, mean)], order=2, name="bar")
    with pytest.raises(ct.InputError, match="rotation of body 'bar' cannot change; make a new body"):
        body.set_material(rotation="exact")
    body.set_material(rotation="mean", young=2.0)
    assert body.material.young == 2.0

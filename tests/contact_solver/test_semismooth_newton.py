"""The semismooth Newton method against independent references, with other sizes, materials and redundant contacts."""

import numpy as np
import pytest
from test_augmented_lagrangian import (
    _body,
    _collider_contacts,
    _coulomb,
    _dense,
    _frictionless,
    _pair_contacts,
)

import continua as ct
from continua.contact_solver import semismooth_newton
from continua.contact_solver.semismooth_newton import SemismoothNewton


def _solve(systems, rows, bound=None, start=None, tolerance=1e-10, **options):
    return SemismoothNewton(systems).solve(
        rows,
        np.zeros(len(rows)) if bound is None else bound,
        np.zeros((len(rows), 3)) if start is None else start,
        tolerance,
        **options,
    )


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_contact_with_colliders_obeys_coulombs_law(seed, friction):
    rng = np.random.default_rng(seed)
    system, A = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, friction)
    G = _dense(rows, 30)
    if friction:
        reference = _coulomb(A, system.rhs.ravel(), G, rows.offset.ravel(), rows.friction)
    else:
        reference = _frictionless(A, system.rhs.ravel(), G[::3], rows.offset[:, 0])
    found = _solve([system], rows)
    assert found.converged
    np.testing.assert_allclose(system.x.ravel(), reference, atol=1e-7)
    p = found.impulse
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] * (1.0 + 1e-12) + 1e-14).all()


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("stiff", [5.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_two_bodies_push_each_other(seed, stiff, friction):
    rng = np.random.default_rng(200 + seed)
    left, A = _body(rng, 25)
    right, B = _body(rng, 20, stiff=stiff)
    rows = _pair_contacts(rng, 25, 20, 15, friction)
    both = np.block([[A, np.zeros((75, 60))], [np.zeros((60, 75)), B]])
    r = np.concatenate([left.rhs, right.rhs]).ravel()
    G = _dense(rows, 45)
    if friction:
        reference = _coulomb(both, r, G, rows.offset.ravel(), rows.friction)
    else:
        reference = _frictionless(both, r, G[::3], rows.offset[:, 0])
    found = _solve([left, right], rows)
    assert found.converged
    np.testing.assert_allclose(np.concatenate([left.x, right.x]).ravel(), reference, atol=1e-6)


def test_redundant_contacts_have_a_solution():
    """Every contact four times: impulses are not unique, velocities are."""
    rng = np.random.default_rng(6)
    system, A = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 12, 0.5)
    once = _coulomb(A, system.rhs.ravel(), _dense(rows, 30), rows.offset.ravel(), rows.friction)
    found = _solve([system], rows.take(np.repeat(np.arange(12), 4)), tolerance=1e-9)
    assert found.converged
    np.testing.assert_allclose(system.x.ravel(), once, atol=1e-6)


def test_a_warm_start_takes_few_rounds():
    rng = np.random.default_rng(8)
    system, _ = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    first = _solve([system], rows)
    again = _solve([system], rows, start=first.impulse, tolerance=1e-6)
    assert again.solves <= 2 < first.solves


def test_contacts_that_contradict_each_other_give_way():
    """A node is to move in two opposite directions at once: impulses stay finite, and it stays where it is."""
    rng = np.random.default_rng(4)
    system, A = _body(rng, 12)
    rows = _collider_contacts(rng, 12, 1, 0.0).take(np.array([0, 0]))
    rows.block[1] *= -1.0
    rows.frame[1] *= -1.0
    rows.offset[:] = 0.0
    found = _solve(
        [system], rows, bound=np.array([-0.1, -0.1]), give_way=True, deep_speed=0.01, tolerance=1e-6
    )
    alone = 0.1 * np.linalg.inv(np.linalg.inv(A)[:3, :3]).max()
    assert np.isfinite(found.impulse).all()
    assert found.impulse.max() < 1e4 * alone


def test_a_solve_that_fails_leaves_the_velocities_as_they_were(monkeypatch):
    monkeypatch.setattr(semismooth_newton, "MAX_ROUNDS", 1)
    rng = np.random.default_rng(9)
    system, _ = _body(rng, 30)
    before = system.x.copy()
    found = _solve([system], _collider_contacts(rng, 30, 20, 0.3))
    assert not found.converged
    assert np.array_equal(system.x, before)


def test_threads_do_not_change_the_result():
    """A body of many rows, in which the sweeps of the preconditioner run in parallel parts."""
    results = []
    for threads in (1, 2):
        ct.set_threads(threads)
        body = ct.SoftBody(
            ct.mesh.box((0.4, 0.2, 0.4), (20, 10, 20)),
            material=ct.Corotated(young=5e4, poisson=0.4),
            name="block",
        )
        world = ct.World([body], colliders=[ct.Plane((0, -1e-4, 0))], dt=0.01)
        for _ in range(4):
            reports = world.step()
        assert reports[0].contacts > 100
        results.append(body.positions.copy())
    assert np.array_equal(*results)


@pytest.mark.parametrize("guess", [0.0, 1.0])
def test_one_contact_obeys_coulombs_law_for_any_compliance(guess):
    """Random compliances of conditions up to 1e8: it is closed, and sticks in the cone or slides on its border."""
    rng = np.random.default_rng(12)
    slides = 0
    for _ in range(500):
        factor = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-2.0, 2.0, (3, 1))
        W = factor @ factor.T * 10.0 ** rng.uniform(-3.0, 3.0)
        if np.linalg.cond(W) > 1e8:
            continue
        six, mu = W[np.triu_indices(3)][None], 10.0 ** rng.uniform(-2.0, 0.5)
        v = rng.normal(size=3) * 10.0 ** rng.uniform(-3.0, 2.0)
        start = guess * rng.normal(size=3) * [0.0, 1.0, 1.0] * np.abs(v).max() / np.trace(W)
        impulse = start[None].copy()
        semismooth_newton.predict_impulses(
            np.array([0, 1], np.int32), np.zeros(1, np.int32), np.eye(3).reshape(1, 9), (v + W @ start)[None],
            np.zeros(1), np.array([mu]), np.zeros(1, np.uint8), six, np.zeros(1), six, np.zeros(1, np.int64), 0.0,
            0.0, 1, impulse, np.zeros((1, 3)),
        )  # fmt: skip
        p = impulse[0]
        u = v + W @ p
        scale = 1e-9 * (np.abs(v).max() + np.abs(W @ p).max())
        friction, slip = np.hypot(*p[1:]), np.hypot(*u[1:])
        assert p[0] >= 0.0
        assert u[0] >= -scale
        assert p[0] == 0.0 or abs(u[0]) <= scale
        assert friction <= mu * p[0] * (1.0 + 1e-12)
        if slip > scale and p[0] > 0.0:
            slides += 1
            assert friction >= mu * p[0] * (1.0 - 1e-9)
            np.testing.assert_allclose(u[1:] / slip, -p[1:] / friction, atol=1e-6)
    assert slides > 50

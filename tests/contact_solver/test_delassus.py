"""The contact solve in impulses against independent references, with exact, rough and wrong compliance."""

from dataclasses import replace

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

from continua.contact_solver import delassus
from continua.contact_solver.delassus import solve_impulses
from continua.contact_solver.factored_compliance import FactoredCompliance
from continua.contact_solver.node_compliance import Deformation, NodeCompliance


def _deformation(rng, system):
    points = rng.normal(size=system.rhs.shape)
    return Deformation(points, points, system.matrix.pattern)


def _solve(rng, systems, rows, compliances=None, tolerance=1e-10, start=None):
    return solve_impulses(
        systems,
        compliances or [NodeCompliance.empty() for _ in systems],
        [_deformation(rng, system) for system in systems],
        rows,
        np.zeros(len(rows)),
        np.zeros((len(rows), 3)) if start is None else start,
        tolerance,
    )


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.2])
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
    found, _ = _solve(rng, [system], rows)
    assert found.converged
    np.testing.assert_allclose(system.x.ravel(), reference, atol=1e-7)
    p = found.impulse
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] * (1.0 + 1e-12) + 1e-14).all()


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_two_bodies_push_each_other(seed, friction):
    rng = np.random.default_rng(200 + seed)
    left, A = _body(rng, 25)
    right, B = _body(rng, 20, stiff=200.0)
    rows = _pair_contacts(rng, 25, 20, 15, friction)
    both = np.block([[A, np.zeros((75, 60))], [np.zeros((60, 75)), B]])
    r = np.concatenate([left.rhs, right.rhs]).ravel()
    G = _dense(rows, 45)
    if friction:
        reference = _coulomb(both, r, G, rows.offset.ravel(), rows.friction)
    else:
        reference = _frictionless(both, r, G[::3], rows.offset[:, 0])
    found, _ = _solve(rng, [left, right], rows)
    assert found.converged
    np.testing.assert_allclose(np.concatenate([left.x, right.x]).ravel(), reference, atol=1e-6)


@pytest.fixture
def no_factors(monkeypatch):
    """Treats all bodies as too large to be factored."""
    monkeypatch.setattr(FactoredCompliance, "of", classmethod(lambda *_: None))


def test_wrong_compliance_costs_rounds_but_no_accuracy(no_factors):
    rng = np.random.default_rng(5)
    system, A = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    reference = _coulomb(A, system.rhs.ravel(), _dense(rows, 30), rows.offset.ravel(), rows.friction)
    good, (compliance,) = _solve(rng, [system], rows)
    wrong = replace(compliance, local=1.4 * compliance.local)
    system.x[:] = 0.0
    found, _ = _solve(rng, [system], rows, [wrong])
    assert found.converged
    assert found.solves >= good.solves
    np.testing.assert_allclose(system.x.ravel(), reference, atol=1e-7)


def test_redundant_contacts_have_a_solution():
    """Every contact four times: impulses are not unique, velocities are."""
    rng = np.random.default_rng(6)
    system, A = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 12, 0.5)
    once = _coulomb(A, system.rhs.ravel(), _dense(rows, 30), rows.offset.ravel(), rows.friction)
    many = rows.take(np.repeat(np.arange(12), 4))
    found, _ = _solve(rng, [system], many, tolerance=1e-9)
    assert found.converged
    np.testing.assert_allclose(system.x.ravel(), once, atol=1e-6)


def test_a_warm_start_takes_few_rounds():
    rng = np.random.default_rng(8)
    system, _ = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    first, compliances = _solve(rng, [system], rows)
    again, _ = _solve(rng, [system], rows, compliances, 1e-6, first.impulse)
    assert again.solves <= 2 < first.solves


def test_compliance_turns_with_the_body():
    """The columns of a body, kept in its own axes, are those of the rotated body after a rotation."""
    rng = np.random.default_rng(9)
    system, _ = _body(rng, 30)
    rest = rng.normal(size=(30, 3))
    nodes = np.array([2, 9, 21])
    start = Deformation(rest, rest, system.matrix.pattern)
    compliance, _ = NodeCompliance.empty().with_nodes(system, nodes, start)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    Q *= np.sign(np.linalg.det(Q))
    turned = compliance.matrix(Deformation(rest, rest @ Q.T, system.matrix.pattern), nodes)
    big = np.kron(np.eye(3), Q)
    np.testing.assert_allclose(turned, big @ compliance.matrix(start, nodes) @ big.T, atol=1e-10)
    again = NodeCompliance.of_arrays(compliance.arrays())
    np.testing.assert_array_equal(again.local, compliance.local)


def test_what_was_learned_is_kept_and_makes_the_next_solve_shorter(no_factors):
    rng = np.random.default_rng(11)
    system, _ = _body(rng, 40)
    rows = _collider_contacts(rng, 40, 20, 0.3)
    _, (compliance,) = _solve(rng, [system], rows)
    wrong = replace(compliance, local=1.5 * compliance.local)
    solves = []
    for _ in range(3):
        system.x[:] = 0.0
        found, (wrong,) = _solve(rng, [system], rows, [wrong])
        solves.append(found.solves)
    assert solves[-1] < solves[0]


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_large_body_is_solved_around_its_contacts_first(friction, monkeypatch):
    """The result is that of the whole body, whatever lies around the contacts."""
    monkeypatch.setattr(delassus, "PART_ROWS", 20)
    monkeypatch.setattr(delassus, "PART_ROWS_PER_NODE", 0)
    rng = np.random.default_rng(12)
    system, A = _body(rng, 120)
    system.fixed[110:] = 1
    free = np.flatnonzero(np.repeat(system.fixed == 0, 3))
    rows = _collider_contacts(rng, 60, 12, friction)
    G = _dense(rows, 120)[:, free]
    A, r = A[np.ix_(free, free)], system.rhs.ravel()[free]
    if friction:
        reference = _coulomb(A, r, G, rows.offset.ravel(), rows.friction)
    else:
        reference = _frictionless(A, r, G[::3], rows.offset[:, 0])
    parts = []
    around = delassus._ImpulseSolve._around_contacts
    monkeypatch.setattr(
        delassus._ImpulseSolve, "_around_contacts", lambda self: parts.append(around(self)) or parts[-1]
    )
    found, _ = _solve(rng, [system], rows)
    assert parts[0] is not None
    assert found.converged
    np.testing.assert_allclose(system.x.ravel()[free], reference, atol=1e-7)


def test_a_coarse_solve_says_so():
    rng = np.random.default_rng(13)
    system, _ = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    none, start = [NodeCompliance.empty()], np.zeros((20, 3))
    deformation = [_deformation(rng, system)]
    found, _ = solve_impulses([system], none, deformation, rows, np.zeros(20), start, 1e-10, 1e-2)
    assert found.converged
    assert found.coarse
    assert 1e-10 < found.error <= 1e-2


def test_a_deadline_ends_the_solve_with_what_it_has():
    rng = np.random.default_rng(14)
    system, _ = _body(rng, 30)
    rows = _collider_contacts(rng, 30, 20, 0.3)
    none, start = [NodeCompliance.empty()], np.zeros((20, 3))
    deformation = [_deformation(rng, system)]
    found, _ = solve_impulses([system], none, deformation, rows, np.zeros(20), start, 1e-10, deadline=0.0)
    assert not found.converged
    assert found.solves == 1
    assert np.isfinite(system.x).all()

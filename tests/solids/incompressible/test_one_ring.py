"""The one-ring operators against finite differences, dense algebra and conservation laws (Irving 2007)."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.contact_solver import EMPTY_ROWS, contact_rows, join_rows
from continua.deformable.incompressible import OneRing, PressureSolve, ProjectedPart, volume_error
from continua.numerics import set_threads
from continua.solids.elements.factory import make_elements

MESHES = {
    "box": lambda: ct.mesh.box(size=(1.0, 0.7, 0.5), cells=(3, 3, 2)),
    "ball": lambda: ct.mesh.sphere(radius=0.5, cells=3),
    "plane": lambda: ct.mesh.rectangle((1.0, 0.6), (5, 4), kind="triangles"),
}


def one_ring(name):
    elements = make_elements(MESHES[name](), 1, ct.Corotated(), False)
    return elements, OneRing(elements)


def moved(elements, amount, seed=0):
    """Return random positions; a plane mesh stays in its plane."""
    x = elements.rest_positions.copy()
    change = amount * np.random.default_rng(seed).standard_normal(x.shape)
    if isinstance(elements.mesh, ct.mesh.TriMesh):
        change[:, 2] = 0.0
    return x + change


def dense(ring, n):
    """Return D [n, 3n] column by column."""
    columns = []
    for k in range(3 * n):
        v = np.zeros(3 * n)
        v[k] = 1.0
        columns.append(ring.divergence(v.reshape(n, 3)))
    return np.array(columns).T


def masses(n, seed=1):
    """Return positive random masses, and M^-1 as nine values a node."""
    m = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    inverse = np.zeros((n, 9))
    inverse[:, ::4] = (1.0 / m)[:, None]
    return m, inverse


@pytest.mark.parametrize("name", MESHES)
def test_gradient_is_the_transposed_divergence_and_volumes_sum_up(name):
    elements, ring = one_ring(name)
    n = elements.node_count
    x = moved(elements, 0.2)  # inverts some elements
    volumes = ring.update(x)
    D = dense(ring, n)
    p = np.random.default_rng(2).standard_normal(n)
    assert np.abs(ring.forces(p).ravel() - D.T @ p).max() <= 1e-14 * np.abs(D).sum(axis=1).max()
    corners = x[elements.elements]
    edges = corners[:, 1:] - corners[:, :1]
    signed = (
        np.linalg.det(edges) / 6.0
        if name != "plane"
        else 0.5 * (edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    )
    assert (signed < 0.0).any()
    assert volumes.sum() == pytest.approx(signed.sum(), rel=1e-12)
    assert ring.rest_volumes.sum() == pytest.approx(elements.mesh.volume, rel=1e-12)


@pytest.mark.parametrize("name", MESHES)
def test_divergence_is_the_rate_of_node_volumes(name):
    elements, ring = one_ring(name)
    x = moved(elements, 0.1)
    v = moved(elements, 1.0, 3) - elements.rest_positions
    ring.update(x)
    rate = ring.divergence(v)
    h = 1e-4  # volumes are cubic: central differences are exact up to h^2 and rounding
    difference = (ring.volumes(x + h * v) - ring.volumes(x - h * v)) / (2.0 * h)
    assert np.abs(rate - difference).max() <= 1e-6 * np.abs(rate).max()


@pytest.mark.parametrize("name", MESHES)
def test_pressure_of_an_element_has_no_force_and_no_torque(name):
    """The forces of a single node's pressure, and of random ones, for positions far from rest."""
    elements, ring = one_ring(name)
    x = moved(elements, 0.3)
    ring.update(x)
    rng = np.random.default_rng(4)
    for p in (np.eye(elements.node_count)[0], rng.standard_normal(elements.node_count)):
        force = ring.forces(p)
        size = np.abs(force).sum()
        assert np.abs(force.sum(axis=0)).max() <= 1e-14 * size
        assert np.abs(np.cross(x, force).sum(axis=0)).max() <= 1e-14 * size


def test_newton_steps_on_the_volumes_converge_quadratically():
    """From an error of 28 % below 1e-12 in at most five projections, C2; a free ball and one with a held node."""
    elements, ring = one_ring("ball")
    n, rest = elements.node_count, ring.rest_volumes
    _, inverse = masses(n)
    for held in ([], [0]):
        inverse[held] = 0.0
        amount, x = 0.0, elements.rest_positions
        while volume_error(ring.volumes(x), rest) < 0.28:
            amount += 2e-4
            x = moved(elements, amount)
        errors = [volume_error(ring.update(x), rest)]
        for _ in range(5):
            solve = PressureSolve([ProjectedPart(ring, inverse)])
            pressures, report = solve.solve(ring.volumes(x) - rest, rtol=1e-11)
            assert report.converged
            x = x + solve.changes(pressures)
            errors.append(volume_error(ring.update(x), rest))
        assert errors[0] >= 0.28
        assert min(errors) < 1e-12
        assert errors[2] < 10.0 * errors[1] ** 2 / errors[0] + 1e-12


def contacts(elements, rng, share=0.5):
    """Return rows of all three kinds on a share of the nodes: collider, point-triangle and edge-edge."""
    n = elements.node_count
    normal = rng.standard_normal((12, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    triangle, edge = rng.dirichlet(np.ones(3), 12), rng.uniform(0.1, 0.9, (12, 2))
    near = np.argsort(np.linalg.norm(elements.rest_positions - elements.rest_positions[0], axis=1))[
        : int(share * n)
    ]

    def nodes(count):
        return np.array([rng.choice(near, count, replace=False) for _ in range(12)])

    zero = np.zeros(12)
    points = np.zeros((12, 3))
    weights = np.column_stack([1.0 - edge[:, 0], edge[:, 0], edge[:, 1] - 1.0, -edge[:, 1]])
    return join_rows(
        [
            contact_rows(normal, points, zero, soft_rows=nodes(1)),
            contact_rows(
                np.roll(normal, 1, 0),
                points,
                zero,
                soft_rows=nodes(4),
                soft_weights=np.column_stack([np.ones(12), -triangle]),
            ),
            contact_rows(np.roll(normal, 2, 0), points, zero, soft_rows=nodes(4), soft_weights=weights),
        ]
    )


def solve_matrix(solve, n):
    return np.array([solve.multiply(e, np.empty(n)).copy() for e in np.eye(n)]).T


@pytest.mark.parametrize("sweeps", [1, 2, 4, 7])
def test_projected_operator_is_symmetric_and_semidefinite(sweeps, monkeypatch):
    monkeypatch.setattr("continua.deformable.incompressible.projection.SWEEPS", sweeps)
    elements, ring = one_ring("box")
    n = elements.node_count
    ring.update(moved(elements, 0.03))
    _, inverse = masses(n)
    solve = PressureSolve([ProjectedPart(ring, inverse)], contacts(elements, np.random.default_rng(5)))
    A = solve_matrix(solve, n)
    assert np.abs(A - A.T).max() <= 1e-12 * np.abs(A).max()
    assert np.linalg.eigvalsh(A).min() >= -1e-12 * np.abs(A).max()


def test_four_sweeps_reduce_violations_tenfold():
    elements, ring = one_ring("box")
    n, rng = elements.node_count, np.random.default_rng(6)
    ring.update(elements.rest_positions)
    _, inverse = masses(n)
    part, rows = ProjectedPart(ring, inverse), contacts(elements, rng, 1.0)
    ratios = []
    for _ in range(5):
        p = rng.standard_normal(n)
        before = rows.relative_velocities(PressureSolve([part]).changes(p))[:, 0]
        after = rows.relative_velocities(PressureSolve([part], rows).changes(p))[:, 0]
        ratios.append(np.linalg.norm(before) / np.linalg.norm(after))
    assert min(ratios) >= 10.0


def test_singular_systems_converge():
    """Lattices have pressures that cancel in every element, contacts and held nodes add more."""
    elements, ring = one_ring("box")
    n, rng = elements.node_count, np.random.default_rng(7)
    ring.update(elements.rest_positions)
    _, inverse = masses(n)
    inverse[:4] = 0.0
    for rows in (EMPTY_ROWS, contacts(elements, rng)):
        solve = PressureSolve([ProjectedPart(ring, inverse)], rows)
        eigenvalues = np.linalg.eigvalsh(solve_matrix(solve, n))
        assert (eigenvalues < 1e-12 * eigenvalues.max()).any()
        rate = solve.multiply(rng.standard_normal(n), np.empty(n)).copy()
        pressures, report = solve.solve(rate, rtol=1e-8)
        assert report.converged
        left = solve.multiply(pressures, np.empty(n)) + rate
        assert volume_error(ring.rest_volumes + left, ring.rest_volumes) <= 1.01e-8 * volume_error(
            ring.rest_volumes + rate, ring.rest_volumes
        )


def test_inconsistent_systems_do_not_claim_to_converge():
    """Held nodes whose volume is to change: no pressure can do that, and the residual says so."""
    elements, ring = one_ring("box")
    n = elements.node_count
    ring.update(elements.rest_positions)
    solve = PressureSolve([ProjectedPart(ring, np.zeros((n, 9)))])
    _, report = solve.solve(np.ones(n))
    assert not report.converged
    assert report.residual == pytest.approx(1.0)


def test_velocity_projection_is_orthogonal_and_idempotent():
    """It removes the divergence, keeps momentum and angular momentum, never adds energy, and repeats to nothing, C3."""
    elements, ring = one_ring("ball")
    n = elements.node_count
    m, inverse = masses(n)
    x = moved(elements, 0.02)
    ring.update(x)
    v = np.random.default_rng(8).standard_normal((n, 3))
    solve = PressureSolve([ProjectedPart(ring, inverse)])
    pressures, _ = solve.solve(ring.divergence(v), rtol=1e-12)
    change = solve.changes(pressures).copy()
    after = v + change
    assert np.abs(ring.divergence(after)).max() <= 1e-11 * np.abs(ring.divergence(v)).max()
    again, _ = solve.solve(ring.divergence(after), rtol=1e-3)
    assert np.abs(solve.changes(again)).max() <= 1e-9 * np.abs(v).max()
    assert np.abs(m @ change).max() <= 1e-13 * np.abs(m @ np.abs(v)).max()
    assert np.abs((m[:, None] * np.cross(x, change)).sum(axis=0)).max() <= 1e-13 * m.sum()
    energy = [0.5 * float(m @ (u**2).sum(axis=1)) for u in (v, change, after)]
    assert energy[2] == pytest.approx(energy[0] - energy[1], rel=1e-10)


def test_bitwise_the_same_for_any_number_of_threads():
    elements = make_elements(ct.mesh.box(cells=(13, 13, 13)), 1, ct.Corotated(), False)
    ring = OneRing(elements)
    n = elements.node_count
    _, inverse = masses(n)
    results = []
    for threads in (1, 2):
        set_threads(threads)
        ring.update(moved(elements, 0.005))
        solve = PressureSolve([ProjectedPart(ring, inverse)])
        pressures, _ = solve.solve(ring.rest_volumes * np.sin(np.arange(n)))
        results.append((pressures.tobytes(), solve.changes(pressures).tobytes()))
    assert results[0] == results[1]

"""Averaged volume at order 2 and 3: inf-sup constants, orders of convergence, energy, patch test, Cook."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sparse
from scipy.sparse.linalg import splu, spsolve

import continua as ct
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from tests.solids.elements.test_quadrature_elements import distorted
from tests.solids.linearise import give, linearised
from tests.solids.test_locking import _cook_deflection, _mixed_cook, _vortex

KINDS = [("triangles", 2), ("quads", 2), ("hexes", 2), ("tets", 2), ("tets", 3)]
LAWS = [
    ct.Linear(young=10.0, poisson=0.499),
    ct.Corotated(young=10.0, poisson=0.499),
    ct.NeoHookean(young=10.0, poisson=0.499),
    ct.StVenantKirchhoff(young=10.0, poisson=0.499),
]


def _cube(kind, n):
    if kind in ("hexes", "tets"):
        return (ct.mesh.hex_box if kind == "hexes" else ct.mesh.box)((1, 1, 1), (n, n, n))
    return ct.mesh.rectangle((1, 1), (n, n), kind=kind)


def _elements(kind, order, mesh, mean=True):
    if kind == "tets":
        return QuadratureTets(mesh, order, mean)
    return NodalElements(mesh, order, mean_volume=mean)


def _dimension(kind):
    return 3 if kind in ("hexes", "tets") else 2


def _on_outline(elements, dimension):
    """Return which nodes of a unit cube or square are on its outline."""
    x = elements.rest_positions[:, :dimension]
    x = x - x.min(axis=0)
    return ((x < 1e-9) | (x > 1.0 - 1e-9)).any(axis=1)


def _free(elements, dimension):
    inside = ~_on_outline(elements, dimension)
    return (3 * np.flatnonzero(inside)[:, None] + np.arange(dimension)).ravel()


def _inf_sup(kind, order, n):
    """Return the square roots of the eigenvalues of B A^-1 B^T against the pressure's mass, A = int 2 mu e : e.

    The body is held on its outline. B is built here from scratch, with the elements' functions.
    """
    elements = _elements(kind, order, _cube(kind, n))
    space, w = elements.means.space, elements.weights
    m, c = len(w), space.values.shape[2]
    dofs = np.arange(m * c).reshape(m, c) if space.dofs is None else space.dofs
    f = np.broadcast_to(space.values, (m, w.shape[1], c))
    mass = np.einsum("mq,mqa,mqb->mab", w, f, f)
    divergence = np.einsum("mq,mqc,mqkd->mckd", w, f, elements.gradients)
    size = dofs.max() + 1
    rows = np.broadcast_to(dofs[:, :, None, None], divergence.shape)
    columns = np.broadcast_to(3 * elements.elements[:, None, :, None] + np.arange(3), divergence.shape)
    shape = (size, 3 * elements.node_count)
    B = sparse.csr_array((divergence.ravel(), (rows.ravel(), columns.ravel())), shape=shape)
    pairs = np.repeat(dofs, c, axis=1).ravel(), np.tile(dofs, (1, c)).ravel()
    M = sparse.csr_array((mass.ravel(), pairs), shape=(size, size)).toarray()
    plain = give(_elements(kind, order, elements.mesh, False), ct.Linear(young=1.0, poisson=0.0))
    A, _ = linearised(plain, plain.rest_positions)
    free = _free(elements, _dimension(kind))
    Bf = B[:, free].toarray()
    S = Bf @ splu(A[free][:, free].tocsc()).solve(np.ascontiguousarray(Bf.T))
    return np.sqrt(np.maximum(scipy.linalg.eigh(0.5 * (S + S.T), M, eigvals_only=True), 0.0))


@pytest.mark.parametrize(
    ("kind", "order", "sizes", "least"),
    [
        ("triangles", 2, (4, 8), 0.5),
        ("quads", 2, (4, 8), 0.55),
        ("hexes", 2, (2, 3), 0.45),
        ("tets", 2, (3, 5), 0.25),
        ("tets", 3, (2, 3), 0.16),
    ],
)
def test_pressures_are_stable(kind, order, sizes, least):
    """Only the constant pressure does no work, and the inf-sup constant does not fall as the mesh is refined."""
    constants = []
    for n in sizes:
        values = _inf_sup(kind, order, n)
        assert values[0] < 1e-6
        constants.append(values[1])
    assert min(constants) > least
    assert constants[1] > 0.95 * constants[0]


def _smooth(x, law, dimension):
    """Return a displacement of which the pressure is of the order of mu, and its body force."""
    lam, mu = law.lame
    u, minus = _vortex(x, dimension == 3)
    a, b = 2.0 * x[:, 0], 3.0 * x[:, 1]  # plus grad q / lambda, q = sin a cos b
    gradient = np.zeros_like(x)
    gradient[:, 0], gradient[:, 1] = 2.0 * np.cos(a) * np.cos(b), -3.0 * np.sin(a) * np.sin(b)
    return u + gradient / lam, mu * minus + 13.0 * (lam + 2.0 * mu) / lam * gradient


def _error(kind, order, n, poisson, mean=True):
    """Return the relative error in L2 of a manufactured solution on a distorted mesh."""
    law = ct.Linear(young=1.0, poisson=poisson)
    d = _dimension(kind)
    mesh = _cube(kind, n)
    x = mesh.points - mesh.points.min(axis=0)
    wave = np.prod(np.sin(np.pi * x[:, :d]), axis=1)
    x[:, 0] += 0.05 * wave
    x[:, 1] -= 0.04 * wave
    elements = give(_elements(kind, order, type(mesh)(x, mesh.cells), mean), law)
    at_nodes = _smooth(elements.values(elements.rest_positions), law, d)
    exact, force = (elements.coefficients(values) for values in at_nodes)
    K, _ = linearised(elements, elements.rest_positions)
    p = elements.pattern
    mass = elements.mass(np.ones(elements.element_count), False)
    M = sparse.csr_array((mass, p.indices, p.indptr), shape=2 * (len(exact),))
    free = _free(elements, d)
    u = exact.ravel().copy()
    u[free] = 0.0
    rhs = (M @ force).ravel() - K @ u
    u[free] = spsolve(K[free][:, free].tocsc(), rhs[free])
    off = u.reshape(-1, 3) - exact
    return float(np.sqrt(np.vdot(off, M @ off) / np.vdot(exact, M @ exact)))


@pytest.mark.parametrize(
    ("kind", "order", "sizes", "gain"),
    [
        ("triangles", 2, (8, 16), 2.5),
        ("quads", 2, (8, 16), 40.0),
        ("tets", 2, (4, 6), 6.0),
        ("tets", 3, (2, 3), 2.5),
    ],
)
def test_displacements_converge_with_the_full_order(kind, order, sizes, gain):
    """Order p + 1 at 0.4999 (at order 3 not yet on these meshes); in full the error is `gain` times as large."""
    errors = [_error(kind, order, n, 0.4999) for n in sizes]
    rate = np.log(errors[0] / errors[1]) / np.log(sizes[1] / sizes[0])
    assert rate > (3.0 if order == 2 else 3.15)
    assert _error(kind, order, sizes[1], 0.4999, mean=False) > gain * errors[1]


@pytest.mark.parametrize(("kind", "order", "n"), [("triangles", 2, 8), ("tets", 2, 4), ("tets", 3, 3)])
def test_averages_set_in_continuously(kind, order, n):
    """At 0.45 nothing is averaged; up to 0.48 the error is at most 1.1 times that in full."""
    assert _error(kind, order, n, 0.45) == pytest.approx(_error(kind, order, n, 0.45, mean=False), rel=1e-9)
    for poisson in (0.46, 0.48):
        assert _error(kind, order, n, poisson) < 1.1 * _error(kind, order, n, poisson, mean=False)


@cache
def _distorted(kind):
    n = {"triangles": 3, "quads": 3, "hexes": 2, "tets": 2}[kind]
    return distorted(_cube(kind, n), 0.1 / n)


def _moved(elements, kind, amount, seed=1):
    moves = amount * np.random.default_rng(seed).normal(size=elements.rest_positions.shape)
    moves[:, _dimension(kind) :] = 0.0
    return elements.rest_positions + moves


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_force_and_stiffness_are_gradients_of_the_energy(kind, order, law):
    elements = give(_elements(kind, order, _distorted(kind)), law)
    rng = np.random.default_rng(3)
    x = _moved(elements, kind, 0.1)
    _, force = linearised(elements, x)
    d = rng.normal(size=x.shape)
    d[:, _dimension(kind) :] = 0.0
    energies = []
    for s in (1e-6, -1e-6):
        elements.update(x + s * d)
        energies.append(elements.energy())
    assert np.vdot(force, d) == pytest.approx((energies[0] - energies[1]) / 2e-6, rel=1e-6)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-11 * np.abs(force).max())
    angle = 1.3
    R = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    if not isinstance(law, ct.Linear):
        np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-10 * np.abs(force).max())
        _, turned = linearised(elements, x @ R.T)
        np.testing.assert_allclose(turned, force @ R.T, atol=1e-10 * np.abs(force).max())
    small = _moved(elements, kind, 1e-6)
    small[:, : _dimension(kind)] *= 1.0002  # slight tension: tangents at the points are definite as they are
    K, _ = linearised(elements, small)
    forces = [linearised(elements, small + s * d)[1] for s in (1e-7, -1e-7)]
    difference = ((forces[0] - forces[1]) / 2e-7).ravel()
    np.testing.assert_allclose(K @ d.ravel(), difference, atol=3e-5 * np.abs(difference).max())
    assert abs(K - K.T).max() < 1e-14 * abs(K).max()


@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_distorted_elements_pass_the_patch_test(kind, order):
    """Held on its outline in a state of constant strain, the inside follows exactly, and the stress is Hooke's."""
    law = ct.Linear(young=10.0, poisson=0.499)
    d = _dimension(kind)
    elements = give(_elements(kind, order, _distorted(kind)), law)
    A = np.array([[0.02, 0.01, -0.03], [0.015, -0.01, 0.02], [0.0, 0.04, 0.01]])
    A[d:], A[:, d:] = 0.0, 0.0
    x = elements.rest_positions @ (np.eye(3) + A).T
    free = _free(elements, d)
    start = x.copy()
    start.reshape(-1)[free] = elements.rest_positions.reshape(-1)[free]
    K, force = linearised(elements, start)
    start.reshape(-1)[free] -= spsolve(K[free][:, free].tocsc(), force.ravel()[free])
    np.testing.assert_allclose(start, x, atol=1e-12)
    elements.update(x)
    lam, mu = law.lame
    e = 0.5 * (A + A.T)
    expected = (2.0 * mu * e + lam * np.trace(e) * np.eye(3))[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    np.testing.assert_allclose(elements.stress(), np.tile(expected, (elements.element_count, 1)), atol=1e-9)


@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_only_rigid_motions_are_free_of_energy(kind, order):
    elements = give(_elements(kind, order, _distorted(kind)), ct.Corotated(young=10.0, poisson=0.49999))
    plain = give(_elements(kind, order, _distorted(kind), False), ct.Corotated(young=10.0, poisson=0.0))
    d = _dimension(kind)
    keep = (3 * np.arange(elements.node_count)[:, None] + np.arange(d)).ravel()
    K, least = (linearised(e, e.rest_positions)[0].toarray()[np.ix_(keep, keep)] for e in (elements, plain))
    rigid = 3 if d == 2 else 6
    values, bound = np.linalg.eigvalsh(K), np.linalg.eigvalsh(least)
    np.testing.assert_allclose(values[:rigid], 0.0, atol=1e-11 * values[-1])
    assert values[rigid] > bound[rigid] / 1.5 * (1.0 - 1e-6)


@pytest.mark.parametrize("poisson", [0.3333, 0.4999])
@pytest.mark.parametrize(
    ("kind", "order", "n", "bound"),
    [
        ("triangles", 2, 16, 0.01),
        ("quads", 2, 12, 0.01),
        ("hexes", 2, 12, 0.01),
        ("tets", 2, 18, 0.01),
        ("tets", 3, 8, 0.0125),
    ],
)
def test_cooks_membrane_is_within_a_percent(kind, order, n, bound, poisson):
    """Tetrahedra of order 3 need n = 11 for a percent, which takes fifteen seconds."""
    assert _cook_deflection(kind, n, poisson, order=order) == pytest.approx(_mixed_cook(poisson), rel=bound)


@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_results_do_not_depend_on_the_number_of_threads(kind, order):
    elements = give(_elements(kind, order, _distorted(kind)), ct.NeoHookean(young=10.0, poisson=0.499))
    elements.parallel = True
    results = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            K, f = linearised(elements, _moved(elements, kind, 0.02))
            results.append((K.data.tobytes(), f.tobytes()))
    finally:
        ct.set_threads(2)
    assert results[0] == results[1]

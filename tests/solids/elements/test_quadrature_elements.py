"""Elements with quadrature points: against scikit-fem, polynomials, differences of energy, and the other elements."""

from math import factorial

import numpy as np
import pytest
import skfem
from scipy.sparse.linalg import spsolve
from skfem.helpers import ddot, div, dot, eye, sym_grad

import continua as ct
from continua.numerics.quadrature import tet_rule
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from tests.solids.linearise import give, linearised

HOOKE = ct.Linear(young=10.0, poisson=0.35, density=5.0)


def distorted(mesh, amount, seed=0):
    """Move the inner nodes of a mesh."""
    outline = np.zeros(mesh.node_count, bool)
    outline[mesh.boundary_faces] = True
    moves = amount * np.random.default_rng(seed).uniform(-1, 1, mesh.points.shape)
    moves[outline] = 0.0
    if isinstance(mesh, ct.mesh.PlaneMesh):
        moves[:, 2] = 0.0
    return type(mesh)(mesh.points + moves, mesh.cells)


MESHES = {
    "hexes": distorted(ct.mesh.hex_box((1.0, 1.2, 0.8), (3, 3, 3)), 0.08),
    "quads": distorted(ct.mesh.rectangle((1.0, 1.2), (4, 4)), 0.06),
    "triangles": distorted(ct.mesh.rectangle((1.0, 1.2), (4, 4), kind="triangles"), 0.06),
}
PARTNERS = {
    "hexes": (skfem.MeshHex, skfem.ElementHex1),
    "quads": (skfem.MeshQuad, skfem.ElementQuad1),
    "triangles": (skfem.MeshTri, skfem.ElementTriP1),
}


@pytest.mark.parametrize(("order", "degree"), [(1, 1), (2, 2), (3, 5)])
def test_rules_integrate_polynomials(order, degree):
    points, weights = tet_rule(order)
    assert (weights > 0).all()
    for i, j, k in np.ndindex(degree + 1, degree + 1, degree + 1):
        if i + j + k <= degree:
            exact = 6 * factorial(i) * factorial(j) * factorial(k) / factorial(i + j + k + 3)
            value = weights @ (points[:, 0] ** i * points[:, 1] ** j * points[:, 2] ** k)
            assert value == pytest.approx(exact, abs=1e-15)


def _fem_order(mesh):
    """Return the corners of an element in scikit-fem's order."""
    # its hexahedra number the corners of the unit cube in an order of their own; find it from the reference cell
    if not isinstance(mesh, ct.HexMesh):
        return np.arange(mesh.cells.shape[1])
    corners = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    )
    wanted = skfem.MeshHex().p.T[skfem.MeshHex().t[:, 0]]
    return np.array([np.flatnonzero((corners == w).all(axis=1))[0] for w in wanted])


@pytest.mark.parametrize("kind", MESHES)
def test_stiffness_and_mass_equal_scikit_fem(kind):
    mesh = MESHES[kind]
    mesh_type, element = PARTNERS[kind]
    dimension = 3 if kind == "hexes" else 2
    cells = mesh.cells[:, _fem_order(mesh)].T.astype(np.int64)
    fem = mesh_type(mesh.points[:, :dimension].T.copy(), cells, sort_t=False)
    count = {"hexes": 3, "quads": 3, "triangles": 1}[kind]  # Gauss points of degree 3 are two along an axis
    basis = skfem.Basis(fem, skfem.ElementVector(element()), intorder=count)
    lam, mu = HOOKE.lame

    @skfem.BilinearForm
    def stiffness(u, v, _):
        e = sym_grad(u)
        return ddot(2 * mu * e + lam * eye(div(u), dimension), sym_grad(v))

    K = stiffness.assemble(basis).toarray()
    exact = skfem.Basis(fem, skfem.ElementVector(element()), intorder=6)
    M = skfem.BilinearForm(lambda u, v, _: 5.0 * dot(u, v)).assemble(exact).toarray()
    dofs = basis.nodal_dofs.T.ravel()
    elements = give(NodalElements(mesh), HOOKE)
    ours, force = linearised(elements, elements.rest_positions)
    plane = (3 * np.arange(mesh.node_count)[:, None] + np.arange(dimension)).ravel()
    np.testing.assert_allclose(ours.toarray()[np.ix_(plane, plane)], K[np.ix_(dofs, dofs)], atol=1e-12 * 10)
    assert np.abs(force).max() < 1e-12
    mass = elements.mass(np.full(mesh.element_count, 5.0), lumped=False)
    p = elements.pattern
    for i in range(0, mesh.node_count, 7):
        row = np.zeros(mesh.node_count)
        row[p.indices[p.indptr[i] : p.indptr[i + 1]]] = mass[p.indptr[i] : p.indptr[i + 1]]
        np.testing.assert_allclose(row, M[basis.nodal_dofs[0, i], basis.nodal_dofs[0]], atol=1e-13)
    lumped = elements.mass(np.full(mesh.element_count, 5.0), lumped=True)
    assert lumped.sum() == pytest.approx(mass.sum(), rel=1e-13) == 5.0 * mesh.volume


@pytest.mark.parametrize("kind", MESHES)
def test_distorted_elements_pass_the_patch_test(kind):
    """Held on its outline in a state of constant strain, the inside follows exactly."""
    mesh = MESHES[kind]
    elements = give(NodalElements(mesh), HOOKE)
    A = np.array([[0.02, 0.01, -0.03], [0.015, -0.01, 0.02], [0.0, 0.04, 0.01]])
    if kind != "hexes":
        A[2], A[:, 2] = 0.0, 0.0
    x = mesh.points @ (np.eye(3) + A).T
    K, force = linearised(elements, x)
    outline = np.zeros(mesh.node_count, bool)
    outline[mesh.boundary_faces] = True
    assert (~outline).sum() > 0
    np.testing.assert_allclose(force[~outline], 0.0, atol=1e-13)
    inner = (3 * np.flatnonzero(~outline)[:, None] + np.arange(3 if kind == "hexes" else 2)).ravel()
    start = mesh.points.copy()
    start[outline] = x[outline]
    _, residual = linearised(elements, start)
    start.reshape(-1)[inner] -= spsolve(K[np.ix_(inner, inner)].tocsc(), residual.ravel()[inner])
    np.testing.assert_allclose(start, x, atol=1e-14)
    F = elements._records[..., :9].reshape(-1, 3, 3)
    elements.update(x)
    np.testing.assert_allclose(F, np.broadcast_to(np.eye(3) + A, F.shape), atol=1e-13)


def every_kind():
    tets = ct.mesh.box((1.0, 0.5, 0.5), (2, 1, 1))
    yield from (NodalElements(mesh) for mesh in MESHES.values())
    yield from (QuadratureTets(tets, order) for order in (1, 2, 3))


@pytest.mark.parametrize("law", [ct.Corotated, ct.NeoHookean, ct.StVenantKirchhoff])
def test_force_is_the_gradient_of_the_energy_also_when_inverted(law):
    rng = np.random.default_rng(3)
    for elements in every_kind():
        give(elements, law(young=10.0, poisson=0.3))
        x = elements.rest_positions + 0.25 * rng.normal(size=elements.rest_positions.shape)
        if isinstance(elements.mesh, ct.mesh.PlaneMesh):
            x[:, 2] = 0.0
        _, force = linearised(elements, x)
        assert elements.inverted > 0
        for i in rng.integers(0, len(x), 6):
            for c in range(2):
                values = []
                for s in (1e-6, -1e-6):
                    moved = x.copy()
                    moved[i, c] += s
                    elements.update(moved)
                    values.append(elements.energy())
                assert force[i, c] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-6, abs=1e-6)


def test_stiffness_is_the_gradient_of_the_force():
    """Stretched a little everywhere, so that the tangents are definite as they are."""
    rng = np.random.default_rng(4)
    for elements in every_kind():
        give(elements, ct.NeoHookean(young=10.0, poisson=0.3))
        x = 1.1 * elements.rest_positions + 0.003 * rng.normal(size=elements.rest_positions.shape)
        if isinstance(elements.mesh, ct.mesh.PlaneMesh):
            x[:, 2] = 0.0
        K, _ = linearised(elements, x)
        d = rng.normal(size=x.shape)
        forces = [linearised(elements, x + s * d)[1] for s in (1e-6, -1e-6)]
        np.testing.assert_allclose((K @ d.ravel()).reshape(-1, 3), (forces[0] - forces[1]) / 2e-6, atol=1e-6)


def test_tets_equal_the_elements_that_have_a_way_of_their_own():
    mesh = ct.mesh.box((1.0, 0.5, 0.5), (2, 2, 1))
    rng = np.random.default_rng(5)
    law = ct.NeoHookean(young=10.0, poisson=0.3)
    one, other = give(QuadratureTets(mesh, 1), law), give(HyperelasticTets(mesh), law)
    x = mesh.points + 0.2 * rng.normal(size=mesh.points.shape)
    (K, f), (K2, f2) = linearised(one, x), linearised(other, x)
    np.testing.assert_allclose(f, f2, atol=1e-11)
    np.testing.assert_allclose(K.toarray(), K2.toarray(), atol=1e-10)
    np.testing.assert_allclose(one.von_mises(), other.von_mises(), rtol=1e-10)
    for order in (2, 3):
        one, other = give(QuadratureTets(mesh, order), HOOKE), give(BernsteinTets(mesh, order), HOOKE)
        x = one.rest_positions + 0.01 * rng.normal(size=one.rest_positions.shape)
        (K, f), (K2, f2) = linearised(one, x), linearised(other, x)
        np.testing.assert_allclose(f, f2, atol=1e-12)
        np.testing.assert_allclose(K.toarray(), K2.toarray(), atol=1e-11)
        assert one.energy() == pytest.approx(other.energy(), rel=1e-12)


def test_bits_do_not_depend_on_the_number_of_threads():
    law = ct.StableNeoHookean(young=10.0, poisson=0.4)
    elements = give(NodalElements(ct.mesh.hex_box((1, 1, 1), (6, 5, 4))), law)
    x = elements.rest_positions + 0.05 * np.random.default_rng(6).normal(size=elements.rest_positions.shape)
    elements.parallel = True
    results = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            K, f = linearised(elements, x)
            results.append((K.data.tobytes(), f.tobytes(), elements.von_mises().tobytes()))
    finally:
        ct.set_threads(2)
    assert results[0] == results[1]


def test_a_collapsed_hexahedron_recovers():
    """Flat, mirrored, crumpled to a point: each goes back to its shape."""
    mesh = ct.mesh.hex_box((1, 1, 1), (1, 1, 1))
    starts = [mesh.points * [1, 0, 1], mesh.points * [1, -0.7, 1], np.zeros((8, 3))]
    rng = np.random.default_rng(7)
    for start in starts:
        body = ct.SoftBody(
            mesh, material=ct.Corotated(young=1e3, poisson=0.3), damping=(2.0, 0.02), name="cube"
        )
        world = ct.World([body], gravity=(0, 0, 0), dt=0.02)
        state = body.state()
        state["positions"][:] = start + 1e-3 * rng.normal(size=start.shape)
        body.restore(state)
        for _ in range(600):
            world.step()
        edges = body.positions[mesh.edges]
        np.testing.assert_allclose(np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1), 1.0, atol=0.01)


def test_plastic_matter_has_the_energy_of_its_own_rest_shape():
    """F = Fe Fp: the energy is that of Fe in a volume det Fp times as large (Irving 2007), the force its gradient."""
    rng = np.random.default_rng(8)
    law = ct.NeoHookean(young=10.0, poisson=0.3)
    elements = give(QuadratureTets(ct.mesh.box(cells=(1, 1, 1)), 1), law)
    flow = np.eye(3) + 0.15 * rng.normal(size=(elements.element_count, 3, 3))
    assert np.abs(np.linalg.det(flow) - 1.0).max() > 0.1
    elements.plastic = np.linalg.inv(flow).reshape(-1, 1, 9)
    x = elements.rest_positions + 0.05 * rng.normal(size=elements.rest_positions.shape)
    _, force = linearised(elements, x)
    rest, now = elements.rest_positions[elements.elements], x[elements.elements]
    F = np.swapaxes(now[:, 1:] - now[:, :1], 1, 2) @ np.linalg.inv(
        np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2)
    )
    volumes = elements.mesh.volumes * np.linalg.det(flow)
    assert elements.energy() == pytest.approx(volumes @ law.energy(F @ np.linalg.inv(flow)), rel=1e-12)
    d = rng.normal(size=x.shape)
    values = []
    for s in (1e-6, -1e-6):
        elements.update(x + s * d)
        values.append(elements.energy())
    assert np.vdot(force, d) == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-6)

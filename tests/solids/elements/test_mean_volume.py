"""Elements that average the change of volume: differences of energy, rank, patch test, rotation, threads, recovery."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import continua as ct
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from tests.solids.elements.test_quadrature_elements import MESHES, distorted
from tests.solids.linearise import give, linearised

TETS = distorted(ct.mesh.box((1.0, 1.2, 0.8), (2, 3, 2)), 0.08)
KINDS = [*MESHES, "tets"]
LAWS = [
    ct.Linear(young=10.0, poisson=0.49),
    ct.Corotated(young=10.0, poisson=0.49),
    ct.NeoHookean(young=10.0, poisson=0.49),
    ct.StableNeoHookean(young=10.0, poisson=0.49),
    ct.StVenantKirchhoff(young=10.0, poisson=0.49),
    ct.SplineHyperelastic(young=10.0, poisson=0.49),
    ct.Muscle(young=10.0, poisson=0.49, strength=5.0, activation=0.5),
    ct.FiberReinforced(young=10.0, poisson=0.49, fiber_stiffness=5.0),
]


def averaging(kind):
    """Return elements with means of the volume."""
    return QuadratureTets(TETS, 1, True) if kind == "tets" else NodalElements(MESHES[kind], mean_volume=True)


def integrated_in_full(kind):
    return QuadratureTets(TETS, 1) if kind == "tets" else NodalElements(MESHES[kind])


def is_plane(kind):
    return kind in ("quads", "triangles")


def strained(elements, kind, amount, seed=1):
    """Return randomly moved positions."""
    moves = amount * np.random.default_rng(seed).normal(size=elements.rest_positions.shape)
    if is_plane(kind):
        moves[:, 2] = 0.0
    return elements.rest_positions + moves


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_force_is_the_gradient_of_the_energy_also_when_inverted(kind, law):
    elements = give(averaging(kind), law)
    x = strained(elements, kind, 0.2)
    _, force = linearised(elements, x)
    assert elements.inverted > 0
    rng = np.random.default_rng(2)
    scale = np.abs(force).max()
    for i in rng.integers(0, len(x), 5):
        for c in range(2):
            values = []
            for s in (1e-6, -1e-6):
                moved = x.copy()
                moved[i, c] += s
                elements.update(moved)
                values.append(elements.energy())
            assert force[i, c] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-6 * scale)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_stiffness_is_the_gradient_of_the_force_and_symmetric(kind, law):
    """Stretched so little everywhere that the tangents at the points are definite as they are (0 < s < 2 mu)."""
    if isinstance(law, ct.Corotated | ct.Muscle):
        law = type(law)(young=10.0, poisson=0.49)
    elements = give(averaging(kind), law)
    rng = np.random.default_rng(4)
    x = strained(elements, kind, 0.0003)
    x[:, : 2 if is_plane(kind) else 3] *= 1.004
    K, _ = linearised(elements, x)
    d = rng.normal(size=x.shape)
    forces = [linearised(elements, x + s * d)[1] for s in (1e-7, -1e-7)]
    difference = ((forces[0] - forces[1]) / 2e-7).ravel()
    np.testing.assert_allclose(K @ d.ravel(), difference, atol=1e-6 * np.abs(difference).max())
    assert abs(K - K.T).max() < 1e-14 * abs(K).max()


@pytest.mark.parametrize("poisson", [0.3, 0.4999, 0.49999])
@pytest.mark.parametrize("kind", KINDS)
def test_only_rigid_motions_are_free_of_energy(kind, poisson):
    """No patterns without stiffness: the lowest eigenvalue of a deformation is of the order of mu, not of rounding."""
    elements = give(averaging(kind), ct.Corotated(young=10.0, poisson=poisson))
    K = linearised(elements, elements.rest_positions)[0].toarray()
    plain = give(integrated_in_full(kind), ct.Corotated(young=10.0, poisson=0.0))
    least = linearised(plain, plain.rest_positions)[0].toarray()
    if is_plane(kind):
        keep = np.arange(len(K)) % 3 < 2
        K, least = K[np.ix_(keep, keep)], least[np.ix_(keep, keep)]
    values, bound = np.linalg.eigvalsh(K), np.linalg.eigvalsh(least)
    rigid = 3 if is_plane(kind) else 6
    np.testing.assert_allclose(values[:rigid], 0.0, atol=1e-11 * values[-1])
    # psi0 has the same young but the smaller mu of this Poisson's ratio, and no negative part is added to it
    assert values[rigid] > bound[rigid] / (1.0 + poisson) * (1.0 - 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_distorted_elements_pass_the_patch_test(kind):
    """Held on its outline in a state of constant strain, the inside follows exactly, and the stress is Hooke's."""
    law = ct.Linear(young=10.0, poisson=0.49)
    elements = give(averaging(kind), law)
    mesh = elements.mesh
    A = np.array([[0.02, 0.01, -0.03], [0.015, -0.01, 0.02], [0.0, 0.04, 0.01]])
    if is_plane(kind):
        A[2], A[:, 2] = 0.0, 0.0
    x = mesh.points @ (np.eye(3) + A).T
    K, force = linearised(elements, x)
    outline = np.zeros(mesh.node_count, bool)
    outline[mesh.boundary_faces] = True
    assert (~outline).any()
    np.testing.assert_allclose(force[~outline], 0.0, atol=1e-12)
    inner = (3 * np.flatnonzero(~outline)[:, None] + np.arange(2 if is_plane(kind) else 3)).ravel()
    start = mesh.points.copy()
    start[outline] = x[outline]
    _, residual = linearised(elements, start)
    start.reshape(-1)[inner] -= spsolve(K[np.ix_(inner, inner)].tocsc(), residual.ravel()[inner])
    np.testing.assert_allclose(start, x, atol=1e-13)
    lam, mu = law.lame
    e = 0.5 * (A + A.T)
    expected = 2.0 * mu * e + lam * np.trace(e) * np.eye(3)
    elements.update(x)
    np.testing.assert_allclose(
        elements.stress(),
        np.tile(expected[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], (len(mesh.cells), 1)),
        atol=1e-11,
    )
    assert elements.energy() == pytest.approx(
        mesh.volume * (mu * (e**2).sum() + 0.5 * lam * np.trace(e) ** 2), rel=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_without_lambda_nothing_is_averaged(kind):
    law = ct.NeoHookean(young=10.0, poisson=0.0)
    one, other = give(averaging(kind), law), give(integrated_in_full(kind), law)
    x = strained(one, kind, 0.05)
    (K, f), (K2, f2) = linearised(one, x), linearised(other, x)
    np.testing.assert_allclose(f, f2, atol=1e-12)
    assert abs(K - K2).max() < 1e-11


@pytest.mark.parametrize("law", LAWS[1:7], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_rotations_turn_forces_and_leave_the_energy(kind, law):
    elements = give(averaging(kind), law)
    x = strained(elements, kind, 0.05)
    angle = 1.3
    R = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    _, force = linearised(elements, x)
    energy = elements.energy()
    _, turned = linearised(elements, x @ R.T)
    assert elements.energy() == pytest.approx(energy, rel=1e-11)
    np.testing.assert_allclose(turned, force @ R.T, atol=1e-10 * np.abs(force).max())
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-11 * np.abs(force).max())
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-10 * np.abs(force).max())


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_the_number_of_threads(kind):
    elements = give(averaging(kind), ct.StableNeoHookean(young=10.0, poisson=0.49))
    x = strained(elements, kind, 0.05)
    elements.parallel = True
    results = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            K, f = linearised(elements, x)
            results.append((K.data.tobytes(), f.tobytes()))
    finally:
        ct.set_threads(2)
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", ["hexes", "tets"])
def test_plastic_matter_has_the_energy_of_its_own_rest_shape(kind):
    """F = Fe Fp with det Fp other than 1: the force is the gradient of the energy, and grown matter is at rest."""
    rng = np.random.default_rng(8)
    elements = give(averaging(kind), ct.NeoHookean(young=10.0, poisson=0.49))
    growth = np.diag([1.3, 1.1, 0.8])
    elements.plastic = np.tile(np.linalg.inv(growth).ravel(), (*elements.weights.shape, 1))
    _, force = linearised(elements, elements.rest_positions @ growth)
    assert elements.energy() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(force).max() < 1e-11
    flow = np.eye(3) + 0.15 * rng.normal(size=(*elements.weights.shape, 3, 3))
    elements.plastic = np.linalg.inv(flow).reshape(*elements.weights.shape, 9)
    x = strained(elements, kind, 0.02)
    _, force = linearised(elements, x)
    for i in rng.integers(0, len(x), 5):
        values = []
        for s in (1e-6, -1e-6):
            moved = x.copy()
            moved[i, 1] += s
            elements.update(moved)
            values.append(elements.energy())
        difference = (values[0] - values[1]) / 2e-6
        assert force[i, 1] == pytest.approx(difference, abs=1e-5 * np.abs(force).max())


@pytest.mark.parametrize("kind", ["hexes", "tets"])
def test_a_collapsed_cube_recovers(kind):
    """Flat and mirrored: each goes back to its shape at a Poisson's ratio of 0.49."""
    mesh = ct.mesh.hex_box((1, 1, 1), (2, 2, 2)) if kind == "hexes" else ct.mesh.box((1, 1, 1), (2, 2, 2))
    rng = np.random.default_rng(7)
    for start in (mesh.points * [1, 0, 1], mesh.points * [1, -0.7, 1]):
        body = ct.SoftBody(
            mesh, material=ct.Corotated(young=1e3, poisson=0.49), damping=(2.0, 0.02), name="cube"
        )
        assert body.volumetric == "mean"
        world = ct.World([body], gravity=(0, 0, 0), dt=0.02)
        state = body.state()
        state["positions"][:] = start + 1e-3 * rng.normal(size=start.shape)
        body.restore(state)
        for _ in range(600):
            world.step()
        edges = body.positions[mesh.edges]
        rest = mesh.points[mesh.edges]
        lengths, expected = (np.linalg.norm(e[:, 0] - e[:, 1], axis=1) for e in (edges, rest))
        np.testing.assert_allclose(lengths, expected, rtol=0.01)

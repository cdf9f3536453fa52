"""Bodies of hyperelastic laws: against the law itself, scikit-fem, conservation, and collapse."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct
from benchmarks.beam_peers import Beam, reference_tips
from continua.linalg import BlockMatrix
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.linear_tet import LinearTets
from tests.solids.linearise import give, linearised

LAWS = [ct.StVenantKirchhoff, ct.NeoHookean, ct.StableNeoHookean]


def small(law, seed=0, size=0.3):
    mesh = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(2, 1, 1))
    elements = give(HyperelasticTets(mesh), law)
    return elements, mesh.points + size * np.random.default_rng(seed).normal(size=mesh.points.shape)


@pytest.mark.parametrize("law", LAWS)
def test_assembly_equals_a_plain_sum_over_elements(law):
    """Force V P g and stiffness V g dP/dF g, element by element, from the law's own functions."""
    material = law(young=10.0, poisson=0.35)
    elements, x = small(material)
    mesh = elements.mesh
    K = np.zeros((x.size, x.size))
    force, energy = np.zeros_like(x), 0.0
    for tet, volume in zip(mesh.tets, mesh.volumes, strict=True):
        D = np.linalg.inv((mesh.points[tet[1:]] - mesh.points[tet[0]]).T)
        g = np.vstack([-D.sum(axis=0), D])
        F = (x[tet[1:]] - x[tet[0]]).T @ D
        energy += volume * material.energy(F)
        force[tet] += volume * g @ material.stress(F).T
        T = material.tangent(F, definite=True).reshape(3, 3, 3, 3)
        blocks = volume * np.einsum("aj,ijkl,bl->aibk", g, T, g).reshape(12, 12)
        dofs = (3 * tet[:, None] + np.arange(3)).ravel()
        K[np.ix_(dofs, dofs)] += blocks
    ours, our_force = linearised(elements, x)
    assert elements.inverted > 0  # inverted elements are among them
    np.testing.assert_allclose(our_force, force, atol=1e-10)
    np.testing.assert_allclose(ours.toarray(), K, atol=1e-9)
    assert elements.energy() == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_rigid_motion_gives_no_force_and_small_strains_obey_hooke(law):
    material = law(young=10.0, poisson=0.3)
    elements, _ = small(material)
    rest = elements.rest_positions
    R = Rotation.from_rotvec([1.0, -2.0, 0.4]).as_matrix()
    K, force = linearised(elements, rest @ R.T + [1.0, 2.0, 3.0])
    assert np.abs(force).max() < 1e-12
    hooke = give(LinearTets(elements.mesh), ct.Linear(young=10.0, poisson=0.3))
    K_rest, _ = linearised(elements, rest)
    K_hooke, _ = linearised(hooke, rest)
    np.testing.assert_allclose(K_rest.toarray(), K_hooke.toarray(), atol=1e-9)
    turned = np.kron(np.eye(len(rest)), R)
    np.testing.assert_allclose(K.toarray(), turned @ K_hooke @ turned.T, atol=1e-9)


def test_stretched_bar_of_green_strain_has_the_textbook_stress():
    """With nu = 0: P = E/2 (s^2 - 1) s."""
    law = ct.StVenantKirchhoff(young=3.0, poisson=0.0)
    for s in (0.8, 1.3, 2.0):
        P = law.stress(np.diag([s, 1.0, 1.0]))
        assert P[0, 0] == pytest.approx(3.0 * 0.5 * (s * s - 1) * s)
        assert abs(P[1, 1]) < 1e-14


def test_neo_hookean_beam_equals_scikit_fem():
    """Implicit Euler with Newton on both sides, same mesh, same law: only solver tolerance is left."""
    beam = Beam.make(2)
    body = ct.SoftBody(
        ct.TetMesh(beam.points, beam.tets),
        material=ct.NeoHookean(beam.young, beam.poisson, beam.density),
        newton=10,
        solver=ct.PCG(rtol=1e-9),
    )
    body.pin(beam.clamped)
    world = ct.World([body], gravity=(0, 0, -beam.gravity), dt=beam.dt)
    reference = reference_tips(beam, 25)
    for expected in reference:
        reports = world.step()
        tip = body.positions[beam.tip, 2] - body.rest_positions[beam.tip, 2]
        assert tip == pytest.approx(expected, abs=1e-6)
    assert reference.min() < -0.15  # it did bend
    assert 1 < reports[0].newton_iterations < 10


@pytest.mark.parametrize("law", LAWS)
def test_crushed_block_comes_back_to_its_shape(law):
    """Pressed to 1 % of its height with noise, so that most elements are inverted, then let go."""
    mesh = ct.mesh.box(size=(0.4, 0.4, 0.4), cells=(4, 4, 4))
    body = ct.SoftBody(mesh, material=law(young=1e4, poisson=0.3), damping=(2.0, 0.0), newton=3)
    rng = np.random.default_rng(2)
    body._x[:, 1] *= 0.01
    body._x += 0.01 * rng.normal(size=body._x.shape)
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    body.energy()
    assert body._elements.inverted > 50
    for _ in range(500):
        reports = world.step()
    assert reports[0].inverted == 0
    center = body.positions - body.positions.mean(axis=0)
    rest = body.rest_positions - body.rest_positions.mean(axis=0)
    turn, _ = Rotation.align_vectors(center, rest)
    assert np.abs(turn.apply(rest) - center).max() < 0.01 * 0.4


def test_free_body_keeps_momentum_and_angular_momentum():
    body = ct.SoftBody(
        ct.mesh.box(size=(0.4, 0.2, 0.2), cells=(4, 2, 2)),
        material=ct.StableNeoHookean(young=2e4, poisson=0.45),
        newton=3,
        solver=ct.PCG(rtol=1e-10),
    )
    body.set_velocity((1.0, 0.5, -0.2), (3.0, -8.0, 12.0))
    world = ct.World([body], gravity=(0, 0, 0), dt=0.02)

    def momentum():
        M = BlockMatrix(body._elements.pattern)
        M.blocks[:, ::4] = body._mass[:, None]
        p = M @ body._v
        return p.sum(axis=0), np.cross(body._x, p).sum(axis=0)

    p0, L0 = momentum()
    for _ in range(100):
        world.step()
    p1, L1 = momentum()
    np.testing.assert_allclose(p1, p0, atol=1e-7 * np.linalg.norm(p0))
    np.testing.assert_allclose(L1, L0, atol=1e-7 * np.linalg.norm(L0))


def test_cauchy_stress_of_a_stretched_block():
    """Uniform uniaxial stress: von Mises is the true stress, force over the current area."""
    material = ct.NeoHookean(young=1e5, poisson=0.3)
    elements, _ = small(material)
    lam, mu = material.lame
    s = 1.5
    # lateral stretch t with no lateral stress: mu (t^2 - 1) + lambda log(s t^2) = 0
    t = 1.0
    for _ in range(50):
        t -= (mu * (t * t - 1) + lam * np.log(s * t * t)) / (2 * mu * t + 2 * lam / t)
    elements.update(elements.rest_positions * [s, t, t])
    P = mu * (s - 1 / s) + lam * np.log(s * t * t) / s
    np.testing.assert_allclose(elements.von_mises(), P / (t * t), rtol=1e-9)


def test_orders_that_do_not_exist_are_refused():
    with pytest.raises(ct.InputError, match="from 1 to 3, not 4"):
        ct.SoftBody(ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1)), material=ct.NeoHookean(), order=4)
    with pytest.raises(ct.InputError, match="newton"):
        ct.SoftBody(ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1)), newton=0)

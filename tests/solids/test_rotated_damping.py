"""Damping that turns along (check A10): its matrix against the printed formula, and what it does to bodies."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct
from continua.solids.damping import Damper
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets

LAME = (3.0, 2.0)


def damper(elements, time=1.0):
    d = Damper(elements)
    d.set_constants(np.tile(LAME, (elements.element_count, 1)), time)
    return d


def cases():
    box = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(2, 1, 1))
    return [
        QuadratureTets(box, 1),
        QuadratureTets(box, 2),
        NodalElements(ct.mesh.hex_box(size=(1, 1, 1), cells=(2, 1, 1))),
    ]


def moved(elements, seed=0, size=0.25):
    return elements.rest_positions + size * np.random.default_rng(seed).normal(
        size=elements.rest_positions.shape
    )


@pytest.mark.parametrize("elements", cases(), ids=["linear", "quadratic", "hexahedra"])
def test_it_is_the_printed_stress_and_takes_energy_out(elements):
    """Power of random velocities from U (b (F' + F'^T) + a tr F') V^T at every point, with NumPy's own SVD."""
    x = moved(elements)
    D = damper(elements).at(x).to_scipy().tocsr()
    np.testing.assert_allclose((D - D.T).toarray(), 0.0, atol=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(3):
        v = rng.normal(size=x.shape)
        power = 0.0
        for e, nodes in enumerate(elements.elements):
            for g, w in zip(elements.gradients[e], elements.weights[e], strict=True):
                F, rate = x[nodes].T @ g, v[nodes].T @ g
                U, _, Vt = np.linalg.svd(F)
                if np.linalg.det(U) * np.linalg.det(Vt) < 0:
                    U[:, 2] *= -1
                hat = U.T @ rate @ Vt.T
                P = U @ (LAME[1] * (hat + hat.T) + LAME[0] * np.trace(hat) * np.eye(3)) @ Vt
                power += w * np.vdot(P, rate)
        assert power > 0.0
        assert v.ravel() @ (D @ v.ravel()) == pytest.approx(power, rel=1e-9)


@pytest.mark.parametrize("elements", cases(), ids=["linear", "quadratic", "hexahedra"])
def test_translations_are_free_always_and_rotations_at_rest(elements):
    rest, x = elements.rest_positions, moved(elements)
    d = damper(elements)
    spin = np.cross([0.3, -1.0, 0.5], rest)
    assert np.abs(d.at(rest).multiply(spin)).max() < 1e-12
    turned = rest @ Rotation.from_rotvec([1.0, 2.0, -0.5]).as_matrix().T
    assert np.abs(d.at(turned).multiply(np.cross([0.3, -1.0, 0.5], turned))).max() < 1e-12
    assert np.abs(d.at(x).multiply(np.tile([1.0, 2.0, 3.0], (len(x), 1)))).max() < 1e-12
    off = d.at(x).multiply(np.cross([0.3, -1.0, 0.5], x))
    assert np.abs(off).max() > 1e-3  # known: deformed matter brakes rigid rotations


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "explicit", "semi_implicit"])
def test_for_corotated_matter_it_is_damping_by_stiffness(integrator):
    """With the stiffness of a frozen rotation: the exact one has that of tension too."""
    ends = []
    for damping in ((0.5, 0.02), ct.RotatedDamping(time=0.02, mass=0.5), (0.0, 0.0)):
        body = ct.SoftBody(
            ct.mesh.box(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)),
            material=ct.Corotated(young=1e4, poisson=0.3, rotation="mean"),
            damping=damping,
            integrator=integrator,
            solver=ct.PCG(rtol=1e-10),
            name="bar",
        )
        body.pin(lambda x: x[:, 0] < 1e-6)
        world = ct.World([body], gravity=(0, -1.0, 0), dt=0.005)
        for _ in range(30):
            world.step()
        ends.append(body.positions)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-8)
    assert np.abs(ends[2] - ends[0]).max() > 1e-3


@pytest.mark.parametrize("newton", [1, 5])
@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark"])
def test_it_calms_every_law_and_the_more_the_longer_its_time(integrator, newton):
    left = []
    for time in (0.0, 0.005, 0.02):
        body = ct.SoftBody(
            ct.mesh.hex_box(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)),
            material=ct.StableNeoHookean(young=1e4, poisson=0.4),
            damping=ct.RotatedDamping(time=time),
            integrator=integrator,
            newton=newton,
            name="bar",
        )
        world = ct.World([body], gravity=(0, 0, 0), dt=0.002)
        state = body.state()
        state["positions"][:, 0] *= 1.3
        body.restore(state)
        for _ in range(60):
            world.step()
        energy = body.energy()
        left.append(energy["kinetic"] + energy["elastic"])
    assert left[2] < left[1] < left[0]


def test_it_can_be_changed_while_a_body_moves_and_nonsense_is_refused():
    body = ct.SoftBody(
        ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1)), damping=ct.RotatedDamping(0.05), name="cube"
    )
    assert body.damping == (0.0, 0.0)
    body.set_material(damping=(0.1, 0.2))
    assert body.damping == (0.1, 0.2)
    body.set_material(damping=ct.RotatedDamping(0.01, mass=0.3))
    assert body.damping == (0.3, 0.0)
    with pytest.raises(ct.InputError, match="time"):
        ct.RotatedDamping(time=-1.0)
    with pytest.raises(ct.InputError, match="RotatedDamping"):
        ct.SoftBody(ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1)), damping=(1.0,))

"""Damping that turns along (check A10): its matrix against the printed formula, and what it does to bodies."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.transform import Rotation

import continua as ct
from continua.solids.damper import TangentDamper
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets

LAME = (3.0, 2.0)


def damper(elements, time=1.0):
    d = TangentDamper(elements)
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
    """Power of random velocities from U (b (F' + F'^T) + a tr F') V^T at every point, with NumPy's own SVD.

    F' is without the nearest rotation W F, by NumPy's least squares.
    """
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
                spins = [np.cross(axis, F, axisb=0).T.ravel() for axis in np.eye(3)]
                spin = np.linalg.lstsq(np.transpose(spins), rate.ravel(), rcond=None)[0]
                rate = rate - (spin @ spins).reshape(3, 3)
                U, _, Vt = np.linalg.svd(F)
                if np.linalg.det(U) * np.linalg.det(Vt) < 0:
                    U[:, 2] *= -1
                hat = U.T @ rate @ Vt.T
                P = U @ (LAME[1] * (hat + hat.T) + LAME[0] * np.trace(hat) * np.eye(3)) @ Vt
                power += w * np.vdot(P, rate)
        assert power > 0.0
        assert v.ravel() @ (D @ v.ravel()) == pytest.approx(power, rel=1e-9)


@pytest.mark.parametrize("elements", cases(), ids=["linear", "quadratic", "hexahedra"])
def test_translations_and_rotations_are_free_and_the_force_has_no_torque(elements):
    rest, x = elements.rest_positions, moved(elements)
    d = damper(elements)
    spin = np.cross([0.3, -1.0, 0.5], rest)
    assert np.abs(d.at(rest).multiply(spin)).max() < 1e-12
    turned = rest @ Rotation.from_rotvec([1.0, 2.0, -0.5]).as_matrix().T
    assert np.abs(d.at(turned).multiply(np.cross([0.3, -1.0, 0.5], turned))).max() < 1e-12
    assert np.abs(d.at(x).multiply(np.tile([1.0, 2.0, 3.0], (len(x), 1)))).max() < 1e-12
    assert np.abs(d.at(x).multiply(np.cross([0.3, -1.0, 0.5], x))).max() < 1e-12
    force = d.at(x).multiply(np.random.default_rng(1).normal(size=x.shape))
    assert np.abs(force).max() > 1e-2
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "integrator", ["implicit_euler", "newmark", "energy_momentum", "explicit", "semi_implicit"]
)
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
    damped = np.abs(ends[2] - ends[0]).max()
    assert damped > 1e-3
    # at small strains for implicit Euler and Newmark, which correct the braking of rotations by K afterwards
    part = 0.01 if integrator in ("implicit_euler", "newmark") else 1e-5
    assert np.abs(ends[1] - ends[0]).max() < part * damped, (np.abs(ends[1] - ends[0]).max(), damped)


@pytest.mark.parametrize("integrator", ["energy_momentum", "explicit", "semi_implicit"])
@pytest.mark.parametrize("damping", [ct.RotatedDamping(0.02), (0.0, 0.02)], ids=["rotated", "stiffness"])
@pytest.mark.parametrize(("law", "order"), [(ct.Corotated, 1), (ct.NeoHookean, 1), (ct.NeoHookean, 2)])
def test_a_stretched_bar_spins_on_while_its_swinging_ends(integrator, damping, law, order):
    """Angular momentum is kept; a rotation of deformed matter was braked by 5 to 58 % in 2 s."""
    if integrator != "semi_implicit" and order == 2:
        damping = ct.RotatedDamping(0.002) if isinstance(damping, ct.RotatedDamping) else (0.0, 0.002)
    body = ct.SoftBody(
        ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1) if order == 1 else (1, 1, 1)),
        material=law(young=2e4, poisson=0.3, density=1000.0),
        order=order,
        damping=damping,
        integrator=integrator,
        name="bar",
    )
    body.set_velocity((0.5, 0.2, 0.0), (1.0, 5.0, 3.0))
    body._x[:, 0] *= 1.3
    mass = body._elements.pattern
    mass = scipy.sparse.csr_array((body._mass, mass.indices, mass.indptr))

    def momenta():
        p = mass @ body._v
        return np.concatenate([p.sum(axis=0), np.cross(body._x, p).sum(axis=0)])

    world = ct.World([body], gravity=(0, 0, 0), dt=0.005)
    before, energy = momenta(), sum(body.energy().values())
    for _ in range(60):
        world.step()
    tolerance = (
        1e-8 if integrator == "energy_momentum" else 1e-13
    )  # the first is that of its Newton iteration
    np.testing.assert_allclose(momenta(), before, atol=tolerance * np.abs(before).max())
    assert sum(body.energy().values()) < 0.95 * energy


def test_a_bar_that_turns_about_a_pinned_edge_is_not_braked():
    """Damping of deformation has nothing to do where the shape stays, held or not."""
    left = {}
    for damping in (ct.RotatedDamping(0.02), (0.0, 0.02), (0.0, 0.0)):
        body = ct.SoftBody(
            ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1)),
            material=ct.NeoHookean(young=1e5, poisson=0.3, density=1000.0),
            damping=damping,
            integrator="semi_implicit",
            name="bar",
        )
        body.pin(lambda x: (x[:, 0] < 1e-9) & (x[:, 1] < 1e-9))
        body._v[:] = np.cross([0.0, 0.0, 1.0], body._x)
        world = ct.World([body], gravity=(0, 0, 0), dt=0.005)
        for _ in range(100):
            world.step()
        arms = body._x[:, :2]
        left[str(damping)] = float(
            body._node_mass @ (arms[:, 0] * body._v[:, 1] - arms[:, 1] * body._v[:, 0])
        )
    free = left.pop("(0.0, 0.0)")
    assert all(value == pytest.approx(free, rel=0.02) for value in left.values()), (free, left)


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

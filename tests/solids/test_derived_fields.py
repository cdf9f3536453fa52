"""Fields inside the elements: uniform states with known answers, on every kind of element."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct

CASES = {
    "tets": (ct.mesh.box(cells=(2, 2, 2)), 1),
    "quadratic": (ct.mesh.box(cells=(1, 1, 1)), 2),
    "hexes": (ct.mesh.hex_box(cells=(2, 2, 2)), 1),
    "quads": (ct.mesh.rectangle(cells=(3, 3)), 1),
    "triangles": (ct.mesh.rectangle(cells=(3, 3), kind="triangles"), 1),
}


def deformed(case, law, F):
    mesh, order = CASES[case]
    body = ct.SoftBody(mesh, material=law(young=10.0, poisson=0.25), order=order, name="body")
    world = ct.World([body], gravity=(0, 0, 0), fields=["stress", "inverted"])
    state = body.state()
    state["positions"][:] = state["positions"] @ F.T
    body.restore(state)
    return body, world.frame()["body"]


@pytest.mark.parametrize("case", CASES)
def test_uniform_stretch_of_neo_hookean_matter(case):
    """sigma = (mu (B - 1) + lambda log J) / J, turned with the body."""
    F = np.diag([1.3, 0.9, 1.0]) if case in ("quads", "triangles") else np.diag([1.3, 0.9, 1.1])
    turn = Rotation.from_rotvec([0, 0, 0.7]).as_matrix()
    body, frame = deformed(case, ct.NeoHookean, turn @ F)
    lam, mu = body.material.lame
    J = np.linalg.det(F)
    s = turn @ np.diag((mu * (np.diag(F) ** 2 - 1) + lam * np.log(J)) / J) @ turn.T
    expected = [s[0, 0], s[1, 1], s[2, 2], s[0, 1], s[1, 2], s[0, 2]]
    np.testing.assert_allclose(frame["stress"], np.tile(expected, (body.element_count, 1)), atol=1e-10)
    np.testing.assert_allclose(
        frame["stretch"], np.tile(np.sort(np.diag(F))[::-1], (body.element_count, 1)), atol=1e-12
    )
    energy = body.energy()["elastic"] / body.mesh.volume
    np.testing.assert_allclose(frame["energy_density"], energy, rtol=1e-10)
    assert not frame["inverted"].any()
    assert not frame["plastic_strain"].any()
    np.testing.assert_allclose(frame.scalars("stress"), frame["von_mises"], rtol=1e-9)
    assert frame.scalars("stretch") == pytest.approx(1.3)


def test_small_strain_laws_turn_the_stress_with_the_body():
    turn = Rotation.from_rotvec([0.4, -0.3, 0.7]).as_matrix()
    strain = np.diag([0.01, -0.02, 0.03])
    body, frame = deformed("tets", ct.Corotated, turn @ (np.eye(3) + strain))
    lam, mu = body.material.lame
    s = turn @ (2 * mu * strain + lam * np.trace(strain) * np.eye(3)) @ turn.T
    np.testing.assert_allclose(
        frame["stress"][0], [s[0, 0], s[1, 1], s[2, 2], s[0, 1], s[1, 2], s[0, 2]], atol=1e-12
    )
    np.testing.assert_allclose(frame.scalars("stress"), frame["von_mises"], rtol=1e-9)


def test_inverted_elements_are_marked():
    _, frame = deformed("hexes", ct.Corotated, np.diag([1.0, -0.5, 1.0]))
    assert frame["inverted"].all()
    assert (frame["stretch"][:, 2] < 0).all()
    assert list(frame.fields) == [
        "displacement",
        "velocity",
        "von_mises",
        "contact_force",
        "stress",
        "inverted",
    ]
    assert "stretch" in frame.fields
    assert frame.fields.units["energy_density"] == "J/m³"


def test_a_frame_keeps_what_it_saw():
    """A field asked for later belongs to the moment of the frame."""
    mesh, _ = CASES["tets"]
    body = ct.SoftBody(mesh, name="body")
    body.pin(lambda x: x[:, 1] < 1e-9)
    world = ct.World([body])
    early = world.frame()["body"]
    for _ in range(5):
        world.step()
    late = world.frame()["body"]
    assert np.abs(early["stress"]).max() < 1e-9
    assert np.abs(late["stress"]).max() > 1.0
    with pytest.raises(ct.InputError, match="not 'heat'"):
        body.field("heat")
    with pytest.raises(ct.InputError, match="not 'heat'"):
        ct.World([], fields=["heat"])


def test_plane_bodies_stay_in_their_plane_and_keep_their_momentum():
    """A spinning sheet that nothing holds keeps momentum and angular momentum."""
    body = ct.SoftBody(ct.mesh.rectangle((1, 0.5), (8, 4), thickness=0.1), mass="lumped", name="sheet")
    assert body.mass_total == pytest.approx(1000.0 * 0.5 * 0.1)
    body.set_velocity((1, 0.5, 0), (0, 0, 5))
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    mass = body.mass_total / body.mesh.volume

    def momenta():
        m = np.bincount(body.mesh.cells.ravel(), np.repeat(mass * body.mesh.volumes / 4, 4))[:, None]
        return np.concatenate(
            [(m * body.velocities).sum(0), (m * np.cross(body.positions, body.velocities)).sum(0)]
        )

    before = momenta()
    for _ in range(50):
        world.step()
    np.testing.assert_allclose(momenta(), before, atol=1e-7)
    assert not body.positions[:, 2].any()


def test_plane_strain_cantilever_bends_as_theory_says():
    """A thin stiff strip: q L^4 / (8 E' I) with the plane modulus E' = E / (1 - nu^2), within 2 %."""
    strip = ct.mesh.rectangle((1.0, 0.04), (200, 8))
    body = ct.SoftBody(
        strip, material=ct.Linear(young=1e9, poisson=0.3), name="strip", solver=ct.PCG(rtol=1e-8)
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    ct.World([body]).settle()
    theory = 1000 * 9.81 * 0.04 / (8 * 1e9 / (1 - 0.09) * 0.04**3 / 12)
    assert -body.positions[:, 1].min() == pytest.approx(theory, rel=0.02)


@pytest.mark.parametrize("case", ["hexes", "quads", "triangles"])
def test_orders_a_mesh_lacks_are_refused(case):
    with pytest.raises(ct.InputError, match="whole number from 1 to 2, not 3"):
        ct.SoftBody(CASES[case][0], order=3)
    with pytest.raises(ct.InputError, match=r"whole number from 1 to 3, not 2\.5"):
        ct.SoftBody(CASES["tets"][0], order=2.5)
    assert ct.SoftBody(CASES["tets"][0], order=2.0).order == 2


def test_paint_is_carried_along():
    mesh = ct.mesh.rectangle(cells=(4, 4))
    body = ct.SoftBody(mesh, paint=lambda x: x[:, 0], name="sheet")
    frame = ct.World([body]).frame()["sheet"]
    np.testing.assert_array_equal(frame["paint"], mesh.points[:, 0])
    assert "paint" in list(frame.fields)
    with pytest.raises(ct.InputError, match="one number for each node"):
        ct.SoftBody(mesh, paint=np.zeros(3))

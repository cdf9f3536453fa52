"""Positions and velocities that are set by the user: they are those of the nodes at every order."""

import numpy as np
import pytest
from skfem import Basis, ElementTetP2, MeshTet

import continua as ct

METHODS = ["implicit_euler", "newmark", "explicit", "semi_implicit"]


def bar(order=1, **options):
    return ct.SoftBody(ct.mesh.box((0.6, 0.2, 0.2), (3, 1, 1)), order=order, name="bar", **options)


def bent(x):
    return x + np.stack([0.1 * x[:, 1] ** 2, 0.3 * x[:, 0] ** 2, 0.2 * x[:, 0] * x[:, 2]], axis=1)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_positions_and_velocities_are_those_of_the_nodes(order):
    body = bar(order)
    target, rates = bent(body.rest_positions), np.cos(7.0 * body.rest_positions)
    body.positions, body.velocities = target, rates
    np.testing.assert_allclose(body.positions, target, atol=1e-14)
    np.testing.assert_allclose(body.velocities, rates, atol=1e-13)


def test_the_motion_between_the_nodes_is_the_polynomial_through_them():
    """The kinetic energy of nodal velocities is that of the same P2 field in scikit-fem."""
    body = bar(2, material=ct.Corotated(1e5, 0.3, density=800.0))
    rates = bent(body.rest_positions)
    body.velocities = rates
    mesh = MeshTet(body.mesh.points.T, body.mesh.cells.T)
    basis = Basis(mesh, ElementTetP2(), intorder=6)
    nearest = np.linalg.norm(basis.doflocs.T[:, None] - body.rest_positions[None], axis=2).argmin(axis=1)
    square = sum(np.asarray(basis.interpolate(rates[nearest, c])) ** 2 for c in range(3))
    energy = 0.5 * 800.0 * float((square * basis.dx).sum())
    assert body.energy()["kinetic"] == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_is_moved_falls_like_one_that_was_made_there(method):
    """Nothing of the motion before is left."""

    def falling():
        body = bar(2, integrator=method)
        world = ct.World([body], dt=0.002)
        return body, world

    body, world = falling()
    body.set_velocity((1.0, 2.0, 0.0), angular_velocity=(0, 0, 3.0))
    for _ in range(5):
        world.step()
    body.positions = body.rest_positions + [0.0, 5.0, 0.0]
    body.velocities = np.tile([0.5, 0.0, 0.0], (body.node_count, 1))
    assert not body.reaction_forces().any()
    other, clean = falling()
    other.velocities = np.tile([0.5, 0.0, 0.0], (body.node_count, 1))
    for _ in range(5):
        world.step()
        clean.step()
    np.testing.assert_allclose(body.positions, other.positions + [0.0, 5.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(body.velocities, other.velocities, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_restart_after_setting_is_bitwise_identical(method):
    def made():
        body = bar(2, integrator=method)
        body.pin("left")
        return body, ct.World([body], dt=0.002)

    body, world = made()
    world.step()
    body.positions = bent(body.rest_positions)
    body.velocities = 0.1 * body.positions
    state = world.state()
    other, again = made()
    again.restore(state)
    for _ in range(3):
        world.step()
        again.step()
    for key, value in world.state().items():
        np.testing.assert_array_equal(value, again.state()[key], err_msg=key)
    assert np.isfinite(other.positions).all()


def test_reset_goes_to_rest_and_to_the_velocity_of_set_velocity():
    body = bar(2)
    world = ct.World([body])
    body.set_velocity((1.0, 0.0, 0.0))
    body.positions = 2.0 * body.rest_positions
    body.velocities = 0.0 * body.rest_positions
    world.reset()
    np.testing.assert_array_equal(body.positions, body.rest_positions)
    np.testing.assert_allclose(body.velocities, np.tile([1.0, 0.0, 0.0], (body.node_count, 1)), atol=1e-15)


def test_pinned_nodes_return_to_their_targets():
    body = bar()
    body.pin("left")
    world = ct.World([body], gravity=(0, 0, 0))
    body.positions = body.rest_positions + [0.0, 0.01, 0.0]
    world.step()
    left = body.rest_positions[:, 0] < 1e-9
    np.testing.assert_allclose(body.positions[left], body.rest_positions[left], atol=1e-12)


def test_what_cannot_be_set_is_refused_and_nothing_changes():
    body = bar(2)
    before = body.positions
    for wrong in (np.zeros(3), np.zeros((1, 3)), before[:, :2], before * np.nan, "up"):
        with pytest.raises(
            ct.InputError, match=r"positions of body 'bar' must be finite numbers of shape \["
        ):
            body.positions = wrong
    np.testing.assert_array_equal(body.positions, before)
    sheet = ct.SoftBody(ct.mesh.rectangle(cells=(2, 2)), name="sheet")
    sheet.positions = sheet.rest_positions + [0.1, 0.2, 0.0]
    with pytest.raises(ct.InputError, match="must stay in the plane"):
        sheet.velocities = np.ones((sheet.node_count, 3))


def fluid():
    return ct.Fluid(((0, 0, 0), (0.2, 0.2, 0.2)), particle_radius=0.05)


def liquid():
    return ct.Liquid(size=(1.0, 1.0, 1.0), cells=(4, 4, 4), block=((0, 0, 0), (1.0, 0.5, 1.0)))


def rigid():
    return ct.RigidBody(ct.Sphere(radius=0.5), density=1000.0)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: bar(2), "positions velocities rest_positions contact_forces triangles face_centers"),
        (
            rigid,
            "positions velocities centers_of_mass center_of_mass velocity angular_velocity rotation inertia",
        ),
        (fluid, "positions velocities pressure density_error rest_positions"),
        (liquid, "positions triangles particles rest_positions"),
        (lambda: ct.Smoke(size=(1.0, 1.0, 1.0), cells=(4, 4, 4)), "positions rest_positions triangles"),
        (lambda: ct.World([bar()]), "gravity"),
    ],
)
def test_arrays_that_are_copies_are_read_only(make, names):
    thing = make()
    for name in names.split():
        with pytest.raises(ValueError, match="read-only"):
            getattr(thing, name)[...] = 0

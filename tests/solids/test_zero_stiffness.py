"""Matter without strength, and strength that comes back (live change of material)."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct

LAWS = [ct.Linear, ct.Corotated, ct.NeoHookean, ct.StableNeoHookean, ct.StVenantKirchhoff]


def shape_error(body):
    """The largest distance of a node from the rest shape, moved and turned to fit, over the body's size."""
    x = body.positions - body.positions.mean(axis=0)
    rest = body.rest_positions - body.rest_positions.mean(axis=0)
    turn, _ = Rotation.align_vectors(x, rest)
    return np.linalg.norm(x - turn.apply(rest), axis=1).max() / np.linalg.norm(np.ptp(rest, axis=0))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("order", [1, 2])
def test_matter_without_strength_falls_like_dust(law, order):
    """Every node flies as it was thrown: x = x0 + v0 t and Euler's fall, in every law and order."""
    body = ct.SoftBody(
        ct.mesh.box(size=(1, 0.5, 0.5), cells=(2, 1, 1)),
        material=law(young=0.0),
        order=order,
        solver=ct.PCG(rtol=1e-12),
    )
    body.pin([0])  # the only node that does not fall
    velocity = np.random.default_rng(5).normal(size=(body.node_count, 3))
    velocity[0] = 0.0
    body._v[:] = velocity
    world = ct.World([body], dt=0.01)
    mass = body._elements.mass(np.full(body.element_count, 1000.0), False)
    assert mass.min() > 0.0
    for _ in range(5):
        world.step()
    assert np.abs(body.positions[0] - body.rest_positions[0]).max() < 1e-15
    assert not body.von_mises().any()
    assert body.energy()["elastic"] == 0.0


def test_free_dust_keeps_its_motion():
    body = ct.SoftBody(
        ct.mesh.box(size=(1, 0.5, 0.5), cells=(2, 1, 1)),
        material=ct.Linear(young=0.0),
        mass="lumped",
        solver=ct.PCG(rtol=1e-13),
    )
    velocity = np.random.default_rng(5).normal(size=(body.node_count, 3))
    body._v[:] = velocity
    world = ct.World([body], dt=0.01)
    for _ in range(5):
        world.step()
    fall = np.array([0.0, -9.81 * 0.01**2 * 15, 0.0])
    np.testing.assert_allclose(body.positions, body.rest_positions + 0.05 * velocity + fall, atol=1e-9)


def test_a_part_without_strength_leaves_the_rest_as_it_is():
    """Half of a beam is dust and falls freely; the other half carries little more than itself."""
    left = lambda x: x[:, 0] < 0.5  # noqa: E731
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(8, 2, 2))
    body = ct.SoftBody(mesh, material=ct.Corotated(young=0.0), parts=[(left, ct.Corotated(young=1e6))])
    body.pin(lambda x: x[:, 0] < 1e-9)
    world = ct.World([body], dt=0.01)
    for _ in range(10):
        world.step()
    stiff = body.rest_positions[:, 0] < 0.5 - 1e-9
    fallen = body.rest_positions[:, 0] > 0.6
    moved = np.abs(body.positions - body.rest_positions)
    assert moved[stiff].max() < 0.025
    np.testing.assert_allclose(moved[fallen, 1].mean(), 0.5 * 9.81 * 0.1**2, rtol=0.15)


def test_settling_without_strength_is_refused():
    body = ct.SoftBody(ct.mesh.box(), material=ct.Corotated(young=0.0), name="dust")
    body.pin(lambda x: x[:, 1] < 1e-9)
    with pytest.raises(
        ct.InputError, match=r"body 'dust' has no equilibrium, because some of it has no strength"
    ):
        ct.World([body]).settle()


@pytest.mark.parametrize("law", [ct.Corotated, ct.StableNeoHookean])
def test_a_torus_falls_flat_and_recovers(law):
    """A13, I: without strength it lies in the plane, with strength it is a torus again (1 % of its size)."""
    mesh = ct.mesh.torus(0.5, 0.2, (2, 18)).transformed(translate=(0, 0.3, 0))
    body = ct.SoftBody(mesh, material=law(young=0.0, poisson=0.3), damping=(0.5, 0.01), newton=1)
    world = ct.World([body], dt=0.01, colliders=[ct.Plane(friction=0.6)])
    world.schedule(1.0, lambda _: body.set_material(young=3e5))
    for _ in range(100):
        world.step()
    low = body.positions[:, 1]
    assert np.abs(low).max() < 1e-3
    assert world.reports[0].inverted > 100
    for _ in range(300):
        world.step()
    assert world.reports[0].inverted == 0
    assert shape_error(body) < 0.01


def test_a_live_change_equals_a_fresh_body():
    """Check 31: the same numbers come out, and the structure stays the same object."""

    def bar(young):
        body = ct.SoftBody(
            ct.mesh.box(size=(1, 0.2, 0.2), cells=(6, 2, 2)),
            material=ct.Corotated(young=young),
            solver=ct.PCG(rtol=1e-12),
            name="bar",
        )
        body.pin(lambda x: x[:, 0] < 1e-9)
        return body

    changed, fresh = bar(1e5), bar(4e6)
    pattern = changed._elements.pattern
    ct.World([changed]).settle()
    changed.set_material(young=4e6)
    ct.World([changed]).settle(rtol=1e-9)
    ct.World([fresh]).settle(rtol=1e-9)
    np.testing.assert_allclose(changed.positions, fresh.positions, atol=1e-9)
    assert changed._elements.pattern is pattern

"""Plastic flow: the yield surface, what stays after unloading, limits, goals, freezing, bodies that keep a shape."""

import numpy as np
import pytest
from scipy.linalg import logm, polar
from scipy.spatial.transform import Rotation

import continua as ct
from continua.solids.elements.quadrature_elements import QuadratureTets
from continua.solids.plasticity.plasticity import PlasticState


def element(**options):
    """The plastic state of one tetrahedron, and a function that deforms it by F."""
    mesh = ct.TetMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    flow = PlasticState(ct.Plasticity(**options), QuadratureTets(mesh, 1), "a body")

    def deform(F, dt=0.01):
        flow.advance(mesh.points @ np.asarray(F, float).T, dt)
        inverse = flow.inverse[0, 0].reshape(3, 3)
        return F @ inverse, np.linalg.inv(inverse)

    return flow, deform


def log_norm(F):
    return np.linalg.norm(np.log(np.linalg.svd(F, compute_uv=False)))


def test_what_exceeds_the_yield_strain_stays():
    """A11: a bar stretched to s and let go keeps log s - yield strain."""
    _, deform = element(yield_strain=0.15, limit=10.0)
    for s in (1.1, 1.4, 1.9):
        elastic, plastic = deform(np.diag([s, 1.0, 1.0]))
        excess = max(np.log(s) - 0.15, 0.0)
        np.testing.assert_allclose(np.log(plastic[0, 0]), excess, atol=1e-12)
        np.testing.assert_allclose(plastic[1:, 1:], np.eye(2), atol=1e-12)
        assert log_norm(elastic) == pytest.approx(min(np.log(s), 0.15), rel=1e-12)
    _, plastic = deform(np.eye(3))  # back at the first shape it is pressed, and flows back a little
    np.testing.assert_allclose(np.log(plastic[0, 0]), 0.15, atol=1e-12)


def test_elastic_strain_never_exceeds_the_yield_strain_and_plastic_stretches_stay_within_limits():
    rng = np.random.default_rng(0)
    _, deform = element(yield_strain=0.2, limit=2.0)
    for _ in range(300):
        F = np.eye(3) + 0.4 * rng.normal(size=(3, 3))
        if np.linalg.det(F) < 0.1:
            continue
        elastic, plastic = deform(F)
        s = np.linalg.svd(plastic, compute_uv=False)
        assert s.max() <= 2.0 + 1e-9
        assert s.min() >= 0.5 - 1e-9
        assert np.linalg.det(plastic) > 0.0
        if s.max() < 1.99 and s.min() > 0.51:
            assert log_norm(elastic) <= 0.2 + 1e-9


def test_limit_by_norm_keeps_the_volume():
    rng = np.random.default_rng(1)
    _, deform = element(yield_strain=0.1, limit=2.0, limit_by_norm=True)
    for _ in range(200):
        _, plastic = deform(np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
        assert abs(np.linalg.det(plastic) - 1.0) < 1e-10
        assert log_norm(plastic) <= np.log(2.0) + 1e-9


def test_flow_that_preserves_volume_has_unit_determinant_and_ignores_pressure():
    rng = np.random.default_rng(2)
    _, deform = element(yield_strain=0.1, preserve_volume=True, limit=5.0)
    elastic, plastic = deform(0.5 * np.eye(3))
    np.testing.assert_allclose(plastic, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(elastic, 0.5 * np.eye(3), atol=1e-14)
    for _ in range(200):
        F = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
        elastic, plastic = deform(F)
        assert abs(np.linalg.det(plastic) - 1.0) < 1e-10
        if np.linalg.det(F) > 0.2 and log_norm(plastic) < np.log(5.0) - 1e-6:
            e = np.log(np.linalg.svd(elastic, compute_uv=False))
            assert np.linalg.norm(e - e.mean()) <= 0.1 + 1e-9


def test_flow_does_not_depend_on_the_frame():
    rng = np.random.default_rng(3)
    (flow, deform), (turned_flow, turned) = element(yield_strain=0.1), element(yield_strain=0.1)
    for i in range(20):
        F = np.eye(3) + 0.2 * rng.normal(size=(3, 3))
        R = Rotation.random(random_state=i).as_matrix()
        deform(F)
        turned(R @ F)
        np.testing.assert_allclose(turned_flow.inverse, flow.inverse, atol=1e-12)


def test_hardening_raises_the_yield_strain_by_the_plastic_strain():
    """norm = y + H p and p = total - norm together: p = (total - y)/(1 + H)."""
    flow, deform = element(yield_strain=0.1, hardening=0.5, limit=20.0)
    for s in (1.3, 1.8, 2.6):
        _, plastic = deform(np.diag([s, 1.0, 1.0]))
        assert np.log(plastic[0, 0]) == pytest.approx((np.log(s) - 0.1) / 1.5, rel=1e-10)
    assert flow.strain[0, 0] == pytest.approx((np.log(2.6) - 0.1) / 1.5, rel=1e-10)


def test_creep_decays_exponentially_down_to_the_yield_strain():
    _, deform = element(yield_strain=0.1, creep=2.0)
    for step in range(1, 200):
        elastic, _ = deform(np.diag([1.5, 1.0, 1.0]), dt=0.01)
        expected = max(np.log(1.5) * np.exp(-2.0 * 0.01 * step), 0.1)
        assert log_norm(elastic) == pytest.approx(expected, rel=1e-9)


def right_log(F):
    return logm(polar(F)[1]).real


def test_with_a_goal_matter_only_comes_nearer_to_it():
    """A12, under random loading; loading away from the goal does nothing at all."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    goal = np.array([[1.5, 0.2, 0.0], [0.0, 0.8, 0.1], [0.0, 0.0, 0.9]])
    _, deform = element(yield_strain=0.05, goal=rest @ goal.T)
    away = np.diag([0.7, 1.3, 1.2])
    _, plastic = deform(away)
    np.testing.assert_allclose(plastic, np.eye(3), atol=1e-14)
    rng = np.random.default_rng(4)
    distance = np.linalg.norm(right_log(goal))
    first = distance
    for _ in range(60):
        F = np.eye(3) + 0.4 * rng.normal(size=(3, 3))
        _, plastic = deform(F)
        now = np.linalg.norm(right_log(plastic) - right_log(goal))
        assert now <= distance + 1e-9
        distance = now
    assert distance < 0.6 * first
    for _ in range(3):
        _, plastic = deform(goal)
    assert np.linalg.norm(right_log(plastic) - right_log(goal)) < 0.06  # as near as the yield strain lets it


def test_an_inverted_element_does_not_flow():
    flow, deform = element(yield_strain=0.1)
    deform(np.diag([1.0, 1.0, -0.5]))
    assert flow.strain[0, 0] == 0.0


def squeezed(**options):
    """A block pressed to 70 % by its top, which is let go at 0.5 s."""
    body = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(3, 3, 3)),
        damping=(20.0, 0.01),
        name="block",
        **options,
    )
    body.pin(lambda x: x[:, 1] < 1e-6)
    body.drive(
        lambda x: x[:, 1] > 0.2 - 1e-6, ct.Motion.keyframes([0.0, 0.4], [(0, 0, 0), (0, -0.06, 0)]), until=0.5
    )
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    return body, world


def height(body):
    return body.positions[body.rest_positions[:, 1] > 0.2 - 1e-6, 1].mean()


@pytest.mark.parametrize("law", [ct.Corotated, ct.StableNeoHookean])
def test_a_pressed_block_stays_pressed_by_the_excess(law):
    material = law(young=1e5, poisson=0.0)
    body, world = squeezed(material=material, plasticity=ct.Plasticity(yield_strain=0.1))
    for _ in range(200):
        world.step()
    excess = np.exp(np.log(0.7) + 0.1)  # nearly uniaxial
    assert height(body) / 0.2 == pytest.approx(excess, rel=0.01)
    strain = body.field("plastic_strain").values
    assert strain.mean() == pytest.approx(-np.log(excess), rel=0.1)
    elastic, world = squeezed(material=material)
    for _ in range(200):
        world.step()
    assert height(elastic) == pytest.approx(0.2, rel=1e-3)


def test_a_restart_has_the_same_bits_and_a_reset_forgets():
    body, world = squeezed(plasticity=ct.Plasticity(yield_strain=0.05, hardening=0.2))
    for _ in range(30):
        world.step()
    state = body.state()
    for _ in range(20):
        world.step()
    end = body.positions
    again, other = squeezed(plasticity=ct.Plasticity(yield_strain=0.05, hardening=0.2))
    for _ in range(30):
        other.step()
    again.restore(state)
    for _ in range(20):
        other.step()
    np.testing.assert_array_equal(again.positions, end)
    np.testing.assert_array_equal(again.state()["plastic"], body.state()["plastic"])
    again.reset()
    assert np.abs(again.field("plastic_strain").values).max() == 0.0
    assert again.energy()["elastic"] == pytest.approx(0.0, abs=1e-20)


def test_a_frozen_pose_stays_when_the_load_goes():
    """G17, check 32: the pose after release equals the frozen pose; the elastic body goes back to rest."""
    mesh = ct.mesh.box(size=(0.4, 0.1, 0.1), cells=(4, 1, 1))
    for frozen in (True, False):
        body = ct.SoftBody(
            mesh,
            material=ct.Corotated(young=1e5),
            order=2,
            plasticity=ct.Plasticity(yield_strain=10.0, limit=100.0),
            damping=(10.0, 0.02),
            name="arm",
        )
        body.pin(lambda x: x[:, 0] < 1e-6)
        push = body.push(lambda x: x[:, 0] > 0.4 - 1e-6, (0.0, -8.0, 0.0))
        world = ct.World([body], gravity=(0, 0, 0))
        world.settle(rtol=1e-8)
        pose = body.positions
        assert np.abs(pose - body.rest_positions).max() > 0.05
        if frozen:
            body.set_rest_to_current()
        push.remove()
        for _ in range(250):
            world.step()
        if frozen:
            np.testing.assert_allclose(body.positions, pose, atol=1e-9)
        else:
            np.testing.assert_allclose(body.positions, body.rest_positions, atol=1e-4)


def test_hexahedra_and_plane_bodies_flow_as_well():
    for mesh in (
        ct.mesh.hex_box(size=(1, 1, 1), cells=(1, 1, 1)),
        ct.mesh.rectangle(size=(1, 1), cells=(1, 1)),
    ):
        body = ct.SoftBody(mesh, plasticity=ct.Plasticity(yield_strain=0.1, limit=10.0), name="cell")
        body.drive(lambda x: np.ones(len(x), bool), lambda t, rest: rest * [1.5, 1.0, 1.0])
        ct.World([body], gravity=(0, 0, 0), dt=0.01).step()
        np.testing.assert_allclose(body.field("plastic_strain").values, np.log(1.5) - 0.1, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: ct.Plasticity(yield_strain=-1.0), "yield_strain"),
        (lambda: ct.Plasticity(limit=1.0), "limit"),
        (lambda: ct.Plasticity(goal=np.zeros((4, 3)), preserve_volume=True), "preserve_volume"),
        (lambda: element(goal=np.zeros((3, 3))), "shape"),
        (lambda: element(goal=np.array([[0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1]])), "inverts 1 elements"),
        (lambda: squeezed(material=ct.Linear(), plasticity=ct.Plasticity()), "cannot be plastic"),
        (lambda: squeezed()[0].set_rest_to_current(), "elastic"),
    ],
)
def test_nonsense_is_refused(make, word):
    with pytest.raises(ct.InputError, match=word):
        make()

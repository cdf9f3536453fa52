"""Plastic flow: the yield surface, what stays after unloading, limits, goals, freezing, bodies that keep a shape."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import logm, polar
from scipy.optimize import brentq
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
    """A11: matter stretched to s without a change of its width, and let go, keeps log s - yield strain."""
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


@pytest.mark.parametrize("preserve", [False, True])
def test_limit_by_norm_bounds_the_norm_of_the_logarithms(preserve):
    rng = np.random.default_rng(1)
    _, deform = element(yield_strain=0.1, limit=2.0, limit_by_norm=True, preserve_volume=preserve)
    for _ in range(200):
        _, plastic = deform(np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
        assert log_norm(plastic) <= np.log(2.0) + 1e-9
        assert not preserve or abs(np.linalg.det(plastic) - 1.0) < 1e-10


def test_dilation_flows_under_either_limit():
    """A ball blown up to 1.3 times its size keeps all but the yield strain, in equal parts along the axes."""
    for by_norm in (False, True):
        _, deform = element(yield_strain=0.1, limit=4.0, limit_by_norm=by_norm)
        elastic, plastic = deform(1.3 * np.eye(3))
        assert log_norm(elastic) == pytest.approx(0.1, rel=1e-10)
        np.testing.assert_allclose(np.log(np.diag(plastic)), np.log(1.3) - 0.1 / np.sqrt(3.0), rtol=1e-10)


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


CREEP, YIELD, HARDENING = 2.0, 0.1, 0.7


def crept(stretches, times):
    """Integrate the flow rule with SciPy: dP/dt = c (|E - P| - y - H p)+ along E - P, dp/dt = |dP/dt|.

    E are the logarithmic stretches along fixed axes as functions of time. Returns P and p at the times.
    """

    def rate(t, state):
        e = stretches(t) - state[:3]
        norm = np.linalg.norm(e)
        speed = CREEP * max(norm - YIELD - HARDENING * state[3], 0.0)
        return [*(speed * e / max(norm, 1e-300)), speed]

    found = solve_ivp(rate, (0.0, times[-1]), np.zeros(4), t_eval=times, rtol=1e-10, atol=1e-12)
    return found.y.T


@pytest.mark.parametrize("dt", [0.01, 0.1, 0.5])
def test_creep_of_a_held_shape_is_exact_for_every_step(dt):
    """What exceeds the yield strain decays, and hardening ends it earlier."""
    E = np.log([1.5, 0.9, 1.1])
    times = dt * np.arange(1, 5)
    flow, deform = element(yield_strain=YIELD, creep=CREEP, hardening=HARDENING)
    for expected in crept(lambda _: E, times):
        _, plastic = deform(np.diag(np.exp(E)), dt=dt)
        np.testing.assert_allclose(np.log(np.diag(plastic)), expected[:3], atol=1e-8)
        assert flow.strain[0, 0] == pytest.approx(expected[3], abs=1e-8)


def test_creep_without_hardening_is_an_exponential():
    _, deform = element(yield_strain=0.1, creep=2.0)
    for step in range(1, 200):
        elastic, _ = deform(np.diag([1.5, 1.0, 1.0]), dt=0.01)
        expected = 0.1 + (np.log(1.5) - 0.1) * np.exp(-2.0 * 0.01 * step)
        assert log_norm(elastic) == pytest.approx(expected, rel=1e-9)


def test_creep_of_a_moving_shape_converges_to_the_flow_rule():
    def stretches(t):
        return np.array([0.5 * np.sin(2.0 * t), -0.2 * t, 0.3 * t * t])

    errors = []
    for count in (40, 80, 160):
        dt = 2.0 / count
        _, deform = element(yield_strain=YIELD, creep=CREEP, hardening=HARDENING)
        for step in range(1, count + 1):
            _, plastic = deform(np.diag(np.exp(stretches(step * dt))), dt=dt)
        exact = crept(stretches, [2.0])[-1]
        errors.append(np.abs(np.log(np.diag(plastic)) - exact[:3]).max())
    assert errors[-1] < 0.01
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1.0, atol=0.15)


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45])
@pytest.mark.parametrize("preserve", [False, True])
def test_a_bar_with_free_sides_keeps_what_exceeds_the_axial_yield_strain(poisson, preserve):
    """The elastic strain of tension is (1, -nu, -nu) a, whose norm (or that of its deviator) is the yield strain."""
    y, law = 0.01, ct.Corotated(1.0, poisson)
    flow, deform = element(yield_strain=y, preserve_volume=preserve, limit=10.0)

    def elastic(s, side):
        return np.diag([s, side, side]) @ flow.inverse[0, 0].reshape(3, 3)

    for s in [*np.linspace(1.0, 1.2, 41), *([1.2] * 40)]:
        side = brentq(lambda side, s=s: law.stress(elastic(s, side))[1, 1], 0.6, 1.3, xtol=1e-14)
        deform(np.diag([s, side, side]))
    kept = -np.log(flow.inverse[0, 0, 0])
    axial = y * np.sqrt(1.5) / (1.0 + poisson) if preserve else y / np.sqrt(1.0 + 2.0 * poisson**2)
    assert np.log(1.2) - kept == pytest.approx(axial, rel=2.0 * y)


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


@pytest.mark.parametrize("by_norm", [False, True])
def test_with_a_goal_the_limit_holds_too(by_norm):
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    goal = np.array([[2.5, 0.3, 0.0], [0.0, 0.6, 0.1], [0.0, 0.0, 0.8]])
    _, deform = element(yield_strain=0.05, goal=rest @ goal.T, limit=1.5, limit_by_norm=by_norm)
    rng, distance, largest = np.random.default_rng(5), np.linalg.norm(right_log(goal)), 0.0
    for _ in range(60):
        _, plastic = deform(goal @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3))))
        stretches = np.log(np.linalg.svd(plastic, compute_uv=False))
        size = np.linalg.norm(stretches) if by_norm else np.abs(stretches).max()
        largest = max(largest, size)
        now = np.linalg.norm(right_log(plastic) - right_log(goal))
        assert now <= distance + 1e-9
        distance = now
    assert largest == pytest.approx(np.log(1.5), rel=1e-6)  # it goes up to the limit, and not beyond


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

"""Pins, drives, locked directions and what holds them: rollers, mixed conditions, reactions, contradictions."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import continua as ct
from continua.errors import InputError

LEFT, RIGHT = (lambda x: x[:, 0] < 1e-9), (lambda x: x[:, 0] > 1.0 - 1e-9)


def block(order=1, law=ct.Corotated, size=(1.0, 0.3, 0.4), cells=(4, 2, 2), young=1e6, **options):
    return ct.SoftBody(
        ct.mesh.box(size=size, cells=cells),
        material=law(young=young, poisson=0.3, density=1000.0),
        order=order,
        name="block",
        solver=ct.PCG(rtol=1e-12),
        **options,
    )


def stiffness(body):
    """The matrix K at rest as a dense array."""
    from continua.deformable.elements import AssembledSystem
    from continua.linalg import BlockMatrix

    n = body.node_count
    matrix, zero = BlockMatrix(body._elements.pattern), np.zeros((n, 3))
    body._elements.update(body._elements.rest_positions)
    body._elements.assemble(AssembledSystem(matrix, zero.copy(), body._mass, 0.0, 1.0, 1.0, zero, zero))
    return matrix.to_scipy().tocsr()


@pytest.mark.parametrize("order", [1, 2])
def test_locked_nodes_slide_in_their_plane_only(order):
    """A tilted roller: the bar falls, and no locked node leaves its plane by more than rounding."""
    body = block(order)
    normal = np.array([1.0, 2.0, -0.5])
    lock = body.lock(LEFT, normal)
    world = ct.World([body], dt=0.01)
    for _ in range(30):
        world.step()
    way = (body._x - body._elements.rest_positions)[lock.nodes]
    assert np.abs(way @ (normal / np.linalg.norm(normal))).max() < 1e-14
    assert np.abs(way).max() > 0.05


def test_axis_locks_hold_to_the_last_bit_and_free_fall_is_untouched_across():
    body = block()
    body.lock(lambda x: x[:, 0] > -1.0, "z")
    world = ct.World([body], dt=0.01)
    body.set_velocity((0.3, 0.0, 0.7))
    for _ in range(20):
        world.step()
    rest = body.rest_positions
    np.testing.assert_array_equal(body.positions[:, 2], rest[:, 2])
    fall = -9.81 * 0.01**2 * 20 * 21 / 2  # implicit Euler's sum
    np.testing.assert_allclose(body.positions[:, 1] - rest[:, 1], fall, rtol=1e-9)
    np.testing.assert_allclose(body.positions[:, 0] - rest[:, 0], 0.06, rtol=1e-9)


def test_locks_combine_in_any_order_and_direction():
    """Two skew locks leave one line; three leave nothing. Each prescribed component is met exactly."""
    a, b, c = np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]), np.array([0.2, -0.5, 1.0])
    way = np.array([0.02, -0.03, 0.01])
    for order in ((a, b), (b, a), (a, b, c), (c, a, b)):
        body = block()
        body.pin(LEFT)
        locks = [body.lock(RIGHT, d, float(way @ d) / np.linalg.norm(d)) for d in order]
        ct.World([body], gravity=(0, 0, 0)).settle()
        moved = (body.positions - body.rest_positions)[locks[0].nodes]
        for d in order:
            np.testing.assert_allclose(moved @ d, way @ d, atol=1e-12)
        if len(order) == 3:
            np.testing.assert_allclose(moved, np.broadcast_to(way, moved.shape), atol=1e-12)


def test_a_driven_lock_follows_its_motion_and_is_free_across():
    body = block()
    lock = body.lock(LEFT, "x", ct.Motion.translate((0.5, 9.0, 9.0)))
    world = ct.World([body], gravity=(0, -1.0, 0), dt=0.01)
    for step in range(1, 21):
        world.step()
        x = (body.positions - body.rest_positions)[lock.nodes]
        np.testing.assert_allclose(x[:, 0], 0.5 * 0.01 * step, atol=1e-14)
    np.testing.assert_allclose(x[:, 1].mean(), -0.021, atol=2e-3)  # 1/2 g t^2 and Euler's part


def test_uniaxial_patch_with_rollers_is_exact():
    """Rollers on three faces and an even push: u = (s/E x, -nu s/E y, -nu s/E z), to rounding (R16)."""
    young, nu, stress = 1000.0, 0.3, 10.0
    body = block(law=ct.Linear, size=(1.0, 1.0, 1.0), cells=(1, 1, 1), young=young)
    for axis, name in enumerate("xyz"):
        body.lock(lambda x, axis=axis: x[:, axis] < 1e-9, name)
    faces = body.mesh.boundary_triangles
    share = np.zeros((body.node_count, 3))
    for face in faces[(body.rest_positions[faces][:, :, 0] > 1 - 1e-9).all(axis=1)]:
        share[face, 0] += stress * 0.5 / 3.0
    for node in np.flatnonzero(share[:, 0]):
        body.push([int(node)], share[node])
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-11)
    exact = body.rest_positions * np.array([1.0, -nu, -nu]) * stress / young
    np.testing.assert_allclose(body.positions - body.rest_positions, exact, atol=1e-12)


def test_mixed_conditions_equal_the_reduced_solve_and_reactions_undo_them():
    """Check 28 of the boundary conditions: K22 u2 = f2 - K21 u1, and f1 = K11 u1 + K12 u2 gives u again."""
    body = block(law=ct.Linear)
    rest = body.rest_positions
    pin = body.pin(LEFT)
    lock = body.lock(RIGHT, "y", -0.02)
    world = ct.World([body], gravity=(0, 0, 0))
    world.settle(rtol=1e-10)
    u = (body.positions - rest).ravel()
    K = stiffness(body)
    known = np.zeros((len(rest), 3), bool)
    known[pin.nodes] = True
    known[lock.nodes, 1] = True
    one = known.ravel()
    prescribed = np.zeros((len(rest), 3))
    prescribed[lock.nodes, 1] = -0.02
    u1 = prescribed.ravel()[one]
    u2 = spsolve(K[~one][:, ~one].tocsc(), -K[~one][:, one] @ u1)
    np.testing.assert_allclose(u[~one], u2, atol=1e-9)
    np.testing.assert_allclose(u[one], u1, atol=1e-13)
    f1 = (K @ u).reshape(-1, 3)
    np.testing.assert_allclose(lock.reactions[:, 1], f1[lock.nodes, 1], atol=1e-6)
    np.testing.assert_allclose(pin.reaction + lock.reaction, 0.0, atol=1e-6)
    forces = lock.reactions.copy()
    lock.remove()
    for node, force in zip(lock.nodes, forces, strict=True):
        body.push([int(node)], force)
    world.settle(rtol=1e-10)
    np.testing.assert_allclose((body.positions - rest).ravel(), u, atol=1e-8)


@pytest.mark.parametrize(("order", "young"), [(1, 2e5), (2, 1e10)])
def test_reactions_carry_the_weight_and_its_moment(order, young):
    """Quadratic elements with one rotation each exert a torque of second order in the strain: stiff ones none."""
    body = block(order, young=young)
    pin = body.pin(LEFT)
    world = ct.World([body])
    world.settle(rtol=1e-7)
    weight = body.mass_total * 9.81
    np.testing.assert_allclose(pin.reaction, [0.0, weight, 0.0], atol=1e-6 * weight)
    center = body._node_mass @ body._x / body._node_mass.sum()
    moment = -np.cross(center, [0.0, -weight, 0.0])
    np.testing.assert_allclose(pin.moment(), moment, atol=1e-6 * weight)
    np.testing.assert_allclose(pin.moment(center), 0.0, atol=1e-6 * weight)
    world.step()  # the step out of an equilibrium keeps it
    np.testing.assert_allclose(pin.reaction, [0.0, weight, 0.0], atol=1e-5 * weight)


def test_reactions_of_a_step_change_the_momentum():
    """A driven body's reaction is M a less the weight: the momentum balance of the whole body."""
    body = block(young=1e5)
    drive = body.drive(LEFT, lambda t, x: x + [0.0, 0.4 * t * t, 0.0])
    world = ct.World([body], dt=0.01)
    mass = body.mass_total
    before = body._node_mass @ body._v
    for _ in range(5):
        world.step()
        after = body._node_mass @ body._v
        balance = (after - before) / 0.01 + mass * np.array([0.0, 9.81, 0.0])
        np.testing.assert_allclose(drive.reaction, balance, atol=1e-5 * mass * 9.81)
        before = after


def test_constraints_come_and_go_without_assembly_of_another_matrix():
    """Check 26: fixed nodes do not move; a pose frozen by a drive stays when the load goes; freed it returns."""
    body = block(damping=(5.0, 0.01))
    body.pin(LEFT)
    push = body.push(RIGHT, (0.0, 300.0, 0.0))
    world = ct.World([body], gravity=(0, 0, 0), dt=0.02)
    world.settle()
    pattern, blocks = body._elements.pattern, body._stepper.matrix.blocks
    pose = body.positions
    freeze = body.drive(RIGHT, lambda t, x: pose[freeze_nodes])
    freeze_nodes = freeze.nodes
    push.remove()
    for _ in range(20):
        world.step()
    np.testing.assert_allclose(body.positions[freeze_nodes], pose[freeze_nodes], atol=1e-12)
    np.testing.assert_allclose(body.positions, pose, atol=1e-6)
    freeze.remove()
    for _ in range(400):
        world.step()
    np.testing.assert_allclose(body.positions, body.rest_positions, atol=1e-6)
    assert body._elements.pattern is pattern
    assert body._stepper.matrix.blocks is blocks


def test_a_removed_or_expired_lock_lets_go():
    body = block()
    lock = body.lock(lambda x: x[:, 0] > -1, "y", until=0.05)
    world = ct.World([body], dt=0.01)
    heights = []
    for _ in range(10):
        world.step()
        heights.append(body.positions[0, 1])
    assert np.ptp(heights[:5]) == 0.0
    assert heights[9] < heights[4] - 0.005
    lock.remove()
    with pytest.raises(InputError, match="removed"):
        _ = lock.reaction


def test_settling_needs_a_hold_along_the_load():
    """Rollers in a plane carry no load along it, and need carry none across (R16)."""
    body = block()
    body.lock(LEFT, "x")
    with pytest.raises(
        InputError, match=r"'block' has no equilibrium, because nothing holds it along \(0, 1, 0\)"
    ):
        ct.World([body]).settle()
    world = ct.World([body], gravity=(3.0, 0, 0))
    world.settle()
    # the mean displacement of a bar under its own weight: rho g L^2 / (3 E)
    assert (body._node_mass @ (body.positions - body.rest_positions))[0] / body.mass_total == pytest.approx(
        1000.0 * 3.0 / 3e6, rel=0.02
    )


def contradictions():
    move = ct.Motion.translate((0.0, 1.0, 0.0))
    other = ct.Motion.translate((0.0, 2.0, 0.0))
    yield "pinned and driven", lambda b: (b.pin(LEFT), b.drive(LEFT, move))
    yield "pinned and driven", lambda b: (b.drive(LEFT, move), b.pin(LEFT))
    yield "driven in two ways", lambda b: (b.drive(LEFT, move), b.drive(LEFT, other))
    yield "driven in two ways", lambda b: (b.lock(LEFT, "y", move), b.lock(LEFT, (0, -2, 0), other))
    yield "pinned and driven", lambda b: (b.pin(LEFT), b.lock(LEFT, "y", 0.1))


@pytest.mark.parametrize(("sentence", "act"), list(contradictions()))
def test_contradictions_are_refused_at_once(sentence, act):
    body = block()
    ct.World([body])
    with pytest.raises(InputError, match=f"node 0 of body 'block' would be {sentence}"):
        act(body)


def test_a_drive_against_a_lock_is_refused_when_it_shows():
    body = block()
    body.lock(LEFT, "y")
    body.drive(LEFT, ct.Motion.keyframes([0.0, 0.02, 0.05], [[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0]]))
    world = ct.World([body], dt=0.01)
    world.step()
    world.step()
    before = body.positions
    with pytest.raises(
        InputError, match=r"node 0 of body 'block' has two contradicting positions at t = 0.03 s"
    ):
        world.step()
    np.testing.assert_array_equal(body.positions, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LEFT, "w"), "'x', 'y' or 'z'"),
        ((LEFT, (0, 0, 0)), "must not be zero"),
        ((LEFT, (0, np.nan, 0)), "three finite numbers"),
        ((LEFT, "x", np.inf), "finite number"),
        ((LEFT, "x", "far"), "finite number"),
        ((lambda x: x[:, 0] > 9, "x"), "lock of body 'block': no node"),
        (("trunk", "x"), "no region called 'trunk'"),
    ],
)
def test_bad_locks_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        block().lock(*arguments)

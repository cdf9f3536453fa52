"""Forces, tangents, statics and history of mass-spring bodies."""

import numpy as np
import pytest

import continua as ct
from continua import springs
from continua.deformable import spring_kernels
from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockMatrix
from continua.springs.spring_elements import SpringElements

STILL = ct.environment.Environment(gravity=np.zeros(3))


def pair(distance=2.0, stiffness=3.0, damping=0.0, velocity=(0.0, 0.0, 0.0)):
    body = ct.Springs(
        [[0.0, 0.0, 0.0], [distance, 0.0, 0.0]], [[0, 1]], stiffness=stiffness, spring_damping=damping,
        rest_lengths=[1.0], mass=[1.0, 1.0],
    )  # fmt: skip
    body.velocities = [[0.0, 0.0, 0.0], velocity]
    return body


def forces(body, damped=True):
    out = np.zeros((body.node_count, 3))
    body._elements.add_forces(body.positions, body.velocities, out, damped)
    return out


def everything(seed=0, shake=0.05, cells=(2, 2, 2)):
    """A lattice with volumes, joined with a bent rope and a sheet: all kinds of springs."""
    rng = np.random.default_rng(seed)
    curve = np.linspace(0.0, 1.0, 6)
    rope = springs.rope(np.stack([3.0 + curve, curve**2, 0.3 * curve], axis=1))
    net = (
        springs.lattice((1, 1, 1), cells)
        .joined(rope)
        .joined(springs.sheet((1, 1), (2, 2)).moved(springs.sheet((1, 1), (2, 2)).points + [0, 4, 0]))
    )
    body = ct.Springs(
        net, stiffness=40.0, spring_damping=0.7, mass=3.0, bending=0.2, volume_stiffness=300.0, newton=50
    )
    body.positions = body.rest_positions + shake * rng.normal(size=body.rest_positions.shape)
    body.velocities = rng.normal(size=body.rest_positions.shape)
    return body


def test_force_of_one_spring():
    """l = 2, l0 = 1, ks = 3: a force of 3 N along the axis, nothing for motion across it (AC-R1)."""
    np.testing.assert_allclose(forces(pair()), [[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(
        forces(pair(damping=5.0, velocity=(0.0, 2.0, -1.0))), [[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]], atol=1e-15
    )
    np.testing.assert_allclose(
        forces(pair(damping=5.0, velocity=(0.4, 2.0, 0.0))), [[5.0, 0.0, 0.0], [-5.0, 0.0, 0.0]], atol=1e-15
    )


def test_internal_forces_keep_momentum_and_angular_momentum():
    body = everything()
    f, x = forces(body), body.positions
    scale = np.abs(f).sum()
    assert np.abs(f.sum(axis=0)).max() < 1e-12 * scale
    # springs on weighted sums act along a vector that is no distance where the rest shape is curved
    straight = everything()
    straight.set_material(bending=0.0)
    f, x = forces(straight), straight.positions
    assert np.abs(np.cross(x, f).sum(axis=0)).max() < 1e-12 * scale


def test_bending_of_straight_ropes_and_flat_sheets_keeps_angular_momentum():
    net = springs.line((0, 0, 0), (1, 0, 0), 8).joined(springs.sheet((1, 1), (3, 3)))
    body = ct.Springs(net, stiffness=0.0, bending=0.3)
    rng = np.random.default_rng(1)
    body.positions = body.rest_positions + 0.1 * rng.normal(size=body.rest_positions.shape)
    f = forces(body)
    assert np.abs(f).max() > 1.0
    assert np.abs(np.cross(body.positions, f).sum(axis=0)).max() < 1e-12 * np.abs(f).sum()


def test_forces_are_minus_the_gradient_of_the_energy():
    body = everything()
    elements, x = body._elements, body.positions
    f = forces(body, damped=False)
    rng = np.random.default_rng(2)
    for _ in range(5):
        way = rng.normal(size=x.shape)
        h = 1e-6
        energies = []
        for s in (h, -h):
            elements.update(x + s * way)
            energies.append(elements.energy())
        assert (energies[0] - energies[1]) / (2 * h) == pytest.approx(-np.vdot(f, way), rel=1e-6)


def test_tangent_is_the_derivative_where_springs_are_stretched():
    """J equals finite differences to 1e-5 (AC-R2b); compressed springs and volumes are clamped to stay definite."""
    body = everything(shake=0.0)
    body.set_material(volume_stiffness=0.0)
    rng = np.random.default_rng(3)
    x = 1.3 * body.rest_positions + 0.01 * rng.normal(size=body.rest_positions.shape)
    elements = body._elements
    n = elements.node_count
    matrix, rhs, zero = BlockMatrix(elements.pattern), np.zeros((n, 3)), np.zeros((n, 3))
    # bent parts of the sheet and the rope keep their curvature when they grow, so only springs of two nodes are exact
    body.set_material(bending=0.0)
    elements.update(x)
    elements.assemble(
        AssembledSystem(matrix, rhs, np.zeros(elements.pattern.block_count), 0.0, 1.0, 0.0, zero, zero)
    )
    way = rng.normal(size=x.shape)
    h = 1e-6
    ends = []
    for s in (h, -h):
        out = np.zeros((n, 3))
        elements.add_forces(x + s * way, zero, out, False)
        ends.append(out)
    np.testing.assert_allclose(
        matrix.multiply(way), -(ends[0] - ends[1]) / (2 * h), atol=1e-5 * np.abs(ends[0]).max()
    )


def test_layouts_agree_to_rounding():
    """Spring by spring, node by node, and by the assembled right-hand side (G30, G31)."""
    body = everything()
    e, x, v = body._elements, body.positions, body.velocities
    body.set_material(bending=0.0, volume_stiffness=0.0)
    by_spring, by_node = np.zeros_like(x), np.zeros_like(x)
    spring_kernels.edge_forces(x, v, e.elements, e.k, e.length, e.c, True, by_spring)
    spring_kernels.edge_forces_by_node.serial(
        x, v, e._edges_of, e._neighbours, e._edge_numbers, e.k, e.length, e.c, True, by_node
    )
    np.testing.assert_allclose(by_spring, by_node, atol=1e-12 * np.abs(by_spring).max())
    zero = np.zeros_like(x)
    matrix, rhs = BlockMatrix(e.pattern), np.zeros_like(x)
    e.update(x)
    e.assemble(AssembledSystem(matrix, rhs, np.zeros(e.pattern.block_count), 0.0, 1.0, 1.0, zero, zero))
    undamped = np.zeros_like(x)
    spring_kernels.edge_forces(x, v, e.elements, e.k, e.length, e.c, False, undamped)
    np.testing.assert_allclose(rhs, undamped, atol=1e-12 * np.abs(undamped).max())


def test_period_of_a_mass_on_a_spring():
    """2 pi sqrt(m/k) within 1 % (001, check 48)."""
    body = ct.Springs(
        [[0, 0, 0], [0, -1.0, 0]], [[0, 1]], stiffness=40.0, mass=[1.0, 0.4], integrator="symplectic_euler"
    )
    body.pin([0])
    body.prepare(STILL)
    body.positions = [[0, 0, 0], [0, -1.1, 0]]
    crossings, before, dt = [], -0.1, 0.002
    for step in range(2000):
        body.step(dt)
        now = body.positions[1, 1] + 1.0
        if before < 0.0 <= now:
            crossings.append(dt * (step + 1 - now / (now - before)))
        before = now
    assert np.diff(crossings).mean() == pytest.approx(2 * np.pi * np.sqrt(0.4 / 40.0), rel=0.01)


@pytest.mark.parametrize("integrator", ["symplectic_euler", "verlet", "rk4", "implicit_euler"])
def test_free_motion_keeps_momentum(integrator):
    body = everything(shake=0.03)
    body.set_integrator(springs.SPRING_INTEGRATORS[integrator]())
    body.prepare(STILL)
    mass = body._node_mass[:, None]
    before = (mass * body.velocities).sum(axis=0)
    for _ in range(50):
        body.step(0.01)
    np.testing.assert_allclose((mass * body.velocities).sum(axis=0), before, atol=1e-10)


def test_an_inverted_tetrahedron_recovers_with_volume_stiffness_only():
    """001, check 49: edges alone are content with the mirror image."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    net = springs.SpringNetwork(
        points, np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]), tets=np.array([[0, 1, 2, 3]])
    )
    for volume_stiffness, recovers in ((0.0, False), (3e3, True)):
        body = ct.Springs(
            net,
            stiffness=100.0,
            mass=1.0,
            volume_stiffness=volume_stiffness,
            damping=(2.0, 0.0),
            spring_damping=3.0,
        )
        body.prepare(STILL)
        mirrored = points.copy()
        mirrored[3, 2] = -0.8
        body.positions = mirrored
        for _ in range(600):
            body.step(0.01)
        x = body.positions
        volume = np.linalg.det(x[1:] - x[0]) / 6.0
        assert volume == pytest.approx(1 / 6 if recovers else -1 / 6, rel=0.01)


def test_stiffer_springs_sag_less_and_settle_balances():
    sags = []
    for stiffness in (500.0, 1000.0, 4000.0):
        body = ct.Springs(springs.lattice((1, 0.5, 0.5), (4, 2, 2)), stiffness=stiffness, mass=1.0)
        body.pin("left")
        report = body.settle()
        assert report.converged
        f = forces(body, damped=False) + body._node_mass[:, None] * [0.0, -9.81, 0.0]
        free = body.rest_positions[:, 0] > -0.49
        assert np.abs(f[free]).max() < 1e-5
        sags.append(-(body.positions - body.rest_positions)[:, 1].min())
    assert sags[0] > 1.8 * sags[1] > 6.0 * sags[2]


def test_a_hanging_rope_is_a_catenary():
    """A nearly inextensible rope of length L over the span d: y = a cosh(x/a) with L = 2 a sinh(d/2a)."""
    n, length, span = 60, 1.3, 1.0
    low, high = 0.05, 10.0
    for _ in range(100):
        a = 0.5 * (low + high)
        low, high = (a, high) if 2 * a * np.sinh(span / (2 * a)) > length else (low, a)
    # start on a sagging parabola; rest lengths make up the length of the rope
    x = np.linspace(-span / 2, span / 2, n + 1)
    points = np.stack([x, 1.6 * (x**2 - span**2 / 4), 0 * x], axis=1)
    mass = np.full(n + 1, 0.1 / n)
    body = ct.Springs(springs.rope(points), stiffness=1e6, rest_lengths=np.full(n, length / n), mass=mass)
    body.pin([0, n])
    body.settle()
    p = body.positions
    expected = a * (np.cosh(p[:, 0] / a) - np.cosh(span / (2 * a)))
    assert np.abs(p[:, 1] - expected).max() < 2e-3 * span
    assert -p[:, 1].min() == pytest.approx(a * (np.cosh(span / (2 * a)) - 1.0), rel=2e-3)


def test_a_cantilever_rope_bends_as_euler_and_bernoulli_say():
    """Small deflection of a clamped beam under its weight: q L^4 / (8 EI)."""
    n, length, weight, stiffness = 80, 1.0, 0.01, 2.0
    body = ct.Springs(
        springs.line((0, 0, 0), (length, 0, 0), n),
        stiffness=1e6,
        bending=stiffness,
        mass=weight,
        solver="direct",
    )
    body.pin([0, 1])
    body.settle()
    expected = weight * 9.81 * length**3 / (8 * stiffness)
    assert -body.positions[-1, 1] == pytest.approx(expected, rel=0.03)


def test_multigrid_and_direct_take_the_same_step():
    ends = []
    for solver in ("multigrid", "direct"):
        body = ct.Springs(
            springs.lattice((1, 1, 1), (8, 8, 8)), stiffness=1e4, mass=1.0, solver=solver, newton=20
        )
        body.pin("left")
        for _ in range(3):
            report = body.step(0.01)
        assert report.converged
        ends.append(body.positions)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


def test_implicit_euler_on_a_stiff_net_does_not_grow():
    """AC-R2b: dt = 0.1 s, springs of 1e6 N/m."""
    body = ct.Springs(springs.sheet((1, 1), (8, 8)), stiffness=1e6, mass=0.3, newton=50)
    body.prepare(STILL)
    rng = np.random.default_rng(4)
    body.positions = body.rest_positions + 0.01 * rng.normal(size=body.rest_positions.shape)
    before = np.inf
    for _ in range(20):
        body.step(0.1)
        energy = sum(body.energy().values())
        assert energy <= before * (1.0 + 1e-6) + 1e-9
        before = energy


def test_springs_flow_beyond_their_yield_strain():
    """Stretched to 50 % and let go: 10 % is elastic, so 1.5/1.1 is left."""
    body = ct.Springs([[0, 0, 0], [1.0, 0, 0]], [[0, 1]], stiffness=100.0, mass=[1, 1], yield_strain=0.1)
    body.pin([0])
    body.drive([1], ct.Motion.translate((0.5, 0.0, 0.0), until=1.0))
    world = ct.World([body], dt=0.01, gravity=(0, 0, 0))
    for _ in range(100):
        world.step()
    assert body.positions[1, 0] == pytest.approx(1.5, abs=1e-6)
    assert body.rest_lengths[0] == pytest.approx(1.5 / 1.1, rel=1e-6)
    body.reset()
    assert body.rest_lengths[0] == 1.0


def test_springs_tear_at_their_tear_strain():
    """A weight that stretches the rope by 50 % in equilibrium tears one that bears 30 %, and falls freely then."""
    rope = springs.line((0, 0, 0), (0, -1, 0), 4)
    mass = np.array([1e-3, 1e-3, 1e-3, 1e-3, 1.0])
    body = ct.Springs(rope, stiffness=9.81 / 0.125, mass=mass, tear_strain=0.3, spring_damping=1.0)
    body.pin([0])
    for _ in range(120):
        body.step(0.01)
    assert len(body.torn) >= 1
    assert len(body.frame().cells["line"]) == 4 - len(body.torn)
    assert body.topology_version == len(body.torn)
    v = body.velocities[4, 1]
    body.step(0.01)
    assert body.velocities[4, 1] - v == pytest.approx(-0.0981, rel=1e-6)


def test_state_restores_bitwise_with_torn_and_flown_springs():
    def make():
        body = ct.Springs(
            springs.sheet((1, 1), (6, 6)), stiffness=30.0, mass=1.0, yield_strain=0.05, creep=1.0, tear_strain=0.3,
            spring_damping=0.1,
        )  # fmt: skip
        body.pin(lambda x: x[:, 0] < -0.49)
        return body

    one, two = make(), make()
    for step in range(40):
        if step == 20:
            saved = {key: np.array(value) for key, value in one.state().items()}
        one.step(0.02)
    two.restore(saved)
    for _ in range(20):
        two.step(0.02)
    assert len(one.torn)
    for key, value in one.state().items():
        np.testing.assert_array_equal(value, two.state()[key], err_msg=key)


def test_degenerate_configurations_stay_finite():
    """10,000 random cells with coincident, collinear, huge, tiny and coplanar points: no force is infinite or NaN."""
    rng = np.random.default_rng(5)
    net = springs.lattice((1, 1, 1), (1, 1, 1)).joined(springs.line((2, 0, 0), (3, 0, 0), 3))
    body = ct.Springs(net, stiffness=7.0, bending=1.0, volume_stiffness=5.0, mass=1.0)
    e, n = body._elements, body.node_count
    zero = np.zeros((n, 3))
    matrix, rhs = BlockMatrix(e.pattern), np.zeros((n, 3))
    mass = np.zeros(e.pattern.block_count)
    for k in range(10_000):
        x = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-30, 8)
        kind = k % 5
        if kind == 0:
            x[rng.integers(n, size=6)] = x[0]
        elif kind == 1:
            x = np.outer(rng.normal(size=n), rng.normal(size=3))
        elif kind == 2:
            x[:] = 0.0
        elif kind == 3:
            x[:, rng.integers(3)] = 0.0
        out = np.zeros((n, 3))
        e.add_forces(x, zero, out, True)
        assert np.isfinite(out).all()
        e.update(x)
        e.assemble(AssembledSystem(matrix, rhs, mass, 1.0, 1.0, 1.0, zero, zero))
        assert np.isfinite(matrix.blocks).all()
        assert np.isfinite(rhs).all()


def test_results_do_not_depend_on_the_number_of_threads():
    network = springs.lattice((1, 1, 1), (12, 12, 12))
    assert network.element_count > 20_000
    ends = []
    before = ct.get_threads()
    for threads in (1, 2):
        ct.set_threads(threads)
        for integrator in ("verlet", "implicit_euler"):
            body = ct.Springs(
                network, stiffness=500.0, mass=1.0, integrator=integrator, volume_stiffness=100.0
            )
            body.pin("left")
            for _ in range(3):
                body.step(0.005)
            ends.append(body.positions)
    ct.set_threads(before)
    np.testing.assert_array_equal(ends[0], ends[2])
    np.testing.assert_array_equal(ends[1], ends[3])


@pytest.mark.parametrize("integrator", ["verlet", "implicit_euler"])
def test_a_lattice_falls_on_a_plane_and_comes_to_rest(integrator):
    """AC-R3: no penetration beyond the tolerance, and rest in the end."""
    net = springs.lattice((0.5, 0.5, 0.5), (2, 2, 2))
    body = ct.Springs(
        net.moved(net.points + [0, 0.5, 0]),
        stiffness=2e3, spring_damping=5.0, mass=1.0, integrator=integrator, name="jelly",
    )  # fmt: skip
    world = ct.World([body], dt=0.01, colliders=[ct.Plane((0, 0, 0), (0, 1, 0))])
    for _ in range(200):
        before = body.positions
        world.step()
        assert body.positions[:, 1].min() > -1e-3
    assert np.abs(body.positions - before).max() < 1e-6


@pytest.mark.parametrize("kind", ["springs", "verlet", "xpbd"])
def test_contact_with_a_rigid_body_keeps_momentum(kind):
    network = springs.lattice((1, 1, 1), (2, 2, 2))
    if kind == "xpbd":
        body = ct.PositionBased(
            network, mass=5.0, constraints=[springs.Distance(compliance=1e-4)], name="jelly"
        )
    else:
        # with several Newton iterations momentum in contact is kept to the tolerance of these only
        integrator = "verlet" if kind == "verlet" else ct.ImplicitEuler(newton=1)
        body = ct.Springs(network, mass=5.0, stiffness=3e3, integrator=integrator, name="jelly")
    ball = ct.RigidBody(ct.Sphere((0.1, 1.0, 0.0), 0.3), density=100.0, name="ball")
    world = ct.World([body, ball], dt=0.01, gravity=(0, 0, 0))
    ball.set_velocity((0.0, -2.0, 0.0))
    mass = body._node_mass[:, None]
    start = -2.0 * ball.mass_total
    for _ in range(40):
        world.step()
        total = (mass * body.velocities).sum(axis=0) + ball.mass_total * np.array(ball.velocity)
        np.testing.assert_allclose(total, [0.0, start, 0.0], atol=1e-10 * abs(start))
    assert ball.velocity[1] > -1.9


def test_a_net_holds_a_ball():
    """A ball smaller than the meshes' diagonal is held by nodes and edges of the net, its weight by the pins."""
    net = springs.sheet((1, 1), (6, 6), diagonals=False, surface=False)
    body = ct.Springs(
        net, stiffness=3e3, spring_damping=2.0, mass=0.3, radius=0.01, damping=(2.0, 0.0), name="net"
    )
    body.pin(lambda x: np.abs(x[:, [0, 2]]).max(axis=1) > 0.49)
    ball = ct.RigidBody(ct.Sphere((0.03, 0.2, 0.02), 0.15), density=100.0, name="ball")
    world = ct.World([body, ball], dt=0.01)
    for _ in range(400):
        reports = world.step()
    assert np.linalg.norm(ball.velocity) < 0.05
    assert reports[1].contact_force[1] == pytest.approx(9.81 * ball.mass_total, rel=0.1)


def test_bad_input_is_refused_with_one_sentence():
    line = springs.line((0, 0, 0), (1, 0, 0), 3)
    for make, text in (
        (lambda: ct.Springs([[0, 0, 0], [1, 0, 0]]), "need the list 'springs'"),
        (lambda: ct.Springs([[0, 0, 0], [1, 0, 0]], [[0, 0]]), "joins a node with itself"),
        (lambda: ct.Springs([[0, 0, 0], [1, 0, 0]], [[0, 2]]), "does not exist"),
        (lambda: ct.Springs(line, stiffness=-1.0), "stiffness of springs"),
        (lambda: ct.Springs(line, stiffness=[1.0, -2.0, 3.0]), "spring 1"),
        (lambda: ct.Springs(line, mass=[1, 1, 0, 1]), "node 2"),
        (lambda: ct.Springs(line, integrator="rk3"), "integrator of springs"),
        (lambda: ct.Springs(line, creep=1.0), "yield_strain"),
        (lambda: springs.line((0, 0, 0), (0, 0, 0), 3), "must have a length"),
        (lambda: ct.SoftBody(ct.mesh.box(), integrator=springs.Verlet()), "is for springs"),
    ):
        with pytest.raises(ct.InputError, match=text):
            make()


def test_duplicate_springs_add_up():
    one = ct.Springs([[0, 0, 0], [2.0, 0, 0]], [[0, 1]], stiffness=6.0, rest_lengths=[1.0])
    two = ct.Springs([[0, 0, 0], [2.0, 0, 0]], [[0, 1], [1, 0]], stiffness=3.0, rest_lengths=[1.0, 1.0])
    np.testing.assert_allclose(forces(one), forces(two), atol=1e-15)
    assert isinstance(two._elements, SpringElements)

"""Position-based bodies: what XPBD converges to, PBD's stiffness, constraints, contact and restarts."""

from itertools import pairwise

import numpy as np
import pytest

import continua as ct
from continua import springs
from continua.materials.law import lame
from continua.springs.constraint_kernels import dihedral_angles

STILL = ct.environment.Environment(gravity=np.zeros(3))


def implicit_residual(body, before, dt, gradient, held=()):
    """M (x - x_prev - dt v_prev)/dt^2 + grad E, relative to its first term: zero for implicit Euler."""
    x0, v0 = before
    m = body._node_mass[:, None]
    inertia = m * (body.positions - x0 - dt * v0) / dt**2
    residual = inertia + gradient(body.positions)
    residual[list(held)] = 0.0
    return np.abs(residual).max() / np.abs(gradient(body.positions)).max()


def numerical_gradient(energy, x):
    out = np.zeros_like(x)
    h = 1e-6
    for i in range(x.shape[0]):
        for u in range(3):
            e = []
            for s in (h, -h):
                y = x.copy()
                y[i, u] += s
                e.append(energy(y))
            out[i, u] = (e[0] - e[1]) / (2 * h)
    return out


def test_xpbd_converges_to_the_implicit_step_of_its_springs():
    """With many iterations inertia and the forces of the springs balance at the end of a step, as in implicit Euler."""
    net = springs.sheet((1, 1), (4, 4), surface=False)
    i, j = net.springs.T
    rest = np.linalg.norm(net.points[j] - net.points[i], axis=1)

    def gradient(x):
        d = x[j] - x[i]
        length = np.linalg.norm(d, axis=1)
        pull = (200.0 * (length - rest) / length)[:, None] * d
        out = np.zeros_like(x)
        np.add.at(out, j, pull)
        np.add.at(out, i, -pull)
        return out

    rng = np.random.default_rng(0)
    start = net.points * 1.1 + 0.02 * rng.normal(size=net.points.shape)
    residuals = []
    for iterations in (3, 10, 100):
        body = ct.PositionBased(
            net,
            constraints=[springs.Distance(compliance=1 / 200.0)],
            mass=1.0,
            small_steps=1,
            iterations=iterations,
        )
        body.prepare(STILL)
        body.positions = start
        before = body.positions, body.velocities
        body.step(0.02)
        residuals.append(implicit_residual(body, before, 0.02, gradient))
    assert residuals[0] > residuals[1] > residuals[2]
    assert residuals[2] < 1e-12


def test_xpbd_and_implicit_springs_take_the_same_steps():
    """Pinned cloth under gravity, ten steps, with Newton's method on the other side."""
    net = springs.sheet((1, 1), (4, 4), surface=False)
    ends = []
    for kind in ("xpbd", "newton"):
        if kind == "xpbd":
            body = ct.PositionBased(
                net,
                constraints=[springs.Distance(compliance=1 / 500.0)],
                mass=1.0,
                small_steps=1,
                iterations=500,
            )
        else:
            body = ct.Springs(
                net, stiffness=500.0, mass=1.0, integrator=ct.ImplicitEuler(newton=100), solver="direct"
            )
        body.pin(lambda x: x[:, 0] < -0.49)
        for _ in range(10):
            body.step(0.02)
        ends.append(body.positions)
    assert np.abs(ends[0] - net.points).max() > 0.05
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-5)  # Newton's method ends at 1e-5 of a spring


@pytest.mark.parametrize("law", ["neo_hookean", "st_venant_kirchhoff"])
def test_strain_constraints_converge_to_the_implicit_step_of_their_energy(law):
    """The converged step balances inertia and the gradient of the energy, written here anew: to 1e-6."""
    net = springs.lattice((1, 1, 1), (1, 1, 1))
    young, poisson, dt = 1e4, 0.3, 0.01
    body = ct.PositionBased(
        net, constraints=[springs.Strain(young=young, poisson=poisson, law=law)], mass=20.0, small_steps=1,
        iterations=200,
    )  # fmt: skip
    body.prepare(STILL)
    rng = np.random.default_rng(1)
    start = net.points * [1.15, 0.9, 1.05] + 0.02 * rng.normal(size=net.points.shape)
    body.positions = start
    before = body.positions, body.velocities
    body.step(dt)
    lam, mu = lame(young, poisson)
    rest = net.points[net.tets]
    inverse = np.linalg.inv(np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2))

    def energy(x):
        p = x[net.tets]
        F = np.swapaxes(p[:, 1:] - p[:, :1], 1, 2) @ inverse
        if law == "neo_hookean":
            own = lam + mu
            psi = 0.5 * mu * (F**2).sum(axis=(1, 2)) + 0.5 * own * (np.linalg.det(F) - 1 - mu / own) ** 2
        else:
            E = 0.5 * (np.swapaxes(F, 1, 2) @ F - np.eye(3))
            psi = mu * (E**2).sum(axis=(1, 2)) + 0.5 * lam * np.trace(E, axis1=1, axis2=2) ** 2
        return float(net.tet_volumes @ psi)

    residual = implicit_residual(body, before, dt, lambda x: numerical_gradient(energy, x))
    assert residual < 1e-6
    assert np.abs(body.positions - start).max() > 1e-3


def test_small_strains_have_the_constants_of_linear_elasticity():
    """A bar stretched by its weight, as of elements; what one iteration leaves falls with the small steps."""
    mesh = ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(8, 2, 2))
    along = ct.environment.Environment(gravity=np.array([1.0, 0.0, 0.0]))
    end = mesh.points[:, 0] > mesh.points[:, 0].max() - 1e-6
    soft = ct.SoftBody(mesh, material=ct.Linear(young=1e5, poisson=0.3, density=1000.0))
    soft.pin("left")
    soft.prepare(along)
    soft.settle()
    expected = (soft.positions - mesh.points)[end, 0].mean()
    errors = []
    for small_steps in (10, 40):
        body = ct.PositionBased(
            mesh, constraints=[springs.Strain(young=1e5, poisson=0.3)], mass=1000.0 * mesh.volume, damping=5.0,
            small_steps=small_steps,
        )  # fmt: skip
        body.pin("left")
        body.prepare(along)
        for _ in range(200):
            body.step(0.02)
        errors.append(abs((body.positions - mesh.points)[end, 0].mean() / expected - 1.0))
    assert errors[1] < 0.05
    assert errors[0] > 3.5 * errors[1]


@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_the_stiffness_of_pbd_does_not_depend_on_the_iterations(iterations):
    """After n iterations with 1 - (1 - k)^(1/n) each, the fraction k of the error of a single constraint is gone."""
    body = ct.PositionBased(
        [[0, 0, 0], [1.0, 0, 0]], [[0, 1]], method="pbd", constraints=[springs.Distance(stiffness=0.5)],
        small_steps=1, iterations=iterations, mass=[1.0, 1.0],
    )  # fmt: skip
    body.prepare(STILL)
    body.positions = [[0, 0, 0], [2.0, 0, 0]]
    body.step(0.01)
    x = body.positions
    assert x[1, 0] - x[0, 0] == pytest.approx(1.5, abs=1e-12)


def test_a_hanging_chain_stretches_less_with_more_iterations():
    """AC-R4."""
    stretches = []
    for iterations in (1, 20):
        body = ct.PositionBased(
            springs.line((0, 0, 0), (0, -1, 0), 20), method="pbd", constraints=[springs.Distance()],
            small_steps=1, iterations=iterations, damping=2.0,
        )  # fmt: skip
        body.pin([0])
        for _ in range(300):
            body.step(0.02)
        stretches.append(-body.positions[-1, 1] - 1.0)
    assert stretches[0] > 3.0 * stretches[1] > 0.0


def test_compliance_gives_the_same_stretch_for_any_iterations_and_steps():
    """A weight on a spring of compliance a stretches it by a m g."""
    for iterations, small_steps, dt in ((1, 1, 0.01), (20, 1, 0.01), (1, 10, 0.02), (5, 3, 0.005)):
        body = ct.PositionBased(
            [[0, 0, 0], [0, -1.0, 0]], [[0, 1]], constraints=[springs.Distance(compliance=0.01)],
            iterations=iterations, small_steps=small_steps, mass=[1.0, 2.0], damping=10.0,
        )  # fmt: skip
        body.pin([0])
        for _ in range(int(4.0 / dt)):
            body.step(dt)
        assert -body.positions[1, 1] == pytest.approx(1.0 + 0.01 * 2.0 * 9.81, rel=1e-4)


def test_an_inverted_tetrahedron_recovers_its_volume():
    """AC-R4: to 1 %."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    net = springs.SpringNetwork(
        points, np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]), tets=np.array([[0, 1, 2, 3]])
    )
    for constraints in ([springs.Distance(), springs.Volume()], [springs.Strain(young=1e4)]):
        body = ct.PositionBased(net, constraints=constraints, mass=1.0, iterations=10, damping=5.0)
        body.prepare(STILL)
        turned = points.copy()
        turned[3] = [0.1, 0.05, -0.7]
        body.positions = turned
        for _ in range(200):
            body.step(0.02)
        x = body.positions
        assert np.linalg.det(x[1:] - x[0]) / 6.0 == pytest.approx(1 / 6, rel=0.01)


ALL = {
    "distance": [springs.Distance(compliance=1e-4)],
    "isometric": [springs.Distance(compliance=1e-4), springs.Bending(modulus=0.1)],
    "dihedral": [springs.Bending(modulus=0.1, kind="dihedral")],
    "volume": [springs.Volume(bulk_modulus=1e3)],
    "global volume": [springs.GlobalVolume(pressure=1.3)],
    "neo_hookean": [springs.Strain(young=1e4)],
    "stvk": [springs.Strain(young=1e4, law="st_venant_kirchhoff")],
    "shape matching": [springs.ShapeMatching(stiffness=0.3, radius=0.7)],
}


def network_for(name):
    if name in ("isometric", "dihedral"):
        return springs.sheet((1, 1), (4, 4))
    return springs.lattice((1, 1, 1), (2, 2, 2))


@pytest.mark.parametrize("name", ALL)
def test_constraints_keep_momentum_and_angular_momentum(name):
    net = network_for(name)
    rng = np.random.default_rng(2)
    mass = rng.uniform(0.5, 2.0, size=net.node_count)
    body = ct.PositionBased(net, constraints=ALL[name], mass=mass, small_steps=1, iterations=3)
    body.prepare(STILL)
    body.positions = net.points + 0.1 * rng.normal(size=net.points.shape)
    x0 = body.positions
    dt = 0.01
    body.step(dt)
    moved = mass[:, None] * (body.positions - x0) / dt
    scale = np.abs(moved).sum()
    assert scale > 1e-2
    assert np.abs(moved.sum(axis=0)).max() < 1e-12 * scale
    # impulses act where the nodes are when they are projected, which moves them: exact in the first projection only
    single = ct.PositionBased(net, constraints=ALL[name][-1:], mass=mass, small_steps=1, iterations=1)
    single.prepare(STILL)
    if name in ("global volume", "shape matching"):
        single.positions = x0
        single.step(dt)
        turn = np.cross(x0, mass[:, None] * (single.positions - x0))
        assert np.abs(turn.sum(axis=0)).max() < 1e-11 * np.abs(turn).sum()


def test_dihedral_gradients_are_derivatives_of_the_angle():
    """One projection of a hinge moves its nodes along w grad C: compared with differences of the angle."""
    points = np.array([[0, 0, 0], [1, 0.1, 0], [0.4, 1, 0.3], [0.5, -0.8, 0.5]])
    hinge = np.array([[0, 1, 2, 3]], np.int32)
    flat = points.copy()
    flat[:, 2] = 0.0
    net = springs.SpringNetwork(
        flat, np.array([[0, 1]]), hinges=hinge, triangles=np.array([[0, 1, 2], [1, 0, 3]])
    )
    body = ct.PositionBased(
        net, method="pbd", constraints=[springs.Bending(kind="dihedral", stiffness=1.0)], mass=np.ones(4),
        small_steps=1, iterations=1,
    )  # fmt: skip
    body.prepare(STILL)
    assert dihedral_angles(flat, hinge)[0] == pytest.approx(0.0, abs=1e-12)
    body.positions = points
    body.step(0.01)
    moved = body.positions - points
    gradient = numerical_gradient(lambda x: dihedral_angles(x, hinge)[0], points)
    angle = dihedral_angles(points, hinge)[0]
    np.testing.assert_allclose(moved, -angle * gradient / (gradient**2).sum(), atol=1e-6)
    assert abs(angle) > 0.3


def test_a_global_volume_is_reached():
    mesh = ct.mesh.box(size=(1, 1, 1), cells=(3, 3, 3))
    body = ct.PositionBased(
        springs.SpringNetwork(mesh.points, mesh.edges, triangles=mesh.boundary_triangles, closed=True),
        constraints=[springs.Distance(compliance=1e-2), springs.GlobalVolume(pressure=1.5)], iterations=20, damping=5.0,
    )  # fmt: skip
    body.prepare(STILL)
    for _ in range(100):
        body.step(0.02)
    p = body.positions[mesh.boundary_triangles]
    volume = np.einsum("ki,ki->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0
    assert volume == pytest.approx(1.5, rel=1e-3)


def test_shape_matching_returns_to_the_rest_shape_from_any_state():
    body = ct.PositionBased(
        springs.lattice((1, 1, 1), (2, 2, 2)), constraints=[springs.ShapeMatching(stiffness=0.5)], damping=5.0
    )
    body.prepare(STILL)
    rng = np.random.default_rng(3)
    body.positions = rng.normal(size=body.rest_positions.shape)
    for _ in range(200):
        body.step(0.02)
    x, rest = body.positions, body.rest_positions
    one = np.linalg.norm(x[:, None] - x[None], axis=2)
    other = np.linalg.norm(rest[:, None] - rest[None], axis=2)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_large_steps_never_explode():
    """AC-R4: steps of a second under strong forces, from crushed states."""
    rng = np.random.default_rng(4)
    for name, constraints in ALL.items():
        net = network_for(name)
        body = ct.PositionBased(net, constraints=constraints, mass=1.0, iterations=5, small_steps=1)
        body.pin([0])
        body.positions = 0.1 * rng.normal(size=net.points.shape)
        held = name in ("distance", "isometric", "shape matching")  # the others leave a way to fall
        for _ in range(20):
            body.step(1.0 if held else 0.2)
        assert np.isfinite(body.positions).all()
        assert np.abs(body.positions).max() < 2000.0  # crushed states throw nodes, and no farther


def test_degenerate_configurations_stay_finite():
    """10,000 random states with coincident, collinear, coplanar, tiny and huge points, through all constraints."""
    rng = np.random.default_rng(5)
    bodies = []
    for name, constraints in ALL.items():
        net = (
            network_for(name) if name in ("isometric", "dihedral") else springs.lattice((1, 1, 1), (1, 1, 1))
        )
        if name in ("isometric", "dihedral"):
            net = springs.sheet((1, 1), (2, 1))
        body = ct.PositionBased(net, constraints=constraints, mass=1.0, iterations=2, small_steps=1)
        body.prepare(STILL)
        bodies.append(body)
    from continua.springs.constraint_kernels import position_based_step

    for k in range(10_000):
        body = bodies[k % len(bodies)]
        n = body.node_count
        x = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-30, 6)
        kind = (k // len(bodies)) % 5
        if kind == 0:
            x[rng.integers(n, size=4)] = x[0]
        elif kind == 1:
            x = np.outer(rng.normal(size=n), rng.normal(size=3))
        elif kind == 2:
            x[:] = 1.0
        elif kind == 3:
            x[:, rng.integers(3)] = 0.0
        v = np.zeros((n, 3))
        t = body._tables
        none = np.zeros((0, 4), np.int32), np.zeros((0, 4)), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3))
        position_based_step.serial(
            x, v, np.zeros((n, 3)), 1.0 / body._node_mass, np.zeros(n, np.uint8), v.copy(), v.copy(), 0.01, 1, 2,
            0.0, 0.0, True, t.reach, t.distance, t.bending, t.hinges, t.volumes, t.strain, t.surface, t.clusters, none,
        )  # fmt: skip
        assert np.isfinite(x).all(), (k, kind, body.constraints)
        assert np.isfinite(v).all()


def test_results_do_not_depend_on_the_number_of_threads():
    network = springs.lattice((1, 1, 1), (14, 14, 14))
    constraints = [springs.Distance(compliance=1e-5), springs.Volume()]
    ends = []
    before = ct.get_threads()
    for threads in (1, 2):
        ct.set_threads(threads)
        body = ct.PositionBased(network, constraints=constraints, mass=1.0, small_steps=2)
        assert body._tables.parallel
        body.pin("left")
        for _ in range(3):
            body.step(0.02)
        ends.append(body.positions)
    ct.set_threads(before)
    np.testing.assert_array_equal(ends[0], ends[1])


def test_colours_share_no_nodes():
    body = ct.PositionBased(springs.lattice((1, 1, 1), (14, 14, 14)), constraints=[springs.Distance()])
    colors, nodes = body._tables.distance[:2]
    assert len(colors) > 20
    for a, b in pairwise(colors):
        own = nodes[a:b].ravel()
        assert len(np.unique(own)) == len(own)
    pairs = np.sort(nodes, axis=1)
    np.testing.assert_array_equal(
        np.unique(pairs, axis=0), np.unique(np.sort(body.network.springs, axis=1), axis=0)
    )


def test_pins_drives_and_pulls():
    body = ct.PositionBased(springs.sheet((1, 1), (6, 6)), mass=1.0, name="cloth")
    held = body.pin(lambda x: x[:, 0] < -0.49)
    body.drive([48], ct.Motion.translate((0.0, 0.2, 0.0)))
    body.pull(node=24, target=(0.0, 0.3, 0.0), stiffness=1e4)
    world = ct.World([body], dt=0.01)
    for _ in range(50):
        world.step()
    np.testing.assert_array_equal(body.positions[held.nodes], body.rest_positions[held.nodes])
    np.testing.assert_allclose(body.positions[48] - body.rest_positions[48], [0.0, 0.1, 0.0], atol=1e-12)
    assert body.positions[24, 1] > 0.1


def test_cloth_lies_on_a_sphere_and_does_not_enter_it():
    body = ct.PositionBased(
        springs.sheet((1, 1), (12, 12)), mass=0.2, radius=0.01, name="cloth", damping=10.0
    )
    world = ct.World(
        [body], dt=0.01, colliders=[ct.Sphere((0, -0.35, 0), 0.3)], contact=ct.Contact(friction=0.6)
    )
    for _ in range(150):
        world.step()
        assert np.linalg.norm(body.positions - [0, -0.35, 0], axis=1).min() > 0.309
    assert body.positions[84, 1] == pytest.approx(-0.04, abs=2e-3)  # its middle, on top
    assert np.abs(body.positions[84, [0, 2]]).max() < 0.05


def test_checkpoint_is_bitwise():
    def make():
        body = ct.PositionBased(springs.lattice((0.5, 0.5, 0.5), (2, 2, 2)), mass=1.0, name="jelly")
        body.set_velocity((0.3, 0, 0), (0, 1, 2))
        return ct.World([body], dt=0.01, colliders=[ct.Plane((0, -0.4, 0), (0, 1, 0))])

    one, two = make(), make()
    for step in range(60):
        if step == 30:
            saved = one.state()
        one.step()
    two.restore(saved)
    while two.step_index < 60:
        two.step()
    for key, value in one.state().items():
        np.testing.assert_array_equal(value, two.state()[key], err_msg=key)


def test_bad_input_is_refused_with_one_sentence():
    line, cloth = springs.line((0, 0, 0), (1, 0, 0), 3), springs.sheet((1, 1), (2, 2))
    for make, text in (
        (lambda: ct.PositionBased(line, constraints=[springs.Volume()]), "needs tetrahedra"),
        (lambda: ct.PositionBased(cloth, constraints=[springs.GlobalVolume()]), "closed surface"),
        (lambda: ct.PositionBased(line, constraints=["distance"]), "each of the constraints"),
        (
            lambda: ct.PositionBased(line, constraints=[springs.Distance(), springs.Distance()]),
            "one Distance at most",
        ),
        (lambda: ct.PositionBased(line, method="fem"), "method of a position-based body"),
        (lambda: ct.PositionBased(line, iterations=0), "iterations"),
        (lambda: springs.Distance(compliance=-1.0), "compliance"),
        (lambda: springs.Strain(poisson=0.5), "poisson"),
        (lambda: ct.PositionBased(line).settle(), "cannot settle"),
        (lambda: ct.PositionBased(line).set_material(young=1.0), "set_constraints"),
        (lambda: ct.PositionBased(line).set_integrator("verlet"), "no other integrator"),
        (
            lambda: ct.PositionBased(
                springs.lattice((1, 1, 1), (1, 1, 1)), method="pbd", constraints=[springs.Strain()]
            ),
            "xpbd",
        ),
    ):
        with pytest.raises(ct.InputError, match=text):
            make()

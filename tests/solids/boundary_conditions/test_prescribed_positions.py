"""Pins, drives and locks prescribe positions of nodes at every order, where their border cuts elements as well."""

import numpy as np
import pytest
import scipy.linalg
import skfem
from skfem.helpers import ddot, sym_grad, trace

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockMatrix

YOUNG, NU = 1e6, 0.3
SKEW = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
INTEGRATORS = [
    "implicit_euler",
    ct.ImplicitEuler(newton=4),
    "newmark",
    ct.Newmark(beta=0.36, gamma=0.6),
    "energy_momentum",
    "explicit",
    "semi_implicit",
]


def block(order, law=ct.Linear, cells=(3, 2, 2), **options):
    mesh = ct.mesh.box(size=(1.0, 0.3, 0.4), cells=cells)
    options = {"solver": ct.PCG(rtol=1e-13)} | options
    return ct.SoftBody(
        mesh,
        material=law(young=YOUNG, poisson=NU, density=1000.0),
        order=order,
        name="block",
        **options,
    )


def single(body, kind="edge"):
    """A node near the middle that lies on an edge or on a face."""
    rest = body.rest_positions
    edges = body.mesh.node_count + (body.order - 1) * len(body.mesh.edges)
    numbers = np.arange(body.node_count)
    some = (numbers >= body.mesh.node_count) & (numbers < edges) if kind == "edge" else numbers >= edges
    distance = np.where(some, np.linalg.norm(rest - rest.mean(axis=0), axis=1), np.inf)
    return int(distance.argmin())


def hold(body):
    """Constraints of all kinds whose borders cut elements; returns them, and rows u = values that they mean."""
    rest = body.rest_positions
    pin = body.pin(lambda x: x[:, 0] < (0.12 if body.order == 3 else 0.17))
    lock = body.lock(lambda x: x[:, 0] > 0.8, SKEW, 0.01)
    way = np.array([0.01, 0.03, -0.02])
    nodes = [single(body, kind) for kind in (("edge", "face") if body.order == 3 else ("edge",))]
    drive = body.drive(nodes, lambda t, x: x + way)
    rows, values = [], []
    for node in (*pin.nodes, *drive.nodes):
        for axis in range(3):
            row = np.zeros((len(rest), 3))
            row[node, axis] = 1.0
            rows.append(row.ravel())
            values.append(way[axis] if node in drive.nodes else 0.0)
    for node in lock.nodes:
        row = np.zeros((len(rest), 3))
        row[node] = SKEW
        rows.append(row.ravel())
        values.append(0.01)
    return (pin, lock, drive), np.array(rows), np.array(values)


def nodal_system(body):
    """Stiffness and mass of the values at the nodes, dense, from the body's matrices and its map to values."""
    n, elements = body.node_count, body._elements
    matrix, zero = BlockMatrix(elements.pattern), np.zeros((n, 3))
    results = []
    for c_mass, c_stiffness in ((0.0, 1.0), (1.0, 0.0)):
        elements.update(elements.rest_positions)
        elements.assemble(
            AssembledSystem(matrix, zero.copy(), body._mass, c_mass, c_stiffness, 1.0, zero, zero)
        )
        inverse = np.kron(np.linalg.inv(elements.values(np.eye(n))), np.eye(3))
        results.append(inverse.T @ matrix.to_scipy().toarray() @ inverse)
    return results


def constrained(K, load, rows, values):
    """The solution of K u = load + rows^T lambda with rows u = values, dense; and the reaction rows^T lambda."""
    free = scipy.linalg.null_space(rows)
    start = np.linalg.lstsq(rows, values, rcond=None)[0]
    u = start + free @ np.linalg.solve(free.T @ K @ free, free.T @ (load - K @ start))
    return u, K @ u - load


def skfem_system(body):
    """Stiffness of linear elasticity in scikit-fem's quadratic elements, in our order of nodes."""
    mesh = skfem.MeshTet(body.mesh.points.T, body.mesh.tets.T)
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP2()), intorder=4)
    lam, mu = YOUNG * NU / ((1 + NU) * (1 - 2 * NU)), YOUNG / (2 * (1 + NU))

    @skfem.BilinearForm
    def form(u, v, _):
        return lam * trace(sym_grad(u)) * trace(sym_grad(v)) + 2 * mu * ddot(sym_grad(u), sym_grad(v))

    where = basis.doflocs.T
    dofs = np.empty((body.node_count, 3), int)
    for i, point in enumerate(body.rest_positions):
        dofs[i] = np.flatnonzero(np.linalg.norm(where - point, axis=1) < 1e-9)
    order = dofs.ravel()
    return form.assemble(basis).toarray()[np.ix_(order, order)]


@pytest.mark.parametrize("order", [2, 3])
def test_pins_drives_and_locks_that_cut_elements_equal_a_dense_solve(order):
    """Order 2 against scikit-fem's elements; order 3 against our matrices in the nodal basis."""
    body = block(order)
    constraints, rows, values = hold(body)
    force = np.array([0.0, 0.0, 50.0])
    top = np.flatnonzero(
        (body.rest_positions[:, 2] > 0.399) & (np.arange(body.node_count) < body.mesh.node_count)
    )
    load = np.zeros((body.node_count, 3))
    load[top] = force / len(top)
    coefficients_load = body._elements.values(np.eye(body.node_count)).T @ load
    for node in np.flatnonzero(np.abs(coefficients_load).any(axis=1)):
        body.push([int(node)], coefficients_load[node])
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-12)
    K = skfem_system(body) if order == 2 else nodal_system(body)[0]
    u, reaction = constrained(K, load.ravel(), rows, values)
    assert body._dirichlet.basis is not None
    np.testing.assert_allclose(body.positions - body.rest_positions, u.reshape(-1, 3), atol=1e-12)
    total = body.reaction_forces()
    np.testing.assert_allclose(total, reaction.reshape(-1, 3), atol=1e-8 * np.abs(reaction).max())
    np.testing.assert_allclose(sum(c.reaction for c in constraints), -force, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("order", [2, 3])
def test_dynamic_steps_equal_dense_steps_in_the_nodal_basis(order):
    """Implicit Euler under the linear law, with a drive whose speed changes."""
    body = block(order, cells=(3, 1, 1))
    K, M = nodal_system(body)
    rest, dt = body.rest_positions, 0.004
    pin = body.pin(lambda x: x[:, 0] < (0.12 if order == 3 else 0.17))
    node = single(body)

    def way(t):
        return np.array([0.5 * t, 3.0 * t * t, -t])

    body.drive([node], lambda t, x: x + way(t))
    lock = body.lock(lambda x: x[:, 0] > 0.8, SKEW)
    rows = [np.eye(3 * len(rest))[3 * i + a] for i in (*pin.nodes, node) for a in range(3)]
    for i in lock.nodes:
        row = np.zeros((len(rest), 3))
        row[i] = SKEW
        rows.append(row.ravel())
    rows = np.array(rows)
    world = ct.World([body], gravity=(0, -9.81, 0), dt=dt)
    u, v = np.zeros(3 * len(rest)), np.zeros(3 * len(rest))
    gravity = M @ np.tile([0.0, -9.81, 0.0], len(rest))
    for step in range(1, 6):
        world.step()
        target = np.zeros(len(rows))
        at = u.reshape(-1, 3)[node]
        first = 3 * len(pin.nodes)
        target[first : first + 3] = (way(step * dt) - at) / dt
        v, reaction = constrained(M + dt * dt * K, M @ v + dt * (gravity - K @ u), rows, target)
        u = u + dt * v
        np.testing.assert_allclose(body.positions - rest, u.reshape(-1, 3), atol=1e-10)
    np.testing.assert_allclose(body.velocities, v.reshape(-1, 3), atol=1e-8)
    np.testing.assert_allclose(
        body.reaction_forces(), reaction.reshape(-1, 3) / dt, atol=1e-7 * np.abs(reaction).max() / dt
    )


@pytest.mark.parametrize("order", [2, 3])
def test_integrators_converge_to_one_motion_and_one_reaction(order):
    """A node between free ones accelerates; errors fall as h^2 (Newmark, central differences) or h."""

    def run(integrator, dt):
        body = block(order, cells=(3, 1, 1), integrator=integrator, mass="lumped")
        body.pin(lambda x: x[:, 0] < (0.12 if order == 3 else 0.17))
        drive = body.drive([single(body)], lambda t, x: x + np.array([0.0, 20.0 * t * t, 0.0]))
        body.lock(lambda x: x[:, 0] > 0.8, SKEW)
        world = ct.World([body], dt=dt)
        for _ in range(round(0.008 / dt)):
            world.step()
        return body.positions, drive.reaction

    exact, force = run("newmark", 2e-5)
    for integrator, bound in (
        ("newmark", 1e-7),
        ("explicit", 1e-7),
        ("semi_implicit", 2e-5),
        ("implicit_euler", 2e-5),
    ):
        coarse, fine = run(integrator, 2e-4)[0], run(integrator, 1e-4)
        error = np.abs(fine[0] - exact).max()
        assert error < bound
        assert np.abs(coarse - exact).max() > (3.5 if bound < 1e-6 else 1.7) * error
        np.testing.assert_allclose(fine[1], force, atol=0.03 * np.abs(force).max())


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "explicit", "semi_implicit"])
def test_a_driven_body_needs_its_mass_times_its_acceleration(integrator):
    body = block(1, integrator=integrator)
    drive = body.drive("all", lambda t, x: x + np.array([0.0, 20.0 * t * t, 0.0]))
    world = ct.World([body], gravity=(0, 0, 0), dt=1e-4)
    for _ in range(5):
        world.step()
    np.testing.assert_allclose(drive.reaction, [0.0, 40.0 * body.mass_total, 0.0], atol=1e-6)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_nodes_are_where_constraints_put_them_in_every_step(order, integrator):
    """A rotating region, a pinned region, a lock and a single node, all with borders through elements."""
    body = block(order, ct.Corotated, cells=(4, 2, 2) if order < 3 else (3, 1, 1), integrator=integrator)
    rest = body.rest_positions
    pin = body.pin(lambda x: x[:, 0] < 0.1)
    axis = ct.Motion.rotate((1.0, 0.0, 0.0), (1.0, 0.15, 0.2), 3.0)
    drive = body.drive(lambda x: (x[:, 0] > 0.8) & (x[:, 1] > 0.1), axis)
    node = single(body) if order > 1 else int(np.linalg.norm(rest - rest.mean(axis=0), axis=1).argmin())
    body.drive([node], lambda t, x: x + np.array([0.0, 2.0 * t * t, 0.3 * t]))
    lock = body.lock(lambda x: (x[:, 0] > 0.2) & (x[:, 0] < 0.4) & (x[:, 2] > 0.3), SKEW)
    small = integrator in ("explicit", "semi_implicit")
    world = ct.World([body], dt=2e-4 if small else 0.005)
    for _ in range(8):
        world.step()
        x, t = body.positions, world.time
        np.testing.assert_allclose(x[pin.nodes], rest[pin.nodes], atol=1e-14)
        np.testing.assert_allclose(x[drive.nodes], axis.at(t, rest[drive.nodes]), atol=1e-14)
        np.testing.assert_allclose(x[node], rest[node] + [0.0, 2.0 * t * t, 0.3 * t], atol=1e-14)
        np.testing.assert_allclose((x - rest)[lock.nodes] @ SKEW, 0.0, atol=1e-14)


def test_whole_faces_need_no_other_unknowns_and_borders_do():
    """Where whole faces are held coefficients follow from the prescribed positions, and solvers are as fast as ever."""
    body = block(2)
    body.pin(lambda x: x[:, 0] < 1e-9)
    body.lock(lambda x: x[:, 1] < 1e-9, "y")
    world = ct.World([body], dt=0.01)
    world.step()
    assert body._dirichlet.basis is None
    lone = body.pin([single(body)])
    world.step()
    assert body._dirichlet.basis.nodes.tolist() == lone.nodes.tolist()
    lone.remove()
    world.step()
    assert body._dirichlet.basis is None


@pytest.mark.parametrize("integrator", ["implicit_euler", "explicit", "semi_implicit"])
def test_reactions_and_loads_make_up_the_change_of_momentum(integrator):
    """Sum of the reactions of a step plus weight = change of momentum over time, with a border through elements."""
    body = block(2, ct.Corotated, integrator=integrator)
    pin = body.pin(lambda x: x[:, 0] < 0.17)
    body.drive([single(body)], lambda t, x: x + np.array([0.0, t, 0.0]))
    dt = 1e-4
    world = ct.World([body], dt=dt)
    for _ in range(5):
        world.step()
    before = body._node_mass @ body._v
    world.step()
    change = (body._node_mass @ body._v - before) / dt
    total = body.reaction_forces().sum(axis=0) + body.mass_total * np.array([0.0, -9.81, 0.0])
    if integrator == "implicit_euler":
        np.testing.assert_allclose(total, change, atol=1e-7 * np.abs(total).max())
    assert np.abs(pin.reaction).max() > 0.0


SOLVERS = [ct.PCG(rtol=1e-12), ct.Direct(), ct.Multigrid(rtol=1e-12), ct.PMultigrid(rtol=1e-12)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("order", [2, 3])
def test_all_solvers_agree_with_borders_through_elements(order, solver):
    reference = None
    for one in (ct.PCG(rtol=1e-13), solver):
        body = block(order, ct.Corotated, cells=(6, 2, 2), solver=one)
        hold(body)
        world = ct.World([body], dt=0.01)
        for _ in range(3):
            assert world.step()[0].converged
        reference = body.positions if reference is None else reference
    np.testing.assert_allclose(body.positions, reference, atol=1e-9)


def test_an_indenter_with_a_curved_motion_equals_scikit_fem():
    """A face moves by a quadratic function of the place: displacements, total force and moment."""
    body = block(2, cells=(3, 3, 3))
    rest = body.rest_positions
    pin = body.pin(lambda x: x[:, 2] < 1e-9)

    def dent(t, x):
        return x - np.outer(0.02 - 0.05 * (x[:, 0] - 0.4) ** 2 - 0.1 * (x[:, 1] - 0.1) ** 2, [0.0, 0.0, 1.0])

    drive = body.drive(lambda x: x[:, 2] > 0.4 - 1e-9, dent)
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-12)
    held = [*pin.nodes, *drive.nodes]
    rows = np.eye(3 * len(rest))[[3 * i + a for i in held for a in range(3)]]
    target = (dent(0.0, rest) - rest) * (rest[:, 2] > 0.2)[:, None]
    u, reaction = constrained(skfem_system(body), np.zeros(3 * len(rest)), rows, target[held].ravel())
    assert body._dirichlet.basis is None  # whole faces
    np.testing.assert_allclose(body.positions - rest, u.reshape(-1, 3), atol=1e-12)
    force = reaction.reshape(-1, 3)[drive.nodes]
    np.testing.assert_allclose(drive.reactions, force, atol=1e-9 * np.abs(force).max())
    moment = np.cross(body.positions[drive.nodes], force).sum(axis=0)
    np.testing.assert_allclose(drive.moment(), moment, atol=1e-9 * np.abs(force).max())


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("law", [ct.Corotated, ct.NeoHookean])
def test_reactions_carry_the_weight_where_borders_cut_elements(order, law):
    body = block(order, law, solver=ct.PCG(rtol=1e-10))
    pin = body.pin(lambda x: x[:, 0] < (0.12 if order == 3 else 0.17))
    node = single(body)
    drive = body.drive([node], lambda t, x: x + np.array([0.0, 0.01, 0.0]))
    world = ct.World([body])
    world.settle(rtol=1e-9)
    rest = body.rest_positions
    np.testing.assert_allclose(body.positions[node], rest[node] + [0.0, 0.01, 0.0], atol=1e-15)
    np.testing.assert_allclose(body.positions[pin.nodes], rest[pin.nodes], atol=1e-15)
    weight = np.array([0.0, 9.81 * body.mass_total, 0.0])
    np.testing.assert_allclose(pin.reaction + drive.reaction, weight, atol=1e-6 * weight[1])


@pytest.mark.parametrize("steps", [None, 3])
def test_settle_in_load_steps_and_on_a_floor_keeps_positions(steps):
    """Contact, weight and reactions are in balance, and the body rests on the floor."""
    body = block(2, ct.NeoHookean, solver=ct.PCG(rtol=1e-10))
    _, rows, values = hold(body)
    floor = ct.Plane(point=(0.0, -0.001, 0.0))
    body.push(lambda x: (x[:, 0] > 0.999) & (x[:, 2] > 0.399), (0.0, -3000.0, 0.0))
    world = ct.World([body], colliders=[floor])
    world.settle(rtol=1e-8, steps=steps)
    u = body.positions - body.rest_positions
    np.testing.assert_allclose(rows @ u.ravel(), values, atol=1e-14)
    contact = body.contact_forces.sum(axis=0)
    assert contact[1] > 1.0
    total = body.reaction_forces().sum(axis=0) + contact + [0.0, -3000.0 - 9.81 * body.mass_total, 0.0]
    np.testing.assert_allclose(total, 0.0, atol=1e-4)


def test_two_soft_bodies_press_on_each_other_with_borders_through_elements():
    """Contacts of surfaces involve coefficients that follow from held nodes: positions hold, forces are opposite."""
    low, high = (
        ct.SoftBody(
            ct.mesh.box(size=(0.4, 0.2, 0.4), cells=(2, 1, 2)).transformed(translate=(0.0, height, 0.0)),
            material=ct.Corotated(young=2e5, poisson=0.3, density=1000.0),
            order=2,
            name=name,
            damping=(20.0, 0.0),
        )
        for name, height in (("low", 0.0), ("high", 0.205))
    )
    pin = low.pin(lambda x: x[:, 1] < 0.15)
    drive = high.drive(lambda x: x[:, 1] > 0.25, lambda t, x: x - np.array([0.0, min(0.2 * t, 0.02), 0.0]))
    world = ct.World([low, high], dt=0.005)
    for _ in range(120):
        world.step()
        np.testing.assert_allclose(low.positions[pin.nodes], low.rest_positions[pin.nodes], atol=1e-15)
        moved = high.positions[drive.nodes] - high.rest_positions[drive.nodes]
        np.testing.assert_allclose(moved[:, 1], -min(0.2 * world.time, 0.02), atol=1e-14)
    assert low._dirichlet.basis is not None
    assert high._dirichlet.basis is not None
    up, down = high.contact_forces.sum(axis=0), low.contact_forces.sum(axis=0)
    np.testing.assert_allclose(up, -down, atol=1e-6 * up[1])
    for body, constraint, force in ((low, pin, down), (high, drive, up)):
        weight = np.array([0.0, -9.81 * body.mass_total, 0.0])
        np.testing.assert_allclose(constraint.reaction + force + weight, 0.0, atol=1e-3 * up[1])


@pytest.mark.parametrize("order", [2, 3])
def test_refinement_keeps_held_nodes_and_reset_returns_them(order):
    body = block(order, ct.Corotated)
    pin = body.pin(lambda x: x[:, 0] < (0.12 if order == 3 else 0.17))
    node = single(body)
    drive = body.drive([node], lambda t, x: x + np.array([0.0, t, 0.0]))
    point, held = body.rest_positions[node], body.rest_positions[pin.nodes]
    before = pin.nodes.copy()
    world = ct.World([body], dt=0.005)
    for _ in range(3):
        world.step()
    body.refine(lambda x: x[:, 0] < 0.7)
    rest = body.rest_positions
    np.testing.assert_allclose(rest[drive.nodes], [point], atol=1e-15)
    found = {tuple(p) for p in rest[pin.nodes].round(9).tolist()}
    assert {tuple(p) for p in held.round(9).tolist()} <= found
    for _ in range(3):
        world.step()
        np.testing.assert_allclose(body.positions[pin.nodes], rest[pin.nodes], atol=1e-14)
        np.testing.assert_allclose(body.positions[drive.nodes[0]], point + [0.0, world.time, 0.0], atol=1e-14)
    body.reset()
    assert drive.nodes.tolist() == [node]
    assert pin.nodes.tolist() == before.tolist()


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "explicit", "semi_implicit"])
def test_a_restored_run_and_any_number_of_threads_give_the_same_bits(integrator):
    import numba

    def run(threads, restore):
        numba.set_num_threads(threads)
        body = block(2, ct.Corotated, cells=(6, 4, 4), integrator=integrator, solver=None)
        body.pin(lambda x: x[:, 0] < 0.09)
        body.drive([single(body)], ct.Motion.translate((0.0, 0.5, 0.0)))
        body.lock(lambda x: x[:, 0] > 0.9, SKEW)
        world = ct.World([body], dt=2e-4 if integrator in ("explicit", "semi_implicit") else 0.005)
        for step in range(6):
            if step == 3 and restore:
                state = world.state()
                world.step()
                world.restore(state)
            world.step()
        return body.positions

    threads = numba.get_num_threads()
    try:
        first = run(1, False)
        np.testing.assert_array_equal(first, run(2, False))
        np.testing.assert_array_equal(first, run(2, True))
    finally:
        numba.set_num_threads(threads)


def test_a_haptic_tool_feels_a_body_whose_border_cuts_elements():
    """At rest the force on the tool is that of the pins."""
    body = block(2, ct.Corotated, damping=(50.0, 0.0))
    pin = body.pin(lambda x: x[:, 0] < 0.17)
    tool = body.haptic_tool([single(body)], stiffness=2000.0)
    start = tool.position
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    tool.move(start + [0.0, 0.01, 0.0])
    for _ in range(400):
        world.step()
    assert tool.force[1] < -1.0
    np.testing.assert_allclose(tool.force, pin.reaction, atol=1e-3)

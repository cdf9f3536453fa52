"""Facts about elements with curved edges: geometry, patch test, mass, convergence, topology, options."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import skfem
from scipy import sparse
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation
from scipy.special import spherical_jn
from skfem.helpers import dot
from skfem.models.elasticity import linear_elasticity

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.environment import Environment
from continua.linalg import BlockMatrix
from continua.mesh.simplex import subdivide
from continua.numerics.bernstein import bernstein_tables
from continua.numerics.quadrature import gauss_cube
from continua.output import make_sink
from continua.solids.elements.curved_corotated_tet import CurvedCorotatedTets
from continua.solids.elements.quadrature_elements import QuadratureTets
from continua.solids.elements.rest_shape import _values, curved_rule, least_densities, rest_gradients

LAW = ct.Corotated(young=1e5, poisson=0.3, density=1000.0)


def system_of(elements, x):
    """Elastic forces and stiffness at coefficients x."""
    matrix, force = BlockMatrix(elements.pattern), np.zeros((elements.node_count, 3))
    nothing, zero = np.zeros(elements.pattern.block_count), np.zeros_like(force)
    elements.update(x)
    elements.assemble(AssembledSystem(matrix, force, nothing, 0.0, 1.0, -1.0, zero, zero))
    return force, matrix.blocks.copy()


def quadrature(count=6):
    """Points and weights (sum 1) of a product rule on the tetrahedron, independent of the elements' own."""
    x, w = gauss_cube(count, 3)
    u, v, t = (0.5 * (1.0 + x)).T
    b = np.stack([u, v * (1.0 - u), t * (1.0 - u) * (1.0 - v)], axis=1)
    return np.concatenate([1.0 - b.sum(axis=1, keepdims=True), b], axis=1), 0.75 * w * (1.0 - u) ** 2 * (
        1.0 - v
    )


def field_at(elements, coefficients, points):
    basis = _values(bernstein_tables(elements.order).indices, points)
    return np.einsum("qk,mki->mqi", basis, coefficients[elements.elements])


SOLIDS = {
    "sphere": (lambda n: ct.mesh.sphere(0.7, n), 4 / 3 * np.pi * 0.7**3, 4 * np.pi * 0.7**2),
    "cylinder": (lambda n: ct.mesh.cylinder(0.5, 2.0, (n, 2 * n)), 0.5 * np.pi, 2.5 * np.pi),
    "torus": (lambda n: ct.mesh.torus(1.0, 0.4, (n, 8 * n)), 0.32 * np.pi**2, 1.6 * np.pi**2),
}


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("name", SOLIDS)
def test_volume_and_area_converge_with_the_fourth_power(name, order):
    """Nodes on the surface give errors of order p + 1, and 4 for p = 2 by symmetry; straight edges give 2."""
    make, volume, area = SOLIDS[name]
    errors = []
    for n in (2, 4):
        body = ct.SoftBody(make(n), material=LAW, order=order)
        errors.append([abs(body.mass_total / (1000.0 * volume) - 1), abs(body._faces.areas.sum() / area - 1)])
        assert not body.notes
    assert (np.log2(np.divide(*errors)) > 3.5).all(), errors
    assert max(errors[1]) < 4e-4


@pytest.mark.parametrize("order", [2, 3])
def test_nodes_lie_on_the_surface_and_stay_there_under_transforms(order):
    scale = np.array([1.0, 0.5, 0.25])
    turn = Rotation.from_rotvec([0.3, -1.0, 0.4])
    mesh = (
        ct.mesh.sphere(2.0, 2)
        .transformed(scale=scale)
        .transformed(translate=(1.0, 2.0, 3.0), rotate=turn.as_rotvec(), scale=(-1.0, 1.0, 1.0))
    )
    body = ct.SoftBody(pickle.loads(pickle.dumps(mesh)), material=LAW, order=order)
    nodes = np.unique(body.triangles)
    local = turn.inv().apply(body.rest_positions[nodes] - [1.0, 2.0, 3.0]) / scale
    np.testing.assert_allclose(np.linalg.norm(local, axis=1), 2.0, rtol=1e-12)
    assert body.mass_total == pytest.approx(1000.0 * 32 / 3 * np.pi / 8, rel=3e-3)


def test_bowl_and_blob_follow_their_surfaces():
    bowl = ct.SoftBody(ct.mesh.bowl(0.5, 0.1, 80.0, (4, 1)), material=LAW, order=3)
    x = bowl.rest_positions[np.unique(bowl.triangles)]
    r, angle = np.linalg.norm(x, axis=1), np.arctan2(np.hypot(x[:, 0], x[:, 2]), -x[:, 1])
    on = np.stack([abs(r - 0.5), abs(r - 0.4), r * abs(angle - np.radians(80.0))])
    assert on.min(axis=0).max() < 1e-9
    exact = 2 / 3 * np.pi * (0.5**3 - 0.4**3) * (1 - np.cos(np.radians(80.0)))
    assert bowl.mass_total == pytest.approx(1000 * exact, rel=2e-4)

    limbs = [ct.mesh.RoundCone((0, 0, 0), (0, 0, 0), 0.5)]
    ball = ct.SoftBody(pickle.loads(pickle.dumps(ct.mesh.blob(limbs, 0.25))), material=LAW, order=2)
    x = ball.rest_positions[np.unique(ball.triangles)]
    assert abs(np.linalg.norm(x, axis=1) - 0.5).max() < 1e-9
    assert ball.mass_total == pytest.approx(1000 * np.pi / 6, rel=2e-3)


@pytest.mark.parametrize("order", [2, 3])
def test_mass_centre_and_inertia_are_those_of_the_shape(order):
    """Exact integrals over the curved elements, against a product rule; the inertia of a ball to 0.1 %."""
    mesh = ct.mesh.sphere(1.0, 3).transformed(translate=(0.5, 0.0, 0.0))
    body = ct.SoftBody(mesh, material=LAW, order=order)
    E = body._elements
    points, weights = quadrature()
    X = field_at(E, E.rest_coefficients, points)
    _, density = rest_gradients(E.rest_coefficients[E.elements], order, points)
    mass = 1000.0 * density * weights
    assert body.mass_total == pytest.approx(mass.sum(), rel=1e-13)
    center = body._node_mass @ E.rest_coefficients / body.mass_total
    np.testing.assert_allclose(center, np.einsum("mq,mqi->i", mass, X) / mass.sum(), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(center, [0.5, 0.0, 0.0], atol=1e-12)
    body.set_velocity(angular_velocity=(0.0, 2.0, 0.0))
    arm = X - center
    inertia = np.einsum("mq,mq->", mass, arm[..., 0] ** 2 + arm[..., 2] ** 2)
    assert body.energy()["kinetic"] == pytest.approx(2.0 * inertia, rel=1e-12)
    assert inertia == pytest.approx(0.4 * 1000.0 * 4 / 3 * np.pi, rel=1.5e-3)


@pytest.mark.parametrize("order", [2, 3])
def test_the_rule_is_exact_for_the_balance_of_uniform_stress(order):
    points, weights = curved_rule(order)
    table = _values(
        np.array([I for I in np.ndindex((3 * order - 2,) * 4) if sum(I) == 3 * (order - 1)]), points
    )
    np.testing.assert_allclose(weights @ table, 1.0 / table.shape[1], rtol=2e-14)
    assert (weights > 0.0).all()
    assert (points > 0.0).all()


@pytest.mark.parametrize(
    "law", [LAW, ct.Linear(young=1e5, poisson=0.3), ct.NeoHookean(young=1e5, poisson=0.3)]
)
@pytest.mark.parametrize("order", [2, 3])
def test_patch_test_and_rigid_motions(order, law):
    """Uniform strain: nodes inside are in balance to round-off, and the forces are those of tractions."""
    body = ct.SoftBody(ct.mesh.torus(1.0, 0.4, (2, 9)), material=law, order=order)
    E = body._elements
    assert 0 < len(body.curved_elements) < body.element_count
    rng = np.random.default_rng(order)
    force, _ = system_of(E, E.rest_coefficients @ (np.eye(3) + 0.01 * rng.normal(size=(3, 3))).T)
    inside = np.setdiff1d(np.arange(body.node_count), body.triangles)
    assert abs(force[inside]).max() < 1e-11 * abs(force).max()
    assert abs(force.sum(axis=0)).max() < 1e-10 * abs(force).max()
    assert np.ptp(E.von_mises()) < 1e-10 * E.von_mises().max()
    turn = Rotation.from_rotvec([0.3, 1.0, -0.4]).as_matrix()
    if not isinstance(law, ct.Linear):
        force, _ = system_of(E, E.rest_coefficients @ turn.T + [1.0, -2.0, 0.5])
        assert E.energy() < 1e-15 * 1e5
        assert abs(force).max() < 1e-8


@pytest.mark.parametrize("order", [2, 3])
def test_the_fast_elements_agree_with_general_ones(order):
    """With the same points energy, force and tangent agree, and the force is the gradient of the energy."""
    mesh = ct.mesh.torus(1.0, 0.4, (2, 9))
    body = ct.SoftBody(mesh, material=LAW, order=order)
    fast, general = body._elements, QuadratureTets(mesh, order, curved_points=True)
    assert isinstance(fast, CurvedCorotatedTets)
    general.set_law(LAW, body._materials.constants)
    rng = np.random.default_rng(0)
    x = fast.rest_coefficients @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3))).T
    x += 0.02 * rng.normal(size=x.shape)
    (f, K), (g, L) = system_of(fast, x), system_of(general, x)
    assert fast.energy() == pytest.approx(general.energy(), rel=1e-12)
    np.testing.assert_allclose(f, g, atol=1e-12 * abs(g).max())
    np.testing.assert_allclose(K, L, atol=1e-11 * abs(L).max())
    h = 1e-6
    direction = rng.normal(size=x.shape)
    ends = []
    for sign in (1, -1):
        fast.update(x + sign * h * direction)
        ends.append(fast.energy())
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(np.vdot(f, direction), rel=1e-7)


@pytest.mark.parametrize("order", [2, 3])
def test_a_torsional_frequency_of_a_ball(order):
    """The lowest: a ball of 20 cubic tetrahedra has it to 0.02 %; with straight edges it is 15 % off (Lamb 1882)."""
    n, error = {2: (2, 6e-3), 3: (1, 2e-4)}[order]
    exact = brentq(lambda x: spherical_jn(2, x) - x * spherical_jn(3, x), 2.0, 3.0) * np.sqrt(0.4)
    law = ct.Corotated(young=1.0, poisson=0.25, density=1.0)
    body = ct.SoftBody(ct.mesh.sphere(1.0, n), material=law, order=order)
    E = body._elements
    matrix, zero = BlockMatrix(E.pattern), np.zeros((body.node_count, 3))
    E.update(body._x)
    E.assemble(AssembledSystem(matrix, zero, np.zeros(E.pattern.block_count), 0.0, 1.0, 0.0, zero, zero))
    p = E.pattern
    mass = sparse.kron(sparse.csr_array((body._mass, p.indices, p.indptr)), sparse.eye(3)).toarray()
    squares = eigh(matrix.to_scipy().toarray(), mass, eigvals_only=True, subset_by_index=(0, 10))
    assert abs(squares[:6]).max() < 1e-10  # rigid motions
    np.testing.assert_allclose(np.sqrt(squares[6:11]), exact, rtol=error)


@pytest.mark.parametrize("law", [LAW, ct.NeoHookean(young=1e5, poisson=0.3)])
def test_energy_and_momentum_are_kept(law):
    body = ct.SoftBody(
        ct.mesh.torus(0.5, 0.2, (1, 8)), material=law, order=2, integrator="energy_momentum", name="ring"
    )
    body.prepare(Environment(gravity=np.zeros(3)))
    x = body.rest_positions
    body.velocities = np.cross([0.0, 3.0, 0.0], x) + 0.5 * np.sin(4.0 * x[:, [1, 2, 0]])
    energy, momentum = sum(body.energy().values()), body._node_mass @ body._v
    for _ in range(10):
        body.step(0.005)
    assert sum(body.energy().values()) == pytest.approx(energy, rel=1e-7)
    np.testing.assert_allclose(body._node_mass @ body._v, momentum, atol=1e-11)


def octant(n):
    """One eighth of a shell between the radii 0.5 and 1."""
    corner, weights, triangles = subdivide(np.array([[0, 1, 2]]), n)
    flat = np.einsum("pc,pcd->pd", weights.astype(float), np.eye(3)[corner])
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    radii = np.linspace(0.5, 1.0, n + 1)
    a, b, c = np.sort(triangles, axis=1).T
    tets = []
    for k in range(n):
        lo, hi = k * len(flat), (k + 1) * len(flat)
        tets += [
            np.stack(t, axis=1)
            for t in (
                (lo + a, lo + b, lo + c, hi + c),
                (lo + a, lo + b, hi + b, hi + c),
                (lo + a, hi + a, hi + b, hi + c),
            )
        ]
    mesh = ct.mesh.TetMesh((radii[:, None, None] * flat).reshape(-1, 3), np.concatenate(tets))
    for radius in (0.5, 1.0):
        mesh = mesh.curved(
            lambda x, r=radius: x * (r / np.linalg.norm(x, axis=1))[:, None],
            lambda corners, r=radius: (abs(np.linalg.norm(corners, axis=2) - r) < 1e-9).all(axis=1),
        )
    return mesh


@pytest.mark.parametrize(
    ("order", "sizes", "least", "error"), [(2, (4, 8), 2.9, 1.3e-3), (3, (4, 6), 3.8, 2.5e-4)]
)
def test_lame_sphere_under_inside_pressure_converges_with_order_p_plus_1(order, sizes, least, error):
    """L2 error of the displacement against Lame's solution u = A r + B / r^2 (Timoshenko and Goodier)."""
    a, b, pressure = 0.5, 1.0, 1.0
    law = ct.Linear(young=1e5, poisson=0.3)
    lam, mu = 1e5 * 0.3 / (1.3 * 0.4), 1e5 / 2.6
    linear = pressure * a**3 / ((3 * lam + 2 * mu) * (b**3 - a**3))
    inverse = pressure * a**3 * b**3 / (4 * mu * (b**3 - a**3))
    errors = []
    for n in sizes:
        body = ct.SoftBody(octant(n), material=law, order=order)
        assert not any("bent" in note for note in body.notes)
        for axis in range(3):
            body.lock(lambda x, axis=axis: abs(x[:, axis]) < 1e-12, "xyz"[axis])
        body.apply_traction(lambda x, normal: (x * normal).sum(axis=1) < -0.1, -pressure)
        body.prepare(Environment(gravity=np.zeros(3)))
        body.settle(rtol=1e-10)
        E = body._elements
        points, weights = quadrature(5)
        X, U = (field_at(E, c, points) for c in (E.rest_coefficients, body._x - E.rest_coefficients))
        r = np.linalg.norm(X, axis=2, keepdims=True)
        exact = X / r * (linear * r + inverse / r**2)
        _, density = rest_gradients(E.rest_coefficients[E.elements], order, points)
        w = (density * weights)[..., None]
        errors.append(np.sqrt((w * (U - exact) ** 2).sum() / (w * exact**2).sum()))
    assert np.log(errors[0] / errors[1]) / np.log(sizes[1] / sizes[0]) > least, errors
    assert errors[1] < error


@pytest.mark.parametrize("order", [2, 3])
def test_elements_that_would_fold_are_bent_less(order):
    """A coarse shell, whose inner edges would cut through their elements; every element stays positive."""
    body = ct.SoftBody(octant(2), material=LAW, order=order)
    assert any("would fold" in note for note in body.notes)
    E, mesh = body._elements, body.mesh
    rng = np.random.default_rng(0)
    control = E.rest_coefficients[E.elements[body.curved_elements]]
    _, density = rest_gradients(control, order, rng.dirichlet([0.5] * 4, 500))
    volumes = mesh.volumes[body.curved_elements]
    assert (density.min(axis=1) > 0.1 * volumes).all()
    bound = least_densities(control, order, 0.1 * volumes)
    assert (bound <= density.min(axis=1) + 1e-15).all()


@pytest.mark.parametrize("order", [2, 3])
def test_refined_and_split_bodies_keep_their_shape(order):
    """Children are parts of the same curved elements: mass, volume and rest energy stay, and states return."""
    body = ct.SoftBody(ct.mesh.sphere(0.5, 2), material=LAW, order=order, name="ball")
    mass, rest = body.mass_total, body.state()
    body.refine(lambda c: c[:, 0] > 0.1)
    body.refine(lambda c: c[:, 0] > 0.3)
    body.split(lambda c: c[:, 1] > 0.0)
    assert body.mass_total == pytest.approx(mass, rel=1e-12)
    assert body.energy()["elastic"] < 1e-18
    np.testing.assert_allclose(body._x, body._elements.rest_coefficients, atol=1e-14)
    body.step(0.01)
    state = body.state()
    body.step(0.01)
    expected = body.positions.copy()
    other = ct.SoftBody(ct.mesh.sphere(0.5, 2), material=LAW, order=order, name="ball")
    other.restore(state)
    other.step(0.01)
    np.testing.assert_array_equal(other.positions, expected)
    other.restore(rest)
    assert other.mass_total == mass
    other.reset()
    assert other.energy()["elastic"] < 1e-18


@pytest.mark.parametrize("order", [2, 3])
def test_refinement_with_lumped_mass_keeps_momenta(order):
    body = ct.SoftBody(ct.mesh.sphere(0.5, 2), material=LAW, order=order, mass="lumped", name="ball")
    rng = np.random.default_rng(0)
    body.velocities = rng.normal(size=(body.node_count, 3))

    def momenta():
        p = body._node_mass[:, None] * body._v
        return np.concatenate([p.sum(axis=0), np.cross(body._x, p).sum(axis=0)])

    before = momenta()
    body.refine(lambda c: c[:, 0] > 0.1)
    np.testing.assert_allclose(momenta(), before, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("order", [2, 3])
def test_a_ball_rests_on_its_surface(order):
    """In steps and in `settle` a hard ball touches the floor with its surface, not with its control points."""
    law = ct.Corotated(young=3e8, poisson=0.3, density=1000.0)
    heights = []
    for _ in range(2):
        mesh = ct.mesh.sphere(0.5, 1).transformed(translate=(0.0, 0.5005, 0.0))
        body = ct.SoftBody(mesh, material=law, order=order, damping=(10.0, 0.002), name="ball")
        world = ct.World([body], colliders=[ct.Plane()])
        if heights:
            body.lock("all", "x")
            body.lock("all", "z")
            world.settle()
        else:
            for _ in range(40):
                world.step(0.005)
        heights.append(body.positions[:, 1].min())
        assert abs(heights[-1]) < 1e-3
        assert body._x[:, 1].min() < -0.05  # control points are below
    assert abs(heights[0] - heights[1]) < 2e-4
    body.reset()
    stretch = np.array([[0.0, 1.0, 0.0], [-1.1, 0.0, 0.0], [0.0, 0.2, 0.9]])
    touching = body._surface.contact_positions(body._x @ stretch)
    nodes = np.unique(body.triangles)
    np.testing.assert_allclose(touching[nodes], (body.rest_positions @ stretch)[nodes], atol=1e-13)


def test_files_with_second_order_nodes_are_curved(tmp_path):
    """A frame of a curved body, read again, is the same curved body; at order 3 the same shape."""
    body = ct.SoftBody(ct.mesh.torus(1.0, 0.4, (1, 7)), material=LAW, order=2, name="ring")
    sink = make_sink("vtu", tmp_path)
    sink.open(ct.RunInfo(name="ring", fps=10.0))
    sink.write(ct.World([body]).frame())
    sink.close()
    mesh = ct.mesh.read(tmp_path / "vtu" / "ring_000000.vtu")
    assert mesh.notes == ()
    again = ct.SoftBody(mesh, material=LAW, order=2)
    np.testing.assert_allclose(again.rest_positions, body.rest_positions, atol=1e-14)
    assert again.mass_total == pytest.approx(body.mass_total, rel=1e-13)
    cubic = ct.SoftBody(mesh.transformed(translate=(0, 1, 0)), material=LAW, order=3)
    assert cubic.mass_total == pytest.approx(body.mass_total, rel=1e-12)
    assert ct.SoftBody(mesh, material=LAW).mass_total < 0.999 * body.mass_total


def test_mass_and_statics_agree_with_scikit_fem():
    """The same curved ball as MeshTet2 of scikit-fem: consistent mass to round-off, a sagging ball to quadrature."""
    law = ct.Linear(young=1e5, poisson=0.3, density=1000.0)
    mesh = ct.mesh.sphere(1.0, 2)
    body = ct.SoftBody(mesh, material=law, order=2)
    theirs = skfem.MeshTet2.from_mesh(skfem.MeshTet(mesh.points.T, mesh.tets.T.astype(np.int64)))
    straight = ct.SoftBody(mesh, material=law, order=2, curved=False).rest_positions
    gap, node = cKDTree(straight).query(theirs.doflocs.T)
    assert gap.max() < 1e-12
    curved = replace(theirs, doflocs=np.ascontiguousarray(body.rest_positions[node].T))
    basis = skfem.Basis(curved, skfem.ElementVector(skfem.ElementTetP2()), intorder=8)
    values = np.random.default_rng(0).normal(size=(body.node_count, 3))
    # unknowns of scikit-fem are the components at its nodes
    to_dofs = np.empty((len(node), 3), int)
    to_dofs[basis.mesh.t.max() + 1 :] = basis.dofs.edge_dofs.T
    to_dofs[: basis.mesh.t.max() + 1] = basis.dofs.nodal_dofs.T
    mine = np.empty_like(node)
    mine[node] = np.arange(len(node))

    @skfem.BilinearForm
    def inertia(u, v, _):
        return 1000.0 * dot(u, v)

    vector = np.empty(basis.N)
    vector[to_dofs] = values[node]
    body.velocities = values
    expected = 0.5 * vector @ (inertia.assemble(basis) @ vector)
    assert body.energy()["kinetic"] == pytest.approx(expected, rel=1e-12)

    lam, mu = 1e5 * 0.3 / (1.3 * 0.4), 1e5 / 2.6
    stiffness = linear_elasticity(lam, mu).assemble(basis)
    load = np.zeros(basis.N)
    load[to_dofs[:, 1]] = -9.81
    load = inertia.assemble(basis) @ load
    held = body.rest_positions[:, 1] < -0.5
    fixed = to_dofs[held[node]].ravel()
    solution = skfem.solve(*skfem.condense(stiffness, load, D=fixed))
    body.velocities = np.zeros_like(values)
    body.pin(held)
    body.prepare(Environment(gravity=np.array([0.0, -9.81, 0.0])))
    body.settle(rtol=1e-9)
    own = (body.positions - body.rest_positions)[node]
    assert abs(own - solution[to_dofs]).max() < 5e-3 * abs(own).max()


def test_disc_of_curved_triangles():
    """A disc of triangles with 6 nodes: its area converges with the fourth power, and a turned disc is at rest."""
    errors = []
    for n in (2, 4):
        mesh = ct.mesh.cylinder(1.0, 1.0, (n, 1))
        bottom = mesh.boundary_faces[(mesh.points[mesh.boundary_faces, 1] < -0.4).all(axis=1)]
        nodes, cells = np.unique(bottom, return_inverse=True)
        plane = ct.mesh.TriMesh(mesh.points[nodes][:, [0, 2]], cells.reshape(-1, 3))
        assert ct.SoftBody(plane, material=LAW, order=2).mass_total < 1000 * np.pi * 0.99
        plane = plane.curved(lambda x: x / np.linalg.norm(x, axis=1)[:, None])
        body = ct.SoftBody(plane, material=LAW, order=2)
        errors.append(1.0 - body.mass_total / (1000 * np.pi))
        E = body._elements
        force, _ = system_of(E, E.rest_positions * [1.01, 0.98, 1.0])
        inside = np.setdiff1d(np.arange(body.node_count), E.boundary_faces())
        assert abs(force[inside]).max() < 1e-11 * abs(force).max()
    assert np.log2(errors[0] / errors[1]) > 3.8
    assert errors[1] < 2e-4


def test_options_and_messages():
    mesh = ct.mesh.sphere(0.5, 2)
    straight = ct.SoftBody(mesh, material=LAW, order=2, curved=False)
    assert straight.mass_total == pytest.approx(1000 * mesh.volume, rel=1e-12)
    assert len(straight.curved_elements) == 0
    curved = ct.SoftBody(mesh, material=LAW, order=2)
    assert len(curved.curved_elements) == 120
    assert curved.geometry_bytes() != straight.geometry_bytes()  # a run of one is not resumed with the other
    mean = ct.Corotated(young=1e5, poisson=0.3, rotation="mean")
    assert len(ct.SoftBody(mesh, material=mean, order=2).curved_elements) == 0
    for arguments, words in (
        ({"order": 1}, "order 1 are straight"),
        ({"order": 2, "mesh": ct.mesh.box()}, "no curved boundary"),
        ({"order": 2, "mesh": ct.mesh.hex_box()}, "never curved"),
        ({"order": 2, "material": mean}, "rotation='mean'"),
        ({"order": 2, "curved": "yes"}, "curved"),
    ):
        with pytest.raises(ct.InputError, match=words):
            ct.SoftBody(**{"mesh": mesh, "material": LAW, "curved": True} | arguments)
    with pytest.raises(ct.InputError, match="before it is moved"):
        mesh.transformed(translate=(1, 0, 0)).curved(lambda x: x)
    with pytest.raises(ct.InputError, match="what the function of a surface returns"):
        ct.mesh.box().curved(lambda x: x[0])
    with pytest.raises(ct.InputError, match="corners of the mesh lie up to 1 m away"):
        ct.mesh.box().curved(lambda x: x + [0.0, 1.0, 0.0])

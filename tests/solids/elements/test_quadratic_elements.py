"""Quadratic triangles, quads and hexes: against scikit-fem, rates, mass, loads, files, solvers, refusals."""

import copy
import pickle

import meshio
import numpy as np
import pytest
import skfem
from scipy.sparse.linalg import spsolve
from skfem.helpers import ddot, div, dot, eye, sym_grad

import continua as ct
from continua.output import VtuSink
from continua.scene import parse_scene
from continua.solids.elements import lagrange
from continua.solids.elements.quadrature_elements import NodalElements
from continua.solids.face_shapes import boundary_faces
from tests.solids.elements.test_quadrature_elements import MESHES, _fem_order, distorted
from tests.solids.linearise import give, linearised

HOOKE = ct.Linear(young=10.0, poisson=0.35, density=5.0)
PARTNERS = {
    "hexes": (skfem.MeshHex, skfem.ElementHex2),
    "quads": (skfem.MeshQuad, skfem.ElementQuad2),
    "triangles": (skfem.MeshTri, skfem.ElementTriP2),
}
SMALL = {
    "hexes": distorted(ct.mesh.hex_box((1.0, 1.2, 0.8), (2, 2, 2)), 0.08),
    "quads": MESHES["quads"],
    "triangles": MESHES["triangles"],
}
KINDS = list(SMALL)


def dimension(kind):
    return 3 if kind == "hexes" else 2


def fem_basis(mesh, kind, degree):
    """Return scikit-fem's basis on the same mesh, and its degrees of freedom at our nodes, shape [n, d]."""
    mesh_type, element = PARTNERS[kind]
    d = dimension(kind)
    cells = mesh.cells[:, _fem_order(mesh)].T.astype(np.int64)
    fem = mesh_type(mesh.points[:, :d].T.copy(), cells, sort_t=False)
    basis = skfem.Basis(fem, skfem.ElementVector(element()), intorder=degree)
    component = np.empty(basis.N, int)
    for table in (basis.nodal_dofs, basis.facet_dofs, basis.edge_dofs, basis.interior_dofs):
        if table is not None and table.size:
            for row in range(len(table)):
                component[table[row]] = row % d
    _, rest = lagrange.quadratic_nodes(mesh)
    dofs = np.empty((len(rest), d), int)
    for c in range(d):
        mine = np.flatnonzero(component == c)
        distance = np.linalg.norm(basis.doflocs[:, mine].T[:, None] - rest[None, :, :d], axis=2)
        assert distance.min(axis=0).max() < 1e-12
        dofs[:, c] = mine[distance.argmin(axis=0)]
    assert len(np.unique(dofs)) == basis.N
    return basis, dofs


def mass_matrix(elements, density, lumped=False):
    p = elements.pattern
    mass = elements.mass(np.full(elements.element_count, density), lumped)
    full = np.zeros((elements.node_count, elements.node_count))
    for i in range(elements.node_count):
        part = slice(p.indptr[i], p.indptr[i + 1])
        full[i, p.indices[part]] = mass[part]
    return full


@pytest.mark.parametrize("kind", KINDS)
def test_stiffness_and_mass_equal_scikit_fem(kind):
    mesh, d = SMALL[kind], dimension(kind)
    lam, mu = HOOKE.lame
    basis, dofs = fem_basis(mesh, kind, 2 if kind == "triangles" else 5)

    @skfem.BilinearForm
    def stiffness(u, v, _):
        e = sym_grad(u)
        return ddot(2 * mu * e + lam * eye(div(u), d), sym_grad(v))

    K = stiffness.assemble(basis).toarray()
    exact, _ = fem_basis(mesh, kind, 7)
    M = skfem.BilinearForm(lambda u, v, _: 5.0 * dot(u, v)).assemble(exact).toarray()
    elements = give(NodalElements(mesh, 2), HOOKE)
    ours, force = linearised(elements, elements.rest_positions)
    own = (3 * np.arange(elements.node_count)[:, None] + np.arange(d)).ravel()
    np.testing.assert_allclose(
        ours.toarray()[np.ix_(own, own)], K[np.ix_(dofs.ravel(), dofs.ravel())], atol=1e-10
    )
    assert np.abs(force).max() < 1e-12
    np.testing.assert_allclose(mass_matrix(elements, 5.0), M[np.ix_(dofs[:, 0], dofs[:, 0])], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_bent_plate_is_scikit_fems(kind):
    """The equilibrium under gravity and a traction, by settle and by scikit-fem."""
    mesh, d = SMALL[kind], dimension(kind)
    lam, mu = HOOKE.lame
    body = ct.SoftBody(mesh, material=HOOKE, order=2, name="plate")
    body.pin(lambda x: x[:, 0] < 1e-9)
    body.apply_traction(lambda c: c[:, 0] > 1.0 - 1e-9, (0.0, 0.03, 0.0))
    ct.World([body], gravity=(0.0, -0.01, 0.0)).settle(rtol=1e-11)
    basis, dofs = fem_basis(mesh, kind, 2 if kind == "triangles" else 5)
    K = skfem.BilinearForm(
        lambda u, v, _: ddot(2 * mu * sym_grad(u) + lam * eye(div(u), d), sym_grad(v))
    ).assemble(basis)
    _, element = PARTNERS[kind]
    right = skfem.FacetBasis(
        basis.mesh,
        skfem.ElementVector(element()),
        facets=basis.mesh.facets_satisfying(lambda x: x[0] > 1.0 - 1e-9, boundaries_only=True),
        intorder=6,
    )
    full, _ = fem_basis(mesh, kind, 7)
    f = skfem.LinearForm(lambda v, _: 0.03 * v[1]).assemble(right)
    f += skfem.LinearForm(lambda v, _: -0.01 * 5.0 * v[1]).assemble(full)
    free = dofs[body.rest_positions[:, 0] > 1e-9].ravel()
    u = np.zeros(basis.N)
    u[free] = spsolve(K.tocsc()[np.ix_(free, free)], f[free])
    ours = (body.positions - body.rest_positions)[:, :d]
    assert np.abs(ours - u[dofs]).max() < 1e-9 * np.abs(u).max()


@pytest.mark.parametrize("kind", KINDS)
def test_quadratic_displacements_are_exact(kind):
    """A quadratic field of zero divergence of stress on a regular mesh: pinned outside, it is found inside."""
    regular = {
        "hexes": ct.mesh.hex_box((1.0, 1.0, 1.0), (2, 2, 2)),
        "quads": ct.mesh.rectangle((1.0, 1.0), (3, 3)),
        "triangles": ct.mesh.rectangle((1.0, 1.0), (3, 3), kind="triangles"),
    }[kind]
    elements = give(NodalElements(regular, 2), HOOKE)
    lam, mu = HOOKE.lame
    x = elements.rest_positions
    # u = (a x^2 + b y^2, c x y): (lambda + mu) grad div u + mu lap u = 0 gives b
    a, c = 0.01, -0.02
    b = -(2 * a * (lam + 2 * mu) + c * (lam + mu)) / (2 * mu)
    u = np.stack([a * x[:, 0] ** 2 + b * x[:, 1] ** 2, c * x[:, 0] * x[:, 1], 0 * x[:, 0]], axis=1)
    outer = np.zeros(len(x), bool)
    outer[elements.boundary_faces()] = True
    assert not outer.all()
    K, _ = linearised(elements, x)
    start = x + np.where(outer[:, None], u, 0.0)
    _, residual = linearised(elements, start)
    inner = (3 * np.flatnonzero(~outer)[:, None] + np.arange(dimension(kind))).ravel()
    start.reshape(-1)[inner] -= spsolve(K[np.ix_(inner, inner)].tocsc(), residual.ravel()[inner])
    np.testing.assert_allclose(start, x + u, atol=1e-14)


@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_third_order_convergence(kind):
    """A manufactured solution: L2 errors fall by 8 when the size is halved."""
    lam, mu = HOOKE.lame
    errors = []
    for n in (4, 8, 16):
        mesh = ct.mesh.rectangle((1.0, 1.0), (n, n), kind=kind)
        # a smooth map keeps the elements distorted at every size
        p = mesh.points.copy()
        p[:, 0] += 0.05 * np.sin(3 * p[:, 1]) * p[:, 0]
        mesh = type(mesh)(p, mesh.cells)
        body = ct.SoftBody(mesh, material=HOOKE, order=2, name="sheet")
        x = body.rest_positions
        u = 1e-3 * np.stack(
            [np.sin(2 * x[:, 0]) * np.cos(x[:, 1]), np.sin(x[:, 0] + x[:, 1]), 0 * x[:, 0]], 1
        )
        outer = np.unique(body._elements.boundary_faces())

        def load(q):
            s, w = 1e-3, q[:, 0] + q[:, 1]
            sx, cx, sy, cy = np.sin(2 * q[:, 0]), np.cos(2 * q[:, 0]), np.sin(q[:, 1]), np.cos(q[:, 1])
            divx, divy = -4 * sx * cy - np.sin(w), -2 * cx * sy - np.sin(w)
            fx = (lam + mu) * divx + mu * (-5 * sx * cy)
            fy = (lam + mu) * divy + mu * (-2 * np.sin(w))
            return -s * np.stack([fx, fy, 0 * fx], axis=1)

        elements = body._elements
        values = lagrange.quadratic_values(elements.elements.shape[1], 4)
        _, weights = elements._points(4)
        at = np.einsum("qa,mai->mqi", values, x[elements.elements])
        force = np.einsum("mq,qa,mqi->mai", weights, values, load(at.reshape(-1, 3)).reshape(at.shape))
        total = np.zeros_like(x)
        np.add.at(total, elements.elements, force)
        K, _ = linearised(elements, x)
        inner = np.setdiff1d(np.arange(len(x)), outer)
        free = (3 * inner[:, None] + np.arange(2)).ravel()
        start = x.copy()
        start[outer] += u[outer]
        _, residual = linearised(elements, start)
        start.reshape(-1)[free] -= spsolve(K[np.ix_(free, free)].tocsc(), (residual - total).ravel()[free])
        found = np.einsum("qa,mai->mqi", values, (start - x)[elements.elements])
        X, Y = at[..., 0], at[..., 1]
        truth = 1e-3 * np.stack([np.sin(2 * X) * np.cos(Y), np.sin(X + Y), 0 * X], -1)
        errors.append(np.sqrt(np.einsum("mq,mqi->", weights, (found - truth) ** 2)))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (rates > 2.8).all(), rates


@pytest.mark.parametrize("kind", KINDS)
def test_mass_inertia_and_positive_lumping(kind):
    mesh = SMALL[kind]
    elements = NodalElements(mesh, 2)
    x = elements.rest_positions
    full, lumped = mass_matrix(elements, 5.0), mass_matrix(elements, 5.0, True)
    assert full.sum() == pytest.approx(5.0 * mesh.volume, rel=1e-13) == lumped.sum()
    assert (np.diag(lumped) > 0).all()
    assert (lumped == np.diag(np.diag(lumped))).all()
    values = lagrange.quadratic_values(x[elements.elements].shape[1], 5)
    weights = elements._points(5)[1]
    at = np.einsum("qa,mai->mqi", values, x[elements.elements])
    first, second = (5.0 * np.einsum("mq,mqi->i", weights, at**k) for k in (1, 2))
    np.testing.assert_allclose(full.sum(axis=0) @ x, first, atol=1e-13)
    np.testing.assert_allclose(np.diag(lumped) @ x, first, atol=1e-13)
    np.testing.assert_allclose(np.einsum("ai,ab,bi->i", x, full, x), second, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_derivatives_of_the_energy_and_turn_with_the_body(kind):
    mesh = SMALL[kind]
    law = ct.NeoHookean(young=10.0, poisson=0.35)
    elements = give(NodalElements(mesh, 2), law)
    rng = np.random.default_rng(1)
    d = dimension(kind)
    x, step = elements.rest_positions.copy(), np.zeros((elements.node_count, 3))
    x = x.copy()
    x[:, :d] += 0.02 * rng.uniform(-1, 1, (len(x), d))
    step[:, :d] = rng.normal(size=(len(x), d))
    energies, h = [], 1e-6
    for sign in (1, -1):
        elements.update(x + sign * h * step)
        energies.append(elements.energy())
    _, force = linearised(elements, x)
    rate = (energies[0] - energies[1]) / (2 * h)
    assert rate == pytest.approx(
        np.vdot(force, step), abs=1e-8 * np.linalg.norm(force) * np.linalg.norm(step)
    )
    c, s = np.cos(1.0), np.sin(1.0)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    _, turned = linearised(elements, x @ R.T)
    np.testing.assert_allclose(turned, force @ R.T, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_pressure_on_a_bent_face_is_exact(kind):
    """The sum of pressure forces over a closed, deformed surface is zero, and that of its power is p dV/dt."""
    body = ct.SoftBody(SMALL[kind], order=2, name="bag")
    d = dimension(kind)
    rng = np.random.default_rng(2)
    faces = boundary_faces(body._elements, body.mesh)
    x = body.rest_positions.copy()
    x[:, :d] += 0.02 * rng.uniform(-1, 1, (len(x), d))
    force = np.zeros_like(x)
    faces.add_pressure(x, np.arange(len(faces.nodes), dtype=np.int32), 3.0, force)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-13)

    def volume(at):
        elements = body._elements
        slopes, weights = lagrange.quadratic_slopes(elements.elements.shape[1], 5)
        J = np.einsum("mki,qkj->mqij", at[elements.elements][:, :, :d], slopes)
        return float((np.linalg.det(J) @ weights).sum())

    move = np.zeros_like(x)
    move[:, :d] = rng.normal(size=(len(x), d))
    h = 1e-5
    rate = (volume(x + h * move) - volume(x - h * move)) / (2 * h)
    assert np.vdot(force, move) == pytest.approx(-3.0 * rate, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_faces_and_triangles_point_outward(kind):
    body = ct.SoftBody(SMALL[kind], order=2, name="a")
    a, b, c = (body.rest_positions[body.triangles[:, k]] for k in range(3))
    vectors = np.cross(b - a, c - a) / 2
    if kind == "hexes":  # the box is closed: its volume by the divergence theorem
        assert np.einsum("fi,fi->", (a + b + c) / 3, vectors) / 3 == pytest.approx(1.0 * 1.2 * 0.8, rel=1e-12)
    else:
        assert (vectors[:, 2] > 0).all()
        assert vectors[:, 2].sum() == pytest.approx(1.2, rel=1e-12)
    centers = body.face_centers
    assert len(centers) == len(body.mesh.boundary_faces)


@pytest.mark.parametrize(("kind", "cell"), [("hexes", 29), ("quads", 28), ("triangles", 22)])
def test_vtk_reads_the_cells(tmp_path, kind, cell):
    """The local order of nodes is VTK's own, and meshio and pyvista read the file."""
    pyvista = pytest.importorskip("pyvista")
    import vtk

    reference = {29: vtk.vtkTriQuadraticHexahedron, 28: vtk.vtkBiQuadraticQuad, 22: vtk.vtkQuadraticTriangle}[
        cell
    ]()
    theirs = np.array(reference.GetParametricCoords()).reshape(-1, 3)
    nodes = {29: 27, 28: 9, 22: 6}[cell]
    places = np.array([reference.GetParametricCoords()[k] for k in range(3 * nodes)]).reshape(-1, 3)
    assert len(theirs) >= nodes
    own = lagrange._coordinates(nodes)
    own = own[:, 1:] if nodes == 6 else 0.5 * (1.0 + own)
    np.testing.assert_array_equal(places[:, : own.shape[1]], own)
    body = ct.SoftBody(SMALL[kind], order=2, name="a")
    sink = VtuSink(tmp_path)
    sink.open(ct.RunInfo(fps=100, seconds=0.01))
    list(ct.World([body], dt=0.01).run(seconds=0.01, fps=100, sinks=[sink]))
    sink.close()
    file = sorted(tmp_path.rglob("*.vtu"))[0]
    grid = pyvista.read(file)
    assert set(grid.celltypes) == {cell}
    sizes = grid.compute_cell_sizes()
    total = sizes["Volume" if kind == "hexes" else "Area"].sum()
    assert total == pytest.approx(body.mesh.volume, rel=1e-6)
    read = meshio.read(file)
    assert read.cells[0].type in ("hexahedron27", "quad9", "triangle6")
    assert read.cells[0].data.shape == (body.element_count, nodes)


@pytest.mark.parametrize("kind", KINDS)
def test_solvers_agree(kind):
    ends = []
    for solver in (ct.Direct(), ct.PMultigrid(), ct.PCG()):
        body = ct.SoftBody(SMALL[kind], material=ct.Linear(1e4), order=2, solver=solver, name="a")
        body.pin(lambda x: x[:, 0] < 1e-9)
        ct.World([body]).settle(rtol=1e-8)
        ends.append(body.positions)
    size = np.abs(ends[0] - body.rest_positions).max()
    for one in ends[1:]:
        assert np.abs(one - ends[0]).max() < 1e-5 * size


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark", "explicit"])
def test_free_bodies_keep_momentum_and_copies_go_on_bitwise(integrator):
    body = ct.SoftBody(
        ct.mesh.hex_box((1.0, 0.5, 0.5), (2, 1, 1)),
        material=ct.NeoHookean(1e4),
        order=2,
        integrator=integrator,
        name="a",
    )
    body.set_velocity((1.0, 2.0, 0.5), (0.0, 0.0, 3.0))
    world = ct.World([body], gravity=(0, 0, 0), dt=1e-3)
    momentum = body.mass_total * np.array([1.0, 2.0, 0.5])
    for _ in range(10):
        world.step()
    np.testing.assert_allclose(body._node_mass @ body.velocities, momentum, rtol=1e-6)
    others = [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    for one in (world, *others):
        for _ in range(5):
            one.step()
    for other in others:
        np.testing.assert_array_equal(other.bodies[0].positions, body.positions)


def test_a_block_rests_on_a_floor():
    body = ct.SoftBody(
        ct.mesh.hex_box((1.0, 0.5, 0.5), (3, 2, 2)).transformed((0, 0.01, 0)),
        material=ct.NeoHookean(1e5),
        order=2,
        damping=(5.0, 0.0),
        name="a",
    )
    world = ct.World([body], colliders=[ct.Plane(name="floor")], dt=0.01)
    for _ in range(150):
        world.step()
    assert body.positions[:, 1].min() > -1e-4
    assert body.contact_forces.sum(axis=0)[1] == pytest.approx(9.81 * body.mass_total, rel=1e-2)


def test_plane_stress_at_order_two():
    """Uniaxial tension: a constant strain, so exact."""
    strain, young, poisson = 1e-3, 2e6, 0.35
    mesh = ct.mesh.rectangle((2.0, 1.0), (2, 2), kind="triangles")
    body = ct.SoftBody(mesh, material=ct.Linear(young, poisson), order=2, plane="stress", name="a")
    body.lock(lambda x: x[:, 0] < 1e-9, "x")
    body.lock(lambda x: x[:, 1] < 1e-9, "y")
    body.apply_traction(lambda c: c[:, 0] > 2.0 - 1e-9, (strain * young, 0.0, 0.0))
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-10)
    np.testing.assert_allclose(
        body.positions, body.rest_positions * (1 + strain, 1 - poisson * strain, 1), atol=1e-9
    )
    np.testing.assert_allclose(body.von_mises(), strain * young, rtol=1e-6)


def test_plasticity_and_derived_fields():
    body = ct.SoftBody(
        ct.mesh.hex_box((1.0, 0.5, 0.5), (2, 1, 1)),
        material=ct.Corotated(1e5),
        order=2,
        plasticity=ct.Plasticity(yield_strain=0.05),
        name="a",
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    rest = body.rest_positions
    body.drive(lambda x: x[:, 0] > 1.0 - 1e-9, lambda t, x: x + (min(t, 0.3), 0, 0))
    world = ct.World([body], gravity=(0, 0, 0), dt=0.02)
    for _ in range(20):
        world.step()
    assert body.field("plastic_strain").values.max() > 0.05
    assert len(rest) == body.node_count == lagrange.quadratic_node_count(body.mesh)


def test_bits_do_not_depend_on_the_number_of_threads():
    elements = give(NodalElements(ct.mesh.rectangle((1, 1), (60, 60)), 2), ct.NeoHookean())
    assert elements.parallel
    x = elements.rest_positions.copy()
    x[:, :2] += 1e-3 * np.random.default_rng(4).uniform(-1, 1, (len(x), 2))
    results = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            K, force = linearised(elements, x)
            results.append((K.data, force))
    finally:
        ct.set_threads(2)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_scene_and_refusals():
    scene = parse_scene(
        "bodies: [{type: soft, name: a, mesh: {type: box, elements: hexes, cells: [2, 1, 1]}, order: 2}]"
    )
    body = scene.build().bodies[0]
    assert body.node_count == 45
    with pytest.raises(ct.InputError, match="of hexes of order 2 cannot change its mesh"):
        body.split(faces=np.flatnonzero(body.mesh.face_elements[:, 1] >= 0))
    with pytest.raises(ct.InputError, match="the order of quads must be"):
        ct.SoftBody(ct.mesh.rectangle(), order=3)

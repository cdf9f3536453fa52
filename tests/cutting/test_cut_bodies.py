"""Cut bodies: mass, motion before and after a cut opens, constraints, contact, and comparison with other bodies."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.cutting import CutSurface
from continua.errors import InputError
from continua.mesh import connected_pieces

SOFT = ct.Corotated(young=1e5, poisson=0.3, density=1000.0)
APART = ct.Contact(pairs={("block", "block"): {"collide": False}})
"""Pieces of the body pass through each other, so that a comparison is of their motion alone."""


def block(*cells: int, size=(0.6, 0.2, 0.2), **options) -> ct.SoftBody:
    options = {"material": SOFT, "name": "block"} | options
    return ct.SoftBody(ct.mesh.box(size=size, cells=cells or (6, 2, 2)), **options)


def matter_points(body: ct.SoftBody) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of the centres of the subdomains' cells now, their volumes, and their elements."""
    mesh = body.mesh
    sub = mesh.subdomains
    whole = np.setdiff1d(np.arange(mesh.element_count), sub.owners)
    owners = np.concatenate([sub.owners, whole])
    centers = np.concatenate(
        [sub.points[sub.cells].mean(axis=1), mesh.points[mesh.cells[whole]].mean(axis=1)]
    )
    weights = sub.barycentric(mesh, owners, centers)
    at = np.einsum("sa,sai->si", weights, body.positions[mesh.cells[owners]])
    return at, np.concatenate([sub.cell_volumes, mesh.whole_volumes[whole]]), owners


def center_of_mass(body: ct.SoftBody, piece: int) -> np.ndarray:
    at, volumes, owners = matter_points(body)
    mine = connected_pieces(body.mesh)[owners] == piece
    return volumes[mine] @ at[mine] / volumes[mine].sum()


def test_inserting_a_cut_changes_nothing_until_forces_open_it():
    """A body spins freely; the same body is cut on its way. Its field of motion stays the same function."""
    bodies = [block(), block()]
    worlds = [ct.World([body], gravity=(0, 0, 0)) for body in bodies]
    for body, world in zip(bodies, worlds, strict=True):
        body.set_velocity((1.0, 0, 0), (0, 0, 0))
        for _ in range(3):
            world.step(0.01)
    plain, cut = bodies
    energy, mass, momentum = cut.energy(), cut.mass_total, cut._node_mass @ cut._v
    change = cut.cut(CutSurface.plane((0.33, 0.1, 0.1), (1, 0.3, 0.2)))
    parents = change.node_parents[:, 0]
    assert np.array_equal(cut.positions, plain.positions[parents])  # the Kronecker property
    assert cut.mass_total == pytest.approx(mass, rel=1e-12)
    assert cut._node_mass @ cut._v == pytest.approx(momentum, rel=1e-12)
    assert cut.energy()["kinetic"] == pytest.approx(energy["kinetic"], rel=1e-12)
    assert cut.energy()["elastic"] == pytest.approx(energy["elastic"], abs=1e-12 * energy["kinetic"])
    for _ in range(5):
        for world in worlds:
            world.step(0.01)
    assert cut.positions == pytest.approx(plain.positions[parents], abs=1e-9)


def test_momentum_and_energy_of_a_deformed_body_are_kept_at_the_moment_of_cutting():
    body = block()
    body.pin("left")
    world = ct.World([body])
    for _ in range(20):
        world.step(0.01)
    before = body.energy(), body._node_mass @ body._v, np.einsum("n,ni->i", body._node_mass, body._x)
    body.cut(CutSurface.plane((0.33, 0.1, 0.1), (1, 0.3, 0.2)))
    body.cut(CutSurface.plane((0.33, 0.1, 0.1), (0.1, 1, 0.2)))
    after = body.energy(), body._node_mass @ body._v, np.einsum("n,ni->i", body._node_mass, body._x)
    for kind in ("kinetic", "elastic"):
        assert after[0][kind] == pytest.approx(before[0][kind], rel=1e-9)
    assert after[1] == pytest.approx(before[1], rel=1e-10, abs=1e-12)
    assert after[2] == pytest.approx(before[2], rel=1e-12, abs=1e-12)


def test_mass_is_kept_by_any_number_of_cuts_and_virtual_nodes_add_to_it():
    rng = np.random.default_rng(1)
    exact, whole = block(), block()
    mass = exact.mass_total
    for _ in range(6):
        surface = CutSurface.plane((0.3, 0.1, 0.1) + 0.05 * rng.normal(size=3), rng.normal(size=3))
        exact.cut(surface)
        whole.cut(surface, integration="whole")
        assert exact.mass_total == pytest.approx(mass, rel=1e-12)
    volumes = whole.mesh.whole_volumes
    assert whole.mass_total == pytest.approx(1000.0 * volumes.sum(), rel=1e-12)  # one element a fragment
    assert whole.mass_total > 1.5 * mass
    with pytest.raises(InputError, match="keeps its integration"):
        whole.cut(CutSurface.plane((0.2, 0, 0), (1, 0, 0)))


def test_a_cut_along_faces_moves_like_the_body_split_there():
    bodies = [block(solver=ct.Direct()), block(solver=ct.Direct())]
    for body in bodies:
        body.pin("left")
    bodies[0].cut(CutSurface.plane((0, 0.1, 0), (0, 1, 0)))
    centers = bodies[1].mesh.points[bodies[1].mesh.cells].mean(axis=1)
    bodies[1].split(np.flatnonzero(centers[:, 1] > 0.1))
    ends = []
    for body in bodies:
        world = ct.World([body], contact=APART)
        body.push("right", (0.0, 0.0, 3.0))
        for _ in range(20):
            world.step(0.01)
        rest, at = body.rest_positions, body.positions
        pieces = connected_pieces(body.mesh)
        up = np.zeros(body.node_count, bool)
        for piece in np.unique(pieces):
            own = np.unique(body.mesh.cells[pieces == piece])
            up[own] = rest[own, 1].max() > 0.15
        ends.append(at[np.lexsort((*rest.T.round(9), up))])
    assert ends[0] == pytest.approx(ends[1], abs=1e-10)


def test_another_triangulation_of_the_surface_gives_the_same_motion():
    n = 10
    u = np.linspace(-0.4, 1.0, n + 1)
    grid = np.array([[a, 0.11 + 0.1 * a, b] for a in u for b in u])
    low = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    quads = np.stack([low, low + 1, low + n + 2, low + n + 1], axis=1)
    surfaces = [
        CutSurface.mesh(grid, quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)),
        CutSurface.plane((0, 0.11, 0), (0.1, -1, 0)),
    ]
    ends = []
    for surface in surfaces:
        body = block()
        body.pin("left")
        body.cut(surface)
        world = ct.World([body], contact=APART)
        for _ in range(15):
            world.step(0.01)
        at, volumes, _ = matter_points(body)
        ends.append((body.energy(), volumes @ at / volumes.sum()))
    assert ends[0][1] == pytest.approx(ends[1][1], abs=1e-6)
    assert ends[0][0]["elastic"] == pytest.approx(ends[1][0]["elastic"], rel=1e-4)


@pytest.mark.parametrize("place", [0.25, 0.5, 0.83])
def test_a_cut_cube_hangs_with_its_centre_of_mass_below_the_hinge(place):
    offsets = {}
    for integration in ("exact", "whole"):
        cube = ct.SoftBody(
            ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1)),
            material=ct.Corotated(young=1e8, poisson=0.3, density=1000.0),
            damping=(6.0, 0.0),
        )
        cube.pin(lambda x: (x[:, 0] < 1e-6) & (x[:, 1] > 1 - 1e-6))
        world = ct.World([cube])
        cube.cut(CutSurface.plane((place, 0, 0), (1, 0, 0)), integration=integration)
        piece = int(
            connected_pieces(cube.mesh)[
                np.flatnonzero((cube.mesh.cells == cube._constraints[0].nodes[0]).any(axis=1))[0]
            ]
        )
        for _ in range(400):
            world.step(0.02)
        offsets[integration] = abs(center_of_mass(cube, piece)[0])
    assert offsets["exact"] < 1e-3
    assert offsets["whole"] > 1e-2


def test_thin_slices_bend_most_and_those_of_virtual_nodes_all_the_same():
    """Slices of a clamped slab that is one element high. A beam bends as 1 / t^2; such elements are stiffer than that,
    but only with exact integration does the deflection follow the thickness (Koschier 2018)."""
    tips = {}
    for integration in ("exact", "whole"):
        slab = block(
            12, 1, 1, size=(0.5, 0.1, 0.1), material=ct.Corotated(young=2e7, poisson=0.0, density=1000.0)
        )
        slab.pin("left")
        for height in (0.02, 0.05):
            slab.cut(CutSurface.plane((0, height, 0), (0, 1, 0)), integration=integration)
        ct.World([slab], contact=APART).settle()
        surface, pieces = slab.mesh.matter_surface, connected_pieces(slab.mesh)
        at = np.einsum("sa,sai->si", surface.weights, slab.positions[surface.nodes])
        tip = {}
        for piece in range(3):
            end = (surface.points[:, 0] > 0.5 - 1e-9) & (pieces[surface.elements] == piece)
            tip[surface.points[end, 1].min()] = float((surface.points[end] - at[end])[:, 1].mean())
        tips[integration] = np.array([tip[low] for low in sorted(tip)])
    exact, whole = tips["exact"], tips["whole"]
    assert (np.diff(exact) < 0.0).all()
    assert exact[0] > 2.0 * exact[1]
    assert whole == pytest.approx(np.full(3, whole[0]), rel=0.01)
    assert (exact > 1.2 * whole).all()


def test_strips_of_a_hanging_block_stretch_as_before():
    """Without lateral contraction a cut along the load changes nothing: within 1 % (Koschier 2018)."""
    body = block(4, 8, 4, size=(0.2, 0.4, 0.2), material=ct.Corotated(young=5e4, poisson=0.0, density=1000.0))
    body.pin("top")
    body.settle()
    bottom = body.rest_positions[:, 1] < 1e-9
    before = body.positions[bottom, 1].mean()
    for x in (0.037, 0.083, 0.121, 0.164):
        body.cut(CutSurface.plane((x, 0, 0), (1, 0, 0)))
    body.settle()
    bottom = body.rest_positions[:, 1] < 1e-9
    assert body.positions[bottom, 1].mean() == pytest.approx(before, rel=0.01)
    assert before < -0.01


def test_a_piece_bends_like_the_same_piece_meshed_alone_under_refinement():
    errors = []
    for n in (1, 2, 4):
        law = ct.Corotated(young=1e6, poisson=0.3, density=1000.0)
        whole = block(6 * n, 2 * n, n, size=(0.6, 0.2, 0.1), material=law)
        whole.pin("left")
        whole.cut(CutSurface.plane((0, 0.13, 0), (0, 1, 0)))
        alone = block(6 * n, 2 * n, n, size=(0.6, 0.13, 0.1), material=law)
        alone.pin("left")
        tips = []
        for body in (whole, alone):
            ct.World([body], contact=APART).settle()
            end = (body.rest_positions[:, 0] > 0.6 - 1e-9) & (body.rest_positions[:, 1] < 1e-9)
            tips.append(body.positions[end, 1].mean())
        errors.append(abs(tips[0] / tips[1] - 1.0))
    assert errors[2] < 0.5 * errors[0]
    assert errors[2] < 0.1


def test_pins_hold_the_parts_that_reach_them_and_no_others():
    body = block()
    body.pin("left")
    body.cut(
        CutSurface.plane((0.03, 0, 0), (1, 0, 0))
    )  # in the first layer of elements: takes the rest off the wall
    world = ct.World([body])
    for _ in range(20):
        world.step(0.01)
    at, _, owners = matter_points(body)
    pieces = connected_pieces(body.mesh)
    away = np.isin(owners, np.flatnonzero(pieces == pieces[owners[at[:, 0].argmax()]]))
    fallen = -9.81 * 0.01**2 * 20 * 21 / 2  # implicit Euler
    assert at[away][:, 1].mean() < 0.1 + 0.9 * fallen
    assert at[~away][:, 1].mean() == pytest.approx(0.1, abs=1e-2)
    split = block()
    split.pin("left")
    split.cut(CutSurface.plane((0, 0.137, 0), (0, 1, 0)))  # through the wall: both parts stay
    world = ct.World([split])
    for _ in range(10):
        world.step(0.01)
    held = split.mesh.matter_surface
    on_wall = held.points[:, 0] < 1e-9
    now = np.einsum("sa,sai->si", held.weights[on_wall], split.positions[held.nodes[on_wall]])
    assert now == pytest.approx(held.points[on_wall], abs=1e-9)


def test_slivers_neither_blow_up_nor_glue():
    for offset in (1e-12, 1e-9, 1e-7, 1e-5, 1e-3):
        body = block()
        body.pin("left")
        body.cut(CutSurface.plane((0.3 + offset, 0.1, 0.1), (1, 0, 0)))
        world = ct.World([body])
        for _ in range(20):
            world.step(0.01)
        right = body.rest_positions[:, 0] > 0.6 - 1e-9
        assert body.positions[right, 1].max() < 0.2 - 0.15
        assert np.abs(body.positions).max() < 1.0


@pytest.mark.parametrize(
    ("law", "options"),
    [
        (ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=1000.0), {}),
        (ct.NeoHookean(young=1e5, poisson=0.3, density=1000.0), {}),
        (ct.Linear(young=1e5, poisson=0.3, density=1000.0), {}),
        (SOFT, {"plasticity": ct.Plasticity(yield_strain=0.02)}),
        (SOFT, {"integrator": "newmark"}),
        (SOFT, {"damping": (0.1, 0.01), "mass": "lumped"}),
    ],
)
def test_all_laws_and_integrators_step_cut_bodies(law, options):
    body = block(material=law, **options)
    body.pin("left")
    world = ct.World([body])
    world.step(0.01)
    mass = body.mass_total
    body.cut(CutSurface.plane((0.4, 0.1, 0.1), (1, 0.3, 0.2)))
    assert body.mass_total == pytest.approx(mass, rel=1e-12)
    for _ in range(15):
        world.step(0.01)
    at, _, owners = matter_points(body)
    pieces = connected_pieces(body.mesh)
    off = pieces[owners] == pieces[owners[at[:, 0].argmax()]]
    assert at[off][:, 1].mean() < 0.1 - 0.07
    assert np.isfinite(body.positions).all()


def test_pieces_rest_on_the_ground_and_on_each_other():
    body = block(4, 2, 2, size=(0.4, 0.2, 0.2), damping=(0.5, 0.005))
    ground = ct.Plane(point=(0, 0, 0), normal=(0, 1, 0))
    world = ct.World([body], colliders=[ground])
    body.cut(CutSurface.plane((0.2, 0.11, 0.1), (0.2, 1, 0.1)))
    for _ in range(60):
        reports = world.step(0.01)
    assert reports[0].contact_force[1] == pytest.approx(body.mass_total * 9.81, rel=0.02)
    surface = body.frame().skin
    at = surface.rest + surface.interpolate(body.frame().displacements)
    assert at[:, 1].min() > -2e-3
    upper = center_of_mass(
        body, int(connected_pieces(body.mesh)[matter_points(body)[2][matter_points(body)[0][:, 1].argmax()]])
    )
    assert upper[1] > 0.12


def test_checkpoints_and_rollback_are_bitwise(tmp_path):
    def made() -> tuple[ct.World, ct.SoftBody]:
        body = block()
        body.pin("left")
        return ct.World([body]), body

    world, body = made()
    for _ in range(3):
        world.step(0.01)
    body.cut(CutSurface.plane((0.33, 0.1, 0.1), (1, 0.3, 0.2)))
    world.step(0.01)
    body.cut(CutSurface.swept([[-1, 0.07, -1], [0.4, 0.09, -1]], (0, 0, 3)))
    world.step(0.01)
    world.save(tmp_path / "cut.h5")
    for _ in range(5):
        world.step(0.01)
    again, other = made()
    again.load(tmp_path / "cut.h5")
    for _ in range(5):
        again.step(0.01)
    assert np.array_equal(other.positions, body.positions)
    # and cuts go on from there, as in the first world
    for one, world_ in ((body, world), (other, again)):
        one.cut(CutSurface.plane((0.2, 0.1, 0.1), (0, 0, 1)))
        world_.step(0.01)
    assert np.array_equal(other.positions, body.positions)
    body.reset()
    assert body.mesh.subdomains is None
    assert body.node_count == block().node_count


def test_pressure_acts_on_the_parts_of_a_cut_face_and_not_on_flanks():
    body = block()
    body.apply_traction("right", (1000.0, 0.0, 0.0))
    before = body._loads[0]
    total = np.zeros_like(body._x)
    body.cut(CutSurface.plane((0, 0.087, 0), (0, 1, 0.2)))
    shares = body._faces.shares(before.faces, body.rest_positions)
    assert total.shape[1] == 3
    assert shares.sum() == pytest.approx(0.04, rel=1e-10)
    body.cut(CutSurface.plane((0, 0, 0.093), (0, 0.1, 1)))
    assert body._faces.shares(before.faces, body.rest_positions).sum() == pytest.approx(0.04, rel=1e-10)
    centers = body.face_centers[before.faces]
    assert centers[:, 0] == pytest.approx(0.6)


def test_a_spring_follows_the_piece_that_holds_its_point():
    body = block()
    pull = body.pull(point=(0.6, 0.1, 0.1), target=(0.6, 0.1, 0.1), stiffness=1e4)
    body.cut(CutSurface.plane((0.57, 0, 0), (1, 0, 0)))
    world = ct.World([body])
    for _ in range(20):
        world.step(0.01)
    assert pull is body._pulls[0]
    at, _, owners = matter_points(body)
    pieces = connected_pieces(body.mesh)
    tip = pieces[owners] == pieces[owners[at[:, 1].argmax()]]
    assert at[tip][:, 1].mean() > 0.05
    assert at[~tip][:, 1].mean() < -0.05


def test_skins_are_cut_and_show_the_flanks():
    skin = ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(12, 4, 4)).surface
    body = block(skin=skin)
    body.pin("left")
    body.cut(CutSurface.plane((0.31, 0.1, 0.1), (1, 0, 0)))
    world = ct.World([body])
    for _ in range(20):
        world.step(0.01)
    drawn = body.frame().with_embedded_surface()
    corners = drawn.positions[drawn.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()
    assert longest < 0.2  # no triangle spans the gap
    assert len(drawn.triangles) > len(skin.triangles)


def test_what_cannot_be_cut_gets_one_sentence():
    with pytest.raises(InputError, match="order 1"):
        block(order=2).cut(CutSurface.plane((0.3, 0, 0), (1, 0, 0)))
    with pytest.raises(InputError, match="pressures"):
        block(incompressible=True).cut(CutSurface.plane((0.3, 0, 0), (1, 0, 0)))
    with pytest.raises(InputError, match="CutSurface"):
        block().cut("here")
    body = block()
    with pytest.raises(InputError, match="does not meet"):
        body.cut(CutSurface.plane((2, 0, 0), (1, 0, 0)))
    assert body.topology.version == 0


def test_iterations_after_ten_cuts_are_at_most_twice_those_before():
    counts = []
    for cuts in (0, 10):
        body = block(12, 4, 4, solver=ct.Multigrid())
        body.pin("left")
        rng = np.random.default_rng(5)
        for _ in range(cuts):
            body.cut(CutSurface.plane((0.3, 0.1, 0.1) + 0.08 * rng.normal(size=3), rng.normal(size=3)))
        world = ct.World([body], contact=APART)
        counts.append(np.mean([world.step(0.01)[0].iterations for _ in range(5)]))
    assert counts[1] <= 2.0 * counts[0]


@pytest.mark.parametrize("place", [0.0, 0.4, 0.8, 0.95, 0.99, 0.999, 0.9999])
def test_scaled_matrices_of_thin_slices_stay_conditioned(place):
    """The setup of Koschier (2018), table of K17: the cube [-1, 1]^3 of five tets, cut at x = place.

    The unscaled condition number grows from 457 to 5e16. Scaled by the diagonal blocks it stays near that which the
    diagonal gives to the shifted basis: 20, 27, 75, 309, 1575, 1.6e4, 1.6e5.
    """
    mesh = ct.mesh.box(size=(2, 2, 2), cells=(1, 1, 1), split=5).transformed(translate=(-1, -1, -1))
    cube = ct.SoftBody(mesh, material=ct.Corotated(young=1e6, poisson=0.3, density=1000.0))
    cube.cut(CutSurface.plane((place, 0, 0), (1, 0, 0)))
    n, dt = cube.node_count, 1e-3
    elements = cube._elements
    elements.update(cube._x)
    matrix = dense_system(cube, dt)
    d = 1.0 / np.sqrt(np.diag(matrix))
    scaled = np.linalg.cond(d[:, None] * matrix * d)
    known = {0.0: 20, 0.4: 27, 0.8: 75, 0.95: 309, 0.99: 1575, 0.999: 1.6e4, 0.9999: 1.6e5}[place]
    assert matrix.shape == (3 * n, 3 * n)
    assert scaled < 10.0 * known


def dense_system(body: ct.SoftBody, dt: float) -> np.ndarray:
    """M + dt^2 K of a body at rest, by differences of the elements' forces, which are linear there."""
    from continua.deformable.elements import AssembledSystem
    from continua.linalg import BlockMatrix

    elements, n = body._elements, body.node_count
    system = AssembledSystem(
        BlockMatrix(elements.pattern),
        np.zeros((n, 3)),
        body._mass,
        1.0,
        dt * dt,
        dt,
        np.zeros((n, 3)),
        np.zeros((n, 3)),
    )
    elements.assemble(system)
    columns = np.eye(3 * n).reshape(3 * n, n, 3)
    return np.stack([system.matrix.multiply(np.ascontiguousarray(c)).ravel() for c in columns], axis=1)

"""Separate pieces of one body touch each other, also where their faces coincide, and nothing drives them apart."""

import numpy as np
import pytest

import continua as ct
from continua.collision import CollisionMesh, CollisionSurface, find_candidates
from continua.deformable.contact_body import connected_pieces
from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance

GRAVITY = 9.81
HARD = ct.Corotated(young=1e6, poisson=0.3, density=1000.0)


def joined(meshes):
    """Return one mesh of several, which share no nodes."""
    starts = np.cumsum([0] + [mesh.node_count for mesh in meshes])
    return ct.TetMesh(
        np.concatenate([mesh.points for mesh in meshes]),
        np.concatenate([mesh.tets + start for mesh, start in zip(meshes, starts, strict=False)]),
    )


def box(size, cells, at=(0.0, 0.0, 0.0)):
    """Return a box around a point."""
    return ct.mesh.box(size, cells).transformed(translate=np.array(at) - np.array(size) / 2)


def cube(size=0.2, cells=2, at=(0.0, 0.0, 0.0)):
    return box((size,) * 3, (cells,) * 3, at)


def split_by(mesh, piece):
    """Return the mesh with the nodes between elements of different pieces [m] duplicated."""
    corners = np.column_stack([mesh.tets.ravel(), np.repeat(piece, 4)])
    nodes, tets = np.unique(corners, axis=0, return_inverse=True)
    return ct.TetMesh(mesh.points[nodes[:, 0]], tets.reshape(-1, 4))


def world_of(
    mesh, *, gravity=(0.0, -GRAVITY, 0.0), colliders=(), dt=0.01, pinned=None, contact=None, **options
):
    body = ct.SoftBody(mesh, name="body", **{"material": HARD} | options)
    if pinned is not None:
        body.pin(where=pinned)
    contact = ct.Contact(friction=0.5) if contact is None else contact
    return ct.World([body], colliders=list(colliders), gravity=gravity, dt=dt, contact=contact), body


def node_pieces(body):
    return connected_pieces(body.mesh.tets, body.node_count)


def deepest(body):
    """Return how deep a node of one piece lies inside another [m]."""
    pieces, x, deep = node_pieces(body), body.positions, 0.0
    for k in range(pieces.max() + 1):
        own = body.triangles[pieces[body.triangles[:, 0]] == k]
        used, local = np.unique(own, return_inverse=True)
        surface = SurfaceMesh(x[used], local.reshape(-1, 3))
        others = x[np.setdiff1d(np.unique(body.triangles), used)]
        near = ((others > surface.bounds[0]) & (others < surface.bounds[1])).all(axis=1)
        if near.any():
            deep = max(deep, -float(ExactDistance(surface)(others[near]).min()))
    return deep


def total_energy(body):
    return sum(body.energy().values())


def test_the_upper_of_two_cubes_of_one_body_rests_on_the_lower():
    """The same as with two bodies: the weight is carried, and the distance is the one that surfaces keep."""
    mesh = joined([cube(), cube(0.16, 2, (0.01, 0.22, 0.02))])
    world, body = world_of(mesh, colliders=[ct.Plane((0, -0.1, 0), (0, 1, 0))], damping=(2.0, 0.0))
    for _ in range(150):
        world.step()
    upper = node_pieces(body) == 1
    x = body.positions
    assert np.abs(body.velocities).max() < 1e-3
    weight = GRAVITY * 1000.0 * 0.16**3
    np.testing.assert_allclose(body.contact_forces[upper, 1].sum(), weight, rtol=0.01)
    gap = x[upper, 1].min() - x[~upper, 1].max()
    assert 0.0 < gap < 0.01
    assert deepest(body) == 0.0


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_cubes_whose_faces_coincide_stay_at_rest_without_gravity(axis, cells):
    away = np.eye(3)[axis] * 0.2
    world, body = world_of(joined([cube(0.2, cells), cube(0.2, cells, away)]), gravity=(0.0, 0.0, 0.0))
    start = body.positions
    for _ in range(200):
        world.step()
    assert np.abs(body.velocities).max() < 1e-9
    np.testing.assert_allclose(body.positions, start, atol=1e-12)


@pytest.mark.parametrize("young", [1e5, 1e7])
def test_a_ragged_cut_stays_at_rest_without_gravity_and_carries_weight(young):
    """The pieces of a random split of the elements lock into each other."""
    whole = box((0.3, 0.3, 0.3), (3, 3, 3))
    centers = whole.points[whole.tets].mean(axis=1)
    rng = np.random.default_rng(1)
    mesh = split_by(whole, (centers[:, 1] + 0.08 * rng.normal(size=len(centers)) > 0.0).astype(int))
    material = ct.Corotated(young=young, poisson=0.3, density=1000.0)
    world, body = world_of(mesh, gravity=(0.0, 0.0, 0.0), material=material)
    assert node_pieces(body).max() >= 1
    for _ in range(50):
        world.step()
    assert np.abs(body.velocities).max() < 1e-9
    world, body = world_of(mesh, pinned=lambda x: x[:, 1] < -0.149, material=material, damping=(5.0, 0.0))
    height = body.positions[:, 1].max()
    for _ in range(60):
        world.step()
    assert height - body.positions[:, 1].max() < 0.01 + 0.3 * 0.3 * 1000 * GRAVITY / young
    assert deepest(body) < 1e-3 * 0.1


def test_a_cube_that_lay_on_another_from_the_start_rests_on_it():
    mesh = joined([cube(), cube(at=(0.0, 0.2, 0.0))])
    world, body = world_of(mesh, pinned=lambda x: x[:, 1] < 0.0 - 1e-9)
    upper = node_pieces(body) == 1
    start = body.positions[upper, 1].mean()
    energy = total_energy(body)
    for _ in range(100):
        world.step()
        now = total_energy(body)
        assert now <= energy + 1e-5 * abs(energy)  # linear systems are solved to 1e-4
        energy = now
    weight = GRAVITY * 1000.0 * 0.2**3
    np.testing.assert_allclose(body.contact_forces[upper, 1].sum(), weight, rtol=0.01)
    # the lower is pressed by the upper and by itself, the upper by itself; the pins make it stiffer
    sink = 0.2**2 * 1000.0 * GRAVITY / 1e6 * (1.0 + 1.0 / 2.0 + 1.0 / 3.0)
    np.testing.assert_allclose(start - body.positions[upper, 1].mean(), sink, rtol=0.2)
    assert np.abs(body.velocities).max() < 1e-4


@pytest.mark.parametrize("lift", [0.0, 0.02])
def test_settle_puts_the_upper_piece_on_the_lower(lift):
    mesh = joined([cube(), cube(0.16, 2, (0.01, 0.18 + lift, 0.02))])
    world, body = world_of(mesh, pinned=lambda x: x[:, 1] < -0.09)
    for direction in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):  # there is no friction that would hold it
        body.lock(where=lambda x: x[:, 1] > 0.25 - 1e-9, direction=direction)
    (report,) = world.settle()
    assert report.converged
    upper = node_pieces(body) == 1
    weight = GRAVITY * 1000.0 * 0.16**3
    np.testing.assert_allclose(body.contact_forces[upper, 1].sum(), weight, rtol=1e-3)
    np.testing.assert_allclose(body.contact_forces.sum(axis=0), 0.0, atol=1e-9 * weight)
    assert deepest(body) < 1e-5
    for _ in range(10):  # and it stays there
        world.step()
    assert np.abs(body.velocities).max() < 1e-3


@pytest.mark.parametrize("friction", [0.2, 0.6])
@pytest.mark.parametrize("start", ["coincident", "apart"])
def test_the_upper_cube_slides_down_an_incline_as_friction_says(friction, start):
    """At 25 degrees a body holds from a coefficient of tan 25 = 0.47 on, and else slides with g (sin - mu cos)."""
    angle = np.radians(25.0)
    gravity = GRAVITY * np.array([np.sin(angle), -np.cos(angle), 0.0])
    slab = box((1.2, 0.1, 0.3), (12, 1, 3), (0.3, -0.05, 0.0))
    lift = 0.0 if start == "coincident" else 0.01
    mesh = joined([slab, box((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.05 + lift, 0.0))])
    world, body = world_of(
        mesh, gravity=gravity, pinned=lambda x: x[:, 1] < -0.09, friction=friction, dt=0.005,
        material=ct.Corotated(young=1e7, poisson=0.3, density=1000.0),
    )  # fmt: skip
    upper = node_pieces(body) == 1
    for _ in range(20):  # it lands
        world.step()
    v0 = body.velocities[upper].mean(axis=0)
    x0 = body.positions[upper].mean(axis=0)
    time = 0.075  # its front does not pass a node of the slab
    for _ in range(round(time / 0.005)):
        world.step()
    v1 = body.velocities[upper].mean(axis=0)
    if friction > np.tan(angle):
        assert np.abs(v1).max() < 1e-3
        assert np.linalg.norm(body.positions[upper].mean(axis=0) - x0) < 1e-3
    else:
        rate = GRAVITY * (np.sin(angle) - friction * np.cos(angle))
        np.testing.assert_allclose((v1[0] - v0[0]) / time, rate, rtol=1e-3)
        assert abs(v1[1]) < 1e-3
        assert abs(body.positions[upper].mean(axis=0)[1] - x0[1]) < 1e-4


def test_separate_pieces_move_as_separate_bodies_do():
    """The same block sliding on the same slab, as one body in two pieces and as two bodies."""
    gravity = (3.0, -9.0, 0.0)
    slab, block = box((1.2, 0.1, 0.3), (12, 1, 3), (0.3, -0.05, 0.0)), cube(0.1, 2, (0.0, 0.06, 0.01))
    world, body = world_of(joined([slab, block]), gravity=gravity, pinned=lambda x: x[:, 1] < -0.09, dt=0.005)
    two = [ct.SoftBody(mesh, material=HARD, name=name) for name, mesh in (("slab", slab), ("block", block))]
    two[0].pin(where=lambda x: x[:, 1] < -0.09)
    other = ct.World(two, gravity=gravity, dt=0.005, contact=ct.Contact(friction=0.5))
    for _ in range(60):
        world.step()
        other.step()
    both = np.concatenate([one.positions for one in two])
    np.testing.assert_allclose(body.positions, both, atol=2e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_eight_pieces_of_a_cube_fall_on_the_floor_and_stay_apart(seed):
    """Contacts are linear over a step, so that faces that turn overlap by a little: less than 1 % of an element."""
    whole = box((0.4, 0.4, 0.4), (4, 4, 4))
    octant = (whole.points[whole.tets].mean(axis=1) > 0.0) @ [1, 2, 4]
    rng = np.random.default_rng(seed)
    mesh = split_by(whole, octant).transformed(rotate=0.5 * rng.normal(size=3), translate=(0.0, 0.5, 0.0))
    world, body = world_of(mesh, colliders=[ct.Plane((0, 0, 0), (0, 1, 0))])
    pieces = node_pieces(body)
    assert pieces.max() == 7
    energy = total_energy(body)
    for _ in range(100):
        world.step()
        now = total_energy(body)
        assert now <= energy + 1e-9 * abs(energy)
        energy = now
        assert deepest(body) < 0.01 * 0.1
    centers = np.array([body.positions[pieces == k].mean(axis=0) for k in range(8)])
    assert np.linalg.norm(centers - centers.mean(axis=0), axis=1).max() > 0.25  # 0.17 as a cube


def test_contact_between_pieces_conserves_momentum():
    mesh = joined([cube(), cube(at=(0.03, 0.23, 0.02))])
    world, body = world_of(mesh, gravity=(0.0, 0.0, 0.0), dt=0.005)
    state = body.state()
    upper = node_pieces(body) == 1
    state["velocities"][upper, 1] = -2.0
    body.restore(state)
    mass = np.add.reduceat(body._mass, body._elements.pattern.indptr[:-1])
    momentum = mass @ body.velocities
    for _ in range(60):
        world.step()
    np.testing.assert_allclose(mass @ body.velocities, momentum, atol=1e-9)
    assert (body.velocities[~upper, 1]).mean() < -0.5  # it was hit
    assert deepest(body) < 1e-4


def test_contact_of_pieces_can_be_turned_off_and_does_not_turn_on_self_contact():
    mesh = joined([cube(), cube(at=(0.0, 0.25, 0.0))])
    off = ct.Contact(pairs={("body", "body"): {"collide": False}})
    world, body = world_of(mesh, pinned=lambda x: x[:, 1] < 0.0, contact=off)
    for _ in range(40):
        world.step()
    upper = node_pieces(body) == 1
    assert body.positions[upper, 1].max() < 0.0  # it fell through
    world, _ = world_of(mesh)
    surfaces = world.system(ct.SoftBody).stepper.surface_contacts
    np.testing.assert_array_equal(surfaces.collide[:2, :2], [[False, True], [True, False]])


def test_pieces_that_overlap_at_the_start_are_named_in_a_warning():
    with pytest.warns(UserWarning, match="overlap at the start"):
        world_of(joined([cube(), cube(at=(0.0, 0.15, 0.0))]))


def test_a_vertex_in_a_face_slides_past_an_edge_of_the_other_piece_without_touching_it():
    """Two boxes side by side: points in the common plane above the other box do not stand on its edge."""
    one = cube()
    triangles = one.boundary_triangles
    both = CollisionMesh([CollisionSurface(one.points, triangles, body=0) for _ in range(2)])
    for height in (0.101, 0.12, 0.195):
        x = both.positions([one.points, one.points + [0.2, height, 0.0]])
        move = np.zeros_like(x)
        move[len(one.points) :, 1] = -0.05
        pairs = find_candidates(both, x, move, np.full((2, 2), 0.004))
        assert len(pairs) > 0
        np.testing.assert_allclose(np.abs(pairs.normals[:, 0]), 1.0)
        np.testing.assert_allclose(pairs.gaps, 0.0, atol=1e-15)


def test_pieces_of_many_shapes_and_orders_keep_still():
    """One parameter away: another order, an order 2 body, hexahedra, and a cut through one element layer."""
    whole = box((0.4, 0.1, 0.1), (4, 1, 1))
    order = (whole.points[whole.tets].mean(axis=1)[:, 0] > 0.1).astype(int)
    for options in ({"order": 2}, {"order": 3}, {"mass": "lumped"}, {"integrator": "newmark"}):
        world, body = world_of(split_by(whole, order), gravity=(0.0, 0.0, 0.0), **options)
        for _ in range(20):
            world.step()
        assert np.abs(body.velocities).max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_coincident_faces_do_not_count_as_overlaps(seed):
    """Elements dealt out to pieces at random, in any position in space: a warning would be an error."""
    rng = np.random.default_rng(seed)
    whole = box((0.3, 0.3, 0.3), (3, 3, 3)).transformed(
        rotate=rng.normal(size=3), translate=rng.normal(size=3)
    )
    world, body = world_of(split_by(whole, rng.integers(0, 5, len(whole.tets))), gravity=(0.0, 0.0, 0.0))
    collide = world.system(ct.SoftBody).stepper.surface_contacts.collide
    assert len(collide) >= 5
    np.testing.assert_array_equal(collide, ~np.eye(len(collide), dtype=bool))
    for _ in range(10):
        world.step()
    assert np.abs(body.velocities).max() < 1e-9

"""Bodies that start inside a collider or another body: refused in a sentence, or pushed out gently with a note."""

import numpy as np
import pytest

import continua as ct

ELEMENT = 0.1
FLOOR = ct.mesh.box(size=(2, 1, 2), cells=(6, 1, 6), origin=(-1, -1, -1)).surface
SHAPES = {
    "plane": ct.Plane((0, 0, 0), (0, 1, 0)),
    "sphere": ct.Sphere((0, -1, 0), 1.0),
    "box": ct.Box((0, -0.5, 0), (2, 1, 2)),
    "mesh": ct.MeshShape(FLOOR),
}


def soft(height, size=0.4, name="jelly"):
    """Return a cube around (0, height, 0)."""
    corner = (-0.5 * size, height - 0.5 * size, -0.5 * size)
    mesh = ct.mesh.box(size=(size,) * 3, cells=(4, 4, 4), origin=corner)
    return ct.SoftBody(mesh, material=ct.Corotated(young=1e5), name=name)


def rigid(height, size=0.4, name="brick"):
    return ct.RigidBody(ct.Box((0, height, 0), (size,) * 3), density=500, name=name)


def noted(text, bodies, colliders=()):
    with pytest.warns(UserWarning, match=text) as caught:
        world = ct.World(bodies, colliders=colliders, dt=0.01)
    assert len(caught) == 1
    return world


def refused(text, bodies, colliders=()):
    with pytest.raises(ct.InputError, match=text):
        ct.World(bodies, colliders=colliders, dt=0.01)


@pytest.mark.parametrize("kind", ["plane", "box", "mesh"])
@pytest.mark.parametrize("depth", [0.01, 0.1])
def test_a_soft_body_partly_inside_a_collider_is_pushed_out_gently(kind, depth):
    body = soft(0.2 - depth)
    text = f"'jelly' starts {depth:g} m inside collider 1 .{kind}.; contact pushes it out"
    world = noted(text, [body], [SHAPES[kind]])
    fastest = 0.0
    for _ in range(150):
        world.step()
        fastest = max(fastest, float(np.linalg.norm(body.velocities, axis=1).max()))
    assert fastest * world.dt < 0.2 * ELEMENT
    assert np.linalg.norm(body.velocities, axis=1).max() < 0.05
    assert body.positions[:, 1].min() > -1e-4


@pytest.mark.parametrize("kind", SHAPES)
def test_a_rigid_body_partly_inside_a_collider_is_pushed_out_without_a_speed(kind):
    body = rigid(0.1)
    world = noted(f"'brick' starts 0.1 m inside collider 1 .{kind}.", [body], [SHAPES[kind]])
    for _ in range(40):
        world.step()
        assert np.abs(body.velocities).max() < 0.05
    assert body.frame(()).positions[:, 1].min() > -1e-3


@pytest.mark.parametrize("make", [soft, rigid])
@pytest.mark.parametrize("kind", ["sphere", "box", "mesh"])
def test_a_body_entirely_inside_a_collider_is_refused(make, kind):
    refused(
        r"starts entirely inside collider 1 .*0\.\d+ m deep; move them apart", [make(-0.3)], [SHAPES[kind]]
    )


@pytest.mark.parametrize("make", [soft, rigid])
def test_a_body_far_behind_a_plane_or_outside_of_a_container_is_refused(make):
    refused("starts 0.7 m behind collider 1 .plane.", [make(-0.9)], [SHAPES["plane"]])
    room = ct.Box((0, 0, 0), (1, 1, 1), inside=True, name="room")
    refused("starts 1.3 m behind collider 'room'", [make(2.0)], [room])


@pytest.mark.parametrize("make", [soft, rigid])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_body_that_touches_or_does_not_collide_is_not_noted(make, kind):
    ct.World([make(0.2)], colliders=[SHAPES[kind]])
    name = make(0.0).name
    shape = ct.Plane((0, 0, 0), (0, 1, 0), name="floor")
    ct.World([make(-3.0)], colliders=[shape], contact=ct.Contact(pairs={(name, "floor"): {"collide": False}}))


def test_a_wall_through_a_soft_body_is_refused_and_one_below_it_is_not():
    wall = ct.Box((0, -0.01, 0), (2, 0.02, 2))
    refused("collider 1 .box. passes through body 'jelly' at the start", [soft(0.05)], [wall])
    ct.World([soft(0.2)], colliders=[wall])


def test_rigid_bodies_inside_each_other():
    noted("'a' starts 0.1 m inside rigid body 'b'", [rigid(0.0, name="a"), rigid(0.3, name="b")])
    refused("'b' starts entirely inside rigid body 'a'", [rigid(0.0, name="a"), rigid(0.0, 0.1, name="b")])
    refused("entirely inside", [rigid(0.0, name="a"), rigid(0.0, name="b")])
    ct.World([rigid(0.0, name="a"), rigid(0.4, name="b")])
    joined = [rigid(0.0, name="a"), rigid(0.3, name="b")]
    ct.World(joined, joints=[ct.joints.Fixed(*joined)])


def test_many_overlaps_are_one_note():
    bodies = [ct.RigidBody(ct.Box((x, 0.1, 0), (0.4,) * 3), density=500, name=f"b{x}") for x in range(4)]
    noted(r"starts 0.1 m inside collider 1 \(plane\) \(and 3 more pairs overlap\)", bodies, [SHAPES["plane"]])


def test_soft_bodies_inside_each_other_say_how_deep():
    text = "'a' and 'b' overlap at the start, 0.1 m deep, and will not touch each other; move them apart"
    noted(text, [soft(0.0, name="a"), soft(0.3, name="b")])


def test_a_rigid_body_a_little_inside_a_soft_one_is_pushed_out_and_one_deep_inside_is_refused():
    text = "'brick' and body 'jelly' overlap at the start, 0.03 m deep"
    world = noted(text, [soft(0.0), rigid(0.27, 0.2)], [ct.Plane((0, -0.2, 0))])
    jelly, fastest = world.bodies[0], 0.0
    for _ in range(5):
        world.step()
        fastest = max(fastest, float(np.linalg.norm(jelly.velocities, axis=1).max()))
    assert fastest * world.dt < 0.2 * ELEMENT
    refused("overlap at the start, 0.08 m deep; move them apart", [soft(0.0), rigid(0.22, 0.2)])


def test_a_corner_of_a_collider_a_little_inside_a_soft_body_is_noted_and_one_deep_inside_is_refused():
    for depth, check in ((0.03, noted), (0.08, refused)):
        peg = ct.Box((0.05, -0.2 + depth, 0.03), (0.07, 0.4, 0.07))
        check(f"collider 1 .box. starts {depth:g} m inside body 'jelly'", [soft(0.2)], [peg])


def test_points_on_flat_faces_of_a_mesh_are_no_corners():
    """The corner of a collider is a contact of its own; points on flat faces would push bodies sideways."""
    from continua.collision.collider_features import collider_edges

    found = collider_edges(ct.MeshShape(FLOOR), 0.1)
    on_edges = (np.abs(np.abs(found.rest - [0, -0.5, 0]) - [1, 0.5, 1]) < 1e-9).sum(axis=1) >= 2
    np.testing.assert_array_equal(found.vertices, np.flatnonzero(on_edges))

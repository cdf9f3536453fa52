"""The query for overlaps: what a brute-force search finds, containment, self-intersections, inverted elements."""

import copy
import pickle

import numpy as np
import pytest

import continua as ct
import continua.mesh as meshes
from continua.output import make_sink

pytestmark = pytest.mark.filterwarnings("ignore:.*(overlap at the start|starts .* inside|intersects itself)")
BALL = meshes.sphere(0.5, cells=4)


def ball(name, center=(0, 0, 0), mesh=BALL):
    return ct.SoftBody(mesh.transformed(translate=center), name=name)


def brick(name, center, size=0.4):
    return ct.RigidBody(ct.Box(center, (size,) * 3), density=500, name=name)


def world(*bodies, **options):
    return ct.World(bodies, gravity=(0, 0, 0), **options)


def crosses(one, other):
    """Return whether two triangles intersect: an edge of one pierces the other."""
    for first, second in ((one, other), (other, one)):
        a, b, c = second
        normal = np.cross(b - a, c - a)
        for k in range(3):
            p, q = first[k], first[(k + 1) % 3]
            at, to = normal @ (p - a), normal @ (q - a)
            if at * to >= 0.0:
                continue
            hit = p + at / (at - to) * (q - p)
            if all(normal @ np.cross(v - u, hit - u) > 0.0 for u, v in ((a, b), (b, c), (c, a))):
                return True
    return False


def test_pairs_of_triangles_are_those_of_a_brute_force_search():
    small = meshes.sphere(0.5, cells=2)
    rng = np.random.default_rng(2)
    for _ in range(5):
        one, other = ball("a", mesh=small), ball("b", rng.uniform(-0.5, 0.5, 3), small)
        sides = [body.positions[body.triangles] for body in (one, other)]
        count = sum(crosses(a, b) for a in sides[0] for b in sides[1])
        (found,) = world(one, other).overlaps()
        assert (found.kind, found.bodies, found.count) == ("bodies", ("a", "b"), count)


def test_balls_overlap_by_the_distance_of_their_centres():
    for distance in (0.7, 0.9):
        bodies = ball("a"), ball("b", (distance, 0.01, 0.02))
        (found,) = world(*bodies).overlaps()
        assert found.count > 0
        assert found.depth == pytest.approx(1.0 - distance, abs=0.04)
        for body, nodes, other in zip(bodies, found.nodes, bodies[::-1], strict=True):
            inside = np.linalg.norm(body.positions - other.positions.mean(axis=0), axis=1) < 0.45
            inside &= np.isin(np.arange(body.node_count), body.triangles)
            assert set(np.flatnonzero(inside)) <= set(nodes.tolist())
    assert world(ball("a"), ball("b", (1.01, 0, 0))).overlaps() == ()


def test_a_body_wholly_inside_another_is_found_without_pairs_of_triangles():
    small = meshes.sphere(0.1, cells=2)
    (found,) = world(ball("a"), ball("b", (0.1, 0, 0), small)).overlaps()
    assert (found.bodies, found.count) == (("a", "b"), 0)
    assert found.depth == pytest.approx(0.5, abs=0.03)  # the point farthest from the surface
    assert len(found.nodes[1]) == len(np.unique(world(ball("b", mesh=small)).bodies[0].triangles))


def test_aligned_boxes_overlap_though_no_edge_pierces_a_face():
    cube = meshes.box(size=(0.4,) * 3, cells=(2, 2, 2))
    (found,) = world(ball("a", mesh=cube), ball("b", (0, 0.3, 0), cube)).overlaps()
    assert found.depth == pytest.approx(0.1, rel=0.01)
    (found,) = world(brick("a", (0, 0, 0)), brick("b", (0, 0.3, 0))).overlaps()
    assert found.bodies == ("a", "b")
    assert found.depth == pytest.approx(0.1, rel=0.02)


def test_contact_is_not_an_overlap():
    stack = [brick("a", (0, 0.2, 0)), brick("b", (0, 0.6, 0)), brick("c", (0, 1.0, 0))]
    jelly = ball("jelly", (2.0, 0.51, 0))
    one = ct.World([*stack, jelly], colliders=[ct.Plane()], dt=0.01)
    for _ in range(20):
        one.step()
    assert jelly.contact_forces.any()
    assert one.overlaps() == ()


def test_rigid_and_soft_bodies_and_colliders():
    floor = ct.Plane((0, -0.3, 0), (0, 1, 0), name="floor")
    one = ct.World([ball("jelly"), brick("brick", (0.52, 0.01, 0.02), 0.1)], colliders=[floor])
    both, below = one.overlaps()
    assert (both.kind, both.bodies) == ("bodies", ("jelly", "brick"))
    assert both.depth == pytest.approx(0.03, abs=0.01)
    assert (below.kind, below.bodies) == ("collider", ("jelly", "floor"))
    assert below.depth == pytest.approx(0.2)
    heights = one.bodies[0].positions[np.unique(one.bodies[0].triangles), 1]
    assert below.count == len(below.nodes[0]) == (heights < -0.305).sum()


def test_instances_of_a_rigid_body_overlap_each_other_and_joined_bodies_may():
    places = [(0, 0, 0), (0.3, 0.01, 0.02), (2, 0, 0)]
    cubes = ct.RigidInstances(ct.Box((0, 0, 0), (0.4,) * 3), places, density=500, name="cubes")
    (found,) = world(cubes).overlaps()
    assert found.bodies == ("cubes", "cubes")
    assert found.nodes[0].max() < 16  # of the first two
    a, b = brick("a", (0, 0, 0)), brick("b", (0.3, 0.01, 0.02))
    assert world(a, b, joints=[ct.joints.Fixed(a, b)]).overlaps() == ()
    off = ct.Contact(pairs={("c", "d"): {"collide": False}})
    assert world(brick("c", (0, 0, 0)), brick("d", (0.3, 0.01, 0.02)), contact=off).overlaps() == ()


def test_a_soft_body_that_intersects_itself_and_inverted_elements():
    body = ball("ball")
    one = world(body)
    assert one.overlaps() == ()
    state = one.state()
    pushed = state["ball/positions"]
    pushed[pushed[:, 1] > 0.4, 1] -= 1.2  # out at the bottom
    one.restore(state)
    kinds = {found.kind: found for found in one.overlaps()}
    assert set(kinds) == {"self", "inverted"}
    assert kinds["self"].bodies == ("ball",)
    assert kinds["self"].count > 0
    volumes = np.linalg.det(body.positions[body.mesh.tets[:, 1:]] - body.positions[body.mesh.tets[:, :1]])
    np.testing.assert_array_equal(kinds["inverted"].elements, np.flatnonzero(volumes <= 0.0))
    np.testing.assert_array_equal(kinds["inverted"].nodes[0], np.unique(body.mesh.tets[volumes <= 0.0]))


def test_frames_have_a_field_of_overlapping_nodes_and_files_take_it(tmp_path):
    one = world(ball("a"), ball("b", (0.9, 0.01, 0)), colliders=[ct.Plane((0, -0.4, 0))], fields=["overlap"])
    found = one.overlaps()
    frame = one.frame()
    for name in ("a", "b"):
        marked = {
            n for o in found for who, nodes in zip(o.bodies, o.nodes) if who == name for n in nodes.tolist()
        }
        assert set(np.flatnonzero(frame[name]["overlap"])) == marked
        assert "overlap" in list(frame[name].fields)
    one.step()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(frame))["a"]["overlap"], frame["a"]["overlap"])
    sink = make_sink("vtu", tmp_path)
    sink.open(ct.RunInfo(name="w", fps=60, seconds=0.1))
    sink.write(frame)
    sink.close()
    text = b"".join(path.read_bytes() for path in tmp_path.rglob("*.vtu"))
    assert b'Name="overlap"' in text


def test_a_field_that_is_asked_for_late_is_that_of_its_frame():
    mover = ball("b", (0.9, 0.01, 0))
    mover.set_velocity((50.0, 0, 0))
    one = world(ball("a"), mover, dt=0.01)
    frame = one.frame()
    for _ in range(5):
        one.step()
    assert one.overlaps() == ()
    assert frame["a"]["overlap"].any()
    assert not one.frame()["a"]["overlap"].any()


def test_worlds_that_were_asked_can_be_copied_and_results_do_not_change():
    one, other = (world(ball("a"), ball("b", (0.9, 0.01, 0)), dt=0.01) for _ in range(2))
    for _ in range(3):
        one.overlaps()
        one.step()
        other.step()
    np.testing.assert_array_equal(one.bodies[1].positions, other.bodies[1].positions)
    assert len(copy.deepcopy(one).overlaps()) == len(pickle.loads(pickle.dumps(one)).overlaps()) == 1


@pytest.mark.parametrize("order", [2, 3])
def test_elements_of_higher_order(order):
    mesh = meshes.sphere(0.5, cells=2)
    bodies = [ct.SoftBody(mesh, order=order, name="a")]
    bodies.append(ct.SoftBody(mesh.transformed(translate=(0.9, 0.01, 0)), order=order, name="b"))
    one = world(*bodies)
    (found,) = one.overlaps()
    assert found.depth == pytest.approx(0.1, abs=0.05)
    assert one.frame()["a"]["overlap"].sum() == len(found.nodes[0])


def test_other_worlds_have_none():
    assert ct.World([]).overlaps() == ()
    sheet = ct.SoftBody(meshes.rectangle((1, 1), (2, 2)), name="sheet")
    assert world(sheet).overlaps() == ()
    assert "overlap" not in world(sheet).frame()["sheet"].fields

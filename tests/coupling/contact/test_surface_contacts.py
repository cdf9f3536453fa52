"""Constraint rows of surface contacts: momentum, relative velocities, and edges and corners of colliders."""

import numpy as np
import pytest

import continua as ct
from continua.contact_solver import Contact, ContactPairTable
from continua.coupling.contact.surface_contacts import SurfaceBody, SurfaceContacts
from continua.mesh import surfaces

BALL = surfaces.sphere(0.5, 3)


def detector(bodies, shapes=(), **options):
    names = [body.name for body in bodies] + [f"shape{k}" for k in range(len(shapes))]
    contact = Contact(**options)
    table = ContactPairTable.of(contact, names, [*bodies, *shapes])
    return SurfaceContacts(bodies, shapes, contact, table)


def soft(name, mesh=BALL):
    return SurfaceBody(name, mesh.points, mesh.triangles)


def test_impulses_between_soft_bodies_conserve_momentum_to_rounding():
    contacts = detector([soft("a"), soft("b")], thickness=0.03)
    start = [BALL.points, BALL.points + [0.98, 0.02, 0.01]]
    n = len(BALL.points)
    rows = contacts.find_close(start, start, 0.0, 0.01, np.array([0, n]))
    assert len(rows) > 3
    rng = np.random.default_rng(0)
    out = np.zeros((2 * n, 3))
    rows.apply_transpose(rng.normal(size=(len(rows), 3)), out)
    np.testing.assert_allclose(out.sum(axis=0), 0.0, atol=1e-12)
    assert np.abs(out).max() > 0.1
    assert set(rows.a.tolist()) | set(rows.b.tolist()) == {0, 1}


def test_relative_velocity_is_the_rate_of_the_gap():
    """The gap after a small motion is the gap before plus what the rows say, for soft, rigid and moving obstacles."""
    box = ct.Box(
        (0, -0.7, 0), (0.3, 0.4, 0.3), rotate=(0.4, 0.2, 0.1), motion=ct.Motion.translate((0.1, 0.3, 0.0))
    )
    contacts = detector(
        [soft("a"), SurfaceBody("b", BALL.points, BALL.triangles, rigid=True)], [box], thickness=0.03
    )
    n = len(BALL.points)
    center = np.array([0.98, 0.02, 0.01])
    start = [BALL.points, BALL.points + center]
    rng = np.random.default_rng(1)
    V = rng.normal(size=(n + 2, 3))
    first, centers = np.array([0, n]), np.array([[0, 0, 0], center])
    dt = 1e-7
    rows = contacts.find_close(start, start, 0.0, dt, first, centers)
    assert {(0, 1), (0, 2)} <= {(min(p), max(p)) for p in zip(rows.a.tolist(), rows.b.tolist(), strict=True)}
    spin = np.cross(V[n + 1], BALL.points)
    moved = [start[0] + dt * V[:n], start[1] + dt * (V[n] + spin)]
    later = contacts.find_close(moved, moved, dt, dt, first, centers + dt * V[n])
    u = rows.relative_velocities(V)[:, 0]
    known = dict(zip(later.key.tolist(), later.gap.tolist(), strict=True))
    compared = [
        (known[k], g + dt * s) for k, g, s in zip(rows.key.tolist(), rows.gap, u, strict=True) if k in known
    ]
    assert len(compared) > 3
    np.testing.assert_allclose(*np.transpose(compared), atol=3e-12)


@pytest.mark.parametrize(
    ("shape", "facets"),
    [
        (ct.Box((0, 0, 0), (0.02, 0.4, 0.02)), 0.0),
        (ct.Box((0, 0, 0), (0.1, 0.4, 0.1), rounding=0.03), 0.0),
        (ct.Capsule((0, -0.2, 0), (0, 0.1, 0), 0.1), 0.0),
        (ct.Sphere((0, 0.1, 0), 0.1), 0.0),
        (ct.Cylinder((0, 0, 0), axis=(0, 1, 0), radius=0.05, height=0.4), 0.0),
        (ct.Cylinder((0, 0, 0), axis=(1, 0, 0), radius=0.2, height=4.0), 1e-3),
        (ct.MeshShape(surfaces.box((0.02, 0.4, 0.02), origin=(-0.01, -0.2, -0.01))), 0.0),
    ],
)
def test_a_pole_between_the_nodes_of_a_coarse_face_is_found(shape, facets):
    """No node of the large face is near the pole; its end meets the inside of a triangle, or its edges meet edges."""
    slab = surfaces.box((2.0, 0.5, 2.0), (1, 1, 1), origin=(-1.1, 0.0, -0.8))
    contacts = detector([soft("slab", slab)], [shape], thickness=0.01)
    above = [slab.points + [0, 0.2005, 0]]
    assert shape.distances(above[0])[0].min() > 0.15
    rows = contacts.find_close(above, above, 0.0, 0.01, np.array([0]))
    assert 1 <= len(rows) <= 40
    np.testing.assert_allclose(rows.normal[:, 1], 1.0, atol=0.02)
    np.testing.assert_allclose(rows.gap, 0.0005 - 0.001, atol=2e-4 + facets)
    assert contacts.find_close([above[0] + 1.0], [above[0] + 1.0], 0.0, 0.01, np.array([0])).gap.size == 0
    below = [above[0] - [0, 3.0, 0]]
    crossed, first = contacts.find_crossings(above, below, 0.0, 0.02, np.array([0]))
    assert len(crossed)
    assert first < 0.05
    apart, first = contacts.find_crossings(above, [above[0] + [0, 1.0, 0]], 0.0, 0.02, np.array([0]))
    assert first == 1.0 or apart.gap.max() < 1e-3


def test_pairs_that_do_not_touch_and_rigid_pairs_are_left_out():
    start = [BALL.points, BALL.points + [0.98, 0.02, 0.01]]
    off = detector([soft("a"), soft("b")], thickness=0.03, pairs={("a", "b"): {"collide": False}})
    assert len(off.find_close(start, start, 0.0, 0.01, np.array([0, 300]))) == 0
    hard = [SurfaceBody(name, BALL.points, BALL.triangles, rigid=True) for name in "ab"]
    assert not detector(hard).any


def test_bodies_that_overlap_at_the_start_give_a_warning_and_do_not_collide():
    apart = [BALL.points, BALL.points + [1.005, 0, 0]]
    contacts = detector([soft("a"), soft("b")], thickness=0.02)
    assert contacts.check_start(apart, 0.0) == ()
    assert len(contacts.find_close(apart, apart, 0.0, 0.01, np.array([0, 300])))
    (said,) = contacts.check_start([BALL.points, BALL.points + [0.6, 0.01, 0.02]], 0.0)
    assert said.startswith("'a' and 'b' overlap at the start")
    assert said.endswith("move them apart")
    assert len(contacts.find_close(apart, apart, 0.0, 0.01, np.array([0, 300]))) == 0
    turned_in = BALL.points.copy()
    turned_in[BALL.points[:, 1] > 0.4, 1] -= 1.5
    folded = detector([soft("a")], self_contact=True)
    assert folded.check_start([turned_in], 0.0)[0].startswith("'a' intersects itself")


@pytest.mark.parametrize(
    "shape",
    [ct.Sphere((0, 0, 0), 0.05), ct.Box((0, 0, 0), (0.1, 0.1, 0.1)), ct.Capsule((0, 0, 0), (0, 2, 0), 0.02)],
)
def test_a_collider_that_starts_inside_a_body_is_refused(shape):
    contacts = detector([soft("ball")], [shape])
    with pytest.raises(ct.InputError, match=f"collider 1 .{shape.kind}. starts 0.* m inside body 'ball'"):
        contacts.check_start([BALL.points], 0.0)
    contacts.check_start([BALL.points - [0, 3.0, 0]], 0.0)


def test_a_collider_inside_a_body_of_few_large_elements_is_refused():
    block = ct.SoftBody(ct.mesh.box(size=(1, 1, 1), cells=(1, 1, 1)), name="block")
    with pytest.raises(ct.InputError, match=r"starts 0.* m inside body 'block'"):
        ct.World([block], colliders=[ct.Sphere((0.5, 0.5, 0.5), 0.1)]).step()

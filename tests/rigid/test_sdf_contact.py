"""Contacts of rigid meshes: the hierarchy of samples against every point, and fitted fields against exact ones."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct
from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR
from continua.mesh import SurfaceMesh, surfaces
from continua.rigid.rigid_state import RigidState
from continua.rigid.sdf_contact import SdfContactSampler
from continua.rigid.surface_samples import sample_tree


def _star(seed):
    """A closed surface with spikes and dents."""
    ball = surfaces.sphere(1.0, 1)
    scale = np.random.default_rng(seed).uniform(0.4, 1.0, (ball.node_count, 1))
    return SurfaceMesh(0.3 * ball.points * scale, ball.triangles)


def _signed(points, mesh):
    """Return signed distances [n] to a mesh by every triangle, and solid angles for the sign."""
    best, angle = np.full(len(points), np.inf), np.zeros(len(points))
    for a, b, c in mesh.points[mesh.triangles]:
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        height = (points - a) @ normal
        foot = points - height[:, None] * normal
        inside = np.ones(len(points), bool)
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= (foot - p) @ np.cross(normal, q - p) >= 0.0
            t = np.clip((points - p) @ (q - p) / ((q - p) @ (q - p)), 0.0, 1.0)
            best = np.minimum(best, np.linalg.norm(points - p - t[:, None] * (q - p), axis=1))
        best = np.where(inside, np.minimum(best, np.abs(height)), best)
        u, v, w = a - points, b - points, c - points
        x, y, z = (np.linalg.norm(side, axis=1) for side in (u, v, w))
        top = np.einsum("ij,ij->i", u, np.cross(v, w))
        dots = (u * v).sum(1) * z + (v * w).sum(1) * x + (w * u).sum(1) * y
        angle += np.arctan2(top, x * y * z + dots)
    return np.where(angle > np.pi, -best, best)


def _thrown(one, other, count, seed, spread=0.35):
    """Return `count` instances of two shapes each, those of the second close to those of the first."""
    rng = np.random.default_rng(seed)
    near = rng.normal(size=(count, 3)) * spread
    turns = [Rotation.random(count, random_state=rng).as_rotvec() for _ in range(2)]
    a = ct.RigidInstances(one, np.zeros((count, 3)), rotations=turns[0], density=1.0, name="a")
    b = ct.RigidInstances(other, near, rotations=turns[1], density=1.0, name="b")
    return RigidState([a, b], [])


def _found(state, count, reach):
    pairs = np.stack([np.arange(count), np.arange(count) + count], axis=1).astype(np.int32)
    counts, gaps = np.zeros(count, np.int32), np.empty((count, MAX_CONTACTS_PER_PAIR))
    places, normals = np.empty((count, MAX_CONTACTS_PER_PAIR, 3)), np.empty((count, MAX_CONTACTS_PER_PAIR, 3))
    features = np.empty((count, MAX_CONTACTS_PER_PAIR), np.int64)
    found = (counts, places, normals, gaps, features)
    SdfContactSampler(state).detect(pairs, np.full(count, reach), np.arange(count), found)
    return found


def _least(found, otherwise):
    return np.array([g[:k].min() if k else otherwise for g, k in zip(found[3], found[0], strict=True)])


def _samples_in(state, instance, target):
    """Return the sample points of one instance in the axes of another."""
    world = state.geometry(instance).samples.points @ state.R[instance].reshape(3, 3).T + state.X[instance]
    return (world - state.X[target]) @ state.R[target].reshape(3, 3)


def test_bounding_spheres_contain_the_points_that_they_skip():
    points = np.random.default_rng(0).normal(size=(1234, 3)) * [3.0, 1.0, 0.2]
    tree = sample_tree(points)
    assert sorted(map(tuple, tree.points)) == sorted(map(tuple, points))
    leaves = np.flatnonzero(tree.links[:, 1])
    assert np.concatenate([np.arange(f, f + n) for f, n, _ in tree.links[leaves]]).tolist() == list(
        range(1234)
    )
    for sphere, (first, _, skip) in zip(tree.spheres, tree.links, strict=True):
        end = tree.links[skip, 0] if skip < len(tree.links) else len(points)
        held = tree.points[first:end]
        assert np.linalg.norm(held - sphere[:3], axis=1).max() <= sphere[3] * (1.0 + 1e-12)


def test_contact_points_of_mesh_pairs_are_those_of_a_loop_over_all_points():
    count, reach = 300, 0.03
    state = _thrown(_star(1), _star(2), count, 5)
    counts, _, normals, gaps, features = _found(state, count, reach)
    least = np.full(count, np.inf)
    for side in range(2):
        instances = np.arange(count) + side * count
        targets = np.arange(count) + (1 - side) * count
        local = np.concatenate([_samples_in(state, p, t) for p, t in zip(instances, targets, strict=True)])
        each = _signed(local, state.geometry(targets[0]).surface).reshape(count, -1)
        least = np.minimum(least, each.min(axis=1))
        for p in range(count):  # every point that was found is one of all, with its distance
            mine = (features[p, : counts[p]] & 1) == side
            number = features[p, : counts[p]][mine] >> 1
            np.testing.assert_allclose(gaps[p, : counts[p]][mine], each[p, number], atol=1e-12)
    touching = least < reach
    assert 0.1 < touching.mean() < 0.95
    np.testing.assert_array_equal(counts > 0, touching)
    deepest = np.array([g[:k].min() if k else np.inf for g, k in zip(gaps, counts, strict=True)])
    np.testing.assert_allclose(deepest[touching], least[touching], atol=1e-12)
    lengths = np.linalg.norm(normals[touching, 0], axis=1)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-12)


def test_a_fitted_field_finds_the_contacts_of_the_exact_one_within_its_error():
    ring = surfaces.torus(0.3, 0.1, (16, 40))
    field = ct.sdf.fit(ring, tolerance=1e-6, near=20.0)
    count, reach = 400, 0.01
    exact = _found(_thrown(ring, ring, count, 3), count, reach)
    shape = ct.MeshShape(ring, field)
    fitted = _found(_thrown(shape, shape, count, 3), count, reach)
    least = [_least(f, reach) for f in (exact, fitted)]
    assert (exact[0] > 0).sum() > 100
    np.testing.assert_allclose(least[1], least[0], atol=1.1 * field.report.max_error)
    shallow = (
        np.abs(least[0]) < 0.05 * field.report.scale
    )  # where the report's error near the surface is measured
    assert shallow.sum() > 30
    assert np.sqrt(np.mean((least[1] - least[0])[shallow] ** 2)) < 3.0 * field.report.near_error


def test_a_placed_field_is_the_field_of_the_placed_mesh():
    mesh = _star(4)
    field = ct.sdf.fit(mesh, tolerance=1e-5)
    where = {"translate": (0.3, -0.2, 0.5), "rotate": (0.4, 1.0, -0.3), "scale": 2.5}
    placed, exact = field.transformed(**where), ct.sdf.exact(mesh.transformed(**where))
    turn = Rotation.from_rotvec(where["rotate"]).as_matrix()
    back = np.random.default_rng(1).uniform(*field.bounds, (2000, 3))
    points = 2.5 * back @ turn.T + where["translate"]
    values, gradients = placed.value_and_gradient(points)
    assert np.sqrt(np.mean((values - exact(points)) ** 2)) < 1.3 * 2.5 * field.report.rms_error
    np.testing.assert_allclose(values, 2.5 * field(back), atol=1e-6)
    np.testing.assert_allclose(gradients, field.gradient(back) @ turn.T, atol=1e-5)


@pytest.mark.parametrize("how", ["exact", "fitted", "winding"])
def test_a_ring_rests_on_a_bowl_that_is_a_mesh(how):
    bowl = ct.mesh.bowl(0.5, 0.05, 80.0, (10, 1)).surface
    ring = surfaces.torus(0.12, 0.04, (12, 24)).transformed(translate=(0.0, -0.38, 0.0))
    fields = {
        "exact": (None, None),
        "fitted": (ct.sdf.fit(bowl, tolerance=1e-6, near=20.0), ct.sdf.fit(ring, tolerance=1e-6, near=20.0)),
        "winding": (ct.sdf.exact(bowl, sign="winding"), ct.sdf.exact(ring, sign="winding")),
    }[how]
    body = ct.RigidBody(ct.MeshShape(ring, fields[1]), density=1000.0, friction=0.5, name="ring")
    world = ct.World([body], colliders=[ct.MeshShape(bowl, fields[0])])
    for _ in range(60):
        world.step(0.01)
    # the ring's lowest circle touches the inner wall: sqrt((0.45 - 0.04)^2 - 0.12^2) below the middle
    assert body.center_of_mass == pytest.approx([0.0, -np.sqrt(0.41**2 - 0.12**2), 0.0], abs=4e-3)
    assert np.abs(body.velocity).max() < 1e-2


def test_a_field_that_no_fit_made_is_refused_for_a_body():
    class Own:
        def __call__(self, points):
            return points[:, 0]

        def gradient(self, points):
            return np.ones_like(points)

    with pytest.raises(ct.InputError, match=r"must come from sdf\.fit"):
        ct.RigidBody(ct.MeshShape(_star(0), Own()), density=1.0)


@pytest.mark.parametrize("how", ["box", "mesh", "field"])
def test_a_ball_in_a_groove_has_contacts_with_both_walls(how):
    room = ct.Box((0, 0, 0), (1, 1, 1), rotate=(0, 0, np.pi / 4), inside=True)
    if how != "box":
        mesh = surfaces.box((1, 1, 1)).transformed(translate=(-0.5, -0.5, -0.5))
        mesh = mesh.transformed(rotate=(0, 0, np.pi / 4))
        room = ct.MeshShape(mesh, ct.sdf.fit(mesh, tolerance=1e-6) if how == "field" else None, inside=True)
    low = -np.sqrt(0.5) + 0.1 * np.sqrt(2)
    ball = ct.RigidBody(ct.Sphere((0, low + 0.005, 0), 0.1), density=1000.0, friction=0.0)
    world = ct.World([ball], colliders=[room])
    for _ in range(50):
        world.step(0.01)
        energy = ball.energy()["kinetic"]
    weight = 9.81 * ball.mass
    assert energy < 1e-9 * weight * 0.1
    assert ball.center_of_mass[1] == pytest.approx(low, abs=2e-4)
    told = world.frame().bodies[ball.name].contacts
    assert len(told) == 2
    np.testing.assert_allclose(np.linalg.norm(told.forces, axis=1), weight / np.sqrt(2), rtol=1e-3)

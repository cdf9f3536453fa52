"""Soft bodies on top of each other and folded onto themselves: they come to rest and never cross."""

import numpy as np
import pytest

import continua as ct


def _blocks(young, count=3):
    """Blocks that stand on each other, each a little aside of the last."""
    return [
        ct.SoftBody(
            ct.mesh.box((0.2, 0.15, 0.2), (2, 2, 2)).transformed(
                translate=(0.03 * k, 0.001 + 0.152 * k, 0.02 * k)
            ),
            material=ct.Corotated(young=young, poisson=0.3, density=1000.0),
            damping=(2.0, 0.01),
            name=f"block{k}",
        )
        for k in range(count)
    ]


@pytest.mark.parametrize(("young", "dt"), [(1e5, 0.01), (1e7, 0.02)])
def test_a_pile_comes_to_rest_and_stays(young, dt):
    """Kinetic energy below 1e-6 of m g h, no drift, and each block carries what is above it."""
    blocks = _blocks(young)
    world = ct.World(blocks, colliders=[ct.Plane()], dt=dt, contact=ct.Contact(friction=0.5))
    for _ in range(int(5.0 / dt)):
        world.step()
    rested, scale = [b.positions for b in blocks], sum(b.mass_total for b in blocks) * 9.81 * 0.45
    for _ in range(int(3.0 / dt)):
        reports = world.step()
        assert world.energy()["kinetic"] < 1e-6 * scale
        assert not any(report.warnings for report in reports)
    for block, x in zip(blocks, rested, strict=True):
        np.testing.assert_allclose(
            block.positions, x, atol=2e-5
        )  # a hundredth of the distance that they keep
    weight = np.array([r.contact_force for r in reports])[:, 1]
    np.testing.assert_allclose(weight, [b.mass_total * 9.81 for b in blocks], rtol=1e-3)


def test_friction_between_bodies_never_adds_energy():
    """One block slides over another that lies on the floor: the energy of both falls in every step."""
    low, high = _blocks(2e5, 2)
    high.set_velocity((1.5, 0, 0.4))
    world = ct.World([low, high], colliders=[ct.Plane()], dt=0.01, contact=ct.Contact(friction=0.6))
    last = sum(world.energy().values())
    for _ in range(60):
        world.step()
        now = sum(world.energy().values())
        assert now <= last + 1e-5 * (low.mass_total + high.mass_total)
        last = now


def _crossings(x, triangles):
    """Count edges that go through triangles with which they share no corner, each against each."""
    edges = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    count = 0
    a, b, c = (x[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    for i, j in edges:
        apart = ~((triangles == i) | (triangles == j)).any(axis=1)
        above, below = (np.einsum("ij,ij->i", normal, x[k] - a) for k in (i, j))
        apart &= above * below < 0.0
        if not apart.any():
            continue
        t = above[apart] / (above[apart] - below[apart])
        hit = x[i] + t[:, None] * (x[j] - x[i])
        n, p, q, r = normal[apart], a[apart], b[apart], c[apart]
        sides = [np.einsum("ij,ij->i", n, np.cross(v - u, hit - u)) for u, v in ((p, q), (q, r), (r, p))]
        count += int((np.min(sides, axis=0) > 0.0).sum())
    return count


def test_a_strip_that_folds_onto_itself_does_not_tangle():
    """A tall strip falls into folds: no edge goes through a triangle, by a loop over all of them."""
    mesh = ct.mesh.box((0.012, 0.6, 0.08), (1, 24, 3)).transformed(translate=(0, 0.02, 0))
    mesh = ct.TetMesh(mesh.points + np.outer(0.01 * np.sin(10.0 * mesh.points[:, 1]), [1, 0, 0]), mesh.tets)
    strip = ct.SoftBody(
        mesh, material=ct.Corotated(young=2e4, poisson=0.3, density=500.0), damping=(0.5, 0.01), name="strip"
    )
    world = ct.World(
        [strip], colliders=[ct.Plane()], dt=0.01, contact=ct.Contact(friction=0.3, self_contact=True)
    )
    assert _crossings(strip.positions, strip.triangles) == 0
    touched = 0
    for step in range(90):
        touched = max(touched, world.step()[0].contacts)
        if step % 15 == 14:
            assert _crossings(strip.positions, strip.triangles) == 0
    assert touched > 20
    assert strip.positions[:, 1].max() < 0.35  # it is no longer standing
    assert strip.positions[:, 1].min() > -1e-4

"""Contact with an open two-sided surface: bodies rest on either side at its thickness, and none passes at speed."""

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator

from continua.contact_solver import Contact
from continua.coupling import ContactStepper
from continua.environment import Environment
from continua.errors import DivergedError
from continua.geometry import Plane
from continua.mesh import surfaces
from continua.numerics.closest_points import closest_point_triangles
from tests.coupling.contact.particle_body import ParticleBody

THICKNESS, KEPT = 0.012, 0.004


def sheet(cells=8, size=1.0):
    """A square sheet in the plane y = 0."""
    n = cells + 1
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    points = np.stack([i / cells - 0.5, 0.0 * i, j / cells - 0.5], axis=-1).reshape(-1, 3) * size
    a = (i[:-1, :-1] * n + j[:-1, :-1]).ravel()
    triangles = np.concatenate(
        [np.column_stack([a, a + 1, a + n]), np.column_stack([a + 1, a + n + 1, a + n])]
    )
    border = np.flatnonzero((np.abs(points[:, [0, 2]]) > 0.5 * size - 1e-9).any(axis=1))
    return points, triangles, border


def membrane(**options):
    points, triangles, border = sheet()
    return ParticleBody(
        "membrane", points, triangles, stiffness=400.0, damping=4.0, pinned=border, two_sided=True,
        thickness=THICKNESS, **options,
    )  # fmt: skip


def ball(height, **options):
    mesh = surfaces.sphere(0.12, 2)
    points = mesh.points + [0.03, height, 0.02]
    return ParticleBody("ball", points, mesh.triangles, stiffness=400.0, damping=4.0, **options)


def plate(height, **options):
    points, triangles, _ = sheet(3, 0.3)
    return ParticleBody(
        "plate", points + [0.01, height, 0.02], triangles, stiffness=400.0, damping=4.0, two_sided=True,
        thickness=THICKNESS, **options,
    )  # fmt: skip


def stepper_of(*bodies, shapes=()):
    names = [body.name for body in bodies] + ["shape"] * len(shapes)
    contact = Contact(friction=0.3, thickness=KEPT)
    return ContactStepper(
        list(enumerate(bodies)), shapes, contact, names, [*bodies, *shapes], Environment(gravity=np.zeros(3))
    )


def heights(body, other):
    """Return the heights of a body's points above the membrane, by interpolation between its points."""
    under = LinearNDInterpolator(other.positions[:, [0, 2]], other.positions[:, 1])
    return body.positions[:, 1] - under(body.positions[:, [0, 2]])


def distance_between(body, other):
    """Return the smallest distance of vertices of each from triangles of the other."""
    least = np.inf
    for one, two in ((body, other), (other, body)):
        corners = two.positions[two.surface.triangles]
        weights = np.empty((len(corners), 3))
        for p in one.positions:
            closest_point_triangles(np.ascontiguousarray(p), corners, weights)
            least = min(least, np.linalg.norm(np.einsum("kc,kci->ki", weights, corners) - p, axis=1).min())
    return least


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("kind", ["ball", "plate"])
def test_a_body_dropped_on_a_membrane_rests_at_its_thickness_on_either_side(kind, side):
    gravity = (0.0, -9.81 * side, 0.0)
    below = membrane(gravity=(0.0, 0.0, 0.0))
    body = (ball(side * 0.16, gravity=gravity) if kind == "ball" else plate(side * 0.04, gravity=gravity))  # fmt: skip
    run = stepper_of(below, body)
    thickness = 0.5 * THICKNESS * (1 if kind == "ball" else 2) + KEPT
    for _ in range(150):
        run.step(0.01)
        assert (side * heights(body, below) > 0.5 * thickness).all()
    assert np.abs(body.velocities).max() < 0.02
    np.testing.assert_allclose(distance_between(body, below), thickness, rtol=0.05)
    weight = body.mass * 9.81 * body.row_count
    np.testing.assert_allclose(side * body.contact_forces[:, 1].sum(), weight, rtol=0.05)
    np.testing.assert_allclose(below.contact_forces.sum(axis=0), -body.contact_forces.sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("dt", [0.02, 0.005])
def test_a_body_thrown_at_a_membrane_does_not_pass(side, dt):
    """At 20 m/s it moves by up to its own size and many thicknesses in a step."""
    below, body = membrane(), ball(side * 0.35)
    body.velocities[:] = [0.5, -20.0 * side, 0.3]
    run = stepper_of(below, body)
    energy = below.energy() + body.energy()
    touched = False
    for _ in range(round(0.12 / dt)):
        run.step(dt)
        touched |= bool(np.abs(body.contact_forces).max() > 0.0)
        inside = (np.abs(body.positions[:, [0, 2]]) < 0.5).all(axis=1)
        assert inside.any()
        assert (side * heights(body, below)[inside] > 0.0).all()
        now = below.energy() + body.energy()
        assert now <= energy * (1.0 + 1e-9)
        energy = now
    assert touched


def test_a_free_sheet_lies_on_a_collider_at_half_its_thickness():
    body = plate(0.05, gravity=(0.0, -9.81, 0.0))
    run = stepper_of(body, shapes=[Plane((0, 0, 0), (0, 1, 0))])
    for _ in range(60):
        run.step(0.01)
    np.testing.assert_allclose(body.positions[:, 1], 0.5 * THICKNESS, atol=2e-5)


def test_the_stepper_restores_all_bodies_when_a_step_fails(monkeypatch):
    below, body = membrane(), ball(0.16)
    body.velocities[:] = [0.0, -1.0, 0.0]
    run = stepper_of(below, body)
    run.step(0.01)
    before = [array.copy() for array in (below.positions, body.positions, body.velocities)]
    monkeypatch.setattr(body, "gravity", np.full(3, np.nan))
    with pytest.raises(DivergedError, match="ball"):
        run.step(0.01)
    for one, other in zip(before, (below.positions, body.positions, body.velocities), strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.undo()
    run.step(0.01)
    assert np.isfinite(body.positions).all()

"""Hertz's contact (1882; Johnson, Contact Mechanics, 1985) with elements of order 2, in static equilibrium.

A quarter of a half-space is a block of a few contact radii between planes of symmetry, x = 0 and z = 0. Its outer faces
follow the exact field of the same force at a point (Boussinesq) or on a line (Flamant), which that of Hertz's pressure
approaches with the square of the distance; so the result does not depend on the size of the block. The law is linear.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

import continua as ct

YOUNG, POISSON, RADIUS = 1e5, 0.3, 1.0
MODULUS = YOUNG / (1.0 - POISSON**2)


def _graded(count, first, length):
    """Points of a line from 0 to `length`, whose cells grow by a constant factor."""
    powers = np.arange(count)
    factor = brentq(lambda q: first * (q**powers).sum() - length, 0.5, 3.0)
    return np.concatenate([[0.0], np.cumsum(first * factor**powers)])


def _block(count, first, length, order, thick=None, bump=0.0):
    """The quarter of a half-space y < 0; `thick` gives a slice of one cell, `bump` the curvature of its surface."""
    cells = (count, count, count if thick is None else 1)
    mesh = ct.mesh.box(size=(1.0, 1.0, 1.0), cells=cells)
    line = _graded(count, first, length)
    x = line[np.rint(count * mesh.points[:, 0]).astype(int)]
    y = -line[np.rint(count * (1.0 - mesh.points[:, 1])).astype(int)]
    z = thick * mesh.points[:, 2] if thick else line[np.rint(count * mesh.points[:, 2]).astype(int)]
    y -= 0.5 * bump * (x * x + (0.0 if thick else z * z))
    material = ct.Linear(young=YOUNG, poisson=POISSON)
    return ct.SoftBody(
        ct.TetMesh(np.column_stack([x, y, z]), mesh.tets), material=material, order=order, name="block"
    )


def _settle(body, shape, length, field, lift, thick=None, bump=0.0):
    """Hold the planes of symmetry, move the outer faces by the field and the lift, and return the forces downwards."""
    flat = body.rest_positions.copy()
    flat[:, 1] += 0.5 * bump * (flat[:, 0] ** 2 + (0.0 if thick else flat[:, 2] ** 2))
    far = length * (1.0 - 1e-6)
    outer = (flat[:, 0] > far) | (flat[:, 1] < -far)
    sides = flat[:, 2] < 1e-6 * length
    if thick is None:
        outer |= flat[:, 2] > far
    else:
        sides |= flat[:, 2] > thick * (1.0 - 1e-6)
    body.lock(np.flatnonzero(flat[:, 0] < 1e-6 * length), "x")
    body.lock(np.flatnonzero(sides), "z")
    motion = field(flat[outer]) + [0.0, lift, 0.0]
    body.drive(np.flatnonzero(outer), lambda time, rest: rest + motion)
    world = ct.World([body], colliders=[shape], gravity=(0, 0, 0), dt=0.01, contact=ct.Contact(friction=0.0))
    (report,) = world.settle()
    assert report.converged
    force = -body._contact_force[:, 1]
    assert force.min() >= 0.0
    assert -shape.distances_at(body._x, 0.0, 0.0)[0].min() < 1e-6 * length  # of the control points
    return force


def _boussinesq(points, force):
    """Displacements by a force on the half-space y < 0 at the origin, downwards."""
    x, y, z = points.T
    r, rho = np.hypot(x, z), np.linalg.norm(points, axis=1)
    scale = force * (1.0 + POISSON) / (2.0 * np.pi * YOUNG * rho)
    radial = scale * (-r * y / rho**2 - (1.0 - 2.0 * POISSON) * r / (rho - y))
    down = scale * (2.0 * (1.0 - POISSON) + y * y / rho**2)
    angle = np.arctan2(z, x)
    return np.column_stack([radial * np.cos(angle), -down, radial * np.sin(angle)])


def _ball(depth, count, first, length, order, bump=False):
    """Press by `depth`, and return the force and the contact radius, both over Hertz's."""
    radius = np.sqrt(RADIUS * depth)
    force = 4.0 / 3.0 * MODULUS * np.sqrt(RADIUS) * depth**1.5
    curvature = 1.0 / RADIUS if bump else 0.0
    body = _block(count, first, length, order, bump=curvature)
    shape = ct.Plane(normal=(0, -1, 0)) if bump else ct.Sphere(center=(0.0, RADIUS, 0.0), radius=RADIUS)
    pressed = _settle(body, shape, length, lambda x: _boussinesq(x, force), depth, bump=curvature)
    x, _, z = body.positions.T
    found = np.sqrt(2.5 * (pressed @ (x * x + z * z)) / pressed.sum())  # of p = p0 sqrt(1 - r^2/a^2)
    return 4.0 * pressed.sum() / force, found / radius


@pytest.mark.parametrize("depth", [0.0016, 0.0025, 0.0049])
def test_a_rigid_ball_on_a_half_space_needs_the_force_of_hertz(depth):
    """F = 4/3 E* R^(1/2) d^(3/2) and a^2 = R d on one mesh, with cells of 0.01 where a = 0.04 to 0.07."""
    force, radius = _ball(depth, 9, 0.01, 0.3, order=2)
    assert force == pytest.approx(1.0, abs=0.02)
    assert radius == pytest.approx(1.0, abs=0.02)


def test_a_soft_bump_on_a_plate_needs_the_force_of_hertz():
    """The same with the curved surface on the soft side, under a plane; its flat facets lie a little lower."""
    force, radius = _ball(1e-4, 10, 0.01 / 6, 0.05, order=2, bump=True)
    assert force == pytest.approx(1.0, abs=0.02)
    assert radius == pytest.approx(1.0, abs=0.02)


def test_order_1_approaches_hertz_with_smaller_cells():
    errors = [abs(_ball(0.0025, 2 * n, 0.05 / n, 0.3, order=1)[0] - 1.0) for n in (3, 6)]
    assert errors[1] < 0.45 * errors[0]
    assert errors[1] < 0.08


def _flamant(points, force, far):
    """Displacements in plane strain by a force per length on the half-plane y < 0, downwards; zero about `far`."""
    ratio = POISSON / (1.0 - POISSON)
    r, angle = np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 0], -points[:, 1])
    k = force / (np.pi * MODULUS)
    log = 2.0 * k * np.log(r / far)
    radial = -log * np.cos(angle) - (1.0 - ratio) * k * angle * np.sin(angle)
    around = (2.0 * ratio * k + log + (1.0 - ratio) * k) * np.sin(angle) - (1.0 - ratio) * k * angle * np.cos(
        angle
    )
    down = radial * np.cos(angle) - around * np.sin(angle)
    right = radial * np.sin(angle) + around * np.cos(angle)
    return np.column_stack([right, -down, 0.0 * r])


@pytest.mark.parametrize("width", [0.04, 0.06])
def test_a_rigid_cylinder_on_a_half_plane_has_the_force_width_and_pressure_of_hertz(width):
    """b^2 = 4 F R / (pi L E*), the approach from Flamant's field, and p0 = (F E* / (pi R L))^(1/2)."""
    length, thick = 0.3, 0.015
    force = np.pi * MODULUS * width**2 / (4.0 * RADIUS)  # per length
    ratio = POISSON / (1.0 - POISSON)
    k = force / (np.pi * MODULUS)
    depth = k * (2.0 * np.log(2.0 * length / width) + 1.0 - (1.0 + ratio))
    body = _block(12, 0.05 / 6, length, 2, thick=thick)
    shape = ct.Capsule(start=(0, RADIUS, -2), end=(0, RADIUS, 2), radius=RADIUS)
    pressed = _settle(body, shape, length, lambda x: _flamant(x, force, length), depth, thick=thick)
    x = body.positions[:, 0]
    total = 2.0 * pressed.sum() / thick
    assert total == pytest.approx(force, rel=0.02)
    found = 2.0 * np.sqrt(pressed @ (x * x) / pressed.sum())  # of p = p0 sqrt(1 - x^2/b^2)
    assert found == pytest.approx(np.sqrt(4.0 * total * RADIUS / (np.pi * MODULUS)), rel=0.02)

    # The pressure: a Bernstein polynomial of degree 2 gets a third of the length of a cell, whatever its triangles are.
    line = _graded(12, 0.05 / 6, length)
    peak = np.sqrt(total * MODULUS / (np.pi * RADIUS))
    share = np.zeros(2 * 12 + 1)
    for k, cell in enumerate(np.diff(line)):
        share[2 * k : 2 * k + 3] += cell / 3.0
    place = np.empty(2 * 12 + 1)
    place[::2], place[1::2] = line, 0.5 * (line[1:] + line[:-1])
    column = np.abs(body.rest_positions[:, :1] - place).argmin(axis=1)
    pressure = np.bincount(column, weights=pressed) / (share * thick)
    middle = place < 0.6 * width
    profile = pressure[middle] / (peak * np.sqrt(1.0 - (place[middle] / found) ** 2))
    assert profile[0] == pytest.approx(1.0, abs=0.02)
    assert np.abs(profile - 1.0).max() < 0.05

"""Fit of distance fields: bases, errors, refinement, weights, continuity, and what the report says."""

import numpy as np
import pytest
from numpy.polynomial import legendre

import continua as ct
from continua.mesh import surfaces
from continua.sdf.continuity import CellFaces, smooth
from continua.sdf.octree import Octree, RootCell
from continua.sdf.sampling_rules import coefficient_count, orthonormal, rule

TORUS_BOX = [[-1.0] * 3, [1.0] * 3]


def torus(p):
    return np.hypot(np.hypot(p[:, 0], p[:, 1]) - 0.7, p[:, 2]) - 0.3


def squared_error(field, function, n=60):
    """The integral of the squared error over the field's box by the midpoint rule."""
    lower, upper = field.bounds
    axes = [lo + (hi - lo) * (np.arange(n) + 0.5) / n for lo, hi in zip(lower, upper, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return float(((field(points) - function(points)) ** 2).mean() * np.prod(upper - lower))


def test_the_basis_is_orthonormal():
    x, w = legendre.leggauss(16)
    values = orthonormal(10, x)
    np.testing.assert_allclose(values * (0.5 * w) @ values.T, np.eye(11), atol=1e-12)
    for count in (8, 12):
        law = rule(count)
        np.testing.assert_allclose((law.matrix / law.weights) @ law.matrix.T, np.eye(count - 1), atol=1e-12)
        assert law.weights.sum() == pytest.approx(1.0)


def one_cell(function):
    def sample(centers, halves, places):
        grid = np.stack(np.meshgrid(places, places, places, indexing="ij"), axis=-1)
        points = centers[:, None, None, None, :] + halves[:, None, None, None, None] * grid
        return function(points.reshape(-1, 3)).reshape(points.shape[:-1])

    return Octree(RootCell(np.array([-1.0] * 3), 2.0, np.ones(3, np.int32), 1.0), sample, 0.0)


@pytest.mark.parametrize("degree", [1, 3, 6, 10])
def test_a_polynomial_is_fitted_exactly_and_the_error_is_what_higher_degrees_hold(degree):
    rng = np.random.default_rng(degree)
    i, j, k = np.array(
        [(a, b, c) for a in range(11) for b in range(11) for c in range(11) if a + b + c <= degree]
    ).T
    known = rng.normal(size=len(i))

    def function(p):
        x, y, z = (orthonormal(10, p[:, d]) for d in range(3))
        return (known[:, None] * x[i] * y[j] * z[k]).sum(axis=0)

    tree = one_cell(function)
    choice = tree.choose(0.0)._replace(degrees=np.array([degree]))
    found, _ = tree.coefficients(choice)
    assert len(found) == coefficient_count(degree)
    np.testing.assert_allclose(found, known, atol=1e-12)
    # Without the highest degree the squared L2 error is the sum of its squared coefficients, times the volume 8; the
    # estimate adds a few per cent for samples that it does not see.
    left = 8.0 * (known[i + j + k == degree] ** 2).sum()
    assert left <= tree.errors[0, degree - 1] * (1.0 + 1e-9)
    assert tree.errors[0, degree] < 1e-14 * 8.0 * (known**2).sum()  # round-off of a difference of squares


@pytest.mark.parametrize(
    ("tolerance", "published"), [(1e-4, 5460), (1e-5, 17.7e3), (1e-6, 44.8e3), (1e-7, 84.4e3)]
)
def test_a_torus_takes_no_more_coefficients_than_published_and_keeps_the_tolerance(tolerance, published):
    field = ct.sdf.fit(torus, tolerance=tolerance, bounds=TORUS_BOX)
    np.testing.assert_allclose(field.bounds, [[-1.1] * 3, [1.1] * 3])
    assert len(field.table.coefficients) <= published  # Koschier 2016, base grid 4^3
    assert squared_error(field, torus) <= tolerance
    # Few places at the kinks hold most of the error, so that two sets of samples differ.
    assert 0.5 < field.report.squared_error / squared_error(field, torus) < 2.0


def balls(p):
    """Two balls: far from both, where they are equally far, the distance has a kink."""
    first, second = (np.linalg.norm(p - c, axis=1) for c in ([-0.7, 0.3, 0.1], [0.7, -0.2, -0.3]))
    return np.minimum(first, second) - 0.3


def test_near_weights_save_memory_at_equal_error_near_the_surface():
    even = ct.sdf.fit(balls, tolerance=1e-6, bounds=TORUS_BOX)
    for tolerance in (1e-7, 5e-8, 3e-8, 2e-8, 1e-8):
        near = ct.sdf.fit(balls, tolerance=tolerance, near=30.0, bounds=TORUS_BOX)
        if near.report.near_error <= even.report.near_error:
            break
    assert near.report.near_error <= even.report.near_error
    assert near.nbytes < 0.5 * even.nbytes


def test_smaller_beta_means_smaller_jumps():
    field = ct.sdf.fit(torus, tolerance=1e-4, bounds=TORUS_BOX)
    tree = Octree(
        RootCell(np.array([-1.1] * 3), 0.55, np.full(3, 4, np.int32), 1.0), lambda *a: _torus_cells(*a), 0.0
    )
    choice = tree.choose(1e-9)
    nodes, order = tree.numbered(choice.leaves)
    choice = choice._replace(leaves=choice.leaves[order], degrees=choice.degrees[order])
    c, starts = tree.coefficients(choice)
    ends = starts + coefficient_count(choice.degrees)
    table = field.table._replace(
        nodes=nodes,
        ends=ends.astype(np.int32),
        degrees=choice.degrees.astype(np.uint8),
        coefficients=c.astype("f4"),
    )
    faces = CellFaces(table, *tree.geometry(choice.leaves), 1.0)
    energies = [faces.energy(smooth(faces, c, beta)) for beta in (1e6, 30.0, 3.0, 0.3)]
    assert energies[0] > energies[1] > energies[2] > energies[3]
    assert energies[2] < energies[0] / 5.0
    np.testing.assert_allclose(smooth(faces, c, 1e6), c, atol=1e-5)
    # The pull is the derivative of the energy.
    direction = np.random.default_rng(0).normal(size=len(c))
    step = 1e-4
    slope = (faces.energy(c + step * direction) - faces.energy(c - step * direction)) / (2.0 * step)
    assert slope == pytest.approx(float(faces.gradient(c) @ direction), rel=1e-6)


def _torus_cells(centers, halves, places):
    grid = np.stack(np.meshgrid(places, places, places, indexing="ij"), axis=-1)
    points = centers[:, None, None, None, :] + halves[:, None, None, None, None] * grid
    return torus(points.reshape(-1, 3)).reshape(points.shape[:-1])


def test_jumps_are_those_of_the_field_itself():
    """Between cells of different size too: the energy equals a plain sum over points on all faces."""
    tree = one_cell(torus)
    tree.split(np.array([0]))
    tree.split(np.array([3]))
    leaves = np.flatnonzero(tree.children < 0)
    degrees = np.array([2, 3, 1, 4, 2, 3, 2, 2, 3, 2, 4, 1, 0, 2, 3])
    nodes, order = tree.numbered(leaves)
    from continua.sdf.field import FieldTable
    from continua.sdf.fit import _table
    from continua.sdf.octree import RefinementChoice

    choice = RefinementChoice(leaves[order], degrees, 0.0, 0)
    c, starts = tree.coefficients(choice)
    frame = np.array([-1.0, -1.0, -1.0, 0.5])
    table = FieldTable(
        frame, np.ones(3, np.int32), nodes, (starts + coefficient_count(degrees)).astype(np.int32),
        degrees.astype(np.uint8), c.astype(np.float32),
    )  # fmt: skip
    faces = CellFaces(table, *tree.geometry(choice.leaves), 1.0)
    smoothless = _table(tree, choice, 0.0)
    from continua.sdf.field import evaluate

    n = 256
    x, y = np.meshgrid((np.arange(n) + 0.5) / n * 2 - 1, (np.arange(n) + 0.5) / n * 2 - 1, indexing="ij")
    total = 0.0
    for axis in range(3):
        for plane in (-0.5, 0.0, 0.5):
            both = []
            for side in (-1e-9, 1e-9):
                points = np.empty((n * n, 3))
                points[:, axis] = plane + side
                points[:, (axis + 1) % 3], points[:, (axis + 2) % 3] = x.ravel(), y.ravel()
                both.append(evaluate(smoothless, points))
            total += 0.5 * ((both[0] - both[1]) ** 2).mean() * 4.0
    assert faces.energy(c) == pytest.approx(total, rel=2e-3)


def test_a_smooth_field_still_meets_its_tolerance():
    field = ct.sdf.fit(torus, tolerance=1e-5, continuity=3.0, bounds=TORUS_BOX)
    assert squared_error(field, torus) <= 1e-5


def test_the_gradient_is_the_derivative_and_has_length_one_near_the_surface():
    field = ct.sdf.fit(torus, tolerance=1e-7, bounds=TORUS_BOX)
    rng = np.random.default_rng(0)
    angle, around = rng.uniform(0, 2 * np.pi, (2, 2000))
    radius = 0.3 + rng.uniform(-0.05, 0.05, 2000)
    ring = 0.7 + radius * np.cos(around)
    points = np.stack([ring * np.cos(angle), ring * np.sin(angle), radius * np.sin(around)], axis=1)
    values, gradients = field.value_and_gradient(points)
    assert np.abs(np.linalg.norm(gradients, axis=1) - 1.0).max() < 0.05
    np.testing.assert_array_equal(values, field(points))
    step = 1e-5
    for d in range(3):
        shift = step * np.eye(3)[d]
        slope = (field(points + shift) - field(points - shift)) / (2.0 * step)
        assert np.quantile(np.abs(slope - gradients[:, d]), 0.99) < 1e-4  # but for steps across a face


def test_outside_of_its_box_a_field_goes_on():
    mesh = surfaces.sphere(1.0, 16)
    field = ct.sdf.fit(mesh, tolerance=1e-5)
    points = np.random.default_rng(0).normal(size=(200, 3))
    points *= 30.0 / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(
        field(points), 29.0, rtol=0.02
    )  # the point nearest to the box is not quite the nearest
    cosine = np.einsum("ij,ij->i", field.gradient(points), points) / 30.0
    assert cosine.min() > 0.999


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_size_does_not_matter(size):
    mesh = surfaces.torus(0.7, 0.3)
    one = ct.sdf.fit(mesh, tolerance=1e-4)
    other = ct.sdf.fit(mesh.transformed(scale=size), tolerance=1e-4)
    assert other.cell_count == one.cell_count
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (500, 3))
    np.testing.assert_allclose(other(size * points), size * one(points), atol=1e-5 * size)


def test_threads_do_not_change_a_bit():
    mesh = surfaces.torus(0.7, 0.3, (24, 12))
    before = ct.get_threads()
    fields = []
    try:
        for count in (1, 2):
            ct.set_threads(count)
            fields.append(ct.sdf.fit(mesh, tolerance=1e-5, continuity=5.0))
    finally:
        ct.set_threads(before)
    for first, second in zip(fields[0].table, fields[1].table, strict=True):
        assert np.array_equal(first, second)


def test_progress_runs_from_start_to_end():
    seen = []
    ct.sdf.fit(torus, tolerance=1e-4, bounds=TORUS_BOX, progress=lambda part, text: seen.append(part))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


BAD = {
    "tolerance": ({"tolerance": -1.0}, "tolerance"),
    "near": ({"near": float("nan")}, "near must be"),
    "bounds": ({"bounds": None}, "needs bounds"),
    "box": ({"bounds": [[0, 0, 0], [0, 0, 0]]}, "extent"),
    "cells": ({"cells": 0}, "cells"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_sentence(name):
    options, message = BAD[name]
    with pytest.raises(ct.InputError, match=message):
        ct.sdf.fit(torus, **{"bounds": TORUS_BOX, **options})


def test_a_function_that_answers_nonsense_gets_a_sentence():
    with pytest.raises(ct.InputError, match="finite"):
        ct.sdf.fit(lambda p: np.full(len(p), np.nan), bounds=TORUS_BOX)
    with pytest.raises(ct.InputError, match="what the function of a distance returns"):
        ct.sdf.fit(lambda p: p, bounds=TORUS_BOX)
    with pytest.raises(ct.InputError, match="surface or a function"):
        ct.sdf.fit(3.0)

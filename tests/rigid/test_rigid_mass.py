"""Mass, centre and inertia of solids against closed forms."""

import numpy as np
import pytest

import continua as ct
from continua.mesh import surfaces
from continua.rigid.geometry import geometry_of
from continua.rigid.mass import moments, principal


def test_a_box_has_the_inertia_of_the_textbook():
    size = np.array([1.0, 2.0, 3.0])
    volume, center, inertia = moments(surfaces.box(size, origin=(4.0, 5.0, 6.0)))
    assert volume == pytest.approx(6.0, rel=1e-14)
    assert center == pytest.approx([4.5, 6.0, 7.5], rel=1e-14)
    expected = volume / 12.0 * (np.sum(size**2) - size**2)
    assert inertia == pytest.approx(np.diag(expected), rel=1e-13, abs=1e-13)


def test_a_rotated_box_has_the_rotated_inertia():
    mesh = surfaces.box((1.0, 2.0, 3.0)).transformed(rotate=(0.3, -0.5, 0.7), translate=(1.0, 2.0, 3.0))
    values, axes = principal(moments(mesh).inertia)
    assert np.sort(values) == pytest.approx([2.5, 5.0, 6.5], rel=1e-12)
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "shape",
    [
        ct.Sphere(radius=0.7),
        ct.Capsule((0.0, 0.0, -0.4), (0.0, 0.0, 0.9), 0.3),
        ct.Cylinder((1.0, 2.0, 3.0), axis=(0.0, 1.0, 1.0), radius=0.4, height=1.3),
        ct.Box((1.0, 0.0, 0.0), (0.5, 1.0, 2.0), rotate=(0.2, 0.4, 0.1)),
    ],
)
def test_primitives_agree_with_fine_meshes_of_themselves(shape):
    solid = geometry_of(shape)
    fine = surfaces.sphere(0.7, 60) if isinstance(shape, ct.Sphere) else solid.surface
    volume, center, inertia = moments(fine)
    assert volume == pytest.approx(solid.volume, rel=2e-2)
    assert center == pytest.approx([0.0, 0.0, 0.0], abs=1e-3)
    assert np.diag(inertia) / volume == pytest.approx(solid.inertia, rel=2e-2)


def test_a_torus_has_the_inertia_of_the_textbook():
    big, small = 0.5, 0.2
    volume, _, inertia = moments(surfaces.torus(big, small, (200, 400)))
    assert volume == pytest.approx(2.0 * np.pi**2 * big * small**2, rel=3e-4)
    assert inertia[1, 1] / volume == pytest.approx(big**2 + 0.75 * small**2, rel=3e-4)
    assert inertia[0, 0] / volume == pytest.approx(0.5 * big**2 + 0.625 * small**2, rel=3e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ct.RigidBody(ct.Sphere(), mass=0.0), "mass must be a finite number greater than 0"),
        (lambda: ct.RigidBody(ct.Sphere(), density=-1.0), "density must be"),
        (lambda: ct.RigidBody(ct.Sphere()), "either a density or a mass"),
        (lambda: ct.RigidBody(ct.Plane(), mass=1.0), "not Plane"),
        (lambda: ct.RigidBody(ct.Sphere(inside=True), mass=1.0), "hollow"),
        (
            lambda: ct.RigidBody(
                ct.SurfaceMesh(surfaces.box().points, surfaces.box().triangles[1:]), mass=1.0
            ),
            "needs a closed surface",
        ),
        (
            lambda: ct.RigidBody(
                ct.SurfaceMesh(surfaces.box().points, surfaces.box().triangles[:, ::-1]), mass=1.0
            ),
            "inside out",
        ),
        (lambda: ct.RigidInstances(ct.Sphere(), [[0.0, 0.0]], mass=1.0), "numbers of shape"),
        (
            lambda: ct.joints.Ball(ct.RigidInstances(ct.Sphere(), np.zeros((2, 3)), mass=1.0)),
            "which instance",
        ),
        (
            lambda: ct.joints.Hinge(ct.RigidBody(ct.Sphere(), mass=1.0), limits=(1.0, 0.0)).all_rows(),
            "limits",
        ),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(ct.InputError, match=words):
        make()

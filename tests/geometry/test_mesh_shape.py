"""Meshes as colliders: the distance of a box mesh is that of the box (B8), and bad meshes are refused."""

import warnings

import numpy as np
import pytest

import continua as ct
from continua.mesh import surfaces
from continua.scene import parse_scene


def around(count, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (count, 3))


def test_mesh_of_a_cube_has_the_distance_and_normal_of_the_cube_in_all_regions():
    """Face, edge and corner regions, inside and outside; with a rounding that of the rounded cube outside."""
    mesh = surfaces.box((1, 1, 1), (3, 2, 1), origin=(-0.5, -0.5, -0.5))
    points = around(3000)
    gaps, normals = ct.MeshShape(mesh).distances(points)
    want, along = ct.Box().distances(points)
    np.testing.assert_allclose(gaps, want, atol=1e-12)
    depth = np.sort(0.5 - np.abs(points), axis=1)
    clear = (want > 0) | (depth[:, 1] - depth[:, 0] > 1e-9)
    np.testing.assert_allclose(normals[clear], along[clear], atol=1e-9)
    outer, _ = ct.MeshShape(mesh, rounding=0.1).distances(points)
    rounded, _ = ct.Box(size=(1.2, 1.2, 1.2), rounding=0.1).distances(points)
    np.testing.assert_allclose(outer[rounded > -0.1], rounded[rounded > -0.1], atol=1e-12)
    hollow, _ = ct.MeshShape(mesh, inside=True).distances(points)
    np.testing.assert_allclose(hollow, -want, atol=1e-12)


def test_a_volume_mesh_is_its_surface_and_a_custom_field_is_used():
    class Ball:
        def __call__(self, points):
            return np.linalg.norm(points, axis=1) - 1.0

        def gradient(self, points):
            return 3.0 * points  # any length

    points = around(200, 1)
    solid = ct.MeshShape(ct.mesh.box((1, 1, 1), (2, 2, 2)).transformed(translate=(-0.5, -0.5, -0.5)))
    np.testing.assert_allclose(solid.distances(points)[0], ct.Box().distances(points)[0], atol=1e-12)
    ball = ct.MeshShape(surfaces.sphere(1.0), field=Ball())
    gaps, normals = ball.distances(points)
    want, along = ct.Sphere().distances(points)
    np.testing.assert_allclose(gaps, want, atol=1e-12)
    np.testing.assert_allclose(normals, along, atol=1e-12)


def test_bad_meshes_are_refused():
    box = surfaces.box()
    with pytest.raises(ct.InputError, match="hole"):
        ct.MeshShape(ct.SurfaceMesh(box.points, box.triangles[1:]))
    with pytest.raises(ct.InputError, match="inside out"):
        ct.MeshShape(ct.SurfaceMesh(box.points, box.triangles[:, ::-1]))
    with pytest.raises(ct.InputError, match="empty"):
        ct.MeshShape(ct.SurfaceMesh(box.points, np.zeros((0, 3), int)))
    with pytest.raises(ct.InputError, match="mesh must be a SurfaceMesh"):
        ct.MeshShape("bunny.obj")
    with pytest.raises(ct.InputError, match="field"):
        ct.MeshShape(box, field=3)
    with pytest.raises(ct.InputError, match="rounding"):
        ct.MeshShape(box, rounding=-1)


def test_a_surface_that_intersects_itself_gives_a_warning():
    one, two = surfaces.box(), surfaces.box()
    points = np.concatenate([one.points, two.points + [0.3, 0.2, 0.1]])
    both = ct.SurfaceMesh(points, np.concatenate([one.triangles, two.triangles + len(one.points)]))
    with pytest.warns(UserWarning, match="goes through itself: [0-9]+ triangles cross others"):
        ct.MeshShape(both)
    with pytest.warns(UserWarning, match="goes through itself"):
        ct.sdf.exact(both)
    with pytest.warns(UserWarning, match="goes through itself"):
        ct.RigidBody(both, density=1000.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.MeshShape(one)
        ct.sdf.exact(both, sign="winding")


def test_scene_places_a_mesh(tmp_path):
    ct.mesh.write(surfaces.box((1, 1, 1), origin=(-0.5, -0.5, -0.5)), tmp_path / "cube.obj")
    (tmp_path / "scene.yaml").write_text(
        """
name: shapes
bodies: [{type: soft, name: ball, mesh: {type: sphere}, transform: {translate: [5, 0, 0]}}]
colliders:
  - {type: mesh, mesh: {type: file, path: cube.obj}, transform: {scale: 2, translate: [0, 1, 0]}}
  - {type: mesh, mesh: {type: torus}, motion: {type: translate, velocity: [1, 0, 0]}}
"""
    )
    cube, ring = ct.load_scene(tmp_path / "scene.yaml").build().colliders
    points = around(50, 2)
    want = ct.Box((0, 1, 0), (2, 2, 2)).distances(points)[0]
    np.testing.assert_allclose(cube.distances(points)[0], want, atol=1e-12)
    gaps, _, velocities = ring.distances_at(np.array([[2.0, 0.0, 0.0]]), 2.0, 0.1)
    assert 0.0 < gaps[0] < 0.31
    np.testing.assert_allclose(velocities, [[1, 0, 0]], atol=1e-12)


def test_parsed_scene_names_the_types():
    with pytest.raises(ct.InputError, match="capsule"):
        parse_scene("name: x\nbodies: []\ncolliders: [{type: cone}]\n")


def test_a_scene_fits_or_loads_the_field_of_a_collider(tmp_path, monkeypatch):
    monkeypatch.setattr("continua.scene.build_mesh.cache_root", lambda: tmp_path / "cache")
    bowl = ct.mesh.bowl(0.5, 0.1, 80.0, (4, 1)).surface
    ct.mesh.write(bowl, tmp_path / "bowl.ply")
    mesh = ct.mesh.read(tmp_path / "bowl.ply")
    ct.sdf.fit(mesh, tolerance=1e-5).save(tmp_path / "bowl.sdf")
    text = """
bodies:
  - {{type: rigid, name: ball, shape: {{type: sphere, radius: 0.1}}}}
  - {{type: rigid, name: other, transform: {{translate: [3, 0, 0]}},
     shape: {{type: mesh, mesh: {{type: sphere, radius: 0.2, cells: 2}}, fit: 1.0e-4}}}}
colliders:
  - {{type: mesh, mesh: {{type: file, path: bowl.ply}}, {0}, transform: {{scale: 2.0, translate: [1, 0, 0]}}}}
"""
    exact = ct.sdf.exact(mesh.transformed(scale=2.0, translate=(1, 0, 0)))
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 3)) * 0.9 + [1, -0.5, 0]
    for key in ("fit: 1.0e-5", "field: bowl.sdf"):
        (tmp_path / "scene.yaml").write_text(text.format(key))
        world = ct.load_scene(tmp_path / "scene.yaml").build()
        field = world.colliders[0].field
        report, wanted = field.field.report, exact(points)
        near = np.abs(wanted) < 0.05 * report.scale
        assert near.sum() > 20
        assert np.sqrt(np.mean((field(points) - wanted)[near] ** 2)) < 2.0 * report.near_error
    assert len(list((tmp_path / "cache").glob("field-*.sdf"))) == 2
    (tmp_path / "scene.yaml").write_text(text.format("field: bowl.sdf, fit: 1.0e-5"))
    with pytest.raises(ct.InputError, match="either 'field' or 'fit'"):
        ct.load_scene(tmp_path / "scene.yaml")
    ct.sdf.fit(mesh.transformed(scale=1.5), tolerance=1e-3).save(tmp_path / "bowl.sdf")
    (tmp_path / "scene.yaml").write_text(text.format("field: bowl.sdf"))
    with pytest.raises(ct.InputError, match="field of another mesh"):
        ct.load_scene(tmp_path / "scene.yaml").build()

"""Generated meshes against analytic volumes, known counts, and the checks every mesh must pass."""

import numpy as np
import pytest

from continua import mesh


def checked(m):
    """Pass a generated mesh through all checks of the constructor, which must find nothing to repair."""
    again = type(m)(m.points, m.cells)
    assert again.notes == ()
    return m


@pytest.mark.parametrize(
    ("n", "tets", "nodes"),
    [(1, 48, 36), (2, 384, 153), (4, 3072, 825), (8, 24576, 5265), (16, 196608, 37281)],
)
def test_bridge_has_the_published_counts(n, tets, nodes):
    m = mesh.bridge(n)
    assert (m.element_count, m.node_count) == (tets, nodes)
    np.testing.assert_allclose(m.bounds, [[0, 0, 0], [8, 1, 1]])
    np.testing.assert_allclose(m.volume, 8.0)


@pytest.mark.parametrize(("n", "fill"), [(4, 1.43), (8, 0.250)])
def test_bridge_matrix_has_the_published_fill(n, fill):
    m = mesh.bridge(n)
    entries = m.node_count + 2 * len(m.edges)
    assert abs(100.0 * entries / m.node_count**2 - fill) < 0.005


@pytest.mark.parametrize("split", [5, 6, 24])
def test_box_conforms_and_fills_its_size(split):
    m = checked(mesh.box((1, 2, 3), (3, 2, 4), split=split, origin=(-1, 0, 5)))
    assert m.element_count == split * 24
    np.testing.assert_allclose(m.volume, 6.0)
    np.testing.assert_allclose(m.bounds, [[-1, 0, 5], [0, 2, 8]])
    # A crack between cells would add boundary faces: each outer cell side has two triangles, or four.
    sides = 2 * (3 * 2 + 2 * 4 + 3 * 4)
    assert len(m.boundary_triangles) == sides * (4 if split == 24 else 2)


def test_24_split_has_the_published_counts():
    m = mesh.box((5, 1, 1), (5, 1, 1), split=24)
    assert (m.element_count, m.node_count) == (120, 55)
    assert m.node_count + len(m.edges) == 273  # nodes of quadratic elements
    assert m.node_count + 2 * len(m.edges) + len(m.faces) == 775  # and of cubic ones
    np.testing.assert_allclose(m.volumes, 1 / 24)


def test_hexes_of_a_warped_mesh_keep_their_volume_as_tets():
    rng = np.random.default_rng(1)
    h = mesh.hex_box((1, 1, 1), (3, 3, 3))
    warped = mesh.HexMesh(h.points + 0.04 * rng.uniform(-1, 1, h.points.shape), h.hexes, {"a": [3, 5]})
    # The face centre makes each side's triangles differ from the bilinear patch by a second-order volume
    # that neighbours share, so that only the outer sides count.
    tets = warped.to_tets()
    np.testing.assert_allclose(tets.volume, warped.volume, rtol=1e-2)
    np.testing.assert_allclose(tets.volumes[tets.regions["a"]].sum(), warped.volumes[[3, 5]].sum(), rtol=5e-2)
    assert checked(tets).element_count == 24 * 27


SHAPES = [
    (lambda n: mesh.sphere(0.5, n), np.pi / 6, 37.0),
    (lambda n: mesh.cylinder(0.5, 1.0, (n, 2 * n)), np.pi / 4, 34.0),
    (lambda n: mesh.torus(0.5, 0.2, (n, 12 * n)), 2 * np.pi**2 * 0.5 * 0.04, 20.0),
]


@pytest.mark.parametrize(("make", "volume", "angle"), SHAPES)
def test_round_bodies_converge_with_second_order_and_stay_well_shaped(make, volume, angle):
    errors = []
    for n in (2, 4, 8):
        m = checked(make(n))
        errors.append(volume - m.volume)
        quality = m.quality()
        assert quality.min_dihedral > angle
        assert quality.max_dihedral < 140
        assert quality.max_aspect < 3
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5
    assert 0 < errors[2] < 0.02 * volume


@pytest.mark.parametrize(
    ("surface", "volume", "area", "euler"),
    [
        (mesh.surfaces.box((1, 2, 3), (3, 4, 5)), 6.0, 22.0, 2),
        (mesh.surfaces.sphere(0.5, 24), np.pi / 6, np.pi, 2),
        (mesh.surfaces.cylinder(0.5, 1.0, (16, 8)), np.pi / 4, 1.5 * np.pi, 2),
        (mesh.surfaces.torus(0.5, 0.2, (64, 128)), 2 * np.pi**2 * 0.5 * 0.04, 4 * np.pi**2 * 0.1, 0),
    ],
)
def test_primitive_surfaces(surface, volume, area, euler):
    assert surface.is_closed
    assert surface.is_manifold
    assert surface.is_oriented
    np.testing.assert_allclose(surface.volume, volume, rtol=3e-3)
    np.testing.assert_allclose(surface.area, area, rtol=3e-3)
    assert surface.node_count - len(surface.edges) + surface.triangle_count == euler


def test_solid_and_surface_primitives_have_the_same_boundary():
    solid, surface = mesh.cylinder(0.5, 1.0, (3, 5)).surface, mesh.surfaces.cylinder(0.5, 1.0, (3, 5))
    np.testing.assert_allclose(
        np.unique(solid.points.round(12), axis=0), np.unique(surface.points.round(12), axis=0)
    )
    np.testing.assert_allclose(solid.volume, surface.volume)


def test_quality_of_known_tets():
    regular = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    quality = mesh.TetMesh(regular, [[0, 1, 2, 3]]).quality()
    angle = np.degrees(np.arccos(1 / 3))
    np.testing.assert_allclose([quality.min_dihedral, quality.max_dihedral], angle)
    np.testing.assert_allclose(quality.max_radius_edge, np.sqrt(6) / 4)
    np.testing.assert_allclose(quality.max_aspect, 1.0)
    np.testing.assert_allclose(quality.volume, 8 / 3)
    corner = mesh.TetMesh(np.vstack([np.zeros(3), np.eye(3)]), [[0, 1, 2, 3]]).quality()
    np.testing.assert_allclose(corner.max_dihedral, 90.0)
    np.testing.assert_allclose(corner.min_dihedral, np.degrees(np.arctan(np.sqrt(2))))
    np.testing.assert_allclose(corner.max_radius_edge, np.sqrt(3) / 2)
    inradius = 1 / (3 + np.sqrt(3))
    np.testing.assert_allclose(corner.max_aspect, np.sqrt(2) / (2 * np.sqrt(6) * inradius))
    assert corner.histogram.sum() == 6
    assert "90.0 deg" in str(corner)


def test_quality_of_a_sheared_hex():
    h = mesh.hex_box()
    shear = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
    quality = mesh.HexMesh(h.points @ shear, h.hexes).quality()
    np.testing.assert_allclose(quality.min_scaled_jacobian, np.sqrt(0.5))
    np.testing.assert_allclose(quality.volume, 1.0)
    assert "0.707" in str(quality)


@pytest.mark.parametrize("opening", [30.0, 90.0, 150.0])
def test_a_bowl_has_the_volume_of_a_part_of_a_shell(opening):
    outer, wall = 0.5, 0.1
    part = 2.0 * np.pi / 3.0 * (1.0 - np.cos(np.radians(opening)))
    errors = []
    for n in (6, 12):
        m = checked(mesh.bowl(outer, wall, opening, (n, 2)))
        errors.append(part * (outer**3 - (outer - wall) ** 3) - m.volume)
        radius = np.linalg.norm(m.surface.points, axis=1)
        assert radius.min() > outer - wall - 1e-12
        assert radius.max() < outer + 1e-12
    assert 0.0 < errors[1] < 0.3 * errors[0]

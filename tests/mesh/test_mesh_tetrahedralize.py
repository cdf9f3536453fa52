"""Tetrahedra from a surface: volume, size, shape, and clear refusals."""

import re
import sys
import tempfile

import numpy as np
import pytest
import trimesh

import continua as ct
from continua import mesh
from continua.errors import InputError, MissingExtraError, StoppedError
from continua.numerics.progress import progress_listener


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path))


def euler(surface):
    return surface.node_count - len(surface.edges) + surface.triangle_count


def test_cube_is_filled_exactly_and_the_same_again():
    cube = mesh.surfaces.box()
    m = mesh.tetrahedralize(cube, size=0.3)
    np.testing.assert_allclose(m.volume, 1.0, rtol=1e-3)
    np.testing.assert_allclose(m.bounds, cube.bounds, atol=2e-3)
    assert euler(m.surface) == 2
    assert m.surface.is_manifold
    assert (m.volumes > 0).all()
    again = mesh.tetrahedralize(cube, size=0.3)
    np.testing.assert_array_equal(m.points, again.points)
    np.testing.assert_array_equal(m.tets, again.tets)


def test_ring_keeps_its_hole_and_its_surface():
    ring = mesh.surfaces.torus(0.5, 0.2, (12, 32))
    m = mesh.tetrahedralize(ring, size=0.2)
    assert euler(m.surface) == 0
    np.testing.assert_allclose(m.volume, ring.volume, rtol=1e-2)
    diagonal = np.linalg.norm(ring.bounds[1] - ring.bounds[0])
    out = np.hypot(np.hypot(m.surface.points[:, 0], m.surface.points[:, 2]) - 0.5, m.surface.points[:, 1])
    assert np.abs(out - 0.2).max() < 0.2 * (1 - np.cos(np.pi / 12)) + 0.02 * (1 - np.cos(np.pi / 32)) + (
        2e-3 * diagonal
    )


def test_no_tet_is_larger_than_asked_and_halving_makes_more():
    ball = mesh.surfaces.sphere(0.5, 4)
    counts = []
    for limit in (4e-4, 2e-4):
        m = mesh.tetrahedralize(ball, max_volume=limit)
        assert m.volumes.max() <= limit
        counts.append(m.element_count)
    assert counts[1] > counts[0]


def test_smallest_angle_is_reached_or_told():
    m = mesh.tetrahedralize(mesh.surfaces.sphere(0.5, 4), size=0.25, min_dihedral=12.0)
    told = any("dihedral" in note for note in m.notes)
    assert (m.quality().min_dihedral >= 12.0) != told


def test_radius_to_edge_is_reached_or_told_and_nothing_becomes_flat():
    ball = mesh.surfaces.sphere(0.5, 4)
    m = mesh.tetrahedralize(ball, size=0.25, max_radius_edge=1.8)
    told = any("radius to edge" in note for note in m.notes)
    assert (m.quality().max_radius_edge <= 1.8) != told
    assert m.quality().min_dihedral > 5.0
    np.testing.assert_allclose(m.volume, ball.volume, rtol=0.02)


def test_the_mesher_tells_what_it_does_and_ends_when_it_is_told_to(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "scratch").mkdir()
    heard = []

    def hear(part, text):
        heard.append(text)
        if "tetrahedra" in text:
            raise StoppedError("enough")

    with pytest.raises(StoppedError, match="enough"), progress_listener(hear):
        mesh.tetrahedralize(mesh.surfaces.sphere(0.5, 4), size=0.025)
    assert all(text.startswith("meshing") for text in heard)
    assert len(heard) > 2
    assert not list((tmp_path / "scratch").iterdir())  # its process is gone, so its folder could be removed
    assert not list(tmp_path.glob("meshes/*"))  # and nothing half-made was kept


def test_hollow_ball_keeps_its_hollow():
    outer, inner = mesh.surfaces.sphere(0.5, 5), mesh.surfaces.sphere(0.25, 3)
    hollow = mesh.SurfaceMesh(
        np.vstack([outer.points, inner.points]),
        np.vstack([outer.triangles, inner.triangles[:, ::-1] + outer.node_count]),
    )
    m = mesh.tetrahedralize(hollow, size=0.2)
    np.testing.assert_allclose(m.volume, outer.volume - inner.volume, rtol=0.02)
    assert euler(m.surface) == 4


def test_doubled_nodes_and_inside_out_surfaces_are_mended():
    s = mesh.surfaces.sphere(0.5, 3)
    soup = mesh.SurfaceMesh(
        s.points[s.triangles[:, ::-1]].reshape(-1, 3), np.arange(3 * s.triangle_count).reshape(-1, 3)
    )
    m = mesh.tetrahedralize(soup, size=0.4)
    assert "welded" in m.notes[0]
    assert "inside out" in m.notes[1]
    np.testing.assert_allclose(m.volume, s.volume, rtol=0.02)


def test_open_surface_is_refused_or_closed_on_demand():
    s = mesh.surfaces.sphere(0.5, 5)
    opened = mesh.SurfaceMesh(s.points, s.triangles[1:])
    with pytest.raises(InputError, match=r"open at 3 edges, .*; close it, or ask for repair=True"):
        mesh.tetrahedralize(opened)
    m = mesh.tetrahedralize(opened, size=0.3, repair=True)
    np.testing.assert_allclose(m.volume, s.volume, rtol=0.03)
    assert "the surface had 3 open edges around 1 hole" in m.notes


def damaged(kind):
    """A ball, or two, with damage as in surfaces from scans and games, and the volume that is meant."""
    rng = np.random.default_rng(7)
    s = mesh.surfaces.sphere(0.5, 5)
    points, triangles, volume = s.points, s.triangles.copy(), s.volume
    match kind:
        case "holes":
            triangles = triangles[rng.random(len(triangles)) > 0.1]
        case "turned":
            some = rng.random(len(triangles)) < 0.3
            triangles[some] = triangles[some][:, ::-1]
        case "doubled":
            triangles = np.vstack([triangles, triangles[:40], triangles[40:60, ::-1]])
        case "fin":  # a sheet that stands on the surface
            far = len(points)
            a, b, _ = triangles[10]
            points = np.vstack([points, 1.5 * points[[a, b]]])
            triangles = np.vstack([triangles, [[a, b, far + 1], [a, far + 1, far]]])
        case "crossing":  # two balls through each other
            points = np.vstack([points, points + [0.5, 0.0, 0.0]])
            triangles = np.vstack([triangles, triangles + s.node_count])
            lens = np.pi * (4 * 0.5 + 0.5) * (2 * 0.5 - 0.5) ** 2 / 12.0
            volume = 2.0 * volume - lens * volume / (4.0 / 3.0 * np.pi * 0.5**3)
    return mesh.SurfaceMesh(points, triangles), volume


@pytest.mark.parametrize("kind", ["holes", "turned", "doubled", "fin", "crossing"])
def test_damaged_surfaces_are_filled_on_request(kind):
    surface, volume = damaged(kind)
    if kind != "crossing":  # closed, but going through itself: the mesher takes it anyway
        with pytest.raises(InputError, match="or ask for repair=True"):
            mesh.tetrahedralize(surface, size=0.25)
    m = mesh.tetrahedralize(surface, size=0.25, repair=True)
    np.testing.assert_allclose(m.volume, volume, rtol=0.02)
    assert m.surface.is_closed
    notes = " ".join(m.notes)
    words = {
        "holes": "open edges around",
        "turned": "face opposite ways",
        "doubled": "dropped 60 doubled triangles",
        "fin": "edge with more than two triangles",
        "crossing": "volume differs",
    }
    assert words[kind] in notes
    if kind == "holes":
        found = re.search(r"within (\S+) m .* up to (\S+) m from the surface", notes)
        boundary = trimesh.Trimesh(m.surface.points, m.surface.triangles, process=False)
        asked = np.vstack([surface.points, surface.points[surface.triangles].mean(axis=1)])
        _, nearest, _ = trimesh.proximity.closest_point_naive(boundary, asked)
        assert float(found[1]) == pytest.approx(nearest.max(), rel=0.01)
        assert float(found[1]) < 2e-3 * np.sqrt(3.0)  # the tolerance, relative to the diagonal
        assert 0.0 < float(found[2]) < 0.2


def test_the_mesher_is_stopped_at_the_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(
        InputError, match=r"stopped after 0\.5 s; ask for a larger size .* or raise time_limit"
    ):
        mesh.tetrahedralize(mesh.surfaces.sphere(0.5, 6), size=0.025, time_limit=0.5, cache=False)
    assert not list(tmp_path.iterdir())  # its process is gone, so its folder could be removed


def test_flat_surfaces_are_offered_as_plane_bodies():
    square = mesh.SurfaceMesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    tilted = square.transformed((1, 2, 3), (0.3, 0.2, 0.1))
    doubled = mesh.SurfaceMesh(tilted.points, np.vstack([tilted.triangles, tilted.triangles[:, ::-1]]))
    for surface in (square, tilted, doubled):
        assert surface.is_flat
        for repair in (False, True):
            with pytest.raises(
                InputError, match=r"flat: it has no volume to fill; make a plane body .* TriMesh"
            ):
                mesh.tetrahedralize(surface, repair=repair)
    assert mesh.TriMesh(square.points, square.triangles, thickness=0.1).volume == pytest.approx(0.1)
    assert not mesh.surfaces.box((1.0, 1e-3, 1.0)).is_flat
    with pytest.raises(InputError, match="flat: a rigid body of it has no mass"):
        ct.RigidBody(tilted, density=1.0)
    with pytest.raises(InputError, match="flat and has no inside"):
        ct.MeshShape(tilted)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": -1.0}, "size must be a finite number greater than 0"),
        ({"size": np.nan}, "size must be a finite number greater than 0"),
        ({"max_volume": 0.0}, "max_volume must be a finite number greater than 0"),
        ({"size": 1e-4}, "too many"),
        ({"min_dihedral": 80.0}, "min_dihedral"),
        ({"max_radius_edge": 0.5}, "max_radius_edge"),
        ({"tolerance": 0.5}, "tolerance"),
    ],
)
def test_nonsense_options(options, words):
    with pytest.raises(InputError, match=words):
        mesh.tetrahedralize(mesh.surfaces.box(), **options)


def test_bad_surfaces_are_refused_with_the_reason():
    s = mesh.surfaces.box()
    with pytest.raises(InputError, match="manifold"):
        mesh.tetrahedralize(mesh.SurfaceMesh(s.points, np.vstack([s.triangles, s.triangles[:1]])))
    turned = np.vstack([s.triangles[:1, ::-1], s.triangles[1:]])
    with pytest.raises(InputError, match="opposite ways"):
        mesh.tetrahedralize(mesh.SurfaceMesh(s.points, turned))
    flat = mesh.SurfaceMesh(s.points * [1, 0, 1] + [0, 1, 0], s.triangles)
    with pytest.raises(InputError, match="flat: it has no volume"):
        mesh.tetrahedralize(flat)


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytetwild", None)
    with pytest.raises(MissingExtraError, match=r"pip install .pytetwild"):
        mesh.tetrahedralize(mesh.surfaces.box(), size=0.5)

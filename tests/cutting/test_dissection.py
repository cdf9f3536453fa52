"""Cutting meshes: volumes, quadrature, the rules by which nodes get copies, and degenerate surfaces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import continua as ct
from continua.cutting import CutSurface, cut_tets
from continua.errors import InputError
from continua.mesh import TetMesh, connected_pieces

UNIT = TetMesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 1, 2, 3]]))


def box(*cells: int) -> TetMesh:
    return ct.mesh.box(size=(1.0, 1.0, 1.0), cells=cells or (3, 3, 3))


def piece_volumes(mesh: TetMesh) -> np.ndarray:
    return np.sort(np.bincount(connected_pieces(mesh), mesh.volumes))


def surface_volume(mesh: TetMesh) -> float:
    """Volume by the divergence theorem, from the triangles of the surface of the matter."""
    corners = mesh.matter_surface.points[mesh.matter_surface.triangles]
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)


def is_closed(mesh: TetMesh) -> bool:
    t = mesh.matter_surface.triangles
    edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    keys, counts = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    forward = edges[:, 0] < edges[:, 1]
    count = len(mesh.matter_surface.points)
    both = np.bincount(
        np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)[1].ravel(), np.where(forward, 1, -1)
    )
    assert count > keys.max()
    return bool((counts % 2 == 0).all() and (both == 0).all())


def test_a_plane_divides_a_tetrahedron_into_known_volumes_and_moments():
    mesh = cut_tets(UNIT, CutSurface.plane((0.3, 0, 0), (1, 0, 0))).mesh
    small = 0.7**3 / 6.0  # the corner beyond the plane is a tetrahedron of 0.7 of the size
    assert np.sort(mesh.volumes) == pytest.approx([small, 1 / 6 - small], rel=1e-12)
    touched, moments = mesh.subdomains.moments(mesh)
    corner = int(mesh.volumes.argmin())
    own = moments[list(touched).index(corner)]
    # x, y, z are the barycentric coordinates 1, 2, 3; moments over {x > 0.3}, x + y + z < 1, by hand:
    # the integral of y z over a corner tetrahedron of legs a is a^5 / 120, and of y^2 it is a^5 / 60
    assert own[2, 3] == pytest.approx(0.7**5 / 120.0, rel=1e-12)
    assert own[2, 2] == pytest.approx(0.7**5 / 60.0, rel=1e-12)
    # of x^2: x = 0.3 + s with the integral of (0.3 + s)^2 (0.7 - s)^2 / 2
    s = np.polynomial.legendre.leggauss(4)
    t = 0.35 * (s[0] + 1.0)
    assert own[1, 1] == pytest.approx(
        float((s[1] * 0.35 * (0.3 + t) ** 2 * (0.7 - t) ** 2 / 2).sum()), rel=1e-12
    )


def test_random_planes_and_kinks_through_random_tetrahedra_give_volumes_between_zero_and_the_whole():
    rng = np.random.default_rng(3)
    cut = 0
    for trial in range(1000):
        points = rng.normal(size=(4, 3))
        mesh = TetMesh(points, np.array([[0, 1, 2, 3]]))
        center = points.mean(axis=0) + 0.2 * rng.normal(size=3)
        if trial % 2:
            surface = CutSurface.plane(center, rng.normal(size=3))
        else:
            a, b = 20.0 * rng.normal(size=(2, 3))
            curve = np.stack([center - a, center, center + b])
            along = np.cross(a, b)
            along *= 40.0 / np.linalg.norm(along)
            surface = CutSurface.swept(curve - along / 2, along)
        try:
            new = cut_tets(mesh, surface).mesh
        except InputError:
            continue  # it misses
        cut += 1
        whole = mesh.volumes[0]
        assert (new.volumes > 0.0).all()
        assert (new.volumes < whole * (1 + 1e-12)).all()
        assert new.volumes.sum() == pytest.approx(whole, rel=1e-10)
        moments = new.subdomains.moments(new)[1].sum(
            axis=0
        )  # of all subdomains those of the whole: V (1 + d) / 20
        assert moments == pytest.approx(whole * (1 + np.eye(4)) / 20.0, rel=1e-9, abs=1e-12 * whole)
    assert cut > 600


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_quadrature_over_a_kinked_cut_is_exact(degree):
    """Integrals over the part of the unit tetrahedron below a kinked surface, against integrals over its two wedges."""
    kink = CutSurface.swept(
        [[-5, 0.3 + 0.3 * 5.25, -9], [0.25, 0.3, -9], [5.25, 0.3 + 5.0 * 0.5, -9]], (0, 0, 18)
    )
    mesh = cut_tets(UNIT, kink).mesh
    touched, moments = mesh.subdomains.moments(mesh)
    below = int(
        np.argmin(
            [
                mesh.subdomains.points[mesh.subdomains.cells[mesh.subdomains.owners == e]].mean(axis=(0, 1))[
                    1
                ]
                for e in touched
            ]
        )
    )
    own = moments[below]
    # y < f(x) = 0.3 + 0.3 (0.25 - x) for x < 0.25, 0.3 + 0.5 (x - 0.25) beyond, and y < 1 - x; then z < 1 - x - y
    xs = [0.0, 0.25, (1.0 - 0.3 + 0.125) / 1.5, 1.0]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = np.zeros(3)
    for low, high in itertools.pairwise(xs):
        x = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        top = np.minimum(np.where(x < 0.25, 0.3 + 0.3 * (0.25 - x), 0.3 + 0.5 * (x - 0.25)), 1.0 - x)
        for xi, ti, wi in zip(x, top, 0.5 * (high - low) * weights, strict=True):
            y = 0.5 * ti * (nodes + 1.0)
            h = 1.0 - xi - y
            total += (
                wi
                * 0.5
                * ti
                * np.array([(weights * h).sum(), (weights * y * h).sum(), (weights * y * y * h).sum()])
            )
    found = [own.sum(), own[2].sum(), own[2, 2]][degree]
    assert found == pytest.approx(total[degree], rel=1e-10)


def test_the_volume_inside_a_sphere_converges_with_the_square_of_its_triangles():
    trimesh = pytest.importorskip("trimesh")
    mesh = box(2, 2, 2)
    errors = []
    for level in (0, 1):
        ball = trimesh.creation.icosphere(subdivisions=level, radius=0.37)
        new = cut_tets(mesh, CutSurface.mesh(ball.vertices + [0.501, 0.497, 0.503], ball.faces)).mesh
        inside = piece_volumes(new)[0]
        assert inside == pytest.approx(ball.volume, rel=1e-10)  # exact for the triangles
        assert is_closed(new)
        errors.append(1.0 - inside / (4 / 3 * np.pi * 0.37**3))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)


@pytest.mark.parametrize(
    ("normal", "point"),
    [
        ((1, 0, 0), (0.37, 0, 0)),  # anywhere
        ((1, 0, 0), (1 / 3, 0, 0)),  # along faces of elements
        ((1, 1, 0), (0.5, 0.5, 0)),  # through edges
        ((1, 1, 1), (0.5, 0.5, 0.5)),  # through vertices
        ((1, 0, 0), (1 / 3 + 1e-13, 0, 0)),  # off faces by rounding
        ((1, 0, 0), (1 / 3 + 1e-9, 0, 0)),  # slivers of 1e-9
        ((1, 0, 0), (1 / 3 + 1e-6, 0, 0)),
        ((1, 0.3, 0.2), (0.5, 0.5, 0.5)),
    ],
)
def test_a_plane_separates_a_box_exactly(normal, point):
    change = cut_tets(box(), CutSurface.plane(point, normal))
    change.check()
    mesh = change.mesh
    volumes = piece_volumes(mesh)
    assert len(volumes) == 2
    assert volumes.sum() == pytest.approx(1.0, abs=1e-14)
    if normal == (1, 0, 0):
        assert volumes[0] == pytest.approx(point[0], abs=1e-8)
    else:
        assert volumes[0] == pytest.approx(0.5, abs=1e-12)
    assert is_closed(mesh)
    assert surface_volume(mesh) == pytest.approx(1.0, abs=1e-12)
    flanks = mesh.matter_surface.faces < 0
    corners = mesh.matter_surface.points[mesh.matter_surface.triangles[flanks]]
    area = (
        0.5
        * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    )
    if normal == (1, 0, 0):
        assert area == pytest.approx(2.0, abs=1e-4)  # sides of slivers that changed sides are flanks too


def test_a_cut_along_faces_is_the_split_of_the_mesh_there():
    mesh = box()
    cut = cut_tets(mesh, CutSurface.plane((1 / 3, 0, 0), (1, 0, 0))).mesh
    left = np.flatnonzero(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 1 / 3)
    split = ct.mesh.split_faces(mesh, ct.mesh.faces_between(mesh, left)).mesh
    assert cut.element_count == split.element_count
    assert cut.node_count == split.node_count
    assert cut.volumes == pytest.approx(split.volumes, rel=1e-14)


def test_crossing_cuts_and_repeated_cuts_make_all_pieces():
    mesh = box()
    for k, normal in enumerate(np.eye(3)):
        mesh = cut_tets(mesh, CutSurface.plane((0.37, 0.41, 0.62), normal)).mesh
        assert len(piece_volumes(mesh)) == 2 ** (k + 1)
        assert is_closed(mesh)
    expected = np.sort([x * y * z for x in (0.37, 0.63) for y in (0.41, 0.59) for z in (0.62, 0.38)])
    assert piece_volumes(mesh) == pytest.approx(expected, rel=1e-12)
    diagonal = cut_tets(mesh, CutSurface.plane((0.5, 0.5, 0.5), (1, 1, 1))).mesh
    assert diagonal.volumes.sum() == pytest.approx(1.0, abs=1e-13)
    assert is_closed(diagonal)


def test_a_cut_that_meets_another_one_makes_three_pieces():
    mesh = cut_tets(box(), CutSurface.plane((0.37, 0, 0), (1, 0, 0))).mesh
    mesh = cut_tets(mesh, CutSurface.swept([[0.37, 0.43, -1], [2, 0.43, -1]], (0, 0, 3))).mesh
    assert piece_volumes(mesh) == pytest.approx(np.sort([0.37, 0.63 * 0.43, 0.63 * 0.57]), rel=1e-12)
    assert is_closed(mesh)


def test_a_cut_opens_only_where_elements_are_divided_and_goes_on_later():
    start = box(4, 4, 4)
    half = cut_tets(start, CutSurface.swept([[-0.5, 0.43, -1], [0.55, 0.43, -1]], (0, 0, 3))).mesh
    assert len(piece_volumes(half)) == 1
    assert half.node_count > start.node_count
    assert is_closed(half)
    opened = half.matter_surface.points[half.matter_surface.triangles[half.matter_surface.faces < 0]]
    assert 0.25 <= opened[..., 0].max() <= 0.55
    whole = cut_tets(half, CutSurface.swept([[0.55, 0.43, -1], [1.5, 0.43, -1]], (0, 0, 3))).mesh
    assert piece_volumes(whole) == pytest.approx([0.43, 0.57], rel=1e-12)
    at_once = cut_tets(start, CutSurface.plane((0, 0.43, 0), (0, 1, 0))).mesh
    assert whole.node_count == at_once.node_count


def test_an_element_that_is_cut_in_part_is_not_enriched():
    inside = CutSurface.mesh([[0.1, 0.1, 0.1], [0.3, 0.1, 0.1], [0.1, 0.3, 0.2]], [[0, 1, 2]])
    change = cut_tets(UNIT, inside)
    assert change.mesh.node_count == 4
    assert change.mesh.element_count == 1
    assert change.mesh.volumes.sum() == pytest.approx(1 / 6, rel=1e-14)


def fan() -> TetMesh:
    """The elements around one node, which is the first: the subdivision of an octahedron."""
    outer = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    tets = [[0, x, y, z] for x in (1, 2) for y in (3, 4) for z in (5, 6)]
    return TetMesh(np.concatenate([[[0.0, 0, 0]], outer]), np.array(tets))


def test_a_surface_that_passes_the_elements_of_a_node_three_times_gives_it_three_enrichments():
    """An S that crosses a one-ring three times leaves four regions, so the node has four copies (Koschier 2018)."""
    s = [[-3, 0, -0.35], [3, 0, -0.35], [3, 0, 0.13], [-3, 0, 0.13], [-3, 0, 0.41], [3, 0, 0.41]]
    curve = np.array(s)[:, [0, 1, 2]]
    mesh = cut_tets(fan(), CutSurface.swept(curve - [0, 4, 0], (0, 8, 0))).mesh
    copies = mesh.subdomains.sites == 0
    assert copies.sum() == 4
    assert len(piece_volumes(mesh)) == 4


def test_two_notches_give_the_node_between_them_two_enrichments():
    """A tube that leaves and enters a one-ring gives a region for every part that it separates."""
    notch = CutSurface.swept([[0.4, -3, 0.31], [0.4, 3, 0.31]], (5, 0, 0))
    other = CutSurface.swept([[-0.4, -3, 0.31], [-0.4, 3, 0.31]], (-5, 0, 0))
    base = fan()
    one = cut_tets(base, notch).mesh
    # a notch that ends inside of the ring divides elements, but does not separate the ring
    assert (one.subdomains.sites == 0).sum() == 1
    two = cut_tets(one, other).mesh
    joined = CutSurface.swept([[0.4, -3, 0.31], [0.4, 3, 0.31]], (-0.8, 0, 0))
    three = cut_tets(two, joined).mesh
    assert (three.subdomains.sites == 0).sum() == 2


def test_only_nodes_of_divided_elements_get_copies():
    mesh = box(6, 4, 4)
    change = cut_tets(mesh, CutSurface.plane((0.42, 0, 0), (1, 0, 0)))
    divided = ((mesh.points[mesh.cells][:, :, 0] < 0.42).any(axis=1)) & (
        (mesh.points[mesh.cells][:, :, 0] > 0.42).any(axis=1)
    )
    assert change.mesh.element_count - mesh.element_count == divided.sum()
    assert change.mesh.node_count - mesh.node_count == len(np.unique(mesh.cells[divided]))


@pytest.mark.parametrize(
    "surface",
    [
        CutSurface.plane((2, 0, 0), (1, 0, 0)),
        CutSurface.mesh([[3, 0, 0], [4, 0, 0], [3, 1, 0]], [[0, 1, 2]]),
    ],
)
def test_a_surface_outside_is_refused(surface):
    with pytest.raises(InputError, match="does not meet the body"):
        cut_tets(box(), surface)


def test_a_surface_that_lies_on_the_boundary_changes_nothing():
    new = cut_tets(box(), CutSurface.plane((0, 0, 0), (1, 0, 0))).mesh
    assert new.node_count == box().node_count
    assert len(piece_volumes(new)) == 1


def test_a_surface_that_crosses_itself_makes_four_quarters():
    corners = [
        [-1, -1, -1],
        [2, 2, -1],
        [2, 2, 2],
        [-1, -1, 2],
        [-1, 2, -1],
        [2, -1, -1],
        [2, -1, 2],
        [-1, 2, 2.0],
    ]
    x = CutSurface.mesh(np.array(corners), np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]))
    new = cut_tets(box(), x).mesh
    assert piece_volumes(new) == pytest.approx([0.25] * 4, rel=1e-12)
    assert is_closed(new)


def test_many_small_triangles_of_a_plane_cut_like_the_plane():
    n = 24
    u = np.linspace(-0.5, 1.5, n + 1)
    points = np.array([[0.43 + 0.2 * (b - 0.5), a, b] for a in u for b in u])
    low = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    quads = np.stack([low, low + 1, low + n + 2, low + n + 1], axis=1)
    fine = cut_tets(box(), CutSurface.mesh(points, quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3))).mesh
    plane = cut_tets(box(), CutSurface.plane((0.43, 0.5, 0.5), (1, 0, -0.2))).mesh
    assert fine.node_count == plane.node_count
    assert np.sort(fine.volumes) == pytest.approx(np.sort(plane.volumes), rel=1e-9, abs=1e-14)


def test_wrong_surfaces_get_one_sentence():
    with pytest.raises(InputError, match="must not be zero"):
        CutSurface.plane((0, 0, 0), (0, 0, 0))
    with pytest.raises(InputError, match="no area"):
        CutSurface.mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    with pytest.raises(InputError, match="do not exist"):
        CutSurface.mesh([[0, 0, 0], [1, 0, 0], [2, 1, 0]], [[0, 1, 3]])
    with pytest.raises(InputError, match=r"finite|numbers"):
        CutSurface.mesh([[0, 0, 0], [1, 0, np.nan], [2, 1, 0]], [[0, 1, 2]])
    with pytest.raises(InputError, match="at least 2 points"):
        CutSurface.swept([[0, 0, 0]], (0, 0, 1))


def test_a_cut_mesh_is_not_refined_or_split():
    mesh = cut_tets(box(), CutSurface.plane((0.4, 0, 0), (1, 0, 0))).mesh
    with pytest.raises(InputError, match="before the first cut"):
        ct.mesh.refine_tets(mesh, [0])
    with pytest.raises(InputError, match="before the first cut"):
        ct.mesh.split_faces(mesh, [0])

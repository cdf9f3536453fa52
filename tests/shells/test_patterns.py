"""Sheets sewn from flat patterns."""

import numpy as np
import pytest

import continua as ct
from continua.scene import parse_scene
from tests.shells.test_cloth_forces import forces_and_stiffness

SQUARE = [(0, 0), (0.4, 0), (0.4, 0.4), (0, 0.4)]
NAMES = {"a": 0, "b": 1, "c": 2, "d": 3}


def cushion(gap=0.02, size=0.05):
    pieces = {
        "front": ct.Pattern(SQUARE, sides=NAMES, translate=(0, 0, gap)),
        "back": ct.Pattern(SQUARE, sides=NAMES, translate=(0, 0, -gap)),
    }
    return ct.sew(pieces, [(f"front.{s}", f"back.{s}") for s in NAMES], size=size)


def tube(radius=0.1, height=0.3, size=0.04):
    """A tube of one piece, of which two sides are sewn to each other."""
    width = 2.0 * np.pi * radius
    piece = ct.Pattern(
        [(0, 0), (width, 0), (width, height), (0, height)], sides={"left": 3, "right": 1}, wrap=radius
    )
    return ct.sew({"tube": piece}, [("tube.left", "tube.right")], size=size)


def test_cushion_is_closed_and_has_the_area_of_its_patterns():
    mesh = cushion()
    assert mesh.is_closed
    assert mesh.is_oriented
    assert mesh.areas.sum() == pytest.approx(2 * 0.16, rel=1e-12)
    assert sorted(mesh.regions) == ["back", "front"]
    # Euler's formula of a sphere
    assert mesh.node_count - len(mesh.edges) + mesh.element_count == 2


def test_tube_sewn_from_one_piece():
    mesh = tube()
    assert mesh.is_oriented
    assert mesh.node_count - len(mesh.edges) + mesh.element_count == 0
    assert np.abs(np.hypot(mesh.points[:, 0], mesh.points[:, 2]) - 0.1).max() < 1e-12
    assert mesh.areas.sum() == pytest.approx(2 * np.pi * 0.1 * 0.3, rel=1e-12)


def test_rest_shape_is_the_flat_pattern():
    """Wrapped around a cylinder, cloth has no strain but that of chords; laid flat it has none at all."""
    law = ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0)
    piece = ct.Pattern(
        [(0, 0), (0.5, 0), (0.4, 0.3), (0, 0.35)], wrap=0.2, rotate=(0.3, -0.2, 0.5), grain=37.0
    )
    mesh = ct.sew({"one": piece}, size=0.05)
    cloth = ct.Cloth(mesh, law, thickness=1e-3, bending=ct.Bending(stiffness=1e-3))
    stretch = np.linalg.svd(cloth._elements.membrane.deformation(mesh.points), compute_uv=False)
    assert np.abs(stretch - 1.0).max() < (0.05 / 0.2) ** 2 / 12.0
    flat = np.zeros_like(mesh.points)
    flat[mesh.cells, :2] = mesh.flat
    bent, _ = forces_and_stiffness(cloth._elements, mesh.points.copy())
    scale = np.abs(bent).max()
    force, _ = forces_and_stiffness(cloth._elements, flat)
    assert np.abs(force).max() < 1e-9 * scale
    assert cloth.mass_total == pytest.approx(300.0 * 1e-3 * mesh.areas.sum())
    shell = ct.Shell(mesh, law, thickness=1e-3)
    assert np.abs(forces_and_stiffness(shell._elements, flat)[0]).max() < 1e-9 * scale


def test_square_bag_has_the_volume_of_the_paper_bag_problem():
    """w^3 (h / (pi w) - 0.142 (1 - 10^(-h/w))) for an inextensible bag of w x h (Robin 2004)."""
    mesh = cushion(size=0.03)
    law = ct.StVenantKirchhoff(young=2e6, poisson=0.3, density=300.0)
    cloth = ct.Cloth(mesh, law, thickness=1e-3, bending=ct.Bending(stiffness=1e-7), damping=(4.0, 1e-4))
    load = cloth.inflate(100.0)
    world = ct.World([cloth], gravity=(0, 0, 0), dt=0.01)
    for _ in range(150):
        world.step()
    wanted = 0.4**3 * (1.0 / np.pi - 0.142 * 0.9)
    assert load.volume == pytest.approx(wanted, rel=0.06)


def test_darts_make_a_cone():
    """A disc from which a sector is cut, sewn along the cut, is a cone whose slope follows from the missing angle."""
    radius, missing = 0.3, np.pi / 2
    angles = np.linspace(0.0, 2 * np.pi - missing, 37)
    rim = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    piece = ct.Pattern([(0, 0), *rim], sides={"first": 0, "last": 37})
    mesh = ct.sew({"cone": piece}, [("cone.first", "cone.last")], size=0.05)
    assert mesh.node_count - len(mesh.edges) + mesh.element_count == 1  # a disc
    law = ct.StVenantKirchhoff(young=1e6, poisson=0.3, density=300.0)
    cloth = ct.Cloth(mesh, law, thickness=1e-3, bending=ct.Bending(stiffness=1e-5), damping=(2.0, 0.002))
    tip = int(np.argmin(np.linalg.norm(mesh.points, axis=1)))
    start = cloth.rest_positions.copy()
    distance = np.linalg.norm(start[:, :2], axis=1)
    turn = np.arctan2(start[:, 1], start[:, 0]) % (2 * np.pi) / (1 - missing / (2 * np.pi))
    share = 1.0 - missing / (2 * np.pi)
    on_seam = (turn > 2 * np.pi - 1e-6) | (turn < 1e-6)
    assert on_seam.sum() >= 2
    cone = np.column_stack(
        [
            distance * share * np.cos(turn),
            distance * share * np.sin(turn),
            -distance * np.sqrt(1 - share**2),
        ]
    )
    cone[tip] = 0.0
    far = np.linalg.norm(cone - start, axis=1) < 10.0
    cloth.positions = np.where(far[:, None], cone, start)
    cloth.pin([tip])
    world = ct.World([cloth], gravity=(0, 0, 0), dt=0.01)
    for _ in range(60):
        world.step()
    x = cloth.positions
    edge = np.linalg.norm(mesh.flat.reshape(-1, 2), axis=1) > radius * 0.98
    edge = np.unique(mesh.cells.ravel()[edge])
    depth = np.abs((x[edge] - x[tip]) @ np.linalg.svd(x[edge] - x[edge].mean(axis=0))[2][2])
    assert depth.mean() == pytest.approx(radius * np.sqrt(1 - share**2), rel=0.05)


def test_seams_of_different_lengths():
    short = ct.Pattern([(0, 0), (0.3, 0), (0.3, 0.1), (0, 0.1)], sides={"top": 2})
    long = ct.Pattern([(0, 0), (0.5, 0), (0.5, 0.1), (0, 0.1)], sides={"bottom": 0}, translate=(-0.1, 0.1, 0))
    pieces, seam = {"short": short, "long": long}, [("short.top", "long.bottom")]
    with pytest.raises(ct.InputError, match=r"different lengths, 0\.3 m and 0\.5 m"):
        ct.sew(pieces, seam, size=0.03)
    mesh = ct.sew(pieces, seam, size=0.03, gather=True)
    assert mesh.areas.sum() == pytest.approx(0.08, rel=1e-12)
    assert mesh.node_count - len(mesh.edges) + mesh.element_count == 1


def test_sides_of_several_parts_match_corner_by_corner():
    first = ct.Pattern([(0, 0), (0.2, 0), (0.3, 0.1), (0.3, 0.4), (0, 0.4)], sides={"hem": [0, 1, 2]})
    length = 0.2 + np.sqrt(0.02) + 0.3
    other = ct.Pattern(
        [(0, 0), (length, 0), (length, 0.2), (0, 0.2)], sides={"hem": [0]}, translate=(0, 0, 0.5)
    )
    mesh = ct.sew({"a": first, "b": other}, [("a.hem", "b.hem")], size=0.05)
    assert mesh.is_oriented
    assert mesh.node_count - len(mesh.edges) + mesh.element_count == 1


def test_sewn_cloth_is_restored_bitwise():
    law = ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0)
    worlds = [ct.World([ct.Cloth(cushion(), law, thickness=1e-3, name="c")], dt=0.01) for _ in range(2)]
    for _ in range(4):
        worlds[0].step()
    worlds[1].restore(worlds[0].state())
    for world in worlds:
        world.step()
    assert worlds[0]["c"].positions.tobytes() == worlds[1]["c"].positions.tobytes()


def test_scene_of_patterns():
    scene = parse_scene(
        """
bodies:
  - type: cloth
    name: bag
    mesh:
      type: patterns
      size: 0.1
      patterns:
        - name: front
          outline: &o [[0, 0], [0.4, 0], [0.4, 0.4], [0, 0.4]]
          sides: &s {a: [1, 2, 3]}
          translate: [0, 0, 0.1]
        - {name: back, outline: *o, sides: *s}
      seams: [[front.a, back.a]]
"""
    )
    world = scene.build()
    world.step()
    assert world["bag"].mesh.areas.sum() == pytest.approx(0.32)


@pytest.mark.parametrize(
    ("pieces", "seams", "words"),
    [
        ({}, [], "at least one pattern"),
        ({"p": {}}, [("p.a", "q.b")], "'pattern.side'"),
        ({"p": {}}, [("p.a", "p.z")], "no side 'z'"),
        ({"p": {}}, [("p.a", "p.b"), ("p.c", "p.b")], "two seams"),
        ({"p": {"sides": {"a": [0, 2], "b": 1}}}, [("p.a", "p.b")], "follow each other"),
        ({"p": {"sides": {"a": 7, "b": 1}}}, [("p.a", "p.b")], "sides 0 to 3"),
        (
            {"p": {"outline": [(0, 0), (1, 1), (1, 0), (0, 1)]}},
            [],
            "pattern 'p': side 0 of the outline meets",
        ),
        ({"p": {"holes": [np.array(SQUARE) + 5.0]}}, [], "pattern 'p': hole 0 lies outside"),
    ],
)
def test_bad_patterns_are_refused(pieces, seams, words):
    made = {
        name: ct.Pattern(**{"outline": SQUARE, "sides": NAMES, **given}) for name, given in pieces.items()
    }
    with pytest.raises(ct.InputError, match=words):
        ct.sew(made, seams, size=0.1)

"""A liquid at rest around obstacles of any shape stays at rest: its pressure is hydrostatic in every cell."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.grid_fluids import Liquid
from continua.grid_fluids.free_surface.level_set import LevelSet
from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.grid import make_grid


def star(center: tuple[float, float], turn: float) -> ct.Polygon:
    angles = np.linspace(0.0, 2.0 * np.pi, 11)[:-1] + turn
    radii = np.where(np.arange(10) % 2, 0.12, 0.3)
    return ct.Polygon(
        np.stack([center[0] + radii * np.cos(angles), center[1] + radii * np.sin(angles)], axis=1)
    )


def turned_box(angle: float) -> ct.Polygon:
    c, s = np.cos(angle), np.sin(angle)
    corners = np.array([[-0.2, -0.15], [0.2, -0.15], [0.2, 0.15], [-0.2, 0.15]])
    return ct.Polygon(corners @ np.array([[c, s], [-s, c]]) + [0.5, 0.6])


# in a gap between two obstacles, some cells inside them have no two open cells in line
GAP = [
    ct.Polygon([[0.5508, 0.8734], [0.2337, 0.9009], [0.4025, 0.6572]]),
    ct.Polygon([[0.6719, 0.6292], [0.4843, 0.6967], [0.313, 0.4942], [0.5843, 0.431]]),
]


@pytest.mark.parametrize("viscosity", [0.0, 60.0])
@pytest.mark.parametrize(
    ("cells", "height", "obstacles"),
    [
        (64, 0.6, [ct.Polygon([[0.3, 0.7], [0.7, 0.75], [0.5, 0.3]])]),
        (
            64,
            0.5703125,
            [ct.Polygon([[0.3, 0.7], [0.7, 0.75], [0.5, 0.3]])],
        ),  # the surface is at cell centres
        (64, 0.6093, [star((0.5, 0.6), 0.2)]),
        (48, 0.5703125, [star((0.45, 0.55), 0.9)]),
        (64, 0.5782, [turned_box(0.5)]),
        (33, 0.6, [turned_box(1.1)]),
        (64, 0.578125, [ct.Polygon([[0.4, -0.1], [1.1, -0.1], [1.1, 0.9]])]),
        (20, 0.72289, GAP),
    ],
)
def test_a_pool_around_slanted_walls_stays_at_rest(cells, height, obstacles, viscosity):
    """A viscous one too: faces in air whose centre is inside a wall have the velocity of the wall, they do not fall."""
    liquid = Liquid(
        (1.0, 1.0),
        (cells, cells),
        block=((0.0, 0.0), (1.0, height)),
        obstacles=obstacles,
        viscosity=viscosity,
        name="w",
    )
    world = ct.World([liquid], dt=0.02)
    for _ in range(40):
        world.step()
        assert liquid.flow.fields.max_speed() < 1e-3


def turned_block(angles: tuple[float, float, float]) -> ct.MeshShape:
    block = ct.mesh.box((0.45, 0.4, 0.35), (1, 1, 1), origin=(-0.225, -0.2, -0.175))
    return ct.MeshShape(block.transformed(rotate=angles, translate=(0.48, 0.55, 0.52)))


@pytest.mark.parametrize("viscosity", [0.0, 60.0])
@pytest.mark.parametrize(
    "obstacle",
    [
        ct.Sphere(center=(0.5, 0.5, 0.45), radius=0.21),
        ct.Capsule((0.5525, 0.3651, 0.3), (0.9525, 0.6651, 0.7), 0.1986),
        turned_block((0.4, 0.7, 0.2)),
    ],
)
def test_a_pool_in_space_stays_at_rest(obstacle, viscosity):
    liquid = Liquid(
        (1.0,) * 3,
        (16,) * 3,
        block=((0.0,) * 3, (1.0, 0.539, 1.0)),
        obstacles=[obstacle],
        viscosity=viscosity,
        name="w",
    )
    world = ct.World([liquid], dt=0.02)
    for _ in range(25):
        world.step()
        assert liquid.flow.fields.max_speed() < 1e-3


def test_a_plane_surface_is_extrapolated_exactly_into_obstacles():
    grid = make_grid((1.0,) * 3, (20,) * 3)
    cut_cells = CutCells(grid, [ct.Capsule((0.3, 0.3, 0.3), (0.7, 0.8, 0.6), 0.14)])
    level_set = LevelSet(grid, np.float64, 4)
    level_set.set_solid(cut_cells)
    normal = np.array([0.36, 0.8, 0.48])
    exact = ((grid.centers() - 0.5) @ normal * 20.0).reshape(grid.shape)
    level_set.phi = exact.copy()
    level_set.phi[level_set.inside_solid] = 7.0
    level_set.extrapolate_into_solid()
    near = (level_set._solid_layers > 0) & (level_set._solid_layers <= 3)
    assert near.sum() > 300
    assert np.abs(level_set.phi - exact)[near].max() < 1e-5


def test_honey_comes_to_rest_around_a_ball():
    # friction and pressure are balanced before viscosity acts, so nothing drives liquid up along the wall; a film of
    # a fifth of a cell takes ten seconds to run down the ball
    liquid = Liquid(
        (1.0, 1.0),
        (32, 32),
        block=[[[0.0, 0.0], [0.5, 0.66]], [[0.5, 0.0], [1.0, 0.54]]],
        obstacles=[ct.Sphere(center=(0.5, 0.5, 0.0), radius=0.2)],
        viscosity=60.0,
        name="honey",
    )
    world = ct.World([liquid], dt=0.02)
    for _ in range(500):
        world.step()
    assert liquid.flow.fields.max_speed() < 1e-3
    phi = liquid.flow.level_set.phi[0]
    heights = [
        j + 0.5 + column[j] / (column[j] - column[j + 1])
        for column in phi[[0, 5, 26, 31]]
        for j in np.flatnonzero((column[:-1] < 0.0) & (column[1:] >= 0.0))
    ]
    assert len(heights) == 4
    assert np.ptp(heights) < 0.05

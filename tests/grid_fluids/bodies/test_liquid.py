"""Liquids on grids: hydrostatics, free fall, dam breaks, conservation of volume, inflows and obstacles."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError


def _steps(world, seconds):
    while world.time < seconds - 1e-9:
        yield world.step()[0]


def test_static_pool_stays_static_for_ten_seconds():
    water = ct.Liquid((1.0, 1.0), (16, 16), block=((0, 0), (1.0, 0.47)), rtol=1e-7)
    world = ct.World([water], dt=0.025)
    before, volume = np.sort(water.particles, axis=0), water.volume
    for _ in _steps(world, 10.0):
        assert max(abs(u).max() for u in water.flow.fields.velocity) < 1e-6
    assert abs(np.sort(water.particles, axis=0) - before).max() < 1e-6
    assert abs(water.volume / volume - 1.0) < 1e-6
    assert volume == pytest.approx(0.47, rel=1e-5)
    depth = 0.47 - (np.arange(16) + 0.5) / 16
    pressure = water.field("pressure")[0, 5]
    assert pressure[depth > 0] == pytest.approx(1000.0 * 9.81 * depth[depth > 0], rel=1e-6)
    assert (pressure[depth < 0] == 0.0).all()


def test_pool_in_single_precision_with_an_obstacle_stays_calm():
    ball = ct.Sphere(center=(0.52, 0.2, 0.0), radius=0.13)
    water = ct.Liquid((1.0, 1.0), (24, 24), block=((0, 0), (1.0, 0.43)), obstacles=[ball])
    world = ct.World([water], dt=0.04)
    volume = water.volume
    for _ in _steps(world, 2.0):
        pass
    assert max(abs(u).max() for u in water.flow.fields.velocity) < 1e-3
    assert abs(water.volume / volume - 1.0) < 1e-3
    assert volume == pytest.approx(0.43 - np.pi * 0.13**2, rel=5e-3)
    # buoyancy is the weight of the displaced liquid
    assert water.force()[1] == pytest.approx(1000.0 * 9.81 * np.pi * 0.13**2, rel=0.02)


@pytest.mark.parametrize("cells", [(24, 24), (16, 16, 16)])
def test_a_drop_falls_freely(cells):
    drop = ct.Sphere(center=(0.5, 0.75, 0.5 if len(cells) == 3 else 0.0), radius=0.18)
    water = ct.Liquid((1.0,) * len(cells), cells, shapes=[drop])
    start, mean = water.volume, water.particles[:, 1].mean()
    world = ct.World([water], dt=0.02)
    for _ in _steps(world, 0.2):
        pass
    assert water.flow.particles.rows[:, 3 + water.grid.x_axis + 1].mean() == pytest.approx(-1.962, rel=2e-3)
    # sub-steps have the velocity of their end, so that the fall is longer by g t dt / 2
    assert mean - water.particles[:, 1].mean() == pytest.approx(0.5 * 9.81 * 0.2 * 0.22, rel=0.02)
    assert water.volume == pytest.approx(start, rel=0.02)


def test_dam_break_keeps_its_volume_and_energy_falls():
    water = ct.Liquid((2.0, 1.0), (64, 32), block=((0, 0), (0.5, 0.7)))
    world = ct.World([water], dt=0.02)
    volume, energy = water.volume, sum(water.energy().values())
    for _ in _steps(world, 2.0):
        assert abs(water.volume / volume - 1.0) < 0.02
        assert sum(water.energy().values()) < 1.03 * energy
    assert sum(water.energy().values()) < 0.9 * energy
    assert water.particles[:, 0].max() > 1.9


def test_dam_break_in_space_keeps_its_volume():
    water = ct.Liquid((1.0, 1.0, 0.5), (24, 24, 12), block=((0, 0, 0), (0.4, 0.6, 0.5)))
    world = ct.World([water], dt=0.04)
    volume = water.volume
    assert volume == pytest.approx(0.12, rel=2e-3)
    for _ in _steps(world, 1.2):
        assert abs(water.volume / volume - 1.0) < 0.02


@pytest.mark.parametrize("cells", [(16, 16), (8, 8, 8)])
def test_surface_of_a_pool_is_closed_and_has_sharp_edges_at_the_walls(cells):
    size = (1.0,) * len(cells)
    water = ct.Liquid(size, cells, block=((0.0,) * len(cells), (1.0, 0.47, 1.0)[: len(cells)]))
    surface = water.surface()
    a, b, c = (surface.points[surface.triangles[:, k]] for k in range(3))
    depth = 1.0 if len(cells) == 3 else 1.0 / 16
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(0.47 * depth, rel=1e-5)
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 1e-9
    sides = {tuple(side) for k in range(3) for side in surface.triangles[:, [k, (k + 1) % 3]].tolist()}
    assert len(sides) == 3 * len(surface.triangles)
    assert all((end, start) in sides for start, end in sides)


def test_a_block_that_falls_on_the_bottom_keeps_its_volume():
    # it falls 1.3 cells in two steps, and more than that in the second: what overlaps the bottom must not be lost
    water = ct.Liquid((1.0, 1.0), (64, 64), block=((0.02, 0.02), (0.32, 0.62)))
    world = ct.World([water], dt=0.04)
    volume = water.volume
    for _ in _steps(world, 0.4):
        assert abs(water.volume / volume - 1.0) < 0.012


def test_moving_piston_displaces_its_volume():
    motion = ct.Motion.translate((0.0, -0.3, 0.0), until=1.0)
    piston = ct.Box((0.25, 0.81, 0.0), (0.5, 0.6, 1.0), motion=motion)
    water = ct.Liquid((1.0, 1.0), (32, 32), block=((0, 0), (1.0, 0.5)), obstacles=[piston])
    world = ct.World([water], dt=0.02)
    volume = water.volume
    for _ in _steps(world, 3.0):
        pass
    assert water.volume == pytest.approx(volume, rel=0.01)
    # the piston ends at 0.21 m; the 0.5 m2 stand at (0.5 - 0.5 * 0.21) / 0.5 beside it
    phi = water.field("level_set")[0, 24]
    above = int(np.argmax(phi > 0))
    height = (above - 0.5 + phi[above - 1] / (phi[above - 1] - phi[above])) / 32
    assert height == pytest.approx((volume - 0.5 * 0.21) / 0.5, abs=0.02)


def test_nothing_leaks_through_a_wall_two_cells_thick():
    wall = ct.Box((0.53, 0.5, 0.0), (2.0 / 32, 1.2, 1.0))
    water = ct.Liquid((1.0, 1.0), (32, 32), block=((0, 0), (0.3, 0.8)), obstacles=[wall])
    world = ct.World([water], dt=0.02)
    for _ in _steps(world, 1.5):
        assert water.particles[:, 0].max() < 0.53
    assert (water.field("level_set")[0, 19:] > 0.0).all()


def _run(threads, steps, resume_at=None):
    def make():
        ball = ct.Sphere(center=(0.7, 0.1, 0.25), radius=0.1)
        water = ct.Liquid(
            (1.0, 1.0, 0.5),
            (32, 32, 16),
            block=((0, 0, 0), (0.4, 0.6, 0.5)),
            obstacles=[ball],
            seed=3,
            name="water",
        )
        return ct.World([water], dt=0.04)

    before = ct.get_threads()
    ct.set_threads(threads)
    try:
        world = make()
        for number in range(steps):
            if number == resume_at:
                state = {key: np.array(value) for key, value in world.state().items()}
                world = make()
                world.restore(state)
            world.step()
        return world.state() | {"frame": world.frame()["water"].positions}
    finally:
        ct.set_threads(before)


def test_liquid_is_bitwise_identical_for_any_threads_and_after_a_restart():
    states = [_run(1, 12), _run(2, 12), _run(2, 12, resume_at=7)]
    for other in states[1:]:
        for key, value in states[0].items():
            assert np.array_equal(value, other[key]), key


def test_reset_returns_to_the_initial_state():
    water = ct.Liquid((1.0, 1.0), (16, 16), block=((0, 0), (0.4, 0.6)), name="water")
    world = ct.World([water], dt=0.04)
    start = world.state()
    for _ in range(4):
        world.step()
    moved = world.state()
    world.reset()
    assert all(np.array_equal(value, world.state()[key]) for key, value in start.items())
    for _ in range(4):
        world.step()
    assert all(np.array_equal(value, world.state()[key]) for key, value in moved.items())


def test_inflow_adds_its_flux_and_an_open_side_drains_the_pool():
    spout = ct.Inflow(ct.Box((0.1, 0.8, 0.0), (0.21, 0.125, 1.0)), velocity=(1.0, 0.0, 0.0))
    water = ct.Liquid((1.0, 1.0), (32, 32), inflow=[spout])
    world = ct.World([water], dt=0.02)
    for _ in _steps(world, 1.0):
        pass
    # a jet of 0.125 m with 1 m/s, and what fills the place of the inflow itself
    assert water.volume == pytest.approx(0.125 * 1.0 + 0.2 * 0.125, rel=0.15)
    pool = ct.Liquid((1.0, 1.0), (32, 32), block=((0, 0), (1.0, 0.4)), sides={"right": "open"})
    world = ct.World([pool], dt=0.02)
    for _ in _steps(world, 2.0):
        pass
    assert pool.volume < 0.1
    assert abs(pool.flow.volume_loss) < 0.2


def test_a_drain_removes_liquid():
    water = ct.Liquid(
        (1.0, 1.0), (24, 24), block=((0, 0), (1.0, 0.4)), drains=[ct.Box((0.5, 0.0, 0.0), (0.2, 0.2, 1.0))]
    )
    world = ct.World([water], dt=0.02)
    for _ in _steps(world, 1.5):
        pass
    assert water.volume < 0.2


def test_points_become_a_liquid():
    across = (np.arange(30) + 0.5) / 60
    points = np.stack(np.meshgrid(across, across, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    water = ct.Liquid((1.0, 1.0), (20, 20), points=points)
    assert water.volume == pytest.approx(0.25, rel=0.02)
    world = ct.World([water], dt=0.02)
    for _ in _steps(world, 0.5):
        assert abs(water.volume / 0.25 - 1.0) < 0.04


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("needs a 'block'", {}),
        ("fills no cell", {"block": ((2.0, 0.0), (3.0, 0.5))}),
        ("fills no cell", {"shapes": [ct.Sphere(center=(0.5, 5.0, 0.0), radius=0.2)]}),
        ("smallest coordinates first", {"block": ((0.5, 0.0), (0.2, 0.5))}),
        ("two opposite corners", {"block": (0.0, 1.0)}),
        (
            "outside of the grid",
            {"block": ((0, 0), (1, 0.5)), "obstacles": [ct.Sphere(center=(9, 9, 0), radius=0.2)]},
        ),
        ("needs a velocity", {"inflow": ct.Inflow(ct.Sphere(center=(0.5, 0.5, 0.0), radius=0.2))}),
        ("flip", {"block": ((0, 0), (1, 0.5)), "flip": 2.0}),
        ("seed", {"block": ((0, 0), (1, 0.5)), "seed": -1}),
        ("detail", {"block": ((0, 0), (1, 0.5)), "detail": 9}),
        ("cfl", {"block": ((0, 0), (1, 0.5)), "cfl": 0.0}),
        ("must be a shape", {"shapes": ["ball"]}),
        ("outside of its grid", {"points": [(0.5, 0.5, 0.0), (3.0, 0.5, 0.0)]}),
    ],
)
def test_bad_input_is_rejected_in_one_sentence(words, options):
    with pytest.raises(InputError, match=words):
        ct.Liquid((1.0, 1.0), (16, 16), **options)


def test_too_many_cells_are_rejected_with_an_estimate():
    with pytest.raises(InputError, match="GiB"):
        ct.Liquid((1.0, 1.0, 1.0), (4000, 4000, 4000), block=((0, 0, 0), (1, 1, 1)))

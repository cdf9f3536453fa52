"""Bodies, colliders and fluids that enter and leave a running world with fluids: the others notice nothing."""

import numpy as np
import pytest

import continua as ct

TANK = ct.Box((0.2, 10.0, 0.2), (0.4, 20.0, 0.4), inside=True, name="tank")
POOL = ((0.0, 0.0, 0.0), (0.4, 0.16, 0.4))


def ball(name="ball", y=0.3, **options):
    return ct.RigidBody(ct.Sphere((0.2, y, 0.2), 0.06), density=300.0, name=name, **options)


def soft(name="soft", y=0.3, x=0.02):
    mesh = ct.mesh.box((0.1, 0.1, 0.1), (2, 2, 2), origin=(x, y, 0.15))
    return ct.SoftBody(mesh, name=name, material=ct.NeoHookean(young=1e5, density=400.0))


def water(name="water", block=POOL, **options):
    return ct.Fluid(block, particle_radius=0.02, name=name, **options)


def tank(*bodies, steps=6, colliders=(TANK,)):
    world = ct.World(bodies or [water()], dt=0.01, colliders=colliders)
    for _ in range(steps):
        world.step()
    return world


def smoke(name="smoke", **options):
    plume = ct.Smoke((0.6, 0.6), (24, 24), sides={}, name=name, **options)
    return plume


def pool(name="pool", **options):
    return ct.Liquid((0.4, 0.4), (16, 16), block=((0, 0), (0.4, 0.2)), name=name, **options)


def assert_same(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, two[key], err_msg=key)


def run(world, steps):
    for _ in range(steps):
        world.step()


@pytest.mark.parametrize("bodies", [[], [ball], [soft], [lambda: ball("wet", 0.235)]])
def test_what_comes_and_goes_far_away_leaves_particles_bitwise_as_they_are(bodies):
    """Also what a floating body has of its added mass: without it the first step would push too hard."""
    world, alone = (tank(water(), *(make() for make in bodies), steps=12) for _ in range(2))
    wall = ct.Plane((-9.0, 0.0, 0.0), (1.0, 0.0, 0.0), name="wall")
    guest = ct.RigidBody(ct.Sphere((0.2, 15.0, 0.2), 0.1), density=500.0, name="guest")
    changes = [lambda: world.add(wall), lambda: world.remove(wall)]
    if bodies:  # otherwise the world has rigid bodies at one time only, and its state their keys
        changes += [lambda: world.add(guest), lambda: world.remove(guest)]
    for change in changes:
        change()
        run(world, 2)
        run(alone, 2)
        for body in alone:
            np.testing.assert_array_equal(world[body.name].positions, body.positions)
            np.testing.assert_array_equal(world[body.name].velocities, body.velocities)
    assert_same(world.state(), alone.state())


def test_a_ball_that_is_added_floats_and_leaves_water_level():
    """A ball of 0.3 times the density of water displaces 0.3 of its volume; then it is taken out again."""
    world = tank(steps=30)
    float_ = ball(y=0.3)
    world.add(float_)
    run(world, 150)
    radius, depth = 0.06, 0.16
    # depth of the lowest point: cap of volume 0.3 of the ball, pi h^2 (r - h/3)
    heights = np.linspace(0.0, 2 * radius, 1001)
    immersed = np.pi * heights**2 * (radius - heights / 3.0)
    h = np.interp(0.3 * 4.0 / 3.0 * np.pi * radius**3, immersed, heights)
    level = depth + 0.3 * 4.0 / 3.0 * np.pi * radius**3 / 0.16
    assert float_.center_of_mass[1] == pytest.approx(level - h + radius, abs=0.015)
    world.remove("ball")
    run(world, 100)
    assert np.abs(world["water"].velocities).max() < 0.3
    middle = np.abs(world["water"].positions[:, [0, 2]] - 0.2).max(axis=1) < 0.1
    assert world["water"].positions[middle, 1].max() == pytest.approx(0.14, abs=0.025)  # the dent has closed


def test_a_fluid_that_is_added_and_removed():
    world = tank()
    origin = world.system(ct.Fluid).origin.copy()
    oil = water("oil", ((0.1, 0.2, 0.1), (0.3, 0.3, 0.3)), density=800.0)
    world.add(oil)
    np.testing.assert_array_equal(world.system(ct.Fluid).origin, origin)
    run(world, 40)
    assert oil.positions[:, 1].mean() < 0.2  # on the water
    masses = [fluid.mass_total for fluid in world]
    world.remove("oil")
    assert len(oil.positions) == oil.node_count
    run(world, 2)
    assert [fluid.mass_total for fluid in world] == masses[:1]
    other = ct.World([oil], dt=0.01, gravity=(0, 0, 0))
    other.step()
    world.remove("water")
    world.step()


def test_checkpoints_before_and_after_a_change_continue_bitwise(tmp_path):
    def fresh(*bodies):
        return tank(water(), *bodies, steps=0)

    world = fresh(ball())
    run(world, 5)
    world.save(tmp_path / "before.h5")
    world.add(soft(y=0.26), ct.Sphere((0.05, 0.3, 0.05), 0.04, name="knob"))
    run(world, 8)
    world.save(tmp_path / "after.h5")
    run(world, 4)
    again = fresh(ball())
    again.load(tmp_path / "before.h5")
    again.add(soft(y=0.26), ct.Sphere((0.05, 0.3, 0.05), 0.04, name="knob"))
    run(again, 12)
    assert_same(world.state(), again.state())
    third = tank(
        water(),
        ball(),
        soft(y=0.26),
        steps=0,
        colliders=[TANK, ct.Sphere((0.05, 0.3, 0.05), 0.04, name="knob")],
    )
    third.load(tmp_path / "after.h5")
    run(third, 4)
    assert_same(world.state(), third.state())


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (ball(y=0.08), "inside|overlap"),
        (soft(y=0.02), "inside|overlap"),
        (ct.Sphere((0.2, 0.08, 0.2), 0.06, name="knob"), "inside|overlap"),
        (water("more", ((0.1, 0.05, 0.1), (0.3, 0.2, 0.3))), "overlap"),
        (water("more", ((0.1, 0.2, 0.1), (0.3, 0.3, 0.3)), max_dt=1e-3), "the same max_dt"),
    ],
)
def test_what_does_not_fit_beside_particles_changes_nothing(thing, sentence):
    world, alone = tank(), tank()
    with pytest.raises(ct.InputError, match=sentence):
        world.add(thing)
    run(world, 2)
    run(alone, 2)
    assert_same(world.state(), alone.state())


@pytest.mark.parametrize("make", [smoke, pool])
def test_what_comes_and_goes_far_away_leaves_grids_bitwise_as_they_are(make):
    floating = ct.RigidBody(ct.Sphere((0.2, 0.21, 0.0), 0.05), density=500.0, name="float")
    resting = ct.RigidBody(ct.Sphere((0.2, 0.21, 0.0), 0.05), density=500.0, name="float")
    world, alone = ct.World([make(), floating], dt=0.01), ct.World([make(), resting], dt=0.01)
    wall = ct.Plane((-9.0, 0.0, 0.0), (1.0, 0.0, 0.0), name="wall")
    guest = ct.RigidBody(ct.Sphere((-5.0, 9.0, 0.0), 0.1), density=500.0, name="guest")
    run(world, 5)
    run(alone, 5)
    for change in (lambda: world.add(wall, guest), lambda: world.remove(wall, guest)):
        change()
        run(world, 3)
        run(alone, 3)
        assert_same(_of(world, "float"), _of(alone, "float"))
        name = next(body.name for body in alone if body.name != "float")
        np.testing.assert_array_equal(world[name].field("velocity"), alone[name].field("velocity"))
        np.testing.assert_array_equal(world[name].field("pressure"), alone[name].field("pressure"))
    assert_same(world.state(), alone.state())


def _of(world, name):
    return world[name].state()


def test_smoke_makes_way_for_a_collider_and_keeps_what_is_elsewhere():
    world = ct.World([smoke()], dt=0.02)
    puff = world["smoke"]
    puff.flow.fields.scalars["smoke"][0, 2:8, 2:8] = 1.0
    before = puff.flow.amount("smoke")
    run(world, 3)
    post = ct.Cylinder((0.4, 0.4, 0.0), axis=(0, 0, 1), radius=0.1, height=1.0, name="post")
    world.add(post)
    run(world, 10)
    assert puff.flow.amount("smoke") == pytest.approx(before, rel=1e-4)
    assert puff.flow.domain.cut_cells.solid_cells.sum() > 20
    world.remove(post)
    run(world, 3)
    assert not puff.flow.domain.cut_cells.solid_cells.any()
    assert puff.flow.amount("smoke") == pytest.approx(before, rel=1e-4)


def test_a_body_is_not_added_inside_a_grid_liquid_but_above_it():
    """The disc of half the density floats; on this coarse grid it bobs by some centimetres."""
    world, alone = ct.World([pool()], dt=0.01), ct.World([pool()], dt=0.01)
    run(world, 3)
    run(alone, 3)
    post = ct.Cylinder((0.2, 0.1, 0.0), axis=(0, 0, 1), radius=0.05, height=1.0, name="post")
    with pytest.raises(ct.InputError, match="'post' cannot be added where the liquid 'pool' is"):
        world.add(post)
    run(world, 2)
    run(alone, 2)
    assert_same(world.state(), alone.state())
    disc = ct.RigidBody(
        ct.Cylinder((0.2, 0.3, 0.0), axis=(0, 0, 1), radius=0.05, height=0.1), density=500.0, name="disc"
    )
    world.add(disc)
    run(world, 200)
    level = 0.2 + 0.5 * np.pi * 0.05**2 / 0.4
    assert disc.center_of_mass[1] == pytest.approx(level, abs=0.045)
    state = world.state()
    again = ct.World(
        [
            pool(),
            ct.RigidBody(
                ct.Cylinder((0.2, 0.3, 0.0), axis=(0, 0, 1), radius=0.05, height=0.1),
                density=500.0,
                name="disc",
            ),
        ],
        dt=0.01,
    )
    again.restore(state)
    run(world, 3)
    run(again, 3)
    assert_same(world.state(), again.state())

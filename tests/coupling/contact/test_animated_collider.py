"""Soft bodies on colliders that deform: carried exactly, never passed, driven by them; others refuse them."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError


def sheet(cells=8, width=1.0):
    """Points and triangles of a square in the plane y = 0, facing up."""
    n = cells + 1
    x, z = np.meshgrid(*[np.linspace(-width, width, n)] * 2, indexing="ij")
    corner = (n * np.arange(cells)[:, None] + np.arange(cells)).ravel()
    a, b, c, d = corner, corner + 1, corner + n + 1, corner + n
    triangles = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return np.column_stack([x.ravel(), 0.0 * x.ravel(), z.ravel()]), triangles


def block(height=0.0005, *, young=1e6, size=(0.3, 0.1, 0.3), cells=(3, 1, 3), name="block"):
    origin = (-0.5 * size[0], height, -0.5 * size[2])
    material = ct.StableNeoHookean(young=young, poisson=0.3, density=1000.0)
    return ct.SoftBody(
        ct.mesh.box(size, cells, origin=origin), material=material, damping=(0.0, 0.002), name=name
    )


def moving(path, points, triangles, seconds=1.0, fps=100, **options):
    frames = np.stack([path(t, points) for t in np.arange(0.0, seconds + 1.5 / fps, 1.0 / fps)])
    return ct.AnimatedMeshShape(ct.MeshAnimation(frames, triangles, fps=fps), **options)


def test_friction_carries_a_block_with_an_oscillating_floor():
    points, triangles = sheet()

    def path(t, x):
        return x + np.array([0.05 * (1.0 - np.cos(6.0 * t)), 0.01 * np.sin(6.0 * t), 0.0])

    body = block()
    floor = moving(path, points, triangles, friction=2.0)
    world = ct.World([body], colliders=[floor], dt=0.005)
    while world.time < 0.3:
        world.step()
    held = body.frame(()).positions[:, 1].argsort()[:16]  # the lower face
    start, x0 = world.time, body.frame(()).positions[held]
    for _ in range(60):
        before, t = body.frame(()).positions[held], world.time
        world.step()
        speed = (body.frame(()).positions[held] - before) / world.dt
        floor_speed = (floor.positions_at(world.time) - floor.positions_at(t))[0] / world.dt
        assert speed.mean(axis=0) == pytest.approx(floor_speed, abs=2e-3)
    moved = body.frame(()).positions[held] - x0
    assert moved.mean(axis=0) == pytest.approx((path(world.time, points) - path(start, points))[0], abs=1e-3)


def test_a_stretching_floor_stretches_what_sticks_to_it():
    points, triangles = sheet()
    floor = moving(lambda t, x: x * [1.0 + 0.2 * t, 1.0, 1.0], points, triangles, friction=5.0)
    body = block(young=2e4, size=(0.3, 0.04, 0.3))  # thin and heavy: it does not slip at its corners
    world = ct.World([body], colliders=[floor], dt=0.01, gravity=(0.0, -40.0, 0.0))
    while world.time < 0.1:
        world.step()
    lower = body.frame(()).positions[:, 1].argsort()[:16]
    x0, s0 = body.frame(()).positions[lower], 1.0 + 0.2 * world.time
    while world.time < 0.6:
        world.step()
    x, s = body.frame(()).positions[lower], 1.0 + 0.2 * world.time
    assert x[:, 0] == pytest.approx(x0[:, 0] * s / s0, abs=2e-3)


@pytest.mark.parametrize("kind", ["closed", "open"])
@pytest.mark.parametrize("dt", [0.01, 0.004])
def test_a_punch_does_not_pass_through(kind, dt):
    points, triangles = sheet(6, 0.5)
    if kind == "closed":
        ball = ct.mesh.surfaces.sphere(0.2, 4)
        points, triangles = ball.points, ball.triangles
    fist = moving(lambda t, x: x + [0.03, -0.45 + 20.0 * t, 0.02], points, triangles, 0.1)
    body = block(young=1e5)
    world = ct.World([body], colliders=[fist], dt=dt, gravity=(0.0, 0.0, 0.0))
    while world.time < 0.08:
        world.step()
        x = body.frame(()).positions
        assert fist.distances_at(x, world.time, 0.0)[0].min() > -1e-4
        assert world.reports[0].inverted == 0
    assert x[:, 1].min() > fist.positions_at(world.time)[:, 1].max() - 0.2  # pushed ahead of it
    assert body.velocities[:, 1].mean() > 15.0


def test_surface_velocity_is_that_of_the_nearest_point():
    ball = ct.mesh.surfaces.sphere(0.3, 4)
    shape = moving(lambda t, x: x * (1.0 + t) + [t, 0.0, 0.0], ball.points, ball.triangles)
    away = np.random.default_rng(3).normal(size=(20, 3))
    points = 0.5 * away / np.linalg.norm(away, axis=1, keepdims=True)
    gaps, normals, velocities = shape.distances_at(points, 0.0, 0.005)
    nearest = points - gaps[:, None] * normals
    assert velocities == pytest.approx(
        nearest + [1.0, 0.0, 0.0], abs=1e-9
    )  # x' = x (1 + t) + t, exactly linear


def test_driven_nodes_follow_the_surface():
    ball = ct.mesh.surfaces.sphere(0.3, 4)
    turn = ct.Motion.rotate((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 2.0)
    animation = ct.MeshAnimation(
        np.stack([turn.at(t, ball.points) for t in np.arange(0.0, 1.0, 0.001)]), ball.triangles, fps=1000
    )
    body = block(0.32, size=(0.1, 0.2, 0.1), cells=(1, 2, 1))
    held = body.drive(lambda x: x[:, 1] < 0.33, animation)
    world = ct.World([body], gravity=(0.0, 0.0, 0.0), dt=0.01)
    rest = body.frame(()).positions[held.nodes]
    for _ in range(50):
        world.step()
    x = body.frame(()).positions[held.nodes]
    assert x == pytest.approx(
        turn.at(world.time, rest), abs=1e-5
    )  # a rigid turn, also of nodes off the surface


def test_nodes_on_vertices_stay_on_them_while_the_surface_deforms():
    points, triangles = sheet(3, 0.15)
    wave = moving(
        lambda t, x: x + np.column_stack([0 * x[:, 0], t * x[:, 0], t * x[:, 2]]), points, triangles
    )
    body = block(0.0, cells=(3, 1, 3), young=1e4)
    held = body.drive(lambda x: x[:, 1] < 1e-9, wave.animation)
    world = ct.World([body], gravity=(0.0, 0.0, 0.0), dt=0.02)
    rest = body.frame(()).positions[held.nodes]
    for _ in range(10):
        world.step()
    expected = rest + np.column_stack([0 * rest[:, 0], world.time * rest[:, 0], world.time * rest[:, 2]])
    assert body.frame(()).positions[held.nodes] == pytest.approx(expected, abs=1e-12)


def test_a_body_settles_on_a_closed_shape_as_it_is_now():
    slab = ct.mesh.surfaces.box((2.0, 0.2, 2.0), origin=(-1.0, -0.2, -1.0))
    floor = moving(lambda t, x: x + [0.0, 0.3 * t, 0.0], slab.points, slab.triangles)
    body = block(0.001, young=1e5)
    world = ct.World([body], colliders=[floor])
    world.settle()
    x = body.frame(()).positions
    assert x[:, 1].min() == pytest.approx(0.0, abs=1e-4)
    points, triangles = sheet()
    with pytest.raises(InputError, match="closed surface"):
        ct.World([block()], colliders=[moving(lambda t, x: x, points, triangles)]).settle()


def test_a_motion_moves_the_whole_surface_besides():
    points, triangles = sheet()
    floor = moving(lambda t, x: x + [t, 0, 0], points, triangles, motion=ct.Motion.translate((0.0, 0.0, 2.0)))
    assert floor.positions_at(0.5) == pytest.approx(points + [0.5, 0.0, 1.0])


def test_what_cannot_touch_a_deforming_collider_says_so():
    points, triangles = sheet()
    floor = moving(lambda t, x: x, points, triangles, name="floor")
    stone = ct.RigidBody(ct.Sphere((0.0, 0.5, 0.0), 0.1), density=1000.0, name="stone")
    with pytest.raises(
        InputError, match="rigid body 'stone' cannot touch a collider that deforms, such as 'floor'"
    ):
        ct.World([stone], colliders=[floor])
    apart = ct.Contact(pairs={("stone", "floor"): {"collide": False}})
    ct.World([stone, block()], colliders=[floor], contact=apart).step()
    water = ct.Fluid(points=[[0.0, 0.5, 0.0]], particle_radius=0.02, name="water")
    with pytest.raises(InputError, match="the fluid 'water' cannot touch a collider that deforms"):
        ct.World([water], colliders=[floor])
    smoke = ct.Smoke((0.8, 0.8, 0.8), (8, 8, 8))
    with pytest.raises(InputError, match="fluid on a grid cannot touch a collider that deforms"):
        ct.World([smoke], colliders=[floor])


def test_bad_starts_and_shapes_are_refused():
    ball = ct.mesh.surfaces.sphere(0.3, 4)
    shape = moving(lambda t, x: x, ball.points, ball.triangles)
    with pytest.raises(InputError, match=r"body 'block' starts 0\.\d+ m inside collider 1 \(animated mesh\)"):
        ct.World([block(-0.05, size=(0.1, 0.1, 0.1), cells=(2, 2, 2))], colliders=[shape])
    with pytest.raises(InputError, match="face inwards"):
        moving(lambda t, x: x, ball.points, ball.triangles[:, ::-1])
    points, triangles = sheet()
    with pytest.raises(InputError, match="has no inside"):
        moving(lambda t, x: x, points, triangles, two_sided=False)


def test_a_resumed_run_is_bitwise_identical():
    points, triangles = sheet()

    def world():
        floor = moving(lambda t, x: x + [0.1 * np.sin(9 * t), 0.02 * t, 0], points, triangles, friction=0.5)
        return ct.World([block()], colliders=[floor], dt=0.01)

    one = world()
    for _ in range(12):
        one.step()
    state = one.state()
    for _ in range(8):
        one.step()
    other = world()
    other.restore(state)
    for _ in range(8):
        other.step()
    assert np.array_equal(one.frame()["block"].positions, other.frame()["block"].positions)
    drawn = one.frame().colliders[0]
    assert np.array_equal(drawn["points"], one.colliders[0].positions_at(one.time))

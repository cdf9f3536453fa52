"""The world: time, frames, names, bits, failure."""

import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest

import continua as ct


def beam(**options):
    body = ct.SoftBody(ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(6, 2, 2)), **options)
    body.pin(where=lambda x: x[:, 0] < 1e-6)
    return body


@pytest.mark.filterwarnings("ignore:.*overlap")
def test_bodies_take_the_names_of_variables():
    left, right = beam(), beam()
    world = ct.World([left, right, beam(), beam(), beam(name="given")])
    assert [b.name for b in world.bodies] == ["left", "right", "body", "body2", "given"]
    assert world.body("right") is right
    assert list(world.frame().bodies) == ["left", "right", "body", "body2", "given"]
    with pytest.raises(ct.InputError, match="no body called 'up'"):
        world.body("up")
    with pytest.raises(ct.InputError, match="two bodies"):
        ct.World([beam(name="a"), beam(name="a")])
    with pytest.raises(ct.InputError, match="choose another name"):
        ct.World([beam(name="a/b")])


def test_frames_fall_on_whole_multiples_of_the_frame_time():
    b = beam()
    world = ct.World([b], dt=0.01)
    assert world.frame_plan(2.0, 60) == (120, 2, pytest.approx(1 / 120))
    assert world.frame_plan(1.0, 100) == (100, 1, pytest.approx(0.01))
    frames = list(world.run(seconds=0.2, fps=30))
    assert [f.index for f in frames] == list(range(7))
    assert [f.time for f in frames] == [i / 30 for i in range(7)]
    assert frames[-1].step == 6 * 4
    assert len(frames[-1].reports) == 1
    assert frames[0].reports == ()


def test_a_frame_does_not_change_afterwards():
    b = beam()
    world = ct.World([b])
    frame = world.frame()
    before = frame["b"].positions.copy()
    for _ in range(5):
        world.step()
    np.testing.assert_array_equal(frame["b"].positions, before)
    with pytest.raises(ValueError, match="read-only"):
        frame["b"].positions[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        frame["b"]["von_mises"][0] = 1.0


@pytest.mark.parametrize("order", [1, 2, 3])
def test_same_bits_for_one_and_two_threads(order):
    """Large enough that every pass runs in parallel."""
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        ct.set_threads(threads)
        body = ct.SoftBody(ct.mesh.bridge({1: 6, 2: 3, 3: 2}[order]), order=order, name="bridge")
        body.pin(where=lambda x: x[:, 0] < 1e-6)
        body.set_velocity((0, 0, 0.5))
        world = ct.World([body], colliders=[ct.Plane(point=(0, -0.05, 0))])
        for _ in range(3):
            reports = world.step()
        results.append((body.positions, body.von_mises(), reports[0].residual, world.energy()))
    one, two = results
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])
    assert one[2:] == two[2:]


def test_same_bits_for_one_and_two_threads_with_large_strains_parts_and_statics():
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        ct.set_threads(threads)
        soft, hard = ct.NeoHookean(young=4e5, poisson=0.2), ct.NeoHookean(young=4e6, poisson=0.4)
        body = ct.SoftBody(
            ct.mesh.bridge(6), material=soft, parts=[(lambda x: x[:, 0] > 6, hard)], newton=2, name="bridge"
        )
        body.pin(where=lambda x: x[:, 0] < 1e-6)
        world = ct.World([body])
        for _ in range(2):
            world.step()
        stepped = body.positions
        world.settle(rtol=1e-3)
        results.append((stepped, body.positions, body.von_mises()))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_same_bits_for_one_and_two_threads_where_water_and_rigid_and_soft_bodies_meet():
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        ct.set_threads(threads)
        cushion = ct.SoftBody(
            ct.mesh.box((0.4, 0.1, 0.4), (6, 2, 6)), material=ct.Corotated(young=2e4), name="c"
        )
        ball = ct.RigidBody(
            ct.Sphere((0.2, 0.152, 0.2), 0.05), density=500.0, velocity=(0, -1, 0), name="ball"
        )
        water = ct.Fluid(
            block=((0.0, 0.1, 0.0), (0.4, 0.3, 0.1)),
            particle_radius=0.01,
            boundary="density_map",
            name="water",
        )
        room = ct.Box(center=(0.2, 0.5, 0.2), size=(0.4, 1.0, 0.4), inside=True, friction=0.0)
        world = ct.World([cushion, ball, water], colliders=[room], dt=0.005)
        for _ in range(3):
            world.step()
        results.append(world.state())
    one, two = results
    assert one.keys() == two.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], two[key], err_msg=key)


def test_restored_state_goes_on_with_the_same_bits():
    straight = ct.World([beam(name="beam", damping=(0.1, 0.001))])
    frames = list(straight.run(seconds=0.4, fps=30))
    first = ct.World([beam(name="beam", damping=(0.1, 0.001))])
    for frame in first.run(seconds=0.4, fps=30):
        if frame.index == 5:
            break
    second = ct.World([beam(name="beam", damping=(0.1, 0.001))])
    second.restore(first.state())
    rest = list(second.run(seconds=0.4, fps=30))
    assert [f.index for f in rest] == list(range(6, 13))
    for a, b in zip(frames[6:], rest, strict=True):
        assert a.time == b.time
        np.testing.assert_array_equal(a["beam"].positions, b["beam"].positions)
        np.testing.assert_array_equal(a["beam"]["velocity"], b["beam"]["velocity"])


def test_reset_repeats_the_run_exactly():
    b = beam()
    world = ct.World([b])
    first = [f["b"].positions for f in world.run(seconds=0.2, fps=30)]
    world.reset()
    second = [f["b"].positions for f in world.run(seconds=0.2, fps=30)]
    np.testing.assert_array_equal(first, second)


def test_states_that_do_not_fit_are_refused():
    a, b = beam(), beam()
    world = ct.World([a, b], contact=ct.Contact(pairs={("a", "b"): {"collide": False}}))
    start = world.state()
    world.step()
    now = world.state()
    with pytest.raises(ct.InputError, match="lacks"):
        world.restore({k: v for k, v in start.items() if k != "b/velocities"})
    with pytest.raises(ct.InputError, match="shape"):
        world.restore({**start, "b/positions": np.zeros((2, 3))})
    for key, value in world.state().items():
        np.testing.assert_array_equal(value, now[key], err_msg=key)


def test_divergence_names_body_and_step_and_keeps_the_last_good_state():
    good, bad = beam(), beam()
    apart = ct.Contact(pairs={("good", "bad"): {"collide": False}})  # they are at the same place
    world = ct.World([good, bad], contact=apart)
    for _ in range(3):
        world.step()
    before = world.state()
    push = bad.push([50], (1e40, 0, 0))
    push.force = (1e40, 0, 0)
    with pytest.raises(ct.DivergedError, match="body 'bad' diverged in step 4") as caught:
        world.step()
    assert (caught.value.body, caught.value.step) == ("bad", 4)
    after = world.state()
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(value, after[key])
    push.remove()
    world.step()  # and goes on
    assert world.step_index == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: ct.World([], dt=0.0),
        lambda: ct.World([], gravity=(0, 1)),
        lambda: ct.World([], gravity=(0, float("nan"), 0)),
        lambda: beam(order=5),
        lambda: beam(mass="heavy"),
        lambda: beam(damping=(-1, 0)),
        lambda: ct.SoftBody("bunny.obj"),
        lambda: beam().pin(where=lambda x: x[:, 0] > 99),
        lambda: beam().pin(where=[0, 10_000]),
        lambda: beam().pin(where=np.zeros(3, bool)),
        lambda: beam().pin(where="skin"),
        lambda: beam().pin(where=[0.5]),
        lambda: beam().push([0], (0, 0)),
        lambda: beam().pull(0, target=(0, 0, float("inf"))),
        lambda: beam().pull(),
        lambda: beam().pull_face(10**6, (1, 0, 0)),
        lambda: beam().pull_face(0, (2, 0, -1)),
        lambda: list(ct.World([]).run(seconds=-1)),
    ],
)
def test_bad_input_is_refused_with_a_sentence(make):
    with pytest.raises(ct.InputError) as caught:
        make()
    assert len(str(caught.value)) > 20


def test_a_motion_that_gives_no_positions_is_refused_in_the_step():
    body = beam()
    body.drive(lambda x: x[:, 0] > 0.9, lambda t, x: x[:0])
    with pytest.raises(ct.InputError, match="what a motion returns"):
        ct.World([body]).step()


def test_the_lines_of_the_package_docstring_run():
    """The example in `help(continua)`, as a user would paste it."""
    code = ct.__doc__.split("::")[1].replace("seconds=2.0", "seconds=0.1")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=120
    )
    assert len(done.stdout.splitlines()) == 7


def test_kinds_that_go_through_each_other_are_told():
    air = ct.WindTunnel(size=(1.0, 1.0), cells=(16, 16), speed=1.0)
    with pytest.warns(UserWarning, match="not yet with soft bodies"):
        ct.World([beam(), air])

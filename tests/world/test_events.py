"""Things that happen at given times of a world."""

import numpy as np
import pytest

import continua as ct


def world_with_box(**options):
    box = ct.SoftBody(ct.mesh.box(cells=(1, 1, 1)), name="box")
    return ct.World([box], dt=0.01, **options)


def test_events_happen_in_order_before_the_step_at_their_time():
    world = world_with_box()
    seen = []
    world.schedule(0.02, lambda w: seen.append(("b", w.step_index)))
    world.schedule(0.0, lambda w: seen.append(("a", w.step_index)))
    world.schedule(0.02, lambda w: seen.append(("c", w.step_index)))
    world.schedule(0.025, lambda w: seen.append(("d", w.step_index)))
    for _ in range(6):
        world.step()
    assert seen == [("a", 0), ("b", 2), ("c", 2), ("d", 3)]
    world.schedule(0.01, lambda w: seen.append(("late", w.step_index)))
    assert seen[-1] == ("late", 6)
    world.reset()
    seen.clear()
    for _ in range(4):
        world.step()
    assert [name for name, _ in seen] == ["a", "late", "b", "c", "d"]


def test_a_restored_world_makes_up_for_what_happened_before():
    first, second = world_with_box(), world_with_box()
    for world in (first, second):
        world.schedule(0.0, lambda w: setattr(w, "gravity", (0.0, -9.81, 0.0)))
        world.schedule(0.03, lambda w: setattr(w, "gravity", (0.0, 5.0, 0.0)))
        world.schedule(0.06, lambda w: setattr(w, "gravity", (1.0, 0.0, 0.0)))
    for _ in range(5):
        first.step()
    second.restore(first.state())
    np.testing.assert_array_equal(second.gravity, [0.0, 5.0, 0.0])
    for _ in range(5):
        first.step()
        second.step()
    np.testing.assert_array_equal(first.bodies[0].positions, second.bodies[0].positions)
    np.testing.assert_array_equal(second.gravity, [1.0, 0.0, 0.0])


def test_a_settled_world_starts_again_with_the_material_it_had():
    beam = ct.SoftBody(ct.mesh.box(size=(1, 0.2, 0.2), cells=(4, 1, 1)), name="beam")
    beam.pin(lambda x: x[:, 0] < 1e-9)
    world = ct.World([beam], dt=0.01, start_at_equilibrium=True)
    world.schedule(0.0, lambda _: beam.set_material(young=1e6))
    world.schedule(0.02, lambda _: beam.set_material(young=1e4))
    start = beam.positions
    for _ in range(5):
        world.step()
    world.reset()
    np.testing.assert_allclose(beam.positions, start, atol=1e-7)


@pytest.mark.parametrize(("time", "event"), [(-1.0, print), (float("nan"), print), (1.0, None)])
def test_bad_events_are_refused(time, event):
    with pytest.raises(ct.InputError, match="event"):
        world_with_box().schedule(time, event)

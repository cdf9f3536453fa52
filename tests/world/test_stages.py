"""Timers of the stages of a step: they add up, each package names its own, and nothing depends on them."""

from time import perf_counter, sleep

import numpy as np
import pytest

import continua as ct
from continua.numerics.timers import REST, Stopwatch, timed


def test_an_inner_stage_pauses_the_outer_one_and_all_add_up():
    @timed("inner")
    def inner():
        sleep(0.02)

    @timed("outer")
    def outer():
        sleep(0.01)
        inner()
        inner()

    watch = Stopwatch()
    start = perf_counter()
    with watch.running():
        outer()
        sleep(0.005)
    whole = perf_counter() - start
    assert list(watch.seconds) == [REST, "outer", "inner"]
    assert watch.seconds["inner"] >= 0.04
    assert 0.01 <= watch.seconds["outer"] < watch.seconds["inner"]
    assert sum(watch.seconds.values()) == pytest.approx(whole, rel=0.05)


def test_a_stage_that_fails_leaves_the_others_right():
    @timed("bad")
    def bad():
        raise ValueError

    watch = Stopwatch()
    with watch.running():
        with pytest.raises(ValueError):
            bad()
        timed("good")(lambda: None)()
    assert set(watch.seconds) == {REST, "bad", "good"}


def test_a_soft_body_on_the_floor_names_assembly_solve_and_contact():
    box = ct.SoftBody(ct.mesh.box(cells=(2, 2, 2)), material=ct.Corotated(young=1e5), name="box")
    world = ct.World([box], colliders=[ct.Plane()], dt=0.01)
    world.step()
    world.step()
    start = perf_counter()
    world.step()
    whole = perf_counter() - start
    assert {"forces", "assembly", "contact search", "contact solve", REST} <= set(world.timers)
    assert all(seconds >= 0.0 for seconds in world.timers.values())
    assert sum(world.timers.values()) == pytest.approx(whole, rel=0.1)


def test_alone_it_has_a_preconditioner_and_a_linear_solve():
    box = ct.SoftBody(ct.mesh.box(cells=(2, 2, 2)), material=ct.Corotated(young=1e5), name="box")
    world = ct.World([box], dt=0.01)
    world.step()
    assert {"preconditioner", "linear solve"} <= set(world.timers)
    assert "contact solve" not in world.timers
    assert np.isfinite(box.positions).all()

"""Systems and couplings of a world: which there are, what they step, and what a failed step leaves."""

import numpy as np
import pytest

import continua as ct
from continua.coupling import GridFluidCoupling, SolidSystem, SphCoupling
from continua.coupling.contact.stepper import ContactStepper
from continua.registry import register_coupling, register_system, system_classes
from continua.sph import FluidSystem
from continua.system import Coupling, System


def block(name="block", **options):
    return ct.SoftBody(ct.mesh.box((0.2, 0.1, 0.1), (2, 1, 1)), name=name, **options)


def water(name="water"):
    return ct.Fluid(block=((0.0, 0.3, 0.0), (0.1, 0.4, 0.1)), particle_radius=0.01, name=name)


def ball(name="ball"):
    return ct.RigidBody(ct.Sphere((0.05, 1.0, 0.05), 0.03), density=500.0, name=name)


def test_a_world_has_the_systems_of_its_bodies_and_the_couplings_between_them():
    assert ct.World([]).systems == ()
    world = ct.World([block(), water(), ball()])
    assert [type(system) for system in world.systems] == [FluidSystem, SolidSystem]
    assert [type(coupling) for coupling in world.couplings] == [SphCoupling]
    assert world.system(ct.SoftBody) is world.system(ct.RigidBody)
    assert world.system(ct.Fluid).bodies == world.bodies_of(ct.Fluid)
    air = ct.WindTunnel(size=(1.0, 1.0), cells=(8, 8), speed=1.0, name="air")
    world = ct.World([ball(), air])
    assert [type(coupling) for coupling in world.couplings] == [GridFluidCoupling]
    with pytest.raises(ct.InputError, match="no system that advances bodies of the class Fluid"):
        world.system(ct.Fluid)


def test_fluids_are_stepped_before_the_solids_that_they_push():
    orders = [system.order for system in system_classes()]
    assert orders == sorted(orders)
    assert system_classes()[-1] is SolidSystem


def test_a_soft_body_that_can_touch_nothing_is_stepped_without_a_contact_stepper(monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("no contact stepper is needed")

    with monkeypatch.context() as patch:
        patch.setattr(ContactStepper, "__init__", refuse)
        lone = ct.World([block()], dt=0.01)
        for _ in range(3):
            (report,) = lone.step()
        apart = ct.Contact(pairs={("block", "floor"): {"collide": False}})
        floor = ct.Plane((0, -1, 0), name="floor")
        assert ct.World([block()], colliders=[floor], contact=apart).system(ct.SoftBody).stepper is None
    assert report.contacts == 0
    for options in ({"colliders": [ct.Plane((0, -9, 0))]}, {"contact": ct.Contact(self_contact=True)}):
        world = ct.World([block()], dt=0.01, **options)
        assert world.system(ct.SoftBody).stepper is not None
        for _ in range(3):
            world.step()
        np.testing.assert_array_equal(world.bodies[0].positions, lone.bodies[0].positions)


def test_a_temporary_collider_holds_a_lone_body_and_goes_again():
    """The body falls onto it, stays, and falls freely once it is taken back."""
    body = block()
    world = ct.World([body], dt=0.005)
    take_back = world.add_temporary_collider(ct.Plane((0.0, -0.01, 0.0)))
    for _ in range(60):
        world.step()
    assert body.positions[:, 1].min() == pytest.approx(-0.01, abs=2e-3)
    take_back()
    assert world.system(ct.SoftBody).stepper is None
    start = body.positions[:, 1].mean()
    for _ in range(20):
        world.step()
    fall = 9.81 * 0.005**2 * 20 * 21 / 2  # implicit Euler of a free fall
    assert start - body.positions[:, 1].mean() == pytest.approx(fall, rel=0.02)


def test_joints_without_their_bodies_are_refused():
    one, two = ball("one"), ball("two")
    joint = ct.joints.Ball(one, two, point=(0, 0, 0))
    with pytest.raises(ct.InputError, match="not in the world"):
        ct.World([], joints=[joint])


def test_a_failed_step_leaves_fluids_solids_and_their_coupling_as_they_were():
    soft = block()
    world = ct.World([soft, water(), ball()], dt=0.01)
    for _ in range(2):
        world.step()
    before = world.state()
    push = soft.push([0], (1e40, 0, 0))
    push.force = (1e40, 0, 0)
    with pytest.raises(ct.DivergedError, match="'block'"):
        world.step()
    after = world.state()
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(value, after[key], err_msg=key)
    push.remove()
    world.step()
    assert world.step_index == 3


def test_a_fluid_that_fails_forgets_what_its_emitters_added(monkeypatch):
    jet = ct.Fluid(
        emitters=[ct.Emitter((0, 0, 0), (1, 0, 0), radius=0.03, speed=1.0)], particle_radius=0.01, name="jet"
    )
    world = ct.World([jet], dt=0.01)
    world.step()
    before, system = world.state(), world.system(ct.Fluid)

    def explode(*_):
        raise ct.DivergedError("it exploded")

    with monkeypatch.context() as patch:
        patch.setattr(system, "_resolve_penetration", explode)
        with pytest.raises(ct.DivergedError):
            world.step(0.05)
    after = world.state()
    for key, value in before.items():
        np.testing.assert_array_equal(value, after[key], err_msg=key)


def test_incomplete_systems_and_couplings_are_refused_when_they_are_registered():
    with pytest.raises(ct.InputError, match="set its 'kinds'"):
        register_system(type("NoKinds", (System,), {"step": lambda self, dt: ()}))
    with pytest.raises(ct.InputError, match="define its 'step'"):
        register_system(type("NoStep", (System,), {"kinds": (complex,)}))
    with pytest.raises(ct.InputError, match="set its 'joins'"):
        register_coupling(type("NoJoins", (Coupling,), {}))
    with pytest.raises(ct.InputError, match="define its 'make'"):
        register_coupling(type("NoMake", (Coupling,), {"joins": (System,)}))

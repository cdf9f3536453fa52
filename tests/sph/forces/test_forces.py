"""The contract of forces: forces defined here act on fluids next to the built-in ones."""

import numpy as np
import pytest

import continua as ct
from continua.sph import Force


class LinearDrag(Force):
    """The acceleration -k v."""

    def __init__(self, rate):
        self.rate = rate

    def explicit_step(self, particles):
        particles.accelerations -= np.float32(self.rate) * particles.velocities


class ImplicitDrag(Force):
    """The same, with the velocity at the end of the sub-step."""

    def __init__(self, rate):
        self.rate = rate

    def implicit_step(self, particles, dt, prescribed):
        particles.velocities /= np.float32(1.0 + dt * self.rate)
        return 1


class Buoyancy:
    """An upward acceleration of one of the fluids; it has the methods of a force without being derived from one."""

    def __init__(self, fluid, acceleration):
        self.fluid, self.acceleration = fluid, acceleration

    def explicit_step(self, particles):
        particles.accelerations[1::4] += np.float32(self.acceleration) * (particles.fluid_index == self.fluid)

    def implicit_step(self, particles, dt, prescribed):
        return 0

    def boundary_drag(self, particles, dt):
        return None


def single(force, **options):
    return ct.Fluid(
        points=[[0.0, 0.0, 0.0]],
        particle_radius=0.01,
        velocity=(1.0, 2.0, -3.0),
        forces=[force],
        name="drop",
        **options,
    )


@pytest.mark.parametrize(("force", "factor"), [(LinearDrag(50.0), 0.9), (ImplicitDrag(50.0), 1.0 / 1.1)])
def test_a_new_force_slows_a_particle_as_its_formula_says(force, factor):
    drop = single(force)
    world = ct.World([drop], gravity=(0, 0, 0))
    world.step(0.002)
    steps = world.system(ct.Fluid).substeps
    assert len(steps) == 1
    assert steps[0].force_iterations == isinstance(force, ImplicitDrag)
    np.testing.assert_allclose(drop.velocities[0], factor * np.array([1.0, 2.0, -3.0]), rtol=1e-6)


def test_new_and_built_in_forces_add_up():
    """Gravity, surface tension and drag of a loose lump: the sum of what each of them does alone."""
    steps = 0.023 * np.arange(4)  # farther apart than at rest, so that there is no pressure
    lump = np.stack(np.meshgrid(steps, steps, 1.1 * steps), axis=-1).reshape(-1, 3)

    def change(gravity=0.0, **options):
        pair = ct.Fluid(
            points=lump,
            particle_radius=0.01,
            viscosity=0.0,
            velocity=(0, 0, 1.0),
            **options,
        )
        ct.World([pair], gravity=(0, gravity, 0)).step(1e-3)
        return pair.velocities - [0, 0, 1.0]

    drag = [LinearDrag(3.0)]
    together = change(-9.81, surface_tension=2.0, forces=drag)
    parts = change(-9.81) + change(surface_tension=2.0) + change(forces=drag)
    assert np.abs(change(surface_tension=2.0)).max() > 1e-4
    np.testing.assert_allclose(together, parts, atol=5e-7)


def test_a_force_can_act_on_one_of_two_fluids():
    forces = [Buoyancy(1, 5.0)]
    low = ct.Fluid(points=[[0.0, 0.0, 0.0]], particle_radius=0.01, forces=forces, name="low")
    high = ct.Fluid(points=[[0.5, 0.0, 0.0]], particle_radius=0.01, forces=forces, name="high")
    world = ct.World([low, high], gravity=(0, -1.0, 0))
    world.step(0.004)
    assert low.velocities[0, 1] == pytest.approx(-0.004, rel=1e-5)
    assert high.velocities[0, 1] == pytest.approx(0.016, rel=1e-5)


def test_objects_that_are_no_forces_and_fluids_that_disagree_are_refused():
    with pytest.raises(ct.InputError, match="forces must have the methods of continua"):
        single("gravity")
    other = ct.Fluid(points=[[1.0, 0.0, 0.0]], particle_radius=0.01, name="other")
    with pytest.raises(ct.InputError, match="must have the same forces"):
        ct.World([single(LinearDrag(1.0)), other])

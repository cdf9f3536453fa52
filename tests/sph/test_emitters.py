"""Emitters deliver pi R^2 v, whatever the particles; what cannot be emitted is refused or reported."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError


def jet(across, **options):
    """Return a fluid from a nozzle of radius 5 cm, `across` particles wide."""
    nozzle = ct.Emitter((0, 0, 0), (0.6, 0.8, 0), radius=0.05, speed=2.0)
    return ct.Fluid(emitters=[nozzle], particle_radius=0.05 / across, name="jet", **options)


@pytest.mark.parametrize("across", [1, 1.5, 2, 3, 4, 5, 6, 7.3, 8, 11])
def test_layers_carry_the_area_times_the_speed(across):
    fluid = jet(across)
    nozzle, d = fluid.emitters[0], fluid.diameter
    layers = nozzle.layers_due(1000.0, d) - nozzle.layers_due(500.0, d)
    volume = layers * len(nozzle.layer(d)) * d**3
    assert volume == pytest.approx(np.pi * 0.05**2 * 2.0 * 500.0, rel=1e-3)
    # the fluid in the nozzle is as dense as at rest: layers are about as far apart as particles within one
    assert 0.75 < nozzle.layer_spacing(d) / d < 1.3


@pytest.mark.parametrize("across", [1, 4, 7.3])
def test_a_running_jet_delivers_the_flow_rate(across):
    fluid = jet(across)
    world = ct.World([fluid], gravity=(0, 0, 0), dt=0.01)
    counts = []
    for _ in range(40):
        world.step()
        counts.append(fluid.node_count)
    layer = len(fluid.emitters[0].layer(fluid.diameter))
    expected = np.pi * 0.05**2 * 2.0 * 0.01 * np.arange(1, 41) / fluid.diameter**3
    # a layer counts when half of it has left; the last sub-step of a step begins before its end
    assert np.abs(np.array(counts) - expected).max() <= 0.5 * layer + expected[0]
    axis = np.array([0.6, 0.8, 0.0])
    assert np.abs(fluid.velocities - 2.0 * axis).max() < 0.01  # nothing bursts
    front = 2.0 * 0.4 - 0.5 * fluid.emitters[0].layer_spacing(fluid.diameter)
    assert (fluid.positions @ axis).max() == pytest.approx(front, abs=0.02)


def test_a_nozzle_narrower_than_a_particle_is_refused():
    with pytest.raises(InputError, match="narrower than a particle of radius"):
        jet(0.9)


@pytest.mark.parametrize("center", [(3.0, 0, 0), (0.9, 0.99, 0.0)])
def test_an_emitter_outside_of_the_tank_is_refused(center):
    nozzle = ct.Emitter(center, (-1, 0, 0), radius=0.2, speed=1.0)
    fluid = ct.Fluid(emitters=[nozzle], particle_radius=0.05, name="jet")
    with pytest.raises(InputError, match="emitter of 'jet' lies inside a box"):
        ct.World([fluid], colliders=[ct.Box((0, 0, 0), (2, 2, 2), inside=True)])


def test_an_emitter_at_a_wall_is_accepted():
    nozzle = ct.Emitter((-1, 0, 0), (1, 0, 0), radius=0.2, speed=1.0)
    fluid = ct.Fluid(emitters=[nozzle], particle_radius=0.05)
    ct.World([fluid], colliders=[ct.Box((0, 0, 0), (2, 2, 2), inside=True)])


def test_what_max_particles_holds_back_is_reported_and_does_not_come_later():
    drain = ct.Drain((0.3, -1, -1), (9, 9, 1))
    fluid = jet(3, max_particles=100, drains=[drain])
    world = ct.World([fluid], gravity=(0, 0, 0), dt=0.01)
    warnings = []
    for _ in range(100):
        before = fluid.particles_ever
        warnings += world.step()[0].warnings
        assert fluid.node_count <= 100
        assert fluid.particles_ever - before <= 2 * len(fluid.emitters[0].layer(fluid.diameter))
    assert "max_particles is 100" in warnings[0]
    assert fluid.particles_ever > 150  # it went on when the drain made room

"""Cloth that keeps the area around every node."""

import numpy as np
import pytest

import continua as ct
from continua.deformable.incompressible import OneRing
from continua.scene import parse_scene


def hanging(model="membrane", **options):
    mesh = ct.mesh.surfaces.sheet((0.6, 0.6), (10, 11))
    law = ct.StVenantKirchhoff(young=2e4, poisson=0.0, density=300.0)
    cloth = ct.Cloth(
        mesh,
        law,
        thickness=1e-3,
        name="sheet",
        inextensible="area",
        damping=(0.5, 0.001),
        model=model,
        **options,
    )
    cloth.pin(lambda x: x[:, 2] < -0.299)
    return cloth


def test_areas_and_their_derivatives():
    cloth = hanging()
    ring, rng = OneRing(cloth._elements), np.random.default_rng(0)
    x = cloth.rest_positions + 0.02 * rng.standard_normal(cloth.rest_positions.shape)
    a, b, c = (x[cloth.mesh.cells[:, i]] for i in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    nodes = np.zeros(len(x))
    np.add.at(nodes, cloth.mesh.cells, np.repeat(areas[:, None] / 3.0, 3, axis=1))
    assert np.allclose(ring.update(x), nodes, rtol=1e-12)
    v = rng.standard_normal(x.shape)
    rate = (ring.volumes(x + 1e-6 * v) - ring.volumes(x - 1e-6 * v)) / 2e-6
    ring.update(x)
    assert np.abs(ring.divergence(v) - rate).max() < 1e-8 * np.abs(rate).max()
    p = rng.standard_normal(len(x))
    force = ring.forces(p)
    assert np.vdot(force, v) == pytest.approx(np.vdot(p, ring.divergence(v)), rel=1e-12)
    assert np.abs(force.sum(axis=0)).max() < 1e-13
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-13


@pytest.mark.parametrize("model", ["membrane", "springs"])
@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark"])
def test_a_soft_sheet_that_swings_keeps_its_areas(model, integrator):
    cloth = hanging(model, integrator=integrator)
    ring = OneRing(cloth._elements)
    world, worst = ct.World([cloth], dt=0.005), 0.0
    for _ in range(100):
        world.step()
        worst = max(worst, float(np.abs(ring.volumes(cloth.positions) / ring.rest_volumes - 1.0).max()))
    assert worst < 1e-3
    assert cloth.positions[:, 1].min() < -0.2  # it fell


def test_free_sheet_keeps_its_momentum():
    mesh = ct.mesh.surfaces.sheet((0.6, 0.6), (8, 9))
    law = ct.StVenantKirchhoff(young=2e4, poisson=0.0, density=300.0)
    cloth = ct.Cloth(mesh, law, thickness=1e-3, inextensible="area")
    x = mesh.points
    cloth.velocities = np.column_stack([np.sin(9 * x[:, 2]), x[:, 0] ** 2, 0.5 * x[:, 0]])
    mass = cloth._node_mass
    before = mass @ cloth.velocities
    world = ct.World([cloth], gravity=(0, 0, 0), dt=0.005)
    for _ in range(20):
        world.step()
    assert np.abs(mass @ cloth.velocities - before).max() < 1e-9 * np.abs(before).max()


def test_scene_and_refusals():
    world = parse_scene(
        "bodies:\n  - {type: cloth, name: sheet, inextensible: area, pin: [{where: left}], "
        "mesh: {type: sheet, cells: [6, 7]}}\n"
    ).build()
    world.step()
    with pytest.raises(ct.InputError, match="'inextensible' of cloth"):
        ct.Cloth(ct.mesh.surfaces.sheet(), inextensible="length")

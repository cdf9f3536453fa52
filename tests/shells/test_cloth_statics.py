"""Cloth at rest: sag of strips, the catenary, energy on several triangulations, pressure, folds that stay."""

import numpy as np
import pytest
from scipy.optimize import brentq

import continua as ct
from continua.environment import Environment
from continua.mesh import surfaces
from tests.shells.sheets import lattice

THICKNESS = 1e-3


def sag_over_theory(edge, degrees):
    """Return the deflection of a wide cantilever of flexural stiffness D over q L^4 / (8 D), and the like along it."""
    flexural, length = 1e-3, 1.0
    mesh = lattice((length + 3.0 * edge, 1.5), edge, np.deg2rad(degrees))
    law = ct.StVenantKirchhoff(young=12.0 * flexural / THICKNESS**3, poisson=0.0, density=1.0 / THICKNESS)
    strip = ct.Cloth(mesh, law, thickness=THICKNESS)
    x = mesh.points[:, 0]
    held = x < 2.0 * edge
    strip.pin(held)
    load = 0.02 * 8.0 * flexural / length**3
    strip.prepare(Environment(gravity=np.array([0.0, -load, 0.0])))
    strip.settle()
    free = ~held[mesh.triangles].all(
        axis=1
    )  # the clamp is where the triangles that are held end, in the mean
    start = x.max() - mesh.areas[free].sum() / np.ptp(mesh.points[:, 2])
    end, s = x.max() - start, x - start
    far = s > 0.8 * length
    expected = load / (24.0 * flexural) * s**2 * (6.0 * end**2 - 4.0 * end * s + s**2)
    return float(-(strip.positions[far, 1] / expected[far]).mean())


@pytest.mark.parametrize("degrees", [0.0, 15.0, 30.0])
def test_strip_sags_as_a_plate_strip_in_all_mesh_directions(degrees):
    """The error is of the order of the edges, at the clamp; extrapolated to edges of no length it is below 2 %."""
    coarse, fine = sag_over_theory(1.0 / 12.0, degrees), sag_over_theory(1.0 / 24.0, degrees)
    assert 2.0 * fine - coarse == pytest.approx(1.0, abs=0.02)


def test_inextensible_ribbon_hangs_in_a_catenary():
    """A ribbon of length 1.2 between points 1 apart has y = a cosh(x/a) + c with 2 a sinh(1/(2a)) = 1.2."""
    length, span, cells = 1.2, 1.0, 48
    half = brentq(lambda angle: np.sin(angle) / angle - span / length, 0.1, 3.0)
    radius = length / (2.0 * half)
    flat = surfaces.sheet((length, 0.05), (cells, 2))
    angle = flat.points[:, 0] / radius
    points = np.stack(
        [radius * np.sin(angle), radius * (np.cos(half) - np.cos(angle)), flat.points[:, 2]], axis=1
    )
    law = ct.StVenantKirchhoff(young=1e7, poisson=0.0, density=300.0)
    ribbon = ct.Cloth(
        ct.SurfaceMesh(points, flat.triangles),
        law,
        thickness=THICKNESS,
        bending=ct.Bending(1e-8, rest="flat"),
    )
    ribbon.pin(lambda x: np.abs(x[:, 0]) > 0.5 * span - 1e-6)
    ribbon.prepare(Environment())
    ribbon.settle(rtol=1e-4)
    a = brentq(lambda a: 2.0 * a * np.sinh(span / (2.0 * a)) - length, 0.1, 10.0)
    x, y = ribbon.positions[:, 0], ribbon.positions[:, 1]
    expected = a * (np.cosh(x / a) - np.cosh(span / (2.0 * a)))
    assert np.abs(y - expected).max() < 2e-3 * length


def test_energy_of_a_hanging_sheet_hardly_depends_on_the_triangulation():
    meshes = [
        surfaces.sheet((1.0, 1.0), (20, 23)),
        surfaces.sheet((1.0, 1.0), (20, 20), pattern="crossed"),
        surfaces.sheet((1.0, 1.0), (24, 18)),
    ]
    energies = []
    for mesh in meshes:
        law = ct.StVenantKirchhoff(young=2e4, poisson=0.3, density=200.0)
        sheet = ct.Cloth(mesh, law, thickness=THICKNESS, bending=ct.Bending(1e-4))
        sheet.pin(lambda x: (np.abs(np.abs(x[:, 0]) - 0.5) < 1e-9) & (np.abs(x[:, 2]) < 0.5 + 1e-9))
        sheet.prepare(Environment())
        sheet.settle()
        energy = sheet.energy()
        energies.append(energy["elastic"] + energy["gravity"])
    assert np.ptp(energies) < 0.03 * abs(np.mean(energies))


def test_flat_sheet_keeps_rest_angle_zero_and_a_curved_one_keeps_its_own():
    """A13: without gravity neither moves."""
    sphere = surfaces.sphere(0.3, 4)
    for mesh in (surfaces.sheet((1.0, 1.0), (8, 8)), sphere):
        sheet = ct.Cloth(mesh, thickness=THICKNESS, bending=ct.Bending(1e-2))
        sheet.prepare(Environment(gravity=np.zeros(3)))
        assert sheet.energy()["elastic"] < 1e-20
        for _ in range(3):
            sheet.step(0.01)
        assert np.abs(sheet.positions - mesh.points).max() < 1e-12


def test_plastic_hinge_keeps_its_angle_after_unloading():
    """A13: the fold springs back by the elastic curvature of the yield limit, and by no more."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, 0.8], [0.5, 0.0, -0.8]])
    mesh = ct.SurfaceMesh(points, [[0, 2, 1], [0, 1, 3]])
    limit, hardening = 0.5, 0.25
    for plastic in (False, True):
        bending = ct.Bending(
            1e-2, yield_curvature=limit if plastic else None, hardening=hardening if plastic else 0.0
        )
        sheet = ct.Cloth(mesh, thickness=THICKNESS, bending=bending)
        sheet.prepare(Environment(gravity=np.zeros(3)))
        hinge = sheet._elements.bending
        folded = points.copy()
        folded[2] = [0.5, 0.8 * np.sin(1.2), 0.8 * np.cos(1.2)]
        sheet.positions = folded
        hinge.flow(sheet._x)
        sheet.pin([0, 1, 3])
        sheet.settle()
        hinge.update(sheet._x)
        angle = hinge.records[0, 15]
        if not plastic:
            assert abs(angle) < 1e-6
            continue
        factor = 1.0 / 0.8  # |e| / (A_1 + A_2)
        stress = 2.0 * factor * np.sin(0.6)
        kept = 2.0 * np.arcsin((stress - limit) / (1.0 + hardening) / (2.0 * factor))
        assert abs(angle) == pytest.approx(kept, rel=1e-6)
        saved = sheet.state()
        sheet.reset()
        assert np.abs(hinge.half_sine).max() == 0.0
        sheet.restore(saved)
        assert 2.0 * np.arcsin(abs(hinge.half_sine[0])) == pytest.approx(kept, rel=1e-12)


def test_balloon_obeys_the_law_of_laplace():
    """A sphere of radius r under a pressure p has the stress p r/(2 h), and grows by p r^2 (1 - nu)/(2 E h)."""
    radius, young, poisson, pressure = 0.3, 1e6, 0.3, 20.0
    law = ct.StVenantKirchhoff(young=young, poisson=poisson, density=300.0)
    balloon = ct.Cloth(surfaces.sphere(radius, 8), law, thickness=THICKNESS, bending=ct.Bending(0.0))
    load = balloon.inflate(pressure)
    for axis, name in enumerate("xyz"):
        balloon.lock(np.abs(balloon.rest_positions[:, axis]) < 1e-9, name)
    balloon.prepare(Environment(gravity=np.zeros(3)))
    balloon.settle()
    grown = np.linalg.norm(balloon.positions, axis=1).mean() - radius
    expected = pressure * radius**2 * (1.0 - poisson) / (2.0 * young * THICKNESS)
    assert grown == pytest.approx(expected, rel=0.02)
    assert balloon.von_mises().mean() == pytest.approx(pressure * radius / (2.0 * THICKNESS), rel=0.02)
    assert load.volume > 4.0 / 3.0 * np.pi * radius**3 * 0.97


def test_gas_keeps_pressure_times_volume():
    balloon = ct.Cloth(surfaces.sphere(0.3, 4), thickness=THICKNESS)
    load = balloon.inflate(100.0, gas=True)
    rest = balloon.rest_positions
    for factor in (0.8, 1.0, 1.3):
        assert load.pressure_at(factor * rest) * factor**3 == pytest.approx(100.0, rel=1e-12)


def test_strain_limit_stops_the_stretch():
    """Under ten times the load that reaches the limit, the strain stays within 10 % of it."""
    mesh = surfaces.sheet((0.2, 1.0), (4, 20))
    limit = 0.05
    strains = []
    for law in (
        ct.Fabric(warp=50.0, weft=50.0, shear=20.0, area_density=1.0),
        ct.Fabric(warp=50.0, weft=50.0, shear=20.0, area_density=1.0, limit=limit),
    ):
        strip = ct.Cloth(mesh, law)
        strip.lock("all", "y")
        strip.pin("back")
        strip.prepare(Environment(gravity=np.array([0.0, 0.0, 25.0])))
        strip.settle()
        strains.append(strip.field("stretch").values[:, 0].max() - 1.0)
    assert strains[0] > 2.5 * limit
    assert strains[1] < 1.1 * limit

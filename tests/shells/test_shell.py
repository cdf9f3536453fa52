"""Stiff shells: derivatives, patch test, and published deflections of plates and shells."""

import numpy as np
import pytest

import continua as ct
from continua.mesh.outline_mesh import mesh_outline
from continua.scene import parse_scene
from continua.shells.shell_bending import _find_hinges, angle_stiffness
from tests.shells.test_cloth_forces import forces_and_stiffness, numerical_force


def panel(size, edge):
    """Return points [n, 2] and triangles of a rectangle with an irregular mesh."""
    a, b = size
    mesh = mesh_outline([(0, 0), (a, 0), (a, b), (0, b)], size=lambda p: np.full(len(p), edge))
    return mesh.points, mesh.triangles


def grid(size, cells):
    """Return points [n, 2] and triangles of a rectangle, all diagonals in one direction."""
    nx, ny = cells
    x, y = np.meshgrid(np.linspace(0, size[0], nx + 1), np.linspace(0, size[1], ny + 1), indexing="ij")
    node = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    a, b, c, d = (i.ravel() for i in (node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]))
    return np.stack([x.ravel(), y.ravel()], 1), np.concatenate(
        [np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
    )


def bumpy_shell(clamped=None):
    points, triangles = panel((1.0, 0.8), 0.3)
    points = np.column_stack([points, 0.1 * np.sin(3.0 * points[:, 0])])
    law = ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0)
    return ct.Shell(ct.SheetMesh(points, triangles), law, thickness=0.05, clamped=clamped)


@pytest.mark.parametrize("clamped", [None, "left"])
def test_force_and_tangent_are_derivatives(clamped):
    shell = bumpy_shell(clamped)
    elements, rng = shell._elements, np.random.default_rng(0)
    # stretched in all directions, where the membrane's stiffness is its exact tangent
    x = 1.3 * elements.rest_positions + 0.012 * rng.standard_normal(elements.rest_positions.shape)
    elements.bending.exact = True
    force, stiffness = forces_and_stiffness(elements, x)
    force = force.copy()
    for node in (0, 5, 9):
        for axis in range(3):
            assert numerical_force(elements, x, node, axis) == pytest.approx(
                force[node, axis], abs=1e-8 * np.abs(force).max()
            )
    assert np.abs(stiffness - stiffness.T).max() == 0.0
    for column in rng.integers(0, x.size, 5):
        step = np.zeros(x.size)
        step[column] = 1e-6
        up = forces_and_stiffness(elements, x + step.reshape(x.shape))[0].copy()
        down = forces_and_stiffness(elements, x - step.reshape(x.shape))[0]
        slope = -(up - down).ravel() / 2e-6
        assert np.abs(slope - stiffness[:, column]).max() < 1e-8 * np.abs(stiffness).max()


def test_no_net_force_and_torque_and_rigid_motions_are_free():
    shell = bumpy_shell()
    elements, rng = shell._elements, np.random.default_rng(1)
    rest = elements.rest_positions
    x = rest + 0.05 * rng.standard_normal(rest.shape)
    force, stiffness = forces_and_stiffness(elements, x)
    scale = np.abs(force).max()
    assert np.abs(force.sum(axis=0)).max() < 1e-11 * scale
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-11 * scale
    eigenvalues = np.linalg.eigvalsh(stiffness)
    assert eigenvalues[0] > -1e-10 * eigenvalues[-1]
    q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    q *= np.sign(np.linalg.det(q))
    moved = np.ascontiguousarray(rest @ q.T + [1.0, 2.0, 3.0])
    assert np.abs(forces_and_stiffness(elements, moved)[0]).max() < 1e-10 * scale
    stiff = np.sort(np.linalg.eigvalsh(forces_and_stiffness(elements, rest.copy())[1]))
    assert stiff[5] < 1e-9 * stiff[-1] < 1e-5 * stiff[6]  # six rigid motions and no other free one


def test_constant_curvature_is_in_equilibrium_on_an_irregular_mesh():
    """The patch test of Morley's element: no force inside, and the energy of a plate, for all three curvatures."""
    points, triangles = panel((1.0, 1.0), 0.2)
    mesh = ct.SheetMesh(np.column_stack([points, 0.0 * points[:, 0]]), triangles, thickness=0.01)
    edge = (points < 1e-9).any(axis=1) | (points > 1.0 - 1e-9).any(axis=1)
    hinges = _find_hinges(mesh, edge)
    nu, D = 0.3, 2.0
    K = angle_stiffness(mesh, hinges, np.tile([D, nu], (mesh.element_count, 1)))
    x = np.concatenate([mesh.points, hinges.ghosts])
    i, j, k, l = (x[hinges.nodes[:, c]] for c in range(4))
    e = k - j
    span = np.linalg.norm(e, axis=1)
    p = span / np.linalg.norm(np.cross(e, i - j), axis=1)
    q = span / np.linalg.norm(np.cross(e, l - j), axis=1)
    s, t = ((i - j) * e).sum(1) / span**2, ((l - j) * e).sum(1) / span**2
    weights = np.stack([p, (s - 1) * p + (t - 1) * q, -(s * p + t * q), q], axis=1)
    for curvature in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, -0.7, 0.2]):
        xx, xy, yy = curvature
        w = 0.5 * (xx * points[:, 0] ** 2 + 2 * xy * points[:, 0] * points[:, 1] + yy * points[:, 1] ** 2)
        w = np.concatenate([w, np.zeros(len(hinges.ghosts))])
        # clamped edges follow the curvature too: their planes are tangent at the middle of the edge
        slope = x[mesh.node_count :] - 0.5 * (j + k)[hinges.triangles[:, 1] < 0]
        mid = 0.5 * (j + k)[hinges.triangles[:, 1] < 0]
        gradient = np.stack([xx * mid[:, 0] + xy * mid[:, 1], xy * mid[:, 0] + yy * mid[:, 1]], 1)
        ends = hinges.nodes[hinges.triangles[:, 1] < 0][:, 1:3]
        w[mesh.node_count :] = w[ends].mean(axis=1) + (slope[:, :2] * gradient).sum(axis=1)
        theta = (weights * w[hinges.nodes]).sum(axis=1)
        energy = 0.5 * theta @ (K @ theta)
        wanted = 0.5 * D * ((1 - nu) * (xx**2 + 2 * xy**2 + yy**2) + nu * (xx + yy) ** 2)
        assert energy == pytest.approx(wanted, rel=1e-9)
        force = np.zeros(len(x))
        np.add.at(force, hinges.nodes, weights * (K @ theta)[:, None])
        inside = np.flatnonzero(~edge)
        assert np.abs(force[inside]).max() < 1e-10 * np.abs(force).max()


@pytest.mark.parametrize("regular", [True, False])
def test_clamped_square_plate(regular):
    """0.00126532 q a^4 / D in the middle (Timoshenko and Woinowsky-Krieger, 1959), second order of convergence."""
    errors = []
    for n in (12, 24):
        points, triangles = grid((1, 1), (n, n)) if regular else panel((1, 1), 1.3 / n)
        plate = ct.Shell(
            ct.SheetMesh(np.column_stack([points, 0.0 * points[:, 0]]), triangles),
            ct.StVenantKirchhoff(young=1e9, poisson=0.3, density=1.0),
            thickness=0.01,
            clamped=lambda x: ((x[:, :2] < 1e-9) | (x[:, :2] > 1.0 - 1e-9)).any(axis=1),
        )
        D = 1e9 * 0.01**3 / 12.0 / (1.0 - 0.3**2)
        plate.apply_pressure("all", 1e-6 * D)
        plate.settle(rtol=1e-8)
        deflection = np.abs(plate.positions[:, 2]).max() / 1e-6
        errors.append(abs(deflection / 0.00126532 - 1.0))
    assert errors[1] < 0.025
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("regular", [True, False])
def test_cantilever_strip_with_large_deflection(regular):
    """Elastica under a dead load at its tip (Mattiasson 1981): P L^2 / E I = 1, 5, 10."""
    length, width, thickness, young = 1.0, 0.1, 0.005, 1e9
    points, triangles = grid((length, width), (24, 3)) if regular else panel((length, width), 0.06)
    tip = np.flatnonzero(points[:, 0] > length - 1e-9)
    tip = tip[np.argsort(points[tip, 1])]
    share = np.zeros(len(points))
    pieces = np.diff(points[tip, 1]) / width
    share[tip[:-1]] += 0.5 * pieces
    share[tip[1:]] += 0.5 * pieces
    for load, down, back in ((1.0, 0.30172, 0.05643), (5.0, 0.71379, 0.38763), (10.0, 0.81061, 0.55500)):
        strip = ct.Shell(
            ct.SheetMesh(np.column_stack([points[:, 0], 0.0 * points[:, 0], points[:, 1]]), triangles),
            ct.StVenantKirchhoff(young=young, poisson=0.0, density=1.0),
            thickness=thickness,
            clamped="left",
        )
        force = load * young * width * thickness**3 / 12.0 / length**2
        for node in tip:
            strip.push([int(node)], (0.0, -force * share[node], 0.0))
        strip.settle(rtol=1e-5)
        moved = (strip.positions - strip.rest_positions)[tip].mean(axis=0)
        assert -moved[1] == pytest.approx(down, rel=0.01)
        assert -moved[0] == pytest.approx(back, rel=0.01)


@pytest.mark.parametrize("regular", [True, False])
def test_scordelis_lo_roof(regular):
    """The edge of a roof on two diaphragms sinks by 0.3024 in the middle (MacNeal and Harder, 1985)."""
    radius, length, half = 25.0, 50.0, np.radians(40.0)
    width = 2.0 * half * radius
    errors = []
    for n in (12, 24):
        points, triangles = (
            grid((width, length), (n, n)) if regular else panel((width, length), 1.4 * width / n)
        )
        angle = points[:, 0] / radius - half
        x = np.column_stack([radius * np.sin(angle), radius * np.cos(angle), points[:, 1]])
        scale = 1e-4  # of the load, for small displacements
        roof = ct.Shell(
            ct.SheetMesh(x, triangles),
            ct.StVenantKirchhoff(young=4.32e8, poisson=0.0, density=scale * 90.0 / 0.25 / 9.81),
            thickness=0.25,
        )
        ends = (points[:, 1] < 1e-9) | (points[:, 1] > length - 1e-9)
        roof.lock(ends, "x")
        roof.lock(ends, "y")
        roof.lock([int(np.argmin(np.linalg.norm(x - [0.0, radius, 0.5 * length], axis=1)))], "z")
        ct.World([roof], gravity=(0.0, -9.81, 0.0)).settle(rtol=1e-8)
        edge = np.flatnonzero(points[:, 0] > width - 1e-9)
        edge = edge[np.argsort(points[edge, 1])]
        sag = -np.interp(0.5 * length, points[edge, 1], (roof.positions - x)[edge, 1]) / scale
        errors.append(abs(sag / 0.3024 - 1.0))
    assert errors[1] < 0.08
    assert errors[1] < 0.5 * errors[0]


def test_steps_of_a_shell_keep_its_energy_and_frequency():
    """A cantilever vibrates at 3.516 / (2 pi L^2) sqrt(E I / rho A)."""
    points, triangles = grid((1.0, 0.1), (20, 2))
    strip = ct.Shell(
        ct.SheetMesh(np.column_stack([points[:, 0], 0.0 * points[:, 0], points[:, 1]]), triangles),
        ct.StVenantKirchhoff(young=1e9, poisson=0.0, density=1000.0),
        thickness=0.01,
        clamped="left",
        integrator="newmark",
    )
    frequency = 3.516 / (2.0 * np.pi) * np.sqrt(1e9 * 0.01**2 / 12.0 / 1000.0)
    world = ct.World([strip], gravity=(0.0, 0.0, 0.0), dt=1.0 / frequency / 100.0)
    start = strip.rest_positions.copy()
    s = start[:, 0]
    start[:, 1] += 0.002 * (6.0 * s**2 - 4.0 * s**3 + s**4) / 3.0
    strip.positions = start
    tip = np.argmax(s)
    heights, energies = [], []
    for _ in range(300):
        world.step()
        heights.append(strip.positions[tip, 1])
        energies.append(sum(strip.energy().values()))
    crossings = np.flatnonzero((np.array(heights[:-1]) > 0.0) & (np.array(heights[1:]) <= 0.0))
    period = np.diff(crossings).mean() / 100.0
    assert period == pytest.approx(1.0, rel=0.03)
    assert np.ptp(energies) < 0.02 * energies[0]


def test_bitwise_alike_for_any_number_of_threads():
    results = []
    for threads in (1, 2):
        ct.set_threads(threads)
        shell = bumpy_shell("left")
        world = ct.World([shell], dt=0.01)
        for _ in range(5):
            world.step()
        results.append(shell.positions.tobytes())
    assert results[0] == results[1]


def test_what_is_refused():
    points, triangles = grid((1, 1), (2, 2))
    triangles = triangles.copy()
    triangles[0] = triangles[0][::-1]
    with pytest.raises(ct.InputError, match="opposite orientations"):
        ct.Shell(ct.SheetMesh(np.column_stack([points, 0 * points[:, 0]]), triangles), thickness=1e-3)


def test_scene_of_a_shell():
    """A plate that is clamped at one end, in a scene, sinks like the beam that it is."""
    world = parse_scene(
        """
gravity: [0, -9.81, 0]
bodies:
  - type: shell
    name: plate
    mesh: {type: sheet, size: [1.0, 0.2], cells: [24, 6]}
    material: {type: st_venant_kirchhoff, young: 1.0e10, poisson: 0.0, density: 1000}
    thickness: 0.01
    clamped: left
    parts: [{where: right, density: 1000}]
"""
    ).build()
    world.settle(rtol=1e-7)
    load = 1000.0 * 0.01 * 9.81
    sag = load / (8.0 * 1e10 * 0.01**3 / 12.0)
    plate = world["plate"]
    assert -plate.positions[:, 1].min() == pytest.approx(sag, rel=0.02)
    with pytest.raises(ct.InputError, match="selects no node"):
        parse_scene(
            "bodies:\n  - {type: shell, name: p, clamped: {type: nodes, nodes: [0]}, mesh: {type: sheet}}\n".replace(
                "{type: nodes, nodes: [0]}", "{type: sphere, center: [9, 9, 9], radius: 1}"
            )
        ).build()

"""A step of a flow: projection, viscosity, walls that slant or move, hydrostatics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import continua as ct
from continua.geometry import Shape
from continua.grid_fluids import Advection, Flow, GhostFluidPressure, make_grid
from continua.grid_fluids.pressure.wall_forces import total_force


def inner_fractions(flow: Flow):
    """Open fractions of faces, 0 at the sides of the box."""
    for axis in flow.grid.axes:
        part = flow.domain.cut_cells.face_fractions[axis].copy()
        ends = [slice(None)] * 3
        ends[axis] = [0, -1]
        part[tuple(ends)] = 0
        yield axis, part


def test_projection_removes_divergence_and_is_idempotent():
    grid = make_grid((1.0, 1.0, 1.0), (16, 16, 16))
    flow = Flow(
        grid,
        {"right": "open"},
        [ct.Sphere(center=(0.4, 0.5, 0.55), radius=0.22)],
        rtol=1e-11,
        dtype=np.float64,
    )
    rng = np.random.default_rng(0)
    for u in flow.fields.velocity:
        u[:] = rng.normal(size=u.shape)
    flow.domain.apply_boundary_conditions(flow.fields.velocity)
    before = np.abs(flow.fields.divergence(flow.domain.cut_cells.face_fractions)).max()
    flow.project(0.1)
    once = [u.copy() for u in flow.fields.velocity]
    assert np.abs(flow.fields.divergence(flow.domain.cut_cells.face_fractions)).max() < 1e-9 * before
    flow.project(0.1)
    for one, two in zip(once, flow.fields.velocity, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.parametrize("voxels", [False, True])
def test_flow_along_a_slanted_channel_is_preserved_by_cut_cells_but_not_by_voxels(voxels):
    angle = np.radians(30.0)
    along, up = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle), 0.0])
    walls = [
        ct.Plane(point=tuple(-0.31 * up), normal=tuple(up)),
        ct.Plane(point=tuple(0.31 * up), normal=tuple(-up)),
    ]
    grid = make_grid((2.0, 2.0), (32, 32), (-1.0, -1.0))
    sides = dict.fromkeys(("left", "right", "bottom", "top"), "open")
    flow = Flow(grid, sides, walls, rtol=1e-12, dtype=np.float64, voxels=voxels)
    for d in range(2):
        flow.fields.velocity[1 + d][:] = along[d]
    flow.project(1.0)
    worst = 0.0
    for d in range(2):
        part = flow.domain.cut_cells.face_fractions[1 + d]
        worst = max(worst, np.abs(flow.fields.velocity[1 + d] - along[d])[part > 0.01].max())
    print("voxels" if voxels else "cut cells", "largest change of the flow:", worst)
    assert worst > 0.1 if voxels else worst < 2e-3  # corners within a thousandth of a cell are closed


@dataclass(frozen=True)
class Basin(Shape):
    """Everything outside of an ellipse, by its distance to first order."""

    kind = "mesh"

    def distances(self, points):
        x, y = points[:, 0] - 0.013, points[:, 1] + 0.021
        level = np.sqrt((x / 0.8) ** 2 + (y / 0.5) ** 2)
        slope = np.sqrt((x / 0.64) ** 2 + (y / 0.25) ** 2) / np.maximum(level, 1e-9)
        normals = -np.stack([x / 0.64, y / 0.25, 0 * x], axis=1)
        size = np.linalg.norm(normals, axis=1, keepdims=True)
        return (1.0 - level) / np.maximum(slope, 1e-9), normals / np.maximum(size, 1e-12)


def hodge_errors(n: int, turning: bool):
    grid = make_grid((2.0, 2.0), (n, n), (-1.0, -1.0))
    flow = Flow(grid, {}, [Basin()], rtol=1e-12, dtype=np.float64)
    exact = []
    for d in range(2):
        x, y, _ = grid.face_centers(1 + d).T.reshape(3, *flow.fields.velocity[1 + d].shape)
        slope = 2 * np.cos(2 * x) * (1 + y**2) if d == 0 else 2 * y * np.sin(2 * x)
        a, b = (x - 0.013) / 0.64, (y + 0.021) / 0.25
        s = (x - 0.013) * a + (y + 0.021) * b
        kept = (2 * b * np.cos(s) if d == 0 else -2 * a * np.cos(s)) if turning else 0.0 * x
        flow.fields.velocity[1 + d][:] = slope + kept
        exact.append(kept)
    flow.domain.apply_boundary_conditions(flow.fields.velocity)
    flow.project(1.0)
    errors = np.concatenate(
        [
            np.abs(flow.fields.velocity[axis] - exact[axis - 1])[part > 0]
            for axis, part in inner_fractions(flow)
        ]
    )
    return errors.mean(), np.sqrt((errors**2).mean()), errors.max()


@pytest.mark.parametrize(("turning", "least"), [(False, (1.9, 1.9, 1.9)), (True, (1.9, 1.4, 0.9))])
def test_neumann_orders_of_the_projection(turning, least):
    errors = np.array([hodge_errors(n, turning) for n in (32, 64, 128, 256)])
    orders = np.log2(errors[:-1] / errors[1:])
    print("turning" if turning else "pure gradient", "errors", errors.tolist(), "orders", orders.tolist())
    assert (orders.mean(axis=0) >= least).all()
    if not turning:  # printed largest errors at 32 and 256
        assert errors[0, 2] < 1.1 * 2.1e-4
        assert errors[-1, 2] < 1.1 * 3.1e-6


def test_liquid_at_rest_stays_at_rest_with_hydrostatic_pressure():
    grid = make_grid((1.0, 1.0), (16, 16))
    flow = Flow(grid, {}, dtype=np.float64)
    height = 0.63
    y = grid.centers()[:, 1].reshape(grid.shape)
    weights = [part.copy() for part in flow.domain.cut_cells.face_fractions]
    for side in flow.domain.sides:
        weights[side.axis][side.layer()] = 0
    surface = GhostFluidPressure(weights, np.zeros(grid.shape), y - height)
    dt, g = 0.01, 9.81
    flow.fields.velocity[2][:] = -g * dt
    flow.domain.apply_boundary_conditions(flow.fields.velocity)
    b = np.where(
        surface.liquid, -flow.fields.divergence(flow.domain.cut_cells.face_fractions) * grid.spacing, 0.0
    )
    p = np.zeros(grid.shape)
    assert surface.solver.solve(b, p, rtol=1e-12).converged
    surface.subtract_gradient(flow.fields.velocity, p, flow.domain.cut_cells.face_fractions)
    wet = surface.liquid
    np.testing.assert_allclose((p * grid.spacing / dt)[wet], (g * (height - y))[wet], rtol=1e-9)
    faces = wet[:, :, :-1] | wet[:, :, 1:]
    assert np.abs(flow.fields.velocity[2][:, :, 1:-1][faces]).max() < 1e-9


def vortices(n: int, scheme: str, viscosity: float):
    """Taylor-Green vortices in a box with slip walls after about 1 s: relative amplitude, and the time."""
    grid = make_grid((np.pi, np.pi), (n, n))
    flow = Flow(
        grid, {}, density=1.0, viscosity=viscosity, advection=Advection(scheme), slip=True, dtype=np.float64
    )
    start = []
    for d in range(2):
        x, y, _ = grid.face_centers(1 + d).T.reshape(3, *flow.fields.velocity[1 + d].shape)
        start.append(np.sin(x) * np.cos(y) if d == 0 else -np.cos(x) * np.sin(y))
        flow.fields.velocity[1 + d][:] = start[-1]
    flow.project(1.0)
    dt = 0.5 * np.pi / n
    steps = round(1.0 / dt)
    for _ in range(steps):
        flow.step(dt)
    left = sum((u * s).sum() for u, s in zip(flow.fields.velocity[1:], start, strict=True))
    return left / sum((s * s).sum() for s in start), steps * dt


def test_taylor_green_vortices_decay_as_theory_predicts():
    kept = {scheme: vortices(32, scheme, 0.0)[0] for scheme in ("semi-lagrangian", "maccormack", "bfecc")}
    print("amplitude of inviscid vortices after 1 s:", kept)
    for better in (
        "maccormack",
        "bfecc",
    ):  # what remains is the splitting error, of first order in time
        assert 0.0 < 1.0 - kept[better] < 0.4 * (1.0 - kept["semi-lagrangian"])
    nu = 0.1
    amplitude, time = vortices(48, "maccormack", nu)
    print("viscous amplitude", amplitude, "theory", np.exp(-2 * nu * time))
    assert amplitude == pytest.approx(np.exp(-2 * nu * time), rel=0.01)


def test_uniform_wind_stays_uniform():
    grid = make_grid((2.0, 1.0), (32, 16))
    flow = Flow(grid, {"left": (1.5, 0.0), "right": "open"})
    flow.fields.velocity[1][:] = 1.5
    for _ in range(3):
        flow.step(0.1)
    np.testing.assert_allclose(flow.fields.velocity[1], 1.5, rtol=1e-6)
    np.testing.assert_allclose(flow.fields.velocity[2], 0.0, atol=1e-6)


def test_a_piston_displaces_its_own_volume():
    speed = 0.4
    piston = ct.Box(
        center=(0.1, 0.5, 0.0), size=(0.4, 2.0, 2.0), motion=ct.Motion.translate((speed, 0.0, 0.0))
    )
    grid = make_grid((2.0, 1.0), (32, 16))
    flow = Flow(grid, {"right": "open"}, [piston], rtol=1e-10, dtype=np.float64)
    for k in range(3):
        flow.step(0.02, 0.02 * k)
    out = flow.fields.velocity[1][0, -1].mean() * grid.size[1]
    assert out == pytest.approx(speed * grid.size[1], rel=1e-6)


@pytest.mark.parametrize(("sides", "reported"), [({}, True), ({"right": "open"}, False)])
def test_a_piston_in_a_closed_box_is_reported(sides, reported):
    motion = ct.Motion.translate((0.4, 0.0, 0.0))
    piston = ct.Box(center=(0.1, 0.5, 0.0), size=(0.4, 2.0, 2.0), motion=motion)
    world = ct.World([ct.Smoke((2.0, 1.0), (32, 16), sides=sides, obstacles=[piston])], dt=0.02)
    assert any("change the volume" in words for words in world.step()[0].warnings) == reported


def test_a_ball_that_moves_in_a_closed_box_compresses_nothing():
    motion = ct.Motion.translate((0.4, 0.1, 0.0))
    ball = ct.Sphere(center=(0.7, 0.5, 0.0), radius=0.22, motion=motion)
    world = ct.World([ct.Smoke((2.0, 1.0), (32, 16), sides={}, obstacles=[ball])], dt=0.02)
    assert not any(world.step()[0].warnings for _ in range(8))


@pytest.mark.parametrize("dim", [2, 3])
def test_an_edited_flow_has_the_equations_of_a_new_one(dim):
    grid = make_grid((1.0,) * dim, (24,) * dim)
    z = 0.5 * (dim - 2)
    kept = ct.Sphere(center=(0.25, 0.7, z), radius=0.12)
    old, new = (ct.Box(center=(x, 0.4, z), size=(0.25, 0.3, 0.31)) for x in (0.8, 0.6))
    sides = {"right": "open", "top": "open"}
    edited = Flow(grid, sides, [kept, old])
    edited.change_obstacles([kept, new])
    fresh = Flow(grid, sides, [kept, new])
    assert np.array_equal(edited.domain.cut_cells.solid_cells, fresh.domain.cut_cells.solid_cells)
    for one, two in zip(edited.projection.solver.levels, fresh.projection.solver.levels, strict=True):
        for a, b in zip((*one.weights, one.diagonal), (*two.weights, two.diagonal), strict=True):
            assert np.array_equal(a, b)
    rng = np.random.default_rng(5)
    for axis, u in enumerate(edited.fields.velocity):
        u[:] = rng.normal(size=u.shape)
        fresh.fields.velocity[axis][:] = u
    for flow in (edited, fresh):
        flow.step(0.01)
    for one, two in zip(edited.fields.velocity, fresh.fields.velocity, strict=True):
        assert np.array_equal(one, two)


def test_unbalanced_inflow_is_rejected():
    with pytest.raises(ct.InputError, match="impossible for an incompressible fluid"):
        Flow(make_grid((1.0, 1.0), (8, 8)), {"left": (1.0, 0.0)})


def test_a_blocked_inlet_is_rejected_and_reported_when_it_is_blocked_later():
    wall = ct.Box(center=(1.0, 0.5, 0.0), size=(0.3, 3.0, 3.0))
    with pytest.raises(ct.InputError, match="blocks the side left"):
        ct.WindTunnel((2.0, 1.0), (32, 16), obstacles=[wall], name="tunnel")
    tunnel = ct.WindTunnel((2.0, 1.0), (32, 16), name="tunnel")
    world = ct.World([tunnel], dt=0.02)
    assert world.step()[0].warnings == ()
    tunnel.obstacles = [wall]
    assert "side left" in world.step()[0].warnings[0]
    tunnel.obstacles = [ct.Box(center=(1.0, 0.5, 0.0), size=(0.3, 0.3, 3.0))]
    assert world.step()[0].warnings == ()


def test_invalid_grids_are_rejected():
    with pytest.raises(ct.InputError, match="must be cubes"):
        make_grid((1.0, 1.0, 1.0), (16, 16, 24))
    with pytest.raises(ct.InputError, match="at least 4"):
        make_grid((1.0, 1.0), (2, 2))
    with pytest.raises(ct.InputError, match="GiB"):
        make_grid((1.0, 1.0, 1.0), (20_000, 20_000, 20_000))


def test_buoyancy_of_a_ball_is_the_weight_of_the_displaced_fluid():
    grid = make_grid((1.0, 1.0, 1.0), (24, 24, 24))
    ball = ct.Sphere(center=(0.47, 0.52, 0.5), radius=0.25)
    flow = Flow(grid, {"top": "open"}, [ball], density=1000.0, rtol=1e-10, dtype=np.float64)
    dt, g = 0.01, 9.81
    flow.fields.velocity[1][:] = -g * dt
    flow.domain.apply_boundary_conditions(flow.fields.velocity)
    flow.project(dt)
    force = np.array(total_force(flow))
    weight = 1000.0 * g * 4.0 / 3.0 * np.pi * 0.25**3
    print("lift", force, "weight of the water", weight)
    assert force[1] == pytest.approx(weight, rel=0.02)
    np.testing.assert_allclose(force[[0, 2]], 0.0, atol=1e-3 * weight)

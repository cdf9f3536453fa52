"""Static equilibrium of incompressible bodies: against saddle-point problems, beams, and steps."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from tests.solids.incompressible.test_incompressible_bodies import saddle_point_deflection, volume_errors
from tests.solids.incompressible.test_incompressible_hexes import saddle_point_displacements


def _moved(world, bodies, steps=10):
    """Return the largest distance that nodes move in a few steps."""
    before = [body.positions for body in bodies]
    for _ in range(steps):
        world.step()
    return max(float(np.abs(b.positions - x).max()) for b, x in zip(bodies, before, strict=True))


@pytest.mark.parametrize("law", [ct.Linear, ct.Corotated, ct.NeoHookean])
def test_small_loads_have_the_displacements_of_the_saddle_point_problem(law):
    mesh = ct.mesh.box((1.0, 0.3, 0.2), (6, 2, 2))
    expected = saddle_point_deflection(mesh, 1e5, 1000.0, -1e-4)
    beam = ct.SoftBody(mesh, material=law(young=1e5, density=1000.0), incompressible=True, name="beam")
    beam.pin(where=lambda x: x[:, 0] < 1e-9)
    world = ct.World([beam], gravity=(0.0, -1e-4, 0.0))
    assert world.settle()[0].converged
    u = beam.positions - beam.rest_positions
    assert np.abs(u - expected).max() <= 1e-4 * np.abs(expected).max()


def test_small_loads_on_hexahedra_have_the_displacements_of_the_saddle_point_problem():
    mesh = ct.mesh.hex_box((1.0, 0.3, 0.2), (5, 2, 2))
    expected = saddle_point_displacements(mesh, 1e5, -0.1)
    beam = ct.SoftBody(mesh, material=ct.Corotated(young=1e5, density=1000.0), incompressible=True)
    beam.pin(where=lambda x: x[:, 0] < 1e-9)
    world = ct.World([beam], gravity=(0.0, -1e-4, 0.0))
    world.settle()
    u = beam.positions - beam.rest_positions
    assert np.abs(u - expected).max() <= 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("mesh", "law"),
    [
        (ct.mesh.box((1.0, 0.3, 0.3), (8, 3, 3)), ct.Corotated),
        (ct.mesh.box((1.0, 0.3, 0.3), (8, 3, 3)), ct.NeoHookean),
        (ct.mesh.hex_box((1.0, 0.3, 0.3), (6, 2, 2)), ct.StableNeoHookean),
        (ct.mesh.rectangle((1.0, 0.3), (12, 4), kind="triangles"), ct.NeoHookean),
    ],
    ids=["corotated", "neo-Hookean", "hexahedra", "plane"],
)
def test_large_loads_keep_volumes_and_steps_stay_at_rest(mesh, law):
    """The equilibrium is that of steps, which know nothing of the method of multipliers."""
    beam = ct.SoftBody(mesh, material=law(young=1e5, density=1000.0), incompressible=True, name="beam")
    beam.pin(where=lambda x: x[:, 0] < 1e-9)
    world = ct.World([beam], gravity=(0.0, -6.0, 0.0), dt=0.01)
    report = world.settle()[0]
    assert report.converged
    assert not report.warnings
    assert np.abs(beam.positions - beam.rest_positions).max() > 0.1
    if mesh.cells.shape[1] == 4:
        assert volume_errors(beam)[0] < 1e-5
        assert volume_errors(beam)[1] < 1e-8
    assert _moved(world, [beam]) < 1e-5


def test_a_ball_lies_on_the_floor():
    ball = ct.SoftBody(
        ct.mesh.sphere(radius=0.5, cells=2),
        material=ct.NeoHookean(young=3e4, density=1000.0),
        incompressible=True,
        name="ball",
    )
    world = ct.World([ball], colliders=[ct.Plane((0.0, -0.5, 0.0), (0.0, 1.0, 0.0))], dt=0.005)
    world.settle()
    weight = 9.81 * ball.mass_total
    assert ball.contact_forces[:, 1].sum() == pytest.approx(weight, rel=1e-5)
    assert ball.positions[:, 1].min() > -0.5 - 1e-6
    assert volume_errors(ball)[0] < 1e-5
    assert _moved(world, [ball]) < 1e-4


@pytest.mark.parametrize("both", [True, False])
def test_a_block_settles_on_another_with_its_weight(both):
    def block(name, size, cells, move, incompressible):
        mesh = ct.mesh.box(size=size, cells=cells).transformed(translate=move)
        return ct.SoftBody(mesh, material=ct.Corotated(young=3e4), incompressible=incompressible, name=name)

    low = block("low", (0.3, 0.1, 0.3), (3, 2, 3), (0.0, 0.0, 0.0), True)
    low.pin(lambda x: x[:, 1] < 1e-6)
    high = block("high", (0.2, 0.1, 0.2), (2, 2, 2), (0.04, 0.11, 0.05), both)
    high.lock(lambda x: x[:, 0] < 0.04 + 1e-6, "x")
    high.lock(lambda x: x[:, 2] < 0.05 + 1e-6, "z")
    world = ct.World([low, high], dt=0.005, contact=ct.Contact(friction=0.0))
    assert all(report.converged for report in world.settle())
    weight = 9.81 * high.mass_total
    assert high.contact_forces.sum(axis=0)[1] == pytest.approx(weight, rel=1e-5)
    assert max(volume_errors(body)[0] for body in (low, high)[: 1 + both]) < 1e-5
    assert _moved(world, [low, high]) < 1e-4


def test_a_prescribed_surface_that_changes_the_volume_is_refused():
    body = ct.SoftBody(ct.mesh.box((1.0, 1.0, 1.0), (3, 3, 3)), incompressible=True, name="b")
    rest = body.rest_positions
    on = ((rest < 1e-9) | (rest > 1.0 - 1e-9)).any(axis=1)
    body.drive(np.flatnonzero(on), lambda t, x: 0.9 * x)
    with pytest.raises(InputError, match="the whole surface of the incompressible body 'b' is prescribed"):
        ct.World([body]).settle()


def test_settling_is_bitwise_the_same_for_any_number_of_threads():
    found = []
    for threads in (1, 2):
        ct.set_threads(threads)
        try:
            beam = ct.SoftBody(ct.mesh.box((1.0, 0.5, 0.5), (16, 8, 8)), incompressible=True)
            beam.pin(where=lambda x: x[:, 0] < 1e-9)
            ct.World([beam], gravity=(0.0, -1.0, 0.0)).settle(rtol=1e-3)
        finally:
            ct.set_threads(2)
        found.append(beam.positions.tobytes())
    assert found[0] == found[1]

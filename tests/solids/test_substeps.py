"""Steps that fail in one piece: done in parts that equal shorter steps, or refused with the state kept."""

import numpy as np
import pytest

import continua as ct

START = lambda x: x[:, 0] < 1e-9  # noqa: E731
END = lambda x: x[:, 0] > 1.0 - 1e-9  # noqa: E731


def beam(law=ct.NeoHookean, **options):
    options.setdefault("integrator", ct.ImplicitEuler(newton=2))
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(6, 2, 2)),
        material=law(young=1e5, poisson=0.3),
        name="beam",
        **options,
    )
    body.pin(START)
    return body


def violent(body):
    """Turn the end of a beam by 3 rad in a step."""
    body.drive(END, ct.Motion.rotate((1, 0, 0), (0, 0.125, 0.125), 48.0))
    return ct.World([body], dt=0.0625, wind=ct.Wind((10.0, 0, 0), gust=0.8, period=0.05))


def test_a_violent_step_is_done_in_parts_and_says_so():
    body = beam()
    report = violent(body).step()[0]
    assert report.substeps in (2, 4, 8, 16, 32, 64)
    assert (
        f"done in {report.substeps} parts, because Newton's iteration had not converged"
        in report.warnings[-1]
    )
    assert (report.time, report.dt) == (0.0625, 0.0625)


def test_the_parts_are_steps_of_their_own_bit_for_bit():
    """Motions, wind and loads are taken at the time of each part: dt is a power of two, so all times are exact."""
    whole, parts = beam(), beam()
    pushed = [body.push(END, lambda t: (0.0, 50.0 * t, 0.0)) for body in (whole, parts)]
    assert len(pushed) == 2
    count = violent(whole).step()[0].substeps
    assert count > 1
    world = violent(parts)
    for _ in range(count):
        assert world.step(0.0625 / count)[0].substeps == 1
    for key, value in whole.state().items():
        np.testing.assert_array_equal(parts.state()[key], value, err_msg=key)


def test_contacts_are_found_anew_in_every_part():
    """An impact that is far too fast for one step is caught by the floor in its parts."""
    body = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(2, 2, 2)),
        material=ct.StableNeoHookean(young=1e4),
        integrator=ct.ImplicitEuler(newton=2),
        name="cube",
    )
    body.set_velocity((0, -60.0, 0))
    world = ct.World([body], colliders=[ct.Plane(point=(0, -0.3, 0))], dt=0.02)
    reports = [world.step()[0] for _ in range(10)]
    assert max(report.substeps for report in reports) > 1
    assert max(report.contacts for report in reports) > 0
    assert body.positions[:, 1].mean() > -0.35


def test_a_driven_node_that_jumps_away_is_followed_in_parts():
    body = beam(ct.Corotated, integrator="implicit_euler")
    body.drive(END, ct.Motion.translate((0.0, 3000.0, 0.0)))
    report = ct.World([body], dt=0.01).step()[0]
    assert report.substeps > 1
    assert "nodes flew apart" in report.warnings[-1]
    np.testing.assert_allclose(body.positions[END(body.rest_positions), 1].min(), 30.0, rtol=1e-9)


@pytest.mark.parametrize("name", ["implicit_euler", "newmark", "explicit", "semi_implicit"])
def test_divergence_keeps_the_state_bit_for_bit_and_names_elements(name):
    body = beam(ct.Corotated, integrator=name)
    world = ct.World([body], dt=0.002)
    for _ in range(3):
        world.step()
    before, time = world.state(), world.time
    push = body.push([40], (1e40, 0, 0))
    with pytest.raises(
        ct.DivergedError, match=r"body 'beam' diverged in step 4 .* even in \d+ parts"
    ) as caught:
        world.step()
    error = caught.value
    assert (error.body, error.step) == ("beam", 4)
    assert 1 <= len(error.elements) <= 5
    assert all(0 <= number < body.element_count for number in error.elements)
    after = world.state()
    assert world.time == time
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value, err_msg=key)
    push.remove()
    world.step()


def test_the_named_elements_are_those_around_the_trouble():
    body = beam(ct.Corotated, integrator=ct.Explicit(substeps=False))
    body.push([40], (1e30, 0, 0))
    with pytest.raises(ct.DivergedError) as caught:
        ct.World([body], dt=0.001).step()
    around = np.flatnonzero((body.mesh.tets == 40).any(axis=1))
    assert set(caught.value.elements) <= set(around)


def test_a_motion_that_fails_in_a_later_part_leaves_the_body_as_it_was():
    body = beam()

    def motion(t, x):
        if 0.0 < t < 0.0625:  # the whole step never asks for the time between
            return x[:0]
        return ct.Motion.rotate((1, 0, 0), (0, 0.125, 0.125), 48.0).at(t, x)

    body.drive(END, motion)
    before = body.state()
    with pytest.raises(ct.InputError, match="what a motion returns"):
        ct.World([body], dt=0.0625).step()
    for key, value in before.items():
        np.testing.assert_array_equal(body.state()[key], value)


@pytest.mark.parametrize("law", [ct.StVenantKirchhoff, ct.NeoHookean, ct.StableNeoHookean])
@pytest.mark.parametrize("integrator", [ct.ImplicitEuler(newton=60), ct.Newmark(newton=60)])
def test_newton_converges_at_large_steps(law, integrator):
    """Half a second in five steps, under ten times gravity: the step's equation holds at the end of each."""
    from tests.solids.linearise import linearised

    body = beam(law, integrator=integrator, solver=ct.PCG(rtol=1e-6))
    world = ct.World([body], gravity=(0, -98.1, 0), dt=0.1)
    free = body.rest_positions[:, 0] > 1e-9
    M = np.zeros((body.node_count, body.node_count))
    p = body._elements.pattern
    rows = np.repeat(np.arange(body.node_count), np.diff(p.indptr))
    M[rows, p.indices] = body._mass
    load = body._node_mass[:, None] * [0, -98.1, 0]
    for _ in range(5):
        x, v = body._x.copy(), body._v.copy()
        report = world.step()[0]
        assert report.substeps == 1
        assert 1 < report.newton_iterations < 60
        force = load - linearised(body._elements, body._x)[1]
        if isinstance(integrator, ct.Newmark):
            force = 0.5 * (force + load - linearised(body._elements, x)[1])
        lacking = (M @ (body._v - v) / 0.1 - force)[free]
        assert np.abs(lacking).max() < 2e-3 * np.abs(load).max()
    assert np.abs(body.positions - body.rest_positions).max() > 0.5

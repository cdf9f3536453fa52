"""Equilibria that rounding decides on: without stress, under tiny loads, far from the origin, to the last digits."""

from dataclasses import dataclass
from math import log

import numpy as np
import pytest
from linearise import linearised
from scipy.sparse.linalg import spsolve

import continua as ct
from continua.deformable.convergence import Convergence, ConvergenceTest
from continua.linalg import BlockMatrix

LAWS = [
    ct.Linear,
    ct.Corotated,
    ct.StVenantKirchhoff,
    ct.NeoHookean,
    ct.StableNeoHookean,
    ct.Muscle,
]
KINDS = {"tets 1": (ct.mesh.box, 1), "tets 2": (ct.mesh.box, 2), "hexes": (ct.mesh.hex_box, 1)}
EPS = np.finfo(np.float64).eps


def beam(law=ct.Linear, kind="tets 1", young=1e6, size=1.0, place=0.0, **options):
    """A beam of length `size` that starts at (place, place, place), held at its left end."""
    make, order = KINDS[kind]
    body = ct.SoftBody(
        make(size=(size, 0.3 * size, 0.3 * size), cells=(4, 2, 2), origin=(place, place, place)),
        material=law(young=young, poisson=0.3, density=1000.0),
        order=order,
        name="beam",
        **options,
    )
    body.pin(lambda x: x[:, 0] < place + 1e-6 * size)
    return body


def tip(size=1.0, place=0.0):
    return lambda x: x[:, 0] > place + (1.0 - 1e-6) * size


def moved(body):
    return np.abs(body.positions - body.rest_positions).max()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("kind", "size", "place"), [("tets 1", 1.0, -0.3), ("hexes", 1e-3, 1000.0)])
def test_a_body_that_nothing_loads_is_at_rest(law, kind, size, place):
    body = beam(law, kind, size=size, place=place)
    report = ct.World([body], gravity=(0, 0, 0)).settle()[0]
    assert report.converged
    assert report.residual < 1e-14
    assert report.warnings == ()  # its equilibrium is exact as far as anyone can tell
    assert moved(body) < 1e3 * np.spacing(abs(place) + size)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("kind", "young", "size", "place"),
    [("tets 1", 1e6, 1.0, -0.3), ("tets 2", 1e11, 100.0, 0.0), ("hexes", 1e2, 1e-3, 1000.0)],
)
def test_a_body_goes_back_to_rest_when_its_push_goes(law, kind, young, size, place):
    """To a few hundred times the spacing of positions: the softest mode gives so much more way than a node."""
    body = beam(law, kind, young, size, place)
    world = ct.World([body], gravity=(0, 0, 0))
    push = body.push(tip(size, place), (0.0, -1e-4 * young * size**2, 0.0))
    world.settle()
    assert moved(body) > 1e-3 * size
    push.remove()
    report = world.settle()[0]
    assert report.warnings == ()
    assert moved(body) < 1e3 * np.spacing(abs(place) + size)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", ["tets 1", "tets 2"])
def test_small_loads_bend_in_proportion(law, kind):
    """Strains of 1e-11 to 1e-5: a hundredth of the load is a hundredth of the sag, to what rounding leaves."""
    sags = []
    loads = np.array([1e-8, 1e-6, 1e-4, 1e-2])
    for load in loads:
        body = beam(law, kind)
        assert ct.World([body], gravity=(0, -load, 0)).settle()[0].converged
        sags.append(-(body.positions - body.rest_positions)[:, 1].min())
    sags = np.array(sags)
    error = 1e-4 * sags + 1e3 * EPS
    assert (np.abs(sags - sags[-1] * loads / loads[-1]) <= error).all()


def test_loads_below_rounding_are_told_of():
    body = beam(ct.NeoHookean)
    report = ct.World([body], gravity=(0, -1e-12, 0)).settle()[0]
    assert report.converged
    assert "lost in rounding" in report.warnings[0]
    assert moved(body) < 1e3 * EPS
    with pytest.warns(UserWarning, match="body 'beam': loads .* lost in rounding"):
        ct.World([beam(ct.NeoHookean)], gravity=(0, -1e-12, 0), start_at_equilibrium=True)


def test_a_tiny_load_beside_a_prescribed_displacement_does_no_harm():
    """The tolerance is relative to the load, which is nothing beside the forces of the displacement."""
    still, loaded = (beam(ct.Corotated) for _ in range(2))
    for body, gravity in ((still, 0.0), (loaded, 1e-9)):
        body.lock(tip(), "y", -0.02)
        report = ct.World([body], gravity=(0, -gravity, 0)).settle(rtol=1e-9)[0]
        assert bool(report.warnings) == (gravity > 0.0)
    np.testing.assert_allclose(loaded.positions, still.positions, atol=1e-9)


@pytest.mark.parametrize("solver", [ct.PCG(), ct.PCG(rtol=1e-12), ct.Multigrid(), ct.Direct()])
def test_more_than_rounding_allows_gives_all_that_it_allows(solver):
    """Against a direct solve: the error is what unbalanced forces of the floor's size do."""
    body = beam(solver=solver)
    report = ct.World([body]).settle(rtol=1e-16)[0]
    assert report.converged
    assert "double precision" in report.warnings[0]
    K, _ = linearised(body._elements, body._elements.rest_positions)
    free = np.repeat(body.rest_positions[:, 0] > 1e-9, 3)
    load = (body._node_mass[:, None] * [0.0, -9.81, 0.0]).ravel()
    floor = 8.0 * EPS * (abs(K) @ abs(body.positions.ravel()) + abs(load))  # see `deformable.convergence`
    assert report.residual <= 1.01 * floor.max() / abs(load[free]).max()
    u = np.zeros(len(load))
    u[free] = spsolve(K[free][:, free].tocsc(), load[free])
    np.testing.assert_allclose((body.positions - body.rest_positions).ravel(), u, atol=1e3 * EPS)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(("size", "place"), [(1.0, 0.0), (1e-3, 1000.0)])
def test_the_floor_is_where_newton_stops(law, kind, size, place):
    """Newton's iteration with a direct solver, left alone, gets below the floor and not far below it."""
    body = beam(law, kind, size=size, place=place)
    free = np.repeat(body.rest_positions[:, 0] > place + 1e-6 * size, 3)
    if kind == "tets 2":
        free = np.repeat(body._elements.rest_positions[:, 0] > place + 1e-6 * size, 3)
    x = body._elements.rest_positions.copy()
    load = 1e5 / size * np.outer(body._node_mass, [0.0, -1e-6, 0.0])  # of a strain of some 1e-4
    left = []
    for _ in range(8):
        K, force = linearised(body._elements, x)
        r = np.where(free, (load - force).ravel(), 0.0)
        floor = (abs(K) @ np.abs(x.ravel())) + np.abs(load).ravel()
        floor = 8.0 * EPS * floor.reshape(-1, 3).max(axis=1)
        left.append((np.abs(r.reshape(-1, 3)).max(axis=1) / floor).max())
        d = np.zeros(x.size)
        d[free] = spsolve(K[free][:, free].tocsc(), r[free])
        x = x + d.reshape(-1, 3)
    assert left[0] > 10.0
    assert max(left[-3:]) < 1.0
    assert min(left[-3:]) > 1e-3


def test_magnitudes_are_those_of_a_dense_product():
    rng = np.random.default_rng(3)
    body = beam()
    matrix = BlockMatrix(body._elements.pattern)
    matrix.blocks[:] = rng.normal(size=matrix.blocks.shape)
    x = rng.normal(size=(body.node_count, 3))
    dense = np.abs(matrix.to_scipy().toarray()) @ np.abs(x.ravel())
    np.testing.assert_allclose(matrix.magnitudes(x).ravel(), dense, rtol=1e-13)


@dataclass(frozen=True)
class OfEnergy(ct.CustomLaw):
    """Neo-Hookean, by its energy alone: the stress comes from differences, with larger rounding errors."""

    def principal_energy(f, p):  # noqa: N805
        l = log(f[0] * f[1] * f[2])
        return p.mu / 2 * (f[0] ** 2 + f[1] ** 2 + f[2] ** 2 - 3) - p.mu * l + p.lam / 2 * l**2


def test_a_law_by_differences_has_a_floor_of_its_own():
    own, exact = beam(OfEnergy), beam(ct.NeoHookean)
    for body in (own, exact):
        assert ct.World([body]).settle(rtol=1e-14)[0].warnings
    np.testing.assert_allclose(own.positions, exact.positions, atol=1e-8)
    idle = beam(OfEnergy)
    assert ct.World([idle], gravity=(0, 0, 0)).settle()[0].warnings == ()


@pytest.mark.parametrize(("gravity", "rtol"), [(9.81, 1e-14), (1e-6, 1e-8), (0.0, 1e-6)])
def test_contacts_settle_to_rounding_too(gravity, rtol):
    body = ct.SoftBody(
        ct.mesh.box(size=(0.004, 0.004, 0.004), cells=(2, 2, 2), origin=(10.0, 10.0, 10.0)),
        material=ct.Corotated(young=1e5),
        name="cube",
    )
    world = ct.World([body], gravity=(0, -gravity, 0), colliders=[ct.Plane(point=(0, 10.0, 0))])
    report = world.settle(rtol=rtol)[0]
    assert report.converged
    assert bool(report.warnings) == (gravity > 0.0)
    force = world.frame()["cube"]["contact_force"].sum(axis=0)
    weight = body.mass_total * gravity
    np.testing.assert_allclose(force, [0.0, weight, 0.0], atol=max(1e-3 * weight, 1e-12))


def test_bodies_that_lean_on_each_other_settle_to_rounding_too():
    def stack(rtol):
        cubes = [
            ct.SoftBody(
                ct.mesh.box(size=(0.4, 0.4, 0.4), cells=(2, 2, 2), origin=(0.0, y, 0.0)),
                material=ct.Corotated(young=1e5),
                name=name,
            )
            for name, y in (("low", 0.0), ("high", 0.41))
        ]
        report = ct.World(cubes, colliders=[ct.Plane()]).settle(rtol=rtol)
        return np.concatenate([cube.positions for cube in cubes]), report

    usual, _ = stack(1e-7)
    exact, reports = stack(1e-15)
    assert all(report.residual < 1e-11 and report.warnings for report in reports)
    np.testing.assert_allclose(exact, usual, atol=1e-5)


def test_a_body_that_falls_is_not_at_rest_however_light_it_is():
    """Its weight is below rounding of its forces, but nothing holds it against that weight."""
    body = ct.SoftBody(ct.mesh.box(size=(0.4, 0.4, 0.4), cells=(2, 2, 2)), name="cube")
    world = ct.World([body], gravity=(0, -1e-13, 0), colliders=[ct.Plane(point=(0, -0.1, 0))])
    with pytest.raises(ct.DivergedError, match="no equilibrium"):
        world.settle()
    np.testing.assert_array_equal(body.positions, body.rest_positions)


@pytest.mark.parametrize("rtol", [1e-6, 1e-15])
def test_what_is_not_found_is_not_taken_for_rounding(rtol):
    """Far from its equilibrium a body is refused as before, whatever the tolerance."""
    body = beam(ct.NeoHookean, young=3e4)
    with pytest.raises(ct.DivergedError, match="no equilibrium"):
        ct.World([body]).settle(rtol, max_newton=2)
    np.testing.assert_array_equal(body.positions, body.rest_positions)


def test_a_floor_that_is_no_number_holds_nothing():
    test = ConvergenceTest()
    test.start(1e-6)
    force = np.full((2, 3), 0.5)
    assert test.check(force, 1.0, lambda: np.array([1.0, np.inf])) is Convergence.NOT_REACHED
    assert test.check(force, 1.0, lambda: np.array([1.0, np.nan])) is Convergence.NOT_REACHED
    assert test.check(force, 1.0, lambda: np.array([1.0, 0.1])) is Convergence.NOT_REACHED
    assert test.check(force, 1.0, lambda: np.array([1.0, 1.0])) is Convergence.ROUNDING_FLOOR
    assert test.check(force, 1e6, lambda: np.zeros(2)) is Convergence.REACHED

"""Plane stress: free of stress across, derivatives of an energy, uniaxial tension, Kirsch's hole, refusals."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import continua as ct
from continua.materials.plane_stress import LEAST_THICKNESS
from continua.materials.point_kernels import CHUNK, POINT, upper_to_full
from continua.scene import parse_scene
from continua.solids.elements.quadrature_elements import NodalElements
from tests.solids.linearise import give, linearised

YOUNG, POISSON = 2e6, 0.35
AXIS = (0.3, 0.5, 0.8)  # leaves the plane
LAWS = [
    ct.Linear(YOUNG, POISSON),
    ct.Corotated(YOUNG, POISSON),
    ct.NeoHookean(YOUNG, POISSON),
    ct.StableNeoHookean(YOUNG, POISSON),
    ct.StVenantKirchhoff(YOUNG, POISSON),
    ct.SplineHyperelastic(YOUNG, POISSON),
    ct.FiberReinforced(YOUNG, POISSON, fiber=AXIS, fiber_stiffness=3 * YOUNG),
    ct.Muscle(young=YOUNG, fiber=AXIS, strength=YOUNG, activation=0.5),
]
INSIDE = [0, 1, 3, 4]


def evaluate(law, F, definite=False):
    """Return energy, P [n, 9] and dP/dF [n, 9, 9] in plane stress, and the whole F, at in-plane F [n, 2, 2]."""
    count = len(F)
    positions = np.zeros((count, 3, 3))
    positions[:, :2, :2] = np.swapaxes(F, 1, 2)
    records = np.empty((count, 1, POINT))
    law.evaluate_points.serial(
        np.ascontiguousarray(positions.reshape(-1, 3)),
        np.arange(3 * count, dtype=np.int32).reshape(count, 3),
        np.tile(np.eye(3), (count, 1, 1, 1)),
        2.0,
        law.element_constants(np.arange(count, dtype=np.int32)),
        None,
        definite,
        records,
        np.empty(-(-count // CHUNK), np.int64),
    )
    found = records[:, 0]
    return found[:, -1], found[:, 9:18], upper_to_full(found[:, 18:-1]), found[:, :9].reshape(-1, 3, 3)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("size", [0.1, 0.4])
def test_no_stress_across_and_derivatives_of_an_energy(law, size):
    F = np.eye(2) + size * np.random.default_rng(1).uniform(-1, 1, (40, 2, 2))
    _, P, T, _ = evaluate(law, F)
    assert np.abs(P[:, [2, 5, 6, 7, 8]]).max() < 1e-11 * YOUNG
    step = 1e-5
    for k, (i, j) in enumerate(np.ndindex(2, 2)):
        shift = np.zeros((2, 2))
        shift[i, j] = step
        up, down = evaluate(law, F + shift), evaluate(law, F - shift)
        np.testing.assert_allclose((up[0] - down[0]) / (2 * step), P[:, INSIDE[k]], atol=1e-8 * YOUNG)
        slope = (up[1] - down[1])[:, INSIDE] / (2 * step)
        np.testing.assert_allclose(slope, T[:, INSIDE][:, :, INSIDE[k]], atol=1e-6 * YOUNG)
    least = np.linalg.eigvalsh(evaluate(law, F, True)[2])[:, 0]
    assert least.min() > -1e-12 * YOUNG


@pytest.mark.parametrize("law", LAWS[1:], ids=lambda law: law.name)
def test_thickness_is_that_of_least_energy(law):
    """The law in three dimensions, minimised over the last column of F by SciPy."""
    F = np.eye(2) + 0.3 * np.random.default_rng(2).uniform(-1, 1, (3, 2, 2))
    energies, _, _, whole = evaluate(law, F)
    for k in range(len(F)):

        def energy(d, plane=F[k]):
            full = np.zeros((3, 3))
            full[:2, :2], full[:, 2] = plane, d
            return float(law.energy(full)) / YOUNG

        best = minimize(energy, (0.0, 0.0, 1.0), tol=1e-14)
        assert energies[k] / YOUNG == pytest.approx(best.fun, abs=1e-11)
        np.testing.assert_allclose(whole[k][:, 2], best.x, atol=1e-4)


@pytest.mark.parametrize("law", LAWS[1:], ids=lambda law: law.name)
def test_objectivity(law):
    """Energy and stress turn with the sheet; fibres are fixed to the matter."""
    F = np.eye(2) + 0.3 * np.random.default_rng(3).uniform(-1, 1, (20, 2, 2))
    c, s = np.cos(2.1), np.sin(2.1)
    R = np.array([[c, -s], [s, c]])
    energy, P, _, _ = evaluate(law, F)
    turned, Q, _, _ = evaluate(law, R @ F)
    np.testing.assert_allclose(turned, energy, atol=1e-11 * YOUNG)
    stress = P[:, INSIDE].reshape(-1, 2, 2)
    np.testing.assert_allclose(Q[:, INSIDE].reshape(-1, 2, 2), R @ stress, atol=1e-10 * YOUNG)


def test_an_inverted_element_does_not_turn_over():
    """Turned over through zero thickness, a mirrored element would be free of stress."""
    mirrored = np.array([[[-1.0, 0.0], [0.0, 1.0]]])
    energy, _, _, whole = evaluate(ct.Corotated(YOUNG, POISSON), mirrored)
    assert whole[0, 2, 2] >= LEAST_THICKNESS
    assert energy[0] > 0.1 * YOUNG


@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_linear_law_is_plane_strain_with_a_reduced_lame_constant(kind):
    """The textbook's reduction: lambda* = 2 lambda mu / (lambda + 2 mu)."""
    mesh = ct.mesh.rectangle((1.3, 0.7), (3, 2), kind=kind, thickness=0.02)
    ours, _ = linearised(give(NodalElements(mesh, plane_stress=True), ct.Linear(YOUNG, POISSON)), mesh.points)
    strain = NodalElements(mesh)
    lam, mu = ct.Linear(YOUNG, POISSON).lame
    reduced = 2 * lam * mu / (lam + 2 * mu)
    strain.set_law(ct.Linear(), np.tile([reduced, mu], (mesh.element_count, 1)))
    other, _ = linearised(strain, mesh.points)
    plane = (3 * np.arange(mesh.node_count)[:, None] + np.arange(2)).ravel()
    np.testing.assert_allclose(
        ours.toarray()[np.ix_(plane, plane)], other.toarray()[np.ix_(plane, plane)], atol=1e-9 * YOUNG * 0.02
    )


def pulled(law, traction, kind="quads", **options):
    """Return a plate of 2 x 1 m that slides on its left and lower side, in equilibrium with a traction on its right."""
    mesh = ct.mesh.rectangle((2.0, 1.0), (4, 2), kind=kind, thickness=0.01)
    body = ct.SoftBody(mesh, material=law, plane="stress", name="plate", **options)
    body.lock(lambda x: x[:, 0] < 1e-9, "x")
    body.lock(lambda x: x[:, 1] < 1e-9, "y")
    body.apply_traction(lambda c: c[:, 0] > 2.0 - 1e-9, (traction, 0.0, 0.0))
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-10)
    return body


@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_uniaxial_tension_has_young_and_poisson(kind):
    strain = 1e-3
    body = pulled(ct.Linear(YOUNG, POISSON), strain * YOUNG, kind)
    np.testing.assert_allclose(body.positions[:, 0], body.rest_positions[:, 0] * (1 + strain), atol=1e-9)
    np.testing.assert_allclose(
        body.positions[:, 1], body.rest_positions[:, 1] * (1 - POISSON * strain), atol=1e-9
    )
    np.testing.assert_allclose(body.von_mises(), strain * YOUNG, rtol=1e-6)
    across = body.field("stress").values[:, 2]
    assert np.abs(across).max() < 1e-9 * strain * YOUNG


@pytest.mark.parametrize("stretch", [0.8, 1.5, 2.5])
def test_neo_hookean_at_large_strain(stretch):
    """Both lateral stretches a solve dW/da = mu (a - 1/a) + lambda log(J)/a = 0, J = stretch a^2."""
    law = ct.NeoHookean(YOUNG, POISSON)
    lam, mu = law.lame
    a = brentq(lambda a: mu * (a - 1 / a) + lam * np.log(stretch * a * a) / a, 0.3, 3.0, xtol=1e-14)
    traction = mu * (stretch - 1 / stretch) + lam * np.log(stretch * a * a) / stretch
    body = pulled(law, traction)
    np.testing.assert_allclose(body.positions[:, 0], body.rest_positions[:, 0] * stretch, rtol=1e-7)
    np.testing.assert_allclose(body.positions[:, 1], body.rest_positions[:, 1] * a, rtol=1e-7, atol=1e-9)
    stretches = body.field("stretch").values[0]
    np.testing.assert_allclose(stretches, sorted((stretch, a, a), reverse=True), rtol=1e-7)


def test_hole_in_a_wide_plate():
    """Kirsch (1898): three times the stress at the sides of a small hole, whatever Poisson's ratio."""
    rings, around, radius, outer = 24, 16, 1.0, 20.0
    r = radius * (outer / radius) ** (np.arange(rings + 1) / rings)
    angle = 0.5 * np.pi * np.arange(around + 1) / around
    points = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle))], axis=-1).reshape(-1, 2)
    node = np.arange(len(points)).reshape(rings + 1, around + 1)
    quads = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1).reshape(-1, 4)
    body = ct.SoftBody(ct.QuadMesh(points, quads), material=ct.Linear(YOUNG, POISSON), plane="stress")
    rest = body.rest_positions
    x, y, R2 = rest[:, 0], rest[:, 1], rest[:, 0] ** 2 + rest[:, 1] ** 2
    # displacement of the infinite plate under unit tension along x, on the outer arc (Timoshenko and Goodier, art. 35)
    mu, kappa = YOUNG / (2 * (1 + POISSON)), (3 - POISSON) / (1 + POISSON)
    t, rr = np.arctan2(y, x), np.sqrt(R2)
    s = 1e-3 * YOUNG
    ux = s / (8 * mu) * (rr * (kappa + 1) * np.cos(t) + 2 / rr * ((1 + kappa) * np.cos(t) + np.cos(3 * t)))
    ux -= s / (4 * mu) * np.cos(3 * t) / rr**3
    uy = s / (8 * mu) * (rr * (kappa - 3) * np.sin(t) + 2 / rr * ((1 - kappa) * np.sin(t) + np.sin(3 * t)))
    uy -= s / (4 * mu) * np.sin(3 * t) / rr**3
    body.lock(lambda p: p[:, 0] < 1e-9, "x")
    body.lock(lambda p: p[:, 1] < 1e-9, "y")
    rim = np.flatnonzero(np.sqrt(R2) > outer - 1e-6)
    goal = rest + np.stack([ux, uy, 0 * ux], axis=1)
    for k in rim:
        body.drive([k], lambda time, p, at=goal[k]: at[None])
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-9)
    error = np.abs(body.positions - goal).max() / np.abs(goal - rest).max()
    assert error < 2e-3
    # mean stress of the element at the top of the hole, from the exact field at its centre
    element = node[0, -2]
    number = around - 1
    assert quads[number][0] == element
    center = rest[quads[number], :2].mean(axis=0)
    q, phi = 1.0 / (center @ center), np.arctan2(center[1], center[0])
    hoop = s / 2 * (1 + q) - s / 2 * (1 + 3 * q * q) * np.cos(2 * phi)
    stress = body.field("stress").values[number]
    e = np.array([-np.sin(phi), np.cos(phi)])
    found = e @ np.array([[stress[0], stress[3]], [stress[3], stress[1]]]) @ e
    assert found == pytest.approx(hoop, rel=0.02)
    assert hoop > 2.5 * s


def test_rotated_damping_of_the_linear_law_is_rayleighs():
    """Both are the stiffness of plane stress times the time, so one step is the same."""
    ends = []
    for damping in ((0.0, 0.03), ct.RotatedDamping(time=0.03)):
        mesh = ct.mesh.rectangle((2.0, 1.0), (4, 2))
        body = ct.SoftBody(
            mesh, material=ct.Linear(YOUNG, POISSON), plane="stress", damping=damping, name="a"
        )
        body.pin(lambda x: x[:, 0] < 1e-9)
        world = ct.World([body], gravity=(1.0, -2.0, 0.0), dt=0.01)
        world.step()
        ends.append(body.positions - body.rest_positions)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6 * np.abs(ends[0]).max())


def test_copies_go_on_bitwise():
    body = ct.SoftBody(
        ct.mesh.rectangle((2.0, 1.0), (4, 2)), material=ct.NeoHookean(1e4), plane="stress", name="sheet"
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    world = ct.World([body], dt=0.01)
    for _ in range(3):
        world.step()
    others = [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    for one in (world, *others):
        for _ in range(3):
            one.step()
    for other in others:
        assert other.bodies[0].plane == "stress"
        np.testing.assert_array_equal(other.bodies[0].positions, world.bodies[0].positions)


def test_bits_do_not_depend_on_the_number_of_threads():
    elements = give(NodalElements(ct.mesh.rectangle((1, 1), (60, 60)), plane_stress=True), ct.NeoHookean())
    assert elements.parallel
    x = elements.rest_positions.copy()
    x[:, :2] += 1e-3 * np.random.default_rng(4).uniform(-1, 1, (len(x), 2))
    results = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            K, force = linearised(elements, x)
            results.append((K.data, force))
    finally:
        ct.set_threads(2)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("mesh", "options", "message"),
    [
        (ct.mesh.box(cells=(1, 1, 1)), {"plane": "stress"}, "solid in all directions"),
        (ct.mesh.hex_box(cells=(1, 1, 1)), {"plane": "strain"}, "body of hexes"),
        (ct.mesh.rectangle(), {"plane": "flat"}, "plane must be"),
        (ct.mesh.rectangle(), {"plane": "stress", "plasticity": ct.Plasticity()}, "plastic"),
    ],
)
def test_what_cannot_be_is_refused(mesh, options, message):
    with pytest.raises(ct.InputError, match=message):
        ct.SoftBody(mesh, **options)


def test_scene():
    mesh = "{type: rectangle, size: [2, 1], thickness: 0.01}"
    scene = parse_scene(f"bodies: [{{type: soft, name: a, mesh: {mesh}, plane: stress}}]")
    body = scene.build().bodies[0]
    assert body.plane == "stress"
    assert body.mass_total == pytest.approx(0.02 * body.material.density)
    with pytest.raises(ct.InputError, match=r"bodies.*plane is for a TriMesh or a QuadMesh"):
        parse_scene("bodies: [{type: soft, name: a, mesh: {type: box}, plane: stress}]").build()

"""The energy-momentum method: energy, momentum and angular momentum of large motion, and what holds and hits bodies."""

import numpy as np
import pytest
import scipy.sparse

import continua as ct
from continua.deformable.elements import AssembledSystem
from continua.solids.discrete_gradient import MeanStressGradient

BOX = {"young": 2e4, "poisson": 0.3, "density": 1000.0}
LAWS = [
    ct.Corotated(**BOX),
    ct.StVenantKirchhoff(**BOX),
    ct.NeoHookean(**BOX),
    ct.StableNeoHookean(**BOX),
    ct.Muscle(**BOX, activation=0.5, strength=2e4),
]
MESHES = {
    "tets": (lambda: ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1)), 1),
    "tets of order 2": (lambda: ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(2, 1, 1)), 2),
    "hexes": (lambda: ct.mesh.hex_box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1)), 1),
}


def momenta(body):
    p = body._elements.pattern
    mass = scipy.sparse.csr_array((body._mass, p.indices, p.indptr))
    momentum = mass @ body._v
    return momentum.sum(axis=0), np.cross(body._x, momentum).sum(axis=0)


def energy(body):
    return sum(body.energy().values())


def cases():
    for name, (make, order) in MESHES.items():
        for law in LAWS:
            yield pytest.param(make, order, law, id=f"{name}-{type(law).__name__}")


@pytest.mark.parametrize(("make", "order", "law"), list(cases()))
def test_free_bodies_that_spin_and_swing_keep_energy_and_momenta(make, order, law):
    """A bar stretched by a fifth that turns by 3 degrees in a step."""
    body = ct.SoftBody(make(), material=law, order=order, integrator="energy_momentum", name="bar")
    body.set_velocity((0.5, 0.2, 0.0), (1.0, 5.0, 3.0))
    body._x[:, 0] *= 1.2
    before, start = energy(body), momenta(body)
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    kinetic = []
    for _ in range(60):
        (report,) = world.step()
        assert report.converged
        kinetic.append(body.energy()["kinetic"])
        assert energy(body) == pytest.approx(before, rel=1e-6)
    assert np.ptp(kinetic) > 0.1 * before  # energy goes to and fro
    for now, then in zip(momenta(body), start, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-12 * np.abs(then).max())


@pytest.mark.parametrize("plastic", [False, True])
@pytest.mark.parametrize("mesh", ["tets", "hexes"])
def test_the_work_of_the_discrete_gradient_is_the_change_of_the_energy(mesh, plastic):
    """For random steps of any length, with inner forces that have no net force and no torque about the middle."""
    law = ct.NeoHookean(**BOX)
    body = ct.SoftBody(
        MESHES[mesh][0](), material=law, plasticity=ct.Plasticity(yield_strain=10.0) if plastic else None
    )
    rng = np.random.default_rng(3)
    if plastic:
        inverse = np.eye(3) + 0.1 * rng.normal(size=(*body._elements.weights.shape, 3, 3))
        body._plastic_state.inverse[:] = inverse.reshape(body._plastic_state.inverse.shape)
    gradient, elements = MeanStressGradient(body._elements), body._elements
    gradient.set_law(law, body._materials.constants)
    zero, mass = np.zeros_like(body._x), np.zeros(elements.pattern.block_count)
    for size in (0.02, 1e-3, 1e-4):
        x = body.rest_positions + 0.02 * rng.normal(size=zero.shape)
        end = x + size * rng.normal(size=zero.shape)
        elements.update(x)
        before = elements.energy()
        elements.update(end)
        change = elements.energy() - before
        force = np.zeros_like(x)
        gradient.begin(x)
        gradient.assemble(end, AssembledSystem(body._stepper.matrix, force, mass, 0.0, 1.0, -1.0, zero, zero))
        work = float(np.vdot(force, end - x))
        assert work == pytest.approx(change, abs=1e-9 * before)
        scale = np.abs(force).max()
        np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12 * scale)
        np.testing.assert_allclose(np.cross(0.5 * (x + end), force).sum(axis=0), 0.0, atol=1e-12 * scale)


def cantilever(integrator, law=None, mesh=None):
    mesh = mesh or ct.mesh.box(size=(1.0, 0.1, 0.1), cells=(8, 1, 1))
    law = law or ct.Corotated(young=1e5, poisson=0.3, density=1000.0)
    body = ct.SoftBody(mesh, material=law, integrator=integrator, name="cantilever")
    body.pin(lambda x: x[:, 0] < 1e-9)
    along = body.rest_positions[:, 0]
    body._x[:, 1] += 0.19 * (1.5 * along**2 - 0.5 * along**3)
    return body


def swing(body, dt, periods):
    """Largest change of the energy during free vibration, relative to it."""
    world = ct.World([body], gravity=(0, 0, 0), dt=dt)
    tip = int(np.argmax(body.rest_positions[:, 0]))
    before, crossings, sign, off = energy(body), 0, 1.0, 0.0
    while crossings < 2 * periods:
        world.step()
        off = max(off, abs(energy(body) / before - 1.0))
        if sign * (body._x[tip, 1] - body.rest_positions[tip, 1]) < 0.0:
            crossings, sign = crossings + 1, -sign
    return off


@pytest.mark.parametrize(
    ("law", "mesh"),
    [
        (ct.Corotated(young=1e5, poisson=0.3, density=1000.0), None),
        (ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=1000.0), None),
        (ct.NeoHookean(young=5e4, poisson=0.4, density=500.0), None),
        (ct.Corotated(young=1e5, poisson=0.3, density=1000.0), "hexes"),
    ],
)
def test_a_cantilever_that_swings_far_keeps_its_energy_where_newmark_does_not(law, mesh):
    if mesh:
        mesh = ct.mesh.hex_box(size=(1.0, 0.1, 0.1), cells=(8, 1, 1))
    assert swing(cantilever("energy_momentum", law, mesh), 0.02, 3) < 1e-6
    assert swing(cantilever("newmark", law, mesh), 0.02, 3) > 1e-3


def test_a_heavy_pendulum_with_a_spring_keeps_its_energy():
    """Pins, gravity and a spring at rest at the start are all conservative."""
    mesh = ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(5, 1, 1))
    body = ct.SoftBody(mesh, material=ct.NeoHookean(**BOX), integrator="energy_momentum", name="bar")
    body.pin(lambda x: x[:, 0] < 1e-9)
    end = int(np.argmax(mesh.points.sum(axis=1)))
    anchor = mesh.points[end].copy()
    body.pull(end, anchor, stiffness=30.0)
    world = ct.World([body], dt=0.02)
    off, falls = [], []
    for _ in range(100):
        world.step()
        spring = 15.0 * np.sum((body.positions[end] - anchor) ** 2)
        off.append(energy(body) + spring)
        falls.append(body.energy()["gravity"])
    assert np.abs(off).max() < 1e-6 * np.abs(falls).max()


@pytest.mark.parametrize("restitution", [None, 0.8])
def test_impacts_take_energy_and_give_none(restitution):
    body = ct.SoftBody(
        ct.mesh.box(size=(0.3, 0.3, 0.3), cells=(2, 2, 2)),
        material=ct.StableNeoHookean(young=5e4, poisson=0.3, density=1000.0),
        integrator="energy_momentum",
        restitution=restitution,
        name="cube",
    )
    body.set_velocity((0.3, -2.0, 0.0), (0.0, 0.0, 2.0))
    world = ct.World([body], dt=0.01, colliders=[ct.Plane(point=(0.0, -0.3, 0.0), normal=(0.0, 1.0, 0.0))])
    before, hits = energy(body), 0
    energies = [before]
    for _ in range(80):
        (report,) = world.step()
        hits += report.contacts > 0
        energies.append(energy(body))
    assert hits > 5
    assert np.diff(energies).max() < 1e-3 * before
    assert energies[-1] < 0.9 * before
    assert body.positions[:, 1].min() > -0.3 - 1e-3


def test_copies_and_checkpoints_continue_bitwise():
    body = cantilever("energy_momentum")
    world = ct.World([body], dt=0.02)
    for _ in range(5):
        world.step()
    state = body.state()
    for _ in range(5):
        world.step()
    end = body._x.copy()
    body.restore(state)
    for _ in range(5):
        world.step()
    np.testing.assert_array_equal(body._x, end)


def test_forces_that_are_not_a_gradient_are_named():
    """One rotation per element of order 2 has no energy: the law at the quadrature points is integrated instead."""
    body = ct.SoftBody(
        ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(2, 1, 1)), material=ct.Corotated(rotation="mean"), order=2,
        integrator="energy_momentum", name="bar",
    )  # fmt: skip
    body._v[:, 1] = body._x[:, 0]
    (report,) = ct.World([body], gravity=(0, 0, 0)).step()
    assert any("not the gradient of an energy" in text for text in report.warnings)


def test_a_step_that_does_not_converge_is_done_in_parts_or_refused():
    body = cantilever(ct.EnergyMomentum(newton=4))
    (report,) = ct.World([body], dt=0.05).step()
    assert report.substeps > 1
    assert "Newton's iteration stopped" in report.warnings[-1]
    with pytest.raises(ct.DivergedError, match="Newton's iteration stopped"):
        ct.World([cantilever(ct.EnergyMomentum(newton=1))], dt=0.05).step()


NEAR = {"young": 2e4, "poisson": 0.4999, "density": 1000.0}
AVERAGED = {
    "tets": (lambda: ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1)), 1),
    "tets of order 2": (lambda: ct.mesh.box(size=(0.6, 0.2, 0.2), cells=(2, 1, 1)), 2),
    "hexes": (lambda: ct.mesh.hex_box(size=(0.6, 0.2, 0.2), cells=(3, 1, 1)), 1),
    "hexes of order 2": (lambda: ct.mesh.hex_box(size=(0.6, 0.2, 0.2), cells=(2, 1, 1)), 2),
}


@pytest.mark.parametrize("law", [ct.Corotated(**NEAR), ct.NeoHookean(**NEAR), ct.StableNeoHookean(**NEAR)])
@pytest.mark.parametrize("kind", AVERAGED)
def test_a_mean_change_of_volume_keeps_energy_and_momenta(kind, law):
    """A bar that turns by 3 degrees in a step, stretched by a fifth at constant volume."""
    make, order = AVERAGED[kind]
    body = ct.SoftBody(make(), material=law, order=order, integrator="energy_momentum", name="bar")
    assert body.volumetric == "mean"
    body.set_velocity((0.5, 0.2, 0.0), (1.0, 5.0, 3.0))
    body._x *= np.array([1.2, 1.2**-0.5, 1.2**-0.5])
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    before, start = energy(body), momenta(body)
    for _ in range(12):
        (report,) = world.step()
        assert report.converged
        assert energy(body) == pytest.approx(before, rel=1e-6)
    for now, then in zip(momenta(body), start, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-12 * np.abs(then).max())


@pytest.mark.parametrize("law", [ct.Corotated(**BOX), ct.NeoHookean(**BOX), ct.StVenantKirchhoff(**BOX)])
@pytest.mark.parametrize(("kind", "order"), [("quads", 1), ("triangles", 1), ("triangles", 2)])
def test_sheets_in_plane_stress_keep_energy_and_momenta(kind, order, law):
    """The thickness, up to a tenth less, has no inertia: the energy is the least over all thicknesses."""
    sheet = ct.mesh.rectangle((0.6, 0.2), (3, 1), kind=kind)
    body = ct.SoftBody(
        sheet, material=law, order=order, plane="stress", integrator="energy_momentum", name="sheet"
    )
    body.set_velocity((0.5, 0.2, 0.0), (0.0, 0.0, 5.0))
    body._x[:, 0] *= 1.2
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    before, start = energy(body), momenta(body)
    kinetic = []
    for _ in range(60):
        (report,) = world.step()
        assert report.converged
        kinetic.append(body.energy()["kinetic"])
        assert energy(body) == pytest.approx(before, rel=1e-6)
    assert np.ptp(kinetic) > 0.1 * before
    for now, then in zip(momenta(body), start, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-12 * np.abs(then).max())


@pytest.mark.parametrize("plastic", [False, True])
@pytest.mark.parametrize("kind", AVERAGED)
def test_the_work_of_averaged_volumes_is_the_change_of_their_energy(kind, plastic):
    """For random steps of any length, also of plastic matter."""
    law = ct.NeoHookean(**NEAR)
    make, order = AVERAGED[kind]
    plasticity = ct.Plasticity(yield_strain=10.0) if plastic else None
    body = ct.SoftBody(make(), material=law, order=order, plasticity=plasticity)
    rng = np.random.default_rng(3)
    elements = body._elements
    if plastic:
        inverse = np.eye(3) + 0.1 * rng.normal(size=(*elements.weights.shape, 3, 3))
        body._plastic_state.inverse[:] = inverse.reshape(body._plastic_state.inverse.shape)
    gradient = MeanStressGradient(elements)
    gradient.set_law(law, body._materials.constants)
    n = elements.node_count
    for size in (1e-3, 0.02):
        x = body._x + 0.02 * rng.normal(size=(n, 3))
        after = x + size * rng.normal(size=(n, 3))
        energies = []
        for each in (x, after):
            elements.update(each)
            energies.append(elements.energy())
        force = np.zeros((n, 3))
        gradient.begin(x)
        none, zero = np.zeros(elements.pattern.block_count), np.zeros((n, 3))
        matrix = ct.linalg.BlockMatrix(elements.pattern)
        gradient.assemble(after, AssembledSystem(matrix, force, none, 0.0, 1.0, -1.0, zero, zero))
        work = float(np.vdot(force, after - x))
        assert work == pytest.approx(energies[1] - energies[0], rel=1e-6, abs=1e-9 * max(energies))
        np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-11 * np.abs(force).max())
        middle = np.cross(0.5 * (x + after), force)
        np.testing.assert_allclose(middle.sum(axis=0), 0.0, atol=1e-10 * np.abs(middle).max())

"""Loads on faces, volumes and nodes: totals, moments, signs, patch tests and exactness for every kind of element."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError


def right(x):
    return x[:, 0] > 1.0 - 1e-9


def hexes():
    axes = [np.linspace(0.0, size, n + 1) for size, n in ((1.0, 2), (0.5, 2), (0.4, 1))]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    node = np.arange(len(points)).reshape(3, 3, 2)
    i, j, k = (a.ravel() for a in np.meshgrid(range(2), range(2), range(1), indexing="ij"))
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    return ct.HexMesh(points, np.stack([node[i + a, j + b, k + c] for a, b, c in corners], axis=1))


KINDS = {
    "tets 1": (lambda: ct.mesh.box(size=(1.0, 0.5, 0.4), cells=(2, 2, 1)), 1),
    "tets 2": (lambda: ct.mesh.box(size=(1.0, 0.5, 0.4), cells=(2, 2, 1)), 2),
    "tets 3": (lambda: ct.mesh.box(size=(1.0, 0.5, 0.4), cells=(2, 2, 1)), 3),
    "hexes": (hexes, 1),
    "triangles": (lambda: ct.mesh.rectangle((1.0, 0.5), (3, 2), kind="triangles", thickness=0.4), 1),
    "quads": (lambda: ct.mesh.rectangle((1.0, 0.5), (3, 2), thickness=0.4), 1),
}
SOLID = ["tets 1", "tets 2", "tets 3", "hexes"]


def body(kind="tets 1", law=ct.Linear, young=1000.0, poisson=0.3, density=1.0, **options):
    mesh, order = KINDS[kind]
    return ct.SoftBody(
        mesh(),
        material=law(young=young, poisson=poisson, density=density),
        order=order,
        name="block",
        solver=ct.PCG(rtol=1e-13),
        **options,
    )


def forces(body, velocities=None):
    """All loads on the body now [N], without gravity."""
    force = np.zeros_like(body._x)
    body._environment.gravity = np.zeros(3)
    body._collect_forces(body._x, np.zeros_like(force) if velocities is None else velocities, force)
    return force


def net(body, force, about=(0.0, 0.0, 0.0)):
    return force.sum(axis=0), np.cross(body._x - about, force).sum(axis=0)


@pytest.mark.parametrize("kind", list(KINDS))
def test_traction_on_a_face_has_its_force_at_the_middle_of_the_face(kind):
    block = body(kind)
    traction = np.array([3.0, -2.0, 0.5]) * ([1, 1, 0] if kind in ("triangles", "quads") else 1)
    block.apply_traction(right, traction)
    force, moment = net(block, forces(block))
    depth = 0.0 if kind in ("triangles", "quads") else 0.2
    np.testing.assert_allclose(force, 0.2 * traction, atol=1e-13)
    np.testing.assert_allclose(moment, np.cross([1.0, 0.25, depth], 0.2 * traction), atol=1e-13)


@pytest.mark.parametrize("kind", list(KINDS))
def test_even_pressure_on_the_whole_surface_exerts_nothing_however_it_is_bent(kind):
    """R11: the area vectors of a closed surface, and their moments, sum to zero; exactly, on curved faces too."""
    block = body(kind)
    rng = np.random.default_rng(1)
    plane = kind in ("triangles", "quads")
    block._x += 0.05 * rng.normal(size=block._x.shape) * ([1, 1, 0] if plane else 1)
    block.apply_pressure("all", 10.0)
    force, moment = net(block, forces(block))
    np.testing.assert_allclose(force, 0.0, atol=1e-12)
    np.testing.assert_allclose(moment, 0.0, atol=1e-12)
    assert np.abs(forces(block)).max() > 0.1


@pytest.mark.parametrize("kind", list(KINDS))
def test_pressure_does_the_work_of_the_volume_it_sweeps(kind):
    """The force is -p dV/dx: against finite differences of the enclosed volume at a bent state."""
    block = body(kind)
    rng = np.random.default_rng(2)
    flat = [1, 1, 0] if kind in ("triangles", "quads") else [1, 1, 1]
    block._x += 0.03 * rng.normal(size=block._x.shape) * flat
    block.apply_pressure("all", 7.0)
    direction = rng.normal(size=block._x.shape) * flat
    work = np.vdot(forces(block), direction)

    def volume(x):
        """The enclosed volume by the divergence theorem, with a fine rule of its own."""
        faces = block._faces
        corners = x[faces.nodes]
        points = np.einsum("qa,fai->fqi", faces.shapes, corners)
        s, t = np.einsum("qac,fai->cfqi", faces.slopes, corners)
        vectors = np.cross(s, t + faces.depth)
        return np.einsum("q,fqi,fqi->", faces.weights, points, vectors) / (2.0 if flat[2] == 0 else 3.0)

    h = 1e-6
    change = (volume(block._x + h * direction) - volume(block._x - h * direction)) / (2 * h)
    assert volume(block._elements.rest_positions) == pytest.approx(0.2)
    assert work == pytest.approx(-7.0 * change, rel=1e-7)


def test_signs_pressure_pushes_in_and_a_normal_traction_pulls_out():
    for act, sign in (
        (lambda b: b.apply_pressure(right, 10.0), -1),
        (lambda b: b.apply_traction(right, 10.0), 1),
        (lambda b: b.apply_traction(right, -10.0), -1),
    ):
        block = body()
        block.pin(lambda x: x[:, 0] < 1e-9)
        act(block)
        world = ct.World([block], gravity=(0, 0, 0))
        world.settle()
        moved = (block.positions - block.rest_positions)[block.rest_positions[:, 0] > 1 - 1e-9, 0]
        assert (sign * moved > 0.002).all()


@pytest.mark.parametrize("kind", SOLID)
@pytest.mark.parametrize("law", [ct.Linear, ct.StVenantKirchhoff])
def test_uniaxial_patch_under_traction_is_exact(kind, law):
    """Rollers on three sides, traction on the fourth (R16): every point moves as in an even strain."""
    young, nu, stress = 1000.0, 0.3, 10.0 if law is ct.Linear else 60.0
    block = body(kind, law)
    for axis, name in enumerate("xyz"):
        block.lock(lambda x, axis=axis: x[:, axis] < 1e-9, name)
    block.apply_traction(right, (stress, 0.0, 0.0))
    ct.World([block], gravity=(0, 0, 0)).settle(rtol=1e-11)
    if law is ct.Linear:
        stretch = np.array([1.0, -nu, -nu]) * stress / young
    else:  # first Piola stress: lambda S = traction with S = E (lambda^2 - 1)/2
        along = np.max(np.real(np.roots([young / 2.0, 0.0, -young / 2.0, -stress])))
        strain = (along**2 - 1.0) / 2.0
        across = np.sqrt(1.0 - 2.0 * nu * strain)
        stretch = np.array([along, across, across]) - 1.0
    exact = block.rest_positions * stretch
    np.testing.assert_allclose(block.positions - block.rest_positions, exact, atol=1e-10)


@pytest.mark.parametrize("kind", list(KINDS))
def test_volume_loads_have_the_right_total_and_moment(kind):
    """R10: an even force has its total in the middle; a linear field's moment is exact as well."""
    block = body(kind)
    density = np.array([1.0, -5.0, 0.0])
    load = block.apply_body_force("all", density)
    force, moment = net(block, forces(block))
    middle = [0.5, 0.25, 0.0 if kind in ("triangles", "quads") else 0.2]
    np.testing.assert_allclose(force, 0.2 * density, atol=1e-13)
    np.testing.assert_allclose(moment, np.cross(middle, 0.2 * density), atol=1e-13)
    load.force = lambda t, x: x[:, :1] * [0.0, 6.0, 0.0]  # the integral of 6 x is 3, that of 6 x^2 is 2
    force, moment = net(block, forces(block))
    np.testing.assert_allclose(force, [0.0, 0.2 * 3.0, 0.0], atol=1e-13)
    np.testing.assert_allclose(moment[2], 0.2 * 2.0, atol=1e-13)


def test_body_force_of_weight_equals_gravity():
    """A force of density times g is gravity, node by node."""
    block = body("tets 2", density=800.0)
    block.apply_body_force("all", (0.0, -800.0 * 9.81, 0.0))
    weight = block._node_mass[:, None] * np.array([0.0, -9.81, 0.0])
    np.testing.assert_allclose(forces(block), weight, rtol=1e-12)
    assert weight.sum() == pytest.approx(-800.0 * 0.2 * 9.81)


def test_hanging_bar_stretches_as_theory_says():
    """L = 4, E = 1e4, g = 10: the tip of a bar on rollers moves by rho g L^2 / (2 E) = 0.008 (R16).

    A clamp would hold its end from getting thinner as well and take 4 % off.
    """
    mesh = ct.mesh.box(size=(4.0, 1.0, 1.0), cells=(8, 2, 2))
    bar = ct.SoftBody(
        mesh, material=ct.Linear(young=1e4, poisson=0.3, density=1.0), solver=ct.PCG(rtol=1e-10)
    )
    for axis, name in enumerate("xyz"):
        bar.lock(lambda x, axis=axis: x[:, axis] < 1e-9, name)
    bar.apply_body_force("all", (10.0, 0.0, 0.0))
    ct.World([bar], gravity=(0, 0, 0)).settle()
    tip = bar.rest_positions[:, 0] > 4 - 1e-9
    assert (bar.positions - bar.rest_positions)[tip, 0].mean() == pytest.approx(0.008, rel=0.01)


def test_regions_and_normals_choose_faces():
    mesh = ct.mesh.box(size=(1.0, 0.5, 0.4), cells=(2, 2, 1))
    centers = mesh.points[mesh.tets].mean(axis=1)
    mesh = ct.TetMesh(mesh.points, mesh.tets, regions={"left half": np.flatnonzero(centers[:, 0] < 0.5)})
    block = ct.SoftBody(mesh, name="block")
    half = block.apply_traction("left half", (1.0, 0.0, 0.0))
    assert forces(block).sum() == pytest.approx(0.5 * (2 * 0.5 + 2 * 0.4) + 0.2)  # four sides and one end
    half.remove()
    block.apply_traction(lambda x, n: n[:, 1] > 0.9, (0.0, 1.0, 0.0))
    np.testing.assert_allclose(forces(block).sum(axis=0), [0.0, 0.4, 0.0])


@pytest.mark.parametrize("order", [1, 2])
def test_wind_presses_on_what_it_blows_against(order):
    """G13: density/2 (n.w)^2 on the side it comes from, less where the body runs with it."""
    block = body(f"tets {order}")
    block._environment.wind = ct.Wind((10.0, 0.0, 0.0), density=1.2)
    np.testing.assert_allclose(forces(block).sum(axis=0), [0.5 * 1.2 * 100.0 * 0.2, 0.0, 0.0], atol=1e-12)
    running = np.tile([4.0, 0.0, 0.0], (block.node_count, 1))
    np.testing.assert_allclose(forces(block, running).sum(axis=0), [0.6 * 36.0 * 0.2, 0.0, 0.0], atol=1e-12)
    assert not forces(block, running * 3).sum(axis=0)[0] > 0.0


def test_loads_follow_functions_of_time_and_end():
    block = body()
    block.apply_traction(right, lambda t: 5.0 * t)
    block.apply_pressure(right, lambda t: 5.0 * t, until=2.0)
    push = block.push(right, lambda t: (0.0, t, 0.0))
    for time, expected in ((0.0, (0, 0)), (1.0, (0, 1.0)), (2.0, (0.2 * 10.0, 2.0)), (3.0, (3.0, 3.0))):
        block._environment.time = time
        np.testing.assert_allclose(forces(block).sum(axis=0)[:2], expected, atol=1e-12)
    push.force = (0.0, 0.0, 9.0)
    np.testing.assert_allclose(forces(block).sum(axis=0), [3.0, 0.0, 9.0], atol=1e-12)
    push.remove()
    assert not push.active


def test_a_ramp_avoids_the_overshoot_of_a_sudden_load():
    """Check 30: a load put on at once swings the body to twice its deflection, a slow ramp hardly beyond it."""
    tips = {}
    for name, factor in (("sudden", lambda t: 1.0), ("ramp", lambda t: min(1.0, t / 1.0))):
        block = body(law=ct.Corotated, young=1e4, density=100.0)
        block.pin(lambda x: x[:, 0] < 1e-9)
        block.apply_traction(right, lambda t, factor=factor: (50.0 * factor(t), 0.0, 0.0))
        world = ct.World([block], gravity=(0, 0, 0), dt=0.005)
        node = int(block.rest_positions[:, 0].argmax())
        tips[name] = []
        for _ in range(400):
            world.step()
            tips[name].append(block.positions[node, 0] - 1.0)
    still = np.mean(tips["ramp"][-50:])
    assert max(tips["sudden"]) > 1.5 * still
    assert max(tips["ramp"]) < 1.1 * still


def test_fields_wave_and_radial():
    x = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 1.0, 0.0]])
    wave = ct.ForceField.wave((0.0, 2.0, 0.0), (3.0, 0.0, 0.0), length=2.0, period=4.0)
    np.testing.assert_allclose(wave.at(0.0, x)[:, 1], [0.0, 2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(wave.at(1.0, x)[:, 1], [-2.0, 0.0, 2.0], atol=1e-12)  # a quarter period on
    radial = ct.ForceField.radial((0.0, 0.0, 0.0), -3.0, radius=0.5)
    np.testing.assert_allclose(radial.at(0.0, x)[:2], [[0, 0, 0], [-3.0, 0, 0]], atol=1e-12)
    both = (wave + radial).at(0.0, x)
    np.testing.assert_allclose(both, wave.at(0.0, x) + radial.at(0.0, x))


def refusals():
    nan = float("nan")
    return [
        (lambda b: b.apply_pressure(lambda x: x[:, 0] > 5, 1.0), "pressure of body 'block': no face"),
        (lambda b: b.apply_traction("roof", 1.0), "no region called 'roof'"),
        (lambda b: b.apply_pressure([999], 1.0), "face numbers must be from 0 to"),
        (lambda b: b.apply_pressure("all", nan), "pressure must be a finite number"),
        (lambda b: b.apply_pressure("all", "high"), "pressure must be a finite number"),
        (lambda b: b.apply_traction("all", (1, 2)), "traction must be three finite numbers"),
        (lambda b: b.apply_traction("all", nan), "traction must be a finite number"),
        (lambda b: b.apply_body_force("all", (0, nan, 0)), "body force must be three finite numbers"),
        (
            lambda b: b.apply_body_force(lambda x: x[:, 0] > 5, (0, 1, 0)),
            "body force of body 'block': no element",
        ),
        (lambda b: b.push(lambda x: x[:, 0] > 5, (0, 1, 0)), "push of body 'block': no node"),
        (lambda b: b.apply_pressure("all", 1.0, until=nan), "must be a number, not nan"),
        (
            lambda b: (b.apply_pressure("all", lambda t: nan), b.step(0.01)),
            "pressure must be a finite number",
        ),
        (
            lambda b: (b.apply_body_force("all", lambda t, x: x[:2]), b.step(0.01)),
            "what a force field returns",
        ),
        (
            lambda b: b.apply_body_force("all", ct.ForceField.wave((0, 1, 0), (0, 0, 0), 1.0, 1.0)),
            "direction",
        ),
        (lambda b: b.apply_body_force("all", ct.ForceField.radial((0, 0, 0), 1.0, 0.0)), "radius"),
    ]


@pytest.mark.parametrize(("act", "message"), refusals())
def test_bad_loads_are_refused_in_one_sentence(act, message):
    with pytest.raises(InputError, match=message):
        act(body())

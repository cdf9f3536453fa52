"""Cloth in a world: threads, checkpoints, contact, wind, momentum, scenes, and what is refused."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.mesh import surfaces
from continua.numerics import get_threads, set_threads
from continua.scene import parse_scene
from tests.shells.sheets import rectangle

LAW = ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0)


def falling_sheet(cells=8, **options):
    mesh = surfaces.sheet((1.0, 1.0), (cells, cells)).transformed(translate=(0.0, 0.35, 0.0))
    sheet = ct.Cloth(mesh, LAW, thickness=2e-3, name="sheet", **options)
    world = ct.World([sheet], colliders=[ct.Sphere((0.0, 0.0, 0.0), 0.3)])
    return sheet, world


@pytest.mark.parametrize("integrator", ["implicit_euler", "newmark"])
def test_checkpoints_resume_bitwise(integrator):
    bending = ct.Bending(1e-4, yield_curvature=1.0, hardening=0.1)
    sheet, world = falling_sheet(integrator=integrator, bending=bending)
    for _ in range(25):
        world.step(0.01)
    saved = sheet.state()
    for _ in range(5):
        world.step(0.01)
    expected = sheet.positions
    again, world = falling_sheet(integrator=integrator, bending=bending)
    for _ in range(25):
        world.step(0.01)
    again.restore(saved)
    for _ in range(5):
        world.step(0.01)
    assert (again.positions == expected).all()
    assert np.abs(sheet._elements.bending.half_sine).max() > 0.0


def test_results_do_not_depend_on_the_number_of_threads():
    before, results = get_threads(), []
    try:
        for threads in (1, 2):
            set_threads(min(threads, before))
            mesh = surfaces.sheet((1.0, 1.0), (100, 100))
            sheet = ct.Cloth(mesh, LAW, thickness=1e-3)
            sheet.pin("back")
            for _ in range(3):
                sheet.step(0.01)
            results.append(sheet.positions)
    finally:
        set_threads(before)
    assert (results[0] == results[1]).all()


def test_sheet_comes_to_rest_on_a_ball():
    sheet, world = falling_sheet(16, damping=(3.0, 0.002), friction=1.0)
    radii = []
    for _ in range(150):
        world.step(0.01)
        radii.append(np.linalg.norm(sheet.positions, axis=1).min())
    assert min(radii) > 0.299
    assert np.abs(sheet.velocities).max() < 0.3
    top = sheet.positions[:, 1].max()
    assert 0.29 < top < 0.33


def test_free_sheet_keeps_its_momentum():
    sheet = ct.Cloth(rectangle((1.0, 1.0), (6, 6)), LAW, thickness=1e-3, bending=ct.Bending(1e-3))
    rng = np.random.default_rng(0)
    sheet.velocities = rng.standard_normal(sheet.positions.shape)
    world = ct.World([sheet], gravity=(0.0, 0.0, 0.0))
    mass = sheet._node_mass
    before = mass @ sheet.velocities
    for _ in range(20):
        world.step(0.005)
    assert np.abs(mass @ sheet.velocities - before).max() < 1e-6 * mass.sum()


def test_wind_across_and_along_a_plate():
    """A flat plate that is held: drag C rho/2 v^2 A across, skin friction along; none if it moves with the air."""
    plate = ct.Cloth(rectangle((2.0, 1.0), (4, 2)), LAW, thickness=1e-3, drag=1.2, skin_friction=0.01)
    faces = plate._faces
    rest, still = plate.rest_positions, np.zeros_like(plate.rest_positions)
    for wind, expected in (((0.0, 5.0, 0.0), 1.2), ((0.0, -5.0, 0.0), 1.2), ((5.0, 0.0, 0.0), 0.01)):
        force = np.zeros_like(rest)
        faces.add_wind(rest, still, np.array(wind), 1.2, force)
        assert np.allclose(force.sum(axis=0), 0.6 * 25.0 * 2.0 * expected * np.sign(wind), atol=1e-12)
    force = np.zeros_like(rest)
    faces.add_wind(rest, still + [1.0, 2.0, 3.0], np.array([1.0, 2.0, 3.0]), 1.2, force)
    assert np.abs(force).max() < 1e-30


def test_oblique_wind_lifts():
    """At 45 degrees the force along the normal is half of that across, and half of that is lift."""
    plate = ct.Cloth(rectangle((1.0, 1.0), (2, 2)), LAW, thickness=1e-3, drag=1.0, skin_friction=0.0)
    force = np.zeros_like(plate.rest_positions)
    wind = 10.0 * np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    plate._faces.add_wind(plate.rest_positions, np.zeros_like(force), wind, 1.0, force)
    total = force.sum(axis=0)
    across = 0.5 * 100.0 * 0.5
    assert total @ wind / 10.0 == pytest.approx(across / np.sqrt(2.0))
    assert np.linalg.norm(np.cross(total, wind)) / 10.0 == pytest.approx(across / np.sqrt(2.0))


SCENE = """
bodies:
  - type: cloth
    name: flag
    mesh: {type: sheet, size: [1, 0.6], cells: [6, 4]}
    fabric: {like: denim, warp: 500}
    bending: {model: quadratic}
    pin: [{where: left}]
"""


def test_scene_with_cloth():
    scene = parse_scene(SCENE)
    world = scene.build()
    body = world.body("flag")
    assert isinstance(body, ct.Cloth)
    assert body.material == ct.Fabric.measured("denim", warp=500.0)
    world.step(0.01)
    frame = world.frame()["flag"]
    assert frame.kind == "cloth"
    assert set(frame.cells) == {"triangle"}
    assert frame.fields["stretch"].values.shape == (body.element_count, 2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: ct.Cloth(ct.SurfaceMesh(np.eye(3), [[0, 1, 2]]), thickness=2.0),
            "less than its shortest edge",
        ),
        (
            lambda: ct.Cloth(ct.SurfaceMesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])),
            "have no area",
        ),
        (
            lambda: ct.Cloth(
                ct.SurfaceMesh(
                    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]],
                    [[0, 1, 2], [0, 1, 3], [0, 1, 4]],
                )
            ),
            "not a manifold",
        ),
        (lambda: ct.Cloth(rectangle((1, 1), (2, 2)), ct.Linear()), "not rotation invariant"),
        (lambda: ct.Cloth(rectangle((1, 1), (2, 2)), ct.FiberReinforced()), "take a Fabric"),
        (lambda: ct.Cloth(rectangle((1, 1), (2, 2))).inflate(10.0), "no inside to inflate"),
        (lambda: ct.Cloth(rectangle((1, 1), (2, 2)), integrator="energy_momentum"), "not for cloth"),
        (lambda: ct.Fabric(coupling=2000.0), "no stable shape"),
        (lambda: ct.Bending(model="quadratic", yield_curvature=1.0), "model 'hinge' only"),
        (lambda: ct.Cloth(rectangle((1, 1), (2, 2)), warp=(0.0, 0.0, 0.0)), "warp of cloth"),
        (lambda: ct.SoftBody(ct.mesh.box(), material=ct.Fabric()), "Fabric is for cloth"),
    ],
)
def test_bad_input_is_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_attached_cloth_follows_a_soft_and_a_rigid_body():
    """A strip on the side of a box that is driven, and of one that falls, stays there at the same distance."""
    soft = ct.SoftBody(ct.mesh.box((0.2, 0.2, 0.2), (2, 2, 2)), name="soft")
    soft.drive("all", ct.Motion.rotate((0.0, 1.0, 0.0), (0.1, 0.1, 0.1), 2.0))
    rigid = ct.RigidBody(ct.Box((2.0, 0.0, 0.0), size=(0.2, 0.2, 0.2)), density=500.0, name="rigid")
    strips = []
    for body in (soft, rigid):
        top = body.positions.max(axis=0)
        mesh = surfaces.sheet((0.1, 0.1), (2, 2)).transformed(translate=top + [-0.1, 0.01, -0.1])
        strip = ct.Cloth(mesh, LAW, thickness=1e-3, name=f"on {body.name}")
        strip.attach("left", body)
        strips.append(strip)
    pairs = {("soft", "on soft"): {"collide": False}, ("rigid", "on rigid"): {"collide": False}}
    world = ct.World([soft, rigid, *strips], contact=ct.Contact(pairs=pairs))
    held = strips[0].rest_positions[:, 0] < strips[0].rest_positions[:, 0].min() + 1e-6
    start = strips[0].rest_positions[held] - [0.1, 0.1, 0.1]
    for _ in range(20):
        world.step(0.01)
    turn = np.array([[np.cos(0.4), 0.0, np.sin(0.4)], [0.0, 1.0, 0.0], [-np.sin(0.4), 0.0, np.cos(0.4)]])
    assert np.abs(strips[0].positions[held] - [0.1, 0.1, 0.1] - start @ turn.T).max() < 2e-3
    gap = strips[1].positions[held][:, 1] - rigid.positions[:, 1].max()
    assert np.abs(gap - 0.01).max() < 0.03  # one step behind the fall


def test_cloth_rolls_down_a_rough_slope():
    """B7: where it touches, it hardly moves along the slope; without friction it slides down as one."""
    slope = np.deg2rad(20.0)
    normal, down = (
        np.array([np.sin(slope), np.cos(slope), 0.0]),
        np.array([np.cos(slope), -np.sin(slope), 0.0]),
    )
    travelled = {}
    for friction in (0.0, 1.0):
        mesh = surfaces.tube(0.1, 0.06, (28, 3)).transformed(rotate=(np.pi / 2.0, 0.0, 0.0))
        mesh = mesh.transformed(translate=0.102 * normal)
        law = ct.StVenantKirchhoff(young=1e6, poisson=0.3, density=300.0)
        tube = ct.Cloth(mesh, law, thickness=2e-3, bending=ct.Bending(0.05), friction=friction)
        world = ct.World([tube], colliders=[ct.Plane((0.0, 0.0, 0.0), normal=normal, friction=friction)])
        for _ in range(50):
            world.step(0.01)
        along = tube.velocities @ down
        travelled[friction] = (tube.positions.mean(axis=0) - mesh.points.mean(axis=0)) @ down
        touching = tube.positions @ normal < 0.004
        assert touching.any()
        speed = np.abs(along[touching]).mean() / along.mean()
        assert speed < 0.15 if friction else speed > 0.95
    # s = g sin t^2 / 2, of which a ring that rolls has half; corners that come down lose a little
    expected = 0.5 * 9.81 * np.sin(slope) * 0.5**2
    assert travelled[0.0] == pytest.approx(expected, rel=0.05)
    assert travelled[1.0] == pytest.approx(0.5 * expected, rel=0.1)

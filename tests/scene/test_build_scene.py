"""From a scene to a world: the same as one made by hand in Python, and errors that name the key."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.scene import parse_scene
from continua.scene.build_selection import select
from continua.scene.build_soft import build_mesh

BLOCK = """\
bodies:
  - type: soft
    name: block
    mesh: {{type: box, size: [1, 0.5, 0.5], cells: [4, 2, 2]{mesh}}}
    {body}
"""


def block(body="order: 1", mesh=""):
    return parse_scene(BLOCK.format(body=body, mesh=mesh), label="scene.yaml")


def test_the_same_bits_as_a_world_made_by_hand():
    scene = parse_scene(
        """
dt: 0.004
gravity: [0, -5, 1]
wind: {velocity: [3, 0, 0], gust: 0.5, period: 0.7}
bodies:
  - type: soft
    name: block
    mesh: {type: box, size: [1, 0.5, 0.5], cells: [4, 2, 2]}
    material: {type: corotated, young: 2e5, poisson: 0.35, density: 900}
    damping: {mass: 0.1, stiffness: 0.001}
    mass: lumped
    pin: [{where: left}]
    push: [{where: {type: sphere, center: [1, 0.5, 0.5], radius: 0.3}, force: [0, 20, 0]}]
    pull: [{point: [1, 0, 0], target: [1.2, -0.2, 0], stiffness: 500}]
colliders:
  - {type: plane, point: [0, -0.05, 0], friction: 0.3}
  - {type: sphere, center: [0.8, -0.4, 0.2], radius: 0.4}
"""
    )
    made = scene.build()
    body = ct.SoftBody(
        ct.mesh.box((1, 0.5, 0.5), (4, 2, 2)),
        material=ct.Corotated(2e5, 0.35, 900),
        damping=(0.1, 0.001),
        mass="lumped",
        name="block",
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    body.push(lambda x: ((x - [1, 0.5, 0.5]) ** 2).sum(axis=1) <= 0.09, (0, 20, 0))
    body.pull(point=(1, 0, 0), target=(1.2, -0.2, 0), stiffness=500)
    hand = ct.World(
        [body],
        gravity=(0, -5, 1),
        dt=0.004,
        wind=ct.Wind((3, 0, 0), gust=0.5, period=0.7),
        colliders=[
            ct.Plane((0, -0.05, 0), friction=0.3),
            ct.Sphere((0.8, -0.4, 0.2), 0.4),
        ],
    )
    for _ in range(20):
        made.step()
        hand.step()
    assert made.time == hand.time == pytest.approx(0.08)
    np.testing.assert_array_equal(made.bodies[0].positions, hand.bodies[0].positions)
    assert np.abs(hand.bodies[0].positions - hand.bodies[0].rest_positions).max() > 1e-3


SELECTIONS = {
    "left": ("left", lambda p: p[0] == 0.0),
    "right": ("right", lambda p: p[0] == 1.0),
    "bottom": ("bottom", lambda p: p[1] == 0.0),
    "top": ("top", lambda p: p[1] == 0.5),
    "back": ("back", lambda p: p[2] == 0.0),
    "front": ("front", lambda p: p[2] == 0.5),
    "all": ("all", lambda p: True),
    "box": ("{type: box, min: [0.2, 0, 0], max: [0.8, 0.25, 1]}",
            lambda p: 0.2 <= p[0] <= 0.8 and p[1] <= 0.25),
    "sphere": ("{type: sphere, center: [1, 0, 0], radius: 0.3}",
               lambda p: (p[0] - 1) ** 2 + p[1] ** 2 + p[2] ** 2 <= 0.09),
    "half_space": ("{type: half_space, point: [0.5, 0, 0], normal: [2, 2, 0]}",
                   lambda p: p[0] - 0.5 + p[1] <= 0),
}  # fmt: skip


@pytest.mark.parametrize("case", SELECTIONS)
def test_selectors_choose_what_a_loop_over_nodes_chooses(case):
    text, rule = SELECTIONS[case]
    scene = block(f"pin: [{{where: {text}}}]")
    mesh = build_mesh(scene, 0)
    chosen = select(scene.bodies[0].pin[0].where, mesh, mesh.points)
    expected = [number for number, point in enumerate(mesh.points) if rule(point)]
    assert 0 < len(expected) <= mesh.node_count
    assert list(chosen) == expected


def test_a_mesh_is_scaled_then_turned_then_moved():
    scene = block("transform: {scale: 2, rotate: {axis: [0, 0, 3], degrees: 90}, translate: [10, 0, 0]}")
    low, high = build_mesh(scene, 0).bounds
    np.testing.assert_allclose([low, high], [[9, 0, 0], [10, 2, 1]], atol=1e-12)


def test_the_first_motion_is_rigid():
    world = block("initial: {velocity: [1, 2, 3], angular_velocity: [0, 0, 2]}").build()
    x, v = world.bodies[0].positions, world.bodies[0].velocities
    np.testing.assert_allclose(v[:, 0], 1 - 2 * (x[:, 1] - 0.25), atol=1e-12)
    np.testing.assert_allclose(v[:, 1], 2 + 2 * (x[:, 0] - 0.5), atol=1e-12)
    np.testing.assert_allclose(v[:, 2], 3, atol=1e-12)


def test_driven_nodes_follow_their_motion_and_are_let_go():
    world = block(
        "drive: [{where: left, until: 0.05, motion: {type: rotate, axis: [1, 0, 0],"
        " point: [0, 0.25, 0.25], degrees_per_second: 900, until: 0.04}}]"
    ).build()
    held = world.bodies[0].rest_positions[:, 0] == 0.0
    rest = world.bodies[0].rest_positions[held] - [0, 0.25, 0.25]
    for step in range(1, 6):
        world.step(0.01)
        angle = np.radians(900) * min(0.01 * step, 0.04)
        y = rest[:, 1] * np.cos(angle) - rest[:, 2] * np.sin(angle)
        np.testing.assert_allclose(world.bodies[0].positions[held][:, 1], 0.25 + y, atol=1e-12)
    before = world.bodies[0].positions[held]
    for _ in range(10):
        world.step(0.01)
    assert world.bodies[0].positions[held][:, 1].mean() < before[:, 1].mean() - 0.02  # it falls


@pytest.mark.parametrize("motion", ["translate", "keyframes"])
def test_a_straight_motion(motion):
    text = {
        "translate": "{type: translate, velocity: [0, 2, 0], until: 0.03}",
        "keyframes": "{type: keyframes, times: [0, 0.03], offsets: [[0, 0, 0], [0, 0.06, 0]]}",
    }[motion]
    world = block(f"drive: [{{where: left, motion: {text}}}]").build()
    for _ in range(5):
        world.step(0.01)
    held = world.bodies[0].rest_positions[:, 0] == 0.0
    moved = world.bodies[0].positions[held] - world.bodies[0].rest_positions[held]
    np.testing.assert_allclose(moved, np.tile([0, 0.06, 0], (held.sum(), 1)), atol=1e-12)


MESH_TYPES = {
    "bridge": ("{type: bridge, n: 1, size: [2, 1, 1]}", 2.0),
    "box": ("{type: box, size: [1, 2, 3], cells: [2, 2, 2], split: 5, origin: [1, 1, 1]}", 6.0),
    "sphere": ("{type: sphere, radius: 2, cells: 6}", 4 / 3 * np.pi * 8),
    "cylinder": ("{type: cylinder, radius: 1, height: 3, cells: [6, 4]}", 3 * np.pi),
    "torus": ("{type: torus, radius: 2, tube: 0.5, cells: [5, 40]}", 2 * np.pi**2 * 2 * 0.25),
}


@pytest.mark.parametrize("kind", MESH_TYPES)
def test_generated_meshes_have_their_volume(kind):
    text, volume = MESH_TYPES[kind]
    scene = parse_scene(f"bodies: [{{type: soft, name: a, mesh: {text}}}]")
    assert build_mesh(scene, 0).volume == pytest.approx(volume, rel=0.06)


def test_mesh_files_are_found_beside_the_scene(tmp_path, monkeypatch):
    (tmp_path / "scenes").mkdir()
    ct.mesh.write(ct.mesh.box((1, 1, 1), (2, 1, 1)), tmp_path / "scenes" / "block.vtu")
    path = tmp_path / "scenes" / "a.yaml"
    path.write_text("bodies: [{type: soft, name: a, mesh: {type: file, path: block.vtu}}]", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ct.load_scene("scenes/a.yaml").build().bodies[0].element_count == 12


def test_hexahedra_become_tetrahedra_of_the_same_body(tmp_path):
    ct.mesh.write(ct.mesh.hex_box((2, 1, 1), (2, 1, 1)), tmp_path / "block.vtu")
    path = tmp_path / "a.yaml"
    path.write_text("bodies: [{type: soft, name: a, mesh: {type: file, path: block.vtu}}]", encoding="utf-8")
    mesh = build_mesh(ct.load_scene(path), 0)
    assert mesh.element_count == 48
    assert mesh.volume == pytest.approx(2.0)


def test_a_region_of_the_file_is_pinned(tmp_path):
    """The region 'foot' is the first of two cells, so its nodes are those with x up to 1."""
    block = ct.mesh.box((2, 1, 1), (2, 1, 1))
    foot = np.flatnonzero(block.points[block.tets].mean(axis=1)[:, 0] < 1.0)
    ct.mesh.write(ct.TetMesh(block.points, block.tets, {"foot": foot}), tmp_path / "block.msh")
    path = tmp_path / "a.yaml"
    path.write_text(
        "bodies: [{type: soft, name: a, mesh: {type: file, path: block.msh},"
        " pin: [{where: {type: region, region: foot}}]}]",
        encoding="utf-8",
    )
    body = ct.load_scene(path).build().bodies[0]
    held = body.rest_positions[:, 0] <= 1.0
    body.step(0.01)
    moved = np.abs(body.positions - body.rest_positions).max(axis=1) > 0.0
    np.testing.assert_array_equal(moved, ~held)


BAD = {
    "selects-nothing": ("pin: [{where: {type: box, min: [5, 5, 5], max: [6, 6, 6]}}]",
                        "scene.yaml:5: bodies[0].pin[0].where: selects no node of 'block'"),
    "no-such-node": ("pin: [{where: {type: nodes, nodes: [0, 100000]}}]",
                     "scene.yaml:5: bodies[0].pin[0].where: node 100000 does not exist"),
    "no-such-region": ("push: [{where: {type: region, region: wing}, force: [0, 1, 0]}]",
                       "scene.yaml:5: bodies[0].push[0]: "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_only_the_mesh_can_tell_is_said_with_the_key(case):
    body, words = BAD[case]
    with pytest.raises(ct.InputError) as caught:
        block(body).build()
    assert str(caught.value).startswith(words)


def test_a_body_may_not_be_called_world():
    with pytest.raises(ct.InputError, match="cannot be called 'world'"):
        parse_scene("bodies: [{type: soft, name: world, mesh: {type: box}}]").build()


def test_a_settled_scene_starts_at_rest_in_equilibrium_and_returns_there():
    scene = parse_scene(
        "{start_at_equilibrium: true, bodies: [{type: soft, name: beam, pin: [{where: left}],"
        " mesh: {type: box, size: [1, 0.2, 0.2], cells: [6, 2, 2]}}]}"
    )
    world = scene.build()
    start = world.bodies[0].positions
    assert start[:, 1].min() < -0.05
    for _ in range(10):
        world.step()
    np.testing.assert_allclose(world.bodies[0].positions, start, atol=1e-5)
    world.bodies[0].push([40], (0, 50.0, 0)).remove()
    world.reset()
    np.testing.assert_array_equal(world.bodies[0].positions, start)


PARTS = """
bodies:
  - type: soft
    name: beam
    mesh: {type: box, size: [1, 0.2, 0.2], cells: [10, 2, 2]}
    material: {type: neo_hookean, young: 1e5}
    parts:
      - where: {type: box, min: [0, 0, 0], max: [0.5, 1, 1]}
        young: 1e7
        density: 3000
"""


def test_parts_have_their_own_constants():
    body = parse_scene(PARTS).build().bodies[0]
    assert body.mass_total == pytest.approx(0.02 * 3000 + 0.02 * 1000)
    ((elements, law),) = body._materials.parts
    assert len(elements) == body.element_count // 2
    assert (law.name, law.young, law.density) == ("neo_hookean", 1e7, 3000.0)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("{type: nodes, nodes: [1]}", "node numbers cannot choose elements"),
        ("{type: sphere, center: [9, 9, 9], radius: 1}", "selects no element"),
        ("{type: region, region: core}", "no region called 'core'"),
    ],
)
def test_parts_that_choose_nothing_are_refused(where, sentence):
    text = PARTS.replace("{type: box, min: [0, 0, 0], max: [0.5, 1, 1]}", where)
    with pytest.raises(ct.InputError, match=sentence):
        parse_scene(text).build()


def test_a_solver_that_does_not_suit_the_order_is_refused_before_anything_is_written():
    with pytest.raises(ct.InputError, match=r"scene\.yaml:2: bodies\[0\]: PMultigrid is for .* order 2 or 3"):
        block(body="solver: {type: pmultigrid}").build()
    block(body="order: 2\n    solver: {type: pmultigrid}").build()


@pytest.mark.parametrize(
    ("given", "model"),
    [
        ("density_map", ct.DensityMap()),
        ("{type: density_map, extension: 1, inset: 0}", ct.DensityMap(1.0, 0.0)),
        ("{type: volume_map, inset: 0.1}", ct.VolumeMap(0.1)),
        ("{type: particles}", ct.BoundaryParticles()),
    ],
)
def test_walls_of_a_fluid_with_options(given, model):
    block = "block: {min: [0, 0, 0], max: [0.2, 0.2, 0.2]}, particle_radius: 0.05"
    scene = parse_scene(f"bodies: [{{type: fluid, name: water, {block}, boundary: {given}}}]")
    assert scene.build().bodies[0].boundary == model


def test_a_damaged_surface_is_refused_with_an_offer_and_repaired(tmp_path):
    ball = ct.mesh.surfaces.sphere(0.5, 4)
    ct.mesh.write(ball.subset(np.arange(4, ball.triangle_count)), tmp_path / "open.obj")
    text = "bodies: [{{type: soft, name: a, mesh: {{type: file, path: open.obj, tetrahedralize: {{size: 0.4{}}}}}}}]"
    for repair in ("", ", repair: true"):
        (tmp_path / "scene.yaml").write_text(text.format(repair), encoding="utf-8")
        scene = ct.load_scene(tmp_path / "scene.yaml")
        if not repair:
            with pytest.raises(
                InputError, match=r"bodies\[0\].*open at \d+ edges, .* or ask for repair=True"
            ):
                scene.build()
            continue
        body = scene.build().bodies[0]
        assert body.mesh.volume == pytest.approx(ball.volume, rel=0.03)
        assert any("open edges around" in note for note in body.mesh.notes)

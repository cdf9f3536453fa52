"""Meshes scaled to a size and put on a floor, in Python and in scenes, and bodies in doubtful units."""

import numpy as np
import pytest
from typer.testing import CliRunner

import continua as ct
import continua.mesh as meshes
from continua.cli import app
from continua.scene import SceneError, parse_scene

MESHES = {
    "surface": lambda: meshes.box(size=(2, 1, 4), cells=(2, 1, 2), origin=(3, 5, -1)).surface,
    "tets": lambda: meshes.box(size=(2, 1, 4), cells=(2, 1, 2), origin=(3, 5, -1)),
    "hexes": lambda: meshes.hex_box((2, 1, 4), (2, 1, 2), origin=(3, 5, -1)),
    "plane": lambda: meshes.rectangle((2, 4), (2, 2), origin=(3, 5)),
}


@pytest.mark.parametrize("kind", MESHES)
def test_a_mesh_is_scaled_to_a_size_and_put_on_a_floor(kind):
    mesh = MESHES[kind]()
    small = mesh.fit(size=0.5)
    assert type(small) is type(mesh)
    assert np.ptp(small.points, axis=0).max() == pytest.approx(0.5)
    np.testing.assert_allclose(small.points, mesh.points / 8.0)  # about the origin, all axes alike
    low = mesh.on_floor(-0.25)
    assert low.points[:, 1].min() == pytest.approx(-0.25)
    np.testing.assert_allclose(low.points - mesh.points, np.broadcast_to([0, -5.25, 0], mesh.points.shape))


def test_up_is_any_direction_of_any_length():
    mesh = MESHES["tets"]()
    up = np.array([1.0, 2.0, 2.0])
    moved = mesh.on_floor(0.7, up=4.0 * up)
    assert (moved.points @ up / 3.0).min() == pytest.approx(0.7)
    assert np.linalg.norm(np.cross(moved.points[0] - mesh.points[0], up)) < 1e-12


def test_what_cannot_be_is_refused():
    mesh = MESHES["tets"]()
    for size in (0.0, -1.0, np.nan, "large"):
        with pytest.raises(ct.InputError, match="the size of a mesh"):
            mesh.fit(size)
    with pytest.raises(ct.InputError, match="up"):
        mesh.on_floor(up=(0, 0, 0))
    with pytest.raises(ct.InputError, match="height"):
        mesh.on_floor("low")


def scene(body, colliders="[{type: plane, point: [0, -1, 0]}]", gravity="[0, -9.81, 0]"):
    return parse_scene(f"name: a\ngravity: {gravity}\nbodies:\n  - {body}\ncolliders: {colliders}\n")


BOX = "mesh: {type: box, size: [2, 1, 1], cells: [2, 1, 1], origin: [3, 4, 5]}"


@pytest.mark.parametrize(
    "body",
    [
        f"{{type: soft, name: b, {BOX}, TRANSFORM}}",
        f"{{type: rigid, name: b, shape: {{type: mesh, {BOX}}}, TRANSFORM}}",
        "{type: rigid, name: b, shape: {type: torus}, TRANSFORM}",
        "{type: rigid, name: b, shape: {type: sphere}, TRANSFORM}",
        "{type: rigid, name: b, shape: {type: box, size: [2, 1, 1]}, TRANSFORM}",
        "{type: rigid, name: b, shape: {type: capsule, radius: 0.2, length: 1}, TRANSFORM}",
        "{type: rigid, name: b, shape: {type: cylinder, radius: 0.3, height: 1}, TRANSFORM}",
    ],
)
def test_a_body_of_a_scene_stands_on_its_floor(body):
    turn = "rotate: {axis: [0, 0, 1], degrees: 30}"
    for more, height in (("", -1.0), (f", {turn}", -1.0), (", translate: [0.2, 0.5, 0]", -0.5)):
        text = body.replace("TRANSFORM", f"transform: {{place: on_floor, size: 0.5{more}}}")
        points = scene(text).build().bodies[0].frame(()).positions
        assert points[:, 1].min() == pytest.approx(height, abs=2e-3)  # drawings of round shapes are coarse
        if not more:
            assert np.ptp(points, axis=0).max() == pytest.approx(0.5, rel=0.01)


def test_the_floor_is_against_gravity():
    body = f"{{type: soft, name: b, {BOX}, transform: {{place: on_floor}}}}"
    sideways = scene(body, "[{type: plane, normal: [-1, 0, 0], point: [7, 0, 0]}]", "[9.81, 0, 0]")
    assert sideways.build().bodies[0].positions[:, 0].max() == pytest.approx(7.0)
    for colliders in ("[]", "[{type: plane, normal: [1, 0, 0], point: [0, -4, 0]}]"):
        points = scene(body, colliders).build().bodies[0].positions
        assert points[:, 1].min() == pytest.approx(0.0)
    assert scene(body, "[]", "[0, 0, 0]").build().bodies[0].positions[:, 1].min() == pytest.approx(0.0)


def test_a_mesh_collider_is_put_on_the_floor():
    collider = f"{{type: mesh, {BOX}, transform: {{place: on_floor, size: 1}}}}"
    world = scene(f"{{type: soft, name: b, {BOX}}}", f"[{{type: plane}}, {collider}]").build()
    low, high = world.colliders[1].surface.bounds
    assert low[1] == pytest.approx(0.0)
    assert (high - low).max() == pytest.approx(1.0)


def test_a_skin_is_placed_with_its_body(tmp_path):
    box = meshes.box(size=(2, 1, 1), cells=(2, 1, 1), origin=(3, 4, 5))
    inner = box.surface.transformed(translate=(-4, -4.5, -5.5)).transformed(
        scale=0.5, translate=(4, 4.5, 5.5)
    )
    meshes.write(inner, tmp_path / "skin.obj")
    place = "transform: {place: on_floor, size: 1}"
    (tmp_path / "a.yaml").write_text(
        f"name: a\nbodies:\n  - {{type: soft, name: b, {BOX}, {place}, skin: {{path: skin.obj}}}}\n"
    )
    body = ct.load_scene(tmp_path / "a.yaml").build().bodies[0].frame(())
    assert body.positions[:, 1].min() == pytest.approx(0.0)
    assert body.with_embedded_surface().positions[:, 1].min() == pytest.approx(0.125)


def test_a_scale_and_a_size_are_refused():
    with pytest.raises(SceneError, match="takes either 'scale' or 'size', not both"):
        scene(f"{{type: soft, name: b, {BOX}, transform: {{scale: 2, size: 1}}}}")


@pytest.mark.parametrize(
    "make", [ct.SoftBody, lambda mesh, name: ct.RigidBody(mesh, density=1000, name=name)]
)
@pytest.mark.parametrize(
    ("size", "text"),
    [
        (180.0, "'part' is 180 m long, .* scale it by 0.001 .mesh.fit"),
        (5e-4, "'part' is 0.0005 m long, .*other units"),
    ],
)
def test_a_body_in_doubtful_units_is_noted(make, size, text):
    mesh = meshes.box(cells=(2, 1, 1))
    with pytest.warns(UserWarning, match=text):
        ct.World([make(mesh.fit(size), name="part")])
    ct.World([make(mesh.fit(20.0), name="part")])
    ct.World([make(mesh.fit(1e-3), name="part")])


def test_check_prints_the_warnings_of_a_scene(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(f"name: a\nbodies:\n  - {{type: soft, name: part, {BOX}, transform: {{size: 180}}}}\n")
    result = CliRunner().invoke(app, ["check", str(file), "--build"])
    assert result.exit_code == 0, result.output
    assert "a.yaml: valid" in result.stdout
    assert "a.yaml: warning: body 'part' is 180 m long" in result.stdout

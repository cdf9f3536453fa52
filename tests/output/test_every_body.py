"""A scene with every kind of body, written in every format with default options, and read back by other libraries.

And what is drawn of bodies that do not have the field of the colours.
"""

from __future__ import annotations

import base64
import colorsys
import json
import re
import struct
import warnings
import zlib

import imageio.v3 as iio
import numpy as np
import pytest
import trimesh
from PIL import Image
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import SINKS, make_sink
from continua.registry import body_kinds
from continua.render import make_view, picture
from continua.scene import parse_scene

SCENE = """\
name: zoo
seconds: 0.1
fps: 20
dt: 0.025
bodies:
  - type: soft
    name: tets
    mesh: {type: box, size: [0.5, 0.25, 0.25], cells: [4, 2, 2], origin: [-1.6, 0.5, 0]}
    pin: [{where: left}]
  - type: soft
    name: quadratic
    order: 2
    mesh: {type: box, size: [0.5, 0.25, 0.25], cells: [2, 1, 1], origin: [-0.8, 0.5, 0]}
    pin: [{where: left}]
  - type: soft
    name: cubic
    order: 3
    mesh: {type: box, size: [0.5, 0.25, 0.25], cells: [2, 1, 1], origin: [0, 0.5, 0]}
    pin: [{where: left}]
  - type: soft
    name: hexes
    mesh: {type: box, size: [0.5, 0.25, 0.25], cells: [4, 2, 2], elements: hexes, origin: [0.8, 0.5, 0]}
    pin: [{where: left}]
  - type: soft
    name: quads
    mesh: {type: rectangle, size: [0.5, 0.25], cells: [4, 2], origin: [1.6, 0.6]}
    pin: [{where: left}]
  - type: soft
    name: triangles
    mesh: {type: rectangle, size: [0.5, 0.25], cells: [4, 2], elements: triangles, origin: [1.6, 0.2]}
    pin: [{where: left}]
  - type: soft
    name: skinned
    mesh: {type: sphere, radius: 0.2, cells: 3}
    skin: {path: ball.ply}
    transform: {translate: [-1.6, 1.2, 0]}
    pin: [{where: left}]
  - type: cloth
    name: cloth
    mesh: {type: sheet, size: [0.5, 0.25], cells: [6, 4]}
    material: {type: st_venant_kirchhoff, young: 1e6, density: 1e4}
    transform: {translate: [1.95, 1.0, 0.1]}
    pin: [{where: left}]
  - type: shell
    name: shell
    mesh: {type: sheet, size: [0.5, 0.25], cells: [6, 4]}
    material: {type: st_venant_kirchhoff, young: 1e8, density: 1e4}
    thickness: 0.01
    transform: {translate: [1.95, 1.2, 0.1]}
    clamped: left
    pin: [{where: left}]
  - type: springs
    name: rope
    color: "#80ff00"
    network: {type: line, start: [1.7, 1.45, 0.1], end: [2.3, 1.45, 0.1], springs: 8}
    radius: 0.03
    pin: [{where: left}]
  - type: position_based
    name: lattice
    color: "#ffc000"
    network: {type: lattice, size: [0.25, 0.25, 0.25], cells: [2, 2, 2]}
    transform: {translate: [-2, 0.6, 0.1]}
  - type: rigid
    name: ball
    color: "#ff0000"
    shape: {type: sphere, radius: 0.15}
    transform: {translate: [-1.4, 0.3, 0.7]}
  - type: rigid
    name: links
    color: "#ff8000"
    shape: {type: box, size: [0.2, 0.1, 0.1]}
    transform: {translate: [-0.9, 0.3, 0.8]}
    places: [[0, 0, 0], [0.24, 0, 0], [0.48, 0, 0]]
  - type: rigid
    name: ring
    color: "#c0d000"
    shape: {type: torus, radius: 0.12, tube: 0.05, cells: [6, 12]}
    transform: {translate: [0.2, 0.3, 0.7]}
  - type: fluid
    name: water
    color: "#0060ff"
    particle_radius: 0.03
    block: {min: [0.6, 0.03, 0.6], max: [0.9, 0.33, 0.9]}
  - type: fluid
    name: jet
    color: "#00b0ff"
    particle_radius: 0.03
    emitters: [{center: [1.4, 0.3, 0.8], direction: [1, 0, 0], radius: 0.1, speed: 2}]
  - type: smoke
    name: smoke
    color: "#00a000"
    size: [0.5, 0.5, 0.5]
    cells: [8, 8, 8]
    origin: [-1.6, 0, 1.3]
    inflow: [{shape: {type: sphere, center: [-1.35, 0.15, 1.55], radius: 0.14}, temperature: 40, velocity: [0, 1, 0]}]
  - type: smoke
    name: plane-smoke
    color: "#40d080"
    size: [0.5, 0.5]
    cells: [16, 16]
    origin: [-0.9, 1]
    inflow: [{shape: {type: sphere, center: [-0.65, 1.15, 0], radius: 0.1}, temperature: 40, velocity: [0, 1, 0]}]
  - type: wind_tunnel
    name: tunnel
    color: "#00c0c0"
    size: [0.6, 0.3, 0.3]
    cells: [12, 6, 6]
    origin: [-0.7, 0, 1.4]
    streaks: 2
    obstacles: [{type: sphere, center: [-0.4, 0.15, 1.55], radius: 0.05}]
  - type: wind_tunnel
    name: plane-tunnel
    color: "#8000ff"
    size: [0.6, 0.3]
    cells: [24, 12]
    origin: [0, 1]
    streaks: 3
  - type: liquid
    name: basin
    color: "#ff00ff"
    size: [0.5, 0.5, 0.5]
    cells: [8, 8, 8]
    origin: [0.3, 0, 1.3]
    blocks: [{min: [0.3, 0, 1.3], max: [0.55, 0.3, 1.8]}]
  - type: liquid
    name: plane-basin
    color: "#ff0080"
    size: [0.5, 0.5]
    cells: [8, 8]
    origin: [1, 1]
    blocks: [{min: [1, 1, 0], max: [1.25, 1.3, 0]}]
joints:
  - {type: ball, a: links, copy_a: 0, b: links, copy_b: 1, point: [-0.78, 0.3, 0.8]}
  - {type: ball, a: links, copy_a: 1, b: links, copy_b: 2, point: [-0.54, 0.3, 0.8]}
  - {type: hinge, a: ring, point: [0.2, 0.3, 0.7]}
colliders:
  - {type: plane}
  - {type: sphere, center: [1, 0.15, -0.6], radius: 0.15}
  - {type: box, center: [1.7, 0.1, -0.6], size: [0.3, 0.2, 0.3]}
  - {type: cylinder, center: [2.4, 0.15, -0.3], radius: 0.1, height: 0.3}
"""

SOFT = ("tets", "quadratic", "cubic", "hexes", "quads", "triangles", "skinned", "cloth", "shell")
PLAIN = {
    name: tuple(int(color[i : i + 2], 16) / 255 for i in (0, 2, 4))
    for name, color in re.findall(r'name: ([\w-]+)\n    color: "#(\w+)"', SCENE)
}
PARTICLES = ("water", "jet", "rope")
GRIDS = ("smoke", "plane-smoke", "tunnel", "plane-tunnel", "basin", "plane-basin")
FRAMES = 3

# imageio's film reader leaves its pipes to the garbage collector.
reads_film = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def run(path, *words):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "fluids on grids interact with")  # not with soft bodies yet
        return CliRunner().invoke(app, ["run", str(path), "-q", *words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The results of a run in all formats."""
    for needed in ("pxr", "pysplashsurf", "pyvista", "imageio_ffmpeg"):
        pytest.importorskip(needed)
    place = tmp_path_factory.mktemp("zoo")
    trimesh.creation.icosphere(subdivisions=2, radius=0.21).export(place / "ball.ply")
    (place / "zoo.yaml").write_text(SCENE, encoding="utf-8")
    done = run(place / "zoo.yaml", "-o", str(place / "out"), "--format", ",".join(SINKS))
    assert done.exit_code == 0, done.output
    return place / "out"


@pytest.fixture(scope="module")
def meshes(folder):
    """What PyVista reads from the VTU files, by body and frame."""
    import pyvista

    return {
        (name, index): pyvista.read(folder / "vtu" / f"{name}_{index:06d}.vtu")
        for name in (*SOFT, *PLAIN)
        for index in range(FRAMES)
    }


def box(points):
    return np.array([np.min(points, axis=0), np.max(points, axis=0)])


def assert_drawn(points, name, mesh):
    """Compare corners of what is drawn with those of a VTU file; the skin is a ball of 0.21 m around one of 0.2 m."""
    np.testing.assert_allclose(box(points), box(mesh.points), atol=0.0151 if name == "skinned" else 1e-5)


def test_the_scene_has_every_kind_of_body():
    scene = parse_scene(SCENE)
    assert {body.type for body in scene.bodies} == body_kinds().keys()
    assert {body.name for body in scene.bodies} == {*SOFT, *PLAIN}


def test_vtu_has_every_body_with_its_fields(meshes):
    cells = {"tets": 10, "quadratic": 24, "cubic": 71, "hexes": 12, "quads": 9, "triangles": 5, "water": 1}
    for (name, index), mesh in meshes.items():
        assert mesh.n_points > 0 or (name, index) == ("jet", 0)  # the nozzle opens at time 0
        assert np.isfinite(mesh.points).all()
        assert ("von_mises" in mesh.point_data) == (name in SOFT)
        assert "velocity" in mesh.point_data
        if name in cells:
            assert set(mesh.celltypes) == {cells[name]}
    fall = meshes["ball", 0].center[1] - meshes["ball", 2].center[1]
    assert fall == pytest.approx(0.5 * 9.81 * 0.1**2, rel=1e-6)  # it touches nothing


def test_vti_has_every_fluid_on_a_grid(folder):
    import pyvista

    for name in GRIDS:
        grid = pyvista.read(folder / "vti" / f"{name}_{FRAMES - 1:06d}.vti")
        assert np.linalg.norm(grid.cell_data["velocity"], axis=1).max() > 0.01
    assert {path.name.rsplit("_", 1)[0] for path in (folder / "vti").iterdir()} == set(GRIDS)


@pytest.mark.parametrize("kind", ["ply", "obj"])
def test_surface_files_hold_every_body(folder, meshes, kind):
    for (name, index), mesh in meshes.items():
        path = folder / kind / f"{name}_{index:06d}.{kind}"
        if not mesh.n_points:
            assert path.is_file()
            continue
        seen = trimesh.load(path, process=False)
        # a surface is reconstructed around particles; it reaches past their middles by about a radius
        slack = 0.06 if name in PARTICLES else 1e-5
        if name == "skinned" and kind == "obj":
            slack = 0.0151  # the skin, see `assert_drawn`
        np.testing.assert_allclose(seen.bounds, box(mesh.points), atol=slack)


def test_usd_has_every_body_and_colours_those_that_have_stress(folder, meshes):
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(folder / "zoo.usdc"))
    for name in (*SOFT, *PLAIN):
        path = f"/World/{name.replace('-', '_')}"
        if name in PARTICLES:
            prim = UsdGeom.Points(stage.GetPrimAtPath(f"{path}/points"))
        else:
            prim = UsdGeom.Mesh(stage.GetPrimAtPath(f"{path}/surface"))
        assert prim, name
        colors = np.array(prim.GetDisplayColorAttr().Get(FRAMES - 1))
        stress = UsdGeom.PrimvarsAPI(prim).GetPrimvar("von_mises")
        if name in SOFT:
            assert len(np.unique(colors, axis=0)) > 3
            shown = np.array(stress.Get(FRAMES - 1))
            assert len(shown) == len(prim.GetPointsAttr().Get(FRAMES - 1))
            assert 0.0 < shown.max() <= meshes[name, FRAMES - 1]["von_mises"].max() * (1 + 1e-6)
        else:
            assert not stress
            np.testing.assert_allclose(colors, np.broadcast_to(PLAIN[name], colors.shape), atol=1e-6)
        for index in range(FRAMES):
            points = np.array(prim.GetPointsAttr().Get(index)).reshape(-1, 3)
            assert len(points) or (name, index) == ("jet", 0)
            if len(points):
                assert_drawn(points, name, meshes[name, index])


def test_gltf_has_every_body_and_colours_those_that_have_stress(folder, meshes):
    data = (folder / "zoo.glb").read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20 : 20 + length])

    def read(number):
        about = document["accessors"][number]
        start = 28 + length + document["bufferViews"][about["bufferView"]]["byteOffset"]
        kind = {5126: "<f4", 5125: "<u4", 5121: "u1", 5120: "i1"}[about["componentType"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[about["type"]]
        return np.frombuffer(data, kind, about["count"] * width, start).reshape(-1, width)

    primitives = {mesh["name"]: mesh["primitives"][0] for mesh in document["meshes"]}
    assert {mesh["name"] for mesh in document["meshes"]} == {node["name"] for node in document["nodes"]}
    last = FRAMES - 1
    for name in (*SOFT, *PLAIN):
        primitive = primitives.get(name) or primitives[f"{name} {last}"]  # fluids have one for each moment
        points = read(primitive["attributes"]["POSITION"])
        targets = primitive.get("targets", [])
        moved = points + read(targets[last]["POSITION"]) if targets else points
        assert_drawn(moved, name, meshes[name, last])
        colors = read(primitive["attributes"]["COLOR_0"])[:, :3] / 255
        if name in SOFT:
            assert len(np.unique(colors, axis=0)) > 3
            assert all("COLOR_0" in target for target in targets)
        else:
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in PLAIN[name]]
            np.testing.assert_allclose(colors, np.broadcast_to(linear, colors.shape), atol=0.5 / 255 + 1e-9)
            assert not any("COLOR_0" in target for target in targets)
    assert set(trimesh.load(folder / "zoo.glb").geometry) >= {*SOFT, "ball", "links", "ring"}


def read_replay(path):
    """Return the header of the data in a replay."""
    page = path.read_text(encoding="utf-8")
    data = zlib.decompress(base64.b64decode(re.search('id="continua-replay"[^>]*>([^<]*)', page)[1]))
    _, length = struct.unpack_from("<II", data)
    return json.loads(data[8 : 8 + length])


def test_a_replay_has_every_body_and_values_of_those_that_have_stress(folder, meshes):
    import pyvista

    header = read_replay(folder / "zoo.html")
    assert header["field"] == "von_mises"
    names = [body["name"] for body in header["bodies"]]
    assert set(names) == {*SOFT, *PLAIN}
    for name, body, moves in zip(names, header["bodies"], header["motions"], strict=True):
        assert ("values" in moves) == (name in SOFT)
        assert len(moves["counts"]) == FRAMES
        every = pyvista.PolyData(np.concatenate([meshes[name, index].points for index in range(FRAMES)]))
        assert_drawn([moves["positions"]["low"], moves["positions"]["high"]], name, every)
        if name in PLAIN:
            np.testing.assert_allclose(body["color"], PLAIN[name])


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def hue_count(image, color):
    """Return how many pixels have the hue of a colour, whatever the light on it."""
    wanted = colorsys.rgb_to_hsv(*color)[0]
    hue, saturation, value = np.moveaxis(np.asarray(Image.fromarray(image).convert("HSV"), float), 2, 0) / 255
    away = np.abs((hue - wanted + 0.5) % 1.0 - 0.5)
    return int(((away < 0.012) & (saturation > 0.3) & (value > 0.15)).sum())


def bar(image):
    """Return the colours down the middle of the place where a legend has its bar."""
    height, width = image.shape[:2]
    return image[round(0.31 * height) : round(0.69 * height), round(width - 89 * height / 720)].astype(int)


def test_pictures_show_every_body_in_its_colour(folder):
    for path in (folder / "picture.png", folder / "png" / f"zoo_{FRAMES - 1:06d}.png"):
        image = pixels(path)
        assert image.shape == (720, 1280, 3)
        for name, color in PLAIN.items():
            assert hue_count(image[:, :1150], color) > 500, name
        # soft bodies have the colours of the map, from blue over magenta to orange
        stressed = image[200:420, 340:940]
        for color in ((0.21, 0.21, 0.55), (0.75, 0.21, 0.55), (1.0, 0.62, 0.28)):
            assert hue_count(stressed, color) > 500
        assert bar(image)[0, 0] - bar(image)[-1, 0] > 100  # the legend's bar goes from blue to yellow


@reads_film
@pytest.mark.parametrize("kind", ["mp4", "webp", "gif"])
def test_films_show_what_the_pictures_show(folder, kind):
    if kind == "mp4":
        film = list(iio.imread(folder / "zoo.mp4", plugin="FFMPEG"))
    else:
        with Image.open(folder / f"zoo.{kind}") as image:
            film = []
            for number in range(image.n_frames):
                image.seek(number)
                film.append(np.asarray(image.convert("RGB")))
    assert len(film) == FRAMES
    for index, shown in enumerate(film):
        drawn = pixels(folder / "png" / f"zoo_{index:06d}.png").astype(float)
        assert np.abs(shown - drawn).mean() < 2.5  # lossy, or of 256 colours


RIGID = """\
name: rigid
seconds: 0.05
fps: 20
dt: 0.025
bodies:
  - {type: rigid, name: ball, color: "#ff0000", shape: {type: sphere, radius: 0.15}, transform: {translate: [0, 1, 0]}}
  - {type: fluid, name: water, color: "#0060ff", particle_radius: 0.03, block: {min: [1, 0, 0], max: [1.3, 0.3, 0.3]}}
output:
  formats: [vtu]
  picture: {size: [320, 180]}
"""


def test_a_run_without_stress_is_plain_and_has_no_legend(tmp_path):
    (tmp_path / "rigid.yaml").write_text(RIGID, encoding="utf-8")
    done = run(tmp_path / "rigid.yaml", "-o", str(tmp_path / "out"), "--format", "png,glb,html,usd")
    assert done.exit_code == 0, done.output
    assert read_replay(tmp_path / "out" / "rigid.html")["field"] is None
    for path in (tmp_path / "out" / "picture.png", tmp_path / "out" / "png" / "rigid_000001.png"):
        image = pixels(path)
        for color in ((1.0, 0.0, 0.0), (0.0, 0.375, 1.0)):
            assert hue_count(image, color) > 100
        column = bar(image)
        assert (column.max(axis=1) - column.min(axis=1)).max() < 20  # the grey of the background


@pytest.mark.parametrize("option", ["color: von_mises", "inside: surfaces"])
def test_a_colour_that_no_body_has_is_refused_before_anything_runs(tmp_path, option):
    pytest.importorskip("pyvista")
    scene = RIGID.replace("picture: {size", f"picture: {{{option}, size")
    (tmp_path / "rigid.yaml").write_text(scene, encoding="utf-8")
    done = run(tmp_path / "rigid.yaml", "-o", str(tmp_path / "out"))
    assert done.exit_code == 2
    choices = "plain, displacement, velocity, contact_force, overlap, pressure, density_error"
    said = f'output.picture.color: no body can be coloured by "von_mises"; choose from {choices}'
    assert said in done.stderr
    assert "rigid.yaml:10" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    for choice in choices.split(", "):  # a scene may ask for all that is offered
        parse_scene(RIGID.replace("picture: {size", f"picture: {{color: {choice}, size"))


GREEN, BLUE = (0.0, 0.6, 0.0), (0.0, 0.375, 1.0)  # not in the colour map


@pytest.fixture(scope="module")
def mixed():
    """Frames of a soft bar, a rigid ball and water."""
    bar = ct.SoftBody(ct.mesh.box((0.6, 0.2, 0.2), (3, 1, 1)), material=ct.Corotated(young=1e5), name="bar")
    bar.pin(where=lambda x: x[:, 0] < 1e-6)
    ball = ct.RigidBody(ct.Sphere((0.0, 0.6, 0.0), 0.15), density=500.0, color=GREEN, name="ball")
    water = ct.Fluid(block=((0.7, 0.3, 0.0), (1.0, 0.6, 0.3)), particle_radius=0.03, color=BLUE, name="water")
    return list(ct.World([bar, ball, water], dt=0.025).run(0.1, 20))


@pytest.mark.parametrize("kind", ["png", "glb", "usd", "html"])
def test_a_sink_asks_for_its_colour_at_the_first_frame(tmp_path, mixed, kind):
    if kind == "usd":
        pytest.importorskip("pxr")
    sink = make_sink(kind, tmp_path, color="smoke")
    sink.open(RunInfo(name="mixed", view={"color": "velocity"}))
    with pytest.raises(
        InputError, match='no body can be coloured by "smoke"; choose from plain, displacement'
    ):
        sink.write(mixed[0])


@pytest.mark.parametrize(
    ("color", "colored"), [(None, 1), ("displacement", 2), ("velocity", 3), ("plain", 0)]
)
def test_bodies_without_the_field_stay_plain(tmp_path, mixed, color, colored):
    view = {"size": (320, 180)} | ({} if color is None else {"color": color})
    sink = make_sink("png", tmp_path)
    sink.open(RunInfo(name="mixed", fps=20.0, view=view))
    for frame in mixed:
        sink.write(frame)
    shown = [pixels(sink.close()[0]), picture(mixed[-1], **view)]
    for image in shown:
        plain = [hue_count(image[:, :270], hue) > 100 for hue in (GREEN, BLUE)]
        assert plain == [colored < 2, colored < 3]
        column = bar(image)
        assert ((column.max(axis=1) - column.min(axis=1)).max() > 60) == (colored > 0)


def test_a_look_inside_draws_the_other_bodies_plainly(mixed):
    pytest.importorskip("pyvista")
    image = picture(mixed[-1], size=(320, 180), inside="surfaces")
    for hue in (GREEN, BLUE):
        assert hue_count(image[:, :270], hue) > 100
    with pytest.raises(InputError, match='no body can be coloured by "voxels"'):
        picture(mixed[-1], size=(320, 180), inside="volume", color="voxels")


def test_smoke_without_the_field_is_smoke_with_both_renderers():
    pytest.importorskip("pyvista")
    source = ct.Inflow(ct.Sphere((0.5, 0.5, 0.5), 0.3), temperature=20.0)
    air = ct.Smoke((1.0, 1.0, 1.0), (16, 16, 16), inflow=[source], color=(0.0, 0.6, 0.0), name="air")
    world = ct.World([air], dt=0.02)
    world.step()
    seen = {}
    for backend in ("raster", "pyvista"):
        assert make_view([world.frame()]).legend is None
        image = picture(world.frame(), size=(320, 180), backend=backend)
        seen[backend] = image[:, :, 1].astype(int) - image[:, :, 0] > 30  # green
        assert 0.03 < seen[backend].mean() < 0.08  # a ball, not the whole sheet through the middle
    either, both = (seen["raster"] | seen["pyvista"]).sum(), (seen["raster"] & seen["pyvista"]).sum()
    assert both / either > 0.8

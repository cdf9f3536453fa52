"""Images on surfaces, from an OBJ file through a body into GLB, USD, OBJ, replays and the spool."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from PIL import Image
from test_changing_topology import read_replay
from test_glb import Reader
from test_resume import assert_same, tree

import continua as ct
from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import make_sink
from tests.checker import checker, corner_set, textured_box

INFO = RunInfo(name="cube", fps=10.0, seconds=0.3, view={"color": "plain", "size": (96, 54)})


def soft(surface):
    tets = ct.mesh.box(size=(1.0, 1.0, 1.0), cells=(2, 2, 2))
    return ct.SoftBody(tets, material=ct.Corotated(young=1e5), skin=surface, name="body")


def rigid(surface):
    return ct.RigidBody(surface, density=1000.0, name="body")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The surface as it comes from an OBJ file."""
    path = tmp_path_factory.mktemp("obj") / "box.obj"
    ct.mesh.write(textured_box(cells=2), path)
    return ct.mesh.read(path)


@pytest.fixture(scope="module", params=[soft, rigid], ids=["soft", "rigid"])
def frames(request, source):
    world = ct.World([request.param(source)], dt=0.05)
    return list(world.run(0.2, 10.0))


def run(kind, folder, frames, info=INFO, start=0):
    sink = make_sink(kind, folder)
    sink.open(info, start)
    for frame in frames[start:]:
        sink.write(frame)
    return sink.close()


def expected(frame):
    body = frame["body"].with_embedded_surface()
    return corner_set(body.positions, body.triangles, body.uv)


def assert_coordinates(found, wanted):
    np.testing.assert_allclose(found[:, :3], wanted[:, :3], atol=2e-6)
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_the_body_has_the_coordinates_and_the_image_of_the_file(frames, source):
    body = frames[0]["body"].with_embedded_surface()
    np.testing.assert_allclose(
        corner_set(body.rest_positions, body.triangles, body.uv),
        corner_set(source.points, source.triangles, source.uv),
        atol=1e-6,
    )
    np.testing.assert_array_equal(body.texture.pixels, checker().pixels)


def test_glb_embeds_the_image(tmp_path, frames):
    file = Reader(run("glb", tmp_path, frames)[0])
    (part,) = file.json["meshes"][0]["primitives"]
    material = file.json["materials"][part["material"]]["pbrMetallicRoughness"]
    image = file.json["images"][file.json["textures"][material["baseColorTexture"]["index"]]["source"]]
    view = file.json["bufferViews"][image["bufferView"]]
    data = file.bytes[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), checker().pixels)
    assert "COLOR_0" not in part["attributes"]  # it would be multiplied with the image
    triangles = file.get(part["indices"]).reshape(-1, 3)
    accessor = file.json["accessors"][part["attributes"]["TEXCOORD_0"]]
    place = file.json["bufferViews"][accessor["bufferView"]]["byteOffset"]
    uv = np.frombuffer(file.bytes, "<f4", 2 * accessor["count"], place).reshape(-1, 2) * [1, -1] + [0, 1]
    for weights, frame in zip(np.eye(len(frames)), frames):
        points = file.at(0, weights, "POSITION")
        assert_coordinates(corner_set(points, triangles, uv[triangles]), expected(frame))


def test_glb_can_be_read_again(tmp_path, frames, source):
    path = run("glb", tmp_path, frames)[0]
    surface = ct.mesh.read(path)
    assert_coordinates(corner_set(surface.points, surface.triangles, surface.uv), expected(frames[0]))
    np.testing.assert_array_equal(surface.texture.pixels, source.texture.pixels)
    (mesh,) = trimesh.load(path).geometry.values()
    assert mesh.visual.kind == "texture"
    np.testing.assert_array_equal(np.asarray(mesh.visual.material.baseColorTexture), checker().pixels)


def test_obj_sequence_has_coordinates_and_one_image(tmp_path, frames):
    run("obj", tmp_path, frames)
    images = sorted(path.name for path in (tmp_path / "obj").iterdir() if path.suffix != ".obj")
    assert [name.split(".")[1] for name in images] == ["mtl", "png"]
    for frame in frames:
        surface = ct.mesh.read(tmp_path / "obj" / f"body_{frame.index:06d}.obj")
        assert surface.notes == ()
        assert_coordinates(corner_set(surface.points, surface.triangles, surface.uv), expected(frame))
        np.testing.assert_array_equal(surface.texture.pixels, checker().pixels)
    other = trimesh.load(tmp_path / "obj" / "body_000001.obj", process=False)
    np.testing.assert_array_equal(np.asarray(other.visual.material.image), checker().pixels)


def test_usd_binds_a_preview_surface(tmp_path, frames):
    from pxr import Usd, UsdGeom, UsdShade

    (path,) = run("usd", tmp_path, frames)
    stage = Usd.Stage.Open(str(path))
    mesh = UsdGeom.Mesh.Get(stage, "/World/body/surface")
    st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    assert st.GetInterpolation() == UsdGeom.Tokens.faceVarying
    triangles = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    for frame in frames:
        points = np.array(mesh.GetPointsAttr().Get(frame.index))
        uv = np.array(st.Get(frame.index)).reshape(-1, 3, 2)
        assert_coordinates(corner_set(points, triangles, uv), expected(frame))
    material, _ = UsdShade.MaterialBindingAPI(mesh.GetPrim()).ComputeBoundMaterial()
    shader = material.ComputeSurfaceSource()[0]
    assert shader.GetIdAttr().Get() == "UsdPreviewSurface"
    image = UsdShade.Shader(shader.GetInput("diffuseColor").GetConnectedSources()[0][0].source.GetPrim())
    file = image.GetInput("file").Get()
    assert file.path.startswith("./texture-")
    np.testing.assert_array_equal(np.asarray(Image.open(file.resolvedPath)), checker().pixels)
    validation = pytest.importorskip("pxr.UsdValidation")
    registry = validation.ValidationRegistry()
    errors = validation.ValidationContext(registry.GetOrLoadAllValidators()).Validate(stage)
    assert [error.GetErrorAsString() for error in errors] == []


def test_usd_keeps_the_tetrahedra_of_a_body_with_an_embedded_surface(tmp_path, source):
    from pxr import Usd, UsdGeom

    frames = list(ct.World([soft(source)], dt=0.05).run(0.1, 10.0))
    (path,) = run("usd", tmp_path, frames)
    stage = Usd.Stage.Open(str(path))
    tets = UsdGeom.TetMesh.Get(stage, "/World/body/volume")
    np.testing.assert_array_equal(tets.GetTetVertexIndicesAttr().Get(), frames[0]["body"].cells["tetra"])
    points = UsdGeom.Mesh.Get(stage, "/World/body/surface").GetPointsAttr().Get(1)
    assert len(points) == source.node_count


def test_replay_has_the_image_once(tmp_path, frames):
    header, array = read_replay(run("html", tmp_path, frames)[0])
    texture = header["bodies"][0]["texture"]
    data = array(f"texture/{texture['name']}").tobytes()
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), checker().pixels)
    body = frames[0]["body"].with_embedded_surface()
    rest = corner_set(array("0/rest"), array("0/triangles"), array("0/uv"))
    assert_coordinates(rest, corner_set(body.rest_positions, body.triangles, body.uv))
    assert sum(name.startswith("texture/") for name in header["arrays"]) == 1


def test_a_field_replaces_the_image(tmp_path, frames):
    info = replace(INFO, view={"color": "velocity"})
    file = Reader(run("glb", tmp_path, frames, info)[0])
    assert "images" not in file.json
    assert "COLOR_0" in file.json["meshes"][0]["primitives"][0]["attributes"]
    run("usd", tmp_path, frames, info)
    assert list(tmp_path.glob("*.png")) == []


@pytest.mark.parametrize("kind", ["glb", "usd", "obj", "html", "png"])
def test_resumed_run_equals_uninterrupted_run(tmp_path, frames, kind):
    run(kind, tmp_path / "whole", frames)
    run(kind, tmp_path / "parts", frames[:2])
    run(kind, tmp_path / "parts", frames, start=1)
    assert_same(tree(tmp_path / "whole"), tree(tmp_path / "parts"))


@pytest.mark.parametrize("kind", ["usd", "obj"])
def test_a_new_run_leaves_no_image_of_an_earlier_one(tmp_path, frames, kind):
    run(kind, tmp_path, frames)
    assert list(tmp_path.rglob("texture-*.png"))
    plain = [
        replace(frame, bodies={"body": replace(frame["body"].with_embedded_surface(), texture=None, uv=None)})
        for frame in frames
    ]
    run(kind, tmp_path, plain)
    assert list(tmp_path.rglob("texture-*.png")) == []


def test_colliders_keep_their_image_in_the_spool(tmp_path, source):
    shape = ct.MeshShape(source.transformed(translate=(0.0, -2.0, 0.0)))
    ball = ct.RigidBody(ct.Sphere((0.5, 2.0, 0.5), 0.2), density=1000.0, name="ball")
    frames = list(ct.World([ball], colliders=[shape], dt=0.05).run(0.1, 10.0))
    header, array = read_replay(run("html", tmp_path, frames)[0])
    texture = header["colliders"][0]["texture"]
    assert len(array(f"texture/{texture['name']}"))
    np.testing.assert_allclose(array("collider/0/uv"), source.uv, atol=1e-6)
    pictures = run("png", tmp_path, frames)
    assert len(pictures) == len(frames)


SCENE = """
bodies:
  - type: soft
    name: block
    mesh: {{type: box, size: [1, 1, 1], cells: [2, 2, 2]}}
    skin: {{path: box.obj{option}}}
  - type: rigid
    name: stone
    shape: {{type: file, path: box.obj{option}}}
    transform: {{translate: [3, 0, 0]}}
colliders:
  - type: mesh
    mesh: {{type: file, path: box.obj{option}}}
    transform: {{translate: [0, -3, 0]}}
"""


@pytest.fixture
def folder(tmp_path, source):
    ct.mesh.write(source, tmp_path / "box.obj")
    (tmp_path / "green.png").write_bytes(ct.Texture(np.full((2, 2, 3), [0, 200, 0], np.uint8)).png())
    return tmp_path


def built(folder, option=""):
    (folder / "scene.yaml").write_text(SCENE.format(option=option))
    return ct.load_scene(folder / "scene.yaml").build()


@pytest.mark.parametrize(
    ("option", "pixels"),
    [
        ("", checker().pixels),
        (", texture: green.png", np.full((2, 2, 3), [0, 200, 0])),
        (", texture: none", None),
    ],
)
def test_scene_files_bring_the_image_along(folder, option, pixels):
    frame = built(folder, option).frame()
    found = [frame["block"].skin.texture, frame["stone"].texture, frame.colliders[0].get("texture")]
    for texture in found:
        if pixels is None:
            assert texture is None
        else:
            np.testing.assert_array_equal(texture.pixels, pixels)


def test_a_missing_image_of_a_scene_is_one_sentence(folder):
    with pytest.raises(InputError, match="the image cannot be read: there is no such file") as info:
        built(folder, ", texture: gone.png")
    assert "gone.png" in str(info.value)
    (folder / "box.png").unlink()
    world = built(folder)
    assert any("drawn without the image box.png" in note for note in world.body("block").notes)
    assert any("drawn without the image box.png" in note for note in world.body("stone").notes)

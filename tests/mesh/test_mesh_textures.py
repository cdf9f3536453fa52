"""Texture coordinates and images of surfaces: read from files, and kept by what keeps triangles."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from tests.checker import checker, corner_set, textured_box


def assert_same_surface(one, two, atol=1e-12):
    np.testing.assert_allclose(
        corner_set(one.points, one.triangles, one.uv),
        corner_set(two.points, two.triangles, two.uv),
        atol=atol,
    )
    np.testing.assert_array_equal(one.texture.pixels, two.texture.pixels)


def test_obj_files_keep_coordinates_and_image(tmp_path):
    surface = textured_box(cells=2)
    ct.mesh.write(surface, tmp_path / "box.obj")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["box.mtl", "box.obj", "box.png"]
    again = ct.mesh.read(tmp_path / "box.obj")
    assert_same_surface(again, surface)
    assert again.texture.factor == (1.0, 1.0, 1.0)
    bare = ct.mesh.read(tmp_path / "box.obj", images=False)
    assert bare.texture is None
    np.testing.assert_array_equal(bare.uv, again.uv)


def test_obj_factor_is_kept(tmp_path):
    surface = textured_box(texture=ct.Texture(checker().pixels, (0.25, 1.0, 0.5)))
    ct.mesh.write(surface, tmp_path / "box.obj")
    np.testing.assert_allclose(ct.mesh.read(tmp_path / "box.obj").texture.factor, (0.25, 1.0, 0.5), atol=1e-6)


OBJ = """mtllib look.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
usemtl {name}
{face}
"""


def quad(folder, mtl, face="f 1/1 2/2 3/3 4/4", name="skin"):
    (folder / "look.mtl").write_text(mtl)
    (folder / "quad.obj").write_text(OBJ.format(face=face, name=name))
    return ct.mesh.read(folder / "quad.obj")


@pytest.mark.parametrize(
    ("line", "ignored"),
    [
        ("map_Kd my image.png", False),
        ("map_Kd -clamp on -mm 0 1 my image.png", False),
        ("map_Kd -s 2 2 1 my image.png", True),
        ("map_kd sub\\my image.png", False),
    ],
)
def test_forms_of_material_lines(tmp_path, line, ignored):
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "my image.png").write_bytes(checker().png())
    surface = quad(tmp_path, f"newmtl skin\nKd 1 1 1\n{line}\n")
    np.testing.assert_array_equal(surface.texture.pixels, checker().pixels)
    assert any("are ignored" in note for note in surface.notes) == ignored


def test_faces_may_count_back_and_have_normals(tmp_path):
    (tmp_path / "a.png").write_bytes(checker().png())
    mtl = "newmtl skin\nmap_Kd a.png\n"
    plain = quad(tmp_path, mtl)
    back = quad(tmp_path, mtl, face="vn 0 0 1\nf -4/-4/-1 -3/-3/-1 -2/-2/1 -1/-1/1")
    np.testing.assert_array_equal(back.uv, plain.uv)
    np.testing.assert_array_equal(plain.uv, [[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]])
    none = quad(tmp_path, mtl, face="f 1//1 2//1 3//1 4//1")
    assert none.uv is None
    assert none.texture is None
    with pytest.raises(InputError, match="not a valid OBJ line"):
        quad(tmp_path, mtl, face="f 1/1 2/9 3/3")


def test_what_is_missing_is_one_sentence_and_the_surface_can_be_used(tmp_path):
    surface = quad(tmp_path, "newmtl skin\nmap_Kd gone.png\n")
    assert surface.texture is None
    assert surface.triangle_count == 2
    (note,) = surface.notes
    assert note == 'drawn without the image gone.png of material "skin": there is no such file'
    (tmp_path / "bad.png").write_text("nothing")
    (note,) = quad(tmp_path, "newmtl skin\nmap_Kd bad.png\n").notes
    assert note.startswith('drawn without the image bad.png of material "skin": cannot identify image file')
    (tmp_path / "look.mtl").unlink()
    (note,) = ct.mesh.read(tmp_path / "quad.obj").notes
    assert note == "drawn without the materials of look.mtl, which is not beside the file"


def test_several_images_become_one(tmp_path):
    first, second = checker(4, 4), ct.Texture(np.full((6, 10, 3), [10, 200, 90], np.uint8))
    (tmp_path / "a.png").write_bytes(first.png())
    (tmp_path / "b.png").write_bytes(second.png())
    mtl = "newmtl a\nmap_Kd a.png\nnewmtl b\nmap_Kd b.png\nnewmtl c\nKd 0.2 0.4 0.6\n"
    face = "f 1/1 2/2 3/3\nusemtl b\nf 1/1 3/3 4/4\nusemtl c\nf 4/1 3/2 1/3"
    surface = quad(tmp_path, mtl, face=face, name="a")
    inside = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])
    for weights in inside:
        places = np.einsum("c,kcd->kd", weights, surface.uv)
        original = weights @ np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
        found = surface.texture.sample(places)
        np.testing.assert_allclose(found[0], first.sample(original[None])[0], atol=1e-9)
        np.testing.assert_allclose(255 * found[1], [10, 200, 90], atol=1e-9)
        np.testing.assert_allclose(255 * found[2], [51, 102, 153], atol=1e-9)


def glb(folder, *, component="f4", uri=None, factor=(1.0, 1.0, 1.0, 1.0), slot=0, mirror=False):
    """Write a quad with an image as a binary glTF file."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], "<f4")
    downwards = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], float)
    scale = {"f4": 1, "u1": 255, "<u2": 65535}[component]
    coordinates = (downwards * scale).astype(component)
    index = np.array([0, 1, 2, 0, 2, 3], "<u4")
    image = checker().png()
    blocks = [points.tobytes(), coordinates.tobytes(), index.tobytes(), image]
    views, data = [], b""
    for block in blocks:
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(block)})
        data += block + bytes(-len(block) % 4)
    kind = {"f4": 5126, "u1": 5121, "<u2": 5123}[component]
    about = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "scale": [-1.0 if mirror else 1.0, 1.0, 1.0]}],
        "meshes": [
            {
                "primitives": [
                    {"attributes": {"POSITION": 0, f"TEXCOORD_{slot}": 1}, "indices": 2, "material": 0}
                ]
            }
        ],
        "materials": [
            {
                "name": "skin",
                "pbrMetallicRoughness": {
                    "baseColorFactor": list(factor),
                    "baseColorTexture": {"index": 0, "texCoord": slot},
                },
            }
        ],
        "textures": [{"source": 0}],
        "images": [{"uri": uri} if uri else {"bufferView": 3, "mimeType": "image/png"}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {
                "bufferView": 1,
                "componentType": kind,
                "count": 4,
                "type": "VEC2",
                "normalized": component != "f4",
            },
            {"bufferView": 2, "componentType": 5125, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": len(data)}],
    }
    text = json.dumps(about).encode()
    text += b" " * (-len(text) % 4)
    path = folder / "quad.glb"
    path.write_bytes(
        struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
        + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    )  # fmt: skip
    return path


@pytest.mark.parametrize("component", ["f4", "u1", "<u2"])
@pytest.mark.parametrize("slot", [0, 1])
def test_glb_files_have_v_upwards(tmp_path, component, slot):
    surface = ct.mesh.read(glb(tmp_path, component=component, slot=slot, factor=(1.0, 0.5, 0.25, 1.0)))
    np.testing.assert_allclose(surface.uv, surface.points[surface.triangles][:, :, :2], atol=1e-7)
    np.testing.assert_array_equal(surface.texture.pixels, checker().pixels)
    assert surface.texture.factor == (1.0, 0.5, 0.25)


def test_glb_images_may_lie_elsewhere(tmp_path):
    (tmp_path / "my image.png").write_bytes(checker().png())
    data = "data:image/png;base64," + base64.b64encode(checker().png()).decode()
    for uri in ("my%20image.png", data):
        np.testing.assert_array_equal(ct.mesh.read(glb(tmp_path, uri=uri)).texture.pixels, checker().pixels)
    (note,) = ct.mesh.read(glb(tmp_path, uri="gone.png")).notes
    assert note == 'drawn without the image gone.png of material "skin": there is no such file'
    (note,) = ct.mesh.read(glb(tmp_path, uri="data:image/png;base64,@@@")).notes
    assert "its data URI is not valid" in note


def test_a_mirrored_glb_node_keeps_corners_and_coordinates_together(tmp_path):
    surface = ct.mesh.read(glb(tmp_path, mirror=True))
    np.testing.assert_allclose(
        surface.uv, surface.points[surface.triangles][:, :, :2] * [-1.0, 1.0], atol=1e-7
    )


def test_operations_that_keep_triangles_keep_coordinates():
    surface = textured_box(cells=2)
    moved = surface.transformed(translate=(1, 2, 3), rotate=(0.1, 0.7, -0.3), scale=2.0)
    np.testing.assert_array_equal(moved.uv, surface.uv)
    mirrored = surface.transformed(scale=(-1.0, 1.0, 1.0))
    back = ct.SurfaceMesh(
        mirrored.points * [-1, 1, 1], mirrored.triangles, uv=mirrored.uv, texture=mirrored.texture
    )
    assert_same_surface(back.flipped(), surface)
    assert mirrored.volume > 0.0
    chosen = surface.subset(np.arange(0, surface.triangle_count, 3))
    np.testing.assert_array_equal(chosen.uv, surface.uv[::3])
    mask = np.zeros(surface.triangle_count, bool)
    mask[5:9] = True
    np.testing.assert_array_equal(surface.subset(mask).uv, surface.uv[5:9])
    torn = ct.SurfaceMesh(
        surface.points[surface.triangles].reshape(-1, 3),
        np.arange(3 * surface.triangle_count).reshape(-1, 3),
        uv=surface.uv,
        texture=surface.texture,
    )
    assert_same_surface(torn.welded(), surface)
    assert torn.welded().is_closed
    for one in (moved, mirrored, chosen):
        assert one.texture is surface.texture


def test_closed_holes_keep_coordinates_and_continue_them():
    surface = textured_box(cells=2)
    top = surface.points[surface.triangles][:, :, 1].min(axis=1) > 0.99
    closed = ct.mesh.close_holes(surface.subset(~top))
    count = int((~top).sum())
    np.testing.assert_array_equal(closed.uv[:count], surface.uv[~top])
    assert closed.triangle_count > count
    assert np.isfinite(closed.uv).all()
    assert closed.texture is surface.texture


def test_wrong_coordinates_are_refused():
    box = ct.mesh.surfaces.box((1, 1, 1))
    with pytest.raises(
        InputError, match=r"texture coordinates of 12 triangles must be numbers of shape \[12, 3, 2\]"
    ):
        ct.SurfaceMesh(box.points, box.triangles, uv=np.zeros((box.node_count, 2)))
    bad = np.zeros((12, 3, 2))
    bad[3, 0, 0] = np.nan
    with pytest.raises(InputError, match="must be finite, but those of triangles 3 are not"):
        ct.SurfaceMesh(box.points, box.triangles, uv=bad)
    with pytest.raises(InputError, match="no texture coordinates, so no image can be put on it"):
        box.textured(checker())
    with pytest.raises(InputError, match="no texture coordinates"):
        ct.SurfaceMesh(box.points, box.triangles, texture=checker())
    assert textured_box().textured(None).texture is None

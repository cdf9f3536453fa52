"""Files that are damaged, or no files at all, are refused in one sentence by every reader."""

import os
import random
import re
import shutil
import warnings
import zlib

import numpy as np
import pytest
import trimesh
from PIL import Image
from typer.testing import CliRunner

from continua import mesh as meshes
from continua import sdf
from continua.cli import app
from continua.errors import InputError
from continua.mesh.files import READABLE
from continua.output import checkpoint
from continua.scene import load_scene
from continua.textures import Texture
from continua.voxels import read_voxels

READERS = {
    **dict.fromkeys((".npy", ".npz", ".vti"), read_voxels),
    **dict.fromkeys((".png", ".jpg"), Texture.read),
    ".sdf": sdf.load,
    ".h5": checkpoint.load,
    ".yaml": load_scene,
    **dict.fromkeys(READABLE, meshes.read),
}
MUTATIONS = 60
WORDS = [b"-1", b"0", b"4000000000", b"9" * 20, b"-9223372036854775808", b"nan", b"1e400", b"1e-300", b""]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One good file of every format."""
    folder = tmp_path_factory.mktemp("files")
    random_numbers = np.random.default_rng(5)
    box = meshes.box((1, 1, 1), (2, 2, 2))
    made = [meshes.write(box, folder / f"box{suffix}") for suffix in (".vtu", ".vtk", ".msh", ".mesh")]
    made += [
        meshes.write(box.surface, folder / f"skin{suffix}") for suffix in (".ply", ".obj", ".stl", ".off")
    ]
    for path, data in {
        folder / "text.ply": trimesh.exchange.ply.export_ply(trimesh.creation.box(), encoding="ascii"),
        folder / "box.glb": trimesh.creation.box().export(file_type="glb"),
    }.items():
        path.write_bytes(data)
        made.append(path)
    corners = "".join(f"{i} {i & 1} {i >> 1 & 1} {i >> 2 & 1}\n" for i in range(8))
    (folder / "t.node").write_text(f"8 3 0 0\n{corners}")
    (folder / "t.ele").write_text("1 4 0\n0 0 1 2 4\n")
    np.save(folder / "v.npy", random_numbers.random((4, 4, 4)))
    np.savez(folder / "v.npz", values=random_numbers.random((4, 4, 4)), origin=np.zeros(3))
    pixels = random_numbers.integers(0, 255, (8, 8, 3)).astype(np.uint8)
    for name in ("i.png", "i.jpg"):
        Image.fromarray(pixels).save(folder / name)
    made += [folder / name for name in ("t.node", "t.ele", "v.npy", "v.npz", "i.png", "i.jpg")]
    return {path.name: path for path in made}


NAMES = [
    *("box.vtu", "box.vtk", "box.msh", "box.mesh", "skin.ply", "skin.obj", "skin.stl", "skin.off"),
    *("text.ply", "box.glb", "t.node", "t.ele", "v.npy", "v.npz", "i.png", "i.jpg"),
]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with some bits, a number or a part changed."""
    changed = bytearray(data)
    match chance.choice(["bits", "bits", "cut", "block", "number", "number", "repeat"]):
        case "bits":
            for _ in range(chance.choice([1, 1, 20])):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case "cut":
            del changed[chance.randrange(len(changed)) :]
        case "block":
            at = chance.randrange(len(changed))
            changed[at : at + 8] = chance.choice([b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f"])
        case "number":
            found = chance.choice(list(re.finditer(rb"-?\d+\.?\d*", data)))
            changed[found.start() : found.end()] = chance.choice(WORDS)
        case "repeat":
            first, last = sorted(chance.choices(range(len(changed)), k=2))
            changed[first:first] = changed[first:last]
    return bytes(changed)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused_in_one_sentence(files, tmp_path, name):
    source = files[name]
    shutil.copytree(source.parent, tmp_path, dirs_exist_ok=True)  # TetGen's files come in pairs
    path, read = tmp_path / name, READERS[source.suffix]
    data, chance = source.read_bytes(), random.Random(name)
    refused = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        for _ in range(MUTATIONS):
            path.write_bytes(mutated(data, chance))
            try:
                read(path)
            except InputError as error:
                refused.append(str(error))
    assert len(refused) > 5
    assert not [text for text in refused if "\n" in text or len(text) > len(str(path)) + 300]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("suffix", READERS)
def test_pipes_devices_folders_and_impossible_names_are_refused(tmp_path, suffix):
    pipe, folder, device = (
        tmp_path / f"pipe{suffix}",
        tmp_path / f"folder{suffix}",
        tmp_path / f"zero{suffix}",
    )
    os.mkfifo(pipe)
    folder.mkdir()
    device.symlink_to("/dev/zero")
    partner = {".node": ".ele", ".ele": ".node"}.get(suffix)
    if partner:
        for path in (pipe, folder, device):
            path.with_suffix(partner).write_text("1 4 0\n0 0 1 2 3\n")
    for path, reason in {
        pipe: "is a pipe or a device",
        device: "is a pipe or a device",
        folder: "is a folder",
        tmp_path / f"none{suffix}": "there is no",
        tmp_path / f"{'x' * 5000}{suffix}": "too long",
        tmp_path / f"a\0b{suffix}": "null|must be the path of a file",
    }.items():
        with pytest.raises(InputError, match=reason) as caught:
            READERS[suffix](path)
        assert len(str(caught.value)) < 600


def test_an_index_of_twenty_digits_names_the_line(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n")
    with pytest.raises(InputError, match="line 4"):
        meshes.read(tmp_path / "a.obj")


def test_a_field_with_a_right_sum_and_wrong_counts_is_refused(tmp_path):
    path = tmp_path / "box.sdf"
    sdf.fit(meshes.box((1, 1, 1), (2, 2, 2)).surface, tolerance=1e-2).save(path)
    data = path.read_bytes()[:-4]
    for key in (b"nodes", b"leaves", b"coefficients"):
        count = re.search(rb'"%s":(\d+)' % key, data)
        other = (
            data[: count.start(1)]
            + str(int(count[1]) - 1).zfill(len(count[1])).encode()
            + data[count.end(1) :]
        )
        path.write_bytes(other + zlib.crc32(other).to_bytes(4, "little"))
        with pytest.raises(InputError, match="do not fit"):
            sdf.load(path)


def test_a_vtk_image_of_absurd_extent_does_not_end_the_process(tmp_path):
    pytest.importorskip("pyvista")
    extent = "0 100000 0 100000 0 100000"
    (tmp_path / "v.vti").write_text(
        f'<VTKFile type="ImageData"><ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="1 1 1">'
        f'<Piece Extent="{extent}"><PointData><DataArray type="Float32" Name="x" format="ascii">1</DataArray>'
        "</PointData></Piece></ImageData></VTKFile>"
    )
    with pytest.raises(InputError, match="more than 8 GB"):
        read_voxels(tmp_path / "v.vti")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("command", ["run", "info", "check", "show", "studio"])
def test_the_command_line_answers_in_one_sentence(tmp_path, command):
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in (tmp_path / "pipe.yaml", "/dev/zero", "x" * 5000, "x" * 5000 + ".yaml", tmp_path):
        done = CliRunner().invoke(app, [command, str(name)])
        assert done.exit_code == 2
        said = done.stdout + done.stderr
        assert len(said.splitlines()) == 1
        assert len(said) < 900

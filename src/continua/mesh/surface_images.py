"""Images of the materials of a surface: Wavefront's MTL files, and several images as one.

A surface has one image. Where a file gives its triangles several materials, their images are put above one another
into one, and the texture coordinates point into their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.file_input import read_file
from continua.mesh.text_formats import ObjSurface
from continua.textures import Texture, linear_to_srgb, srgb_to_linear
from continua.validation import pluralize

__all__ = ["SurfaceImage", "combine_materials", "obj_image"]

_OPTION_WORDS = {"-mm": 2, "-blendu": 1, "-blendv": 1, "-boost": 1, "-texres": 1, "-clamp": 1, "-bm": 1}
_OPTION_WORDS |= {"-imfchan": 1, "-type": 1}
_MARGIN = 2  # pixels around each image, so that its neighbours do not shine through
_PLAIN = 4  # pixels along a side of a colour without image
_GRAY = (0.8, 0.8, 0.8)


@dataclass(frozen=True, slots=True)
class SurfaceImage:
    """The image of a surface, or None; its texture coordinates [k, 3, 2], or None; and notes about both."""

    texture: Texture | None
    uv: NDArray[np.float64] | None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Material:
    """A material of an MTL file."""

    color: tuple[float, float, float] | None = None
    image: str = ""
    folder: Path = Path()


def obj_image(path: Path, surface: ObjSurface) -> SurfaceImage:
    """Return the image that the materials of a Wavefront file put on its surface.

    What is missing beside the file is told in a note, since the surface can be used without it.
    """
    if surface.uv is None:
        return SurfaceImage(None, None)
    materials: dict[str, _Material] = {}
    notes: list[str] = []
    for name in surface.libraries:
        library = path.parent / name.replace("\\", "/")
        try:
            found, remarks = _read_mtl(library)
        except InputError:
            notes.append(f"drawn without the materials of {name}, which is not beside the file")
            continue
        materials |= found
        notes += remarks
    textures: list[Texture | tuple[float, float, float] | None] = []
    for name in surface.materials:
        material = materials.get(name, _Material())
        color = material.color if material.color is not None and any(material.color) else None
        factor = (1.0, 1.0, 1.0) if color is None else _linear(color)
        if not material.image:
            textures.append(color)
            continue
        try:
            textures.append(Texture.read(material.folder / material.image, factor))
        except InputError as error:
            reason = error.message.removeprefix("the image cannot be read: ")
            notes.append(f'drawn without the image {material.image} of material "{name}": {reason}')
            textures.append(color)
    made = combine_materials(textures, surface.material_of, surface.uv)
    return SurfaceImage(made.texture, made.uv, (*notes, *made.notes))


def _linear(color: tuple[float, float, float]) -> tuple[float, float, float]:
    r, g, b = srgb_to_linear(np.clip(color, 0.0, 1.0)).tolist()
    return r, g, b


def _read_mtl(path: Path) -> tuple[dict[str, _Material], list[str]]:
    """Return the materials of an MTL file by name, and notes."""
    materials: dict[str, _Material] = {}
    notes: dict[str, None] = {}
    current = _Material()
    for line in read_file(path).decode("utf-8", errors="replace").splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "newmtl":
            current = materials.setdefault(" ".join(words[1:]), _Material(folder=path.parent))
        elif words[0] == "Kd" and len(words) == 4:
            try:
                current.color = (float(words[1]), float(words[2]), float(words[3]))
            except ValueError:
                notes[f'"{" ".join(words)[:40]}" in {path.name} is no colour'] = None
        elif words[0].lower() == "map_kd":
            current.image, ignored = _image_name(words[1:])
            if ignored:
                notes[f"{' and '.join(ignored)} of images in {path.name} are ignored"] = None
    return materials, list(notes)


def _image_name(words: list[str]) -> tuple[str, list[str]]:
    """Return the file name of a `map_Kd` line, which may have spaces, and options that move the image."""
    ignored = []
    while words and words[0].startswith("-"):
        option, words = words[0], words[1:]
        if option in ("-o", "-s", "-t"):
            ignored.append(option)
            count = 0
            while count < 3 and words[count:] and _is_number(words[count]):
                count += 1
            words = words[count:]
        else:
            words = words[_OPTION_WORDS.get(option, 0) :]
    return " ".join(words).replace("\\", "/"), ignored


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def combine_materials(
    materials: Sequence[Texture | tuple[float, float, float] | None],
    material_of: NDArray[np.int64],
    uv: NDArray[np.float64],
) -> SurfaceImage:
    """Return one image for all materials of a surface, and the texture coordinates in it.

    Args:
        materials: An image, an sRGB colour, or None for the default colour.
        material_of: The number of the material of each triangle, -1 for the default colour; shape [k].
        uv: Texture coordinates of the corners in the image of the material, shape [k, 3, 2].
    """
    used = np.unique(material_of)
    images = [materials[i] if i >= 0 else None for i in used]
    if not any(isinstance(image, Texture) for image in images):
        return SurfaceImage(None, uv)
    if len(used) == 1:
        assert isinstance(images[0], Texture)
        return SurfaceImage(images[0], uv)
    tiles = [_tile(image) for image in images]
    width, height = max(tile.shape[1] for tile in tiles), sum(len(tile) for tile in tiles)
    atlas = np.zeros((height, width, 3), np.uint8)
    moved, top, wrapped = uv.copy(), 0, 0
    for number, image, tile in zip(used, images, tiles):
        rows, columns = tile.shape[:2]
        atlas[top : top + rows, :columns] = tile
        mine = material_of == number
        own = uv[mine] if isinstance(image, Texture) else np.full((int(mine.sum()), 3, 2), 0.5)
        own = own - np.floor(own.min(axis=1, keepdims=True))  # into the first repetition
        wrapped += int((own > 1.0 + 1e-9).any(axis=(1, 2)).sum())
        own = np.clip(own, 0.0, 1.0)
        size = np.array([columns, rows]) - 2 * _MARGIN
        low = np.array([_MARGIN, height - top - rows + _MARGIN])
        moved[mine] = (low + own * size) / np.array([width, height])
        top += rows
    notes: tuple[str, ...] = ()
    if wrapped:
        what = pluralize(wrapped, "triangle")
        notes = (f"{what} repeat an image, which is cut off where a surface has several images",)
    return SurfaceImage(Texture(atlas), moved, notes)


def _tile(image: Texture | tuple[float, float, float] | None) -> NDArray[np.uint8]:
    """Return an image times its factor, or a colour, with a margin; shape [rows, columns, 3]."""
    if isinstance(image, Texture):
        light = srgb_to_linear(image.pixels[:, :, :3] / 255.0) * np.array(image.factor)
        plain = image.factor == (1.0, 1.0, 1.0)
        pixels = image.pixels[:, :, :3] if plain else np.rint(255.0 * linear_to_srgb(light)).astype(np.uint8)
    else:
        color = np.rint(255.0 * np.clip(_GRAY if image is None else image, 0.0, 1.0)).astype(np.uint8)
        pixels = np.tile(color, (_PLAIN, _PLAIN, 1))
    return np.pad(pixels, ((_MARGIN, _MARGIN), (_MARGIN, _MARGIN), (0, 0)), mode="edge")

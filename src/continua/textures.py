"""Images on surfaces, looked up by texture coordinates.

Coordinates (u, v) run from (0, 0) at the lower left corner of the image to (1, 1) at the upper right, as in OBJ and USD
files; outside of that range the image repeats.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.file_input import read_file
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, file_path, instance_of, rgb, shortened, text

__all__ = ["Texture", "linear_to_srgb", "mtl_text", "srgb_to_linear"]

_MAX_SIDE = 16384  # pixels


@dataclass(frozen=True, eq=False)
class Texture(KeepsReadOnlyArrays):
    """An image that colours a surface. It is drawn opaque; its alpha channel is kept in files.

    Attributes:
        pixels: sRGB bytes, rows from the top, uint8, shape [height, width, 3] or [height, width, 4]; read-only.
        factor: Linear RGB that the image is multiplied with, from 0 to 1.
    """

    pixels: NDArray[np.uint8]
    factor: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        pixels = np.array(self.pixels) if isinstance(self.pixels, np.ndarray) else np.zeros(0)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or not pixels.size:
            raise InputError(
                "a texture needs pixels, an array of type uint8 and shape [height, width, 3] or [height, width, 4], "
                f"not {shortened(self.pixels)}"
            )
        if max(pixels.shape[:2]) > _MAX_SIDE:
            raise InputError(
                f"a texture can have at most {_MAX_SIDE} pixels on a side, not {pixels.shape[:2]}"
            )
        pixels.flags.writeable = False
        object.__setattr__(self, "pixels", pixels)
        object.__setattr__(self, "factor", rgb(self.factor, "the factor of a texture"))

    @classmethod
    def read(cls, path: str | os.PathLike[str], factor: ArrayLike = (1.0, 1.0, 1.0)) -> Texture:
        """Read an image file (PNG, JPEG, and others that Pillow knows).

        Raises:
            InputError: The file is missing or is no image.
        """
        path = file_path(path, "the path of an image")
        try:
            data = read_file(path)
        except InputError as error:
            raise InputError(f"the image cannot be read: {error.message}", where=error.where) from None
        return cls.from_bytes(data, factor, where=str(path))

    @classmethod
    def from_bytes(cls, data: bytes, factor: ArrayLike = (1.0, 1.0, 1.0), *, where: str = "") -> Texture:
        """Return the texture of the bytes of an image file; `where` names it in messages."""
        from PIL import Image  # slow to import, and seldom needed

        instance_of(data, (bytes, bytearray, memoryview), "the data of an image", "the bytes of a file")
        where = text(where, "the place of an image")
        try:
            with Image.open(io.BytesIO(data)) as image:
                if max(image.size) > _MAX_SIDE:
                    raise ValueError(f"it has more than {_MAX_SIDE} pixels on a side")
                has_alpha = "A" in image.getbands() or "transparency" in image.info
                pixels = np.asarray(image.convert("RGBA" if has_alpha else "RGB"))
        except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
            reason = " ".join(str(error).split())[:100]
            raise InputError(f"the image cannot be read: {reason}", where=where) from None
        return cls(pixels, factor)  # type: ignore[arg-type]

    @property
    def width(self) -> int:
        """Pixels along u."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Pixels along v."""
        return int(self.pixels.shape[0])

    @cached_property
    def digest(self) -> str:
        """A short name made from the contents; equal textures have the same."""
        head = f"{self.pixels.shape}{self.factor}".encode()
        return hashlib.sha256(head + self.pixels.tobytes()).hexdigest()[:16]

    def png(self) -> bytes:
        """Return the image as a PNG file, without the factor; the same pixels give the same bytes."""
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(self.pixels).save(file, format="PNG", compress_level=6)
        return file.getvalue()

    def sample(self, uv: ArrayLike) -> NDArray[np.float64]:
        """Return sRGB colours from 0 to 1 at texture coordinates [n, 2], shape [n, 3], without the factor.

        Colours are interpolated linearly between the centres of the four nearest pixels.
        """
        u, v = array(uv, "texture coordinates", (None, 2)).T % 1.0
        x, y = u * self.width - 0.5, (1.0 - v) * self.height - 0.5
        i, j = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        fx, fy = (x - i)[:, None], (y - j)[:, None]
        image = self.pixels[:, :, :3] / 255.0

        def pixel(row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.float64]:
            return image[row % self.height, column % self.width]

        upper = (1 - fx) * pixel(j, i) + fx * pixel(j, i + 1)
        lower = (1 - fx) * pixel(j + 1, i) + fx * pixel(j + 1, i + 1)
        return (1 - fy) * upper + fy * lower

    def __repr__(self) -> str:
        return f"<Texture: {self.width} x {self.height} pixels>"


def srgb_to_linear(color: ArrayLike) -> NDArray[np.float64]:
    """Return linear light for sRGB values in 0..1."""
    c = np.asarray(color, dtype=float)
    return np.where(c <= 0.04045, c / 12.92, ((np.maximum(c, 0.04045) + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(light: ArrayLike) -> NDArray[np.float64]:
    """Return sRGB values in 0..1 for linear light, clipped."""
    c = np.clip(np.asarray(light, dtype=float), 0.0, 1.0)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * np.maximum(c, 0.0031308) ** (1 / 2.4) - 0.055)


def mtl_text(name: str, image: str, texture: Texture) -> str:
    """Return a Wavefront MTL file with one material that has the image file `image`."""
    color = " ".join(f"{part:.9g}" for part in linear_to_srgb(texture.factor).tolist())
    return f"newmtl {name}\nKd {color}\nmap_Kd {image}\n"

"""Images of surfaces as PNG files beside the results that refer to them."""

from __future__ import annotations

from pathlib import Path

from continua.atomic_io import atomic_write
from continua.output.folder import OutputFolder
from continua.textures import Texture, mtl_text

__all__ = ["ImageFiles"]


class ImageFiles:
    """Writes each image once, as `texture-DIGEST.png`; the same image has the same name in every run.

    Args:
        output: The output folder of the run.
        folder: The folder of the images, which is the output folder or below it.
    """

    def __init__(self, output: OutputFolder, folder: Path) -> None:
        self._output, self._folder = output, folder
        self._written: set[str] = set()

    def remove(self) -> None:
        """Remove the images that an earlier run wrote."""
        self._written.clear()
        for suffix in (".png", ".mtl"):
            self._output.remove(sorted(self._folder.glob(f"texture-*{suffix}")))

    def write(self, texture: Texture, *, material: bool = False) -> str:
        """Write an image, and on request a Wavefront material of the same name; return the name without suffix."""
        name = f"texture-{texture.digest}"
        if name not in self._written:
            with atomic_write(self._output.record(self._folder / f"{name}.png")) as file:
                file.write(texture.png())
            if material:
                with atomic_write(self._output.record(self._folder / f"{name}.mtl"), "w") as file:
                    file.write(mtl_text(name, f"{name}.png", texture))
            self._written.add(name)
        return name

"""Draw a frame in one call, and report which renderers work on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.frames import Frame, TopologyCache
from continua.render import raster
from continua.render.camera import Camera
from continua.render.composition import DEFAULT_COLOR, Composition, View, compose, make_view
from continua.render.overlay import annotate
from continua.render.surface import SmoothSurface

__all__ = ["BACKENDS", "Painter", "picture", "renderer_report", "save_png"]

BACKENDS = ("auto", "raster", "pyvista")


def _drawer(backend: str) -> Callable[[Composition], NDArray[np.uint8]]:
    """Return the function that draws a composition; "auto" is the software renderer."""
    if backend in ("auto", "raster"):
        return raster.draw
    if backend == "pyvista":
        from continua.render import pyvista_view

        return pyvista_view.draw
    raise InputError(f'there is no renderer "{backend}"; choose from {", ".join(BACKENDS)}')


class Painter:
    """Draws the frames of one sequence with a fixed view."""

    def __init__(self, view: View, backend: str = "auto") -> None:
        self.view = view
        self._draw = _drawer(backend)
        self._surfaces: TopologyCache[SmoothSurface] = TopologyCache()

    def paint(self, frame: Frame) -> NDArray[np.uint8]:
        """Return the picture of `frame`, sRGB bytes, shape [height, width, 3]."""
        composition = compose(frame, self.view, self._surfaces)
        return annotate(self._draw(composition), composition)


def save_png(pixels: NDArray[np.uint8], path: str | os.PathLike[str]) -> None:
    """Write sRGB bytes as a PNG file, atomically."""
    with atomic_write(path) as file:
        Image.fromarray(pixels).save(file, format="PNG", compress_level=6)


def picture(
    frame: Frame,
    path: str | os.PathLike[str] | None = None,
    *,
    size: tuple[int, int] = (1280, 720),
    color: str | None = None,
    camera: Camera | Mapping[str, Any] | None = None,
    backend: str = "auto",
    value_range: tuple[float, float] | None = None,
    fluid: str = "points",
    contact_forces: bool = False,
    joints: bool = False,
    inside: str = "none",
    levels: int = 5,
) -> NDArray[np.uint8]:
    """Draw a frame.

    Args:
        frame: What to draw.
        path: PNG file to write; None to only return the picture.
        size: Width and height in pixels.
        color: "von_mises", "displacement", "velocity" or any other field, or "plain". Bodies without that field are
            plain. By default "von_mises", or the smoke or else the speed of fluids on grids.
        camera: A `Camera`, or a mapping with "position" and "target", or with "azimuth" and "elevation"
            [degrees]; by default a three-quarter view that shows all bodies.
        backend: "raster" (software, always available), "pyvista" (needs the "render" extra), or "auto".
        value_range: Lowest and highest value of the colour map in the field's SI unit.
        fluid: Draw fluids as "points", or as a "surface" (needs the "fluid" extra).
        contact_forces: Draw arrows of the contact forces on all bodies.
        joints: Draw rods from the joints of rigid bodies to the bodies' centres.
        inside: "none", or how the interior of soft bodies is drawn: see `interior_picture`.
        levels: Number of isosurfaces.

    Returns:
        sRGB bytes, shape [height, width, 3].

    Raises:
        InputError: The field was asked for and no body has it, or another option cannot be used.
    """
    view = make_view(
        [frame],
        size=size,
        color=color if inside == "none" else color or DEFAULT_COLOR,
        camera=camera,
        value_range=value_range,
        fluid=fluid,
        contact_forces=contact_forces,
        joints=joints,
    )
    if inside == "none":
        pixels = Painter(view, backend).paint(frame)
    else:
        from continua.render.interior import InteriorPainter

        pixels = InteriorPainter(view, inside, levels).paint(frame)
    if path is not None:
        save_png(pixels, path)
    return pixels


def renderer_report() -> dict[str, str]:
    """Return for each renderer "ok" with details, or why it does not work."""
    report = {"raster": "ok (software, built in)"}
    try:
        from continua.render import pyvista_view

        report["pyvista"] = f"ok ({pyvista_view.probe()})"
    except Exception as error:
        report["pyvista"] = f"not working: {error}"
    return report

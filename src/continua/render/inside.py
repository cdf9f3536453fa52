"""Pictures of what goes on inside of soft bodies: surfaces of equal value, or the matter as a glowing volume.

Drawn off screen through PyVista and VTK (the "render" extra). Bodies become glass; inside, a field that is linear in
each deformed tetrahedron is shown by its surfaces of equal value, or sampled on a regular grid along whose rays it is
blended from front to back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.frames import BodyFrame, Frame
from continua.render.camera import Camera
from continua.render.colors import color_map
from continua.render.composition import Look, compose, make_look
from continua.render.iso import iso_surface, tets_of
from continua.render.overlay import annotate
from continua.render.picture import save_png
from continua.render.pyvista_view import add_bodies, aim, bytes_rgba, import_pyvista, quiet_vtk
from continua.render.surface import SmoothSurface

__all__ = ["INSIDE", "InsidePainter", "inside_picture"]

INSIDE = ("surfaces", "volume")
"""What can be shown inside of bodies."""

_GLASS = 0.1
_DENSITY = 0.3  # opacity of the highest values over two cells of the grid
_FINE = 160  # the same for an image that a body carries
_SAMPLES = 96  # cells of the grid along the longest side of a body


class InsidePainter:
    """Draws the frames of one sequence with one look, seeing into soft bodies.

    Args:
        look: Camera, field and range of the colours.
        inside: One of `INSIDE`.
        levels: How many surfaces of equal value, evenly over the range.
    """

    def __init__(self, look: Look, inside: str = "surfaces", levels: int = 5) -> None:
        if inside not in INSIDE:
            raise InputError(f'there is no look inside called "{inside}"; choose from {", ".join(INSIDE)}')
        if not 1 <= levels <= 50:
            raise InputError(f"surfaces of equal value are 1 to 50, not {levels}")
        if look.legend is None:
            raise InputError("a picture of the inside needs a field to show; choose a colour")
        self.look, self._inside = look, inside
        low, high = look.legend.low, look.legend.high
        self._range = (low, high)
        self._levels = low + (np.arange(levels) + 0.5) / levels * (high - low)
        self._surfaces: dict[str, tuple[Any, SmoothSurface]] = {}
        self._pyvista = import_pyvista()

    def paint(self, frame: Frame) -> NDArray[np.uint8]:
        """Return the picture of `frame`, sRGB bytes, shape [height, width, 3]."""
        pyvista, look = self._pyvista, self.look
        with quiet_vtk():
            plotter = pyvista.Plotter(off_screen=True, window_size=look.size)
            try:
                plotter.set_background("#e9ecf2", top="#fbfcfe")
                glass = [body for body in frame if len(tets_of(body)) and look.color in body.fields]
                for body in glass:
                    self._add_glass(plotter, body)
                seen = compose(replace(frame, colliders=()), look, self._surfaces)
                add_bodies(plotter, seen, without={body.name for body in glass})
                aim(plotter, look.camera)
                plotter.enable_anti_aliasing("ssaa")
                pixels = np.ascontiguousarray(plotter.screenshot(return_img=True)[:, :, :3])
            finally:
                plotter.close()
        bare = replace(frame, bodies={}, colliders=())
        return annotate(pixels, compose(bare, look))

    def _add_glass(self, plotter: Any, body: BodyFrame) -> None:
        """Add a body that is seen into: its hull, and the field inside."""
        tets = tets_of(body)
        hull = self._surface(body.positions, body.triangles)
        if self._inside == "volume":  # VTK does not blend glass with volumes: its outline stands for it
            plotter.add_silhouette(hull, color="#5b6b82", line_width=1.5)
        else:
            plotter.add_mesh(hull, color="#8fa0b8", opacity=_GLASS)
        values = body.scalars(self.look.color)
        if self._inside == "volume":
            self._add_volume(plotter, body, tets, values)
            return
        for level in self._levels:
            points, triangles = iso_surface(body.positions, tets, values, float(level))
            if len(triangles):
                mesh = self._surface(points, triangles)
                mesh["value"] = np.full(len(points), level)
                plotter.add_mesh(
                    mesh, scalars="value", cmap=self._table(), opacity=0.75, show_scalar_bar=False,
                    smooth_shading=True,
                )  # fmt: skip

    def _add_volume(self, plotter: Any, body: BodyFrame, tets: NDArray, values: NDArray) -> None:
        """Sample the field on a grid around the body as it is now, and blend it along rays.

        An image that the body carries is looked up at the rest place of each sample, so its own detail shows.
        """
        positions = body.positions
        image = body.voxels if self.look.color == "voxels" else None
        grid = self._pyvista.UnstructuredGrid({self._pyvista.CellType.TETRA: tets}, positions)
        grid["value"] = values if image is None else body.rest_positions
        low, high = positions.min(axis=0), positions.max(axis=0)
        spacing = float((high - low).max()) / (_SAMPLES if image is None else _FINE)
        shape = np.maximum(np.ceil((high - low) / spacing).astype(int) + 3, 2)
        box = self._pyvista.ImageData(dimensions=shape, spacing=(spacing,) * 3, origin=low - spacing)
        seen = box.sample(grid)
        inside = np.asarray(seen["vtkValidPointMask"]) > 0
        start, end = self._range
        found = np.asarray(seen["value"]) if image is None else image.sample(np.asarray(seen["value"]))
        part = np.clip((found - start) / (end - start), 0.0, 1.0)
        box["part"] = np.where(inside, 1 + np.rint(254 * part), 0).astype(np.uint8)
        table = bytes_rgba(color_map())
        table[:, 3] = np.rint(255 * _DENSITY * (0.05 + np.linspace(0.0, 1.0, len(table)) ** 2) / 1.05)
        table[0, 3] = 0
        volume = plotter.add_volume(
            box, scalars="part", clim=(0.0, 255.0), opacity_unit_distance=2.0 * spacing, show_scalar_bar=False,
            cmap=self._pyvista.LookupTable(values=table, scalar_range=(0.0, 255.0)), mapper="fixed_point",
        )  # fmt: skip
        volume.mapper.SetAutoAdjustSampleDistances(False)
        volume.mapper.SetSampleDistance(0.5 * spacing)

    def _surface(self, points: NDArray, triangles: NDArray) -> Any:
        faces = np.hstack([np.full((len(triangles), 1), 3), triangles]).ravel()
        return self._pyvista.PolyData(points, faces)

    def _table(self) -> Any:
        return self._pyvista.LookupTable(values=bytes_rgba(color_map()), scalar_range=self._range)


def inside_picture(
    frame: Frame,
    path: str | os.PathLike[str] | None = None,
    *,
    inside: str = "surfaces",
    levels: int = 5,
    size: tuple[int, int] = (1280, 720),
    color: str = "von_mises",
    camera: Camera | Mapping[str, Any] | None = None,
    value_range: tuple[float, float] | None = None,
) -> NDArray[np.uint8]:
    """Draw what goes on inside of the soft bodies of a frame; needs the "render" extra.

    Args:
        frame: What to draw.
        path: PNG file to write; None to only return the picture.
        inside: "surfaces" of equal value, or the "volume" itself, more opaque where values are high.
        levels: How many surfaces, evenly over the range of the colours.
        size: Width and height in pixels.
        color: The field.
        camera: As for `picture`.
        value_range: Lowest and highest value of the colour map in the field's SI unit.

    Returns:
        sRGB bytes, shape [height, width, 3].
    """
    look = make_look([frame], size=size, color=color, camera=camera, value_range=value_range)
    pixels = InsidePainter(look, inside, levels).paint(frame)
    if path is not None:
        save_png(pixels, path)
    return pixels

"""Pictures of the interior of soft bodies: isosurfaces of a field, or a volume rendering.

Drawn off screen with PyVista and VTK (the "render" extra). Bodies become transparent; a field that is linear in each
deformed tetrahedron is shown by its isosurfaces, or sampled on a regular grid and composited along rays from front to
back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.frames import BodyFrame, Frame, TopologyCache
from continua.render.camera import Camera
from continua.render.colors import color_map
from continua.render.composition import View, compose, make_view
from continua.render.iso import iso_surface, tets_of
from continua.render.overlay import annotate
from continua.render.picture import save_png
from continua.render.pyvista_view import add_bodies, import_pyvista, quiet_vtk, rgba_bytes, set_camera
from continua.render.surface import SmoothSurface

__all__ = ["INTERIOR_MODES", "InteriorPainter", "interior_picture"]

INTERIOR_MODES = ("surfaces", "volume")
"""Ways to show the interior of bodies."""

_SURFACE_OPACITY = 0.1
_MAX_OPACITY = 0.3  # of the highest values over two cells of the grid
_SAMPLES = 96  # cells of the grid along the longest side of a body
_IMAGE_SAMPLES = 160  # the same for the voxel image of a body


class InteriorPainter:
    """Draws the interior of soft bodies for the frames of one sequence.

    Args:
        view: Camera, field and range of the colours.
        inside: One of `INTERIOR_MODES`.
        levels: Number of isosurfaces, evenly over the range.
    """

    def __init__(self, view: View, inside: str = "surfaces", levels: int = 5) -> None:
        if inside not in INTERIOR_MODES:
            raise InputError(f'there is no interior mode "{inside}"; choose from {", ".join(INTERIOR_MODES)}')
        if not 1 <= levels <= 50:
            raise InputError(f"the number of isosurfaces must be 1 to 50, not {levels}")
        if view.legend is None:
            raise InputError("a picture of the interior needs a field; choose a colour other than plain")
        self.view, self._inside = view, inside
        low, high = view.legend.low, view.legend.high
        self._range = (low, high)
        self._levels = low + (np.arange(levels) + 0.5) / levels * (high - low)
        self._surfaces: TopologyCache[SmoothSurface] = TopologyCache()
        self._pyvista = import_pyvista()

    def paint(self, frame: Frame) -> NDArray[np.uint8]:
        """Return the picture of `frame`, sRGB bytes, shape [height, width, 3]."""
        pyvista, view = self._pyvista, self.view
        with quiet_vtk():
            plotter = pyvista.Plotter(off_screen=True, window_size=view.size)
            try:
                plotter.set_background("#e9ecf2", top="#fbfcfe")
                translucent = [body for body in frame if len(tets_of(body)) and view.color in body.fields]
                for body in translucent:
                    self._add_translucent(plotter, body)
                composition = compose(replace(frame, colliders=()), view, self._surfaces)
                add_bodies(plotter, composition, without={body.name for body in translucent})
                set_camera(plotter, view.camera)
                plotter.enable_anti_aliasing("ssaa")
                pixels = np.ascontiguousarray(plotter.screenshot(return_img=True)[:, :, :3])
            finally:
                plotter.close()
        bare = replace(frame, bodies={}, colliders=())
        return annotate(pixels, compose(bare, view))

    def _add_translucent(self, plotter: Any, body: BodyFrame) -> None:
        """Add a body whose interior is shown: its translucent surface, and the field inside."""
        tets = tets_of(body)
        hull = self._surface(body.positions, body.triangles)
        if self._inside == "volume":  # VTK does not blend translucent surfaces with volumes
            plotter.add_silhouette(hull, color="#5b6b82", line_width=1.5)
        else:
            plotter.add_mesh(hull, color="#8fa0b8", opacity=_SURFACE_OPACITY)
        values = body.scalars(self.view.color)
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
        """Sample the field on a grid around the deformed body, and composite it along rays.

        A voxel image is sampled at the rest position of each grid point, which keeps its own resolution.
        """
        positions = body.positions
        image = body.voxels if self.view.color == "voxels" else None
        grid = self._pyvista.UnstructuredGrid({self._pyvista.CellType.TETRA: tets}, positions)
        grid["value"] = values if image is None else body.rest_positions
        low, high = positions.min(axis=0), positions.max(axis=0)
        spacing = float((high - low).max()) / (_SAMPLES if image is None else _IMAGE_SAMPLES)
        shape = np.maximum(np.ceil((high - low) / spacing).astype(int) + 3, 2)
        box = self._pyvista.ImageData(dimensions=shape, spacing=(spacing,) * 3, origin=low - spacing)
        seen = box.sample(grid)
        inside = np.asarray(seen["vtkValidPointMask"]) > 0
        start, end = self._range
        found = np.asarray(seen["value"]) if image is None else image.sample(np.asarray(seen["value"]))
        part = np.clip((found - start) / (end - start), 0.0, 1.0)
        box["part"] = np.where(inside, 1 + np.rint(254 * part), 0).astype(np.uint8)
        table = rgba_bytes(color_map())
        table[:, 3] = np.rint(255 * _MAX_OPACITY * (0.05 + np.linspace(0.0, 1.0, len(table)) ** 2) / 1.05)
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
        return self._pyvista.LookupTable(values=rgba_bytes(color_map()), scalar_range=self._range)


def interior_picture(
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
    """Draw the interior of the soft bodies of a frame; needs the "render" extra.

    Args:
        frame: What to draw.
        path: PNG file to write; None to only return the picture.
        inside: "surfaces" (isosurfaces) or "volume", more opaque where values are high.
        levels: Number of isosurfaces, evenly over the range of the colours.
        size: Width and height in pixels.
        color: The field.
        camera: As for `picture`.
        value_range: Lowest and highest value of the colour map in the field's SI unit.

    Returns:
        sRGB bytes, shape [height, width, 3].
    """
    view = make_view([frame], size=size, color=color, camera=camera, value_range=value_range)
    pixels = InteriorPainter(view, inside, levels).paint(frame)
    if path is not None:
        save_png(pixels, path)
    return pixels

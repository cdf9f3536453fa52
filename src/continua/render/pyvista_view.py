"""Draws a composition with PyVista and VTK, off screen; needs the "render" extra."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from continua.errors import ContinuaError, MissingExtraError
from continua.render.camera import Camera
from continua.render.colors import color_map, linear_to_srgb
from continua.render.composition import Cloud, Composition, Ground, Shape, SmokeVolume
from continua.render.lighting import background, compute_lighting
from continua.render.smoke_volume import extinction_per_cell
from continua.render.surface import split_seams

__all__ = ["add_bodies", "draw", "import_pyvista", "probe", "quiet_vtk", "rgba_bytes", "set_camera"]

_PROBE = """
import pyvista
plotter = pyvista.Plotter(off_screen=True, window_size=(32, 32))
plotter.add_mesh(pyvista.Sphere(), color="black")
picture = plotter.screenshot(return_img=True)
assert picture.min() < 60 < 180 < picture.max()
print(plotter.render_window.GetClassName(), "VTK", pyvista.vtk_version_info)
"""


def import_pyvista() -> Any:
    """Return the module, or raise `MissingExtraError`."""
    try:
        import pyvista
    except ImportError:
        raise MissingExtraError("Drawing with PyVista", "render") from None
    return pyvista


def probe() -> str:
    """Draw a tiny picture in another process, because a broken graphics driver may crash the process.

    Returns:
        The render window and version of VTK.

    Raises:
        MissingExtraError: PyVista is not installed.
        ContinuaError: VTK cannot draw here.
    """
    import_pyvista()
    try:
        done = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        raise ContinuaError("VTK did not finish a tiny picture within two minutes") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise ContinuaError(f"VTK cannot draw off screen here ({lines[-1] if lines else done.returncode})")
    return done.stdout.strip().splitlines()[-1]


def _bytes(linear: NDArray) -> NDArray[np.uint8]:
    return np.rint(255 * linear_to_srgb(linear)).astype(np.uint8)


def _add_shape(pyvista: Any, plotter: Any, shape: Shape, signed: bool) -> None:
    positions, normals, triangles = shape.positions, shape.normals, shape.triangles
    if shape.texture is not None and shape.uv is not None:
        parents, triangles, coordinates = split_seams(triangles, shape.uv)
        positions, normals = positions[parents], normals[parents]
    faces = np.hstack([np.full((len(triangles), 1), 3), triangles]).ravel()
    mesh = pyvista.PolyData(positions, faces)
    mesh.point_data.active_normals = normals
    paint: dict[str, Any] = {"color": tuple(_bytes(shape.color) / 255)}
    if shape.texture is not None and shape.uv is not None:
        mesh.active_texture_coordinates = coordinates.astype(np.float32)
        image = pyvista.Texture(np.ascontiguousarray(shape.texture.pixels[:, :, :3]))
        image.repeat, image.interpolate = True, True
        paint = {"texture": image, "color": tuple(_bytes(np.array(shape.texture.factor)) / 255)}
    if shape.values is not None:
        table = pyvista.LookupTable(values=rgba_bytes(color_map(signed)), scalar_range=(0.0, 1.0))
        paint = {"scalars": shape.values, "cmap": table, "show_scalar_bar": False}
    finish = {"ambient": 0.42, "diffuse": 0.68, "specular": 0.12, "specular_power": 25}
    plotter.add_mesh(mesh, smooth_shading=True, **paint, **finish)


def _add_cloud(pyvista: Any, plotter: Any, cloud: Cloud) -> None:
    ball = pyvista.Sphere(radius=1.25 * cloud.radius, theta_resolution=10, phi_resolution=8)
    points = pyvista.PolyData(cloud.positions)
    paint: dict[str, Any] = {"color": tuple(_bytes(cloud.color) / 255)}
    if cloud.values is not None:
        points["value"] = cloud.values
        table = pyvista.LookupTable(values=rgba_bytes(color_map()), scalar_range=(0.0, 1.0))
        paint = {"scalars": "value", "cmap": table, "show_scalar_bar": False}
    plotter.add_mesh(points.glyph(geom=ball, scale=False, orient=False), smooth_shading=True, **paint)


def _add_smoke(pyvista: Any, plotter: Any, smoke: SmokeVolume) -> None:
    """Add smoke as a volume that transmits as much light as that of the software renderer."""
    top = float(smoke.density.max())
    if top <= 0.0:
        return
    first = np.array(smoke.origin) + 0.5 * smoke.spacing
    box = pyvista.ImageData(dimensions=smoke.density.shape, spacing=(smoke.spacing,) * 3, origin=first)
    box["density"] = np.rint(255.0 / top * smoke.density.clip(0.0)).astype(np.uint8).ravel(order="F")
    table = np.tile(rgba_bytes(linear_to_srgb(smoke.color)[None]), (256, 1))
    table[:, 3] = np.rint(255.0 * -np.expm1(-extinction_per_cell(smoke) * top * np.linspace(0.0, 1.0, 256)))
    volume = plotter.add_volume(
        box, scalars="density", clim=(0.0, 255.0), opacity_unit_distance=smoke.spacing, show_scalar_bar=False,
        cmap=pyvista.LookupTable(values=table, scalar_range=(0.0, 255.0)), mapper="fixed_point",
    )  # fmt: skip
    volume.mapper.SetAutoAdjustSampleDistances(False)  # else a sample every metre, whatever the box
    volume.mapper.SetSampleDistance(0.5 * smoke.spacing)


def rgba_bytes(srgb: NDArray) -> NDArray[np.uint8]:
    """Return sRGB colours from 0 to 1 as opaque RGBA bytes."""
    return np.rint(255 * np.column_stack([srgb, np.ones(len(srgb))])).astype(np.uint8)


def _add_ground(pyvista: Any, plotter: Any, ground: Ground, row: NDArray, table: NDArray) -> None:
    """Add a disc with grid lines that fades out and is darker where bodies occlude the sky."""
    center, normal = np.array(ground.center), np.array(ground.normal)
    disc = pyvista.Disc(center=center, inner=0.0, outer=ground.fade, normal=normal, r_res=200, c_res=180)
    offset = np.asarray(disc.points) - center
    flat = np.stack([offset @ row[6:9], offset @ row[9:12]])
    sky = map_coordinates(table, (flat / row[13] + 1) / 2 * (len(table) - 1), order=1, cval=1.0)
    gray = np.rint(60 + 155 * sky)
    rgba = np.column_stack([gray, gray, gray, 165 * _fade(offset, ground)]).astype(np.uint8)
    plotter.add_mesh(disc, scalars=rgba, rgba=True, lighting=False)
    steps = np.arange(-np.floor(ground.fade / ground.spacing), ground.fade / ground.spacing) * ground.spacing
    run = np.linspace(-1, 1, 41) * ground.fade
    for along, across, shift in ((row[6:9], row[9:12], row[16]), (row[9:12], row[6:9], row[15])):
        for step in steps - np.mod(shift, ground.spacing):
            spots = run[:, None] * along + step * across + 1e-3 * ground.spacing * normal
            line = pyvista.lines_from_points(center + spots)
            ink = np.column_stack([np.full((len(run), 3), 150), 90 * _fade(spots, ground)]).astype(np.uint8)
            plotter.add_mesh(line, scalars=ink, rgba=True, lighting=False, line_width=1)


def _fade(offset: NDArray, ground: Ground) -> NDArray[np.float64]:
    """Return the opacity of the ground at offsets from its centre: 1 near, 0 far."""
    part = np.clip((np.linalg.norm(offset, axis=1) / ground.fade - 0.2) / 0.8, 0, 1)
    return 1 - part**2 * (3 - 2 * part)


@contextmanager
def quiet_vtk() -> Iterator[None]:
    """Silence VTK's messages about render windows that it tried and rejected."""
    from vtkmodules.vtkCommonCore import vtkLogger

    before = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(before)


def add_bodies(plotter: Any, composition: Composition, without: Container[str] = ()) -> None:
    """Add the shapes, particles and smoke of a composition to a plotter, except bodies with the names in `without`."""
    pyvista, legend = import_pyvista(), composition.view.legend
    signed = legend is not None and legend.signed
    for shape in composition.shapes:
        if shape.name not in without:
            _add_shape(pyvista, plotter, shape, signed)
    for cloud in composition.clouds:
        if cloud.name not in without and len(cloud.positions):
            _add_cloud(pyvista, plotter, cloud)
    for smoke in composition.smoke_volumes:
        _add_smoke(pyvista, plotter, smoke)


def draw(composition: Composition) -> NDArray[np.uint8]:
    """Draw a composition without legend and text; returns sRGB bytes, shape [height, width, 3]."""
    pyvista = import_pyvista()
    view, lit = composition.view, compute_lighting(composition)
    with quiet_vtk():
        plotter = pyvista.Plotter(off_screen=True, window_size=view.size, lighting="none")
        try:
            rows = _bytes(background(2))
            plotter.set_background(tuple(rows[1] / 255), top=tuple(rows[0] / 255))
            for ground, row, table in zip(composition.grounds, lit.planes, lit.tables):
                if np.dot(np.subtract(view.camera.position, ground.point), ground.normal) > 0:
                    _add_ground(pyvista, plotter, ground, row, table)
            add_bodies(plotter, composition)
            lamp = view.center + 10 * view.radius * lit.lamp
            plotter.add_light(pyvista.Light(position=lamp, focal_point=view.center, intensity=0.9))
            plotter.add_light(pyvista.Light(light_type="headlight", intensity=0.25))
            set_camera(plotter, view.camera)
            plotter.enable_anti_aliasing("ssaa")
            return np.ascontiguousarray(plotter.screenshot(return_img=True)[:, :, :3])
        finally:
            plotter.close()


def set_camera(plotter: Any, camera: Camera) -> None:
    """Set the camera of a plotter."""
    plotter.camera.position = camera.position
    plotter.camera.focal_point = camera.target
    plotter.camera.up = camera.up
    plotter.camera.view_angle = camera.fov
    plotter.reset_camera_clipping_range()

"""Pictures of frames: one description of the view, drawn in software or with PyVista."""

from continua.render.camera import Camera, fit_camera
from continua.render.composition import View, make_view
from continua.render.interior import INTERIOR_MODES, InteriorPainter, interior_picture
from continua.render.iso import iso_surface
from continua.render.picture import BACKENDS, Painter, picture, renderer_report, save_png

__all__ = [
    "BACKENDS",
    "INTERIOR_MODES",
    "Camera",
    "InteriorPainter",
    "Painter",
    "View",
    "fit_camera",
    "interior_picture",
    "iso_surface",
    "make_view",
    "picture",
    "renderer_report",
    "save_png",
]

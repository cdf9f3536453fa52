"""Pictures of frames: one description of what is seen, drawn in software or through PyVista."""

from continua.render.camera import Camera, fit_camera
from continua.render.composition import Look, make_look
from continua.render.inside import INSIDE, InsidePainter, inside_picture
from continua.render.iso import iso_surface
from continua.render.picture import BACKENDS, Painter, picture, renderer_report, save_png

__all__ = [
    "BACKENDS",
    "INSIDE",
    "Camera",
    "InsidePainter",
    "Look",
    "Painter",
    "fit_camera",
    "inside_picture",
    "iso_surface",
    "make_look",
    "picture",
    "renderer_report",
    "save_png",
]

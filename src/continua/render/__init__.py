"""Pictures of frames: one description of what is seen, drawn in software or through PyVista."""

from continua.render.camera import Camera, fit_camera
from continua.render.composition import Look, make_look
from continua.render.picture import BACKENDS, Painter, picture, renderer_report, save_png

__all__ = [
    "BACKENDS",
    "Camera",
    "Look",
    "Painter",
    "fit_camera",
    "make_look",
    "picture",
    "renderer_report",
    "save_png",
]

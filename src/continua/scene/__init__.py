"""Scenes: simulations described as data, validated when they are read, and built into worlds."""

from continua.scene.cloth import Cloth
from continua.scene.errors import SceneError
from continua.scene.models import Output, Scene
from continua.scene.parser import load_scene, parse_scene, shipped_scenes
from continua.scene.registration import on_registration
from continua.scene.soft_bodies import SoftBody
from continua.scene.solvers import register_solver

__all__ = ["Scene", "SceneError", "load_scene", "parse_scene", "register_solver", "shipped_scenes"]


@on_registration
def _rebuild() -> None:
    """Rebuild the models whose fields come from registries, the outer ones last."""
    for model in (SoftBody, Cloth, Output, Scene):
        model.model_rebuild(force=True)

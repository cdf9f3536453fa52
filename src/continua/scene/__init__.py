"""Scenes: simulations described as data, checked when they are read, and built into worlds."""

from continua.scene.errors import SceneError
from continua.scene.models import Scene
from continua.scene.parser import load_scene, parse_scene, shipped_scenes

__all__ = ["Scene", "SceneError", "load_scene", "parse_scene", "shipped_scenes"]

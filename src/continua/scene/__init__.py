"""Scenes: simulations described as data, checked when they are read, and built into worlds."""

from continua.scene.load import load_scene, parse_scene, shipped_scenes
from continua.scene.models import Scene
from continua.scene.problems import SceneError

__all__ = ["Scene", "SceneError", "load_scene", "parse_scene", "shipped_scenes"]

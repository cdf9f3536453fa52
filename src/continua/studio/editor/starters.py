"""Small scenes to start from, which the empty view of the studio offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from continua.scene.templates import MATERIALS, MESHES, smoke, soft_body

__all__ = ["STARTERS", "Starter"]


@dataclass(frozen=True)
class Starter:
    """A scene to start from.

    Attributes:
        title: Its title in the studio.
        scene: The data of the scene, as in a scene file.
    """

    title: str
    scene: dict[str, Any]


_FLOOR = {"type": "plane", "name": "floor"}


def _soft_ball() -> dict[str, Any]:
    ball = soft_body("sphere", "ball", [0.0, 1.3, 0.0], 0.0)
    return {
        "name": "soft-ball",
        "description": "A ball of jelly falls and bounces; pull it with the mouse.",
        "seconds": 5,
        "fps": 30,
        "bodies": [
            {
                **ball,
                "mesh": {**MESHES["sphere"], "cells": 5},
                "material": {**MATERIALS["Rubber"], "young": 1e5, "poisson": 0.4},
                "damping": {"mass": 0.1, "stiffness": 0.002},
                "color": "#e0574f",
            }
        ],
        "colliders": [_FLOOR],
        "output": {"picture": {"color": "plain"}},
    }


def _rigid_pile() -> dict[str, Any]:
    def many(name: str, shape: dict[str, Any], height: float, layers: int, color: str) -> dict[str, Any]:
        counts, spacing = [3, layers, 3], [0.5, 0.55, 0.5]
        return {
            "type": "rigid",
            "name": name,
            "shape": shape,
            "transform": {"translate": [-0.5, height, -0.5]},
            "grid": {"counts": counts, "spacing": spacing, "jitter": 0.06, "turn": True},
            "color": color,
        }

    return {
        "name": "rigid-pile",
        "description": "Boxes, balls and rods fall on a heap.",
        "seconds": 5,
        "fps": 30,
        "dt": 1 / 60,
        "bodies": [
            many("boxes", {"type": "box", "size": [0.3, 0.3, 0.3]}, 0.4, 2, "#4f86d9"),
            many("balls", {"type": "sphere", "radius": 0.18}, 1.5, 1, "#e08a3c"),
            many("rods", {"type": "capsule", "radius": 0.1, "length": 0.3}, 2.1, 1, "#58a86b"),
        ],
        "colliders": [_FLOOR],
    }


def _water() -> dict[str, Any]:
    return {
        "name": "water",
        "description": "A column of water breaks over a ball in a basin.",
        "seconds": 4,
        "fps": 30,
        "bodies": [
            {
                "type": "fluid",
                "name": "water",
                "block": {"min": [-1.0, 0.0, -0.4], "max": [-0.4, 0.8, 0.4]},
                "particle_radius": 0.025,
                "boundary": "volume_map",
                "solver": {"type": "dfsph", "density_error": 1e-3},
                "color": "#2f7fd1",
            }
        ],
        "colliders": [
            {
                "type": "box",
                "name": "basin",
                "center": [0.0, 0.75, 0.0],
                "size": [2.0, 1.5, 0.8],
                "inside": True,
            },
            {"type": "sphere", "name": "ball", "center": [0.3, 0.2, 0.0], "radius": 0.2},
        ],
    }


def _smoke() -> dict[str, Any]:
    plume = smoke("smoke", "smoke", [0.0, 0.0, 0.0], 0.0)
    return {
        "name": "smoke",
        "description": "Warm smoke rises and flows around a ball.",
        "seconds": 5,
        "fps": 25,
        "dt": 0.04,
        "bodies": [
            {**plume, "obstacles": [{"type": "sphere", "center": [0.02, 0.75, 0.0], "radius": 0.15}]},
        ],
        "output": {"picture": {"color": "smoke", "camera": {"azimuth": 25, "elevation": 8}}},
    }


def _wind_tunnel() -> dict[str, Any]:
    return {
        "name": "wind-tunnel",
        "description": "Vortices behind a post in the wind; draw your own obstacle.",
        "seconds": 20,
        "fps": 15,
        "dt": 0.05,
        "bodies": [
            {
                "type": "wind_tunnel",
                "name": "tunnel",
                "size": [4.0, 1.6],
                "cells": [200, 80],
                "speed": 1.0,
                "viscosity": 0.0024,
                "streaks": 14,
                "obstacles": [
                    {
                        "type": "cylinder",
                        "center": [0.9, 0.82, 0.0],
                        "axis": [0.0, 0.0, 1.0],
                        "radius": 0.15,
                        "height": 0.04,
                    }
                ],
            }
        ],
        "output": {"picture": {"color": "smoke", "camera": {"azimuth": 0, "elevation": 0}}},
    }


STARTERS = {
    "soft_ball": Starter("Soft ball", _soft_ball()),
    "rigid_pile": Starter("Rigid pile", _rigid_pile()),
    "water": Starter("Water", _water()),
    "smoke": Starter("Smoke", _smoke()),
    "wind_tunnel": Starter("Wind tunnel", _wind_tunnel()),
}
"""The scenes by their names."""

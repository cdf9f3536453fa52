"""Templates of the editor: primitive shapes as bodies of every kind, and material presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from continua.errors import InputError

__all__ = ["FORMULAS", "KINDS", "MATERIALS", "SHAPES", "new_object", "templates"]

SHAPES = {
    "box": "Box",
    "sphere": "Sphere",
    "cylinder": "Cylinder",
    "torus": "Torus",
    "cone": "Cone",
    "parametric": "Formula",
}
KINDS = {"soft": "Soft body", "rigid": "Rigid body", "fluid": "Fluid", "collider": "Collider"}

MATERIALS: dict[str, dict[str, Any]] = {
    "Rubber": {"type": "stable_neo_hookean", "young": 2e6, "poisson": 0.49, "density": 1100.0},
    "Liver": {"type": "corotated", "young": 6e3, "poisson": 0.45, "density": 1060.0},
    "Jelly": {"type": "corotated", "young": 2e4, "poisson": 0.4, "density": 1000.0},
    "Steel": {"type": "linear", "young": 2.1e11, "poisson": 0.29, "density": 7850.0},
    "Cork": {"type": "corotated", "young": 2e7, "poisson": 0.05, "density": 200.0},
}
"""Typical constants: rubber and steel from engineering tables, liver and gelatine from indentation tests."""

FORMULAS: dict[str, dict[str, Any]] = {
    "Pear": {
        "x": "(0.35 + 0.12*cos(pi*u)) * sin(pi*u) * cos(2*pi*v)",
        "y": "-0.5*cos(pi*u)",
        "z": "(0.35 + 0.12*cos(pi*u)) * sin(pi*u) * sin(2*pi*v)",
        "cells": [16, 32],
    },
    "Sphere": {
        "x": "0.5*sin(pi*u)*cos(2*pi*v)",
        "y": "0.5*cos(pi*u)",
        "z": "0.5*sin(pi*u)*sin(2*pi*v)",
        "cells": [16, 32],
    },
    "Torus": {
        "x": "(0.35 + 0.15*cos(2*pi*u)) * cos(2*pi*v)",
        "y": "0.15*sin(2*pi*u)",
        "z": "(0.35 + 0.15*cos(2*pi*u)) * sin(2*pi*v)",
        "cells": [16, 40],
    },
    "Cone": {
        "x": "0.5*min(3*u, 1)*(1 - max(3*u - 1, 0)/2)*cos(2*pi*v)",
        "y": "max(3*u - 1, 0)/2 - 0.5",
        "z": "0.5*min(3*u, 1)*(1 - max(3*u - 1, 0)/2)*sin(2*pi*v)",
        "cells": [18, 32],
    },
    "Cylinder": {
        "x": "0.4*min(4*min(u, 1 - u), 1)*cos(2*pi*v)",
        "y": "min(max(2*u - 0.5, 0), 1) - 0.5",
        "z": "0.4*min(4*min(u, 1 - u), 1)*sin(2*pi*v)",
        "cells": [16, 32],
    },
    "Star": {
        "x": "(0.4 + 0.1*cos(10*pi*v)*sin(pi*u)) * sin(pi*u) * cos(2*pi*v)",
        "y": "0.25*cos(pi*u)",
        "z": "(0.4 + 0.1*cos(10*pi*v)*sin(pi*u)) * sin(pi*u) * sin(2*pi*v)",
        "cells": [16, 60],
    },
}
"""Example surfaces, for u and v from 0 to 1."""

_MESHES: dict[str, dict[str, Any]] = {
    "box": {"type": "box", "size": [1.0, 1.0, 1.0], "cells": [4, 4, 4], "origin": [-0.5, -0.5, -0.5]},
    "sphere": {"type": "sphere", "radius": 0.5, "cells": 4},
    "cylinder": {"type": "cylinder", "radius": 0.5, "height": 1.0, "cells": [3, 6]},
    "torus": {"type": "torus", "radius": 0.5, "tube": 0.2, "cells": [2, 20]},
    "cone": {
        "type": "blob",
        "limbs": [{"start": [0.0, -0.2, 0.0], "end": [0.0, 0.45, 0.0], "radius": 0.4, "end_radius": 0.05}],
        "size": 0.12,
    },
    "parametric": {"type": "parametric", **FORMULAS["Pear"], "tetrahedralize": {"size": 0.12}},
}
_RIGID: dict[str, dict[str, Any]] = {
    "box": {"type": "box", "size": [1.0, 1.0, 1.0]},
    "sphere": {"type": "sphere", "radius": 0.5},
    "cylinder": {"type": "cylinder", "radius": 0.5, "height": 1.0},
    "torus": {"type": "torus", "radius": 0.5, "tube": 0.2},
    "parametric": {"type": "mesh", "mesh": {"type": "parametric", **FORMULAS["Pear"]}},
}
_HALF_HEIGHTS = {"torus": 0.2, "cone": 0.6}


def templates() -> dict[str, Any]:
    """Return all templates, ready for JSON."""
    return {
        "shapes": SHAPES,
        "kinds": KINDS,
        "materials": MATERIALS,
        "formulas": FORMULAS,
        "shapesByKind": {kind: [shape for shape in SHAPES if _is_available(kind, shape)] for kind in KINDS},
    }


def _is_available(kind: str, shape: str) -> bool:
    return shape in (_RIGID if kind == "rigid" else _MESHES)


def new_object(
    kind: str, shape: str, data: Mapping[str, Any], low: Any, high: Any
) -> tuple[str, dict[str, Any]]:
    """Return the list of the scene and the entry for a new object, placed beside all others.

    Args:
        kind: One of `KINDS`.
        shape: One of `SHAPES`.
        data: The scene.
        low: Lower corner of the bounding box of the scene [m], or None.
        high: Upper corner.
    """
    if kind not in KINDS or shape not in SHAPES or not _is_available(kind, shape):
        raise InputError(f"a {shape} cannot be added as {KINDS.get(kind, kind).lower()}")
    name = _free_name(shape, data)
    beside = 0.0 if low is None else round(float(high[0]) + 0.75, 3)
    bottom = 0.0 if low is None else round(float(low[1]), 3)
    position = [beside, bottom + _HALF_HEIGHTS.get(shape, 0.5), 0.0]
    transform = {"translate": position}
    match kind:
        case "soft":
            body: dict[str, Any] = {
                "type": "soft",
                "name": name,
                "mesh": _MESHES[shape],
                "transform": transform,
            }
            body["material"] = MATERIALS["Jelly"]
            body["damping"] = {"mass": 0.5, "stiffness": 0.01}
            return "bodies", body
        case "rigid":
            return "bodies", {"type": "rigid", "name": name, "shape": _RIGID[shape], "transform": transform}
        case "fluid":
            fluid: dict[str, Any] = {"type": "fluid", "name": name}
            if shape == "box":
                low_corner = [position[0] - 0.5, bottom, -0.5]
                return "bodies", {
                    **fluid,
                    "block": {"min": low_corner, "max": [position[0] + 0.5, bottom + 1.0, 0.5]},
                    "particle_radius": 0.05,
                }
            return "bodies", {
                **fluid,
                "mesh": _MESHES[shape],
                "transform": transform,
                "particle_radius": 0.05,
            }
    obstacle: dict[str, Any] = {"type": shape, "name": name}
    match shape:
        case "sphere":
            return "colliders", {**obstacle, "center": position, "radius": 0.5}
        case "box" | "cylinder":
            return "colliders", {**obstacle, "center": position}
    return "colliders", {"type": "mesh", "name": name, "mesh": _MESHES[shape], "transform": transform}


def _free_name(base: str, data: Mapping[str, Any]) -> str:
    taken = {entry.get("name") for key in ("bodies", "colliders") for entry in data.get(key, [])}
    return next(name for name in [base, *(f"{base}-{n}" for n in range(2, 10_000))] if name not in taken)

"""New entries of scenes from primitive shapes, one function for each kind of body, and material presets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "FORMULAS",
    "HALF_HEIGHTS",
    "MATERIALS",
    "MESHES",
    "cloth",
    "fluid",
    "liquid",
    "position_based",
    "rigid_body",
    "shell",
    "smoke",
    "soft_body",
    "springs",
    "wind_tunnel",
]

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

MESHES: dict[str, dict[str, Any]] = {
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
HALF_HEIGHTS = {"torus": 0.2, "cone": 0.6}
"""Distance of the middle of a shape from its lowest point [m], where it is not 0.5."""


def soft_body(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a soft body of jelly."""
    return {
        "type": "soft",
        "name": name,
        "mesh": MESHES[shape],
        "transform": {"translate": list(position)},
        "material": MATERIALS["Jelly"],
        "damping": {"mass": 0.5, "stiffness": 0.01},
    }


def cloth(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a sheet of cloth that hangs from two corners, a tube, or a balloon."""
    x = position[0]
    entry: dict[str, Any] = {"type": "cloth", "name": name, "damping": {"mass": 0.5, "stiffness": 0.002}}
    if shape == "sheet":
        corners = [
            {"where": {"type": "sphere", "center": [x + s, ground + 1.0, -0.5], "radius": 0.001}}
            for s in (-0.5, 0.5)
        ]
        return {
            **entry,
            "mesh": {"type": "sheet"},
            "transform": {"translate": [x, ground + 1.0, 0.0]},
            "fabric": {"like": "interlock"},
            "pin": corners,
        }
    place = {"translate": [x, ground + 0.6, 0.0]}
    if shape == "tube":
        return {
            **entry,
            "mesh": {"type": "tube", "radius": 0.3},
            "transform": place,
            "fabric": {"like": "denim"},
        }
    return {
        **entry,
        "mesh": {"type": "sphere", "radius": 0.4},
        "transform": place,
        "inflate": {"pressure": 300.0, "gas": True},
    }


def shell(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a plate of plastic that is clamped at one end, or a pipe."""
    entry: dict[str, Any] = {
        "type": "shell",
        "name": name,
        "thickness": 0.002,
        "damping": {"mass": 0.5, "stiffness": 0.001},
    }
    if shape == "plate":
        return {
            **entry,
            "mesh": {"type": "sheet", "size": [1.0, 0.4], "cells": [20, 9]},
            "transform": {"translate": [position[0], ground + 1.0, 0.0]},
            "clamped": "left",
        }
    return {
        **entry,
        "mesh": {"type": "tube", "radius": 0.2, "height": 0.6, "cells": [24, 12]},
        "transform": {"translate": [position[0], ground + 0.6, 0.0]},
    }


def rigid_body(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a rigid body."""
    return {
        "type": "rigid",
        "name": name,
        "shape": _RIGID[shape],
        "transform": {"translate": list(position)},
    }


def _network(shape: str) -> dict[str, Any]:
    """Return a network of springs of about 1 m."""
    if shape == "rope":
        return {"type": "line", "start": [-0.5, 0.0, 0.0], "end": [0.5, 0.0, 0.0], "springs": 20}
    if shape == "sheet":
        return {"type": "sheet", "size": [1.0, 1.0], "cells": [16, 16]}
    return {"type": "lattice", "size": [1.0, 1.0, 1.0], "cells": [3, 3, 3]}


def springs(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a mass-spring body."""
    return {
        "type": "springs",
        "name": name,
        "network": _network(shape),
        "transform": {"translate": list(position)},
        "mass": 1.0,
        "stiffness": 500.0,
        "spring_damping": 2.0,
    }


def position_based(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a position-based body."""
    return {
        "type": "position_based",
        "name": name,
        "network": _network(shape),
        "transform": {"translate": list(position)},
        "mass": 1.0,
    }


def fluid(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a particle fluid; a box of it stands on the ground."""
    entry: dict[str, Any] = {"type": "fluid", "name": name}
    if shape == "box":
        x = position[0]
        entry["block"] = {"min": [x - 0.5, ground, -0.5], "max": [x + 0.5, ground + 1.0, 0.5]}
    else:
        entry |= {"mesh": MESHES[shape], "transform": {"translate": list(position)}}
    return {**entry, "particle_radius": 0.05}


def smoke(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a box of air on the ground, in which warm smoke rises."""
    x = position[0]
    return {
        "type": "smoke",
        "name": name,
        "size": [1.0, 1.5, 1.0],
        "cells": [32, 48, 32],
        "origin": [x - 0.5, ground, -0.5],
        "inflow": [
            {
                "shape": {"type": "sphere", "center": [x, ground + 0.15, 0.0], "radius": 0.11},
                "temperature": 45.0,
                "velocity": [0.0, 0.7, 0.0],
            }
        ],
        "confinement": 0.3,
        "sides": dict.fromkeys(("top", "left", "right", "back", "front"), "open"),
    }


def liquid(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a tank on the ground, with a column of water at its left wall."""
    left, back = position[0] - 0.5, -0.5
    return {
        "type": "liquid",
        "name": name,
        "size": [1.0, 1.0, 1.0],
        "cells": [32, 32, 32],
        "origin": [left, ground, back],
        "blocks": [{"min": [left, ground, back], "max": [left + 0.4, ground + 0.75, back + 1.0]}],
        "sides": {"top": "open"},
        "color": "#2f7fd1",
    }


def wind_tunnel(shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
    """Return a plane wind tunnel above the ground, with a round post."""
    left = position[0] - 0.5
    return {
        "type": "wind_tunnel",
        "name": name,
        "size": [3.0, 1.2],
        "cells": [150, 60],
        "origin": [left, ground],
        "speed": 1.0,
        "viscosity": 0.0024,
        "streaks": 10,
        "obstacles": [
            {
                "type": "cylinder",
                "center": [left + 0.7, ground + 0.61, 0.0],
                "axis": [0.0, 0.0, 1.0],
                "radius": 0.12,
                "height": 0.04,
            }
        ],
    }

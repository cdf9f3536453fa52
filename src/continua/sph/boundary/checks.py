"""Checks of the start: particles must fit into containers and lie outside of boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry import Plane, Shape
from continua.sph.boundary.interface import Boundary
from continua.sph.boundary.map_boundary import shape_bounds
from continua.sph.emitters import Emitter
from continua.sph.fluid import DEFAULT_MAX_DT

__all__ = ["check_clearance", "check_emitters", "check_longest_step", "check_start"]

_TOLERANCE = 1e-6  # of the diameter: how deep a particle may start inside a boundary


def check_clearance(shape: Shape, diameter: float) -> None:
    """Raise InputError if a container is too narrow for the particles."""
    if isinstance(shape, Plane) or not getattr(shape, "inside", False):
        return
    size: Any = getattr(shape, "size", None)
    if size is None:
        low, high = shape_bounds(shape)
        size = np.round(high - low, 6).tolist()
    if min(size) < 2.0 * diameter:
        raise InputError(
            f"particles of radius {0.5 * diameter:g} m are too large for a {shape.kind} of size {list(size)} m; "
            "use a smaller particle_radius"
        )


def check_start(
    boundaries: Sequence[Boundary], name: str, points: NDArray[np.float64], diameter: float, time: float
) -> None:
    """Raise InputError if fluid starts inside a boundary."""
    for boundary in boundaries:
        distances = boundary.signed_distances(points, time) if len(points) else np.zeros(0)
        inside = int((distances < -_TOLERANCE * diameter).sum())
        if inside:
            raise InputError(
                f"{inside} of {len(points)} particles of '{name}' start inside {boundary.name}; move the fluid or the "
                f"{'body' if boundary.name.startswith(chr(39)) else 'collider'} apart"
            )


def check_longest_step(name: str, max_dt: float, diameter: float, gravity: float) -> None:
    """Raise InputError if gravity [m/s2] moves particles by more than their diameter in the longest sub-step."""
    longest = max(DEFAULT_MAX_DT, sqrt(diameter / gravity)) if gravity > 0.0 else inf
    if max_dt > longest:
        raise InputError(
            f"max_dt of '{name}' is {max_dt:g} s, in which gravity moves particles by {gravity * max_dt**2:.3g} m, "
            f"more than their diameter of {diameter:g} m; use at most {0.99 * longest:.2g} s"
        )


def check_emitters(
    boundaries: Sequence[Boundary], name: str, emitters: Sequence[Emitter], diameter: float
) -> None:
    """Raise InputError if particles of an emitter would enter inside a boundary, as outside of a tank."""
    for number, emitter in enumerate(emitters, 1):
        points = emitter.layer(diameter)
        for boundary in boundaries:
            inside = int((boundary.signed_distances(points, emitter.start) < -0.5 * diameter).sum())
            if inside:
                which = f"emitter {number} of '{name}'" if len(emitters) > 1 else f"the emitter of '{name}'"
                raise InputError(
                    f"{which} lies inside {boundary.name}: {inside} of {len(points)} particles of its opening do; "
                    "move its center (a shape with 'inside: true' is solid outside)"
                )

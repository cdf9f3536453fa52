"""Bodies that start inside a collider or another body: a sentence refuses them, or notes that they are pushed out.

Overlaps of soft bodies with each other, and of their surfaces with the edges and corners of others, are checked where
these surfaces are: `surface_contacts`, `rigid_surfaces`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import ContactPairTable
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.surface_contacts import MOVE_APART, NOTE_FRACTION
from continua.errors import InputError
from continua.geometry import Plane, Shape
from continua.rigid import RigidSystem

__all__ = ["check_colliders", "check_rigid_bodies"]


_ROUNDING = 1e-9  # of the size of a body


@dataclass(frozen=True)
class _Overlap:
    """An overlap of two participants, by their names, and its depth [m]."""

    one: str
    other: str
    depth: float


def check_colliders(
    bodies: Sequence[DeformableAdapter],
    shapes: Sequence[Shape],
    table: ContactPairTable,
    first_collider: int,
    time: float,
    only: frozenset[int] | None = None,
) -> str:
    """Return a note on deformable bodies that start partly inside colliders, or an empty string.

    InputError is raised for one that lies entirely inside a solid shape, and for one that lies behind a plane or
    outside of a hollow shape by more than its own size. With `only`, pairs count in which one of these numbers takes
    part.
    """
    found = []
    for body in bodies:
        _, points = body.candidate_nodes
        for k, shape in enumerate(shapes):
            if not len(points) or not table.collide[body.number, first_collider + k]:
                continue
            if only is not None and only.isdisjoint((body.number, first_collider + k)):
                continue
            name = _collider_name(k, shape)
            depth = -shape.distances_at(points, time, 0.0)[0]
            _check_contained(f"body '{body.name}'", name, depth, points, shape)
            if depth.max() > NOTE_FRACTION * body.size:
                found.append(_Overlap(f"body '{body.name}'", name, float(depth.max())))
    return _note(found)


def check_rigid_bodies(system: RigidSystem, time: float, only: frozenset[int] | None = None) -> str:
    """Return a note on rigid bodies that start inside each other or inside colliders, or an empty string.

    InputError is raised for one that lies entirely inside another or inside a solid shape, and for one that lies behind
    a plane or outside of a hollow shape by more than its own size. With `only`, pairs count in which one of these
    rigid bodies takes part, or of the colliders, which are numbered after them.
    """
    state = system.rigid_state
    saved = [(array, array.copy()) for array in (state.X, state.Q, state.R, state.V)]
    state.set_kinematic(time, 0.0)  # a prescribed motion need not begin at the rest pose
    try:
        return _check_rigid_poses(system, time, only)
    finally:
        for array, values in saved:
            array[:] = values


def _check_rigid_poses(system: RigidSystem, time: float, only: frozenset[int] | None) -> str:
    state, detector = system.rigid_state, system.stateless_detector
    counts = np.array([only is None or owner in only for owner in state.owner.tolist()], np.bool_)
    pairs = detector.broad_phase(0.0, 0.0)
    pairs = pairs[counts[pairs].any(axis=1)]
    for a, b in pairs[_may_contain(system, pairs)].tolist():
        _check_instances(system, a, b, time)
    touching, depth = detector.penetrations()
    new = counts[touching].any(axis=1)
    touching, depth = touching[new], depth[new]
    deep = depth > NOTE_FRACTION * 2.0 * state.min_radius[touching].min(axis=1, initial=np.inf)
    return _note(
        [
            _Overlap(_instance_name(system, min(a, b)), _instance_name(system, max(a, b)), deepest)
            for (a, b), deepest in zip(touching[deep].tolist(), depth[deep].tolist(), strict=True)
        ]
    )


def _may_contain(system: RigidSystem, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which pairs of instances are so close that one may be inside the other."""
    state = system.rigid_state
    a, b = pairs.T
    distance = np.linalg.norm(state.X[a] - state.X[b], axis=1)
    within = distance + np.minimum(state.min_radius[a], state.min_radius[b]) <= np.maximum(
        state.radius[a], state.radius[b]
    )
    return within | (b >= state.count)


def _check_instances(system: RigidSystem, a: int, b: int, time: float) -> None:
    """Raise InputError if one instance lies entirely inside the other, or inside a collider."""
    state = system.rigid_state
    for inner, outer in ((a, b), (b, a)):
        if inner >= state.count:
            continue
        body = state.bodies[state.owner[inner]]
        points = body.geometry.surface.points @ state.R[inner].reshape(3, 3).T + state.X[inner]
        if outer < state.count:
            shape: Shape = state.bodies[state.owner[outer]].geometry.local_shape()
            depth = -shape.distances((points - state.X[outer]) @ state.R[outer].reshape(3, 3))[0]
        else:
            shape = state.colliders[state.owner[outer] - len(state.bodies)]
            depth = -shape.distances_at(points, time, 0.0)[0]
        _check_contained(_instance_name(system, inner), _instance_name(system, outer), depth, points, shape)


def _check_contained(
    name: str, other: str, depth: NDArray[np.float64], points: NDArray[np.float64], shape: Shape
) -> None:
    """Raise InputError if points with these depths [m] are all inside a shape, farther than contact pushes them out."""
    unbounded = isinstance(shape, Plane) or getattr(shape, "inside", False)
    least, size = float(depth.min()), float(np.ptp(points, axis=0).max())
    if unbounded and least > size:
        raise InputError(f"{name} starts {least:.3g} m behind {other}; {MOVE_APART}")
    if not unbounded and least > -_ROUNDING * size:
        raise InputError(
            f"{name} starts entirely inside {other}, {max(0.0, depth.max()):.3g} m deep; {MOVE_APART}"
        )


def _collider_name(k: int, shape: Shape) -> str:
    return f"collider '{shape.name}'" if shape.name else f"collider {k + 1} ({shape.kind})"


def _instance_name(system: RigidSystem, i: int) -> str:
    state = system.rigid_state
    owner = int(state.owner[i])
    if owner >= len(state.bodies):
        number = owner - len(state.bodies)
        return _collider_name(number, state.colliders[number])
    body = state.bodies[owner]
    which = f" (number {i - int(state.starts[owner])})" if body.count > 1 else ""
    return f"rigid body '{body.name}'{which}"


def _note(found: Sequence[_Overlap]) -> str:
    """Return a sentence on the deepest overlap, and on how many others there are."""
    if not found:
        return ""
    worst = max(found, key=lambda overlap: overlap.depth)
    more = "" if len(found) == 1 else f" (and {len(found) - 1} more pairs overlap)"
    return (
        f"{worst.one} starts {worst.depth:.3g} m inside {worst.other}{more}; contact pushes it out in the first steps: "
        f"{MOVE_APART}"
    )

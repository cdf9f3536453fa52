"""A gear as a collider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry.shape import Shape
from continua.numerics.rotations import axis_frame
from continua.validation import whole_number

__all__ = ["Gear"]

_MAX_TEETH = 10_000


@dataclass(frozen=True)
class Gear(Shape):
    """A toothed wheel: teeth with rounded flanks around a disc.

    Attributes:
        center: Centre [m].
        axis: Direction of the axle.
        radius: Mean radius [m].
        width: Length along the axle [m].
        teeth: Number of teeth.
        depth: Height of a tooth from foot to tip [m].
    """

    kind = "gear"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    _: KW_ONLY
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    radius: float = 1.0
    width: float = 1.0
    teeth: int = 12
    depth: float = 0.2

    def __post_init__(self) -> None:
        self.check_options()
        self._check_vectors("center")
        self._check_direction("axis")
        self._check_lengths("radius", "width", "depth")
        self._set("teeth", whole_number(self.teeth, "a gear's number of teeth", low=3, high=_MAX_TEETH))
        if self.depth >= self.radius:
            raise InputError(f"a gear's teeth must be less deep than its radius {self.radius:g} m")

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return distances, near the surface exact to second order, and normals of the flanks and the sides."""
        frame = self._frame()
        with np.errstate(over="ignore", invalid="ignore"):
            x, y, z = ((self._points(points) - np.asarray(self.center)) @ frame).T
            rho = np.maximum(np.hypot(x, y), 1e-9 * self.radius)
            profile, slope = self._profile(np.arctan2(y, x))
            tilt = slope / rho
            scale = 1.0 / np.sqrt(1.0 + tilt * tilt)
            rim = (rho - profile) * scale
            flank = np.stack([x + tilt * y, y - tilt * x, np.zeros_like(x)], axis=1) * (scale / rho)[:, None]
        side = np.abs(z) - 0.5 * self.width
        flat = np.zeros_like(flank)
        flat[:, 2] = np.where(z < 0.0, -1.0, 1.0)
        normals = np.where((side > rim)[:, None], flat, flank)
        return np.maximum(rim, side), normals @ frame.T

    def description(self) -> Mapping[str, object]:
        """Return the gear as a mesh of triangles."""
        around = 24 * self.teeth
        angle = 2.0 * np.pi * np.arange(around) / around
        profile, _ = self._profile(angle)
        ring = np.stack([profile * np.cos(angle), profile * np.sin(angle)], axis=1)
        half = 0.5 * self.width
        local = np.concatenate(
            [np.column_stack([ring, np.full(around, h)]) for h in (-half, half)]
            + [np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])]
        )
        i = np.arange(around)
        j = (i + 1) % around
        parts = [(i, j, j + around), (i, j + around, i + around)]
        parts += [
            (j, i, np.full(around, 2 * around)),
            (i + around, j + around, np.full(around, 2 * around + 1)),
        ]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int32)
        points = local @ self._frame().T + np.asarray(self.center)
        return {"kind": "mesh", "points": points, "triangles": triangles}

    def _frame(self) -> NDArray[np.float64]:
        """Return two directions across the axle and the axle, as columns."""
        return np.ascontiguousarray(axis_frame(np.asarray(self.axis)).T)

    def _profile(self, angle: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the radius [m] at an angle and its derivative [m/rad]."""
        steep = 2.0
        wave, change = np.sin(self.teeth * angle), self.teeth * np.cos(self.teeth * angle)
        tooth = np.tanh(steep * wave) / np.tanh(steep)
        slope = steep * (1.0 - np.tanh(steep * wave) ** 2) / np.tanh(steep) * change
        return self.radius + 0.5 * self.depth * tooth, 0.5 * self.depth * slope

"""The perspective camera, and how it is fitted so that a run fills the picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError

__all__ = ["Camera", "fit_camera"]

_FIELD_OF_VIEW = 26.0
_ELEVATION = 19.0
_AZIMUTH = 33.0


def _vector(value: Any, what: str) -> tuple[float, float, float]:
    array = np.asarray(value, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"the camera's {what} must be three finite numbers, not {value!r}")
    return (float(array[0]), float(array[1]), float(array[2]))


@dataclass(frozen=True, slots=True)
class Camera:
    """A perspective camera.

    Attributes:
        position: Eye point [m].
        target: Point looked at [m]; the centre of the picture.
        up: Up direction of the picture.
        fov: Vertical field of view [degrees].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)
    fov: float = _FIELD_OF_VIEW

    def __post_init__(self) -> None:
        for what in ("position", "target", "up"):
            object.__setattr__(self, what, _vector(getattr(self, what), what))
        if not 1.0 <= self.fov <= 150.0:
            raise InputError(f"the camera's field of view must be from 1 to 150 degrees, not {self.fov}")
        forward = np.subtract(self.target, self.position)
        if not np.linalg.norm(np.cross(forward, self.up)) > 1e-9 * np.linalg.norm(forward):
            raise InputError(
                "the camera's target must differ from its position and must not lie along its up axis"
            )

    @property
    def axes(self) -> NDArray[np.float64]:
        """The unit vectors right, up and forward as rows, shape [3, 3]."""
        forward = np.subtract(self.target, self.position)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, self.up)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    @property
    def distance(self) -> float:
        """Distance from the eye to the target [m]."""
        return float(np.linalg.norm(np.subtract(self.target, self.position)))

    def focal(self, height: int) -> float:
        """Return the focal length in pixels for a picture of `height` pixels."""
        return 0.5 * height / float(np.tan(np.radians(self.fov) / 2))

    def to_camera_space(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return points in camera space: right, up and forward of the eye [m], shape [n, 3]."""
        return (np.asarray(points, dtype=float) - self.position) @ self.axes.T

    def project(self, points: ArrayLike, size: tuple[int, int]) -> NDArray[np.float64]:
        """Project points into the picture.

        Args:
            points: Positions [m], shape [n, 3].
            size: Width and height of the picture in pixels.

        Returns:
            x from the left and y from the top in pixels, and the depth in front of the eye [m], per point,
            shape [n, 3].
        """
        seen = self.to_camera_space(points)
        focal = self.focal(size[1])
        depth = seen[:, 2:]
        flat = seen[:, :2] / depth * [focal, -focal] + np.asarray(size) / 2
        return np.hstack([flat, depth])

    @classmethod
    def of(cls, options: Camera | Mapping[str, Any] | None, points: NDArray, size: tuple[int, int]) -> Camera:
        """Make a camera from user options.

        Args:
            options: A camera; or a mapping with "position" and "target" (and "up", "fov"), or with "azimuth"
                and "elevation" [degrees] and "fov" for a camera fitted to the points; or None.
            points: Points that must be visible [m], shape [n, 3].
            size: Width and height of the picture in pixels.
        """
        if isinstance(options, Camera):
            return options
        given = dict(options or {})
        placed = {"position", "target", "up", "fov"}
        fitted = {"azimuth", "elevation", "fov"}
        if "position" in given and set(given) <= placed:
            if "target" not in given:
                low, high = points.min(axis=0), points.max(axis=0)
                given["target"] = (low + high) / 2
            return cls(**given)
        if set(given) <= fitted:
            return fit_camera(points, size, **given)
        raise InputError(
            f"the camera cannot be made from {', '.join(sorted(given))}; "
            "give position and target, or azimuth and elevation"
        )


def fit_camera(
    points: NDArray[np.float64],
    size: tuple[int, int],
    *,
    azimuth: float | None = None,
    elevation: float = _ELEVATION,
    fov: float = _FIELD_OF_VIEW,
) -> Camera:
    """Place a camera so that all points are in the picture, with space for the legend at the right.

    Args:
        points: Points that must be visible [m], shape [n, 3].
        size: Width and height of the picture in pixels.
        azimuth: Angle about the y axis from z towards x [degrees]; by default a three-quarter view of the
            longer side.
        elevation: Angle above the horizon [degrees].
        fov: Vertical field of view [degrees].
    """
    low, high = points.min(axis=0), points.max(axis=0)
    extent = high - low
    if azimuth is None:
        azimuth = 90.0 - _AZIMUTH if extent[2] > 1.5 * extent[0] else _AZIMUTH
    if not -89.0 <= elevation <= 89.0:
        raise InputError(f"the camera's elevation must be from -89 to 89 degrees, not {elevation}")
    turn, tilt = np.radians(azimuth), np.radians(elevation)
    back = np.array([np.sin(turn) * np.cos(tilt), np.sin(tilt), np.cos(turn) * np.cos(tilt)])
    radius = max(float(np.linalg.norm(extent)) / 2, 1e-9)
    target = (low + high) / 2
    half = np.tan(np.radians(fov) / 2)
    aspect = size[0] / size[1]
    # Margins as fractions of half the picture: left, right, bottom, top.
    edges = np.array([-0.86 * half * aspect, 0.74 * half * aspect, -0.74 * half, 0.80 * half])
    distance = 4.0 * radius / half
    for _ in range(30):
        camera = Camera(tuple(target + distance * back), tuple(target), fov=fov)
        seen = camera.to_camera_space(points)
        slope = seen[:, :2] / seen[:, 2:]
        box = np.array([slope[:, 0].min(), slope[:, 0].max(), slope[:, 1].min(), slope[:, 1].max()])
        right, up, _ = camera.axes
        middle = np.array([box[0] + box[1] - edges[0] - edges[1], box[2] + box[3] - edges[2] - edges[3]]) / 2
        target = target + distance * (middle[0] * right + middle[1] * up)
        grow = max((box[1] - box[0]) / (edges[1] - edges[0]), (box[3] - box[2]) / (edges[3] - edges[2]))
        distance = max(distance * grow, 1.05 * radius)
    return Camera(tuple(target + distance * back), tuple(target), fov=fov)

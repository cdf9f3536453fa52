"""A 3-D image in the undeformed body, sampled at the rest position of each material point.

A scan has far finer detail than a mesh. So its values are not stored at the nodes: each point inside an element has a
rest position, at which the image is sampled (Georgii 2007).
"""

from __future__ import annotations

import logging
import math
import os
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import ContinuaError, InputError, MissingExtraError, shortened
from continua.file_input import check_file
from continua.pickling import KeepsReadOnlyArrays
from continua.short_repr import ShortRepr

__all__ = ["Voxels", "read_voxels"]

_MAX_BYTES = 8 << 30


@dataclass(frozen=True, eq=False, repr=False)
class Voxels(ShortRepr, KeepsReadOnlyArrays):
    """A 3-D image in space.

    Attributes:
        values: One number per voxel, float32, shape [nx, ny, nz].
        origin: Corner of the image with the smallest coordinates [m].
        spacing: Size of a voxel along x, y and z [m].
    """

    values: NDArray[np.float32]
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        try:
            with np.errstate(over="ignore"):  # too large a number becomes infinite, and is refused below
                values = np.ascontiguousarray(self.values, dtype=np.float32)
        except (TypeError, ValueError):
            values = np.zeros(0, np.float32)
        if values.ndim != 3 or min(values.shape) < 1 or not np.isfinite(values).all():
            raise InputError("voxels must be finite numbers in an array of shape [nx, ny, nz]")
        spacing = _triple(self.spacing, "the spacing of voxels")
        if min(spacing) <= 0.0:
            raise InputError(f"the spacing of voxels must be positive, not {spacing}")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "origin", _triple(self.origin, "the origin of voxels"))
        object.__setattr__(self, "spacing", spacing)

    @classmethod
    def around(cls, values: ArrayLike, bounds: ArrayLike) -> Voxels:
        """Return an image that fills a box, from its smallest to its largest coordinates [m], shape [2, 3]."""
        low, high = np.asarray(bounds, dtype=np.float64)
        image = np.asarray(values, dtype=np.float32)
        shape = image.shape if image.ndim == 3 and image.size else (1, 1, 1)  # others are refused below
        spacing = (high - low) / np.array(shape)
        return cls(image, tuple(low.tolist()), tuple(spacing.tolist()))

    def sample(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return values at points of the image [m], shape [n, 3], trilinear between the centres of voxels.

        Beyond the outermost centres the nearest value is used, outside of the image 0.
        """
        from scipy.ndimage import map_coordinates  # slow to import, and rarely needed

        at = (np.asarray(points, dtype=np.float64) - self.origin) / self.spacing - 0.5
        values = map_coordinates(
            self.values, at.T, order=1, mode="nearest", output=np.float64, prefilter=False
        )
        shape = np.array(self.values.shape)
        outside = ((at < -0.5 - 1e-9) | (at > shape - 0.5 + 1e-9)).any(axis=1)
        return np.where(outside, 0.0, values)


def _triple(given: ArrayLike, what: str) -> tuple[float, float, float]:
    numbers = np.asarray(given, dtype=np.float64)
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise InputError(f"{what} must be three finite numbers, not {given!r}")
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def read_voxels(
    path: str | os.PathLike[str], origin: ArrayLike | None = None, spacing: ArrayLike | None = None
) -> Voxels:
    """Read a 3-D image.

    Args:
        path: A NumPy file (.npy, or .npz with `values` and maybe `origin` and `spacing`), or VTK image data (.vti,
            through the `render` extra).
        origin: Corner with the smallest coordinates [m], instead of the file's.
        spacing: Size of a voxel [m], instead of the file's.
    """
    path = check_file(path)
    try:
        values, at, step = _read(path)
    except ContinuaError:
        raise
    except Exception as error:  # a damaged file makes NumPy, zipfile and VTK raise anything
        reason = shortened(" ".join(str(error).split()), 120)
        raise InputError(f"cannot be read as a 3-D image ({reason})", where=str(path)) from None
    return Voxels(
        values,
        _triple(at if origin is None else origin, "the origin of voxels"),
        _triple(step if spacing is None else spacing, "the spacing of voxels"),
    )


def _read(path: Path) -> tuple[NDArray, ArrayLike, ArrayLike]:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        # unlike a plain load, a mapped one compares the header with the size of the file
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False)), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    if suffix == ".npz":
        with zipfile.ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > _MAX_BYTES:
                raise ValueError(f"it holds more than {_MAX_BYTES >> 30} GB")
        with np.load(path, allow_pickle=False) as data:
            values = data["values"]
            return values, data.get("origin", np.zeros(3)), data.get("spacing", np.ones(3))
    if suffix != ".vti":
        raise ValueError("the ending must be .npy, .npz or .vti")
    try:
        import pyvista
    except ImportError:
        raise MissingExtraError("Reading VTK images", "render") from None
    _check_extents(path)
    with _quiet(), pyvista.VtkErrorCatcher(raise_errors=True, send_to_logging=False):
        image = pyvista.read(path)
    step = np.array(image.spacing)
    if image.cell_data:
        values = np.asarray(image.cell_data[image.cell_data.keys()[0]])
        return values.reshape(np.array(image.dimensions) - 1, order="F"), image.origin, step
    values = np.asarray(image.point_data[image.point_data.keys()[0]])
    return values.reshape(image.dimensions, order="F"), np.array(image.origin) - 0.5 * step, step


def _check_extents(path: Path) -> None:
    """Raise ValueError if VTK would ask for more memory than an image can need, which ends the process."""
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    for extent in re.findall(rb'Extent="([^"]*)"', head):
        low_high = [int(word) for word in extent.split()]
        if len(low_high) != 6:
            raise ValueError("an extent needs six numbers")
        if math.prod(max(b - a + 1, 1) for a, b in zip(low_high[::2], low_high[1::2])) > _MAX_BYTES // 4:
            raise ValueError(f"it holds more than {_MAX_BYTES >> 30} GB")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep VTK from printing its errors, of which one is raised."""
    from vtkmodules.vtkCommonCore import vtkLogger

    verbosity, disabled = vtkLogger.GetCurrentVerbosityCutoff(), logging.root.manager.disable
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        vtkLogger.SetStderrVerbosity(verbosity)

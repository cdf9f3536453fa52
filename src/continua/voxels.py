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
from continua.validation import array, file_path, positive_triple, triple

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
        values = _image(self.values)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "origin", triple(self.origin, "the origin of voxels"))
        object.__setattr__(
            self, "spacing", positive_triple(self.spacing, "each number of the spacing of voxels")
        )

    @classmethod
    def around(cls, values: ArrayLike, bounds: ArrayLike) -> Voxels:
        """Return an image that fills a box, from its smallest to its largest coordinates [m], shape [2, 3]."""
        low, high = array(bounds, "the bounds of voxels", (2, 3))
        image = _image(values)
        spacing = (high - low) / np.array(image.shape)
        return cls(image, tuple(low.tolist()), tuple(spacing.tolist()))

    def sample(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return values at points of the image [m], shape [n, 3], trilinear between the centres of voxels.

        Beyond the outermost centres the nearest value is used, outside of the image 0.
        """
        from scipy.ndimage import map_coordinates  # slow to import, and rarely needed

        at = (array(points, "the points of voxels", (None, 3)) - self.origin) / self.spacing - 0.5
        values = map_coordinates(
            self.values, at.T, order=1, mode="nearest", output=np.float64, prefilter=False
        )
        shape = np.array(self.values.shape)
        outside = ((at < -0.5 - 1e-9) | (at > shape - 0.5 + 1e-9)).any(axis=1)
        return np.where(outside, 0.0, values)


def _image(values: ArrayLike) -> NDArray[np.float32]:
    """Return the values of voxels as a new array."""
    return array(values, "voxels", (None, None, None), empty=False, dtype=np.float32)


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
    path = check_file(file_path(path, "the path of voxels"))
    try:
        values, at, step = _read(path)
    except ContinuaError:
        raise
    except Exception as error:  # a damaged file makes NumPy, zipfile and VTK raise anything
        reason = shortened(" ".join(str(error).split()), 120)
        raise InputError(f"cannot be read as a 3-D image ({reason})", where=str(path)) from None
    return Voxels(
        values,
        triple(at if origin is None else origin, "the origin of voxels"),
        triple(step if spacing is None else spacing, "the spacing of voxels"),
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

"""Continua: the physics of continua, in real time, on an ordinary CPU.

A scene describes, a world simulates, frames flow out to sinks::

    import continua as ct

    beam = ct.SoftBody(ct.mesh.box(size=(1, 0.25, 0.25), cells=(16, 4, 4)), order=2)
    beam.pin(where=lambda x: x[:, 0] < 1e-6)
    world = ct.World([beam])
    for frame in world.run(seconds=2.0, fps=60):
        print(frame.time, frame["beam"].positions.min(axis=0))
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from continua import mesh
from continua.contact import Plane, Sphere
from continua.errors import ContinuaError, DivergedError, InputError, MissingExtraError
from continua.frames import BodyFrame, Field, Frame, RunInfo, Sink, StepReport
from continua.linalg import PCG
from continua.mesh import SurfaceMesh, TetMesh
from continua.numerics import get_threads, set_threads
from continua.solids import Corotated, Linear, Motion, SoftBody
from continua.surroundings import Wind
from continua.world import World

if TYPE_CHECKING:
    from continua.scene import Scene, load_scene

__version__ = _version("continua")

__all__ = [
    "PCG",
    "BodyFrame",
    "ContinuaError",
    "Corotated",
    "DivergedError",
    "Field",
    "Frame",
    "InputError",
    "Linear",
    "MissingExtraError",
    "Motion",
    "Plane",
    "RunInfo",
    "Scene",
    "Sink",
    "SoftBody",
    "Sphere",
    "StepReport",
    "SurfaceMesh",
    "TetMesh",
    "Wind",
    "World",
    "__version__",
    "get_threads",
    "load_scene",
    "mesh",
    "set_threads",
]


def __getattr__(name: str) -> Any:
    """Load the scene room only when it is asked for: it brings pydantic, which a script may not need."""
    if name in ("Scene", "load_scene"):
        from continua import scene

        return getattr(scene, name)
    raise AttributeError(f"module 'continua' has no attribute {name!r}")

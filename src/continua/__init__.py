"""Continua: the physics of continua, in real time, on an ordinary CPU.

A scene describes, a world simulates, frames flow out to sinks::

    import continua as ct

    beam = ct.SoftBody(ct.mesh.box(size=(1, 0.25, 0.25), cells=(16, 4, 4)), order=2)
    beam.pin(where=lambda x: x[:, 0] < 1e-6)
    world = ct.World([beam])
    for frame in world.run(seconds=2.0, fps=60):
        print(frame.time, frame["beam"].positions.min(axis=0))
"""

from typing import TYPE_CHECKING, Any

from continua.errors import (
    ContinuaError,
    DivergedError,
    InputError,
    MissingExtraError,
    OutputError,
    StoppedError,
)

if TYPE_CHECKING:
    from continua import mesh, sdf
    from continua.contact_solver import Contact
    from continua.cutting import CutSurface
    from continua.deformable import (
        EnergyMomentum,
        Explicit,
        ForceField,
        ImplicitEuler,
        Newmark,
        RotatedDamping,
        SemiImplicit,
    )
    from continua.environment import Wind
    from continua.frames import (
        BodyFrame,
        ContactForces,
        Field,
        Frame,
        Overlap,
        RunInfo,
        Sink,
        StepReport,
        WarningCount,
    )
    from continua.geometry import AnimatedMeshShape, Box, Capsule, Cylinder, Gear, MeshShape, Plane, Sphere
    from continua.grid_fluids import Inflow, Liquid, Polygon, Smoke, WindTunnel
    from continua.linalg import PCG, Direct, MergedPCG, Multigrid, PMultigrid
    from continua.materials import (
        Corotated,
        CustomLaw,
        EditingMaterial,
        Fabric,
        FiberReinforced,
        Linear,
        Muscle,
        NeoHookean,
        Orthotropic,
        SplineHyperelastic,
        StableNeoHookean,
        StVenantKirchhoff,
    )
    from continua.mesh import HexMesh, MeshAnimation, QuadMesh, SurfaceMesh, TetMesh, TriMesh
    from continua.motion import Motion
    from continua.numerics import get_threads, set_threads
    from continua.rigid import RigidBody, RigidInstances, joints
    from continua.scene import Scene, load_scene
    from continua.shells import Bending, Cloth, ClothSprings, Pattern, SheetMesh, Shell, sew
    from continua.solids import Plasticity, SoftBody
    from continua.sph import (
        DFSPH,
        IISPH,
        PBF,
        PCISPH,
        BoundaryParticles,
        DensityMap,
        Drain,
        Emitter,
        Fluid,
        VolumeMap,
    )
    from continua.springs import PositionBased, Springs
    from continua.studio import view
    from continua.textures import Texture
    from continua.voxels import Voxels, read_voxels
    from continua.world import World

    __version__: str

# Where each name comes from. A package is loaded when one of its names is first used, so that the command
# line answers at once and a script loads no more than it uses.
_LAZY_EXPORTS = {
    "continua.contact_solver": ("Contact",),
    "continua.grid_fluids": ("Inflow", "Liquid", "Polygon", "Smoke", "WindTunnel"),
    "continua.frames": (
        "BodyFrame",
        "ContactForces",
        "Field",
        "Frame",
        "Overlap",
        "RunInfo",
        "Sink",
        "StepReport",
        "WarningCount",
    ),
    "continua.deformable": (
        "EnergyMomentum",
        "Explicit",
        "ForceField",
        "ImplicitEuler",
        "Newmark",
        "RotatedDamping",
        "SemiImplicit",
    ),
    "continua.geometry": (
        "AnimatedMeshShape",
        "Bending",
        "Box",
        "Capsule",
        "Cloth",
        "ClothSprings",
        "Cylinder",
        "Gear",
        "MeshShape",
        "Plane",
        "Sphere",
    ),
    "continua.linalg": ("PCG", "Direct", "MergedPCG", "Multigrid", "PMultigrid"),
    "continua.cutting": ("CutSurface",),
    "continua.materials": (
        "Corotated",
        "CustomLaw",
        "EditingMaterial",
        "Fabric",
        "FiberReinforced",
        "Linear",
        "Muscle",
        "NeoHookean",
        "Orthotropic",
        "SplineHyperelastic",
        "StVenantKirchhoff",
        "StableNeoHookean",
    ),
    "continua.mesh": ("HexMesh", "MeshAnimation", "QuadMesh", "SurfaceMesh", "TetMesh", "TriMesh"),
    "continua.motion": ("Motion",),
    "continua.numerics": ("get_threads", "set_threads"),
    "continua.rigid": ("RigidBody", "RigidInstances", "joints"),
    "continua.scene": ("Scene", "load_scene"),
    "continua.shells": ("Bending", "Cloth", "ClothSprings", "Pattern", "SheetMesh", "Shell", "sew"),
    "continua.solids": ("Plasticity", "SoftBody"),
    "continua.springs": ("PositionBased", "Springs"),
    "continua.sph": (
        "DFSPH",
        "IISPH",
        "PBF",
        "PCISPH",
        "DensityMap",
        "Drain",
        "Emitter",
        "Fluid",
        "VolumeMap",
        "BoundaryParticles",
    ),
    "continua.studio": ("view",),
    "continua.environment": ("Wind",),
    "continua.textures": ("Texture",),
    "continua.voxels": ("Voxels", "read_voxels"),
    "continua.world": ("World",),
}
_MODULE_OF = {name: module for module, names in _LAZY_EXPORTS.items() for name in names}

__all__ = [
    "DFSPH",
    "IISPH",
    "PBF",
    "PCG",
    "PCISPH",
    "AnimatedMeshShape",
    "Bending",
    "BodyFrame",
    "BoundaryParticles",
    "Box",
    "Capsule",
    "Cloth",
    "ClothSprings",
    "Contact",
    "ContactForces",
    "ContinuaError",
    "Corotated",
    "CustomLaw",
    "CutSurface",
    "Cylinder",
    "DensityMap",
    "Direct",
    "DivergedError",
    "Drain",
    "EditingMaterial",
    "Emitter",
    "EnergyMomentum",
    "Explicit",
    "Fabric",
    "FiberReinforced",
    "Field",
    "Fluid",
    "ForceField",
    "Frame",
    "Gear",
    "HexMesh",
    "ImplicitEuler",
    "Inflow",
    "InputError",
    "Linear",
    "Liquid",
    "MergedPCG",
    "MeshAnimation",
    "MeshShape",
    "MissingExtraError",
    "Motion",
    "Multigrid",
    "Muscle",
    "NeoHookean",
    "Newmark",
    "Orthotropic",
    "OutputError",
    "Overlap",
    "PMultigrid",
    "Pattern",
    "Plane",
    "Plasticity",
    "Polygon",
    "PositionBased",
    "QuadMesh",
    "RigidBody",
    "RigidInstances",
    "RotatedDamping",
    "RunInfo",
    "Scene",
    "SemiImplicit",
    "SheetMesh",
    "Shell",
    "Sink",
    "Smoke",
    "SoftBody",
    "Sphere",
    "SplineHyperelastic",
    "Springs",
    "StVenantKirchhoff",
    "StableNeoHookean",
    "StepReport",
    "StoppedError",
    "SurfaceMesh",
    "TetMesh",
    "Texture",
    "TriMesh",
    "VolumeMap",
    "Voxels",
    "WarningCount",
    "Wind",
    "WindTunnel",
    "World",
    "__version__",
    "get_threads",
    "joints",
    "load_scene",
    "mesh",
    "read_voxels",
    "sdf",
    "set_threads",
    "sew",
    "view",
]


def __getattr__(name: str) -> Any:
    """Load the package that a public name comes from."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("continua")
    elif name in ("mesh", "sdf"):
        value = import_module(f"continua.{name}")
    elif name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'continua' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

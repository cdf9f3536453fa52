"""Soft bodies of a scene, with their materials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Tag, create_model

from continua.scene.integrators import Integrator
from continua.scene.laws import MODELS, Material, part_constants
from continua.scene.loads import LoadFaces, LoadVolume, Press, Push
from continua.scene.motions import Drive, Lock, Pin, Pull
from continua.scene.selectors import Where
from continua.scene.shapes import Mesh, Transform
from continua.scene.solvers import Solver
from continua.scene.types import Color, Count, Flag, Model, Name, Number, Path, Vector, by_type, option

__all__ = [
    "Checker",
    "Damping",
    "Image",
    "Initial",
    "Part",
    "Plasticity",
    "SoftBody",
]


class _PartElements(Model):
    where: Where = option("The elements, selected by their centres; node indices do not select elements.")


if TYPE_CHECKING:
    Part = _PartElements
else:
    Part = create_model(
        "Part",
        __base__=_PartElements,
        __module__=__name__,
        __doc__="A part of a body with other constants; the law and the remaining constants are those of the body.",
        **part_constants(),
    )


class Plasticity(Model):
    """Plastic flow where the elastic strain exceeds the yield strain."""

    yield_strain: Number = option(
        "Norm of the logarithmic elastic strain above which it flows.", 0.1, ge=0, le=100
    )
    hardening: Number = option("Increase of the yield strain per plastic strain.", 0.0, ge=0, le=1e6)
    creep: Number | None = option(
        "Decay rate of the excess of the strain over the yield strain; immediate by default.",
        None,
        unit="1/s",
        ge=0,
        le=1e9,
    )
    preserve_volume: Flag = option("Whether the flow preserves the volume, as for metal and clay.", False)
    limit: Number = option("Maximum plastic stretch; the minimum is its inverse.", 3.0, gt=1, le=1e3)
    limit_by_norm: Flag = option(
        "Whether the norm of the logarithmic stretches is limited instead of each of them.", False
    )
    goal: Vector | None = option(
        "Stretches along x, y and z of a goal shape; it flows only where this reduces the distance to it.",
        None,
    )


class Damping(Model):
    """Rayleigh damping: the damping matrix is `mass` times the mass plus `stiffness` times the stiffness."""

    mass: Number = option("Mass-proportional damping: damps all motion.", 0.0, unit="1/s", ge=0, le=1e6)
    stiffness: Number = option(
        "Stiffness-proportional damping: damps deformation, fast oscillations most.",
        0.0,
        unit="s",
        ge=0,
        le=1e6,
    )
    rotated: Number = option(
        "Corotated damping: damps deformation in the rotated frame of each element, independent of the law.",
        0.0,
        unit="s",
        ge=0,
        le=1e6,
    )


class Initial(Model):
    """Motion of the body at time 0."""

    velocity: Vector = option("Velocity of the centre of mass.", (0.0, 0.0, 0.0), unit="m/s")
    angular_velocity: Vector = option(
        "Angular velocity about the centre of mass.", (0.0, 0.0, 0.0), unit="rad/s"
    )


class Checker(Model):
    """Squares, or cubes, of two shades."""

    type: Literal["checker"] = option("Squares of two shades.")
    size: Number = option("Length of a square.", 0.1, unit="m", gt=0, le=1e6)


class Image(Model):
    """The brightness of an image, mapped to the bounding box of the body along x and y."""

    type: Literal["image"] = option("The brightness of an image.")
    path: Path = option("The file, relative to the folder of the scene.")


Paint = Annotated[
    Annotated[Checker, Tag("checker")] | Annotated[Image, Tag("image")], by_type("checker", "image")
]


class Skin(Model):
    """A detailed surface embedded in the body, drawn in pictures, films and the studio."""

    path: Path = option("A surface (OBJ, GLB, STL, PLY, OFF), relative to the folder of the scene.")
    texture: Path | None = option(
        "An image (PNG, JPEG) instead of the one that the file names, or none for no image; the surface needs texture "
        "coordinates.",
        None,
    )


class VoxelImage(Model):
    """A 3-D image in the undeformed body, which deforms with it."""

    path: Path = option("A file .npy, .npz or .vti, relative to the folder of the scene.")
    origin: Vector | None = option(
        "Corner with the smallest coordinates; by default the file's.", None, unit="m"
    )
    spacing: Vector | None = option(
        "Size of a voxel; by default the file's, or such that the image fills the body.", None, unit="m"
    )


class SoftBody(Model):
    """An elastic solid."""

    type: Literal["soft"] = option("An elastic solid.")
    name: Name = option("Name of the body, different from all others.")
    mesh: Mesh = option("The mesh.")
    transform: Transform | None = option("Scale, rotation and position of the mesh.", None)
    material: Material = option(
        "The material law.", MODELS["corotated"].model_validate({"type": "corotated"})
    )
    parts: list[Part] = option(
        "Parts with other constants; later ones override earlier ones where they overlap.", []
    )
    order: Literal[1, 2, 3] = option("Polynomial degree of the elements.", 1)
    curved: Flag | None = option(
        "Whether elements of order 2 and 3 follow the surface of the mesh: a sphere, cylinder, torus, bowl or blob, or "
        "a file with second-order nodes. By default they do, except with `rotation: mean` or `corner`.",
        None,
    )
    plane: Literal["strain", "stress"] | None = option(
        "Of plane bodies: `strain` (the default) holds the thickness, `stress` leaves it free, as in a thin plate.",
        None,
    )
    volumetric: Literal["auto", "mean", "full"] = option(
        "'mean' averages the change of volume, so that nearly incompressible elements do not lock; 'full' integrates "
        "it at all points; 'auto' takes the mean above a Poisson's ratio of 0.45, of order 2 and 3 of tetrahedra and "
        "triangles, whose matrix it makes larger, from 0.48.",
        "auto",
    )
    incompressible: Flag = option(
        "Whether the volume at every node is kept, by pressures; for tetrahedra, hexahedra and triangles of order 1. "
        "The law then resists changes of shape alone, by `young`; the mass is lumped. `poisson: 0.5` means the same.",
        False,
    )
    volume_recovery_time: Number = option(
        "Least time in which an incompressible body that starts with wrong volumes recovers them; 0 is one step.",
        1.0 / 300.0,
        unit="s",
        ge=0,
        le=1e6,
    )
    mass: Literal["consistent", "lumped"] = option("Consistent or lumped mass matrix.", "consistent")
    damping: Damping = option("Damping.", Damping())
    friction: Number | None = option(
        "Coulomb friction coefficient; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Coefficient of restitution; by default that of `contact`.", None, ge=0, le=1
    )
    plasticity: Plasticity | None = option("Plasticity; purely elastic by default.", None)
    integrator: Integrator = option(
        "Time integrator: its name, or a mapping with its constants.", "implicit_euler"
    )
    newton: Count | None = option(
        "Maximum number of Newton iterations per step of an integrator given by name; very soft bodies need several.",
        None,
        ge=1,
        le=1000,
    )
    solver: Solver = option(
        "Linear solver: its name, or a mapping with its options. 'auto' selects one by size and order.",
        "auto",
    )
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)
    voxels: VoxelImage | None = option(
        "A 3-D image, such as a scan, that deforms with the body; `color: voxels` and `inside: volume` show it.",
        None,
    )
    paint: Paint | None = option("A pattern on the body; `color: paint` shows it.", None)
    skin: Skin | None = option(
        "A detailed surface embedded in the untransformed mesh, drawn instead of it.", None
    )
    initial: Initial | None = option("Motion at time 0; at rest by default.", None)
    pin: list[Pin] = option("Fixed nodes.", [])
    drive: list[Drive] = option("Nodes with a prescribed motion.", [])
    lock: list[Lock] = option("Nodes fixed or driven along one direction.", [])
    push: list[Push] = option("Forces on nodes.", [])
    press: list[Press] = option("Pressure on faces.", [])
    load_faces: list[LoadFaces] = option("Traction on faces.", [])
    load_volume: list[LoadVolume] = option("Body forces.", [])
    pull: list[Pull] = option("Springs to fixed targets.", [])

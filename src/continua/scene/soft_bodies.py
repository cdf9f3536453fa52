"""What bodies are made of, and the bodies themselves."""

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
    where: Where = option("Elements whose centres are chosen; node numbers cannot choose elements.")


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
    """Matter that keeps a deformation where its elastic strain exceeds the yield strain."""

    yield_strain: Number = option("Logarithmic strain that it bears without flowing.", 0.1, ge=0, le=100)
    hardening: Number = option(
        "What the yield strain grows by each unit of plastic strain.", 0.0, ge=0, le=1e6
    )
    creep: Number | None = option(
        "How fast the strain above the yield strain decays; at once by default.",
        None,
        unit="1/s",
        ge=0,
        le=1e9,
    )
    preserve_volume: Flag = option("Flow without a change of volume, as metal and clay do.", False)
    limit: Number = option("Largest plastic stretch; the smallest is its inverse.", 3.0, gt=1, le=1e3)
    limit_by_norm: Flag = option("Limit the norm of the stretches' logarithms, and keep the volume.", False)
    goal: Vector | None = option(
        "Stretches along x, y and z of a shape to go towards; it then flows only where it comes nearer to it.",
        None,
    )


class Damping(Model):
    """Rayleigh damping: the damping matrix is `mass` times the mass plus `stiffness` times the stiffness."""

    mass: Number = option("Slows all motion, like a thin medium.", 0.0, unit="1/s", ge=0, le=1e6)
    stiffness: Number = option(
        "Slows deformation only, the more the faster it is.", 0.0, unit="s", ge=0, le=1e6
    )
    rotated: Number = option(
        "Slows deformation in the turning frame of each element, whatever the law.",
        0.0,
        unit="s",
        ge=0,
        le=1e6,
    )


class Initial(Model):
    """How the body moves at time 0."""

    velocity: Vector = option("Velocity of the centre of mass.", (0.0, 0.0, 0.0), unit="m/s")
    angular_velocity: Vector = option(
        "Spin about the centre of mass, along the axis of spin.", (0.0, 0.0, 0.0), unit="rad/s"
    )


class Checker(Model):
    """Squares, or cubes, of two shades."""

    type: Literal["checker"] = option("Squares of two shades.")
    size: Number = option("Length of a square.", 0.1, unit="m", gt=0, le=1e6)


class Image(Model):
    """The brightness of a picture, spread over the front of the body (its extent along x and y)."""

    type: Literal["image"] = option("The brightness of a picture.")
    path: Path = option("The file, relative to the folder of the scene.")


Paint = Annotated[
    Annotated[Checker, Tag("checker")] | Annotated[Image, Tag("image")], by_type("checker", "image")
]


class Skin(Model):
    """A detailed surface that a body carries along in pictures, films and the studio."""

    path: Path = option("A surface (OBJ, STL, PLY, OFF), relative to the folder of the scene.")


class VoxelImage(Model):
    """A 3-D image that a body carries, placed in the undeformed body."""

    path: Path = option("A file .npy, .npz or .vti, relative to the folder of the scene.")
    origin: Vector | None = option(
        "Corner with the smallest coordinates; by default the file's.", None, unit="m"
    )
    spacing: Vector | None = option(
        "Size of a voxel; by default the file's, or such that the body is filled.", None, unit="m"
    )


class SoftBody(Model):
    """An elastic solid."""

    type: Literal["soft"] = option("An elastic solid.")
    name: Name = option("Name of the body, different from all others.")
    mesh: Mesh = option("The shape.")
    transform: Transform | None = option("Where the shape is put.", None)
    material: Material = option(
        "What it is made of.", MODELS["corotated"].model_validate({"type": "corotated"})
    )
    parts: list[Part] = option("Parts of other constants; later ones win where they overlap.", [])
    order: Literal[1, 2, 3] = option("Polynomial degree of the elements.", 1)
    mass: Literal["consistent", "lumped"] = option("How mass is spread over the nodes.", "consistent")
    damping: Damping = option("How motion dies away.", Damping())
    friction: Number | None = option(
        "Coulomb's coefficient of friction; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Part of the normal speed that a hit gives back; by default that of `contact`.", None, ge=0, le=1
    )
    plasticity: Plasticity | None = option("How it keeps a deformation; purely elastic by default.", None)
    integrator: Integrator = option(
        "How it is advanced in time: a word, or with constants of its own.", "implicit_euler"
    )
    newton: Count | None = option(
        "Most Newton iterations a step of an integrator given by a word; very soft bodies need more than 1.",
        None,
        ge=1,
        le=1000,
    )
    solver: Solver = option(
        "How linear systems are solved: a word, or with options. 'auto' suits the number and order of the nodes.",
        "auto",
    )
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)
    voxels: VoxelImage | None = option(
        "A 3-D image, such as a scan, that the body carries; `color: voxels` shows it, `inside: volume` all of it.",
        None,
    )
    paint: Paint | None = option("A pattern that the body carries; `color: paint` shows it.", None)
    skin: Skin | None = option(
        "A detailed surface around the mesh before it is transformed, drawn instead of it.", None
    )
    initial: Initial | None = option("Motion at time 0; at rest by default.", None)
    pin: list[Pin] = option("Nodes that are held.", [])
    drive: list[Drive] = option("Nodes that move as told.", [])
    lock: list[Lock] = option("Nodes that are held or move along one direction only.", [])
    push: list[Push] = option("Forces on nodes.", [])
    press: list[Press] = option("Pressure on faces.", [])
    load_faces: list[LoadFaces] = option("Traction on faces.", [])
    load_volume: list[LoadVolume] = option("Forces on the matter.", [])
    pull: list[Pull] = option("Springs to fixed targets.", [])

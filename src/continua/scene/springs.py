"""Mass-spring and position-based bodies of a scene."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from continua.scene.loads import Push
from continua.scene.motions import Drive, Lock, Pin, Pull
from continua.scene.shapes import Mesh, Transform
from continua.scene.soft_bodies import Initial
from continua.scene.solvers import Solver
from continua.scene.types import (
    Color,
    Count,
    Counts2,
    Counts3,
    Flag,
    Model,
    Name,
    Number,
    Vector,
    by_type,
    option,
)

__all__ = ["PositionBased", "Springs"]

_Size2 = Annotated[list[Annotated[float, Field(gt=0, le=1e6)]], Field(min_length=2, max_length=2)]
_Pair = Annotated[list[Annotated[int, Field(strict=True, ge=0)]], Field(min_length=2, max_length=2)]


class LineNetwork(Model):
    """A rope between two points."""

    type: Literal["line"] = option("A rope.")
    start: Vector = option("Its start.", unit="m")
    end: Vector = option("Its end.", unit="m")
    springs: Count = option("Number of springs.", 20, ge=1, le=1_000_000)


class SheetNetwork(Model):
    """A sheet in the plane y = 0, centred at the origin."""

    type: Literal["sheet"] = option("A sheet or a net.")
    size: _Size2 = option("Lengths along x and z.", [1.0, 1.0], unit="m")
    cells: Counts2 = option("Numbers of cells along x and z.", (10, 10))
    diagonals: Flag = option("Whether each cell has springs along its diagonals.", True)
    surface: Flag = option("Whether it has triangles, as cloth; a net has none.", True)


class LatticeNetwork(Model):
    """A box of nodes, each joined with its 26 neighbours, centred at the origin."""

    type: Literal["lattice"] = option("A box of nodes with 26 neighbours each.")
    size: Vector = option("Lengths along x, y and z.", (1.0, 1.0, 1.0), unit="m")
    cells: Counts3 = option("Numbers of cells along them.", (3, 3, 3))


class StrandsNetwork(Model):
    """Strands of hair that stand on a ball, evenly spread over the part above a height."""

    type: Literal["strands"] = option("Strands of hair on a ball.")
    center: Vector = option("Centre of the ball.", (0.0, 0.0, 0.0), unit="m")
    radius: Number = option("Radius of the ball.", 0.1, unit="m", gt=0, le=1e6)
    count: Count = option("Number of strands.", 100, ge=1, le=100_000)
    from_height: Number = option("Lowest root, in radii above the centre of the ball.", 0.0, ge=-1, le=0.99)
    length: Number = option("Length of a strand.", 0.2, unit="m", gt=0, le=1e6)
    springs: Count = option("Number of springs of a strand.", 10, ge=1, le=10_000)


class MeshNetwork(Model):
    """The edges of a mesh."""

    type: Literal["mesh"] = option("The edges of a mesh.")
    mesh: Mesh = option("The mesh.")


class ExplicitNetwork(Model):
    """Points and the pairs of them that springs join."""

    type: Literal["explicit"] = option("Points and pairs of them.")
    points: list[Vector] = option("The points.", unit="m", min_length=2, max_length=100_000)
    springs: list[_Pair] = option(
        "The two points of each spring, from 0.", min_length=1, max_length=1_000_000
    )


Network = Annotated[
    Annotated[LineNetwork, Tag("line")]
    | Annotated[SheetNetwork, Tag("sheet")]
    | Annotated[LatticeNetwork, Tag("lattice")]
    | Annotated[StrandsNetwork, Tag("strands")]
    | Annotated[MeshNetwork, Tag("mesh")]
    | Annotated[ExplicitNetwork, Tag("explicit")],
    by_type("line", "sheet", "lattice", "strands", "mesh", "explicit"),
]


class _Body(Model):
    name: Name = option("Name of the body, different from all others.")
    network: Network = option("What joins which points.")
    transform: Transform | None = option("Scale, rotation and position of the network.", None)
    mass: Number = option(
        "Mass of the body, shared by volume, area or length.", 1.0, unit="kg", gt=0, le=1e12
    )
    radius: Number | None = option(
        "Radius of ropes, half the thickness of sheets; contacts keep this distance. By default a tenth of a spring.",
        None,
        unit="m",
        gt=0,
        le=1e6,
    )
    friction: Number | None = option(
        "Coulomb friction coefficient; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Coefficient of restitution; by default that of `contact`.", None, ge=0, le=1
    )
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)
    initial: Initial | None = option("Motion at time 0; at rest by default.", None)
    pin: list[Pin] = option("Fixed nodes.", [])
    drive: list[Drive] = option("Nodes with a prescribed motion.", [])
    lock: list[Lock] = option("Nodes fixed or driven along one direction.", [])
    push: list[Push] = option("Forces on nodes.", [])
    pull: list[Pull] = option("Springs to fixed targets.", [])


class Springs(_Body):
    """Masses joined by springs: ropes, nets, hair, sheets and lattices."""

    type: Literal["springs"] = option("Masses joined by springs.")
    stiffness: Number = option("Stiffness of the springs.", 1000.0, unit="N/m", ge=0, le=1e12)
    spring_damping: Number = option("Damping along the springs.", 0.0, unit="N s/m", ge=0, le=1e12)
    mass_damping: Number = option("Damping of all motion.", 0.0, unit="1/s", ge=0, le=1e6)
    bending: Number = option(
        "Bending stiffness: EI of ropes, D of sheets.", 0.0, unit="N m² or N m", ge=0, le=1e12
    )
    volume_stiffness: Number = option(
        "Resistance of tetrahedra to a change of volume.", 0.0, unit="Pa", ge=0, le=1e15
    )
    yield_strain: Number | None = option(
        "Strain from which a spring changes its length for good; elastic by default.", None, ge=0, le=1e6
    )
    creep: Number | None = option(
        "Rate at which the strain beyond `yield_strain` goes over into the rest length; at once by default.",
        None,
        unit="1/s",
        gt=0,
        le=1e9,
    )
    tear_strain: Number | None = option(
        "Strain at which a spring tears; never by default.", None, gt=0, le=1e6
    )
    integrator: Literal[
        "implicit_euler", "newmark", "forward_euler", "symplectic_euler", "verlet", "rk2", "rk4"
    ] = option("Time integrator; the explicit ones take stable substeps.", "implicit_euler")
    newton: Count | None = option(
        "Maximum number of Newton iterations per step of an implicit integrator; 20 by default.",
        None,
        ge=1,
        le=1000,
    )
    solver: Solver = option("Linear solver of an implicit integrator, see soft bodies.", "auto")


class DistanceConstraint(Model):
    """The distance of the two nodes of each spring."""

    type: Literal["distance"] = option("Lengths of springs.")
    compliance: Number = option(
        "Inverse of the stiffness, of XPBD; 0 is rigid.", 0.0, unit="m/N", ge=0, le=1e12
    )
    stiffness: Number = option("Fraction of the error that a step of PBD corrects.", 1.0, ge=0, le=1)


class BendingConstraint(Model):
    """Bending of ropes and of pairs of triangles."""

    type: Literal["bending"] = option("Bending of ropes and sheets.")
    modulus: Number = option(
        "Bending stiffness of XPBD: EI of ropes, D of sheets.", 0.01, unit="N m² or N m", ge=0, le=1e12
    )
    stiffness: Number = option("Fraction of the error that a step of PBD corrects.", 0.5, ge=0, le=1)
    kind: Literal["isometric", "dihedral"] = option(
        "Of sheets: discrete mean curvature, or the angle between triangles.", "isometric"
    )


class VolumeConstraint(Model):
    """The volume of each tetrahedron."""

    type: Literal["volume"] = option("Volumes of tetrahedra.")
    bulk_modulus: Number | None = option(
        "Resistance to a change of volume, of XPBD; exact by default.", None, unit="Pa", gt=0, le=1e15
    )
    stiffness: Number = option("Fraction of the error that a step of PBD corrects.", 1.0, ge=0, le=1)


class GlobalVolumeConstraint(Model):
    """The volume inside the closed surface."""

    type: Literal["global_volume"] = option("The volume inside the surface.")
    pressure: Number = option("The volume to keep, relative to that at rest.", 1.0, gt=0, le=1e3)
    bulk_modulus: Number | None = option(
        "Resistance to a change of volume, of XPBD; exact by default.", None, unit="Pa", gt=0, le=1e15
    )
    stiffness: Number = option("Fraction of the error that a step of PBD corrects.", 1.0, ge=0, le=1)


class StrainConstraint(Model):
    """The elastic energy of each tetrahedron; of XPBD."""

    type: Literal["strain"] = option("Elastic energy of tetrahedra.")
    young: Number = option("Young's modulus.", 1e5, unit="Pa", gt=0, le=1e15)
    poisson: Number = option("Poisson's ratio.", 0.3, ge=0, le=0.4999)
    law: Literal["neo_hookean", "st_venant_kirchhoff"] = option("The material law.", "neo_hookean")


class ShapeMatchingConstraint(Model):
    """Nodes are moved to where their cluster is in its shape at rest."""

    type: Literal["shape_matching"] = option("The shape of clusters of nodes.")
    stiffness: Number = option("Fraction of the distance to the goal that a step corrects.", 0.5, ge=0, le=1)
    radius: Number | None = option(
        "Radius of the clusters; one cluster of all nodes by default.", None, unit="m", gt=0, le=1e6
    )


Constraint = Annotated[
    Annotated[DistanceConstraint, Tag("distance")]
    | Annotated[BendingConstraint, Tag("bending")]
    | Annotated[VolumeConstraint, Tag("volume")]
    | Annotated[GlobalVolumeConstraint, Tag("global_volume")]
    | Annotated[StrainConstraint, Tag("strain")]
    | Annotated[ShapeMatchingConstraint, Tag("shape_matching")],
    by_type("distance", "bending", "volume", "global_volume", "strain", "shape_matching"),
]


class PositionBased(_Body):
    """A body of position-based dynamics, PBD or XPBD."""

    type: Literal["position_based"] = option("A body of position-based dynamics.")
    method: Literal["xpbd", "pbd"] = option(
        "'xpbd' has constraints with a compliance, 'pbd' corrects a fraction of each error.", "xpbd"
    )
    constraints: list[Constraint] | None = option(
        "The constraints; by default distance, with bending for ropes and sheets and volume for tetrahedra.",
        None,
    )
    iterations: Count = option("Iterations over all constraints in each small step.", 1, ge=1, le=100_000)
    small_steps: Count = option("Small steps in each step.", 10, ge=1, le=100_000)
    damping_time: Number = option(
        "Damping along the constraints of XPBD, relative to their stiffness.", 0.0, unit="s", ge=0, le=1e6
    )
    mass_damping: Number = option("Damping of all motion.", 0.0, unit="1/s", ge=0, le=1e6)

"""Fluids of a scene."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.shapes import Mesh, Transform
from continua.scene.types import (
    Color,
    Count,
    Direction,
    Flag,
    Model,
    Moment,
    Name,
    Number,
    Vector,
    by_type,
    option,
)

__all__ = ["Block", "Drain", "Emitter", "Fluid", "FluidBoundary", "FluidSolver"]


class Block(Model):
    """A block of fluid between two opposite corners."""

    min: Vector = option("Smallest coordinates.", unit="m")
    max: Vector = option("Largest coordinates.", unit="m")


class Emitter(Model):
    """A round nozzle through which fluid enters."""

    center: Vector = option("Centre of the opening.", unit="m")
    direction: Direction = option("Direction of the flow.")
    radius: Number = option("Radius of the opening.", unit="m", gt=0, le=1e6)
    speed: Number = option("Speed of the fluid.", unit="m/s", gt=0, le=1e4)
    start: Moment = option("Opening time.", 0.0, unit="s")
    stop: Moment | None = option("Closing time; never by default.", None, unit="s")


class Drain(Model):
    """A box in which fluid is removed."""

    min: Vector = option("Smallest coordinates.", unit="m")
    max: Vector = option("Largest coordinates.", unit="m")


class Dfsph(Model):
    """Divergence-free SPH: constant density and divergence-free velocities."""

    type: Literal["dfsph"] = option("Divergence-free SPH.")
    density_error: Number = option("Mean density error, relative to the rest density.", 1e-4, gt=0, lt=1)
    divergence_error: Number = option(
        "Mean density error per sub-step that the divergence may cause.", 1e-4, gt=0, lt=1
    )
    divergence: Flag = option("Whether the divergence solve is done.", True)
    warm_start: Flag = option("Whether a solve starts from the pressures of the last sub-step.", True)
    max_iterations: Count = option("Maximum number of iterations of a solve.", 100, ge=2, le=100_000)


class _Other(Model):
    density_error: Number = option("Mean density error, relative to the rest density.", 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Maximum number of iterations of a solve.", 1000, ge=2, le=100_000)


class Iisph(_Other):
    """Implicit incompressible SPH, for comparison."""

    type: Literal["iisph"] = option("Implicit incompressible SPH.")


class Pcisph(_Other):
    """Predictive-corrective incompressible SPH, for comparison."""

    type: Literal["pcisph"] = option("Predictive-corrective incompressible SPH.")


class Pbf(_Other):
    """Position based fluids, for comparison."""

    type: Literal["pbf"] = option("Position based fluids.")


FluidSolver = Annotated[
    Annotated[Dfsph, Tag("dfsph")]
    | Annotated[Iisph, Tag("iisph")]
    | Annotated[Pcisph, Tag("pcisph")]
    | Annotated[Pbf, Tag("pbf")],
    by_type("dfsph", "iisph", "pcisph", "pbf"),
]


_INSET = "How far below the surface the wall begins, in kernel radii; by default fluid at rest ends at the surface."


class DensityMap(Model):
    """Density maps as boundaries."""

    type: Literal["density_map"] = option("A map of the density contribution of boundaries.")
    extension: Number = option(
        "Range of the boundary density outside of the surface, in kernel radii.", 0.125, ge=0.05, le=2
    )
    inset: Number | None = option(_INSET, None, ge=-1, le=1)


class VolumeMap(Model):
    """Volume maps as boundaries."""

    type: Literal["volume_map"] = option(
        "A map of the volume of boundaries, applied at their closest points."
    )
    inset: Number | None = option(_INSET, None, ge=-1, le=1)


class BoundaryParticles(Model):
    """Boundary particles."""

    type: Literal["particles"] = option("Particles below the surface of boundaries.")


BoundaryWord = Literal["particles", "density_map", "volume_map"]
FluidBoundary = Annotated[
    Annotated[BoundaryWord, Tag("word")]
    | Annotated[DensityMap, Tag("density_map")]
    | Annotated[VolumeMap, Tag("volume_map")]
    | Annotated[BoundaryParticles, Tag("particles")],
    by_type("word", "density_map", "volume_map", "particles"),
]


class Fluid(Model):
    """A liquid made of particles; several liquids of one scene interact."""

    type: Literal["fluid"] = option("A liquid made of particles.")
    name: Name = option("Name of the body, different from all others.")
    block: Block | None = option("A block to fill.", None)
    mesh: Mesh | None = option("A shape to fill.", None)
    transform: Transform | None = option("Scale, rotation and position of the shape.", None)
    particle_radius: Number = option(
        "Half the particle spacing; the same for all fluids of a scene.", 0.0125, unit="m", gt=0, le=1e6
    )
    density: Number = option("Rest density.", 1000.0, unit="kg/m³", gt=0, le=1e6)
    viscosity: Number = option(
        "Dynamic viscosity: 0.001 is water, 10 honey.", 0.001, unit="Pa·s", ge=0, le=1e9
    )
    surface_tension: Number = option(
        "Surface tension: 0.072 for water. It matters for drops of millimetres, and limits the sub-step.",
        0.0,
        unit="N/m",
        ge=0,
        le=1e6,
    )
    contact_angle: Number = option(
        "Angle between free surface and walls, within the fluid; with surface tension. Colliders may have their own.",
        90.0,
        unit="degrees",
        ge=0,
        le=180,
    )
    velocity: Vector = option("Velocity at time 0.", (0.0, 0.0, 0.0), unit="m/s")
    emitters: list[Emitter] = option("Nozzles through which fluid enters.", [], max_length=100)
    drains: list[Drain] = option("Boxes in which fluid is removed.", [], max_length=100)
    solver: FluidSolver = option("Pressure solver.", Dfsph(type="dfsph"))
    boundary: FluidBoundary = option(
        "Boundary model: particles, or maps of the density or volume of boundaries.", "particles"
    )
    wall_friction: Number = option(
        "Coulomb friction coefficient between the fluid and walls or bodies.", 0.0, ge=0, le=1e3
    )
    wall_drag: Number = option("Friction proportional to the slip velocity.", 0.0, unit="s/m", ge=0, le=1e6)
    wall_slip: Number = option(
        "Slip length of bodies, and of walls without a `slip` of their own: how far behind the surface the velocity "
        "would be that of the wall. 0 is no slip, a large length free slip.",
        0.0,
        unit="m",
        ge=0,
    )
    max_dt: Number = option("Maximum sub-step.", 0.005, unit="s", gt=0, le=1)
    cfl: Number = option(
        "CFL number: fraction of a particle diameter that the fastest particle moves per sub-step.",
        0.4,
        gt=0,
        le=1,
    )
    xsph: Number = option(
        "XSPH coefficient: fraction by which velocities are smoothed per sub-step.", 0.0, ge=0, le=1
    )
    max_particles: Count | None = option("Maximum number of particles.", None, ge=1)
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        given = (self.block is not None) + (self.mesh is not None)
        if given > 1 or (given == 0 and not self.emitters):
            raise PydanticCustomError("no_place", "needs one of 'block' and 'mesh', or emitters")
        return self

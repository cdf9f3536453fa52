"""Fluids of a scene."""

from __future__ import annotations

from typing import Any

from continua import sph
from continua.registry import BodySummary
from continua.scene import fluids
from continua.scene.build_environment import rgb, to_inf
from continua.scene.build_mesh import transformed_mesh
from continua.scene.cost import fluid_memory
from continua.scene.models import Scene
from continua.sph.boundary import BOUNDARY_METHODS

__all__ = ["build_fluid", "describe_fluid"]

_SOLVERS: dict[str, Any] = {"dfsph": sph.DFSPH, "iisph": sph.IISPH, "pcisph": sph.PCISPH, "pbf": sph.PBF}
_SAME = (
    "name", "particle_radius", "density", "viscosity", "surface_tension", "contact_angle", "velocity", "max_dt", "cfl",
    "xsph", "wall_friction", "wall_drag", "wall_slip", "max_particles",
)  # fmt: skip


def build_fluid(scene: Scene, number: int) -> sph.Fluid:
    """Return the fluid that is body `number` of the scene."""
    spec = scene.bodies[number]
    assert isinstance(spec, fluids.Fluid)
    mesh = None if spec.mesh is None else transformed_mesh(scene, number, spec)[0]
    with scene.at("bodies", number):
        return sph.Fluid(
            None if spec.block is None else (spec.block.min, spec.block.max),
            mesh=mesh,
            emitters=[
                sph.Emitter(
                    e.center, e.direction, radius=e.radius, speed=e.speed, start=e.start, stop=to_inf(e.stop)
                )
                for e in spec.emitters
            ],
            drains=[sph.Drain(drain.min, drain.max) for drain in spec.drains],
            solver=_SOLVERS[spec.solver.type](**spec.solver.model_dump(exclude={"type"})),
            boundary=_boundary(spec.boundary),
            color=None if spec.color is None else rgb(spec.color),
            **{key: getattr(spec, key) for key in _SAME},
        )


def describe_fluid(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of a fluid."""
    spec, count = scene.bodies[number], build_fluid(scene, number).node_count
    material = f"fluid, {spec.viscosity:g} Pa s, {spec.density:g} kg/m³"
    memory = fluid_memory(scene, number, count)
    return BodySummary(f"{count:,} particles", 3 * count, material, memory=round(memory))


def _boundary(spec: fluids.FluidBoundary) -> str | sph.DensityMap | sph.VolumeMap | sph.BoundaryParticles:
    """Return the model of walls: its name, or the model with options."""
    return spec if isinstance(spec, str) else BOUNDARY_METHODS[spec.type](**spec.model_dump(exclude={"type"}))

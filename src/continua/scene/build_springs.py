"""Mass-spring and position-based bodies of a scene."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua import springs as bodies
from continua.registry import BodySummary
from continua.scene import springs
from continua.scene.build_environment import rgb
from continua.scene.build_mesh import build_shape, placed_points
from continua.scene.build_soft import attach_conditions
from continua.scene.models import Scene
from continua.scene.solvers import build_solver
from continua.springs.network import network_of

__all__ = ["build_network", "build_position_based", "build_springs", "describe_springs"]

_CONSTRAINTS: dict[str, Any] = {
    "distance": bodies.Distance,
    "bending": bodies.Bending,
    "volume": bodies.Volume,
    "global_volume": bodies.GlobalVolume,
    "strain": bodies.Strain,
    "shape_matching": bodies.ShapeMatching,
}


def build_network(scene: Scene, number: int) -> bodies.SpringNetwork:
    """Return the placed network of body `number` of the scene."""
    spec = scene.bodies[number]
    with scene.at("bodies", number, "network"):
        match spec.network:
            case springs.LineNetwork() as line:
                network = bodies.line(line.start, line.end, line.springs)
            case springs.SheetNetwork() as sheet:
                network = bodies.sheet(
                    (sheet.size[0], sheet.size[1]),
                    sheet.cells,
                    diagonals=sheet.diagonals,
                    surface=sheet.surface,
                )
            case springs.LatticeNetwork() as lattice:
                network = bodies.lattice(lattice.size, lattice.cells)
            case springs.StrandsNetwork() as hair:
                ways = _on_a_ball(hair.count, hair.from_height)
                network = bodies.strands(
                    np.array(hair.center) + hair.radius * ways, ways, hair.length, hair.springs
                )
            case springs.MeshNetwork() as mesh:
                network = network_of(build_shape(mesh.mesh, scene))
            case explicit:
                network = network_of(np.array(explicit.points), explicit.springs)
    with scene.at("bodies", number, "transform"):
        return network.moved(placed_points(spec.transform, network.points, scene))


def _on_a_ball(count: int, low: float) -> NDArray[np.float64]:
    """Return unit vectors [count, 3] spread evenly over the part of a sphere above a height (a Fibonacci lattice)."""
    height = 1.0 - (1.0 - low) * (np.arange(count) + 0.5) / count
    angle = pi * (1.0 + sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - height**2)
    return np.stack([across * np.cos(angle), height, across * np.sin(angle)], axis=1)


def _finish(scene: Scene, number: int, body: Any) -> None:
    """Hold, load and start a body as the scene says."""
    spec = scene.bodies[number]
    attach_conditions(scene, number, body.network, body)
    if spec.initial is not None:
        with scene.at("bodies", number, "initial"):
            body.set_velocity(spec.initial.velocity, spec.initial.angular_velocity)


def build_springs(scene: Scene, number: int) -> bodies.Springs:
    """Return the mass-spring body `number` of the scene."""
    spec: Any = scene.bodies[number]
    network = build_network(scene, number)
    same = (
        "stiffness", "spring_damping", "mass", "bending", "volume_stiffness", "yield_strain", "creep", "tear_strain",
        "radius", "integrator", "newton", "name", "friction", "restitution",
    )  # fmt: skip
    with scene.at("bodies", number):
        body = bodies.Springs(
            network,
            damping=(spec.mass_damping, 0.0),
            solver=build_solver(spec.solver),
            color=None if spec.color is None else rgb(spec.color),
            **{key: getattr(spec, key) for key in same},
        )
    _finish(scene, number, body)
    return body


def build_position_based(scene: Scene, number: int) -> bodies.PositionBased:
    """Return the position-based body `number` of the scene."""
    spec: Any = scene.bodies[number]
    network = build_network(scene, number)
    constraints = None
    if spec.constraints is not None:
        constraints = [_CONSTRAINTS[c.type](**c.model_dump(exclude={"type"})) for c in spec.constraints]
    same = (
        "method", "iterations", "small_steps", "damping_time", "mass", "radius", "name", "friction", "restitution",
    )  # fmt: skip
    with scene.at("bodies", number):
        body = bodies.PositionBased(
            network,
            constraints=constraints,
            damping=spec.mass_damping,
            color=None if spec.color is None else rgb(spec.color),
            **{key: getattr(spec, key) for key in same},
        )
    _finish(scene, number, body)
    return body


def describe_springs(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of a mass-spring or position-based body."""
    spec, network = scene.bodies[number], build_network(scene, number)
    if isinstance(spec, springs.Springs):
        material = f"springs, {spec.stiffness:g} N/m, {spec.mass:g} kg, {spec.integrator}"
    else:
        material = f"{spec.method}, {spec.mass:g} kg, {spec.small_steps} x {spec.iterations} iterations"
    memory = 400.0 * network.element_count + 2000.0 * network.node_count
    return BodySummary(f"{network.element_count:,} springs", 3 * network.node_count, material, memory=memory)

"""A ball that sinks along the axis of a tube of viscous particle fluid against Haberman and Sayre (1958).

David W. Taylor Model Basin Report 1143: the drag of a sphere that moves along the axis of a tube of fluid at rest, over
Stokes's drag, for the ratio of their radii; also in Happel and Brenner, Low Reynolds number hydrodynamics, section 7-3.
"""

from __future__ import annotations

import sys

import numpy as np

import continua as ct

TUBE, GRAVITY, DENSITY, BALL_DENSITY = 0.1, 9.81, 1000.0, 2000.0
DT = 0.01


def wall_factor(ratio: float) -> float:
    """Return the drag over Stokes's drag, for the radius of the ball over that of the tube."""
    top = 1.0 - 0.75857 * ratio**5
    return top / (1.0 - 2.1050 * ratio + 2.0865 * ratio**3 - 1.7068 * ratio**5 + 0.72603 * ratio**6)


def speed(ratio: float, viscosity: float) -> float:
    """Return the speed at which the ball sinks [m/s]."""
    stokes = 2.0 / 9.0 * (BALL_DENSITY - DENSITY) * GRAVITY * (ratio * TUBE) ** 2 / viscosity
    return stokes / wall_factor(ratio)


def rings(diameter: float, length: float) -> np.ndarray:
    """Return particles in concentric rings that fill the tube [m], shape [n, 3]."""
    layer = []
    for k in range(round(TUBE / diameter)):
        r = (k + 0.5) * diameter
        count = round(2.0 * np.pi * r / diameter)
        t = 2.0 * np.pi * (np.arange(count) + 0.5 * (k % 2)) / count
        layer.append(np.stack([r * np.cos(t), r * np.sin(t)], axis=1))
    disc = np.concatenate(layer)
    heights = (np.arange(round(length / diameter)) + 0.5) * diameter
    return np.concatenate([np.column_stack([disc[:, 0], np.full(len(disc), y), disc[:, 1]]) for y in heights])


def sink(
    ratio: float, across: int, viscosity: float = 100.0, seconds: float = 0.5, length: float = 0.35
) -> tuple[np.ndarray, np.ndarray]:
    """Return times [s] and the distance that the ball has sunk by then over the exact one.

    Args:
        ratio: Radius of the ball over that of the tube.
        across: Particles across the tube.
        viscosity: Dynamic viscosity [Pa s].
        seconds: Time [s].
        length: Height of the fluid [m].
    """
    diameter, radius, center = 2.0 * TUBE / across, ratio * TUBE, np.array([0.0, 0.5 * length, 0.0])
    points = rings(diameter, length)
    points = points[np.linalg.norm(points - center, axis=1) > radius + 0.4 * diameter]
    oil = ct.Fluid(
        points=points,
        particle_radius=0.5 * diameter,
        density=DENSITY,
        viscosity=0.3 * viscosity,
        solver=ct.DFSPH(density_error=1e-5),
        name="oil",
    )
    wall = ct.Cylinder((0, length, 0), axis=(0, 1, 0), radius=TUBE, height=2.0 * length, inside=True)
    held = ct.Sphere(tuple(center), radius, name="held")
    world = ct.World([oil], colliders=[wall, held], dt=DT)
    for _ in range(40):  # the fluid comes to rest around the ball
        world.step()
    oil.viscosity, oil.changed = viscosity, True
    for _ in range(6):
        world.step()
    ball = ct.RigidBody(ct.Sphere(tuple(center), radius), density=BALL_DENSITY, name="ball")
    world.remove(held)
    world.add(ball)
    sunk = []
    for _ in range(round(seconds / DT)):
        world.step()
        sunk.append(center[1] - ball.center_of_mass[1])
    times = DT * np.arange(1, len(sunk) + 1)
    return times, np.array(sunk) / (speed(ratio, viscosity) * times)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 28
    print("ratio  wall factor   mean speed until t over the exact one")
    for given in (0.3, 0.5):
        moments, ratios = sink(given, number, seconds=0.6)
        text = "  ".join(f"{ratios[k]:.3f} ({moments[k]:.1f} s)" for k in range(9, len(moments), 10))
        print(f"{given:5.2f}  {wall_factor(given):11.4f}   {text}")

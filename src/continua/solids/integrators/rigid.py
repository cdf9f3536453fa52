"""The rigid motion that a step adds so that a body that nothing holds keeps its momentum and angular momentum.

Frozen rotations and inexact solves leave the elastic forces of a step with a small net impulse b and moment. A rigid
motion y = (velocity, angular velocity) takes both away again: (gain M + S) y = -b, with M the mass and the moments of
inertia, and S what springs and contacts answer to such a motion, since they act at the end of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.solids import mass_kernels
from continua.solids.integrators.integrator import Matter

__all__ = ["net_impulse", "rigid_motion", "rigid_velocities"]


def net_impulse(
    matter: Matter,
    x: NDArray[np.float64],
    mass_x: NDArray[np.float64],
    impulse: NDArray[np.float64],
    spins: bool,
) -> NDArray[np.float64]:
    """Return the sum of impulses [n, 3] and, if the body `spins`, their moment about its centre, shape [6]."""
    net, torque, _, _, _ = mass_kernels.rigid_balance(x, matter.node_mass, mass_x, impulse)
    return np.concatenate([net, torque if spins else np.zeros(3)])


def rigid_motion(
    matter: Matter,
    x: NDArray[np.float64],
    mass_x: NDArray[np.float64],
    impulse: NDArray[np.float64],
    gain: float,
    spins: bool,
    points: NDArray[np.float64],
    answers: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the velocities of the rigid motion, shape [n, 3].

    Args:
        matter: The body.
        x: Positions [n, 3] about which moments are taken.
        mass_x: M x [n, 3].
        impulse: What the elastic forces did to the momentum [n, 3].
        gain: Factor of the mass in the step.
        spins: Whether angular momentum is kept as well as momentum.
        points: Where springs and contacts act [k, 3].
        answers: The impulse each takes from a velocity there, as a matrix [k, 3, 3].
    """
    net, torque, total, inertia, center = mass_kernels.rigid_balance(x, matter.node_mass, mass_x, impulse)
    system = np.zeros((6, 6))
    system[:3, :3] = gain * total * np.eye(3)
    # all on one line, or in one point: nothing spins about it
    system[3:, 3:] = gain * (inertia + 1e-14 * np.trace(inertia) * np.eye(3))
    if not np.trace(inertia) > 0.0:
        spins = False
    if len(points):
        arms = np.zeros((len(points), 3, 6))  # from the rigid motion to the velocity at a point
        arms[:, :, :3] = np.eye(3)
        rx, ry, rz = (points - center).T
        arms[:, 0, 4], arms[:, 0, 5] = rz, -ry
        arms[:, 1, 3], arms[:, 1, 5] = -rz, rx
        arms[:, 2, 3], arms[:, 2, 4] = ry, -rx
        system += np.einsum("kia,kij,kjb->ab", arms, answers, arms)
    if not spins:
        velocity = np.linalg.solve(system[:3, :3], -net)
        return np.broadcast_to(velocity, x.shape)
    motion = np.linalg.solve(system, -np.concatenate([net, torque]))
    return motion[:3] + np.cross(motion[3:], x - center)


def rigid_velocities(
    matter: Matter, x: NDArray[np.float64], mass_x: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rigid motion [n, 3] that an impulse and a moment about the centre of mass [6] give the body."""
    _, _, total, inertia, center = mass_kernels.rigid_balance(x, matter.node_mass, mass_x, np.zeros_like(x))
    size = float(np.trace(inertia))
    spin = np.linalg.solve(inertia + 1e-14 * size * np.eye(3), wanted[3:]) if size > 0.0 else np.zeros(3)
    return np.asarray(wanted[:3] / total + np.cross(spin, x - center))

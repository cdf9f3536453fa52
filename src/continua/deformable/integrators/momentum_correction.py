"""Momentum correction: the rigid motion that restores momentum and angular momentum of an unconstrained body.

Frozen rotations and inexact solves leave the elastic forces of a step with a small net impulse b and moment. A rigid
motion y = (velocity, angular velocity) removes both: (gain M + S) y = -b, with M the mass and the moments of inertia,
and S the response of springs, since they act at the end of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.integrators.integrator import BodyState

__all__ = ["net_impulse", "rigid_motion", "rigid_velocities"]


def net_impulse(
    state: BodyState,
    x: NDArray[np.float64],
    mass_x: NDArray[np.float64],
    impulse: NDArray[np.float64],
    angular: bool,
) -> NDArray[np.float64]:
    """Return the sum of impulses [n, 3] and, with `angular`, their moment about the centre of mass, shape [6]."""
    net, torque, _, _, _ = mass_kernels.rigid_residual(x, state.node_mass, mass_x, impulse)
    return np.concatenate([net, torque if angular else np.zeros(3)])


def rigid_motion(
    state: BodyState,
    x: NDArray[np.float64],
    mass_x: NDArray[np.float64],
    impulse: NDArray[np.float64],
    gain: float,
    angular: bool,
    points: NDArray[np.float64],
    responses: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the velocities of the rigid motion, shape [n, 3].

    Args:
        state: The body.
        x: Positions [n, 3] about which moments are taken.
        mass_x: M x [n, 3].
        impulse: Impulse of the elastic forces [n, 3].
        gain: Factor of the mass in the step.
        angular: Whether angular momentum is corrected as well as momentum.
        points: Where springs act [k, 3].
        responses: Impulse of each spring per velocity at its point [k, 3, 3].
    """
    net, torque, total, inertia, center = mass_kernels.rigid_residual(x, state.node_mass, mass_x, impulse)
    system = np.zeros((6, 6))
    system[:3, :3] = gain * total * np.eye(3)
    # regularised: nodes may lie on one line
    system[3:, 3:] = gain * (inertia + 1e-14 * np.trace(inertia) * np.eye(3))
    if not np.trace(inertia) > 0.0:
        angular = False
    if len(points):
        arms = np.zeros((len(points), 3, 6))  # map the rigid motion to the velocity at a point
        arms[:, :, :3] = np.eye(3)
        rx, ry, rz = (points - center).T
        arms[:, 0, 4], arms[:, 0, 5] = rz, -ry
        arms[:, 1, 3], arms[:, 1, 5] = -rz, rx
        arms[:, 2, 3], arms[:, 2, 4] = ry, -rx
        system += np.einsum("kia,kij,kjb->ab", arms, responses, arms)
    if not angular:
        velocity = np.linalg.solve(system[:3, :3], -net)
        return np.broadcast_to(velocity, x.shape)
    motion = np.linalg.solve(system, -np.concatenate([net, torque]))
    return motion[:3] + _rotated(motion[3:], x - center)


def rigid_velocities(
    state: BodyState, x: NDArray[np.float64], mass_x: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rigid motion [n, 3] that an impulse and a moment about the centre of mass [6] give the body."""
    _, _, total, inertia, center = mass_kernels.rigid_residual(x, state.node_mass, mass_x, np.zeros_like(x))
    size = float(np.trace(inertia))
    omega = np.linalg.solve(inertia + 1e-14 * size * np.eye(3), wanted[3:]) if size > 0.0 else np.zeros(3)
    return np.asarray(wanted[:3] / total + _rotated(omega, x - center))


def _rotated(omega: NDArray[np.float64], arms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cross products of an angular velocity [3] with arms [n, 3]; `np.cross` is slow for few of them."""
    result = np.empty_like(arms)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        result[:, i] = omega[j] * arms[:, k] - omega[k] * arms[:, j]
    return result

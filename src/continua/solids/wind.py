"""The pressure of a wind on the faces of a body."""

from __future__ import annotations

from continua.numerics import kernel

__all__ = ["add_wind"]


@kernel
def add_wind(positions, velocities, triangles, wind, density, force):
    """Add to `force` [N] the pressure on faces that the wind [m/s] blows against."""
    for t in range(triangles.shape[0]):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax = positions[j, 0] - positions[i, 0]
        ay = positions[j, 1] - positions[i, 1]
        az = positions[j, 2] - positions[i, 2]
        bx = positions[k, 0] - positions[i, 0]
        by = positions[k, 1] - positions[i, 1]
        bz = positions[k, 2] - positions[i, 2]
        nx = 0.5 * (ay * bz - az * by)
        ny = 0.5 * (az * bx - ax * bz)
        nz = 0.5 * (ax * by - ay * bx)
        area = (nx * nx + ny * ny + nz * nz) ** 0.5
        if area == 0.0:
            continue
        wx = wind[0] - (velocities[i, 0] + velocities[j, 0] + velocities[k, 0]) / 3.0
        wy = wind[1] - (velocities[i, 1] + velocities[j, 1] + velocities[k, 1]) / 3.0
        wz = wind[2] - (velocities[i, 2] + velocities[j, 2] + velocities[k, 2]) / 3.0
        speed = (nx * wx + ny * wy + nz * wz) / area
        if speed < 0.0:
            pressure = 0.5 * density * speed * speed / 3.0
            for c in (i, j, k):
                force[c, 0] -= pressure * nx
                force[c, 1] -= pressure * ny
                force[c, 2] -= pressure * nz

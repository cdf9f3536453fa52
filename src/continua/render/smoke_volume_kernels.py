"""Compiled volume rendering of smoke: light transmittance on the grid, and ray marching."""

from __future__ import annotations

from math import exp

from numba import prange

from continua.numerics import inline, kernel

__all__ = ["light_transmittance", "raymarch"]


@inline
def _density(q, x, y, z):
    """Interpolate q at (x, y, z), in cells from the corner of the grid; 0 outside."""
    n0, n1, n2 = q.shape
    x, y, z = x - 0.5, y - 0.5, z - 0.5
    if x <= -1.0 or y <= -1.0 or z <= -1.0 or x >= n0 or y >= n1 or z >= n2:
        return 0.0
    x, y, z = min(max(x, 0.0), n0 - 1.001), min(max(y, 0.0), n1 - 1.001), min(max(z, 0.0), n2 - 1.001)
    i, j, k = int(x), int(y), int(z)
    f, g, h = x - i, y - j, z - k
    a = q[i, j, k] + h * (q[i, j, k + 1] - q[i, j, k])
    b = q[i, j + 1, k] + h * (q[i, j + 1, k + 1] - q[i, j + 1, k])
    c = q[i + 1, j, k] + h * (q[i + 1, j, k + 1] - q[i + 1, j, k])
    d = q[i + 1, j + 1, k] + h * (q[i + 1, j + 1, k + 1] - q[i + 1, j + 1, k])
    low = a + g * (b - a)
    return low + f * (c + g * (d - c) - low)


@kernel(parallel=True)
def light_transmittance(q, lamp, extinction, light):
    """Compute the transmittance from the lamp to every second cell; `extinction` is per cell."""
    m0, m1, m2 = light.shape
    for r in prange(m0 * m1):
        i, j = r // m1, r % m1
        for k in range(m2):
            x, y, z = 2.0 * i + 1.0, 2.0 * j + 1.0, 2.0 * k + 1.0
            total = 0.0
            while 0.0 < x < q.shape[0] and 0.0 < y < q.shape[1] and 0.0 < z < q.shape[2]:
                total += _density(q, x, y, z)
                x, y, z = x + 1.5 * lamp[0], y + 1.5 * lamp[1], z + 1.5 * lamp[2]
            light[i, j, k] = exp(-1.5 * extinction * total)


@kernel(parallel=True)
def raymarch(q, light, origin, spacing, extinction, camera, inverse, color, picture):
    """Composite smoke over a picture in linear light, in front of surfaces at inverse depth `inverse`."""
    height, width = inverse.shape
    n0, n1, n2 = q.shape
    for y in prange(height):
        for x in range(width):
            right = (x + 0.5 - 0.5 * width) / camera[12]
            up = (0.5 * height - y - 0.5) / camera[12]
            dx = camera[9] + right * camera[3] + up * camera[6]
            dy = camera[10] + right * camera[4] + up * camera[7]
            dz = camera[11] + right * camera[5] + up * camera[8]
            px = (camera[0] - origin[0]) / spacing
            py = (camera[1] - origin[1]) / spacing
            pz = (camera[2] - origin[2]) / spacing
            near, far = 0.0, (1.0 / inverse[y, x] if inverse[y, x] > 0.0 else 1e9)
            for axis in range(3):
                p = px if axis == 0 else (py if axis == 1 else pz)
                d = (dx if axis == 0 else (dy if axis == 1 else dz)) / spacing
                n = n0 if axis == 0 else (n1 if axis == 1 else n2)
                if abs(d) < 1e-12:
                    if p < 0.0 or p > n:
                        far = -1.0
                    continue
                one, two = -p / d, (n - p) / d
                near, far = max(near, min(one, two)), min(far, max(one, two))
            if far <= near:
                continue
            length = (dx * dx + dy * dy + dz * dz) ** 0.5
            # a whole number of steps up to the end of the ray, which avoids ring artefacts
            step = (far - near) / (1 + int((far - near) * length / (0.7 * spacing)))
            along = step * length / spacing
            clear = 1.0
            lit = 0.0
            t = near + 0.5 * step
            while t < far and clear > 0.01:
                a = px + t * dx / spacing
                b = py + t * dy / spacing
                c = pz + t * dz / spacing
                density = _density(q, a, b, c)
                if density > 1e-4:
                    transmitted = exp(-along * extinction * density)
                    shine = 0.38 + 0.75 * _density(light, 0.5 * a, 0.5 * b, 0.5 * c)
                    lit += clear * (1.0 - transmitted) * shine
                    clear *= transmitted
                t += step
            for ch in range(3):
                picture[y, x, ch] = picture[y, x, ch] * clear + lit * color[ch]

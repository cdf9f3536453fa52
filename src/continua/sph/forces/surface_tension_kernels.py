"""Compiled passes of surface tension as a continuum surface force; see `surface_tension` for the method."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, row4s, splat4s, store4s

GROUP = 512  # particles per task


@inline
def kernel_value(square, inverse):
    """Return the cubic spline without its factor 16/(pi r^3), for a squared distance and one over the radius."""
    q = np.sqrt(square) * inverse
    a, b = max(np.float32(1.0) - q, np.float32(0.0)), max(np.float32(0.5) - q, np.float32(0.0))
    return a * a * a - np.float32(4.0) * b * b * b


@kernel_pair
def color_gradients(
    xyzp, begin, end, neighbours, weights, boundary_density, boundary_gradient, gradients
):  # fmt: skip
    """Write the gradient of the colour, 1 in fluid and 0 in air [1/m]: it points inwards; shape [4 n].

    Walls count as fluid across them, and along them as if the fluid went on behind them.
    """
    n = gradients.shape[0] // 4
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(xyzp, 4 * i)
            total = load4s(boundary_gradient, 4 * i)
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                total = total + (here - load4s(xyzp, 4 * np.uint64(neighbours[k]))) * weights[k]
            if boundary_density[i] > np.float32(0.0):
                wall = load4s(boundary_gradient, 4 * i)
                across = wall * (dot3s(total, wall) / max(dot3s(wall, wall), np.float32(1e-20)))
                total = across + (total - across) * (
                    np.float32(1.0) / (np.float32(1.0) - min(boundary_density[i], np.float32(0.6)))
                )
            store4s(gradients, 4 * i, total * row4s(1, 1, 1, 0))


@kernel_pair
def smooth_vectors(xyzp, begin, end, neighbours, density, inverse, volume, source, result):
    """Write sum_j V/delta_j W_ij source_j: smoothed vectors [4 n] with the same sum over all particles.

    `density` is the particles' part of the relative density, without that of walls.
    """
    n = density.shape[0]
    ih = np.float32(inverse)
    scale = np.float32(16.0 / np.pi) * ih * ih * ih * np.float32(volume)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(xyzp, 4 * i)
            total = load4s(source, 4 * i) * (np.float32(0.5) / density[i])  # W at 0 is one half of the factor
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                offset = here - load4s(xyzp, 4 * j)
                total = total + load4s(source, 4 * j) * (kernel_value(dot3s(offset, offset), ih) / density[j])
            store4s(result, 4 * i, total * scale)


@kernel_pair
def unit_normals(
    normals, boundary_density, boundary_gradient, sine, cosine, least, layer, weights
):  # fmt: skip
    """Make normals [4 n] unit vectors; `weights` [n] receives their length, or 0 away from the surface.

    At walls they are turned to the contact angle, given by its sine and cosine at each particle [n]. `least` is the
    smallest length of a normal at the surface [1/m], `layer` the wall's part of the density of particles next to it.
    """
    n = weights.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            normal = load4s(normals, 4 * i)
            length = np.sqrt(dot3s(normal, normal))
            weights[i] = np.float32(0.0)
            if length <= least:
                store4s(normals, 4 * i, splat4s(np.float32(0.0)))
                continue
            weights[i] = length
            normal = normal * (np.float32(1.0) / length)
            if boundary_density[i] > np.float32(0.0):
                wall = load4s(boundary_gradient, 4 * i)
                wall = wall * (np.float32(1.0) / max(np.sqrt(dot3s(wall, wall)), np.float32(1e-20)))
                along = normal - wall * dot3s(normal, wall)
                tangent = np.sqrt(dot3s(along, along))
                if tangent > np.float32(1e-3):
                    share = min(boundary_density[i] / layer, np.float32(1.0))
                    wanted = wall * cosine[i] + along * (sine[i] / tangent)
                    normal = normal * (np.float32(1.0) - share) + wanted * share
                    normal = normal * (
                        np.float32(1.0) / max(np.sqrt(dot3s(normal, normal)), np.float32(1e-6))
                    )
            store4s(normals, 4 * i, normal)


@kernel_pair
def curvatures(xyzp, begin, end, neighbours, gradients, normals, weights, lowest, highest, curvature):
    """Write the sum of the principal curvatures [1/m], positive for a drop, from how normals turn along the surface."""
    n = weights.shape[0]
    none = np.float32(0.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            curvature[i] = none
            if weights[i] == none:
                continue
            here, normal = load4s(xyzp, 4 * i), load4s(normals, 4 * i)
            turn, spread = none, none
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                if weights[j] == none:
                    continue
                offset = load4s(xyzp, 4 * j) - here
                offset = offset - normal * dot3s(offset, normal)
                factor = -gradients[k] * weights[j]
                turn += factor * dot3s(normal - load4s(normals, 4 * j), offset)
                spread += factor * dot3s(offset, offset)
            if spread > none:
                curvature[i] = min(max(np.float32(2.0) * turn / spread, lowest), highest)


@kernel_pair
def smooth_curvatures(xyzp, begin, end, neighbours, inverse, weights, curvature, depth, result):
    """Average curvatures over the neighbours, and refer them from the particles' mean depth [m] to the surface.

    Particles below those at the surface get the mean of their neighbours, so that the force has no step.
    """
    n = weights.shape[0]
    none, half = np.float32(0.0), np.float32(0.5)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(xyzp, 4 * i)
            total, weight = half * weights[i] * curvature[i], half * weights[i]
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                if weights[j] == none:
                    continue
                offset = here - load4s(xyzp, 4 * j)
                factor = kernel_value(dot3s(offset, offset), inverse) * weights[j]
                total += factor * curvature[j]
                weight += factor
            mean = total / weight if weight > none else none
            result[i] = mean / (np.float32(1.0) + half * depth * mean)


@kernel_pair
def surface_forces(
    xyzp, begin, end, neighbours, gradients, normals, weights, curvature, delta, tension, share,
    boundary_density, boundary_gradient, layer, depth, forces
):  # fmt: skip
    """Write the force per volume [N/m3] and, in the last lane, how much of the surface a particle carries [1/m].

    It is the traction tension * curvature of the surface, moved to the depth of the particles: the curvature there
    exceeds that of the surface, and its gradient along the surface is balanced by a tangential force.

    Args:
        xyzp: Positions, shape [4 n].
        begin: Start of each neighbour list.
        end: End of each neighbour list.
        neighbours: Indices of neighbours.
        gradients: Gradient factors of the neighbours.
        normals: Unit normals, pointing inwards, shape [4 n].
        weights: 0 away from the surface, shape [n].
        curvature: Sum of the principal curvatures of the surface [1/m], shape [n].
        delta: Smoothed gradients of the colour [1/m], shape [4 n].
        tension: Surface tension at each particle [N/m], shape [n].
        share: From 0 for particles of a spray to 1, shape [n].
        boundary_density: The walls' part of the density, shape [n].
        boundary_gradient: Its gradient [1/m], shape [4 n]; next to a wall the force acts along it only.
        layer: The walls' part of the density of particles next to them.
        depth: Mean depth of the force [m].
        forces: Receives the forces, shape [4 n].
    """
    n = weights.shape[0]
    none, two = np.float32(0.0), np.float32(2.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            if curvature[i] == none or share[i] == none or tension[i] == none:
                store4s(forces, 4 * i, splat4s(none))
                continue
            here, normal = load4s(xyzp, 4 * i), load4s(normals, 4 * i)
            slope, spread = splat4s(none), none
            last = end[i] if weights[i] > none else begin[i]
            for k in range(np.uint64(begin[i]), np.uint64(last)):
                j = np.uint64(neighbours[k])
                if weights[j] == none:
                    continue
                offset = load4s(xyzp, 4 * j) - here
                offset = offset - normal * dot3s(offset, normal)
                factor = -gradients[k] * weights[j]
                slope = slope + offset * (factor * (curvature[j] - curvature[i]))
                spread += factor * dot3s(offset, offset)
            inwards = load4s(delta, 4 * i)
            # the colour falls from 1 to 1/2 in the fluid and on to 0 outside, where there are no particles
            area = two * share[i] * np.sqrt(dot3s(inwards, inwards))
            force = inwards * (
                two * share[i] * tension[i] * curvature[i] / (np.float32(1.0) + depth * curvature[i])
            )
            if spread > none:
                force = force - slope * (two / spread * tension[i] * depth * area)
            if boundary_density[i] > none:
                wall = load4s(boundary_gradient, 4 * i)
                across = dot3s(force, wall) / max(dot3s(wall, wall), np.float32(1e-20))
                force = force - wall * (across * min(boundary_density[i] / layer, np.float32(1.0)))
            store4s(forces, 4 * i, force * row4s(1, 1, 1, 0) + row4s(0, 0, 0, 1) * area)


@kernel
def connected_parts(begin, end, neighbours, part):
    """Number the connected parts of the fluid: `part` [n] receives the smallest index of each part's particles."""
    n = part.shape[0]
    for i in range(n):
        part[i] = i
    for i in range(n):
        for k in range(begin[i], end[i]):
            j = neighbours[k]
            if j >= i:
                continue
            a, b = i, np.int64(j)
            while part[a] != a:
                part[a] = part[part[a]]
                a = part[a]
            while part[b] != b:
                part[b] = part[part[b]]
                b = part[b]
            if a < b:
                part[b] = a
            elif b < a:
                part[a] = b
    for i in range(n):
        part[i] = part[part[i]]


@kernel
def part_sums(xyzp, forces, boundary_density, part, row, sums):
    """Sum over each part: area, area x, force, moment and area x x about the origin, and whether it is wet by a wall.

    `row` [n] is the row of `sums` [parts, 17] of each part's first particle.
    """
    for i in range(part.shape[0]):
        r = row[part[i]]
        if boundary_density[i] > 0.0:
            sums[r, 16] = 1.0
        a = np.float64(forces[4 * i + 3])
        if a == 0.0:
            continue
        x, y, z = np.float64(xyzp[4 * i]), np.float64(xyzp[4 * i + 1]), np.float64(xyzp[4 * i + 2])
        u, v, w = np.float64(forces[4 * i]), np.float64(forces[4 * i + 1]), np.float64(forces[4 * i + 2])
        values = (
            a, a * x, a * y, a * z, u, v, w, y * w - z * v, z * u - x * w, x * v - y * u,
            a * x * x, a * y * y, a * z * z, a * x * y, a * y * z, a * z * x,
        )  # fmt: skip
        for c in range(16):
            sums[r, c] += values[c]


@kernel
def add_balanced_forces(xyzp, forces, part, row, linear, angular, inverse_density, accelerations):
    """Add the accelerations of forces from which `area (linear + angular x position)` of each part is removed."""
    for i in range(part.shape[0]):
        a = np.float64(forces[4 * i + 3])
        if a == 0.0:
            continue
        r = row[part[i]]
        x, y, z = np.float64(xyzp[4 * i]), np.float64(xyzp[4 * i + 1]), np.float64(xyzp[4 * i + 2])
        u = linear[r, 0] + angular[r, 1] * z - angular[r, 2] * y
        v = linear[r, 1] + angular[r, 2] * x - angular[r, 0] * z
        w = linear[r, 2] + angular[r, 0] * y - angular[r, 1] * x
        accelerations[4 * i] += np.float32(forces[4 * i] - a * u) * inverse_density[i]
        accelerations[4 * i + 1] += np.float32(forces[4 * i + 1] - a * v) * inverse_density[i]
        accelerations[4 * i + 2] += np.float32(forces[4 * i + 2] - a * w) * inverse_density[i]

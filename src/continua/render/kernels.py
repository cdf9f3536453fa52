"""Kernels of the software renderer: depth maps, lighting, and rasterisation in bands of rows.

Every pixel is written by one loop in a fixed order, so that a picture does not depend on the number of
threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics.kernel import inline, kernel

__all__ = ["depth_maps", "draw", "setup_triangles", "sky_light"]

BAND = 16  # rows that one task draws
_ROUNDING = 1e-9  # barycentric tolerance for round-off at edges
_FRONT = 1e-5  # relative depth by which front faces win over coincident back faces
_DONE = -1000000  # marks a sample that is already shaded


@kernel
def _depth_map(points, triangles, axes, center, scale, depth):
    """Fill the depth map of one direction."""
    size = depth.shape[0]
    depth[:] = np.float32(-1e30)
    flat = np.empty((points.shape[0], 3), np.float32)
    for i in range(points.shape[0]):
        x, y, z = points[i, 0] - center[0], points[i, 1] - center[1], points[i, 2] - center[2]
        for a in range(3):
            flat[i, a] = x * axes[a, 0] + y * axes[a, 1] + z * axes[a, 2]
        flat[i, 0] = flat[i, 0] * scale + 0.5 * size
        flat[i, 1] = flat[i, 1] * scale + 0.5 * size
        # Splat the vertex too: triangles smaller than a texel may miss every texel's centre.
        u, v = int(flat[i, 0]), int(flat[i, 1])
        if 0 <= u < size and 0 <= v < size and flat[i, 2] > depth[v, u]:
            depth[v, u] = flat[i, 2]
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, bx, by, cx, cy = flat[a, 0], flat[a, 1], flat[b, 0], flat[b, 1], flat[c, 0], flat[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        turn = np.float32(1.0) / area
        x0, x1 = max(int(min(ax, bx, cx) - 0.5), 0), min(int(max(ax, bx, cx) + 0.5), size - 1)
        y0, y1 = max(int(min(ay, by, cy) - 0.5), 0), min(int(max(ay, by, cy) + 0.5), size - 1)
        for v in range(y0, y1 + 1):
            for u in range(x0, x1 + 1):
                px, py = np.float32(u) + np.float32(0.5), np.float32(v) + np.float32(0.5)
                wb = ((px - ax) * (cy - ay) - (py - ay) * (cx - ax)) * turn
                wc = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) * turn
                if wb >= 0.0 and wc >= 0.0 and wb + wc <= 1.0:
                    z = flat[a, 2] + wb * (flat[b, 2] - flat[a, 2]) + wc * (flat[c, 2] - flat[a, 2])
                    if z > depth[v, u]:
                        depth[v, u] = z


@kernel(parallel=True)
def depth_maps(points, triangles, axes, center, scale, maps):
    """Fill one orthographic depth map for each direction of light.

    Args:
        points: Vertices, shape [n, 3].
        triangles: Shape [k, 3].
        axes: Right, up and towards-the-light unit vectors of each map, shape [d, 3, 3].
        center: The centre of every map.
        scale: Texels per metre.
        maps: Result, shape [d, r, r]: coordinate towards the light of the outermost surface; -1e30 if none.
    """
    for d in prange(maps.shape[0]):
        _depth_map(points, triangles, axes[d], center, scale, maps[d])


@inline
def _visibility(depth, axes, center, scale, x, y, z, bias):
    """Return the visibility of one light at a point: 0 to 1, interpolated between four texels."""
    size = depth.shape[0]
    x, y, z = x - center[0], y - center[1], z - center[2]
    u = (x * axes[0, 0] + y * axes[0, 1] + z * axes[0, 2]) * scale + 0.5 * size - 0.5
    v = (x * axes[1, 0] + y * axes[1, 1] + z * axes[1, 2]) * scale + 0.5 * size - 0.5
    if not (0.0 <= u < size - 1 and 0.0 <= v < size - 1):
        return 1.0
    w = x * axes[2, 0] + y * axes[2, 1] + z * axes[2, 2] + bias
    i, j = int(u), int(v)
    fu, fv = u - i, v - j
    near = (1.0 - fu if depth[j, i] <= w else 0.0) + (fu if depth[j, i + 1] <= w else 0.0)
    far = (1.0 - fu if depth[j + 1, i] <= w else 0.0) + (fu if depth[j + 1, i + 1] <= w else 0.0)
    return near * (1.0 - fv) + far * fv


@kernel
def _sky_light_at(point, normal, axes, center, scale, maps, radiance, lift):
    """Return the sky light at one point."""
    nx, ny, nz = normal[0], normal[1], normal[2]
    x, y, z = point[0] + lift * nx, point[1] + lift * ny, point[2] + lift * nz
    total = 0.0
    for d in range(maps.shape[0]):
        cosine = nx * axes[d, 2, 0] + ny * axes[d, 2, 1] + nz * axes[d, 2, 2]
        if cosine > 0.0:
            total += cosine * radiance[d] * _visibility(maps[d], axes[d], center, scale, x, y, z, 0.5 * lift)
    return total


@kernel(parallel=True)
def sky_light(points, normals, axes, center, scale, maps, radiance, lift, light):
    """Gather the sky light at points: the mean over directions, each weighted by its cosine.

    Args:
        points: Shape [n, 3].
        normals: Unit normals, shape [n, 3].
        axes: As in `depth_maps`; row 2 of each is the direction of that part of the sky.
        center: As in `depth_maps`.
        scale: As in `depth_maps`.
        maps: Depth maps, shape [d, r, r].
        radiance: Radiance of each direction, shape [d].
        lift: Offset along the normal against self-shadowing [m].
        light: Result, shape [n].
    """
    for i in prange(points.shape[0]):
        light[i] = _sky_light_at(points[i], normals[i], axes, center, scale, maps, radiance, lift)


@kernel
def setup_triangles(clip, triangles, width, height, near, edges, boxes):
    """Set up triangles in homogeneous coordinates, so that none needs clipping.

    Args:
        clip: Pixel x and y times depth, and depth, of each vertex, shape [n, 3].
        triangles: Shape [k, 3].
        width: Of the picture.
        height: Of the picture.
        near: Depth of the near plane.
        edges: Result, shape [k, 3, 3]: row i times (x, y, 1) is the weight of corner i over the depth.
        boxes: Result, shape [k, 4]: first and last column, first and last row; empty if not visible.
    """
    for t in range(triangles.shape[0]):
        a, b, c = clip[triangles[t, 0]], clip[triangles[t, 1]], clip[triangles[t, 2]]
        boxes[t, 0], boxes[t, 1], boxes[t, 2], boxes[t, 3] = 0, -1, 0, -1
        bcx, bcy, bcz = b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]
        det = a[0] * bcx + a[1] * bcy + a[2] * bcz
        if det == 0.0 or max(a[2], b[2], c[2]) < near:
            continue
        s = 1.0 / det
        edges[t, 0, 0], edges[t, 0, 1], edges[t, 0, 2] = bcx * s, bcy * s, bcz * s
        edges[t, 1, 0] = (c[1] * a[2] - c[2] * a[1]) * s
        edges[t, 1, 1] = (c[2] * a[0] - c[0] * a[2]) * s
        edges[t, 1, 2] = (c[0] * a[1] - c[1] * a[0]) * s
        edges[t, 2, 0] = (a[1] * b[2] - a[2] * b[1]) * s
        edges[t, 2, 1] = (a[2] * b[0] - a[0] * b[2]) * s
        edges[t, 2, 2] = (a[0] * b[1] - a[1] * b[0]) * s
        x0, x1, y0, y1 = 0.0, width - 1.0, 0.0, height - 1.0
        if min(a[2], b[2], c[2]) > near:
            ax, bx, cx = a[0] / a[2], b[0] / b[2], c[0] / c[2]
            ay, by, cy = a[1] / a[2], b[1] / b[2], c[1] / c[2]
            x0, x1 = max(min(ax, bx, cx) - 1.0, 0.0), min(max(ax, bx, cx) + 1.0, width - 1.0)
            y0, y1 = max(min(ay, by, cy) - 1.0, 0.0), min(max(ay, by, cy) + 1.0, height - 1.0)
        if x0 <= x1 and y0 <= y1:
            boxes[t, 0], boxes[t, 1], boxes[t, 2], boxes[t, 3] = int(x0), int(x1), int(y0), int(y1)


@kernel
def _fill(first, last, dx, dy, near, edges, boxes, owner, inverse):
    """Find the nearest triangle at one sample of each pixel in the rows `first` to `last` - 1."""
    limit = 1.0 / near
    for t in range(edges.shape[0]):
        y0, y1 = max(boxes[t, 2], first), min(boxes[t, 3], last - 1)
        if y0 > y1:
            continue
        e = edges[t]
        # of coincident faces the front face is visible: a body may be flattened completely
        turn = e[0, 0] * (e[1, 1] * e[2, 2] - e[1, 2] * e[2, 1])
        turn -= e[0, 1] * (e[1, 0] * e[2, 2] - e[1, 2] * e[2, 0])
        turn += e[0, 2] * (e[1, 0] * e[2, 1] - e[1, 1] * e[2, 0])
        favour = 1.0 + _FRONT if turn < 0.0 else 1.0
        for y in range(y0, y1 + 1):
            for x in range(boxes[t, 0], boxes[t, 1] + 1):
                px, py = x + dx, y + dy
                wa = e[0, 0] * px + e[0, 1] * py + e[0, 2]
                wb = e[1, 0] * px + e[1, 1] * py + e[1, 2]
                wc = e[2, 0] * px + e[2, 1] * py + e[2, 2]
                w = wa + wb + wc
                edge = -_ROUNDING * w  # a sample on a common edge belongs to both triangles, never to none
                if wa >= edge and wb >= edge and wc >= edge and inverse[y - first, x] < favour * w < limit:
                    inverse[y - first, x] = favour * w
                    owner[y - first, x] = t


@inline
def _over(plane, eye):
    """Return the signed distance `plane - eye` along the normal; negative if the eye is above the plane."""
    return (plane[3] - eye[0]) * plane[0] + (plane[4] - eye[1]) * plane[1] + (plane[5] - eye[2]) * plane[2]


@kernel
def _fill_planes(first, last, width, height, dx, dy, camera, planes, owner, inverse):
    """Draw planes, numbered -2, -3, ..., where they are nearer than the triangles; visible from above only."""
    eye, focal = camera[0:3], camera[12]
    for p in range(planes.shape[0]):
        plane = planes[p]
        over = _over(plane, eye)
        if over >= 0.0:
            continue
        ahead = plane[0] * camera[9] + plane[1] * camera[10] + plane[2] * camera[11]
        right = (plane[0] * camera[3] + plane[1] * camera[4] + plane[2] * camera[5]) / focal
        up = (plane[0] * camera[6] + plane[1] * camera[7] + plane[2] * camera[8]) / focal
        for y in range(first, last):
            row = ahead + (0.5 * height - y - dy) * up
            for x in range(width):
                w = (row + (x + dx - 0.5 * width) * right) / over
                if w > inverse[y - first, x]:
                    inverse[y - first, x] = w
                    owner[y - first, x] = -2 - p


@inline
def _smoothstep(low, high, value):
    t = min(max((value - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


@inline
def _shadow(maps, axes, center, scale, x, y, z, bias):
    """Return the mean visibility of all points on the lamp; the outermost four decide most cases."""
    count = maps.shape[0]
    total = 0.0
    for d in range(count - 4, count):
        total += _visibility(maps[d], axes[d], center, scale, x, y, z, bias)
    if total == 0.0 or total == 4.0:
        return 0.25 * total
    for d in range(count - 4):
        total += _visibility(maps[d], axes[d], center, scale, x, y, z, bias)
    return total / count


@inline
def _line(value, spacing, blur):
    """Return the coverage of a grid line at `value`, filtered over the width `blur` of a pixel."""
    half = 0.006 * spacing
    off = abs(value - spacing * np.floor(value / spacing + 0.5))
    width = max(blur, half)
    return min(max((half + 0.5 * width - off) / width, 0.0), 1.0) * min(2.0 * half / width, 1.0)


@kernel
def _ground_color(plane, table, lamp, eye, ray, focal, lift, axes, center, scale, maps, color):
    """Darken `color`, the background, by a plane: grid, sky light and shadow near the bodies only."""
    facing = ray[0] * plane[0] + ray[1] * plane[1] + ray[2] * plane[2]
    depth = _over(plane, eye) / facing
    hx, hy, hz = eye[0] + depth * ray[0], eye[1] + depth * ray[1], eye[2] + depth * ray[2]
    ox, oy, oz = hx - plane[3], hy - plane[4], hz - plane[5]
    u = ox * plane[6] + oy * plane[7] + oz * plane[8]
    v = ox * plane[9] + oy * plane[10] + oz * plane[11]
    near = 1.0 - _smoothstep(0.2, 1.0, np.sqrt(u * u + v * v) / plane[12])
    if near == 0.0:
        return
    size = table.shape[0]
    i, j = (u / plane[13] + 1.0) * 0.5 * (size - 1), (v / plane[13] + 1.0) * 0.5 * (size - 1)
    sky = 1.0
    if 0.0 <= i < size - 1 and 0.0 <= j < size - 1:
        a, b = int(i), int(j)
        fa, fb = i - a, j - b
        sky = (table[a, b] * (1 - fa) + table[a + 1, b] * fa) * (1 - fb)
        sky += (table[a, b + 1] * (1 - fa) + table[a + 1, b + 1] * fa) * fb
    blur = 1.3 * depth / (focal * max(-facing, 0.05))
    grid = max(_line(u + plane[15], plane[14], blur), _line(v + plane[16], plane[14], blur))
    lamps = 0.55 * max(lamp[0] * plane[0] + lamp[1] * plane[1] + lamp[2] * plane[2], 0.0)
    shade = _shadow(maps, axes, center, scale, hx, hy, hz, lift) if lamps > 0.0 else 1.0
    light = (0.80 * sky + lamps * shade) / (0.80 + lamps) * (1.0 - 0.17 * grid)
    for c in range(3):
        color[c] *= (1.0 - 0.10 * near) * (1.0 - near + near * light)


@kernel
def _texel_color(u, v, image, texels, color):
    """Set `color` to that of an image, which repeats: bilinear between the centres of four texels."""
    start, width, height = image[0], image[1], image[2]
    x, y = u * width - 0.5, (1.0 - v) * height - 0.5
    i, j = np.int64(np.floor(x)), np.int64(np.floor(y))
    fx, fy = x - i, y - j
    left, right = i % width, (i + 1) % width
    upper, lower = start + (j % height) * width, start + ((j + 1) % height) * width
    for k in range(3):
        above = (1.0 - fx) * texels[upper + left, k] + fx * texels[upper + right, k]
        below = (1.0 - fx) * texels[lower + left, k] + fx * texels[lower + right, k]
        color[k] = (1.0 - fy) * above + fy * below


@kernel
def _surface_color(
    t, px, py, eye, ray, lamp, lift, positions, normals, colors, values, ramp, light, triangles, uv, image_of, images,
    texels, edges, axes, center, scale, maps, color,
):  # fmt: skip
    """Shade one sample of one triangle: sky light, lamp with soft shadow, a faint specular highlight."""
    e = edges[t]
    wa = e[0, 0] * px + e[0, 1] * py + e[0, 2]
    wb = e[1, 0] * px + e[1, 1] * py + e[1, 2]
    wc = e[2, 0] * px + e[2, 1] * py + e[2, 2]
    whole = 1.0 / (wa + wb + wc)
    wa, wb, wc = wa * whole, wb * whole, wc * whole
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    nx = wa * normals[a, 0] + wb * normals[b, 0] + wc * normals[c, 0]
    ny = wa * normals[a, 1] + wb * normals[b, 1] + wc * normals[c, 1]
    nz = wa * normals[a, 2] + wb * normals[b, 2] + wc * normals[c, 2]
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    far = np.sqrt(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2])
    vx, vy, vz = -ray[0] / far, -ray[1] / far, -ray[2] / far
    turn = 1.0 / norm if norm > 0.0 else 0.0
    if nx * vx + ny * vy + nz * vz < 0.0:
        turn = -turn
    nx, ny, nz = nx * turn, ny * turn, nz * turn
    sky = wa * light[a] + wb * light[b] + wc * light[c]
    cosine = nx * lamp[0] + ny * lamp[1] + nz * lamp[2]
    shade, gloss = 0.0, 0.0
    if cosine > 0.0:
        off = lift * (1.0 + 1.5 * (1.0 - cosine))
        x = wa * positions[a, 0] + wb * positions[b, 0] + wc * positions[c, 0] + off * nx
        y = wa * positions[a, 1] + wb * positions[b, 1] + wc * positions[c, 1] + off * ny
        z = wa * positions[a, 2] + wb * positions[b, 2] + wc * positions[c, 2] + off * nz
        shade = _shadow(maps, axes, center, scale, x, y, z, 0.5 * lift)
        hx, hy, hz = lamp[0] + vx, lamp[1] + vy, lamp[2] + vz
        half = (nx * hx + ny * hy + nz * hz) / np.sqrt(hx * hx + hy * hy + hz * hz)
        gloss = shade * (0.10 * max(half, 0.0) ** 40 + 0.04 * max(half, 0.0) ** 8)
    facing = 1.0 - max(nx * vx + ny * vy + nz * vz, 0.0)
    rim = 0.06 * sky * facing * facing * facing
    diffuse = 0.66 * sky + 0.62 * shade * max(cosine, 0.0)
    place = (wa * values[a] + wb * values[b] + wc * values[c]) * (ramp.shape[0] - 1)
    step = min(max(int(place), 0), ramp.shape[0] - 2)
    part = place - step
    textured = image_of[t] >= 0 and values[a] < 0.0
    if textured:
        # the weights are those in space, so that the image keeps its perspective
        u = wa * uv[t, 0, 0] + wb * uv[t, 1, 0] + wc * uv[t, 2, 0]
        v = wa * uv[t, 0, 1] + wb * uv[t, 1, 1] + wc * uv[t, 2, 1]
        _texel_color(u, v, images[image_of[t]], texels, color)
    for k in range(3):
        if textured:
            albedo = color[k]
        elif values[a] >= 0.0:
            albedo = ramp[step, k] * (1.0 - part) + ramp[step + 1, k] * part
        else:
            albedo = wa * colors[a, k] + wb * colors[b, k] + wc * colors[c, k]
        color[k] = min(albedo * diffuse + gloss + rim, 1.0)


@inline
def _srgb_byte(light):
    """Return the sRGB byte of linear light from 0 to 1."""
    if light <= 0.0031308:
        return np.uint8(255.0 * 12.92 * light + 0.5)
    return np.uint8(255.0 * (1.055 * min(light, 1.0) ** (1.0 / 2.4) - 0.055) + 0.5)


@kernel
def _draw_band(
    band, camera, lamp, offsets, positions, normals, colors, values, ramp, light, triangles, uv, image_of, images,
    texels, edges, boxes, axes, center, scale, maps, planes, tables, background, picture,
):  # fmt: skip
    """Draw some rows of the picture."""
    height, width = picture.shape[0], picture.shape[1]
    samples = offsets.shape[0]
    focal, near, lift = camera[12], camera[13], camera[14]
    eye = camera[0:3]
    first, last = band * BAND, min((band + 1) * BAND, height)
    owner = np.empty((samples, BAND, width), np.int32)
    inverse = np.empty((BAND, width))
    ray, color, total = np.empty(3), np.empty(3), np.empty(3)
    for s in range(samples):
        owner[s] = -1
        inverse[:] = 0.0
        _fill(first, last, offsets[s, 0], offsets[s, 1], near, edges, boxes, owner[s], inverse)
        _fill_planes(
            first, last, width, height, offsets[s, 0], offsets[s, 1], camera, planes, owner[s], inverse
        )
    for y in range(first, last):
        for x in range(width):
            total[:] = 0.0
            for s in range(samples):
                t = owner[s, y - first, x]
                if t == _DONE:
                    continue
                count, dx, dy = 0, 0.0, 0.0
                for other in range(s, samples):
                    if owner[other, y - first, x] == t:
                        owner[other, y - first, x] = _DONE
                        count += 1
                        dx += offsets[other, 0]
                        dy += offsets[other, 1]
                # The mean of samples inside a triangle is inside it.
                px, py = x + dx / count, y + dy / count
                rx, ry = (px - 0.5 * width) / focal, (0.5 * height - py) / focal
                for c in range(3):
                    ray[c] = camera[9 + c] + rx * camera[3 + c] + ry * camera[6 + c]
                    color[c] = background[y, c]
                if t >= 0:
                    _surface_color(
                        t, px, py, eye, ray, lamp, lift, positions, normals, colors, values, ramp, light,
                        triangles, uv, image_of, images, texels, edges, axes, center, scale, maps, color,
                    )  # fmt: skip
                elif t <= -2:
                    _ground_color(
                        planes[-2 - t], tables[-2 - t], lamp, eye, ray, focal, lift, axes, center, scale,
                        maps, color,
                    )  # fmt: skip
                for c in range(3):
                    total[c] += count * color[c]
            for c in range(3):
                picture[y, x, c] = _srgb_byte(total[c] / samples)


@kernel(parallel=True)
def draw(
    camera, lamp, offsets, positions, normals, colors, values, ramp, light, triangles, uv, image_of, images, texels,
    edges, boxes, axes, center, scale, maps, planes, tables, background, picture,
):  # fmt: skip
    """Draw everything. Each pixel has several samples, and each surface found there is shaded once.

    Args:
        camera: Eye, right, up and forward (3 each), focal length in pixels, near depth, lift off surfaces [m].
        lamp: Unit vector to the lamp.
        offsets: Sample positions in a pixel, from 0 to 1, shape [s, 2].
        positions: Vertices, shape [n, 3].
        normals: Shape [n, 3].
        colors: Linear RGB, shape [n, 3].
        values: Vertex values from 0 to 1 over the colour map; -1 for vertices with a plain colour.
        ramp: The colour map in linear RGB, shape [m, 3].
        light: Sky light at the vertices, shape [n].
        triangles: Shape [k, 3].
        uv: Texture coordinates of the corners, shape [k, 3, 2].
        image_of: Number of the image of each triangle, -1 for none.
        images: First texel, width and height of each image, shape [i, 3].
        texels: Texels of all images in linear RGB, rows from the top, shape [n, 3].
        edges: From `setup_triangles`.
        boxes: From `setup_triangles`.
        axes: Axes of the lamp's depth maps, shape [d, 3, 3].
        center: As in `depth_maps`.
        scale: As in `depth_maps`.
        maps: Depth maps of points on the lamp, the outermost last, shape [d, r, r].
        planes: For each ground: normal, centre, two axes (3 each), fade, half width of its table, grid
            spacing, grid offsets, shape [p, 17].
        tables: Sky light on each ground around its centre, shape [p, g, g].
        background: Linear RGB of each background row, shape [height, 3].
        picture: Result, sRGB bytes, shape [height, width, 3].
    """
    for band in prange((picture.shape[0] + BAND - 1) // BAND):
        _draw_band(
            band, camera, lamp, offsets, positions, normals, colors, values, ramp, light, triangles, uv, image_of,
            images, texels, edges, boxes, axes, center, scale, maps, planes, tables, background, picture,
        )  # fmt: skip

"""Writes the animated arm of the shipped scene `arm`: a skin on two joints with a morph target, as a GLB file.

python tools/make_arm.py src/continua/scene/library/arm.glb
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from continua.atomic_io import atomic_write
from continua.output.glb_document import FLOAT, Document, glb_bytes

LENGTH, RADIUS = (
    1.2,
    0.1,
)  # m, along x from the shoulder at the origin to the hand; the elbow is in the middle
RINGS, AROUND = 40, 20
BLEND = 0.12  # m to both sides of the elbow over which the skin goes from one joint to the other
BULGE = 0.05  # m
UNSIGNED_SHORT, UNSIGNED_BYTE = 5123, 5121

TIMES = [0.0, 0.5, 1.0, 1.5, 2.0]  # s
SHOULDER = [0.0, 12.0, 8.0, 12.0, 0.0]  # degrees about z
ELBOW = [0.0, -48.0, -40.0, -48.0, 0.0]
SWING = [0.0, 0.0, -18.0, 0.0, 0.0]  # of the elbow, about y
FLEX = [0.0, 1.0, 0.8, 1.0, 0.0]  # weight of the bulging muscle


def surface() -> tuple[np.ndarray, np.ndarray]:
    """Return points and triangles of a capsule along x; rings around it, and a point at each end."""
    s = np.linspace(0.0, 1.0, RINGS + 2)[1:-1]
    arc = np.pi * RADIUS / 2.0
    along = s * (2.0 * arc + LENGTH - 2.0 * RADIUS)
    tilt = np.clip(along, 0.0, arc) / RADIUS - np.pi / 2.0
    tilt += np.clip(along - (along[-1] + along[0] - arc), 0.0, arc) / RADIUS
    middle = np.clip(along - arc, 0.0, LENGTH - 2.0 * RADIUS)
    x, r = RADIUS + middle + RADIUS * np.sin(tilt), RADIUS * np.cos(tilt)
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    rings = np.stack(
        [
            np.column_stack([np.full(AROUND, a), b * np.cos(angle), b * np.sin(angle)])
            for a, b in zip(x, r, strict=True)
        ]
    )
    points = np.concatenate([rings.reshape(-1, 3), [[0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0]]])
    i, j = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    first, last = len(points) - 2, (RINGS - 1) * AROUND
    parts = [(np.full(AROUND, first), j, i), (np.full(AROUND, first + 1), last + i, last + j)]
    for k in range(RINGS - 1):
        a, b = k * AROUND, (k + 1) * AROUND
        parts += [(a + i, a + j, b + j), (a + i, b + j, b + i)]
    return points, np.concatenate([np.stack(part, axis=1) for part in parts])


def quaternions(about_z: list[float], about_y: list[float]) -> np.ndarray:
    """Return the turns about y after those about z, in degrees, as quaternions (x, y, z, w)."""
    z, y = np.radians(about_z) / 2.0, np.radians(about_y) / 2.0
    return np.stack(
        [np.sin(y) * np.sin(z), np.sin(y) * np.cos(z), np.cos(y) * np.sin(z), np.cos(y) * np.cos(z)], 1
    )


def eased(values: np.ndarray) -> np.ndarray:
    """Return the keys of a cubic spline that rests at each of them: incoming rate, value, outgoing rate."""
    still = np.zeros_like(values)
    return np.stack([still, values, still], axis=1).reshape(-1, *values.shape[1:])


def main(path: Path) -> None:
    """Write the file."""
    points, triangles = surface()
    elbow = 0.5 * LENGTH
    forearm = np.clip(0.5 + (points[:, 0] - elbow) / (2.0 * BLEND), 0.0, 1.0)
    forearm = forearm**2 * (3.0 - 2.0 * forearm)
    weights = np.column_stack([1.0 - forearm, forearm, 0.0 * forearm, 0.0 * forearm])
    place = np.exp(-(((points[:, 0] - 0.3) / 0.12) ** 2))
    bulge = np.column_stack(
        [0.0 * place, BULGE * place * np.maximum(points[:, 1], 0.0) / RADIUS, 0.0 * place]
    )
    document = Document()
    attributes = {
        "POSITION": document.vertices(points, bounds=True),
        "JOINTS_0": document.add(
            np.tile(np.array([0, 1, 0, 0], "u1"), (len(points), 1)), UNSIGNED_BYTE, "VEC4"
        ),
        "WEIGHTS_0": document.add(np.rint(255.0 * weights).astype("u1"), UNSIGNED_BYTE, "VEC4"),
    }
    document.accessors[attributes["JOINTS_0"]].pop("normalized")
    part = {
        "attributes": attributes,
        "indices": document.add(triangles.astype("<u2").ravel(), UNSIGNED_SHORT, "SCALAR", target=34963),
        "targets": [{"POSITION": document.vertices(bulge, bounds=True)}],
    }
    inverse = np.tile(np.eye(4), (2, 1, 1))
    inverse[1, 3, 0] = -elbow  # by columns
    keys = document.add(np.array(TIMES, "<f4"), FLOAT, "SCALAR", bounds=True)
    curves = [
        (0, "rotation", "VEC4", quaternions(SHOULDER, [0.0] * len(TIMES))),
        (1, "rotation", "VEC4", quaternions(ELBOW, SWING)),
        (2, "weights", "SCALAR", np.array(FLEX)),
    ]
    samplers = [
        {
            "input": keys,
            "output": document.add(eased(values).astype("<f4"), FLOAT, kind),
            "interpolation": "CUBICSPLINE",
        }
        for _, _, kind, values in curves
    ]
    about = {
        "asset": {"version": "2.0", "generator": "continua tools/make_arm.py"},
        "scene": 0,
        "scenes": [{"nodes": [0, 2]}],
        "nodes": [
            {"name": "shoulder", "children": [1]},
            {"name": "elbow", "translation": [elbow, 0.0, 0.0]},
            {"name": "arm", "mesh": 0, "skin": 0},
        ],
        "meshes": [{"primitives": [part], "weights": [0.0]}],
        "skins": [
            {
                "joints": [0, 1],
                "inverseBindMatrices": document.add(inverse.reshape(2, 16).astype("<f4"), FLOAT, "MAT4"),
            }
        ],
        "animations": [
            {
                "name": "press",
                "samplers": samplers,
                "channels": [
                    {"sampler": k, "target": {"node": node, "path": name}}
                    for k, (node, name, _, _) in enumerate(curves)
                ],
            }
        ],
        "buffers": [{"byteLength": document.size}],
        "bufferViews": document.views,
        "accessors": document.accessors,
    }
    with atomic_write(path) as file:
        file.write(glb_bytes(about, document.chunks))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

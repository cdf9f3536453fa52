"""A small box of tetrahedra in analytic motion, made by hand."""

from __future__ import annotations

from itertools import product

import numpy as np

from continua.frames import BodyFrame, Field, Frame, readonly_copy

CORNERS = np.array(list(product((0, 1), repeat=3)))


def box(cells=(3, 2, 2), size=(1.0, 0.5, 0.5)):
    """Return points, tets of positive volume and outward boundary triangles of a box, six tets a cell."""
    n = np.array(cells) + 1
    points = np.stack(
        np.meshgrid(*[np.linspace(0, s, k) for s, k in zip(size, n)], indexing="ij"), -1
    ).reshape(-1, 3)
    tets = []
    for cell in product(*[range(c) for c in cells]):
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            walk = [np.array(cell)]
            for axis in order:
                walk.append(walk[-1] + np.eye(3, dtype=int)[axis])
            ids = [int(np.ravel_multi_index(tuple(w), tuple(n))) for w in walk]
            a, b, c, d = points[ids]
            if np.dot(np.cross(b - a, c - a), d - a) < 0:
                ids[2], ids[3] = ids[3], ids[2]
            tets.append(ids)
    tets = np.array(tets, np.int32)
    faces = tets[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    _, index, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    return points, tets, faces[index[count == 1]]


def motion(rest, t):
    """A swing about z that bends more the farther out a point is."""
    angle = 0.6 * np.sin(2.0 * t) * rest[:, :1]
    x, y = rest[:, :1], rest[:, 1:2]
    moved = np.hstack(
        [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle), rest[:, 2:]]
    )
    return moved + np.array([0.0, 0.05 * t, 0.0])


def make_frame(index, fps=10.0, names=("block",), colliders=(), mesh=None):
    """Frame `index` of the run that all output tests use."""
    rest, tets, triangles = mesh or box()
    t = index / fps
    bodies = {}
    for shift, name in enumerate(names):
        offset = np.array([0.0, 0.0, 0.9 * shift])
        positions = motion(rest, t) + offset
        velocity = (motion(rest, t + 1e-4) - motion(rest, t - 1e-4)) / 2e-4
        stress = 1e5 * t * (1.0 + np.sin(3.0 * rest[:, 0]) ** 2)
        bodies[name] = BodyFrame(
            name=name,
            kind="soft",
            positions=readonly_copy(positions),
            rest_positions=readonly_copy(rest + offset),
            cells={"tetra": tets},
            triangles=triangles,
            fields={
                "displacement": Field(readonly_copy(positions - rest - offset), "m"),
                "velocity": Field(readonly_copy(velocity), "m/s"),
                "von_mises": Field(readonly_copy(stress), "Pa"),
            },
            energy={"kinetic": 0.5 * t, "elastic": 2.0 * t},
        )
    return Frame(index=index, step=2 * index, time=t, bodies=bodies, colliders=tuple(colliders))

"""Stiff sheets against published deflections: `python -m validation.shells`, about three minutes.

Every line is the result over the reference. Plates: Timoshenko and Woinowsky-Krieger (1959); the roof and the cylinder:
MacNeal and Harder, "A proposed standard set of problems to test finite element accuracy" (1985).
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from numpy.typing import NDArray

import continua as ct
from continua.mesh.outline_mesh import mesh_outline

warnings.filterwarnings("ignore", message=".*lengths are in metres.*")


def panel(size: tuple[float, float], cells: tuple[int, int], regular: bool) -> tuple[NDArray, NDArray]:
    """Return points [n, 2] and triangles of a rectangle: cells cut in two, or an irregular mesh of as many nodes."""
    a, b = size
    nx, ny = cells
    if not regular:
        edge = 1.3 * np.sqrt(a * b / (nx * ny))
        mesh = mesh_outline([(0, 0), (a, 0), (a, b), (0, b)], size=lambda p: np.full(len(p), edge))
        return mesh.points, mesh.triangles
    x, y = np.meshgrid(np.linspace(0, a, nx + 1), np.linspace(0, b, ny + 1), indexing="ij")
    node = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    i, j, k, l = (c.ravel() for c in (node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]))
    triangles = np.concatenate([np.stack([i, j, k], 1), np.stack([i, k, l], 1)])
    return np.stack([x.ravel(), y.ravel()], 1), triangles


def plate(n: int, regular: bool) -> tuple[int, float]:
    """A clamped square plate under pressure: 0.00126532 q a^4 / D in the middle."""
    points, triangles = panel((1, 1), (n, n), regular)
    body = ct.Shell(
        ct.SheetMesh(np.column_stack([points, 0.0 * points[:, 0]]), triangles),
        ct.StVenantKirchhoff(young=1e9, poisson=0.3, density=1.0),
        thickness=0.01,
        clamped=lambda x: ((x[:, :2] < 1e-9) | (x[:, :2] > 1.0 - 1e-9)).any(axis=1),
    )
    body.apply_pressure("all", 1e-6 * 1e9 * 0.01**3 / 12.0 / (1.0 - 0.3**2))
    body.settle(rtol=1e-8)
    return len(points), float(np.abs(body.positions[:, 2]).max()) / 1e-6 / 0.00126532


def roof(n: int, regular: bool) -> tuple[int, float]:
    """The Scordelis-Lo roof: the middle of the free edge sinks by 0.3024."""
    radius, length, half, scale = 25.0, 50.0, np.radians(40.0), 1e-4
    width = 2.0 * half * radius
    points, triangles = panel((width, length), (n, n), regular)
    angle = points[:, 0] / radius - half
    x = np.column_stack([radius * np.sin(angle), radius * np.cos(angle), points[:, 1]])
    law = ct.StVenantKirchhoff(young=4.32e8, poisson=0.0, density=scale * 90.0 / 0.25 / 9.81)
    body = ct.Shell(ct.SheetMesh(x, triangles), law, thickness=0.25, name="roof")
    ends = (points[:, 1] < 1e-9) | (points[:, 1] > length - 1e-9)
    body.lock(ends, "x")
    body.lock(ends, "y")
    body.lock([int(np.argmin(np.linalg.norm(x - [0.0, radius, 0.5 * length], axis=1)))], "z")
    ct.World([body], gravity=(0.0, -9.81, 0.0)).settle(rtol=1e-8)
    edge = np.flatnonzero(points[:, 0] > width - 1e-9)
    edge = edge[np.argsort(points[edge, 1])]
    sag = -np.interp(0.5 * length, points[edge, 1], (body.positions - x)[edge, 1])
    return len(points), float(sag) / scale / 0.3024


def cylinder(n: int) -> tuple[int, float]:
    """A cylinder on diaphragms, pinched by two forces: 1.8248e-5 under each."""
    radius, length, force = 300.0, 600.0, 1e-3
    points, triangles = panel((2.0 * np.pi * radius, length), (4 * n, 2 * n), True)
    angle = points[:, 0] / radius
    x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), points[:, 1]])
    last = np.arange(len(x)) >= len(x) - (2 * n + 1)  # the last row of nodes is the first
    triangles = np.where(last[triangles], triangles - (len(x) - (2 * n + 1)), triangles)
    x = x[~last]
    law = ct.StVenantKirchhoff(young=3e6, poisson=0.3, density=1.0)
    body = ct.Shell(ct.SheetMesh(x, triangles), law, thickness=3.0, name="cylinder")
    ends = (x[:, 2] < 1e-9) | (x[:, 2] > length - 1e-9)
    body.lock(ends, "x")
    body.lock(ends, "y")
    one = int(np.argmin(np.linalg.norm(x - [radius, 0.0, 0.5 * length], axis=1)))
    other = int(np.argmin(np.linalg.norm(x - [-radius, 0.0, 0.5 * length], axis=1)))
    body.lock([one], "z")
    body.push([one], (-force, 0.0, 0.0))
    body.push([other], (force, 0.0, 0.0))
    ct.World([body], gravity=(0.0, 0.0, 0.0)).settle(rtol=1e-7)
    return len(x), float((x - body.positions)[one, 0]) / force / 1.8248e-5


def main(quick: bool = False) -> None:
    """Print the table."""
    print(f"{'':28}{'nodes':>8}{'result / reference':>22}")
    levels = (8, 16) if quick else (8, 16, 32)
    for name, case in (("clamped plate", plate), ("Scordelis-Lo roof", roof)):
        for regular in (True, False):
            for n in levels:
                nodes, ratio = case(2 * n if case is roof else n, regular)
                kind = "regular" if regular else "irregular"
                print(f"{name + ', ' + kind:28}{nodes:8}{ratio:22.4f}", flush=True)
    for n in (8, 16) if quick else (16, 32, 48):
        nodes, ratio = cylinder(n)
        print(f"{'pinched cylinder':28}{nodes:8}{ratio:22.4f}", flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)

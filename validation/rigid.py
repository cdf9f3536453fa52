"""Rigid bodies and distance fields over long times and on real meshes: `python -m validation.rigid [NAME ...]`.

`CONTINUA_SURFACES` names a folder of closed surfaces (OBJ, PLY, STL) for `meshes`. Each part prints its figures and
whether it passed; the exit code is 1 if one failed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import continua as ct


def stack() -> bool:
    """Twenty boxes stand for a minute."""
    boxes = ct.RigidInstances(
        ct.Box(size=(1.0, 1.0, 1.0)), [[0.0, 0.5 + i, 0.0] for i in range(20)], density=1000.0, name="boxes"
    )
    world = ct.World([boxes], colliders=[ct.Plane()])
    start = boxes.centers_of_mass
    while world.time < 60.0:
        world.step(0.01)
    off, energy = float(np.abs(boxes.centers_of_mass - start).max()), boxes.energy()["kinetic"]
    print(f"  after 60 s: moved by {off:.2e} m, kinetic energy {energy:.2e} J")
    return off < 1e-6 and energy < 1e-12 * boxes.mass_total * 98.1


def chain() -> bool:
    """A hundred links swing for ten seconds."""
    links = ct.RigidInstances(
        ct.Capsule((0.02, 0, 0), (0.08, 0, 0), 0.015), [[0.1 * i, 0, 0] for i in range(100)], density=1000.0
    )
    ties = [ct.joints.Ball((links, 0), None, point=(0, 0, 0))]
    ties += [ct.joints.Ball((links, i), (links, i - 1), point=(0.1 * i, 0, 0)) for i in range(1, 100)]
    world = ct.World([links], joints=ties)
    worst = 0.0
    while world.time < 10.0:
        world.step(0.01)
        worst = max(worst, world.system(ct.RigidBody).rigid.joints.error)
    print(f"  largest error of a joint in 10 s: {worst:.2e} m")
    return worst < 1e-6


def pile() -> bool:
    """A settled heap of boxes and balls stays at rest for a minute."""
    rng = np.random.default_rng(0)
    places = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 3) * 0.25 + [
        -0.4,
        0.2,
        -0.4,
    ]
    places = places + rng.uniform(-0.02, 0.02, places.shape)
    boxes = ct.RigidInstances(ct.Box(size=(0.2, 0.2, 0.2)), places[::2], density=1000.0, name="boxes")
    balls = ct.RigidInstances(ct.Sphere(radius=0.1), places[1::2], density=1000.0, name="balls")
    room = ct.Box(center=(0.0, 1.0, 0.0), size=(1.2, 2.0, 1.2), inside=True)
    world = ct.World([boxes, balls], colliders=[room])
    while world.time < 10.0:
        world.step(0.01)
    start = np.concatenate([boxes.centers_of_mass, balls.centers_of_mass])
    energy = 0.0
    while world.time < 70.0:
        world.step(0.01)
        energy = max(energy, sum(body.energy()["kinetic"] for body in world.bodies))
    off = float(np.abs(np.concatenate([boxes.centers_of_mass, balls.centers_of_mass]) - start).max())
    scale = sum(body.mass_total for body in world.bodies) * 9.81 * 0.5
    print(f"  in 60 s: moved by {off:.2e} m, kinetic energy at most {energy / scale:.2e} of m g h")
    return energy < 1e-6 * scale and off < 5e-3


def meshes() -> bool:
    """Every surface of a folder works as a distance field, a collider and a rigid body."""
    folder = os.environ.get("CONTINUA_SURFACES")
    if not folder:
        print("  left out: set CONTINUA_SURFACES to a folder of surfaces")
        return True
    good = True
    for path in sorted(p for p in Path(folder).iterdir() if p.suffix in (".obj", ".ply", ".stl")):
        mesh = ct.mesh.read(path)
        assert isinstance(mesh, ct.SurfaceMesh)
        if not mesh.is_closed:
            print(f"  {path.name}: open; its holes are filled")
            mesh = ct.mesh.close_holes(mesh)
        mesh = mesh.transformed(scale=1.0 / float(np.ptp(mesh.bounds, axis=0).max()))
        mesh = mesh.transformed(translate=-mesh.bounds.mean(axis=0))
        begin = time.perf_counter()
        field = ct.sdf.fit(mesh, tolerance=1e-5, near=20.0)
        seconds = time.perf_counter() - begin
        fall = [_falls(mesh, field), _collides(mesh, field), _falls(mesh, None)]
        print(
            f"  {path.name}: {mesh.triangle_count:,} triangles, field {field.nbytes / 1e6:.2f} MB in {seconds:.1f} s, "
            f"near error {field.report.near_error:.1e} m; body {fall[0]}, collider {fall[1]}, exact body {fall[2]}"
        )
        good &= all(fall)
    return good


def _falls(mesh: ct.SurfaceMesh, field: ct.sdf.DistanceField | None) -> bool:
    """Let two bodies of a mesh of extent 1 fall on a floor and each other; return whether they come to rest there."""
    shape = mesh if field is None else ct.MeshShape(mesh, field)
    pair = ct.RigidInstances(
        shape, [[0.0, 0.8, 0.0], [0.1, 2.0, 0.1]], density=1000.0, friction=0.5, name="pair"
    )
    world = ct.World([pair], colliders=[ct.Plane()])
    for _ in range(400):
        world.step(0.01)
    lowest = pair.positions.reshape(2, -1, 3)[:, :, 1].min()
    return bool(
        -0.01 < lowest < 0.05
        and world.system(ct.RigidBody).rigid.max_penetration < 0.02
        and np.abs(pair.center_velocities).max() < 1.0
    )


def _collides(mesh: ct.SurfaceMesh, field: ct.sdf.DistanceField) -> bool:
    """Drop balls onto a mesh; return whether none ends inside."""
    rng = np.random.default_rng(1)
    places = rng.uniform(-0.4, 0.4, (60, 3)) * [1, 0, 1] + [0, 0.8, 0] + np.arange(60)[:, None] * [0, 0.1, 0]
    balls = ct.RigidInstances(ct.Sphere(radius=0.03), places, density=1000.0, name="balls")
    world = ct.World([balls], colliders=[ct.MeshShape(mesh, field), ct.Plane((0, -0.6, 0))])
    for _ in range(150):
        world.step(0.01)
    return bool(
        (ct.sdf.exact(mesh)(balls.centers_of_mass) > 0.03 - 6.0 * field.report.near_error - 2e-3).all()
    )


PARTS: dict[str, Callable[[], bool]] = {"stack": stack, "chain": chain, "pile": pile, "meshes": meshes}


def main() -> int:
    """Run the named parts, or all."""
    good = True
    for name in sys.argv[1:] or PARTS:
        part = PARTS[name]
        print(f"{name}: {part.__doc__}", flush=True)
        fine = part()
        print("  passed" if fine else "  FAILED", flush=True)
        good &= fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

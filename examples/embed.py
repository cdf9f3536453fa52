"""A fine surface is carried by a coarse mesh: simulate 400 nodes, look at 10,000."""

import argparse
from pathlib import Path

import numpy as np

import continua as ct

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--out", type=Path, help="folder for the surface of every frame, as PLY files")
out = options.parse_args().out

# A golf ball: 500 dimples that the mesh of tetrahedra knows nothing of.
ball = ct.mesh.surfaces.sphere(radius=0.5, cells=32)
k = np.arange(500) + 0.5
turn, height = np.pi * (1.0 + 5.0**0.5) * k, 1.0 - 2.0 * k / len(k)
ring = np.sqrt(1.0 - height**2)
dimples = np.stack([ring * np.cos(turn), height, ring * np.sin(turn)], axis=1)
nearest = (ball.points / 0.5 @ dimples.T).max(axis=1)
depth = 0.015 * np.clip((nearest - 0.9972) / (1.0 - 0.9972), 0.0, 1.0)
golf = ct.SurfaceMesh(ball.points * (1.0 - depth[:, None]) + (0.0, 1.5, 0.0), ball.triangles)

coarse = ct.mesh.sphere(radius=0.5, cells=4).transformed(translate=(0.0, 1.5, 0.0))
skin = ct.mesh.Embedding(golf, coarse)
print(skin)

body = ct.SoftBody(
    coarse, material=ct.Corotated(young=2e5, poisson=0.4, density=300.0), damping=(0.0, 1e-3), name="ball"
)
world = ct.World([body], dt=0.005, colliders=[ct.Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 1.0, 0.0))])
for frame in world.run(seconds=0.8, fps=30):
    points = skin.positions(frame["ball"].positions)
    lowest = points[:, 1].min()
    print(f"t = {frame.time:.3f} s   lowest point {lowest:+.3f} m")
    if out is not None:
        ct.mesh.write(ct.SurfaceMesh(points, golf.triangles), out / f"golf_{frame.index:04d}.ply")
    if frame.time <= 0.4:  # free fall from rest: g t^2 / 2, and g t dt / 2 more, which implicit Euler adds
        fallen = (golf.points - points)[:, 1]
        assert np.allclose(fallen, 9.81 * frame.time * (frame.time + 1 / 210) / 2, atol=1e-6)
    assert lowest > -0.02  # the floor holds what only the coarse mesh touches

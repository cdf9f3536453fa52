"""From a surface in a file to a soft body: read it, fill it with tetrahedra, drop it. Needs the extra `tet`."""

import tempfile
from pathlib import Path

import numpy as np

import continua as ct

with tempfile.TemporaryDirectory() as folder:
    # Stands for a file of your own: a lumpy potato, written as STL.
    ball = ct.mesh.surfaces.sphere(radius=0.4, cells=12)
    x, y, z = ball.points.T / 0.4
    lumps = 1.0 + 0.15 * np.sin(3.0 * x) * np.cos(2.0 * y) + 0.1 * np.sin(4.0 * z)
    ct.mesh.write(ct.SurfaceMesh(ball.points * lumps[:, None], ball.triangles), Path(folder) / "potato.stl")

    surface = ct.mesh.read(Path(folder) / "potato.stl")

tets = ct.mesh.tetrahedralize(surface, size=0.2)
print(tets)
print(tets.quality())

height = 0.3 - tets.bounds[0, 1]  # its lowest point is 0.3 m above the floor
potato = ct.SoftBody(
    tets.transformed(translate=(0.0, height, 0.0)),
    material=ct.Corotated(young=1e5, poisson=0.4, density=1000.0),
    damping=(1.0, 5e-3),
)
world = ct.World([potato], colliders=[ct.Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 1.0, 0.0))])
for frame in world.run(seconds=1.5, fps=10):
    lowest = frame["potato"].positions[:, 1].min()
    print(f"t = {frame.time:.1f} s   lowest point {lowest:+.3f} m")

# The tetrahedra fill the surface: the mass is its volume, by the divergence theorem, times the density.
a, b, c = (surface.points[surface.triangles[:, i]] for i in range(3))
volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
print(f"mass {potato.mass_total:.1f} kg, volume times density {1000.0 * volume:.1f} kg")
assert abs(potato.mass_total / (1000.0 * volume) - 1.0) < 0.02
assert -0.01 < lowest < 0.02  # it lies on the floor

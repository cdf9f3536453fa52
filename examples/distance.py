"""Fit a distance field to a surface, compare it with the exact distance, and keep it in a file."""

import tempfile
from pathlib import Path

import numpy as np

import continua as ct

# A ring with flat facets, as it might come from a file: ct.mesh.read("ring.obj").
ring = ct.mesh.surfaces.torus(radius=0.7, tube=0.25, cells=(12, 24))

exact = ct.sdf.exact(ring)
field = ct.sdf.fit(ring, tolerance=1e-5, near=20.0)
print(exact)
print(field)
print(field.report)

points = np.random.default_rng(1).uniform(*field.bounds, (10_000, 3))
error = field(points) - exact(points)
print(f"largest difference at {len(points):,} points: {np.abs(error).max():.4f} m")

# The point of the surface nearest to a place in the hole.
nearest = exact.closest([[0.1, 0.0, 0.0]])
print("nearest point", nearest.points[0].round(3), "at distance", nearest.distances[0].round(3))

with tempfile.TemporaryDirectory() as folder:
    field.save(Path(folder) / "ring.sdf")
    again = ct.sdf.load(Path(folder) / "ring.sdf", ring)
    assert np.array_equal(again(points), field(points))

close = np.abs(exact(points)) < 0.05
assert np.sqrt(np.mean(error[close] ** 2)) < 5e-3
assert ((field(points) < 0.0) == (exact(points) < 0.0))[np.abs(exact(points)) > 0.02].all()

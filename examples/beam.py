"""A rubber beam, clamped at one end, is let go under its own weight. The dozen lines of the README, and a check."""

from math import pi, sqrt

import continua as ct

beam = ct.SoftBody(
    ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(16, 4, 4)),
    material=ct.Corotated(young=1e6, poisson=0.3, density=1000.0),
    order=2,
)
beam.pin(where=lambda x: x[:, 0] < 1e-6)
world = ct.World([beam], gravity=(0.0, -9.81, 0.0))

tip = beam.rest_positions[:, 0] > 1.0 - 1e-6
heights = []
for frame in world.run(seconds=1.0, fps=60):
    heights.append(frame["beam"].displacements[tip, 1].mean())
    print(f"t = {frame.time:5.3f} s   tip at {heights[-1]:+.4f} m")

# Euler and Bernoulli: a clamped beam swings with the period 2 pi / 1.8751^2 sqrt(m L^4 / E I). Let go, it is
# lowest after half of that. Shear and the beam's thickness make it slower, the large bend faster; a frame is 0.017 s.
second_moment = 0.25**4 / 12.0
period = 2.0 * pi / 1.8751**2 * sqrt(1000.0 * 0.25**2 / (1e6 * second_moment))
lowest = min(range(len(heights)), key=heights.__getitem__) / 60.0
print(f"lowest after {lowest:.3f} s; thin-beam theory: {period / 2:.3f} s")
assert 0.95 < lowest / (period / 2) < 1.1
